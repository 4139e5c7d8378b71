"""Workloads: the 57 transpositions, sizes that are new, bytes that count, and goals."""

import math
from itertools import pairwise

import numpy as np
import pytest
from support.workloads import FULL, SMALL

import restride as rs
from restride_measure.workloads import (
    BY_AXES,
    IMAGES,
    Calls,
    Goal,
    Gradient,
    Move,
    NewImages,
    NewPhotos,
    NewShapes,
    Normalize,
    Resize,
    bytes_text,
    growth,
    images,
    result_bytes,
    selected,
    ttc57,
    useful_bytes,
)


def test_goals_are_met_or_missed():
    assert Goal("numpy", 2.0).is_met(2.0, 1.0)
    assert not Goal("numpy", 2.0).is_met(2.1, 1.0)
    assert Goal(seconds=400e-6).is_met(399e-6, None)
    assert not Goal(seconds=400e-6).is_met(400e-6, None)


def test_the_57_transpositions_are_three_shapes_of_each_of_19_permutations():
    """As the papers say: ranks 2 to 6, some 200 MiB of f32, no axes that could be one."""
    workloads = ttc57()
    by_axes = {workload.task.axes: [] for workload in workloads}
    for workload in workloads:
        axes, sizes = workload.task.axes, workload.desc.sizes
        assert sorted(axes) == list(range(len(sizes)))
        assert all(after != before + 1 for before, after in pairwise(axes))
        assert 190 < math.prod(sizes) * 4 / 2**20 < 235
        by_axes[axes].append(sizes)
    assert len(workloads) == len({workload.name for workload in workloads}) == 57
    assert sum(axes[-1] == len(axes) - 1 for axes in by_axes) == 4, "the fastest axis stays in four"
    assert [len(set(shapes)) for shapes in by_axes.values()] == [3] * 19
    assert {rank: sum(len(axes) == rank for axes in by_axes) for rank in range(2, 7)} == {2: 1, 3: 3, 4: 5, 5: 5, 6: 5}
    assert [workload.name for workload in ttc57(is_small=True)] == [workload.name for workload in workloads]


def test_groups_on_request_are_left_out_unless_the_keyword_begins_with_their_name():
    assert selected("") == list(FULL)
    assert selected(IMAGES) == list(images())
    assert [each.name for each in selected("image processors: clip, 1 of")] == ["CLIP, 1 of 480x640"]
    assert [each.name for each in images(is_small=True)] == [each.name for each in images()]
    assert selected("TTC57") == list(ttc57())
    assert [each.name for each in selected("ttc57: 0213")] == []
    assert [each.name for each in selected("ttc57: 10 f32 1216")] == ["10 f32 1216x43408"]
    assert selected("f32 7248x7248") == []


def test_random_elements_are_random_and_the_same_again():
    workload = next(each for each in SMALL if each.name == "f32 * 255 -> u8 1x3x1080x1920")
    source = workload.source()
    assert np.array_equal(source, workload.source())
    assert source.min() < 0
    assert source.max() > 1
    assert len(np.unique(source)) > source.size // 2


@pytest.mark.parametrize(
    ("task", "src", "nbytes"),
    [
        (Move((0, 1), (2, -2)), "f32[10,20]", 2 * 4 * 50),
        (Resize((2,)), "f32[3,100]", 4 * (12 + 6)),
        (Resize((2,), antialias=True), "f32[3,100]", 4 * (300 + 6)),
        (Resize((200,), "nearest"), "u8[3,100]", 300 + 600),
        (Normalize(), "u8[1,4,5,3]", 5 * 60),
        (Gradient((10,)), "f32[3,100]", 4 * (300 + 30)),
        (Calls(Move((1, 0)), 7, in_batch=True, by_plan=False), "f32[3,5]", 7 * 2 * 4 * 15),
        (NewImages((4, 5)), "u8[100,100,3]", 3 * (8 * 10 + 4 * 5)),
        (NewPhotos(7, (4, 50)), "u8[100,60,3]", 7 * 3 * (8 * 60 + 4 * 4 * 50)),
        (images()[0].task, "u8[2,30,40,3]", 2 * 3 * (30 * 40 + 4 * 224 * 224)),
    ],
)
def test_useful_bytes(task, src, nbytes):
    assert useful_bytes(task, rs.TensorDesc.parse(src)) == nbytes


def test_new_shapes_are_new():
    task = NewShapes()
    assert len({task.crop((1024, 768), call) for call in range(300)}) == 300
    assert all(min(task.crop((64, 48), call)) > 0 for call in range(1000))
    for each in (NewImages((224, 224)), NewPhotos(16, (224, 224))):
        sizes = {each.crop((1080, 1920, 3), call) for call in range(1000)}
        assert len(sizes) == 1000
        assert {channels for _, _, channels in sizes} == {3}
    assert len({NewPhotos(16, (224, 224), is_one_size=True).crop((1080, 1920, 3), call) for call in range(9)}) == 1


def test_growth_has_every_power_of_two_and_every_rank():
    by_bytes = [each for each in growth() if each.group != BY_AXES]
    assert {result_bytes(each) for each in by_bytes} == {1 << exponent for exponent in range(10, 31)}
    for workload in by_bytes:
        assert workload.name == f"{workload.group}, {bytes_text(result_bytes(workload))}"
    by_axes = [each for each in growth() if each.group == BY_AXES]
    assert [each.desc.rank for each in by_axes] == list(range(1, 9))
    assert all(15e6 < result_bytes(each) < 17e6 for each in by_axes)
    assert {each.name for each in growth(is_small=True)} <= {each.name for each in growth()}
    assert [bytes_text(each) for each in (512, 1 << 10, 1 << 27, 1 << 30)] == ["512 B", "1 KiB", "128 MiB", "1 GiB"]
