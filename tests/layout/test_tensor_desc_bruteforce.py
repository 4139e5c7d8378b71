"""Descriptors against the reference, element by element: what lies where in random layouts.

A descriptor computes its offsets as digits of the index; the reference moves the numbers of the elements in numpy.
There are 5,000 layouts, and with RESTRIDE_TEST_FULL=1 20,000. Chains of views are in test_views.py.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import pytest
from support.random_layouts import random_layout, random_pair
from support.sampled import sample

from restride.layout import TensorDesc
from restride.reference.memory import element_positions, extent, is_whole, memory_line

MAX_SAMPLES = 40
LAYOUTS, LAYOUT_SEEDS = 1000, range(20)

Array = np.ndarray[Any, Any]


def few(rng: random.Random, population: Sequence[Any]) -> Sequence[Any]:
    return population if len(population) <= MAX_SAMPLES else rng.sample(population, MAX_SAMPLES)


def check(rng: random.Random, desc: TensorDesc, positions: Array) -> None:
    """Compare ``offset_of``, ``index_of`` and ``nbytes`` with the positions that the elements must have."""
    indices = list(np.ndindex(desc.sizes))
    for index in few(rng, indices):
        assert desc.offset_of(index) == positions[index], f"{desc} at {index}"
    smallest: dict[int, tuple[int, ...]] = {}
    for index, position in zip(indices, positions.reshape(-1).tolist(), strict=True):
        smallest.setdefault(position, index)
    for position in few(rng, range(extent(desc))):
        assert desc.index_of(position) == smallest.get(position), f"{desc} at element {position} of the buffer"
    assert desc.nbytes == extent(desc) * desc.dtype.itemsize, desc


@pytest.mark.parametrize("seed", sample(LAYOUT_SEEDS, 5))
def test_layouts(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(LAYOUTS):
        desc = TensorDesc.parse(random_layout(rng, max_elements=rng.choice((30, 100, 300, 600))))
        check(rng, desc, element_positions(desc))


@pytest.mark.parametrize(
    "text",
    [
        "f32[8,3]{at=(13-a,b),in=[17,3]:Oi4o}",  # places beyond a reversed view
        "f32[2]{at=(3-a),in=[5]{0:T(2)(2,1,3)}}",  # within one tile, so strides say it
        "f32[3,2]{at=(2+2b,1+a),in=[5,4]{0,1:T(2,2)pad(6,4)=1}}",
        "f32[2,3,4]{at=(2a+b),in=[5]:A2a}",  # several indices at one place
        "f32[2]{at=(),in=[]{:T(4)}}",
        "f32[0,2]{at=(a,3b),in=[5,4]:aB4b}",
    ],
)
def test_views_by_text(text: str) -> None:
    desc = TensorDesc.parse(text)
    check(random.Random(0), desc, element_positions(desc))


def families(desc: TensorDesc) -> set[str]:
    """What the layout has that could go wrong on its own."""
    if desc.tag is not None:
        own = features_of_tag(desc)
    elif not is_whole(desc):
        own = features_of_strides(desc)
    elif desc.tiles:
        own = features_of_tiles(desc)
    else:
        own = {"row-major": desc.is_row_major, "permuted": not desc.is_row_major}
    is_padded = desc.padded_sizes is not None
    own |= {
        f"rank {desc.rank}": True,
        "empty": 0 in desc.sizes,
        "padded": is_padded and not desc.tiles,
        "padded and tiled": is_padded and bool(desc.tiles),
        "padding 0": is_padded and not desc.padding_value,
        "padding value": is_padded and bool(desc.padding_value),
    }
    return {name for name, holds in own.items() if holds}


def features_of_tiles(desc: TensorDesc) -> dict[str, bool]:
    first, *later = desc.tiles
    pairs = list(pairwise(desc.tiles))
    return {
        f"{len(desc.tiles)} tiles of rank {desc.rank}": True,
        "tile of fewer axes": len(first) < desc.rank,
        "tile of more axes": len(first) > desc.rank,
        "* first": -1 in first,
        "* later": any(-1 in tile for tile in later),
        "tile across tiles": any(len(inner) > sum(step > 0 for step in outer) for outer, inner in pairs),
        "sub-tile divides": any(outer[-1] % inner[-1] == 0 for outer, inner in pairs),
        "sub-tile does not": any(outer[-1] % inner[-1] for outer, inner in pairs),
        "zeros in tiles": extent(desc) > prod(desc.padded_sizes or desc.sizes),
        "no zeros in tiles": extent(desc) == prod(desc.padded_sizes or desc.sizes),
    }


def features_of_tag(desc: TensorDesc) -> dict[str, bool]:
    blocked = re.findall(r"\d+([a-z])", str(desc.tag))
    return {
        f"tag of rank {desc.rank}, {len(blocked)} blocks": True,
        "tag by position": "a" in str(desc.tag).lower(),
        "named tag": "a" not in str(desc.tag).lower(),
        "blocks of one axis": len(set(blocked)) < len(blocked),
        "zeros in blocks": extent(desc) > prod(desc.sizes),
    }


def features_of_strides(desc: TensorDesc) -> dict[str, bool]:
    strides = desc.strides or ()
    steps = sorted((abs(stride), size) for stride, size in zip(strides, desc.sizes, strict=True) if size > 1)
    spans = [sum(stride * (size - 1) for stride, size in steps[:k]) for k in range(len(steps))]
    is_nested = all(stride > span for (stride, _), span in zip(steps, spans, strict=True))
    return {
        "nested": is_nested,
        "interleaved": not is_nested,
        "reversed": any(stride < 0 for stride in strides),
        "holes": extent(desc) > prod(desc.sizes),
    }


def test_every_family_is_there() -> None:
    rng = random.Random(5)
    seen = Counter(name for _ in range(3000) for name in families(TensorDesc.parse(random_layout(rng))))
    expected = {f"{count} tiles of rank {rank}" for count in (1, 2, 3) for rank in range(6)}
    expected |= {f"tag of rank {rank}, {count} blocks" for count in range(4) for rank in range(1, 6)}
    expected |= {
        *(f"rank {rank}" for rank in range(6)), "empty", "row-major", "permuted", "nested", "interleaved", "reversed",
        "holes", "padded", "padded and tiled", "padding value", "padding 0", "tile of fewer axes", "tile of more axes",
        "* first", "* later", "tile across tiles", "sub-tile divides", "sub-tile does not", "zeros in tiles",
        "no zeros in tiles", "tag by position", "named tag", "blocks of one axis", "zeros in blocks",
    }  # fmt: skip
    assert {name: seen[name] for name in expected if seen[name] < 5} == {}


def test_the_same_seed_gives_the_same_texts() -> None:
    first, second = random.Random(9), random.Random(9)
    assert [random_layout(first) for _ in range(50)] == [random_layout(second) for _ in range(50)]


def test_pairs_are_of_one_tensor_and_injective() -> None:
    rng = random.Random(3)
    for _ in range(200):
        src, dst = map(TensorDesc.parse, random_pair(rng, max_elements=60))
        assert (src.sizes, src.dtype) == (dst.sizes, dst.dtype)
        assert src.numel <= 60
        for desc in (src, dst):
            assert len(set(element_positions(desc).reshape(-1).tolist())) == desc.numel
            assert not is_whole(desc) or (memory_line(desc) >= 0).sum() == desc.numel
