"""The runtime on kp: pools are bounded, and what does not fit is refused with its numbers."""

import gc
from dataclasses import replace

import numpy as np
import pytest
from support import kompute_kernels
from support.vulkan_kernels import affine, download, table, upload

from restride.errors import DescriptorError, OutOfDeviceMemory, UnsupportedError
from restride.kernel import Binding
from restride.runtime import heap
from restride.runtime.instance import physical_devices
from restride.runtime.interface import Counters
from restride.runtime.kompute.runtime import MAX_PROGRAMS, MAX_RECORDINGS, KomputeRuntime
from restride.runtime.vulkan.runtime import VulkanRuntime

modules, device, make, runtime = kompute_kernels.FIXTURES


def test_2000_submits_make_a_handful_of_allocations_and_pipelines(runtime):
    a = upload(runtime, np.arange(256))
    before = runtime.counters()
    for i in range(2000):
        b = runtime.allocate(1024)
        runtime.submit([affine(256, k=i % 4)], [a, b])
        if i % 100 == 0:
            assert download(runtime, b)[255] == 255 + i % 4
    after = runtime.counters()
    assert after.dispatches == 2000
    assert after.allocations - before.allocations <= 4
    assert after.pipelines <= 2
    assert after.bytes_in_use == 2048
    assert after.bytes_allocated <= 2 * 4096


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_buffers_find_their_pipelines_in_whatever_order_they_were_freed(runtime, order):
    for turn in range(4):
        a, b, c = memories = [runtime.allocate(1024) for _ in range(3)]
        runtime.write(a, 0, memoryview(np.full(256, turn, np.uint32)))
        runtime.submit([affine(256, k=1)], [a, b])
        runtime.submit([affine(256, k=2)], [b, c])
        assert (download(runtime, c) == turn + 3).all()
        for number in order:
            memories[number].free()
    assert runtime.counters().pipelines == 2


def test_sizes_that_differ_keep_the_pool_bounded(runtime):
    for n in range(1, 400):
        runtime.allocate(16 * n).free()
    counters = runtime.counters()
    assert counters.bytes_in_use == 0
    assert counters.bytes_allocated <= 2 * 64 * 16 * 400


def test_idle_bytes_are_bounded(runtime, monkeypatch):
    monkeypatch.setattr(runtime._pool, "_most_idle_bytes", 1 << 20)
    for n in range(1, 20):
        runtime.allocate(n << 16).free()
    runtime.wait()
    counters = runtime.counters()
    assert counters.bytes_in_use == 0
    assert counters.bytes_allocated <= 2 * (1 << 20)


def test_kernels_of_destroyed_buffers_are_forgotten(runtime):
    # 80 sizes overflow the 64 kept buffers, so early pairs are destroyed with their programs.
    for turn in range(2):
        for n in range(1, 81):
            a, b = upload(runtime, np.full(4 * n, turn)), runtime.allocate(16 * n)
            runtime.submit([affine(4 * n, k=n)], [a, b])
            assert (download(runtime, b) == turn + n).all()
    used = {serial for key in runtime._programs._programs for serial in key.buffers}
    assert used <= set(runtime._pool._alive)


def test_programs_and_their_recordings_are_bounded(runtime):
    words = 64 * (MAX_PROGRAMS + 10)
    a, b = upload(runtime, np.arange(words)), runtime.allocate(4 * words)
    for turn in range(2):
        for groups in range(1, MAX_PROGRAMS + 11):
            runtime.submit([affine(64 * groups, k=turn)], [a, b])
    assert (download(runtime, b) == np.arange(words) + 1).all()
    programs = runtime._programs._programs
    assert len(programs) == MAX_PROGRAMS
    for k in range(2 * MAX_RECORDINGS):
        runtime.submit([affine(words, k=k)], [a, b])
    assert max(len(program.recordings) for program in programs.values()) == MAX_RECORDINGS


def test_a_memory_from_the_pool_copies_nothing_of_its_past(make):
    runtime = make(in_place=False)
    a, b = upload(runtime, np.arange(64)), runtime.allocate(256)
    runtime.submit([affine(64)], [a, b])
    b.free()
    before = runtime.counters().submissions
    b = runtime.allocate(256)
    runtime.write(b, 4, memoryview(b"part"))
    assert runtime.counters().submissions == before


def test_counters(runtime):
    assert runtime.counters() == Counters()
    a, b = runtime.allocate(1), runtime.allocate(17)
    runtime.write(a, 0, memoryview(b"x"))
    runtime.read(a, 0, memoryview(bytearray(1)))
    counters = runtime.counters()
    each = 1 if runtime._device.in_place else 2
    assert (counters.bytes_in_use, counters.bytes_allocated, counters.allocations) == (48, 48 * each, 2 * each)
    assert (counters.uploaded, counters.downloaded, counters.dispatches, counters.barriers) == (1, 1, 0, 0)
    b.free()
    b.free()
    assert runtime.counters().bytes_in_use == 16
    del a
    assert runtime.counters().bytes_in_use == 0
    runtime.wait()


def test_memories_that_kp_cannot_make_are_refused_with_the_numbers(make):
    runtime = make()
    before = runtime.counters()
    for nbytes in (1 << 32, (1 << 32) + 64, (1 << 32) - 15):
        with pytest.raises(UnsupportedError, match=rf"{nbytes:,} bytes is larger than the [\d,]+ that kompute"):
            runtime.allocate(nbytes)
    assert runtime.counters() == before


def test_default_budget_is_below_the_heap(make, device):
    runtime = make(in_place=True)
    ((budget, most),) = runtime._pool.heaps
    assert 0 < most < budget.heap_bytes == device.heap_bytes
    with pytest.raises((OutOfDeviceMemory, UnsupportedError), match=r"[\d,]{9,}"):
        runtime.allocate(min(device.heap_bytes, (1 << 32) - 16))


def test_limits_are_refused_with_the_numbers(make, device):
    limits = replace(device.limits, max_buffer_range=1024, max_group_count=(4, 4, 4))
    runtime = make(limits=limits)
    assert runtime.limits == replace(limits, offset_alignment=0)
    small, large = runtime.allocate(1024), upload(runtime, np.arange(257))
    # It can be held, written and read; it cannot be bound.
    assert download(runtime, large)[256] == 256
    spec = affine(16)
    with pytest.raises(UnsupportedError, match=r"affine: binding 1 is a memory of 1,040 bytes, more than the 1,024"):
        runtime.submit([spec], [small, large])
    with pytest.raises(UnsupportedError, match=r"binding 1 is a memory of 2,048 bytes"):
        runtime.submit([table(256, range(257))], [small])
    for groups in [(5, 1, 1), (0, 1, 1), (1, 0, 1)]:
        with pytest.raises(DescriptorError, match=rf"groups \({groups[0]}, {groups[1]}, 1\)"):
            runtime.submit([replace(spec, groups=groups)], [small, small])
    with pytest.raises(DescriptorError, match="pushes 132 bytes"):
        runtime.submit([replace(spec, push=(0,) * 33)], [small, small])
    with pytest.raises(DescriptorError, match=r"binding 0 covers bytes \[16, 32\) of a memory of 1,024"):
        runtime.submit([replace(spec, bindings=(Binding(16, 16), Binding(0, 16, writes=True)))], [small, small])
    with pytest.raises(DescriptorError, match=r"binding 1 covers bytes \[0, 1,028\)"):
        runtime.submit([replace(spec, bindings=(Binding(0, 16), Binding(0, 1028, writes=True)))], [small, small])
    with pytest.raises(DescriptorError, match="2 bindings for 1 memories"):
        runtime.submit([spec], [small])
    with pytest.raises(DescriptorError, match="0 bindings"):
        runtime.submit([replace(spec, bindings=())], [small])
    assert runtime.counters().dispatches == 0
    # A bad kernel stops the good ones before it, and nothing is broken.
    runtime.write(small, 0, memoryview(np.arange(256, dtype=np.uint32)))
    with pytest.raises(DescriptorError):
        runtime.submit([affine(16, k=1), replace(spec, groups=(5, 1, 1))], [small, small])
    runtime.submit([affine(16, k=2)], [small, small])
    assert download(runtime, small)[:17].tolist() == [*range(2, 18), 16]


@pytest.fixture
def small_heaps(device, monkeypatch):
    own = physical_devices()[device.index]
    for number in range(len(own.heap_sizes)):
        monkeypatch.setitem(heap._budgets, (own.info.uuid, own.driver_uuid, number), heap.HeapBudget(64 << 20))


def test_runtimes_of_both_kinds_share_the_budget_of_their_heap(small_heaps, make, device, modules):
    del small_heaps
    first, second = make(in_place=True), make(in_place=True)
    direct = VulkanRuntime(device, module_source=modules)
    ((budget, most),) = first._pool.heaps
    assert direct._session.blocks.pool.chunks.budget is budget
    assert most == 56 << 20
    memories = [first.allocate(28 << 20), direct.allocate(28 << 20)]
    assert budget.used == most
    with pytest.raises(OutOfDeviceMemory, match=rf"no room for 16 bytes: {most:,} of {most:,} bytes of its heap less"):
        second.allocate(16)
    with pytest.raises(OutOfDeviceMemory, match=f"{most} of its heap of {64 << 20} bytes are in use"):
        direct.allocate(28 << 20)
    # What one keeps for later makes room for another, of either kind.
    memories.pop().free()
    assert direct.counters().bytes_allocated == 28 << 20
    memories.append(second.allocate(28 << 20))
    assert direct.counters().bytes_allocated == 0
    memories.clear()
    assert (first.counters().bytes_in_use, second.counters().bytes_in_use) == (0, 0)
    kept = direct.allocate(60 << 20)
    assert budget.used == kept.nbytes
    direct.close()
    assert budget.used == 0


def test_a_budget_is_given_back_without_close(make, device, modules):
    ((budget, _),) = make(in_place=True)._pool.heaps
    start = budget.used
    memory = KomputeRuntime(device, module_source=modules, in_place=True).allocate(1 << 20)
    assert budget.used == start + (1 << 20)
    del memory
    gc.collect()
    assert budget.used == start


def test_twins_count_twice(make):
    runtime = make(in_place=False)
    budgets = {budget for budget, _ in runtime._pool.heaps}
    used = sum(budget.used for budget in budgets)
    memory = runtime.allocate(1 << 20)
    assert sum(budget.used for budget in budgets) - used == 2 << 20
    memory.free()
    runtime.close()
    assert sum(budget.used for budget in budgets) == used


def test_parameters_of_finished_kernels_do_not_count(runtime):
    target = runtime.allocate(16)
    for words in (1 << 10, 1 << 20):
        runtime.submit([table(4, np.zeros(words))], [target])
        assert runtime.counters().bytes_in_use == 16
    assert runtime.counters().bytes_allocated >= 16 + (4 << 20), "an idle buffer is still memory"
