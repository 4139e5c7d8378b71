"""The two ends of a stream: Source, read by ``__getitem__``, and Destination, written by ``__setitem__``."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from restride.arguments import as_numpy, counts, require_unmasked
from restride.dtypes import EXTENSIONS, Array, DType, DTypeLike, as_dtype
from restride.errors import DescriptorError, prefixed, printable
from restride.layout import TensorDesc
from restride.ops.operation import Window
from restride.stream.chain import lengths, slices, spelled
from restride.stream.files import DestinationArray, SourceArray, arrays_in, library_of

_BITS = {element.name: np.dtype(f"u{element.itemsize}") for element in EXTENSIONS}
"""By the name of an element type that file formats lack: the integer type that stores its bits in a file."""


_MAX_NAMED = 9
"""Maximum number of arrays of a group that an error names."""


class Source:
    """The source of a stream: anything with ``shape``, ``dtype`` and ``__getitem__`` of a tuple of slices.

    Args:
        array: numpy, ``np.memmap``, zarr, h5py, tensorstore, dask, ``rs.LazyArray``, ... in either byte order.
        dtype: element type, if the array stores only its bits: "bf16" in uint16, "f8e4m3fn" in uint8.
        is_palette: the elements are numbers of colours in a palette. They must not be averaged: a mean is another
            colour's number.

    Raises:
        DescriptorError: the array lacks one of these attributes, its type cannot hold the bits, or it is masked.
    """

    def __init__(self, array: SourceArray, dtype: DTypeLike | None = None, *, is_palette: bool = False) -> None:
        if not hasattr(array, "__getitem__"):
            raise _lacks("source", "__getitem__", array)
        self.array, self.is_palette = array, is_palette
        self.sizes, self._stored = _sizes_and_type("source", array)
        self.dtype = _type_of_elements(self._stored, dtype)
        self.chunks = _chunks_of(array, "chunks")
        self.is_for_threads = _is_for_threads(array)

    @property
    def desc(self) -> TensorDesc:
        """The type and sizes of the elements that ``read`` gives, row-major."""
        return TensorDesc(self.dtype, self.sizes)

    def read(self, window: Window) -> Array:
        """The elements of the window, in new memory or in that of the array.

        Raises:
            DescriptorError: the source returned other sizes or another type than it declares, or a masked array.
        """
        sizes = lengths(window)
        if 0 in sizes:
            return np.empty(sizes, self.dtype.dtype)
        part = as_numpy("source", self.array[slices(window)])
        if part.shape != sizes or part.dtype != self._stored:
            wrong = "a short read" if part.dtype == self._stored else "another element type"
            raise DescriptorError(
                f"{wrong}: the source gave {part.dtype}{list(part.shape)} for {spelled(window)}, which has "
                f"{self._stored}{list(sizes)}"
            )
        if _is_mapped(self.array):
            part = np.array(part)
            _release(self.array)
        part = part.astype(self._stored.newbyteorder("="), copy=False)
        return part.view(self.dtype.dtype) if part.dtype != self.dtype.dtype else part


class Destination:
    """The destination of a stream: anything with ``shape``, ``dtype`` and ``__setitem__`` of a tuple of slices.

    Args:
        array: as for ``Source``.
        sizes: sizes of the result.
        dtype: type of the result; if the array cannot have that type, its bits are written.

    Raises:
        DescriptorError: the array has other sizes or another type, is read-only or masked, or is dask's, which would
            keep all that is written in its graph.
    """

    def __init__(self, array: DestinationArray, sizes: tuple[int, ...], dtype: DType) -> None:
        if not hasattr(array, "__setitem__"):
            raise _lacks("destination", "__setitem__", array)
        if library_of(array) == "dask":
            raise DescriptorError(
                "destination must be an array in memory or in a file, not a dask array, which rs.dask.apply makes"
            )
        self.array = array
        own, self._stored = _sizes_and_type("destination", array)
        is_bits = self._stored == _BITS.get(dtype.name)
        if own != sizes or (self._stored != dtype.dtype and not is_bits):
            raise DescriptorError(
                f"destination is {self._stored}{list(own)}, but the result of the chain is {TensorDesc(dtype, sizes)}"
            )
        if _is_read_only(array):
            raise DescriptorError("destination is read-only: open it for writing, by mode 'r+'")
        self.chunks = _chunks_of(array, "shards") or _chunks_of(array, "chunks")
        self._filled = _filled(array)

    def reserve(self) -> None:
        """Allocate a mapped file on its disk, because a process that writes to a mapping is killed if the disk is full.

        Raises:
            OSError: the disk is full.
        """
        array: Any = getattr(self.array, "raw", self.array)  # for a LaidOut, the bytes
        is_whole = _is_mapped(array) and isinstance(array.base, mmap.mmap) and array.filename is not None
        if not is_whole or not array.nbytes or not hasattr(os, "posix_fallocate"):
            return
        try:
            with Path(array.filename).open("r+b") as file:
                status, end = os.fstat(file.fileno()), array.offset + array.nbytes
                if status.st_size >= end and 512 * status.st_blocks < end:  # else replaced or fully allocated
                    os.posix_fallocate(file.fileno(), array.offset, array.nbytes)
        except OSError as error:
            # Other errors: the file was deleted or moved, or its file system cannot allocate in advance.
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise OSError(error.errno, error.strerror, str(array.filename)) from error

    def is_for_threads(self, chunks: tuple[int, ...]) -> bool:
        """True if several threads may write chunks of this size at a time, because no two share a chunk of the file."""
        whole = zip(chunks, self.chunks or (1,) * len(chunks), self.array.shape, strict=True)
        return _is_for_threads(self.array) and all(new % own == 0 or new >= size for new, own, size in whole)

    def write(self, window: Window, result: Array) -> None:
        """Write ``result`` to the window."""
        if result.size:
            elements = result.view(self._stored) if result.dtype != self._stored else result
            array, filled = self.array, self._filled
            if filled is not None and self._is_in_one_chunk(window) and (elements != filled.fill_value).any():
                array = filled
            array[slices(window)] = elements
            _release(self.array)

    def _is_in_one_chunk(self, window: Window) -> bool:
        each = zip(window, self.chunks or (), strict=True)
        return all(part.start // chunk == (part.stop - 1) // chunk for part, chunk in each)

    def flush(self) -> None:
        """Hand written data to the operating system, if the array has a buffer of its own."""
        file = getattr(self.array, "file", None)  # the file of an h5py dataset
        for buffered in (self.array, file):
            flush = getattr(buffered, "flush", None)
            if callable(flush) and not _is_mapped(buffered):  # the system has mapped pages without a flush
                flush()


def stored_copies(source: Any, destination: Any, chunks: tuple[int, ...]) -> Callable[[tuple[int, ...]], bool] | None:
    """A function that copies one stored chunk, by its place in the grid, without decoding it.

    It returns False, and copies nothing, if the source has not stored the chunk: all its elements are the fill value.
    None unless both are arrays of Zarr 3 with equal sizes, types and codecs, and their chunks, or shards, have the
    sizes ``chunks``.
    """
    if not (_is_zarr(source) and _is_zarr(destination)):
        return None
    try:
        from zarr.core.sync import sync  # zarr does not promise this module; without it chunks are decoded and encoded
    except ImportError:
        return None
    read, written = source.metadata, destination.metadata
    names = ("zarr_format", "shape", "data_type", "chunk_grid", "codecs", "storage_transformers")
    is_same = all(getattr(read, name, None) == getattr(written, name, None) for name in names)
    if read.zarr_format != 3 or not is_same or getattr(written.chunk_grid, "chunk_shape", None) != chunks:
        return None
    # A shard leaves out chunks whose elements all have the bits of the fill value: -0.0 is not 0.0.
    fills = [np.asarray(array.fill_value, array.dtype).tobytes() for array in (source, destination)]
    if fills[0] != fills[1]:
        return None

    def copy(place: tuple[int, ...]) -> bool:
        chunk = sync((source.store_path / read.encode_chunk_key(place)).get())
        if chunk is None:
            return False
        sync((destination.store_path / written.encode_chunk_key(place)).set(chunk))
        return True

    return copy


def require_apart(source: object, destination: object) -> None:
    """Check that both ends share no elements: same array, same zarr or h5py data, overlapping numpy memory or mappings.

    Raises:
        DescriptorError: writing the destination would change the source.
    """
    shared = source is destination
    if _is_zarr(source) and _is_zarr(destination):
        shared |= _zarr_place(source) == _zarr_place(destination)
    if library_of(source) == library_of(destination) == "h5py":
        shared |= source == destination  # h5py compares what the two refer to
    if isinstance(source, np.ndarray) and isinstance(destination, np.ndarray):
        shared = np.may_share_memory(source, destination)
        read, written = _mapped_bytes(source), _mapped_bytes(destination)
        if read is not None and written is not None and written[0].mode != "c" and _is_same_file(read[0], written[0]):
            shared |= max(read[1].start, written[1].start) < min(read[1].stop, written[1].stop)
    if shared:
        raise DescriptorError("destination shares elements with the source, which a stream reads while it writes")


def _zarr_place(array: Any) -> object:
    """The place where an array of zarr is stored: its folder, or its store and the path inside."""
    root = getattr(array.store, "root", None)
    return (root / array.path).resolve() if isinstance(root, Path) else (array.store, array.path)


def _mapped_bytes(array: Array) -> tuple[np.memmap, range] | None:
    """The mapping that contains the array, and the range of bytes of the file that it maps; None without one."""
    base: object = array
    while isinstance(base, np.ndarray):
        mapping = getattr(base, "_mmap", None)
        if isinstance(base, np.memmap) and isinstance(mapping, mmap.mmap):
            start = base.offset - base.offset % mmap.ALLOCATIONGRANULARITY
            return base, range(base.offset, start + len(mapping))
        base = base.base
    return None


def _is_same_file(first: np.memmap, second: np.memmap) -> bool:
    if first.filename is None or second.filename is None:
        return False
    try:
        return Path(first.filename).samefile(second.filename)
    except OSError:  # one of them was deleted
        return False


def _lacks(argument: str, name: str, array: object) -> DescriptorError:
    text = f"{argument} must have {name}, and {type(array).__name__} has none"
    if isinstance(array, str | os.PathLike):
        if argument == "source":
            text += ": open the file first, as np.load(path, mmap_mode='r') does"
        else:
            text += ": make the file first, as np.lib.format.open_memmap(path, 'w+', dtype, sizes) does"
    elif library_of(array) == "tifffile":
        text += ": take a series of the file, such as tifffile.TiffFile(path).series[0]"
    elif hasattr(array, "supports_listing"):  # a store of zarr
        text += ": open it first, as zarr.open_array(store, mode='r') does"
    elif names := arrays_in(array):
        rest = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        one = f"{type(array).__name__.lower()}[{names[0]!r}]"
        text += f": take an array of it, such as {one}; it has {printable(', '.join(names[:_MAX_NAMED]))}{rest}"
    return DescriptorError(text)


def _sizes_and_type(argument: str, array: Any) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    missing = [name for name in ("shape", "dtype") if not hasattr(array, name)]
    if missing:
        raise _lacks(argument, missing[0], array)
    require_unmasked(argument, array)
    stored = getattr(array.dtype, "numpy_dtype", array.dtype)  # tensorstore's types refer to numpy's
    try:
        return counts(f"shape of {argument}", array.shape), np.dtype(stored)
    except TypeError as error:
        raise DescriptorError(f"{argument} has elements of type {stored!r}, which numpy does not know") from error


def _type_of_elements(stored: np.dtype[np.generic], dtype: DTypeLike | None) -> DType:
    """The element type of a source that stores the type ``stored``; if ``dtype`` is None, ``stored`` itself."""
    stored = stored.newbyteorder("=")
    if dtype is None:
        with prefixed("source"):
            return as_dtype(stored)
    element = as_dtype(dtype)
    if element.dtype != stored and stored != _BITS.get(element.name):
        raise DescriptorError(f"source has elements of type {stored}, which are not the bits of {element}")
    return element


def _chunks_of(array: SourceArray | DestinationArray, name: str) -> tuple[int, ...] | None:
    """Sizes of the chunks that a file stores, or of a dask array's first chunks; ``name`` is "shards" or "chunks"."""
    chunks = getattr(array, name, None)
    layout = getattr(array, "chunk_layout", None)
    if layout is not None:  # tensorstore
        chunks = (layout.write_chunk if name == "shards" else layout.read_chunk).shape
    if not isinstance(chunks, tuple) or len(chunks) != len(array.shape):
        return None
    return tuple(max(int(chunk[0] if isinstance(chunk, tuple) else chunk), 1) for chunk in chunks)


_FOR_THREADS = {"numpy", "zarr", "tensorstore"}
"""Libraries whose arrays several threads may read, and write if no two of them write to the same chunk."""


def _is_zarr(array: object) -> bool:
    return library_of(array) == "zarr" and hasattr(array, "metadata")


def _is_for_threads(array: object) -> bool:
    return library_of(array) in _FOR_THREADS


def _is_read_only(array: object) -> bool:
    """True if the array reports it: numpy's flags, zarr's ``read_only``, tensorstore's ``writable``, h5py's file."""
    if isinstance(array, np.ndarray):
        return not array.flags.writeable
    is_readable_only = getattr(array, "read_only", False) is True or getattr(array, "writable", True) is False
    return is_readable_only or getattr(getattr(array, "file", None), "mode", None) == "r"


def _filled(array: Any) -> Any:
    """A view of a zarr array for writing chunks that are not empty, without zarr's own check; None if not applicable.

    Zarr checks whether a chunk is empty in its only thread, 7 ms or more for 4 MiB of uint8; numpy takes 0.1 ms.
    """
    if not _is_zarr(array) or not hasattr(array, "with_config") or array.shards:
        return None
    fill = array.fill_value
    return None if fill is None or fill != fill else array.with_config({"write_empty_chunks": True})  # noqa: PLR0124


def _is_mapped(array: object) -> bool:
    """True for a shared mapping of a file: its pages can be dropped, and are read again when needed."""
    return isinstance(array, np.memmap) and array.mode != "c" and isinstance(getattr(array, "_mmap", None), mmap.mmap)


def _release(array: Any) -> None:
    """Drop a file's pages, which count as the process's memory while they are mapped."""
    if _is_mapped(array) and hasattr(mmap, "MADV_DONTNEED"):
        array._mmap.madvise(mmap.MADV_DONTNEED)  # noqa: SLF001 - numpy offers no other access to the mapping
