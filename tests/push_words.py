"""The push constants of each module by name, as the plans have them."""

from types import SimpleNamespace

from restride.kernel import KernelSpec
from restride.plan.convert import Channels, Last, Planes, Scales
from restride.plan.problem import BlockPush, ChunkPush, FillPush, PadPush, Push
from restride.plan.transpose import SharedPush, TransposePush
from restride.plan.two_sources import TwoSourcesPush
from restride.plan.yuv import YuvPush

_UNUSED = tuple(f"unused_{word}" for word in range(12, 17))
_CONVERTED = Push._fields + Scales._fields
_BLOCKS = BlockPush._fields + Scales._fields + _UNUSED + Last._fields

# The first that a module's name begins with.
_WORDS = {
    "transpose_shared": SharedPush._fields,
    "transpose": TransposePush._fields,
    "yuv": tuple("floor_" if name == "floor" else name for name in YuvPush._fields),  # floor is a function of GLSL
    "digit_copy": ("src_base_or_low", "dst_base", "pieces", "first_word", "high"),  # a constant says: copy or fill
    "element_fill": FillPush._fields,
    "element_pad": PadPush._fields,
    "strided_fill": FillPush._fields,
    "equal": TwoSourcesPush._fields,
    "light": TwoSourcesPush._fields,
    "pixels_to_planes": ChunkPush._fields,
    "planes_to_pixels": ChunkPush._fields,
    "element_rows": ChunkPush._fields,
    "crop": _CONVERTED + Channels._fields + Last._fields,
    "convert": _CONVERTED + Planes._fields + Last._fields,
    "digit_convert": _CONVERTED + _UNUSED + Last._fields,
    "resample_nearest": Push._fields,
    "resample_rows": _BLOCKS,
    "resample_runs": _BLOCKS,
    "resample_cells": _BLOCKS,
    "resample_a": _BLOCKS,
    "resample": _CONVERTED + _UNUSED + Last._fields,
    "": Push._fields,
}


def words_of(module: str) -> tuple[str, ...]:
    """The names of a module's push constants."""
    return next(words for name, words in _WORDS.items() if module.startswith(name))


def push_of(kernel: KernelSpec) -> SimpleNamespace:
    """The push constants of a dispatch, by name."""
    return SimpleNamespace(**dict(zip(words_of(kernel.shader), kernel.push, strict=True)))
