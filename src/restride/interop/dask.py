"""Dask: chains of operations on dask arrays and files, computed lazily, with one task for each chunk of the result.

A task holds a ``WindowedChain``, a window and a reference to its source; it reads, computes and returns numpy. Dask
handles the rest: order, memory, spilling, workers that die.
"""

from __future__ import annotations

import itertools
import os
import queue
import sys
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from typing import Any, SupportsIndex, Unpack

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from restride.arguments import as_bytes, as_numpy, integers, list_arguments, require_listed
from restride.dtypes import Array, DType, DTypeLike
from restride.errors import DescriptorError, ErrorContext, UnsupportedError, warn_caller
from restride.layout.argument import Layout
from restride.ops.operation import Window
from restride.ops.reorder import ReorderArguments
from restride.ops.resample import DEFAULT_ARGUMENTS, ResampleArguments, about_channels
from restride.stream.axes import rows_and_columns, stated_axes
from restride.stream.chain import Chain, WindowedChain, lengths, spelled
from restride.stream.ends import Source
from restride.stream.files import by_name, version
from restride.stream.lazy import LazyArray, unwrapped
from restride.stream.levels import drifts, level_factor, level_rules, level_sizes
from restride.stream.reads import default_chunks, require_larger_chunks
from restride.tensor.device import Device, default_device
from restride.weights import Request, resized_axes
from restride.weights.like.libraries import ModeName

try:
    from distributed import WorkerPlugin as _WorkerPlugin
except ImportError:  # dask alone is enough for threads and processes
    _WorkerPlugin = object


def apply(
    x: Any,
    chain: Chain,
    *,
    chunks: Any = None,
    memory: str | float = "512MiB",
    source_dtype: DTypeLike | None = None,
) -> da.Array:
    """The result of a chain on ``x`` as a dask array; nothing is read or computed yet.

    Its chunks have the bits of one call on all of ``x``, on threads, processes and clusters.

    Args:
        x: a dask array, whose chunks other tasks send to a task; or zarr, h5py, ``np.memmap`` and other sources of
            ``rs.stream``, of which each task reads its part itself, so that no chunk of the source is sent.
        chain: the operations.
        chunks: chunks of the result, as dask accepts them; default: those of ``x``, halved until a task fits
            ``memory``.
        memory: bytes of host and device together for one task, as in ``rs.stream``; it limits default chunks.
        source_dtype: as in ``rs.stream``.

    Raises:
        DescriptorError, UnsupportedError: an operation raises it; or ``memory`` leaves over 10,000 tiny chunks.

    Example:
        >>> import dask.array as da
        >>> import restride.interop.dask as rs_dask
        >>> photo = da.ones((64, 64), chunks=(20, 20), dtype="u1")
        >>> half = rs_dask.resample(photo, (32, 32), mode="area")
        >>> half.shape, half.chunks[0], int(half.sum().compute())
        ((32, 32), (20, 12), 1024)
    """
    if isinstance(x, da.Array) and np.isnan(x.shape).any():
        raise DescriptorError(f"chunks of x must have known sizes, got {x.chunks}: x.compute_chunk_sizes()")
    source, work = unwrapped(x, chain, source_dtype)
    x = source.array
    if chunks is None:
        chunks = _chunks_like(work, source.chunks, as_bytes("memory", memory))
    try:
        each = da.core.normalize_chunks(chunks, work.sizes, dtype=work.dtype.dtype)
    except (ValueError, TypeError, ZeroDivisionError) as error:
        raise DescriptorError(
            f"chunks must be as dask has them, such as 4, (4, 8) or 'auto', for sizes {work.sizes}, got {chunks!r}: "
            f"{error}"
        ) from None
    is_dask = isinstance(x, da.Array)
    opened = x if is_dask else by_name(x)
    token = tokenize(work.text, x.name if is_dask else opened, version(opened), each)
    name = f"restride-{'-'.join(operation.name for operation in work.chain.operations) or 'copy'}-{token}"
    layer: dict[Any, Any] = {f"{name}-work": work}
    if not is_dask:
        layer[f"{name}-source"] = Source(opened, source.dtype)
    reads = _Reads(work, each)
    blocks = _Blocks(x) if is_dask else None
    for place in itertools.product(*(range(len(along)) for along in each)):
        window, needed = reads.window(place), reads.source(place)
        key = (name, *place)
        if blocks is None:
            layer[key] = (_read_and_compute, f"{name}-work", f"{name}-source", _bounds(window))
        else:
            keys, places = blocks.within(needed)
            layer[key] = (_join_and_compute, f"{name}-work", _bounds(window), _bounds(needed), places, keys, x.dtype)
    graph = HighLevelGraph.from_collections(name, layer, dependencies=[x] if is_dask else [])
    meta = np.empty((0,) * len(work.sizes), work.dtype.dtype)
    return da.Array(graph, name, each, meta=meta)


@list_arguments(ResampleArguments, DEFAULT_ARGUMENTS)
def resample(
    x: Any,
    sizes: Iterable[SupportsIndex] | None = None,
    scales: Iterable[Any] | None = None,
    axes: Iterable[SupportsIndex] | None = None,
    mode: ModeName | int | Enum | None = None,
    *,
    chunks: Any = None,
    **arguments: Unpack[ResampleArguments],
) -> da.Array:
    """``rs.resample`` of a dask array or a file, lazily, with the arguments of ``rs.Chain.resample``."""
    return apply(x, Chain().resample(sizes, scales, axes, mode, **arguments), chunks=chunks)


@list_arguments(ReorderArguments, DEFAULT_ARGUMENTS)
def reorder(
    x: Any,
    layout: Layout = None,
    dtype: DTypeLike | None = None,
    *numbers: Any,
    chunks: Any = None,
    **named: Unpack[ReorderArguments],
) -> da.Array:
    """``rs.reorder`` of a dask array or a file, lazily, with the arguments of ``rs.Chain.reorder``."""
    return apply(x, Chain().reorder(layout, dtype, *numbers, **named), chunks=chunks)


def crop(x: Any, key: Any, *, chunks: Any = None) -> da.Array:
    """``x[key]`` by numpy's basic indexing, lazily: from a file, tasks read only what they need."""
    return apply(x, Chain()[key], chunks=chunks)


@list_arguments(ResampleArguments, DEFAULT_ARGUMENTS)
def pyramid(
    x: Any,
    levels: int = 5,
    *,
    axes: Sequence[int] | None = None,
    factor: float = 0.5,
    from_source: bool = False,
    chunks: Any = None,
    mode: ModeName | int | Enum | None = None,
    **rules: Unpack[ResampleArguments],
) -> list[da.Array]:
    """The levels of a pyramid, lazily: level 0 is ``x``, and sizes shrink by ``factor`` along ``axes`` at each level.

    Args:
        x: as in ``apply``.
        levels: the number of levels, including level 0, as in ``rs.ome.pyramid``.
        axes: axes that shrink; sizes are rounded down. Default: y and x, if ``x`` names its axes as in
            ``rs.ome.pyramid``, else the last two; as in ``rs.resample``, a warning says if they may be columns and
            channels.
        factor: above 0 and below 1.
        from_source: compute each level from ``x`` instead of the level before it. That costs more, but rounds only
            once, where a level computed from the one before is a mean of rounded means. Levels by mode "nearest" are
            computed from ``x`` in any case: from one level to the next they would drift.
        chunks: as in ``apply``, for every level but a dask array ``x`` itself.
        mode: as in ``rs.resample``; default: "area_weighted", or that of ``like``.
        rules: the other arguments of ``rs.Chain.resample``.

    Raises:
        DescriptorError: ``levels`` is below 1, ``factor`` is not between 0 and 1, there are no such axes, ``x`` names
            its axes but none is y or x, or a level has no elements.
    """
    require_listed(pyramid, rules)
    opened = LazyArray(x, Chain())
    desc = Source(opened).desc
    stated = stated_axes(x) if axes is None else ()
    with ErrorContext(desc):
        named = rows_and_columns(stated) if stated else axes
        shrunk = resized_axes((-2, -1) if named is None else integers("axes", named), {}, desc.rank)
        smaller = level_factor("factor", factor)
        factors = [smaller if axis in shrunk else 1 for axis in range(desc.rank)]
        sizes = level_sizes(desc.sizes, factors, levels)
        chosen = level_rules({"mode": mode, **rules})
        from_x = from_source or drifts(chosen, desc.dtype)
        if named is None and (warning := about_channels(Request(), desc.rank, desc.sizes[-2:], sizes[-1][-2:], "x")):
            warn_caller(warning)
    whole = x if isinstance(x, da.Array) else apply(opened, Chain(), chunks=chunks)
    each = [whole]
    for level in range(1, len(sizes)):
        chain = Chain().resample([sizes[level][axis] for axis in shrunk], axes=shrunk, **chosen)
        each.append(apply(opened if from_x or level == 1 else each[-1], chain, chunks=chunks))
    return each


class DevicePlugin(_WorkerPlugin):  # type: ignore[misc] # distributed's types are not read
    """Gives each worker of a cluster one device, opened once: ``client.register_plugin(rs_dask.DevicePlugin())``.

    Without it each process opens its default device when it first needs one. A device runs one operation at a time,
    however many threads the worker has.

    Args:
        selectors: as for ``rs.Device``; a worker whose name is a number k, as in a LocalCluster, opens selector
            ``k % len(selectors)``; other workers use a hash of their address as k. Default: the default device.
    """

    name = "restride-device"

    def __init__(self, selectors: Sequence[int | str | None] = (None,)) -> None:
        if not selectors:
            raise DescriptorError("selectors must name one device or more, got none")
        self._selectors = tuple(selectors)
        self._device: Device | None = None

    def setup(self, worker: Any) -> None:
        """Open the worker's device."""
        number = worker.name if isinstance(worker.name, int) else zlib.crc32(str(worker.address).encode())
        self._device = Device(self._selectors[number % len(self._selectors)])
        _pool.add(self._device)

    def teardown(self, worker: Any) -> None:
        """Close the worker's device."""
        del worker
        if self._device is not None:
            _pool.remove(self._device)
            self._device.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"_selectors": self._selectors, "_device": None}


class _Pool:
    """The devices of this process; each task takes a free one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._process = os.getpid()
        self._free: queue.LifoQueue[Device] = queue.LifoQueue()
        self._devices: list[Device] = []
        self._default: Device | None = None

    def add(self, device: Device) -> None:
        """Add a device; the default device, which earlier tasks used, is removed."""
        with self._lock:
            self._require_process()
            if self._default is not None:
                self._devices.remove(self._default)
                self._default = None
                with suppress(queue.Empty):  # empty if a task uses it, which then does not put it back
                    self._free.get_nowait()
            self._devices.append(device)
        self._free.put(device)

    def remove(self, device: Device) -> None:
        """Wait until the device is free, and remove it."""
        others = []
        while (other := self._free.get()) is not device:
            others.append(other)
        with self._lock:
            self._devices.remove(device)
        for other in others:
            self._free.put(other)

    @contextmanager
    def one(self) -> Iterator[Device]:
        """A context with a device that no other task uses meanwhile; the default device if none was added."""
        with self._lock:
            self._require_process()
            if not self._devices:
                self._default = default_device()
                self._devices.append(self._default)
                self._free.put(self._default)
        device = self._free.get()
        try:
            yield device
        finally:
            with self._lock:
                if device in self._devices:
                    self._free.put(device)

    def _require_process(self) -> None:
        if self._process != os.getpid():  # in a child made by fork
            self._clear()


_pool = _Pool()


def _compute(work: WindowedChain, part: Array, window: Window) -> Array:
    _require_sendable(work.dtype)
    if not work.stages:
        return np.array(part)  # a copy, because the part may be memory of the source
    with _pool.one() as device:
        return work.run(part, window, device).numpy()


def _require_sendable(dtype: DType) -> None:
    """Refuse types that distributed corrupts silently: it sends f8e5m2 by numpy's text for the type, "<f1".

    Raises:
        UnsupportedError: numpy does not know the type by that text, and this is a worker of a cluster.
    """
    try:
        np.dtype(dtype.dtype.str)
    except TypeError:
        distributed = sys.modules.get("distributed")
        if distributed is None:
            return
        with suppress(ValueError):  # raised in dask's own threads or processes, without a worker
            worker = distributed.get_worker().address
            raise UnsupportedError(
                f"distributed cannot send elements of type {dtype} from worker {worker}: make them f16, or "
                f"compute(scheduler='threads')"
            ) from None


def _read_and_compute(work: WindowedChain, source: Source, ends: tuple[tuple[int, int], ...]) -> Array:
    window = _window(ends)
    return _compute(work, source.read(work.windows(window)[0]), window)


def _join_and_compute(
    work: WindowedChain,
    ends: tuple[tuple[int, int], ...],
    needed: tuple[tuple[int, int], ...],
    places: list[tuple[tuple[int, int], ...]],
    blocks: list[Array],
    stored: np.dtype[Any],
) -> Array:
    """Join blocks of the source and compute a window of the result.

    places: the position of each block in the source. stored: the dask array's element type.

    Raises:
        DescriptorError: a block has other sizes or another element type than the dask array's metadata.
    """
    whole = _window(needed)
    part = np.empty(lengths(whole), stored.newbyteorder("="))
    for place, block in zip(map(_window, places), blocks, strict=True):
        elements = as_numpy("a block of x", block)
        if elements.shape != lengths(place) or elements.dtype != stored:
            raise DescriptorError(
                f"the block at {spelled(place)} of the dask array is {elements.dtype}{list(elements.shape)}, and its "
                f"metadata say {stored}{list(lengths(place))}"
            )
        common = [(max(at.start, span.start), min(at.stop, span.stop)) for at, span in zip(place, whole, strict=True)]
        inside = [slice(low - at.start, high - at.start) for (low, high), at in zip(common, place, strict=True)]
        outside = [slice(low - span.start, high - span.start) for (low, high), span in zip(common, whole, strict=True)]
        part[tuple(outside)] = elements[tuple(inside)]
    return _compute(work, part.view(work.source_dtype.dtype), _window(ends))


def _bounds(window: Window) -> tuple[tuple[int, int], ...]:
    return tuple((part.start, part.stop) for part in window)


def _window(ends: tuple[tuple[int, int], ...]) -> Window:
    return tuple(range(*pair) for pair in ends)


def _chunks_like(work: WindowedChain, source_chunks: tuple[int, ...] | None, memory: int) -> tuple[int, ...]:
    """The chunks of the source along the result's axes, or default ones, halved until a task fits ``memory``."""
    first = None
    if source_chunks is not None:
        first = []
        for axis, size in enumerate(work.sizes):
            source = work.along(axis, range(min(size, 1)))[0]
            first.append(min(size, size if source is None else source_chunks[source[0]]) or 1)
    chunks = default_chunks(work, memory, first)
    require_larger_chunks(work, chunks, memory, first)
    return chunks


class _Reads:
    """The window of each chunk of the result, and the window of the source that it reads, computed axis by axis.

    place: the number of a chunk along each axis.
    """

    def __init__(self, work: WindowedChain, chunks: tuple[tuple[int, ...], ...]) -> None:
        self._parts: list[list[range]] = []
        self._sources: list[list[tuple[int, range] | None]] = []
        for axis, along in enumerate(chunks):
            starts = [0, *itertools.accumulate(along)]
            parts = [range(start, stop) for start, stop in itertools.pairwise(starts)]
            self._parts.append(parts)
            self._sources.append([work.along(axis, part)[0] for part in parts])
        self._fixed = work.windows(tuple(parts[0] for parts in self._parts))[0]

    def window(self, place: tuple[int, ...]) -> Window:
        """The window of the result that is the chunk at a place."""
        return tuple(parts[index] for parts, index in zip(self._parts, place, strict=True))

    def source(self, place: tuple[int, ...]) -> Window:
        """The window of the source that the chunk at a place reads."""
        needed = list(self._fixed)
        for sources, index in zip(self._sources, place, strict=True):
            span = sources[index]
            if span is not None:
                needed[span[0]] = span[1]
        return tuple(needed)


class _Blocks:
    """Finds the chunks of a dask array that overlap a window of it."""

    def __init__(self, x: da.Array) -> None:
        self._name = x.name
        self._starts = [np.array([0, *itertools.accumulate(along)]) for along in x.chunks]

    def within(self, window: Window) -> tuple[list[Any], list[Any]]:
        """Keys of the chunks, and the (start, stop) of each along every axis."""
        each = []
        for part, starts in zip(window, self._starts, strict=True):
            if not part:
                return [], []
            first = int(np.searchsorted(starts, part.start, "right")) - 1
            last = int(np.searchsorted(starts, part.stop, "left"))
            each.append(range(first, last))
        places = list(itertools.product(*each))
        ends = [
            tuple(
                (int(starts[index]), int(starts[index + 1])) for starts, index in zip(self._starts, place, strict=True)
            )
            for place in places
        ]
        return [(self._name, *place) for place in places], ends


__all__ = ["DevicePlugin", "apply", "crop", "pyramid", "reorder", "resample"]
