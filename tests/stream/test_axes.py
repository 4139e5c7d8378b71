"""Axes, units, pixel sizes and origin are those that a source states; what it cannot state is refused, nothing written.

Judges: tifffile and Pillow read the elements of the TIFF files, ngff-zarr and xarray write Zarr with names.
"""

from __future__ import annotations

import io
import itertools
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.judges import judge

import restride as rs
from restride.cli import main
from restride.stream.axes import Axis, stated_axes
from restride.stream.files import by_name, version

zarr = judge("zarr", "3")

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"
)

NUMBERS = np.random.default_rng(36)
SIZES = {"T": 2, "Z": 3, "C": 2, "Y": 48, "X": 64, "S": 3, "Q": 3, "I": 3}


def elements(axes: str, dtype: str = "u1") -> np.ndarray:
    return NUMBERS.integers(0, 200, [SIZES[axis] for axis in axes]).astype(dtype)


def written(path: Path) -> tuple[str, list[np.ndarray], dict[str, tuple]]:
    """Names of the axes and arrays of an image, and for each axis its scale, translation and unit at level 0."""
    group = zarr.open_group(path, mode="r")
    image = group.attrs["ome"]["multiscales"][0]
    names = "".join(axis["name"] for axis in image["axes"])
    scale, translation = (each[each["type"]] for each in image["datasets"][0]["coordinateTransformations"])
    each = zip(image["axes"], scale, translation, strict=True)
    places = {axis["name"]: (step, origin, axis.get("unit")) for axis, step, origin in each}
    return names, [group[level["path"]][:] for level in image["datasets"]], places


def in_order(array: np.ndarray, axes: str) -> tuple[str, np.ndarray]:
    """The axes and elements in the order of OME-Zarr."""
    letters = axes.lower().replace("s", "c").replace("q", "z").replace("i", "z")
    order = sorted(range(len(letters)), key=lambda axis: "tczyx".index(letters[axis]))
    return "".join(letters[axis] for axis in order), array.transpose(order)


def halved(level: np.ndarray) -> np.ndarray:
    return rs.resample(level, (24, 32), axes=(-2, -1), mode="area").numpy()


OPENED: list[Any] = []


@pytest.fixture(autouse=True)
def _closes() -> Iterator[None]:
    """Close what ``tiff`` opened."""
    yield
    while OPENED:
        OPENED.pop().close()


def tiff(path: Path) -> Any:
    """An open file, until the end of the test."""
    OPENED.append(judge("tifffile").TiffFile(path))
    return OPENED[-1]


def series_of(path: Path) -> Any:
    return tiff(path).series[0]


def pyramid(source: Any, path: Path, levels: int = 2, **named: Any) -> tuple[str, list[np.ndarray], dict[str, tuple]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        rs.ome.pyramid(source, path, levels, **named)
    return written(path)


# TIFF.

COMPRESSIONS = {
    "none": {},
    "zlib": {"compression": "zlib", "predictor": True},
    "lzw": {"compression": "lzw"},
    "zstd": {"compression": "zstd"},
    "packbits": {"compression": "packbits"},
    "jpeg": {"compression": "jpeg"},
}
TILINGS = {"strips": {}, "tiles": {"tile": (32, 32)}}
KINDS = {
    "ome": ("TCZYX", "ZYX", "YXS", "ZYXS", "CYX"),
    "shaped": ("YX", "TZCYX", "ZYX", "YXS"),
    "imagej": ("TZCYX", "ZYX", "YX", "ZYXS"),
    "plain": ("YX", "IYX", "IYXS", "SYX"),
}
TABLE = [
    (kind, axes, tiling, compression)
    for kind, all_axes in KINDS.items()
    for axes, tiling, compression in itertools.product(all_axes, TILINGS, COMPRESSIONS)
    # ImageJ has neither tiles nor compression; without metadata, pages are what their number says.
    if kind != "imagej" or (tiling, compression) == ("strips", "none")
]


def save(path: Path, kind: str, axes: str, **named: Any) -> np.ndarray:
    tifffile = judge("tifffile")
    array = elements(axes)
    named["photometric"] = "rgb" if "S" in axes else "minisblack"
    if axes.startswith("S"):
        named["planarconfig"] = "separate"
    if kind == "plain":
        named["metadata"] = None
    else:
        named["metadata"] = {"axes": axes}
    if kind in ("ome", "imagej"):
        named[kind] = True
    tifffile.imwrite(path, array, **named)
    return array


@pytest.mark.parametrize(("kind", "axes", "tiling", "compression"), TABLE, ids=map("-".join, TABLE))
def test_a_tiff_keeps_its_axes(tmp_path: Path, kind: str, axes: str, tiling: str, compression: str):
    path = tmp_path / "image.tif"
    array = save(path, kind, axes, **TILINGS[tiling], **COMPRESSIONS[compression])
    series = series_of(path)
    assert series.axes == axes
    names, expected = in_order(judge("tifffile").imread(path), axes)
    if compression != "jpeg":
        assert np.array_equal(expected, in_order(array, axes)[1])
    found, (level, half), _ = pyramid(series, tmp_path / "out.zarr")
    assert found == names
    assert np.array_equal(level, expected)
    assert np.array_equal(half, halved(expected))


def test_red_pages_stay_red(tmp_path: Path, capsys):
    image = judge("PIL.Image")
    pages = [image.new("RGB", (60, 40), (250, 0, 0)) for _ in range(4)]
    pages[0].save(tmp_path / "pages.tif", save_all=True, append_images=pages[1:])
    words = ["pyramid", str(tmp_path / "pages.tif"), str(tmp_path / "o.ome.zarr"), "--levels", "2"]
    assert main(words) == 0
    names, (_, half), _ = written(tmp_path / "o.ome.zarr")
    assert (names, half.shape) == ("czyx", (3, 4, 20, 30))
    assert [np.unique(channel).tolist() for channel in half] == [[250], [0], [0]]
    said = capsys.readouterr().err
    assert "restride: the TIFF does not say what its pages are, axis 'I': they are taken as z; say --axes zyxc" in said


@pytest.mark.parametrize("where", ["subifds", "pages"])
@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("tile", [(), (32, 32)])
@pytest.mark.parametrize("axes", ["YX", "YXS"])
def test_a_pyramidal_tiff_is_read_by_its_largest_level(tmp_path: Path, where: str, compression: str, tile, axes: str):
    tifffile = judge("tifffile")
    array = elements(axes)
    named = {"photometric": "rgb" if "S" in axes else "minisblack", **COMPRESSIONS[compression]}
    if tile:
        named["tile"] = tile
    if where == "pages":
        named["metadata"] = None
    with tifffile.TiffWriter(tmp_path / "levels.tif") as file:
        file.write(array, **({"subifds": 2} if where == "subifds" else {}), **named)
        for step in (2, 4):
            file.write(array[::step, ::step], subfiletype=1, **named)
    series = series_of(tmp_path / "levels.tif")
    assert len(series.levels) == 3
    names, expected = in_order(series.asarray(), axes)
    found, (level, half), _ = pyramid(series, tmp_path / "out.zarr")
    assert found == names
    assert np.array_equal(level, expected)
    assert np.array_equal(half, halved(expected))
    assert main(["pyramid", str(tmp_path / "levels.tif"), str(tmp_path / "command.zarr"), "--levels", "2"]) == 0
    assert np.array_equal(written(tmp_path / "command.zarr")[1][1], half)


def test_streams_and_dask_take_a_series(tmp_path: Path):
    array = save(tmp_path / "image.tif", "ome", "ZYXS", compression="zlib")
    series = series_of(tmp_path / "image.tif")
    copy = np.empty_like(array)
    rs.stream(series, copy)
    assert np.array_equal(copy, array)
    assert np.array_equal(rs.LazyArray(series, rs.Chain()[1, ::2])[:], array[1, ::2])
    judge("dask")
    half = rs.dask.pyramid(series, 2)[1].compute(scheduler="threads")
    assert np.array_equal(half, rs.resample(array, (24, 32), axes=(1, 2), mode="area").numpy())


def test_an_array_of_zarr_that_reads_a_tiff_is_treated_alike(tmp_path: Path):
    image = judge("PIL.Image")
    array = elements("YXS")
    image.fromarray(array).save(tmp_path / "turned.tif", tiffinfo={274: 6}, compression="tiff_lzw")
    opened = zarr.open_array(series_of(tmp_path / "turned.tif").aszarr(level=0), mode="r")
    names, (level, _), _ = pyramid(opened, tmp_path / "turned.zarr")
    assert names == "cyx"
    assert np.array_equal(level, np.rot90(array, -1).transpose(2, 0, 1))
    lazy = rs.LazyArray(series_of(tmp_path / "turned.tif"), rs.Chain()[1:])
    assert [axis.name for axis in stated_axes(lazy)] == ["Y", "X", "S"]
    assert np.array_equal(lazy[:], np.rot90(array, -1)[1:])
    judge("tifffile").imwrite(tmp_path / "a.ome.tif", array[..., 0], extratags=[(274, "H", 1, 4, True)])
    opened = zarr.open_array(series_of(tmp_path / "a.ome.tif").aszarr(level=0, squeeze=False), mode="r")
    assert "".join(axis.name for axis in stated_axes(opened)) == "TZCYXS"
    assert np.array_equal(rs.LazyArray(opened, rs.Chain())[0, 0, 0, ..., 0], array[::-1, :, 0])
    image.new("P", (64, 48)).save(tmp_path / "palette.tif")
    assert version(by_name(rs.LazyArray(series_of(tmp_path / "palette.tif"), rs.Chain()).source)) is not None
    judge("tifffile").imwrite(tmp_path / "white.tif", elements("YX"), photometric="miniswhite")
    for name, message in (("palette", "numbers of colours in a palette"), ("white", "interpretation MINISWHITE")):
        opened = zarr.open_array(series_of(tmp_path / f"{name}.tif").aszarr(level=0), mode="r")
        with pytest.raises(rs.DescriptorError, match=message):
            rs.ome.pyramid(opened, tmp_path / "out.zarr", 2)


def test_each_level_of_a_pyramidal_tiff_states_its_own_sizes(tmp_path: Path):
    tifffile = judge("tifffile")
    image = elements("YX")
    sizes = {"axes": "YX", "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.25}
    with tifffile.TiffWriter(tmp_path / "levels.ome.tif", ome=True) as file:
        file.write(image, subifds=1, metadata=sizes, compression="zlib")
        file.write(halved(image), subfiletype=1, compression="zlib")
    series = series_of(tmp_path / "levels.ome.tif")
    group = zarr.open_group(series.aszarr(), mode="r")
    for level, steps in enumerate(([0.25, 0.5], [0.5, 1.0])):
        for source in (series.levels[level], group[str(level)]):
            assert [axis.step for axis in stated_axes(source)] == steps
            names, _, places = pyramid(source, tmp_path / f"{level} of {type(source).__name__}.zarr")
            assert names == "yx"
            assert [places[axis][0] for axis in names] == steps


def test_a_tiff_in_memory_or_opened_for_writing_is_read(tmp_path: Path):
    tifffile = judge("tifffile")
    for name, compression in COMPRESSIONS.items():
        array = save(path := tmp_path / f"{name}.tif", "plain", "YX", **compression)
        for given, mode in ((io.BytesIO(path.read_bytes()), None), (path, "r+b")):
            with tifffile.TiffFile(given, mode=mode) as file:
                assert np.array_equal(rs.LazyArray(file.series[0], rs.Chain())[:], array) or name == "jpeg"


REFUSED_SOURCES = {
    "page": r"take a series of the file, such as tifffile\.TiffFile\(path\)\.series\[0\]",
    "file": "take a series of the file",
    "store": "take a series of the file",
    "folder": r"open it first, as zarr\.open_array\(store, mode='r'\) does",
    "group": r"take an array of it, such as group\['a'\]; it has a",
    "dataset": r"take an array of it, such as dataset\['a'\]; it has a",
}


@pytest.mark.parametrize("what", REFUSED_SOURCES)
def test_what_is_no_array_is_refused_by_its_type(tmp_path: Path, what: str):
    save(tmp_path / "a.tif", "plain", "YX")
    with judge("tifffile").TiffFile(tmp_path / "a.tif") as file:
        sources = {
            "page": lambda: file.pages[0],
            "file": lambda: file,
            "store": file.series[0].aszarr,
            "folder": lambda: zarr.storage.LocalStore(tmp_path),
            "group": lambda: zarr.open_group(tmp_path / "group.zarr", mode="w"),
            "dataset": lambda: judge("xarray").Dataset({"a": ("x", np.zeros(4))}),
        }
        source = sources[what]()
        if what == "group":
            source.create_array("a", data=elements("YX"))
        for call in (
            rs.dask.pyramid,
            lambda each: rs.ome.pyramid(each, tmp_path / "out.zarr"),
            lambda each: rs.LazyArray(each, rs.Chain()),
        ):
            with pytest.raises(rs.DescriptorError, match=f"source must have .*: {REFUSED_SOURCES[what]}"):
                call(source)
    assert not (tmp_path / "out.zarr").exists()


def test_sizes_of_ome_and_imagej(tmp_path: Path):
    tifffile = judge("tifffile")
    stated = {
        "PhysicalSizeX": 250,
        "PhysicalSizeXUnit": "nm",
        "PhysicalSizeY": 0.5,
        "PhysicalSizeZ": 2,
        "TimeIncrement": 3,
    }
    metadata = {"axes": "TZYX", **stated}
    tifffile.imwrite(tmp_path / "a.ome.tif", elements("TZYX"), photometric="minisblack", metadata=metadata)
    places = pyramid(series_of(tmp_path / "a.ome.tif"), tmp_path / "ome.zarr")[2]
    micrometers = {"z": (2, 0, "micrometer"), "y": (0.5, 0, "micrometer")}
    assert places == {"t": (3, 0, "second"), **micrometers, "x": (250, 0, "nanometer")}
    metadata = {"axes": "TZYX", "spacing": 2, "unit": "um", "finterval": 3, "xorigin": 8}
    tifffile.imwrite(tmp_path / "a.tif", elements("TZYX"), imagej=True, resolution=(4, 2), metadata=metadata)
    places = pyramid(series_of(tmp_path / "a.tif"), tmp_path / "imagej.zarr")[2]
    assert places == {"t": (3, 0, "second"), **micrometers, "x": (0.25, -2, "micrometer")}
    named = {"pixel_sizes": (1, 1, 7, 7), "unit": "meter"}
    places = pyramid(series_of(tmp_path / "a.tif"), tmp_path / "named.zarr", **named)[2]
    assert places == {"t": (1, 0, None), "z": (1, 0, "meter"), "y": (7, 0, "meter"), "x": (7, 0, "meter")}


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("compression", [None, "tiff_lzw"])
@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_a_tiff_is_read_upright(tmp_path: Path, orientation: int, mode: str, compression: str | None):
    image = judge("PIL.Image")
    array = elements("YXS" if mode == "RGB" else "YX")
    for name, packing in (("turned", compression), ("judged", "tiff_lzw")):  # Pillow does not turn a mapped L
        image.fromarray(array).save(tmp_path / f"{name}.tif", tiffinfo={274: orientation}, compression=packing)
    with image.open(tmp_path / "judged.tif") as opened:
        upright = np.asarray(opened)
    assert (upright.shape == array.shape) == (orientation < 5)
    assert main(["pyramid", str(tmp_path / "turned.tif"), str(tmp_path / "out.zarr"), "--levels", "2"]) == 0
    names, (level, half), _ = written(tmp_path / "out.zarr")
    assert np.array_equal(level, in_order(upright, "YXS"[: upright.ndim])[1])
    assert names == ("cyx" if mode == "RGB" else "yx")
    assert np.array_equal(
        half, rs.resample(level, [size // 2 for size in level.shape[-2:]], mode="area", axes=(-2, -1)).numpy()
    )


@pytest.mark.parametrize("orientation", range(1, 9))
def test_sizes_turn_with_the_elements(tmp_path: Path, orientation: int):
    tifffile = judge("tifffile")
    named = {"photometric": "minisblack", "extratags": [(274, "H", 1, orientation, True)]}
    image = NUMBERS.integers(0, 200, (40, 60)).astype(np.uint16)
    sizes = {"axes": "YX", "PhysicalSizeX": 2, "PhysicalSizeY": 3}
    tifffile.imwrite(tmp_path / "a.ome.tif", image, metadata=sizes, **named)
    is_turned = orientation >= 5
    steps = (2, 3) if is_turned else (3, 2)
    rs.ome.pyramid(series_of(tmp_path / "a.ome.tif"), tmp_path / "ome.zarr", 2)
    _, (level, _), places = written(tmp_path / "ome.zarr")
    assert level.shape == ((60, 40) if is_turned else (40, 60))
    assert (places["y"][:2], places["x"][:2]) == ((steps[0], 0), (steps[1], 0))
    stated = {"axes": "YX", "unit": "um", "xorigin": 8, "yorigin": 4}
    tifffile.imwrite(tmp_path / "a.tif", image, imagej=True, resolution=(1 / 2, 1 / 3), metadata=stated, **named)
    reversed_axes = {1: "", 2: "x", 3: "yx", 4: "y", 5: "", 6: "x", 7: "yx", 8: "y"}[orientation]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        rs.ome.pyramid(series_of(tmp_path / "a.tif"), tmp_path / "imagej.zarr", 2)
    said = [str(each.message) for each in caught if "the origin that the source states along" in str(each.message)]
    assert len(said) == bool(reversed_axes)
    assert all(f"'{axis.upper()}'" in said[0] for axis in reversed_axes)
    origins = dict(zip("yx", (-16, -12) if is_turned else (-12, -16), strict=True))
    origins |= dict.fromkeys(reversed_axes, 0)
    found = written(tmp_path / "imagej.zarr")[2]
    assert found == {axis: (step, origins[axis], "micrometer") for axis, step in zip("yx", steps, strict=True)}


def test_pages_unlike_the_first_are_named(tmp_path: Path, capsys):
    tifffile = judge("tifffile")
    path = tmp_path / "pages.tif"
    with tifffile.TiffWriter(path) as file:
        for orientation in (1, 1, 3):
            tags = [(274, "H", 1, orientation, True)]
            file.write(elements("YX"), photometric="minisblack", metadata=None, extratags=tags)
    refuse(path, f"page 2 of {path} has the orientation 3, and the first of its series 1", capsys)
    for kind, named in (("ome", {"tile": (16, 16)}), ("ome", {}), ("shaped", {"compression": "zlib"}), ("imagej", {})):
        save(path, kind, "ZYX", **named)
        with tifffile.TiffFile(path, mode="r+b") as file:
            if len(file.pages) == 1:
                continue
            file.pages[1].aspage().tags[262].overwrite(0)
        refuse(path, "page 1 of", capsys)
        refuse(path, "the photometric interpretation MINISWHITE, and the first of its series MINISBLACK", capsys)


def test_series_that_are_not_read_are_counted(tmp_path: Path, capsys):
    tifffile = judge("tifffile")
    with tifffile.TiffWriter(tmp_path / "three.tif") as file:
        for size in (48, 32, 16):
            file.write(np.zeros((size, size), np.uint8), photometric="minisblack")
    words = [str(tmp_path / "three.tif"), str(tmp_path / "out.zarr"), "--levels", "2"]
    assert main(["pyramid", *words]) == 0
    assert (
        f"{tmp_path / 'three.tif'} has 3 series, of which the first is read, and 2 are not" in capsys.readouterr().err
    )


def test_a_palette_is_not_averaged(tmp_path: Path, capsys):
    image = judge("PIL.Image")
    numbers = NUMBERS.integers(0, 3, (48, 64)).astype(np.uint8)
    photo = image.fromarray(numbers, "P")
    photo.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    photo.save(tmp_path / "palette.tif")
    words = ["pyramid", str(tmp_path / "palette.tif"), str(tmp_path / "out.zarr"), "--levels", "2"]
    assert main(words) == 2
    assert (
        "numbers of colours in a palette, and their means are other colours: --mode nearest" in capsys.readouterr().err
    )
    assert not (tmp_path / "out.zarr").exists()
    series = series_of(tmp_path / "palette.tif")
    for refused in (
        lambda: rs.stream(series, np.empty((4, 4), np.uint8), rs.Chain().resample((4, 4))),
        lambda: rs.LazyArray(rs.LazyArray(series, rs.Chain()[::-1]), rs.Chain().resample((4, 4), mode="area")),
    ):
        with pytest.raises(rs.DescriptorError, match="mode='nearest' keeps them"):
            refused()
    assert main([*words, "--mode", "nearest"]) == 0
    assert np.array_equal(written(tmp_path / "out.zarr")[1][1], rs.resample(numbers, (24, 32), mode="nearest").numpy())
    labels = {"labels": {"cells": series_of(tmp_path / "palette.tif")}}
    rs.ome.pyramid(np.zeros((48, 64), np.uint8), tmp_path / "labels.zarr", 2, **labels)


PHOTOMETRIC = {"1;I": "MINISWHITE", "YCbCr": "YCBCR", "CMYK": "SEPARATED", "LAB": "CIELAB", "cfa": "CFA"}


@pytest.mark.parametrize("mode", PHOTOMETRIC)
def test_a_photometric_interpretation_that_is_not_read_is_named(tmp_path: Path, mode: str):
    tifffile = judge("tifffile")
    path = tmp_path / "image.tif"
    if mode in ("1;I", "cfa"):
        tifffile.imwrite(path, elements("YX"), photometric=PHOTOMETRIC[mode].lower())
    else:
        judge("PIL.Image").new(mode, (64, 48)).save(path)
    with pytest.raises(
        rs.DescriptorError, match=rf"image\.tif has the photometric interpretation {PHOTOMETRIC[mode]}, "
    ):
        rs.ome.pyramid(series_of(path), tmp_path / "out.zarr", 2)
    assert not (tmp_path / "out.zarr").exists()


def test_ycbcr_of_jpeg_is_read_as_rgb(tmp_path: Path):
    image = judge("PIL.Image")
    image.new("RGB", (64, 48), (250, 0, 0)).convert("YCbCr").save(tmp_path / "photo.tif", compression="jpeg")
    names, (level, _), _ = pyramid(series_of(tmp_path / "photo.tif"), tmp_path / "out.zarr")
    assert names == "cyx"
    assert np.abs(level.mean((1, 2)) - (250, 0, 0)).max() < 4


# What is missing or damaged.


def refuse(source: Path, message: str, capsys, *words: str) -> None:
    out = source.parent / "refused.zarr"
    assert main(["pyramid", str(source), str(out), "--levels", "2", *words]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
    assert not out.exists()


HAS_ZSTD = pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python has zstd of its own")


@pytest.mark.parametrize("compression", ["lzw", pytest.param("zstd", marks=HAS_ZSTD)])
def test_a_missing_codec_is_named_before_anything_is_written(tmp_path: Path, compression: str):
    save(tmp_path / "image.tif", "ome", "ZYX", compression=compression)
    program = (
        "import sys; sys.modules['imagecodecs'] = None; from restride.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-W", "ignore", "-c", program, "pyramid", "image.tif", "out.zarr", "--levels", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 2
    assert "image.tif cannot be read: " in done.stderr
    assert ": pip install 'restride[ome]'" in done.stderr
    assert not (tmp_path / "out.zarr").exists()


@pytest.mark.parametrize("tiling", TILINGS)
@pytest.mark.parametrize("compression", ["none", "zlib"])
@pytest.mark.parametrize("kind", ["ome", "shaped", "plain"])
def test_a_tiff_that_is_cut_is_refused(tmp_path: Path, capsys, kind: str, tiling: str, compression: str):
    save(
        tmp_path / "image.tif",
        kind,
        "IYX" if kind == "plain" else "ZYX",
        **TILINGS[tiling],
        **COMPRESSIONS[compression],
    )
    content = (tmp_path / "image.tif").read_bytes()
    last = max(max(page.dataoffsets) for page in tiff(tmp_path / "image.tif").pages)
    for length in (last + 9, len(content) // 2, len(content) // 4, 100, 20, 7, 3):
        (tmp_path / "cut.tif").write_bytes(content[:length])
        refuse(tmp_path / "cut.tif", "cut.tif", capsys)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_headers_end_in_a_line(tmp_path: Path, capsys, seed: int):
    """A damaged byte of the header: what is read has the elements of the file, or there is a line and no file."""
    numbers = np.random.default_rng(seed)
    kind = ("ome", "shaped", "imagej", "plain")[seed % 4]
    save(tmp_path / "image.tif", kind, "IYX" if kind == "plain" else "ZYX")
    content = bytearray((tmp_path / "image.tif").read_bytes())
    for place in numbers.integers(0, 240, 3):
        content[place] = numbers.integers(256)
    (tmp_path / "bad.tif").write_bytes(content)
    code = main(["pyramid", str(tmp_path / "bad.tif"), str(tmp_path / "out.zarr"), "--levels", "1"])
    said = capsys.readouterr().err
    assert code in (0, 2)
    assert "Traceback" not in said
    assert (tmp_path / "out.zarr").exists() == (code == 0)


def ome_of_two_files(folder: Path) -> None:
    uuids = [f"urn:uuid:00000000-0000-0000-0000-00000000000{file}" for file in range(2)]
    planes = "".join(
        f'<TiffData FirstC="{file}" IFD="0" PlaneCount="1"><UUID FileName="{file}.ome.tif">{uuid}</UUID></TiffData>'
        for file, uuid in enumerate(uuids)
    )
    sizes = 'DimensionOrder="XYZCT" Type="uint8" SizeX="64" SizeY="48" SizeZ="1" SizeC="2" SizeT="1"'
    for file, uuid in enumerate(uuids):
        text = (
            f'<?xml version="1.0" encoding="UTF-8"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" '
            f'UUID="{uuid}"><Image ID="Image:0"><Pixels ID="Pixels:0" {sizes}>{planes}</Pixels></Image></OME>'
        )
        named = {"description": text, "metadata": None, "photometric": "minisblack"}
        judge("tifffile").imwrite(folder / f"{file}.ome.tif", elements("YX"), **named)


def test_a_missing_file_of_several_is_named(tmp_path: Path, capsys):
    ome_of_two_files(tmp_path)
    names, (level, _), _ = pyramid(series_of(tmp_path / "0.ome.tif"), tmp_path / "out.zarr")
    assert names == "cyx"
    planes = [judge("tifffile").imread(tmp_path / f"{file}.ome.tif", key=0) for file in range(2)]
    assert np.array_equal(level, planes)
    (tmp_path / "1.ome.tif").unlink()
    refuse(tmp_path / "0.ome.tif", "2 planes, and 1 of them are missing, as there is no TIFF 1.ome.tif", capsys)
    text = (tmp_path / "0.ome.tif").read_bytes()
    (tmp_path / "damaged.ome.tif").write_bytes(text.replace(b"</Image>", b"</Imxge>"))
    refuse(tmp_path / "damaged.ome.tif", "say what is right by --axes and --pixel-size", capsys)
    words = [str(tmp_path / "damaged.ome.tif"), str(tmp_path / "named.zarr"), "--axes", "yx", "--pixel-size", "1", "1"]
    assert main(["pyramid", *words, "--levels", "2"]) == 0


@pytest.mark.parametrize("what", ["small", "wide", "u2", "tiled", "no pages", "empty", "text"])
def test_another_file_of_several_that_is_unlike_is_named(tmp_path: Path, capsys, what: str):
    tifffile = judge("tifffile")
    ome_of_two_files(tmp_path)
    other = tmp_path / "1.ome.tif"
    with tifffile.TiffFile(other) as file:
        named = {"description": file.pages[0].description, "metadata": None, "photometric": "minisblack"}
    if what in ("no pages", "empty", "text"):
        other.write_bytes({"no pages": b"II*\0garbage garbage", "empty": b"", "text": b"hello world"}[what])
        refuse(tmp_path / "0.ome.tif", "as there is no TIFF 1.ome.tif", capsys)
        return
    sizes = {"small": (24, 64), "wide": (48, 80)}.get(what, (48, 64))
    if what == "tiled":
        named["tile"] = (16, 16)
    tifffile.imwrite(other, np.zeros(sizes, np.uint16 if what == "u2" else np.uint8), **named)
    refuse(tmp_path / "0.ome.tif", f"page 0 of {other} has the ", capsys)


@pytest.mark.parametrize("content", [b"II*\0garbage garbage", b"II*\0" + bytes(20)])
def test_a_file_without_pages_is_no_tiff(tmp_path: Path, capsys, content: bytes):
    (tmp_path / "gar.tif").write_bytes(content)
    refuse(tmp_path / "gar.tif", "gar.tif is no TIFF that can be read: it has no pages", capsys)


# Names.


def zarr_array(path: Path, names: Any, zarr_format: int = 3) -> Any:
    sizes = [
        3 if str(name).lower() in ("c", "s", "band", "none", "wavelength", "time", "channel") else 48 for name in names
    ]
    array = NUMBERS.integers(0, 200, sizes).astype(np.uint8)
    if zarr_format == 2:
        made = zarr.create_array(path, data=array, zarr_format=2)
        made.attrs["_ARRAY_DIMENSIONS"] = list(names)
        return zarr.open_array(path, mode="r")
    return zarr.create_array(path, data=array, dimension_names=names)


NAMES = {
    ("c", "y", "x"): "cyx",
    ("y", "x", "band"): "yxc",
    ("time", "y", "x"): "tyx",
    ("Channel", "Y", "X"): "cyx",
    ("band", "lat", "lon"): "cyx",
    ("S", "Y", "X"): "cyx",
}


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("names", NAMES)
def test_names_of_zarr_are_kept(tmp_path: Path, names: tuple[str, ...], zarr_format: int):
    array = zarr_array(tmp_path / "in.zarr", names, zarr_format)
    ordered, expected = in_order(array[:], NAMES[names].upper())
    found, (level, half), _ = pyramid(array, tmp_path / "out.zarr")
    assert found == ordered
    assert np.array_equal(level, expected)
    assert np.array_equal(half, rs.resample(expected, (24, 24), axes=(1, 2), mode="area").numpy())
    assert main(["pyramid", str(tmp_path / "in.zarr"), str(tmp_path / "command.zarr"), "--levels", "2"]) == 0
    assert written(tmp_path / "command.zarr")[0] == ordered
    judge("dask")
    rows = rs.dask.pyramid(array, 2)[1]
    assert [size for size in rows.shape if size == 24] == [24, 24]


REFUSED = {
    (
        "wavelength",
        "y",
        "x",
    ): r"axis 0 is 'wavelength', which is none of t, c, z, y, x or their long names: .* axes='zyx'",
    ("i", "y", "x"): r"axis 0 is 'i', which is none of",
    (None, "y", "x"): r"axis 0 is '', which says nothing: .* axes='zyx'",
    ("c", "band", "y", "x"): r"'c' and 'band' are all c: .* axes='zcyx'",
    ("row", "column"): r"axis 0 is 'row', .* axes='yx'",
    ("row", "x", "c"): r"axis 0 is 'row', .* axes='yxc'",
    ("y", "y", "x"): r"'y' and 'y' are all y: ",
    ("c", "z", "time"): r"axes must be y, x and others of 'tczyx', each once, got 'czt'",
}


@pytest.mark.parametrize("names", REFUSED)
def test_unknown_names_and_names_twice_are_refused(tmp_path: Path, names: tuple[str, ...]):
    with pytest.raises(rs.DescriptorError, match=REFUSED[names]):
        rs.ome.pyramid(zarr_array(tmp_path / "in.zarr", names), tmp_path / "out.zarr", 2)
    assert not (tmp_path / "out.zarr").exists()


def test_channels_and_samples_are_named_by_the_remedy(tmp_path: Path, capsys):
    path = tmp_path / "both.ome.tif"
    save(path, "ome", "CYXS")
    refuse(path, "'C' and 'S' are all c: name all of them, each letter of tczyx once, for example --axes zyxc", capsys)
    assert main(["pyramid", str(path), str(tmp_path / "out.zarr"), "--levels", "2", "--axes", "zyxc"]) == 0
    assert written(tmp_path / "out.zarr")[0] == "czyx"
    array = save(path, "ome", "TCZYXS")
    refuse(path, "source must have 2 to 5 axes, got 6: take a part of it", capsys)
    part = rs.LazyArray(series_of(path), rs.Chain()[:, 1])
    names, (level, _), _ = pyramid(part, tmp_path / "part.zarr")
    assert names == "tczyx"
    assert np.array_equal(level, array[:, 1].transpose(0, 4, 1, 2, 3))


@pytest.mark.parametrize("names", [[None] * 3, ["dim_0", "dim_1", "dim_2"]])
def test_axes_without_a_name_are_counted(tmp_path: Path, names: list):
    array = zarr.create_array(tmp_path / "in.zarr", data=elements("ZYX"), dimension_names=names)
    assert stated_axes(array) == ()
    assert pyramid(array, tmp_path / "out.zarr")[0] == "zyx"


def test_channels_without_names_are_warned_of(tmp_path: Path, capsys):
    photo = elements("YXS")
    message = "no axes are named, so the last one of source, of 3 elements, is x: say "
    with pytest.warns(UserWarning, match=f"{message}axes='yxc' if it has the channels, and axes='zyx'") as caught:
        rs.ome.pyramid(photo, tmp_path / "one.zarr", 2)
    assert [warning.filename for warning in caught if warning.category is UserWarning] == [__file__]
    np.save(tmp_path / "photo.npy", photo)
    assert main(["pyramid", str(tmp_path / "photo.npy"), str(tmp_path / "two.zarr"), "--levels", "2"]) == 0
    assert f"restride: {message}--axes yxc if it has the channels, and --axes zyx if it" in capsys.readouterr().err
    judge("dask")
    with pytest.warns(
        UserWarning, match=r"the last axis of x is resized from 3 to 1: say axes=\(0, 1\) if it"
    ) as caught:
        rs.dask.pyramid(photo, 2)
    assert [warning.filename for warning in caught if warning.category is UserWarning] == [__file__]
    with warnings.catch_warnings(action="error"):
        rs.ome.pyramid(photo, tmp_path / "named.zarr", 2, axes="yxc")
        rs.ome.pyramid(elements("CYX"), tmp_path / "first.zarr", 2)
        rs.ome.pyramid(elements("SC"), tmp_path / "small.zarr", 1)
        rs.dask.pyramid(photo, 2, axes=(0, 1))


def test_dask_asks_for_the_axes_that_shrink(tmp_path: Path):
    judge("dask")
    array = zarr_array(tmp_path / "in.zarr", ("wavelength", "row", "col"))
    with pytest.raises(
        rs.DescriptorError, match=r"'wavelength', 'row', 'col', not y and x once each: .* axes=\(1, 2\)"
    ):
        rs.dask.pyramid(array, 2)
    assert rs.dask.pyramid(array, 2, axes=(1, 2))[1].shape == (3, 24, 24)


def test_other_libraries_name_axes(tmp_path: Path):
    with judge("h5py").File(tmp_path / "a.h5", "w") as file:
        file["a"] = elements("CYX")
        assert stated_axes(file["a"]) == ()
        for axis, name in enumerate("cyx"):
            file["a"].dims[axis].label = name
        assert pyramid(file["a"], tmp_path / "h5.zarr")[0] == "cyx"
    tensorstore = judge("tensorstore")
    zarr_array(tmp_path / "in.zarr", ("c", "y", "x"))
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(tmp_path / "in.zarr")}}
    assert stated_axes(tensorstore.open(spec).result()) == (Axis("c"), Axis("y"), Axis("x"))
    mapped = np.memmap(tmp_path / "raw", np.uint8, "w+", shape=(3, 4))
    assert stated_axes(mapped) == stated_axes(np.zeros((3, 4))) == ()


def test_the_result_of_a_chain_has_the_names_of_its_source(tmp_path: Path):
    array = zarr_array(tmp_path / "in.zarr", ("c", "y", "x"))
    lazy = rs.LazyArray(array, rs.Chain().reorder("CYX->XCY")[::-1, 1:])
    assert [axis.name for axis in stated_axes(lazy)] == ["x", "c", "y"]
    found, (level, _), _ = pyramid(lazy, tmp_path / "out.zarr")
    assert found == "cyx"
    assert np.array_equal(level, array[:][1:, :, ::-1])
    assert [axis.name for axis in stated_axes(rs.LazyArray(lazy, rs.Chain()[0, None]))] == ["", "c", "y"]


def test_the_result_of_a_chain_has_the_sizes_that_it_keeps(tmp_path: Path):
    data = judge("xarray").DataArray(
        elements("CYX"),
        dims=("c", "y", "x"),
        coords={
            "y": ("y", 10 + 2.0 * np.arange(48), {"units": "um"}),
            "x": ("x", 0.5 * np.arange(64), {"units": "um"}),
        },
    )
    y, x = (2, 10, "micrometer"), (0.5, 0, "micrometer")
    for count, chain in enumerate(
        (
            rs.Chain(),
            rs.Chain().reorder("CYX->XYC"),
            rs.Chain()[0].reorder(dtype="f32"),
            rs.Chain()[:, :40],
            rs.Chain()[:, None],
        )
    ):
        lazy = rs.LazyArray(rs.LazyArray(data, rs.Chain()), chain)
        named = {"axes": "czyx"} if len(lazy.shape) == 4 else {}
        with warnings.catch_warnings(action="error", category=UserWarning):
            rs.ome.pyramid(lazy, tmp_path / f"{count}.zarr", 1, **named)
        places = written(tmp_path / f"{count}.zarr")[2]
        assert (places["y"], places["x"]) == (y, x)
    lost = {
        rs.Chain()[:, ::-1]: "'y'",
        rs.Chain()[:, :, 1:]: "'x'",
        rs.Chain()[:, ::2]: "'y'",
        rs.Chain().resample((24, 32), axes=(1, 2)): "'y', 'x'",
    }
    for chain, names in lost.items():
        lazy = rs.LazyArray(data, chain)
        with pytest.warns(
            UserWarning, match=f"sizes, unit and origin that the source states along {names} are"
        ) as caught:
            rs.ome.pyramid(lazy, tmp_path / "lost.zarr", 1)
        assert [each.filename for each in caught if each.category is UserWarning] == [__file__]
        places = written(tmp_path / "lost.zarr")[2]
        assert places["y"] == ((1, 0, None) if "y" in names else y)
        assert places["x"] == ((1, 0, None) if "x" in names else x)
        with warnings.catch_warnings(action="error", category=UserWarning):
            rs.ome.pyramid(lazy, tmp_path / "passed.zarr", 1, pixel_sizes=(1, 1, 1))
        for name in ("lost.zarr", "passed.zarr"):
            shutil.rmtree(tmp_path / name)


def test_labels_state_the_axes_of_the_image(tmp_path: Path):
    image, labels = np.zeros((48, 48), np.uint8), {"cells": zarr_array(tmp_path / "in.zarr", ("x", "y"))}
    with pytest.raises(rs.DescriptorError, match="labels 'cells' must have the axes 'yx', and state x, y"):
        rs.ome.pyramid(image, tmp_path / "out.zarr", 2, labels=labels)
    assert not (tmp_path / "out.zarr").exists()


# xarray.


def data_array(**coords: Any) -> Any:
    return judge("xarray").DataArray(elements("YXS"), dims=("y", "x", "c"), coords=coords)


@pytest.mark.parametrize("is_dask", [False, True])
def test_a_data_array_states_its_axes(tmp_path: Path, is_dask: bool):
    y = ("y", 5 + 2.0 * np.arange(48), {"units": "mm"})
    data = data_array(y=y, x=np.arange(64, dtype=np.float32) * np.float32(0.1), c=["r", "g", "b"])
    if is_dask:
        judge("dask")
        data = data.chunk(20)
    found, (level, _), places = pyramid(data, tmp_path / "out.zarr")
    assert found == "cyx"
    assert np.array_equal(level, data.values.transpose(2, 0, 1))
    assert places["y"] == (2, 5, "millimeter")
    assert places["x"] == (pytest.approx(0.1), 0, None)
    judge("dask")
    half = rs.dask.pyramid(data, 2)[1].compute()
    assert np.array_equal(half, rs.resample(data.values, (24, 32), axes=(0, 1), mode="area").numpy())


@pytest.mark.parametrize(
    ("dtype", "place"),
    [("Float64", (3, 2, None)), ("Int32", (3, 2, None)), ("datetime64[ns, Europe/Paris]", (3e-9, 0, "second"))],
)
def test_coordinates_of_pandas_types_state_sizes(tmp_path: Path, dtype: str, place: tuple):
    coordinate = judge("pandas").Index(np.arange(3) * 3 + 2, dtype=dtype)
    data = judge("xarray").DataArray(elements("ZYX"), dims=("time", "y", "x"), coords={"time": coordinate})
    assert pyramid(data, tmp_path / "out.zarr")[2]["t"] == place


def test_times_are_seconds(tmp_path: Path):
    days = np.array(["2001-02-03", "2001-02-04", "2001-02-05"], "M8[ns]")
    data = judge("xarray").DataArray(elements("ZYX"), dims=("time", "y", "x"), coords={"time": days})
    assert pyramid(data, tmp_path / "out.zarr")[2]["t"] == (86400, 0, "second")


@pytest.mark.parametrize(
    "places", [np.arange(48.0)[::-1], np.arange(48.0) ** 2, np.zeros(48)], ids=["down", "uneven", "0"]
)
def test_positions_that_ome_zarr_lacks_are_refused(tmp_path: Path, places: np.ndarray):
    data = data_array(y=places)
    with pytest.raises(rs.DescriptorError, match="positions along axis 'y' that do not grow in equal steps"):
        rs.ome.pyramid(data, tmp_path / "out.zarr", 2)
    assert not (tmp_path / "out.zarr").exists()
    assert pyramid(data, tmp_path / "out.zarr", pixel_sizes=(1, 2, 1))[2]["x"] == (2, 0, None)


def test_a_unit_that_ome_zarr_lacks_is_named(tmp_path: Path):
    data = data_array(y=("y", np.arange(48.0), {"units": "degrees_north"}))
    with pytest.warns(
        UserWarning, match="unit 'degrees_north' of axis 'y', which OME-Zarr does not list and is left out"
    ):
        rs.ome.pyramid(data, tmp_path / "out.zarr", 2)
    assert pyramid(data, tmp_path / "other.zarr", unit="meter")[2]["y"] == (1, 0, "meter")


UNITS = {
    **dict.fromkeys(("um", "µm", "μm", "micron", "microns", "micrometer", "micrometre", r"\u00B5m"), "micrometer"),
    **dict.fromkeys(("m", "meters", "metres", "Meter"), "meter"),
    "nm": "nanometer",
    "Mm": "megameter",
    "mm": "millimeter",
    "inch": "inch",
    "Å": "angstrom",
    "pixel": None,
    "": None,
}


@pytest.mark.parametrize("unit", UNITS)
def test_units_are_spelled_as_the_specification_does(unit: str):
    assert Axis("x", unit).known_unit == UNITS[unit]
    assert Axis("t", "sec").known_unit == Axis("t", "s").known_unit == "second"
    assert Axis("c", "um").known_unit is None


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_what_xarray_writes_has_its_names(tmp_path: Path, zarr_format: int):
    data = data_array().rename("photo")
    data.to_zarr(tmp_path / "in.zarr", zarr_format=zarr_format, consolidated=False)
    found, (level, _), _ = pyramid(zarr.open(tmp_path / "in.zarr", mode="r")["photo"], tmp_path / "out.zarr")
    assert found == "cyx"
    assert np.array_equal(level, data.values.transpose(2, 0, 1))


# OME-Zarr.

TRANSFORMED = {
    "version": "0.4",
    "axes": [{"name": name, "type": "space", "unit": "micrometer"} for name in "zyx"],
    "datasets": [
        {
            "path": "s0",
            "coordinateTransformations": [
                {"type": "scale", "scale": [2, 0.5, 0.25]},
                {"type": "translation", "translation": [0, 3, 4]},
            ],
        }
    ],
    "coordinateTransformations": [{"type": "scale", "scale": [1, 2, 2]}],
}


def ome_array(path: Path, zarr_format: int, image: Any, names: Any = None) -> Any:
    """An array in a group of OME-Zarr 0.4 (Zarr 2) or 0.5 (Zarr 3)."""
    group = zarr.open_group(path, mode="w", zarr_format=zarr_format)
    group.create_array("s0", data=elements("ZYX"), **({"dimension_names": names} if names else {}))
    group.attrs.update(
        {"multiscales": [image]} if zarr_format == 2 else {"ome": {"version": "0.5", "multiscales": [image]}}
    )
    return zarr.open_group(path, mode="r")["s0"]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_ome_zarr_states_all_of_it(tmp_path: Path, zarr_format: int):
    array = ome_array(tmp_path / "in.zarr", zarr_format, TRANSFORMED)
    expected = {"z": (2, 0, "micrometer"), "y": (1, 6, "micrometer"), "x": (0.5, 8, "micrometer")}
    assert pyramid(array, tmp_path / "out.zarr")[2] == expected
    alone = zarr.open_array(tmp_path / "in.zarr" / "s0", mode="r")
    assert pyramid(alone, tmp_path / "alone.zarr")[2] == expected
    assert main(["pyramid", str(tmp_path / "in.zarr" / "s0"), str(tmp_path / "command.zarr"), "--levels", "2"]) == 0
    assert written(tmp_path / "command.zarr")[2] == expected
    renamed = pyramid(array, tmp_path / "t.zarr", axes="tyx")[2]
    assert renamed == {"t": (1, 0, None), "y": expected["y"], "x": expected["x"]}


def test_multiscales_without_axes_of_others_than_ome_say_nothing(tmp_path: Path):
    group = zarr.open_group(tmp_path / "group.zarr", mode="w")
    group.attrs["multiscales"] = [{"datasets": [{"path": "0", "pixels_per_tile": 128}], "type": "reduce"}]
    array = group.create_array("0", data=elements("TYX"), dimension_names=("time", "y", "x"))
    assert [axis.name for axis in stated_axes(array)] == ["time", "y", "x"]


def test_levels_of_levels_lie_where_the_first_ones_do(tmp_path: Path):
    named = {"pixel_sizes": (2, 0.5, 0.5), "unit": "micrometer"}
    rs.ome.pyramid(elements("ZYX"), tmp_path / "first.zarr", 3, **named)
    group = zarr.open_group(tmp_path / "first.zarr", mode="r")
    levels = group.attrs["ome"]["multiscales"][0]["datasets"]
    rs.ome.pyramid(group["1"], tmp_path / "second.zarr", 2)
    again = zarr.open_group(tmp_path / "second.zarr", mode="r").attrs["ome"]["multiscales"][0]["datasets"]
    for first, second in zip(levels[1:], again, strict=True):
        assert first["coordinateTransformations"] == second["coordinateTransformations"]


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_what_ngff_zarr_writes_is_read(tmp_path: Path, version: str):
    ngff_zarr = judge("ngff_zarr")
    named = {"scale": {"z": 2.0, "y": 0.5, "x": 0.25}, "translation": {"z": 1.0, "y": 0.0, "x": 8.0}}
    units = {"axes_units": dict.fromkeys("zyx", "micrometer")}
    image = ngff_zarr.to_ngff_image(elements("ZYX"), dims=tuple("zyx"), **named, **units)
    ngff_zarr.to_ngff_zarr(
        str(tmp_path / "in.zarr"), ngff_zarr.to_multiscales(image, scale_factors=[]), version=version
    )
    group = zarr.open_group(tmp_path / "in.zarr", mode="r")
    attributes = group.attrs.asdict()
    path = attributes.get("ome", attributes)["multiscales"][0]["datasets"][0]["path"]
    places = pyramid(group[path], tmp_path / "out.zarr")[2]
    assert places == {"z": (2, 1, "micrometer"), "y": (0.5, 0, "micrometer"), "x": (0.25, 8, "micrometer")}


@pytest.mark.parametrize("images", [{}, {"a": 1}, "", "abc", ["a"], None, 3], ids=repr)
def test_damaged_multiscales_are_refused(tmp_path: Path, images: Any):
    group = zarr.open_group(tmp_path / "in.zarr", mode="w")
    group.attrs["ome"] = {"version": "0.5", "multiscales": images}
    array = group.create_array("0", data=elements("ZYX"))
    with pytest.raises(rs.DescriptorError, match=r"are damaged .* axes= and pixel_sizes="):
        rs.ome.pyramid(array, tmp_path / "out.zarr", 2)


DAMAGED = {
    "axes of a number": {"axes": 3},
    "two axes": {"axes": ["y", "x"]},
    "an axis without a name": {"axes": [{"type": "space"}, "y", "x"]},
    "no datasets": {"datasets": None},
    "two numbers": {"coordinateTransformations": [{"type": "scale", "scale": [1, 2]}]},
    "words": {"coordinateTransformations": [{"type": "scale", "scale": ["a", "b", "c"]}]},
    "another transformation": {"coordinateTransformations": [{"type": "affine", "affine": []}]},
    "no type": {"coordinateTransformations": [{}]},
    "a scale of 0": {"coordinateTransformations": [{"type": "scale", "scale": [1, 0, 1]}]},
    "an axis twice": {"axes": ["y", "y", "x"]},
    "an unknown axis": {"axes": ["q", "w", "x"]},
}


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_metadata_of_ome_zarr_are_refused(tmp_path: Path, capsys, damage: str, zarr_format: int):
    array = ome_array(tmp_path / "in.zarr", zarr_format, {**TRANSFORMED, **DAMAGED[damage]})
    with pytest.raises(rs.DescriptorError, match=r"axes=|pixel_sizes="):
        rs.ome.pyramid(array, tmp_path / "out.zarr", 2)
    refuse(tmp_path / "in.zarr" / "s0", "--", capsys)
    assert pyramid(array, tmp_path / "out.zarr", axes="zyx", pixel_sizes=(1, 1, 1))[0] == "zyx"


def test_names_that_contradict_the_group_are_refused(tmp_path: Path):
    array = ome_array(tmp_path / "in.zarr", 3, TRANSFORMED, ["z", "x", "y"])
    with pytest.raises(rs.DescriptorError, match=r"dimension_names .* say which by axes= and pixel_sizes="):
        rs.ome.pyramid(array, tmp_path / "out.zarr", 2)
    assert not (tmp_path / "out.zarr").exists()


@pytest.mark.parametrize(("zarr_format", "file"), [(2, ".zattrs"), (2, ".zgroup"), (3, "zarr.json")])
@pytest.mark.parametrize("text", ["{", "[]", ""])
def test_damaged_files_of_a_group_are_refused(tmp_path: Path, capsys, zarr_format: int, file: str, text: str):
    ome_array(tmp_path / "in.zarr", zarr_format, TRANSFORMED)
    (tmp_path / "in.zarr" / file).write_text(text, encoding="utf-8")
    array = zarr.open_array(tmp_path / "in.zarr" / "s0", mode="r")
    with pytest.raises(rs.DescriptorError, match="are damaged"):
        rs.ome.pyramid(array, tmp_path / "out.zarr", 2)
    assert not (tmp_path / "out.zarr").exists()
    refuse(tmp_path / "in.zarr" / "s0", "in.zarr", capsys)
