"""Calls: what an operation costs beside its work, on tensors so small that there is hardly any, and with new sizes."""

from __future__ import annotations

from restride_bench.catalogue.scale import Scale
from restride_bench.tasks import Calls, Move, NewImages, NewPhotos, NewShapes, Resize
from restride_bench.workload import Goal, Rival, Workload

_GROUP = "small calls"
_ONE_SIZE = "own one size"


def calls(scale: Scale) -> tuple[Workload, ...]:
    """One small operation alone, a hundred of them, and what has new sizes at every call."""
    small, turn = "f32[1,3,8,8]", Move((0, 2, 3, 1))
    alone, together, new = Goal("raw", 2.0), Goal("raw", 1.3), Goal(_ONE_SIZE, 1.5)
    matrix, photo = f"f32[{scale('1024,768', '64,48')}]", f"u8[{scale.photo},3]"
    return (
        Workload("copy f32 16", _GROUP, "f32[16]", Move((0,))),
        Workload("NCHW->NHWC f32 1x3x8x8", _GROUP, small, turn, (Goal(seconds=400e-6), alone)),
        Workload("bilinear f32 1x3x32x32 -> 16x16", _GROUP, "f32[1,3,32,32]", Resize((16, 16)), (alone,)),
        Workload(
            "100 in a batch, NCHW->NHWC 1x3x8x8",
            _GROUP,
            small,
            Calls(turn, 100, in_batch=True, by_plan=False),
            (together,),
        ),
        Workload(
            "100 of a plan in a batch, NCHW->NHWC 1x3x8x8",
            _GROUP,
            small,
            Calls(turn, 100, in_batch=True, by_plan=True),
            (together,),
        ),
        Workload("100 of a plan, NCHW->NHWC 1x3x8x8", _GROUP, small, Calls(turn, 100, in_batch=False, by_plan=True)),
        Workload(
            "transpose, new sizes at every call",
            _GROUP,
            matrix,
            NewShapes(),
            (new,),
            (Rival(_ONE_SIZE, matrix, Move((1, 0))),),
        ),
        Workload(
            "bilinear u8 pixels -> 224, new sizes at every call",
            _GROUP,
            photo,
            NewImages(scale.thumbnail_sizes),
            (new,),
            (Rival(_ONE_SIZE, photo, Resize(scale.thumbnail_sizes, pixels=True)),),
        ),
        Workload(
            "16 photos u8 -> f32 3x224x224, normalized, new sizes at every one",
            _GROUP,
            photo,
            NewPhotos(16, scale.thumbnail_sizes),
            (Goal(_ONE_SIZE, 1.25),),
            (Rival(_ONE_SIZE, photo, NewPhotos(16, scale.thumbnail_sizes, is_one_size=True)),),
        ),
    )
