"""What the shaders in numpy share: axes out of the storage buffer, divisions, accesses that stay in their windows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from restride.dtypes import DTYPES
from restride.kernel import KernelSpec
from restride.kernel.modules import interface_of
from restride.plan.convert import ELEMENT_TYPES
from restride.plan.problem import MAX_AXES

_NUMBERS = ("src_scale", "src_zero_point", "dst_scale", "dst_zero_point", "sum_scale")


@dataclass(frozen=True)
class TwinAxis:
    size: int
    src: int
    dst: int
    table: int
    slot: int
    taps: int
    size_multiplier: tuple[int, int]
    dst_multiplier: tuple[int, int]
    pairs: tuple[int, int]

    def divide_by_size(self, n: np.ndarray) -> np.ndarray:
        return divide(n, self.size_multiplier)

    def divide_by_dst(self, n: np.ndarray) -> np.ndarray:
        return n if self.dst == 1 else divide(n, self.dst_multiplier)


def divide(n: np.ndarray, multiplier: tuple[int, int]) -> np.ndarray:
    factor, shift = multiplier
    assert n.max(initial=0) < 1 << 31
    return (n * factor >> 32) >> shift


def signed(word: int) -> int:
    return word - (1 << 32) if word >= 1 << 31 else word


def axes_of(kernel: KernelSpec, words: np.ndarray) -> list[TwinAxis]:
    """The axes as load_axes of axes.glsl has them: as many as are compiled in, which are those of the header.

    Those in push constants are the same as in the buffer, where a kernel may take them from either.
    """
    rank = kernel.constant("RANK")
    assert rank == words[0] <= MAX_AXES
    places = interface_of(kernel.shader).pushed_axes
    pushed = [kernel.pushed(name) for name in places]
    axes = []
    for k in range(rank):
        size, src, dst, table, *rest = (int(v) for v in words[8 + 12 * k : 20 + 12 * k])
        by_size, by_dst, slot, pairs = tuple(rest[:2]), tuple(rest[2:4]), rest[4], tuple(rest[5:7])
        assert pushed[5 * k : 5 * k + 5] in ([], [size, src, dst, *by_size])
        axes.append(TwinAxis(size, signed(src), dst, table, slot & 3, slot >> 2, by_size, by_dst, pairs))
    return axes


def walk(index: np.ndarray, axes: list[TwinAxis]) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Source offsets without tables, destination offsets, and coordinates."""
    src = np.zeros_like(index)
    dst = np.zeros_like(index)
    coordinates = []
    for axis in axes:
        rest = axis.divide_by_size(index)
        coordinate = index - rest * axis.size
        src += coordinate * axis.src
        dst += coordinate * axis.dst
        coordinates.append(coordinate)
        index = rest
    return src, dst, coordinates


def pieces(kernel: KernelSpec, per_group: int) -> np.ndarray:
    count = kernel.pushed("pieces")
    runs = kernel.groups[0] * kernel.groups[1] * per_group
    assert runs >= count, f"{runs} of {count} pieces run, with {per_group} a group of {kernel.shader} (twin/kernels.py)"
    assert count < 1 << 31
    return np.arange(count, dtype=np.int64)


def at(buffer: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    assert offsets.min() >= 0
    assert offsets.max() < len(buffer)
    return buffer[offsets]


def put(buffer: np.ndarray, offsets: np.ndarray, values: np.ndarray) -> None:
    assert offsets.min() >= 0
    assert offsets.max() < len(buffer)
    assert len(np.unique(offsets)) == len(offsets)
    buffer[offsets] = values


def by_elements(window: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return window[: len(window) // dtype.itemsize * dtype.itemsize].view(dtype)


def destination(kernel: KernelSpec, axes: list[TwinAxis]) -> tuple[np.ndarray, list[np.ndarray]]:
    """The destination elements of destination.glsl, by owned words or by index, and their coordinates."""
    dst_base, first = kernel.pushed("dst_base"), kernel.pushed("first_word")
    lanes = 32 // kernel.constant("BITS")
    piece = pieces(kernel, 128)
    if not kernel.constant("OWN_WORDS"):
        _, dst, coordinates = walk(piece, axes)
        return dst + dst_base, coordinates
    offset = ((first + piece)[:, None] * lanes + np.arange(lanes)).ravel()
    rest = offset - dst_base
    is_element = rest >= 0
    coordinates = []
    for axis in reversed(axes):
        coordinate = axis.divide_by_dst(np.maximum(rest, 0))
        is_element &= coordinate < axis.size
        rest = rest - coordinate * axis.dst
        coordinates.insert(0, coordinate)
    is_element &= rest == 0
    return offset[is_element], [coordinate[is_element] for coordinate in coordinates]


def kernel_types(kernel: KernelSpec) -> tuple[np.dtype, np.dtype]:
    names = list(ELEMENT_TYPES)
    src, dst = (DTYPES[names[kernel.constant(side)]].dtype for side in ("SRC_TYPE", "DST_TYPE"))
    if "BITS" in interface_of(kernel.shader).constants:
        assert kernel.constant("BITS") == 8 * dst.itemsize
    return src, dst


def pair_places(
    kernel: KernelSpec, axes: list[TwinAxis], coordinates: list[np.ndarray], count: int
) -> list[np.ndarray]:
    places = [np.full(count, start, np.int64) for start in map(kernel.pushed, ("src_pairs", "dst_pairs"))]
    for axis, coordinate in zip(axes, coordinates, strict=True):
        places = [place + coordinate * step for place, step in zip(places, axis.pairs, strict=True)]
    return [place % (1 << 32) for place in places]


def is_normal(value: np.ndarray) -> np.ndarray:
    """Of f32: neither a zero, nor denormal, infinite or NaN."""
    exponent = np.asarray(value, np.float32).view(np.uint32) >> 23 & 0xFF
    return (exponent > 0) & (exponent < 255)


def put_converted(
    kernel: KernelSpec, window: np.ndarray, value: np.ndarray, dst: np.ndarray, places: list[np.ndarray]
) -> None:
    """converted in scales.glsl, for elements, or sums in f32, and the destination elements that they become."""
    _, dst_type = kernel_types(kernel)
    rounding, steps = kernel.constant("ROUNDING"), kernel.constant("STEPS")
    assert rounding & ~48 == 4, "the twin rounds to nearest even and saturates"
    assert steps < 1 << 9, "and has no post-ops"
    out = by_elements(window, dst_type)
    table = np.frombuffer(kernel.parameters, np.float32).reshape(-1, 2)
    scalars = np.array([kernel.pushed(name) for name in _NUMBERS], np.uint32).view(np.float32)
    sides = [
        at(table, place).T if steps & bit else scalar
        for place, bit, scalar in zip(places, (32, 64), (scalars[:2], scalars[2:4]), strict=True)
    ]
    if steps:
        value = value.astype(np.float32)
        value = value - sides[0][1] if steps & 1 else value
        value = sides[0][0] * value if steps & 2 else value
        value = value + scalars[4] * at(out, dst).astype(np.float32) if steps & 4 else value
        if rounding & 16:
            assert steps & 8
            assert (is_normal(value) | (value == 0)).all()
            assert is_normal(sides[1][0]).all()
            assert (is_normal(value / sides[1][0]) | (value == 0)).all()
        value = value / sides[1][0] if steps & 8 else value
        value = value + sides[1][1] if steps & 16 else value
    if dst_type.kind in "iu":
        bounds = np.iinfo(dst_type)
        value = np.rint(value.astype(np.float64)).clip(bounds.min, bounds.max)
    put(out, dst, value.astype(dst_type))
