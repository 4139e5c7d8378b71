"""Messages of commands: known errors and warnings, none of which has Python in it."""

import json
import re
import sys

import numpy as np
import pytest
from support.judges import judge

import restride as rs

pytestmark = pytest.mark.usefixtures("vulkan_device")

PYTHON = re.compile(
    r"\brs\.|\brestride\.|\bnp\.|\bPIL\.|\w\.\w+\(|(?<![-\w])[a-z_]+='?[\w(\[]|\b[a-z_]+=(?=[ ,;:]|$)|image\["
    r"|=\.\.\."
)
"""Names of modules, calls of methods, keywords and indices of Python."""

IMAGE = np.arange(40 * 50 * 3, dtype=np.uint8).reshape(40, 50, 3)


@pytest.fixture
def files(tmp_path):
    """Arrays, images and configurations that commands refuse or warn of."""
    pytest.importorskip("PIL.Image")
    arrays = {
        "image": IMAGE, "planes": np.moveaxis(IMAGE, -1, 0), "floats": IMAGE.astype(np.float32),
        "s64": IMAGE.astype(int), "line": np.zeros(5, np.float32), "cube": np.zeros((4, 4, 4), np.float32),
        "f64": IMAGE.astype(float), "grey": IMAGE[..., 0], "alpha": np.dstack([IMAGE, IMAGE[..., 0]]),
        "many": np.zeros((2, 3, 4, 5, 6, 7), np.float32),
        "boxes": np.array([[0.5, 1, 5, 6]]), "one": IMAGE[..., :1],
        "frames": IMAGE[:5, :5, 0], "deep": IMAGE[..., 0].astype(np.uint16) * 200,
    }  # fmt: skip
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    for name in ("image.png", "image.jpg", "alpha.png", "deep.png", "grey.png"):
        rs.imwrite(tmp_path / name, arrays[name.partition(".")[0]])
    rs.imwrite(tmp_path / "long.png", np.zeros((1, 999, 3), np.uint8))
    (tmp_path / "cut.png").write_bytes((tmp_path / "image.png").read_bytes()[:200])
    (tmp_path / "text.png").write_text("no image")
    (tmp_path / "raw.bin").write_bytes(bytes(32))
    for name, others in (("CLIP", {"do_center_crop": False}), ("Qwen2VL", {}), ("Nougat", {})):
        config = {"image_processor_type": f"{name}ImageProcessor", **others}
        (tmp_path / f"{name}.json").write_text(json.dumps(config))
    return tmp_path


COMMANDS = """
crop image.npy y.npy --sizes 4 4
crop image.npy y.npy --sizes 4 4 --axes 0
crop image.npy y.npy --sizes 4 4 --axes 0 1 --mean 1 2
crop s64.npy y.npy --sizes 4 4 --axes 0 1
crop f64.npy y.npy --sizes 4 4 --axes 0 1 --mode cubic
crop image.npy y.npy --sizes 4 4 --axes 0 1 --boxes boxes.npy --flip both --letterbox center
crop image.npy y.npy --sizes 4 4 --axes 0 1 --units normalized --letterbox center
crop image.npy y.npy --sizes 4 4 --axes 0 1 --fill 500
crop line.npy y.npy --sizes 4 4
crop image.png y.npy --sizes 4 4 --letterbox center --mode bicubic
resample image.npy y.npy --sizes 4 4
resample image.npy y.npy --sizes 4 4 --like opencv
resample s64.npy y.npy --sizes 4 4 --axes 0 1 --mode linear
resample f64.npy y.npy --sizes 4 4 --axes 0 1 --mode linear
resample image.npy y.npy --sizes 4 4 --axes 0 1 --mode linar
resample image.npy y.npy --sizes 4 4 --axes 0 1 --mode linear --cubic-a 1
resample image.npy y.npy --sizes 4 4 --axes 0 1 --mode lanczos
resample image.npy y.npy --sizes 4 4 --axes 0 1 --like pillow --mode area_weighted
resample image.npy y.npy --sizes 4 4 --axes 0 1 --like opencv --mode lanczos
resample image.npy y.npy --sizes 4 4 --axes 0 1 --coordinates tf_crop_and_resize
resample image.npy y.npy --scales 2 2 --sizes 4 4 --axes 0 1
resample image.npy y.npy --sizes 4 4 --axes 0 1 --dst-scale 2 --to u8 --post-ops "relu"
resample text.png y.npy --sizes 4 4
resize image.npy y.npy --sizes 4 4 --shorter 5
resize planes.npy y.npy --longer 4 --fit 3 3
resize cube.npy y.npy --sizes 4 4
resize many.npy y.npy --sizes 4 4
resize image.npy y.npy --fit 0 4
resize floats.npy y.npy --sizes 4 4 --linear-light
resize floats.npy y.npy --sizes 4 4 --premultiply
resize image.npy y.npy --sizes 4 4 --premultiply
resize alpha.npy y.npy --sizes 4 4 --premultiply --mode nearest
resize s64.npy y.npy --sizes 4 4
resize f64.npy y.npy --sizes 4 4
resize alpha.png y.png --sizes 4 4 --like pillow
resize cut.png y.png --sizes 4 4
resize text.png y.png --sizes 4 4
resize line.npy y.npy --sizes 4 4
resize deep.npy y.jpg --sizes 4 4
resize image.npy y.npy --sizes 4
slice image.npy y.npy [99]
slice image.npy y.npy [0.5]
slice image.npy y.npy --offsets 0 0 0 --sizes 99 9 3
reorder image.npy y.npy --layout f32
reorder image.npy y.npy --layout nhwc->nChw8c
reorder image.npy y.npy --layout "HWC->nChw8c"
reorder image.npy y.npy --layout "HWC->CWX"
reorder image.npy y.npy --layout nChw16c
reorder image.npy y.npy --layout QQ
reorder image.npy y.npy --to f99
reorder image.npy y.npy --src-scale 1 2
reorder raw.bin y.npy
reorder raw.bin y.npy --desc f32[3]
yuv frames.npy y.npy
yuv floats.npy y.npy
yuv image.png y.npy
flip image.npy y.npy --axis 7
show f32[2,3]{9}
view many.npy
view line.npy
view image.npy [99]
preprocess grey.npy -o y.npy --preset imagenet
preprocess one.npy -o y.npy --preset imagenet
preprocess alpha.npy -o y.npy --preset clip
preprocess planes.npy -o y.npy --preset imagenet
preprocess planes.npy -o y.npy --sizes 4 4
preprocess s64.npy -o y.npy --preset imagenet
preprocess s64.npy -o y.npy --sizes 4 4
preprocess f64.npy -o y.npy --sizes 4 4
preprocess floats.npy -o y.npy --preset yolo --fill 1 2
preprocess floats.npy -o y.npy --preset imagenet
preprocess s64.npy -o y.npy --preset yolo --mode nearest
preprocess image.npy line.npy -o y.npy --sizes 4 4
preprocess image.npy alpha.npy -o y.npy --sizes 4 4
preprocess cut.png -o y.npy --sizes 4 4
preprocess text.png -o y.npy --sizes 4 4
preprocess image.png -o y.npy --sizes 4 4 --skip-bad
preprocess image.png -o y.npy --sizes 4 4 --mean 0.5 --to u8
preprocess image.png -o y.npy --sizes 4 4 --fill 5
preprocess image.png -o y.npy --sizes 4 4 --shorter 2
preprocess image.png -o y.npy --sizes 4 4 --mean 128
preprocess frames.npy -o y.npy --sizes 4 4 --input nv12
vision CLIP.json deep.png -o y.npz
vision CLIP.json image.png long.png grey.png -o y.npz
vision Qwen2VL.json long.png -o y.npz
vision Qwen2VL.json long.png --plan
vision CLIP.json cut.png text.png -o y.npz
vision Nougat.json image.png -o y.npz
pyramid s64.npy out.zarr
pyramid image.npy out.zarr
pyramid many.npy out.zarr
pyramid line.npy out.zarr
pyramid image.npy out.zarr --axes yxx
pyramid image.npy out.zarr --axes yxc --pixel-size 1
"""


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("line", COMMANDS.strip().splitlines())
def test_messages_have_no_python(line, restride):
    if line.startswith("pyramid"):
        judge("zarr")
    code, _, err = restride(line)
    assert code in (0, 2), err
    for message in err:
        assert not PYTHON.search(message), message
    assert err, "nothing is said"


@pytest.mark.parametrize(
    "line",
    [
        "vision CLIP.json signed.tif -o y.npz",
        "vision CLIP.json five.tif -o y.npz",
        "preprocess five.tif -o y.npy --sizes 4 4",
        "pyramid inks.tif out.zarr",
    ],
)
def test_messages_about_tiff_have_no_python(line, files, restride):
    tifffile = judge("tifffile")
    if line.startswith("pyramid"):
        judge("zarr")
    tifffile.imwrite(files / "signed.tif", IMAGE[..., 0].astype(np.int8))
    tifffile.imwrite(files / "five.tif", np.dstack([IMAGE, IMAGE[..., :2]]), photometric="rgb")
    tifffile.imwrite(files / "inks.tif", np.dstack([IMAGE, IMAGE[..., 0]]), photometric="separated")
    code, _, err = restride(line)
    assert code == 2, err
    for message in err:
        assert not PYTHON.search(message), message


def test_a_missing_codec_is_named_without_python(files, restride, monkeypatch):
    judge("imagecodecs")
    rs.imwrite(files / "colours.png", IMAGE.astype(np.uint16))
    monkeypatch.setitem(sys.modules, "imagecodecs", None)
    code, _, err = restride("resize colours.png y.png --sizes 4 4")
    assert code == 2
    assert "reading colours of 16 bits needs imagecodecs" in err[-1]
    assert not PYTHON.search(err[-1])


@pytest.mark.parametrize("like", ["tifffile", "zarr"])
def test_messages_of_pyramids_have_no_python(like, tmp_path, restride):
    judge("zarr")
    if like == "tifffile":
        tifffile = judge("tifffile")
        tifffile.imwrite(tmp_path / "pages.tif", np.zeros((3, 40, 50), np.uint8), photometric="minisblack")
        palette = np.arange(3 * 256, dtype=np.uint16).reshape(3, 256) * 80
        tifffile.imwrite(tmp_path / "palette.tif", IMAGE[..., 0], photometric="palette", colormap=palette)
        lines = ["pyramid pages.tif pages.zarr", "pyramid palette.tif palette.zarr"]
    else:
        zarr = judge("zarr")
        group = zarr.open_group(tmp_path / "damaged.zarr", mode="w")
        group.create_array("0", shape=(40, 50), dtype="u1")
        group.attrs["ome"] = {"multiscales": [{"datasets": [{"path": 5}]}]}
        lines = ["pyramid damaged.zarr/0 out.zarr"]
    for line in lines:
        _, _, err = restride(line)
        assert any("--" in message for message in err), err
        for message in err:
            assert not PYTHON.search(message), message
