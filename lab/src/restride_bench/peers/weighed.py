"""Resizes written by hand: tables of weights, and dispatches that resize one axis after another, or two at once.

The weights are restride's own, so that the bits are the same; a hand-written program would have them as constants too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from restride.kernel import Binding, KernelSpec
from restride.layout import TensorDesc
from restride.weights import Resizing, Rows, Shifts
from restride_bench.peers.shapes import LINE, MAX_GROUPS, Candidate, Step, whole
from restride_conformance.case import Case
from restride_conformance.operations import CheckedResample

_BLOCK = 8
"""Number of rows that an invocation of lab/shaders/direct.comp computes."""

_LINES = 4
"""Number of rows that an invocation of lab/shaders/weighed.comp computes if ALONG is defined."""

_MAX_CHANNELS = 4
_CHANNELS = 3
"""Number of channels of lab/shaders/boxes.comp."""

_MAX_TAPS = 4
"""Maximum number of taps along each axis of lab/shaders/direct.comp."""


class Shape(NamedTuple):
    """An array as [outer, size, inner], whose middle axis is resized with the weights ``rows``."""

    outer: int
    inner: int
    rows: Rows

    @property
    def size(self) -> int:
        """Elements of the middle axis before it is resized."""
        return self.rows.source_size


def resizes(case: Case) -> Iterator[Candidate]:
    """Candidates for a resize: both axes at once if rows have few taps, and one axis after another."""
    src, operation = case.src, case.operation
    if not isinstance(operation, CheckedResample) or operation.moves(case) or src.dtype != case.dst.dtype:
        return
    if src.dtype.name not in ("u8", "f32"):
        return
    shapes = _shapes(operation.summed(operation.resized(case)), src.sizes)
    is_whole = any(shape.rows.shifts is not None for shape in shapes)
    if is_whole != all(shape.rows.shifts is not None for shape in shapes):
        return
    for size in LINE:
        for candidate in (*_at_once(shapes, src, is_whole, size), _one_by_one(shapes, src, is_whole, size)):
            if candidate is not None:
                yield candidate


def boxes(case: Case) -> Iterator[Candidate]:
    """Candidates for boxes of pixels, which compute the coordinates of each output in f32."""
    named, src = case.operation.arguments(case), case.src
    (_, columns, channels), sizes, bounds = src.sizes, named["sizes"], named["boxes"]
    if src.dtype.name != "u8" or channels != _CHANNELS or sizes[1] % 4:
        return
    extents = bounds[:, 2:] - bounds[:, :2]
    steps = (extents / np.array(sizes)).astype(np.float32).view(np.uint32)
    table = np.concatenate([bounds[:, :2], extents, steps], axis=1).astype(np.uint32)
    for size in LINE:
        groups = -(-sizes[1] // (4 * size)), sizes[0], len(bounds)
        nbytes = src.nbytes, case.dst.nbytes
        kernel = _kernel("bare_boxes", (size, columns, *sizes), table.tobytes(), groups, nbytes)
        yield Candidate((Step(kernel),))


def _shapes(weights: Resizing, sizes: Sequence[int]) -> list[Shape]:
    """The axes in the order in which they are summed, the last one first, each with the sizes at that point."""
    now, shapes = list(sizes), []
    for axis, rows in sorted(zip(weights.axes, weights.rows, strict=True), reverse=True, key=lambda pair: pair[0]):
        shapes.append(Shape(math.prod(now[:axis]), math.prod(now[axis + 1 :]), rows))
        now[axis] = rows.size
    return shapes


def _at_once(shapes: Sequence[Shape], src: TensorDesc, is_whole: bool, size: int) -> Iterator[Candidate]:
    if len(shapes) != 2:
        return
    columns, rows = shapes
    tables = [_table(shape.rows, 1) for shape in (columns, rows)]
    taps = [table.shape[1] - 1 for table in tables]
    length = columns.rows.size * columns.inner
    if max(taps) > _MAX_TAPS or columns.inner > _MAX_CHANNELS or columns.rows.repeats_edges:
        return
    for elements in (4, 1):
        if length % elements or (elements == 1 and src.dtype.itemsize == 1):
            continue
        of_sizes = rows.size, columns.size, rows.rows.size, columns.rows.size, columns.inner, taps[1], taps[0]
        edges, shifts = int(rows.rows.repeats_edges), (_word(rows.rows), _word(columns.rows))
        constants = (size, *of_sizes, edges, *shifts, elements)
        groups = -(-length // (elements * size)), -(-rows.rows.size // _BLOCK), rows.outer
        name = f"bare_direct_{src.dtype}" + "_whole" * is_whole
        nbytes = src.nbytes, rows.outer * rows.rows.size * length * src.dtype.itemsize
        if max(groups) <= MAX_GROUPS:
            packed = b"".join(map(_packed, tables))
            yield Candidate((Step(_kernel(name, constants, packed, groups, nbytes), 0, 1),))


def _one_by_one(shapes: Sequence[Shape], src: TensorDesc, is_whole: bool, size: int) -> Candidate | None:
    """A pass for each axis; memories 2 and 3 in turn hold sums of 32 bits between the passes."""
    steps: list[Step] = []
    middles: list[int] = []
    nbytes = src.nbytes
    for number, shape in enumerate(shapes):
        is_first, is_last = number == 0, number == len(shapes) - 1
        is_along = shape.inner <= _MAX_CHANNELS
        narrow = src.dtype.itemsize == 1
        if narrow and (is_along != is_first or is_last == is_along):
            return None
        quads = shape.size % 4 == 0 if is_along else shape.inner % 4 == 0
        table = _table(shape.rows, 4, is_aligned=quads) if is_along else _table(shape.rows, 1)
        taps = table.shape[1] - 1
        if is_along:
            quads = quads and taps <= shape.size
            groups = -(-shape.rows.size // size), -(-shape.outer // _LINES), 1
        else:
            groups = -(-shape.inner // ((4 if quads else 1) * size)), shape.rows.size, shape.outer
        if max(groups) > MAX_GROUPS or (narrow and is_last and not quads) or (is_along and shape.rows.repeats_edges):
            return None
        of_type = "u8" if narrow and (is_first or is_last) else "f32"
        name = f"bare_{'along' if is_along else 'across'}_{of_type}" + "_whole" * is_whole
        dst_nbytes = shape.outer * shape.rows.size * shape.inner * (src.dtype.itemsize if is_last else 4)
        sizes = shape.outer, shape.size, shape.rows.size, shape.inner, taps
        constants = (size, *sizes, int(quads), int(shape.rows.repeats_edges), _word(shape.rows))
        kernel = _kernel(name, constants, _packed(table), groups, (nbytes, dst_nbytes))
        steps.append(Step(kernel, 0 if is_first else 1 + number, 1 if is_last else 2 + number))
        middles += [] if is_last else [dst_nbytes]
        nbytes = dst_nbytes
    return Candidate(tuple(steps), tuple(middles))


def _kernel(
    name: str, constants: tuple[int, ...], table: bytes, groups: tuple[int, int, int], nbytes: tuple[int, int]
) -> KernelSpec:
    bindings = Binding(0, whole(nbytes[0])), Binding(0, whole(nbytes[1]), writes=True)
    return KernelSpec(name, constants, (), table, groups, bindings)


def _word(rows: Rows) -> int:
    return (rows.shifts or Shifts()).word


def _table(rows: Rows, each: int, *, is_aligned: bool = False) -> npt.NDArray[np.uint32]:
    """One row for each output: the first element that it reads, a multiple of ``each`` if aligned, and its weights.

    Weights are padded with zeros to a multiple of ``each``, and do not exceed the axis if it is long enough.
    """
    first, weights = rows.first_and_weights()
    size = rows.source_size + 2 * rows.repeats_edges
    begin = first // each * each if is_aligned else first
    taps = -(-int((first - begin).max(initial=0) + weights.shape[1]) // each) * each
    begin = np.clip(begin, 0, max(size - taps, 0))
    places = (first - begin)[:, np.newaxis] + np.arange(weights.shape[1])
    wide = np.zeros((len(first), int(places.max(initial=0)) + 1 + taps), weights.dtype)
    np.put_along_axis(wide, places, weights, 1)
    fitting = np.ascontiguousarray(wide[:, :taps])
    if wide[:, taps:].any():
        raise AssertionError("a row has weights behind the end of its axis")
    return np.concatenate([begin.astype(np.uint32)[:, np.newaxis], fitting.view(np.uint32)], axis=1)


def _packed(table: npt.NDArray[np.uint32]) -> bytes:
    """The bytes of a table: all first elements, then all weights."""
    return table[:, 0].tobytes() + table[:, 1:].tobytes()
