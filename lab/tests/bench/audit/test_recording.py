"""What a GPU would be given: kernels recorded without a device."""

import math
import re
from dataclasses import replace

import pytest

import restride as rs
from restride.dtypes import DTYPES
from restride.kernel import KernelSpec
from restride.kernel.modules import interface_of, load_module
from restride.plan.convert import TYPE_NUMBERS
from restride.runtime.specialization import specialized
from restride_bench.audit.recording import record_case, record_workload
from restride_conformance import Case
from restride_conformance.recording import GPU
from restride_conformance.shader.spirv import read_interface
from restride_measure.workloads import catalogue, of_line


def test_a_recording_has_the_choices_of_a_gpu_and_needs_no_device():
    (transposed,) = record_workload(of_line("t", "g", "reorder f32[64,64] -> f32[64,64] view=.permute(1,0)"))
    assert transposed.shader == "transpose_shared_32"
    copied = of_line("c", "g", "reorder f32[64,64] -> f32[64,64]")
    assert record_workload(copied) == []
    by_kernel = replace(GPU, choices=replace(GPU.choices, runs="kernel"))
    assert [each.shader for each in record_workload(copied, by_kernel)] == ["run_copy_32"]


def test_a_case_that_no_gpu_has_room_for_is_refused():
    with pytest.raises(rs.OutOfDeviceMemory, match="no room"):
        record_case(Case.parse("reorder u8[1000000,1000000]{1,0} -> f32[1000000,1000000]{0,1}"))


def elements_written(kernel: KernelSpec) -> int:
    """The number of elements that a kernel may write; copies of wide words count as f32."""
    constants = interface_of(kernel.shader).constants
    if width := re.search(r"_(\d+)", kernel.shader):
        bits = int(width[1])
    elif "BITS" in constants:
        bits = kernel.constant("BITS")
    else:
        bits = 8 * DTYPES[list(TYPE_NUMBERS)[kernel.constant("DST_TYPE")]].itemsize
    return sum(binding.nbytes for binding in kernel.bindings if binding.writes) * 8 // min(bits, 32)


def invocations(kernel: KernelSpec) -> int:
    (entry,) = read_interface(specialized(load_module(kernel.shader), kernel.constants)[0]).entry_points
    return math.prod(kernel.groups) * math.prod(entry.local_size)


@pytest.mark.parametrize("workload", catalogue(), ids=lambda workload: workload.name)
def test_a_large_result_is_made_by_enough_invocations_for_a_gpu(workload):
    """Every pass has an invocation for every four elements, or 80,000."""
    passes: dict[str, list[tuple[int, int]]] = {}
    for kernel in record_workload(workload):
        name = kernel.shader if kernel.shader.startswith(("resample", "crop")) else "copies"
        passes.setdefault(name, []).append((elements_written(kernel), invocations(kernel)))
    for name, each in passes.items():
        elements, count = map(sum, zip(*each, strict=True))
        assert elements < 100_000 or count >= min(elements // 4, 80_000), (name, elements, count)
