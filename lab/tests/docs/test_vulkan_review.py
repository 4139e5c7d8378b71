"""The claims of docs/vulkan_review.md about host accesses, barriers and queues, which no validation layer checks."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import vulkan_double
from support.vulkan_kernels import affine, bump, download, modules, upload

import restride as rs
from restride.kernel.modules import load_module, manifest
from restride.runtime import instance
from restride.runtime.loader import binding
from restride.runtime.vulkan import memory
from restride.runtime.vulkan.runtime import PIECE_BYTES, VulkanRuntime

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = (modules,)
MODES = pytest.mark.parametrize("staging", [False, True], ids=["in-place", "staging"])


@pytest.fixture
def busy(monkeypatch):
    """A device that finishes a submission only when the host waits for it."""
    with vulkan_double.VulkanDouble(lazy=True) as double:
        monkeypatch.setattr(instance, "_instance", None)  # keep the process's own for other tests' devices
        yield double
        instance.instance().destroy()
        monkeypatch.undo()


def work(device: rs.Device) -> None:
    """Run transfers in one part and in several while kernels run, reuse memory, and run a batch."""
    rng = np.random.default_rng(3)
    small = rng.integers(0, 256, (40, 50), np.uint8)
    large = rng.integers(0, 256, 3 * PIECE_BYTES + 5, np.uint8)
    x = rs.asarray(small, device=device)
    for _ in range(8):
        y = rs.reorder(x.permute(1, 0))
        device.runtime.write(x.memory, 0, memoryview(small).cast("B"))  # memory that the running kernel may read
        uploaded = rs.asarray(large, device=device)
        z = rs.resample(y[::-1], (31, 33), mode="linear", antialias=True)
        assert np.array_equal(uploaded.numpy(), large)
        assert np.array_equal(y.numpy(), small.T)
        del uploaded, y
        rs.asarray(small, device=device)
        with device.batch():
            again = rs.reorder(rs.asarray(small[:, ::-1].copy(), device=device), dtype="f32")
            x = rs.asarray(small, device=device)
        z.numpy()
        assert np.array_equal(again.numpy(), small[:, ::-1].astype(np.float32))


@MODES
@pytest.mark.usefixtures("busy")
def test_the_host_touches_only_what_the_device_has_finished(staging, monkeypatch):
    """The host writes only after all accesses of the device end, and reads only after its writes end."""
    seen = {"read": 0, "write": 0}
    view = memory.Block.view

    def viewed(block, offset, nbytes):
        caller = sys._getframe(1).f_code.co_name
        access = "write" if caller in ("write", "_upload") else "read"
        seen[access] += 1
        last = block.used if access == "write" else block.written
        assert last <= pending.completed, f"{caller} while submission {last} is pending"
        return view(block, offset, nbytes)

    monkeypatch.setattr(memory.Block, "view", viewed)
    with rs.Device.over(VulkanRuntime(0, staging=staging)) as device:
        pending = device.runtime._session.queue
        work(device)
        assert pending.submitted > 20
        assert min(seen.values()) > 10


@MODES
def test_every_submission_ends_by_making_its_writes_visible_to_the_host(staging, monkeypatch):
    """A fence alone does not make writes visible."""
    device = rs.Device.over(VulkanRuntime(0, staging=staging))
    vk, ended = binding(), []
    functions, queue = device.runtime._session.device.vk, device.runtime._session.queue
    barrier, end = functions.vkCmdPipelineBarrier, queue._end_recording
    last = []

    def noted(command, before, after, flags, count, barriers, *rest):
        last[:] = [before, after, count, barriers[0].srcAccessMask, barriers[0].dstAccessMask]
        return barrier(command, before, after, flags, count, barriers, *rest)

    def finished(command):
        ended.append([*last])
        last.clear()
        return end(command)

    monkeypatch.setattr(functions, "vkCmdPipelineBarrier", noted)
    monkeypatch.setattr(queue, "_end_recording", finished)
    work(device)
    device.close()
    stages = vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | vk.VK_PIPELINE_STAGE_TRANSFER_BIT
    writes = vk.VK_ACCESS_SHADER_WRITE_BIT | vk.VK_ACCESS_TRANSFER_WRITE_BIT
    expected = [stages, vk.VK_PIPELINE_STAGE_HOST_BIT, 1, writes, vk.VK_ACCESS_HOST_READ_BIT]
    assert len(ended) > 10
    assert all(each == expected for each in ended)


def test_a_transfer_waits_for_the_kernels_that_touch_the_same_bytes_and_for_no_others(modules):
    device = VulkanRuntime(0, staging=True, module_source=modules)
    words = np.arange(1024, dtype=np.uint32)
    one, two, three = (upload(device, words) for _ in range(3))

    def barriers_of(*steps):
        before = device.counters().barriers
        for step in steps:
            step()
        return device.counters().barriers - before

    device.submit([bump(1024)], [one])
    device.wait()
    device.submit([bump(1024)], [one])  # while it runs, other tensors are uploaded and computed
    assert barriers_of(lambda: device.write(two, 0, memoryview(words[::-1].copy()))) == 0
    assert barriers_of(lambda: device.submit([bump(1024)], [three])) == 0
    assert barriers_of(lambda: device.write(one, 0, memoryview(words))) == 1
    assert barriers_of(lambda: device.submit([affine(1024)], [one, two])) == 1
    assert np.array_equal(download(device, two, 1024), words)
    assert np.array_equal(download(device, three, 1024), words + 1)
    device.close()


def test_all_work_goes_to_one_queue_and_buffers_belong_to_its_family(monkeypatch):
    """So no buffer changes its queue family."""
    created = []
    create = memory.LogicalDevice.create

    def noted(device, name, **fields):
        created.append((name, fields))
        return create(device, name, **fields)

    monkeypatch.setattr(memory.LogicalDevice, "create", noted)
    device = rs.Device.over(VulkanRuntime(0, staging=True))
    work(device)
    family = device.runtime._session.device.physical.family
    device.close()
    buffers = [fields for name, fields in created if name == "Buffer"]
    assert buffers
    assert not any("sharingMode" in fields or "queueFamilyIndexCount" in fields for fields in buffers)
    assert [fields["queueFamilyIndex"] for name, fields in created if name == "CommandPool"] == [family]


@pytest.mark.parametrize("name", sorted(name for name in manifest() if "shared" in name))
def test_a_barrier_of_a_work_group_orders_its_shared_memory(name):
    """The barrier's scopes are the group; its semantics are acquire and release of the group's shared memory."""
    words = np.frombuffer(load_module(name), "<u4").tolist()
    values, barriers, place = {}, [], 5
    while place < len(words):
        count, opcode = words[place] >> 16, words[place] & 0xFFFF
        if opcode == 43:  # OpConstant
            values[words[place + 2]] = words[place + 3]
        if opcode == 224:  # OpControlBarrier
            barriers.append([values[word] for word in words[place + 1 : place + count]])
        place += count
    workgroup, acquire_release_of_workgroup_memory = 2, 0x8 | 0x100
    assert barriers
    assert all(each == [workgroup, workgroup, acquire_release_of_workgroup_memory] for each in barriers)


def test_the_names_on_the_page_exist():
    page = (ROOT / "docs" / "vulkan_review.md").read_text(encoding="utf-8")
    files = [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "lab" / "tests").rglob("test_*.py")]
    tests = {
        name
        for file in files
        for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    named = set(re.findall(r"`(test_\w+)`", page)) - {file.stem for file in files}
    assert len(named) > 15
    assert named <= tests
    symbols = set(re.findall(r"`([A-Z]\w+)\.(\w+)`", page))
    for owner, attribute in symbols:
        text = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "src/restride/runtime").rglob("*.py"))
        assert re.search(rf"class {owner}\b", text), owner
        assert re.search(rf"def {attribute}\b", text), (owner, attribute)
    assert len(symbols) > 10
