"""The direct runtime: bytes go round, kernels run in order with the fewest barriers, memory is pooled and bounded."""

import gc
import os
import random
import threading
from dataclasses import replace

import numpy as np
import pytest
from spirv_kernels import compile_kernels

from restride.errors import (
    DescriptorError,
    DeviceError,
    DeviceLost,
    DeviceTimeout,
    OutOfDeviceMemory,
    UnsupportedError,
)
from restride.kernel import Binding, KernelSpec
from restride.runtime.loader import failure
from restride.runtime.vk_descriptors import DescriptorSets
from restride.runtime.vk_parameters import MOST_KEPT_BYTES
from restride.runtime.vk_program import Pipelines
from restride.runtime.vk_queue import MOST_PENDING
from restride.runtime.vk_session import SEPARATE_BUFFERS_VARIABLE
from restride.runtime.vk_staging import PIECE_BYTES
from restride.runtime.vulkan import VulkanRuntime

MIB = 1 << 20

# Under GPU-assisted validation every memory has its own buffer, so nothing is suballocated.
SEPARATE = bool(os.environ.get(SEPARATE_BUFFERS_VARIABLE))


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    return compile_kernels(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(params=[False, True], ids=["in-place", "staging"])
def runtime(request, modules):
    made = VulkanRuntime(0, staging=request.param, module_source=modules)
    yield made
    made.close()


@pytest.fixture
def in_place(modules):
    made = VulkanRuntime(0, staging=False, module_source=modules)
    yield made
    made.close()


def affine(words, mul=1, k=0, source=0, target=0):
    groups = (-(-words // 64), 1, 1)
    bindings = (Binding(source, 4 * words), Binding(target, 4 * words, writes=True))
    return KernelSpec("affine", (mul,), (words, k), b"", groups, bindings)


def bump(words, k=1):
    return KernelSpec("bump", (), (words, k), b"", (-(-words // 64), 1, 1), (Binding(0, 4 * words, writes=True),))


def table(words, values):
    contents = np.array(values, np.uint32).tobytes()
    return KernelSpec("table", (), (words, 0), contents, (-(-words // 64), 1, 1), (Binding(0, 4 * words, writes=True),))


def slow(words, rounds=60_000):
    groups = (-(-words // 64), 1, 1)
    return KernelSpec("slow", (), (words, rounds), b"", groups, (Binding(0, 4 * words, writes=True),))


def upload(runtime, array):
    memory = runtime.allocate(array.nbytes)
    runtime.write(memory, 0, memoryview(array))
    return memory


def download(runtime, memory, words):
    out = np.empty(words, np.uint32)
    runtime.read(memory, 0, memoryview(out))
    return out


# Bytes


@pytest.mark.parametrize("nbytes", [1, 2, 3, 15, 16, 17, 1000, 4097, 300_001, PIECE_BYTES + 5, 3 * PIECE_BYTES - 1])
def test_bytes_round_trip_at_any_offset(runtime, nbytes):
    rng = np.random.default_rng(nbytes)
    truth = rng.integers(0, 256, nbytes, np.uint8)
    memory = runtime.allocate(nbytes)
    assert memory.nbytes == nbytes
    runtime.write(memory, 0, memoryview(truth))
    for _ in range(8):
        start = int(rng.integers(0, nbytes))
        count = int(rng.integers(0, nbytes - start)) + 1
        piece = rng.integers(0, 256, count, np.uint8)
        runtime.write(memory, start, memoryview(piece))
        truth[start : start + count] = piece
        start = int(rng.integers(0, nbytes))
        out = np.zeros(nbytes - start, np.uint8)
        runtime.read(memory, start, memoryview(out))
        assert np.array_equal(out, truth[start:])


def test_any_contiguous_memoryview_is_bytes(runtime):
    values = np.arange(24, dtype=np.float64).reshape(2, 3, 4)
    memory = runtime.allocate(values.nbytes)
    runtime.write(memory, 0, memoryview(values))
    out = np.zeros_like(values)
    runtime.read(memory, 0, memoryview(out))
    assert np.array_equal(out, values)
    runtime.read(memory, 0, memoryview(bytearray(0)))
    runtime.write(memory, values.nbytes, memoryview(b""))
    runtime.write(memory, 0, memoryview(np.zeros((3, 0), np.int16)))
    with pytest.raises(DescriptorError, match=r"contiguous, its strides are \(32, 16\)"):
        runtime.write(memory, 0, memoryview(values[0, :, ::2]))


def test_what_leaves_a_memory_is_refused(runtime):
    memory = runtime.allocate(100)
    with pytest.raises(DescriptorError, match=r"bytes \[97, 101\) leave a memory of 100 bytes"):
        runtime.write(memory, 97, memoryview(bytes(4)))
    with pytest.raises(DescriptorError, match=r"bytes \[-1, 3\) leave"):
        runtime.read(memory, -1, memoryview(bytearray(4)))
    with pytest.raises(DescriptorError, match="read-only"):
        runtime.read(memory, 0, memoryview(bytes(4)))
    with pytest.raises(DescriptorError, match="at least 1 byte"):
        runtime.allocate(0)
    memory.free()
    memory.free()
    with pytest.raises(DescriptorError, match="this memory of 100 bytes was freed"):
        runtime.read(memory, 0, memoryview(bytearray(4)))


def test_counters_count_traffic(runtime):
    memory = runtime.allocate(1000)
    before = runtime.counters()
    runtime.write(memory, 3, memoryview(bytes(500)))
    runtime.read(memory, 7, memoryview(bytearray(11)))
    after = runtime.counters()
    assert (after.uploaded - before.uploaded, after.downloaded - before.downloaded) == (500, 11)
    assert before.bytes_in_use == 1008
    assert before.bytes_allocated >= before.bytes_in_use


# Kernels


def test_constants_push_and_parameters_arrive(runtime):
    words = 1000
    source = np.arange(words, dtype=np.uint32)
    a, b = upload(runtime, source), runtime.allocate(4 * words)
    for mul, k in [(1, 0), (3, 5), (0xFFFFFFFF, 7), (3, 6)]:
        runtime.submit([affine(words, mul, k)], [a, b])
        assert np.array_equal(download(runtime, b, words), source * np.uint32(mul) + np.uint32(k))
    assert runtime.counters().pipelines == 3
    for values in ([1, 2, 3, 4], [9, 8, 7, 6], [1, 2, 3, 4]):
        runtime.submit([table(words, values)], [b])
        assert np.array_equal(download(runtime, b, words), np.resize(np.array(values, np.uint32), words))


def test_windows_of_a_memory(runtime):
    words, step = 64, max(256, runtime.limits.offset_alignment)
    memory, target = upload(runtime, np.arange(1024, dtype=np.uint32)), runtime.allocate(4096)
    for source_offset in (0, step, 3 * step):
        runtime.submit([affine(words, 2, 1, source_offset, 2 * step)], [memory, target])
        expected = (source_offset // 4 + np.arange(words, dtype=np.uint32)) * 2 + 1
        out = np.empty(words, np.uint32)
        runtime.read(target, 2 * step, memoryview(out))
        assert np.array_equal(out, expected)


def test_a_memory_beyond_the_binding_range_is_bound_by_windows(modules):
    runtime = VulkanRuntime(0, module_source=modules, max_buffer_range=4096)
    assert runtime.limits.max_buffer_range == runtime.info.limits.max_buffer_range == 4096
    memory = upload(runtime, np.arange(4096, dtype=np.uint32))
    target = runtime.allocate(16384)
    kernels = [affine(1024, 1, 1, offset, offset) for offset in range(0, 16384, 4096)]
    runtime.submit(kernels, [memory, target])
    assert np.array_equal(download(runtime, target, 4096), np.arange(4096, dtype=np.uint32) + 1)
    with pytest.raises(DescriptorError, match="at most 4096"):
        runtime.submit([affine(1025)], [memory, target])
    runtime.close()


def test_a_memory_beyond_the_devices_own_range(in_place):
    step = in_place.limits.max_buffer_range
    if step > 1 << 30:
        pytest.skip("maxStorageBufferRange is above 1 GiB")
    memory = in_place.allocate(step + 4096)
    for offset in (0, step):
        in_place.write(memory, offset, memoryview(np.arange(1024, dtype=np.uint32)))
    windows = [
        replace(bump(1024), bindings=(Binding(0, step, writes=True),)),
        replace(bump(1024, 2), bindings=(Binding(step, 4096, writes=True),)),
    ]
    in_place.submit(windows, [memory])
    out = np.empty(1024, np.uint32)
    for offset, k in ((0, 1), (step, 2)):
        in_place.read(memory, offset, memoryview(out))
        assert np.array_equal(out, np.arange(k, 1024 + k))
    with pytest.raises(DescriptorError, match=f"at most {step}"):
        in_place.submit([replace(bump(1), bindings=(Binding(0, step + 4, writes=True),))], [memory])


def test_bad_kernels_are_refused_and_the_next_one_works(runtime):
    words = 64
    a, b = upload(runtime, np.arange(words, dtype=np.uint32)), upload(runtime, np.zeros(words, np.uint32))
    before = runtime.counters()
    good = affine(words)
    bad = [
        (affine(words + 4), r"covers bytes \[0, 272\) of a memory of 256 bytes"),
        (affine(8, source=4), "multiple of"),
        (affine(8, source=-256), r"\[-256, -224\)"),
        (affine(0), "groups"),
        (KernelSpec("bump", (), (1,), b"", (1, 70000, 1), (Binding(0, 16, writes=True),)), "groups"),
        (KernelSpec("bump", (), (1,), b"", (1, 1, 1), (Binding(0, 0, writes=True),)), "size a multiple of 4"),
        (KernelSpec("bump", (), (1,), b"", (1, 1, 1), (Binding(0, 6, writes=True),)), "size a multiple of 4"),
        (KernelSpec("bump", (), (1,) * 33, b"", (1, 1, 1), (Binding(0, 16, writes=True),)), "pushes 132 bytes"),
        (KernelSpec("bump", (), (1,), b"", (1, 1, 1), (Binding(0, 16),) * 3), "3 bindings for 2 memories"),
    ]
    for spec, message in bad:
        with pytest.raises(DescriptorError, match=message):
            runtime.submit([good, spec], [a, b])
    with pytest.raises(FileNotFoundError):
        runtime.submit([good, KernelSpec("absent", (), (), b"", (1, 1, 1), good.bindings)], [a, b])
    assert not download(runtime, b, words).any()
    assert runtime.counters().submissions - before.submissions in (0, 1)  # 1: the read, when it is staged
    runtime.submit([good], [a, b])
    assert np.array_equal(download(runtime, b, words), np.arange(words))


def test_memories_of_another_device_are_refused(in_place, modules):
    other = VulkanRuntime(0, module_source=modules)
    foreign = other.allocate(64)
    with pytest.raises(DescriptorError, match="belongs to another device"):
        in_place.submit([bump(16)], [foreign])
    other.close()


def test_submit_without_kernels_does_nothing(runtime):
    runtime.submit([], [runtime.allocate(16)])
    assert runtime.counters().submissions == 0


# Barriers


def barriers(runtime, kernels, memories):
    before = runtime.counters().barriers
    runtime.submit(kernels, memories)
    return runtime.counters().barriers - before


def test_barriers_stand_between_dependent_dispatches_only(in_place):
    words = 64
    a, b, c = (in_place.allocate(4 * words) for _ in range(3))
    assert barriers(in_place, [affine(words)], [a, b]) == 0
    assert barriers(in_place, [affine(words)], [a, c]) == 0, "two reads"
    assert barriers(in_place, [affine(words)], [b, c]) == 1, "read after write, write after write"
    assert barriers(in_place, [affine(words)], [b, a]) == 0, "a was last read before the barrier, b is read again"
    assert barriers(in_place, [bump(words)], [b]) == 1, "write after read"
    assert barriers(in_place, [bump(words)], [b]) == 1, "write after write, across submissions"
    assert barriers(in_place, [bump(words)] * 5, [b]) == 5, "within a submission too"
    d, e = in_place.allocate(4 * words), in_place.allocate(4 * words)
    assert barriers(in_place, [affine(words)], [d, e]) == 0, "nothing in common"
    in_place.wait()
    assert barriers(in_place, [table(words, [1, 2, 3, 4])], [in_place.allocate(4 * words)]) == 0


def test_chains_of_dependent_kernels_are_right(runtime):
    words = 10_000
    rng = random.Random(7)
    truth = [np.arange(words, dtype=np.uint32) + index for index in range(4)]
    memories = [upload(runtime, values) for values in truth]
    for _ in range(60):
        kernels, target = [], rng.randrange(4)
        if rng.random() < 0.5:
            source = (target + 1 + rng.randrange(3)) % 4
            mul, k = rng.randrange(1, 5), rng.randrange(100)
            kernels = [affine(words, mul, k)] * rng.randrange(1, 3)
            runtime.submit(kernels, [memories[source], memories[target]])
            truth[target] = truth[source] * np.uint32(mul) + np.uint32(k)
        else:
            count = rng.randrange(1, 6)
            runtime.submit([bump(words, 3)] * count, [memories[target]])
            truth[target] = truth[target] + np.uint32(3 * count)
        if rng.random() < 0.2:
            assert np.array_equal(download(runtime, memories[target], words), truth[target])
    for memory, expected in zip(memories, truth, strict=True):
        assert np.array_equal(download(runtime, memory, words), expected)


# Memory


def test_ten_thousand_operations_make_a_handful_of_allocations(runtime):
    for nbytes in (1000, 500_000):
        before = runtime.counters().allocations
        for _ in range(5000):
            memory = runtime.allocate(nbytes)
            runtime.submit([bump(64)], [memory])
            del memory
        runtime.wait()
        after = runtime.counters()
        if nbytes == 1000:
            assert SEPARATE or after.allocations - before <= 2
        else:
            assert after.allocations - before <= MOST_PENDING + 2
            assert after.bytes_allocated <= 330 * MIB
        assert after.bytes_in_use == 0


def test_a_loop_that_reads_its_results_reuses_one_block(in_place):
    for _ in range(500):
        memory = in_place.allocate(3 * MIB)
        in_place.submit([bump(64)], [memory])
        download(in_place, memory, 16)
        del memory
    assert in_place.counters().allocations <= 2


def test_many_sizes_stay_within_bounds(in_place):
    rng = random.Random(3)
    live, contents = [], []
    for _ in range(3000):
        if live and rng.random() < 0.5:
            index = rng.randrange(len(live))
            live.pop(index).free()
            contents.pop(index)
        else:
            nbytes = int(2 ** rng.uniform(2, 19)) & ~3
            memory = in_place.allocate(nbytes)
            word = rng.randrange(1 << 32)
            in_place.write(memory, 0, memoryview(np.full(nbytes // 4, word, np.uint32)))
            live.append(memory)
            contents.append(word)
    for memory, word in zip(live, contents, strict=True):
        assert (download(in_place, memory, memory.nbytes // 4) == word).all()
    used = sum(-(-memory.nbytes // 16) * 16 for memory in live)
    counters = in_place.counters()
    assert counters.bytes_in_use == used
    del memory
    live.clear()
    gc.collect()
    assert in_place.counters().bytes_in_use == 0
    in_place._session.pool.trim()
    assert in_place.counters().bytes_allocated <= 2 * MIB


def test_devices_share_the_budget_of_their_heap(modules):
    first, second = VulkanRuntime(0, module_source=modules), VulkanRuntime(0, module_source=modules)
    heap = first._session.pool.chunks._budget.heap_bytes
    kept = first.allocate(MIB)
    for _ in range(4):
        first.allocate(60 * MIB).free()
    assert first.counters().bytes_allocated > 60 * MIB
    large = second.allocate(heap - 50 * MIB)
    assert first.counters().bytes_allocated == MIB, "what was idle made room"
    with pytest.raises(OutOfDeviceMemory, match=f"of its heap of {heap} bytes"):
        first.allocate(60 * MIB)
    large.free()
    second.close()
    first.allocate(60 * MIB)
    assert kept.nbytes == MIB
    first.close()


def test_freed_memory_is_pooled_up_to_a_bound(modules):
    runtime = VulkanRuntime(0, module_source=modules, heap_bytes=64 * MIB)
    memories = [runtime.allocate(4 * MIB) for _ in range(16)]
    assert runtime.counters().bytes_allocated == 64 * MIB
    memories.clear()
    assert runtime.counters().bytes_allocated <= 32 * MIB, "half the heap"
    other_size = runtime.allocate(60 * MIB)
    assert runtime.counters().bytes_allocated == 60 * MIB, "the pool makes room"
    other_size.free()
    runtime.close()


def test_the_budget_refuses_and_the_next_operation_works(modules):
    runtime = VulkanRuntime(0, module_source=modules, heap_bytes=8 * MIB)
    a = runtime.allocate(5 * MIB)
    message = rf"no room for {4 * MIB} bytes: {5 * MIB} of its heap of {8 * MIB} bytes are in use"
    with pytest.raises(OutOfDeviceMemory, match=message) as caught:
        runtime.allocate(4 * MIB)
    assert isinstance(caught.value, MemoryError)
    with pytest.raises(OutOfDeviceMemory):
        runtime.allocate(1 << 40)
    small = [runtime.allocate(100_000) for _ in range(20)]
    runtime.submit([bump(64)], [a])
    runtime.submit([slow(4096)], [a])
    a.free()
    # What is freed, but in use, is waited for rather than refused.
    b = runtime.allocate(5 * MIB)
    runtime.submit([bump(64)], [b])
    runtime.wait()
    small.clear()
    runtime.close()


def test_parameters_wait_for_room(modules):
    runtime = VulkanRuntime(0, module_source=modules, heap_bytes=8 * MIB)
    kept = runtime.allocate(MIB)
    large = runtime.allocate(6 * MIB)
    full = runtime.allocate(MIB - 4096)
    assert full.nbytes
    runtime.submit([slow(8192)] * 2, [large])
    large.free()
    runtime.submit([table(64, np.arange(1 << 18, dtype=np.uint32))], [kept])
    assert np.array_equal(download(runtime, kept, 64), np.resize(np.arange(4), 64))
    runtime.close()


def test_the_drivers_own_refusal_is_typed(in_place, monkeypatch):
    functions = in_place._session.device.vk
    kept = in_place.allocate(MIB)
    allocate = functions.vkAllocateMemory
    monkeypatch.setattr(functions, "vkAllocateMemory", functions._checked("vkAllocateMemory", lambda *_: -2))
    with pytest.raises(OutOfDeviceMemory, match="vkAllocateMemory failed with VK_ERROR_OUT_OF_DEVICE_MEMORY"):
        in_place.allocate(2 * MIB)
    assert in_place.counters().bytes_allocated == MIB
    monkeypatch.setattr(functions, "vkAllocateMemory", allocate)
    in_place.submit([affine(64)], [kept, in_place.allocate(2 * MIB)])
    in_place.wait()


def test_an_allocation_larger_than_the_driver_allows(modules):
    runtime = VulkanRuntime(0, module_source=modules, heap_bytes=1 << 50)
    with pytest.raises(UnsupportedError, match="exceed the largest single allocation"):
        runtime.allocate(1 << 40)
    runtime.close()


def test_parameters_are_kept_within_bounds(in_place):
    memory = in_place.allocate(256)
    for value in range(5000):
        in_place.submit([table(64, [value, 2, 3, 4])], [memory])
    assert np.array_equal(download(in_place, memory, 64), np.resize(np.array([4999, 2, 3, 4], np.uint32), 64))
    contents = np.arange(MOST_KEPT_BYTES, dtype=np.uint32)
    for first in range(3):
        in_place.submit([table(64, contents + np.uint32(first))], [memory])
        assert np.array_equal(download(in_place, memory, 64)[:4], np.arange(first, first + 4))
    in_place.wait()
    counters = in_place.counters()
    assert counters.bytes_in_use == 256, "parameters are not memories"
    assert SEPARATE or counters.allocations <= 8


def test_pipelines_and_sets_are_bounded(in_place):
    session = in_place._session
    session.pipelines._most, session.recorder._sets._most = 4, 8
    assert isinstance(session.pipelines, Pipelines)
    assert isinstance(session.recorder._sets, DescriptorSets)
    source = np.arange(64, dtype=np.uint32)
    a = upload(in_place, source)
    for _ in range(3):
        for mul in range(10):
            b = in_place.allocate(256 * (mul + 1))
            in_place.submit([affine(64, mul)], [a, b])
            assert np.array_equal(download(in_place, b, 64), source * np.uint32(mul))
    assert len(session.pipelines) <= 5
    assert in_place.counters().pipelines == 30
    assert len(session.recorder._sets._sets) <= 9
    assert len(session.recorder._sets._pools) == 1


# Time


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
    runtime.timeout = 60.0
    runtime.wait()
    runtime.read(memory, 0, memoryview(out))
    assert out != b"\xaa" * 16
    runtime.submit([affine(16)], [other, memory])
    assert download(runtime, memory, 1)[0] == 0x03020100
    runtime.close()


def test_the_queue_is_bounded(in_place):
    memory = in_place.allocate(4096)
    for _ in range(3 * MOST_PENDING):
        in_place.submit([bump(1024)], [memory])
    assert len(in_place._session.queue._slots) <= MOST_PENDING
    in_place.wait()


# Threads


def test_threads_share_a_device(runtime):
    words, failures = 500, []

    def work(seed):
        try:
            rng = np.random.default_rng(seed)
            mine = upload(runtime, np.full(words, seed, np.uint32))
            expected = seed
            for step in range(200):
                scratch = runtime.allocate(int(rng.integers(4 * words, 20 * words)))
                runtime.submit([affine(words, 1, step), affine(words, 1, step)], [mine, scratch])
                runtime.submit([affine(words, 1, 1)], [scratch, mine])
                expected += step + 1
                if step % 10 == 0:
                    assert (download(runtime, mine, words) == expected).all(), (seed, step)
            assert (download(runtime, mine, words) == expected).all()
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
    assert SEPARATE or counters.allocations < 20


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


# Loss


def test_a_lost_device_says_so_from_then_on(modules, monkeypatch):
    runtime = VulkanRuntime(0, module_source=modules)
    memory = runtime.allocate(256)
    functions = runtime._session.device.vk
    monkeypatch.setattr(functions, "vkQueueSubmit", functions._checked("vkQueueSubmit", lambda *_: -4))
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
    functions = in_place._session.device.vk
    submit = functions.vkQueueSubmit
    monkeypatch.setattr(functions, "vkQueueSubmit", functions._checked("vkQueueSubmit", lambda *_: -3))
    for _ in range(3):
        with pytest.raises(DeviceError, match="vkQueueSubmit failed with VK_ERROR_INITIALIZATION_FAILED"):
            in_place.submit([bump(64), table(64, [1, 2, 3, 4])], [memory])
    monkeypatch.setattr(functions, "vkQueueSubmit", submit)
    assert barriers(in_place, [bump(64)], [memory]) == 1, "the abandoned recordings may have held one"
    assert (download(in_place, memory, 64) == 1).all()


def test_results_have_names():
    assert isinstance(failure("vkX", -1), OutOfDeviceMemory)
    assert isinstance(failure("vkX", -4), DeviceLost)
    assert str(failure("vkX", -3)) == "vkX failed with VK_ERROR_INITIALIZATION_FAILED"
    assert str(failure("vkX", -12345)) == "vkX failed with VkResult -12345"
