"""A series of pages of TIFF as an array of values in rows and columns, and the sizes that its metadata state.

What a page's elements mean, and whether the file holds them, is in tensor/tiff.py.

Source: OME schema 2016-06: Pixels; ImageJ's description.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol
from xml.etree import ElementTree as ET

import numpy as np

from restride.arguments import fraction
from restride.errors import DescriptorError, Message, RestrideError, UnsupportedError, printable, warn_caller
from restride.files.reading import open_regular
from restride.stream.chain import Chain
from restride.stream.files import SourceArray, library_of
from restride.tensor.tiff import (
    PREMULTIPLIED,
    VALUES,
    Page,
    flips,
    guard,
    kind_of,
    orientation_of,
    require_codec,
    require_parts,
    require_room,
    require_sizes,
    swaps,
)

AXES_AND_SIZES = "axes= and pixel_sizes=", "--axes and --pixel-size"
"""The arguments that say what a source does not state, in Python and for a command."""

_SIZES = {"X": "PhysicalSizeX", "Y": "PhysicalSizeY", "Z": "PhysicalSizeZ", "T": "TimeIncrement"}
"""OME's attribute for the distance of neighbouring elements along each axis; its unit has the name with Unit added."""


class Series(Protocol):
    """What is read of a series of pages, with the names that tifffile gives it."""

    dataoffset: int | None
    dtype: np.dtype[Any]
    is_multifile: bool
    keyframe: Page
    kind: str
    levels: list[Series]
    nbytes: int
    parent: Any
    shape: tuple[int, ...]

    def get_shape(self, squeeze: bool | None = None) -> tuple[int, ...]:
        """Its sizes, with or without those of 1."""

    def get_axes(self, squeeze: bool | None = None) -> str:
        """The letters of its axes."""

    def aszarr(self, *, level: int) -> Any:
        """A store of zarr that reads a level."""

    def __iter__(self) -> Iterator[Any]:
        """Its pages, of which missing ones are None."""

    def __len__(self) -> int:
        """The number of its pages."""


def series_of(source: Any) -> Any:
    """The series of tifffile that ``source`` is, or that an array of zarr reads; None if there is none."""
    if library_of(source) == "tifffile" and hasattr(source, "levels"):
        return source
    levels = getattr(getattr(source, "store", None), "_data", None)  # not public: if missing, nothing is checked
    if library_of(getattr(source, "store", None)) != "tifffile" or not levels or not hasattr(source, "ndim"):
        return None
    return levels[int(source.path or 0)]


def series_in(tif: Any) -> list[Series]:
    """The series of a file that tifffile has opened.

    Raises:
        DescriptorError: it has none, or a file that its OME metadata name is not a TIFF.
    """
    reason: Exception = ValueError("it has no pages")
    try:
        if series := list(tif.series):
            return series
    except Exception as error:  # noqa: BLE001 - tifffile raises many types for damaged files
        reason = error
    raise DescriptorError(f"{tif.filehandle.path} is no TIFF that can be read{_lost(tif) or f': {reason}'}") from reason


def names_of(series: Series, array: Any) -> str:
    """The names of the axes of ``array``, which is the series, or reads it with or without its axes of size 1.

    Raises:
        DescriptorError: the array has other sizes, so it reads something else.
    """
    for is_squeezed in (None, True, False):  # None: as tifffile reads this kind of series
        if series.get_shape(squeeze=is_squeezed) == tuple(array.shape):
            return str(series.get_axes(squeeze=is_squeezed))
    name, sizes = series.parent.filehandle.path, series.get_shape(squeeze=False)
    raise DescriptorError(f"source has the sizes {tuple(array.shape)}, and the series of {name} has {sizes}")


def open_series(series: Series, array: Any = None) -> tuple[SourceArray, Chain, bool]:
    """The array of a series' largest level, read from the file when it is indexed, and the chain that puts it upright.

    The third value is True if the elements are numbers of colours in a palette. The file has to stay open; an array of
    zarr opens it itself. One element is read now, to see that it can be. array: the array, if it is open already.

    Raises:
        DescriptorError: a part of the file is missing or damaged, its elements are no values, or it was closed.
        UnsupportedError: decompression needs a library that is not installed.
    """
    name = series.parent.filehandle.path
    if array is None and series.parent.filehandle.closed:
        raise DescriptorError(f"{name} is closed, and a series reads its elements when they are needed: keep it open")
    page = series.keyframe
    try:
        is_palette = _require_values(series)
        orientation = orientation_of(page)
        require_codec(page)
        with _opened(series.parent.filehandle):
            _require_whole(series)
        _require_alike(series)
        guard(page)
        array = _array(series) if array is None else array
        array[(slice(0, 1),) * array.ndim]  # the data may be damaged
    except UnsupportedError as error:
        error.args = (f"{name} cannot be read: {error}",)
        raise
    except RestrideError:
        raise
    except Exception as error:  # each codec raises its own types
        raise DescriptorError(f"{name} cannot be read: {str(error) or type(error).__name__}") from error
    return array, _upright(names_of(series, array), orientation), is_palette


def sizes_of(series: Series) -> dict[str, tuple[str, float, float]]:
    """Unit, distance of neighbouring elements and place of element 0 of axes for which they are stated, by name.

    They are the sizes of the upright image. The place is NaN if it is stated and the orientation reverses the axis. A
    resolution in dots per inch is a print size, and is not read.

    Raises:
        DescriptorError: the metadata are damaged.
    """
    kind = "ImageJ" if series.kind == "imagej" else "OME"
    with reading_metadata(f"the {kind} metadata of {series.parent.filehandle.path}"):
        if series.kind == "imagej":
            return _turned(_sizes_of_imagej(series), orientation_of(series.keyframe))
        if series.parent.is_ome:
            if series.kind != "ome":
                raise ValueError("tifffile cannot interpret them")
            return _turned(_sizes_of_ome(series), orientation_of(series.keyframe))
    return {}


@contextmanager
def reading_metadata(what: str, *, names_error: bool = False) -> Iterator[None]:
    """A context for metadata that may be damaged; ``names_error``: the message has the type of what is raised inside.

    Raises:
        DescriptorError: the metadata are damaged; the message says which arguments state the same.
    """
    try:
        yield
    except (ET.ParseError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        why = f"{type(error).__name__}: {error}" if names_error else error
        raise DescriptorError(
            Message.of(f"{what} are damaged ({why}): say what is right by ", *AXES_AND_SIZES)
        ) from error


@contextmanager
def _opened(file: Any) -> Iterator[None]:
    """Open a file during the block if tifffile has closed it.

    It closes all of several files but the first, and every file after ``imread(..., aszarr=True)``.
    """
    with file.lock:  # tifffile's zarr store seeks in the same file, and takes the lock for each read
        if not file.closed:
            yield
            return
        file.open()
        try:
            yield
        finally:
            file.close()


def _array(series: Series) -> Any:
    file = series.parent.filehandle
    if series.dataoffset is not None and not series.is_multifile and file.is_file:  # contiguous on a disk
        return file.memmap_array(series.parent.byteorder + series.dtype.char, series.shape, series.dataoffset)
    import zarr

    store = series.aszarr(level=0)
    return zarr.open_array(store, mode="r" if store.read_only else "r+")


def _require_values(series: Series) -> bool:
    """Check that elements are values; True if they are numbers of colours in a palette."""
    page = series.keyframe
    require_sizes(page)
    kind = kind_of(page)
    if kind == "PALETTE":
        return bool(series.kind != "imagej")  # ImageJ shows values in these colours
    if kind not in VALUES:
        raise DescriptorError(
            Message.of(
                f"{page.parent.filehandle.path} has the photometric interpretation {kind}, which is not read in parts: "
                "convert it to MINISBLACK or RGB",
                ", or pass an array, such as rs.imread returns for a page that it converts",
            )
        )
    if page.extrasamples and page.extrasamples[0] == PREMULTIPLIED:
        warn_caller(
            f"the colours of {page.parent.filehandle.path} are multiplied by alpha (premultiplied), and are kept as "
            f"they are stored"
        )
    return False


def _require_whole(series: Series) -> None:
    """Check that the file has all that it lists, and that its parts can hold their elements."""
    tif = series.parent
    if series.kind in ("generic", "uniform", "shaped", "imagej", "ome"):  # in other kinds the list may lack its final 0
        tif.filehandle.seek(tif.pages.next_page_offset)
        if any(tif.filehandle.read(tif.tiff.offsetsize)):
            raise ValueError(f"it is damaged, its list of pages breaks off after {len(tif.pages)} pages")
    if series.dataoffset is not None:
        if (end := series.dataoffset + series.nbytes) > tif.filehandle.size:
            raise ValueError(f"it is truncated: it has {tif.filehandle.size} bytes, and elements up to byte {end}")
        return
    pages = list(series)
    if missing := pages.count(None):
        raise ValueError(f"it has {len(pages)} planes, and {missing} of them are missing{_lost(tif)}")
    for page in pages:
        try:
            require_parts(page)
            if stored := [count for count in page.databytecounts if count]:
                require_room(series.keyframe, min(stored))
        except ValueError as error:
            raise DescriptorError(f"{page.parent.filehandle.path} cannot be read: {error}") from None


def _ome(tif: Any) -> ET.Element:
    return ET.fromstring(tif.ome_metadata)  # noqa: S314 - tifffile has parsed it already


def _lost(tif: Any) -> str:
    """The end of a message: names of the files that the OME metadata list, but that are not TIFF files."""
    is_ome = len(tif.pages) and tif.is_ome
    listed = {uuid.get("FileName", "") for uuid in _ome(tif).iterfind(".//{*}UUID")} if is_ome else set()
    lost = sorted(file for file in listed if not _has_pages(type(tif), Path(tif.filehandle.dirname) / file))
    return f", as there is no TIFF {printable(', '.join(lost[:9]))}" if lost else ""


def _has_pages(opens: Any, path: Path) -> bool:
    try:
        with open_regular(path) as file, opens(file) as tif:
            return len(tif.pages) > 0
    except (OSError, ValueError):  # tifffile's own error is a ValueError
        return False


def _require_alike(series: Series) -> None:
    """Check that every page equals the first one in all that tifffile reads from the first one only.

    Raises:
        DescriptorError: a page has other sizes, tiles or strips, another type, photometric interpretation or
            orientation.
    """
    first = _stated_by(series.keyframe)
    if series.dataoffset is not None:  # read as one block
        del first["tiles or strips"]
    for page in series:
        if page.is_virtual:  # a page of a file that lists only its first one
            continue
        file = page.parent.filehandle
        with _opened(file):
            stated = _stated_by(page.aspage())
        for what, value in first.items():
            if stated[what] != value:
                raise DescriptorError(
                    f"page {page.index} of {file.path} has the {what} {stated[what]}, and the first page of its series "
                    f"has {value}: all pages of a series must have the same"
                )


def _stated_by(page: Page) -> dict[str, object]:
    """The metadata of a page about its elements."""
    return {
        "sizes": page.shape,
        "type": page.dtype,
        "tiles or strips": page.chunks,
        "photometric interpretation": kind_of(page),
        "orientation": page.tags.valueof("Orientation", default=1),
    }


def _turned(sizes: dict[str, tuple[str, float, float]], orientation: int) -> dict[str, tuple[str, float, float]]:
    """Convert the sizes of stored rows and columns to the upright image."""
    turned = {}
    reverses = dict(zip("YX", flips(orientation), strict=True))
    for axis, (unit, step, origin) in sizes.items():
        name = {"Y": "X", "X": "Y"}.get(axis, axis) if swaps(orientation) else axis
        turned[name] = unit, step, float("nan") if reverses.get(axis) and origin else origin
    return turned


def _upright(axes: str, orientation: int) -> Chain:
    if orientation == 1:
        return Chain()
    steps = [slice(None)] * len(axes)
    for letter, is_reversed in zip("YX", flips(orientation), strict=True):
        if is_reversed:
            steps[axes.index(letter)] = slice(None, None, -1)
    if not swaps(orientation):
        return Chain()[tuple(steps)]
    stored = "ABCDEFGH"[: len(axes)]
    y, x = stored[axes.index("Y")], stored[axes.index("X")]
    return Chain()[tuple(steps)].reorder(f"{stored}->{stored.translate(str.maketrans(y + x, x + y))}")


def product(*numbers: float | Fraction) -> float:
    """The product of numbers as they are written, rounded once: 3 times 0.108 is 0.324."""
    return float(math.prod(fraction("a number", number) for number in numbers))


def pixels_of_ome(series: Series) -> tuple[ET.Element, Series] | None:
    """The element of the OME metadata about the pixels of a series, and the series of its largest level, or None.

    Raises:
        ValueError: tifffile's series are not the images of the metadata.
    """
    images = _ome(series.parent).findall("{*}Image")
    all_series = series.parent.series
    if len(images) != len(all_series):  # tifffile leaves out images without elements
        raise ValueError(f"they describe {len(images)} images, and {len(all_series)} are there")
    image, whole = next(
        (image, whole) for image, whole in zip(images, all_series, strict=True) if series in whole.levels
    )
    pixels = image.find("{*}Pixels")
    return None if pixels is None else (pixels, whole)


def _sizes_of_ome(series: Series) -> dict[str, tuple[str, float, float]]:
    """``sizes_of`` by OME's metadata, which give the sizes of the largest level; smaller levels' follow."""
    found = pixels_of_ome(series)
    if found is None:
        return {}
    pixels, whole = found
    sizes = {}
    each = (whole.get_axes(squeeze=False), whole.get_shape(squeeze=False), series.get_shape(squeeze=False))
    for axis, before, after in zip(*each, strict=True):
        name = _SIZES.get(axis, "")
        if stated := pixels.get(name):
            unit = pixels.get(f"{name}Unit") or ("s" if axis == "T" else "µm")
            sizes[axis] = unit, product(float(stated), Fraction(before, after)), 0.0
    return sizes


def _sizes_of_imagej(series: Series) -> dict[str, tuple[str, float, float]]:
    """``sizes_of`` by ImageJ's metadata, which give elements per unit along x and y, and the element at position 0."""
    stated = series.parent.imagej_metadata
    sizes = {}
    if stated.get("finterval"):
        sizes["T"] = (str(stated.get("tunit", "s")), float(stated["finterval"]), 0.0)
    unit = str(stated.get("unit", "pixel"))
    if unit.startswith("pixel"):
        return sizes
    for axis, tag in (("X", "XResolution"), ("Y", "YResolution")):
        resolution = series.keyframe.tags.valueof(tag)
        if resolution is not None:
            sizes[axis] = (str(stated.get(f"{axis.lower()}unit", unit)), float(1 / Fraction(*resolution)), 0.0)
    if "spacing" in stated:
        sizes["Z"] = (str(stated.get("zunit", unit)), float(stated["spacing"]), 0.0)
    origins = {
        axis: -product(float(stated.get(f"{axis.lower()}origin", 0)), step) for axis, (_, step, _) in sizes.items()
    }
    return {axis: (unit, step, origins[axis] or 0.0) for axis, (unit, step, _) in sizes.items()}
