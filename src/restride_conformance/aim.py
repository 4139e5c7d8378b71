"""Source elements aimed at a conversion: numbers of the destination's size, ties, bounds, and whatever bits there are.

Of eight elements four are plain numbers, two lie halfway between neighbours of the destination's type or right beside
that, one is about a bound of it, and one has any bits: denormals, infinities and NaN among them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from restride.dtypes import DType
from restride_conformance.fill import bits, hashed_words

_TRUTHS = np.array((0, 1, 0, 2, 0, 0x80, 0, 0xFF), np.uint8)
"""Bytes of truth values to be converted: each that is not 0 is true."""

_REACH = {"pred": 1, "f16": 16, "bf16": 128, "f32": 128, "f64": 1024, "f8e4m3fn": 9, "f8e5m2": 16}
"""Binary digits before the point of the largest number; of integers, those without the sign."""

_PRECISION = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53, "f8e4m3fn": 4, "f8e5m2": 3}
"""Significant binary digits, the leading one included."""

Array = np.ndarray[Any, Any]


def aimed(src: DType, dst: DType, count: int, seed: int = 0) -> Array:
    """Elements of ``src`` to be converted to ``dst``: 1-D, ``count`` of them.

    8-bit types show every bit pattern. To truth values about half are zeros, of floats with both signs.
    """
    if dst == "pred" and src != "pred":
        words = _words(count, seed, 6) >> np.uint64(60)
        zeros = np.where((words & np.uint64(3) == 0) & src.is_float, 1 << (8 * src.itemsize - 1), 0)
        others = bits(src, count, seed).view(_unsigned(src))
        return np.where(words < 8, zeros.astype(_unsigned(src)), others).view(src.dtype)
    if src.itemsize == 1:
        return _bytes(src, count, seed)
    words, choice = _words(count, seed, 1), _words(count, seed, 2) >> np.uint64(61)
    ties = _ties_of_floats if src.is_float else _ties_of_integers
    with np.errstate(all="ignore"):  # what overflows becomes an infinity, which is wanted
        bounds = _bounds(src, dst)
        kinds = (plain(src, dst, count, seed), ties(src, dst, words), bounds[words % np.uint64(len(bounds))])
    patterns = [array.view(_unsigned(src)) for array in (*kinds, bits(src, count, seed))]
    chosen: Array = np.select([choice < 4, choice < 6, choice < 7], patterns[:3], patterns[3])
    return chosen.view(src.dtype)


def plain(src: DType, dst: DType, count: int, seed: int = 0) -> Array:
    """Numbers of every size up to the bounds of both types; to a float type 1/64 to 1024. 8-bit types: every pattern.

    Few are negative where ``dst`` has no negative numbers.
    """
    if src.itemsize == 1:
        return _bytes(src, count, seed)
    words, sizes = _words(count, seed, 3), _words(count, seed, 4)
    if not src.is_float:
        length = sizes % np.uint64(min(_reach(src), _reach(dst) + 1)) + np.uint64(1)
        return _as_integers(src, dst, words >> (np.uint64(64) - length), sizes)
    low, high = (-6, min(_reach(src), _reach(dst), 10)) if dst.is_float else (-2, min(_reach(src), _reach(dst)))
    exponent = (sizes % np.uint64(high - low)).astype(np.int64) + low
    magnitude = np.ldexp(1 + (words >> np.uint64(12)).astype(np.float64) / (1 << 52), exponent)
    return np.where(_is_negative(dst, sizes), -magnitude, magnitude).astype(src.dtype)


def _bytes(src: DType, count: int, seed: int) -> Array:
    """``bits``; of truth values, bytes of which several say true."""
    return _TRUTHS[_words(count, seed, 5) >> np.uint64(61)].view(np.bool_) if src == "pred" else bits(src, count, seed)


def _ties_of_floats(src: DType, dst: DType, words: Array) -> Array:
    """Halfway between two neighbours of ``dst``, and one unit in the last place of ``src`` to either side of that."""
    bits_of = hashed_words(words, 1)
    if dst.is_float:
        # Neighbours of the type that reaches less far: those of a wider one are hardly ever within both.
        grid = min(dst, src, key=_reach)
        lower = bits_of.astype(_unsigned(grid))
        below, above = (each.view(grid.dtype).astype(np.float64) for each in (lower, lower + lower.dtype.type(1)))
        halfway = (below + above) / 2
    else:
        length = words % np.uint64(min(_reach(src), _reach(dst)) + 1)  # of the whole part; 0: a half
        whole = np.where(length == 0, 0, bits_of >> ((np.uint64(64) - length) & np.uint64(63)))
        halfway = np.where(_is_negative(dst, words), -1, 1) * (whole.astype(np.float64) + 0.5)
    patterns: Array = halfway.astype(src.dtype).view(_unsigned(src)) + _beside(words).astype(_unsigned(src))
    return patterns.view(src.dtype)


def _ties_of_integers(src: DType, dst: DType, words: Array) -> Array:
    """The same; to integers, where nothing is rounded, numbers about powers of two.

    s32 to bf16: of 20 digits 8 stay, so the others are 1 and eleven zeros.
    """
    length = words % np.uint64(min(_reach(src), _reach(dst))) + np.uint64(1)
    leading = np.uint64(1) << (length - np.uint64(1))
    if not dst.is_float:
        return _as_integers(src, dst, leading + _beside(words), words)
    cut = np.maximum(length.astype(np.int64) - _PRECISION[dst.name], 0).astype(np.uint64)
    kept = (hashed_words(words, 1) & (leading - np.uint64(1)) | leading) >> cut << cut
    half = (np.uint64(1) << cut) >> np.uint64(1)
    return _as_integers(src, dst, kept + half + _beside(words), words)


def _beside(words: Array) -> Array:
    """-1, 0, 0 or 1, modulo 2^64."""
    steps: Array = np.array((-1, 0, 0, 1), np.int64).astype(np.uint64)[(words >> np.uint64(50)) & np.uint64(3)]
    return steps


@cache
def _bounds(src: DType, dst: DType) -> Array:
    """What lies about the largest, the smallest and the least numbers of ``dst``, as far as ``src`` has it."""
    if not dst.is_float:
        low, high = (0, 1) if dst == "pred" else (int(np.iinfo(dst.dtype).min), int(np.iinfo(dst.dtype).max))
        numbers: list[float] = [low, high, -1, 0, 1, 2 * high + 1, 2 * high + 2]
        numbers += [low - 1, low + 1, high - 1, high + 1, low - 0.5, low + 0.5, high - 0.5, high + 0.5, 1.5, 2.5]
    else:
        info = ml_dtypes.finfo(dst.dtype)  # type: ignore[no-untyped-call]
        largest, least, normal = (float(each) for each in (info.max, info.smallest_subnormal, info.smallest_normal))
        step = 2.0 ** (_REACH[dst.name] - _PRECISION[dst.name])  # between the largest numbers
        positive = (
            *(largest, largest + step / 2, largest + step),
            *(least, least / 2, least * 1.5, normal, normal - least / 2),
        )
        numbers = [0.0, *positive, *(-number for number in positive)]
    if src.is_float:
        numbers += [-0.0, np.inf, -np.inf, np.nan]
        pattern = np.array(numbers, np.float64).astype(src.dtype).view(_unsigned(src))
        one = pattern.dtype.type(1)
        return np.concatenate((pattern, pattern + one, pattern - one)).view(src.dtype)
    lowest, highest = int(np.iinfo(src.dtype).min), int(np.iinfo(src.dtype).max)
    whole = [int(number) for number in numbers if abs(number) < 1 << 65 and number == int(number)]
    return np.array([n for n in (*whole, lowest, highest, highest - 1) if lowest <= n <= highest], src.dtype)


def _words(count: int, seed: int, which: int) -> Array:
    """Hashed words; those of another ``which`` are others."""
    return hashed_words(np.arange(count, dtype=np.uint64) + np.uint64(which << 44), seed)


def _as_integers(src: DType, dst: DType, magnitudes: Array, words: Array) -> Array:
    """Integers of ``src`` with these magnitudes, modulo its range, some of them negative."""
    negative = _is_negative(dst, words) & (src.name[0] == "s")
    return np.where(negative, np.uint64(0) - magnitudes, magnitudes).astype(_unsigned(src)).view(src.dtype)


def _is_negative(dst: DType, words: Array) -> Array:
    """Half of the numbers; one of eight where ``dst`` has no negative ones."""
    eighths = (words >> np.uint64(40)) % np.uint64(8)
    return np.asarray(eighths < (1 if dst == "pred" or dst.name[0] == "u" else 4))


def _reach(dtype: DType) -> int:
    return _REACH.get(dtype.name, 8 * dtype.itemsize - dtype.name.startswith("s"))


def _unsigned(dtype: DType) -> np.dtype[Any]:
    return np.dtype(f"u{dtype.itemsize}")
