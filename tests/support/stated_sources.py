"""Sources of streams that state axes and sizes: files that tests write, and pyramids that they read back."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.judges import judge

import restride as rs
from restride.cli import main

zarr = judge("zarr", "3")
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


OPENED: list[Any] = []


def tiff(path: Path) -> Any:
    """An open file, which is closed at the end of the test."""
    OPENED.append(judge("tifffile").TiffFile(path))
    return OPENED[-1]


def series_of(path: Path) -> Any:
    return tiff(path).series[0]


def pyramid(source: Any, path: Path, levels: int = 2, **named: Any) -> tuple[str, list[np.ndarray], dict[str, tuple]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        rs.ome.pyramid(source, path, levels, **named)
    return written(path)


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


def refuse(source: Path, message: str, capsys, *words: str) -> None:
    out = source.parent / "refused.zarr"
    assert main(["pyramid", str(source), str(out), "--levels", "2", *words]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
    assert not out.exists()


@pytest.fixture(autouse=True)
def _closes() -> Iterator[None]:
    """Close the files that ``tiff`` opened."""
    yield
    while OPENED:
        OPENED.pop().close()
