"""The shaders in numpy: runs a KernelSpec on host bytes, so that plans are tested without a device.

Index arithmetic follows shaders/include/axes.glsl and destination.glsl step by step, the divisions by multiplication
included, and every access is checked against its window. What is done to values is numpy's: of conversions those of
numbers in the range of float64, rounded to nearest even and saturated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from restride.dtypes import DTYPES
from restride.kernel import KernelSpec
from restride.plan.axes import MAX_AXES
from restride.plan.conversion import ELEMENT_TYPES, ScaledPush

_U32 = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True)
class TwinAxis:
    size: int
    src: int
    dst: int
    table: int
    slot: int
    size_multiplier: tuple[int, int] | None = None
    dst_multiplier: tuple[int, int] | None = None
    pairs: tuple[int, int] = (0, 0)

    def divide_by_size(self, n: np.ndarray) -> np.ndarray:
        return _divide(n, self.size, self.size_multiplier)

    def divide_by_dst(self, n: np.ndarray) -> np.ndarray:
        return n if self.dst == 1 else _divide(n, self.dst, self.dst_multiplier)


def _divide(n: np.ndarray, divisor: int, multiplier: tuple[int, int] | None) -> np.ndarray:
    if multiplier is None:
        return n // divisor
    factor, shift = multiplier
    return (n * factor >> 32) >> shift


def run(kernels: tuple[KernelSpec, ...], src: np.ndarray, dst: np.ndarray) -> None:
    """Run the kernels on byte arrays; ``dst`` is written in place."""
    for kernel in kernels:
        _run_one(kernel, src, dst)


def _run_one(kernel: KernelSpec, src: np.ndarray, dst: np.ndarray) -> None:
    windows = []
    for binding, memory in zip(kernel.bindings, (src, dst), strict=True):
        assert binding.offset % 4 == 0
        assert binding.nbytes % 4 == 0
        room = -(-max(len(memory), 1) // 16) * 16  # an empty memory has a place too
        assert binding.offset + binding.nbytes <= room
        padded = np.zeros(room, np.uint8)
        padded[: len(memory)] = memory
        windows.append(padded[binding.offset : binding.offset + binding.nbytes])
    parameters = np.frombuffer(kernel.parameters, np.uint32).astype(np.int64)
    if kernel.shader.startswith("digit"):
        _digits(kernel, windows, parameters.reshape(-1, 4))
        _write_back(kernel, windows, dst)
        return
    name = kernel.shader.removesuffix("_specialised")
    axes = _axes(kernel, parameters, specialised=name != kernel.shader)
    if name.startswith("transpose"):
        _transpose(kernel, axes, windows, aligned=name.endswith("aligned"))
    elif name.startswith(("strided", "run")):
        _strided(kernel, axes, windows, name)
    elif name in ("convert_fours", "convert_planes"):
        _fours(kernel, axes, windows)
    elif name == "resample_rows":
        _rows(kernel, axes, windows, parameters)
    else:
        _elements(kernel, axes, windows, parameters)
    _write_back(kernel, windows, dst)


def _write_back(kernel: KernelSpec, windows: list[np.ndarray], dst: np.ndarray) -> None:
    binding = kernel.bindings[1]
    end = min(binding.offset + binding.nbytes, len(dst))
    dst[binding.offset : end] = windows[1][: end - binding.offset]


def _axes(kernel: KernelSpec, parameters: np.ndarray, specialised: bool) -> list[TwinAxis]:
    if kernel.shader.startswith("run"):
        return [TwinAxis(kernel.push[2], 1, 1, 0, 0)]
    if specialised:
        rank = kernel.constants[8]
        assert rank <= MAX_AXES
        fields = [kernel.constants[9 + 5 * k : 14 + 5 * k] for k in range(rank)]
        pairs = [kernel.constants[69 + 2 * k : 71 + 2 * k] for k in range(rank)]
        return [
            TwinAxis(size, _signed(src), dst, table, slot, pairs=its_pairs)
            for (size, src, dst, table, slot), its_pairs in zip(fields, pairs, strict=True)
        ]
    axes = []
    for k in range(parameters[0]):
        size, src, dst, table, *rest = (int(v) for v in parameters[8 + 12 * k : 20 + 12 * k])
        by_size, by_dst, slot, pairs = tuple(rest[:2]), tuple(rest[2:4]), rest[4], tuple(rest[5:7])
        axes.append(TwinAxis(size, _signed(src), dst, table, slot, by_size, by_dst, pairs))
    return axes


def _signed(word: int) -> int:
    return word - (1 << 32) if word >= 1 << 31 else word


def _walk(index: np.ndarray, axes: list[TwinAxis]) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
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


def _pieces(kernel: KernelSpec, per_group: int) -> np.ndarray:
    count = kernel.push[2]
    assert kernel.groups[0] * kernel.groups[1] * per_group >= count
    assert count < 1 << 31
    return np.arange(count, dtype=np.int64)


def _strided(kernel: KernelSpec, axes: list[TwinAxis], windows: list[np.ndarray], name: str) -> None:
    src_base, dst_base, _, _, lane_stride = kernel.push
    src, dst, _ = _walk(_pieces(kernel, 512), axes)
    width = int(name.rsplit("_", 1)[1]) // 8
    wide_src, out = (window[: len(window) // width * width].view(f"V{width}") for window in windows)
    if "fill" in name:
        words = np.array([src_base, lane_stride] * 2, np.uint32)[: width // 4].view(f"V{width}")
        _put(out, dst_base + dst, words.repeat(len(dst)))
    elif "scatter" in name:
        lanes = np.arange(4) * lane_stride
        taken = _at(wide_src, _signed(src_base) + src)
        places = dst_base + dst[:, None] + lanes
        _put(windows[1].view(np.uint32), places.ravel(), np.ascontiguousarray(taken).view(np.uint32))
    elif "gather" in name:
        lanes = np.arange(4) * _signed(lane_stride)
        taken = _at(windows[0].view(np.uint32), _signed(src_base) + src[:, None] + lanes)
        _put(out, dst_base + dst, np.ascontiguousarray(taken).view("V16")[:, 0])
    else:
        _put(out, dst_base + dst, _at(wide_src, _signed(src_base) + src))


def _at(buffer: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    assert offsets.min() >= 0
    assert offsets.max() < len(buffer)
    return buffer[offsets]


def _put(buffer: np.ndarray, offsets: np.ndarray, values: np.ndarray) -> None:
    assert offsets.min() >= 0
    assert offsets.max() < len(buffer)
    assert len(np.unique(offsets)) == len(offsets)
    buffer[offsets] = values


def _transpose(kernel: KernelSpec, outer: list[TwinAxis], windows: list[np.ndarray], aligned: bool) -> None:
    src_base, dst_base, a_size, b_size, a_src, b_src, b_dst = kernel.push
    b_src = _signed(b_src)
    assert kernel.groups[0] * 8 >= a_size
    assert kernel.groups[1] * 128 >= b_size
    outer_src, outer_dst, _ = _walk(np.arange(kernel.groups[2], dtype=np.int64), outer)
    a, b = np.meshgrid(np.arange(a_size), np.arange(b_size))
    src = (src_base + outer_src[:, None, None] + a * a_src + b * b_src) % (1 << 32)
    dst = dst_base + outer_dst[:, None, None] + a + b * b_dst
    if aligned:
        steps = [a_size, b_size, a_src, b_dst, *outer_src, *outer_dst, src_base, dst_base]
        assert not any(int(step) % 4 for step in steps)
        assert b_src == 1
    _put(windows[1].view(np.uint32), dst.ravel(), _at(windows[0].view(np.uint32), src.ravel()))


def _elements(kernel: KernelSpec, axes: list[TwinAxis], windows: list[np.ndarray], parameters: np.ndarray) -> None:
    src_base, dst_base, _, first = kernel.push[:4]
    bits, own_words = kernel.constants[:2]
    lanes = 32 // bits
    piece = _pieces(kernel, 128)
    if own_words:
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
        coordinates = [coordinate[is_element] for coordinate in coordinates]
        dst = offset[is_element]
    else:
        _, dst, coordinates = _walk(piece, axes)
        dst = dst + dst_base
    unsigned = f"u{bits // 8}"
    if kernel.shader == "element_fill":
        _put(windows[1].view(unsigned), dst, np.full(len(dst), src_base).astype(unsigned))
        return
    if kernel.shader.startswith("convert_elements"):
        src = src_base + sum(coordinate * axis.src for axis, coordinate in zip(axes, coordinates, strict=True))
        pairs = _pair_places(kernel, axes, coordinates, len(dst))
        _put_converted(kernel, windows, np.broadcast_to(src, dst.shape) % (1 << 32), dst, pairs)
        return
    if kernel.shader in ("resample", "resample_specialised"):
        _put_interpolated(kernel, windows, axes, coordinates, dst, parameters)
    else:
        _put_moved(bits, windows, src_base, axes, coordinates, dst, parameters)


def _put_interpolated(
    kernel: KernelSpec,
    windows: list[np.ndarray],
    axes: list[TwinAxis],
    coordinates: list[np.ndarray],
    dst: np.ndarray,
    parameters: np.ndarray,
) -> None:
    assert kernel.constants[2:4] == (0, 0), "the twin interpolates f32 only"
    assert kernel.constants[5] == 0, "without scales"
    source = windows[0].view(np.float32)
    values = _interpolated(source, kernel.push[0], axes, coordinates, parameters, kernel.constants[6])
    _put(windows[1].view(np.float32), dst, values)


def _put_moved(
    bits: int,
    windows: list[np.ndarray],
    src_base: int,
    axes: list[TwinAxis],
    coordinates: list[np.ndarray],
    dst: np.ndarray,
    parameters: np.ndarray,
) -> None:
    src = np.full(len(dst), src_base, np.int64)
    for axis, coordinate in zip(axes, coordinates, strict=True):
        src += parameters[4 * axis.table + coordinate] if axis.table else coordinate * axis.src
    source, out = (window.view(f"u{bits // 8}") for window in windows)
    _put(out, dst, _at(source, src % (1 << 32)))


def _rows(kernel: KernelSpec, axes: list[TwinAxis], windows: list[np.ndarray], parameters: np.ndarray) -> None:
    """resample_rows.comp: groups along the elements of a row, blocks of eight rows, and the axes outside the rows."""
    src_base, dst_base, count, pieces, blocks = kernel.push[:5]
    bits, elements = kernel.constants[:2]
    position, taps = kernel.constants[7] & 15, kernel.constants[7] >> 4
    row = axes[position]
    assert 1 <= taps <= 4
    assert blocks == -(-row.size // 8)
    assert kernel.groups[0] * kernel.groups[1] * 128 >= count
    outer, rows, inner = np.indices((count // (pieces * blocks), row.size, pieces * elements)).reshape(3, -1)
    _, inner_dst, inner_coordinates = _walk(inner, axes[:position])
    _, outer_dst, outer_coordinates = _walk(outer, axes[position + 1 :])
    dst = dst_base + inner_dst + rows * row.dst + outer_dst
    assert elements * bits >= 32
    side_by_side = dst.reshape(-1, elements)
    assert (side_by_side == side_by_side[:, :1] + np.arange(elements)).all()
    assert (side_by_side[:, 0] % elements == 0).all()
    coordinates = [*inner_coordinates, rows, *outer_coordinates]
    if kernel.constants[6]:
        assert axes[position].slot >> 2 == taps
        _put_interpolated(kernel, windows, axes, coordinates, dst, parameters)
    else:
        assert kernel.constants[2] == kernel.constants[3], "the twin moves elements as they are"
        _put_moved(bits, windows, src_base, axes, coordinates, dst, parameters)


def _digits(kernel: KernelSpec, windows: list[np.ndarray], rows: np.ndarray) -> None:
    """digit_copy.comp: the same program, with checks that a number is there before it is used, and never negative."""
    converts = kernel.shader == "digit_convert"
    bits, words, fill = kernel.constants[:3]
    room = kernel.constants[-1]
    src_base, dst_base, _, _, upper = kernel.push[:5]
    index = _pieces(kernel, 128)
    axes, digits, src_terms, dst_terms = (int(word) for word in rows[0])
    assert axes + digits <= room
    numbers: dict[int, np.ndarray] = {}
    row = 1
    for number, size, *multiplier in rows[row : row + axes]:
        rest = _divide(index, size, tuple(multiplier)) if size > 1 else index
        numbers[int(number)] = index - rest * size
        index = rest
        row += 1

    def sum_of_terms(count: int, start: int) -> np.ndarray:
        nonlocal row
        terms, row = rows[row : row + count], row + count
        total = np.full(kernel.push[2], start, np.int64)
        for number, coefficient, *_ in terms:
            total = total + numbers[int(number)] * _signed(int(coefficient))
        return total

    for digit in range(digits):
        (terms, const, modulus, divisor), multipliers = (int(word) for word in rows[row]), rows[row + 1]
        row += 2
        value = sum_of_terms(terms, _signed(const))
        assert (value >= 0).all()
        if modulus:
            value = value - modulus * _divide(value, modulus, tuple(multipliers[:2]))
        numbers[axes + digit] = _divide(value, divisor, tuple(multipliers[2:])) if divisor > 1 else value
    src, dst = sum_of_terms(src_terms, _signed(src_base)), sum_of_terms(dst_terms, _signed(dst_base))
    if converts:
        counts, row = rows[row], row + 1
        starts = kernel.push[5:7]
        pairs = [sum_of_terms(int(count), start) % (1 << 32) for count, start in zip(counts[:2], starts, strict=True)]
        _put_converted(kernel, windows, src, dst, pairs)
        return
    width = bits * words // 8
    if fill:
        value = (src_base | upper << 32) & ((1 << 8 * width) - 1)
        taken = np.frombuffer(value.to_bytes(width, "little") * len(dst), f"V{width}")
    else:
        taken = _at(windows[0][: len(windows[0]) // width * width].view(f"V{width}"), src)
    _put(windows[1][: len(windows[1]) // width * width].view(f"V{width}"), dst, taken)


def _fours(kernel: KernelSpec, axes: list[TwinAxis], windows: list[np.ndarray]) -> None:
    """convert.comp with FOURS: four neighbours of the destination in each plane, by loads and stores of whole words."""
    push = ScaledPush(*kernel.push)
    steps, planes, is_run = kernel.constants[5:8]
    assert 1 < planes <= 4 if "planes" in kernel.shader else planes == 1
    src, dst, coordinates = _walk(_pieces(kernel, 512), axes)
    pairs = _pair_places(kernel, axes, coordinates, len(dst))
    # Every element that is made: its four, its plane, its lane.
    src, dst = ((offset + base)[:, None, None] for offset, base in ((src, push.src_base), (dst, push.dst_base)))
    plane, lane = np.arange(planes)[:, None], np.arange(4)
    if is_run:
        first = src % (1 << 32)
        assert not (first % 4).any()
        assert kernel_types(kernel)[0].itemsize * planes <= 16  # what the array of a run holds: 16 words
        taken = first + lane * planes + plane
    else:
        taken = (src + lane * _signed(push.lane_stride) + 0 * plane) % (1 << 32)
    made = dst + plane * push.plane_stride + lane
    assert not (made[..., 0] % 4).any()
    its_pairs = [
        np.broadcast_to(start[:, None, None] + plane * by_plane + lane * along_four, made.shape).ravel() % (1 << 32)
        for start, by_plane, along_four in (
            (pairs[0], push.src_pair_plane, push.src_pair_lane if steps & 128 else 0),
            (pairs[1], push.dst_pair_plane, push.dst_pair_lane if steps & 256 else 0),
        )
    ]
    # A word of up to 128 bits is inside its window or not read at all.
    for window, dtype, offsets, is_wide in zip(
        windows, kernel_types(kernel), (taken, made), (is_run, True), strict=True
    ):
        unit = min(4 * dtype.itemsize, 16)
        assert not is_wide or ((offsets * dtype.itemsize // unit + 1) * unit <= len(window)).all()
    _put_converted(kernel, windows, taken.ravel(), made.ravel(), its_pairs)


def kernel_types(kernel: KernelSpec) -> tuple[np.dtype, np.dtype]:
    names = list(ELEMENT_TYPES)
    src, dst = (DTYPES[names[number]].dtype for number in kernel.constants[2:4])
    assert kernel.constants[0] == 8 * dst.itemsize
    return src, dst


def _pair_places(
    kernel: KernelSpec, axes: list[TwinAxis], coordinates: list[np.ndarray], count: int
) -> list[np.ndarray]:
    places = [np.full(count, start, np.int64) for start in kernel.push[5:7]]
    for axis, coordinate in zip(axes, coordinates, strict=True):
        places = [place + coordinate * step for place, step in zip(places, axis.pairs, strict=True)]
    return [place % (1 << 32) for place in places]


def _put_converted(
    kernel: KernelSpec, windows: list[np.ndarray], src: np.ndarray, dst: np.ndarray, pair_places: list[np.ndarray]
) -> None:
    """made_of in scales.glsl, for each place of a source element and of the destination element that it becomes."""
    push = ScaledPush(*kernel.push)
    src_type, dst_type = kernel_types(kernel)
    rounding, steps = kernel.constants[4:6]
    assert rounding == 4, "the twin rounds to nearest even and saturates"
    source, out = (
        window[: len(window) // dtype.itemsize * dtype.itemsize].view(dtype)
        for window, dtype in zip(windows, (src_type, dst_type), strict=True)
    )
    table = np.frombuffer(kernel.parameters, np.float32).reshape(-1, 2)
    scalars = np.array(push[7:12], np.uint32).view(np.float32)
    sides = [
        _at(table, place).T if steps & bit else scalar
        for place, bit, scalar in zip(pair_places, (32, 64), (scalars[:2], scalars[2:4]), strict=True)
    ]
    value = _at(source, src)
    if steps:
        value = value.astype(np.float32)
        value = value - sides[0][1] if steps & 1 else value
        value = sides[0][0] * value if steps & 2 else value
        value = value + scalars[4] * _at(out, dst).astype(np.float32) if steps & 4 else value
        value = value / sides[1][0] if steps & 8 else value
        value = value + sides[1][1] if steps & 16 else value
    if dst_type.kind in "iu":
        bounds = np.iinfo(dst_type)
        value = np.rint(value.astype(np.float64)).clip(bounds.min, bounds.max)
    _put(out, dst, value.astype(dst_type))


def _interpolated(
    source: np.ndarray,
    src_base: int,
    axes: list[TwinAxis],
    coordinates: list[np.ndarray],
    words: np.ndarray,
    slots: int,
) -> np.ndarray:
    """Nested sums of weighted taps in f32, slot 0 innermost, as value_1, value_2, ... of resample.comp."""
    offset = np.full(len(coordinates[0]), src_base, np.int64)
    taps = {}
    for axis, coordinate in zip(axes, coordinates, strict=True):
        if axis.table:
            count = axis.slot >> 2
            row = 4 * axis.table + coordinate * (1 + count)
            offset += words[row]
            weights = words[row[:, None] + 1 + np.arange(count)].astype(np.uint32).view(np.float32)
            taps[axis.slot & 3] = (axis.src, weights)
        else:
            offset += coordinate * axis.src
    assert sorted(taps) == list(range(slots & 3))
    start = np.float32(0.0 if slots & 4 else -0.0)

    def value(slot: int, offset: np.ndarray) -> np.ndarray:
        if slot < 0:
            return _at(source, offset % (1 << 32))
        stride, weights = taps[slot]
        total = np.full(len(offset), start)
        for tap in range(weights.shape[1]):
            part = value(slot - 1, offset + tap * stride) * weights[:, tap]
            total = total + np.where(weights[:, tap] == 0, np.float32(-0.0), part)
        return total

    return value(len(taps) - 1, offset)
