"""Memory that processes share by file descriptors: the same bits in both, and nothing else is imported."""

import gc
import os
import pickle
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal as assert_equal
from support.devices import open_device
from support.validated_process import messages

import restride as rs
from restride.runtime import ExternalMemory, choose, list_devices
from restride.runtime.instance import FD_SHARING
from restride.runtime.loader import binding
from restride.runtime.vulkan.runtime import VulkanRuntime

X = np.random.default_rng(11).standard_normal((7, 300, 41)).astype(np.float32)
X[0, 0, :3] = np.array([0x7FC12345, 0xFF800000, 0x80000000], np.uint32).view(np.float32)  # a NaN's bits, -inf, -0.0


def over(**options):
    return rs.Device.over(VulkanRuntime(choose(list_devices()), **options))


@pytest.fixture(params=[False, True], ids=["in-place", "staging"])
def device(request):
    with over(staging=request.param) as opened:
        if FD_SHARING not in opened.runtime._session.device.physical.extensions:
            pytest.skip(f"{opened.info.name} shares no memory between processes")
        yield opened


def shared(values, device, desc=None):
    """A shareable tensor with these elements."""
    tensor = rs.empty(desc or rs.TensorDesc(values.dtype, values.shape), device, shareable=True)
    rs.reorder(rs.asarray(values, device=device), out=tensor)
    return tensor


def bits(array):
    return np.ascontiguousarray(array).view(np.uint8)


def open_fds():
    return len([*Path("/proc/self/fd").iterdir()])


OTHER = """
import array, os, pickle, socket, sys
import numpy as np
import restride as rs
from restride.runtime import choose, list_devices
from restride.runtime.vulkan.runtime import VulkanRuntime
how, number, staging = sys.argv[1:]
talk = socket.socket(fileno=int(number))
with rs.Device.over(VulkanRuntime(choose(list_devices()), staging=staging == "True")) as device:
    data, fds, _, _ = socket.recv_fds(talk, 1 << 16, 2)
    handles = pickle.loads(data)
    fds = fds or [int(fd) for fd in how.split(",")]
    theirs, mine = (rs.from_fd(fd, handle, device) for fd, handle in zip(fds, handles))
    for fd in fds:
        os.close(fd)
    before = device.counters()
    rs.reorder(theirs.permute(2, 0, 1), out=mine)
    device.wait()
    assert (device.counters().uploaded, device.counters().downloaded) == (0, 0)
    talk.sendall(b"written")
    assert talk.recv(10) == b"changed"
    sys.stdout.buffer.write(theirs.numpy().tobytes())
"""


def test_two_processes_have_the_same_bits(device):
    """One reads what the other wrote, writes what the other reads, and sees what it changes.

    In place the descriptors are sent, with staging they are inherited.
    """
    fds_before = open_fds()
    x, y = shared(X, device), rs.empty("f32[41,7,300]", device, shareable=True)
    exported = [x.export_fd(), y.export_fd()]
    fds, handles = [fd for fd, _ in exported], [handle for _, handle in exported]
    here, there = socket.socketpair()
    staging = device.runtime._staging is not None
    sent = not staging
    command = [sys.executable, "-c", OTHER, "-" if sent else ",".join(map(str, fds)), str(there.fileno()), str(staging)]
    kept = (there.fileno(), *(() if sent else fds))
    with subprocess.Popen(command, pass_fds=kept, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as other:
        there.close()
        here.settimeout(120)
        socket.send_fds(here, [pickle.dumps(handles)], fds if sent else [])
        for fd in fds:
            os.close(fd)
        assert here.recv(10) == b"written", other.communicate()[1].decode()
        assert_equal(bits(y.numpy()), bits(X.transpose(2, 0, 1)))
        rs.reorder(rs.asarray(X[::-1], device=device), out=x)
        device.wait()
        here.sendall(b"changed")
        out, err = other.communicate(timeout=120)
    here.close()
    assert (other.returncode, err) == (0, b"")
    assert out == X[::-1].tobytes()
    del x, y
    device.close()
    gc.collect()
    assert open_fds() <= fds_before


def test_memory_stays_until_the_last_has_dropped_it(device):
    x = shared(X, device)
    fd, handle = x.export_fd()
    with over() as other:
        y = rs.from_fd(fd, handle, other)
        os.close(fd)
        del x
        device.close()
        assert_equal(bits(y.numpy()), bits(X))


def test_a_descriptor_alone_keeps_the_memory(device):
    x = shared(X, device)
    fd, handle = x.export_fd()
    del x
    device.wait()
    y = rs.from_fd(fd, handle, device)
    os.close(fd)
    assert_equal(bits(y.numpy()), bits(X))


@pytest.mark.parametrize("desc", ["f32[6,5]{1,0:T(4,4)}", "bf16[3,5]{0,1}", "u8[3]", "f32[0,3]", "s64[]"])
def test_every_layout_is_shared(desc, device):
    desc = rs.TensorDesc.parse(desc)
    values = (np.arange(desc.numel).reshape(desc.sizes) % 7).astype(desc.dtype.dtype)
    fd, handle = shared(values, device, desc).export_fd()
    assert handle == pickle.loads(pickle.dumps(handle))
    y = rs.from_fd(fd, handle, device)
    os.close(fd)
    assert y.desc == desc
    assert_equal(y.numpy(), values)


def test_a_view_is_exported_as_the_view_it_is(device):
    x = shared(X, device)
    fd, handle = x[1:, ::-7].permute(2, 0, 1).export_fd()
    y = rs.from_fd(fd, handle, device)
    os.close(fd)
    assert_equal(y.numpy(), X[1:, ::-7].transpose(2, 0, 1))
    y[...] = 5
    device.wait()
    expected = X.copy()
    expected[1:, ::-7] = 5
    assert_equal(x.numpy(), expected)


def test_work_that_was_started_is_in_the_exported_memory(device):
    x = rs.empty("f32[7,300,41]", device, shareable=True)
    source = rs.asarray(X, device=device)
    with over() as other, device.batch():
        rs.reorder(source, out=x)
        fd, handle = x.export_fd()  # the batch is still open
        y = rs.from_fd(fd, handle, other)
        os.close(fd)
        assert_equal(bits(y.numpy()), bits(X))


def test_shared_memory_is_never_pooled_and_counts_where_it_was_allocated(device):
    rs.reorder(shared(X, device)).numpy()
    device.trim()
    before = device.counters()
    x = rs.empty("u8[1000000]", device, shareable=True)
    allocated = device.counters()
    assert allocated.bytes_in_use - before.bytes_in_use == 1_000_000
    assert allocated.bytes_allocated - before.bytes_allocated >= 1_000_000
    fd, handle = x.export_fd()
    y = rs.from_fd(fd, handle, device)
    os.close(fd)
    assert device.counters() == allocated, "an import takes nothing"
    del x, y
    after = device.counters()
    assert (after.bytes_in_use, after.bytes_allocated) == (before.bytes_in_use, before.bytes_allocated)


def test_shareable_memory_is_of_a_type_that_the_driver_shares(device, monkeypatch):
    """Vulkan lets a driver allow other memory types for buffers that it exports than for others."""
    session = device.runtime._session
    physical, functions = session.device.physical, session.device.vk
    if len(physical.memory_types) > 1:
        pytest.skip(f"{device.info.name} has several memory types, and this test doubles the only one")
    (kind,) = physical.memory_types
    monkeypatch.setattr(session.device, "physical", replace(physical, memory_types=(kind, kind)))
    create, requirements = functions.vkCreateBuffer, functions.vkGetBufferMemoryRequirements
    shareable = set()

    def created(owner, info, allocator, buffer):
        create(owner, info, allocator, buffer)
        (shareable.add if info.pNext else shareable.discard)(buffer[0])

    def required(owner, buffer, needs):
        requirements(owner, buffer, needs)
        needs.memoryTypeBits = 0b10 if buffer in shareable else 0b01

    monkeypatch.setattr(functions, "vkCreateBuffer", created)
    monkeypatch.setattr(functions, "vkGetBufferMemoryRequirements", required)
    x = shared(X, device)
    fd, handle = x.export_fd()
    assert handle.memory.memory_type == 1
    y = rs.from_fd(fd, handle, device)
    os.close(fd)
    assert np.array_equal(bits(y.numpy()), bits(X))
    assert np.array_equal(bits(rs.reorder(y).numpy()), bits(X))
    before = device.counters().bytes_allocated
    del x
    assert device.counters().bytes_allocated < before, "shareable memory is never pooled"


def test_a_memory_limit_holds_for_shareable_memory():
    with over(memory_limit=1 << 20) as device:
        x = rs.empty("u8[900000]", device, shareable=True)
        with pytest.raises(rs.OutOfDeviceMemory, match="memory_limit"):
            rs.empty("u8[900000]", device, shareable=True)
        del x
        rs.empty("u8[900000]", device, shareable=True)


def test_an_array_over_shared_memory_outlives_tensor_and_device():
    device = over(staging=False)
    x = shared(X, device)
    fd, handle = x.export_fd()
    other = over(staging=False)
    arrays = [x.numpy(copy=False), rs.from_fd(fd, handle, other).numpy(copy=False)]
    os.close(fd)
    del x
    device.close()
    other.close()
    for array in arrays:
        assert_equal(bits(array), bits(X))


def test_nothing_leaks_descriptors(device):
    x = shared(X, device)
    fd, handle = x.export_fd()
    wrong = replace(handle, memory=replace(handle.memory, allocation_bytes=handle.memory.allocation_bytes * 2))
    rs.from_fd(fd, handle, device).numpy()
    before = open_fds()
    for _ in range(20):
        again, _ = x.export_fd()
        tensor = rs.from_fd(again, handle, device)
        os.close(again)
        with pytest.raises(rs.RestrideError):
            rs.from_fd(fd, wrong, device)
        with Path(os.devnull).open("rb") as file, pytest.raises(rs.RestrideError):
            rs.from_fd(file.fileno(), handle, device)
        rs.empty("u8[5]", device, shareable=True)
    del tensor
    device.wait()
    device.counters()  # takes back what was freed
    assert open_fds() <= before
    assert not os.get_inheritable(fd)
    os.close(fd)


def test_the_pool_notes_nothing_of_what_it_never_uses_again(device):
    for size in range(1, 40):
        rs.empty(f"u8[{16 * size}]", device, shareable=True)
        device.counters()  # takes back what was freed
    assert device.runtime._session.blocks.pool._idle == {}


def refused(change, error, match, device, fd=None):
    tensor = shared(X, device)
    own, handle = tensor.export_fd()
    wrong = replace(handle, memory=replace(handle.memory, **change)) if isinstance(change, dict) else change
    before = open_fds()
    with pytest.raises(error, match=match):
        rs.from_fd(own if fd is None else fd, wrong or handle, device)
    assert open_fds() == before
    assert_equal(bits(rs.from_fd(own, handle, device).numpy()), bits(X))
    os.close(own)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"device_uuid": "ab" * 16}, rs.UnsupportedError, f"memory of device {'ab' * 16} .* cannot be imported by"),
        ({"driver_uuid": "cd" * 16}, rs.UnsupportedError, f"and driver {'cd' * 16} cannot be imported by"),
        ({"nbytes": 16}, rs.DescriptorError, r"the handle's memory has 16 bytes, f32\[7,300,41\]"),
        ({"nbytes": 1 << 20}, rs.DescriptorError, r"the handle says 1048576 bytes in an allocation of 344\d+"),
        ({"nbytes": 1 << 80}, rs.DescriptorError, r"the handle says 12089\d+ bytes in an allocation of"),
        ({"allocation_bytes": 1 << 21}, rs.DescriptorError, r"the handle says 2097152 bytes of memory type \d"),
        ({"memory_type": 31}, rs.DescriptorError, r"of memory type 31; for a buffer of .* f32\[7,300,41\]"),
        ({"memory_type": -1}, rs.DescriptorError, "of memory type -1"),
        ("a handle", rs.DescriptorError, "handle must be what export_fd gave with the fd, got 'a handle'"),
    ],
)
def test_a_handle_of_something_else_is_refused(change, error, match, device):
    refused(change, error, match, device)


def test_a_descriptor_of_something_else_is_refused(device, tmp_path):
    refused(None, rs.DescriptorError, r"fd 54321 is not an open file descriptor, for f32\[7", device, 54321)
    refused(None, rs.DescriptorError, "fd -1 is not an open file descriptor", device, -1)
    refused(None, rs.DescriptorError, "fd 1099511627776 is not an open file descriptor", device, 1 << 40)
    refused(None, rs.DescriptorError, "fd must be an integer, got the boolean True", device, True)
    (tmp_path / "short").write_bytes(b"no memory")
    (tmp_path / "long").write_bytes(bytes(1 << 20))
    pipe, sockets = os.pipe(), socket.socketpair()
    for name, match in (
        ("short", r"does not import fd \d+ as \d+ bytes of its memory: it has 9 bytes"),
        ("long", "fd"),
    ):
        with (tmp_path / name).open("r+b") as file:
            refused(None, rs.DescriptorError, match, device, file.fileno())
    for number in (pipe[0], sockets[0].fileno()):
        match = rf"does not import fd {number} as \d+ bytes of its memory: it is a pipe, a socket"
        refused(None, rs.DescriptorError, match, device, number)
    with Path(os.devnull).open("rb") as file:
        refused(None, rs.DescriptorError, "vkAllocateMemory failed with VK_ERROR_", device, file.fileno())
    for end in pipe:
        os.close(end)
    for end in sockets:
        end.close()


def test_memory_that_is_smaller_than_its_handle_is_refused(device):
    """Else the process would end where it reads past it."""
    fd, _ = rs.empty("u8[16]", device, shareable=True).export_fd()
    refused(None, rs.DescriptorError, r"of its memory: (it has \d+ bytes|vkAllocate.*), for f32\[7", device, fd)
    os.close(fd)


def test_memory_that_is_not_shareable_is_not_exported(device):
    with pytest.raises(rs.UnsupportedError, match=r"4 bytes was not allocated as shareable, for f32\[\]"):
        rs.empty("f32[]", device).export_fd()
    fd, handle = shared(X, device).export_fd()
    y = rs.from_fd(fd, handle, device)
    os.close(fd)
    with pytest.raises(rs.UnsupportedError, match=r"imported from a file descriptor: pass on a duplicate .*f32\[7"):
        y.export_fd()


@pytest.mark.parametrize("what", ["extension", "features"])
def test_a_driver_that_shares_nothing(what, device, monkeypatch):
    with over() as other:
        fd, handle = shared(X, other).export_fd()
    logical = device.runtime._session.device
    if what == "extension":
        physical = replace(logical.physical, extensions=logical.physical.extensions - {FD_SHARING})
        monkeypatch.setattr(logical, "physical", physical)
        match = f"shares no memory between processes: it has no {FD_SHARING}"
    else:
        bit = "VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT"
        monkeypatch.setattr(binding(), bit, 1 << 20)
        match = "shares no storage buffers between processes: their features are 0x"
    for call in (lambda: rs.empty(handle.desc, device, shareable=True), lambda: rs.from_fd(fd, handle, device)):
        with pytest.raises(rs.UnsupportedError, match=match):
            call()
    os.close(fd)


def test_the_runtime_kompute_shares_nothing():
    memory = ExternalMemory(12, 16, 0, "", "")
    with open_device("kompute") as device:
        handle = rs.TensorHandle(rs.TensorDesc("f32", (3,)), memory)
        for call in (
            lambda: rs.empty("f32[3]", device, shareable=True),
            lambda: rs.empty("f32[3]", device).export_fd(),
            lambda: rs.from_fd(0, handle, device),
        ):
            with pytest.raises(rs.UnsupportedError, match=r"KomputeRuntime \w+ no memory.*f32\[3\]"):
                call()


def test_a_driver_that_refuses_the_import_after_all(device, monkeypatch):
    functions = device.runtime._session.device.vk
    tensor = shared(X, device)
    fd, handle = tensor.export_fd()
    real = functions.vkAllocateMemory
    before = open_fds()
    for code, error in ((-1000072003, rs.DescriptorError), (-2, rs.DescriptorError), (-4, rs.DeviceLost)):
        monkeypatch.setattr(functions, "vkAllocateMemory", functions._checked("vkAllocateMemory", lambda *_, c=code: c))
        with pytest.raises(error, match="vkAllocateMemory failed with VK_ERROR"):
            rs.from_fd(fd, handle, device)
        assert open_fds() == before
        monkeypatch.setattr(functions, "vkAllocateMemory", real)
    os.close(fd)


def test_a_submission_takes_shared_buffers_over_once_and_hands_them_back(device, monkeypatch):
    """Vulkan calls it a queue family ownership transfer. Buffers of this process alone stay where they are."""
    x, plain = shared(X, device), rs.asarray(X, device=device)
    device.wait()
    logical = device.runtime._session.device
    family, external = logical.physical.family, binding().VK_QUEUE_FAMILY_EXTERNAL
    real, noted = logical.vk.vkCmdPipelineBarrier, []

    def note(*arguments):
        count, barriers = arguments[6:8]
        each = barriers[0:count] if count else ()
        noted.extend((barrier.srcQueueFamilyIndex, barrier.dstQueueFamilyIndex, barrier.buffer) for barrier in each)
        real(*arguments)

    monkeypatch.setattr(logical.vk, "vkCmdPipelineBarrier", note)
    buffer = x.memory.block.chunk.buffer
    with device.batch():
        for _ in range(3):
            rs.reorder(x.permute(2, 1, 0), "ABC->ABC")
    device.wait()
    assert noted == [(external, family, buffer), (family, external, buffer)]
    noted.clear()
    rs.reorder(plain.permute(2, 1, 0), "ABC->ABC")
    device.wait()
    assert not noted


PROGRAM = """
import os
import numpy as np
import restride as rs
from restride.runtime.vulkan.runtime import VulkanRuntime
x = np.random.default_rng(1).random((300, 41), np.float32)
for staging in (False, True):
    one, two = (rs.Device.over(VulkanRuntime(0, staging=staging)) for _ in range(2))
    tensor = rs.empty("f32[300,41]", one, shareable=True)
    rs.reorder(rs.asarray(x, device=one), out=tensor)
    fd, handle = tensor.export_fd()
    other = rs.from_fd(fd, handle, two)
    again = rs.from_fd(fd, handle, one)
    os.close(fd)
    with two.batch():
        results = [rs.reorder(other.permute(1, 0), "AB->AB") for _ in range(3)]
    rs.reorder(rs.asarray(-x, device=two), out=other)
    two.wait()
    assert (results[2].numpy() == x.T).all()
    assert (again.numpy() == -x).all() and (tensor.numpy() == -x).all()
    one.close()
    two.close()
"""


@pytest.mark.parametrize("profile", ["core", "sync"])
def test_the_validation_layer_has_nothing_to_say(profile):
    assert messages(["-c", PROGRAM], profile) == []
