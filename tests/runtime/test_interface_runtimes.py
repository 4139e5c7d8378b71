"""What both runtimes promise: bytes go round, kernels and copies run in order, what breaks a rule is refused."""

import copy
import gc
import random
import re
import threading
import time

import numpy as np
import pytest
from support import vulkan_kernels
from support.devices import open_device
from support.vulkan_kernels import SEPARATE, affine, barriers, bump, download, slow, table, upload

from restride.errors import DescriptorError, DeviceLost
from restride.runtime import choose, list_devices
from restride.runtime.kompute import runtime as kompute
from restride.runtime.kompute.runtime import KomputeRuntime
from restride.runtime.vulkan import program
from restride.runtime.vulkan.runtime import PIECE_BYTES, VulkanRuntime

modules, _, in_place = vulkan_kernels.FIXTURES

OPEN = {
    "vulkan, in place": lambda source: VulkanRuntime(0, staging=False, module_source=source),
    "vulkan, staging": lambda source: VulkanRuntime(0, staging=True, module_source=source),
    "kompute, in place": lambda source: KomputeRuntime(choose(list_devices(), 0), module_source=source, in_place=True),
    "kompute, staging": lambda source: KomputeRuntime(choose(list_devices(), 0), module_source=source, in_place=False),
}


@pytest.fixture(params=OPEN)
def mode(request):
    open_device(request.param.split(",")[0]).close()
    return request.param


@pytest.fixture
def runtime(mode, modules):
    made = OPEN[mode](modules)
    yield made
    made.close()


def noise(nbytes, seed=0):
    return np.random.default_rng([nbytes, seed]).integers(0, 256, nbytes, np.uint8)


def read(runtime, memory):
    out = np.empty(memory.nbytes, np.uint8)
    runtime.read(memory, 0, memoryview(out))
    return out


@pytest.mark.parametrize("nbytes", [1, 2, 3, 15, 16, 17, 1000, 4097, 300_001, PIECE_BYTES + 5, 3 * PIECE_BYTES - 1])
def test_bytes_round_trip_at_any_offset(runtime, nbytes):
    rng = np.random.default_rng(nbytes)
    truth = noise(nbytes)
    memory = upload(runtime, truth)
    assert memory.nbytes == nbytes
    for _ in range(8):
        start = int(rng.integers(0, nbytes))
        piece = rng.integers(0, 256, int(rng.integers(0, nbytes - start)) + 1, np.uint8)
        cut = piece.size // 3
        runtime.write(memory, start, memoryview(piece[:cut]), memoryview(piece[cut:]))
        truth[start : start + piece.size] = piece
        start = int(rng.integers(0, nbytes))
        out = np.zeros(nbytes - start + 2, np.uint8)
        runtime.read(memory, start, memoryview(out)[1:-1])
        assert np.array_equal(out, np.pad(truth[start:], 1))


def test_what_leaves_a_memory_is_refused(runtime):
    memory = runtime.allocate(100)
    with pytest.raises(DescriptorError, match=r"bytes \[97, 101\) leave a memory of 100 bytes"):
        runtime.write(memory, 97, memoryview(bytes(4)))
    with pytest.raises(DescriptorError, match=r"bytes \[-1, 3\) leave"):
        runtime.read(memory, -1, memoryview(bytearray(4)))
    with pytest.raises(DescriptorError, match="read-only"):
        runtime.read(memory, 0, memoryview(bytes(4)))
    with pytest.raises(DescriptorError, match="0 bytes or more, nbytes is -1"):
        runtime.allocate(-1)
    memory.free()
    memory.free()
    for use in (runtime.read, runtime.write):
        with pytest.raises(DescriptorError, match=r"memory of 100 bytes was .*freed"):
            use(memory, 0, memoryview(bytearray(4)))


def test_memories_of_others_are_refused(runtime, mode, modules):
    mine = runtime.allocate(64)
    for other in (OPEN[mode](modules), VulkanRuntime(0, module_source=modules)):
        foreign = other.allocate(64)
        with pytest.raises(DescriptorError, match=r"another device|not a memory of this device"):
            runtime.submit([affine(16)], [mine, foreign])
        with pytest.raises(DescriptorError, match=r"another device|not a memory of this device"):
            runtime.copy(mine, foreign, 10)
        other.close()


@pytest.mark.parametrize("by", ["us", "the driver"])
def test_constants_and_push_constants_arrive_as_words(runtime, monkeypatch, by):
    if by == "the driver":  # as of a module that restride.runtime.specialization does not understand
        for module in (kompute, program):
            monkeypatch.setattr(module, "specialized", lambda code, constants: (code, tuple(constants)))
    # The odd values are signalling NaNs, and integers that float32 does not hold: no word may pass through a float.
    source = np.arange(100, dtype=np.uint32)
    a, b = upload(runtime, source), upload(runtime, np.full(100, 9))
    for mul, add, k in (
        (1, 0, 0),
        (3, 0xFFFFFFF0, 7),
        (3, 0xFFFFFFF0, 6),
        (0x7FC00001, 0x7F800001, 0xFF800001),
        (16777217, 0, 0xFFFFFFFF),
    ):
        runtime.submit([affine(90, mul, k, add=add)], [a, b])
        expected = (source[:90].astype(object) * mul + add + k) % (1 << 32)
        assert download(runtime, b).tolist() == [*expected, *[9] * 10]
    assert np.array_equal(download(runtime, a), source)
    assert runtime.counters().pipelines == 4, "one for each pair of constants"


def test_new_parameters_need_no_new_pipeline(runtime):
    memory = runtime.allocate(16)
    for value in range(300):
        runtime.submit([table(4, [value] * 4), table(4, range(value, value + 4))], [memory])
        assert download(runtime, memory).tolist() == [*range(value, value + 4)]
    runtime.wait()
    counters = runtime.counters()
    assert (counters.pipelines, counters.bytes_in_use) == (1, 16)


def test_submit_without_kernels_does_nothing(runtime):
    runtime.submit([], [runtime.allocate(16)])
    assert runtime.counters().submissions == 0


def test_chains_of_dependent_kernels_are_right(runtime):
    words = 10_000
    rng = random.Random(7)
    truth = [np.arange(words, dtype=np.uint32) + index for index in range(4)]
    memories = [upload(runtime, values) for values in truth]
    for _ in range(60):
        target = rng.randrange(4)
        if rng.random() < 0.5:
            source = (target + 1 + rng.randrange(3)) % 4
            mul, k = rng.randrange(1, 5), rng.randrange(100)
            # Of kernels that write the same memory the last one wins.
            kernels = [affine(words, 7, 7)] * rng.randrange(2) + [affine(words, mul, k)]
            runtime.submit(kernels, [memories[source], memories[target]])
            truth[target] = truth[source] * np.uint32(mul) + np.uint32(k)
        else:
            count = rng.randrange(1, 6)
            runtime.submit([bump(words, 3)] * count, [memories[target]])
            truth[target] = truth[target] + np.uint32(3 * count)
        if rng.random() < 0.2:
            assert np.array_equal(download(runtime, memories[target]), truth[target])
    for memory, expected in zip(memories, truth, strict=True):
        assert np.array_equal(download(runtime, memory), expected)


def test_the_host_writes_between_kernels(runtime):
    a, b = upload(runtime, np.arange(64)), upload(runtime, np.zeros(64, np.uint32))
    runtime.submit([affine(64, 2)], [a, b])
    # One byte of what a kernel wrote, then a kernel that reads all of it, then one that writes half of it.
    runtime.write(b, 1, memoryview(b"\x01"))
    runtime.submit([affine(64, 1, 1)], [b, a])
    runtime.submit([affine(32, 1, 5)], [b, a])
    expected = np.arange(64) * 2
    expected[0] += 256
    assert download(runtime, b).tolist() == expected.tolist()
    assert download(runtime, a).tolist() == [*(expected[:32] + 5), *(expected[32:] + 1)]


def test_threads_share_a_device(runtime):
    words, failures = 500, []

    def work(seed):
        try:
            rng = np.random.default_rng(seed)
            mine = upload(runtime, np.full(words, seed))
            expected = seed
            for step in range(200):
                scratch = runtime.allocate(int(rng.integers(4 * words, 20 * words)))
                runtime.submit([affine(words, 1, step), affine(words, 1, step)], [mine, scratch])
                runtime.submit([affine(words, 1, 1)], [scratch, mine])
                expected += step + 1
                if step % 10 == 0:
                    assert (download(runtime, mine) == expected).all(), (seed, step)
            assert (download(runtime, mine) == expected).all()
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    counters = runtime.counters()
    assert counters.dispatches == 4 * 200 * 3
    assert SEPARATE or isinstance(runtime, KomputeRuntime) or counters.allocations < 20


def test_a_call_waits_for_that_of_another_thread(runtime):
    memory, done = runtime.allocate(16), []
    calls = (
        lambda: runtime.allocate(16),
        lambda: runtime.write(memory, 0, memoryview(bytes(16))),
        lambda: runtime.read(memory, 0, memoryview(bytearray(16))),
        lambda: runtime.submit([bump(4)], [memory]),
        runtime.counters,
        runtime.trim,
    )
    threads = [threading.Thread(target=lambda call=call: (call(), done.append(call))) for call in calls]
    with getattr(runtime, "_session", runtime)._lock.raw:
        for thread in threads:
            thread.start()
        time.sleep(0.05)
        assert not done
    for thread in threads:
        thread.join()
    assert len(done) == len(calls)


def test_closing_waits_and_what_is_closed_refuses_every_call(runtime):
    memory, info = runtime.allocate(4 * 8192), runtime.info
    runtime.submit([slow(8192)], [memory])
    runtime.close()
    runtime.close()
    for call in (
        lambda: runtime.allocate(16),
        lambda: runtime.write(memory, 0, memoryview(b"a")),
        lambda: runtime.read(memory, 0, memoryview(bytearray(1))),
        lambda: runtime.submit([bump(16)], [memory]),
        lambda: runtime.submit([], []),
        runtime.wait,
        runtime.counters,
    ):
        with pytest.raises(DeviceLost, match="was closed; make a new Device"):
            call()
    memory.free()
    assert runtime.info == info


def test_a_deep_copy_that_fails_half_way_is_quiet(runtime):
    # pytest turns an exception in __del__ into a failure
    memory = runtime.allocate(16)
    for value in (memory, runtime, getattr(runtime, "_session", memory)):
        with pytest.raises(TypeError):
            copy.deepcopy(value)
    gc.collect()
    memory.free()


@pytest.mark.parametrize(
    ("src_bytes", "dst_bytes", "nbytes"),
    [(16, 16, 16), (1, 1, 1), (13, 16, 13), (16, 13, 13), (1003, 1003, 1003), (1003, 1007, 5), (64, 64, 63), (0, 0, 0),
     (64, 64, 0), (300_001, 500_000, 299_999), (1 << 20, 1 << 20, 1 << 20)],
)  # fmt: skip
def test_the_first_bytes_are_copied_and_no_other(runtime, src_bytes, dst_bytes, nbytes):
    source, target = noise(src_bytes), noise(dst_bytes, 1)
    src, dst = upload(runtime, source), upload(runtime, target)
    runtime.copy(src, dst, nbytes)
    assert np.array_equal(read(runtime, src), source)
    target[:nbytes] = source[:nbytes]
    assert np.array_equal(read(runtime, dst), target)


def test_copies_and_kernels_run_in_order(runtime):
    words = 50_000
    x = np.arange(words, dtype=np.uint32)
    a, b, c = upload(runtime, x), upload(runtime, np.zeros(words, np.uint32)), upload(runtime, x)
    part = 4 * words - 4097
    for k in range(1, 5):
        runtime.submit([affine(words, 3, k)], [a, b])
        runtime.copy(b, c, 4 * words)  # reads what the kernel wrote, writes what the last round read
        runtime.submit([bump(words, k)], [b])  # writes what the copy read
        runtime.submit([affine(words, 5)], [c, a])  # reads what the copy wrote
        runtime.copy(b, a, part)  # writes what the kernel wrote
        y = x * np.uint32(3) + np.uint32(k)
        x = y * np.uint32(5)
        x.view(np.uint8)[:part] = (y + np.uint32(k)).view(np.uint8)[:part]
    assert np.array_equal(download(runtime, a, words), x)


def test_a_copy_of_no_bytes_records_none_after_its_kernels(in_place, monkeypatch):
    functions, sizes = in_place._session.device.vk, []
    copy_buffer = functions.vkCmdCopyBuffer
    monkeypatch.setattr(
        functions, "vkCmdCopyBuffer", lambda *arguments: (sizes.append(arguments[-1].size), copy_buffer(*arguments))
    )
    a, b = upload(in_place, np.arange(64, dtype=np.uint32)), upload(in_place, np.zeros(64, np.uint32))
    for nbytes in (0, 4):
        in_place.copy(a, b, nbytes, kernels=[bump(64)])
    assert sizes == [4], "Vulkan allows no region of 0 bytes"
    assert (download(in_place, a, 64) == np.arange(64) + 2).all()


def test_the_host_writes_and_reads_between_copies(runtime):
    source = noise(4096)
    src, dst = upload(runtime, source), runtime.allocate(4096)
    for number in range(3):
        source[number : number + 7] = number
        runtime.write(src, number, memoryview(source[number : number + 7]))
        runtime.copy(src, dst, 4096)
        runtime.write(dst, 4000, memoryview(b"host"))
        expected = source.copy()
        expected[4000:4004] = np.frombuffer(b"host", np.uint8)
        assert np.array_equal(read(runtime, dst), expected)


def test_memories_that_come_back_are_copied_anew(runtime):
    dst = runtime.allocate(1024)
    for number in range(80):
        source = noise(1024, number)
        src = upload(runtime, source)
        runtime.copy(src, dst, 1024)
        runtime.allocate(16 * number)  # kompute's pool overflows and destroys buffers
        assert np.array_equal(read(runtime, dst), source)


def test_what_cannot_be_copied_is_refused(runtime):
    src, dst = runtime.allocate(100), runtime.allocate(90)
    for arguments, message in (
        ((src, dst, 91), "bytes [0, 91) leave a memory of 90 bytes"),
        ((dst, src, 91), "bytes [0, 91) leave a memory of 90 bytes"),
        ((src, dst, -1), "0 bytes or more, nbytes is -1"),
        ((src, src, 10), "the same memory of 100 bytes"),
    ):
        with pytest.raises(DescriptorError, match=re.escape(message)):
            runtime.copy(*arguments)
    dst.free()
    with pytest.raises(DescriptorError, match="freed"):
        runtime.copy(src, dst, 10)


def test_barriers_stand_between_copies_and_kernels_that_meet(in_place):
    a, b, c = (in_place.allocate(4096) for _ in range(3))

    def copy(src, dst, nbytes):
        before = in_place.counters().barriers
        in_place.copy(src, dst, nbytes)
        return in_place.counters().barriers - before

    assert copy(a, b, 1024) == 0
    assert copy(a, c, 4096) == 0, "two reads"
    assert copy(b, c, 1) == 1, "read after write, write after write"
    assert barriers(in_place, [affine(64, source=1024, target=2048)], [b, c]) == 0, "beside the copied bytes"
    assert copy(c, a, 2049) == 1, "one byte of what the kernel wrote"
    assert copy(c, b, 2048) == 0, "both read c, and b was last written before the barrier"
