"""Tensors as CUDA tensors over the same memory, with a CUDA driver of the tests' own that maps llvmpipe's descriptors.

The driver is called through C, as the real one is. It notes what is alive, and what is called against the rules.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import struct
import sys
import weakref
from collections import Counter
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal as assert_equal
from support import shared_memory
from support.devices import open_device
from support.shared_memory import open_fds, shared

import restride as rs
from restride.runtime import cuda_driver
from restride.tensor import cuda as cuda_tensors
from restride.tensor import dlpack
from restride_conformance.record import Verdict
from restride_measure.selftest import checks
from restride_measure.selftest.part import Job

pytestmark = pytest.mark.slow

vulkan = shared_memory.sharing_device

X = np.random.default_rng(23).standard_normal((6, 40, 5)).astype(np.float32)
CPU, CUDA = (1, 0), (2, 1)
CALLER, PRIMARY = 0x7000_0000_0001, 0x7000_0000_0002
"""Contexts, above 32 bits: the caller's own, and the primary one of the device."""

UNKNOWN = 999  # CUDA_ERROR_UNKNOWN


class FakeCuda:
    """A CUDA driver with two devices, of which the second is the Vulkan device.

    fail: how often each function is still to fail. At the end of a test ``broken`` is empty.
    """

    def __init__(self, uuid: str) -> None:
        self.uuids = [bytes(16), bytes.fromhex(uuid)]
        self.contexts = [CALLER]
        self.retained = 0
        self.imports: dict[int, SimpleNamespace] = {}
        self.mapped: dict[int, np.ndarray] = {}
        self.calls: list[str] = []
        self.streams: list[int] = []
        self.fail: Counter[str] = Counter()
        self.code = UNKNOWN
        self.broken: list[BaseException] = []
        for name, types in cuda_driver._SIGNATURES.items():
            setattr(self, name, ctypes.CFUNCTYPE(ctypes.c_int, *types)(self._checked(name)))

    def _checked(self, name):
        def call(*arguments):
            if name != "cuGetErrorName":
                self.calls.append(name)
            try:
                needs_context = "Memory" in name or "Mem" in name or name.endswith("Synchronize")
                assert self.contexts[-1] == (PRIMARY if needs_context else self.contexts[-1]), f"{name} elsewhere"
                if name == "cuCtxPopCurrent_v2":  # it fails having popped: nothing tells what else it would do
                    self.contexts.pop()
                if self.fail[name]:
                    self.fail[name] -= 1
                    return self.code
                getattr(self, "_" + name.removesuffix("_v2"), lambda *_: None)(*arguments)
            except BaseException as error:  # noqa: BLE001 - it would be lost in C
                self.broken.append(error)
                return UNKNOWN
            return 0

        return call

    def _cuGetErrorName(self, code, text):
        text[0] = {2: b"CUDA_ERROR_OUT_OF_MEMORY", 100: b"CUDA_ERROR_NO_DEVICE"}.get(code)

    def _cuDeviceGetCount(self, count):
        count[0] = len(self.uuids)

    def _cuDeviceGet(self, device, number):
        device[0] = 40 + number

    def _cuDeviceGetUuid(self, uuid, device):
        uuid[0].raw = self.uuids[device - 40]

    def _cuDevicePrimaryCtxRetain(self, context, device):
        assert device == 41
        context[0] = PRIMARY
        self.retained += 1

    def _cuDevicePrimaryCtxRelease(self, device):
        assert device == 41
        assert PRIMARY not in self.contexts
        self.retained -= 1

    def _cuCtxPushCurrent(self, context):
        self.contexts.append(context)

    def _cuStreamSynchronize(self, stream):
        self.streams.append(stream)

    def _cuImportExternalMemory(self, memory, wish):
        wish = wish[0]
        assert (wish.type, wish.flags, list(wish.reserved)) == (1, 1, [0] * 16)
        memory[0] = 0x6000_0000_0000 + len(self.calls)
        # The descriptor is the driver's from here on.
        self.imports[memory[0]] = SimpleNamespace(fd=wish.handle.fd, size=wish.size)

    def _cuExternalMemoryGetMappedBuffer(self, address, memory, wish):
        wish, imported = wish[0], self.imports[memory]
        assert (wish.offset, wish.size, wish.flags, list(wish.reserved)) == (0, imported.size, 0, [0] * 16)
        pages = mmap.mmap(imported.fd, 0)
        _, start = struct.unpack("QQ", pages[:16])  # llvmpipe's header: size, and where the memory begins
        data = np.frombuffer(pages, np.uint8, imported.size - start if start else -1, start)
        address[0] = data.ctypes.data
        self.mapped[address[0]] = data

    def _cuMemFree(self, address):
        assert self.calls[-4:-2] == ["cuCtxSynchronize", "cuCtxPopCurrent_v2"], "kernels may still use it"
        del self.mapped[address]

    def _cuDestroyExternalMemory(self, memory):
        os.close(self.imports.pop(memory).fd)

    @property
    def alive(self):
        return len(self.imports), len(self.mapped), self.retained, self.contexts


NOTHING = (0, 0, 0, [CALLER])


@pytest.fixture
def fake(vulkan, monkeypatch):
    driver = FakeCuda(vulkan.info.uuid)
    monkeypatch.setattr(cuda_driver, "_library", lambda: driver)
    forget()
    yield driver
    gc.collect()
    forget()
    assert driver.broken == []
    assert driver.alive == NOTHING


@pytest.fixture
def device(vulkan, fake):
    """The device that CUDA has too."""
    assert fake.uuids[1] == bytes.fromhex(vulkan.info.uuid)
    return vulkan


def forget():
    cuda_driver._driver.cache_clear()
    cuda_driver.ordinal.cache_clear()


class CudaTensor:
    """Another library's tensor on CUDA's device: ``array`` is its elements, on which kernels work at once."""

    def __init__(self, array):
        bits = array.view(f"u{array.itemsize}")
        interface = {**bits.__array_interface__, "data": (array.ctypes.data, False)}
        self.array = np.asarray(SimpleNamespace(__array_interface__=interface, kept=array)).view(array.dtype)
        self.asked = []

    def __dlpack_device__(self):
        return CUDA

    def __dlpack__(self, **options):
        self.asked.append(options)
        return dlpack.capsule_over(self.array, CUDA)


def taken(tensor, **options):
    """What a library makes of ``tensor``, as torch.from_dlpack does."""
    return CudaTensor(dlpack._array_of(tensor.__dlpack__(max_version=(1, 0), **options), (2,)))


def test_both_have_the_same_bits(device):
    """What either writes is what the other reads, and nothing goes through the host."""
    x = shared(X, device)
    device.wait()
    before = device.counters()
    assert x.__dlpack_device__() == CUDA
    theirs = taken(x, stream=1)
    assert_equal(theirs.array, X)
    theirs.array[2] = 7
    moved = rs.reorder(x.permute(2, 0, 1), "ABC->ABC")
    device.wait()
    assert (device.counters().uploaded, device.counters().downloaded) == (before.uploaded, before.downloaded)
    expected = X.copy()
    expected[2] = 7
    assert_equal(moved.numpy(), expected.transpose(2, 0, 1))


def test_calls_come_in_order_and_are_undone_in_reverse(fake, device):
    x = shared(np.arange(5, dtype=np.uint8), device)
    x.__dlpack_device__()
    fake.calls.clear()
    theirs = taken(x)
    inside = ["cuImportExternalMemory", "cuExternalMemoryGetMappedBuffer"]
    push, pop = ["cuCtxPushCurrent_v2"], ["cuCtxPopCurrent_v2"]
    assert fake.calls == ["cuDeviceGet", "cuDevicePrimaryCtxRetain", *push, *inside, *pop]
    (imported,) = fake.imports.values()
    assert imported.size == x.memory.block.chunk.allocated > x.nbytes
    fake.calls.clear()
    del theirs
    undone = ["cuCtxSynchronize", "cuMemFree_v2", "cuDestroyExternalMemory"]
    assert fake.calls == [*(call for name in undone for call in (*push, name, *pop)), "cuDevicePrimaryCtxRelease_v2"]


def test_the_memory_lives_as_long_as_the_other_library_has_it(fake, device):
    fds, before = open_fds(), device.counters()
    x = shared(X, device)
    theirs, capsule = taken(x), x.__dlpack__()
    memory = weakref.ref(x.memory)
    del x
    assert_equal(theirs.array, X)
    assert memory() is not None
    del capsule  # taken by nobody
    part = theirs.array[1:, ::2]
    del theirs
    assert_equal(part, X[1:, ::2])
    del part
    assert memory() is None
    assert device.counters().bytes_in_use == before.bytes_in_use
    assert (fake.alive, open_fds()) == (NOTHING, fds)


def test_memory_outlives_its_device(device):
    x = shared(X, device)
    theirs = taken(x)
    device.close()
    assert_equal(theirs.array, X)
    with pytest.raises(rs.DeviceLost):
        taken(x)


def test_one_memory_is_mapped_once(fake, device):
    x = shared(X, device)
    first, second = taken(x), taken(x[:, 3])
    assert fake.calls.count("cuImportExternalMemory") == 1
    assert second.array.ctypes.data == first.array[:, 3].ctypes.data
    del first
    assert_equal(second.array, X[:, 3])


@pytest.mark.parametrize(
    ("view", "array"),
    [
        (lambda x: x[1:, 3:, ::2], lambda x: x[1:, 3:, ::2]),
        (lambda x: x.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1)),
        (lambda x: x[1, 2, 3], lambda x: x[1, 2, 3, ...]),
        (lambda x: x[:, :0], lambda x: x[:, :0]),
    ],
)
def test_views_go_and_come_back_as_the_same_memory(view, array, device):
    x = shared(X, device)
    theirs = taken(view(x))
    assert_equal(theirs.array, array(X))
    back = rs.asarray(theirs, device=device, copy=False)
    assert (back.desc.sizes, back.device) == (array(X).shape, device)
    if back.size:
        assert back.memory is x.memory
        back[...] = 3
        expected = X.copy()
        array(expected)[...] = 3
        assert_equal(x.numpy(), expected)
        assert rs.asarray(theirs, copy=None).memory is x.memory
        assert_equal(rs.asarray(theirs, device=device).numpy(), array(expected))


@pytest.mark.parametrize("dtype", ["bf16", "f8e4m3fn", "f8e5m2", "pred", "u64", "f16", "s8"])
def test_every_element_type(dtype, device):
    desc = rs.TensorDesc(dtype, (3, 4))
    values = (np.arange(12).reshape(3, 4) % 2).astype(desc.dtype.dtype)
    theirs = taken(shared(values, device))
    assert theirs.array.dtype == values.dtype
    assert theirs.array.tobytes() == values.tobytes()


def test_what_comes_back_is_read_after_the_stream_of_its_library(fake, device):
    theirs = taken(shared(X, device))
    rs.asarray(theirs, copy=False)
    assert theirs.asked[-1]["stream"] == 1  # it waits for the tensor's work
    assert fake.streams == [1]  # and restride for it


def test_a_copy_of_what_comes_back_is_the_devices_own(device):
    x = shared(X, device)
    theirs = taken(x)
    with device.batch():  # what is not waited for would run at its end
        copies = rs.asarray(theirs), rs.asarray(theirs, "f32[6,40,5]{0,1,2}"), rs.reorder(theirs)
        theirs.array[...] = 0
    for copy in copies:
        assert copy.memory is not x.memory
        assert_equal(copy.numpy(), X)
    with pytest.raises(rs.UnsupportedError, match="copy=False: elements laid out as"):
        rs.asarray(theirs, "f32[6,40,5]{0,1,2}", copy=False)
    with open_device("vulkan") as other, pytest.raises(rs.DescriptorError, match="lies on another device"):
        rs.asarray(theirs, device=other, copy=False)


def test_cudas_own_memory_is_refused(device):
    theirs = CudaTensor(X.copy())
    with pytest.raises(rs.UnsupportedError, match=r"f32\[6,40,5\].* lies in memory of CUDA's own; allocate it by rs"):
        rs.asarray(theirs, device=device, copy=False)
    for copy in (True, None):
        with pytest.raises(rs.DescriptorError, match="or copy it to the CPU first"):
            rs.asarray(theirs, device=device, copy=copy)


def test_work_is_finished_when_the_tensor_is_handed_out(device, monkeypatch):
    x = rs.empty("f32[6,40,5]", device, shareable=True)
    source, waits = rs.asarray(X, device=device), []
    real = device.runtime.wait
    monkeypatch.setattr(device.runtime, "wait", lambda: (waits.append(1), real()))
    with device.batch():
        for _ in range(2):  # the second finds it mapped
            rs.reorder(source, out=x)
            assert_equal(taken(x, stream=1).array, X)
    assert len(waits) == 2
    theirs = taken(x, stream=-1)  # the consumer's word that it waits
    assert len(waits) == 2
    assert_equal(theirs.array, X)
    with pytest.raises(BufferError, match="stream 0 may be either default stream"):
        taken(x, stream=0)


def test_a_copy_is_made_where_it_may_be(device):
    plain, x = rs.asarray(X, device=device), shared(X, device)
    tiled = shared(X[0], device, "f32[40,5]{1,0:T(4,4)}")
    assert plain.__dlpack_device__() == CPU
    assert_equal(np.from_dlpack(plain), X)  # as ever
    with pytest.raises(BufferError, match="hands out memory of the host, without a stream"):
        plain.__dlpack__(stream=1)
    for tensor, options in (
        (plain, {"dl_device": CUDA}),
        (plain, {"dl_device": CUDA, "copy": True, "stream": -1}),
        (x, {"copy": True}),
        (x[:, ::-1], {}),  # torch ends the process at negative strides
        (tiled, {}),
    ):
        values = tensor.numpy()
        with device.batch():  # as above
            theirs = taken(tensor, **options)
            assert_equal(theirs.array, values)
        theirs.array[...] = 0
        assert_equal(tensor.numpy(), values)
    for tensor in (plain, tiled, x[:, ::-1]):
        with pytest.raises(BufferError, match=r"f32.*copy=False: the memory is not shareable.*shareable=True\)"):
            taken(tensor, dl_device=CUDA, copy=False)
    theirs = taken(x, dl_device=CUDA, copy=False)
    theirs.array[...] = 0
    assert not x.numpy().any()


def test_a_tensor_of_cuda_goes_to_the_host_where_that_is_asked_for(device):
    x = shared(X, device)
    array = dlpack._array_of(x.__dlpack__(dl_device=CPU, stream=1))
    assert_equal(array, X)
    with pytest.raises(BufferError, match="lies on CUDA device 1, not on 0"):
        x.__dlpack__(dl_device=(2, 0))


def test_where_cuda_is_not_there_all_is_as_without_it(fake, device, monkeypatch):
    x = shared(X, device)

    def refused(match):
        forget()
        assert x.__dlpack_device__() == CPU
        assert_equal(np.from_dlpack(x), X)
        with pytest.raises(BufferError, match=match):
            x.__dlpack__(dl_device=CUDA)

    fake.fail["cuInit"], fake.code = 9, 100
    refused("the CUDA driver does not start: cuInit failed with CUDA_ERROR_NO_DEVICE")
    fake.fail.clear()
    fake.uuids.pop()
    refused(f"none of the 1 CUDA devices of this process has the UUID {device.info.uuid}")
    monkeypatch.delattr(fake, "cuDeviceGetUuid_v2")
    refused("the CUDA driver has no cuDeviceGetUuid_v2: it is older than")
    monkeypatch.undo()
    monkeypatch.setattr(cuda_driver, "_LIBRARY", "libnone.so.1")
    refused(r"there is no CUDA driver \(libnone.so.1\) on this machine")


@pytest.mark.parametrize(
    "name",
    [
        "cuDeviceGetCount", "cuDeviceGetUuid_v2", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2",
        "cuImportExternalMemory", "cuExternalMemoryGetMappedBuffer", "cuCtxPopCurrent_v2",
    ],
)  # fmt: skip
@pytest.mark.parametrize(("code", "kind"), [(UNKNOWN, rs.DeviceError), (2, rs.OutOfDeviceMemory)])
def test_a_failure_leaves_nothing_behind(name, code, kind, fake, device):
    x = shared(X, device)
    memory, fds, references = weakref.ref(x.memory), open_fds(), sys.getrefcount(x)
    fake.fail[name], fake.code = 1, code
    with pytest.raises(kind, match=f"{name} failed with (CUresult 999|CUDA_ERROR_OUT_OF_MEMORY)"):
        taken(x)
    assert (fake.alive, open_fds(), sys.getrefcount(x)) == (NOTHING, fds, references)
    assert_equal(taken(x).array, X)
    del x
    assert memory() is None


@pytest.mark.parametrize("name", ["cuCtxSynchronize", "cuMemFree_v2", "cuDestroyExternalMemory"])
def test_a_failure_to_let_go_is_said_and_stops_nothing_else(name, fake, device, monkeypatch):
    said = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: said.append(str(unraisable.exc_value)))
    theirs = taken(shared(X, device))
    (mapped,) = cuda_tensors._mapped
    memory = weakref.ref(mapped.owner[1])
    del mapped
    fake.fail[name] = 1
    del theirs
    assert said == [f"{name} failed with CUresult 999"]
    assert memory() is None
    assert fake.retained == 0
    left = {"cuMemFree_v2": fake.mapped, "cuDestroyExternalMemory": fake.imports}.get(name, {})
    assert len(left) == (name != "cuCtxSynchronize")
    for imported in fake.imports.values():
        os.close(imported.fd)
    left.clear()


def test_a_child_made_by_fork_calls_no_cuda(fake, device, monkeypatch):
    theirs = taken(shared(X, device))
    fake.calls.clear()
    process = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: process + 1)
    del theirs
    assert fake.calls == []
    for imported in fake.imports.values():
        os.close(imported.fd)
    fake.__init__(device.info.uuid)


def test_the_runtime_kompute_has_no_cuda():
    with open_device("kompute") as device:
        tensor = rs.asarray(X, device=device)
        assert tensor.__dlpack_device__() == CPU
        with pytest.raises(BufferError, match="CUDA"):
            tensor.__dlpack__(dl_device=(2, 0))


class TorchTensor(CudaTensor):
    """A tensor of a torch that the selftest asks for a CUDA device."""

    is_cuda = True

    def cpu(self):
        return TorchTensor(self.array.copy())

    def numpy(self):
        return self.array

    def mul_(self, factor):
        self.array *= factor

    def copy_(self, other):
        self.array[...] = other.array

    def expand_as(self, other):
        return TorchTensor(np.broadcast_to(self.array, other.array.shape).copy())

    def all(self):
        return self.array.all()

    def __getitem__(self, index):
        return TorchTensor(np.asarray(self.array[index]))

    def __matmul__(self, other):
        return TorchTensor(self.array @ other.array)

    def __mul__(self, factor):
        return TorchTensor(np.asarray(self.array * np.float32(factor)))

    def __add__(self, number):
        return TorchTensor(np.asarray(self.array + np.float32(number)))

    def __eq__(self, number):
        return TorchTensor(self.array == number)

    __hash__ = None


@pytest.mark.parametrize("copies", [False, True])
def test_the_selftest_hands_over_both_ways(copies, device, monkeypatch):
    """With a torch that takes copies, most of its claims fail."""

    def from_dlpack(x):
        theirs = TorchTensor(taken(x).array)
        return theirs.cpu() if copies else theirs

    streams = {"Stream": lambda: None, "stream": lambda _: nullcontext(), "synchronize": lambda: None}
    torch = SimpleNamespace(
        __version__="9.9",
        cuda=SimpleNamespace(is_available=lambda: True, **streams),
        from_dlpack=from_dlpack,
        ones=lambda *_, **__: TorchTensor(np.ones((4, 4), np.float32)),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(checks, "find_spec", lambda _: "found")
    job = Job(None, 60.0, True, 0)
    vars(job)["device"] = device
    if copies:
        with pytest.raises(rs.UnsupportedError):  # memory that is not shared does not come back
            checks.cuda(job)
        return
    part = checks.cuda(job)
    assert part.problems == ()
    assert [(each.verdict, each.figures) for each in part.outcomes] == [(Verdict.PASSED, {"torch": "9.9"})] * 6
    assert part.text == "torch 9.9: 6 of 6 claims hold"
