"""stream: run a chain of operations from a source to a destination, chunk by chunk of the destination.

Each thread takes the next group of chunks, reads the source, computes on a free device, and writes, so reading,
computing and writing overlap. For libraries that are not known to be thread-safe, only one thread reads or writes at a
time.
"""

from __future__ import annotations

import math
import os
import queue
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import SupportsIndex

import numpy as np

from restride.arguments import BYTES, as_bytes, check_keywords, flag, integers
from restride.dtypes import Array, DTypeLike
from restride.errors import DescriptorError, Message, StreamError, command_text
from restride.ops.operation import Window
from restride.progress import Progress
from restride.stream.chain import Chain, WindowedChain, inside, lengths, spelled
from restride.stream.ends import Destination, Source, require_apart, stored_copies
from restride.stream.files import DestinationArray, SourceArray
from restride.stream.journal import Journal
from restride.stream.lazy import LazyArray, unwrapped
from restride.stream.reads import (
    MAX_TINY,
    ChunkGrid,
    Group,
    ReadPlan,
    default_chunks,
    is_tiny,
    one_element,
    pieces,
    plan_reads,
    require_larger_chunks,
)
from restride.tensor.device import Device, default_device


@dataclass(frozen=True)
class Streamed:
    """The outcome of a stream.

    Attributes:
        chunks: number of chunks of the destination.
        skipped: chunks that the journal listed as written.
        bytes_read: bytes of elements read from the source.
        bytes_written: bytes of elements written to the destination.
        plan: how chunks were grouped; ``plan.amplification`` is how often a part of the source is read.
        peak_bytes: most bytes of host and device together that were in use at once, as counted by the stream.
        seconds: time taken.
    """

    chunks: int
    skipped: int
    bytes_read: int
    bytes_written: int
    plan: ReadPlan
    peak_bytes: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.chunks - self.skipped} chunks written, {self.skipped} skipped; {self.bytes_read} bytes read, "
            f"{self.bytes_written} written in {self.seconds:.1f} s; {self.plan}"
        )


@check_keywords
def stream(
    source: SourceArray,
    destination: DestinationArray,
    chain: Chain | None = None,
    *,
    chunks: Sequence[int] | None = None,
    memory: str | float = "512MiB",
    devices: Sequence[Device] | None = None,
    journal: str | os.PathLike[str] | None = None,
    progress: bool | str = False,
    source_dtype: DTypeLike | None = None,
) -> Streamed:
    """Run a chain of operations from a source to a destination, both of any size, chunk by chunk of the destination.

    The result has the bits of one call of each operation on the whole source. docs/scale.md has a drawing.

    Args:
        source: has ``shape``, ``dtype`` and ``__getitem__`` of slices: numpy, ``np.memmap``, zarr, h5py, ...
        destination: has ``shape``, ``dtype`` and ``__setitem__`` of slices, with the sizes and type of the result. It
            must not share memory with the source.
        chain: the operations; None: a copy, for instance to change chunks. Between Zarr 3 arrays of equal chunks and
            codecs it copies chunks as they are stored, without decoding or checking them.
        chunks: elements along each axis that are written at once; default: the shards or chunks of the destination,
            else about 16 MiB.
        memory: maximum bytes of host and device together that the stream uses: a number, or text such as "2GiB", "500
            MB". A part computed at once never takes more than the smallest device has. If ``memory`` leaves
            more than 1,000 chunks of less than 4 KiB, there is a ``UserWarning``; more than 10,000 that also take less
            than 64 KiB are an error. Both say how much is enough.
        devices: where to compute; default: ``rs.default_device()``. A free one takes the next chunks.
        journal: a file that records chunks once they are completely written. If the stream is interrupted, calling it
            again with the journal continues it; up to 1 s of work may be repeated. One stream at a time may use it.
        progress: show the progress on stderr; a text, such as "level 1 (of 5)", is shown in front of it.
        source_dtype: element type of a source that stores only its bits: "bf16" for uint16, "f8e4m3fn" for uint8.

    Returns:
        Counts of chunks and bytes, and how often a part of the source was read.

    Raises:
        DescriptorError: an argument breaks a rule; nothing was read or written.
        DeviceLost: a device was already lost or closed; nothing was read or written.
        UnsupportedError: an operation raises it.
        StreamError: reading, computing or writing a chunk failed. It names the chunk, which is not in the journal.
        OSError: the disk has no room for the file of a whole ``np.memmap``, or the journal cannot be written.

    Example:
        >>> image = np.arange(64, dtype=np.float32).reshape(8, 8)
        >>> half = np.empty((4, 4), np.float32)
        >>> streamed = rs.stream(image, half, rs.Chain().resample((4, 4), mode="area"), chunks=(2, 4))
        >>> streamed.chunks, half[0].tolist()
        (2, [4.5, 6.5, 8.5, 10.5])
    """
    is_shown = isinstance(progress, str) or flag("progress", progress)
    reader, work = unwrapped(source, Chain() if chain is None else chain, source_dtype)
    writer = Destination(destination, work.sizes, work.dtype)
    require_apart(reader.array, destination)
    most = as_bytes("memory", memory)
    several = open_devices(devices, source)
    plan = plan_stream(work, _chunks(chunks, work, writer, most), reader.chunks, most, several)
    grid = plan.grid
    if chunks is None and not writer.chunks:
        require_larger_chunks(work, grid.chunks, most)
    name = f"{work.text} in chunks of {list(grid.chunks)}"
    title = f"{progress}: " if isinstance(progress, str) else ""
    with Journal(journal, name, writer.flush, len(grid)) as record:
        writer.reserve()
        shown = Progress(len(grid) - len(record.written), sys.stderr if is_shown else None, title)
        run = _Run(work, reader, writer, plan, most, several, record, shown)
        return run()


MAX_CHUNKS = 1 << 24
"""Maximum number of chunks of one stream: an array of a few bytes in a file can claim more than anybody can write."""


def plan_stream(
    work: WindowedChain,
    chunks: tuple[int, ...],
    source_chunks: tuple[int, ...] | None,
    memory: int,
    devices: Sequence[Device],
) -> ReadPlan:
    """How a stream groups the chunks.

    Raises:
        DescriptorError: there are more than ``MAX_CHUNKS``, or ``memory`` is too little.
    """
    if (count := math.prod(ChunkGrid(work.sizes, chunks).counts)) > MAX_CHUNKS:
        raise DescriptorError(
            f"chunks {chunks} cut sizes {work.sizes} into {count} chunks, more than {MAX_CHUNKS}: give larger ones"
        )
    threads, room = len(devices) + 2, _room(work, devices)
    plan = plan_reads(work, ChunkGrid(work.sizes, chunks), source_chunks, int(min(memory // threads, room)), threads)
    _require_memory(work, plan, memory, room)
    return plan


def _in_bytes(number: int) -> str:
    unit = next((unit for unit in ("TB", "GB", "MB", "KB") if number >= 0.9995 * BYTES[unit]), "B")
    return f"{number / BYTES[unit]:.3g} {unit}"


def open_devices(devices: Sequence[Device] | None, source: object = None) -> list[Device]:
    """The devices as a list; if None, the device of a ``source`` that is a ``LazyArray`` with one, else the default.

    Raises:
        DescriptorError: there are none, or they are something else.
        DeviceLost: one is lost or closed.
    """
    if devices is None and isinstance(source, LazyArray) and source.device is not None:
        devices = [source.device]
    try:
        several = [default_device()] if devices is None else list(devices)
    except TypeError:
        several = []
    if not several or not all(isinstance(device, Device) for device in several):
        raise DescriptorError(f"devices must be a list of one or more devices, such as [rs.Device(0)], got {devices!r}")
    for device in several:
        device.counters()  # raises DeviceLost if the device is lost or closed
    return several


def _chunks(chunks: Sequence[int] | None, work: WindowedChain, writer: Destination, memory: int) -> tuple[int, ...]:
    if chunks is None:
        return writer.chunks or default_chunks(work, memory)
    if isinstance(chunks, str | SupportsIndex):
        rank = len(work.sizes)
        raise DescriptorError(
            f"chunks must be elements along each of the {rank} axes of the result, such as {(4,) * rank}, got "
            f"{chunks!r}; None lets restride choose"
        )
    each = integers("chunks", chunks)
    if len(each) != len(work.sizes) or min(each, default=1) < 1:
        raise DescriptorError(f"chunks {each} must be 1 or more for each of the {len(work.sizes)} axes of the result")
    return each


def _room(work: WindowedChain, devices: Sequence[Device]) -> float:
    """Bytes of memory of the smallest device; infinite for a copy, which needs no device."""
    return min(device.limits.max_memory for device in devices) if work.stages else math.inf


def _job(work: WindowedChain, group: Group, memory: int, enough: int, room: float) -> _Job:
    """A job for the whole group, or in pieces if that takes more than ``memory``, or ``room`` on a device.

    enough: as of ``pieces``.

    Raises:
        DescriptorError: ``memory`` or ``room`` is too little.
    """
    taken = work.nbytes(group.window)
    if taken <= min(memory, room):
        return _Job(group, [group.window], taken)
    parts = list(pieces(work, group.window, memory, enough, room))
    whole = math.prod(lengths(group.window)) * work.dtype.itemsize
    return _Job(group, parts, whole + max(work.nbytes(part) for part in parts))


def _require_memory(work: WindowedChain, plan: ReadPlan, memory: int, room: float) -> None:
    """Check that each group can be computed, whole or in pieces, and that there are not thousands of tiny pieces.

    Raises:
        DescriptorError: ``memory`` or ``room`` is too little.
    """
    if plan.nbytes <= min(memory, room):
        return
    grid = plan.grid
    first = tuple((count - 1) // 2 for count in grid.counts)
    middle = grid.window(first, [index + 1 for index in first])
    if work.nbytes(middle) > min(memory, room):
        some = islice(pieces(work, middle, memory, plan.nbytes, room), MAX_TINY + 1)
        tiny = sum(is_tiny(work, piece) for piece in some)
        if tiny * len(grid) > MAX_TINY:
            limit = f"memory of {memory} bytes" if memory <= room else f"a device's room of {room} bytes"
            remedy = f"memory={plan.nbytes} computes each chunk whole" if plan.nbytes <= room else "give smaller chunks"
            raise DescriptorError(
                f"{limit} leaves about {tiny * len(grid)} tiny pieces of the {len(grid)} chunks of "
                f"{list(grid.chunks)}; {remedy}"
            )
    whole, least = math.prod(grid.chunks) * work.dtype.itemsize, one_element(work)
    if whole + least > memory or least > room:  # otherwise every chunk can be computed in pieces
        for group in plan.groups():
            _job(work, group, memory, plan.nbytes, room)


@dataclass(frozen=True)
class _Job:
    """A group, the pieces to compute it in, and the bytes that this takes."""

    group: Group
    pieces: list[Window]
    nbytes: int


class _Run:
    """The state of one call of ``stream``. Its threads change it only while they hold ``_changed``."""

    def __init__(
        self,
        work: WindowedChain,
        source: Source,
        destination: Destination,
        plan: ReadPlan,
        memory: int,
        devices: list[Device],
        journal: Journal,
        progress: Progress,
    ) -> None:
        self._work, self._source, self._destination, self._plan = work, source, destination, plan
        self._memory, self._room = memory, _room(work, devices)
        self._journal, self._progress = journal, progress
        self._devices: queue.SimpleQueue[Device] = queue.SimpleQueue()
        for device in devices:
            self._devices.put(device)
        self._threads = [threading.Thread(target=self._take_jobs, daemon=True) for _ in range(len(devices) + 2)]
        self._skipped = len(journal.written)
        self._jobs = self._each_job()
        self._next_job = next(self._jobs, None)
        self._changed = threading.Condition()
        self._reading = nullcontext() if source.is_for_threads else threading.Lock()
        self._writing = nullcontext() if destination.is_for_threads(plan.grid.chunks) else threading.Lock()
        self._copy = None if work.stages else stored_copies(source.array, destination.array, plan.grid.chunks)
        self._failure: BaseException | None = None
        self._bytes_read = self._bytes_written = self._bytes_taken = self._peak = 0

    def __call__(self) -> Streamed:
        started = monotonic()
        grid = self._plan.grid
        before = f", {self._skipped} of them written before" if self._skipped else ""
        amount = _in_bytes(math.prod(grid.sizes) * self._work.dtype.itemsize)
        self._progress.begin(f"{amount} in {len(grid)} chunks of {list(grid.chunks)}{before}")
        for thread in self._threads:
            thread.start()
        try:
            for thread in self._threads:
                thread.join()
        finally:  # after an interrupt too: the threads finish the jobs that they have begun
            self._stop()
            for thread in self._threads:
                thread.join()
            self._progress.clear()
        if self._failure is not None:
            raise self._failure
        return Streamed(
            len(grid),
            self._skipped,
            self._bytes_read,
            self._bytes_written,
            self._plan,
            self._peak,
            monotonic() - started,
        )

    def _each_job(self) -> Iterator[_Job]:
        written = self._journal.written
        for group in self._plan.groups():
            if all(group.grid.number(place) in written for place in group.places()):
                continue
            yield _job(self._work, group, self._memory, self._plan.nbytes, self._room)

    def _take_jobs(self) -> None:
        try:
            while (job := self._take_job()) is not None:
                try:
                    self._write(job.group, self._result(job) if self._copy is None else None)
                finally:
                    with self._changed:
                        self._bytes_taken -= job.nbytes
                        self._changed.notify_all()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that called stream
            self._stop(error)

    def _take_job(self) -> _Job | None:
        """The next job, once the memory for it is free; None if there is none, or the run was stopped.

        Jobs start in order: while the next one does not fit, no thread takes another.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._next_job is None or self._bytes_taken + self._next_job.nbytes <= self._memory
            )
            job = self._next_job
            if job is not None:
                self._bytes_taken += job.nbytes
                self._peak = max(self._peak, self._bytes_taken)
                self._next_job = next(self._jobs, None)
                self._changed.notify_all()
            return job

    def _stop(self, error: BaseException | None = None) -> None:
        """Let no thread take another job."""
        with self._changed:
            self._failure = self._failure or error
            self._jobs, self._next_job = iter(()), None
            self._changed.notify_all()

    def _result(self, job: _Job) -> Array:
        group = job.group
        if len(job.pieces) == 1:
            return self._compute(group, group.window)
        result = np.empty(lengths(group.window), self._work.dtype.dtype)
        for piece in job.pieces:
            result[inside(piece, group.window)] = self._compute(group, piece)
        return result

    def _compute(self, group: Group, window: Window) -> Array:
        needed = self._work.windows(window)[0]
        with self._reading, _chunk_errors(f"reading {spelled(needed)} of the source", group, window):
            part = self._source.read(needed)
        with self._changed:
            self._bytes_read += part.nbytes
        if not self._work.stages:
            return part
        device = self._devices.get()
        try:
            with _chunk_errors("computing", group, window):
                return self._work.run(part, window, device).numpy()
        finally:
            self._devices.put(device)

    def _write(self, group: Group, result: Array | None) -> None:
        """Write the chunks of ``result`` that are not written yet; None: copy them as the source has them stored."""
        for place in group.places():
            number, window = group.grid.number(place), group.alone(place).window
            if number in self._journal.written:
                continue
            nbytes = math.prod(lengths(window)) * self._work.dtype.itemsize
            with (
                self._writing,
                _chunk_errors("writing" if self._copy is None else "copying", group.alone(place), window),
            ):
                if result is not None:
                    self._destination.write(window, result[inside(window, group.window)])
                elif self._copy is not None and not self._copy(place):
                    self._destination.write(window, self._source.read(window))
                with self._changed:
                    self._journal.add(number)
            with self._changed:
                self._bytes_read += nbytes if self._copy is not None else 0
                self._bytes_written += nbytes
                self._progress.step(f"read {self._plan.amplification:.2f} times")


@contextmanager
def _chunk_errors(what: str, group: Group, window: Window) -> Iterator[None]:
    """A context whose errors become a ``StreamError`` that names the chunk."""
    try:
        yield
    except Exception as error:
        where = f"{what} failed for {group}, {spelled(window)} of the result: {type(error).__name__}: "
        raise StreamError(Message.of(where, str(error), command_text(error)), group.first) from error
