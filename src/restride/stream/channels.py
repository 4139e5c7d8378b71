"""Names and colours of channels in the metadata of a source: OME-TIFF, ImageJ, OME-Zarr, xarray.

Source: OME schema 2016-06: Channel; OME-NGFF specifications 0.4 and 0.5: omero; ImageJ's LUTs and labels of slices.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from restride.stream.axes import groups_above
from restride.stream.files import library_of
from restride.stream.lazy import LazyArray
from restride.stream.tiff import Series, names_of, pixels_of_ome, reading_metadata, series_of

WHITE = "FFFFFF"
"""The colour of a channel that states none, by OME's schema."""


@dataclass(frozen=True)
class Channel:
    """One channel. color: six hexadecimal digits, red first; empty if none is stated, as is ``name``."""

    name: str = ""
    color: str = ""


def stated_channels(source: object, axis: int | None, count: int) -> tuple[Channel, ...]:
    """The channels that ``source`` states, one for each of the ``count`` elements along ``axis``; else none.

    axis: None: the image has no axis of channels, and is a single channel.

    Raises:
        DescriptorError: the metadata are damaged.
    """
    if isinstance(source, LazyArray):
        found = _of_lazy(source, axis)
    elif (series := series_of(source)) is not None:
        with reading_metadata(f"the channels in the metadata of {series.parent.filehandle.path}"):
            found = _of_tiff(series, None if axis is None else names_of(series, source)[axis])
    elif library_of(source) == "zarr":
        found = _of_zarr(source)
    elif library_of(source) == "xarray" and axis is not None:
        found = _of_xarray(source, axis)
    else:
        found = ()
    return found if len(found) == count and any(channel != Channel() for channel in found) else ()


def _of_lazy(lazy: LazyArray, axis: int | None) -> tuple[Channel, ...]:
    """The channels of the source at the places that the elements along ``axis`` are read from.

    Empty, unless each element is read from a single place, and all places are along one axis of the source.
    """
    given, added, work = lazy._given, lazy._added, lazy._work  # noqa: SLF001 - of the same package
    before = len(work.stages) - len(added.operations)  # stages that ``given`` has, or that turn a TIFF upright
    if axis is None:
        return stated_channels(given, None, 1)
    places: list[int] = []
    along = None
    for place in range(work.sizes[axis]):
        read = work.along(axis, range(place, place + 1))[before]
        if read is None or len(read[1]) != 1 or along not in (None, read[0]):
            return ()
        along = read[0]
        places.append(read[1].start)
    if along is None:
        return ()
    size = given.shape[along] if hasattr(given, "shape") else 0
    inner = stated_channels(given, along, size)
    return tuple(inner[place] for place in places) if inner else ()


def _of_tiff(series: Series, name: str | None) -> tuple[Channel, ...]:
    if name not in {"C", None}:
        return ()
    if series.kind == "ome":
        pixels = pixels_of_ome(series)
        each = [] if pixels is None else pixels[0].findall("{*}Channel")
        return tuple(Channel(channel.get("Name", ""), _of_integer(channel.get("Color"))) for channel in each)
    if series.kind != "imagej":
        return ()
    stated = series.parent.imagej_metadata
    colors = [_of_table(table) for table in stated.get("LUTs", ())]
    labels = [str(label) for label in stated.get("Labels", ())]
    sizes = dict(zip(series.get_axes(squeeze=False), series.get_shape(squeeze=False), strict=True))
    count = 1 if name is None else sizes["C"]
    # Labels name slices. If there are as many slices as channels, the slices are the channels.
    names = labels if len(labels) == count == len(series) else [""] * count
    return tuple(map(Channel, names, colors if len(colors) == count else [""] * count))


def _of_integer(text: str | None) -> str:
    """The colour that OME writes as a signed integer of 32 bits: red in the highest byte, then green, blue, alpha."""
    if text is None:
        return ""
    number = int(text)
    if not -(1 << 31) <= number < 1 << 32:
        raise ValueError(f"the colour {text!r} has more than 32 bits")
    return f"{(number & 0xFFFFFFFF) >> 8:06X}"


def _of_table(table: Iterable[Sequence[int]]) -> str:
    """The last, and brightest, of the 256 colours that ImageJ states for a channel."""
    red, green, blue = (int(of_color[-1]) for of_color in table)
    return f"{red:02X}{green:02X}{blue:02X}"


def _of_zarr(array: Any) -> tuple[Channel, ...]:
    for group, _ in groups_above(array):
        attributes = group.attrs.asdict()
        with reading_metadata(f"the channels (omero) in the metadata of {group.store_path}", names_error=True):
            image = attributes.get("ome", attributes)
            if "multiscales" in image:
                return tuple(_of_omero(channel) for channel in image.get("omero", {}).get("channels", ()))
    return ()


def _of_omero(channel: Mapping[str, Any]) -> Channel:
    color = str(channel.get("color") or "").removeprefix("#")
    if not re.fullmatch("([0-9A-Fa-f]{6})?", color):
        raise ValueError(f"the colour {color!r} is not six hexadecimal digits")
    return Channel(str(channel.get("label") or ""), color.upper())


def _of_xarray(array: Any, axis: int) -> tuple[Channel, ...]:
    dim = array.dims[axis]
    if dim not in array.coords or array.coords[dim].ndim != 1:
        return ()
    values = array.coords[dim].values.tolist()
    return tuple(map(Channel, values)) if all(isinstance(value, str) for value in values) else ()
