"""Files that an input file names: external storage, links and virtual datasets of HDF5, TIFFs of OME, links in Zarr.

Whoever wrote the input has chosen the names. A file that it names is opened only if it lies in the folder of the input,
or the user asked for it, and never if it is no regular file: a pipe or a device would be waited for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from restride.command.process import UsageError
from restride.errors import UnsupportedError
from restride.files.reading import oddity

if TYPE_CHECKING:
    import h5py
    from tifffile import TiffFile

_MAX_DEPTH = 32
"""Maximum number of links, or of virtual datasets of virtual datasets, that lead to one dataset."""

_PREFIXES = {"link": "HDF5_EXT_PREFIX", "source": "HDF5_VDS_PREFIX", "storage": "HDF5_EXTFILE_PREFIX"}
"""Variables of the environment with folders in which HDF5 looks for each kind of named file."""


@dataclass(frozen=True)
class Reach:
    """The files that an input may name: those in ``folders`` and below, links resolved, or with ``follow`` all.

    source: the input, for messages.
    """

    source: Path
    folders: tuple[Path, ...]
    follow: bool = False

    @classmethod
    def of(cls, source: Path, *, follow: bool) -> Reach:
        """The reach of an input: the folder that it is in, and if it is a link, also the folder of its target."""
        resolved = source.resolve()
        folders = (resolved,) if source.is_dir() else (source.absolute().parent.resolve(), resolved.parent)
        return cls(source, folders, follow)

    def require(self, named: Path, name: str | None = None) -> None:
        """Check that a file or folder that exists may be opened. name: how the input spells it.

        Raises:
            UnsupportedError: it lies elsewhere, or is neither a file nor a folder.
        """
        name = str(named) if name is None else name
        resolved = named.resolve()
        if not self.follow and not any(resolved.is_relative_to(folder) for folder in self.folders):
            raise UnsupportedError(
                f"{self.source} names {name!r}, which does not lie in its folder: --follow-files reads it all the same"
            )
        if what := oddity(resolved.stat()):
            raise UnsupportedError(f"{self.source} names {name!r}, which is {what}: it is never read")


# TIFF.


def require_tiff(tif: TiffFile, reach: Reach) -> None:
    """Check every file that tifffile opens for the series of a file, before it does.

    Raises:
        UnsupportedError: the file names one that may not be opened.
    """
    folder = Path(tif.filehandle.dirname)
    for name in _named_by_tiff(tif, folder, reach):
        place = folder / name
        try:
            exists = place.exists()
        except ValueError:  # a name with a zero byte
            exists = False
        if exists:
            reach.require(place, name)


def _named_by_tiff(tif: TiffFile, folder: Path, reach: Reach) -> Iterator[str]:
    if not len(tif.pages):
        return
    if tif.is_ome:
        yield from named_by_ome(tif.ome_metadata)
    if tif.is_mmstack:  # tifffile opens all files that have such a name
        yield from (path.name for path in folder.glob("*_MMStack*.tif"))
    index = folder / "NDTiff.index"
    if tif.is_ndtiff and index.exists():
        from tifffile import read_ndtiff_index

        reach.require(index, index.name)
        yield from dict.fromkeys(str(row[1]) for row in read_ndtiff_index(str(index)))


def named_by_ome(metadata: str) -> Iterator[str]:
    """The names of files in OME-XML, read element by element: it may be as long as the file that holds it."""
    parser: Any = ET.XMLPullParser(("start", "end"))
    open_elements: list[ET.Element] = []
    try:
        for start in range(0, len(metadata), 1 << 16):
            parser.feed(metadata[start : start + (1 << 16)])
            for event, element in parser.read_events():
                if event == "start":
                    open_elements.append(element)
                    if element.tag.rpartition("}")[2] == "UUID" and "FileName" in element.attrib:
                        yield element.attrib["FileName"]
                else:
                    open_elements.pop()
                    if open_elements:
                        open_elements[-1].remove(element)
    except ET.ParseError:  # tifffile does not read these metadata either
        return


# HDF5.


@dataclass
class _Dataset:
    """The search for all files that reading one dataset opens.

    seen: datasets that were looked at. above: datasets that the current one is a part of. Both by file and address.
    """

    reach: Reach
    seen: set[tuple[str, int]] = field(default_factory=set)
    above: list[tuple[str, int]] = field(default_factory=list)

    def look(self, file: h5py.File, name: str, depth: int = 0) -> None:
        """Check the dataset ``name`` of an open file of h5py, and the links on the way to it."""
        if depth > _MAX_DEPTH:
            raise UnsupportedError(f"{self.reach.source} leads from file to file more than {_MAX_DEPTH} times")
        import h5py

        item, parts, links = file["/"], name.split("/")[::-1], 0
        while parts:
            part = parts.pop()
            if part in {"", "."}:
                continue
            link = item.get(part, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                rest = "/".join([link.path, *parts[::-1]])
                self._look_in(file, "link", link.filename, rest, depth)
                return
            if isinstance(link, h5py.SoftLink):
                links += 1
                if links > _MAX_DEPTH:
                    raise UnsupportedError(f"{self.reach.source} has a loop of links at {name!r}")
                item = file["/"] if link.path.startswith("/") else item
                parts += link.path.split("/")[::-1]
            elif link is None:
                return  # reading it says that it is not there
            else:
                item = item[part]
        if not isinstance(item, h5py.Dataset):
            return
        place = os.path.realpath(file.filename), h5py.h5o.get_info(item.id).addr
        if place in self.above:  # HDF5 would overflow its stack
            raise UnsupportedError(f"{self.reach.source} has a virtual dataset that is made of itself, {name!r}")
        if place not in self.seen:
            self.seen.add(place)
            self.above.append(place)
            self._look_at(item, depth)
            self.above.pop()

    def _look_at(self, dataset: h5py.Dataset, depth: int) -> None:
        for name, *_ in dataset.external or ():
            next(self._places(dataset.file, "storage", os.fsdecode(name)))
        for source in dataset.virtual_sources() if dataset.is_virtual else ():
            if source.file_name == ".":
                self.look(dataset.file, source.dset_name, depth + 1)
            elif "%b" in (source.file_name + source.dset_name).replace("%%", ""):
                if not self.reach.follow:
                    raise UnsupportedError(
                        f"{self.reach.source} names files by the pattern {source.file_name!r}: --follow-files reads it "
                        f"all the same"
                    )
            else:
                self._look_in(dataset.file, "source", source.file_name.replace("%%", "%"), source.dset_name, depth)

    def _look_in(self, file: h5py.File, kind: str, name: str, dataset: str, depth: int) -> None:
        import h5py

        for place in self._places(file, kind, name):
            if h5py.is_hdf5(place):
                with h5py.File(place, "r") as other:
                    self.look(other, dataset, depth + 1)
                return

    def _places(self, file: h5py.File, kind: str, name: str) -> Iterator[Path]:
        """The places where HDF5 looks for a file that ``file`` names, one after the other, each checked.

        Raises:
            UnsupportedError: one may not be opened.
            UsageError: no further place has the file, and HDF5 would read zeros.
        """
        folder = Path(file.filename).absolute().parent
        prefixes = [each for each in os.environ.get(_PREFIXES[kind], "").split(os.pathsep) if each]
        folders = [Path(each.replace("${ORIGIN}", str(folder))) for each in prefixes]
        names = [name]
        if kind == "storage":
            folders = [*folders, Path.cwd()][:1]
        else:
            folders += [folder, Path.cwd(), Path(file.filename).resolve().parent]
            names += [Path(name).name] if Path(name).is_absolute() else []  # if no file has the whole name
        for one in names:
            for place in dict.fromkeys(each / one for each in folders):
                if place.exists():
                    self.reach.require(place, name)
                    yield place
        raise UsageError(f"{self.reach.source} names {name!r}, which is not there, or is no HDF5 file")


def require_dataset(file: h5py.File, name: str, reach: Reach) -> None:
    """Check every file that HDF5 opens to read a dataset of an open file, before it does.

    Raises:
        UnsupportedError: one may not be opened.
        UsageError: one is not there.
    """
    _Dataset(reach).look(file, name)


# Zarr.


def require_store(reach: Reach) -> None:
    """Check that a folder of Zarr has only folders and files, and links to those in it.

    Raises:
        UnsupportedError: it has a link that leads elsewhere, or a pipe, a socket or a device.
    """
    folders, seen = [reach.source], {os.path.realpath(reach.source)}
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                is_special = not (entry.is_symlink() or entry.is_dir() or entry.is_file())
                if is_special or (entry.is_symlink() and os.path.exists(entry.path)):  # noqa: PTH110 - of many files
                    reach.require(Path(entry.path))
                if entry.is_dir() and (resolved := os.path.realpath(entry.path)) not in seen:
                    seen.add(resolved)
                    folders.append(Path(entry.path))
