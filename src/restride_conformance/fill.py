"""The values of tensors before a case runs, as deterministic functions of position, element type and seed.

``bits`` for copies, ``numbers`` for arithmetic, ``aimed`` for conversions, ``comparable`` for comparisons; ``edges``,
``indices`` and ``image`` on request; ``poison`` for every other byte of a buffer.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from restride.dtypes import Array, DType, ElementType

POISON_SEED = 0xDEAD


def poison(nbytes: int, seed: int = POISON_SEED) -> Array:
    """Bytes for guards, padding and unwritten elements, a function of their position: uint8, 1-D."""
    words = hashed_words(np.arange(-(-nbytes // 8), dtype=np.uint64), seed)
    return words.astype("<u8").view(np.uint8)[:nbytes].copy()


def hashed_words(index: Array, seed: int) -> Array:
    """64 well-mixed bits for each index: splitmix64's finalizer; uint64 in and out, wrapping."""
    start = (seed * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15) % (1 << 64)
    mixed = (index + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(start)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _shuffled(values: Array, width: int) -> Array:
    """A bijection of ``[0, 2^width)``: two odd multiplications and one xor fold, each of them invertible."""
    mask, half = np.uint64((1 << width) - 1), np.uint64(width // 2)
    values = (values * np.uint64(0xB5)) & mask
    values ^= values >> half
    return (values * np.uint64(0x6D)) & mask


def _unsigned(dtype: DType) -> np.dtype[Any]:
    return np.dtype(f"u{dtype.itemsize}")


# Bit patterns that copies must keep and careless conversions change: signed zeros, denormals, infinities,
# quiet and signalling NaNs with payloads, the largest finite number.
_F32_EDGES = (
    0, 0x80000000, 0x00000001, 0x807FFFFF, 0x7F800000, 0xFF800000, 0x7FC12345, 0x7F800001, 0xFFA54321, 0x7F7FFFFF,
)  # fmt: skip
_F64_EDGES = (
    0, 1 << 63, 1, (1 << 63) | ((1 << 52) - 1), 0x7FF << 52, 0xFFF << 52, 0x7FF8000012345678, (0x7FF << 52) | 1,
    0xFFF4000087654321, 0x7FEFFFFFFFFFFFFF,
)  # fmt: skip


def _linear_edges(form: ElementType) -> list[int]:
    """Bit patterns that sums may get wrong, of floats up to 32 bits and of 32-bit integers; of other types none.

    Floats: zero, infinities, NaN, the largest numbers, the smallest of f16 and the 8-bit floats. The smallest of f32
    and bf16 are left out: a weight turns them into f32 denormals, which devices may flush. Integers: the bounds, and
    numbers that f32 does not hold.
    """
    sign = 1 << form.bits - 1
    if form.bits == 64 or not (form.is_float or form.bits == 32):
        return []
    if not form.is_float:
        beyond = 1 << form.whole_digits
        tie = beyond - (beyond >> 25)  # halfway from the largest f32 in the range to its end
        return [beyond - 1, sign, tie, tie - 1, sign + 1, (1 << 24) + 1]
    nan = form.nan | 0x12345 >> (32 - form.bits)
    if form.infinity is None:
        patterns = [sign, nan, sign | nan]
    else:
        patterns = [sign, form.infinity, sign | form.infinity, nan, form.infinity | 1]  # a quiet and a signalling NaN
    if not form.saturates:
        return [*patterns, form.largest]
    normal = 1 << form.fraction
    return [*patterns, form.largest, sign | form.largest, 1, normal >> 1, sign | (normal - 1), normal]


def bits(dtype: DType, count: int, seed: int = 0) -> Array:
    """Elements with any bit pattern, for copies: 1-D, ``count`` elements of ``dtype``.

    8- and 16-bit types: every aligned run of 2^bits elements holds every pattern once, each run in another order.
    32- and 64-bit floats: hashed bits, about one in eight an edge value. Integers: hashed bits. pred: False and True in
    every aligned pair, in hashed order.
    """
    element = dtype.dtype
    index = np.arange(count, dtype=np.uint64)
    if dtype == "pred":
        booleans: Array = (hashed_words(index >> np.uint64(1), seed) ^ index) & np.uint64(1) != 0
        return booleans
    if element.itemsize <= 2:
        width = 8 * element.itemsize
        patterns: Array = _shuffled(index & np.uint64((1 << width) - 1), width)
        patterns = patterns ^ hashed_words(index >> np.uint64(width), seed)
        return patterns.astype(_unsigned(dtype)).view(element)
    hashed = hashed_words(index, seed)
    if dtype.is_float:
        edges = np.array(_F32_EDGES if element.itemsize == 4 else _F64_EDGES, np.uint64)
        chosen = edges[(hashed >> np.uint64(40)) % np.uint64(len(edges))]
        hashed = np.where(hashed >> np.uint64(61) == 0, chosen, hashed)
    return hashed.astype(_unsigned(dtype)).view(element)


def comparable(dtype: DType, count: int, seed: int = 0) -> Array:
    """Elements, half with any bits and half 0 or 1, which every type can hold: 1-D, ``count`` of ``dtype``."""
    hashed = hashed_words(np.arange(count, dtype=np.uint64), seed)
    ones = (hashed & np.uint64(1)).astype(dtype.dtype)
    return np.where(hashed >> np.uint64(63) == 0, ones, bits(dtype, count, seed))


def numbers(dtype: DType, count: int, seed: int = 0) -> Array:
    """Finite elements of moderate magnitude, for arithmetic: 1-D, ``count`` elements of ``dtype``.

    f32: 24-bit integers / 2^14, up to 1024. f16: 11-bit integers / 2^8, up to 8. bf16: 8-bit integers / 2^5, up to 8.
    8-bit floats: 1/4 to 4. Integers of 8 and 16 bits: all values. s32, u32: up to 1000 and 2000 in magnitude, where f32
    arithmetic cannot hide a wrong rounding; with a seed of 3 modulo 4 the whole range, where it must saturate. Others:
    integers from 0 on.
    """
    hashed = hashed_words(np.arange(count, dtype=np.uint64), seed)
    form = dtype.format
    if form.is_float and form.bits == 8:
        quarter = np.uint64(form.bias - 2 << form.fraction)
        positive = quarter + (hashed >> np.uint64(8)) % np.uint64(4 << form.fraction)
        return (positive | (hashed & np.uint64(0x80))).astype(np.uint8).view(dtype.dtype)
    if not form.is_float and form.bits <= 16:
        return bits(dtype, count, seed)
    if not form.is_float and form.bits == 32:
        if seed % 4 == 3:
            return hashed.astype(np.uint32).view(dtype.dtype)
        lowest = 1000 if dtype == "s32" else 0
        return ((hashed % np.uint64(2001)).astype(np.int64) - lowest).astype(dtype.dtype)
    if form.bits == 64:
        return _integers(dtype, hashed)
    magnitude = (hashed & np.uint64((1 << form.digits) - 1)).astype(np.float64)
    magnitude *= 2.0 ** ((10 if form.bits == 32 else 3) - form.digits)
    return np.where(hashed >> np.uint64(63) == 0, magnitude, -magnitude).astype(dtype.dtype)


def indices(dtype: DType, count: int) -> Array:
    """Elements that equal their linear index, modulo what ``dtype`` holds exactly, so a wrong copy is easy to read."""
    return _integers(dtype, np.arange(count, dtype=np.uint64))


def _integers(dtype: DType, words: Array) -> Array:
    """The low bits of ``words`` as nonnegative integers, as many bits as ``dtype`` holds exactly."""
    held = min(dtype.format.digits, dtype.format.whole_digits)
    integers: Array = (words & np.uint64((1 << held) - 1)).astype(dtype.dtype)
    return integers


def image(dtype: DType, sizes: tuple[int, ...], seed: int = 0) -> Array:
    """A test picture: gradients, rings about a point off the centre, and a bright corner; all sides differ.

    Rows and columns are the two longest axes, the later ones among equals. The index along each other axis shifts the
    rings, and so does the seed. Floats: 0 to 1. u8 and s8: their range. Other integers: 0 to 1000. pred: rings of True
    and False.
    """
    along = sorted(sorted(range(len(sizes)), key=lambda axis: (sizes[axis], axis))[-2:])
    place = [np.zeros((1,) * len(sizes))] * 2  # column, row: the middle of each element in (0, 1)
    phase = np.full((1,) * len(sizes), float(seed % 16))
    for axis, size in enumerate(sizes):
        steps = np.arange(size, dtype=np.float64).reshape([size if other == axis else 1 for other in range(len(sizes))])
        if axis in along:
            place[along[::-1].index(axis)] = (steps + 0.5) / max(size, 1)
        else:
            phase = phase + steps
    column, row = place
    rings = np.cos(np.hypot(column - 0.3, row - 0.4) * 30 - phase)
    corner = (column > 0.7) & (row > 0.8)
    shade = np.clip(0.3 * column + 0.2 * row + 0.2 * (1 + rings) + 0.3 * corner, 0, 1)
    if dtype == "pred":
        return np.asarray(shade > 0.5)
    if not dtype.is_float:
        lowest, highest = {"u8": (0, 255), "s8": (-128, 127)}.get(dtype.name, (0, 1000))
        shade = np.rint(lowest + shade * (highest - lowest))
    picture: Array = shade.astype(dtype.dtype)
    return picture


def edges(dtype: DType, count: int, seed: int = 0) -> Array:
    """``numbers``, about half of them replaced by an edge value."""
    values = numbers(dtype, count, seed)
    if linear := _linear_edges(dtype.format):
        patterns = np.array(linear, np.uint64).astype(_unsigned(dtype)).view(dtype.dtype)
        hashed = hashed_words(np.arange(count, dtype=np.uint64), seed + 1)
        chosen = patterns[(hashed >> np.uint64(40)) % np.uint64(len(patterns))]
        values = np.where(hashed >> np.uint64(63) == 0, chosen, values)
    return values


# Elements chosen for a conversion. Of eight, four are plain numbers within the destination's range, two are halfway
# between neighbours of its type or next to that, one is near a bound of its range, and one has random bits, which
# include denormals, infinities and NaN.

_TRUTHS = np.array((0, 1, 0, 2, 0, 0x80, 0, 0xFF), np.uint8)
"""Bytes of pred elements to be converted: every byte that is not 0 is true."""


def aimed(src: DType, dst: DType, count: int, seed: int = 0) -> Array:
    """Elements of ``src`` to be converted to ``dst``: 1-D, ``count`` of them.

    8-bit types have every bit pattern. For a conversion to pred about half are zeros, for floats with both signs.
    """
    if dst == "pred" and src != "pred":
        words = _words(count, seed, 6) >> np.uint64(60)
        zero, minus_zero = np.array((0, 1 << (8 * src.itemsize - 1)), _unsigned(src))
        zeros = np.where((words & np.uint64(3) == 0) & src.is_float, minus_zero, zero)
        others = bits(src, count, seed).view(_unsigned(src))
        return np.where(words < 8, zeros, others).view(src.dtype)
    if src.itemsize == 1:
        return _bytes(src, count, seed)
    words, choice = _words(count, seed, 1), _words(count, seed, 2) >> np.uint64(61)
    ties = _ties_of_floats if src.is_float else _ties_of_integers
    with np.errstate(all="ignore"):  # an overflow gives an infinity, as intended
        bounds = _bounds(src, dst)
        kinds = (plain(src, dst, count, seed), ties(src, dst, words), bounds[words % np.uint64(len(bounds))])
    patterns = [array.view(_unsigned(src)) for array in (*kinds, bits(src, count, seed))]
    chosen: Array = np.select([choice < 4, choice < 6, choice < 7], patterns[:3], patterns[3])
    return chosen.view(src.dtype)


def plain(src: DType, dst: DType, count: int, seed: int = 0) -> Array:
    """Numbers of every magnitude up to the bounds of both types; for a float ``dst``, floats from 1/64 to 1024.

    8-bit types have every bit pattern. Few numbers are negative where ``dst`` has no negative numbers.
    """
    if src.itemsize == 1:
        return _bytes(src, count, seed)
    words, sizes = _words(count, seed, 3), _words(count, seed, 4)
    if not src.is_float:
        length = sizes % np.uint64(min(src.format.whole_digits, dst.format.whole_digits + 1)) + np.uint64(1)
        return _as_integers(src, dst, words >> (np.uint64(64) - length), sizes)
    high = min(src.format.whole_digits, dst.format.whole_digits)
    low, high = (-6, min(high, 10)) if dst.is_float else (-2, high)
    exponent = (sizes % np.uint64(high - low)).astype(np.int64) + low
    magnitude = np.ldexp(1 + (words >> np.uint64(12)).astype(np.float64) / (1 << 52), exponent)
    return np.where(_is_negative(dst, sizes), -magnitude, magnitude).astype(src.dtype)


def _bytes(src: DType, count: int, seed: int) -> Array:
    """``bits``; for pred, bytes in which several values mean true."""
    return _TRUTHS[_words(count, seed, 5) >> np.uint64(61)].view(np.bool_) if src == "pred" else bits(src, count, seed)


def _ties_of_floats(src: DType, dst: DType, words: Array) -> Array:
    """Numbers halfway between two neighbours of ``dst``, or one unit in the last place of ``src`` above or below."""
    bits_of = hashed_words(words, 1)
    if dst.is_float:
        # Neighbours are those of the type with the smaller range: neighbours in the wider type are hardly ever within
        # both ranges.
        grid = min(dst, src, key=lambda dtype: dtype.format.whole_digits)
        lower = bits_of.astype(_unsigned(grid))
        below, above = (each.view(grid.dtype).astype(np.float64) for each in (lower, lower + lower.dtype.type(1)))
        halfway = (below + above) / 2
    else:
        # The number of bits of the whole part; 0: the number is 1/2.
        length = words % np.uint64(min(src.format.whole_digits, dst.format.whole_digits) + 1)
        whole = np.where(length == 0, 0, bits_of >> ((np.uint64(64) - length) & np.uint64(63)))
        halfway = np.where(_is_negative(dst, words), -1, 1) * (whole.astype(np.float64) + 0.5)
    patterns: Array = halfway.astype(src.dtype).view(_unsigned(src)) + _off_by_one(words).astype(_unsigned(src))
    return patterns.view(src.dtype)


def _ties_of_integers(src: DType, dst: DType, words: Array) -> Array:
    """As ``_ties_of_floats``, for integers; if ``dst`` is an integer type, which needs no rounding, near powers of two.

    Example: bf16 keeps 8 digits of an s32 with 20 bits, so the other twelve of a tie are a 1 and eleven zeros.
    """
    length = words % np.uint64(min(src.format.whole_digits, dst.format.whole_digits)) + np.uint64(1)
    leading = np.uint64(1) << (length - np.uint64(1))
    if not dst.is_float:
        return _as_integers(src, dst, leading + _off_by_one(words), words)
    cut = np.maximum(length.astype(np.int64) - dst.format.digits, 0).astype(np.uint64)
    digits = (hashed_words(words, 1) & (leading - np.uint64(1)) | leading) >> cut << cut
    half = (np.uint64(1) << cut) >> np.uint64(1)
    return _as_integers(src, dst, digits + half + _off_by_one(words), words)


def _off_by_one(words: Array) -> Array:
    """-1, 0, 0 or 1, modulo 2^64."""
    steps: Array = np.array((-1, 0, 0, 1), np.int64).astype(np.uint64)[(words >> np.uint64(50)) & np.uint64(3)]
    return steps


@cache
def _bounds(src: DType, dst: DType) -> Array:
    """Numbers near the largest, the lowest and the smallest positive numbers of ``dst``, if ``src`` can hold them."""
    if not dst.is_float:
        low, high = dst.format.range
        numbers: list[float] = [low, high, -1, 0, 1, 2 * high + 1, 2 * high + 2]
        numbers += [low - 1, low + 1, high - 1, high + 1, low - 0.5, low + 0.5, high - 0.5, high + 0.5, 1.5, 2.5]
    else:
        form = dst.format
        largest, normal = form.range[1], 2.0 ** (1 - form.bias)
        least = normal * 2.0**-form.fraction
        step = 2.0 ** (form.whole_digits - form.digits)  # distance of the largest numbers from each other
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
    lowest, highest = src.format.range
    whole = [int(number) for number in numbers if abs(number) < 1 << 65 and number == int(number)]
    return np.array([n for n in (*whole, lowest, highest, highest - 1) if lowest <= n <= highest], src.dtype)


def _words(count: int, seed: int, which: int) -> Array:
    """Hashed words, a different sequence for each ``which``."""
    return hashed_words(np.arange(count, dtype=np.uint64) + np.uint64(which << 44), seed)


def _as_integers(src: DType, dst: DType, magnitudes: Array, words: Array) -> Array:
    """Integers of ``src`` with these magnitudes, modulo its range, some of them negative if ``src`` is signed."""
    negative = _is_negative(dst, words) & (src.format.range[0] < 0)
    return np.where(negative, np.uint64(0) - magnitudes, magnitudes).astype(_unsigned(src)).view(src.dtype)


def _is_negative(dst: DType, words: Array) -> Array:
    """The numbers to negate: half of them, or an eighth if ``dst`` has no negative numbers."""
    eighths = (words >> np.uint64(40)) % np.uint64(8)
    return np.asarray(eighths < (1 if dst.format.range[0] == 0 else 4))
