"""Resamplings: enlarging, shrinking, nearest neighbours, antialiasing, volumes, odd sizes, gradients."""

from __future__ import annotations

from restride_bench.catalogue.scale import Scale
from restride_bench.tasks import Boxes, Gradient, Resize
from restride_bench.workload import Goal, Rival, Workload

_GROUP = "resampling"
_BY_HAND, _PILLOW = Goal("by-hand", 1.05), Goal("pillow")
_FORWARD, _ENLARGING, _F32 = "own forward", "own enlarging", "own f32"


def resamplings(scale: Scale) -> tuple[Workload, ...]:
    """Photographs to what networks take and back, feature maps and volumes to twice the size."""
    photo, thumbnail = scale.photo, scale.thumbnail
    down, up = Resize(scale.thumbnail_sizes), Resize(scale.photo_sizes)
    smooth = Resize(scale.thumbnail_sizes, antialias=True)
    maps = scale("8,64,56,56", "2,3,8,56")
    twice = scale((112, 112), (16, 112))
    volume, larger = scale("1,16,32,56,56", "1,2,4,6,6"), scale((64, 112, 112), (8, 12, 12))
    small = f"f32[1,3,{thumbnail}]"
    enlarging = (small, up)
    return (
        Workload("bilinear f32 1080p -> 224", _GROUP, f"f32[1,3,{photo}]", down, (_BY_HAND,)),
        Workload("bilinear f32 224 -> 1080p", _GROUP, small, up, (_BY_HAND,)),
        Workload(
            "bilinear u8 1080p -> 224",
            _GROUP,
            f"u8[1,3,{photo}]",
            down,
            (Goal(_F32),),
            (Rival(_F32, f"f32[1,3,{photo}]", down),),
        ),
        Workload(
            "bilinear u8 224 -> 1080p", _GROUP, f"u8[1,3,{thumbnail}]", up, (Goal(_F32),), (Rival(_F32, *enlarging),)
        ),
        Workload(
            "bilinear u8 pixels 1080p -> 224",
            _GROUP,
            f"u8[{photo},3]",
            Resize(scale.thumbnail_sizes, pixels=True),
        ),
        Workload(
            "bilinear f32 641x479 -> 299x301",
            _GROUP,
            f"f32[1,3,{scale('641,479', '21,17')}]",
            Resize(scale((299, 301), (11, 13))),
        ),
        Workload("cubic f32 224 -> 1080p", _GROUP, small, Resize(scale.photo_sizes, "cubic")),
        Workload("nearest f32 8x64x56x56, twice", _GROUP, f"f32[{maps}]", Resize(twice, "nearest"), (_BY_HAND,)),
        Workload("trilinear f32 1x16x32x56x56, twice", _GROUP, f"f32[{volume}]", Resize(larger)),
        Workload("antialiased u8 1080p -> 224, planes", _GROUP, f"u8[1,3,{photo}]", smooth, (_PILLOW,)),
        Workload(
            "antialiased u8 1080p -> 224, pixels",
            _GROUP,
            f"u8[{photo},3]",
            Resize(scale.thumbnail_sizes, antialias=True, pixels=True),
            (_PILLOW,),
        ),
        Workload(
            "bilinear u8 1080p -> 224, like pillow",
            _GROUP,
            f"u8[{photo},3]",
            Resize(scale.thumbnail_sizes, antialias=True, pixels=True, like="pillow"),
            (_PILLOW,),
        ),
        Workload(
            "bilinear u8 1080p -> 224, like opencv",
            _GROUP,
            f"u8[{photo},3]",
            Resize(scale.thumbnail_sizes, pixels=True, like="opencv"),
        ),
        Workload(
            "16 boxes of u8 pixels -> f32 16x3x224x224",
            _GROUP,
            f"u8[{photo},3]",
            Boxes(16, scale.thumbnail_sizes),
            (Goal("torch"), Goal("opencv")),
        ),
        Workload("antialiased f32 1080p -> 224", _GROUP, f"f32[1,3,{photo}]", smooth),
        Workload(
            "gradient of bilinear 224 -> 1080p",
            _GROUP,
            f"f32[1,3,{photo}]",
            Gradient(scale.thumbnail_sizes),
            (Goal(_FORWARD, 1.5),),
            (Rival(_FORWARD, *enlarging),),
        ),
        Workload(
            "gradient of bilinear 1080p -> 224",
            _GROUP,
            small,
            Gradient(scale.photo_sizes),
            (Goal(_ENLARGING, 1.5),),
            (Rival(_ENLARGING, *enlarging),),
        ),
    )
