"""``restride vision``: the results of rs.vision in files, plans without a device, and what is refused."""

import json
import os
import shlex
import sys
import threading
from contextlib import contextmanager

import ml_dtypes
import numpy as np
import pytest
from support.judges import judge

import restride as rs
from restride.cli import vision
from restride.vision import Processor, images

CONFIGS = {
    "clip": {"image_processor_type": "CLIPImageProcessor", "size": 32, "crop_size": 32},
    "qwen": {"image_processor_type": "Qwen2VLImageProcessor", "max_pixels": 20_000},
    "idefics": {
        "image_processor_type": "Idefics3ImageProcessor",
        "size": {"longest_edge": 96},
        "max_image_size": {"longest_edge": 48},
        "return_row_col_info": True,
    },
    "mllama": {"image_processor_type": "MllamaImageProcessor", "size": {"height": 28, "width": 28}},
    "llama4": {"image_processor_type": "Llama4ImageProcessor"},
}
FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "TIFF", "GIF")
SIZES = {"a.png": (40, 50), "b.jpg": (40, 50), "c.PNG": (70, 30)}


@pytest.fixture
def vision_of(tmp_path, restride):
    """``restride vision`` in a folder with photographs and configurations: exit code, lines of stdout and stderr."""
    pytest.importorskip("PIL.Image")
    (tmp_path / "photos").mkdir()
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "empty.gif").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "deep.json").write_text("[" * 200_000)
    for name, (height, width) in SIZES.items():
        image = np.random.default_rng(height).integers(0, 256, (height, width, 3), np.uint8)
        rs.imwrite(tmp_path / "photos" / name, image)
    for name, config in CONFIGS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(config))

    def run(words, *others):
        code, out, err = restride(f"vision {words}", *others)
        return code, out.splitlines(), err

    return run


def expected(name, **arguments):
    return rs.vision.processor(CONFIGS[name])([f"photos/{file}" for file in SIZES], **arguments)


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize("form", ["npz", "safetensors"])
@pytest.mark.parametrize(
    ("name", "inputs"),
    [("clip", "photos"), ("qwen", "'photos/*'"), ("idefics", "photos/a.png 'photos/[bc].*'"), ("mllama", "photos")],
)
def test_results_are_in_the_file_by_their_names(name, inputs, form, vision_of):
    load = np.load if form == "npz" else judge("safetensors.numpy").load_file
    code, out, err = vision_of(f"{name}.json {inputs} -o results.{form}")
    assert (code, err) == (0, [])
    results = {key: np.asarray(value) for key, value in expected(name).items()}
    assert out[0] == repr(rs.vision.processor(CONFIGS[name]))
    assert out[1] == f"results.{form}: {len(results)} result{'s' * (len(results) > 1)} from 3 files"
    assert out[2:] == [f"  {key}: {rs.TensorDesc(right.dtype, right.shape)}" for key, right in results.items()]
    read = load(f"results.{form}")
    assert set(read) == set(results)
    for key, right in results.items():
        assert (read[key].dtype, read[key].shape, read[key].tobytes()) == (right.dtype, right.shape, right.tobytes())


@pytest.mark.usefixtures("vulkan_device")
def test_a_file_that_is_named_twice_is_computed_twice(vision_of):
    names = ["photos/a.png", "photos/b.jpg", "photos/a.png"]
    assert vision_of(f"clip.json {' '.join(names)} -o results.npz")[:2][1][1].endswith("from 3 files")
    right = rs.vision.processor(CONFIGS["clip"])(names).pixel_values
    with np.load("results.npz") as file:
        assert file.files == ["pixel_values"]
        assert np.array_equal(file["pixel_values"], right)


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize("form", ["npz", "safetensors"])
def test_bad_files_are_skipped_and_named(form, tmp_path, vision_of):
    if form == "safetensors":
        judge("safetensors")
    (tmp_path / "photos" / "bad.png").write_bytes(b"no image")
    rs.imwrite(tmp_path / "photos" / "long.png", np.zeros((1, 999, 3), np.uint8))
    code, _, err = vision_of(f"qwen.json photos -o results.{form}")
    assert (code, len(err)) == (2, 1)
    assert err[0].startswith("restride: cannot read photos/bad.png: ")
    assert err[0].endswith("; --skip-bad goes on without it")
    code, out, err = vision_of(f"qwen.json photos -o results.{form} --skip-bad")
    assert code == 2
    assert out[1] == f"results.{form}: 2 results from 3 files"
    assert [line.partition(": an image")[0] for line in err] == [
        f"restride: skipped: cannot read photos/bad.png: cannot identify image file; {', '.join(FORMATS)} are read",
        "restride: skipped: photos/long.png",
    ]
    good, bad = [f"photos/{name}" for name in SIZES], ["photos/bad.png", "photos/long.png"]
    if form == "npz":
        with np.load(f"results.{form}", allow_pickle=False) as file:
            assert (file["files"].tolist(), file["skipped"].tolist()) == (good, bad)
            pixels = file["pixel_values"]
    else:
        with judge("safetensors").safe_open(f"results.{form}", "np") as file:
            texts = {name: json.loads(text) for name, text in file.metadata().items()}
            assert texts == {"files": good, "skipped": bad}
            pixels = file.get_tensor("pixel_values")
    assert np.array_equal(pixels, expected("qwen").pixel_values)
    assert vision_of(f"qwen.json photos/a.png -o results.{form} --skip-bad")[0] == 0
    code, out, err = vision_of("qwen.json photos --plan --skip-bad")
    assert (code, len(err)) == (2, 2)
    assert "photos/c.PNG, 70 rows x 30 columns:" in out


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize("name", ["clip", "qwen", "idefics"])
def test_more_images_than_the_device_has_room_for_are_computed_in_parts(name, vision_of, monkeypatch):
    names, counts = [f"photos/{file}" for file in SIZES] * 20, []
    honest = Processor._compute
    monkeypatch.setattr(
        Processor, "_compute", lambda self, part, *rest: counts.append(len(part)) or honest(self, part, *rest)
    )
    process = rs.vision.processor(CONFIGS[name])
    room = sum(process.plan(size).nbytes for size in SIZES.values()) * 5

    @contextmanager
    def small_device(*_):
        with rs.Device(memory_limit=room) as device:
            yield device

    monkeypatch.setattr(vision, "timed_device", small_device)
    with small_device() as device, pytest.raises(rs.OutOfDeviceMemory):
        process(names, device=device)
    counts.clear()
    code, out, err = vision_of(f"{name}.json {' '.join(names)} -o results.npz")
    assert (code, err) == (0, [])
    assert out[1].endswith("from 60 files")
    assert (sum(counts), len(counts) > 4) == (60, True)
    with np.load("results.npz") as file:
        for key, right in process(names).items():
            assert np.array_equal(file[key], right)


def test_files_are_decoded_ahead_of_their_turn(vision_of, monkeypatch):
    names = []
    honest = images.opened
    monkeypatch.setattr(images, "opened", lambda path: names.append(threading.current_thread().name) or honest(path))
    code, out, _ = vision_of("clip.json photos --plan")
    assert code == 0
    assert [line.partition(",")[0] for line in out if "rows x" in line] == [
        "photos/a.png and 1 more", "photos/c.PNG",
    ]  # fmt: skip
    assert [name.rpartition("_")[0] for name in names] == ["restride-ahead"] * 3


@pytest.mark.usefixtures("vulkan_device")
def test_nothing_is_written_if_all_files_are_bad(tmp_path, vision_of):
    (tmp_path / "bad.png").write_bytes(b"no image")
    code, _, err = vision_of("clip.json bad.png bad.png -o results.npz --skip-bad")
    assert (code, len(err)) == (2, 2)
    assert not (tmp_path / "results.npz").exists()


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize(("name", "option"), [("clip", "--to bf16"), ("llama4", "")])
def test_bf16_is_written(name, option, vision_of):
    right = expected(name, dtype="bf16")["pixel_values"]
    assert vision_of(f"{name}.json photos -o results.npz {option}")[0] == 0
    with np.load("results.npz") as file:
        assert np.array_equal(file["pixel_values"].view(ml_dtypes.bfloat16), right)
    torch, _ = judge("torch"), judge("safetensors")
    from safetensors.torch import load_file

    assert vision_of(f"{name}.json photos -o results.safetensors {option}")[0] == 0
    read = load_file("results.safetensors")["pixel_values"]
    assert (read.dtype, read.view(torch.int16).numpy().tobytes()) == (torch.bfloat16, right.tobytes())


def test_a_plan_needs_no_device(monkeypatch, vision_of):
    monkeypatch.setattr(vision, "timed_device", None)
    code, out, err = vision_of("idefics.json photos --plan")
    assert (code, err) == (0, [])
    assert out == [
        repr(rs.vision.processor(CONFIGS["idefics"])),
        "photos/a.png and 1 more, 40 rows x 50 columns:",
        "  resized to 76 x 96, 96 x 96, 48 x 48",
        "  tiles or patches: 5, dispatches: 7",
        "  pixel_values: [1, 5, 3, 48, 48]",
        "  pixel_attention_mask: [1, 5, 48, 48]",
        "  rows: a list",
        "  cols: a list",
        "photos/c.PNG, 70 rows x 30 columns:",
        "  resized to 96 x 42, 96 x 48, 48 x 48",
        "  tiles or patches: 3, dispatches: 6",
        "  pixel_values: [1, 3, 3, 48, 48]",
        "  pixel_attention_mask: [1, 3, 48, 48]",
        "  rows: a list",
        "  cols: a list",
    ]


def test_without_safetensors_its_extra_is_named(monkeypatch, vision_of):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    _, _, err = vision_of("clip.json photos -o results.safetensors")
    (line,) = err
    assert line.startswith("restride: a .safetensors file (.npz needs nothing) needs safetensors: ")
    assert line.endswith("pip install '.[safetensors]' in a checkout")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("clip.json photos", "one of these is required: -o, --plan (see `restride vision --help`)"),
        ("clip.json photos -o results.npy", "results.npy: results are written by their names, so the name must end in"),
        ("clip.json photos -o none/results.npz", "cannot write none/results.npz: "),
        ("clip.json none.jpg -o results.npz", "cannot read none.jpg: no such file"),
        ("clip.json '*.jpg' -o results.npz", "*.jpg: there is no file whose name ends in .png, .jpg, .jpeg, .webp"),
        ("clip.json notes.txt -o results.npz", "cannot read notes.txt: cannot identify image file; PNG, JPEG"),
        ("clip.json empty.gif --plan", "cannot read empty.gif: it is empty"),
        ("clip.json notes.txt --plan", "cannot read notes.txt: cannot identify image file; PNG, JPEG"),
        ("notes.txt photos --plan", "the configuration notes.txt is no JSON: "),
        ("photos/a.png photos --plan", "the configuration photos/a.png is no JSON: "),
        ("pipe photos --plan", "cannot read the configuration pipe: not a file"),
        ("deep.json photos --plan", "the configuration deep.json must not nest more than 32 levels deep"),
        (
            "none.json photos -o results.npz",
            "cannot read the configuration none.json: No such file or directory; nothing is fetched",
        ),
        ("photos photos -o results.npz", "the folder photos has no preprocessor_config.json"),
        ("clip.json photos -o results.npz --to s8", "dtype of pixels must be one of f32, f16, bf16, got s8"),
        ("clip.json", "the following arguments are required: IN"),
    ],
)
def test_what_is_refused(words, message, tmp_path, vision_of):
    code, out, err = vision_of(words)
    assert (code, len(err)) == (2, 1), (code, err)
    assert message in err[0]
    assert out == [] or "--plan" in words
    assert not list(tmp_path.glob("results*"))


def examples():
    """The command lines that the help shows."""
    return [line.strip().partition("   ")[0] for line in vision._VISION.splitlines() if line.startswith("  restride ")]


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize("line", examples())
def test_the_examples_of_the_help_run(line, tmp_path, vision_of):
    if ".safetensors" in line:
        judge("safetensors")
    (tmp_path / "model").mkdir()
    for folder in (tmp_path, tmp_path / "model"):
        (folder / "preprocessor_config.json").write_text(json.dumps(CONFIGS["clip"]))
    words = shlex.split(line)[2:]
    if "*.jpg" in words:
        words[words.index("*.jpg")] = "photos/*.jpg"
    code, _, err = vision_of("", *words)
    assert (code, err) == (0, [])
    assert "--plan" in words or (tmp_path / words[words.index("-o") + 1]).exists()
