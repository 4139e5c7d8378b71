"""torch's interpolate on a CPU: indices of its nearest, and bytes by weights of 16 bits. Its floats have rules of ours.

Source: torch 2.13, aten/src/ATen/native/cpu/UpSampleKernel.cpp.
"""

from __future__ import annotations

import math

import numpy as np

from restride.reference.conversion import Array
from restride.reference.like.pillow import bicubic, triangle
from restride.reference.like.rows import Answer, Asked, half_away, in_steps, integer_sums, picks, rows_of, shifted
from restride.reference.weights import Rows


def answer(asked: Asked) -> Answer | None:
    """None: floats, whose sums are those of ``linear`` and ``cubic``."""
    scales = dict(zip(asked.axes, asked.scales or (None,) * len(asked.axes), strict=True))
    if asked.mode in ("nearest", "nearest-exact"):
        real = np.float64 if asked.x.dtype == np.float64 else np.float32
        if len(asked.axes) == 2 and sum(asked.sizes) <= 128 and asked.mode == "nearest":  # nearest_idx, small results
            scales |= {axis: None for axis, old, new in asked.each() if new in (old, 2 * old)}
        return [
            (axis, picks(_nearest(old, new, asked.mode, real, scales[axis]), old)) for axis, old, new in asked.each()
        ]
    if asked.x.dtype != np.uint8 or asked.mode not in ("bilinear", "bicubic"):
        return None
    x: Array = asked.x.astype(np.int64)
    for axis, old, new in asked.each():
        if old == new:
            continue
        factor = scales[axis]
        scale = 1.0 / factor if factor else old / new
        if asked.align_corners:
            scale = (old - 1) / (new - 1) if new > 1 else 0.0
        make = _antialiased if asked.antialias else _plain
        rows = make(old, new, asked.mode == "bicubic", scale, asked.align_corners)
        places = _places(float(rows.weight.max(initial=0.0)))
        steps = in_steps(rows, lambda weight, places=places: half_away(weight * 2**places))  # type: ignore[misc]
        x = shifted(integer_sums(x, axis, steps), places)
    return x


def _nearest(old: int, new: int, mode: str, real: type, scale_factor: float | None) -> list[int]:
    scale = real(1.0 / scale_factor) if scale_factor else real(old) / real(new)
    found = []
    for o in range(new):
        if mode == "nearest":
            place = float(real(o) * scale)
        else:
            place = max(float(real((o + 0.5) * float(scale) - 0.5)), 0.0) + 0.5
        found.append(min(math.floor(np.float32(place)), old - 1))
    return found


def _places(largest: float) -> int:
    """The most places that leave the largest weight below 2^15; 22 at most."""
    return next((p for p in range(22) if int(0.5 + largest * 2 ** (p + 1)) >= 1 << 15), 22)


def _antialiased(old: int, new: int, is_cubic: bool, scale: float, _align_corners: bool) -> Rows:
    function, reach = (bicubic, 2.0) if is_cubic else (triangle, 1.0)
    stretch = max(scale, 1.0)
    table = []
    for o in range(new):
        centre = scale * (o + 0.5)
        low = max(int(centre - reach * stretch + 0.5), 0)
        high = min(int(centre + reach * stretch + 0.5), old)
        values = [function((at - centre + 0.5) * (1.0 / stretch)) for at in range(low, high)]
        total = 0.0
        for value in values:
            total += value
        table.append([(low + k, value / total if total else 0.0) for k, value in enumerate(values)])
    return rows_of(table, old)


def _plain(old: int, new: int, is_cubic: bool, scale: float, align_corners: bool) -> Rows:
    """Taps beyond an end add to the weight of the end, before it is rounded."""
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
    return rows_of(table, old)


def _keys(x: float) -> float:
    a = -0.75
    if x < 1.0:
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a if x < 2.0 else 0.0
