"""Permutations: NCHW and NHWC, transposes of every width, odd sizes, and up to eight axes."""

from __future__ import annotations

from restride_bench.catalogue.scale import Scale
from restride_bench.tasks import Move
from restride_bench.workload import Goal, Workload

_TO_PIXELS, _TO_PLANES, _TRANSPOSED = Move((0, 2, 3, 1)), Move((0, 3, 1, 2)), Move((1, 0))


def permutations(scale: Scale) -> tuple[Workload, ...]:
    """Permutations from a row-major source to a row-major result."""
    group, photo, square = "permutations", scale.photo, scale.square
    maps = scale("8,64,56,56", "2,8,12,12")
    return (
        Workload("NCHW->NHWC f32 1x3x1080x1920", group, f"f32[1,3,{photo}]", _TO_PIXELS),
        Workload("NCHW->NHWC u8 1x3x1080x1920", group, f"u8[1,3,{photo}]", _TO_PIXELS),
        Workload("NHWC->NCHW f32 1x1080x1920x3", group, f"f32[1,{photo},3]", _TO_PLANES),
        Workload("NHWC->NCHW u8 1x1080x1920x3", group, f"u8[1,{photo},3]", _TO_PLANES),
        Workload("NCHW->NHWC f32 8x64x56x56", group, f"f32[{maps}]", _TO_PIXELS),
        Workload("NHWC->NCHW f16 8x56x56x64", group, f"f16[{scale('8,56,56,64', '2,12,12,8')}]", _TO_PLANES),
        Workload("transpose f32 4096x4096", group, f"f32[{square}]", _TRANSPOSED, (Goal("numpy"),)),
        Workload("transpose f32 4091x4077", group, f"f32[{scale('4091,4077', '61,47')}]", _TRANSPOSED),
        Workload("transpose u8 8192x8192", group, f"u8[{scale('8192,8192', '64,64')}]", _TRANSPOSED),
        Workload("transpose u8 4095x4093", group, f"u8[{scale('4095,4093', '63,61')}]", _TRANSPOSED),
        Workload("transpose s16 4096x4096", group, f"s16[{square}]", _TRANSPOSED),
        Workload("transpose f64 2048x4096", group, f"f64[{scale('2048,4096', '32,64')}]", _TRANSPOSED),
        Workload("0213 f32 8x16x1024x64", group, f"f32[{scale('8,16,1024,64', '2,3,16,8')}]", Move((0, 2, 1, 3))),
        Workload(
            "04213 f32 8x16x32x24x32", group, f"f32[{scale('8,16,32,24,32', '2,3,4,5,6')}]", Move((0, 4, 2, 1, 3))
        ),
        Workload(
            "72503614 f32 4x6x5x10x6x14x8x6",
            group,
            f"f32[{scale('4,6,5,10,6,14,8,6', '2,3,2,3,2,3,2,3')}]",
            Move((7, 2, 5, 0, 3, 6, 1, 4)),
        ),
    )
