"""The direct runtime: memory, parameters, pipelines and sets are pooled and bounded."""

import gc
import random
from dataclasses import replace

import numpy as np
import pytest
from support import vulkan_kernels
from support.vulkan_kernels import MIB, SEPARATE, affine, bump, download, slow, table

from restride.errors import DeviceLost, OutOfDeviceMemory, UnsupportedError, command_text
from restride.runtime import heap, instance
from restride.runtime.instance import physical_devices
from restride.runtime.loader import binding
from restride.runtime.vulkan.queue import MAX_PENDING
from restride.runtime.vulkan.runtime import VulkanRuntime

modules, runtime, in_place = vulkan_kernels.FIXTURES


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
            assert after.allocations - before <= MAX_PENDING + 2
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
    in_place._session.blocks.pool.trim()
    assert in_place.counters().bytes_allocated <= 2 * MIB


def test_devices_share_the_budget_of_their_heap(modules, monkeypatch):
    first, second = VulkanRuntime(0, module_source=modules), VulkanRuntime(0, module_source=modules)
    budget = first._session.blocks.pool.chunks.budget
    budget.make_room()
    others = budget.used  # of devices that other tests have open
    heap = others + 256 * MIB  # a device's own may be more than its largest allocation
    monkeypatch.setattr(budget, "heap_bytes", heap)
    kept = first.allocate(MIB)
    for _ in range(4):
        first.allocate(60 * MIB).free()
    assert first.counters().bytes_allocated > 60 * MIB
    large = second.allocate(heap - others - 50 * MIB)
    assert first.counters().bytes_allocated == MIB, "what was idle made room"
    with pytest.raises(OutOfDeviceMemory, match=f"of its heap of {heap} bytes"):
        first.allocate(60 * MIB)
    large.free()
    second.close()
    first.allocate(60 * MIB)
    assert kept.nbytes == MIB
    first.close()


def test_freed_memory_is_pooled_up_to_a_bound(modules):
    runtime = VulkanRuntime(0, module_source=modules, memory_limit=64 * MIB)
    memories = [runtime.allocate(4 * MIB) for _ in range(16)]
    assert runtime.counters().bytes_allocated == 64 * MIB
    memories.clear()
    assert runtime.counters().bytes_allocated <= 32 * MIB, "half the heap"
    other_size = runtime.allocate(60 * MIB)
    assert runtime.counters().bytes_allocated == 60 * MIB, "the pool makes room"
    other_size.free()
    runtime.close()


def test_the_budget_refuses_and_the_next_operation_works(modules):
    runtime = VulkanRuntime(0, module_source=modules, memory_limit=8 * MIB)
    a = runtime.allocate(5 * MIB)
    message = rf"no room for {4 * MIB} bytes: {5 * MIB} of its memory_limit of {8 * MIB} bytes are in use"
    with pytest.raises(OutOfDeviceMemory, match=message) as caught:
        runtime.allocate(4 * MIB)
    assert isinstance(caught.value, MemoryError)
    advice = "are in use; free tensors; rs.stream(source, destination, chain, memory=...) works in smaller pieces"
    assert str(caught.value).endswith(advice)
    assert "rs." not in command_text(caught.value)
    for nbytes in (8 * MIB + 1, 1 << 40):
        with pytest.raises(OutOfDeviceMemory, match=r"nothing that is freed makes room for it; rs\.stream\("):
            runtime.allocate(nbytes)
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


def test_the_number_of_allocations_is_named_where_it_is_the_limit(modules, monkeypatch):
    runtime = VulkanRuntime(0, module_source=modules)
    device = runtime._session.device
    monkeypatch.setattr(device, "physical", replace(device.physical, max_allocations=0))
    with pytest.raises(OutOfDeviceMemory, match="in 0 of at most 0 allocations; free tensors"):
        runtime.allocate(MIB)
    runtime.close()


def test_parameters_wait_for_room(modules):
    runtime = VulkanRuntime(0, module_source=modules, memory_limit=8 * MIB)
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


def test_the_driver_says_what_all_processes_leave_of_a_heap(monkeypatch):
    functions, ffi = instance.instance().vk, binding().ffi
    properties = functions.vkGetPhysicalDeviceMemoryProperties2

    def with_budgets(handle, memory):
        properties(handle, memory)
        budgets = ffi.cast("VkPhysicalDeviceMemoryBudgetPropertiesEXT *", memory.pNext)
        for heap_index in range(memory.memoryProperties.memoryHeapCount):
            budgets.heapBudget[heap_index], budgets.heapUsage[heap_index] = 900 * MIB, (heap_index + 1) * 200 * MIB

    monkeypatch.setattr(functions, "vkGetPhysicalDeviceMemoryProperties2", with_budgets)
    physical = physical_devices()[0]
    there = replace(physical, extensions=physical.extensions | {"VK_EXT_memory_budget"})
    assert there.heap_left(0) == 700 * MIB
    names = instance._extension_names
    monkeypatch.setattr(instance, "_extension_names", lambda *owner: names(*owner) | {"VK_EXT_memory_budget"})
    info = physical_devices()[0].info
    assert info.heap_left == 700 * MIB
    assert info == physical.info, "what is left now does not make it another device"
    monkeypatch.setattr(instance, "_extension_names", lambda *owner: names(*owner) - {"VK_EXT_memory_budget"})
    assert physical_devices()[0].info.heap_left is None


@pytest.mark.parametrize("left", [3 * MIB, None])
def test_a_refusal_says_whose_figure_it_is(left, in_place, monkeypatch):
    monkeypatch.setattr(instance.PhysicalDevice, "heap_left", lambda *_: left)
    heap_bytes = in_place.info.heap_bytes
    whose = "the driver does not say what others leave of it"
    if left is not None:
        whose = f"by VK_EXT_memory_budget the driver has {left} bytes left for it"
    match = f"of its heap of {heap_bytes} bytes are in use by this process(;|, and) {whose}; nothing"
    with pytest.raises(OutOfDeviceMemory, match=match):
        in_place.allocate(heap_bytes + MIB)


def test_idle_memory_goes_back_before_more_is_taken_than_the_driver_has_left(in_place, monkeypatch):
    in_place.allocate(8 * MIB).free()
    kept = in_place.allocate(4 * MIB)
    assert in_place.counters().bytes_allocated == 12 * MIB
    monkeypatch.setattr(instance.PhysicalDevice, "heap_left", lambda *_: MIB)
    more = in_place.allocate(2 * MIB)
    assert in_place.counters().bytes_allocated == 6 * MIB == kept.nbytes + more.nbytes


def test_an_allocation_larger_than_the_driver_allows(modules, monkeypatch):
    first = physical_devices()[0]
    for number in range(len(first.heap_sizes)):
        monkeypatch.setitem(heap._budgets, (first.info.uuid, first.driver_uuid, number), heap.HeapBudget(1 << 50))
    runtime = VulkanRuntime(0, module_source=modules)
    with pytest.raises(UnsupportedError, match="exceed the largest single allocation"):
        runtime.allocate(1 << 40)
    runtime.close()


def test_the_budget_counts_what_the_driver_allocates(modules, monkeypatch):
    runtime = VulkanRuntime(0, module_source=modules, memory_limit=8 * MIB)
    functions = runtime._session.device.vk
    requirements = functions.vkGetBufferMemoryRequirements

    def wants_more(device, buffer, needs):
        requirements(device, buffer, needs)
        needs.size += MIB

    monkeypatch.setattr(functions, "vkGetBufferMemoryRequirements", wants_more)
    memories = [runtime.allocate(2 * MIB) for _ in range(2)]
    assert runtime.counters().bytes_allocated == 6 * MIB
    with pytest.raises(OutOfDeviceMemory, match=f"no room for {3 * MIB} bytes: {6 * MIB} of its memory_limit"):
        runtime.allocate(2 * MIB)
    runtime.allocate(MIB)
    memories.clear()
    limit = runtime._session.blocks.pool.chunks._budgets[0]
    assert (limit.name, limit.used) == ("memory_limit", 7 * MIB + MIB)
    runtime.close()
    assert limit.used == 0


def test_another_device_that_is_lost_does_not_spoil_this_one(modules, monkeypatch):
    first = physical_devices()[0]
    for number in range(len(first.heap_sizes)):
        monkeypatch.setitem(heap._budgets, (first.info.uuid, first.driver_uuid, number), heap.HeapBudget(8 * MIB))
    lost, good = VulkanRuntime(0, module_source=modules), VulkanRuntime(0, module_source=modules)
    memory = lost.allocate(MIB)
    lost.submit([bump(64)], [memory])
    functions = lost._session.device.vk
    functions.vkDeviceWaitIdle(lost._session.device.handle)
    monkeypatch.setattr(functions, "vkGetFenceStatus", functions._checked("vkGetFenceStatus", lambda *_: -4))
    with pytest.raises(OutOfDeviceMemory, match=f"{MIB} of its heap of {8 * MIB}"):
        good.allocate(8 * MIB)
    with pytest.raises(DeviceLost):
        lost.wait()
    lost.close()
    assert good.allocate(8 * MIB).nbytes == 8 * MIB
    good.close()
