"""Resampling by the shipped modules, on a driver: each writes the bits that the general one writes, whatever limits.

Whether those are right say the cases (``restride test``), for all types, modes and roomy limits.
"""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.guarded_memories import Bytes, run
from support.positions import tables_of
from support.sampled import FULL

import restride as rs
from restride.arithmetic import NO_ARITHMETIC
from restride.kernel import CANDIDATES, Choices, KernelSpec, Limits
from restride.layout import TensorDesc
from restride.plan.convert import Conversion
from restride.plan.resample import Tables, by_elements, plan_resample, taps_fit
from restride.weights import Request

ROOMY = Limits()
CRAMPED = Limits(max_buffer_range=1024, offset_alignment=16, max_group_count=(3, 65535, 2))
AREA, CUBIC, LINEAR, NEAREST = (Request(mode=mode) for mode in ("area", "cubic", "linear", "nearest"))
WIDENED = Request(mode="linear", antialias=True)


def planned(src: TensorDesc, dst: TensorDesc, tables: Tables, limits: Limits) -> tuple[KernelSpec, ...]:
    return tuple(plan_resample(src, dst, tables, Conversion(src.dtype, dst.dtype, NO_ARITHMETIC), limits))


def elements(src: TensorDesc) -> Bytes:
    """Numbers; of floats also zeros of both signs."""
    rng = np.random.default_rng(src.numel)
    if not src.dtype.is_float:
        return rng.integers(0, 256, src.nbytes, np.uint8)
    numbers = rng.normal(0, 50, src.nbytes // src.dtype.itemsize).astype(src.dtype.dtype)
    return np.where(rng.random(numbers.shape) < 0.2, np.zeros_like(numbers) * -1, numbers).view(np.uint8)


def require_same_bits(
    device: rs.Device,
    src: TensorDesc,
    dst: TensorDesc,
    choice: Request,
    limits: list[Limits],
    axes: tuple[int, ...] | None = None,
    gradient: bool = False,
) -> set[str]:
    """The modules of plans within ``limits``: all write the bytes that the plan by elements in one window writes."""
    tables = tables_of(src, dst, choice, axes, gradient)
    source, before = elements(src), np.full(dst.nbytes, 0xCD, np.uint8)
    plans = dict.fromkeys(planned(src, dst, tables, each) for each in limits)
    with patch("restride.plan.resample.invocations", by_elements):
        general = planned(src, dst, tables, ROOMY)
    assert {kernel.shader for kernel in general} <= {"resample", "resample_nearest"}
    expected = run(device, general, source, before)
    for kernels in plans:
        result = run(device, kernels, source, before)
        np.testing.assert_array_equal(result, expected, f"{src} -> {dst}, {choice}")
    return {kernel.shader for kernels in plans for kernel in kernels}


@st.composite
def layouts(draw: st.DrawFn, dtype: str, sizes: list[int]) -> TensorDesc:
    """Axes in order, or the second to last innermost as channels are, rows in quads or not."""
    order = list(range(len(sizes)))[::-1]
    strides, step = [0] * len(sizes), 1
    for axis in order:
        strides[axis] = step
        step = step * sizes[axis] + draw(st.sampled_from([0, 0, 0, 4, 1]))
        step = draw(st.sampled_from([step, -(-step // 4) * 4]))
    return TensorDesc(dtype, sizes, strides, draw(st.sampled_from([0, 0, 4, 3])))


@settings(max_examples=300 if FULL else 40, deadline=None)
@given(st.data())
def test_every_module_has_the_bits_of_elements(vulkan_device, data):
    rank = data.draw(st.integers(2, 3))
    sizes = [data.draw(st.sampled_from([1, 2, 3, 4, 8, 9, 16, 20, 32])) for _ in range(rank)]
    axes = data.draw(st.sampled_from([(rank - 1,), (rank - 2,), (rank - 2, rank - 1)]))
    targets = list(sizes)
    for axis in axes:
        targets[axis] = data.draw(st.sampled_from([1, 2, 4, 5, 8, 12, 16, 24, 32]))
    mode = data.draw(st.sampled_from(["nearest", "linear", "linear", "cubic", "area"]))
    choice = Request(mode=mode, antialias=mode in ("linear", "cubic") and data.draw(st.booleans()))
    types = data.draw(st.sampled_from([("u8", "f32"), ("f32", "f32"), ("f16", "f32"), ("u8", "u8"), ("f32", "u8")]))
    src = data.draw(layouts(types[0], sizes))
    dst = data.draw(layouts(types[1], targets))
    choices = Choices(*(data.draw(st.sampled_from(candidates)) for candidates in CANDIDATES.values()))
    limits = replace(data.draw(st.sampled_from([ROOMY, ROOMY, CRAMPED])), choices=choices)
    if mode == "nearest":
        src = TensorDesc(types[1], src.sizes, src.strides, src.offset)
        gradient = False
    else:
        gradient = types == ("f32", "f32") and data.draw(st.booleans())
    assume(taps_fit(src, tables_of(src, dst, choice, axes, gradient), limits))
    require_same_bits(vulkan_device, src, dst, choice, [limits], axes, gradient)


@pytest.mark.parametrize(
    ("src", "dst", "choice", "shader"),
    [
        ("u8[9,36,32]", "u8[9,12,8]", AREA, "resample_cells"),  # a third of the rows, a quarter of the columns
        ("u8[8,6,24,16]", "f32[4,6,12,8]", AREA, "resample_cells"),  # the axis between has no table
        ("f32[24,16]{strides=(17,1),offset=3}", "u8[12,8]{strides=(20,1),offset=4}", AREA, "resample_cells"),
        ("f32[8,16]", "f32[16,32]", NEAREST, "resample_moves"),  # whole blocks of rows that are repeated
        ("f32[5,16]", "f32[45,20]", NEAREST, "resample_moves"),
        ("u8[8,16]", "u8[32,32]", NEAREST, "resample_moves"),
        ("f16[8,16]", "f16[24,32]", NEAREST, "resample_moves"),
        ("f32[8,16]", "f32[16,32]{strides=(-32,1),offset=480}", NEAREST, "resample_moves"),  # from the last row on
        ("u8[4,12]{strides=(16,1)}", "u8[8,16]", NEAREST, "resample_moves"),  # a group would end past the window
        ("f32[4,2,3]{strides=(8,4,1)}", "f32[8,2,4]", NEAREST, "resample_moves"),
        ("f32[3,9,8]", "u8[3,17,12]", LINEAR, "resample_runs"),
        ("f16[9,4,8]", "f16[17,4,12]", CUBIC, "resample_runs"),
        ("u8[5,3,4]", "f32[9,6,8]", LINEAR, "resample_runs"),  # three tables
        ("f32[5,9,4]", "f32[9,3,8]", AREA, "resample_runs"),  # of 2, 3 and 1 taps
        ("u8[9,6]", "f32[18,9]", LINEAR, "resample_rows"),  # pieces across rows
        ("f32[8,192]", "f32[16,32]", LINEAR, "resample_rows"),  # neighbours that read far apart
        ("u8[8,768]", "u8[16,32]", LINEAR, "resample_rows"),
        *((f"u8[2,9,48,{n}]", f"f32[2,9,7,{n}]", WIDENED, "resample_along") for n in (1, 2, 4)),
        ("f16[2,27,48,3]", "f32[2,27,7,3]", WIDENED, "resample_along"),
        ("u8[3,90,12]", "u8[3,7,12]", WIDENED, "resample_across"),
        ("f32[3,90,12]", "f32[3,7,12]", WIDENED, "resample_across"),
        ("f32[40,7]{strides=(8,1)}", "f32[5,7]", WIDENED, "resample_across"),  # fours that overlap
    ],
)
def test_every_number_of_rows_has_the_bits_of_elements(vulkan_device, src, dst, choice, shader):
    limits = [replace(ROOMY, choices=Choices(rows=rows)) for rows in CANDIDATES["rows"]]
    assert require_same_bits(vulkan_device, TensorDesc.parse(src), TensorDesc.parse(dst), choice, limits) == {shader}


@pytest.mark.parametrize("sizes", [((9, 8), (9, 32)), ((8, 8), (32, 8)), ((8, 8), (20, 20))])
def test_a_gradient_is_never_minus_zero(vulkan_device, sizes):
    src, dst = (TensorDesc("f32", each) for each in sizes)
    tables = tables_of(src, dst, CUBIC, gradient=True)
    assert any(table.is_transposed for _, table in tables)
    source, before = np.full(src.numel, -0.0, np.float32).view(np.uint8), np.full(dst.nbytes, 0xCD, np.uint8)
    with patch("restride.plan.resample.invocations", by_elements):
        general = planned(src, dst, tables, ROOMY)
    for kernels in (planned(src, dst, tables, ROOMY), general):
        assert not run(vulkan_device, kernels, source, before).any()
