"""Plans of tiled, padded and blocked layouts, run by the shaders' numpy twin against pad, reshape and transpose."""

from __future__ import annotations

import random
from dataclasses import asdict

import numpy as np
import pytest
from kernel_twin import run
from random_layouts import random_layout, random_pair

from restride.conformance.shader.part import SteeredLimits
from restride.desc import TensorDesc
from restride.digits import Index, Linear, affine, digit
from restride.errors import UnsupportedError
from restride.kernel import Limits
from restride.plan import copy_kernels, copy_problems, padding_kernels
from restride.plan.places import Cuts, Place, Run
from restride.plan.regions import Region, complement, walks
from restride.reference.buffers import from_buffer, to_buffer

ROOMY = Limits()
ALWAYS_WALK = SteeredLimits(elements_per_dispatch=0)
NEVER_SEVERAL = SteeredLimits(elements_per_dispatch=1 << 40)
CRAMPED = SteeredLimits(
    max_buffer_range=512, offset_alignment=16, max_group_count=(3, 65535, 2), elements_per_dispatch=0
)
CRAMPED_GENERAL = SteeredLimits(**(asdict(CRAMPED) | {"elements_per_dispatch": 1 << 40}))


def reordered(src: TensorDesc, dst: TensorDesc, source: np.ndarray, limits: Limits) -> np.ndarray:
    result = np.full(dst.nbytes, 0xCD, np.uint8)
    run((*padding_kernels(dst, limits), *copy_kernels(src, dst, limits, False)), source, result)
    return result


def by_reference(src: TensorDesc, dst: TensorDesc, source: np.ndarray) -> np.ndarray:
    return to_buffer(from_buffer(source, src), dst, np.full(dst.nbytes, 0xCD, np.uint8))


@pytest.mark.parametrize("limits", [ROOMY, ALWAYS_WALK, NEVER_SEVERAL, CRAMPED, CRAMPED_GENERAL])
@pytest.mark.parametrize("seed", range(4))
def test_any_layout_to_any_other(seed, limits):
    rng = random.Random(seed)
    for _ in range(60):
        src, dst = map(TensorDesc.parse, random_pair(rng, max_elements=300))
        source = np.random.default_rng(seed).integers(0, 256, src.nbytes, np.uint8)
        try:
            result = reordered(src, dst, source, limits)
        except UnsupportedError as refused:
            assert limits in (CRAMPED, CRAMPED_GENERAL), refused
            continue
        np.testing.assert_array_equal(result, by_reference(src, dst, source), f"{src} -> {dst}")


@pytest.mark.parametrize("limits", [ROOMY, ALWAYS_WALK, NEVER_SEVERAL])
@pytest.mark.parametrize("value", [0, 7, 255])
def test_padding_of_any_layout(limits, value):
    rng = random.Random(value)
    seen = 0
    for _ in range(60):
        written = TensorDesc.parse(random_layout(rng, dtype=rng.choice(["u8", "u16", "u32", "u64"])))
        if written.tag is not None or not written.is_written_by_order or not written.rank:
            continue
        padded = [size + rng.randrange(4) for size in written.sizes]
        desc = TensorDesc.xla(written.dtype, written.sizes, written.minor_to_major, written.tiles, padded, value)
        source = np.random.default_rng(1).integers(0, 256, desc.numel * desc.dtype.itemsize, np.uint8)
        src = TensorDesc(desc.dtype, desc.sizes)
        np.testing.assert_array_equal(reordered(src, desc, source, limits), by_reference(src, desc, source), str(desc))
        seen += desc.is_padded
    assert seen > 10
