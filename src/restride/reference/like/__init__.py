"""The libraries that ``like`` names: their modes as arguments of ``resample``, and results for those that differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from restride.errors import DescriptorError
from restride.reference.arguments import Array, describe
from restride.reference.coordinates import Rules
from restride.reference.like import opencv, pillow, scikit_image, torch
from restride.reference.request import ReferenceRequest, require_few, resample_request
from restride.reference.weights import Answer

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
        "area": ({"mode": "area_weighted"}, _NOTHING),
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
"""The arguments of ``resample`` that each mode stands for, and those that ``antialias`` adds."""

_DEFAULT = {"torch": "nearest", "onnx": "nearest", "directml": "nearest"}
"""The default modes; for other libraries it is the first one listed."""

_ANSWERS = {
    "torch": torch.answer,
    "pillow": pillow.answer,
    "opencv": opencv.answer,
    "scikit-image": scikit_image.answer,
}


def request_like(
    array: Array, sizes: Any, scales: Any, axes: Any, window: Any, arguments: Mapping[str, Any]
) -> ReferenceRequest:
    """The request for these arguments; ``arguments`` that are None have the defaults, those of ``like``.

    The library's mode stands for some arguments of ``resample``; any that are passed explicitly take precedence.

    Raises:
        DescriptorError: an unknown library, or a mode that it does not have.
    """
    words, word = {name: value for name, value in arguments.items() if value is not None}, ""
    like = words.pop("like", None)
    if like is not None:
        if like not in _MODES:
            raise DescriptorError(f"like {like!r} is not one of {', '.join(_MODES)}, for {describe(array)}")
        modes = _MODES[like]
        word = words.pop("mode", _DEFAULT.get(like, next(iter(modes))))
        if word not in modes:
            raise DescriptorError(
                f"mode {word!r} of like {like!r} is not one of {', '.join(modes)}, for {describe(array)}"
            )
        plain, antialiased = modes[word]
        words = plain | (antialiased if words.get("antialias") else {}) | words
    request = resample_request(array, sizes, scales, axes, Rules(**words), window, like, word)
    return torch.without_ignored_scales(request) if like == "torch" else request


def answer_like(request: ReferenceRequest) -> Answer | None:
    """The library's own result; None if the request's arguments give it, or there are no elements."""
    like = request.like
    if like in ("pillow", "opencv") and len(request.axes) != 2:
        raise DescriptorError(f"like {like!r} resizes two axes, not {len(request.axes)}, of {describe(request.array)}")
    if like not in _ANSWERS or 0 in request.old or 0 in request.sizes:
        return None
    are_of_floats = like == "torch" and not request.word.startswith("nearest") and request.array.dtype != np.uint8
    if not are_of_floats:  # a library's own rows are those of the whole axis, also for a window
        require_few(request, [range(size) for size in request.sizes])
    return _ANSWERS[like](request)


def rounding_like(request: ReferenceRequest) -> str | None:
    """How the library rounds sums to the source's type before any other conversion; None: it does not."""
    like, dtype = request.like, request.array.dtype
    if like == "pillow" and dtype.kind in "iu":
        return "half_away"
    if (like == "opencv" and dtype.kind in "iu") or (like == "torch" and dtype == np.uint8):
        return "nearest_even"
    return None


def clipped_like(request: ReferenceRequest, sums: Array) -> Array:
    """The sums as the library clips them: scikit-image to the least and the largest element that are not NaN."""
    if request.like != "scikit-image":
        return sums
    elements = request.array.astype(np.float64)
    present = elements[~np.isnan(elements)]
    return np.clip(sums, present.min(), present.max()) if present.size else sums


def rounding_between_like(request: ReferenceRequest) -> str | None:
    """How the library rounds the sums along one axis before the next axis; None: it does not."""
    return rounding_like(request) if request.like == "pillow" else None
