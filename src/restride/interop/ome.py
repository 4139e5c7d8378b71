"""OME-Zarr 0.5: an image and its labels as pyramids of levels in one Zarr group, each level by ``rs.stream``.

Until everything is written, the group's folder ``.restride`` holds a description of the work and a journal for each
array, and the group has no image metadata, so that no reader opens an incomplete image.

Source: OME-NGFF specification 0.5: axes, multiscales, labels, image-label.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, Unpack

import numpy as np
import zarr

from restride.arguments import as_bytes, counts, flag, fraction, list_arguments, members
from restride.dtypes import DTYPES, EXTENSIONS, DType
from restride.errors import DescriptorError, ErrorContext, Message, StreamError, UnsupportedError, warn_caller
from restride.files.reading import oddity
from restride.files.writing import write_file
from restride.layout import TensorDesc
from restride.ops.resample import INTERPOLATED_TYPES
from restride.request import ModeName, Request, read_words
from restride.request.channels import looks_like_channels
from restride.request.resampling import FilterArguments
from restride.stream.axes import AXES, KINDS, UNITS, SourceAxis, letters, stated_axes
from restride.stream.chain import Chain, WindowedChain
from restride.stream.channels import WHITE, Channel, stated_channels
from restride.stream.ends import Source
from restride.stream.files import SourceArray, by_name, version
from restride.stream.lazy import LazyArray, require_values, unwrapped
from restride.stream.levels import drifts, level_factor, level_rules, level_sizes
from restride.stream.run import Streamed, open_devices, plan_stream, stream
from restride.tensor.device import Device
from restride.weights import resizing
from restride.weights.centres import line_of_centres

_AXES_OF_RANK = {2: "yx", 3: "zyx", 4: "czyx", 5: "tczyx"}
_VERSION = "0.5"

_Value = TypeVar("_Value")

_TYPES = tuple(name for name, element in DTYPES.items() if element not in EXTENSIONS)
"""Element types that Zarr supports."""

_PLANE, _CUBE = {"y": 512, "x": 512}, {"z": 64, "y": 64, "x": 64}
"""Default chunks for images whose z is kept, and for volumes that shrink along z; other axes have chunks of 1."""


@list_arguments(FilterArguments, {})
def pyramid(
    source: SourceArray,
    path: str | os.PathLike[str],
    levels: int = 5,
    *,
    axes: str | Sequence[str] | None = None,
    factor: float = 0.5,
    z_factor: float = 1,
    from_source: bool = False,
    labels: Mapping[str, SourceArray] | None = None,
    pixel_sizes: Sequence[float] | None = None,
    unit: str | None = None,
    time_unit: str | None = None,
    chunks: Sequence[int] | None = None,
    shards: Sequence[int] | None = None,
    memory: str | int = "512MiB",
    devices: Sequence[Device] | None = None,
    progress: bool = False,
    mode: ModeName | int | Enum | None = None,
    **rules: Unpack[FilterArguments],
) -> dict[str, Streamed]:
    """Write an image of any size, and its label images, as OME-Zarr 0.5: level 0 is ``source``, the others get smaller.

    Every level has the bits of one ``rs.resample`` of the array it is computed from, except that
    ``like="scikit-image"`` does not clip it to the range of that array. If the call is interrupted, the same call
    continues it. docs/scale.md has the metadata and an example.

    Args:
        source: as in ``rs.stream``; 2 to 5 axes. A series of a TIFF that tifffile has opened is read chunk by chunk,
            without decoding all of it to memory: ``tifffile.TiffFile("volume.tif").series[0]``.
        path: the folder to write. It must be new, or left by an interrupted call with equal arguments; ``memory``,
            ``devices`` and ``progress`` may differ.
        levels: the number of levels in the file, including level 0.
        axes: names of the axes of ``source``: the letters t, c, z, y and x as a text or one by one, in capitals too, s
            for the samples of a TIFF, which are c, or long names such as "channel". The file has them in this order.
            Default: the names that the source states (Zarr, OME-Zarr, xarray, a series of a TIFF, HDF5, tensorstore),
            else "yx", "zyx", "czyx" or "tczyx" by their number, unless x would have 1 to 4 elements, which may be
            channels.
        factor: size of each level relative to the one before, along y and x: above 0 and below 1. Sizes are rounded
            down.
        z_factor: the same along z, up to 1, which keeps z. t and c are always kept.
        from_source: compute each level from level 0 instead of the level before it. That reads more, and rounds once.
            Levels by mode "nearest" always are: from one level to the next they would drift.
        labels: label images by their names: integers, with the axes and sizes of ``source``, with or without c. Their
            levels are computed by mode "nearest".
        pixel_sizes: distances between neighbouring elements of ``source`` along each of ``axes``; default: those that
            the source states, with their units and its origin, else 1.
        unit: unit of the distances in space, such as "micrometer"; default: what the source states, unless
            ``pixel_sizes`` are passed.
        time_unit: unit of the distances in time, such as "second"; the same default.
        chunks: elements along each of ``axes``; default: 512 along y and x, or 64 along z, y and x if z shrinks, and 1
            along the others. Small levels have smaller chunks.
        shards: elements along each of ``axes`` in one file: multiples of ``chunks``; default: each chunk is a file.
        memory: as in ``rs.stream``.
        devices: as in ``rs.stream``.
        progress: show the progress on stderr.
        mode: as in ``rs.resample``; default: "area_weighted", or that of ``like``.
        rules: how ``rs.resample`` reads and weighs elements.

    Returns:
        The outcome of each stream, by the path of its array in the group: "0", "1", "labels/NAME/0".

    Raises:
        DescriptorError: an argument breaks a rule, the source is damaged, or names an axis that is unknown or occurs
            twice, or ``path`` exists and is something else; nothing was written.
        UnsupportedError: ``rs.resample`` raises it, or Zarr does not support the element type, or a TIFF needs
            imagecodecs, which is not installed.
        StreamError: as in ``rs.stream``; the same call continues the work.
        OSError: the folder cannot be written.

    Example:
        >>> import tempfile, restride.interop.ome as rs_ome
        >>> image = np.arange(64, dtype=np.uint8).reshape(8, 8)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     levels = rs_ome.pyramid(image, folder + "/image.ome.zarr", 3, pixel_sizes=(0.5, 0.5))
        ...     {level: streamed.plan.grid.sizes for level, streamed in levels.items()}
        {'0': (8, 8), '1': (4, 4), '2': (2, 2)}
    """
    chosen = level_rules({"mode": mode, **rules})
    factors = dict.fromkeys("yx", level_factor("factor", factor))
    factors["z"] = level_factor("z_factor", z_factor, may_keep=True)
    from_source, progress = flag("from_source", from_source), flag("progress", progress)
    opened = LazyArray(source, Chain())
    described = Source(opened).desc
    stated = () if axes is not None and pixel_sizes is not None else stated_axes(source)
    axes_are_given = axes is not None
    with ErrorContext(described):
        axes = _axes(axes, described, stated)
        _require_unit("unit", "space", unit)
        _require_unit("time_unit", "time", time_unit)
        if time_unit is not None and "t" not in axes:
            raise DescriptorError(f"time_unit {time_unit!r} has no effect: axes {axes!r} have no t")
        if factors["z"] != 1 and "z" not in axes:
            raise DescriptorError(f"z_factor {z_factor} has no effect: axes {axes!r} have no z")
        grid = _Grid.of(axes, chunks, shards, volume=factors["z"] != 1)
        places = _places(axes, stated, pixel_sizes, {"space": unit, "time": time_unit})
        place = axes.find("c")
        along, count = (None, 1) if place < 0 else (place, described.sizes[place])
        channels = () if axes_are_given and pixel_sizes is not None else stated_channels(source, along, count)
    image = _Image.of("", opened, axes, levels, factors, chosen, from_source=from_source)
    images = [image]
    if not isinstance(labels, Mapping | None):
        raise DescriptorError(f"labels must be arrays by their names, got {type(labels).__name__}")
    for name, array in (labels or {}).items():
        images.append(_labels_of(image, axes, name, array, factors))
    name = re.sub(r"(\.ome)?\.zarr$", "", Path(path).name)
    attributes = {each.folder: each.attributes(each.name or name, places) for each in images}
    if channels:
        attributes[""]["omero"] = {"channels": list(map(_channel, channels))}
    if labels:
        attributes["labels"] = {"version": _VERSION, "labels": list(labels)}
    devices = None if devices is None else open_devices(devices)
    _require_memory(images, grid, as_bytes("memory", memory), devices)
    options = {"memory": memory, "devices": devices, "progress": progress}
    return _write(Path(path), images, attributes, grid, options)


@dataclass(frozen=True)
class _Place:
    """Positions of elements of level 0 along an axis: distance of neighbours, position of the first, and their unit."""

    step: Fraction
    origin: Fraction
    unit: str | None


@dataclass(frozen=True)
class _Grid:
    """Chunks and shards in elements, by the names of axes; shards None: each chunk is a file."""

    chunks: dict[str, int]
    shards: dict[str, int] | None

    @classmethod
    def of(cls, axes: str, chunks: Sequence[int] | None, shards: Sequence[int] | None, *, volume: bool) -> _Grid:
        each = {letter: (_CUBE if volume else _PLANE).get(letter, 1) for letter in axes}
        if chunks is not None:
            each = _by_axis("chunks", axes, counts("chunks", chunks))
        larger = None if shards is None else _by_axis("shards", axes, counts("shards", shards))
        if 0 in each.values():
            raise DescriptorError(f"chunks must be 1 or more along each axis, got {tuple(each.values())}")
        for letter, shard in (larger or {}).items():
            if shard == 0 or shard % each[letter]:
                raise DescriptorError(
                    f"shards must be multiples of chunks, 1 or more: along axis {letter} shards has {shard}, chunks "
                    f"has {each[letter]}"
                )
        return cls(each, larger)

    def along(self, axes: str, sizes: tuple[int, ...]) -> dict[str, Any]:
        """Chunks and shards for an array of these sizes, as zarr takes them: no larger than the array needs."""
        chunks = tuple(min(self.chunks[letter], size) for letter, size in zip(axes, sizes, strict=True))
        if self.shards is None:
            return {"chunks": chunks, "shards": None}
        each = zip(axes, sizes, chunks, strict=True)
        shards = tuple(min(self.shards[letter], -(-size // chunk) * chunk) for letter, size, chunk in each)
        return {"chunks": chunks, "shards": shards}


@dataclass(frozen=True)
class _Image:
    """One image of the group, in the folder ``folder``, and how its levels are computed.

    source: the array of level 0, its axes permuted to the order of the file. dtype: element type of every level.
    axes, sizes: the letters of these axes, and the sizes of each level, in the same order.
    rules: how ``rs.resample`` reads and weighs elements.
    from_source: each level is computed from level 0, not from the level before it.
    """

    folder: str
    source: LazyArray
    dtype: DType
    axes: str
    sizes: tuple[tuple[int, ...], ...]
    rules: dict[str, Any]
    from_source: bool

    @classmethod
    def of(
        cls,
        folder: str,
        source: LazyArray,
        axes: str,
        levels: int,
        factors: Mapping[str, float],
        rules: dict[str, Any],
        *,
        from_source: bool,
    ) -> _Image:
        """The image of a source. axes: the letters of the source's axes, in the source's order.

        Raises:
            DescriptorError: a level has no elements, or an operation raises it.
            UnsupportedError: Zarr has no such elements, or they are not interpolated.
        """
        desc = Source(source).desc
        ordered = "".join(sorted(axes, key=AXES.index))
        if ordered != axes:
            source = LazyArray(source, Chain().reorder(f"{axes}->{ordered}".upper()))
        with ErrorContext(desc):
            if desc.dtype.name not in _TYPES:
                raise UnsupportedError(f"Zarr has no elements of type {desc.dtype}, only {', '.join(_TYPES)}")
            sizes = level_sizes(source.shape, [factors.get(letter, 1) for letter in ordered], levels)
            is_moved = drifts(rules, desc.dtype)
            if len(sizes) > 1 and not is_moved and desc.dtype.name not in INTERPOLATED_TYPES:
                raise UnsupportedError(
                    Message.of(
                        f"elements of type {desc.dtype} are not interpolated, those of {', '.join(INTERPOLATED_TYPES)} "
                        f"are: ",
                        "pass rs.LazyArray(source, rs.Chain().reorder(dtype=\"f32\")), or mode='nearest', which takes "
                        "every type",
                        "convert them first, or say --mode nearest, which takes every type",
                    )
                )
            from_source = from_source or is_moved
        image = cls(folder, source, desc.dtype, ordered, sizes, rules, from_source)
        stored, _ = unwrapped(source, Chain(), None)
        for level in range(len(sizes)):  # check every operation before anything is written
            require_values(stored, image.work(level))
        return image

    @property
    def name(self) -> str:
        """The name of a label image; empty for the image itself."""
        return self.folder.rpartition("/")[2]

    def before(self, level: int) -> int:
        """The level that ``level`` is computed from."""
        return 0 if self.from_source else max(level - 1, 0)

    def chain(self, level: int) -> Chain:
        """The operations that compute a level from the one before; level 0 is a copy of the source."""
        return Chain().resample(**self.asked(level)) if level else Chain()

    def asked(self, level: int) -> dict[str, Any]:
        """The arguments of ``rs.resample`` that compute a level from the level or array before it."""
        new = self.sizes[level]
        shrunk = [axis for axis in range(len(new)) if self.sizes[0][axis] != self.sizes[-1][axis]]
        return {"sizes": [new[axis] for axis in shrunk], "axes": shrunk, **self.rules}

    def work(self, level: int) -> WindowedChain:
        """The chain that computes a level, bound to the array that it is computed from."""
        if level == 0:
            return unwrapped(self.source, Chain(), None)[1]
        return self.chain(level).of(self.sizes[self.before(level)], self.dtype)

    @cached_property
    def mode(self) -> str:
        """The name of the mode; if ``like`` is set, that library's name for it."""
        choice, known = read_words(Request(**self.rules), self.dtype.name)
        return str(choice.mode) if known is None else known.mode

    def position(self, axis: int, level: int) -> tuple[Fraction, Fraction]:
        """The slope and intercept: element o of the level is at ``slope * o + intercept`` of level 0.

        Worked example, half_pixel, 8 -> 4 -> 2: 2 o + 1/2 and then 2 (2 o + 1/2) + 1/2 = 4 o + 3/2.
        """
        if level == 0 or self.sizes[0][axis] == self.sizes[-1][axis]:
            return Fraction(1), Fraction(0)
        before = self.before(level)
        slope, intercept = self.position(axis, before)
        change = resizing(self.sizes[before], Request(**self.asked(level)), self.dtype.name)
        centres = line_of_centres(change.filters[change.axes.index(axis)])
        intercept += slope * centres.at(0)
        pixel = Fraction(self.sizes[before][axis], self.sizes[level][axis])
        return slope * (Fraction(centres.step, centres.denominator) or pixel), intercept  # one element has no slope

    def attributes(self, name: str, places: Mapping[str, _Place]) -> dict[str, object]:
        """The metadata of the image's group, the value of its key "ome"."""
        axes: list[dict[str, str]] = [{"name": letter, "type": KINDS[letter]} for letter in self.axes]
        for axis in axes:
            if unit := places[axis["name"]].unit:
                axis["unit"] = unit
        datasets = []
        for level in range(len(self.sizes)):
            positions = [(places[letter], *self.position(axis, level)) for axis, letter in enumerate(self.axes)]
            scale = [float(place.step * slope) for place, slope, _ in positions]
            translation = [float(place.origin + place.step * intercept) for place, _, intercept in positions]
            transformations = [
                {"type": "scale", "scale": scale},
                {"type": "translation", "translation": translation},
            ]
            datasets.append({"path": str(level), "coordinateTransformations": transformations})
        made = "level 0" if self.from_source else "the level before it"
        rules = {
            rule: value if isinstance(value, bool | int | float) else str(value) for rule, value in self.rules.items()
        }
        multiscale = {
            "name": name,
            "axes": axes,
            "datasets": datasets,
            "type": self.mode,
            "metadata": {
                "description": f"each level is made from {made}",
                "method": "restride.resample",
                "kwargs": {**rules, "mode": self.mode},
            },
        }
        of_image = {"image-label": {"source": {"image": "../../"}}} if self.folder else {}
        return {"version": _VERSION, "multiscales": [multiscale], **of_image}


def _labels_of(image: _Image, axes: str, name: object, array: SourceArray, factors: Mapping[str, float]) -> _Image:
    """Check a label image of ``image`` and return its pyramid. axes: the axes of the image, in its source's order."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][\w-]*", name, re.ASCII):
        raise DescriptorError(f"labels must have names of letters, digits, '_' and '-', got {name!r}")
    opened = LazyArray(array, Chain())
    desc = Source(opened).desc
    stated = stated_axes(array)
    axes = axes if desc.rank == len(axes) else axes.replace("c", "")
    if any(axis.letter not in (None, letter) for axis, letter in zip(stated, axes, strict=False)):
        raise DescriptorError(
            f"labels {name!r} must have the axes {axes!r}, and state {', '.join(repr(axis.name) for axis in stated)}"
        )
    needed = tuple(image.source.shape[image.axes.index(letter)] for letter in axes)
    if desc.dtype.is_float or desc.dtype == "pred" or desc.sizes != needed:
        raise DescriptorError(f"labels {name!r} must be integers of the sizes {needed} of axes {axes!r}, got {desc}")
    rules = {"mode": "nearest"}
    return _Image.of(f"labels/{name}", opened, axes, len(image.sizes), factors, rules, from_source=image.from_source)


def _require_memory(images: list[_Image], grid: _Grid, memory: int, devices: list[Device] | None) -> None:
    """Check that ``memory`` is enough for every level, on the devices that will compute it.

    Raises:
        DescriptorError: ``memory`` is too little.
    """
    for image in images:
        reader, _ = unwrapped(image.source, Chain(), None)
        stored = [grid.along(image.axes, sizes) for sizes in image.sizes]
        for level, each in enumerate(stored):
            source_chunks = stored[image.before(level)]["chunks"] if level else reader.chunks
            several = open_devices(devices, None if level else image.source)
            plan_stream(image.work(level), each["shards"] or each["chunks"], source_chunks, memory, several)


def _write(
    path: Path, images: list[_Image], attributes: dict[str, dict[str, Any]], grid: _Grid, options: dict[str, Any]
) -> dict[str, Streamed]:
    arrays = {
        f"{image.folder}/{level}".lstrip("/"): {
            "shape": sizes,
            "dtype": image.source.dtype.name,
            "dimension_names": list(image.axes),
            **grid.along(image.axes, sizes),
        }
        for image in images
        for level, sizes in enumerate(image.sizes)
    }
    sources = [[image.work(0).text, version(by_name(image.source.source))] for image in images]
    state = path / ".restride"
    is_resumed = _begin(path, state, {"attributes": attributes, "arrays": arrays, "sources": sources})
    group = zarr.open_group(path, mode="a", zarr_format=3)
    levels: dict[str, Streamed] = {}
    try:
        for image in images:
            levels |= _write_levels(group, image, arrays, state, options)
    except (KeyboardInterrupt, StreamError, OSError) as error:
        error.add_note("the same command or call continues the work")
        raise
    if channels := attributes[""].get("omero", {}).get("channels"):
        for channel, window in zip(channels, _windows(group, images[0]), strict=True):
            channel["window"] = window
    for folder in sorted(attributes, reverse=True):  # the image comes last, because its metadata complete the group
        (group[folder] if folder else group).attrs["ome"] = attributes[folder]
    if is_resumed:
        for part in path.rglob("*.partial"):  # left by zarr if it was killed while it wrote them
            part.unlink()
    shutil.rmtree(state)
    return levels


def _channel(channel: Channel) -> dict[str, object]:
    """A channel as the specification has it, still without its window."""
    return {**({"label": channel.name} if channel.name else {}), "color": channel.color or WHITE, "active": True}


_MAX_SEEN = 1 << 22
"""Maximum elements of a channel that are read again for its window."""


def _windows(group: zarr.Group, image: _Image) -> Iterator[dict[str, float]]:
    """For each channel, the elements shown black (start) and in full colour (end), and the type's range (min and max).

    Start and end are the least and the greatest element of the smallest level if that is small, else min and max, or 0
    and 1 for floats. For floats, min and max are start and end.
    """
    level = group[str(len(image.sizes) - 1)]
    along = image.axes.find("c")
    count = 1 if along < 0 else level.shape[along]
    integer = np.iinfo(level.dtype) if level.dtype.kind in "iu" else None
    for place in range(count):
        seen = whole = (0.0, 1.0) if integer is None else (float(integer.min), float(integer.max))
        if level.size // count <= _MAX_SEEN:
            elements = level[tuple(place if axis == along else slice(None) for axis in range(level.ndim))]
            finite = elements[np.isfinite(elements)]
            seen = (float(finite.min()), float(finite.max())) if finite.size else whole
        whole = seen if integer is None else whole
        yield {"min": whole[0], "max": whole[1], "start": seen[0], "end": seen[1]}


def _write_levels(
    group: zarr.Group, image: _Image, arrays: Mapping[str, Any], state: Path, options: Mapping[str, Any]
) -> dict[str, Streamed]:
    """Write the levels of one image that are not complete yet."""
    inner = group.require_group(image.folder) if image.folder else group
    opened: list[zarr.Array] = []
    levels = {}
    for level in range(len(image.sizes)):
        name = f"{image.folder}/{level}".lstrip("/")
        opened.append(inner[str(level)] if str(level) in inner else group.create_array(name, **arrays[name]))
        source = opened[image.before(level)] if level else image.source
        title = f"{f'{image.folder}, ' if image.folder else ''}level {level} (of {len(image.sizes)})"
        named = {**options, "journal": state / name.replace("/", "."), "progress": options["progress"] and title}
        levels[name] = stream(source, opened[-1], image.chain(level), **named)
    return levels


def _begin(path: Path, state: Path, work: Mapping[str, object]) -> bool:
    """Create the folder and describe the work in it; True if an interrupted call already did.

    Raises:
        DescriptorError: ``path`` has other content, or other work.
    """
    text = json.dumps(work, indent=1, sort_keys=True)
    file = state / "work.json"
    if state.is_symlink():
        raise DescriptorError(_about_other(path, f"its {state.name} is a link, and nothing is written through one"))
    if file.is_file():
        _require_plain(path, state)
        if file.read_text(encoding="utf-8") != text:
            raise DescriptorError(
                f"path {os.fspath(path)!r} is an interrupted pyramid of another source or with other arguments, as "
                f"{file} says: give these, or delete the path"
            )
        return True
    if os.path.lexists(path) and not (path.is_dir() and {entry.name for entry in path.iterdir()} <= {state.name}):
        what = "is a complete image of OME-Zarr" if _is_image(path) else "is no interrupted pyramid"
        raise DescriptorError(_about_other(path, what))
    path.mkdir(exist_ok=True)
    state.mkdir(exist_ok=True)
    _require_plain(path, state)
    write_file(file, text.encode())
    return False


def _about_other(path: Path, what: str) -> str:
    return f"path {os.fspath(path)!r} exists, and {what}: delete it, or give another"


def _require_plain(path: Path, state: Path) -> None:
    """Check that a folder that will be filled has only folders and files, so that nothing is written elsewhere.

    ``path`` itself may be a link, which the caller has given. Journals are continued in place, not replaced: a second
    name of one may be a file elsewhere.

    Raises:
        DescriptorError: it has a link or a special file, or a journal has a second name.
    """
    for folder, folders, files in os.walk(path):
        for place in (Path(folder, name) for name in (*folders, *files)):
            status = place.lstat()
            is_shared = place.parent == state and stat.S_ISREG(status.st_mode) and status.st_nlink > 1
            if what := "a hard link" if is_shared else oddity(status):
                raise DescriptorError(_about_other(path, f"{place.relative_to(path)} in it is {what}"))


def _is_image(path: Path) -> bool:
    try:
        return "ome" in json.loads((path / "zarr.json").read_bytes())["attributes"]
    except (OSError, ValueError, LookupError, TypeError):
        return False


def _axes(named: object, desc: TensorDesc, stated: Sequence[SourceAxis]) -> str:
    rank = desc.rank
    if rank not in _AXES_OF_RANK:
        rule = f"source must have 2 to 5 axes, got {rank}"
        if rank > 5:
            raise DescriptorError(
                Message.of(f"{rule}: take a part of it", ", such as rs.LazyArray(source, rs.Chain()[0])")
            )
        raise DescriptorError(rule)
    if named is not None:
        each = named if isinstance(named, str | Sequence) else [named]
        axes = "".join(SourceAxis(str(name)).letter or str(name) for name in each)
    elif stated:
        axes = letters(stated)
    else:
        axes = _AXES_OF_RANK[rank]
        if looks_like_channels(rank, desc.sizes[-2:]):
            other = "tzyx"[5 - rank :] + "c"
            raise DescriptorError(
                Message.of(
                    "the last axis of source looks like channels, and no axes are named: say ",
                    f"axes={other!r}, or axes={axes!r} if it is not",
                    f"--axes {other}, or --axes {axes} if it is not",
                )
            )
    if not {"y", "x"} <= set(axes) <= set(AXES) or len(set(axes)) != len(axes):
        raise DescriptorError(
            f"axes must be y, x and others of {AXES!r}, each once, got {named or axes!r} for {rank} axes"
        )
    if len(axes) != rank:
        raise DescriptorError(f"axes {axes!r} must be as many as the {rank} axes of the source")
    return axes


def _places(
    axes: str, stated: Sequence[SourceAxis], pixel_sizes: Sequence[float] | None, units: Mapping[str, str | None]
) -> dict[str, _Place]:
    """The positions of elements by axis: as passed, else as the source states them for an axis of that name.

    Raises:
        DescriptorError: pixel sizes, or coordinates, are not above 0.
    """
    if pixel_sizes is not None:
        passed = _by_axis("pixel_sizes", axes, members("pixel_sizes", pixel_sizes))
        steps = {letter: fraction("pixel_sizes", step) for letter, step in passed.items()}
        if min(steps.values()) <= 0:
            raise DescriptorError(f"pixel_sizes must be above 0, got {pixel_sizes}")
        return {letter: _Place(step, Fraction(0), units.get(KINDS[letter])) for letter, step in steps.items()}
    places = {letter: _Place(Fraction(1), Fraction(0), units.get(KINDS[letter])) for letter in axes}
    lost = [axis for axis in stated if math.isnan(axis.origin)]
    for what, each in (
        ("sizes, unit and origin", [axis.name for axis in lost if axis.step is None]),
        ("origin", [axis.name for axis in lost if axis.step is not None]),
    ):
        if each:
            warn_caller(
                Message.of(
                    f"the {what} that the source states along {', '.join(map(repr, each))} are for other elements than "
                    f"are read, because a chain or an orientation moves them, and are left out: pass ",
                    "pixel_sizes=",
                    "--pixel-size",
                )
            )
    for letter, axis in zip(axes, stated, strict=False):
        if axis.letter != letter:
            continue
        step = 1 if axis.step is None else axis.step
        if not step > 0:
            raise DescriptorError(
                Message.of(
                    f"the source states positions along axis {axis.name!r} that do not grow in equal steps, the only "
                    f"ones that OME-Zarr has: pass ",
                    "pixel_sizes=",
                    "--pixel-size",
                )
            )
        unit = units.get(KINDS[letter]) or axis.known_unit
        if unit is None and axis.unit and not axis.unit.startswith("pixel"):
            warn_caller(
                Message.of(
                    f"the source states the unit {axis.unit!r} of axis {axis.name!r}, which OME-Zarr does not list and "
                    f"is left out: pass ",
                    "unit= or time_unit= if it is one of these",
                    "--unit or --time-unit if it is one of these",
                )
            )
        places[letter] = _Place(
            fraction(f"the distance along {axis.name!r}", step),
            Fraction(0) if axis in lost else fraction(f"the origin of {axis.name!r}", axis.origin),
            unit,
        )
    return places


def _require_unit(argument: str, kind: str, unit: str | None) -> None:
    if unit is not None and unit not in UNITS[kind]:
        raise DescriptorError(f"{argument} must be one of {', '.join(UNITS[kind])}, got {unit!r}")


def _by_axis(argument: str, axes: str, values: Sequence[_Value]) -> dict[str, _Value]:
    if len(values) != len(axes):
        raise DescriptorError(f"{argument} must be one number for each of the axes {axes!r}, got {tuple(values)}")
    return dict(zip(axes, values, strict=True))
