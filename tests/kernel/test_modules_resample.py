"""Resampling by the shipped modules, on a driver: each writes the bits that the general one writes, whatever limits.

Whether those are right say the cases (``restride test``), for all types, modes and roomy limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.guarded_memories import Bytes, run
from support.positions import tables_of
from support.sampled import FULL

import restride as rs
from restride.kernel import CANDIDATES, Choices, KernelSpec, Limits
from restride.layout import TensorDesc
from restride.plan.convert import Conversion
from restride.plan.resample import Tables, by_elements, plan_resample, taps_fit
from restride.request import Request
from restride.request.arithmetic import NO_ARITHMETIC, Arithmetic, Numbers, arithmetic

ROOMY = Limits()
CRAMPED = Limits(max_buffer_range=1024, offset_alignment=16, max_group_count=(3, 65535, 2))
AREA, CUBIC, LINEAR, NEAREST = (Request(mode=mode) for mode in ("area", "cubic", "linear", "nearest"))
WIDENED = Request(mode="linear", antialias=True)
FINITE = (-0.0, -0.0, 0.0, 6e-8, 1e-38, -65504.0)


def planned(
    src: TensorDesc, dst: TensorDesc, tables: Tables, limits: Limits = ROOMY, done: Arithmetic = NO_ARITHMETIC
) -> tuple[KernelSpec, ...]:
    return tuple(plan_resample(src, dst, tables, Conversion(src.dtype, dst.dtype, done), limits))


def general(*arguments: Any) -> tuple[KernelSpec, ...]:
    """The plan by elements in one window."""
    with patch("restride.plan.resample.invocations", by_elements):
        kernels = planned(*arguments)
    assert {kernel.shader for kernel in kernels} <= {"resample", "resample_nearest"}
    return kernels


def elements(src: TensorDesc, special: tuple[float, ...]) -> Bytes:
    """Numbers; a fifth of floats is one of ``special``."""
    rng = np.random.default_rng(src.numel)
    if not src.dtype.is_float:
        return rng.integers(0, 256, src.nbytes, np.uint8)
    numbers = rng.normal(0, 50, src.nbytes // src.dtype.itemsize)
    is_special = rng.random(numbers.shape) < 0.2
    return np.where(is_special, rng.choice(special, numbers.shape), numbers).astype(src.dtype.dtype).view(np.uint8)


def require_same_bits(
    device: rs.Device,
    src: TensorDesc,
    dst: TensorDesc,
    tables: Tables,
    limits: Sequence[Limits] = (ROOMY,),
    done: Arithmetic = NO_ARITHMETIC,
    special: tuple[float, ...] = (*FINITE, np.inf),
) -> set[str]:
    """The modules of plans within ``limits``: all write the bytes that the general one writes."""
    source, before = elements(src, special), np.full(dst.nbytes, 0xCD, np.uint8)
    expected = run(device, general(src, dst, tables, ROOMY, done), source, before)
    plans = dict.fromkeys(planned(src, dst, tables, each, done) for each in limits)
    for kernels in plans:
        np.testing.assert_array_equal(run(device, kernels, source, before), expected, f"{src} -> {dst}")
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
    tables = tables_of(src, dst, choice, axes, gradient)
    assume(taps_fit(src, tables, limits))
    require_same_bits(vulkan_device, src, dst, tables, [limits], special=FINITE)  # no NaN, whose sign is any


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
    src, dst = TensorDesc.parse(src), TensorDesc.parse(dst)
    tables = tables_of(src, dst, choice)
    assert require_same_bits(vulkan_device, src, dst, tables, limits) == {shader}
    if shader != "resample_across":
        made = [planned(src, dst, tables, each)[0].constant("ROWS") for each in limits]
        assert made == [int(rows) for rows in CANDIDATES["rows"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("src", "dst", "choice", "shader"),
    [
        ("u8[3,13,64]", "f32[3,13,11]", WIDENED, "resample_along"),
        ("f16[27,64]", "f32[27,90]", CUBIC, "resample_along"),
        ("f32[1,2,7,20]", "f32[1,2,7,7]", AREA, "resample_along"),
        ("f32[9,600]", "f32[9,13]", WIDENED, "resample_along"),
        ("bf16[8,400]", "f32[8,5]", AREA, "resample_along"),
        ("s32[17,32]", "s32[17,6]", WIDENED, "resample_along"),
        ("f16[15,640,3]", "f32[15,13,3]", WIDENED, "resample_along"),
        ("f32[15,40,4]", "f32[15,9,4]{0,1,2}", AREA, "resample_along"),
        ("u8[3,51,20]", "u8[3,7,20]", WIDENED, "resample_across"),
        ("f16[50,8]", "f16[9,8]", WIDENED, "resample_across"),
        ("f32[2,500,12]", "u8[2,9,12]", WIDENED, "resample_across"),
        ("s8[2,50,12]", "f16[2,7,12]", WIDENED, "resample_across"),
        ("u8[2,50,12]", "f32[2,7,12]", AREA, "resample_across"),
        *(
            (f"{dtype}[9,{a},{4 * b}]", f"{dtype}[9,{a // b},4]", AREA, "resample_cells")
            for dtype, a, b in product(("u8", "s8", "u16", "f16", "f32", "bf16", "s32"), (12, 24), (2, 3, 4))
        ),
        *(
            (f"{dtype}[{2 * a},{17 * b},{12 * c}]", f"{dtype}[2,17,12]", AREA, "resample_cells")
            for dtype, (a, b, c) in product(("u8", "f16", "f32"), ((1, 3, 4), (2, 2, 2), (2, 1, 2), (3, 2, 4)))
        ),
    ],
)
def test_every_type_has_the_bits_of_elements(vulkan_device, src, dst, choice, shader):
    """Blocks of fewer rows than eight, of one, and whole ones; sums of few taps and of hundreds."""
    src, dst = TensorDesc.parse(src), TensorDesc.parse(dst)
    assert require_same_bits(vulkan_device, src, dst, tables_of(src, dst, choice)) == {shader}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("src", "dst", "choice", "shader"),
    [
        ("u8[3,9,32]", "f32[3,9,7]", WIDENED, "resample_along"),
        ("u8[3,9,32,3]", "f32[3,9,7,3]", WIDENED, "resample_along"),
        ("f32[3,32,8]", "u8[3,7,8]", WIDENED, "resample_across"),
        ("u8[3,32,8]", "f16[3,7,8]", AREA, "resample_across"),
        ("u8[3,18,24]", "u8[3,9,12]", AREA, "resample_cells"),
        ("f16[6,18,24]", "f32[3,9,8]", AREA, "resample_cells"),
        ("u8[3,9,32]", "u8[3,17,12]", LINEAR, "resample_rows"),
        ("u8[3,9,8]", "u8[3,17,12]", LINEAR, "resample_runs"),
        ("f16[3,9,8]", "f32[3,17,48]", LINEAR, "resample_runs"),
        ("f32[3,9,8]", "f16[3,18,16]", NEAREST, "resample_moves"),
    ],
)
def test_scales_post_ops_and_sums(vulkan_device, src, dst, choice, shader):
    src, dst = TensorDesc.parse(src), TensorDesc.parse(dst)
    scales = [np.arange(1, 1 + n).reshape(-1, *[1] * (dst.rank - 1 - axis)) / 2 for axis, n in enumerate(dst.sizes)]
    post_ops = [("linear", 0.5, 3.0), ("clip", -2.0, 90.0), ("relu", 0.25)]
    for numbers in (
        Numbers(post_ops=post_ops),
        Numbers(src_scale=0.5, src_zero_point=3, dst_scale=0.25, dst_zero_point=7),
        *(Numbers(src_scale=scale, dst_scale=scale[::-1]) for scale in scales),
        Numbers(src_zero_point=2 * scales[0], dst_zero_point=2 * scales[-1], post_ops=post_ops),
        Numbers(sum_scale=-0.5),
    ):
        done = arithmetic(TensorDesc(src.dtype, dst.sizes), dst, range(dst.rank), numbers)
        tables = tables_of(src, dst, choice)
        assert require_same_bits(vulkan_device, src, dst, tables, done=done) == {shader}, numbers


@pytest.mark.parametrize(
    ("src", "dst", "choice", "gradient"),
    [
        ((9, 8), (9, 32), CUBIC, True),
        ((8, 8), (32, 8), CUBIC, True),
        ((8, 8), (20, 20), CUBIC, True),
        ((9, 32), (9, 7), WIDENED, False),
        ((32, 8), (7, 8), WIDENED, False),
        ((9, 400), (9, 7), WIDENED, False),
        ((400, 8), (7, 8), WIDENED, False),
        ((8, 8), (20, 20), LINEAR, False),
    ],
)
def test_forward_sums_keep_minus_zero_and_a_gradient_never_is(vulkan_device, src, dst, choice, gradient):
    src, dst = TensorDesc("f32", src), TensorDesc("f32", dst)
    tables = tables_of(src, dst, choice, gradient=gradient)
    assert any(table.is_transposed for _, table in tables) == gradient
    source, before = np.full(src.numel, -0.0, np.float32).view(np.uint8), np.full(dst.nbytes, 0xCD, np.uint8)
    for kernels in (planned(src, dst, tables), general(src, dst, tables)):
        result = run(vulkan_device, kernels, source, before).view(np.uint32)
        assert (result == (0 if gradient else 0x80000000)).all()
