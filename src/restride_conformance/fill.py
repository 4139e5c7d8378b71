"""What buffers hold before a case runs: deterministic functions of position, element type and seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from restride.dtypes import DType

POISON_SEED = 0xDEAD

# Bit patterns that copies must keep and careless conversions change: signed zeros, denormals, infinities,
# quiet and signalling NaNs with payloads, the largest finite number.
_F32_EDGES = (
    0, 0x80000000, 0x00000001, 0x807FFFFF, 0x7F800000, 0xFF800000, 0x7FC12345, 0x7F800001, 0xFFA54321, 0x7F7FFFFF,
)  # fmt: skip
_F64_EDGES = (
    0, 1 << 63, 1, (1 << 63) | ((1 << 52) - 1), 0x7FF << 52, 0xFFF << 52, 0x7FF8000012345678, (0x7FF << 52) | 1,
    0xFFF4000087654321, 0x7FEFFFFFFFFFFFFF,
)  # fmt: skip


_LINEAR_EDGES = {
    "f32": (0x80000000, 0x7F800000, 0xFF800000, 0x7FC12345, 0x7F7FFFFF),
    "f16": (0x8000, 0x7C00, 0xFC00, 0x7E01, 0x7BFF, 0xFBFF, 0x0001, 0x83FF, 0x0007, 0x0400),
    "bf16": (0x8000, 0x7F80, 0xFF80, 0x7FC1, 0x7F7F),
    "s32": (0x7FFFFFFF, 0x80000000, 0x7FFFFFC0, 0x7FFFFFBF, 0x80000001, 0x01000001),
    "u32": (0xFFFFFFFF, 0x80000000, 0xFFFFFF80, 0xFFFFFF7F, 0x80000001, 0x01000001),
    "f8e4m3fn": (0x80, 0x7F, 0xFF, 0x7E, 0xFE, 0x01, 0x87, 0x08),
    "f8e5m2": (0x80, 0x7C, 0xFC, 0x7D, 0x7B, 0xFB, 0x01, 0x83, 0x04),
}
"""Bit patterns that conversions may get wrong: infinities, NaN, zeros, the largest numbers, the smallest of f16. Those
of f32 and bf16 are not there: a weight makes denormals of f32 of them, which devices may flush."""


def bits(dtype: DType, count: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Elements of any bit pattern, for copies: 1-D, ``count`` elements of ``dtype``.

    8- and 16-bit types: every aligned run of 2^bits elements holds every pattern once, each run in another order.
    32- and 64-bit floats: hashed bits, every eighth an edge value. Integers: hashed bits. pred: hashed False and True,
    both in every aligned pair.
    """
    element = dtype.dtype
    index = np.arange(count, dtype=np.uint64)
    unsigned = np.dtype(f"u{element.itemsize}")
    if dtype == "pred":
        booleans: np.ndarray[Any, Any] = (hashed_words(index >> np.uint64(1), seed) ^ index) & np.uint64(1) != 0
        return booleans
    if element.itemsize <= 2:
        width = 8 * element.itemsize
        patterns: np.ndarray[Any, Any] = _shuffled(index & np.uint64((1 << width) - 1), width)
        patterns = patterns ^ hashed_words(index >> np.uint64(width), seed)
        return patterns.astype(unsigned).view(element)
    hashed = hashed_words(index, seed)
    if dtype.is_float:
        edges = np.array(_F32_EDGES if element.itemsize == 4 else _F64_EDGES, np.uint64)
        chosen = edges[(hashed >> np.uint64(40)) % np.uint64(len(edges))]
        hashed = np.where(hashed >> np.uint64(61) == 0, chosen, hashed)
    return hashed.astype(unsigned).view(element)


_NUMBERS = {"f32": (24, 2.0**-14), "f16": (11, 2.0**-8), "bf16": (8, 2.0**-5)}
"""Bits of the magnitude, and what one of them is worth."""

_NARROW_NUMBERS = {"f8e4m3fn": (5 << 3, 4 << 3), "f8e5m2": (13 << 2, 4 << 2)}
"""Of the 8-bit floats the bits of the smallest magnitude, and how many follow it: four powers of two from 1/4 on."""

_EXACT_INTEGERS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8, "f8e4m3fn": 4, "f8e5m2": 3, "pred": 1}
"""Bits n of the types that are no integers such that every integer in [0, 2^n) is one of their numbers."""


def numbers(dtype: DType, count: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Finite elements of sensible magnitude, for arithmetic: 1-D, ``count`` elements of ``dtype``, each exact.

    f32: 24-bit integers / 2^14, up to 1024. f16: 11-bit integers / 2^8, up to 8. bf16: 8-bit integers / 2^5, up to 8.
    8-bit floats: 1/4 to 4. Integers of 8 and 16 bits: all values. s32, u32: up to 1000 and 2000 in magnitude, where f32
    arithmetic cannot hide a wrong rounding; with a seed of 3 modulo 4 the whole range, where it must saturate. Others:
    integers from 0 on.
    """
    hashed = hashed_words(np.arange(count, dtype=np.uint64), seed)
    if dtype.name in _NARROW_NUMBERS:
        first, count_of = _NARROW_NUMBERS[dtype.name]
        positive = np.uint64(first) + (hashed >> np.uint64(8)) % np.uint64(count_of)
        return (positive | (hashed & np.uint64(0x80))).astype(np.uint8).view(dtype.dtype)
    if dtype.itemsize == 1 or dtype.name in ("s16", "u16"):
        return bits(dtype, count, seed)
    if dtype.name in ("s32", "u32"):
        if seed % 4 == 3:
            return hashed.astype(np.uint32).view(dtype.dtype)
        lowest = 1000 if dtype == "s32" else 0
        return ((hashed % np.uint64(2001)).astype(np.int64) - lowest).astype(dtype.dtype)
    if dtype.name not in _NUMBERS:
        return _integers(dtype, hashed)
    width, scale = _NUMBERS[dtype.name]
    magnitude = (hashed & np.uint64((1 << width) - 1)).astype(np.float64) * scale
    return np.where(hashed >> np.uint64(63) == 0, magnitude, -magnitude).astype(dtype.dtype)


def indices(dtype: DType, count: int) -> np.ndarray[Any, Any]:
    """Elements that are their own linear index, modulo what ``dtype`` holds exactly: a wrong copy can be read."""
    return _integers(dtype, np.arange(count, dtype=np.uint64))


def _integers(dtype: DType, words: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The low bits of ``words``, as many as ``dtype`` holds exactly above 0."""
    width = _EXACT_INTEGERS.get(dtype.name, 8 * dtype.itemsize - dtype.name.startswith("s"))
    integers: np.ndarray[Any, Any] = (words & np.uint64((1 << width) - 1)).astype(dtype.dtype)
    return integers


def image(dtype: DType, sizes: tuple[int, ...], seed: int = 0) -> np.ndarray[Any, Any]:
    """Something to look at: gradients, rings about a point off the centre, and a bright corner; no two sides alike.

    Rows and columns are the two longest axes, of equals the later ones. Each index along other axes moves the rings, as
    the seed does. Floats: 0 to 1. u8 and s8: their range. Other integers: 0 to 1000. pred: rings of True and False.
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
    picture: np.ndarray[Any, Any] = shade.astype(dtype.dtype)
    return picture


def edges(dtype: DType, count: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """``numbers``, in every other place an edge value."""
    values = numbers(dtype, count, seed)
    if dtype.name in _LINEAR_EDGES:
        patterns = np.array(_LINEAR_EDGES[dtype.name], np.uint64).astype(f"u{dtype.itemsize}").view(dtype.dtype)
        hashed = hashed_words(np.arange(count, dtype=np.uint64), seed + 1)
        chosen = patterns[(hashed >> np.uint64(40)) % np.uint64(len(patterns))]
        values = np.where(hashed >> np.uint64(63) == 0, chosen, values)
    return values


def poison(nbytes: int, seed: int = POISON_SEED) -> np.ndarray[Any, Any]:
    """Bytes that no operation has written, a function of their position: uint8, 1-D. Guards and padding hold them."""
    words = hashed_words(np.arange(-(-nbytes // 8), dtype=np.uint64), seed)
    return words.astype("<u8").view(np.uint8)[:nbytes].copy()


def hashed_words(index: np.ndarray[Any, Any], seed: int) -> np.ndarray[Any, Any]:
    """64 well-mixed bits for each index: splitmix64's finalizer; uint64 in and out, wrapping."""
    start = (seed * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15) % (1 << 64)
    mixed = (index + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(start)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _shuffled(values: np.ndarray[Any, Any], width: int) -> np.ndarray[Any, Any]:
    """A bijection of ``[0, 2^width)``: odd multiplications and one fold, each of which can be undone."""
    mask, half = np.uint64((1 << width) - 1), np.uint64(width // 2)
    values = (values * np.uint64(0xB5)) & mask
    values ^= values >> half
    return (values * np.uint64(0x6D)) & mask
