"""Copies by several threads: the same bytes, errors in the caller, and no buffer lost to an interrupt or a fork."""

import sys
import threading
from contextlib import contextmanager, nullcontext
from functools import partial

import numpy as np
import pytest
from support import runtime_process, vulkan_kernels
from support.runtime_process import passes, run
from support.vulkan_kernels import upload

import restride as rs
from restride.errors import DeviceError
from restride.runtime.vulkan import copy_workers
from restride.runtime.vulkan import runtime as module
from restride.runtime.vulkan.copy_workers import CopyWorkers
from restride.runtime.vulkan.runtime import PIECE_BYTES, VulkanRuntime

modules, _, _ = vulkan_kernels.FIXTURES
kernels = runtime_process.kernels

LEAST, SHARE = 5000, 1700


class Interrupted(BaseException):
    pass


def staged(modules, number=3, least_bytes=LEAST, share_bytes=SHARE):
    runtime = VulkanRuntime(0, staging=True, timeout=10, module_source=modules)
    runtime._staging.workers = CopyWorkers(number, least_bytes, share_bytes)
    return runtime


@pytest.fixture(params=[0, 1, 3], ids=["1 thread", "2 threads", "4 threads"])
def several(request, modules):
    runtime = staged(modules, request.param)
    yield runtime
    runtime.close()


@pytest.fixture
def four(modules):
    runtime = staged(modules)
    yield runtime
    runtime.close()


SIZES = [0, 1, SHARE, LEAST - 1, LEAST, LEAST + 1, 3 * SHARE, 3 * SHARE + 1, 1 << 17, PIECE_BYTES - 1, PIECE_BYTES + 1]


@pytest.mark.parametrize("nbytes", [*SIZES, 2 * PIECE_BYTES, 3 * PIECE_BYTES + 12345])
def test_every_byte_arrives_and_no_other_changes(several, nbytes):
    rng = np.random.default_rng(nbytes)
    source, around = rng.integers(0, 256, nbytes, np.uint8), rng.integers(0, 256, nbytes + 70, np.uint8)
    memory = upload(several, around)
    several.write(memory, 13, source.data)
    expected = around.copy()
    expected[13 : 13 + nbytes] = source
    for offset, count in ((0, nbytes + 70), (13, nbytes), (7, nbytes + 1)):
        out = np.full(count + 2, 77, np.uint8)
        several.read(memory, offset, out[1:-1].data)
        assert np.array_equal(out[1:-1], expected[offset : offset + count])
        assert out[0] == out[-1] == 77


@pytest.mark.parametrize(
    "counts",
    [(LEAST - 1, 1), (1, LEAST), (0, 3, SHARE - 3, 0, SHARE, 2 * SHARE + 1), (7,) * 2000, (PIECE_BYTES - 1,) * 3],
)
def test_parts_that_shares_cut_are_written_one_after_the_other(several, counts):
    rng = np.random.default_rng(len(counts))
    parts = [rng.integers(0, 256, count, np.uint8) for count in counts]
    memory = upload(several, np.full(sum(counts) + 9, 7, np.uint8))
    several.write(memory, 5, *map(memoryview, parts))
    out = np.empty(memory.nbytes, np.uint8)
    several.read(memory, 0, out.data)
    assert np.array_equal(out, np.concatenate([[7] * 5, *parts, [7] * 4]))


def test_arrays_of_any_strides_go_round():
    x = np.random.default_rng(0).integers(0, 1 << 16, (700, 300, 3), np.uint16)
    with rs.Device.over(VulkanRuntime(0, staging=True)) as device:
        device.runtime._staging.workers = CopyWorkers(3, LEAST, SHARE)
        for view in (x, x[::-1, ::3], x.transpose(2, 0, 1), x[:, 5:, 1]):
            assert np.array_equal(rs.asarray(view, device=device).numpy(), view)


def threads_that_copy(monkeypatch, transfer):
    """The threads that copied first; each waits in its first copy until all have begun one."""
    seen, all_begun = set(), threading.Barrier(4, timeout=20)
    copy_bytes = module.copy_bytes

    def copy(*views):
        ident = threading.get_ident()
        if ident not in seen:
            seen.add(ident)
            all_begun.wait()
        copy_bytes(*views)

    monkeypatch.setattr(module, "copy_bytes", copy)
    monkeypatch.setattr(module, "copy_parts", lambda target, parts: copy(target, *parts))
    transfer()
    monkeypatch.undo()
    return seen


def test_four_threads_copy_at_once(four, monkeypatch):
    source, out = np.arange(1 << 20, dtype=np.uint32), np.empty(1 << 20, np.uint32)
    memory = four.allocate(source.nbytes)
    written = threads_that_copy(monkeypatch, lambda: four.write(memory, 0, memoryview(source)))
    read = threads_that_copy(monkeypatch, lambda: four.read(memory, 0, memoryview(out)))
    assert len(written) == 4
    assert written == read, "the same threads help again"
    assert np.array_equal(out, source)


def test_threads_help_from_a_size_on(modules):
    workers = CopyWorkers(3, least_bytes=100, share_bytes=30)
    assert [workers.share_bytes(nbytes) for nbytes in (0, 1, 99, 100, 1000)] == [1, 1, 99, 30, 30]
    assert CopyWorkers(0, least_bytes=100, share_bytes=30).share_bytes(1000) == 1000
    runtime = VulkanRuntime(0, staging=True, module_source=modules)
    assert runtime._staging.workers is copy_workers.WORKERS
    runtime.close()


def test_transfers_of_several_threads_share_the_helpers(four):
    rng = np.random.default_rng(1)
    wrong = []

    def transfer(source):
        memory, out = four.allocate(source.nbytes), np.empty_like(source)
        for _ in range(10):
            four.write(memory, 0, source.data)
            out[:] = 0
            four.read(memory, 0, out.data)
            if not np.array_equal(out, source):
                wrong.append(source.nbytes)

    sources = [rng.integers(0, 256, nbytes, np.uint8) for nbytes in (LEAST, 100_000, PIECE_BYTES + 5, 2 * PIECE_BYTES)]
    threads = [threading.Thread(target=transfer, args=(source,)) for source in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert not four._session._active_users


def test_what_was_copied_is_not_kept(four):
    memory, out = four.allocate(100_000), bytearray(100_000)
    for _ in range(50):
        four.read(memory, 0, memoryview(out))
        out.append(0)  # a BufferError as long as a view of it is left
        del out[-1:]


# What copies, and fails or is interrupted, without a device.


class Held:
    """A copy that a helper makes while the caller is in ``until_held``; it ends when ``released`` is set."""

    def __init__(self):
        self.caller = threading.get_ident()
        self.begun, self.released, self.ended = threading.Event(), threading.Event(), threading.Event()

    def __call__(self):
        if threading.get_ident() == self.caller:
            assert self.begun.wait(20), "no thread helps"
            return
        if not self.begun.is_set():
            self.begun.set()
            assert self.released.wait(20)
            self.ended.set()


def test_an_error_in_a_helper_is_raised_in_the_caller():
    require_error_of_helper(CopyWorkers(1))


def require_error_of_helper(workers):
    caller, failed = threading.get_ident(), threading.Event()

    def copy():
        if threading.get_ident() == caller:
            assert failed.wait(20)
        else:
            failed.set()
            raise MemoryError("of a helper")

    for _ in range(3):  # the helper lives on
        failed.clear()
        with pytest.raises(MemoryError, match="of a helper"):
            workers.copy([copy, copy], lambda: nullcontext(True))


def test_an_error_of_the_guard_is_raised_in_the_caller():
    refused = threading.Event()

    @contextmanager
    def guard():
        refused.set()
        raise DeviceError("the device was closed")
        yield

    with pytest.raises(DeviceError, match="was closed"):
        CopyWorkers(1).copy([partial(refused.wait, 20)] * 2, guard)


def test_after_an_error_the_caller_waits_for_those_who_copy_and_no_other_copy_begins():
    held, made = Held(), []

    def fail():
        assert held.begun.wait(20)
        threading.Timer(0.1, held.released.set).start()
        raise Interrupted

    def either():
        (held if threading.get_ident() != held.caller else fail)()

    with pytest.raises(Interrupted):
        CopyWorkers(1).copy([either, either, *[partial(made.append, place) for place in range(100)]], nullcontext_true)
    assert held.ended.is_set(), "a helper still copies"
    assert not made


def nullcontext_true():
    return nullcontext(True)


def test_without_a_thread_of_the_system_the_caller_copies_alone(monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(copy_workers._thread, "start_new_thread", refuse)
    made, workers = [], CopyWorkers(3)
    workers.copy([partial(made.append, place) for place in range(10)], nullcontext_true)
    assert made == list(range(10))
    assert workers._calls.empty(), "a piece that nobody takes is kept"
    monkeypatch.undo()
    require_error_of_helper(workers)


def test_the_first_interrupt_in_the_wait_for_helpers_does_not_end_it(monkeypatch):
    held, waits = Held(), []

    class Left(copy_workers.SimpleQueue):
        def get(self, timeout):
            if not waits:
                waits.append(held.begun.wait(20))
                held.released.set()
                raise Interrupted
            return super().get(timeout=timeout)

    def either():
        if threading.get_ident() == held.caller:
            assert held.begun.wait(20)
        else:
            held()

    workers = CopyWorkers(1)
    monkeypatch.setattr(copy_workers, "SimpleQueue", Left)  # of the piece
    with pytest.raises(Interrupted):
        workers.copy([either, either], nullcontext_true)
    assert held.ended.is_set(), "a helper still copies"


@pytest.mark.skipif(sys.platform == "win32", reason="has no fork")
def test_a_child_forked_by_a_handler_waits_for_no_helper(kernels):
    out = passes(
        """
        import os, threading
        from contextlib import nullcontext
        from restride.runtime.vulkan.copy_workers import WORKERS, CopyWorkers
        workers, caller, begun, go = CopyWorkers(1), threading.get_ident(), threading.Event(), threading.Event()
        child = 0
        def copy():
            global child
            if threading.get_ident() != caller:
                begun.set()
                go.wait()
                return
            begun.wait()
            child = os.fork()
            go.set()
        workers.copy([copy, copy], lambda: nullcontext(True))
        if child == 0:
            os._exit(7 if len(WORKERS._unstarted) == WORKERS._number else 8)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        kernels,
    )
    assert out == "7\n"


# Interrupts in the middle of a transfer: what a helper still copies is neither reused nor unmapped.


def interrupt_twice(runtime, monkeypatch, held):
    """A download that an interrupt ends while a helper copies, and a second one while the caller waits for that."""

    def copy(*_):
        held()
        if threading.get_ident() == held.caller:
            raise Interrupted

    def interrupted(_):
        raise Interrupted

    memory = runtime.allocate(100_000)
    monkeypatch.setattr(module, "copy_bytes", copy)
    monkeypatch.setattr(copy_workers._Piece, "end", interrupted)
    with pytest.raises(Interrupted):
        runtime.read(memory, 0, memoryview(bytearray(100_000)))
    monkeypatch.undo()


def test_a_buffer_that_a_helper_still_copies_is_no_other_transfers(four, monkeypatch):
    held, pool = Held(), four._session.blocks.host_pool
    interrupt_twice(four, monkeypatch, held)
    (stage,) = (block for block in pool._leaving if block.pins)
    source, out, used = np.arange(25_000, dtype=np.uint32), np.empty(25_000, np.uint32), []
    memory, take = four.allocate(source.nbytes), four._session.staging_block
    monkeypatch.setattr(four._session, "staging_block", lambda nbytes: used.append(take(nbytes)) or used[-1])
    four.write(memory, 0, memoryview(source))
    four.read(memory, 0, memoryview(out))
    assert used
    assert stage not in used
    assert np.array_equal(out, source)
    held.released.set()
    assert held.ended.wait(20)


def test_closing_waits_for_a_helper_that_still_copies(modules, monkeypatch):
    runtime, held = staged(modules), Held()
    interrupt_twice(runtime, monkeypatch, held)
    closing = threading.Thread(target=runtime.close)
    closing.start()
    closing.join(0.3)
    assert closing.is_alive(), "the buffer is unmapped under the helper"
    held.released.set()
    closing.join(20)
    assert not closing.is_alive()


def test_a_helper_that_comes_after_an_interrupt_copies_nothing(four, monkeypatch):
    """Its buffer was given back, and may be another transfer's."""
    workers = four._staging.workers
    workers._unstarted.clear()
    copied = []

    def copy(*_):
        copied.append(threading.get_ident())
        raise Interrupted

    def interrupted(_):
        raise Interrupted

    memory, out = upload(four, np.full(100_000, 1, np.uint8)), bytearray(100_000)
    while not workers._calls.empty():
        workers._calls.get()
    monkeypatch.setattr(module, "copy_bytes", copy)
    monkeypatch.setattr(copy_workers._Piece, "end", interrupted)
    with pytest.raises(Interrupted):
        four.read(memory, 0, memoryview(out))
    piece = workers._calls.get()
    assert piece._copies, "there is something left to copy"
    piece.help()
    assert copied == [threading.get_ident()], "only the caller"
    assert not piece.errors


STAGED = """
import signal
from contextlib import nullcontext
from restride.runtime.vulkan.copy_workers import CopyWorkers
device = open_device(staging=True)
device._staging.workers = CopyWorkers(3, 5000, 1700)
def threads():
    return len(sys._current_frames())
"""


no_windows = pytest.mark.skipif(sys.platform == "win32", reason="no fork, and no signal of a timer, on Windows")


@no_windows
def test_interrupts_at_any_moment_leave_a_device_that_works_and_closes(kernels):
    program = """
source = np.random.default_rng(0).integers(0, 256, 9 << 20, np.uint8)
memory, result = device.allocate(source.nbytes), np.zeros_like(source)
interrupted = 0
def transfer():
    device.write(memory, 0, source.data)
    device.read(memory, 0, result.data)
def interrupt(number, frame):
    while frame:
        if frame.f_code is transfer.__code__:
            raise KeyboardInterrupt
        frame = frame.f_back
signal.signal(signal.SIGALRM, interrupt)
for turn in range(150):
    signal.setitimer(signal.ITIMER_REAL, 0.0001 + turn * 0.00008, 0.0003)
    try:
        transfer()
    except KeyboardInterrupt:
        interrupted += 1
signal.setitimer(signal.ITIMER_REAL, 0)
result[:] = 0
device.write(memory, 0, source.data)
device.read(memory, 0, result.data)
assert np.array_equal(result, source)
device.close()
print(interrupted > 20, device._session._active_users)
"""
    done = run(STAGED + program, kernels)  # what an interrupt ends in a finalizer goes to stderr
    assert (done.returncode, done.stdout) == (0, "True 0\n"), done.stdout + done.stderr


@no_windows
def test_threads_start_with_the_first_large_transfer_and_a_child_needs_none(kernels):
    program = """
memory, small, large = device.allocate(9000), bytearray(4999), bytearray(9000)
device.read(memory, 0, memoryview(small))
print(threads())
device.read(memory, 0, memoryview(large))
signal.alarm(30)
while threads() < 4:
    time.sleep(0.01)
device.read(memory, 0, memoryview(large))
print(threads(), flush=True)
pid = os.fork()
if pid == 0:
    made = []
    device._staging.workers.copy([lambda: made.append(threads())] * 10, lambda: nullcontext(True))
    print(made, flush=True)
    try:
        device.read(memory, 0, memoryview(large))
    except DeviceLost:
        sys.exit(0)
    sys.exit(1)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert passes(STAGED + program, kernels) == f"1\n4\n{[1] * 10}\n0\n"


def test_a_process_ends_while_helpers_wait_and_while_they_copy(kernels):
    program = """
memory, out = device.allocate(9 << 20), bytearray(9 << 20)
begun = threading.Event()
def transfer():
    while True:
        try:
            device.read(memory, 0, memoryview(out))
        except DeviceError:  # closed at the end of the process
            return
        begun.set()
threading.Thread(target=transfer, daemon=True).start()
begun.wait()
"""
    passes(STAGED + program, kernels)
