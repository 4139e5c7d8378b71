"""The shaders in numpy: runs a KernelSpec on host bytes, so that plans are tested without a device.

Index arithmetic follows shaders/include/axes.glsl and destination.glsl step by step, the divisions by multiplication
included, and every access is checked against its window.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from restride.kernel import KernelSpec
from restride.plan.axes import MAX_AXES

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
    if kernel.shader == "digit_copy":
        _digits(kernel, windows, parameters.reshape(-1, 4))
        _write_back(kernel, windows, dst)
        return
    name = kernel.shader.removesuffix("_specialised")
    axes = _axes(kernel, parameters, specialised=name != kernel.shader)
    if name.startswith("transpose"):
        _transpose(kernel, axes, windows, aligned=name.endswith("aligned"))
    elif name.startswith(("strided", "run")):
        _strided(kernel, axes, windows, name)
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
        return [TwinAxis(size, _signed(src), dst, table, slot) for size, src, dst, table, slot in fields]
    axes = []
    for k in range(parameters[0]):
        size, src, dst, table, *multipliers, slot = (int(v) for v in parameters[8 + 12 * k : 17 + 12 * k])
        axes.append(TwinAxis(size, _signed(src), dst, table, slot, tuple(multipliers[:2]), tuple(multipliers[2:])))
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
    src_base, dst_base, _, first, _ = kernel.push
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
    source = windows[0].view(unsigned)
    if kernel.shader.startswith("resample_linear"):
        assert kernel.constants[2] == 0, "the twin interpolates f32 only"
        values = _interpolated(source.view(np.float32), src_base, axes, coordinates, parameters.reshape(-1, 4))
        _put(windows[1].view(np.float32), dst, values)
        return
    src = np.full(len(dst), src_base, np.int64)
    for axis, coordinate in zip(axes, coordinates, strict=True):
        src += parameters[4 * axis.table + coordinate] if axis.table else coordinate * axis.src
    _put(windows[1].view(unsigned), dst, _at(source, src % (1 << 32)))


def _digits(kernel: KernelSpec, windows: list[np.ndarray], rows: np.ndarray) -> None:
    """digit_copy.comp: the same program, with checks that a number is there before it is used, and never negative."""
    bits, words, fill, room = kernel.constants
    src_base, dst_base, _, _, upper = kernel.push
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
    width = bits * words // 8
    if fill:
        value = (src_base | upper << 32) & ((1 << 8 * width) - 1)
        taken = np.frombuffer(value.to_bytes(width, "little") * len(dst), f"V{width}")
    else:
        taken = _at(windows[0][: len(windows[0]) // width * width].view(f"V{width}"), src)
    _put(windows[1][: len(windows[1]) // width * width].view(f"V{width}"), dst, taken)


def _interpolated(
    source: np.ndarray, src_base: int, axes: list[TwinAxis], coordinates: list[np.ndarray], rows: np.ndarray
) -> np.ndarray:
    """Nested sums of two taps in f32, slot 0 innermost, as value_1, value_2, ... of resample_linear.comp."""
    offset = np.full(len(coordinates[0]), src_base, np.int64)
    slots = {}
    for axis, coordinate in zip(axes, coordinates, strict=True):
        if axis.table:
            slots[axis.slot] = rows[axis.table + coordinate]
        else:
            offset += coordinate * axis.src

    def value(slot: int, offset: np.ndarray) -> np.ndarray:
        if slot < 0:
            return _at(source, offset % (1 << 32))
        taps = slots[slot]
        weights = taps[:, 2:].astype(np.uint32).view(np.float32)
        parts = [value(slot - 1, offset + taps[:, tap]) * weights[:, tap] for tap in (0, 1)]
        parts = [np.where(weights[:, tap] == 0, np.float32(-0.0), parts[tap]) for tap in (0, 1)]
        return parts[0] + parts[1]

    return value(len(slots) - 1, offset)
