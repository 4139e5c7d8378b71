"""The device's own copy, on both runtimes: bit for bit, in order with kernels, refused where bytes leave a memory."""

import re

import numpy as np
import pytest
from support import vulkan_kernels
from support.devices import open_device
from support.vulkan_kernels import affine, barriers, bump, download, upload

from restride.errors import DescriptorError
from restride.runtime import choose, list_devices
from restride.runtime.kompute.runtime import KomputeRuntime
from restride.runtime.vulkan.runtime import VulkanRuntime

modules, _, in_place = vulkan_kernels.FIXTURES

OPEN = {
    "vulkan, in place": lambda source: VulkanRuntime(0, staging=False, module_source=source),
    "vulkan, staging": lambda source: VulkanRuntime(0, staging=True, module_source=source),
    "kompute, in place": lambda source: KomputeRuntime(choose(list_devices(), 0), module_source=source, in_place=True),
    "kompute, staging": lambda source: KomputeRuntime(choose(list_devices(), 0), module_source=source, in_place=False),
}


@pytest.fixture(params=OPEN)
def runtime(request, modules):
    open_device(request.param.split(",")[0]).close()
    made = OPEN[request.param](modules)
    yield made
    made.close()


def noise(nbytes, seed=0):
    return np.random.default_rng([nbytes, seed]).integers(0, 256, nbytes, np.uint8)


def read(runtime, memory):
    out = np.empty(memory.nbytes, np.uint8)
    runtime.read(memory, 0, memoryview(out))
    return out


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


def test_what_cannot_be_copied_is_refused(runtime, modules):
    src, dst = runtime.allocate(100), runtime.allocate(90)
    for arguments, message in (
        ((src, dst, 91), "bytes [0, 91) leave a memory of 90 bytes"),
        ((dst, src, 91), "bytes [0, 91) leave a memory of 90 bytes"),
        ((src, dst, -1), "0 bytes or more, nbytes is -1"),
        ((src, src, 10), "the same memory of 100 bytes"),
    ):
        with pytest.raises(DescriptorError, match=re.escape(message)):
            runtime.copy(*arguments)
    other = VulkanRuntime(0, module_source=modules)
    with pytest.raises(DescriptorError, match=r"another device|not a memory of this device"):
        runtime.copy(src, other.allocate(100), 10)
    other.close()
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
