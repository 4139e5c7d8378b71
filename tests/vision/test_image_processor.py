"""rs.vision: what is read from configurations and images, how little is dispatched, and bits kept as hashes."""

import json
import pickle
import random
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.judges import judge

import restride as rs

judge("PIL.Image")
from make_vision_vectors import VECTORS, fingerprint  # noqa: E402
from PIL import Image, ImageOps  # noqa: E402 - after the judge
from support.vision_cases import CONFIGS, VECTOR_SIZES, pixels, processor_of, square, vectors  # noqa: E402 - it needs PIL

from restride.runtime.vulkan.runtime import PIECE_BYTES  # noqa: E402 - after the judge
from restride.vision import grids, sizes  # noqa: E402 - after the judge
from restride.vision.families import FAMILIES, REFUSED  # noqa: E402
from restride.vision.family import size_in_words  # noqa: E402
from restride.vision.options import COMMON  # noqa: E402

pytestmark = pytest.mark.usefixtures("vulkan_device")

CLIP = {"image_processor_type": "CLIPImageProcessor", "size": 40, "crop_size": 32}
KEPT = dict(line.split(": ", 1) for line in VECTORS.read_text(encoding="utf-8").splitlines() if line[0] != "#")


@pytest.fixture(scope="module")
def images():
    return [pixels(height, width, seed=place) for place, (height, width) in enumerate(VECTOR_SIZES)]


@pytest.mark.parametrize(("case", "family", "config"), [pytest.param(*each, id=each[0]) for each in vectors()])
def test_results_have_the_bits_that_were_kept(case, family, config, images):
    kept = json.loads(KEPT[case])
    if kept is None:
        with pytest.raises(rs.RestrideError):
            processor_of(family, config)(images)
        return
    assert json.loads(json.dumps(fingerprint(processor_of(family, config)(images)))) == kept


def test_every_family_has_configurations_and_vectors():
    without_a_judge = {"Qwen2_5_VL", "Ernie4_5_VL_Moe", "Qwen2VLVideo", "Qwen2_5_VLVideo"}
    without_a_judge |= {"Kimi_K25", "Sam2", "Sam3", "Llama4"}
    assert set(FAMILIES) - without_a_judge == set(CONFIGS)
    assert {case for case, *_ in vectors()} == set(KEPT)


def test_the_same_bits_on_each_runtime(device, images):
    for family in ("CLIP", "Qwen2VL", "Idefics3"):
        kept = json.loads(KEPT[f"{family} 1"])
        config = {"do_convert_rgb": True, **CONFIGS[family][1]}
        assert json.loads(json.dumps(fingerprint(processor_of(family, config)(images, device=device)))) == kept


# Few dispatches.

WITHOUT_TILES = ("CLIP", "Siglip", "ViT", "Qwen2VL", "PaddleOCRVL", "Chameleon", "ConvNext", "Llava", "DPT")


def copies(nbytes):
    """Submissions that copy so many bytes to or from a device: one for each 4 MiB, if its memory is its own."""
    return 0 if rs.default_device().info.kind in ("cpu", "integrated") else -(-nbytes // PIECE_BYTES)


def counted(processor, images, **arguments):
    """What one call adds to the counters: dispatches, submissions beside copies, bytes uploaded and downloaded."""
    device = rs.default_device()
    processor(images, **arguments)
    before = device.counters()
    results = processor(images, **arguments)
    after = device.counters()
    names = ("dispatches", "submissions", "uploaded", "downloaded")
    dispatches, submissions, *nbytes = (getattr(after, name) - getattr(before, name) for name in names)
    return [dispatches, submissions - sum(map(copies, nbytes)), *nbytes], results


@pytest.mark.parametrize("name", WITHOUT_TILES)
def test_an_image_without_tiles_takes_three_dispatches_and_one_submission(name):
    processor = processor_of(name, {"do_pad": name == "Llava"})
    image = pixels(300, 401)  # a smaller one takes a dispatch more on GPUs
    (dispatches, submissions, _, downloaded), results = counted(processor, image)
    assert (dispatches, submissions) == (3, 1)
    assert downloaded == results["pixel_values"].nbytes
    assert processor.plan((300, 401)).dispatches == 3


@pytest.mark.parametrize(("name", "config"), [(name, config) for name in CONFIGS for config in CONFIGS[name][:2]])
def test_a_plan_says_what_a_call_does(name, config):
    processor = processor_of(name, {**config, "do_convert_rgb": True})
    plan = processor.plan((83, 131))
    (dispatches, submissions, *_), results = counted(processor, pixels(83, 131))
    # A batch is handed over in parts, and each result of several is copied by itself.
    assert submissions <= len(results) + dispatches // 16
    assert plan.dispatches <= dispatches <= 2 * plan.dispatches
    assert plan.results == {
        key: value.shape if isinstance(value, np.ndarray) else None for key, value in results.items()
    }


def test_images_of_equal_sizes_are_computed_together():
    clip = processor_of("CLIP", {})
    images = [pixels(300, 401, seed=place) for place in range(5)]
    assert counted(clip, images)[0][:2] == [3, 1]
    qwen = processor_of("Qwen2VL", {})
    assert counted(qwen, images)[0][:2] == [3, 1]


def test_images_of_other_sizes_are_resized_alone_and_written_together():
    clip = processor_of("CLIP", {})
    images = [pixels(300, 401, seed=1), pixels(250, 260), pixels(300, 401, seed=2), pixels(400, 230)]
    assert counted(clip, [images[0], images[2], images[1], images[3]])[0][:2] == [7, 1], "two for each size, and one"
    assert counted(clip, images)[0][:2] == [8, 1], "images 0 and 2 are beside each other, where 1 is not"


@pytest.mark.parametrize("crop", [(224, 224), (16, 5), (64, 27), (5, 7)], ids=str)
def test_each_image_of_other_sizes_has_its_own_bits(crop):
    height, width = crop
    clip = processor_of(
        "CLIP", {"size": {"height": height + 9, "width": width + 6}, "crop_size": {"height": height, "width": width}}
    )
    images = [pixels(31, 40, seed=1), pixels(50, 26), pixels(31, 40, seed=2), pixels(height, width), pixels(17, 90)]
    together = clip(images)["pixel_values"]
    assert (together == np.concatenate([clip(image)["pixel_values"] for image in images])).all()


def test_a_call_uploads_images_once_and_downloads_results_once():
    images = [pixels(64, 64, seed=place) for place in range(3)]
    (_, _, uploaded, downloaded), results = counted(processor_of("CLIP", {}), images)
    assert 3 * 64 * 64 * 3 <= uploaded <= 3 * 64 * 64 * 3 + 64
    assert downloaded == results["pixel_values"].nbytes


def test_each_image_of_a_batch_has_its_own_bits(images):
    for name in ("CLIP", "Qwen2VL", "GotOcr2", "Idefics3"):
        config = {"do_convert_rgb": True, **CONFIGS[name][1]}
        together, alone = processor_of(name, config)(images), [processor_of(name, config)(image) for image in images]
        if name == "Idefics3":
            together["pixel_values"] = together["pixel_values"][0]
            alone = [{"pixel_values": each["pixel_values"][0]} for each in alone]
        assert (together["pixel_values"] == np.concatenate([each["pixel_values"] for each in alone])).all()


# What goes in.


def test_alpha_of_pillow_and_of_arrays_is_laid_over_white_by_different_rules():
    image = Image.frombytes("RGBA", (8, 8), pixels(8, 8, 4).tobytes())
    processor = rs.vision.processor(CLIP)
    white = Image.new("RGBA", image.size, "white")
    over = Image.alpha_composite(white, image).convert("RGB")
    assert (processor(image)["pixel_values"] == processor(over)["pixel_values"]).all()
    alpha = np.asarray(image)[..., 3:] / 255
    blended = np.round(alpha * np.asarray(image)[..., :3] + (1 - alpha) * 255).astype(np.uint8)
    assert (processor(np.asarray(image))["pixel_values"] == processor(blended)["pixel_values"]).all()


def test_a_file_is_turned_by_exif_and_an_opened_image_is_not(tmp_path):
    image = Image.fromarray(pixels(20, 30))
    exif = image.getexif()
    exif[0x0112] = 6
    path = tmp_path / "turned.png"
    image.save(path, exif=exif)
    processor = rs.vision.processor(CLIP)
    upright = ImageOps.exif_transpose(Image.open(path))
    assert (processor(path)["pixel_values"] == processor(upright)["pixel_values"]).all()
    assert (processor(Image.open(path))["pixel_values"] == processor(image)["pixel_values"]).all()
    assert (processor(str(path))["pixel_values"] != processor(image)["pixel_values"]).any()


def test_images_on_the_device_are_read_where_they_are(images):
    processor = rs.vision.processor(CLIP)
    expected = processor(images)["pixel_values"]
    resident = [rs.asarray(image) for image in images]
    (_, _, uploaded, _), results = counted(processor, resident)
    assert (results["pixel_values"] == expected).all()
    assert uploaded == 0
    first = rs.asarray(images[0].transpose(2, 0, 1)).copy()
    assert (processor(first)["pixel_values"] == expected[:1]).all()
    with pytest.raises(rs.UnsupportedError, match="an image on the device must be u8"):
        processor(rs.asarray(images[0].astype(np.float32)))


def test_images_of_two_devices_are_refused(images, vulkan_device):
    processor = rs.vision.processor(CLIP)
    with rs.Device() as other:
        x, y = rs.asarray(images[0], device=vulkan_device), rs.asarray(images[0], device=other)
        for call in (lambda: processor([x, y]), lambda: processor([x, images[0]], device=other)):
            with pytest.raises(rs.DescriptorError, match="images and device must be on one device, got "):
                call()


def test_images_of_one_tensor_are_computed_together():
    batch = np.stack([pixels(56, 84, seed=place) for place in range(6)])
    x, planes = rs.asarray(batch), rs.asarray(np.ascontiguousarray(batch.transpose(0, 3, 1, 2)))
    for name, config in (("CLIP", {}), ("Qwen2VL", {"do_resize": False})):
        processor = processor_of(name, config)
        of_one = counted(processor, x[:1])[0][0]
        for order, runs in (([0, 1, 2], 1), ([1, 2, 3, 4, 5], 1), ([0, 2, 4], 3), ([2, 1], 2), ([3, 3, 4, 0, 1], 3)):
            (count, *_), results = counted(processor, [x[place] for place in order])
            assert count == runs * of_one, order
            expected = processor(batch[order])["pixel_values"]
            assert (results["pixel_values"] == expected).all(), order
        others = rs.asarray(batch[::-1].copy())
        separate = processor([x[0], others[1]])["pixel_values"]  # where they would follow each other in one memory
        assert (separate == processor(batch[[0, 4]])["pixel_values"]).all()
        mixed = processor([x[0], x[1], *planes, batch[0], x[2]])["pixel_values"]
        assert (mixed == processor(batch[[0, 1, *range(6), 0, 2]])["pixel_values"]).all()


@pytest.mark.parametrize("name", ["Llava", "Qwen2VL", "Idefics3", "LlavaNext", "Sam"])
def test_images_on_the_device_and_on_the_host_go_together(name, images):
    processor = processor_of(name, {"do_convert_rgb": True, **CONFIGS[name][1]})
    expected = processor(images)
    results = processor([rs.asarray(images[0]), images[1], rs.asarray(images[2])])
    assert {key: value.tobytes() for key, value in results.items() if isinstance(value, np.ndarray)} == {
        key: value.tobytes() for key, value in expected.items() if isinstance(value, np.ndarray)
    }


def test_arrays_of_four_axes_in_lists_are_samples(images):
    batch = np.stack([images[0], images[2]])
    processor = processor_of("VideoMAE", {"size": 40, "crop_size": 32})
    expected = processor([list(batch), list(batch)])["pixel_values"]
    assert expected.shape == (2, 2, 3, 32, 32)
    for nested in ([batch, batch], [[batch], batch], [[batch[:1], batch[1]], [*batch]], [rs.asarray(batch), batch]):
        assert (processor(nested)["pixel_values"] == expected).all()


def test_tensors_of_torch_are_read_from_where_they_are():
    torch = judge("torch")
    processor = rs.vision.processor({**CLIP, "do_rescale": False})
    image = pixels(50, 60).astype(np.float32) / np.float32(255)
    expected = processor(image)["pixel_values"]
    assert (processor(torch.from_numpy(image).requires_grad_())["pixel_values"] == expected).all()
    narrow = torch.from_numpy(image).to(torch.bfloat16)
    assert (processor(narrow)["pixel_values"] == processor(narrow.float())["pixel_values"]).all()


def test_types_that_transformers_keeps_are_refused():
    processor = rs.vision.processor({**CLIP, "do_resize": False, "do_rescale": False, "do_normalize": False})
    assert processor(pixels(40, 40))["pixel_values"].dtype == np.uint8
    for dtype in ("i4", "f2", "f4", "f8"):
        with pytest.raises(rs.UnsupportedError, match="must be resized or rescaled"):
            processor(pixels(40, 40).astype(dtype))
    normalizes = rs.vision.processor({**CLIP, "do_resize": False, "do_rescale": False})
    assert (normalizes(pixels(40, 40).astype("i4"))["pixel_values"] == normalizes(pixels(40, 40))["pixel_values"]).all()
    with pytest.raises(rs.UnsupportedError, match="images of float64 must be resized or rescaled"):
        normalizes(pixels(40, 40).astype("f8"))


def test_channels_are_the_first_axis_where_it_may_be():
    processor = rs.vision.processor(CLIP)
    rows = pixels(3, 50)
    columns = processor(np.ascontiguousarray(rows.transpose(2, 0, 1)))["pixel_values"]
    last = rs.vision.processor({**CLIP, "input_data_format": "channels_last"})
    assert (last(rows)["pixel_values"] == columns).all()


# What comes out.


def test_element_types_are_rounded_once_from_f32(images):
    processor = rs.vision.processor(CLIP)
    whole = processor(images)["pixel_values"]
    assert (processor(images, dtype="f16")["pixel_values"] == whole.astype(np.float16)).all()
    narrow = processor(images, dtype="bf16")["pixel_values"]
    assert narrow.dtype.name == "bfloat16"
    assert (narrow == whole.astype(narrow.dtype)).all()
    with pytest.raises(rs.DescriptorError, match="dtype of pixels must be one of f32, f16, bf16, got u8"):
        processor(images, dtype="u8")


def test_results_stay_on_the_device_if_asked(images):
    processor = processor_of("Qwen2VL", {"max_pixels": 50_000})
    tensors = processor(images, return_tensors="restride")
    arrays = processor(images)
    assert isinstance(tensors["pixel_values"], rs.Tensor)
    assert isinstance(tensors["image_grid_thw"], np.ndarray)
    assert (tensors["pixel_values"].numpy() == arrays["pixel_values"]).all()


def test_results_as_tensors_of_torch(images):
    torch = judge("torch")
    processor = processor_of("Qwen2VL", {"max_pixels": 50_000})
    expected = processor(images)
    results = processor(images, return_tensors="pt")
    assert results["pixel_values"].dtype == torch.float32
    assert (results["pixel_values"].numpy() == expected["pixel_values"]).all()
    assert (results["image_grid_thw"].numpy() == expected["image_grid_thw"]).all()
    narrow = processor(images, return_tensors="pt", dtype="bf16")["pixel_values"]
    assert narrow.dtype == torch.bfloat16
    assert (narrow == results["pixel_values"].to(torch.bfloat16)).all()


def test_a_processor_says_its_steps_in_words():
    assert repr(rs.vision.processor(CLIP)) == (
        "<restride.vision CLIPImageProcessor: RGB, alpha over white (of files dropped); "
        "resized to shorter side 40 by Pillow's bicubic; "
        "centre 32 x 32; times 0.00392157; minus (0.48145466, 0.4578275, 0.40821073), divided by "
        "(0.26862954, 0.26130258, 0.27577711)>"
    )
    assert "multiples of patch_size" in repr(processor_of("Pixtral", {}))
    assert "resized to 3136 to 50000 pixels by" in repr(processor_of("Qwen2VL", {"max_pixels": 50000}))
    assert "resized to 16 to 20 tokens by" in repr(processor_of("Glm5Next", {"max_image_tokens": 20}))
    assert "resized to 28 x 28 by" in repr(processor_of("Qwen2VL", {"size": square(28)}))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_processor_has_the_name_of_its_class(name):
    class_name = f"{name}Processor" if name.endswith("Video") else f"{name}ImageProcessor"
    said = repr(rs.vision.processor({"image_processor_type": class_name}))
    assert said.startswith(f"<restride.vision {class_name}: ")
    with pytest.raises(rs.DescriptorError, match=rf"do_resize must be .*, for {class_name}$"):
        rs.vision.processor({"image_processor_type": class_name, "do_resize": 3})


def test_a_processor_pickles_as_its_configuration():
    again = pickle.loads(pickle.dumps(rs.vision.processor(CLIP)))
    assert repr(again) == repr(rs.vision.processor(CLIP))


def test_a_processor_keeps_a_copy_of_its_configuration():
    config = {**CLIP, "size": {"shortest_edge": 40}}
    processor = rs.vision.processor(config)
    config["size"]["shortest_edge"] = 0
    config["do_resize"] = "no"
    assert repr(pickle.loads(pickle.dumps(processor))) == repr(processor)


def test_a_plan_needs_no_device():
    plan = processor_of("Qwen2VL", {}).plan((1080, 1920))
    assert plan.resized == ((728, 1316),)
    assert plan.results == {"pixel_values": (52 * 94, 1176), "image_grid_thw": (1, 3)}
    tiles = processor_of("GotOcr2", {"size": 448, "crop_to_patches": True}).plan((480, 640))
    assert (tiles.resized, tiles.tiles) == (((1344, 1792), (448, 448)), 13)
    with pytest.raises(rs.DescriptorError, match="longer side must be at most 200 times its shorter one, got 1 x 201"):
        processor_of("Qwen2VL", {}).plan((1, 201))
    with pytest.raises(rs.DescriptorError, match="size must be height and width"):
        processor_of("CLIP", {}).plan((3, 0))


# Configurations.


def test_configurations_are_read_from_files_and_folders(tmp_path):
    image = pixels(50, 60)
    expected = rs.vision.processor(CLIP)(image)["pixel_values"]
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(CLIP))
    for config in (tmp_path, str(tmp_path), tmp_path / "preprocessor_config.json"):
        assert (rs.vision.processor(config)(image)["pixel_values"] == expected).all()
    (tmp_path / "processor_config.json").write_text(json.dumps({"processor_class": "CLIPProcessor"}))
    assert (rs.vision.processor(tmp_path)(image)["pixel_values"] == expected).all()
    nested = {"processor_class": "CLIPProcessor", "image_processor": {**CLIP, "size": 48}}
    (tmp_path / "processor_config.json").write_text(json.dumps(nested))
    assert rs.vision.processor(tmp_path).plan((50, 60)).resized == ((48, 57),)


@pytest.mark.parametrize(
    "name", ["CLIPImageProcessor", "CLIPImageProcessorFast", "CLIPImageProcessorPil", "CLIPFeatureExtractor"]
)
def test_old_names_of_a_class_are_understood(name):
    assert "CLIPImageProcessor" in repr(rs.vision.processor({"image_processor_type": name}))
    assert "CLIPImageProcessor" in repr(rs.vision.processor({"feature_extractor_type": name}))


def test_null_turns_a_default_off():
    grey = pixels(50, 60, 1)
    siglip = {"image_mean": 0.5, "image_std": 0.5, "size": 32}
    assert processor_of("Siglip", siglip).plan((50, 60)).results["pixel_values"] == (1, 3, 32, 38)
    channels = [processor_of("Siglip", {**siglip, "do_convert_rgb": on})(grey) for on in (True, None)]
    assert [each["pixel_values"].shape[1] for each in channels] == [3, 1]


def test_keys_without_effect_are_accepted():
    harmless = {"processor_class": "CLIPProcessor", "auto_map": {"AutoProcessor": "x"}, "_valid_processor_keys": []}
    assert repr(rs.vision.processor({**CLIP, **harmless})) == repr(rs.vision.processor(CLIP))
    without = {**CLIP, "do_normalize": False}
    assert repr(rs.vision.processor({**without, "image_std": 0})) == repr(rs.vision.processor(without))


def test_means_of_other_than_three_channels_go_with_images_that_have_them():
    """They are refused when the processor is made, unless it says where the channels are, which are then any number."""
    config = {**CLIP, "do_convert_rgb": True, "image_mean": [0.5, 0.5], "image_std": [0.5, 0.5]}
    with pytest.raises(rs.DescriptorError, match="image_mean must have 3 values where do_convert_rgb is true"):
        rs.vision.processor(config)
    with pytest.raises(rs.DescriptorError, match="image_std must have 3 values where do_convert_rgb is true"):
        rs.vision.processor({**config, "image_mean": 0.5})
    for harmless in ({"do_convert_rgb": None}, {"do_normalize": False}, {"input_data_format": "channels_last"}):
        assert rs.vision.processor({**config, **harmless})


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({**CLIP, "do_rezise": True}, "family does not know, for CLIPImageProcessor. Did you mean 'do_resize'?"),
        ({**CLIP, "image_size": 224}, "which this family does not know; it is size here, for CLIPImageProcessor"),
        ({**CLIP, "input_size": 224}, "which this family does not know; it is size here, for CLIPImageProcessor"),
        ({**CLIP, "mean": [0.5]}, "which this family does not know; it is image_mean here, for CLIPImageProcessor"),
        ({**CLIP, "std": [0.5]}, "which this family does not know; it is image_std here, for CLIPImageProcessor"),
        ({**CLIP, "patch_size": 14}, "key 'patch_size' = 14, which this family does not know"),
        ({**CLIP, "resample": 9}, "resample must be one of Pillow's numbers 0 (nearest), "),
        ({**CLIP, "do_resize": 1}, "do_resize must be true, false or null, got 1"),
        ({**CLIP, "size": {"tall": 3}}, "size must be an integer, [height, width] or have the keys"),
        ({**CLIP, "size": {"shortest_edge": -3}}, "size.shortest_edge must be a positive integer, got -3"),
        ({**CLIP, "image_mean": ["a"]}, "image_mean[0] must be a number, got 'a'"),
        ({**CLIP, "image_mean": [0.5, float("nan"), 0.5]}, "image_mean[1] must be finite, got nan"),
        ({**CLIP, "rescale_factor": 10**400}, "rescale_factor must be finite, got 1000"),
        ({**CLIP, "rescale_factor": float("nan")}, "rescale_factor must be finite, got nan"),
        ({**CLIP, "rescale_factor": None}, "rescale_factor must be a number, got None"),
        ({**CLIP, "image_std": [0.5, 1e-50, 0.5]}, "image_std must not be 0 as f32, got [0.5, 1e-50, 0.5]"),
        ({**CLIP, "image_std": 0}, "image_std must not be 0 as f32, got 0, for CLIPImageProcessor"),
        ({"image_processor_type": "FlavaImageProcessor", "codebook_image_std": [0, 1, 1]}, "codebook_image_std must"),
        ({**CLIP, "image_std": None}, "image_mean and image_std must not be null where do_normalize is true"),
        ({**CLIP, "input_data_format": "last"}, "input_data_format must be channels_first, channels_last or null"),
        ({"size": 3}, "image_processor_type must name a class, such as CLIPImageProcessor, got None"),
        ({"image_processor": 3}, "image_processor of a configuration must be a dictionary, got 3"),
        (3, "config must be a dictionary, a file or a folder, got 3"),
        (SimpleNamespace(to_dict=dict), "its .to_dict() is one, and rs.compat.transformers.accelerate takes it"),
        ("no such file.json", "cannot read the configuration no such file.json"),
        (
            "openai/clip-vit",
            "configuration openai/clip-vit: No such file or directory; nothing is fetched",
        ),
    ],
)
def test_bad_configurations_are_refused_by_name(config, message):
    with pytest.raises(rs.DescriptorError) as error:
        rs.vision.processor(config)
    assert message in str(error.value)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_value_of_any_key_is_taken_or_refused(name):
    family = FAMILIES[name]
    for key in {**COMMON, **family.defaults}:
        for value in (None, 0, -1, 300, 0.5, "no", [300, 0, 0], {}, float("nan")):
            try:
                rs.vision.processor({"image_processor_type": family.class_name, key: value}).plan((83, 131))
            except rs.RestrideError:
                continue
            except Exception as error:
                error.add_note(f"{key}: {value!r}")
                raise


def test_classes_that_are_not_done_say_why():
    with pytest.raises(rs.UnsupportedError, match=r"'CLIPImageProcesor' is .*\. Did you mean 'CLIP'\?"):
        rs.vision.processor({"image_processor_type": "CLIPImageProcesor"})
    with pytest.raises(rs.UnsupportedError, match=r"'BrandNewImageProcessor' is not known; known are .*CLIP.*Qwen2VL"):
        rs.vision.processor({"image_processor_type": "BrandNewImageProcessor"})
    with pytest.raises(rs.UnsupportedError, match=r"'CLPImageProcessor' is not known; .*\. Did you mean 'CLIP'\?"):
        rs.vision.processor({"image_processor_type": "CLPImageProcessor"})
    for name, reason in REFUSED.items():
        with pytest.raises(rs.UnsupportedError) as error:
            rs.vision.processor({"image_processor_type": f"{name}ImageProcessorFast"})
        assert reason in str(error.value)


def test_a_folder_without_a_configuration_is_refused(tmp_path):
    with pytest.raises(rs.DescriptorError, match=r"has no preprocessor_config\.json, and no processor_config\.json"):
        rs.vision.processor(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text("[1]")
    with pytest.raises(rs.DescriptorError, match="must be a dictionary"):
        rs.vision.processor(tmp_path)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ([], "images must hold at least one image, got []"),
        ([np.zeros((4, 4), np.uint8)], "images[0]: an image must have 3 axes, got sizes (4, 4): image[..., None] has"),
        ([np.zeros((5, 5, 7), np.uint8)], "images[0]: an image must have 1, 3 or 4 channels on its first or last axis"),
        (["a", 3], "images[0]: cannot read the image 'a': No such file or directory"),
        ([b"text"], "BMP, TIFF, GIF are read, and images that PIL.Image.open has read are taken"),
        ([b""], "images[0]: cannot read 0 bytes: it is empty"),
        (["a" * 80, 3], f"images[0]: cannot read the image '{'a' * 80}': "),  # whole, however long it is
        ([np.zeros((4, 4, 3), np.uint8), __file__], f"images[1]: cannot read {__file__}: "),
        (np.full((5, 5, 3), np.nan), "images[0]: elements of an image must be 0 to 255, got nan to nan of float64"),
        (np.full((5, 5, 3), np.inf), "images[0]: elements of an image must be 0 to 255, got inf to inf of float64"),
        (np.zeros((5, 5, 3), "bfloat16"), "integers or floats, got bfloat16: convert it to u8 or f32"),
        ([[np.ones((4, 4, 3), "u1")], np.ones((4, 4, 3), "u1")], "images[0]: a list beside images is no image"),
        (3, "images[0]: an image must be of Pillow, an array, a tensor or a path, got 3 (int)"),
        (np.full((5, 5, 3), 256), "images[0]: elements of an image must be 0 to 255, got 256 to 256 of int64"),
        (np.full((5, 5, 3), 256, np.uint16), "got 256 to 256 of uint16: (image >> 8).astype(np.uint8) makes 8 bits"),
        (np.full((5, 5, 3), 1.5), "floats of an image must be 0 to 1, or whole and 0 to 255, got 1.5 to 1.5"),
        (np.zeros((5, 0, 3), np.uint8), "images[0]: an image must have pixels, got sizes (5, 0, 3)"),
    ],
)
def test_bad_images_are_refused_by_place(images, message):
    with pytest.raises(rs.DescriptorError) as error:
        rs.vision.processor(CLIP)(images)
    assert message in str(error.value)


def test_16_bits_that_pillow_makes_white_are_warned_of(tmp_path):
    image = pytest.importorskip("PIL.Image").fromarray(np.full((40, 40), 60000, np.uint16))
    path = tmp_path / "deep.png"
    image.save(path)
    clip = rs.vision.processor(CLIP)
    white = clip(np.full((40, 40, 3), 255, np.uint8))["pixel_values"]
    for deep, name in ((path, f"the image '{path}'"), (image, "an image of Pillow")):
        with pytest.warns(UserWarning, match=re.escape(name)[:40]):
            assert np.array_equal(clip(deep)["pixel_values"], white)
    rs.vision.processor(CLIP)(image.point(lambda code: code * 0 + 255))  # a warning would be an error


@pytest.mark.parametrize(("name", "config"), [("CLIP", {"do_center_crop": False}), ("GLPN", {}), ("TextNet", {})])
def test_images_that_cannot_be_stacked_are_refused_with_a_remedy_that_helps(name, config):
    processor, unequal = processor_of(name, config), [pixels(64, 70), pixels(50, 200)]
    with pytest.raises(rs.DescriptorError, match="pass images of equal sizes, or pass them one by one, for"):
        processor(unequal)
    processor([unequal[0], unequal[0]])
    apart = [processor(image)["pixel_values"][0] for image in unequal]
    lists = processor(unequal, return_tensors=None)["pixel_values"]
    assert all(np.array_equal(one, other) for one, other in zip(lists, apart, strict=True))


def test_an_error_of_an_operation_names_the_class():
    with pytest.raises(rs.UnsupportedError, match=r"^MllamaImageProcessor: like computes the weights of a whole axis"):
        processor_of("Mllama", {})(np.zeros((9_999_999, 1, 3), np.uint8))


def test_floats_of_0_to_1_that_are_rescaled_too_are_warned_of():
    image = pixels(50, 60)
    floats = image.astype(np.float32) / np.float32(255)
    with pytest.warns(UserWarning, match="do_rescale multiplies these by 0.00392157 too") as warned:
        rs.vision.processor(CLIP)([image, floats])
    assert warned[0].filename == __file__
    as_they_are = rs.vision.processor({**CLIP, "do_rescale": False})(floats)["pixel_values"]
    of_bytes = rs.vision.processor(CLIP)(image)["pixel_values"]
    assert np.allclose(as_they_are, of_bytes, atol=0.02)  # a step is 1 / 255 / std
    once = rs.vision.processor({**CLIP, "rescale_factor": 1})(floats)["pixel_values"]
    assert np.array_equal(once, as_they_are)


# Rules.


def test_sizes_are_rounded_half_to_even():
    assert sizes.multiples(720, 32, 28, 3136, 1 << 30) == (728, 28)
    assert sizes.multiples(70, 98, 28, 1, 1 << 30) == (56, 112)


def test_grids_of_one_ratio_have_more_tiles_only_if_the_image_has_half_filled_them():
    found = [grids.closest_ratio(side, side, (448, 448), 1, 12) for side in (100, 700, 1000)]
    assert found == [(1, 1), (2, 2), (3, 3)]


def test_a_video_has_patches_of_several_frames():
    frames = [pixels(60, 90, seed=place) for place in range(5)]
    budget = {"min_pixels": 3000, "max_pixels": 8000}
    video = rs.vision.processor({"video_processor_type": "Qwen2VLVideoProcessor", **budget})
    apart = processor_of("Qwen2VL", {"temporal_patch_size": 1, **budget})(frames)
    rows, columns = apart["image_grid_thw"][0, 1:]
    patches = apart["pixel_values"].reshape(5, rows * columns, 3, 14, 14)
    expected = np.stack([patches[[0, 2, 4]], patches[[1, 3, 4]]], axis=3).reshape(3 * rows * columns, -1)
    for videos in (frames, np.stack(frames), [frames]):
        results = video(videos)
        assert list(results) == ["pixel_values_videos", "video_grid_thw"]
        assert results["video_grid_thw"].tolist() == [[3, rows, columns]]
        assert (results["pixel_values_videos"] == expected).all()
    both = video([frames[:2], frames[:1]])
    assert both["video_grid_thw"].tolist() == [[1, rows, columns]] * 2
    with pytest.raises(rs.DescriptorError, match="frames of a video must have equal sizes"):
        video([pixels(60, 90), pixels(60, 190)])


def test_the_frames_of_a_video_are_written_together():
    frames = [pixels(60, 90, seed=place) for place in range(5)]
    video = rs.vision.processor({"video_processor_type": "Qwen2VLVideoProcessor", "min_pixels": 3000})
    of_two = counted(video, frames[:2])[0][0]
    assert counted(video, frames[:4])[0][0] == counted(video, [frames[:2], frames[2:4]])[0][0] == of_two
    assert counted(video, frames)[0][0] == of_two + 1, "the last frame, twice"


def resized(image, height, width, mode):
    return np.asarray(Image.fromarray(image).resize((width, height), mode))


def test_families_of_torchvision_have_its_arithmetic_after_pillows_resize():
    torch = judge("torch")
    image = pixels(70, 100)
    factor, mean, std = 1 / 255, torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    small = torch.from_numpy(resized(image, 40, 40, Image.BILINEAR).transpose(2, 0, 1).copy()).float()
    fused = [(value * (1.0 / factor))[:, None, None] for value in (mean, std)]
    results = processor_of("Sam2", {"size": 40})(image)
    assert list(results) == ["pixel_values", "original_sizes"]
    assert results["original_sizes"].tolist() == [[70, 100]]
    assert (results["pixel_values"][0] == small.sub(fused[0]).div(fused[1]).numpy()).all()


def test_a_factor_that_is_divided_by_is_not_0():
    with pytest.raises(rs.DescriptorError, match="rescale_factor must not be 0 where do_normalize is true"):
        processor_of("Sam2", {"size": 40, "rescale_factor": 0})(pixels(70, 100))


@pytest.mark.parametrize("name", ["Janus", "Llava"])
def test_a_mean_that_is_no_colour_is_not_laid_around(name):
    with pytest.raises(rs.DescriptorError, match=r"image_mean must be 0 to 1 for do_pad, got \(300.0, 0.0, 0.0\)"):
        processor_of(name, {"do_pad": True, "image_mean": [300, 0, 0]}).plan((70, 100))


def test_llama4_has_tiles_in_bf16_and_the_whole_image_behind():
    torch = judge("torch")
    image = pixels(70, 100)
    results = processor_of("Llama4", {"size": 40})(image)
    assert results["aspect_ratios"].tolist() == [[2, 3]]
    canvas = np.zeros((80, 120, 3), np.uint8)
    canvas[:70, :100] = image
    tiles = [canvas[row : row + 40, column : column + 40] for row in (0, 40) for column in (0, 40, 80)]
    planes = torch.from_numpy(np.stack([*tiles, resized(image, 40, 40, Image.BILINEAR)]).transpose(0, 3, 1, 2).copy())
    half = torch.full((3, 1, 1), 0.5, dtype=torch.bfloat16)
    expected = (planes.to(torch.bfloat16) * (1 / 255)).sub(half).div(half)
    assert results["pixel_values"].dtype.name == "bfloat16"
    assert (results["pixel_values"].astype(np.float32) == expected.float().numpy()).all()


def test_kimi_has_patches_of_a_padded_image():
    results = processor_of("Kimi_K25", {"max_patches": 20})(pixels(70, 100))
    assert results["image_grid_thw"].tolist() == [[1, 4, 6]]
    assert results["pixel_values"].shape == (24, 3, 14, 14)
    whole = results["pixel_values"].reshape(4, 6, 3, 14, 14).transpose(2, 0, 3, 1, 4).reshape(3, 56, 84)
    height, width = 52, 75
    small = resized(pixels(70, 100), height, width, Image.BICUBIC).transpose(2, 0, 1)
    assert abs(whole[:, :height, :width] - (small / 127.5 - 1)).max() < 1e-6
    assert (whole[:, height:] == -1).all()


def test_a_side_that_becomes_0_is_refused():
    with pytest.raises(rs.DescriptorError, match="would become one of 0 x 10: both sides must be 1 or more"):
        processor_of("RTDetr", {"size": {"max_height": 10, "max_width": 10}}).plan((1, 1000))


def test_grids_of_every_ratio_fit_their_limits():
    draw = random.Random(0)
    for _ in range(300):
        height, width = draw.randint(1, 3000), draw.randint(1, 3000)
        rows, columns = grids.closest_ratio(height, width, (448, 448), 2, 12)
        assert 2 <= rows * columns <= 12
        assert np.prod(grids.covering(height, width, 448, 9)) <= 9
        assert np.prod(grids.enlarging(height, width, 560, 4)) <= 4
        sliced = grids.sliced(height, width, 448, 9)
        assert sliced is None or 1 < sliced[0] * sliced[1] <= 9


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("CLIP", {"size": 32, "crop_size": 32}),
        ("Qwen2VL", {"max_pixels": 20_000}),
        ("Qwen2VLVideo", {"max_pixels": 20_000}),  # the last frame is repeated
        ("MiniCPMV4_6", {"scale_resolution": 56}),  # images are beside each other in memory
        ("LlavaNext", {"size": 24, "crop_size": 24, "image_grid_pinpoints": [[24, 48], [48, 24]]}),
        ("Idefics3", {"size": {"longest_edge": 96}, "max_image_size": {"longest_edge": 48}}),
        ("Detr", {"size": {"shortest_edge": 30, "longest_edge": 50}}),  # zeros up to the largest image of all
        ("Aria", {"max_image_size": 490}),
        ("DeepseekOcr2", {}),  # only parts with a large image have tiles
    ],
)
def test_parts_have_the_results_of_one_call(name, config):
    kind = "Processor" if name.endswith("Video") else "ImageProcessor"
    process = rs.vision.processor({"image_processor_type": f"{name}{kind}", **config})
    sizes = [(40, 50)] * 5 if name.endswith("Video") else [(40, 50), (90, 60), (40, 50), (50, 120), (60, 60)]
    sizes[0] = (800, 900) if name == "DeepseekOcr2" else sizes[0]
    images = [pixels(*size) for size in sizes]
    whole, parts = process(images), process.in_parts([images[:2], images[2:4], images[4:]])
    assert list(parts) == list(whole)
    for key in whole:
        right, made = np.asarray(whole[key]), np.asarray(parts[key])
        assert (made.dtype, made.shape, made.tobytes()) == (right.dtype, right.shape, right.tobytes()), key
    with pytest.raises(rs.DescriptorError, match=r"^images\[2\]: "):
        process.in_parts([images[:2], [np.zeros((4, 4), np.uint8)]])
    for part in ([images[:2]], images[0], 5, "photo.png"):
        with pytest.raises(rs.DescriptorError, match="each part must be a list of images, got"):
            process.in_parts([part])
    for parts in (5, "photo.png"):
        with pytest.raises(rs.DescriptorError, match="parts must be lists of images, got"):
            process.in_parts(parts)


@pytest.mark.parametrize(
    ("name", "least"), [("CLIP", 1), ("Detr", 1), ("Idefics3", 0.6), ("Mllama", 0.85), ("Siglip2", 1)]
)
@pytest.mark.parametrize("size", [(480, 640), (1080, 1920)])
def test_a_plan_says_what_an_image_takes_of_the_device(name, least, size, vulkan_device):
    """A plan counts a computed picture as words and as bytes: less is taken where large ones need only one of them."""
    process = processor_of(name, {})
    planned = process.plan(size).nbytes
    with rs.Device() as device:
        process(np.zeros((*size, 3), np.uint8), device=device)
        taken = device.counters().bytes_allocated
    assert least * planned < taken
    assert vulkan_device.info.kind != "cpu" or taken < 1.1 * planned + 1e6  # memory is taken by the MiB


@pytest.mark.usefixtures("vulkan_device")
def test_a_call_that_has_no_room_advises_fewer_images():
    clip, recipe = processor_of("CLIP", {}), rs.Preprocess((600, 600))
    images = [np.zeros((600, 600, 3), np.uint8)] * 16
    with rs.Device(memory_limit=10_000_000) as device:
        resident = [rs.asarray(image, device=device) for image in images[:3]]
        boxes, numbers = [(0, 0, 600, 600)] * 12, [0, 1, 2] * 4
        crops = partial(rs.crop_resize, resident, boxes, (600, 600), images=numbers, axes=(0, 1))
        for call in (lambda: clip(images, device=device), lambda: recipe(resident), crops):
            with pytest.raises(rs.OutOfDeviceMemory, match="a call of fewer or smaller images takes less") as error:
                call()
            assert "rs.stream" not in str(error.value)


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "vision.md").read_text(encoding="utf-8")


def test_the_page_runs():
    made = {}
    before = PAGE.partition("\n## Recipes\n")[0]  # tests/docs/test_vision.py runs these
    for block in re.findall(r"```python\n(.*?)```", before, re.DOTALL):
        exec(compile(block, "docs/vision.md", "exec"), made)


def test_the_page_names_the_families_whose_integer_size_is_a_shorter_side():
    sentence = re.search(r"which is the default for (.*?)\.", PAGE, re.DOTALL)
    shorter = {
        name
        for name, family in FAMILIES.items()
        if family.defaults.get("default_to_square") is False and family.size_words is size_in_words
    }
    assert set(re.split(r",\s+|\s+and\s+", sentence[1])) == shorter


def test_the_page_names_every_family_and_every_class_that_is_refused():
    aliases = {"Qwen2_5_VL", "Ernie4_5_VL_Moe", "Qwen2_5_VLVideo"}
    parts = re.search(r"\| families \|(.*?)\nNot done: (.*?) The rules of (.*?) are not written here", PAGE, re.DOTALL)
    table, refused, unwritten = (set(re.findall(r"\w+", part)) for part in parts.groups())
    assert set(FAMILIES) - aliases <= table
    assert set(REFUSED) <= refused
    assert not unwritten & set(FAMILIES)
