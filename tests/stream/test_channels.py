"""Channels keep names and colours on the way to OME-Zarr; the judge is what was written, and ome-zarr-models."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.judges import judge
from support.stated_sources import _closes, elements, series_of, tiff, zarr

import restride as rs
from restride.stream.channels import Channel, stated_channels

FIXTURES = (_closes,)

pytestmark = pytest.mark.filterwarnings("ignore")

NAMES = ("DAPI", "GFP µ")
COLORS = {"DAPI": (-16776961, "FF0000"), "GFP µ": (16711935, "00FF00")}
"""OME's integers, red, green, blue and alpha from the top bit: 0xFF0000FF is -16776961."""


def ome_tiff(path: Path, axes: str = "CYX", *, color: bool = True, named: bool = True, **metadata: Any) -> np.ndarray:
    array = elements(axes)
    channel = {"Name": list(NAMES)} if named else {}
    if color:
        channel["Color"] = [COLORS[name][0] for name in NAMES]
    stated = {"axes": axes, "Channel": channel, **metadata}
    judge("tifffile").imwrite(path, array, photometric="minisblack", metadata=stated)
    return array


def omero(source: Any, path: Path, **named: Any) -> list[dict[str, Any]] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        rs.ome.pyramid(source, path, 2, **named)
    stated = zarr.open_group(path, mode="r").attrs["ome"]
    if "omero" in stated:
        judge("ome_zarr_models")
        from ome_zarr_models.v04.omero import Omero

        checked = Omero(**stated["omero"])
        assert len(checked.channels) == len(stated["omero"]["channels"])
    return stated.get("omero", {}).get("channels")


def of(channels: list[dict[str, Any]] | None) -> list[tuple[str | None, str]]:
    return [(channel.get("label"), channel["color"]) for channel in channels or ()]


BOTH = [(name, COLORS[name][1]) for name in NAMES]


@pytest.mark.parametrize("axes", ["CYX", "ZCYX", "TCZYX"])
def test_channels_of_ome_tiff(tmp_path: Path, axes: str):
    array = ome_tiff(tmp_path / "a.ome.tif", axes)
    channels = omero(series_of(tmp_path / "a.ome.tif"), tmp_path / "a.zarr")
    assert of(channels) == BOTH
    smallest = zarr.open_group(tmp_path / "a.zarr", mode="r")["1"][:]
    place = "TCZYX".replace("C", "c") and [axis for axis in "TCZYX" if axis in axes].index("C")
    for number, channel in enumerate(channels):
        seen = smallest.take(number, place)
        assert channel["window"] == {"min": 0, "max": 255, "start": seen.min(), "end": seen.max()}
        assert channel["active"] is True
    assert array.shape[axes.index("C")] == 2
    opened = zarr.open_array(series_of(tmp_path / "a.ome.tif").aszarr(level=0), mode="r")
    assert of(omero(opened, tmp_path / "zarr.zarr")) == BOTH
    for name, version in (("a.zarr", 3),):  # and from OME-Zarr on
        again = omero(zarr.open_group(tmp_path / name, mode="r", zarr_format=version)["0"], tmp_path / "again.zarr")
        assert of(again) == BOTH


def test_channels_of_which_a_part_is_stated(tmp_path: Path):
    ome_tiff(tmp_path / "named.ome.tif", color=False)
    assert of(omero(series_of(tmp_path / "named.ome.tif"), tmp_path / "n.zarr")) == [(n, "FFFFFF") for n in NAMES]
    ome_tiff(tmp_path / "colors.ome.tif", named=False)
    found = of(omero(series_of(tmp_path / "colors.ome.tif"), tmp_path / "c.zarr"))
    assert found == [(None, COLORS[name][1]) for name in NAMES]
    ome_tiff(tmp_path / "none.ome.tif", named=False, color=False)
    assert omero(series_of(tmp_path / "none.ome.tif"), tmp_path / "x.zarr") is None
    assert omero(elements("CYX"), tmp_path / "plain.zarr", axes="cyx") is None


def test_an_image_without_an_axis_of_channels_is_one(tmp_path: Path):
    metadata = {"axes": "YX", "Channel": {"Name": "DAPI", "Color": COLORS["DAPI"][0]}}
    judge("tifffile").imwrite(tmp_path / "a.ome.tif", elements("YX"), metadata=metadata)
    assert of(omero(series_of(tmp_path / "a.ome.tif"), tmp_path / "a.zarr")) == BOTH[:1]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ((slice(1, 2),), BOTH[1:]),
        ((slice(None, None, -1),), BOTH[::-1]),
        ((slice(None), slice(0, 9)), BOTH),
        ((1,), []),
    ],
)
def test_channels_follow_a_chain(tmp_path: Path, key: tuple, expected: list):
    ome_tiff(tmp_path / "a.ome.tif")
    lazy = rs.LazyArray(series_of(tmp_path / "a.ome.tif"), rs.Chain()[key])
    assert of(omero(lazy, tmp_path / "a.zarr")) == expected
    turned = rs.LazyArray(series_of(tmp_path / "a.ome.tif"), rs.Chain().reorder("CYX->YXC")[..., ::-1])
    assert of(omero(turned, tmp_path / "turned.zarr")) == BOTH[::-1]
    blended = rs.LazyArray(series_of(tmp_path / "a.ome.tif"), rs.Chain().resample((1,), axes=(0,), mode="area"))
    assert omero(blended, tmp_path / "blended.zarr") is None


def test_channels_of_imagej(tmp_path: Path):
    ramp = np.arange(256, dtype=np.uint8)
    tables = [np.stack([ramp, ramp * 0, ramp * 0]), np.stack([ramp * 0, ramp, ramp // 2])]
    metadata = {"axes": "CYX", "LUTs": tables, "Labels": list(NAMES), "mode": "composite"}
    judge("tifffile").imwrite(tmp_path / "a.tif", elements("CYX"), imagej=True, metadata=metadata)
    found = of(omero(series_of(tmp_path / "a.tif"), tmp_path / "a.zarr"))
    assert found == [("DAPI", "FF0000"), (NAMES[1], "00FF7F")]
    metadata |= {"axes": "ZCYX", "Labels": [f"slice {place}" for place in range(6)]}
    judge("tifffile").imwrite(tmp_path / "b.tif", elements("ZCYX"), imagej=True, metadata=metadata)
    found = of(omero(series_of(tmp_path / "b.tif"), tmp_path / "b.zarr"))
    assert found == [(None, "FF0000"), (None, "00FF7F")]


def test_channels_of_ome_zarr_04_and_xarray(tmp_path: Path):
    group = zarr.open_group(tmp_path / "in.zarr", mode="w", zarr_format=2)
    group.create_array("0", data=elements("CYX"))
    axes = [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    group.attrs["multiscales"] = [{"version": "0.4", "axes": axes, "datasets": [{"path": "0"}]}]
    group.attrs["omero"] = {"channels": [{"label": name, "color": COLORS[name][1].lower()} for name in NAMES]}
    assert of(omero(group["0"], tmp_path / "a.zarr")) == BOTH
    group.attrs["omero"] = {"channels": [{"label": "x", "color": "red"}] * 2}
    with pytest.raises(rs.DescriptorError, match=r"the channels \(omero\) in the metadata of .* are damaged .*'red'"):
        rs.ome.pyramid(group["0"], tmp_path / "b.zarr", 2)
    xr = judge("xarray")
    array = xr.DataArray(elements("CYX"), dims=("channel", "y", "x"), coords={"channel": list(NAMES)})
    assert of(omero(array, tmp_path / "x.zarr")) == [(name, "FFFFFF") for name in NAMES]


def test_a_colour_that_is_none_is_named(tmp_path: Path):
    ome_tiff(path := tmp_path / "a.ome.tif")
    text = judge("tifffile").tiffcomment(path)
    for color, said in (("red", "invalid literal for int"), (str(1 << 40), "has more than 32 bits")):
        judge("tifffile").tiffcomment(path, re.sub('Color="[^"]*"', f'Color="{color}"', text, count=1).encode())
        with pytest.raises(rs.DescriptorError, match=f"the channels in the metadata of .* are damaged .*{said}"):
            rs.ome.pyramid(tiff(path).series[0], tmp_path / "b.zarr", 2)


def test_other_numbers_of_channels_are_none(tmp_path: Path):
    ome_tiff(tmp_path / "a.ome.tif")
    series = series_of(tmp_path / "a.ome.tif")
    assert stated_channels(series, 0, 2) == tuple(Channel(*each) for each in BOTH)
    assert stated_channels(series, 0, 3) == stated_channels(series, 1, 2) == ()


@pytest.mark.parametrize("text", ["0.108", "0.65", "1e-3", "0.1", "1.3"])
def test_a_decimal_stays_the_decimal_that_was_written(tmp_path: Path, text: str):
    sizes = {"PhysicalSizeX": float(text), "PhysicalSizeY": float(text)}
    array = np.zeros((47, 49), np.uint8)
    judge("tifffile").imwrite(tmp_path / "a.ome.tif", array, metadata={"axes": "YX", **sizes})
    rs.ome.pyramid(series_of(tmp_path / "a.ome.tif"), tmp_path / "a.zarr", 3, factor=1 / 3)
    rs.ome.pyramid(zarr.open_group(tmp_path / "a.zarr", mode="r")["0"], tmp_path / "b.zarr", 3, factor=1 / 3)
    rs.ome.pyramid(array, tmp_path / "c.zarr", 3, factor=1 / 3, pixel_sizes=(float(text),) * 2)
    for name in ("a", "b", "c"):
        image = zarr.open_group(tmp_path / f"{name}.zarr", mode="r").attrs["ome"]["multiscales"][0]
        scale = image["datasets"][0]["coordinateTransformations"][0]["scale"]
        assert scale == [float(text)] * 2


def test_a_decimal_times_a_whole_factor_is_a_decimal(tmp_path: Path):
    metadata = {"axes": "YX", "PhysicalSizeX": 0.108, "PhysicalSizeY": 0.108}
    judge("tifffile").imwrite(tmp_path / "a.ome.tif", np.zeros((48, 48), np.uint8), metadata=metadata)
    for levels, factor, expected in ((3, 0.5, [0.108, 0.216, 0.432]), (2, 1 / 3, [0.108, 0.324])):
        rs.ome.pyramid(series_of(tmp_path / "a.ome.tif"), path := tmp_path / f"{levels}.zarr", levels, factor=factor)
        each = zarr.open_group(path, mode="r").attrs["ome"]["multiscales"][0]["datasets"]
        assert [level["coordinateTransformations"][0]["scale"][1] for level in each] == expected


def test_decimals_of_two_transformations_are_multiplied_as_decimals(tmp_path: Path):
    group = zarr.open_group(tmp_path / "in.zarr", mode="w", zarr_format=2)
    group.create_array("0", data=elements("YX"))
    scales = [[{"type": "scale", "scale": [number, number]}] for number in (0.1, 3)]  # 0.30000000000000004 in binary
    level = {"path": "0", "coordinateTransformations": scales[0]}
    axes = [{"name": name, "type": "space"} for name in "yx"]
    group.attrs["multiscales"] = [{"axes": axes, "datasets": [level], "coordinateTransformations": scales[1]}]
    rs.ome.pyramid(group["0"], tmp_path / "a.zarr", 1)
    image = zarr.open_group(tmp_path / "a.zarr", mode="r").attrs["ome"]["multiscales"][0]
    assert image["datasets"][0]["coordinateTransformations"][0]["scale"] == [0.3, 0.3]
