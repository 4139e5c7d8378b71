"""The libraries that ``like`` names: each mode in the words of ``resample``, and the answers of those that differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from restride.errors import DescriptorError, UnsupportedError
from restride.reference.arguments import describe
from restride.reference.conversion import Array
from restride.reference.like import opencv as like_opencv
from restride.reference.like import pillow as like_pillow
from restride.reference.like import scikit_image as like_scikit_image
from restride.reference.like import torch as like_torch
from restride.reference.like.rows import Answer, Asked

_Words = dict[str, Any]

_NOTHING: _Words = {}
_NEAREST: _Words = {"mode": "nearest"}
_LINEAR: _Words = {"mode": "linear"}
_CUBIC: _Words = {"mode": "cubic"}
_INSIDE: _Words = {"exclude_outside": True}
_KEYS: _Words = {"cubic_a": -0.5, "exclude_outside": True}

_MODES: dict[str, dict[str, tuple[_Words, _Words]]] = {
    "torch": {
        "nearest": (_NEAREST | {"coordinates": "asymmetric", "nearest": "floor"}, _NOTHING),
        "nearest-exact": (_NEAREST, _NOTHING),
        "linear": (_LINEAR, _INSIDE),
        "bilinear": (_LINEAR, _INSIDE),
        "trilinear": (_LINEAR, _INSIDE),
        "bicubic": (_CUBIC, _KEYS),
        "area": ({"mode": "area"}, _NOTHING),
    },
    "onnx": {
        "nearest": (_NEAREST | {"nearest": "round_prefer_floor"}, _NOTHING),
        "linear": (_LINEAR, _NOTHING),
        "cubic": (_CUBIC, _NOTHING),
    },
    "onednn": {
        "linear": (_LINEAR | {"recompute_scale_factor": True}, _NOTHING),
        "nearest": (_NEAREST | {"recompute_scale_factor": True}, _NOTHING),
    },
    "directml": {"nearest": (_NEAREST | {"nearest": "floor"}, _NOTHING), "linear": (_LINEAR, _NOTHING)},
    "tensorflow": {
        "bilinear": (_LINEAR, _INSIDE),
        "nearest": (_NEAREST | {"coordinates": "tf_half_pixel_for_nn", "nearest": "floor"}, _NOTHING),
        "bicubic": (_CUBIC | _KEYS, _NOTHING),
        "area": ({"mode": "area"}, _NOTHING),
    },
    "pillow": {
        **dict.fromkeys(("bicubic", "box", "bilinear", "hamming", "lanczos"), (_LINEAR, _NOTHING)),
        "nearest": (_NEAREST, _NOTHING),
    },
    "opencv": {
        **dict.fromkeys(("linear", "linear_exact", "area", "cubic", "lanczos4"), (_LINEAR, _NOTHING)),
        **dict.fromkeys(("nearest", "nearest_exact"), (_NEAREST, _NOTHING)),
    },
    "scikit-image": {"bilinear": (_LINEAR | {"antialias": True}, _NOTHING), "nearest": (_NEAREST, _NOTHING)},
}
"""What each mode is, and what ``antialias`` changes of it."""

_DEFAULT = {"torch": "nearest", "onnx": "nearest", "directml": "nearest"}
"""Modes where none is given; of the others the first."""

_ANSWERS = {
    "torch": like_torch.answer,
    "pillow": like_pillow.answer,
    "opencv": like_opencv.answer,
    "scikit-image": like_scikit_image.answer,
}


def words_like(like: Any, given: _Words, array: Array) -> tuple[str, _Words]:
    """The library's mode, and all words of ``resample`` that it stands for, but where others are ``given``.

    Raises:
        UnsupportedError: no such library, or no such mode of it.
    """
    if like not in _MODES:
        raise UnsupportedError(f"like {like!r} is not one of {', '.join(_MODES)}, for {describe(array)}")
    modes = _MODES[like]
    mode = given.get("mode", _DEFAULT.get(like, next(iter(modes))))
    if mode not in modes:
        raise UnsupportedError(
            f"mode {mode!r} of like {like!r} is not one of {', '.join(modes)}, for {describe(array)}"
        )
    plain, antialiased = modes[mode]
    others = {name: value for name, value in given.items() if name != "mode"}
    return mode, plain | (antialiased if given.get("antialias") else {}) | others


def answer_like(like: str, asked: Asked) -> Answer | None:
    """The library's own answer; None: that of its words, and where there are no elements."""
    if like in ("pillow", "opencv") and len(asked.axes) != 2:
        raise DescriptorError(f"like {like!r} resizes two axes, not {len(asked.axes)}, of {describe(asked.x)}")
    if like not in _ANSWERS or 0 in asked.old or 0 in asked.sizes:
        return None
    return _ANSWERS[like](asked)


def rounding_like(like: str | None, array: Array) -> str | None:
    """How the library's sums are rounded to the type of the source before they become another; None: they are not."""
    if like == "pillow" and array.dtype.kind in "iu":
        return "half_away"
    if (like == "opencv" and array.dtype.kind in "iu") or (like == "torch" and array.dtype == np.uint8):
        return "nearest_even"
    return None


def rounding_between_like(like: str | None, array: Array) -> str | None:
    """How sums along one axis are rounded before those along the next; None: they are not."""
    return rounding_like(like, array) if like == "pillow" else None
