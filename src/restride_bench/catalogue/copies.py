"""Copies, slices and flips."""

from __future__ import annotations

from restride_bench.catalogue.scale import Scale
from restride_bench.tasks import Move
from restride_bench.workload import Goal, Workload

_PLANES = (0, 1, 2, 3)


def copies(scale: Scale) -> tuple[Workload, ...]:
    """Copies of words and of an odd number of bytes; steps of 2 and of -1, along rows and both axes."""
    group, photo = "copies and slices", scale.photo
    second, backwards, mirror = (1, 1, 2, 2), (1, 1, -2, -2), (1, 1, 1, -1)
    return (
        Workload("copy f32 4096x4096", group, f"f32[{scale.square}]", Move((0, 1)), (Goal("numpy", 2.0),)),
        Workload("copy u8 16777213", group, f"u8[{scale('16777213', '4093')}]", Move((0,))),
        Workload("copy f64 2048x4096", group, f"f64[{scale('2048,4096', '32,64')}]", Move((0, 1))),
        Workload(
            "[..., ::2, ::2] f32 1x3x1080x1920",
            group,
            f"f32[1,3,{photo}]",
            Move(_PLANES, second),
            (Goal("numpy", 2.0),),
        ),
        Workload("[..., ::2, ::2] u8 1x3x1080x1920", group, f"u8[1,3,{photo}]", Move(_PLANES, second)),
        Workload("[..., ::-2, ::-2] f32 1x3x1080x1920", group, f"f32[1,3,{photo}]", Move(_PLANES, backwards)),
        Workload("[..., ::-1] f32 1x3x1080x1920", group, f"f32[1,3,{photo}]", Move(_PLANES, mirror)),
        Workload("[..., ::-1] u8 1x3x1080x1920", group, f"u8[1,3,{photo}]", Move(_PLANES, mirror)),
        Workload(
            "[:, ::-1] u8 1079x1917x3", group, f"u8[{scale('1079,1917', '23,31')},3]", Move((0, 1, 2), (1, -1, 1))
        ),
    )
