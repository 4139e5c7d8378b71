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
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from typing import Any, SupportsIndex, TypeAlias, Unpack

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from restride.arguments import RealNumber, as_bytes, as_numpy, flag, integers, list_arguments, require_listed
from restride.dtypes import Array, DType, DTypeLike
from restride.errors import DescriptorError, ErrorContext, UnsupportedError
from restride.layout.argument import Layout
from restride.layout.views import BasicIndex
from restride.ops.operation import Window
from restride.ops.reorder import ReorderArguments
from restride.ops.resample import DEFAULT_ARGUMENTS, ResampleArguments
from restride.request import ModeName, resized_axes
from restride.request.channels import require_no_channels
from restride.stream.axes import rows_and_columns, stated_axes
from restride.stream.chain import Chain, WindowedChain, inside, lengths, spelled
from restride.stream.ends import Source
from restride.stream.files import SourceArray, by_name, version
from restride.stream.lazy import LazyArray, unwrapped
from restride.stream.levels import drifts, level_factor, level_rules, level_sizes
from restride.stream.reads import default_chunks, require_larger_chunks
from restride.tensor.device import Device, default_device

try:
    from distributed import WorkerPlugin as _WorkerPlugin
except ImportError:  # dask alone is enough for threads and processes
    _WorkerPlugin = object


_Along: TypeAlias = int | str | Sequence[int] | None
ChunkSizes: TypeAlias = _Along | Sequence[_Along] | Mapping[int, _Along]
"""What dask takes as chunks."""


def apply(
    x: SourceArray,
    chain: Chain,
    *,
    chunks: ChunkSizes | None = None,
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
    array: Any = source.array
    if chunks is None:
        most = as_bytes("memory", memory)
        chunks = default_chunks(work, most, source.chunks)
        require_larger_chunks(work, chunks, most, source.chunks)
    try:
        each = da.core.normalize_chunks(chunks, work.sizes, dtype=work.dtype.dtype)
    except (ValueError, TypeError, ZeroDivisionError) as error:
        raise DescriptorError(
            f"chunks must be as dask has them, such as 4, (4, 8) or 'auto', for sizes {work.sizes}, got {chunks!r}: "
            f"{error}"
        ) from None
    is_dask = isinstance(array, da.Array)
    opened = array if is_dask else by_name(array)
    token = tokenize(work.text, array.name if is_dask else opened, version(opened), each)
    name = f"restride-{'-'.join(operation.name for operation in work.chain.operations) or 'copy'}-{token}"
    layer: dict[object, object] = {f"{name}-work": work}
    if not is_dask:
        layer[f"{name}-source"] = Source(opened, source.dtype)
    blocks = _parts(array.chunks) if is_dask else []
    keys = itertools.product([name], *(range(len(along)) for along in each))
    for key, window in zip(keys, itertools.product(*_parts(each)), strict=True):
        if not is_dask:
            layer[key] = (_read_and_compute, f"{name}-work", f"{name}-source", window)
            continue
        numbers = list(map(_overlapping, blocks, work.windows(window)[0]))
        places = [[along[number] for number in of_axis] for along, of_axis in zip(blocks, numbers, strict=True)]
        joined = list(itertools.product([array.name], *numbers))
        layer[key] = (_join_and_compute, f"{name}-work", window, list(itertools.product(*places)), joined, array.dtype)
    graph = HighLevelGraph.from_collections(name, layer, dependencies=[array] if is_dask else [])
    meta = np.empty((0,) * len(work.sizes), work.dtype.dtype)
    return da.Array(graph, name, each, meta=meta)


@list_arguments(ResampleArguments, DEFAULT_ARGUMENTS)
def resample(
    x: SourceArray,
    sizes: Iterable[SupportsIndex] | None = None,
    scales: Iterable[RealNumber] | None = None,
    axes: Iterable[SupportsIndex] | None = None,
    mode: ModeName | int | Enum | None = None,
    *,
    chunks: ChunkSizes | None = None,
    **arguments: Unpack[ResampleArguments],
) -> da.Array:
    """``rs.resample`` of a dask array or a file, lazily, with the arguments of ``rs.Chain.resample``."""
    return apply(x, Chain().resample(sizes, scales, axes, mode, **arguments), chunks=chunks)


@list_arguments(ReorderArguments, DEFAULT_ARGUMENTS)
def reorder(
    x: SourceArray,
    layout: Layout = None,
    dtype: DTypeLike | None = None,
    *numbers: Any,
    chunks: ChunkSizes | None = None,
    **named: Unpack[ReorderArguments],
) -> da.Array:
    """``rs.reorder`` of a dask array or a file, lazily, with the arguments of ``rs.Chain.reorder``."""
    return apply(x, Chain().reorder(layout, dtype, *numbers, **named), chunks=chunks)


def crop(x: SourceArray, key: BasicIndex, *, chunks: ChunkSizes | None = None) -> da.Array:
    """``x[key]`` by numpy's basic indexing, lazily: from a file, tasks read only what they need."""
    return apply(x, Chain()[key], chunks=chunks)


@list_arguments(ResampleArguments, DEFAULT_ARGUMENTS)
def pyramid(
    x: SourceArray,
    levels: int = 5,
    *,
    axes: Sequence[int] | None = None,
    factor: float = 0.5,
    from_source: bool = False,
    chunks: ChunkSizes | None = None,
    mode: ModeName | int | Enum | None = None,
    **rules: Unpack[ResampleArguments],
) -> list[da.Array]:
    """The levels of a pyramid, lazily: level 0 is ``x``, and sizes shrink by ``factor`` along ``axes`` at each level.

    Args:
        x: as in ``apply``.
        levels: the number of levels, including level 0, as in ``rs.ome.pyramid``.
        axes: axes that shrink; sizes are rounded down. Default: y and x, if ``x`` names its axes as in
            ``rs.ome.pyramid``, else the last two, unless, as in ``rs.resample``, they may be columns and channels.
        factor: above 0 and below 1.
        from_source: compute each level from ``x`` instead of the level before it. That costs more, but rounds only
            once, where a level computed from the one before is a mean of rounded means. Levels by mode "nearest" are
            computed from ``x`` in any case: from one level to the next they would drift.
        chunks: as in ``apply``, for every level but a dask array ``x`` itself.
        mode: as in ``rs.resample``; default: "area_weighted", or that of ``like``.
        rules: the other arguments of ``rs.Chain.resample``.

    Raises:
        DescriptorError: ``levels`` is below 1, ``factor`` is not between 0 and 1, there are no such axes, ``x`` names
            its axes but none is y or x, a level has no elements, or there is a ``layout``: levels keep their axes.
    """
    require_listed(pyramid, rules)
    if rules.get("layout") is not None:
        raise DescriptorError(f"layout {rules['layout']!r} permutes axes, which levels keep: transpose the levels")
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
        from_x = flag("from_source", from_source) or drifts(chosen, desc.dtype)
        if named is None:
            require_no_channels("x", desc.rank, desc.sizes[-2:], sizes[-1][-2:])
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

    def teardown(self, worker: object) -> None:
        """Close the worker's device."""
        del worker
        if self._device is not None:
            _pool.remove(self._device)
            self._device.close()

    def __getstate__(self) -> dict[str, object]:
        return {"_selectors": self._selectors, "_device": None}


class _Pool:
    """The devices that plugins opened in this process. A task takes a free one; without any, the default device."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all devices, as a child made by fork must, which has none of its parent's."""
        self._devices: list[Device] = []
        self._free: queue.LifoQueue[Device] = queue.LifoQueue()
        self._default = threading.Lock()

    def add(self, device: Device) -> None:
        """Add a device."""
        self._devices.append(device)
        self._free.put(device)

    def remove(self, device: Device) -> None:
        """Wait until the device is free, and remove it."""
        self._devices.remove(device)
        others = []
        while (other := self._free.get()) is not device:
            others.append(other)
        for other in others:
            self._free.put(other)

    @contextmanager
    def one(self) -> Iterator[Device]:
        """A context with a device that no other task uses meanwhile."""
        if not self._devices:
            with self._default:
                yield default_device()
            return
        device = self._free.get()
        try:
            yield device
        finally:
            self._free.put(device)


_pool = _Pool()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.clear)


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


def _read_and_compute(work: WindowedChain, source: Source, window: Window) -> Array:
    return _compute(work, source.read(work.windows(window)[0]), window)


def _join_and_compute(
    work: WindowedChain, window: Window, places: list[Window], blocks: list[Array], stored: np.dtype[np.generic]
) -> Array:
    """Join blocks of the source and compute a window of the result.

    places: the window of the source that each block holds. stored: the dask array's element type.

    Raises:
        DescriptorError: a block has other sizes or another element type than the dask array's metadata.
    """
    whole = work.windows(window)[0]
    part = np.empty(lengths(whole), stored.newbyteorder("="))
    for place, block in zip(places, blocks, strict=True):
        elements = as_numpy("a block of x", block)
        if elements.shape != lengths(place) or elements.dtype != stored:
            raise DescriptorError(
                f"the block at {spelled(place)} of the dask array is {elements.dtype}{list(elements.shape)}, and its "
                f"metadata say {stored}{list(lengths(place))}"
            )
        each = zip(place, whole, strict=True)
        common = tuple(range(max(at.start, span.start), min(at.stop, span.stop)) for at, span in each)
        part[inside(common, whole)] = elements[inside(common, place)]
    return _compute(work, part.view(work.source_dtype.dtype), window)


def _parts(chunks: Iterable[Iterable[int]]) -> list[list[range]]:
    """For each axis, the indices of each chunk along it, from the sizes of the chunks."""
    ends = (itertools.accumulate(along, initial=0) for along in chunks)
    return [list(itertools.starmap(range, itertools.pairwise(along))) for along in ends]


def _overlapping(parts: Sequence[range], needed: range) -> range:
    """The numbers of the parts that contain indices of ``needed``."""
    first = bisect_right(parts, needed.start, key=lambda part: part.stop)
    return range(first, bisect_left(parts, needed.stop, first, key=lambda part: part.start))


__all__ = ["DevicePlugin", "apply", "crop", "pyramid", "reorder", "resample"]
