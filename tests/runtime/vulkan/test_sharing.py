"""Memory that processes share by file descriptors: the same bits in both, and nothing else is imported."""

import gc
import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal as assert_equal
from support import shared_memory
from support.devices import open_device
from support.shared_memory import open_fds, shared
from support.validated_process import messages

import restride as rs
from restride.runtime import choose, list_devices
from restride.runtime.handles import FD_SHARING
from restride.runtime.loader import binding
from restride.runtime.vulkan.runtime import VulkanRuntime

X = np.random.default_rng(11).standard_normal((7, 300, 41)).astype(np.float32)
X[0, 0, :3] = np.array([0x7FC12345, 0xFF800000, 0x80000000], np.uint32).view(np.float32)  # a NaN's bits, -inf, -0.0

device = shared_memory.sharing_device


def over(**options):
    return rs.Device.over(VulkanRuntime(choose(list_devices()), **options))


def bits(array):
    return np.ascontiguousarray(array).view(np.uint8)


def import_as(fields, fd, device):
    return rs.import_memory(fd=fd, **fields, device=device)


OTHER = """
import array, json, os, socket, sys
import numpy as np
import restride as rs
from restride.runtime import choose, list_devices
from restride.runtime.vulkan.runtime import VulkanRuntime
how, number, staging = sys.argv[1:]
talk = socket.socket(fileno=int(number))
with rs.Device.over(VulkanRuntime(choose(list_devices()), staging=staging == "True")) as device:
    data, fds, _, _ = socket.recv_fds(talk, 1 << 16, 2)
    fds = fds or [int(fd) for fd in how.split(",")]
    theirs, mine = (rs.import_memory(fd=fd, **fields, device=device) for fd, fields in zip(fds, json.loads(data)))
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
    exported = [x.export(), y.export()]
    fds, fields = [each.fd for each in exported], [each.fields() for each in exported]
    here, there = socket.socketpair()
    staging = device.runtime._staging is not None
    sent = not staging
    command = [sys.executable, "-c", OTHER, "-" if sent else ",".join(map(str, fds)), str(there.fileno()), str(staging)]
    kept = (there.fileno(), *(() if sent else fds))
    with subprocess.Popen(command, pass_fds=kept, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as other:
        there.close()
        here.settimeout(120)
        socket.send_fds(here, [json.dumps(fields).encode()], fds if sent else [])
        for each in exported:
            each.close()
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
    with over() as other:
        with x.export() as exported:
            y = rs.import_memory(exported, device=other)
        del x
        device.close()
        assert_equal(bits(y.numpy()), bits(X))


def test_a_descriptor_alone_keeps_the_memory(device):
    x = shared(X, device)
    with x.export() as exported:
        del x
        device.wait()
        y = rs.import_memory(exported, device=device)
    assert_equal(bits(y.numpy()), bits(X))


def test_a_view_is_exported_as_the_view_it_is(device):
    x = shared(X, device)
    with x[1:, ::-7].permute(2, 0, 1).export() as exported:
        y = rs.import_memory(exported, device=device)
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
        with x.export() as exported:  # the batch is still open
            y = rs.import_memory(exported, device=other)
        assert_equal(bits(y.numpy()), bits(X))


def test_shared_memory_is_never_pooled_and_counts_where_it_was_allocated(device):
    rs.reorder(shared(X, device)).numpy()
    device.trim()
    before = device.counters()
    x = rs.empty("u8[1000000]", device, shareable=True)
    allocated = device.counters()
    assert allocated.bytes_in_use - before.bytes_in_use == 1_000_000
    assert allocated.bytes_allocated - before.bytes_allocated >= 1_000_000
    with x.export() as exported:
        y = rs.import_memory(exported, device=device)
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
    with x.export() as exported:
        assert exported.memory_type == 1
        y = rs.import_memory(exported, device=device)
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
    other = over(staging=False)
    with x.export() as exported:
        arrays = [x.numpy(copy=False), rs.import_memory(exported, device=other).numpy(copy=False)]
    del x
    device.close()
    other.close()
    for array in arrays:
        assert_equal(bits(array), bits(X))


def test_nothing_leaks_descriptors(device):
    x = shared(X, device)
    exported = x.export()
    fields = exported.fields()
    rs.import_memory(exported, device=device).numpy()
    before = open_fds()
    for _ in range(20):
        with x.export() as again:
            tensor = rs.import_memory(again, device=device)
        x.export()  # dropped without a close
        with pytest.raises(rs.RestrideError):
            import_as(fields | {"allocation_bytes": exported.allocation_bytes * 2}, exported.fd, device)
        with Path(os.devnull).open("rb") as file, pytest.raises(rs.RestrideError):
            import_as(fields, file.fileno(), device)
        rs.empty("u8[5]", device, shareable=True)
    del tensor
    device.wait()
    device.counters()  # takes back what was freed
    assert open_fds() <= before
    assert not os.get_inheritable(exported.fd)
    exported.close()
    assert open_fds() < before


def test_the_pool_notes_nothing_of_what_it_never_uses_again(device):
    for size in range(1, 40):
        rs.empty(f"u8[{16 * size}]", device, shareable=True)
        device.counters()  # takes back what was freed
    assert device.runtime._session.blocks.pool._idle == {}


def refused(change, error, match, device, fd=None):
    tensor = shared(X, device)
    with tensor.export() as exported:
        before = open_fds()
        with pytest.raises(error, match=match):
            import_as(exported.fields() | change, exported.fd if fd is None else fd, device)
        assert open_fds() == before
        assert_equal(bits(rs.import_memory(exported, device=device).numpy()), bits(X))


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"device_uuid": "ab" * 16}, rs.UnsupportedError, f"memory of device {'ab' * 16} .* cannot be imported by"),
        ({"driver_uuid": "cd" * 16}, rs.UnsupportedError, f"and driver {'cd' * 16} cannot be imported by"),
        ({"nbytes": 16}, rs.DescriptorError, r"a buffer of 16 bytes, and desc needs 344400, for f32\[7,300,41\]"),
        ({"nbytes": 1 << 20}, rs.DescriptorError, r"say 1048576 bytes at byte 0 of an allocation of 344\d+"),
        ({"nbytes": 1 << 80}, rs.DescriptorError, r"the fields say 12089\d+ bytes at byte 0 of an allocation of"),
        ({"nbytes": 344404, "allocation_bytes": 1 << 20}, rs.UnsupportedError, "344404 is no multiple of 16"),
        ({"offset": -16}, rs.DescriptorError, "bytes at byte -16 of an allocation"),
        ({"offset": 1 << 70}, rs.DescriptorError, r"bytes at byte 1180\d+ of an allocation"),
        ({"allocation_bytes": 1 << 80}, rs.DescriptorError, r"of an allocation of 12089\d+: they must lie inside"),
        ({"allocation_bytes": 1 << 21}, rs.DescriptorError, "2097152 bytes of memory type 0, dedicated"),
        ({"allocation_bytes": 1 << 21, "offset": 64}, rs.DescriptorError, "dedicated, used from byte 64"),
        (
            {"allocation_bytes": 1 << 21, "offset": 1, "dedicated": False},
            rs.DescriptorError,
            "shared, used from byte 1;",
        ),
        ({"memory_type": 31}, rs.DescriptorError, r"of memory type 31, .*for a buffer of .* f32\[7,300,41\]"),
        ({"memory_type": -1}, rs.DescriptorError, "of memory type -1"),
        ({"desc": "f33[3]"}, rs.DescriptorError, "f33"),
    ],
)
def test_fields_of_something_else_are_refused(change, error, match, device):
    refused(change, error, match, device)


def test_a_driver_that_shares_dedicated_allocations_only(device, monkeypatch):
    """It says so in a bit of its features; memory of other programs may be no such allocation."""
    monkeypatch.setattr(binding(), "VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT", -1)  # any bit of the features
    refused({"dedicated": False}, rs.UnsupportedError, "shares dedicated allocations only", device)


def test_memory_that_the_host_cannot_see_is_refused_where_it_works_in_place(device, monkeypatch):
    """With staging the device's own copies read it."""
    logical = device.runtime._session.device
    with shared(X, device).export() as exported:
        (kind,) = types = logical.physical.memory_types
        types += (replace(kind, flags=1),)
        monkeypatch.setattr(logical, "physical", replace(logical.physical, memory_types=types))
        fields = exported.fields() | {"memory_type": 1}
        error = rs.UnsupportedError if device.runtime._staging is None else rs.DescriptorError
        with pytest.raises(error, match="memory type 1"):
            import_as(fields, exported.fd, device)


def test_windows_is_refused_by_name(device, monkeypatch):
    monkeypatch.setattr(os, "name", "nt")
    with pytest.raises(rs.UnsupportedError, match="drivers of Windows have no file descriptors for it"):
        rs.empty("f32[3]", device, shareable=True)


def test_a_descriptor_of_something_else_is_refused(device, tmp_path):
    refused({}, rs.DescriptorError, r"fd 54321 is not an open file descriptor, for f32\[7", device, 54321)
    refused({}, rs.DescriptorError, "fd -1 is not an open file descriptor", device, -1)
    refused({}, rs.DescriptorError, "fd 1099511627776 is not an open file descriptor", device, 1 << 40)
    refused({}, rs.DescriptorError, "fd must be an integer, got the boolean True", device, True)
    (tmp_path / "short").write_bytes(b"no memory")
    (tmp_path / "long").write_bytes(bytes(1 << 20))
    pipe, sockets = os.pipe(), socket.socketpair()
    for name, match in (
        ("short", r"does not import fd \d+ as \d+ bytes of its memory: it is a file of 9 bytes"),
        ("long", "fd"),
    ):
        with (tmp_path / name).open("r+b") as file:
            refused({}, rs.DescriptorError, match, device, file.fileno())
    for number in (pipe[0], sockets[0].fileno()):
        match = rf"does not import fd {number} as \d+ bytes of its memory: it is a pipe, a socket"
        refused({}, rs.DescriptorError, match, device, number)
    with Path(os.devnull).open("rb") as file:
        refused({}, rs.DescriptorError, "vkAllocateMemory failed with VK_ERROR_", device, file.fileno())
    for end in pipe:
        os.close(end)
    for end in sockets:
        end.close()


def test_memory_that_is_smaller_than_its_fields_say_is_refused(device):
    """Else the process would end where it reads past it."""
    with rs.empty("u8[16]", device, shareable=True).export() as small:
        match = r"of its memory: (it is a file of \d+ bytes|vkAllocate.*), for f32\[7"
        refused({}, rs.DescriptorError, match, device, small.fd)


def test_memory_that_is_not_shareable_is_not_exported(device):
    with pytest.raises(rs.UnsupportedError, match=r"4 bytes was not allocated as shareable: .*, for f32\[\]"):
        rs.empty("f32[]", device).export()
    with shared(X, device).export() as exported:
        y = rs.import_memory(exported, device=device)
    with pytest.raises(rs.UnsupportedError, match=r"imported from a file descriptor: pass on a duplicate .*f32\[7"):
        y.export()


@pytest.mark.parametrize("what", ["extension", "features"])
def test_a_driver_that_shares_nothing(what, device, monkeypatch):
    with over() as other:
        exported = shared(X, other).export()
    logical = device.runtime._session.device
    if what == "extension":
        physical = replace(logical.physical, extensions=logical.physical.extensions - {FD_SHARING})
        monkeypatch.setattr(logical, "physical", physical)
        match = f"shares no memory between processes: it has no {FD_SHARING}"
    else:
        bit = "VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT"
        monkeypatch.setattr(binding(), bit, 1 << 20)
        match = "shares no storage buffers between processes: their features are 0x"
    for call in (
        lambda: rs.empty(exported.desc, device, shareable=True),
        lambda: rs.import_memory(exported, device=device),
    ):
        with pytest.raises(rs.UnsupportedError, match=match):
            call()
    exported.close()


def test_the_runtime_kompute_shares_nothing():
    fields = {"nbytes": 16, "allocation_bytes": 16, "memory_type": 0, "device_uuid": "0" * 32, "driver_uuid": "0" * 32}
    with open_device("kompute") as device:
        for call in (
            lambda: rs.empty("f32[3]", device, shareable=True),
            lambda: rs.empty("f32[3]", device).export(),
            lambda: rs.import_memory(fd=0, **fields, desc="f32[3]", device=device),
        ):
            with pytest.raises(rs.UnsupportedError, match=r"the runtime 'kompute' cannot \w+ memory.*f32\[3\]"):
                call()


def test_a_driver_that_refuses_the_import_after_all(device, monkeypatch):
    functions = device.runtime._session.device.vk
    tensor = shared(X, device)
    exported = tensor.export()
    real = functions.vkAllocateMemory
    before = open_fds()
    for code, error in ((-1000072003, rs.DescriptorError), (-2, rs.DescriptorError), (-4, rs.DeviceLost)):
        monkeypatch.setattr(functions, "vkAllocateMemory", functions._checked("vkAllocateMemory", lambda *_, c=code: c))
        with pytest.raises(error, match="vkAllocateMemory failed with VK_ERROR"):
            rs.import_memory(exported, device=device)
        assert open_fds() == before
        monkeypatch.setattr(functions, "vkAllocateMemory", real)
    exported.close()


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
import numpy as np
import restride as rs
from restride.runtime.vulkan.runtime import VulkanRuntime
x = np.random.default_rng(1).random((300, 41), np.float32)
for staging in (False, True):
    one, two = (rs.Device.over(VulkanRuntime(0, staging=staging)) for _ in range(2))
    tensor = rs.empty("f32[300,41]", one, shareable=True)
    rs.reorder(rs.asarray(x, device=one), out=tensor)
    with tensor.export() as exported:
        other = rs.import_memory(exported, device=two)
        again = rs.import_memory(exported, device=one)
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
