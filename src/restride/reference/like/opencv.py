"""OpenCV's resize: columns, then rows; bytes with integer weights, others with weights in its f32 and f64 steps.

Source: OpenCV 5.0, modules/imgproc/src/resize.cpp and precomp.hpp.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from restride.reference.arguments import Array
from restride.reference.like.pillow import nearest as by_middles
from restride.reference.request import ReferenceRequest
from restride.reference.weights import Answer, ReferenceRows, in_steps, integer_sums, picks, shifted

_F = np.float32
_PLACES = 11
"""Number of fraction bits of the weights for bytes."""


def answer(request: ReferenceRequest) -> Answer:
    """The result of the mode, or of the one that OpenCV uses instead."""
    if request.old == request.sizes:
        return request.array
    if request.word in _PICKS:
        return [(axis, picks(_PICKS[request.word](old, new), old)) for axis, old, new in request.each()]
    mode, shrinks = request.word, [Fraction(old, new) for _, old, new in request.each()]
    is_byte = request.array.dtype == np.uint8
    if shrinks == [2, 2] and (
        (mode == "linear" and (is_byte or request.channels == 2))
        or (mode == "linear_exact" and _adds(request) and request.channels != 2)
    ):
        mode = "area"
    if mode == "area" and min(shrinks) >= 1:
        fits = (
            math.prod(shrinks) * 256**request.array.dtype.itemsize <= 1 << 31
        )  # OpenCV adds in s32, but larger cells in f32
        if _adds(request) and fits and all(shrink.denominator == 1 for shrink in shrinks):
            return _cells(request)
        return [
            (axis, ReferenceRows.of([_area_row(o, old, new) for o in range(new)], old))
            for axis, old, new in request.each()
        ]
    if is_byte and mode != "cubic":
        return _linear_exact(request) if mode == "linear_exact" else _bytes(request, mode)
    is_exact = mode == "linear_exact" and _adds(request)
    mode = "linear" if mode == "linear_exact" else mode
    return [
        (
            axis,
            _exact_rows(old, new, 2.0**16, 2.0**-16) if is_exact else _rows(old, new, mode, axis == max(request.axes)),
        )
        for axis, old, new in request.each()
    ]


def _bytes(request: ReferenceRequest, mode: str) -> Array:
    """Bytes by weights in steps of 2^-11. Sums along rows stay exact in lanczos4, and are truncated in other modes."""
    (across, wide, new_wide), (down, high, new_high) = request.each()
    columns = in_steps(_rows(wide, new_wide, mode, True), _weight_in_11_bits)
    rows = in_steps(_rows(high, new_high, mode, False), _weight_in_11_bits)
    middle = integer_sums(request.array.astype(np.int64), across, columns)
    if mode == "lanczos4":
        return shifted(integer_sums(middle, down, rows), 2 * _PLACES)
    along = [1] * request.array.ndim
    along[down] = -1
    first, second = (
        np.take(middle >> 4, rows.index[:, k], down) * rows.weight[:, k].astype(np.int64).reshape(along) >> 16
        for k in range(2)
    )
    return shifted(first + second, 2)


def _adds(request: ReferenceRequest) -> bool:
    """True if elements are integers whose cells OpenCV adds without conversion."""
    return request.array.dtype in (np.uint8, np.uint16, np.int16)


def _weight_in_11_bits(weight: float) -> int:
    return min(max(int(np.rint(np.float32(weight) * np.float32(2**_PLACES))), -32768), 32767)


def _nearest(old: int, new: int) -> list[int]:
    step = 1.0 / (new / old)
    return [min(math.floor(o * step), old - 1) for o in range(new)]


_PICKS = {"nearest": _nearest, "nearest_exact": by_middles}


def _rows(old: int, new: int, mode: str, are_columns: bool) -> ReferenceRows:
    """Rows of linear, cubic, lanczos4, and of area where the axis grows; taps beyond an end read the end."""
    inverse, table = new / old, []
    for o in range(new):
        if mode == "area":
            at = math.floor(o * (1.0 / inverse))
            part = np.float32((o + 1) - (at + 1) * inverse)
            part = np.float32(0) if part <= 0 else part - np.floor(part)
        else:
            place = np.float32((o + 0.5) * (1.0 / inverse) - 0.5)
            at = math.floor(place)
            part = np.float32(place - np.float32(at))
        if mode in ("linear", "area"):
            if are_columns and (at < 0 or at >= old - 1):
                part = np.float32(0)
            weights, first = [np.float32(1) - part, part], at
        elif mode == "cubic":
            weights, first = _cubic_weights(part), at - 1
        else:
            weights, first = _lanczos_weights(part), at - 3
        table.append([(first + k, float(weight)) for k, weight in enumerate(weights)])
    return ReferenceRows.of(table, old)


def _linear_exact(request: ReferenceRequest) -> Array:
    """Bytes with weights in steps of 1/256 along both axes, and one rounding."""
    x: Array = request.array.astype(np.int64)
    for axis, old, new in request.each():
        x = integer_sums(x, axis, _exact_rows(old, new, 256.0, 1.0))
    return shifted(x, 16)


def _exact_rows(old: int, new: int, whole: float, unit: float) -> ReferenceRows:
    """Rows of linear_exact: pairs of weights that are multiples of ``unit`` and add up to ``whole`` of them."""
    table = []
    for o in range(new):
        place = 1.0 / (new / old) * (o + 0.5) - 0.5
        at = math.floor(place)
        second = 0.0 if at < 0 or at >= old - 1 else float(np.rint((place - at) * whole))
        table.append([(at, (whole - second) * unit), (at + 1, second * unit)])
    return ReferenceRows.of(table, old)


def _cells(request: ReferenceRequest) -> Array:
    """The mean of every cell. Cells of 2 x 2 with 1, 3 or 4 channels round halves up; others round f32 to even."""
    x, count = request.array.astype(np.int64), 1
    for axis, old, new in request.each():
        count *= old // new
        x = x.reshape(*x.shape[:axis], new, old // new, *x.shape[axis + 1 :]).sum(axis=axis + 1)
    if all(old == 2 * new for _, old, new in request.each()) and request.channels in (1, 3, 4):
        return (x + 2) >> 2
    mean = np.rint(x.astype(np.float32) * (np.float32(1) / np.float32(count)))
    bounds = np.iinfo(request.array.dtype)
    clamped: Array = np.clip(mean, bounds.min, bounds.max).astype(np.int64)
    return clamped


# The weights of the filters, computed in OpenCV's steps.


def _cubic_weights(part: np.float32) -> list[np.float32]:
    """Weights of four elements, with a = -0.75; the last weight is 1 minus the others."""
    a, before, behind = _F(-0.75), part + _F(1), _F(1) - part
    first = ((a * before - _F(5) * a) * before + _F(8) * a) * before - _F(4) * a
    inner = [((a + _F(2)) * x - (a + _F(3))) * x * x + _F(1) for x in (part, behind)]
    return [first, *inner, _F(1) - first - inner[0] - inner[1]]


_EIGHTH = 0.70710678118654752440
_TURNS = (
    *((1.0, 0.0), (-_EIGHTH, -_EIGHTH), (0.0, 1.0), (_EIGHTH, -_EIGHTH)),
    *((-1.0, 0.0), (_EIGHTH, _EIGHTH), (0.0, -1.0), (-_EIGHTH, _EIGHTH)),
)
"""Factors of the first tap's sine and cosine whose sum is the sine of each tap."""


def _lanczos_weights(part: np.float32) -> list[np.float32]:
    """Weights of eight elements, from one sine and one cosine, divided by their sum."""
    angle = -float(part + _F(3)) * math.pi * 0.25
    weights, total = [], _F(0)
    for tap, (of_sine, of_cosine) in enumerate(_TURNS):
        distance = part + _F(3) - _F(tap)
        if abs(distance) < _F(1e-6):
            weights.append(_F(1e30))
        else:
            tap_angle = -float(distance) * math.pi * 0.25
            weights.append(_F((of_sine * math.sin(angle) + of_cosine * math.cos(angle)) / (tap_angle * tap_angle)))
        total = total + weights[-1]
    return [weight * (_F(1) / total) for weight in weights]


def _area_row(o: int, old: int, new: int) -> list[tuple[int, float]]:
    """The elements that output o covers; the ends weigh as much as is covered, and parts below 0.001 are left out."""
    scale = 1.0 / (new / old)
    start = o * scale
    width = min(scale, old - start)
    end = start + scale
    last = min(math.floor(end), old - 1)
    first = min(math.ceil(start), last)
    row = []
    if first - start > 1e-3:
        row.append((first - 1, float(_F((first - start) / width))))
    row += [(at, float(_F(1.0 / width))) for at in range(first, last)]
    if end - last > 1e-3:
        row.append((last, float(_F(min(end - last, 1.0, width) / width))))
    return row
