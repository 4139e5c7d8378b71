"""The direct runtime: bytes go round, kernels get what they were given, and what breaks a rule is refused."""

from dataclasses import replace

import numpy as np
import pytest
from support import vulkan_kernels
from support.vulkan_kernels import affine, bump, download, upload

from restride.errors import DescriptorError
from restride.kernel import Binding, KernelSpec
from restride.runtime.vulkan.runtime import PIECE_BYTES, VulkanRuntime

modules, runtime, in_place = vulkan_kernels.FIXTURES


@pytest.mark.parametrize("counts", [(), (0,), (5, 0, 11), (1, PIECE_BYTES - 1, 3), (9 << 20, 1 << 22, 7)])
def test_parts_are_written_one_after_the_other(runtime, counts):
    rng = np.random.default_rng(sum(counts))
    parts = [rng.integers(0, 256, count, np.uint8) for count in counts]
    memory = upload(runtime, np.full(sum(counts) + 5, 7, np.uint8))
    before = runtime.counters()
    runtime.write(memory, 3, *map(memoryview, parts))
    after = runtime.counters()
    assert after.uploaded - before.uploaded == sum(counts)
    pieces = -(-sum(counts) // PIECE_BYTES) if runtime._staging else 0
    assert after.submissions - before.submissions == pieces, "parts share staging buffers"
    out = np.empty(memory.nbytes, np.uint8)
    runtime.read(memory, 0, memoryview(out))
    assert np.array_equal(out, np.concatenate([[7, 7, 7], *parts, [7, 7]]))
    with pytest.raises(DescriptorError, match="leave a memory"):
        runtime.write(memory, 0, *map(memoryview, parts), memoryview(bytes(6)))


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


def test_counters_count_traffic(runtime):
    memory = runtime.allocate(1000)
    before = runtime.counters()
    runtime.write(memory, 3, memoryview(bytes(500)))
    runtime.read(memory, 7, memoryview(bytearray(11)))
    after = runtime.counters()
    assert (after.uploaded - before.uploaded, after.downloaded - before.downloaded) == (500, 11)
    assert before.bytes_in_use == 1008
    assert before.bytes_allocated >= before.bytes_in_use


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
        (KernelSpec("bump", (), (1,), b"", (1, 1, 1), ()), "0 bindings for 2 memories"),
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
