"""Memory traffic: the 32-byte sectors that the subgroups of a kernel touch, compared with the bytes that it needs.

A kernel is dispatched on any device at hand and records a sample of its accesses (``restride_bench.audit.instrument``):
all accesses of some work groups, and all groups' accesses to some lines of memory. The bytes that an invocation touches
depend only on the kernel's arithmetic and are the same on every device. How they become transactions is computed here:
the lanes of a subgroup load together, and memory moves sectors of 32 bytes. Worked example: 32 lanes that load every
second f32 touch 256 bytes, which are 8 sectors, and need 128 of these bytes.

A sector that a group's own cache has dropped may still be in the cache that all groups share. The sampled lines show
how often: each is an independent draw from all lines that the dispatch touches, so on a sample of one line in P, a
shared cache of N lines behaves like one of N / P lines (Waldspurger et al., "Efficient MRC Construction with SHARDS",
FAST 2015).
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from restride.errors import UnsupportedError
from restride.kernel import Binding, KernelSpec
from restride.kernel.modules import load_module
from restride.runtime import choose, list_devices
from restride.runtime.specialization import specialized
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride.tensor.device import Device
from restride_bench.audit.compiler import local_size
from restride_bench.audit.instrument import HEADER_WORDS, RECORD_WORDS, Access, Sample, instrumented, is_sampled
from restride_bench.audit.recording import Dispatch

SECTOR, LINE = 32, 128
"""Sizes in bytes of a sector, the smallest unit that memory moves, and of a cache line, on today's GPUs."""

CACHE_BYTES = 16 << 10
"""Size in bytes of a work group's cache: RDNA 2 and GCN have 16 KiB per compute unit."""

MAX_GROUPS = 24
"""Maximum number of work groups traced in a dispatch, from the first on at equal distances."""

MAX_LINES = 1 << 13
"""About this many lines of source and destination are traced: a share of 1, 1/2, 1/4, ... of all lines."""

TIMEOUT = 600.0
"""Maximum seconds of a dispatch. Recording the accesses to 200 MiB takes seconds on a CPU, a minute on a busy one."""

CAPACITY = 24 << 20
"""Size of the buffer of records in words: 8.4 million accesses."""


@dataclass(frozen=True)
class Traffic:
    """The traffic between memory and one buffer of a dispatch, estimated for all work groups together.

    needed: bytes of the elements that are loaded or stored, each counted once per group.
    fewest: sectors that hold these bytes. sectors: sectors moved, counted again if the group's cache had dropped them.
    requests, lines: sectors and lines touched by each instruction of each subgroup, whether cached or not.
    partial: requests for less than a whole sector.
    """

    needed: float
    fewest: float
    sectors: float
    requests: float
    lines: float
    partial: float

    @property
    def efficiency(self) -> float:
        """The fewest sectors divided by the sectors moved: 1 at best."""
        return self.fewest / self.sectors if self.sectors else 1.0

    @property
    def useful(self) -> float:
        """The bytes needed divided by the bytes moved: 0.5 at best for every second f32."""
        return self.needed / (self.sectors * SECTOR) if self.sectors else 1.0


class _Kind(NamedTuple):
    """A buffer, by the number of its binding, and a direction: written or read."""

    binding: int
    writes: bool


@dataclass(frozen=True)
class Shared:
    """The accesses of all work groups, one group after the other, to a sample of the lines of source and destination.

    line, sector: the line, and the sector in it, 0 to 3 if read and 4 to 7 if written; each listed once per group.
    share: the sampled share of all lines.
    """

    line: npt.NDArray[np.int64]
    sector: npt.NDArray[np.int64]
    share: float

    def moved(self, cache: int) -> float:
        """Bytes moved between memory and a cache of ``cache`` bytes that all groups share, estimated for all lines.

        The cache allocates whole lines and loads sectors when they are touched; the least recently used line is
        evicted. Written sectors go to memory once, when their line is evicted.
        """
        most = max(int(cache / LINE * self.share), 1)
        return _misses(self.line, self.sector, most) * SECTOR / self.share


class Trace(NamedTuple):
    """The memory that a dispatch touches.

    traffic: of all buffers together, by "load" for those that the kernel reads, "store" for those it writes, and
        "tables" for its parameters.
    shared: the accesses of all groups to sampled lines.
    turns: how often an invocation makes an access that is in a loop, on average; 1 if no access is in a loop.
    """

    traffic: dict[str, Traffic]
    shared: Shared
    turns: float


class _Records(NamedTuple):
    """The records of a dispatch as columns: number of the access in the code, invocation, byte; in recorded order."""

    site: npt.NDArray[np.int64]
    invocation: npt.NDArray[np.int64]
    byte: npt.NDArray[np.int64]


class Tracer:
    """Dispatches kernels that record their accesses on a device, one kernel at a time."""

    def __init__(self) -> None:
        """Open the default device.

        Raises:
            DeviceNotFound: there is no device.
        """
        self._modules: dict[str, bytes] = {}
        self._runtime = VulkanRuntime(
            choose(list_devices()).index, timeout=TIMEOUT, module_source=self._modules.__getitem__
        )
        self._device = Device.over(self._runtime)

    def close(self) -> None:
        """Close the device."""
        self._device.close()

    def trace(self, dispatch: Dispatch, subgroup: int = 32) -> Trace:
        """Trace the memory that a dispatch touches, with subgroups of ``subgroup`` lanes.

        Raises:
            OutOfDeviceMemory, UnsupportedError: the buffers do not fit the device, or there are too many records.
        """
        kernel = dispatch.kernel
        groups = math.prod(kernel.groups)
        every = -(-groups // MAX_GROUPS)
        nbytes = sum(binding.nbytes for binding in kernel.bindings)
        thinned = max(nbytes // LINE // MAX_LINES, 1).bit_length() - 1
        accesses, records = self._records(dispatch, every, thinned)
        size = local_size(load_module(kernel.shader), kernel.constants)
        traced = range(0, groups, every)
        totals: dict[_Kind, npt.NDArray[np.float64]] = {}
        pairs = repeated = 0
        for group in traced:
            part = _part(records, group, size)
            turn = _turns(part)
            for kind, figures in _of_group(accesses, part, turn, size, subgroup).items():
                totals[kind] = totals.get(kind, np.zeros(len(figures))) + figures
            in_loops = np.isin(part.site, part.site[turn > 0])
            pairs += int((in_loops & (turn == 0)).sum())
            repeated += int(in_loops.sum())
        named: dict[str, npt.NDArray[np.float64]] = {}
        for kind, total in sorted(totals.items()):
            name = "store" if kind.writes else "tables" if kind.binding >= len(kernel.bindings) else "load"
            named[name] = named.get(name, 0) + total * groups / len(traced)
        traffic = {name: Traffic(*total.tolist()) for name, total in named.items()}
        return Trace(traffic, _shared(accesses, records, kernel, size, thinned), repeated / pairs if pairs else 1.0)

    def _records(self, dispatch: Dispatch, every: int, thinned: int) -> tuple[list[Access], _Records]:
        kernel, runtime = dispatch.kernel, self._runtime
        memories = [runtime.allocate(nbytes) for nbytes in dispatch.nbytes]
        # The device used here may allow only shorter bindings than a GPU. Contents past the end are not needed:
        # addresses of elements depend on sizes and strides alone, and the driver skips accesses past the end.
        most = runtime.info.limits.max_buffer_range
        bindings = tuple(replace(binding, nbytes=min(binding.nbytes, most)) for binding in kernel.bindings)
        if kernel.parameters:
            parameters = runtime.allocate(len(kernel.parameters))
            runtime.write(parameters, 0, memoryview(kernel.parameters))
            memories.append(parameters)
            bindings = (*bindings, Binding(0, len(kernel.parameters) & ~3))
        trace = runtime.allocate(4 * CAPACITY)
        runtime.write(trace, 0, memoryview(bytes(4 * HEADER_WORDS)))
        code, _ = specialized(load_module(kernel.shader), kernel.constants)
        sample = Sample(every, thinned, len(kernel.bindings))
        code, accesses = instrumented(code, len(bindings), kernel.groups, sample, CAPACITY)
        name = str(len(self._modules))
        self._modules[name] = code
        bindings = (*bindings, Binding(0, 4 * CAPACITY, writes=True))
        traced: KernelSpec = replace(kernel, shader=name, constants=(), parameters=b"", bindings=bindings)
        runtime.submit([traced], [*memories, trace])
        head = np.zeros(HEADER_WORDS, np.uint32)
        runtime.read(trace, 0, head.data)
        words = int(head[0])
        if words > CAPACITY - HEADER_WORDS - 2 * RECORD_WORDS:
            raise UnsupportedError(f"{kernel.shader} makes {words // RECORD_WORDS} records, too many for their buffer")
        table = np.empty((words // RECORD_WORDS, RECORD_WORDS), np.uint32)
        if table.size:
            runtime.read(trace, 4 * (HEADER_WORDS + RECORD_WORDS), table.data)
        return accesses, _Records(*table.astype(np.int64).T)


def _part(records: _Records, group: int, size: int) -> _Records:
    """The records of one work group, with invocations numbered from 0 within it."""
    is_here = records.invocation // size == group
    site, invocation, byte = (column[is_here] for column in records)
    return _Records(site, invocation - group * size, byte)


def _shared(accesses: Sequence[Access], records: _Records, kernel: KernelSpec, size: int, thinned: int) -> Shared:
    """The records of the sampled lines, group by group, each sector once per group."""
    binding = np.array([access.binding for access in accesses], np.int64)[records.site]
    writes = np.array([access.writes for access in accesses], np.int64)[records.site]
    line = records.byte // LINE
    is_here = (binding < len(kernel.bindings)) & is_sampled(line, thinned)
    group = (records.invocation // size)[is_here]
    order = np.argsort(group, kind="stable")
    touched = ((line * len(kernel.bindings) + binding) * 8 + 4 * writes + records.byte % LINE // SECTOR)[is_here][order]
    _, first = np.unique(group[order] * (touched.max(initial=0) + 1) + touched, return_index=True)
    touched = touched[np.sort(first)]
    return Shared(touched // 8, touched % 8, 1 / (1 << thinned))


def _of_group(
    accesses: Sequence[Access], records: _Records, turn: npt.NDArray[np.int64], size: int, subgroup: int
) -> dict[_Kind, npt.NDArray[np.float64]]:
    """The fields of ``Traffic`` for one work group, by buffer and direction."""
    nbytes = np.array([access.nbytes for access in accesses], np.int64)
    figures: dict[_Kind, npt.NDArray[np.float64]] = {}
    kinds = [_Kind(access.binding, access.writes) for access in accesses]
    ordered = sorted(set(kinds))
    kind_of = np.array([ordered.index(kind) for kind in kinds], np.int64)[records.site]
    for number, kind in enumerate(ordered):
        chosen = kind_of == number
        if not chosen.any():
            continue
        first, width = records.byte[chosen], nbytes[records.site[chosen]]
        needed = _union_bytes(first, width)
        # An instruction of a subgroup has one access in the code and one turn of its loop.
        lanes = records.invocation[chosen] // subgroup
        instruction = (turn[chosen] * (size // subgroup + 1) + lanes) * len(accesses) + records.site[chosen]
        _, sectors, covered = _touched(instruction, first, width, SECTOR)
        instructions, _, _ = _touched(instruction, first, width, LINE)
        figures[kind] = np.array(
            (
                needed,
                len(np.unique(sectors)),
                _misses(sectors, np.zeros_like(sectors), CACHE_BYTES // SECTOR),
                len(sectors),
                len(instructions),
                (covered < SECTOR).sum(),
            ),
            np.float64,
        )
    return figures


def _turns(records: _Records) -> npt.NDArray[np.int64]:
    """For each record, how often its invocation made the same access before: 0, 1, ..."""
    order = np.lexsort((np.arange(len(records.site)), records.site, records.invocation))
    site, invocation = records.site[order], records.invocation[order]
    starts = np.r_[True, (site[1:] != site[:-1]) | (invocation[1:] != invocation[:-1])]
    place = np.arange(len(order))
    turn = np.empty_like(place)
    turn[order] = place - np.maximum.accumulate(np.where(starts, place, 0))
    return turn


def _union_bytes(first: npt.NDArray[np.int64], width: npt.NDArray[np.int64]) -> int:
    """Bytes of the union of intervals."""
    order = np.argsort(first, kind="stable")
    begin, end = first[order], (first + width)[order]
    reached = np.r_[begin[0], np.maximum.accumulate(end)[:-1]]
    return int(np.maximum(end - np.maximum(begin, reached), 0).sum())


def _touched(
    instruction: npt.NDArray[np.int64], first: npt.NDArray[np.int64], width: npt.NDArray[np.int64], unit: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each instruction, the units of memory that it touches and the bytes that it accesses in each, in order.

    Returns (instruction, unit, bytes). No access spans two sectors: it has at most 16 bytes and is aligned to its size.
    """
    span = int(first.max()) // unit + 1
    touched, lane = np.unique(instruction * span + first // unit, return_inverse=True)
    return touched // span, touched % span, np.bincount(lane, width).astype(np.int64)


def _misses(line: npt.NDArray[np.int64], sector: npt.NDArray[np.int64], most: int) -> int:
    """How many sectors a cache loads for a sequence of accesses: sector 0 to 7 of a line each.

    The cache keeps the ``most`` lines that were used last, and of each the sectors that were touched.
    """
    if len(np.unique(line)) <= most:
        return len(np.unique(line * 8 + sector))
    cached: OrderedDict[int, int] = OrderedDict()
    missed = 0
    for each, part in zip(line.tolist(), sector.tolist(), strict=True):
        present = cached.get(each, 0)
        missed += not present >> part & 1
        cached[each] = present | 1 << part
        cached.move_to_end(each)
        if len(cached) > most:
            cached.popitem(last=False)
    return missed
