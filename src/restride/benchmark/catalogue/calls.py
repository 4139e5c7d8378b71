"""Calls: what an operation costs beside its work, on tensors so small that there is hardly any, and with new sizes."""

from __future__ import annotations

from restride.benchmark.catalogue.scale import Scale
from restride.benchmark.tasks import Move, NewShapes, Resize
from restride.benchmark.workload import Goal, Workload

_GROUP = "small calls"


def calls(scale: Scale) -> tuple[Workload, ...]:
    """One small operation alone, and a transpose whose sizes are new at every call."""
    return (
        Workload("copy f32 16", _GROUP, "f32[16]", Move((0,))),
        Workload("NCHW->NHWC f32 1x3x8x8", _GROUP, "f32[1,3,8,8]", Move((0, 2, 3, 1)), (Goal(seconds=400e-6),)),
        Workload("bilinear f32 1x3x32x32 -> 16x16", _GROUP, "f32[1,3,32,32]", Resize((16, 16))),
        Workload("transpose, new sizes at every call", _GROUP, f"f32[{scale('1024,768', '64,48')}]", NewShapes()),
    )
