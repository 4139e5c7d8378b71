"""Limits: what docs/profiles.md states of each mode and type; ``restride profiles --check`` fails beyond it."""

from __future__ import annotations

from typing import NamedTuple


class Limit(NamedTuple):
    """The largest difference, in steps of integers or 2^-24 of floats from 0 to 1, and the share of pixels with any."""

    largest: float
    share: float = 1.0


EXACT = Limit(0.0, 0.0)

_STEP = Limit(1.0)

_SUMS = Limit(16.0)
"""Floats: sums in f32 here, and in f64 or in another order there. 16 is one millionth of the range."""

_LIMITS: dict[tuple[str, str, str], Limit] = {
    ("torch", "", "f32, against f64"): _SUMS,
    ("torch", "", "f32, against f32"): Limit(2200.0),
    ("onnx", "", "f32"): Limit(64.0),
    ("pillow", "", "f32"): _SUMS,
    ("pillow", "", "u16"): _STEP,
    ("pillow", "bicubic", "u16"): Limit(16384.0),
    ("pillow", "lanczos", "u16"): Limit(16384.0),
    ("opencv", "cubic", "u8"): Limit(1.0, 0.02),
    ("opencv", "", "u16"): _STEP,
    ("opencv", "", "s16"): _STEP,
    ("opencv", "area", "u16"): EXACT,
    ("opencv", "area", "s16"): EXACT,
    ("opencv", "", "f32"): _SUMS,
    ("opencv", "linear", "f32"): Limit(512.0),
    ("opencv", "linear_exact", "f32"): Limit(512.0),
    ("opencv", "cubic", "f32"): Limit(512.0),
    ("scikit-image", "bilinear", "u8"): _SUMS,
    ("scikit-image", "bilinear, antialias", "u8"): _SUMS,
    ("scikit-image", "", "f32"): _SUMS,
}
"""By library, mode and type; an empty mode: those that are not named. What is not here is exact."""


def stated(like: str, mode: str, type_: str) -> Limit:
    """What is stated of a row. Nearest modes move elements, so they are exact everywhere."""
    if mode.startswith("nearest"):
        return EXACT
    return _LIMITS.get((like, mode, type_)) or _LIMITS.get((like, "", type_), EXACT)
