"""Parameters: what cases of each operation take, in the order in which it is written."""

from __future__ import annotations

from typing import Any

from restride.arithmetic import ROUNDINGS
from restride.ops.crop_resize import UNITS
from restride.ops.letterbox import PLACES
from restride.plan.yuv import FORMATS, MATRICES
from restride.weights import COORDINATES, MODES, NEAREST_RULES, POLICIES
from restride.weights.like import LIBRARIES
from restride_conformance.spelling import (
    Parameter,
    changed_axes,
    from_0,
    in_order,
    one_of,
    read_boxes,
    read_group_sizes,
    read_integers,
    read_number,
    read_numbers,
    read_out,
    read_permutation,
    read_post_ops,
    read_scale,
)
from restride_conformance.view_steps import View
from restride_conformance.windows import Window

_EVERYWHERE = (
    Parameter("view", View.read, optional=True),
    Parameter("data", one_of("data", "index", "image", "edges", "bits"), optional=True),
    Parameter("out", read_out, optional=True),
)

SCALES = ("src_scale", "src_zero_point", "dst_scale", "dst_zero_point")
"""Parameters that are a number, or the axes along which an array varies."""


def _word(name: str, default: str, *others: str) -> Parameter:
    return Parameter(name, one_of(name, default, *others), lambda _src, _dst: default)


_EVERY_SCALE = tuple(Parameter(name, read_scale, optional=True, canonical=in_order) for name in SCALES)
_AFTER_SUM = (
    Parameter("post_ops", read_post_ops, optional=True),
    _word("rounding", *ROUNDINGS),
    _word("saturate", "yes", "no"),
)
_AFTER_SCALE = (Parameter("sum_scale", read_number, optional=True), *_AFTER_SUM)

ARITHMETIC = (
    *_EVERY_SCALE,
    Parameter("group_sizes", read_group_sizes, optional=True),
    *_AFTER_SCALE,
    _word("rounds_first", "no", "yes"),
)
"""Parameters that change values, not places. A resample has neither ``group_sizes`` nor ``rounds_first``."""

_RULES = (
    _word("coordinates", *COORDINATES),
    _word("nearest", *NEAREST_RULES),
    Parameter("cubic_a", read_number, lambda _src, _dst: -0.75),
    _word("antialias", "no", "yes"),
    _word("exclude_outside", "no", "yes"),
)

_SAMPLING = (
    Parameter("scales", read_numbers, optional=True),
    *_RULES,
    Parameter("roi", read_numbers, optional=True),
    Parameter("input_offsets", read_numbers, optional=True),
    Parameter("output_offsets", read_numbers, optional=True),
    _word("recompute_scale_factor", "no", "yes"),
)
"""What a resampling and its transpose share: the arguments of ``rs.resample`` of these names."""

_AXES = Parameter("axes", read_integers, changed_axes, canonical=from_0)
_LIKE = Parameter("like", one_of("like", *LIBRARIES), optional=True)


def require_mode(mode: str, like: Any) -> None:
    """Check that ``mode`` is one of ours, or of the library ``like``.

    Raises:
        DescriptorError: it is not; the message lists those there are.
    """
    one_of("mode", *(MODES if like is None else LIBRARIES[like].modes))(mode)


PARAMETERS: dict[str, tuple[Parameter, ...]] = {
    "slice": (
        Parameter("offsets", read_integers),
        Parameter("sizes", read_integers),
        Parameter("strides", read_integers),
        *_EVERYWHERE,
    ),
    "reorder": (Parameter("permute", read_permutation, optional=True), *ARITHMETIC, *_EVERYWHERE),
    "resample": (
        Parameter("mode", str),
        _AXES,
        _LIKE,
        Parameter("sizes", read_integers, optional=True),
        *_SAMPLING,
        Parameter("extrapolation_value", read_number, lambda _src, _dst: 0.0),
        _word("keep_aspect_ratio_policy", *POLICIES),
        Parameter("window", Window.read, optional=True),
        *_EVERY_SCALE,
        *_AFTER_SCALE,
        *_EVERYWHERE,
    ),
    "resample_backward": (Parameter("mode", str), _AXES, _LIKE, *_SAMPLING, *_EVERYWHERE),
    "yuv_to_rgb": (
        _word("format", *FORMATS),
        _word("matrix", *MATRICES),
        _word("full_range", "no", "yes"),
        Parameter("like", one_of("like", "opencv"), optional=True),
        *_EVERYWHERE,
    ),
    "crop_resize": (
        Parameter("boxes", read_boxes),
        Parameter("axes", read_integers, canonical=from_0),
        Parameter("images", read_integers, optional=True),
        Parameter("mode", str),
        _LIKE,
        _word("units", *UNITS),
        Parameter("letterbox", one_of("letterbox", *PLACES), optional=True),
        Parameter("flip", str, lambda _src, _dst: "none"),
        Parameter("fill", read_numbers, lambda _src, _dst: (0,)),
        *_RULES,
        *_EVERY_SCALE,
        *_AFTER_SUM,
        *_EVERYWHERE,
    ),
}
"""The parameters of every operation, in the order in which they are written."""
