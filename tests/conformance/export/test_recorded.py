"""Programs of cases, recorded without a device."""

from math import prod

import numpy as np
import pytest

from restride.kernel import Choices, Limits
from restride.kernel.modules import load_module, spirv_folder
from restride.runtime.specialization import specialized
from restride_conformance.case import Case
from restride_conformance.export.program import Copy, Dispatch
from restride_conformance.export.recorded import program_of
from restride_conformance.record import ShaderUnderTest
from restride_conformance.setting import prepare
from restride_conformance.shader.part import TakesNoPart
from restride_conformance.shader.spirv import read_interface

LIMITS = Limits(offset_alignment=16, choices=Choices.usual("cpu"))
GPU = Limits(offset_alignment=16, choices=Choices.usual("discrete"))

COPY = "reorder u8[5,13]{1,0} -> u8[5,13]{0,1}"
TILES = "reorder u8[5,13]{1,0} -> u8[5,13]{0,1:T(4,8)} seed=1"
BOUNDED = "resample f32[9,7]{1,0} -> f32[5,4]{1,0} mode=linear antialias=yes"


def test_a_program_has_the_buffers_of_the_case_with_their_guards():
    program, setting = program_of(Case.parse(COPY), LIMITS), prepare(Case.parse(COPY))
    source, destination = program.buffers[:2]
    assert [source.name, destination.name] == ["source", "destination"]
    assert np.array_equal(source.contents, setting.source)
    assert np.array_equal(destination.contents, setting.destination)
    assert (program.check.destination, program.check.unchanged) == (1, (0,))


def test_modules_are_what_the_driver_gets_and_parameters_are_a_buffer_after_the_others():
    program = program_of(Case.parse(COPY), LIMITS)
    (step,) = program.steps
    assert isinstance(step, Dispatch)
    assert program.modules[step.module] == specialized(load_module(step.module), step.given)[0]
    assert step.constants == ()
    assert [each.writes for each in step.bindings][:2] == [False, True]
    assert program.buffers[step.bindings[-1].buffer].name.startswith("parameters")


def test_every_byte_is_judged_of_a_destination_that_is_given():
    check, setting = program_of(Case.parse(COPY), LIMITS).check, prepare(Case.parse(COPY))
    assert check.judged.all()
    assert check.is_exact
    assert np.array_equal(check.expected[~check.element_bytes], setting.destination[~check.element_bytes])
    assert np.array_equal(check.expected[check.places], setting.lowest.view(np.uint8)), "the right answer"


def test_only_what_an_operation_must_write_is_judged_of_a_destination_that_it_allocates():
    check = program_of(Case.parse("reorder u8[5]{0} -> u8[5]{strides=(2)} out=new"), LIMITS).check
    assert np.flatnonzero(check.judged).tolist() == [0, 2, 4, 6, 8]
    assert check.expected.size == 16


def test_in_place_both_are_one_buffer_which_is_judged_as_the_destination():
    check = program_of(Case.parse("reorder u8[9]{strides=(2)} -> u8[9]{strides=(2),offset=1} out=same"), LIMITS).check
    assert (check.destination, check.unchanged) == (0, ())


def test_elements_that_have_limits_are_not_judged_by_their_bytes():
    check = program_of(Case.parse(BOUNDED), LIMITS).check
    assert not check.is_exact
    assert np.array_equal(check.judged, ~check.element_bytes)


def test_a_barrier_comes_before_a_step_that_touches_what_an_earlier_one_wrote_and_before_no_other():
    first, second = program_of(Case.parse(TILES), LIMITS).steps
    assert [first.barrier, second.barrier] == [False, True]
    (written,) = (each for each in first.bindings if each.writes)
    (again,) = (each for each in second.bindings if each.writes)
    assert written.buffer == again.buffer


def test_the_devices_own_copy_is_a_step():
    (step,) = program_of(Case.parse("reorder u8[4096]{0} -> u8[4096]{0}"), GPU).steps
    assert isinstance(step, Copy)
    assert (step.src, step.dst, step.nbytes) == (0, 1, 4096)


def test_the_shader_under_test_takes_the_place_of_ours():
    file = spirv_folder() / "strided_copy_32.spv"
    shader = ShaderUnderTest("mine.spv", "strided_copy_32", str(file))
    case = Case.parse("slice f32[9,9]{1,0} -> f32[4,9]{1,0} offsets=(0,0) sizes=(8,9) strides=(2,1)")
    program = program_of(case, LIMITS, shader)
    assert [step.module for step in program.steps] == ["strided_copy_32"]
    with pytest.raises(TakesNoPart, match="transpose_8"):
        program_of(case, LIMITS, ShaderUnderTest("mine.spv", "transpose_8", str(file)))


@pytest.mark.parametrize("is_shader", [False, True])
def test_a_program_is_the_one_in_the_groups_that_went_wrong(is_shader):
    line = "slice f32[99,9]{1,0} -> f32[49,9]{1,0} offsets=(0,0) sizes=(98,9) strides=(2,1)"
    shader = ShaderUnderTest("mine.spv", "strided_copy_32", str(spirv_folder() / "strided_copy_32.spv"))
    usual, program = (
        program_of(Case.parse(line), LIMITS, shader if is_shader else None, groups) for groups in ("", "8x8")
    )
    (before,), (step,) = usual.steps, program.steps
    if is_shader:  # it declares no constant for its size
        program = program_of(Case.parse(line), LIMITS, shader, "16x8")
        (step,) = program.steps
        assert (step.module, step.groups) == ("strided_copy_32_in_groups_of_16x8", before.groups)
    else:
        assert (step.module, prod(step.groups)) == (f"{before.module}_in_groups_of_8x8", 2 * prod(before.groups))
    (entry,) = read_interface(program.modules[step.module]).entry_points
    assert entry.local_size == ((16, 8, 1) if is_shader else (8, 8, 1))
    assert (step.push, step.bindings) == (before.push, before.bindings)
