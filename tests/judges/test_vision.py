"""rs.vision beside transformers' PIL backend: keys, sizes, types and bits, and what both refuse."""

import json
import random
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from support.vision_cases import CONFIGS, drawn_config, drawn_image, drawn_images, pixels, processor_of
from support.vision_judge import judged, modules

import restride as rs
from restride.vision.families import FAMILIES

pytestmark = [
    pytest.mark.usefixtures("vulkan_device"),
    pytest.mark.filterwarnings("ignore:.* has 16 bits, and Pillow's conversion"),
    pytest.mark.filterwarnings("ignore:images have floats of 0 to 1"),
]

ROUNDS = 12

PAGE = Path(__file__).resolve().parents[2] / "docs" / "vision.md"

NESTED = ("VideoMAE", "LlavaOnevision", "Idefics2", "Idefics3", "Mllama", "Fuyu")
"""Families whose results tell samples apart."""

OURS = (
    "whose last one is alpha",  # Pillow weights colours by an alpha that stays
    "images of floats",  # which transformers resizes more than once, or not at all
    "has no pixels",  # transformers stretches parts without pixels
    "elements of an image must be",  # 16 bits that are not resized
    "floats of an image must be",  # fractions that are not resized
    "must be resized or rescaled",  # other types, which stay
)
"""Refusals of images that transformers takes, as docs/vision.md says."""


def require_same(expected, results):
    assert list(results) == list(expected)
    for key, value in expected.items():
        if isinstance(value, np.ndarray):
            assert (key, results[key].dtype, results[key].shape) == (key, value.dtype, value.shape)
            assert results[key].tobytes() == value.tobytes(), f"{key} differs"
        else:
            assert results[key] == value, key


def compare(name, config, images):
    """The same results, or a refusal of both. Returns whether there were results."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = dict(judged(name, config)(images, return_tensors="np"))
    except Exception:  # noqa: BLE001 - whatever transformers raises is a refusal
        expected = None
    if expected is not None and any(getattr(value, "dtype", None) == np.dtype(object) for value in expected.values()):
        expected = None  # different arrays in an array of objects, which no model takes
    try:
        results = processor_of(name, config)(images)
    except rs.RestrideError as error:
        if expected is None or any(part in str(error) for part in OURS):
            return False
        raise
    assert expected is not None, "transformers refuses"
    require_same(expected, results)
    return True


@pytest.mark.parametrize("name", CONFIGS)
def test_random_images_have_the_bits_of_transformers(name):
    draw = random.Random(name)
    equal = sum(compare(name, drawn_config(draw, name), drawn_images(draw)) for _ in range(ROUNDS))
    assert equal, "all are refused"


EVERY_MODE = "1 L P PA LA La RGB RGBA RGBa RGBX CMYK YCbCr LAB HSV I F I;16 I;16B I;16L I;16N"


@pytest.mark.parametrize("mode", EVERY_MODE.split())
@pytest.mark.parametrize("name", ["CLIP", "ViT", "Qwen2VL"])
def test_every_mode_of_pillow_has_the_bits_of_transformers_or_is_refused(name, mode):
    image = pytest.importorskip("PIL.Image").new(mode, (61, 47))
    compare(name, {}, image)
    assert compare(name, {}, [image.convert("RGB")]) if mode not in ("La", "PA") else True


@pytest.mark.parametrize(
    "name", ["CLIP", "Siglip", "ViT", "Qwen2VL", "Gemma3", "Sam", "Pixtral", "GotOcr2", "RTDetr", "Aria", "Siglip2"]
)
def test_the_defaults_of_a_family(name):
    image = np.random.default_rng(len(name)).integers(0, 256, (333, 500, 3), np.uint8)
    assert compare(name, {}, [image, image[:200], image])


def test_the_page_names_every_class_of_the_pil_backend():
    assert set(modules()) - set(FAMILIES) <= set(re.findall(r"\w+", PAGE.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", CONFIGS)
def test_files_that_transformers_writes_are_accepted(name):
    written = json.loads(judged(name, {}).to_json_string())
    assert repr(rs.vision.processor(written)) == repr(processor_of(name, {}))


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("Janus", "background_color", [1, 2, 3]),
        ("DeepseekVL", "background_color", [1, 2, 3]),
        ("Mask2Former", "_max_size", 70),
        ("MaskFormer", "reduce_labels", True),
        ("Donut", "random_padding", True),
        ("Beit", "reduce_labels", True),
        ("Segformer", "reduce_labels", True),
        ("LlavaNext", "aspect_ratio_setting", "square"),
        ("LlavaOnevision", "aspect_ratio_setting", "anyres"),
        ("Blip", "size_divisor", 32),
        ("SmolVLM", "video_sampling", {"fps": 1}),
        ("Flava", "codebook_do_convert_rgb", False),
        ("CLIP", "use_fast", True),
        ("CLIP", "num_labels", 3),
        ("CLIP", "id2label", {"0": "a"}),
        ("CLIP", "label2id", {"a": 0}),
        ("CLIP", "patch_size", None),
    ],
)
def test_keys_without_effect_have_none_in_transformers_either(name, key, value):
    config = {"do_convert_rgb": True, **CONFIGS[name][0]}
    expected = dict(judged(name, config)(pixels(83, 131), return_tensors="np"))
    results = dict(judged(name, {**config, key: value})(pixels(83, 131), return_tensors="np"))
    assert {key: np.array(each).tobytes() for key, each in expected.items()} == {
        key: np.array(each).tobytes() for key, each in results.items()
    }
    assert compare(name, {**config, key: value}, pixels(83, 131))


@pytest.mark.parametrize("name", NESTED)
def test_lists_of_lists_are_samples(name):
    draw = random.Random(name)
    equal = 0
    for counts in ((2, 1), (1, 1), (3, 3)):
        samples = [[drawn_image(draw, 150) for _ in range(count)] for count in counts]
        equal += compare(name, {"do_convert_rgb": True, **draw.choice(CONFIGS[name])}, samples)
    assert equal


@pytest.mark.parametrize("name", [name for name in NESTED if name != "LlavaOnevision"])
def test_lists_of_arrays_of_four_axes_are_samples(name):
    config = {"do_convert_rgb": True, **CONFIGS[name][0]}
    batch = np.stack([pixels(50, 60, seed=seed) for seed in range(2)])
    assert compare(name, config, [batch, batch])
    assert compare(name, config, [batch])
    assert name == "Fuyu" or compare(name, config, batch)  # of which transformers' Fuyu makes one image


@pytest.mark.parametrize("dtype", ["u1", "u2", "i4", "f2", "f4", "f8"])
@pytest.mark.parametrize("flags", [{}, {"do_rescale": False}, {"do_rescale": False, "do_normalize": False}])
@pytest.mark.parametrize("name", ["CLIP", "Qwen2VL", "GLPN", "EfficientNet", "Fuyu", "Idefics2"])
def test_types_that_are_not_resized_are_equal_or_refused(name, flags, dtype):
    config = {"do_convert_rgb": True, "do_pad": False, **CONFIGS[name][0], **flags, "do_resize": False}
    config["do_center_crop"] = False
    equal = compare(name, config, pixels(112, 112).astype(dtype))
    assert equal or (dtype != "u1" and flags)


@pytest.mark.parametrize("dtype", ["i4", "f4"])
def test_a_resize_to_the_same_size_makes_bytes(dtype):
    config = {"size": 32, "crop_size": 32, "do_rescale": False, "do_normalize": False}
    assert compare("CLIP", config, pixels(32, 32).astype(dtype))


@pytest.mark.parametrize("is_square", [True, False, None])
def test_an_integer_size_is_a_square_if_the_configuration_says_so(is_square):
    assert compare("ViT", {"size": 40, "default_to_square": is_square}, pixels(50, 60))


@pytest.mark.parametrize("config", [{"resample": 0}, {"resample": None}, {"resample": 2}])
def test_the_nearest_filter_of_donuts_thumbnail_is_bicubic(config):
    config = {"size": {"height": 40, "width": 60}, "do_resize": False, "do_pad": False, **config}
    assert compare("Donut", config, pixels(90, 130))


@pytest.mark.parametrize(("name", "config"), [("Qwen2VL", {"max_pixels": 600_000}), ("CLIP", {}), ("Idefics3", {})])
def test_a_large_image(name, config):
    assert compare(name, config, np.random.default_rng(0).integers(0, 256, (1080, 1500, 3), np.uint8))


def test_paths_are_read_as_transformers_reads_them(tmp_path):
    draw = random.Random(0)
    paths = []
    for place, orientation in enumerate((1, 3, 6, 8)):
        image = drawn_image(draw).copy()
        while isinstance(image, np.ndarray) or image.mode not in ("RGB", "RGBA", "L"):
            image = drawn_image(draw).copy()
        exif = image.getexif()
        exif[0x0112] = orientation
        paths.append(str(tmp_path / f"{place}.png"))
        image.save(paths[-1], exif=exif)
    assert compare("CLIP", {}, paths)
    assert compare("Qwen2VL", {}, paths[2])


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("CLIP", {"size": {"height": 20}}),
        ("CLIP", {"size": {"shortest_edge": 0}}),
        ("CLIP", {"crop_size": None}),
        ("CLIP", {"rescale_factor": None}),
        ("CLIP", {"image_mean": None}),
        ("CLIP", {"image_std": [0.5, 0.5]}),
        ("Qwen2VL", {"size": {"height": 28, "width": 28}}),
        ("ConvNext", {"size": {"height": 28, "width": 28}}),
        ("Mllama", {"size": {"height": 28, "width": 30}}),
        ("Mllama", {"do_pad": False}),
        ("Gemma4", {"max_soft_tokens": 100}),
        ("Aria", {"max_image_size": 500}),
    ],
)
def test_configurations_that_both_refuse(name, config):
    assert not compare(name, {"do_convert_rgb": True, **config}, np.zeros((30, 40, 3), np.uint8))


@pytest.mark.parametrize("sizes", [(2, 403, 3), (900, 4, 3), (2, 2, 5), (0, 4, 3), (4, 4), (2, 3, 4, 4, 3)])
def test_images_that_both_refuse(sizes):
    assert not compare("Qwen2VL", {}, np.zeros(sizes, np.uint8))


@pytest.mark.parametrize("value", [256, -1])
def test_integers_outside_a_byte_are_refused_by_both(value):
    assert not compare("CLIP", {}, np.full((30, 40, 3), value, np.int32))
