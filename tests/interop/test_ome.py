"""OME-Zarr: a level has the bits of one call and lies where its metadata say; other libraries validate and open it."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.judges import judge

import restride as rs
from restride.cli import main
from restride.stream.ends import Destination

zarr = judge("zarr", "3")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")

NUMBERS = np.random.default_rng(11)
IMAGE = NUMBERS.integers(0, 4096, (2, 5, 45, 70)).astype(np.uint16)
CELLS = NUMBERS.integers(0, 70_000, IMAGE.shape[1:]).astype(np.uint32)


def levels_of(path: Path, folder: str = "") -> list[np.ndarray]:
    """The arrays that the metadata name."""
    group = zarr.open_group(path / folder, mode="r")
    return [group[level["path"]][:] for level in group.attrs["ome"]["multiscales"][0]["datasets"]]


def transforms(path: Path, folder: str = "") -> list[tuple[list[float], list[float]]]:
    levels = zarr.open_group(path / folder, mode="r").attrs["ome"]["multiscales"][0]["datasets"]
    both = [level["coordinateTransformations"] for level in levels]
    assert [[each["type"] for each in pair] for pair in both] == [["scale", "translation"]] * len(levels)
    return [(scale["scale"], translation["translation"]) for scale, translation in both]


WAYS = {
    "default": ({}, {"mode": "area_weighted"}, (5, 5, 5)),
    "area": ({"mode": "area"}, {"mode": "area"}, (5, 5, 5)),
    "linear": ({"mode": "linear", "antialias": True}, {"mode": "linear", "antialias": True}, (5, 5, 5)),
    "nearest": ({"mode": "nearest"}, {"mode": "nearest"}, (5, 5, 5)),
    "pillow": ({"like": "pillow", "mode": "lanczos"}, {"like": "pillow", "mode": "lanczos"}, (5, 5, 5)),
    "opencv": ({"like": "opencv", "mode": "area"}, {"like": "opencv", "mode": "area"}, (5, 5, 5)),
    "z": ({"z_factor": 0.5}, {"mode": "area_weighted"}, (5, 2, 1)),
    "shards": ({"chunks": (1, 2, 16, 16), "shards": (1, 4, 64, 32)}, {"mode": "area_weighted"}, (5, 5, 5)),
}


@pytest.mark.parametrize("from_source", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_every_level_is_one_call(tmp_path: Path, way: str, from_source: bool):
    named, rules, depths = WAYS[way]
    path = tmp_path / "image.ome.zarr"
    named = {"chunks": (1, 5, 64, 64), **named}
    rs.ome.pyramid(IMAGE, path, 3, labels={"cells": CELLS}, from_source=from_source, **named)
    for source, folder, rule in ((IMAGE, "", rules), (CELLS, "labels/cells", {"mode": "nearest"})):
        first = before = source
        levels = levels_of(path, folder)
        assert np.array_equal(levels[0], first)
        for level, depth, rows, columns in zip(levels[1:], depths[1:], (22, 11), (35, 17), strict=True):
            axes, sizes = ((-3, -2, -1), (depth, rows, columns)) if way == "z" else ((-2, -1), (rows, columns))
            from_first = from_source or rule == {"mode": "nearest"}  # which would drift
            before = rs.resample(first if from_first else before, sizes, axes=axes, **rule).numpy()
            assert level.dtype == before.dtype
            assert level.tobytes() == before.tobytes()
    assert not (path / ".restride").exists()


@pytest.mark.parametrize("axes", ["tzyx", "TZYX", ("t", "z", "y", "x"), ["time", "depth", "height", "Width"]])
def test_axes_are_named_as_sources_state_them(tmp_path: Path, axes):
    rs.ome.pyramid(IMAGE, tmp_path / "image.zarr", 2, axes=axes)
    stated = zarr.open_group(tmp_path / "image.zarr", mode="r").attrs["ome"]["multiscales"][0]["axes"]
    assert "".join(axis["name"] for axis in stated) == "tzyx"
    rs.ome.pyramid(IMAGE[0], tmp_path / "samples.zarr", 2, axes="yxs" if isinstance(axes, str) else ("y", "x", "S"))
    assert levels_of(tmp_path / "samples.zarr")[0].shape == (70, 5, 45)
    for wrong in (("row", "y", "x"), "yyx", "czs", 3, ("y", "x", None)):
        with pytest.raises(rs.DescriptorError, match=r"axes must be y, x and others of .*, got "):
            rs.ome.pyramid(IMAGE[0], tmp_path / "wrong.zarr", 2, axes=wrong)


@pytest.mark.parametrize("dtype", ["f8", "bool", "i8", "u8"])
def test_types_that_are_not_interpolated_are_refused_with_the_way_to_convert(tmp_path: Path, dtype: str, capsys):
    image = IMAGE[0].astype(dtype)
    with pytest.raises(
        rs.UnsupportedError, match=r'pass rs\.LazyArray\(source, rs\.Chain\(\)\.reorder\(dtype="f32"\)\)'
    ):
        rs.ome.pyramid(image, tmp_path / "image.zarr", 2)
    np.save(tmp_path / "image.npy", image)
    assert main(["pyramid", str(tmp_path / "image.npy"), str(tmp_path / "image.zarr")]) == 2
    assert "are: convert them first, or say --mode nearest, which takes every type" in capsys.readouterr().err
    assert not (tmp_path / "image.zarr").exists()
    rs.ome.pyramid(image, tmp_path / "nearest.zarr", 2, mode="nearest")
    rs.ome.pyramid(image, tmp_path / "one.zarr", 1)
    rs.ome.pyramid(rs.LazyArray(image, rs.Chain().reorder(dtype="f32")), tmp_path / "image.zarr", 2)


def test_a_level_of_the_one_before_is_rounded_twice(tmp_path: Path):
    """What the page says of ``from_source``: means of rounded means."""
    x = np.array([[2, 3, 3, 3, 0, 0, 0, 0]], np.uint8).repeat(8, 0)
    twice = rs.resample(rs.resample(x, (4, 4), mode="area"), (2, 2), mode="area").numpy()
    assert not np.array_equal(twice, rs.resample(x, (2, 2), mode="area").numpy())
    for from_source, expected in ((False, twice), (True, rs.resample(x, (2, 2), mode="area").numpy())):
        path = tmp_path / f"{from_source}.zarr"
        rs.ome.pyramid(x, path, 3, from_source=from_source)
        assert np.array_equal(levels_of(path)[2], expected)


@pytest.mark.parametrize("from_source", [False, True])
@pytest.mark.parametrize(
    "rules",
    [
        {"mode": "area"},
        {"mode": "area_weighted"},
        {"mode": "nearest"},
        {"mode": "nearest", "nearest": "round_prefer_floor"},
        {"mode": "nearest", "coordinates": "tf_half_pixel_for_nn", "nearest": "floor"},
        {"mode": "linear"},
        {"mode": "cubic", "antialias": True},
        {"mode": "linear", "coordinates": "align_corners"},
        {"mode": "linear", "coordinates": "asymmetric"},
        {"mode": "linear", "coordinates": "tf_half_pixel_for_nn"},
        {"mode": "nearest", "coordinates": "asymmetric", "nearest": "floor"},
        {"like": "pillow", "mode": "bilinear"},
        {"like": "opencv", "mode": "area"},
        {"like": "opencv", "mode": "linear"},
        {"like": "opencv", "mode": "nearest"},
        {"like": "torch", "mode": "nearest"},
        {"like": "torch", "mode": "bicubic", "antialias": True},
        {"like": "tensorflow", "mode": "nearest"},
        {"like": "scikit-image", "mode": "bilinear"},
    ],
    ids=str,
)
def test_elements_lie_where_the_metadata_say(tmp_path: Path, rules: dict, from_source: bool):
    """A ramp has its own position at every place, and a level of it the positions of that level."""
    ramp = 3 + 0.5 * np.arange(64, dtype=np.float32) * np.ones((48, 1), np.float32)
    path = tmp_path / "ramp.zarr"
    rs.ome.pyramid(ramp, path, 3, from_source=from_source, pixel_sizes=(2, 0.5), **rules)
    for level, (scale, translation) in zip(levels_of(path), transforms(path), strict=True):
        positions = translation[1] + scale[1] * np.arange(level.shape[1])
        inside = slice(3, -3)  # filters are cut at the ends
        np.testing.assert_allclose(level[0, inside] - 3, positions[inside], atol=1e-4)


LEVELS = {
    "default": {},
    "area": {"mode": "area"},
    "linear": {"mode": "linear", "antialias": True},
    "cubic": {"mode": "cubic", "antialias": True},
    "pillow": {"like": "pillow"},
    "opencv": {"like": "opencv", "mode": "area"},
    "nearest": {"mode": "nearest"},
    "floor": {"mode": "nearest", "nearest": "floor"},
    "ceil": {"mode": "nearest", "nearest": "ceil"},
    "torch": {"like": "torch", "mode": "nearest"},
    "opencv nearest": {"like": "opencv", "mode": "nearest"},
    "tensorflow": {"like": "tensorflow", "mode": "nearest"},
}


@pytest.mark.parametrize("from_source", [False, True])
@pytest.mark.parametrize("name", LEVELS)
def test_levels_of_any_sizes_lie_where_the_metadata_say(tmp_path: Path, name: str, from_source: bool):
    """A blob has its centroid at half an element of level 0 or less from what every level of image and labels says.

    The blob spans several elements of the last level: one of fewer has its centroid where these happen to lie.
    """
    numbers = np.random.default_rng([7, *name.encode()])
    for turn in range(4):
        width, factor = int(numbers.integers(70, 400)), (0.5, 0.5, 0.4, 0.7)[turn]
        levels = 4 if factor == 0.5 else 3
        centre, spread = width * numbers.uniform(0.45, 0.55), width / 9
        ramp = np.arange(width)
        blob = np.exp(-(((ramp - centre) / spread) ** 2) / 2) * np.ones((48, 1))
        image, labels = blob.astype(np.float32), np.rint(blob * 60_000).astype(np.uint16)
        path = tmp_path / f"{turn}.zarr"
        rs.ome.pyramid(
            image, path, levels, labels={"cells": labels}, factor=factor, from_source=from_source, **LEVELS[name]
        )
        for folder in ("", "labels/cells"):
            true = float((ramp * blob[0]).sum() / blob[0].sum())
            for level, (scale, translation) in zip(levels_of(path, folder), transforms(path, folder), strict=True):
                row = level[level.shape[0] // 2].astype(np.float64)
                positions = translation[1] + scale[1] * np.arange(len(row))
                found = float((positions * row).sum() / row.sum())
                assert abs(found - true) <= 0.5, (folder, width, factor, level.shape)


def test_levels_of_labels_do_not_drift(tmp_path: Path):
    """By a factor of two every place is a tie; decided alike from level to level, element 0 would show element 15."""
    x = np.tile(np.arange(64, dtype=np.uint16), (64, 1))
    path = tmp_path / "l.ome.zarr"
    rs.ome.pyramid(x.astype(np.float32), path, 5, labels={"a": x})
    for folder in ("", "labels/a"):
        for level, (scale, translation) in zip(levels_of(path, folder), transforms(path, folder), strict=True):
            assert np.array_equal(level[0], translation[1] + scale[1] * np.arange(level.shape[1]))
    assert [translation[1] for _, translation in transforms(path)] == [0, 0.5, 1.5, 3.5, 7.5]
    assert [translation[1] for _, translation in transforms(path, "labels/a")] == [0, 1, 2, 4, 8]
    rs.ome.pyramid(x, tmp_path / "n.zarr", 5, mode="nearest")
    assert levels_of(tmp_path / "n.zarr")[4][0].tolist() == [8, 24, 40, 56]


def test_area_lies_where_it_averages(tmp_path: Path):
    """5 -> 2 has the means of elements 0 to 2 and 2 to 4; 1001 -> 500 those of 2 o to 2 o + 2."""
    ramp = np.arange(1001, dtype=np.float32) * np.ones((5, 1), np.float32)
    rs.ome.pyramid(ramp, tmp_path / "a.zarr", 2, mode="area")
    (_, image), (_, (scale, translation)) = levels_of(tmp_path / "a.zarr"), transforms(tmp_path / "a.zarr")
    assert (scale, translation) == ([2, 2], [1, 1])
    np.testing.assert_allclose(image[0], 1 + 2 * np.arange(500), rtol=1e-6)


def test_one_row_more_hardly_blurs(tmp_path: Path):
    """An even size has half of the noise, and one element more 5/12; means of 3 x 3 elements would have a third."""
    noise = np.random.default_rng(0).standard_normal((1001, 201)).astype(np.float32)
    rs.ome.pyramid(noise, tmp_path / "odd.zarr", 2)
    assert levels_of(tmp_path / "odd.zarr")[1].std() == pytest.approx(5 / 12, abs=0.01)


def test_sizes_that_do_not_divide_stretch_the_pixels(tmp_path: Path):
    """5 -> 2: output o is the mean of 2.5 pixels around 2.5 o + 3/4; 2 -> 1: all of it, around 2."""
    path = tmp_path / "odd.zarr"
    rs.ome.pyramid(np.zeros((5, 4), np.uint8), path, 3, pixel_sizes=np.array([0.2, 1]))
    assert transforms(path) == [([0.2, 1], [0, 0]), ([0.5, 2], [0.15, 0.5]), ([1, 4], [0.4, 1.5])]


def test_what_the_group_says(tmp_path: Path):
    path = tmp_path / "two.channels.ome.zarr"
    yxc = IMAGE[:, 0].transpose(1, 2, 0)
    nuclei = CELLS[0]
    named = {"axes": "yxc", "pixel_sizes": (0.1, 0.2, 1), "unit": "micrometer", "chunks": (32, 40, 1)}
    done = rs.ome.pyramid(yxc, path, 2, labels={"nuclei": nuclei}, **named)
    assert list(done) == ["0", "1", "labels/nuclei/0", "labels/nuclei/1"]
    group = zarr.open_group(path, mode="r")
    assert np.array_equal(group["0"][:], IMAGE[:, 0])
    assert group["0"].metadata.dimension_names == ("c", "y", "x")
    assert [group[level].chunks for level in "01"] == [(1, 32, 40), (1, 22, 35)]
    space = {"type": "space", "unit": "micrometer"}
    assert group.attrs["ome"] == {
        "version": "0.5",
        "multiscales": [
            {
                "name": "two.channels",
                "axes": [{"name": "c", "type": "channel"}, {"name": "y", **space}, {"name": "x", **space}],
                "datasets": [
                    {
                        "path": "0",
                        "coordinateTransformations": [
                            {"type": "scale", "scale": [1, 0.1, 0.2]},
                            {"type": "translation", "translation": [0, 0, 0]},
                        ],
                    },
                    {
                        "path": "1",
                        "coordinateTransformations": [
                            {"type": "scale", "scale": [1, 4.5 / 22, 0.4]},
                            {"type": "translation", "translation": [0, 23 / 440, 0.1]},
                        ],
                    },
                ],
                "type": "area_weighted",
                "metadata": {
                    "description": "each level is made from the level before it",
                    "method": "restride.resample",
                    "kwargs": {"mode": "area_weighted"},
                },
            }
        ],
    }
    assert group["labels"].attrs["ome"] == {"version": "0.5", "labels": ["nuclei"]}
    labels = group["labels/nuclei"].attrs["ome"]
    assert labels["image-label"] == {"source": {"image": "../../"}}
    assert [axis["name"] for axis in labels["multiscales"][0]["axes"]] == ["y", "x"]
    assert np.array_equal(levels_of(path, "labels/nuclei")[0], nuclei)


# Judges.


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """t, c, z, y and x, two label images, shards."""
    path = tmp_path_factory.mktemp("ome") / "five.ome.zarr"
    movie = NUMBERS.integers(0, 256, (3, 2, 5, 40, 36)).astype(np.uint8)
    labels = {"cells": movie[:, 0].astype(np.uint16), "nuclei": movie.astype(np.int8)}
    named = {"pixel_sizes": (2, 1, 0.5, 0.1, 0.1), "unit": "micrometer", "time_unit": "second"}
    rs.ome.pyramid(movie, path, 4, labels=labels, chunks=(1, 1, 5, 16, 16), shards=(1, 1, 5, 32, 32), **named)
    return path


def test_ome_zarr_models_validates_it(written: Path):
    judge("ome_zarr_models")
    from ome_zarr_models.v05 import Image
    from ome_zarr_models.v05.image_label import ImageLabel

    image = Image.from_zarr(zarr.open_group(written, mode="r"))
    assert sorted(image.labels.label_paths) == ["cells", "nuclei"]
    assert [axis.unit for axis in image.ome_attributes.multiscales[0].axes] == ["second", None, *["micrometer"] * 3]
    for name in ("cells", "nuclei"):
        label = ImageLabel.from_zarr(zarr.open_group(written / "labels" / name, mode="r"))
        assert label.ome_attributes.image_label.source.image == "../../"


def test_ngff_zarr_opens_it(written: Path):
    ngff_zarr = judge("ngff_zarr")
    opened = ngff_zarr.from_ngff_zarr(str(written), validate=True)
    arrays, places = levels_of(written), transforms(written)
    assert len(opened.images) == 4
    for image, array, (scale, translation) in zip(opened.images, arrays, places, strict=True):
        assert list(image.dims) == list("tczyx")
        assert [image.scale[axis] for axis in "tczyx"] == scale
        assert [image.translation[axis] for axis in "tczyx"] == translation
        assert np.array_equal(np.asarray(image.data), array)


def test_the_reader_of_napari_opens_it(written: Path):
    reader = judge("napari_ome_zarr").napari_get_reader(str(written))
    image, *labels = reader(str(written))
    data, named, kind = image
    assert (kind, named["channel_axis"], named["axis_labels"]) == ("image", 1, ("t", "z", "y", "x"))
    assert named["scale"] == [2, 0.5, 0.1, 0.1]
    assert all(np.array_equal(level, array) for level, array in zip(data, levels_of(written), strict=True))
    assert [layer[2] for layer in labels] == ["labels", "labels"]
    for name, (data, _, _) in zip(("cells", "nuclei"), labels, strict=True):
        assert all(
            np.array_equal(level, array)
            for level, array in zip(data, levels_of(written, f"labels/{name}"), strict=True)
        )


# Interrupted.

KILLED = """
import time
import numpy as np
import restride as rs
from restride.stream import journal
from restride.stream.ends import Destination

write, journal._EVERY = Destination.write, 0.0

def slow(self, window, result):
    write(self, window, result)
    print("written", flush=True)
    time.sleep(0.02)

Destination.write = slow
image, cells = np.load("image.npy", mmap_mode="r"), np.load("cells.npy", mmap_mode="r")
rs.ome.pyramid(image, "out.ome.zarr", 3, labels={"cells": cells})
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "out.ome.zarr"
    rs.ome.pyramid(IMAGE, path, 3, labels={"cells": CELLS})
    return path


@pytest.mark.parametrize("writes", [4, 15, 35])
def test_a_pyramid_that_was_killed_goes_on(tmp_path: Path, whole: Path, writes: int):
    """10 chunks of a level of the image, 5 of one of the labels: in level 0, in level 1, among the labels."""
    np.save(tmp_path / "image.npy", IMAGE)
    np.save(tmp_path / "cells.npy", CELLS)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", KILLED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=tmp_path) as process:
        for _ in range(writes):
            assert "written" in process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    out = tmp_path / "out.ome.zarr"
    assert "ome" not in zarr.open_group(out, mode="r").attrs
    (out / "0" / "c" / "0.0123.partial").write_bytes(b"a file that zarr was writing")
    image, labels = np.load(tmp_path / "image.npy", mmap_mode="r"), {"cells": np.load(tmp_path / "cells.npy", "r")}
    for other in ({"labels": {}}, {"mode": "nearest"}, {"unit": "meter"}, {"chunks": (1, 5, 9, 9)}):
        with pytest.raises(rs.DescriptorError, match=r"other arguments, as .*work\.json says: give these,"):
            rs.ome.pyramid(image, out, 3, **{"labels": labels, **other})
    done = rs.ome.pyramid(image, out, 3, labels=labels, memory="1 MB")
    skipped = [streamed.skipped for streamed in done.values()]
    assert writes - 2 <= sum(skipped) <= writes + 2
    for folder in ("", "labels/cells"):
        assert all(map(np.array_equal, levels_of(out, folder), levels_of(whole, folder)))
    files = [{str(path.relative_to(each)) for path in each.rglob("*")} for each in (out, whole)]
    assert files[0] == files[1]
    with pytest.raises(rs.DescriptorError, match="exists, and is a complete image of OME-Zarr: delete it, or give an"):
        rs.ome.pyramid(image, out, 3, labels=labels)


def test_an_interrupt_says_that_the_same_command_continues(tmp_path: Path, whole: Path, monkeypatch, capsys):
    np.save(tmp_path / "image.npy", IMAGE)
    words = ["pyramid", str(tmp_path / "image.npy"), str(tmp_path / "out.ome.zarr"), "--levels", "3"]
    write, writes = Destination.write, itertools.count()
    errors = {13: KeyboardInterrupt(), 16: OSError(28, "No space left")}  # level 0 has 10 chunks, and so has level 1

    def failing(self, window, result):
        if error := errors.get(next(writes)):
            raise error
        write(self, window, result)

    monkeypatch.setattr(Destination, "write", failing)
    assert main(words) == 130
    said = capsys.readouterr().err
    assert said.endswith("restride: interrupted; the same command or call continues the work\n")
    assert main(words) == 2
    assert capsys.readouterr().err.endswith("No space left; the same command or call continues the work\n")
    assert main(words) == 0
    said = capsys.readouterr().err
    assert re.match(r"level 0 \(of 3\): 63 KB in 10 chunks of \[1, 1, 45, 70\], 10 of them written before\n", said)
    assert re.search(r"\nlevel 1 \(of 3\): 15.4 KB in 10 chunks of .*, \d of them written before\n", said)
    assert re.search(r"\nlevel 2 \(of 3\): 3.74 KB in 10 chunks of \[1, 1, 11, 17\]\n", said)
    assert all(map(np.array_equal, levels_of(tmp_path / "out.ome.zarr"), levels_of(whole)))


def interrupted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin a pyramid at ``path``, and break it off after some chunks."""
    write, writes = Destination.write, itertools.count()

    def failing(self, window, result):
        if next(writes) == 13:
            raise KeyboardInterrupt
        write(self, window, result)

    monkeypatch.setattr(Destination, "write", failing)
    with pytest.raises(KeyboardInterrupt):
        rs.ome.pyramid(IMAGE, path, 3)
    monkeypatch.setattr(Destination, "write", write)


PLACES = (
    ".restride",
    ".restride/work.json",
    ".restride/1",
    "zarr.json",
    "0",
    "0/c",
    "0/c/0",
    "0/zarr.json",
    "1",
    "labels",
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["link", "dangling", "fifo"])
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="links and pipes are of POSIX here")
def test_nothing_is_written_through_a_link(tmp_path: Path, monkeypatch, place: str, kind: str):
    interrupted(out := tmp_path / "out.zarr", monkeypatch)
    elsewhere = tmp_path / "elsewhere"
    if (out / place).exists():
        (out / place).rename(elsewhere)
    else:
        elsewhere.mkdir()
    if kind == "fifo":
        os.mkfifo(out / place)
    else:
        (out / place).symlink_to(elsewhere if kind == "link" else tmp_path / "nowhere")
    before = {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")}
    with pytest.raises(
        (rs.DescriptorError, FileExistsError) if place == ".restride" else rs.DescriptorError,
        match=r"is a link|is no regular file|no interrupted pyramid|File exists",
    ):
        rs.ome.pyramid(IMAGE, out, 3)
    assert {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_journal_with_a_second_name_is_not_written(tmp_path: Path, monkeypatch):
    interrupted(out := tmp_path / "out.zarr", monkeypatch)
    (tmp_path / "journal").hardlink_to(out / ".restride" / "1")
    with pytest.raises(rs.DescriptorError, match=r"\.restride/1 in it is a hard link: delete it, or give another"):
        rs.ome.pyramid(IMAGE, out, 3)


def test_an_empty_folder_is_filled_through_a_link_and_one_with_a_planted_state_is_not(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out.zarr").symlink_to(tmp_path / "real")
    rs.ome.pyramid(IMAGE, tmp_path / "out.zarr", 2)
    assert (tmp_path / "real" / "zarr.json").is_file()
    (tmp_path / "new.zarr" / ".restride").mkdir(parents=True)
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / "new.zarr" / ".restride" / "work.json").symlink_to(tmp_path / "mine2")
    (tmp_path / "new.zarr" / ".restride" / "0").symlink_to(tmp_path / "mine")
    with pytest.raises(rs.DescriptorError, match="in it is a link"):
        rs.ome.pyramid(IMAGE, tmp_path / "new.zarr", 2)
    assert not (tmp_path / "mine2").exists()
    assert (tmp_path / "mine").read_bytes() == b"mine"


def test_what_exists_is_left_alone(tmp_path: Path):
    (tmp_path / "file.zarr").write_bytes(b"mine")
    (tmp_path / "folder.zarr").mkdir()
    (tmp_path / "folder.zarr" / "mine").write_bytes(b"mine")
    (tmp_path / "link.zarr").symlink_to(tmp_path / "nowhere")
    (tmp_path / "json.zarr").mkdir()
    (tmp_path / "json.zarr" / "zarr.json").write_text("[]")
    for name in ("file", "folder", "link", "json"):
        with pytest.raises(rs.DescriptorError, match=rf"path '.*{name}\.zarr' exists, and is no interrupted pyramid"):
            rs.ome.pyramid(IMAGE, tmp_path / f"{name}.zarr")
    names = ["file.zarr", "folder.zarr", "json.zarr", "link.zarr", "mine", "zarr.json"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == names


# What is refused.

REFUSED = {
    r"level 6 has no elements: levels must be at most 6, for u16\[2,5,45,70\]": {"levels": 7},
    r"source must have 2 to 5 axes, got 1, for u16\[70\]": {"source": IMAGE[0, 0, 0]},
    r"levels must be 1 or more, got 0": {"levels": 0},
    r"axes must be y, x and others of 'tczyx', each once, got 'czyq' for 4 axes": {"axes": "czyq"},
    r"axes must be .*, each once, got 'yyyx'": {"axes": "yyyx"},
    r"axes 'zyx' must be as many as the 4 axes": {"axes": "zyx"},
    r"factor must be above 0 and below 1, got 1$": {"factor": 1},
    r"z_factor must be above 0 and at most 1, got 2": {"z_factor": 2},
    r"pixel_sizes must be one number for each of the axes 'czyx', got \(1, 1\)": {"pixel_sizes": (1, 1)},
    r"pixel_sizes must be a sequence of numbers, got 2": {"pixel_sizes": 2},
    r"pixel_sizes must be one number for each of the axes 'czyx', got \(\)": {"pixel_sizes": ()},
    r"labels must be arrays by their names, got list": {"labels": [CELLS]},
    r"pixel_sizes must be above 0": {"pixel_sizes": (1, 1, 0, 1)},
    r"unit must be one of meter, .*, got 'um'": {"unit": "um"},
    r"time_unit must be one of second, .*, got 'meter'": {"time_unit": "meter"},
    r"chunks must be one number for each of the axes": {"chunks": (64, 64)},
    r"chunks must be 1 or more along each axis, got \(1, 0, 8, 8\)": {"chunks": (1, 0, 8, 8)},
    r"shards must be multiples of chunks, 1 or more: along axis x shards has 12, chunks has 8": {
        "chunks": (1, 1, 8, 8),
        "shards": (1, 1, 8, 12),
    },
    r"mode 'box' is not one of": {"mode": "box"},
    r"antialias True goes with mode 'linear' or 'cubic', not 'area_weighted'": {"antialias": True},
    r"like 'pillow' resizes two axes, not 3": {"like": "pillow", "z_factor": 0.5, "levels": 2},
    r"labels must have names of letters, .*, got '../x'": {"labels": {"../x": CELLS}},
    r"labels 'a' must be integers of the sizes \(5, 45, 70\) of axes 'zyx', got u8\[5,45\]": {
        "labels": {"a": np.zeros((5, 45), np.uint8)}
    },
    r"labels 'a' must be integers .*, got f32": {"labels": {"a": CELLS.astype(np.float32)}},
    r"factor must be finite, got nan": {"factor": float("nan")},
    r"memory of 10 bytes is too little": {"memory": 10},
    r"memory of 10000 bytes is too little for the chunk .*: it has 14000 bytes": {  # enough for the image
        "memory": 10_000,
        "chunks": (1, 5, 20, 35),
        "labels": {"cells": CELLS},
    },
    r"devices must be a list of one or more": {"devices": []},
}


def test_a_rule_that_a_pyramid_does_not_take_is_refused(tmp_path: Path):
    with pytest.raises(TypeError, match=r"pyramid\(\) got an unexpected keyword argument 'dtype'"):
        rs.ome.pyramid(IMAGE, tmp_path / "x.zarr", dtype="f32")


@pytest.mark.parametrize("message", REFUSED)
def test_what_does_not_fit_is_refused(tmp_path: Path, message: str):
    with pytest.raises((rs.DescriptorError, rs.UnsupportedError), match=message):
        rs.ome.pyramid(**{"source": IMAGE, "path": tmp_path / "x.zarr", **REFUSED[message]})
    assert not (tmp_path / "x.zarr").exists()


def test_devices_may_come_from_an_iterator(tmp_path: Path):
    rs.ome.pyramid(IMAGE[0, 0], tmp_path / "x.zarr", 2, devices=iter([rs.default_device()]))
    assert np.array_equal(levels_of(tmp_path / "x.zarr")[0], IMAGE[0, 0])


def test_the_device_of_a_lazy_array_has_to_have_room(tmp_path: Path):
    image = np.random.default_rng(5).random((600, 600), np.float32)
    with rs.Device(runtime="vulkan", memory_limit=1 << 16) as device:
        lazy = rs.LazyArray(image, rs.Chain().resample((1, 1), mode="area"), device=device)
        with pytest.raises(rs.DescriptorError, match="with 65536 on the device, is too little"):
            rs.ome.pyramid(lazy, tmp_path / "x.zarr", 1)
    assert not (tmp_path / "x.zarr").exists()


def test_types_that_zarr_lacks_are_refused(tmp_path: Path):
    lazy = rs.LazyArray(IMAGE[0, 0], rs.Chain().reorder(dtype="bf16"))
    with pytest.raises(rs.UnsupportedError, match="Zarr has no elements of type bf16"):
        rs.ome.pyramid(lazy, tmp_path / "x.zarr")
    rs.ome.pyramid(rs.LazyArray(IMAGE[0, 0], rs.Chain()[::-1]), tmp_path / "y.zarr", 1)
    assert np.array_equal(levels_of(tmp_path / "y.zarr")[0], IMAGE[0, 0, ::-1])


# The command.


def make(folder: Path, name: str) -> str:
    """IN, with the same volume in it in every format."""
    volume = IMAGE[0]
    if name.endswith(".npy"):
        np.save(folder / name, volume.astype(">u2") if "big" in name else np.asfortranarray(volume))
    elif name.endswith(".tif"):
        tifffile = judge("tifffile")
        packed = {"compression": "zlib", "tile": (16, 32)} if "packed" in name else {}
        axes = {"metadata": {"axes": "ZYX"}} if "named" in name else {}
        order = ">" if "big" in name else "<"
        tifffile.imwrite(folder / name, volume, byteorder=order, photometric="minisblack", **packed, **axes)
    elif ".h5" in name:
        with judge("h5py").File(folder / name.partition("/")[0], "w") as file:
            file.create_dataset("scans/raw", data=volume, chunks=(4, 20, 70))
            if "/" in name:
                file["other"] = volume[0]
    elif "/" in name:
        group = zarr.open_group(folder / name.partition("/")[0], mode="w")
        group.create_array("0", data=volume, chunks=(4, 20, 70), dimension_names=["z", "y", "x"])
        group.create_array("1", data=volume[:1])
    else:
        zarr.create_array(folder / name, data=volume, chunks=(4, 20, 70), zarr_format=2)
    return str(folder / name)


INPUTS = ("a.npy", "big.npy", "a.tif", "named.big.tif", "packed.tif", "packed.big.tif", "one.h5", "two.h5/scans/raw")


@pytest.mark.parametrize("name", [*INPUTS, "group.zarr/0", "array.zarr"])
def test_every_format_gives_the_same_levels(tmp_path: Path, capsys, name: str):
    source = make(tmp_path, name)
    cells = make(tmp_path, "cells.npy")
    out = tmp_path / "out.ome.zarr"
    words = f"pyramid {source} {out} --labels cells={cells} --levels 3 --pixel-size 0.5 1 1 --unit micrometer".split()
    words += ["--chunks", "5", "30", "70", "--mode", "linear", "--antialias", "--runtime", "vulkan"]
    assert main(words) == 0
    printed = capsys.readouterr()
    assert f"{out}/2: [5, 11, 17], 1 chunks written, 0 were there\n" in printed.out
    assert " ms on " in printed.err
    before = IMAGE[0]
    for level, sizes in zip(levels_of(out), (None, (22, 35), (11, 17)), strict=True):
        if sizes is not None:
            before = rs.resample(before, sizes, axes=(1, 2), mode="linear", antialias=True).numpy()
        assert np.array_equal(level, before)
    assert np.array_equal(levels_of(out, "labels/cells")[1], rs.resample(IMAGE[0], (22, 35), mode="nearest").numpy())
    assert transforms(out)[1] == ([0.5, 45 / 22, 2], [0, 23 / 44, 0.5])


def test_samples_of_a_tiff_are_channels(tmp_path: Path):
    photo = NUMBERS.integers(0, 256, (30, 40, 3)).astype(np.uint8)
    judge("tifffile").imwrite(tmp_path / "photo.tif", photo, photometric="rgb")
    words = [str(tmp_path / "photo.tif"), str(tmp_path / "photo.zarr"), "--levels", "2", "--like", "pillow"]
    assert main(["pyramid", *words]) == 0
    half = rs.resample(photo, (15, 20), axes=(0, 1), like="pillow").numpy()
    assert np.array_equal(levels_of(tmp_path / "photo.zarr")[1], half.transpose(2, 0, 1))


def test_the_command_refuses_in_a_line(tmp_path: Path, capsys):
    npy, hdf5, group = (make(tmp_path, name) for name in ("a.npy", "two.h5/scans/raw", "group.zarr/0"))
    (tmp_path / "bad.tif").write_bytes(b"II*\0 no more than this")
    (tmp_path / "bad.h5").write_bytes(b"nothing")
    (tmp_path / "empty.zarr").mkdir()
    judge("zarr").create_group(tmp_path / "none.zarr")
    h5py = judge("h5py")
    for name, links in (("links.h5", {"a": "/b", "c": "/a"}), ("none.h5", {})):
        with h5py.File(tmp_path / name, "w") as file:
            for link, target in links.items():
                file[link] = h5py.SoftLink(target)
    out = str(tmp_path / "out.zarr")
    refused = {
        (npy, "out.npy"): "out.npy: the name must end in .zarr",
        (npy, group.removesuffix("/0")): "group.zarr' exists, and is no interrupted pyramid",
        (npy, str(tmp_path / "no" / "out.zarr")): "cannot write",
        (str(tmp_path / "no.tif"), out): "no.tif: no such file",
        (str(tmp_path / "no.png"), out): "no.png: the name must end in .npy, .tif,",
        (f"{npy}/x", out): "a.npy is a file of one array",
        (hdf5.removesuffix("/scans/raw"), out): "two.h5 has 2 arrays: name one of ",
        (hdf5 + "x", out): "two.h5 has no array 'scans/rawx': name one of ",
        (group.removesuffix("/0"), out): "group.zarr has 2 arrays: name one of ",
        (str(tmp_path / "none.zarr"), out): "none.zarr has no array\n",
        (str(tmp_path / "none.h5"), out): "none.h5 has no array\n",
        (str(tmp_path / "none.h5" / "x"), out): "none.h5 has no array 'x'\n",
        (str(tmp_path / "links.h5"), out): f"has no array, but links: name one of {tmp_path}/links.h5/a, {tmp_path}/li",
        (str(tmp_path / "links.h5" / "a"), out): f"has no array 'a': name one of {tmp_path}/links.h5/c\n",
        (str(tmp_path / "bad.tif"), out): "is no TIFF that can be read",
        (str(tmp_path / "bad.h5"), out): "cannot read",
        (str(tmp_path / "empty.zarr"), out): "cannot read",
        (npy, out, "--axes", "abc"): "axes must be y, x and others of 'tczyx'",
        (npy, out, "--levels", "9"): "levels must be at most",
        (npy, out, "--labels", "a.npy"): "--labels 'a.npy' must be NAME=FILE",
        (npy, out, "--mode", "lanczos"): "it goes with --like pillow, and as 'lanczos4' with --like opencv",
    }
    for words, message in refused.items():
        assert main(["pyramid", *words]) == 2, words
        printed = capsys.readouterr()
        assert message in printed.err
        assert printed.err.startswith("restride: ")
        assert printed.out == ""


def test_a_source_that_cannot_be_read_ends_in_a_line(tmp_path: Path, capsys):
    source = make(tmp_path, "packed.tif")
    content = bytearray(Path(source).read_bytes())
    content[-400:-300] = bytes(100)  # the first tile is read before anything is written
    Path(source).write_bytes(content)
    assert main(["pyramid", source, str(tmp_path / "out.zarr"), "--axes", "zyx"]) == 2
    printed = capsys.readouterr()
    assert "failed for chunk" in printed.err
    assert "continues the work" in printed.err
    assert "Traceback" not in printed.err


def test_more_chunks_than_anybody_writes_are_refused(tmp_path):
    with judge("h5py").File(tmp_path / "huge.h5", "w") as file:
        claimed = file.create_dataset("d", (1 << 40, 1 << 20), "u1", chunks=(1024, 1024))
        with pytest.raises(rs.DescriptorError, match=r"cut sizes .* into \d+ chunks, more than 16777216: give"):
            rs.ome.pyramid(claimed, tmp_path / "out.zarr", 2)
    assert not (tmp_path / "out.zarr").exists()
