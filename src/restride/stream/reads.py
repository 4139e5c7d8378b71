"""Which chunks are computed together, so that each chunk of the source is read as few times as memory allows.

Reads are counted axis by axis, because each axis of a result reads one axis of its source: a group of ``m`` chunks
along axis k touches so many chunks of the source along it, and the reads of all groups are the product over the axes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from restride.errors import DescriptorError, warn_caller
from restride.stream.chain import Window, WindowedChain, lengths

_COMFORT = 64 << 20
"""Bytes of a group that is large enough: more would save little, and keep the other threads waiting."""

_SMALL = 4 << 20
"""Bytes of a group that is worth a thread."""

_GROUPS_EACH = 4
"""Groups for each thread, where that costs no reads."""

_MOST_WAYS = 20_000
"""Ways to group that are compared, 10 us each."""

_DEFAULT_CHUNK = 16 << 20
"""Bytes of a chunk of a destination that has none."""

_PAGE = 4096
"""Bytes of a chunk below which its time does not depend on its bytes."""

_MANY_CHUNKS = 1000
"""Chunks that take so long, a few ms each, that it matters how small they are."""

MOST_TINY = 10_000
"""Tiny parts of a result that are too many: they take minutes, and seconds with some more memory."""

_TINY = 64 << 10
"""Bytes of host and device below which reading and computing take no time beside that of any part."""

_ENOUGH = 1 << 40
"""Bytes of memory with which nothing more is to be gained."""

_FINE = 20
"""Reads are compared in twentieths of the fewest."""


@dataclass(frozen=True)
class Grid:
    """The chunks of a result, numbered in row-major order."""

    sizes: tuple[int, ...]
    chunks: tuple[int, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """Chunks along each axis."""
        return tuple(-(-size // chunk) for size, chunk in zip(self.sizes, self.chunks, strict=True))

    def __len__(self) -> int:
        return math.prod(self.counts)

    def number(self, place: Sequence[int]) -> int:
        """The number of the chunk at this place."""
        number = 0
        for index, count in zip(place, self.counts, strict=True):
            number = number * count + index
        return number

    def window(self, first: Sequence[int], stop: Sequence[int]) -> Window:
        """The part of the result from chunk ``first`` up to ``stop``, exclusive, along each axis."""
        return tuple(
            range(low * chunk, min(high * chunk, size))
            for low, high, chunk, size in zip(first, stop, self.chunks, self.sizes, strict=True)
        )


@dataclass(frozen=True)
class Group:
    """Neighbouring chunks that are read and computed together: places ``first`` up to ``stop`` of the grid."""

    grid: Grid
    first: tuple[int, ...]
    stop: tuple[int, ...]

    @property
    def window(self) -> Window:
        """The part of the result that they are."""
        return self.grid.window(self.first, self.stop)

    def places(self) -> Iterator[tuple[int, ...]]:
        """Each chunk."""
        return itertools.product(*map(range, self.first, self.stop))

    def alone(self, place: tuple[int, ...]) -> Group:
        """One of its chunks."""
        return Group(self.grid, place, tuple(index + 1 for index in place))

    def __str__(self) -> str:
        last = [index - 1 for index in self.stop]
        return f"chunk {last}" if last == list(self.first) else f"chunks {list(self.first)} to {last}"


@dataclass(frozen=True)
class ReadPlan:
    """How the chunks are grouped.

    Attributes:
        grid: the chunks.
        multiples: chunks of a group along each axis.
        reads: chunks of the source that all groups read together; elements, where the source has no chunks.
        needed: those that the whole result reads, each once.
        nbytes: most bytes that a group takes.
    """

    grid: Grid
    multiples: tuple[int, ...]
    reads: int
    needed: int
    nbytes: int

    @property
    def amplification(self) -> float:
        """How often a part of the source is read, on average; 1: once."""
        return self.reads / self.needed if self.needed else 1.0

    def groups(self) -> Iterator[Group]:
        """The groups in row-major order."""
        counts = self.grid.counts
        steps = [range(0, count, step) for count, step in zip(counts, self.multiples, strict=True)]
        for first in itertools.product(*steps):
            ends = zip(first, self.multiples, counts, strict=True)
            yield Group(self.grid, first, tuple(min(low + step, count) for low, step, count in ends))

    def __str__(self) -> str:
        return (
            f"{len(self.grid)} chunks of {list(self.grid.chunks)} in groups of {list(self.multiples)}, "
            f"each part of the source read {self.amplification:.2f} times"
        )


def default_chunks(work: WindowedChain, memory: int, first: Sequence[int] | None = None) -> tuple[int, ...]:
    """Chunks for a destination that has none, so that runs of neighbours stay long in the source and the destination.

    Axes are halved until a chunk is small, first those that are slow in both: of [t,y,x] that becomes [y,x,t] this is
    y, then x and t in turn.

    first: what is tried first; default: all of it, halved until it is about 16 MiB.
    """
    chunks = [max(size, 1) for size in first or work.sizes]
    most = min(memory // 8, _DEFAULT_CHUNK if first is None else memory)
    sources = [work.along(axis, range(min(size, 1)))[0] for axis, size in enumerate(work.sizes)]
    fastest = [axis if source is None else max(axis, source[0]) for axis, source in enumerate(sources)]
    while math.prod(chunks) > 1:
        window = tuple(range(min(chunk, size)) for chunk, size in zip(chunks, work.sizes, strict=True))
        if math.prod(chunks) * work.dtype.itemsize <= most and work.nbytes(window) <= memory // 4:
            break
        axis = min(
            (axis for axis, chunk in enumerate(chunks) if chunk > 1), key=lambda axis: (fastest[axis], -chunks[axis])
        )
        chunks[axis] = -(-chunks[axis] // 2)
    return tuple(chunks)


def require_larger_chunks(
    work: WindowedChain, chunks: Sequence[int], memory: int, first: Sequence[int] | None = None
) -> None:
    """Warn if ``memory`` is why default chunks are thousands of less than a page, and say what is enough.

    Raises:
        DescriptorError: more than ``MOST_TINY`` are tiny.
    """
    if _is_page(work, chunks) or _chunk_count(work, chunks) <= _MANY_CHUNKS:
        return
    largest, least, larger = default_chunks(work, _ENOUGH, first), memory, chunks
    while larger != largest and not (_is_page(work, larger) and _chunk_count(work, larger) <= MOST_TINY):
        least *= 2
        larger = default_chunks(work, least, first)
    if least > memory:
        message = (
            f"memory of {memory} bytes leaves {_chunk_count(work, chunks)} chunks of {list(chunks)} elements, which "
            f"take as much time each as large ones; memory={least} leaves {_chunk_count(work, larger)}"
        )
        if _chunk_count(work, chunks) > MOST_TINY and is_tiny(work, tuple(map(range, chunks))):
            raise DescriptorError(f"{message}; more than {MOST_TINY} of less than {_PAGE} bytes are refused")
        warn_caller(message)


def _is_page(work: WindowedChain, chunks: Sequence[int]) -> bool:
    return math.prod(chunks) * work.dtype.itemsize >= _PAGE


def _chunk_count(work: WindowedChain, chunks: Sequence[int]) -> int:
    return math.prod(-(-size // chunk) for size, chunk in zip(work.sizes, chunks, strict=True))


@dataclass(frozen=True)
class _Axis:
    """What chunks along one axis of the result read, of every array from the source to the result.

    spans: of each array the axis that they read, its first indices and its ends; None: no such axis. step: indices of a
    chunk of the source along the axis.
    """

    spans: list[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64]] | None]
    count: int
    step: int

    @classmethod
    def of(cls, work: WindowedChain, grid: Grid, axis: int, source_chunks: Sequence[int] | None) -> _Axis:
        size, chunk, count = grid.sizes[axis], grid.chunks[axis], grid.counts[axis]
        each = [work.along(axis, range(at * chunk, min((at + 1) * chunk, size))) for at in range(count)]
        spans: list[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64]] | None] = []
        for of_array in zip(*each, strict=True):
            found = [span for span in of_array if span is not None]
            if not found:
                spans.append(None)
                continue
            starts, stops = (np.array(ends) for ends in zip(*((p.start, p.stop) for _, p in found), strict=True))
            spans.append((found[0][0], starts, stops))
        source = spans[0]
        return cls(spans, count, 1 if source is None or source_chunks is None else source_chunks[source[0]])

    def reads(self, multiple: int) -> int:
        """Chunks of the source along the axis that all groups of so many chunks read; without such an axis, groups."""
        if self.spans[0] is None:
            return -(-self.count // multiple)
        _, starts, stops = self.spans[0]
        first, last = _hulls(starts, stops, multiple)
        return int((-(-last // self.step) - first // self.step)[last > first].sum())

    def lengths(self, multiple: int) -> list[tuple[int, int] | None]:
        """Of each array the axis that a group reads, and at most so many indices of it."""
        longest: list[tuple[int, int] | None] = []
        for span in self.spans:
            if span is None:
                longest.append(None)
                continue
            first, last = _hulls(*span[1:], multiple)
            longest.append((span[0], int((last - first).max())))
        return longest

    def multiples(self) -> list[int]:
        """Sizes of groups that are worth comparing."""
        doubled = [1 << power for power in range(self.count.bit_length()) if 1 << power < self.count]
        parts = [-(-self.count // part) for part in (1, 2, 3, 4, 6, 8)]
        return sorted({*doubled, *parts})


def _hulls(
    starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64], multiple: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """First index and end of what each group of ``multiple`` chunks reads: chunks that read nothing count for none."""
    reads = stops > starts
    ends = np.arange(0, len(starts), multiple)
    first = np.minimum.reduceat(np.where(reads, starts, np.iinfo(np.int64).max), ends)
    last = np.maximum.reduceat(np.where(reads, stops, 0), ends)
    return np.minimum(first, last), last


def plan_reads(
    work: WindowedChain, grid: Grid, source_chunks: Sequence[int] | None, most: int, threads: int = 1
) -> ReadPlan:
    """The groups of chunks with the fewest reads whose need of memory stays below ``most`` bytes; else single chunks.

    Args:
        work: what is computed.
        grid: the chunks of its result.
        source_chunks: those of the source; None: it has none, and elements are counted.
        most: bytes of host and device together for one group.
        threads: that take groups: where it costs no reads, there are enough groups for all.
    """
    if not len(grid):
        return ReadPlan(grid, (1,) * len(grid.sizes), 0, 0, 0)
    axes = [_Axis.of(work, grid, axis, source_chunks) for axis in range(len(grid.sizes))]
    first = work.windows(grid.window((0,) * len(axes), (1,) * len(axes)))
    shapes = [list(lengths(window)) for window in first]
    used = {axis.spans[0][0] for axis in axes if axis.spans[0] is not None}
    alone = math.prod(
        -(-part.stop // step) - part.start // step
        for axis, part in enumerate(first[0])
        for step in [1 if source_chunks is None else source_chunks[axis]]
        if axis not in used
    )  # along axes of which one index is taken
    needed = alone * math.prod(axis.reads(axis.count) for axis in axes)
    candidates = [axis.multiples() for axis in axes]
    while math.prod(map(len, candidates)) > _MOST_WAYS:
        longest = max(candidates, key=len)
        longest[:] = [longest[0], *longest[2::2]]
    reads = [{multiple: axis.reads(multiple) for multiple in each} for axis, each in zip(axes, candidates, strict=True)]
    long = [
        {multiple: axis.lengths(multiple) for multiple in each} for axis, each in zip(axes, candidates, strict=True)
    ]

    def nbytes(multiples: Sequence[int]) -> int:
        for each, multiple in zip(long, multiples, strict=True):
            for shape, found in zip(shapes, each[multiple], strict=True):
                if found is not None:
                    shape[found[0]] = found[1]
        return work.nbytes_of(shapes)

    whole = work.nbytes(tuple(range(size) for size in grid.sizes))
    comfort = min(max(whole // (_GROUPS_EACH * threads), _SMALL), _COMFORT)
    best: tuple[tuple[int, int, int], ReadPlan] | None = None
    for multiples in itertools.product(*candidates):
        taken = nbytes(multiples)
        if taken > most and math.prod(multiples) > 1:
            continue
        total = alone * math.prod(each[multiple] for each, multiple in zip(reads, multiples, strict=True))
        groups = math.prod(-(-axis.count // multiple) for axis, multiple in zip(axes, multiples, strict=True))
        is_large = taken > comfort
        key = (_FINE * total // max(needed, 1), int(is_large), taken if is_large else groups)
        if best is None or key < best[0]:
            best = key, ReadPlan(grid, multiples, total, needed, taken)
    assert best is not None  # noqa: S101 - single chunks are always among the ways
    return best[1]


def is_tiny(work: WindowedChain, window: Window) -> bool:
    """Whether its time depends neither on its bytes nor on those of the source that it reads."""
    return math.prod(lengths(window)) * work.dtype.itemsize < _PAGE and work.nbytes(window) < _TINY


def one_element(work: WindowedChain) -> int:
    """Most bytes that an element of the result takes alone; it has one or more."""
    single = Grid(work.sizes, (1,) * len(work.sizes))
    shapes = [list(lengths(window)) for window in work.windows(tuple(range(1) for _ in work.sizes))]
    for axis in range(len(work.sizes)):
        longest = _Axis.of(work, single, axis, None).lengths(1)
        for shape, found in zip(shapes, longest, strict=True):
            if found is not None:
                shape[found[0]] = found[1]
    return work.nbytes_of(shapes)


def pieces(work: WindowedChain, window: Window, most: int) -> Iterator[Window]:
    """A chunk that needs more than ``most`` bytes, in parts that do not, beside the whole chunk's result.

    Raises:
        DescriptorError: not even a part of one element fits.
    """
    whole = math.prod(lengths(window)) * work.dtype.itemsize
    waiting = [window]
    while waiting:
        part = waiting.pop()
        sizes = lengths(part)
        if whole + work.nbytes(part) <= most:
            yield part
            continue
        if math.prod(sizes) <= 1:
            raise DescriptorError(
                f"memory of {most} bytes is too little for the chunk {[f'{p.start}:{p.stop}' for p in window]}: it has "
                f"{whole} bytes, and one element of it takes {work.nbytes(part)} more"
            )
        axis = max(range(len(sizes)), key=lambda axis: sizes[axis])
        middle = (part[axis].start + part[axis].stop) // 2
        halves = (range(middle, part[axis].stop), range(part[axis].start, middle))
        waiting += [(*part[:axis], half, *part[axis + 1 :]) for half in halves]
