"""docs/replace_preprocessing.md: every block runs on the photograph, and `after` has the result of `before`."""

import re
from pathlib import Path

import numpy as np
import pytest
from support.judges import judge

from restride.cli import main
from restride_like_check.images import photograph
from restride_like_check.page import MODES, PHOTOGRAPH, results

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = (DOCS / "replace_preprocessing.md").read_text(encoding="utf-8")
SECTIONS = {text.split("\n", 1)[0]: text for text in PAGE.split("\n## ")[1:]}
MODULES = {"Pillow": "PIL", "OpenCV": "cv2", "torch": "torch"}

pytestmark = pytest.mark.usefixtures("vulkan_device")


def image_for(name):
    """The photograph as each pipeline takes it."""
    pixels = photograph(PHOTOGRAPH)
    if name == "Pillow":
        return pytest.importorskip("PIL.Image").fromarray(pixels)
    if name == "OpenCV":
        return np.ascontiguousarray(pixels[:, :, ::-1])
    return judge("torch").from_numpy(pixels.transpose(2, 0, 1).copy())


def test_every_library_has_its_section():
    assert list(SECTIONS) == list(MODULES)


@pytest.mark.parametrize("name", SECTIONS)
def test_after_has_the_result_of_before(name):
    """Bytes are equal; floats are rounded twice more, at numbers up to 2.7, which allows 4 units of 2^-23."""
    judge(MODULES[name])
    judge("skimage")
    made = {}
    for block in re.findall(r"```python\n(.*?)```", SECTIONS[name], re.DOTALL):
        exec(compile(block, f"docs/replace_preprocessing.md, {name}", "exec"), made)
    image = image_for(name)
    expected = np.asarray(made["before"](image))
    assert np.array_equal(np.asarray(made["drop_in"](image)), expected)
    result = np.asarray(made["after"](image))
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    assert np.abs(result - expected).max() <= 2.0**-21


def test_the_picture_is_of_equal_results(vulkan_device, tmp_path):
    for module in MODULES.values():
        judge(module)
    judge("skimage")
    made = results(vulkan_device)
    assert list(made) == list(MODES)
    for like, (ours, own) in made.items():
        assert np.array_equal(ours, own), like
    # The comparison matters because Pillow's result differs from OpenCV's in most pixels.
    assert np.mean(made["pillow"][0] != made["opencv"][0]) > 0.5
    target = tmp_path / "profiles.png"
    assert main(["profiles", "--picture", str(target)]) == 0
    pictures = pytest.importorskip("PIL.Image")
    with pictures.open(target) as drawn, pictures.open(DOCS / "images" / "profiles.png") as shown:
        assert drawn.size == shown.size
