"""torch's interpolate on a CPU: the indices of its nearest, and bytes with 16-bit weights; floats follow the rules.

Source: torch 2.13, aten/src/ATen/native/cpu/UpSampleKernel.cpp.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from restride.reference.arguments import Array
from restride.reference.like.pillow import FILTERS, filter_rows, triangle
from restride.reference.request import ReferenceRequest
from restride.reference.weights import Answer, ReferenceRows, half_away, in_steps, integer_sums, picks, shifted


def without_ignored_scales(request: ReferenceRequest) -> ReferenceRequest:
    """The request without the scales that floats ignore: with aligned corners, and of axes that torch copies.

    It copies an axis whose size does not change, in the linear modes and with antialias.
    """
    if request.factors is None:
        return request
    copies = "linear" in request.word or request.rules.antialias
    how = [
        replace(axis, scale=Fraction(axis.size, axis.source_size or 1))
        if request.is_aligned or (copies and axis.size == axis.source_size)
        else axis
        for axis in request.how
    ]
    return replace(request, how=tuple(how))


def answer(request: ReferenceRequest) -> Answer | None:
    """The result as torch computes it; None for floats, which the rules of ``linear`` and ``cubic`` already give."""
    scales = dict(zip(request.axes, request.factors or (None,) * len(request.axes), strict=True))
    if request.word in ("nearest", "nearest-exact"):
        real = np.float64 if request.array.dtype == np.float64 else np.float32
        # The arithmetic of torch's nearest_idx, which is used for small results.
        if len(request.axes) == 2 and sum(request.sizes) <= 128 and request.word == "nearest":
            scales |= {axis: None for axis, old, new in request.each() if new in (old, 2 * old)}
        return [
            (axis, picks(_nearest(old, new, request.word, real, scales[axis]), old))
            for axis, old, new in request.each()
        ]
    if request.array.dtype != np.uint8 or request.word not in ("bilinear", "bicubic"):
        return None
    x: Array = request.array.astype(np.int64)
    for axis, old, new in request.each():
        if old == new:
            continue
        factor = scales[axis]
        scale = 1.0 / factor if factor else old / new
        if request.is_aligned:
            scale = (old - 1) / (new - 1) if new > 1 else 0.0
        if request.rules.antialias:
            rows = filter_rows(*FILTERS[request.word], old, new, scale)
        else:
            rows = _plain(old, new, request.word == "bicubic", scale, request.is_aligned)
        places = _places(float(rows.weight.max(initial=0.0)))
        steps = in_steps(rows, lambda weight, places=places: half_away(weight * 2**places))  # type: ignore[misc]
        x = shifted(integer_sums(x, axis, steps), places)
    return x


def _nearest(old: int, new: int, mode: str, real: type, scale_factor: float | None) -> list[int]:
    scale = real(1.0 / scale_factor) if scale_factor else real(old) / real(new)
    indices = []
    for o in range(new):
        if mode == "nearest":
            place = float(real(o) * scale)
        else:
            place = max(float(real((o + 0.5) * float(scale) - 0.5)), 0.0) + 0.5
        indices.append(min(math.floor(np.float32(place)), old - 1))
    return indices


def _places(largest: float) -> int:
    """The largest number of fraction bits, at most 22, with which the largest weight is below 2^15."""
    return next((p for p in range(22) if int(0.5 + largest * 2 ** (p + 1)) >= 1 << 15), 22)


def _plain(old: int, new: int, is_cubic: bool, scale: float, align_corners: bool) -> ReferenceRows:
    """Rows without antialias. Taps beyond an end add to the weight of the end, before it is rounded."""
    table = []
    for o in range(new):
        place = scale * o if align_corners else scale * (o + 0.5) - 0.5
        if not (align_corners or is_cubic):
            place = max(place, 0.0)
        at = min(math.floor(np.float32(place)), old - 1)
        part = min(max(place - at, 0.0), 1.0)
        row: dict[int, float] = {}
        for k in range(-1, 3) if is_cubic else range(2):
            index = min(max(at + k, 0), old - 1)
            row[index] = row.get(index, 0.0) + (_keys(abs(k - part)) if is_cubic else triangle(k - part))
        table.append(list(row.items()))
    return ReferenceRows.of(table, old)


def _keys(x: float) -> float:
    a = -0.75
    if x < 1.0:
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a if x < 2.0 else 0.0
