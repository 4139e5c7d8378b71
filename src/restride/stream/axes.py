"""Axes in the metadata of a source: names, units, pixel sizes, origin; Zarr, OME-Zarr, xarray, TIFF, HDF5, tensorstore.

Source: OME-NGFF specifications 0.1 to 0.5; xarray's encoding of dimensions in Zarr 2; CF conventions for coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from restride.arguments import fraction
from restride.dtypes import Array
from restride.errors import DescriptorError, Message, warn_caller
from restride.stream.files import library_of
from restride.stream.lazy import LazyArray
from restride.stream.tiff import AXES_AND_SIZES, names_of, product, reading_metadata, series_of, sizes_of

AXES = "tczyx"
"""Names of axes, in the order of OME-Zarr."""

KINDS = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}

_NAMES = {
    "t": ("time",),
    "c": ("channel", "channels", "band", "bands", "s", "sample", "samples"),  # s: samples of a TIFF's pixels
    "z": ("depth",),
    "y": ("height", "lat", "latitude"),
    "x": ("width", "lon", "longitude"),
}
_LETTERS = {name: letter for letter in AXES for name in (letter, *_NAMES[letter])}

_PAGES = ("I", "Q")
"""tifffile's names of the pages of a TIFF that says nothing about them."""

_SMALL = ("yocto", "zepto", "atto", "femto", "pico", "nano", "micro", "milli", "centi", "deci")
_LARGE = ("hecto", "kilo", "mega", "giga", "tera", "peta", "exa", "zetta", "yotta")
_PREFIXES = {"": "", **dict(zip("yzafpnumcd" + "hkMGTPEZY", _SMALL + _LARGE, strict=True))}
_BASES = {"space": ("m", "meter"), "time": ("s", "second")}
_OTHERS = {
    "space": {"Å": "angstrom", "ft": "foot", "in": "inch", "mi": "mile", "pc": "parsec", "yd": "yard"},
    "time": {"d": "day", "h": "hour", "min": "minute"},
}
UNITS = {
    kind: [*(prefix + base for prefix in _PREFIXES.values()), *_OTHERS[kind].values()]
    for kind, (_, base) in _BASES.items()
}
"""Units that the specification lists, for axes in space and in time."""

_MICRO = (("\\u00B5", "u"), ("\N{MICRO SIGN}", "u"), ("\N{GREEK SMALL LETTER MU}", "u"))
"""Spellings of the prefix micro: ImageJ's escape, and two characters."""

_SPELLINGS = {
    kind: {
        **{unit: unit for unit in UNITS[kind]},
        **{prefix + symbol: name + base for prefix, name in _PREFIXES.items()},
        **_OTHERS[kind],
        **({"micron": "micrometer"} if kind == "space" else {"sec": "second", "hr": "hour"}),
    }
    for kind, (symbol, base) in _BASES.items()
}


@dataclass(frozen=True)
class SourceAxis:
    """One axis, as a source states it.

    name: empty if it has none. unit: in the source's spelling, None if it has none. step: distance of neighbouring
    elements, None if it is not stated, NaN if it varies. origin: where element 0 is, NaN if the source states it only
    for other elements, such as those before a resize. NaN without a step: the source states unit and step, too, only
    for other elements.
    """

    name: str
    unit: str | None = None
    step: float | None = None
    origin: float = 0.0

    @property
    def letter(self) -> str | None:
        """The axis of OME-Zarr that the name means; None if unknown."""
        return _LETTERS.get(self.name.lower())

    @property
    def known_unit(self) -> str | None:
        """The unit as OME-Zarr spells it; None if there is none, or OME-Zarr does not list it."""
        text = self.unit or ""
        for written, meant in _MICRO:
            text = text.replace(written, meant)
        known = _SPELLINGS.get(KINDS.get(self.letter or "", ""), {})
        return known.get(text) or known.get(text.lower().removesuffix("s").replace("metre", "meter"))


def stated_axes(source: object) -> tuple[SourceAxis, ...]:
    """The axes that ``source`` names, in its order; none if it names none.

    The axes of a ``LazyArray`` have the names of its source, and pixel sizes where elements are the source's own.

    Raises:
        DescriptorError: the metadata are damaged, or contradict each other.
    """
    if isinstance(source, LazyArray):
        axes = _of_lazy(source)
    elif (series := series_of(source)) is not None:
        sizes = sizes_of(series)
        axes = tuple(SourceAxis(name, *sizes.get(name, ())) for name in names_of(series, source))
    elif reader := _READERS.get(library_of(source)):
        axes = reader(source)
    else:
        return ()
    return axes if any(axis.name for axis in axes) else ()


def letters(axes: Sequence[SourceAxis]) -> str:
    """The axes by the letters of OME-Zarr. Pages of a TIFF without a name are z, with a ``UserWarning``.

    Raises:
        DescriptorError: a name is unknown, or two mean the same axis.
    """
    each = [axis.letter or ("z" if axis.name in _PAGES else "") for axis in axes]
    stated = f"the source states the axes {', '.join(repr(axis.name) for axis in axes)}"
    if "" in each:
        place = each.index("")
        known = f"which is none of {', '.join(AXES)} or their long names" if axes[place].name else "which says nothing"
        rule, *ways = _remedy(axes)
        wrong = f"{stated}, of which axis {place} is {axes[place].name!r}, {known}"
        raise DescriptorError(Message.of(f"{wrong}: {rule}", *ways))
    if twice := [letter for letter in each if each.count(letter) > 1]:
        same = " and ".join(repr(axis.name) for axis, letter in zip(axes, each, strict=True) if letter == twice[0])
        rule, *ways = _remedy(axes)
        raise DescriptorError(Message.of(f"{stated}, of which {same} are all {twice[0]}: {rule}", *ways))
    found = "".join(each)
    if pages := [axis.name for axis in axes if axis.letter is None]:
        other = found.replace("z", "t")
        warn_caller(
            Message.of(
                f"the TIFF does not say what its pages are, axis {pages[0]!r}: they are taken as z; say ",
                f"axes={found!r} if that is right, and for example axes={other!r} if it is not",
                f"--axes {found} if that is right, and for example --axes {other} if it is not",
            )
        )
    return found


def rows_and_columns(axes: Sequence[SourceAxis]) -> tuple[int, int]:
    """The positions of y and x.

    Raises:
        DescriptorError: there is not one of each.
    """
    y, x = ([place for place, axis in enumerate(axes) if axis.letter == letter] for letter in "yx")
    if len(y) != 1 or len(x) != 1:
        both = max(len(axes) - 2, 0), len(axes) - 1
        raise DescriptorError(
            Message.of(
                f"the source states the axes {', '.join(repr(axis.name) for axis in axes)}, not y and x once each: "
                f"name the axes that shrink, such as ",
                f"axes={both}",
                f"--axes {both[0]} {both[1]}",
            )
        )
    return y[0], x[0]


def _remedy(axes: Sequence[SourceAxis]) -> tuple[str, str, str]:
    """A rule to name all axes, and how, in Python and for a command.

    Known axes keep their letters, the others get unused letters, y and x first. If two axes mean the same, the last one
    keeps its letter: for C, Y, X, S the samples are c.
    """
    free = [letter for letter in "xyzct" if letter not in [axis.letter for axis in axes]]
    names: list[str] = []
    for axis in reversed(axes):
        is_free = axis.letter is None or axis.letter in names
        names.append(free.pop(0) if is_free else str(axis.letter))
    found = "".join(reversed(names))
    return f"name all of them, each letter of {AXES} once, for example ", f"axes={found!r}", f"--axes {found}"


# Readers of axes, each for the arrays of one library.


def _of_lazy(lazy: LazyArray) -> tuple[SourceAxis, ...]:
    given, added, work = lazy._given, lazy._added, lazy._work  # noqa: SLF001 - of the same package
    inner = stated_axes(given)
    if not inner:
        return ()
    before = len(work.stages) - len(added.operations)  # stages that ``given`` has, or that turn a TIFF upright
    axes = []
    for axis, size in enumerate(work.sizes):
        ends = [range(min(size, 1)), range(max(size - 1, 0), size)]  # the first and the last element
        read = [work.along(axis, end)[before] for end in ends]
        if read[0] is None:
            axes.append(SourceAxis(""))
            continue
        source = read[0][0]
        stated = inner[source]
        is_kept = read == [(source, end) for end in ends]
        is_bare = stated == SourceAxis(stated.name)
        axes.append(stated if is_kept or is_bare else SourceAxis(stated.name, origin=math.nan))
    return tuple(axes)


def _of_zarr(array: Any) -> tuple[SourceAxis, ...]:
    if not hasattr(array, "metadata"):
        return ()
    names = getattr(array.metadata, "dimension_names", None) or array.attrs.get("_ARRAY_DIMENSIONS") or ()
    axes = _named(names, len(array.shape), f"dimension_names of {array.store_path}")
    for group, path in groups_above(array):
        stated = _of_ome(group, path, len(array.shape))
        if stated and any(axis.name for axis in axes):
            own, other = ([axis.letter or axis.name for axis in each] for each in (axes, stated))
            if own != other:
                raise DescriptorError(
                    Message.of(
                        f"{array.store_path} has the dimension_names {own}, and {group.store_path} states {other}: say "
                        f"which by ",
                        *AXES_AND_SIZES,
                    )
                )
        if stated:
            return stated
    return axes


def _named(names: object, rank: int, where: str) -> tuple[SourceAxis, ...]:
    """Axes with these names. Those that xarray calls dim_0, dim_1, ... have no name.

    Raises:
        DescriptorError: they are not a list with one name for each axis.
    """
    if not isinstance(names, Sequence) or isinstance(names, str) or len(names) not in (0, rank):
        raise DescriptorError(f"{where} must be {rank} names, got {names!r}")
    each = ["" if name is None or name == f"dim_{place}" else str(name) for place, name in enumerate(names)]
    return tuple(map(SourceAxis, each))


def groups_above(array: Any) -> Iterator[tuple[Any, str]]:
    """The groups that contain an array of zarr, the nearest first, and the path of the array in each.

    If an array was opened by its own folder, its groups are found in the folders above it.
    """
    import zarr

    root, path = getattr(array.store, "root", None), array.path
    above: list[tuple[Any, str | None, str]]
    if isinstance(root, Path):
        folder = (root / path).resolve()
        above = [(parent, None, folder.relative_to(parent).as_posix()) for parent in folder.parents]
    else:
        parts = path.split("/") if path else []
        ends = range(len(parts) - 1, -1, -1)
        above = [(array.store, "/".join(parts[:end]), "/".join(parts[end:])) for end in ends]
    for store, inner, rest in above:
        with reading_metadata(f"the metadata of the group {store}"):
            try:
                group = zarr.open_group(store, path=inner, mode="r")
            except (FileNotFoundError, zarr.errors.ContainsArrayError):
                return
        yield group, rest


def _of_ome(group: Any, path: str, rank: int) -> tuple[SourceAxis, ...]:
    """Axes of an array by the metadata of OME-Zarr in a group; none if they do not list the array.

    Raises:
        DescriptorError: they are damaged.
    """
    with reading_metadata(f"the metadata of OME-Zarr in {group.store_path}", names_error=True):
        attributes = group.attrs.asdict()
        images = attributes.get("ome", attributes).get("multiscales", [])
        if not isinstance(images, list):
            raise TypeError(f"multiscales must be a list, got {images!r}")
        for image in images:
            for level in image["datasets"]:
                if level["path"].strip("/") == path:
                    return _of_multiscale(image, level, rank)
    return ()


def _of_multiscale(image: Mapping[str, Any], level: Mapping[str, Any], rank: int) -> tuple[SourceAxis, ...]:
    """Axes of a level, whose own transformations are applied before those of the whole image."""
    stated = image.get("axes", AXES)  # OME-Zarr 0.1 and 0.2 do not name axes, and always have all five
    if "axes" not in image and rank != len(AXES):  # multiscales that do not follow OME
        return ()
    if len(stated) != rank:
        raise ValueError(f"{len(stated)} axes are listed for an array with {rank}")
    axes = []
    for entry in stated:
        if isinstance(entry, str):  # OME-Zarr 0.3
            axes.append(SourceAxis(entry))
            continue
        axis = SourceAxis(entry["name"], entry.get("unit"))
        kind = {"channel": "c", "time": "t"}.get(entry.get("type", ""))
        axes.append(replace(axis, name=kind) if axis.letter is None and kind else axis)
    transformations = [*level.get("coordinateTransformations", ()), *image.get("coordinateTransformations", ())]
    for transformation in transformations:
        kind = transformation["type"]
        if kind == "identity":
            continue
        if kind not in {"scale", "translation"}:
            raise ValueError(f"a transformation of the unknown type {kind!r}")
        numbers = [float(number) for number in transformation[kind]]
        if len(numbers) != rank:
            raise ValueError(f"{len(numbers)} numbers of a {kind} for {rank} axes")
        pairs = list(zip(axes, numbers, strict=True))
        if kind == "scale":
            axes = [
                replace(
                    each,
                    step=product(number, 1 if each.step is None else each.step),
                    origin=product(number, each.origin),
                )
                for each, number in pairs
            ]
        else:
            axes = [
                replace(each, origin=float(fraction(kind, each.origin) + fraction(kind, number)))
                for each, number in pairs
            ]
    return tuple(axes)


def _of_xarray(array: Any) -> tuple[SourceAxis, ...]:
    axes = _named([str(dim) for dim in array.dims], array.ndim, "dims")
    return tuple(
        _along(axis, array.coords[dim]) if dim in array.coords and axis.letter not in (None, "c") else axis
        for axis, dim in zip(axes, array.dims, strict=True)
    )


def _along(axis: SourceAxis, coord: Any) -> SourceAxis:
    """The axis with step and origin as its coordinate states them, if elements are at even distances."""
    values = coordinate_values(coord.variable)
    if values is None or not len(values):
        return axis
    unit = coord.attrs.get("units")
    if values.dtype.kind == "M":  # OME-Zarr has no calendar: times count from the first element
        values, unit = values - values[:1], "second"
    if values.dtype.kind == "m":
        values, unit = values / np.timedelta64(1, "s"), "second"
    places = values.astype(np.float64)
    placed = replace(axis, unit=None if unit is None else str(unit), origin=float(places[0]))
    if len(places) == 1:
        return placed
    with np.errstate(invalid="ignore"):  # infinities are not evenly spaced
        step = (places[-1] - places[0]) / (len(places) - 1)
        if np.isfinite(step):  # of the numbers as they are written: 0.108, not 0.10800000000000001
            first, last = (fraction("coordinates", float(place)) for place in places[[0, -1]])
            step = float((last - first) / (len(places) - 1))
        is_even = np.abs(places - (places[0] + step * np.arange(len(places)))).max() <= abs(step) / 100
    return replace(placed, step=float(step) if is_even else float("nan"))


def coordinate_values(coord: Any) -> Array | None:
    """The numbers or times of a variable of xarray as a numpy array: NaN for pandas' NA, UTC for a time zone.

    None if it is not 1-D, or holds anything but numbers and times. The types of pandas are converted one by one here,
    because numpy would turn them into Python objects.
    """
    import pandas as pd

    if coord.ndim != 1:
        return None
    values: Array
    if isinstance(coord.dtype, np.dtype):
        values = coord.to_numpy()
    elif isinstance(coord.dtype, pd.DatetimeTZDtype):
        values = coord.to_index().tz_convert(None).to_numpy()
    elif coord.dtype.kind == "f":
        values = coord.to_index().to_numpy(getattr(coord.dtype, "numpy_dtype", np.float64), na_value=np.nan)
    elif coord.dtype.kind in "iu":
        values = coord.to_index().to_numpy(np.float64, na_value=np.nan)
    else:
        return None
    return values if values.dtype.kind in "iufmM" else None


def _of_h5py(dataset: object) -> tuple[SourceAxis, ...]:
    return tuple(SourceAxis(dim.label) for dim in getattr(dataset, "dims", ()))


def _of_tensorstore(array: Any) -> tuple[SourceAxis, ...]:
    return tuple(map(SourceAxis, array.domain.labels))


_READERS = {
    "zarr": _of_zarr,
    "xarray": _of_xarray,
    "h5py": _of_h5py,
    "tensorstore": _of_tensorstore,
}
