"""The resampling shaders in numpy: what each invocation reads and sums, as the compiled-in constants tell it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from twin.axes import (
    TwinAxis,
    at,
    by_elements,
    destination,
    divide,
    kernel_types,
    pair_places,
    pieces,
    put,
    put_converted,
)

from restride.kernel import KernelSpec

NUMBERS_OF_ROWS = (8, 4, 2, 1)
MAX_TAPS = 4
MAX_CHANNELS = 4
MAX_RUN = 8
GRADIENT = 4
LONG = 8
SHORT_SUM = 32


def run_resample(kernel: KernelSpec, axes: list[TwinAxis], windows: list[np.ndarray], parameters: np.ndarray) -> None:
    """The kernels of shaders/resample that sum in f32; those that sum integers are judged by cases."""
    shader = kernel.shader
    if shader == "resample":
        dst, coordinates = destination(kernel, axes)
        _put_resampled(kernel, windows, axes, coordinates, dst, parameters)
    elif shader in ("resample_rows", "resample_runs", "resample_moves"):
        _rows(kernel, axes, windows, parameters)
    elif shader == "resample_cells":
        _cells(kernel, axes, windows, parameters)
    elif shader == "resample_along":
        _along(kernel, axes, windows, parameters)
    else:
        _across(kernel, axes, windows, parameters)


def put_moved(
    kernel: KernelSpec,
    windows: list[np.ndarray],
    axes: list[TwinAxis],
    coordinates: list[np.ndarray],
    dst: np.ndarray,
    parameters: np.ndarray,
) -> None:
    """Elements as they are, from where index tables and strides say."""
    src = _moved_from(kernel, axes, coordinates, parameters, len(dst))
    source, out = (window.view(f"u{kernel.constant('BITS') // 8}") for window in windows)
    put(out, dst, at(source, src))


def _moved_from(
    kernel: KernelSpec, axes: list[TwinAxis], coordinates: list[np.ndarray], words: np.ndarray, count: int
) -> np.ndarray:
    src = np.full(count, kernel.pushed("src_base"), np.int64)
    for axis, coordinate in zip(axes, coordinates, strict=True):
        src += words[4 * axis.table + coordinate] if axis.table else coordinate * axis.src
    return src % (1 << 32)


def _put_resampled(
    kernel: KernelSpec,
    windows: list[np.ndarray],
    axes: list[TwinAxis],
    coordinates: list[np.ndarray],
    dst: np.ndarray,
    parameters: np.ndarray,
) -> None:
    source = by_elements(windows[0], kernel_types(kernel)[0])
    if _slots(kernel):
        value = _nested_sums(kernel, source, axes, coordinates, parameters)
    else:
        value = at(source, _moved_from(kernel, axes, coordinates, parameters, len(dst)))
    put_converted(kernel, windows[1], value, dst, pair_places(kernel, axes, coordinates, len(dst)))


def _slots(kernel: KernelSpec) -> int:
    """SLOTS of taps.glsl: interpolated axes; none in resample_moves."""
    return 0 if kernel.shader == "resample_moves" else kernel.constant("SLOTS_AND_KIND") & 3


def _row(words: np.ndarray, axis: TwinAxis, coordinate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weights of rows of a table, and the offsets of their first taps."""
    row = 4 * (axis.table + coordinate * (axis.taps // 4 + 1))
    weights = words[row[..., None] + np.arange(axis.taps)].astype(np.uint32)
    return weights.view(np.float32), words[row + axis.taps]


def _nested_sums(
    kernel: KernelSpec, source: np.ndarray, axes: list[TwinAxis], coordinates: list[np.ndarray], words: np.ndarray
) -> np.ndarray:
    """Slot 0 innermost, as value_1, value_2, ... of resample.comp."""
    offset = np.full(len(coordinates[0]), kernel.pushed("src_base"), np.int64)
    taps = {}
    for axis, coordinate in zip(axes, coordinates, strict=True):
        if axis.table:
            weights, first = _row(words, axis, coordinate)
            offset += first
            taps[axis.slot] = (axis.src, weights)
        else:
            offset += coordinate * axis.src
    assert sorted(taps) == list(range(_slots(kernel)))

    def value(slot: int, offset: np.ndarray) -> np.ndarray:
        if slot < 0:
            return at(source, offset % (1 << 32)).astype(np.float32)
        stride, weights = taps[slot]
        return _sum(kernel, weights, [value(slot - 1, offset + tap * stride) for tap in range(weights.shape[1])], slot)

    return _result(kernel, value(len(taps) - 1, offset))


def _sum(kernel: KernelSpec, weights: np.ndarray, values: Sequence[np.ndarray], slot: int = 0) -> np.ndarray:
    """In f32, one after the other; a tap without weight adds nothing.

    What the additions of a long sum lose is summed beside it.
    """
    total, lost = np.full(values[0].shape, np.float32(-0.0)), np.zeros(values[0].shape, np.float32)
    for tap, value in enumerate(values):
        weight = weights[..., tap]
        before, addend = total, np.where(weight == 0, np.float32(-0.0), value * weight)
        total = before + addend
        with np.errstate(invalid="ignore"):  # an infinite sum
            added = total - before
            lost = lost + ((before - (total - added)) + (addend - added))
    is_long = (np.count_nonzero(weights, axis=-1) > SHORT_SUM) & (kernel.constant("SLOTS_AND_KIND") & LONG << slot != 0)
    return np.where(is_long & np.isfinite(lost) & (lost != 0), total + lost, total)


def _result(kernel: KernelSpec, total: np.ndarray) -> np.ndarray:
    """bits_of_sum of taps.glsl."""
    return np.where(total == 0, np.float32(0), total) if kernel.constant("SLOTS_AND_KIND") & GRADIENT else total


def _place(kernel: KernelSpec, words: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """blocks.glsl: the piece of a row, the block of rows and the index along the axes outside."""
    number, first, blocks = pieces(kernel, 128), kernel.pushed("row_pieces"), kernel.pushed("blocks")
    rest = number if first == 1 else divide(number, tuple(words[4:6]))
    outer = rest if blocks == 1 else divide(rest, tuple(words[6:8]))
    return number - rest * first, rest - outer * blocks, outer


def _rows(kernel: KernelSpec, axes: list[TwinAxis], windows: list[np.ndarray], parameters: np.ndarray) -> None:
    """resample_rows.comp in both forms, and resample_moves.comp: pieces of a row, blocks of rows, the axes outside."""
    elements, position, rows = map(kernel.constant, ("ELEMENTS", "ROW_AXIS", "ROWS"))
    along_axis_0 = kernel.constant("ALONG_AXIS_0")
    row = axes[position]
    assert rows in NUMBERS_OF_ROWS
    assert kernel.pushed("blocks") == -(-row.size // rows)
    assert elements * kernel.constant("BITS") >= 32
    if kernel.shader == "resample_moves":
        _check_repeated(kernel, axes, parameters)
    else:
        _check_taps(kernel, axes)
    assert kernel.constant("TABLED") == sum(1 << k for k, axis in enumerate(axes) if axis.table)
    piece, block, outer = _place(kernel, parameters)
    # Of every invocation its lanes, and of these its rows.
    lane = np.arange(elements)
    index = piece[:, None] * elements + (0 if along_axis_0 else lane)
    dst = np.full(index.shape, kernel.pushed("dst_base"), np.int64)
    coordinates: list[np.ndarray] = []
    for k, axis in enumerate(axes):
        if k == position:
            coordinates.append(np.zeros_like(index))
            index = np.broadcast_to(outer[:, None], index.shape)
            continue
        rest = axis.divide_by_size(index)
        coordinates.append(index - rest * axis.size + (lane if k == 0 and along_axis_0 else 0))
        assert (coordinates[k] < axis.size).all()
        dst += (index - rest * axis.size) * axis.dst
        index = rest
    dst = dst + lane if along_axis_0 else dst
    assert (dst == dst[:, :1] + lane).all()
    of_row = block[:, None, None] * rows + np.arange(rows)
    is_row = np.broadcast_to(of_row < row.size, (*dst.shape, rows))
    dst = dst[..., None] + of_row * row.dst
    assert not (dst[:, 0] % elements).any()
    coordinates = [np.broadcast_to(each[..., None], is_row.shape) for each in coordinates]
    coordinates[position] = np.broadcast_to(of_row, is_row.shape)
    chosen = [each[is_row] for each in coordinates]
    if kernel.shader == "resample_runs":
        _check_runs(kernel, axes[0], parameters)
    if kernel.shader != "resample_moves" or not kernel.constant("GROUP"):
        _put_resampled(kernel, windows, axes, chosen, dst[is_row], parameters)
        return
    source = by_elements(windows[0], kernel_types(kernel)[0])
    taken = _from_groups(kernel, source, axes, chosen, parameters)
    put_converted(kernel, windows[1], at(source, taken), dst[is_row], pair_places(kernel, axes, chosen, len(taken)))


def _cells(kernel: KernelSpec, axes: list[TwinAxis], windows: list[np.ndarray], parameters: np.ndarray) -> None:
    """resample_cells.comp: four neighbours along axis 0 in blocks of rows; offsets and weights are those of row 0."""
    position, between, step, rows = map(kernel.constant, ("ROW_AXIS", "AXIS_1", "STEP", "ROWS"))
    taps, taps_0, taps_1 = map(kernel.constant, ("TAPS", "TAPS_0", "TAPS_1"))
    slots = _slots(kernel)
    of_slots = {0: (0, taps_0), slots - 1: (position, taps), **({1: (between, taps_1)} if slots == 3 else {})}
    assert len(of_slots) == slots > 1
    assert rows in NUMBERS_OF_ROWS
    assert kernel.pushed("row_pieces") == axes[0].size // 4
    assert kernel.pushed("blocks") == -(-axes[position].size // rows)
    piece, block, outer = _place(kernel, parameters)
    # The four neighbours in each row of every invocation.
    of_row = block[:, None] * rows + np.arange(rows)
    coordinates: list[np.ndarray] = []
    for k, axis in enumerate(axes):
        if k in (0, position):
            coordinates.append(4 * piece if k == 0 else of_row)
            continue
        rest = axis.divide_by_size(outer)
        coordinates.append(outer - rest * axis.size)
        outer = rest
    assert not outer.any()
    is_row = of_row < axes[position].size
    chosen = [np.broadcast_to(each.reshape(len(piece), -1), is_row.shape)[is_row] for each in coordinates]
    src, dst = (np.full(len(chosen[0]), base, np.int64) for base in map(kernel.pushed, ("src_base", "dst_base")))
    of_tables = {axis.slot: k for k, axis in enumerate(axes) if axis.table}
    assert of_tables == {slot: k for slot, (k, _) in of_slots.items()}
    sums: dict[int, tuple[int, np.ndarray]] = {}
    for k, (axis, coordinate) in enumerate(zip(axes, chosen, strict=True)):
        dst += coordinate * axis.dst
        if not axis.table:
            src += coordinate * axis.src
            continue
        assert axis.taps == of_slots[axis.slot][1] <= MAX_TAPS
        weights, first = _row(parameters, axis, np.array([0, min(1, axis.size - 1)]))
        apart = step if k == 0 else int(first[1]) - int(first[0])
        src += int(first[0]) + coordinate * apart
        sums[axis.slot] = axis.src, weights[0]
        assert weights[0].all()
    source = by_elements(windows[0], kernel_types(kernel)[0])
    lanes = 4 // source.itemsize
    assert (axes[0].src, axes[0].dst) == (1, 1)
    assert not (src % lanes).any()
    assert not (dst % 4).any()

    def value(slot: int, offset: np.ndarray) -> np.ndarray:
        if slot < 0:
            return at(source, offset % (1 << 32)).astype(np.float32)
        stride, weights = sums[slot]
        return _sum(kernel, weights, [value(slot - 1, offset + tap * stride) for tap in range(len(weights))], slot)

    lane = np.arange(4)
    total = _result(kernel, value(slots - 1, src[:, None] + lane * step))
    everywhere = [np.broadcast_to(each[:, None], total.shape).ravel() for each in chosen]
    everywhere[0] = everywhere[0] + np.tile(lane, len(src))
    places = pair_places(kernel, axes, everywhere, total.size)
    put_converted(kernel, windows[1], total.ravel(), (dst[:, None] + lane).ravel(), places)


def _check_taps(kernel: KernelSpec, axes: list[TwinAxis]) -> None:
    """The taps that are compiled in are those of the tables: of the row axis, and of the slots inside."""
    position, axis_1 = kernel.constant("ROW_AXIS"), kernel.constant("AXIS_1")
    taps, taps_0, taps_1 = map(kernel.constant, ("TAPS", "TAPS_0", "TAPS_1"))
    slots, row = _slots(kernel), axes[position]
    inside = {axis.slot: k for k, axis in enumerate(axes) if axis.table and k != position}
    assert 1 <= min(taps, taps_0, taps_1) <= max(taps, taps_0, taps_1) <= MAX_TAPS
    assert (row.taps, row.slot) == (taps, slots - 1)
    assert sorted(inside) == list(range(slots - 1))
    assert slots < 2 or axes[inside[0]].taps == taps_0
    assert slots < 3 or (axes[inside[1]].taps, inside[1]) == (taps_1, axis_1)


def _check_repeated(kernel: KernelSpec, axes: list[TwinAxis], words: np.ndarray) -> None:
    """REPEATED, WHOLE_BLOCKS and PATTERN say the same as the tables."""
    row, rows, times = axes[kernel.constant("ROW_AXIS")], kernel.constant("ROWS"), kernel.constant("REPEATED")
    assert kernel.constant("WHOLE_BLOCKS") == (times > 1 and rows % times == 0 and row.size % rows == 0)
    moved = np.arange(row.size) // times * row.src % (1 << 32)
    assert times == 1 or (words[4 * row.table + np.arange(row.size)] == moved).all()
    _check_pattern(kernel, axes[0], words)


def _check_pattern(kernel: KernelSpec, axis: TwinAxis, words: np.ndarray) -> None:
    """PATTERN says the same as the table of axis 0, or nothing."""
    pattern, group = kernel.constant("PATTERN"), kernel.constant("GROUP")
    if not pattern:
        return
    assert pattern >> 16 == 1
    assert group
    lanes = [pattern >> 4 * lane & 15 for lane in range(4)]
    index = np.arange(axis.size)
    assert (words[4 * axis.table + index] == index // 4 * group + np.take(lanes, index % 4)).all()


def _check_runs(kernel: KernelSpec, axis: TwinAxis, words: np.ndarray) -> None:
    """resample_rows.comp with RUNS: every piece finds what its neighbours read in its run."""
    elements = kernel.constant("ELEMENTS")
    assert elements in (1, 2, 4, 8)
    assert kernel.constant("ALONG_AXIS_0")
    assert (axis.slot, axis.src) == (0, 1)
    assert not axis.size % elements
    first = _row(words, axis, np.arange(axis.size))[1].astype(np.int32).reshape(-1, elements)
    assert (np.ptp(first, axis=1) + axis.taps).max() <= kernel.constant("RUN") <= MAX_RUN


def _from_groups(
    kernel: KernelSpec, source: np.ndarray, axes: list[TwinAxis], coordinates: list[np.ndarray], words: np.ndarray
) -> np.ndarray:
    """load_row of resample_moves.comp: where the elements lie that are cut out of one load for the four of a piece."""
    group = kernel.constant("GROUP")
    assert group in (4 // source.itemsize, 8 // source.itemsize, 16 // source.itemsize)
    assert axes[0].size % 4 == 0
    first = 4 * axes[0].table + coordinates[0] // 4 * 4
    offset = kernel.pushed("src_base") + words[first] // group * group
    for axis, coordinate in zip(axes[1:], coordinates[1:], strict=True):
        offset = offset + (words[4 * axis.table + coordinate] if axis.table else coordinate * axis.src)
    loaded = offset % (1 << 32) // group * group
    assert (loaded + group <= len(source)).all(), "a load of a group ends past the window"
    return loaded + words[4 * axes[0].table + coordinates[0]] % group


def _quad_at(source: np.ndarray, offset: np.ndarray, aligned: bool) -> np.ndarray:
    """Four elements side by side, as numbers; a new last axis of them."""
    assert not (aligned and (offset % 4).any())
    return at(source, offset[..., None] + np.arange(4)).astype(np.float32)


def _along(kernel: KernelSpec, axes: list[TwinAxis], windows: list[np.ndarray], parameters: np.ndarray) -> None:
    """resample_quads.comp with ALONG: pieces are pixels along the axis of the taps, in blocks of rows."""
    position, row, rows = map(kernel.constant, ("TAP_AXIS", "ROW_AXIS", "ROWS"))
    aligned, channels, channel_axis = map(kernel.constant, ("ALIGNED", "CHANNELS", "CHANNEL_AXIS"))
    taps, table = axes[position].taps, axes[position]
    assert kernel_types(kernel)[1].itemsize == 4
    assert _slots(kernel) == 1
    assert (table.src, kernel.pushed("row_pieces")) == (channels, table.size)
    assert channels <= MAX_CHANNELS
    assert channels == 1 or (axes[channel_axis].size, axes[channel_axis].src) == (channels, 1)
    assert taps % 4 == 0
    assert rows in NUMBERS_OF_ROWS
    assert kernel.pushed("blocks") == -(-axes[row].size // rows)
    piece, block, outer = _place(kernel, parameters)
    weights, first = _row(parameters, table, piece)
    src, dst = first + kernel.pushed("src_base"), kernel.pushed("dst_base") + piece * table.dst
    coordinates = [np.zeros_like(piece) for _ in axes]
    coordinates[position] = piece
    walked = [k for k in range(len(axes)) if k not in (position, row) and (channels == 1 or k != channel_axis)]
    for k in walked:
        rest = axes[k].divide_by_size(outer)
        coordinates[k] = outer - rest * axes[k].size
        src, dst = src + coordinates[k] * axes[k].src, dst + coordinates[k] * axes[k].dst
        outer = rest
    assert not outer.any()
    # Of every invocation its rows, and of these the channels; past the last row that is summed again, and not written.
    of_row, channel = block[:, None] * rows + np.arange(rows), np.arange(channels)
    offset = (src[:, None] + np.minimum(of_row, axes[row].size - 1) * axes[row].src) % (1 << 32)
    source = by_elements(windows[0], kernel_types(kernel)[0])
    starts = offset[..., None] + 4 * np.arange(taps // 4 * channels)
    runs = _quad_at(source, starts, bool(aligned)).reshape(*offset.shape, taps, channels)
    total = _sum(kernel, weights[:, None, None], [runs[:, :, tap] for tap in range(taps)])
    is_row = np.broadcast_to((of_row < axes[row].size)[..., None], total.shape)
    dst = dst[:, None, None] + of_row[..., None] * axes[row].dst + (channel * axes[channel_axis].dst) * (channels > 1)
    coordinates = [np.broadcast_to(each[:, None, None], total.shape) for each in coordinates]
    coordinates[row] = np.broadcast_to(of_row[..., None], total.shape)
    if channels > 1:
        coordinates[channel_axis] = np.broadcast_to(channel, total.shape)
    chosen = [each[is_row] for each in coordinates]
    places = pair_places(kernel, axes, chosen, int(is_row.sum()))
    put_converted(kernel, windows[1], _result(kernel, total[is_row]), dst[is_row], places)


def _across(kernel: KernelSpec, axes: list[TwinAxis], windows: list[np.ndarray], parameters: np.ndarray) -> None:
    """resample_quads.comp without ALONG: four neighbours, which share their taps."""
    position, aligned = kernel.constant("TAP_AXIS"), kernel.constant("ALIGNED")
    table, first_axis = axes[position], axes[0]
    is_word = kernel_types(kernel)[1].itemsize == 4
    assert _slots(kernel) == 1
    assert (first_axis.src, first_axis.dst, first_axis.table) == (1, 1, 0)
    piece, _, outer = _place(kernel, parameters)
    coordinates = [np.minimum(4 * piece, first_axis.size - 4)]
    made_before = 4 * piece - coordinates[0]
    assert not made_before.any() or (not aligned and is_word)
    for axis in axes[1:]:
        rest = axis.divide_by_size(outer)
        coordinates.append(outer - rest * axis.size)
        outer = rest
    assert not outer.any()
    src, dst = (np.full(len(piece), base, np.int64) for base in map(kernel.pushed, ("src_base", "dst_base")))
    for k, (axis, coordinate) in enumerate(zip(axes, coordinates, strict=True)):
        src += _row(parameters, axis, coordinate)[1] if k == position else coordinate * axis.src
        dst += coordinate * axis.dst
    weights, _ = _row(parameters, table, coordinates[position])
    source = by_elements(windows[0], kernel_types(kernel)[0])
    of_taps = [_quad_at(source, (src + tap * table.src) % (1 << 32), bool(aligned)) for tap in range(table.taps)]
    total = _sum(kernel, weights[:, None], of_taps)
    made = dst[:, None] + np.arange(4)
    assert not (made[:, 0] % 4).any() or (not aligned and is_word)
    places = pair_places(kernel, axes, coordinates, len(dst))
    steps = [first_axis.pairs[side] * np.arange(4) for side in (0, 1)]
    is_own = np.arange(4) >= made_before[:, None]
    of_lanes = [((place[:, None] + step) % (1 << 32))[is_own] for place, step in zip(places, steps, strict=True)]
    put_converted(kernel, windows[1], _result(kernel, total)[is_own], made[is_own], of_lanes)
