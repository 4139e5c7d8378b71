"""Limits: what docs/profiles.md states of each mode and type; ``restride profiles --check`` fails beyond it."""

from __future__ import annotations

from typing import NamedTuple

from restride.weights.like import LIBRARIES


class Limit(NamedTuple):
    """The largest difference, in steps of integers or 2^-24 of floats from 0 to 1, and the share of pixels with any."""

    largest: float
    share: float = 1.0


def measured(like: str) -> str:
    """The version of a library that what is stated was measured with: "13.0.0" of "Pillow 13.0.0, Image.resize"."""
    return LIBRARIES[like].library.partition(",")[0].split()[-1]


def is_measured(like: str, version: str) -> bool:
    """Whether that is the version; "2.13.0+cpu" is 2.13.0."""
    return version.partition("+")[0] == measured(like)


EXACT = Limit(0.0, 0.0)

_STEP = Limit(1.0)

_SUMS = Limit(16.0)
"""Floats: sums in f32 here, and in f64 or in another order there. 16 is one millionth of the range."""

_LONG_SUMS = Limit(32.0)
"""The same where each of up to 600 rows and 600 columns is a tap: an addition is half a unit off at most."""

_LIMITS: dict[tuple[str, str, str], Limit] = {
    ("torch", "", "f32, against f64"): _SUMS,
    ("torch", "", "f32, against f32"): Limit(2200.0),
    ("onnx", "", "f32"): Limit(64.0),
    ("pillow", "", "f32"): Limit(32.0),
    ("pillow", "", "u16"): Limit(2.0, 0.02),
    ("pillow", "", "s32"): Limit(4.0, 0.25),
    ("opencv", "cubic", "u8"): Limit(1.0, 0.05),
    ("opencv", "cubic", "u16"): Limit(4.0, 0.05),
    ("opencv", "cubic", "s16"): Limit(4.0, 0.05),
    ("opencv", "", "u16"): _STEP,
    ("opencv", "", "s16"): _STEP,
    ("opencv", "area", "u16"): EXACT,
    ("opencv", "area", "s16"): EXACT,
    ("opencv", "", "f32"): _SUMS,
    ("opencv", "area", "f32"): _LONG_SUMS,
    ("opencv", "linear", "f32"): Limit(512.0),
    ("opencv", "linear_exact", "f32"): Limit(512.0),
    ("opencv", "cubic", "f32"): Limit(512.0),
    ("scikit-image", "bilinear", "u8"): _SUMS,
    ("scikit-image", "bilinear, antialias", "u8"): _LONG_SUMS,
    ("scikit-image", "bilinear, antialias", "f32"): _LONG_SUMS,
    ("scikit-image", "", "f32"): _SUMS,
}
"""By library, mode and type; an empty mode: those that are not named. What is not here is exact."""


def stated(like: str, mode: str, type_: str) -> Limit:
    """What is stated of a row. Nearest modes move elements, so they are exact everywhere."""
    if mode.startswith("nearest"):
        return EXACT
    return _LIMITS.get((like, mode, type_)) or _LIMITS.get((like, "", type_), EXACT)
