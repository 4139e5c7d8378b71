"""The choice of chunks to compute together, so that each source chunk is read as few times as memory allows.

Reads are counted axis by axis, because each axis of a result reads one axis of its source: along axis k, a group of
``m`` chunks reads some number of source chunks, and the product of these over the axes is the number of all reads.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from restride.errors import DescriptorError, warn_caller
from restride.ops.operation import Window
from restride.stream.chain import WindowedChain, lengths

_COMFORT = 64 << 20
"""A group of this many bytes is large enough: a larger one would save little, and keep other threads waiting."""

_SMALL = 4 << 20
"""A group of fewer bytes is not worth its own thread."""

_GROUPS_EACH = 4
"""Number of groups to aim at for each thread, if that costs no further reads."""

_MAX_WAYS = 20_000
"""Maximum number of ways of grouping that are compared, 10 us each."""

_DEFAULT_CHUNK = 16 << 20
"""Size in bytes of a default chunk."""

_PAGE = 4096
"""A chunk of fewer bytes takes the same time whatever its size."""

_MANY_CHUNKS = 1000
"""From this many chunks on, which take a few ms each, their size matters."""

MAX_TINY = 10_000
"""Maximum number of tiny parts of a result. More take minutes; with a little more memory the result takes seconds."""

_TINY = 64 << 10
"""A part with fewer bytes of host and device takes only the fixed time for reading and computing."""

_ENOUGH = 1 << 40
"""An amount of memory above which more would change nothing."""

_FINE = 20
"""Reads are compared in steps of one twentieth of the fewest possible."""


@dataclass(frozen=True)
class ChunkGrid:
    """The chunks of a result, numbered in row-major order."""

    sizes: tuple[int, ...]
    chunks: tuple[int, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of chunks along each axis."""
        return tuple(-(-size // chunk) for size, chunk in zip(self.sizes, self.chunks, strict=True))

    def __len__(self) -> int:
        return math.prod(self.counts)

    def number(self, place: Sequence[int]) -> int:
        """The number of the chunk at ``place``, its position along each axis."""
        number = 0
        for index, count in zip(place, self.counts, strict=True):
            number = number * count + index
        return number

    def window(self, first: Sequence[int], stop: Sequence[int]) -> Window:
        """The part of the result from chunk ``first`` to chunk ``stop``, exclusive, along each axis."""
        return tuple(
            range(low * chunk, min(high * chunk, size))
            for low, high, chunk, size in zip(first, stop, self.chunks, self.sizes, strict=True)
        )


@dataclass(frozen=True)
class Group:
    """Neighbouring chunks that are read and computed together: from ``first`` to ``stop``, exclusive, in the grid."""

    grid: ChunkGrid
    first: tuple[int, ...]
    stop: tuple[int, ...]

    @property
    def window(self) -> Window:
        """The part of the result that the chunks cover."""
        return self.grid.window(self.first, self.stop)

    def places(self) -> Iterator[tuple[int, ...]]:
        """The place of each chunk."""
        return itertools.product(*map(range, self.first, self.stop))

    def alone(self, place: tuple[int, ...]) -> Group:
        """A group that contains only the chunk at ``place``."""
        return Group(self.grid, place, tuple(index + 1 for index in place))

    def __str__(self) -> str:
        last = [index - 1 for index in self.stop]
        return f"chunk {last}" if last == list(self.first) else f"chunks {list(self.first)} to {last}"


@dataclass(frozen=True)
class ReadPlan:
    """A grouping of the chunks.

    Attributes:
        grid: the chunks.
        multiples: chunks of a group along each axis.
        reads: source chunks that all groups read, counted for each group; elements, if the source has no chunks.
        needed: source chunks (or elements) that the whole result reads, each counted once.
        nbytes: the largest number of bytes that a group needs.
    """

    grid: ChunkGrid
    multiples: tuple[int, ...]
    reads: int
    needed: int
    nbytes: int

    @property
    def amplification(self) -> float:
        """How often a part of the source is read, on average; 1.0 means once."""
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


def default_chunks(work: WindowedChain, memory: int, source_chunks: Sequence[int] | None = None) -> tuple[int, ...]:
    """Default chunks of a result, with long contiguous runs in both source and destination.

    Axes are halved until a chunk is small, first those that are slow in both: if the source [t,y,x] becomes [y,x,t], y
    is halved first, then x and t alternately.

    source_chunks: sizes of source chunks; a chunk of the result has the same size along each axis that comes from the
        source, unless that is too large. None: start from the whole result, and halve it until it is about 16 MiB.
    """
    chunks, most = [max(size, 1) for size in work.sizes], memory // 8
    sources = [work.along(axis, range(min(size, 1)))[0] for axis, size in enumerate(work.sizes)]
    if source_chunks is None:
        most = min(most, _DEFAULT_CHUNK)
    else:
        each = zip(chunks, sources, strict=True)
        chunks = [size if source is None else min(size, source_chunks[source[0]]) for size, source in each]
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
    work: WindowedChain, chunks: tuple[int, ...], memory: int, source_chunks: Sequence[int] | None = None
) -> None:
    """Warn if too little ``memory`` leaves over 1000 default chunks of less than a page, and say how much is enough.

    Raises:
        DescriptorError: more than ``MAX_TINY`` chunks are tiny.
    """
    count = len(ChunkGrid(work.sizes, chunks))
    if _is_page(work, chunks) or count <= _MANY_CHUNKS:
        return
    largest, least, larger = default_chunks(work, _ENOUGH, source_chunks), memory, chunks
    while larger != largest and not (_is_page(work, larger) and len(ChunkGrid(work.sizes, larger)) <= MAX_TINY):
        least *= 2
        larger = default_chunks(work, least, source_chunks)
    if least > memory:
        message = (
            f"memory of {memory} bytes leaves {count} chunks of {list(chunks)} elements, which "
            f"take as much time each as large ones; memory={least} leaves {len(ChunkGrid(work.sizes, larger))}"
        )
        if count > MAX_TINY and is_tiny(work, tuple(map(range, chunks))):
            raise DescriptorError(f"{message}; more than {MAX_TINY} of less than {_PAGE} bytes are refused")
        warn_caller(message)


def _is_page(work: WindowedChain, sizes: Sequence[int]) -> bool:
    return math.prod(sizes) * work.dtype.itemsize >= _PAGE


@dataclass(frozen=True)
class _Way:
    """A way to group the chunks along one axis of the result: ``multiple`` of them together.

    groups: the number of groups. reads: source chunks along the axis that all groups read, counted for each group; the
    number of groups if the source has no such axis. longest: for each array from the source to the result, the axis
    that a group reads, and how many indices of it at most; None: the array has no corresponding axis.
    """

    multiple: int
    groups: int
    reads: int
    longest: list[tuple[int, int] | None]

    @classmethod
    def of(cls, work: WindowedChain, grid: ChunkGrid, axis: int, multiple: int, source_chunks: Sequence[int]) -> _Way:
        size, step = grid.sizes[axis], multiple * grid.chunks[axis]
        groups = [work.along(axis, range(start, min(start + step, size))) for start in range(0, size, step)]
        longest: list[tuple[int, int] | None] = []
        for of_array in zip(*groups, strict=True):
            spans = [span for span in of_array if span is not None]
            longest.append((spans[0][0], max(len(part) for _, part in spans)) if spans else None)
        of_source = [group[0] for group in groups]
        reads = sum(1 if span is None else _count(span[1], source_chunks[span[0]]) for span in of_source)
        return cls(multiple, len(groups), reads, longest)


def _count(part: range, chunk: int) -> int:
    """The number of chunks along an axis that contain indices of ``part``."""
    return -(-part.stop // chunk) - part.start // chunk if part else 0


def _multiples(count: int) -> list[int]:
    """Numbers of chunks in a group that are worth comparing, for an axis of ``count`` chunks."""
    doubled = [1 << power for power in range(count.bit_length()) if 1 << power < count]
    parts = [-(-count // part) for part in (1, 2, 3, 4, 6, 8)]
    return sorted({*doubled, *parts})


def _largest(work: WindowedChain, windows: Sequence[Window], ways: Sequence[_Way]) -> int:
    """Upper bound of the bytes that any group needs. windows: the windows of one group, by ``work.windows``."""
    shapes = [list(lengths(window)) for window in windows]
    for way in ways:
        for shape, along in zip(shapes, way.longest, strict=True):
            if along is not None:
                axis, length = along
                shape[axis] = length
    return work.nbytes_of(shapes)


def plan_reads(
    work: WindowedChain, grid: ChunkGrid, source_chunks: Sequence[int] | None, most: int, threads: int = 1
) -> ReadPlan:
    """The grouping with the fewest reads whose groups need at most ``most`` bytes each, or else are single chunks.

    Args:
        work: the chain to compute.
        grid: the chunks of its result.
        source_chunks: sizes of source chunks; None: the source has none, and elements are counted.
        most: bytes of host and device together for one group.
        threads: number of threads that take groups; if that costs no further reads, there are enough groups for all.
    """
    if not len(grid):
        return ReadPlan(grid, (1,) * len(grid.sizes), 0, 0, 0)
    steps = (1,) * len(work.source_sizes) if source_chunks is None else source_chunks
    whole = tuple(map(range, grid.sizes))
    windows = work.windows(whole)
    counts = [_count(part, step) for part, step in zip(windows[0], steps, strict=True)]
    needed = math.prod(counts)
    candidates = [_multiples(count) for count in grid.counts]
    while math.prod(map(len, candidates)) > _MAX_WAYS:
        longest = max(candidates, key=len)
        longest[:] = [longest[0], *longest[2::2]]
    ways = [[_Way.of(work, grid, axis, multiple, steps) for multiple in each] for axis, each in enumerate(candidates)]
    used = {each[0].longest[0][0] for each in ways if each[0].longest[0] is not None}
    alone = math.prod(count for axis, count in enumerate(counts) if axis not in used)  # the chain takes one index there
    comfort = min(max(work.nbytes(whole) // (_GROUPS_EACH * threads), _SMALL), _COMFORT)
    best: tuple[tuple[int, int, int], ReadPlan] | None = None
    for chosen in itertools.product(*ways):
        taken = _largest(work, windows, chosen)
        multiples = tuple(way.multiple for way in chosen)
        if taken > most and math.prod(multiples) > 1:
            continue
        total = alone * math.prod(way.reads for way in chosen)
        is_large = taken > comfort
        groups = math.prod(way.groups for way in chosen)
        key = (_FINE * total // max(needed, 1), int(is_large), taken if is_large else groups)
        if best is None or key < best[0]:
            best = key, ReadPlan(grid, multiples, total, needed, taken)
    assert best is not None  # noqa: S101 - single chunks are always among the ways
    return best[1]


def is_tiny(work: WindowedChain, window: Window) -> bool:
    """True if the window is so small that it takes the same time whatever its bytes and the source bytes it reads."""
    return not _is_page(work, lengths(window)) and work.nbytes(window) < _TINY


def one_element(work: WindowedChain) -> int:
    """Upper bound of the bytes needed to compute a single element of the result, which must have elements."""
    single, steps = ChunkGrid(work.sizes, (1,) * len(work.sizes)), (1,) * len(work.source_sizes)
    ways = [_Way.of(work, single, axis, 1, steps) for axis in range(len(work.sizes))]
    return _largest(work, work.windows(tuple(range(1) for _ in work.sizes)), ways)


def pieces(work: WindowedChain, window: Window, most: int, enough: int, room: float = math.inf) -> Iterator[Window]:
    """Split a chunk into parts; each needs at most ``most`` bytes, if the result of the whole chunk counts too.

    enough: the memory with which no chunk is split; the error advises it. room: maximum bytes of a single part, which
    must fit on a device.

    Raises:
        DescriptorError: not even a part of one element fits.
    """
    whole = math.prod(lengths(window)) * work.dtype.itemsize
    waiting = [window]
    while waiting:
        part = waiting.pop()
        sizes, taken = lengths(part), work.nbytes(part)
        if whole + taken <= most and taken <= room:
            yield part
            continue
        if math.prod(sizes) <= 1:
            device = f", with {room} on the device," if taken > room else ""
            remedy = "" if device else f": give memory={enough} or more"
            ends = [f"{along.start}:{along.stop}" for along in window]
            raise DescriptorError(
                f"memory of {most} bytes{device} is too little for the chunk {ends}: it has {whole} bytes, and one "
                f"element of it takes {taken} more{remedy}"
            )
        axis = max(range(len(sizes)), key=lambda axis: sizes[axis])
        middle = (part[axis].start + part[axis].stop) // 2
        halves = (range(middle, part[axis].stop), range(part[axis].start, middle))
        waiting += [(*part[:axis], half, *part[axis + 1 :]) for half in halves]
