"""Axes, units, pixel sizes and origin are those that a source states; what it cannot state is refused, nothing written.

Judges: tifffile and Pillow read the elements of the TIFF files, ngff-zarr and xarray write Zarr with names.
"""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.judges import judge
from support.stated_sources import NUMBERS, _closes, elements, in_order, pyramid, refuse, save, series_of, written, zarr

import restride as rs
from restride.cli import main
from restride.stream.axes import SourceAxis, stated_axes

FIXTURES = (_closes,)


pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"
)


# TIFF.


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


# What is missing or damaged.


# Names.


def zarr_array(path: Path, names: Any, zarr_format: int = 3) -> Any:
    sizes = [
        3 if str(name).lower() in ("c", "s", "band", "none", "wavelength", "wave", "time", "channel") else 48
        for name in names
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
    ("wave", "y", "x"): r"axis 0 is 'wave', which is none of t, c, z, y, x or their long names: .* axes='zyx'",
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


def test_channels_without_names_are_refused(tmp_path: Path, capsys):
    photo = elements("YXS")
    message = "the last axis of source looks like channels, and no axes are named: say "
    with pytest.raises(rs.DescriptorError, match=f"{message}axes='yxc', or axes='zyx' if it is not, for "):
        rs.ome.pyramid(photo, tmp_path / "one.zarr", 2)
    np.save(tmp_path / "photo.npy", photo)
    assert main(["pyramid", str(tmp_path / "photo.npy"), str(tmp_path / "two.zarr"), "--levels", "2"]) == 2
    assert f"restride: {message}--axes yxc, or --axes zyx if it is not, for " in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"photo.npy"}
    judge("dask")
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
    assert stated_axes(tensorstore.open(spec).result()) == (SourceAxis("c"), SourceAxis("y"), SourceAxis("x"))
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
        coords={"y": ("y", 10 + 2.0 * np.arange(48), {"units": "um"}), "x": ("x", np.arange(64) / 2, {"units": "um"})},
    )
    y, x = (2, 10, "micrometer"), (0.5, 0, "micrometer")
    whole = rs.Chain()
    keeping = (whole, whole.reorder("CYX->XYC"), whole[0].reorder(dtype="f32"), whole[:, :40], whole[:, None])
    for count, chain in enumerate(keeping):
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
    with pytest.raises(rs.DescriptorError, match="labels 'cells' must have the axes 'yx', and state 'x', 'y'"):
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
    assert SourceAxis("x", unit).known_unit == UNITS[unit]
    assert SourceAxis("t", "sec").known_unit == SourceAxis("t", "s").known_unit == "second"
    assert SourceAxis("c", "um").known_unit is None


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
