"""Sources in files, by name, so that they pickle and each process opens the file itself; and the arrays in a group."""

from __future__ import annotations

import mmap
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from restride.dtypes import Array
from restride.layout.views import BasicIndex


class _AnyArray(Protocol):
    """An array of any library."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""

    @property
    def dtype(self) -> object:
        """The type of its elements."""


class SourceArray(_AnyArray, Protocol):
    """An array of any library that is read in parts."""

    def __getitem__(self, key: Any, /) -> Any:
        """The elements of a part, by a tuple of slices; a series of tifffile has pages instead."""


class DestinationArray(_AnyArray, Protocol):
    """An array of any library that is written in parts."""

    def __setitem__(self, key: tuple[slice, ...], elements: Array, /) -> None:
        """Write the elements of a part."""


@dataclass(frozen=True)
class MappedFile:
    """An array in a file of raw elements or a .npy file, as mapped by ``np.memmap``."""

    filename: str
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    offset: int
    order: Literal["C", "F"]

    def __getitem__(self, key: BasicIndex) -> Array:
        """A copy of the elements at ``key``."""
        mapped = np.memmap(self.filename, self.dtype, "r", self.offset, self.shape, self.order)
        return np.array(mapped[key])


@dataclass(frozen=True)
class H5Dataset:
    """A dataset of an HDF5 file."""

    filename: str
    name: str
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    chunks: tuple[int, ...] | None

    def __getitem__(self, key: object) -> Array:
        """The elements at ``key``."""
        import h5py

        with h5py.File(self.filename, "r") as file:
            elements: Array = file[self.name][key]
        return elements


def by_name(source: Any) -> Any:
    """A reference to ``source`` that pickles without its elements, if it is in a file that can be opened again.

    Other sources are returned as they are, as are mappings of mode "c", whose changes are only in memory.
    """
    base: object = getattr(source, "base", None)
    is_whole = isinstance(source, np.memmap) and isinstance(base, mmap.mmap)
    if is_whole and source.mode != "c" and source.filename is not None:
        order: Literal["C", "F"] = "C" if source.flags.c_contiguous else "F"
        return MappedFile(str(source.filename), source.dtype, source.shape, source.offset, order)
    h5py = sys.modules.get("h5py")
    if h5py is not None and isinstance(source, h5py.Dataset):
        filename = str(Path(source.file.filename).absolute())
        return H5Dataset(filename, source.name, source.dtype, source.shape, source.chunks)
    return source


def library_of(array: object) -> str:
    """The package that defines the array's class."""
    return type(array).__module__.partition(".")[0]


def arrays_in(group: Any) -> list[str]:
    """Names of the arrays in a group of zarr, a group or file of h5py, or a Dataset of xarray; else none."""
    names: list[str] = []
    library = library_of(group)
    if library == "zarr" and hasattr(group, "members"):
        names += [name for name, item in group.members(max_depth=None) if hasattr(item, "shape")]
    elif library == "h5py" and hasattr(group, "visititems") and group:  # a closed h5py file is False
        # The class is asked, because the shape of a virtual dataset may be read from other files.
        group.visititems(lambda name, item: names.append(name) if hasattr(type(item), "shape") else None)
    elif library == "xarray" and hasattr(group, "data_vars"):
        names += map(str, group.data_vars)
    return sorted(names)


def links_in(group: Any) -> list[str]:
    """Names of the links to other places in a group or file of h5py, which ``arrays_in`` does not follow; else []."""
    if library_of(group) != "h5py":
        return []
    import h5py

    return [name for name in group if not isinstance(group.get(name, getlink=True), h5py.HardLink)]


def version(source: object) -> tuple[int, int] | None:
    """Size in bytes and modification time in ns of the file of ``source``; None if it has none, or the file is gone."""
    if not isinstance(source, MappedFile | H5Dataset):
        return None
    try:
        state = Path(source.filename).stat()
    except OSError:  # deleted, or in memory
        return None
    return state.st_size, state.st_mtime_ns
