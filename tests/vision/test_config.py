"""Configurations of strangers: whatever a file or a dictionary says takes little memory, or is a typed error.

lab/reliability/fuzz.py measures the time too.
"""

import json
import os
import random
import socket
from pathlib import Path

import numpy as np
import pytest
from support.judges import judge
from support.sampled import sample

import restride as rs

judge("PIL.Image")
from support.vision_cases import processor_of, square  # noqa: E402 - it needs PIL

from restride.vision import grids  # noqa: E402 - after the judge
from restride.vision.config import MAX_BYTES, MAX_DEPTH, MAX_VALUES, read_config  # noqa: E402
from restride.vision.families import FAMILIES  # noqa: E402
from restride.vision.options import COMMON, MAX_CANVASES, MAX_PIXELS, MAX_SIDE  # noqa: E402
from restride.vision.picture import MAX_ELEMENTS, MAX_TILES  # noqa: E402

CLIP = {"image_processor_type": "CLIPImageProcessor"}
IMAGE = np.arange(105, dtype=np.uint8).reshape(5, 7, 3)
MEBIBYTES = 64


def of(name, **config):
    return processor_of(name, config)


# Files.


def fifo(path):
    os.mkfifo(path)
    return path


def listening(path):
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(path))
    return path


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (fifo, "cannot read the configuration {path}: not a file"),
        (listening, "cannot read the configuration {path}: "),
        (lambda _: "/dev/zero", "cannot read the configuration /dev/zero: not a file"),
        (lambda path: f"{path}\0", "cannot read the configuration {path}\0: "),
        (os.fsencode, "config must be a dictionary, a file or a folder, got b'"),
    ],
)
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path, made, message):
    path = tmp_path / "config.json"
    with pytest.raises(rs.DescriptorError) as error:
        rs.vision.processor(made(path))
    assert message.format(path=path) in str(error.value)


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path):
    fifo(tmp_path / "preprocessor_config.json")
    with pytest.raises(rs.DescriptorError, match=r"preprocessor_config\.json: not a file"):
        rs.vision.processor(tmp_path)


def test_a_large_file_is_not_read_whole(tmp_path):
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(rs.DescriptorError, match=f"it has more than {MAX_BYTES} bytes"):
        rs.vision.processor(path)
    path.write_text(json.dumps(CLIP).ljust(MAX_BYTES))
    rs.vision.processor(path)


HOSTILE_TEXTS = {
    "[" * 200_000: "must not nest more than 32 levels deep",
    '{"size": ' + "[" * 900 + "]" * 900 + "}": "'size' of a configuration must not nest more than 32 levels deep",
    '{"size": ' + "9" * 5000 + "}": "size must be an integer, [height, width] or have the keys",
    '{"size": ' + "9" * 400 + "}": "size.shortest_edge must be at most 2147483647, got 9999999999",
    '{"size": {"shortest_edge": ' + "9" * 5000 + "}}": "size.shortest_edge must be a positive integer, got '99999",
    '{"rescale_factor": ' + "9" * 5000 + "}": "rescale_factor must be a number, got '99999",
    '{"rescale_factor": 1e400}': "rescale_factor must be finite, got inf",
    '{"rescale_factor": NaN}': "rescale_factor must be finite, got nan",
    '{"size": -Infinity}': "size must be an integer, [height, width] or have the keys",
    '{"image_mean": [' + "0," * 70_000 + "0]}": f"must have at most {MAX_VALUES} values, and has more in 'image_mean'",
    '{"a": 1': "is no JSON: ",
    "\ufeff{}": "is no JSON: ",
    "[" + "[]," * 100_000 + "[]]": "must be a dictionary, got [[], [], ",
}


@pytest.mark.parametrize("text", HOSTILE_TEXTS, ids=lambda text: text[:20])
def test_hostile_texts_are_refused_by_key_and_value(tmp_path, text):
    path = tmp_path / "config.json"
    path.write_text(text.replace("{", '{"image_processor_type": "CLIPImageProcessor", ', 1), encoding="utf-8")
    with pytest.raises(rs.DescriptorError) as error:
        rs.vision.processor(path)
    assert HOSTILE_TEXTS[text] in str(error.value)
    assert len(str(error.value)) < 500


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(json.dumps(CLIP).encode("utf-16"))
    with pytest.raises(rs.DescriptorError, match="is no JSON"):
        rs.vision.processor(path)


# Dictionaries in memory.


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def endless():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({**CLIP, "note": nested(100_000)}, "'note' of a configuration must not nest more than 32 levels deep"),
        ({**CLIP, "note": endless()}, "'note' of a configuration must not nest more than 32 levels deep"),
        ({"image_processor": nested(100_000)}, "must be a dictionary, got list that nests too deeply"),
        (nested(100_000), "config must be a dictionary, a file or a folder, got list that nests too deeply"),
        ({**CLIP, "image_mean": [0.5] * 10**6}, "must have at most 65536 values, and has more in 'image_mean'"),
        ({**CLIP, "image_mean": np.zeros(10**6)}, "must have at most 65536 values, and has more in 'image_mean'"),
        ({**CLIP, "size": 10**5000}, "size.shortest_edge must be at most 2147483647, got int with too many digits"),
        ({**CLIP, "x" * 10**6: 1}, "has the key 'xxxxxxx"),
        ({"image_processor_type": "X" * 10**6}, "image_processor_type 'XXXXX"),
        ({**CLIP, "input_data_format": np.zeros(3)}, "input_data_format must be channels_first, channels_last or null"),
        ({**CLIP, "default_to_square": "x"}, "default_to_square must be true, false or null, got 'x'"),
        ({**CLIP, "use_square_size": "x"}, "use_square_size must be true, false or null, got 'x'"),
    ],
)
def test_dictionaries_obey_the_same_rules(config, message):
    with pytest.raises(rs.RestrideError) as error:
        rs.vision.processor(config)
    assert message in str(error.value)


def test_numbers_of_numpy_count_as_pythons():
    config = {**CLIP, "size": np.int64(40), "crop_size": np.array([30, 20]), "do_rescale": np.bool_(False)}
    assert repr(rs.vision.processor(config)) == repr(
        rs.vision.processor({**CLIP, "size": 40, "crop_size": [30, 20], "do_rescale": False})
    )


def test_the_largest_configurations_are_read():
    deep = [0]
    for _ in range(MAX_DEPTH - 2):
        deep = [deep]
    labels = {str(number): "a label" for number in range(MAX_VALUES - 40)}
    rs.vision.processor({**CLIP, "id2label": labels, "auto_map": deep})


# Keys of one family, and bounds of numbers that cause work.


@pytest.mark.parametrize(
    ("name", "config", "message"),
    [
        ("GotOcr2", {"max_patches": 10**4}, "max_patches must be at most 256, got 10000"),
        ("GotOcr2", {"min_patches": 10**12}, "min_patches must be at most 256, got 1000000000000"),
        ("Llama4", {"max_patches": 10**12}, "max_patches must be at most 256, got 1000000000000"),
        ("Mllama", {"max_image_tiles": 10**4}, "max_image_tiles must be at most 256, got 10000"),
        ("MiniCPMV4_6", {"max_slice_nums": 10**6}, "max_slice_nums must be at most 256, got 1000000"),
        ("Gemma3", {"pan_and_scan_max_num_crops": 10**6}, "pan_and_scan_max_num_crops must be at most 256, got"),
        ("Siglip2", {"max_num_patches": 10**12}, "max_num_patches must be at most 65536, got 1000000000000"),
        ("Kimi_K25", {"max_patches": 10**12}, "max_patches must be at most 65536, got 1000000000000"),
        ("Glm5Next", {"min_image_tokens": 10**12}, "min_image_tokens must be at most 65536, got 1000000000000"),
        ("Qwen2VL", {"temporal_patch_size": 10**6}, "temporal_patch_size must be at most 64, got 1000000"),
        ("Qwen2VL", {"min_pixels": 10**12}, f"min_pixels must be at most {MAX_PIXELS}, got 1000000000000"),
        ("Qwen2VL", {"max_pixels": 1e6}, "max_pixels must be a positive integer, got 1000000.0"),
        ("Qwen2VL", {"patch_size": 10**6}, f"patch_size must be at most {MAX_SIDE}, got 1000000"),
        ("Gemma4", {"pooling_kernel_size": 70}, "pooling_kernel_size must be at most 16, got 70"),
        ("TextNet", {"size_divisor": 10**12}, f"size_divisor must be at most {MAX_SIDE}, got 1000000000000"),
        ("ViT", {"size": square(10**6)}, f"size.height must be at most {MAX_SIDE}, got 1000000"),
        ("ViT", {"crop_size": 10**6}, f"crop_size.height must be at most {MAX_SIDE}, got 1000000"),
        ("Sam", {"pad_size": square(10**6)}, f"pad_size.height must be at most {MAX_SIDE}, got 1000000"),
        ("ConvNext", {"crop_pct": 1e-300}, "crop_pct must be 0.001 to 1000, got 1e-300"),
        ("LlavaNext", {"image_grid_pinpoints": [[336, 672]] * 1025}, f"at most {MAX_CANVASES} pairs, got 1025"),
        ("LlavaNext", {"image_grid_pinpoints": [[1, 10**6]]}, f"image_grid_pinpoints must be at most {MAX_SIDE}"),
        ("GLPN", {"size_divisor": None}, "size_divisor must be a positive integer, got None"),
        ("TextNet", {"size_divisor": 0}, "size_divisor must be a positive integer, got 0"),
        ("ConvNext", {"crop_pct": None}, "crop_pct must be a number, got None"),
        ("PoolFormer", {"crop_pct": 0}, "crop_pct must be 0.001 to 1000, got 0"),
        ("Fuyu", {"padding_value": None}, "padding_value must be a number, got None"),
        ("Fuyu", {"padding_value": 300}, "padding_value must be 0 to 255, got 300"),
        ("Fuyu", {"padding_value": -1}, "padding_value must be 0 to 255, got -1"),
        ("DeepseekOcr2", {"background_color": [300, 0, 0]}, "background_color[0] must be 0 to 255, got 300"),
        ("DeepseekOcr2", {"background_color": 3}, "background_color must be a list of numbers, one a channel, got 3"),
        ("Gemma3", {"do_pan_and_scan": True}, "pan_and_scan_min_crop_size must not be null where do_pan_and_scan is"),
        ("Gemma4", {"max_soft_tokens": 100}, "max_soft_tokens must be one of 70, 140, 280, 560, 1120, got 100"),
        ("Qwen2VL", {"do_resize": False, "patch_size": None}, "patch_size must be a positive integer, got None"),
        ("Flava", {"codebook_rescale_factor": None}, "codebook_rescale_factor must be a number, got None"),
        ("Flava", {"codebook_size": None}, "codebook_size must not be null"),
        ("GotOcr2", {"crop_to_patches": "yes"}, "crop_to_patches must be true, false or null, got 'yes'"),
        (
            "LlavaNext",
            {"image_grid_pinpoints": [3]},
            "image_grid_pinpoints must be a list of pairs such as [[height, width]], got [3]",
        ),
        ("Idefics3", {"max_image_size": square(3)}, "max_image_size must have longest_edge"),
        ("MaskFormer", {"size_divisor": -1}, "size_divisor must be a positive integer, got -1"),
    ],
)
def test_keys_of_one_family_are_refused_when_it_is_made(name, config, message):
    with pytest.raises(rs.DescriptorError) as error:
        of(name, **config)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("ViT", {"size": square(32768)}),
        ("CLIP", {"size": MAX_PIXELS, "do_center_crop": False}),
        ("CLIP", {"crop_size": square(32768)}),
        ("CLIP", {"do_pad": True, "pad_size": square(32768)}),
        ("Detr", {"pad_size": square(32768)}),
        ("Qwen2VL", {"min_pixels": MAX_PIXELS, "max_pixels": MAX_PIXELS}),
        ("Qwen2VL", {"min_pixels": 500_000, "temporal_patch_size": 64}),
        ("Qwen2VLVideo", {"min_pixels": 500_000, "temporal_patch_size": 64}),
        ("Siglip2", {"max_num_patches": 65536, "patch_size": 64}),
        ("Gemma4", {"patch_size": 32768, "pooling_kernel_size": 16}),
        ("Mllama", {"size": square(1000), "max_image_tiles": 256}),
        ("Donut", {"size": square(32768)}),
        ("Fuyu", {"size": square(32768)}),
        ("LlavaNext", {"image_grid_pinpoints": [[32768, 32768]]}),
        ("Perceiver", {"size": square(32768), "crop_size": square(1)}),
        ("DPT", {"do_pad": True, "size_divisor": 32768}),
        ("Flava", {"return_codebook_pixels": True, "codebook_size": square(32768)}),
        ("Kimi_K25", {"patch_size": 32768}),
    ],
)
def test_an_image_does_not_become_too_many_elements(name, config):
    processor = rs.vision.processor({"image_processor_type": FAMILIES[name].class_name, **config})
    for call in (lambda: processor.plan((5, 7)), lambda: processor(IMAGE)):
        with pytest.raises(
            rs.DescriptorError, match=rf"5 x 7 must become at most {MAX_ELEMENTS * 7 // 5} elements, and this "
        ):
            call()


def test_a_large_image_may_become_more():
    processor = of("ViT", size=square(4000))
    assert processor.plan((1000, 1000)).results["pixel_values"] == (1, 3, 4000, 4000)
    with pytest.raises(rs.DescriptorError, match="size, or another key that enlarges, pads, tiles or repeats it"):
        processor.plan((500, 500))


def test_a_strip_becomes_no_more_than_64_squares():
    endless = of("Detr", size={"shortest_edge": 800, "longest_edge": MAX_PIXELS})
    for size in ((1, 65535), (65535, 1)):
        with pytest.raises(rs.DescriptorError, match=f"must become at most {64 * MAX_ELEMENTS} elements"):
            endless.plan(size)
    assert of("CLIP").plan((1, 7000)).results["pixel_values"] == (1, 3, 224, 224)
    assert of("Donut").plan((30, 2700)).results["pixel_values"] == (1, 3, 2560, 1920)


def test_an_image_is_not_cut_into_too_many_tiles():
    config = {"size": square(1), "crop_size": square(1), "image_grid_pinpoints": [[100, 100]]}
    with pytest.raises(rs.DescriptorError, match=f"at most {MAX_TILES} tiles, and this configuration makes 10000 of 1"):
        of("LlavaNext", **config).plan((5, 7))


def test_values_that_are_not_finite_are_refused(vulkan_device):
    message = "rescale_factor, image_mean and image_std must give finite values of float32, and do not"
    for config in ({"rescale_factor": 1e300}, {"image_mean": 1e300}, {"image_std": 1e-44, "image_mean": 0.9}):
        with pytest.raises(rs.DescriptorError, match=message):
            of("CLIP", size=8, crop_size=8, **config)(IMAGE, device=vulkan_device)
    with pytest.raises(rs.DescriptorError, match="must give finite values of float16"):
        of("CLIP", size=8, crop_size=8, image_std=1e-6)(IMAGE, dtype="f16", device=vulkan_device)


def test_grids_are_those_of_the_source():
    for fewest, most in ((1, 1), (1, 12), (2, 12), (5, 40), (7, 3)):
        everything = [
            (rows, columns)
            for columns in range(1, most + 1)
            for rows in range(1, most + 1)
            if fewest <= rows * columns <= most
        ]
        assert list(grids.grids_of(fewest, most)) == sorted(everything, key=np.prod)


REAL = {
    "Qwen2VL": [
        {"min_pixels": 3136, "max_pixels": 12845056},
        {"size": {"shortest_edge": 65536, "longest_edge": 16777216}, "patch_size": 16},
        {"min_pixels": 2048 * 28 * 28},
    ],
    "Glm46V": [{"size": {"shortest_edge": 12544, "longest_edge": 47040000}}],
    "GotOcr2": [{"size": 448, "crop_to_patches": True, "max_patches": 40, "min_patches": 1}],
    "Mllama": [{"size": square(560), "max_image_tiles": 4}],
    "Idefics3": [{"size": {"longest_edge": 2048}, "max_image_size": {"longest_edge": 512}}],
    "LlavaOnevision": [
        {"image_grid_pinpoints": [[384 * rows, 384 * columns] for rows in range(1, 7) for columns in range(1, 7)]}
    ],
    "Siglip2": [{"patch_size": 16, "max_num_patches": 1024}],
    "Gemma4": [{"max_soft_tokens": 1120}],
    "Donut": [{"size": {"height": 2560, "width": 1920}}],
    "Kimi_K25": [{"max_patches": 16384}],
    "Llama4": [{"max_patches": 16}],
    "Sam": [{}],
    "Fuyu": [{}],
}


@pytest.mark.parametrize("name", FAMILIES)
def test_real_configurations_are_allowed(name):
    for config in ({}, *REAL.get(name, ())):
        processor = rs.vision.processor({"image_processor_type": FAMILIES[name].class_name, **config})
        for size in ((5, 7), (480, 640), (3000, 2000), (30, 1000)):
            try:
                processor.plan(size)
            except rs.DescriptorError as error:
                assert "must become at most" not in str(error)  # noqa: PT017 - some refuse small sides
                assert "tiles" not in str(error)  # noqa: PT017


HOSTILE = (
    *(None, "", "x", -1, 0, float("inf"), 10**400, True, [], {}, [[1]], 10**12, MAX_PIXELS, 32768, 1000, 256, 64, 1),
    *(0.5, 1e300, 1e-300, float("nan"), [[1000, 1000]], [[1, 32768]] * 1000, square(32768), square(2364), [0.5] * 999),
    *({"shortest_edge": 1}, {"longest_edge": 1}, {"shortest_edge": MAX_PIXELS, "longest_edge": MAX_PIXELS}),
    *({"shortest_edge": 2_700_000, "longest_edge": 2_700_000}, {"max_height": 1, "max_width": 1}, np.array([1, 2])),
)


def peak():
    """The peak of this process's resident memory since the last call, in MiB."""
    lines = Path("/proc/self/status").read_text("ascii", "replace").splitlines()
    Path("/proc/self/clear_refs").write_text("5")
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


@pytest.mark.parametrize("name", sample(FAMILIES, 12, "hostile"))
def test_hostile_values_of_any_key_take_little_memory(name):
    family = FAMILIES[name]
    draw = random.Random(name)
    keys = [*{**COMMON, **family.defaults}, "min_pixels", "max_pixels", "max_size"]
    configs = [{key: value} for key in keys for value in HOSTILE]
    configs += [{draw.choice(keys): draw.choice(HOSTILE) for _ in range(draw.randint(2, 4))} for _ in range(50)]
    for config in configs:
        has_peak = Path("/proc/self/clear_refs").exists()
        before = has_peak and peak()
        try:
            rs.vision.processor({"image_processor_type": family.class_name, **config}).plan((5, 7))
        except rs.RestrideError:
            pass
        except Exception as error:
            error.add_note(str(config)[:500])
            raise
        assert not has_peak or peak() - before < MEBIBYTES, config


def test_a_configuration_is_copied():
    config = {**CLIP, "size": {"shortest_edge": 40}}
    assert read_config(config) == config
    assert read_config(config)["size"] is not config["size"]
