"""What an image may be: files in every form are read like a path, and what is no image is refused by its number."""

from __future__ import annotations

import io
import mmap
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import bad_images
from support.judges import judge

import restride as rs

pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.usefixtures("vulkan_device")

PIXELS = bad_images.PIXELS
VIT = {"image_processor_type": "ViTImageProcessor", "size": 8}
RECIPE: dict[str, Any] = {"sizes": (8, 8), "mode": "bilinear", "like": "pillow"}


class Doors:
    """The functions that take images, each with what it calls the second of two; empty: it takes one alone."""

    def __init__(self) -> None:
        clip = rs.vision.processor({"image_processor_type": "CLIPImageProcessor", "size": 8, "crop_size": 8})
        vit = rs.vision.processor(VIT)
        nested = rs.vision.processor({"image_processor_type": "LlavaOnevisionImageProcessor"})
        recipe = rs.Preprocess(**RECIPE, mean=0.5)
        self.of_images: dict[str, tuple[Callable[[Any], Any], str]] = {
            "vision": (lambda image: clip([PIXELS, image]), "images[1]"),
            "vision alone": (clip, ""),
            "vision without RGB": (lambda image: vit([PIXELS, image]), "images[1]"),
            "vision in samples": (lambda image: nested([[PIXELS], [PIXELS, image]]), "images[2]"),
            "Preprocess": (lambda image: recipe([PIXELS, image]), "images[1]"),
            "Preprocess alone": (recipe, ""),
            "stream": (lambda image: list(recipe.stream([PIXELS, image])), "image 1 of the stream"),
            "resize": (lambda image: rs.resize(image, (8, 8)), ""),
            "to_rgb": (rs.to_rgb, ""),
            "asarray": (rs.asarray, ""),
        }


@pytest.fixture(scope="module")
def doors() -> Doors:
    return Doors()


_TAKEN = {"vision alone": {"list in a list"}, "resize": {"mode La", "no file", "long path", "address"}}
"""What has a meaning at a door; a file that ``rs.resize`` does not find is an ``OSError``."""


def refusals(call: Callable[[Any], Any], place: str, made: dict[str, Callable[[], Any]]) -> list[str]:
    """What is not refused as it should be: by a typed error that names the image."""
    wrong = []
    for name, make in made.items():
        try:
            call(make())
        except rs.RestrideError as error:
            if not isinstance(error, rs.DescriptorError | rs.UnsupportedError) or not str(error).startswith(place):
                wrong.append(f"{name}: {type(error).__name__}: {error}")
        except Exception as error:  # noqa: BLE001 - the fault that is looked for
            wrong.append(f"{name}: {type(error).__name__}: {error}")
        else:
            wrong.append(f"{name}: taken")
    return wrong


DOORS = (
    *("vision", "vision alone", "vision without RGB", "vision in samples", "Preprocess", "Preprocess alone", "stream"),
    *("resize", "to_rgb", "asarray"),
)


@pytest.mark.filterwarnings("ignore:.*(nested tensors|quantized tensor|Sparse CSR).*:UserWarning")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("library", ["numpy", "torch", "scipy"])
def test_what_is_no_image_is_refused_by_its_number(door: str, library: str, doors: Doors) -> None:
    call, place = doors.of_images[door]
    if library == "torch":
        made = bad_images.of_torch(judge("torch"))
    elif library == "scipy":
        made = bad_images.of_scipy(judge("scipy.sparse"))
    else:
        made = bad_images.values()
        if door.startswith("vision"):
            made |= bad_images.out_of_range()
    wrong = refusals(call, place, {name: made[name] for name in made.keys() - _TAKEN.get(door, set())})
    if door in ("to_rgb", "asarray"):  # which take arrays of any sizes
        wrong = [each for each in wrong if not each.endswith(": taken")]
    assert wrong == []


def _in_zip(content: bytes, folder: Path) -> Any:
    path = folder / "images.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as written:
        written.writestr("cat.png", content)
    return zipfile.ZipFile(path).open("cat.png")


def _spooled(content: bytes, most: int) -> Any:
    file = tempfile.SpooledTemporaryFile(most)  # noqa: SIM115 - the test closes it
    file.write(content)
    return file


def _mapped(folder: Path) -> Any:
    with (folder / "cat.png").open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _piped(content: bytes) -> Any:
    read, write = os.pipe()
    with os.fdopen(write, "wb") as file:
        file.write(content)
    return os.fdopen(read, "rb")


FORMS: dict[str, Callable[[bytes, Path], Any]] = {
    "text": lambda _, folder: str(folder / "cat.png"),
    "path": lambda _, folder: folder / "cat.png",
    "bytes": lambda content, _: content,
    "bytearray": lambda content, _: bytearray(content),
    "memoryview": lambda content, _: memoryview(content),
    "BytesIO": lambda content, _: io.BytesIO(content),
    "opened": lambda _, folder: (folder / "cat.png").open("rb"),
    "unbuffered": lambda _, folder: (folder / "cat.png").open("rb", buffering=0),
    "spooled in memory": lambda content, _: _spooled(content, 1 << 20),
    "spooled on disk": lambda content, _: _spooled(content, 10),
    "in a zip": _in_zip,
    "mapped": lambda _, folder: _mapped(folder),
    "pipe": lambda content, _: _piped(content),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_a_file_in_any_form_is_read_like_a_path(form: str, kind: str, tmp_path: Path) -> None:
    content = bad_images.encoded(kind)
    (tmp_path / "cat.png").write_bytes(content)
    right = rs.imread(tmp_path / "cat.png")
    processor = rs.vision.processor(VIT)
    recipe = rs.Preprocess(**RECIPE)
    calls: list[tuple[Callable[[Any], Any], Any]] = [
        (rs.imread, right),
        (lambda image: rs.resize(image, (7, 9)).numpy(), rs.resize(right, (7, 9)).numpy()),
        (lambda image: recipe(image).numpy(), recipe(right).numpy()),
        (lambda image: recipe([right, image]).numpy()[1:], recipe(right).numpy()),
        (lambda image: next(recipe.stream([image])).numpy(), recipe(right).numpy()),
        (lambda image: processor(image).pixel_values, processor(right).pixel_values),
        (lambda image: processor([[image]]).pixel_values, processor(right).pixel_values),
    ]
    file = FORMS[form](content, tmp_path)
    for call, expected in calls[:1] if form == "pipe" else calls:
        can_seek = hasattr(file, "seekable") and file.seekable()
        if can_seek:
            file.seek(5)
        result = call(file)
        assert (result.dtype, result.shape, result.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())
        if can_seek:
            assert file.tell() == 5
        assert not getattr(file, "closed", False)
    if hasattr(file, "close"):
        file.close()


def test_a_damaged_file_in_any_form_is_refused(doors: Doors, tmp_path: Path) -> None:
    content = bad_images.encoded()[:-30]
    (tmp_path / "cat.png").write_bytes(content)
    for door in ("vision", "Preprocess", "resize"):
        call, place = doors.of_images[door]
        for form in FORMS.keys() - {"in a zip", "pipe"}:
            file = FORMS[form](content, tmp_path)
            with pytest.raises(rs.DescriptorError, match=f"^{place.replace('[', '.')}.*cannot read .*damaged"):
                call(file)
            if hasattr(file, "close"):
                file.close()


def test_errors_of_an_image_name_its_file(tmp_path: Path) -> None:
    rs.imwrite(tmp_path / "long.png", np.zeros((1, 999, 3), np.uint8))
    qwen = rs.vision.processor({"image_processor_type": "Qwen2VLImageProcessor"})
    with pytest.raises(rs.DescriptorError, match=r"^images\[1\] \(.*long\.png\): .*longer side"):
        qwen([PIXELS, tmp_path / "long.png"])
    with pytest.raises(rs.DescriptorError, match=r"^images\[2\] \(\d+ bytes\): .*longer side"):
        qwen([[PIXELS, PIXELS], [(tmp_path / "long.png").read_bytes()]])
    clip = rs.vision.processor({"image_processor_type": "CLIPImageProcessor", "do_center_crop": False})
    with pytest.raises(rs.DescriptorError, match=r"stacked, .*: images\[1\] \(.*long\.png\) has .*images\[0\] "):
        clip([PIXELS, tmp_path / "long.png"])


def test_arrays_of_other_libraries_are_images() -> None:
    torch = judge("torch")
    processor = rs.vision.processor(VIT)
    right = processor(PIXELS).pixel_values
    image = torch.from_numpy(PIXELS)
    floats = image.float().requires_grad_()
    for other in (image, image.permute(2, 0, 1), floats, torch.nn.Parameter(floats), image.bfloat16(), image[None]):
        assert np.array_equal(processor(other).pixel_values, right)
    assert np.array_equal(processor([[image], image[None]]).pixel_values, np.concatenate([right, right]))


def test_arrays_of_jax_are_images() -> None:
    jax = judge("jax")
    processor = rs.vision.processor(VIT)
    for other in (jax.numpy.asarray(PIXELS), jax.numpy.asarray(PIXELS)[None]):
        assert np.array_equal(processor(other).pixel_values, processor(PIXELS).pixel_values)
