"""The direct runtime: waits end, threads share a device, and a failure leaves it usable or lost."""

import threading
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from support import vulkan_kernels
from support.vulkan_kernels import affine, barriers, bump, download, slow, table, upload

from restride.errors import DescriptorError, DeviceError, DeviceLost, DeviceTimeout, OutOfDeviceMemory
from restride.runtime.loader import failure
from restride.runtime.vulkan.queue import MAX_PENDING, SPIN_SECONDS
from restride.runtime.vulkan.runtime import PIECE_BYTES, Hold, VulkanMemory, VulkanRuntime

modules, runtime, in_place = vulkan_kernels.FIXTURES


def test_submitting_returns_at_once_and_reading_waits(in_place):
    memory = upload(in_place, np.zeros(8192, np.uint32))
    quiet = upload(in_place, np.arange(16, dtype=np.uint32))
    in_place.submit([slow(8192)] * 4, [memory])
    pending = in_place._session.queue.completed < in_place._session.queue.submitted
    assert np.array_equal(download(in_place, quiet, 16), np.arange(16)), "no wait: nothing pending writes it"
    still = in_place._session.queue.completed < in_place._session.queue.submitted
    assert pending
    assert still
    expected = np.uint32(0)
    with np.errstate(over="ignore"):
        for _ in range(4 * 60_000):
            expected = expected * np.uint32(1664525) + np.uint32(1013904223)
    assert (download(in_place, memory, 8192) == expected).all()


def test_a_timeout_leaves_the_device_usable(modules):
    runtime = VulkanRuntime(0, module_source=modules, timeout=0.001)
    memory = runtime.allocate(4 * 8192)
    runtime.submit([slow(8192)] * 8, [memory])
    with pytest.raises(DeviceTimeout, match=r"within the time limit of 0\.001 s.*Device\(timeout=") as caught:
        runtime.wait()
    assert isinstance(caught.value, TimeoutError)
    out = bytearray(b"\xaa" * 16)
    with pytest.raises(DeviceTimeout):
        runtime.read(memory, 0, memoryview(out))
    assert out == b"\xaa" * 16
    with pytest.raises(DeviceTimeout):
        runtime.write(memory, 0, memoryview(bytes(16)))
    other = runtime.allocate(64)
    runtime.write(other, 0, memoryview(bytes(range(64))))
    runtime._session.timeout = 60.0
    runtime.wait()
    runtime.read(memory, 0, memoryview(out))
    assert out != b"\xaa" * 16
    runtime.submit([affine(16)], [other, memory])
    assert download(runtime, memory, 1)[0] == 0x03020100
    runtime.close()


def test_the_time_limit_is_for_each_submission_not_for_a_backlog(modules, monkeypatch):
    runtime = VulkanRuntime(0, module_source=modules)
    memory = runtime.allocate(4 * 8192)
    queue, waits = runtime._session.queue, []
    really_wait = queue.wait
    monkeypatch.setattr(
        queue, "wait", lambda slot, limit: (waits.append((slot.ticket, limit)), really_wait(slot, limit))
    )
    for _ in range(8):
        runtime.submit([slow(8192)], [memory])
    runtime.wait()
    tickets = [ticket for ticket, _ in waits]
    assert len(tickets) > 1, "not once for the last one"
    assert tickets == sorted(set(tickets))
    assert {limit for _, limit in waits} == {runtime._session.timeout}
    runtime.close()


def test_the_queue_is_bounded(in_place):
    memory = in_place.allocate(4096)
    for _ in range(3 * MAX_PENDING):
        in_place.submit([bump(1024)], [memory])
    assert len(in_place._session.queue._slots) <= MAX_PENDING
    in_place.wait()


def test_other_threads_run_while_one_waits(in_place):
    memory = in_place.allocate(4 * 8192)
    in_place.submit([slow(8192)] * 6, [memory])
    turns, done = 0, threading.Event()

    def spin():
        nonlocal turns
        while not done.is_set():
            turns += 1
            done.wait(0.001)

    thread = threading.Thread(target=spin)
    thread.start()
    in_place.wait()
    done.set()
    thread.join()
    assert turns > 3, "the GIL is released"


def test_waiting_for_a_submission_that_the_driver_refused_ends(in_place, monkeypatch):
    """Another thread read the ticket while the driver was asked; the submission was undone, and none followed."""
    session = in_place._session
    memory, seen = upload(in_place, np.zeros(64, np.uint32)), []

    def refuse(*_):
        seen.append(memory.block.written)
        return -3

    monkeypatch.setattr(session.queue, "_hand_over", refuse)
    with pytest.raises(DeviceError, match="VK_ERROR_INITIALIZATION_FAILED"):
        in_place.submit([bump(64)], [memory])
    assert seen == [session.queue.submitted + 1]
    thread = threading.Thread(target=session.wait_for, args=seen, daemon=True)
    thread.start()
    thread.join(10)
    still_waits = thread.is_alive()
    monkeypatch.undo()
    in_place.submit([bump(64)], [memory])  # ends a wait that does not end by itself
    assert not still_waits


def test_waiting_while_another_thread_hands_over_waits_for_that(in_place, monkeypatch):
    queue, memory = in_place._session.queue, upload(in_place, np.zeros(64, np.uint32))
    waited, completed = threading.Event(), []

    def wait():
        in_place.wait()
        completed.append(queue.completed)
        waited.set()

    thread = threading.Thread(target=wait)
    end = queue.end

    def slowly(slot):
        monkeypatch.undo()
        thread.start()
        waited.wait(0.2)  # it must not: what is recorded is not submitted yet
        end(slot)

    with in_place.batch():
        in_place.submit([bump(64)], [memory])
        ticket = queue.last
        monkeypatch.setattr(queue, "end", slowly)
    thread.join()
    assert completed[0] >= ticket


def freed_when_called(monkeypatch, session, name, memory):
    """The next call of a method of the session frees the memory first, and takes one of the same size."""
    method, taken, size = getattr(session, name), [], memory.hold.size

    def call(*arguments, **named):
        monkeypatch.undo()
        memory.free()
        taken.append(VulkanMemory(Hold(session, session.allocate(size), size), memory.nbytes))
        return method(*arguments, **named)

    monkeypatch.setattr(session, name, call)
    return taken


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("make_room", lambda runtime, memory: runtime.submit([bump(64)], [memory])),
        ("copy", lambda runtime, memory: runtime.copy(upload(runtime, np.ones(64, np.uint32)), memory, 256)),
        ("pinned", lambda runtime, memory: runtime.write(memory, 0, memoryview(bytes([1] * 256)))),
        ("pinned", lambda runtime, memory: runtime.read(memory, 0, memoryview(bytearray(256)))),
    ],
)
def test_memory_that_another_thread_frees_meanwhile_is_nobody_elses_before_the_end(in_place, monkeypatch, name, use):
    memory = upload(in_place, np.zeros(64, np.uint32))
    block = memory.block
    taken = freed_when_called(monkeypatch, in_place._session, name, memory)
    use(in_place, memory)
    assert taken[0].block is not block
    with pytest.raises(DescriptorError, match="was freed"):
        memory.block  # noqa: B018


def test_a_lost_device_says_so_from_then_on(modules, monkeypatch):
    runtime = VulkanRuntime(0, module_source=modules)
    memory = runtime.allocate(256)
    monkeypatch.setattr(runtime._session.queue, "_hand_over", lambda *_: -4)
    with pytest.raises(DeviceLost, match=r"vkQueueSubmit failed with VK_ERROR_DEVICE_LOST.*make a new Device"):
        runtime.submit([bump(64)], [memory])
    calls = [
        lambda: runtime.allocate(16),
        lambda: runtime.submit([bump(64)], [memory]),
        lambda: runtime.submit([], []),
        lambda: runtime.read(memory, 0, memoryview(bytearray(16))),
        lambda: runtime.write(memory, 0, memoryview(bytes(16))),
        runtime.wait,
        runtime.counters,
    ]
    for call in calls:
        with pytest.raises(DeviceLost, match="make a new Device"):
            call()
    memory.free()
    runtime.close()
    runtime.close()


def test_a_failed_submission_is_undone(in_place, monkeypatch):
    memory = upload(in_place, np.zeros(64, np.uint32))
    queue = in_place._session.queue
    submit = queue._hand_over
    monkeypatch.setattr(queue, "_hand_over", lambda *_: -3)
    for _ in range(3):
        with pytest.raises(DeviceError, match="vkQueueSubmit failed with VK_ERROR_INITIALIZATION_FAILED"):
            in_place.submit([bump(64), table(64, [1, 2, 3, 4])], [memory])
    monkeypatch.setattr(queue, "_hand_over", submit)
    assert barriers(in_place, [bump(64)], [memory]) == 1, "the abandoned recordings may have held one"
    assert (download(in_place, memory, 64) == 1).all()


class Interrupted(BaseException):
    pass


def test_an_interrupt_after_the_submission_leaves_it_made(in_place, monkeypatch):
    memory = upload(in_place, np.zeros(8192, np.uint32))
    queue = in_place._session.queue
    submit = queue._hand_over

    def submit_and_interrupt(*arguments):
        submit(*arguments)
        raise Interrupted

    monkeypatch.setattr(queue, "_hand_over", submit_and_interrupt)
    with pytest.raises(Interrupted):
        in_place.submit([slow(8192)], [memory])
    monkeypatch.setattr(queue, "_hand_over", submit)
    assert queue._pending[-1] not in queue._free
    assert memory.block.written == queue.submitted == 1
    for _ in range(3):
        in_place.submit([bump(8192)], [memory])
    value = np.uint32(0)
    with np.errstate(over="ignore"):
        for _ in range(60_000):
            value = value * np.uint32(1664525) + np.uint32(1013904223)
    assert (download(in_place, memory, 8192) == value + np.uint32(3)).all()


@pytest.mark.parametrize("function", ["vkBeginCommandBuffer", "_end_recording", "vkCmdDispatch"])
def test_an_interrupt_before_the_submission_undoes_it(in_place, monkeypatch, function):
    memory = upload(in_place, np.zeros(64, np.uint32))
    queue = in_place._session.queue
    owner = queue if hasattr(queue, function) else in_place._session.device.vk
    original = getattr(owner, function)

    def interrupted(*arguments):
        original(*arguments)
        raise Interrupted

    monkeypatch.setattr(owner, function, interrupted)
    with pytest.raises(Interrupted):
        in_place.submit([bump(64)], [memory])
    monkeypatch.setattr(owner, function, original)
    assert (queue.submitted, len(queue._pending), len(queue._slots) - len(queue._free)) == (0, 0, 0)
    in_place.submit([bump(64)], [memory])
    assert (download(in_place, memory, 64) == 1).all()


def test_a_batch_that_an_interrupt_left_ended_is_handed_over_before_more_is_recorded(in_place, monkeypatch):
    memory = upload(in_place, np.zeros(64, np.uint32))
    queue = in_place._session.queue
    original, ended = queue._end_recording, []

    def interrupted_once(command):
        result = original(command)
        ended.append(command)
        if len(ended) == 1:
            raise Interrupted
        return result

    monkeypatch.setattr(queue, "_end_recording", interrupted_once)
    with in_place.batch():
        in_place.submit([bump(64)], [memory])
        with pytest.raises(Interrupted):
            in_place.wait()
        assert queue.submitted == 0
        in_place.submit([bump(64)], [memory])
        assert (queue.submitted, len(ended)) == (1, 1), "recorded into what was ended, or ended twice"
    assert (download(in_place, memory, 64) == 2).all()
    assert len(ended) == 2


class InterruptingLock:
    """Its release is where Python hears the interrupt."""

    def __init__(self, lock, after):
        self.lock, self.after = lock, after
        self.acquire, self.release = lock.acquire, lock.release

    def __enter__(self):
        self.lock.acquire()

    def __exit__(self, *_):
        self.lock.release()
        self.after -= 1
        if not self.after:
            raise Interrupted


def test_an_interrupt_at_the_lock_leaves_no_pin(in_place, monkeypatch):
    session = in_place._session
    memory = upload(in_place, np.zeros(8192, np.uint32))
    block = memory.block
    calls = [
        lambda: in_place.write(memory, 0, memoryview(bytes(16))),
        lambda: in_place.read(memory, 0, memoryview(bytearray(16))),
        in_place.wait,
    ]
    for call in calls:
        in_place.submit([slow(8192)], [memory])
        monkeypatch.setattr(session._lock, "raw", InterruptingLock(session._lock.raw, 1))
        with pytest.raises(Interrupted):
            call()
        monkeypatch.undo()
        assert (block.pins, session._active_users) == (0, 0)
        assert not any(slot.waiters for slot in session.queue._slots)
        in_place.wait()
    memory.free()
    assert in_place.allocate(4 * 8192).block is block, "what was freed is used again"


def test_the_end_of_a_copy_or_wait_waits_for_no_lock(runtime, monkeypatch):
    """An interrupt would end the wait for the lock, and the use would never end: the next call ends it."""
    session, memory = runtime._session, upload(runtime, np.zeros(8192, np.uint32))
    wait = session.queue.wait

    def holding(*arguments):
        wait(*arguments)
        held.enter_context(lock_of_another_thread(session._lock.raw))

    for staging_blocks in (0, 1):
        with ExitStack() as held:
            stages = [session.staging_block(4096) for _ in range(staging_blocks)]
            runtime.submit([slow(8192)], [memory])
            monkeypatch.setattr(session.queue, "wait", holding)
            assert session._wait_for_one(session.queue.submitted)
            monkeypatch.undo()
            session.blocks.staged += stages
            session.drain_if_free()
            assert session._active_users == 1
            assert len(session.blocks.staged) == staging_blocks
        runtime.wait()
        assert (session._active_users, len(session.blocks.staged)) == (0, 0)
        assert not any(slot.waiters for slot in session.queue._slots)
    with ExitStack() as held, session.pinned(memory.block, uploads=5):
        held.enter_context(lock_of_another_thread(session._lock.raw))
        uploaded = session.uploaded
    assert runtime.counters().uploaded == uploaded + 5
    assert (session._active_users, memory.block.pins) == (0, 0)


@contextmanager
def lock_of_another_thread(lock):
    held, done = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        yield
    finally:
        done.set()
        thread.join()


def interrupted_after(method):
    def call(*arguments):
        method(*arguments)
        raise Interrupted

    return call


def test_an_interrupt_while_a_submission_is_settled_releases_nothing_twice(in_place, monkeypatch):
    memory = upload(in_place, np.zeros(64, np.uint32))
    session = in_place._session
    preparations = session.recorder.preparations
    monkeypatch.setattr(preparations, "release", interrupted_after(preparations.release))
    with pytest.raises(Interrupted):
        in_place.submit([table(64, [1, 2, 3, 4])], [memory])
    monkeypatch.undo()
    in_place.submit([bump(64)], [memory])
    leaving, sets = (
        session.blocks.host_pool._leaving,
        [each for idle in preparations.sets._idle.values() for each in idle],
    )
    assert len(leaving) == len(set(map(id, leaving)))
    assert len(sets) == len(set(map(id, sets)))


def test_an_interrupt_while_staging_is_given_back_leaves_no_buffer_twice_in_the_pool(modules, monkeypatch):
    runtime = VulkanRuntime(0, staging=True, module_source=modules)
    source = np.arange(PIECE_BYTES // 2, dtype=np.uint32)
    memory, pool = upload(runtime, source), runtime._session.blocks.host_pool
    for _ in range(3):
        monkeypatch.setattr(pool, "free", interrupted_after(pool.free))
        with pytest.raises(Interrupted):
            runtime.write(memory, 0, source.view(np.uint8).data)
        monkeypatch.undo()
        assert len(pool._leaving) == len({*map(id, pool._leaving)})
    assert np.array_equal(download(runtime, memory, source.size), source)
    runtime.close()


def test_a_transfer_in_the_middle_of_another_has_buffers_of_its_own(modules, monkeypatch):
    """As a finalizer may begin one, or another thread."""
    runtime = VulkanRuntime(0, staging=True, timeout=1, module_source=modules)
    source = np.arange(PIECE_BYTES // 2, dtype=np.uint32)
    memory, other = upload(runtime, source), upload(runtime, source[:64] + 7)
    session, copied = runtime._session, []
    copy_on_device = session.copy

    def copy_and_read(*arguments):
        if not copied:
            copied.append(arguments)
            assert np.array_equal(download(runtime, other, 64), source[:64] + 7)
            runtime.trim()  # leaves the buffers, which are in use
        return copy_on_device(*arguments)

    monkeypatch.setattr(session, "copy", copy_and_read)
    assert np.array_equal(download(runtime, memory, source.size), source)
    assert copied
    runtime.close()


def test_transfers_in_a_row_wait_for_staging_instead_of_taking_more(modules):
    runtime = VulkanRuntime(0, staging=True, module_source=modules)
    source = np.arange(PIECE_BYTES // 2, dtype=np.uint32)
    memories = [runtime.allocate(source.nbytes) for _ in range(10)]
    work = upload(runtime, np.zeros(8192, np.uint32))
    before = runtime.counters().bytes_allocated
    for memory in memories:
        runtime.submit([slow(8192)], [work])  # what is copied waits behind it
        runtime.write(memory, 0, source.view(np.uint8).data)
    assert runtime.counters().bytes_allocated - before <= 2 * PIECE_BYTES
    runtime.close()


@pytest.mark.parametrize("nbytes", [1, 4096, PIECE_BYTES - 1, PIECE_BYTES + 1, 3 * PIECE_BYTES + 5])
def test_staging_takes_no_more_than_a_transfer_needs(modules, nbytes):
    """Two pieces at most; half of what is left under a limit that has room for less."""
    source = np.random.default_rng(nbytes).integers(0, 256, nbytes, np.uint8)
    for room in (2 * PIECE_BYTES, 1 << 16):
        runtime = VulkanRuntime(
            0, staging=True, memory_limit=nbytes + -nbytes % (1 << 16) + (2 << 20) + room, module_source=modules
        )
        memory, result = runtime.allocate(nbytes), np.zeros(nbytes, np.uint8)
        before = runtime.counters().bytes_allocated
        runtime.write(memory, 0, source.data)
        runtime.read(memory, 0, result.data)
        assert np.array_equal(result, source)
        assert runtime.counters().bytes_allocated - before <= max(2 << 20, 2 * min(nbytes * 2, PIECE_BYTES))
        runtime.close()


def test_a_wait_on_a_gpu_asks_before_it_sleeps(in_place, monkeypatch):
    queue = in_place._session.queue
    assert queue._spin_seconds == (0 if in_place.info.kind == "cpu" else SPIN_SECONDS)
    slot, answers, waits = SimpleNamespace(fence=None, fences=None), [1, 1, 0], []  # not ready, not ready, ready
    monkeypatch.setattr(queue._vk, "vkGetFenceStatus", lambda *_: answers.pop(0))
    monkeypatch.setattr(queue._vk, "vkWaitForFences", lambda *each: waits.append(each) or 0)
    monkeypatch.setattr(queue, "_spin_seconds", 60.0)
    queue.wait(slot, 1.0)
    assert (answers, waits) == ([], [])
    monkeypatch.setattr(queue, "_spin_seconds", 0.0)
    queue.wait(slot, 1.0)
    assert len(waits) == 1


def test_results_have_names():
    assert isinstance(failure("vkX", -1), OutOfDeviceMemory)
    assert isinstance(failure("vkX", -4), DeviceLost)
    assert str(failure("vkX", -3)) == "vkX failed with VK_ERROR_INITIALIZATION_FAILED"
    assert str(failure("vkX", -12345)) == "vkX failed with VkResult -12345"
