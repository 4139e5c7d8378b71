"""OpenCV's resize: which elements it reads, and with which weights, in f32 or, for bytes, in integers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from restride.dtypes import F32Array
from restride.request.libraries import LibraryRequest
from restride.weights.rows import LibraryRows, Rule, Shifts, Taps, at_edges, library_rows, on_axis

_F = np.float32

_PLACES = 11
"""Number of fraction bits of the weights for bytes."""

BYTES, FLOATS = "bytes", "floats"
"""The two kinds of arithmetic in which rows are summed."""

_MAX_OF_CELL = {"u8": 1 << 23, "u16": 1 << 15, "s16": 1 << 15}
"""Types whose elements are added as integers, and the number of elements that a 32-bit sum can hold."""

COLUMNS, ROWS = "columns", "rows"
"""The two axes of a sum. Sums along columns come first, and are not rounded."""


def rules(request: LibraryRequest) -> LibraryRows:
    """The rows of both axes, columns summed first. Whole factors, and areas that are enlarged, have special rules.

    Cubic bytes are summed in f32, as in Intel's IPP, which OpenCV's wheels use there for 1, 3 or 4 channels.
    """
    steps = _steps(request)
    along = [COLUMNS if axis == max(request.axes) else ROWS for axis in request.axes]
    mode = _actual_mode(request, steps)
    if mode in _PICKS or request.old == request.new:
        picks = _PICKS.get(mode, nearest)
        return _rows_of_axes(request, picks, [(step,) for step in steps], is_identity=request.old == request.new)
    if mode == "area" and min(steps) >= 1.0:
        return _shrunk(request, steps, along)
    arithmetic = BYTES if request.dtype == "u8" and mode != "cubic" else FLOATS
    rule = _RULES[mode]
    others = [(step, axis, arithmetic) for step, axis in zip(steps, along, strict=True)]
    library = _rows_of_axes(request, rule, others)
    if arithmetic == FLOATS or mode not in ("linear", "area"):
        return library
    pairs = zip(library.rows, along, strict=True)
    return LibraryRows(tuple(rows.changed(repeats_edges=axis == ROWS) for rows, axis in pairs))


def _rows_of_axes(
    request: LibraryRequest, rule: Rule, others: Sequence[tuple[object, ...]], *, is_identity: bool = False
) -> LibraryRows:
    axes = zip(request.old, request.new, others, strict=True)
    return LibraryRows(tuple(library_rows(rule, old, new, *more, is_identity=is_identity) for old, new, more in axes))


def _steps(request: LibraryRequest) -> list[float]:
    """Source elements from one output to the next: the inverse of fx and fy, or of the ratio of the sizes."""
    each = zip(request.old, request.new, request.scales, strict=True)
    return [1.0 / (scale or new / old) for old, new, scale in each]


def _actual_mode(request: LibraryRequest, steps: list[float]) -> str:
    """The mode that OpenCV actually runs, since it replaces some modes by others."""
    halves = steps == [2.0, 2.0]
    if request.mode == "linear" and halves and (request.dtype == "u8" or request.channels == 2):
        return "area"  # with other channel counts IPP computes it
    if request.mode == "linear_exact" and request.dtype in _MAX_OF_CELL and halves and request.channels != 2:
        return "area"
    return "linear" if request.mode == "linear_exact" and request.dtype not in _MAX_OF_CELL else request.mode


def _shrunk(request: LibraryRequest, steps: list[float], along: list[str]) -> LibraryRows:
    """Rows of INTER_AREA where it shrinks: sums of whole cells of integers, shifted or divided; else weighted means."""
    factors = [int(step) for step in steps]
    is_shifted = factors == steps == [2, 2] and request.channels in (1, 3, 4)
    fit = all(new * step <= old for old, new, step in zip(request.old, request.new, steps, strict=True))
    most = _MAX_OF_CELL.get(request.dtype, 0)
    if math.prod(factors) > most or factors != steps or not (is_shifted or fit):
        library = _rows_of_axes(request, area, [(step,) for step in steps])
        return library._replace(rows=tuple(rows.changed(in_order=True) for rows in library.rows))
    places, bits = 2 * is_shifted, 8 * (is_shifted and request.dtype == "u8")
    others = [(factor, places, bits, axis) for factor, axis in zip(factors, along, strict=True)]
    library = _rows_of_axes(request, cells, others)
    return library if is_shifted else library._replace(scale=float(_F(1) / _F(math.prod(factors))))


def nearest(source_size: int, size: int, step: float) -> Taps:
    """Rows of INTER_NEAREST: the floor of the index times a step that is rounded twice."""
    return Taps(np.minimum(np.floor(np.arange(size) * step).astype(np.int64), source_size - 1))


def nearest_exact(source_size: int, size: int, _step: float) -> Taps:
    """Rows of INTER_NEAREST_EXACT: each middle is the one before it plus the ratio of the sizes, in f64."""
    step = source_size / size
    middles = np.cumsum(np.concatenate([[step * 0.5], np.full(max(size - 1, 0), step)]))
    return Taps(np.minimum(middles.astype(np.int64), source_size - 1)[:size])


_PICKS = {"nearest": nearest, "nearest_exact": nearest_exact}


def linear(source_size: int, size: int, step: float, along: str, arithmetic: str) -> Taps:
    """Rows of INTER_LINEAR. For bytes, the weights along rows read an axis with its edges repeated once.

    Worked example, bytes, 2 -> 4, rows: output 0 reads at -1/4, elements -1 and 0 with weights 512 and 1536 of 2048;
    each product is cut to a multiple of 2^16 before the two are added.
    """
    at, part = _places(size, step)
    return _linear(source_size, at, part, along, arithmetic)


def area_enlarged(source_size: int, size: int, step: float, along: str, arithmetic: str) -> Taps:
    """Rows of INTER_AREA where an axis grows: linear, weighted by the part of an element beyond the output's end."""
    output = np.arange(size)
    at = np.floor(output * step).astype(np.int64)
    part = ((output + 1) - (at + 1) * (1.0 / step)).astype(_F)
    return _linear(source_size, at, np.where(part <= 0, _F(0), part - np.floor(part)).astype(_F), along, arithmetic)


def _linear(source_size: int, at: npt.NDArray[np.int64], part: F32Array, along: str, arithmetic: str) -> Taps:
    if along == COLUMNS:
        part = np.where((at < 0) | (at >= source_size - 1), _F(0), part)
    weights = np.stack([_F(1) - part, part], axis=1)
    if arithmetic == BYTES and along == ROWS:
        first = np.clip(at + 1, 0, source_size)  # index on the axis with repeated edges
        return Taps(first, _in_places(weights), Shifts(4, 16, 2, 8))
    index = at[:, np.newaxis] + np.arange(2)
    if arithmetic == BYTES:
        return at_edges(index, _in_places(weights), source_size, Shifts())
    return at_edges(index, weights, source_size)


def cubic(source_size: int, size: int, step: float, _along: str, _arithmetic: str) -> Taps:
    """Rows of INTER_CUBIC, of four elements, a = -0.75, as floats."""
    at, part = _places(size, step)
    index = at[:, np.newaxis] + np.arange(-1, 3)
    return at_edges(index, _keys(part), source_size)


def lanczos4(source_size: int, size: int, step: float, along: str, arithmetic: str) -> Taps:
    """Rows of INTER_LANCZOS4, of eight elements."""
    at, part = _places(size, step)
    index = at[:, np.newaxis] + np.arange(-3, 5)
    if arithmetic == FLOATS:
        return at_edges(index, _lanczos(part), source_size)
    shifts = Shifts(total=2 * _PLACES, bits=8) if along == ROWS else Shifts()
    return at_edges(index, _in_places(_lanczos(part)), source_size, shifts)


def linear_exact(source_size: int, size: int, step: float, along: str, arithmetic: str) -> Taps:
    """Rows of INTER_LINEAR_EXACT: weights in steps of 1/256 for bytes, of 2^-16, as floats, for other integers."""
    places = 8 if arithmetic == BYTES else 16
    place = step * (np.arange(size) + 0.5) - 0.5
    at = np.floor(place).astype(np.int64)
    second = np.rint((place - at) * (1 << places)).astype(np.int32)
    second = np.where((at < 0) | (at >= source_size - 1), 0, second)
    index = at[:, np.newaxis] + np.arange(2)
    weights = np.stack([(1 << places) - second, second], axis=1).astype(np.int32)
    if arithmetic == FLOATS:
        return at_edges(index, weights.astype(_F) / _F(1 << places), source_size)
    shifts = Shifts(total=16, bits=8) if along == ROWS else Shifts()
    return at_edges(index, weights, source_size, shifts)


_RULES = {
    "linear": linear,
    "area": area_enlarged,
    "cubic": cubic,
    "lanczos4": lanczos4,
    "linear_exact": linear_exact,
}
"""For each mode that sums elements, the function that computes its rows."""


def cells(source_size: int, size: int, factor: int, places: int, bits: int, along: str) -> Taps:
    """Rows of INTER_AREA of integers by a whole factor: the sum of each cell, at last shifted right by ``places`` bits.

    Worked example, 3 -> 2 by a factor of 2, as with fy = 0.5: the second cell has one element, which counts twice.
    OpenCV rounds halves of such a cell to even; here they go up, as in all other cells.
    """
    shifts = Shifts(total=places, bits=bits) if along == ROWS else Shifts()
    first = np.arange(size) * factor
    inside = first[:, np.newaxis] + np.arange(factor) < source_size
    weights = np.where(inside, factor // inside.sum(axis=1, keepdims=True), 0).astype(np.int32)
    return on_axis(first, weights, source_size, shifts)


def area(source_size: int, size: int, step: float) -> Taps:
    """Rows of INTER_AREA where an axis shrinks: whole elements, and the covered parts of both ends from 0.001 on."""
    start = np.arange(size) * step
    end = start + step
    width = np.minimum(step, source_size - start)
    last = np.minimum(np.floor(end).astype(np.int64), source_size - 1)
    first = np.minimum(np.ceil(start).astype(np.int64), last)
    taps = np.arange(int((last - first).max(initial=0)) + 2)
    index = (first - 1)[:, np.newaxis] + taps
    whole = (index >= first[:, np.newaxis]) & (index < last[:, np.newaxis])
    weights = np.where(whole, (1.0 / width).astype(_F)[:, np.newaxis], _F(0))
    before = np.where(first - start > 1e-3, ((first - start) / width).astype(_F), _F(0))
    behind = np.minimum(np.minimum(end - last, 1.0), width) / width
    behind = np.where(end - last > 1e-3, behind.astype(_F), _F(0))
    weights[:, 0] += before
    weights[np.arange(size), last - first + 1] += behind
    return at_edges(index, weights.astype(_F), source_size)


def _places(size: int, step: float) -> tuple[npt.NDArray[np.int64], F32Array]:
    """For each output, the index of the element at or before its position, and the distance from there, in f32."""
    place = ((np.arange(size) + 0.5) * step - 0.5).astype(_F)
    at = np.floor(place)
    return at.astype(np.int64), place - at


def _in_places(weights: F32Array) -> npt.NDArray[np.int32]:
    steps = np.rint(weights * _F(1 << _PLACES))
    return np.asarray(np.clip(steps, -32768, 32767), np.int32)


def _keys(x: F32Array) -> F32Array:
    a, y, one = _F(-0.75), x + _F(1), _F(1) - x
    weights = [
        ((a * y - _F(5) * a) * y + _F(8) * a) * y - _F(4) * a,
        ((a + _F(2)) * x - (a + _F(3))) * x * x + _F(1),
        ((a + _F(2)) * one - (a + _F(3))) * one * one + _F(1),
    ]
    return np.stack([*weights, _F(1) - weights[0] - weights[1] - weights[2]], axis=1)


_HALF = 0.70710678118654752440
_TURNS = ((1, 0), (-_HALF, -_HALF), (0, 1), (_HALF, -_HALF), (-1, 0), (_HALF, _HALF), (0, -1), (-_HALF, _HALF))
"""Factors of the first tap's sine and cosine whose sum is the sine of each tap."""


def _lanczos(part: F32Array) -> F32Array:
    first = -(part + _F(3)).astype(np.float64) * math.pi * 0.25
    sine, cosine = (np.array([function(value) for value in first]) for function in (math.sin, math.cos))
    columns = []
    for tap, (of_sine, of_cosine) in enumerate(_TURNS):
        distance = part + _F(3) - _F(tap)
        angle = -distance.astype(np.float64) * math.pi * 0.25
        is_here = abs(distance) < _F(1e-6)
        value = (of_sine * sine + of_cosine * cosine) / np.where(is_here, 1.0, angle * angle)
        columns.append(np.where(is_here, _F(1e30), value.astype(_F)))
    total = np.zeros(len(part), _F)
    for column in columns:
        total += column
    return np.asarray(np.stack(columns, axis=1) * (_F(1) / total)[:, np.newaxis], _F)
