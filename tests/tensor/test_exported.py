"""Memory that programs hand over: its facts, who owns the descriptor, and equal bits both ways for every layout."""

import copy
import gc
import json
import os
import pickle
import random
import signal
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest
from support.random_layouts import random_layout
from support.sampled import FULL, SEED
from support.shared_memory import open_fds

import restride as rs
from restride.runtime.vulkan import sharing

COUNT = 500 if FULL else 120
X = np.arange(60, dtype=np.int16).reshape(3, 4, 5)


@pytest.fixture(scope="module")
def devices():
    """Two devices of this process."""
    with rs.Device(runtime="vulkan") as one, rs.Device(runtime="vulkan") as two:
        try:
            rs.empty("u8[1]", one, shareable=True)
        except rs.UnsupportedError as error:
            pytest.skip(str(error))
        yield one, two


@pytest.fixture
def exported(devices):
    """X, with the tensor that holds it."""
    tensor = rs.empty("s16[3,4,5]", devices[0], shareable=True)
    tensor[...] = X
    with tensor.export() as made:
        yield made


def settle(*devices):
    """Have the devices give back what was freed, with its descriptors."""
    gc.collect()
    for device in devices:
        device.wait()
        device.counters()


def random_bytes(rng, nbytes):
    return np.frombuffer(rng.randbytes(nbytes), np.uint8)


def drawn(rng, device):
    """A shareable tensor of random bytes, padding included, and those bytes. It begins and ends anywhere."""
    whole = rs.TensorDesc.parse(random_layout(rng))
    tensor = rs.empty(whole, device, shareable=True)
    contents = random_bytes(rng, tensor.memory.nbytes)
    device.runtime.write(tensor.memory, 0, contents.data)
    if tensor.ndim and tensor.desc.strides is not None and rng.random() < 0.5:
        tensor = tensor[tuple(slice(None, None, rng.choice([-2, -1, 1, 3])) for _ in range(tensor.ndim))]
    return tensor, contents


def test_the_facts_are_the_drivers_and_json_holds_them(exported, devices):
    fields = exported.fields()
    assert fields == json.loads(json.dumps(fields))
    assert fields == {name: getattr(exported, name) for name in fields}
    assert list(fields) == [
        *("nbytes", "allocation_bytes", "memory_type", "device_uuid", "driver_uuid", "offset", "dedicated", "desc"),
    ]
    assert (exported.nbytes, exported.offset, exported.dedicated) == (128, 0, True), "120 bytes, in whole uvec4"
    assert exported.desc == "s16[3,4,5]{2,1,0}"
    assert exported.device_uuid == devices[0].info.uuid
    assert exported.allocation_bytes >= exported.nbytes
    assert rs.import_memory(fd=exported.fd, **fields, device=devices[1]).numpy().tobytes() == X.tobytes()


def test_the_descriptor_is_the_exports_and_is_closed_with_it(devices):
    tensor = rs.empty("s16[3,4,5]", devices[0], shareable=True)
    tensor.export().close()
    before = open_fds()
    with tensor.export() as exported:
        assert not os.get_inheritable(exported.fd)
        assert open_fds() == before + 1
        assert repr(exported) == f"<restride.Exported s16[3,4,5]{{2,1,0}}, fd {exported.fd}>"
    assert open_fds() == before
    exported.close()  # a second time
    assert repr(exported) == "<restride.Exported s16[3,4,5]{2,1,0}, closed>"
    for call in (lambda: exported.fd, lambda: rs.import_memory(exported)):
        with pytest.raises(rs.DescriptorError, match=r"this export was closed; tensor\.export\(\) makes another"):
            call()
    tensor.export()  # and dropped
    gc.collect()
    assert open_fds() == before


def test_an_export_is_neither_copied_nor_pickled(exported):
    for call in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"file descriptor of this process .* and fields\(\) as JSON"):
            call(exported)


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_an_export_that_was_not_made_has_nothing_to_close():
    with pytest.raises(TypeError, match="missing 3 required positional arguments"):
        rs.Exported()
    gc.collect()


def test_an_export_waits_for_work_that_reads_the_memory(devices):
    """The other program may write as soon as it has the descriptor."""
    one, two = devices
    tensor = rs.empty("s16[3,4,5]", one, shareable=True)
    tensor[...] = X
    one.wait()
    with one.batch():
        result = rs.reorder(tensor, "ABC->CBA")
        with tensor.export() as exported:
            assert one.runtime._session.queue.completed >= tensor.memory.block.used > 0
            rs.import_memory(exported, device=two)[...] = -X
            two.wait()
    assert np.array_equal(result.numpy(), X.transpose(2, 1, 0))


def interrupted(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize(("module", "name"), [("os", "set_inheritable"), ("restride.tensor.tensor", "Exported")])
def test_an_interrupt_leaves_no_descriptor_of_an_export_open(devices, monkeypatch, module, name):
    tensor = rs.empty("s16[3,4,5]", devices[0], shareable=True)
    tensor.export().close()
    before = open_fds()
    monkeypatch.setattr(import_module(module), name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        tensor.export()
    gc.collect()
    assert open_fds() == before


def test_an_interrupt_leaves_no_descriptor_of_an_import_open(exported, devices, monkeypatch):
    rs.import_memory(exported, device=devices[1])
    settle(*devices)
    before = open_fds()
    monkeypatch.setattr(sharing, "_require_memory", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rs.import_memory(exported, device=devices[1])
    settle(*devices)
    assert open_fds() == before


def test_an_import_leaves_the_descriptor_to_the_caller(exported, devices):
    tensors = [rs.import_memory(exported, device=device) for device in (*devices, *devices)]
    assert all(tensor.numpy().tobytes() == X.tobytes() for tensor in tensors)
    os.fstat(exported.fd)
    tensors[1][0] = 7
    devices[1].wait()
    assert {tensor.numpy()[0].max() for tensor in tensors} == {7}


def test_random_tensors_are_the_same_on_two_devices(devices):
    """Out: the elements of any view. In: what the other device writes into the whole of it."""
    rng = random.Random(SEED)
    for number in range(COUNT):
        here, there = devices if number % 2 else devices[::-1]
        tensor, contents = drawn(rng, here)
        with tensor.export() as exported:
            other = rs.import_memory(exported, device=there)
        assert other.desc == tensor.desc
        assert other.buffer()[: len(contents)].tobytes() == contents.tobytes(), tensor.desc
        assert other.numpy().tobytes() == tensor.numpy().tobytes(), tensor.desc
        if tensor.size and tensor.desc.strides != (0,) * tensor.ndim:
            changed = random_bytes(rng, len(contents))
            there.runtime.write(other.memory, 0, changed.data)
            there.wait()
            assert tensor.buffer().tobytes() == changed.tobytes(), tensor.desc


KILLED = """
import json, os, sys
import restride as rs
fields = json.loads(sys.argv[2])
with rs.Device(runtime="vulkan") as device:
    x = rs.import_memory(fd=int(sys.argv[1]), **fields, device=device)
    for value in range(1, 1000):
        x[...] = value % 2 + 1
        if value == 5:
            device.wait()
            print("writes", flush=True)
"""


def test_a_program_that_is_killed_while_it_writes_leaves_the_memory_usable(devices):
    tensor = rs.empty("s32[100,100]", devices[0], shareable=True)
    tensor[...] = 0
    with tensor.export() as exported:
        command = [sys.executable, "-c", KILLED, str(exported.fd), json.dumps(exported.fields())]
        with subprocess.Popen(command, pass_fds=[exported.fd], stdout=subprocess.PIPE) as other:
            assert other.stdout.readline() == b"writes\n"
            other.send_signal(signal.SIGKILL)
            other.wait()
    assert set(np.unique(tensor.numpy())) <= {1, 2}
    tensor[...] = 9
    assert (tensor.numpy() == 9).all()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"fd": None}, r"import_memory needs an Exported, or all of fd, nbytes, .*; without: \['fd'\]"),
        ({"desc": None, "nbytes": None}, r"without: \['nbytes', 'desc'\]"),
        ({"fd": 1.5}, "fd must be an integer, got 1.5"),
        ({"nbytes": "128"}, "nbytes must be an integer, got '128'"),
        ({"offset": None}, "offset must be an integer"),
        ({"allocation_bytes": True}, "allocation_bytes must be an integer, got the boolean"),
        ({"memory_type": 0.0}, "memory_type must be an integer"),
        ({"dedicated": 1}, "dedicated must be True or False"),
        ({"device_uuid": "7"}, "device_uuid must be a text of 32 hexadecimal digits, got '7'"),
        ({"driver_uuid": b"0" * 32}, "driver_uuid must be a text of 32 hexadecimal digits"),
        ({"desc": "s16[3,4,50]"}, r"a buffer of 128 bytes, and desc needs 1200, for s16\[3,4,50\]"),
        ({"desc": 5}, "5"),
        ({"device": 5}, "device must be a restride.Device"),
        ({"exported": 5}, r"exported must be what tensor\.export\(\) makes, got 5"),
    ],
)
def test_wrong_facts_are_refused_by_name(change, match, exported, devices):
    before = open_fds()
    with pytest.raises(rs.DescriptorError, match=match):
        rs.import_memory(**{"fd": exported.fd, "device": devices[0]} | exported.fields() | change)
    assert open_fds() == before


@pytest.mark.parametrize("named", [{"fd": 3}, {"offset": 16}, {"dedicated": False}, {"desc": "u8[3]"}])
def test_an_export_and_its_facts_by_name_are_one_too_many(named, exported):
    with pytest.raises(rs.DescriptorError, match=r"exported says all of fd, .*: give either it or these by name"):
        rs.import_memory(exported, **named)


def test_facts_say_a_uuid_in_either_case(exported, devices):
    fields = exported.fields() | {"device_uuid": exported.device_uuid.upper()}
    assert rs.import_memory(fd=exported.fd, **fields, device=devices[0]).numpy().tobytes() == X.tobytes()


def test_freed_memory_and_that_of_a_closed_device_is_not_exported(devices):
    freed = rs.empty("s16[3,4,5]", devices[0], shareable=True)
    freed.memory.free()
    with pytest.raises(rs.DescriptorError, match=r"this memory of 120 bytes was freed, for s16\[3,4,5\]"):
        freed.export()
    with rs.Device(runtime="vulkan") as closed:
        tensor = rs.empty("s16[3,4,5]", closed, shareable=True)
    with pytest.raises(rs.DeviceLost, match="was closed"):
        tensor.export()


def test_semaphores_are_refused_by_name(devices):
    settle(*devices)
    before = open_fds()
    tensor = rs.empty("s16[3,4,5]", devices[0], shareable=True)
    with pytest.raises(rs.UnsupportedError, match=r"semaphore=True: restride exports no semaphore; export\(\) waits"):
        tensor.export(semaphore=True)
    with pytest.raises(rs.DescriptorError, match="semaphore must be True or False, got 5"):
        tensor.export(semaphore=5)
    del tensor
    settle(*devices)
    assert open_fds() == before
