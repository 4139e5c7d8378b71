"""What a reorder moves: bytes, runs and kernels, counted by brute force and by the plan."""

import random
import tracemalloc

import numpy as np
import pytest
from support.random_layouts import random_pair
from support.xla_figures import FIGURE_1, FIGURE_2

from restride.drawing.moves import MAX_COUNTED, Move, Runs, _counted_runs, _offsets, _planned_runs
from restride.drawing.picture import show
from restride.kernel import Limits
from restride.layout import TensorDesc
from restride.plan.copy import copy_kernels
from restride.plan.fill import padding_kernels
from restride.reference import memory


@pytest.mark.parametrize("seed", range(40))
def test_runs_are_counted_right(seed):
    src, dst = (TensorDesc.parse(text) for text in random_pair(random.Random(seed), max_elements=120))
    move = Move(src, dst)
    by_dst = sorted((dst.offset_of(index), src.offset_of(index)) for index in np.ndindex(src.sizes))
    lengths, before = [], None
    for at_dst, at_src in by_dst:
        if before == (at_dst - 1, at_src - 1):
            lengths[-1] += 1
        else:
            lengths.append(1)
        before = at_dst, at_src
    runs = move.runs
    assert (runs.count, runs.longest, runs.is_exact) == (len(lengths), max(lengths, default=0), True)
    planned = _planned_runs(src, dst)
    if planned is not None:
        assert planned.count >= runs.count
        assert planned.longest <= runs.longest
        assert not planned.is_exact
    padding = move.padding_nbytes // dst.dtype.itemsize
    assert padding == (np.count_nonzero(memory.memory_line(dst) < 0) if dst.is_whole else 0)


def test_runs_of_a_layout_onto_itself_are_one_without_padding():
    assert Move(*[TensorDesc.parse(FIGURE_2)] * 2).runs.count == 1
    offsets = _offsets(TensorDesc.parse(FIGURE_2))
    assert (_counted_runs(offsets, offsets).longest, _counted_runs(offsets, offsets[::-1]).longest) == (32, 1)


def test_what_a_reorder_moves():
    src, dst = TensorDesc.parse("f32[3,5]{0,1}"), TensorDesc.parse(FIGURE_1)
    lines = list(Move(src, dst).lines())
    assert lines[:2] == [
        "moves 15 elements: reads 60 bytes, writes 60 bytes, and 36 bytes of padding",
        "contiguous runs: 15, the longest of 1 element",
    ]
    for work, kernels in (
        ("writes padding", padding_kernels(dst, Limits())),
        ("copies elements", copy_kernels(src, dst, Limits())),
    ):
        shaders = [kernel.shader for kernel in kernels]
        assert shaders
        for shader in shaders:
            count = shaders.count(shader)
            assert f"{shader} {work}: {count} dispatch{'' if count == 1 else 'es'}, " in "\n".join(lines)
    assert show(src, dst).text().endswith("\n\n" + "\n".join(lines))


def test_runs_of_large_arrays_come_from_the_plan():
    src, dst = (TensorDesc.parse(text) for text in ("f32[100,64,1000,1000]:nChw16c", "f32[100,64,1000,1000]:nhwc"))
    assert src.numel > MAX_COUNTED
    assert list(Move(src, dst).lines())[1] == "contiguous runs: at most 400000000, the longest of 16 elements or more"


@pytest.mark.parametrize("last", ["{1,0}", f"{{strides=({1 << 63},1)}}"])
def test_counting_runs_takes_little_memory(last):
    half = MAX_COUNTED // 2
    for most in (half, half + 1):
        src, dst = TensorDesc.parse(f"f32[2,{most}]"), TensorDesc.parse(f"f32[2,{most}]{last}")
        tracemalloc.start()
        try:
            assert Move(src, dst).runs is not None
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 32 << 20


def test_an_empty_reorder_moves_nothing():
    assert list(Move(TensorDesc.parse("f32[0,3]"), TensorDesc.parse("f32[0,3]{0,1}")).lines()) == [
        "moves 0 elements: reads 0 bytes, writes 0 bytes",
        "planned without a device, whose limits may cut a large one further",
    ]
    huge = TensorDesc.parse("f32[0,1000000000000]")
    assert Move(huge, huge).runs == Runs(0, 0)


def test_a_permutation_moves_elements():
    picture = show("u8[4,6,3]", "HWC->CHW")
    assert picture.layouts == ["u8[3,4,6]{0,2,1}", "u8[3,4,6]"]
    assert "contiguous runs: 72, the longest of 1 element" in str(picture)
