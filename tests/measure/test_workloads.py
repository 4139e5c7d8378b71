"""Workloads: the 57 transpositions, sizes that are new, bytes that count, and goals."""

import math
from itertools import islice, pairwise

import numpy as np
import pytest
from support.workloads import FULL, SMALL

from restride_measure.workloads import (
    BY_AXES,
    IMAGES,
    Goal,
    bytes_text,
    crops,
    growth,
    images,
    large,
    result_bytes,
    selected,
    ttc57,
)


def test_goals_are_met_or_missed():
    assert Goal("numpy", 2.0).is_met(2.0, 1.0)
    assert not Goal("numpy", 2.0).is_met(2.1, 1.0)
    assert Goal(seconds=400e-6).is_met(399e-6, None)
    assert not Goal(seconds=400e-6).is_met(400e-6, None)


def test_the_57_transpositions_are_three_shapes_of_each_of_19_permutations():
    """As the papers say: ranks 2 to 6, some 200 MiB of f32, no axes that could be one."""
    workloads = ttc57()
    by_axes = {}
    for workload in workloads:
        (permute,), sizes = workload.case.view.steps, workload.desc.sizes
        axes = permute.numbers
        assert sorted(axes) == list(range(len(sizes)))
        assert all(after != before + 1 for before, after in pairwise(axes))
        assert 190 < math.prod(sizes) * 4 / 2**20 < 235
        by_axes.setdefault(axes, []).append(sizes)
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
    assert [each.name for each in selected("large moves: f32 -> f16")] == ["f32 -> f16 67108864"]


def test_large_moves_read_256_mib_in_all_shapes_and_types():
    workloads = large()
    assert all(0.98 <= each.task.src.nbytes / (256 << 20) <= 1 for each in workloads)
    transposes = [each for each in workloads if "transpose" in each.name]
    assert {dtype: sum(each.src.startswith(f"{dtype}[") for each in transposes) for dtype in ("f32", "f16", "u8")} == {
        "f32": 6,
        "f16": 6,
        "u8": 6,
    }
    assert all(goal.against == "copy" for each in workloads for goal in each.goals)
    assert [each.name for each in large(is_small=True)] == [each.name for each in workloads]


def test_random_elements_are_random_and_the_same_again():
    workload = next(each for each in SMALL if each.name == "f32 * 255 -> u8 1x3x1080x1920")
    source = workload.source()
    assert np.array_equal(source, workload.source())
    assert source.min() < 0
    assert source.max() > 1
    assert len(np.unique(source)) > source.size // 2


def test_small_rows_are_the_same_work():
    def work(row):
        words = {name for name, _ in row.task.parameters}
        return (
            row.task.op,
            *((desc.dtype, desc.rank, desc.blocking is None) for desc in (row.task.src, row.task.dst)),
            words,
        )

    for whole, small in zip(FULL, SMALL, strict=True):
        assert work(whole) == work(small), whole.name
        assert whole.nbytes >= small.nbytes
        assert whole.rival is None or work(whole.rival) == work(small.rival), whole.name


@pytest.mark.parametrize(
    ("name", "nbytes"),
    [
        ("100 in a batch, NCHW->NHWC 1x3x8x8", 100 * 2 * 4 * 192),
        ("100 views NCHW->NHWC 1x3x8x8 by xp", 0),
        ("page of u8 1080x1920x3", 0),
        ("transpose, new sizes at every call", 2 * 4 * 1024 * 768),
        ("16 photos u8 -> f32 3x224x224, normalized, new sizes at every one", 16 * 3 * (448 * 448 + 4 * 224 * 224)),
    ],
)
def test_useful_bytes_of_what_is_no_case(name, nbytes):
    (workload,) = (each for each in FULL if each.name == name)
    assert workload.nbytes == nbytes


def test_useful_bytes_of_an_image_processor():
    assert images(is_small=True)[1].nbytes == 2 * 3 * (24 * 32 + 4 * 224 * 224)


def test_new_sizes_are_new():
    assert len(set(islice(crops((1024, 768)), 300))) == 300
    assert all(min(each) > 0 for each in islice(crops((64, 48)), 1000))
    sizes = set(islice(crops((1080, 1920, 3)), 1000))
    assert len(sizes) == 1000
    assert {channels for _, _, channels in sizes} == {3}


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
