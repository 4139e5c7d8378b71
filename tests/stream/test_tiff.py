"""TIFF files as sources: axes, levels, series, compressions and codecs, sizes, and files that are cut or damaged."""

from __future__ import annotations

import io
import itertools
import os
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from support.judges import judge
from support.process import captured
from support.random_tiffs import claimed, drawn, file_of, upright
from support.sampled import FULL, SEED
from support.stated_sources import (
    NUMBERS,
    _closes,
    elements,
    in_order,
    pyramid,
    refuse,
    save,
    series_of,
    tiff,
    written,
    zarr,
)

import restride as rs
from restride.cli import main
from restride.stream import tiff as stream_tiff
from restride.stream.axes import stated_axes
from restride.stream.files import by_name, version

FIXTURES = (_closes,)

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"
)


def halved(level: np.ndarray) -> np.ndarray:
    return rs.resample(level, (24, 32), axes=(-2, -1), mode="area").numpy()


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


@pytest.mark.filterwarnings("ignore:.*premultiplied:UserWarning")
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 5))])
def test_random_files_stream_the_array_that_was_written_or_are_refused_by_name(part: int):
    """The files that rs.imread reads: their elements are the same, with planes first where they are stored so."""
    for number in range(1000 if FULL else 25):
        file = drawn(f"{SEED} stream {part} {number}")
        with judge("tifffile").TiffFile(io.BytesIO(file.content)) as opened:
            if file.photometric in ("miniswhite", "separated"):
                with pytest.raises(
                    rs.DescriptorError, match=f"interpretation {file.photometric.upper()}, which is not"
                ):
                    rs.LazyArray(opened.series[0], rs.Chain())
                continue
            lazy = rs.LazyArray(opened.series[0], rs.Chain())
            axes, elements = "".join(axis.name for axis in stated_axes(lazy)), lazy[:]
        if "S" in axes:
            elements = np.moveaxis(elements, axes.index("S"), -1)
        stored = upright(file.stored, file.orientation)
        assert elements.dtype == stored.dtype
        assert np.array_equal(elements.reshape(stored.shape), stored, equal_nan=stored.dtype.kind == "f"), file.text


@pytest.mark.parametrize(
    ("sizes", "compression", "size", "tile", "message"),
    [
        ((13_000, 13_000), 5, 99, (), "LZW are read to at most 4194304 bytes of pixels, not 169000000"),
        ((130, 130), 5, 0, (), "its strip or tile 0 is at byte 8 and has 0 bytes"),
        ((16, 16), 5, 99, (1 << 15, 1 << 15), "LZW are read to at most 4194304 bytes of pixels, not 1073741824"),
        ((9, 9), 50_002, 99, (), "the compression JPEGXL is not read"),
    ],
    ids=["LZW of fewer pixels", "no bytes", "a large tile", "JPEG XL"],
)
def test_a_tiff_that_cannot_hold_its_elements_is_refused_before_they_are_read(
    tmp_path: Path, capsys, sizes, compression, size, tile, message
):
    data = judge("imagecodecs").lzw_encode(bytes(size)) if size else b""
    (tmp_path / "x.tif").write_bytes(claimed(*sizes, compression, data, tile=tile))
    refuse(tmp_path / "x.tif", message, capsys)


def test_a_jpeg_that_is_larger_than_its_tile_is_refused_when_it_is_read(tmp_path: Path):
    codecs, tifffile = judge("imagecodecs"), judge("tifffile")
    small, large = (codecs.jpeg_encode(np.zeros((size, size), np.uint8)) for size in (16, 512))
    tags = {256: ("I", [32]), 257: ("I", [16]), 258: ("H", [8]), 259: ("H", [7]), 262: ("H", [1]), 277: ("H", [1])}
    tags |= {322: ("I", [16]), 323: ("I", [16])}
    (tmp_path / "x.tif").write_bytes(file_of(tags, [small, large], "<", big=False, tiled=True))
    with tifffile.TiffFile(tmp_path / "x.tif") as file:
        lazy = rs.LazyArray(file.series[0], rs.Chain())
        assert not lazy[:, :16].any()
        with pytest.raises(ValueError, match="a strip or tile of 256 samples says that it has 262144"):
            lazy[:, 16:]


def test_premultiplied_colours_are_streamed_as_they_are_stored_with_a_warning(tmp_path: Path):
    array = elements("YXS")
    array = np.dstack([array, array[..., 0]])
    judge("tifffile").imwrite(tmp_path / "x.tif", array, photometric="rgb", extrasamples=["assocalpha"])
    with pytest.warns(
        UserWarning, match=r"x\.tif are multiplied by alpha .premultiplied., and are kept as they are stored"
    ):
        lazy = rs.LazyArray(series_of(tmp_path / "x.tif"), rs.Chain())
    assert np.array_equal(lazy[:], array)


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
    assert (
        "restride: warning: the TIFF does not say what its pages are, axis 'I': they are taken as z; say --axes zyxc"
        in said
    )


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


@pytest.mark.parametrize("compression", ["none", "zlib"])
def test_a_tiff_that_tifffile_has_closed_is_read_by_zarr_and_refused_as_a_series(tmp_path: Path, compression: str):
    tifffile = judge("tifffile")
    array = save(path := tmp_path / "plain.tif", "plain", "YXS", **COMPRESSIONS[compression])
    opened = zarr.open_array(tifffile.imread(path, aszarr=True), mode="r")  # closes the file, and opens it to read
    assert np.array_equal(rs.LazyArray(opened, rs.Chain())[:], array)
    assert np.array_equal(opened[:], array)
    opened.store.close()
    with tifffile.TiffFile(path) as file:
        series = file.series[0]
    with pytest.raises(rs.DescriptorError, match=r"plain\.tif is closed, and a series reads"):
        rs.LazyArray(series, rs.Chain())


def test_a_tiff_is_checked_while_no_store_of_zarr_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    save(path := tmp_path / "plain.tif", "plain", "YXS", **COMPRESSIONS["none"])
    store = judge("tifffile").imread(path, aszarr=True)
    opened = zarr.open_array(store, mode="r")
    begun = threading.Event()
    monkeypatch.setattr(stream_tiff, "_require_whole", lambda *_: begun.set())
    thread = threading.Thread(target=rs.LazyArray, args=(opened, rs.Chain()))
    with stream_tiff.series_of(opened).parent.filehandle.lock:
        thread.start()
        assert not begun.wait(0.3)
    assert begun.wait(60)
    thread.join()
    store.close()


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


def upright_along(array: np.ndarray, axes: str, orientation: int) -> np.ndarray:
    """The array that was written as stored rows and columns, Y and X of ``axes``."""
    places = axes.index("Y"), axes.index("X")
    return np.moveaxis(upright(np.moveaxis(array, places, (0, 1)), orientation), (0, 1), places)


SINGLE = [
    ("shaped", "ZYX", "Z", {}),
    ("shaped", "CZYX", "Z", {}),
    ("shaped", "CZYX", "C", {}),
    ("shaped", "ZCYX", "Z", {}),
    ("shaped", "TZYX", "TZ", {"compression": "zlib"}),
    ("shaped", "ZYXS", "Z", {"tile": (16, 16)}),
    ("shaped", "TZCYX", "TZC", {}),
    ("shaped", "QYX", "Q", {}),
    ("plain", "IYX", "I", {}),
    ("plain", "IYXS", "I", {"compression": "zlib"}),
    ("ome", "ZYX", "Z", {}),
    ("ome", "CZYX", "Z", {"compression": "zlib"}),
    ("ome", "ZCYX", "ZC", {}),
    ("ome", "ZYXS", "Z", {}),
    ("imagej", "ZYX", "Z", {}),
    ("imagej", "TZCYX", "ZC", {}),
    ("shaped", "ZYX", "ZY", {}),
    ("shaped", "ZYX", "X", {}),
    ("ome", "ZYX", "ZY", {}),
]


@pytest.mark.parametrize(("kind", "axes", "single", "named"), SINGLE, ids=["-".join(each[:3]) for each in SINGLE])
def test_axes_of_one_element_keep_their_names(tmp_path: Path, kind: str, axes: str, single: str, named: dict):
    tifffile = judge("tifffile")
    sizes = {"T": 2, "Z": 3, "C": 2, "Y": 32, "X": 48, "S": 3, "Q": 3, "I": 3} | dict.fromkeys(single, 1)
    array = NUMBERS.integers(0, 200, [sizes[axis] for axis in axes]).astype(np.uint8)
    named = named | {"photometric": "rgb" if "S" in axes else "minisblack"}
    if kind == "plain" or axes.startswith("Q"):
        named["metadata"] = None if kind == "plain" else {}
    else:
        named["metadata"] = {"axes": axes, "PhysicalSizeZ": 3} if kind == "ome" else {"axes": axes}
    if kind in ("ome", "imagej"):
        named[kind] = True
    levels = {"levels": 1, "unit": "micrometer"}
    for orientation in range(1, 9):
        tags = [(274, "H", 1, orientation, False)]
        tifffile.imwrite(path := tmp_path / f"{orientation}.tif", array, extratags=tags, **named)
        series = series_of(path)
        whole = upright_along(array, axes, orientation)
        for squeeze in (None, True, False):
            opened = series if squeeze is None else zarr.open_array(series.aszarr(level=0, squeeze=squeeze), mode="r")
            stated = "".join(axis.name for axis in stated_axes(opened))
            assert stated == series.get_axes(squeeze)
            read = rs.LazyArray(opened, rs.Chain())
            kept = [place for place, axis in enumerate(axes) if axis in stated]
            assert all(axes[place] in single for place in range(len(axes)) if place not in kept)
            assert np.array_equal(read[:].squeeze(), whole.squeeze())
            assert read.shape == upright_along(np.empty(opened.shape), stated, orientation).shape
            copy = np.empty(read.shape, np.uint8)
            rs.stream(opened, copy)
            assert np.array_equal(copy, read[:])
            if orientation in (1, 6):
                judge("dask")
                shrunk = rs.dask.pyramid(opened, 1)[0].compute(scheduler="synchronous")
                assert np.array_equal(shrunk, copy)
            if "S" not in stated or "C" not in stated:  # samples are channels, and no image has both
                out = tmp_path / f"{orientation}-{squeeze}.zarr"
                marked = {} if "S" in axes else {"labels": {"cells": opened}}
                names, (level,), places = pyramid(opened, out, **levels, **marked)
                expected_names, expected = in_order(copy, stated)
                assert names == expected_names
                assert np.array_equal(level, expected)
                if marked:
                    assert np.array_equal(written(out / "labels" / "cells")[1][0], expected)
                if kind == "ome" and "z" in names:
                    assert places["z"] == (3, 0, "micrometer")
        if orientation not in (1, 6):
            continue
        out = tmp_path / f"{orientation}.zarr"
        assert main(["pyramid", str(path), str(out), "--levels", "1"]) == 0
        stated = series.axes
        expected_names, expected = in_order(whole.reshape(rs.LazyArray(series, rs.Chain()).shape), stated)
        assert (written(out)[0], written(out)[1][0].tolist()) == (expected_names, expected.tolist())


def test_an_array_that_reads_something_else_than_its_series_is_refused(tmp_path: Path):
    save(path := tmp_path / "image.tif", "ome", "ZYX")
    opened = zarr.open_array(series_of(path).aszarr(level=0), mode="r")

    class Cut:
        store, path, ndim, shape, dtype = opened.store, opened.path, 3, (1, 48, 64), opened.dtype

    with pytest.raises(rs.DescriptorError, match=r"source has the sizes \(1, 48, 64\), and the series of "):
        stated_axes(Cut())


def test_pages_unlike_the_first_are_named(tmp_path: Path, capsys):
    tifffile = judge("tifffile")
    path = tmp_path / "pages.tif"
    with tifffile.TiffWriter(path) as file:
        for orientation in (1, 1, 3):
            tags = [(274, "H", 1, orientation, True)]
            file.write(elements("YX"), photometric="minisblack", metadata=None, extratags=tags)
    refuse(path, f"page 2 of {path} has the orientation 3, and the first page of its series has 1", capsys)
    for kind, named in (("ome", {"tile": (16, 16)}), ("ome", {}), ("shaped", {"compression": "zlib"}), ("imagej", {})):
        save(path, kind, "ZYX", **named)
        with tifffile.TiffFile(path, mode="r+b") as file:
            if len(file.pages) == 1:
                continue
            file.pages[1].aspage().tags[262].overwrite(0)
        refuse(path, "page 1 of", capsys)
        refuse(path, "interpretation MINISWHITE, and the first page of its series has MINISBLACK", capsys)


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


HAS_ZSTD = pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python has zstd of its own")


@pytest.mark.parametrize("compression", ["lzw", pytest.param("zstd", marks=HAS_ZSTD)])
def test_a_missing_codec_is_named_before_anything_is_written(tmp_path: Path, compression: str):
    save(tmp_path / "image.tif", "ome", "ZYX", compression=compression)
    program = (
        "import sys; sys.modules['imagecodecs'] = None; from restride.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-W", "ignore", "-c", program, "pyramid", "image.tif", "out.zarr", "--levels", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = captured(command, cwd=tmp_path, env=environment)
    assert done.returncode == 2
    assert "image.tif cannot be read: " in done.stderr
    assert ": pip install '.[codecs]'" in done.stderr
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
