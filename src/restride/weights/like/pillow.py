"""Pillow's filters: the weights of ``Image.resize``, computed in f64 in the order of its own loops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from restride.dtypes import F64Array
from restride.request.libraries import LibraryRequest
from restride.weights.rows import LibraryRows, Shifts, Taps, library_rows, on_axis, windowed

_PLACES = 22
"""Number of fraction bits of the weights for bytes: a byte, a weight below 2 and a sign then just fill an s32."""

_ROUNDED = ("s8", "s16", "u16", "s32", "u32")
"""Integer types that are summed as floats and rounded after each axis, as in Pillow's modes I and I;16."""


def _box(x: F64Array) -> F64Array:
    return np.where((x > -0.5) & (x <= 0.5), 1.0, 0.0)


def _bilinear(x: F64Array) -> F64Array:
    return np.maximum(1.0 - abs(x), 0.0)


def _hamming(x: F64Array) -> F64Array:
    x = abs(x)
    window = float(np.float32(0.54)) + float(np.float32(0.46)) * _libm(math.cos, x * math.pi)
    return np.where(x < 1.0, np.where(x == 0.0, 1.0, _sinc(x) * window), 0.0)


def _bicubic(x: F64Array) -> F64Array:
    a, x = -0.5, abs(x)
    inner = ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    outer = (((x - 5.0) * x + 8.0) * x - 4.0) * a
    return np.where(x < 1.0, inner, np.where(x < 2.0, outer, 0.0))


def _lanczos(x: F64Array) -> F64Array:
    return np.where((x >= -3.0) & (x < 3.0), _sinc(x) * _sinc(x / 3.0), 0.0)


def _sinc(x: F64Array) -> F64Array:
    x = x * math.pi
    return np.where(x == 0.0, 1.0, _libm(math.sin, x) / np.where(x == 0.0, 1.0, x))


def _libm(function: Callable[[float], float], x: F64Array) -> F64Array:
    """The C library's function, element by element: numpy's own differs in the last bit."""
    values: Any = np.frompyfunc(function, 1, 1)(x)
    return np.asarray(values, np.float64)


_FILTERS: dict[str, tuple[Callable[[F64Array], F64Array], float]] = {
    "box": (_box, 0.5),
    "bilinear": (_bilinear, 1.0),
    "hamming": (_hamming, 1.0),
    "bicubic": (_bicubic, 2.0),
    "lanczos": (_lanczos, 3.0),
}
"""For each filter its function, and its radius in output elements."""


def rules(request: LibraryRequest) -> LibraryRows:
    """The rows of the whole source."""
    return rows_of_part(request, tuple((0.0, float(old)) for old in request.old))


def rows_of_part(request: LibraryRequest, box: tuple[tuple[float, float], ...]) -> LibraryRows:
    """The rows of the part of the source within ``box``, a pair of edges for each axis, which Pillow stores as f32.

    Columns are summed first; since Pillow 13 rows are, if an image loses more than twice as many rows as columns.
    """
    each = []
    for old, new, edges in zip(request.old, request.new, box, strict=True):
        if request.mode == "nearest":
            each.append(library_rows(nearest, old, new, *edges, request.dtype == "u16"))
        else:
            stays = old == new and edges == (0.0, float(old))
            each.append(
                library_rows(filtered, old, new, *edges, request.mode, request.dtype == "u8", is_identity=stays)
            )
    rows, columns = sorted(range(2), key=lambda place: request.axes[place])
    lost = [old - new for old, new in zip(request.old, request.new, strict=True)]
    order = (rows, columns) if lost[rows] > max(2 * lost[columns], 0) else (columns, rows)
    rounding = "half_away" if request.dtype in _ROUNDED and request.mode != "nearest" else None
    return LibraryRows(tuple(each), order, rounding=rounding)


def nearest(source_size: int, size: int, start: float, end: float, of_16_bits: bool) -> Taps:
    """Rows of NEAREST, in f64. The middle of an output is the previous middle plus a step; for I;16 it is a product."""
    origin, step = _line(size, start, end)
    if of_16_bits:
        middles = step * (np.arange(size) + 0.5) + origin
    else:
        middles = np.cumsum(np.concatenate([[origin + step * 0.5], np.full(size - 1, step)]))
    return Taps(np.clip(middles.astype(np.int64), 0, source_size - 1))


def _line(size: int, start: float, end: float) -> tuple[float, float]:
    """The source position where the first output begins, and the width of each output, in source elements."""
    return float(np.float32(start)), float(np.float32(end) - np.float32(start)) / size


def filtered(source_size: int, size: int, start: float, end: float, name: str, in_integers: bool) -> Taps:
    """Rows of the filter ``name``, in steps of 2^-22 or as floats.

    Worked example, box, 4 -> 2: every output has two pixels of weight 1/2, which is 2097152.
    """
    kernel, support = _FILTERS[name]
    origin, scale = _line(size, start, end)
    first, weights = windowed(source_size, size, origin, scale, support, kernel)
    if not in_integers:
        return on_axis(first, weights.astype(np.float32), source_size)
    scaled = weights * (1 << _PLACES)
    whole = np.trunc(np.where(weights < 0.0, scaled - 0.5, scaled + 0.5)).astype(np.int32)
    return on_axis(first, whole, source_size, Shifts(total=_PLACES, bits=8))
