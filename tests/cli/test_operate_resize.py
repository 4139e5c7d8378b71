"""``restride resize``: the defaults of ``rs.resize``, its own check, files of every kind, folders, and bad files."""

import errno
import signal
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import restride as rs
from restride.cli import main, operate
from restride.command.files import write_array
from restride.files import writing

PIXELS = np.random.default_rng(3).integers(0, 256, (20, 30, 4), np.uint8)


@pytest.fixture
def resize(tmp_path, restride):
    """``restride resize`` in a folder with three pictures."""
    pytest.importorskip("PIL.Image")
    for name, channels in (("photo.png", 3), ("drawing.png", 4), ("photo.jpg", 3)):
        write_array(tmp_path / name, np.ascontiguousarray(PIXELS[..., :channels]))
    return partial(restride, "resize")


@pytest.fixture
def photos(tmp_path):
    """A folder of photographs of several formats and kinds, one of them damaged, and other things."""
    image_module = pytest.importorskip("PIL.Image")
    folder = tmp_path / "photos"
    (folder / "more").mkdir(parents=True)
    image = image_module.fromarray(PIXELS[..., :3])
    exif = image_module.Exif()
    exif[0x0112] = 6  # orientation: turn by 90 degrees clockwise
    image.save(folder / "a.jpg", exif=exif)
    image.convert("P").save(folder / "b.gif")
    image.save(folder / "c.WEBP", lossless=True)
    write_array(folder / "e.png", PIXELS[..., 0].astype(np.uint16) * 257)
    (folder / "d.jpg").write_bytes((folder / "a.jpg").read_bytes()[:300])
    (folder / "notes.txt").touch()
    (folder / ".hidden.jpg").touch()
    image.save(folder / "more" / "a.jpg")
    return folder


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (("--sizes", 8, 9), {"sizes": (8, 9)}),
        (("--shorter", 7), {"shorter": 7}),
        (("--cover", 7, 7), {"cover": (7, 7)}),
        (("--sizes", 8, 9, "--no-antialias"), {"sizes": (8, 9), "antialias": False}),
        (
            ("--shorter", 7, "--like", "pillow", "--mode", "LANCZOS"),
            {"shorter": 7, "like": "pillow", "mode": "lanczos"},
        ),
        (("--sizes", 8, 9, "--linear-light"), {"sizes": (8, 9), "linear_light": True}),
        (("--sizes", 9, 8, "--axes", 1, 0), {"sizes": (9, 8), "axes": (1, 0)}),
    ],
)
@pytest.mark.usefixtures("vulkan_device")
def test_options_reach_the_function_and_its_reference(options, arguments, tmp_path, resize):
    code, out, err = resize("photo.png", "small.png", *options, "--check")
    assert (code, err) == (0, [])
    assert "OK" in out
    expected = rs.resize(PIXELS[..., :3], **arguments).numpy()
    assert np.array_equal(rs.imread(tmp_path / "small.png"), expected)


@pytest.mark.parametrize("options", [("--premultiply",), ("--premultiply", "--linear-light", "--mode", "cubic")])
@pytest.mark.usefixtures("vulkan_device")
def test_alpha_weights_colours_on_request(options, tmp_path, resize):
    code, out, _ = resize("drawing.png", "small.png", "--shorter", 8, *options, "--check")
    assert code == 0
    assert "OK" in out
    arguments = {"linear_light": "--linear-light" in options, "mode": "cubic" if "cubic" in options else None}
    expected = rs.resize(PIXELS, shorter=8, premultiply=True, **arguments).numpy()
    assert np.array_equal(rs.imread(tmp_path / "small.png"), expected)


@pytest.mark.parametrize("sizes", [(20, 30), (20, 30, 3), (3, 20, 30), (2, 20, 30, 3)])
@pytest.mark.usefixtures("vulkan_device")
def test_the_axes_of_a_npy_file_are_those_that_the_function_finds(sizes, tmp_path, resize):
    array = np.random.default_rng(1).normal(size=sizes).astype(np.float32)
    np.save("x.npy", array)
    assert resize("x.npy", "y.npy", "--sizes", 8, 9, "--check")[0] == 0
    assert np.array_equal(np.load(tmp_path / "y.npy"), rs.resize(array, (8, 9)).numpy())


@pytest.mark.usefixtures("vulkan_device")
def test_each_file_of_a_folder_is_written_to_another(photos, tmp_path, resize):
    (photos / "d.jpg").unlink()
    code, out, err = resize("--shorter", 10, "photos", "small", "--check")
    assert (code, out) == (0, "small: 4 of 4 files, checked\n")
    assert len(err) == 1
    assert err[0].startswith("restride: photos: 2 of 6 are left out, folders or names that do not end in .npy, .png")
    shapes = {path.name: rs.imread(path).shape for path in (tmp_path / "small").iterdir()}
    assert shapes == {"a.jpg": (15, 10, 3), "b.png": (10, 15, 3), "c.png": (10, 15, 3), "e.png": (10, 15)}
    for source, written in (("b.gif", "b.png"), ("c.WEBP", "c.png"), ("e.png", "e.png")):
        expected = rs.resize(rs.imread(photos / source), shorter=10, axes=(0, 1)).numpy()
        assert np.array_equal(rs.imread(tmp_path / "small" / written), expected)


@pytest.mark.usefixtures("vulkan_device", "photos")
def test_a_damaged_file_ends_the_command_or_is_skipped_and_named(tmp_path, resize):
    code, out, err = resize("photos/*.jpg", "small", "--shorter", 10)
    assert (code, out) == (2, "")
    assert len(err) == 1
    assert err[0].startswith("restride: cannot read photos/d.jpg: ")
    assert err[0].endswith("; --skip-bad goes on without it; 1 of 2 files are written")

    code, out, err = resize("photos", "small", "--skip-bad", "--shorter", 10)
    assert (code, out) == (2, "small: 4 of 5 files\n")
    assert err[-1].startswith("restride: skipped: cannot read photos/d.jpg: ")
    assert sorted(path.name for path in (tmp_path / "small").iterdir()) == ["a.jpg", "b.png", "c.png", "e.png"]

    code, out, err = resize("photos/d.jpg", "photos/d.jpg", "photos/e.png", "other", "--skip-bad", "--shorter", 10)
    assert (code, out) == (2, "other: 1 of 2 files\n")
    assert len(err) == 1


@pytest.mark.usefixtures("vulkan_device", "photos")
@pytest.mark.parametrize("skips", [(), ("--skip-bad",)])
def test_a_missing_device_is_not_blamed_on_the_first_file_of_a_folder(tmp_path, resize, skips):
    """A device that is not there is an error of its own, before any file is read, and nothing is written."""
    code, out, err = resize("photos", "small", "--shorter", 10, "--device", "no such GPU", *skips)
    assert (code, out) == (4, "")
    assert err[-1].startswith("restride: no device matches the device selector 'no such GPU'; present are ")
    assert not (tmp_path / "small").exists()


@pytest.mark.usefixtures("vulkan_device", "photos")
def test_an_error_about_one_of_several_files_names_it_or_is_skipped(tmp_path, resize):
    options = ("--shorter", 10, "--premultiply")
    code, out, err = resize("drawing.png", "photo.png", "small", *options)
    assert (code, out) == (2, "")
    assert err[0].startswith("restride: photo.png: premultiply needs alpha")
    assert err[0].endswith("; 1 of 2 files are written")
    pytest.importorskip("PIL.Image").fromarray(np.zeros((30, 40), np.float32)).save(tmp_path / "photos" / "f.tif")
    code, out, err = resize("photos/*.tif", "drawing.png", "photo.png", "large", *options[:2], "--skip-bad")
    assert (code, out, len(err)) == (2, "large: 2 of 3 files\n", 1)
    assert err[0].startswith("restride: skipped: photos/f.tif: a PNG image holds u8 or u16 elements")
    code, out, err = resize("drawing.png", "photo.png", "large", *options, "--skip-bad")
    assert (code, out, len(err)) == (2, "large: 1 of 2 files\n", 1)
    assert err[0].startswith("restride: skipped: photo.png: premultiply needs alpha")
    assert resize("photos", "none", "--skip-bad")[2][-1].endswith(
        ": one of these is required: --sizes, --shorter, --longer, --fit, --cover (see `restride resize --help`)"
    )
    assert not (tmp_path / "none").exists()


@pytest.mark.usefixtures("vulkan_device", "photos")
def test_a_wrong_result_of_one_of_several_files_is_not_written(tmp_path, resize, monkeypatch):
    honest = rs.Tensor.numpy
    monkeypatch.setattr(rs.Tensor, "numpy", lambda tensor: 255 - honest(tensor))
    code, out, err = resize("photo.png", "drawing.png", "small", "--shorter", 10, "--check")
    assert code == 1
    assert out.startswith("photo.png: check: largest difference ")
    assert out.endswith("small: 0 of 2 files, checked\n")
    assert err == ["restride: small/photo.png is not written"]
    assert not (tmp_path / "small").exists()


@pytest.mark.usefixtures("vulkan_device")
def test_one_warning_stands_for_all_files_and_one_device_does_them(tmp_path, resize, monkeypatch):
    opened = []
    honest = operate.open_device
    monkeypatch.setattr(operate, "open_device", lambda options: opened.append(1) or honest(options))
    code, _, err = resize("drawing.png", "photo.png", ".", "--shorter", 8, "--like", "pillow")
    said = (
        "drawing.png is an input, and the result would replace it: say --in-place to replace it, or name another folder"
    )
    assert (code, err, opened) == (2, [f"restride: {said}"], [])
    write_array(tmp_path / "second.png", PIXELS)
    code, _, err = resize("drawing.png", "second.png", "small", "--shorter", 8, "--like", "pillow")
    assert (code, len(err), len(opened)) == (0, 1, 1)
    assert err[0].startswith("restride: drawing.png: warning: drawing.png has alpha")


@pytest.mark.usefixtures("vulkan_device", "photos")
def test_progress_is_told_while_files_are_written(resize, monkeypatch):
    monkeypatch.setattr("restride.progress._LINE_EVERY", 0.0)
    _, _, err = resize("photos", "small", "--shorter", 8, "--skip-bad")
    assert [line.split("  ")[:2] for line in err if " left" in line and "/" in line.split()[0]] == [
        ["1/5", "a.jpg"], ["2/5", "b.gif"], ["3/5", "c.WEBP"], ["4/5", "d.jpg skipped"], ["5/5", "e.png"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "command", ["resample --sizes 8 9 --antialias", "crop --sizes 8 9", "reorder --layout HWC->WHC"]
)
@pytest.mark.usefixtures("vulkan_device")
def test_other_commands_take_folders_too(command, tmp_path, resize):
    name, *options = command.split()
    (tmp_path / "pictures").mkdir()
    for each in ("a.png", "b.png"):
        write_array(tmp_path / "pictures" / each, PIXELS)
    assert main([name, *options, "pictures/", "made/"]) == 0
    assert main([name, "pictures/a.png", "one.png", *options]) == 0
    for each in ("a.png", "b.png"):
        assert np.array_equal(rs.imread(tmp_path / "made" / each), rs.imread(tmp_path / "one.png"))
    assert resize("made", "again", "--fit", 4, 4)[1].splitlines()[-1] == "again: 2 of 2 files"


def left_over(folder):
    """Files of a write that did not end, and threads that work ahead."""
    parts = [path for path in folder.iterdir() if path.suffix == ".part"] if folder.exists() else []
    return parts + [thread for thread in threading.enumerate() if thread.name.startswith("restride-ahead")]


@pytest.mark.usefixtures("vulkan_device", "photos")
def test_what_is_told_of_files_comes_in_their_order(resize, monkeypatch):
    image_module = pytest.importorskip("PIL.Image")
    monkeypatch.setattr(image_module, "MAX_IMAGE_PIXELS", 500)
    write_array(Path("photos/f.png"), np.zeros((40, 30), np.uint8))
    code, out, err = resize("photos", "small", "--skip-bad", "--shorter", 10)
    assert (code, out) == (2, "small: 4 of 6 files\n")
    told = [line.split(": ", 2)[1:] for line in err if "warning" in line or "skipped: " in line]
    assert [what for what, _ in told] == ["warning"] * 4 + ["skipped"] * 2
    names = [text.removeprefix("cannot read ").partition(":")[0] for _, text in told]
    assert names == [f"photos/{name}" for name in ("a.jpg", "b.gif", "c.WEBP", "e.png", "d.jpg", "f.png")]
    assert "1200 pixels" in told[-1][1]


@pytest.mark.usefixtures("vulkan_device", "photos")
def test_an_interrupt_leaves_whole_files_and_no_thread(tmp_path, resize, monkeypatch):
    honest = operate._read

    def read(options):
        if options.input.name == "c.WEBP":
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.2)
        return honest(options)

    monkeypatch.setattr(operate, "_read", read)
    code, out, err = resize("photos", "small", "--shorter", 10, "--skip-bad")
    assert (code, out) == (130, "")
    assert err[-1].startswith("restride: interrupted")
    assert not left_over(tmp_path / "small")
    assert not (tmp_path / "small" / "e.png").exists()


@pytest.mark.usefixtures("vulkan_device", "photos")
def test_a_full_disk_ends_the_command_at_its_file(tmp_path, resize, monkeypatch):
    honest = writing._write
    written = []

    def write(file, content):
        written.append(1)
        honest(file, content[: len(content) // 2] if len(written) == 2 else content)
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writing, "_write", write)
    code, out, err = resize("photos", "small", "--shorter", 10)
    assert (code, out) == (2, "")
    assert err[-1] == "restride: cannot write small/b.png: No space left on device; 1 of 5 files are written"
    assert [path.name for path in (tmp_path / "small").iterdir()] == ["a.jpg"]
    assert not left_over(tmp_path / "small")


@pytest.mark.slow
@pytest.mark.usefixtures("vulkan_device")
def test_memory_stays_flat_over_5000_files(tmp_path, resize, monkeypatch):
    resource = pytest.importorskip("resource")
    (tmp_path / "many").mkdir()
    for number in range(5000):
        (tmp_path / "many" / f"{number:04}.jpg").hardlink_to(tmp_path / "photo.jpg")
    most = []

    def step(*_):
        most.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    monkeypatch.setattr("restride.progress.Progress.step", step)
    assert resize("many", "small", "--shorter", 10)[1] == "small: 5000 of 5000 files\n"
    assert most[-1] - most[1000] < 8 << 10  # KiB
