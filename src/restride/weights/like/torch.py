"""torch's interpolation of bytes with 16-bit weights, and the elements that its nearest modes take."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.dtypes import F64Array
from restride.request.libraries import LibraryRequest
from restride.weights.rows import (
    IndexArray,
    LibraryRows,
    Shifts,
    Taps,
    folded_at_edges,
    library_rows,
    on_axis,
    picked_rows,
    windowed,
)

_MAX_PLACES = 22

_MAX_OF_SMALL = 128
"""Up to this sum of rows and columns, torch's "nearest" runs special code, which ignores the scales of axes that
keep or double their size.
"""


def follows_sizes(request: LibraryRequest) -> tuple[bool, ...]:
    """For each axis, whether its coordinates follow the sizes even if there is a scale.

    An axis that keeps its size is copied, except in "bicubic" of floats without ``antialias``, in "nearest" of large
    results and in "nearest-exact". Worked example, "linear", 2 elements by 1.25: 2 outputs, which are copied; by the
    scale they would read at 0 and 0.7.
    """
    axes = tuple(zip(request.old, request.new, strict=True))
    if request.mode == "nearest" and len(axes) == 2 and sum(request.new) <= _MAX_OF_SMALL:
        return tuple(new in (old, 2 * old) for old, new in axes)
    copies = request.antialias or request.mode.endswith("linear") or _is_of_bytes(request)
    return tuple(request.align_corners or (copies and old == new) for old, new in axes)


def rules(request: LibraryRequest) -> LibraryRows | None:
    """The rows of nearest modes, of bytes, and of ``antialias`` with ``align_corners``; None for other requests."""
    axes = tuple(zip(request.old, request.new, request.scales, strict=True))
    if request.mode.startswith("nearest"):
        others: tuple[object, ...] = (request.mode == "nearest-exact", request.dtype == "f64")
        return LibraryRows(tuple(picked_rows(nearest, old, new, *others, scale) for old, new, scale in axes))
    is_bytes = _is_of_bytes(request)
    if not is_bytes and not (request.antialias and request.align_corners):
        return None
    rule = antialiased if request.antialias else plain
    others = (is_bytes, request.mode == "bicubic", request.align_corners)
    return LibraryRows(
        tuple(library_rows(rule, old, new, *others, scale, is_identity=old == new) for old, new, scale in axes)
    )


def _is_of_bytes(request: LibraryRequest) -> bool:
    """True if torch sums in integers, so that the weights are integers."""
    return request.dtype == "u8" and request.mode in ("bilinear", "bicubic")


def nearest(
    source_size: int,
    size: int,
    exact: bool,
    is_f64: bool,
    scale_factor: float | None,
    output: IndexArray,
    _weighs: bool = False,
) -> Taps:
    """Rows of "nearest", or of "nearest-exact": the index in the arithmetic of f32, or of f64 elements in f64."""
    real: Any = np.float64 if is_f64 else np.float32
    scale = real(1.0 / scale_factor) if scale_factor else real(source_size) / real(size)
    if exact:
        middle = (output + 0.5) * float(scale) - 0.5
        place = np.maximum(middle.astype(real), real(0)).astype(np.float64) + 0.5
    else:
        place = output.astype(real) * scale
    return Taps(np.minimum(np.floor(place.astype(np.float32)).astype(np.int64), source_size - 1))


def antialiased(
    source_size: int, size: int, in_integers: bool, is_cubic: bool, align_corners: bool, scale_factor: float | None
) -> Taps:
    """Rows with ``antialias``: Pillow's filters, by a scale that ``align_corners`` changes."""
    scale = _scale(source_size, size, align_corners, scale_factor)
    kernel = partial(_keys, a=-0.5) if is_cubic else _triangle
    first, weights = windowed(source_size, size, 0.0, scale, 2.0 if is_cubic else 1.0, kernel)
    if not in_integers:
        return on_axis(first, weights.astype(np.float32), source_size)
    whole, shifts = _in_places(weights)
    return on_axis(first, whole, source_size, shifts)


def plain(
    source_size: int, size: int, _in_integers: bool, is_cubic: bool, align_corners: bool, scale_factor: float | None
) -> Taps:
    """Rows of u8 "bilinear" or "bicubic" without ``antialias``: taps beyond an edge read the edge."""
    scale = _scale(source_size, size, align_corners, scale_factor)
    output = np.arange(size)
    place = scale * output if align_corners else scale * (output + 0.5) - 0.5
    if not align_corners and not is_cubic:
        place = np.maximum(place, 0.0)
    at = np.minimum(np.floor(place.astype(np.float32)).astype(np.int64), source_size - 1)
    part = np.clip(place - at, 0.0, 1.0)[:, np.newaxis]
    taps = np.arange(-1, 3) if is_cubic else np.arange(2)
    weights = _keys(taps - part, -0.75) if is_cubic else _triangle(taps - part)
    first, folded = folded_at_edges(at[:, np.newaxis] + taps, weights, source_size)
    return Taps(first, *_in_places(folded))


def _scale(source_size: int, size: int, align_corners: bool, scale_factor: float | None) -> float:
    if align_corners:
        return (source_size - 1) / (size - 1) if size > 1 else 0.0
    return 1.0 / scale_factor if scale_factor else source_size / size


def _triangle(x: F64Array) -> F64Array:
    return np.maximum(1.0 - abs(x), 0.0)


def _keys(x: F64Array, a: float) -> F64Array:
    x = abs(x)
    inner = ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    outer = ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    return np.where(x < 1.0, inner, np.where(x < 2.0, outer, 0.0))


def _in_places(weights: F64Array) -> tuple[npt.NDArray[np.int32], Shifts]:
    """The weights as integers, in the smallest unit for which the largest is below 2^15: 0.5 is 16384 of 2^-15."""
    largest = max(float(weights.max(initial=0.0)), 0.0)
    places = 0
    while places < _MAX_PLACES and int(0.5 + largest * (2 << places)) < 1 << 15:
        places += 1
    scaled = weights * (1 << places)
    whole = np.trunc(np.where(scaled < 0.0, scaled - 0.5, scaled + 0.5)).astype(np.int32)
    return whole, Shifts(total=places, bits=8)
