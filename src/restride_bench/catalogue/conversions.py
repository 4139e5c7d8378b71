"""Types and scales: against kernels written by hand, numpy, and a copy of as many bytes."""

from __future__ import annotations

from restride.layout import TensorDesc
from restride_bench.catalogue.scale import Scale
from restride_bench.tasks import Convert, Move, Normalize, useful_bytes
from restride_bench.workload import Goal, Rival, Workload

_GROUP = "types and scales"
_BY_HAND, _NUMPY = Goal("by-hand"), Goal("numpy")


def conversions(scale: Scale) -> tuple[Workload, ...]:
    """To bytes and from them, to narrow floats and from wide ones, with scales and without."""
    photo = scale.photo
    maps, run = scale("8,64,128,128", "2,8,12,12"), scale("8388608", "4096")
    planes, pixels = f"f32[1,3,{photo}]", f"u8[1,{photo},3]"
    as_fast = (_BY_HAND, _NUMPY)
    return (
        Workload("f32 * 255 -> u8 1x3x1080x1920", _GROUP, planes, Convert("u8", 255.0), as_fast, low=-0.2, high=1.2),
        Workload("u8 NHWC -> f32 NCHW, normalized", _GROUP, pixels, Normalize(), as_fast),
        Workload("u8 NHWC -> f32 NCHW, divided", _GROUP, pixels, Normalize(divides=True), (_NUMPY,)),
        _against_copy("u8 -> f32 1x3x1080x1920", f"u8[1,3,{photo}]", Convert("f32")),
        _against_copy("f32 -> f16 1x3x1080x1920", planes, Convert("f16")),
        _against_copy("f32 -> bf16 1x3x1080x1920", planes, Convert("bf16")),
        _against_copy("f16 -> f32 1x3x1080x1920", f"f16[1,3,{photo}]", Convert("f32")),
        _against_copy("s8 -> f32 8x64x128x128, a scale a channel", f"s8[{maps}]", Convert("f32", per_channel=True)),
        _against_copy("f64 -> f32 8388608", f"f64[{run}]", Convert("f32")),
        _against_copy("s32 -> s64 8388608", f"s32[{run}]", Convert("s64")),
    )


def _against_copy(name: str, src: str, task: Convert) -> Workload:
    words = useful_bytes(task, TensorDesc.parse(src)) // 8
    rival = Rival("own copy", f"u32[{words}]", Move((0,)))
    return Workload(name, _GROUP, src, task, (Goal("own copy", 1.3),), (rival,), low=-100.0, high=100.0)
