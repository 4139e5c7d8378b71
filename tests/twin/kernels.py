"""The shaders in numpy: runs a KernelSpec on host bytes, so that plans are tested without a device.

Index arithmetic follows the shaders and their includes step by step, the divisions by multiplication included, and
every access is checked against its window. What is done to values is numpy's: of conversions those of numbers in the
range of float64, rounded to nearest even and saturated.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from twin.axes import (
    TwinAxis,
    at,
    axes_of,
    by_elements,
    destination,
    divide,
    kernel_types,
    pair_places,
    pieces,
    put,
    put_converted,
    signed,
    walk,
)
from twin.resample import put_moved, run_resample

from restride.kernel import KernelSpec

APART, BACKWARDS, IN_A_ROW = range(3)
"""``WORDS_LIE`` of strided_gather_128 and strided_scatter_128, in shaders/copy/strided_copy.comp."""


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
    name = kernel.shader
    if name.startswith("run"):
        _strided(kernel, None, windows, name)
    else:
        _walked(kernel, axes_of(kernel, parameters), windows, parameters)
    _write_back(kernel, windows, dst)


def _write_back(kernel: KernelSpec, windows: list[np.ndarray], dst: np.ndarray) -> None:
    binding = kernel.bindings[1]
    end = min(binding.offset + binding.nbytes, len(dst))
    dst[binding.offset : end] = windows[1][: end - binding.offset]


def _walked(kernel: KernelSpec, axes: list[TwinAxis], windows: list[np.ndarray], parameters: np.ndarray) -> None:
    name = kernel.shader
    if name.startswith("transpose_shared"):
        _transpose_shared(kernel, axes, windows)
    elif name.startswith("transpose"):
        _transpose(kernel, axes, windows, parameters)
    elif name.startswith("strided"):
        _strided(kernel, axes, windows, name)
    elif name == "interleaved_copy":
        _interleaved(kernel, axes, windows)
    elif name == "short_rows":
        _short_rows(kernel, axes, windows)
    elif name in ("convert_quads", "convert_planes"):
        _quads(kernel, axes, windows)
    elif name.startswith("resample") and name != "resample_nearest":
        run_resample(kernel, axes, windows, parameters)
    elif name == "lookup_quads":
        _lookup_quads(kernel, axes, windows)
    else:
        _elements(kernel, axes, windows, parameters)


def _strided(kernel: KernelSpec, axes: list[TwinAxis] | None, windows: list[np.ndarray], name: str) -> None:
    neighbours, each = kernel.constant("NEIGHBOURS"), kernel.constant("EACH")
    assert each in (4, 2, 1)
    src = dst = index = pieces(kernel, 128 * each)
    if axes is not None:
        together = kernel.constant("TOGETHER")
        assert kernel.constant("FULL") == (np.prod(kernel.groups) * 128 * each == len(index))
        assert not together or (neighbours and axes[0].size % each == 0)
        src, dst, _ = walk(index, axes)
        if "gather" in name or "scatter" in name:
            lane_stride, words_lie = signed(kernel.pushed("lane_stride")), kernel.constant("WORDS_LIE")
            lanes = np.arange(4) * lane_stride
            if words_lie == IN_A_ROW:
                assert (together, each) == (1, 4)
                assert (axes[0].src, axes[0].dst, lane_stride) == ((4, 1, 1) if "gather" in name else (1, 4, 1))
    dst = kernel.pushed("dst_base") + dst
    width = int(name.rsplit("_", 1)[1]) // 8
    wide_src, out = (window[: len(window) // width * width].view(f"V{width}") for window in windows)
    if "fill" in name:
        words = np.array([kernel.pushed("low"), kernel.pushed("high")] * 2, np.uint32)[: width // 4].view(f"V{width}")
        put(out, dst, words.repeat(len(dst)))
        return
    src = signed(kernel.pushed("src_base")) + src
    if "scatter" in name:
        taken = at(wide_src, src)
        put(windows[1].view(np.uint32), (dst[:, None] + lanes).ravel(), np.ascontiguousarray(taken).view(np.uint32))
    elif "gather" in name:
        assert words_lie != BACKWARDS or (lane_stride == -1 and not ((src - 3) % 4).any())
        taken = at(windows[0].view(np.uint32), src[:, None] + lanes)
        put(out, dst, np.ascontiguousarray(taken).view("V16")[:, 0])
    else:
        put(out, dst, at(wide_src, src))


def _transpose(kernel: KernelSpec, outer: list[TwinAxis], windows: list[np.ndarray], rows: np.ndarray) -> None:
    a_size, b_size, indices = sizes = tuple(map(kernel.pushed, ("a_size", "b_size", "indices")))
    group = tuple(map(kernel.pushed, ("across", "along", "deep")))
    _, bits, *aligned = kernel.shader.split("_")
    itemsize = int(bits) // 8
    words_along_b = 4 if aligned else kernel.constant("B_WORDS")
    assert words_along_b in (4, max(itemsize // 4, 1))
    words_along_a = kernel.constant("A_WORDS") if aligned and itemsize == 1 else 4 if aligned or itemsize >= 4 else 2
    assert words_along_a in (2, 4)
    blocks = 4 * words_along_a // itemsize, 4 * words_along_b // itemsize, 1
    _blocks_once(kernel, sizes, blocks, group, (kernel.pushed("per_across"), kernel.pushed("per_along")))
    if aligned and kernel.constant("FULL"):
        assert np.prod(group) == 64
        assert not any(size % (block * many) for size, block, many in zip(sizes, blocks, group, strict=True))
    outer_src, outer_dst, _ = walk(np.arange(indices, dtype=np.int64), outer)
    a, b = np.meshgrid(np.arange(a_size), np.arange(b_size))
    along_a, along_b = (
        number * kernel.pushed(step) + (divide(number, tuple(run)) * kernel.pushed(by) if kernel.constant(jumps) else 0)
        for number, step, by, jumps, run in (
            (a, "a_src", "a_jump", "A_JUMPS", rows[4:6]),
            (b, "b_dst", "b_jump", "B_JUMPS", rows[6:8]),
        )
    )
    src = (kernel.pushed("src_base") + outer_src[:, None, None] + along_a + b) % (1 << 32)
    starts = (kernel.pushed("dst_base") + outer_dst[:, None, None] + along_b) % (1 << 32)
    if aligned:
        assert not any((steps * itemsize % 16).any() for steps in (src[..., :: blocks[1], :], starts))
        assert (a_size % blocks[0], b_size % blocks[1]) == (0, 0)
    # Whole words of a row: from the first that begins in it to the last that ends in it.
    lanes = max(4 // itemsize, 1)
    dst = starts + a
    first = dst // lanes * lanes
    whole = (first >= starts) & (first + lanes <= starts + a_size)
    source, target = (by_elements(window, np.dtype(f"u{itemsize}")) for window in windows)
    put(target, dst[whole], at(source, src[whole]))


def _blocks_once(
    kernel: KernelSpec, sizes: tuple[int, ...], block: tuple[int, ...], group: tuple[int, ...], parts: tuple[int, ...]
) -> None:
    """Every block has one invocation. group: blocks along a, b and the outer axes; parts: 2^16 by the first two."""
    lane = np.arange(64)
    row = lane * parts[0] >> 16
    box = row * parts[1] >> 16
    places = np.stack([box, row - box * group[1], lane - row * group[0]])[:, box < group[2]]
    assert places.T.tolist() == [list(place) for place in product(*map(range, reversed(group)))]
    along_b, along_a, deep = kernel.groups
    for size, along, blocks, groups in zip(sizes, block, group, (along_a, along_b, deep), strict=True):
        surplus = groups * blocks * along - size
        assert surplus in range(blocks * along)


def _transpose_shared(kernel: KernelSpec, outer: list[TwinAxis], windows: list[np.ndarray]) -> None:
    """transpose_shared.comp: tile by tile, by rows of whole words on both sides, or the whole words of rows."""
    src_base, dst_base, a_size, b_size = map(kernel.pushed, ("src_base", "dst_base", "a_size", "b_size"))
    a_src, b_src, b_dst = map(kernel.pushed, ("a_src", "b_src", "b_dst"))
    bits = int(kernel.shader.rsplit("_", 1)[1])
    edge, lanes = (64, 32 // bits) if bits < 32 else (32, 1)
    edge_b = kernel.constant("B_EDGE")
    assert edge_b in (edge, edge // 2, edge // 4, edge // 8)
    assert edge_b * bits // 8 >= 32
    assert signed(b_src) == 1 or (lanes == 1 and signed(b_src) == -1)
    outer_src, outer_dst, _ = walk(np.arange(kernel.groups[2], dtype=np.int64), outer)
    begins_anywhere = lanes > 1 and kernel.constant("ANYWHERE")
    inside = kernel.constant("INSIDE") or a_size
    assert inside == a_size or (0 < inside < a_size and not begins_anywhere)
    steps = [a_size, b_size, a_src, b_dst, src_base, dst_base, *outer_src, *outer_dst]
    assert begins_anywhere or not any(int(step) % lanes for step in steps)
    source, target = (window[: len(window) // (bits // 8) * (bits // 8)].view(f"u{bits // 8}") for window in windows)
    for first_a, first_b in product(range(kernel.groups[0]), range(kernel.groups[1])):
        a, b = (
            np.arange(first * along, min(first * along + along, size))
            for first, size, along in ((first_a, a_size, edge), (first_b, b_size, edge_b))
        )
        assert min(len(a), len(b)) > 0
        a, b = np.meshgrid(a, b)
        along_a = np.minimum(a, inside - 1) * a_src
        src = (src_base + outer_src[:, None, None] + along_a + b * signed(b_src)) % (1 << 32)
        dst = dst_base + outer_dst[:, None, None] + a + b * b_dst
        if begins_anywhere:
            row = dst - a
            taken = (dst - dst % lanes >= row) & (dst - dst % lanes + lanes <= row + a_size)
            # A tile begins at its first whole word, and ends in the one that begins before the next tile.
            a, dst, src = (np.broadcast_to(each, dst.shape)[taken] for each in (a, dst, src))
        values = at(source, src.ravel())
        put(target, dst.ravel(), np.where(np.broadcast_to(a < inside, dst.shape).ravel(), values, values.dtype.type(0)))


def _interleaved(kernel: KernelSpec, axes: list[TwinAxis], windows: list[np.ndarray]) -> None:
    """interleaved_copy.comp: the elements of a row in its words, from that of its first element on."""
    bits, groups, is_backwards = map(kernel.constant, ("BITS", "GROUPS", "BACKWARDS"))
    src_rows, src_width, dst_rows, dst_width = map(kernel.constant, ("SRC_ROWS", "SRC_WIDTH", "DST_ROWS", "DST_WIDTH"))
    whole_loads, whole_stores = kernel.constant("WHOLE_LOADS"), kernel.constant("WHOLE_STORES")
    row, plane_stride = kernel.pushed("row_size"), signed(kernel.pushed("plane_stride"))
    channels = dst_rows * dst_width
    assert 1 <= src_width <= 4
    assert channels in (1, src_rows * src_width)
    assert channels == 1 or not is_backwards
    assert kernel.constant("FULL") == (np.prod(kernel.groups) * 128 == kernel.pushed("pieces"))
    lanes = 32 // bits
    chunk = groups * lanes
    assert groups in (4, 1)
    assert whole_loads == whole_stores or (groups == 4 and channels > 1)
    src, dst, coordinates = walk(pieces(kernel, 128), axes)
    src, dst = signed(kernel.pushed("src_base")) + src[:, None, None], kernel.pushed("dst_base") + dst[:, None, None]
    dst_row = np.arange(dst_rows)[:, None]
    starts = dst + dst_row * plane_stride
    element = np.arange(chunk * dst_width) - starts % lanes
    pixel, channel = element // dst_width, dst_row * dst_width + element % dst_width
    step = -src_width if is_backwards else src_width
    read = src + step * pixel + channel % src_width + channel // src_width * plane_stride
    lowest = src + min(step * (chunk - 1), 0)
    sides = ((whole_loads, lowest, src_rows), (whole_stores, dst, dst_rows))
    for is_whole, start, rows in sides:
        assert not is_whole or not ((start % chunk).any() or row % chunk or (rows > 1 and plane_stride % chunk))
    source, target = (window.view(f"u{bits // 8}") for window in windows)
    if whole_loads and whole_stores:  # axis 0 need not be that of the chunks
        put(target, (starts + element).ravel(), at(source, read.ravel()))
        return
    number = coordinates[0][:, None, None] * chunk + pixel
    of_row = (number >= 0) & (number < row)
    put(target, (starts + element)[of_row], at(source, read[of_row]))


def _short_rows(kernel: KernelSpec, axes: list[TwinAxis], windows: list[np.ndarray]) -> None:
    """short_rows.comp: blocks of rows, which are whole words on both sides."""
    bits, size, across, deep = map(kernel.constant, ("BITS", "ROW", "ACROSS", "DEEP"))
    lanes = 32 // bits
    assert 2 <= size <= 31
    assert across * deep <= 128
    assert across * deep * size <= 1024
    assert across == 1 or (axes[0].size, axes[0].src) == (across, lanes)
    src, dst, _ = walk(pieces(kernel, across * deep), axes)
    row, element = np.arange(lanes)[:, None], np.arange(size)
    read = signed(kernel.pushed("src_base")) + src[:, None, None] + row + element * signed(kernel.pushed("lane_stride"))
    written = kernel.pushed("dst_base") + dst[:, None, None] + row * size + element
    assert not (read[:, 0] % lanes).any()
    assert not (written[:, 0, 0] % lanes).any()
    source, target = (window.view(f"u{bits // 8}") for window in windows)
    put(target, written.ravel(), at(source, read.ravel()))


def _elements(kernel: KernelSpec, axes: list[TwinAxis], windows: list[np.ndarray], parameters: np.ndarray) -> None:
    dst, coordinates = destination(kernel, axes)
    unsigned = np.dtype(f"u{kernel.constant('BITS') // 8}")
    if kernel.shader == "element_fill":
        put(windows[1].view(unsigned), dst, np.full(len(dst), kernel.pushed("low")).astype(unsigned))
    elif kernel.shader == "element_pad":
        src = signed(kernel.pushed("src_base")) + sum(
            coordinate * axis.src for axis, coordinate in zip(axes, coordinates, strict=True)
        )
        is_inside = np.ones(len(dst), bool)
        for axis, coordinate in zip(axes, coordinates, strict=True):
            is_inside &= (coordinate - axis.pairs[0]) % (1 << 32) < axis.pairs[1]
        elements = np.full(len(dst), kernel.pushed("low") | kernel.pushed("high") << 32).astype(unsigned)
        source = at(by_elements(windows[0], unsigned), np.where(is_inside, src, 0))  # the kernel loads element 0 too
        elements[is_inside] = source[is_inside]
        put(by_elements(windows[1], unsigned), dst, elements)
    elif kernel.shader == "convert_elements":
        src = kernel.pushed("src_base") + sum(
            coordinate * axis.src for axis, coordinate in zip(axes, coordinates, strict=True)
        )
        places = pair_places(kernel, axes, coordinates, len(dst))
        _put_converted(kernel, windows, np.broadcast_to(src, dst.shape) % (1 << 32), dst, places)
    elif kernel.shader == "lookup_elements":
        src, row = kernel.pushed("src_base"), kernel.pushed("table_row")
        for axis, coordinate in zip(axes, coordinates, strict=True):
            src, row = src + coordinate * axis.src, row + coordinate * axis.pairs[0]
        _put_entries(kernel, windows, np.broadcast_to(src, dst.shape), dst, np.broadcast_to(row, dst.shape))
    else:
        assert kernel.shader in ("element_copy", "resample_nearest")
        if kernel.shader == "element_copy":
            are_whole, count, lanes = kernel.constant("WHOLE_WORDS"), kernel.pushed("pieces"), 4 // unsigned.itemsize
            assert kernel.constant("FULL") == (are_whole and np.prod(kernel.groups) * 128 == count)
            assert not are_whole or ((np.diff(dst) == 1).all() and len(dst) == count * lanes)
        put_moved(kernel, windows, axes, coordinates, dst, parameters)


def _digits(kernel: KernelSpec, windows: list[np.ndarray], rows: np.ndarray) -> None:
    """digit_copy.comp: the same program, with checks that a number is there before it is used, and never negative."""
    converts = kernel.shader == "digit_convert"
    src_base = kernel.pushed("src_base" if converts else "src_base_or_low")
    index = pieces(kernel, 128)
    axes, digits, src_terms, dst_terms = (int(word) for word in rows[0])
    assert axes + digits <= kernel.constant("NUMBERS")
    numbers: dict[int, np.ndarray] = {}
    row = 1
    for number, size, *multiplier in rows[row : row + axes]:
        rest = divide(index, tuple(multiplier)) if size > 1 else index
        numbers[int(number)] = index - rest * size
        index = rest
        row += 1

    def sum_of_terms(count: int, start: int) -> np.ndarray:
        nonlocal row
        terms, row = rows[row : row + count], row + count
        total = np.full(len(index), start, np.int64)
        for number, coefficient, *_ in terms:
            total = total + numbers[int(number)] * signed(int(coefficient))
        return total

    for digit in range(digits):
        (terms, const, modulus, divisor), multipliers = (int(word) for word in rows[row]), rows[row + 1]
        row += 2
        value = sum_of_terms(terms, signed(const))
        assert (value >= 0).all()
        if modulus:
            value = value - modulus * divide(value, tuple(multipliers[:2]))
        numbers[axes + digit] = divide(value, tuple(multipliers[2:])) if divisor > 1 else value
    src, dst = sum_of_terms(src_terms, signed(src_base)), sum_of_terms(dst_terms, signed(kernel.pushed("dst_base")))
    if converts:
        counts, row = rows[row], row + 1
        starts = kernel.pushed("src_pairs"), kernel.pushed("dst_pairs")
        pairs = [sum_of_terms(int(count), start) % (1 << 32) for count, start in zip(counts[:2], starts, strict=True)]
        _put_converted(kernel, windows, src, dst, pairs)
        return
    width = kernel.constant("BITS") * kernel.constant("WORDS") // 8
    if kernel.constant("FILL"):
        value = (src_base | kernel.pushed("high") << 32) & ((1 << 8 * width) - 1)
        taken = np.frombuffer(value.to_bytes(width, "little") * len(dst), f"V{width}")
    else:
        taken = at(windows[0][: len(windows[0]) // width * width].view(f"V{width}"), src)
    put(windows[1][: len(windows[1]) // width * width].view(f"V{width}"), dst, taken)


def _quads(kernel: KernelSpec, axes: list[TwinAxis], windows: list[np.ndarray]) -> None:
    """convert.comp with QUADS: four neighbours of the destination in each plane, by loads and stores of whole words."""
    is_aligned, in_row = kernel.constant("WHOLE_STORES"), kernel.constant("IN_ROW")
    has_planes = kernel.shader == "convert_planes"
    planes, is_run = (kernel.constant("PLANES"), 1) if has_planes else (1, kernel.constant("WIDE"))
    assert 1 < planes <= 4 or not has_planes
    src, dst, coordinates = walk(pieces(kernel, 512), axes)
    pairs = pair_places(kernel, axes, coordinates, len(dst))
    # Every element that is computed: its quad, its plane, its lane.
    src, dst = (kernel.pushed("src_base") + src)[:, None, None], (kernel.pushed("dst_base") + dst)[:, None, None]
    plane, lane = np.arange(planes)[:, None], np.arange(4)
    if is_run:
        first = src % (1 << 32)
        assert not (first % 4).any()
        assert kernel_types(kernel)[0].itemsize * planes <= 16  # what the array of a run holds: 16 words
        taken = first + lane * planes + plane
    else:
        taken = (src + lane * signed(kernel.pushed("lane_stride")) + 0 * plane) % (1 << 32)
    made = dst + plane * kernel.pushed("plane_stride") + lane
    assert not is_aligned or not (made[..., 0] % 4).any()
    assert is_aligned or kernel_types(kernel)[1].itemsize >= 4
    if in_row:
        assert kernel.constant("NEIGHBOURS")
        for offsets, step in ((taken, axes[0].src), (made, axes[0].dst), *((start, 0) for start in pairs)):
            by_invocation = offsets.reshape(-1, 4, *offsets.shape[1:])
            assert not ((np.diff(by_invocation, axis=1) - step) % (1 << 32)).any()
    if kernel.constant("LOADS_ROW"):
        width = kernel_types(kernel)[0].itemsize
        assert (in_row, is_run) == (1, 1)
        assert width <= 2
        assert width * planes <= 4
        assert not (first[::4] % 16).any()
    its_pairs = []
    for side, start, bit in zip(("src", "dst"), pairs, (128, 256), strict=True):
        along_quad = kernel.pushed(f"{side}_pair_lane") if kernel.constant("STEPS") & bit else 0
        place = start[:, None, None] + plane * kernel.pushed(f"{side}_pair_plane") + lane * along_quad
        its_pairs.append(np.broadcast_to(place, made.shape).ravel() % (1 << 32))
    # A word of up to 128 bits is inside its window or not read at all.
    for window, dtype, offsets, is_wide in zip(
        windows, kernel_types(kernel), (taken, made), (is_run, is_aligned), strict=True
    ):
        unit = min(4 * dtype.itemsize, 16)
        assert not is_wide or ((offsets * dtype.itemsize // unit + 1) * unit <= len(window)).all()
    _put_converted(kernel, windows, taken.ravel(), made.ravel(), its_pairs)


def _lookup_quads(kernel: KernelSpec, axes: list[TwinAxis], windows: list[np.ndarray]) -> None:
    """lookup.comp with QUADS: four pixels at a time, by loads and stores of whole words where it says so."""
    planes, copies, crosses = (kernel.constant(name) for name in ("PLANES", "COPIES", "CROSSES"))
    is_interleaved = kernel.constant("INTERLEAVED")
    assert 1 <= planes <= 4
    assert 1 <= copies <= 4
    src, dst, coordinates = walk(4 * pieces(kernel, 128 * kernel.constant("EACH")), axes)
    row = kernel.pushed("table_row") + sum(
        coordinate * axis.pairs[0] for axis, coordinate in zip(axes, coordinates, strict=True)
    )
    # Every element that is computed: its four pixels, its copy, its plane, its lane.
    src, dst, row, first = (each[:, None, None, None] for each in (src, dst, row, coordinates[0]))
    copy, plane, lane = np.arange(copies)[:, None, None], np.arange(planes)[:, None], np.arange(4)
    taken = kernel.pushed("src_base") + src + lane * signed(kernel.pushed("lane_stride")) + plane
    crossed = first + lane >= axes[0].size
    assert crosses or not crossed.any()
    if crosses:
        taken = taken + crossed * (axes[1].src - axes[0].size * axes[0].src)
        assert not kernel.pushed("lane_row") | axes[0].pairs[0] | axes[1].pairs[0]
        assert ((first + lane < axes[0].size) | (coordinates[1][:, None, None, None] + 1 < axes[1].size)).all()
    taken = taken % (1 << 32)
    made = kernel.pushed("dst_base") + dst + copy * kernel.pushed("copy_stride")
    made = made + (lane * planes + plane if is_interleaved else plane * kernel.pushed("plane_stride") + lane)
    made = made % (1 << 32)
    row = row + lane * kernel.pushed("lane_row") + plane * kernel.pushed("plane_row")
    assert not kernel.constant("ROWS_OF_PLANES") or not any(axis.pairs[0] for axis in axes)
    if kernel.constant("WIDE"):
        assert not (taken[..., 0, 0] % 4).any()
        assert (taken == taken[..., :1, :1] + lane * planes + plane).all()
        assert ((taken // 4 + 1) * 4 <= len(windows[0])).all()
    starts = made.min(axis=(2, 3)) if is_interleaved else made[..., 0]
    assert not kernel.constant("WHOLE_STORES") or not (starts % 4).any()
    assert kernel.constant("WHOLE_STORES") or kernel.constant("BITS") == 32
    every = np.broadcast_arrays(taken, made, row)
    _put_entries(kernel, windows, *(each.ravel() for each in every))


def _put_entries(
    kernel: KernelSpec, windows: list[np.ndarray], src: np.ndarray, dst: np.ndarray, row: np.ndarray
) -> None:
    """The entries of the rows of the table that elements choose; the table follows the axes in the parameters."""
    bits = kernel.constant("BITS")
    words = np.frombuffer(kernel.parameters, np.uint32)[8 + 12 * kernel.constant("RANK") :]
    entries = words.view(f"u{max(bits, 32) // 8}").reshape(-1, 256)
    assert not ((row % (1 << 32)) >= len(entries)).any()
    taken = entries[row % (1 << 32), at(windows[0], src % (1 << 32))].astype(f"u{bits // 8}")
    put(by_elements(windows[1], taken.dtype), dst, taken)


def _put_converted(
    kernel: KernelSpec, windows: list[np.ndarray], src: np.ndarray, dst: np.ndarray, places: list[np.ndarray]
) -> None:
    value = at(by_elements(windows[0], kernel_types(kernel)[0]), src)
    put_converted(kernel, windows[1], value, dst, places)
