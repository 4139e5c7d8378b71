"""The demo: every result right on both runtimes, one dispatch where it says so, and a picture."""

import sys

import numpy as np
import pytest
from support.devices import open_device

from restride import asarray
from restride.cli import main
from restride.cli.demo import Crop, load_photograph
from restride.reference.comparison import Comparison
from restride.runtime import RUNTIMES

pytestmark = pytest.mark.slow

Image = pytest.importorskip("PIL.Image")


def test_the_crop_is_what_it_says(device):
    x = np.arange(48 * 64 * 3, dtype=np.int32).reshape(48, 64, 3)
    crop = Crop.of(48, 64)
    assert crop.text == "x[:30, 12:64][:, ::-1].permute(2, 0, 1)"
    assert np.array_equal(crop.view(asarray(x, device=device)).numpy(), x[:30, 12:64][:, ::-1].transpose(2, 0, 1))


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_demo_of_ones_own_photograph(runtime, tmp_path, capsys):
    with open_device(runtime) as device:
        name = device.info.name
    y, x = np.mgrid[0:60, 0:90]
    Image.fromarray(np.stack([2 * x, 3 * y, 128 + 0 * x], 2).astype(np.uint8)).save(tmp_path / "mine.png")
    out = tmp_path / "new" / "folder"
    assert main(["demo", str(tmp_path / "mine.png"), "--out", str(out), "--runtime", runtime]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert name in lines[0]
    assert runtime in lines[0]
    assert "17 of 17 results are right" in "\n".join(lines)
    assert sum(line.endswith("  OK") for line in lines) == 17
    assert any("1 dispatch," in line and "4 dispatches" in line and "bits equal" in line for line in lines)
    assert lines[-1] == f"contact sheet: {out / 'contact_sheet.png'}"
    with Image.open(out / "contact_sheet.png") as sheet:
        assert sheet.width > 1000
        assert len(np.unique(np.asarray(sheet).reshape(-1, 3), axis=0)) > 500


@pytest.mark.usefixtures("vulkan_device")
def test_demo_that_finds_a_wrong_result_exits_1(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("restride.cli.demo.compare_bits", lambda *_: Comparison(3, 10, 7.0, 0.0))
    Image.new("RGB", (40, 40), (10, 200, 30)).save(tmp_path / "mine.png")
    assert main(["demo", str(tmp_path / "mine.png"), "--out", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "FAILED, 3 of 10 elements are wrong" in out
    assert "7 of 17 results are right" in out


@pytest.mark.usefixtures("vulkan_device")
def test_demo_without_a_photograph_needs_neither_pillow_nor_scikit_image(tmp_path, capsys, monkeypatch):
    for package in ("PIL", "skimage"):
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--no-photo"]) == 0
    out = capsys.readouterr().out
    assert "photograph: zone plates, computed, 320 x 240" in out
    assert "17 of 17 results are right" in out
    assert not list(tmp_path.iterdir())
    for others in (["mine.png"], ["--out", "here"]):
        assert main(["demo", "--no-photo", *others]) == 2
    assert not list(tmp_path.iterdir())


def test_photographs(tmp_path, capsys):
    pytest.importorskip("skimage")
    shipped = load_photograph(None)
    assert shipped.pixels.shape[2] == 3
    assert "scikit-image" in shipped.title
    Image.new("RGBA", (3000, 1500), (1, 2, 3, 4)).save(tmp_path / "large.png")
    large = load_photograph(tmp_path / "large.png")
    assert large.pixels.shape == (640, 1280, 3)
    assert "large.png: 3000 x 1500 pixels, shrunk to 1280 x 640" in capsys.readouterr().err


@pytest.mark.usefixtures("vulkan_device")
def test_photographs_that_are_none(tmp_path, capsys):
    assert main(["demo", str(tmp_path / "none.png"), "--out", str(tmp_path)]) == 2
    assert "none.png: no such file" in capsys.readouterr().err
    Image.new("RGB", (90, 31)).save(tmp_path / "small.png")
    assert main(["demo", str(tmp_path / "small.png"), "--out", str(tmp_path)]) == 2
    assert "90 x 31 pixels; the demo needs 32 a side" in capsys.readouterr().err
    np.save(tmp_path / "x.npy", np.zeros((90, 90), np.float32))
    assert main(["demo", str(tmp_path / "x.npy"), "--out", str(tmp_path)]) == 2
    assert "no photograph of u8 pixels" in capsys.readouterr().err


@pytest.mark.usefixtures("vulkan_device")
def test_without_scikit_image_the_demo_says_what_to_do(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("restride.cli.demo.find_spec", lambda _: None)
    assert main(["demo", "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "restride demo PHOTO.jpg" in error
    assert "pip install '.[demo]'" in error
