"""Configurations of image processors written by hand, and images of every kind, for the tests and their judge."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from PIL import Image

import restride as rs


def square(side: int) -> dict[str, int]:
    return {"height": side, "width": side}


CONFIGS: dict[str, list[dict[str, Any]]] = {
    "CLIP": [
        {"do_convert_rgb": True},
        {"size": 50, "crop_size": 41},
        {"size": {"shortest_edge": 30}, "crop_size": {"height": 33, "width": 20}},
        {"size": {"shortest_edge": 40}, "do_center_crop": False, "do_pad": True},
        {"use_square_size": True},
        {"do_normalize": False, "size": 20, "crop_size": 20},
        {"do_normalize": False, "do_rescale": False, "size": 20, "crop_size": 20, "resample": 1},
        {"do_resize": False, "crop_size": 64},
        {
            "image_mean": 0.3,
            "image_std": 0.2,
            "rescale_factor": 0.01,
            "do_convert_rgb": None,
            "size": 32,
            "crop_size": 30,
            "resample": 4,
        },
        {"resample": 0, "size": 32, "crop_size": 30},
        {"resample": 5, "size": 32, "crop_size": 30, "do_pad": True, "pad_size": {"height": 40, "width": 31}},
    ],
    "ChineseCLIP": [{"size": 40, "crop_size": 30}],
    "Bit": [{"size": 40, "crop_size": 30}, {}],
    "Blip": [{"size": square(64)}],
    "OwlViT": [{"size": square(96)}, {"size": 90, "rescale": False}, {"size": 90, "do_center_crop": True}],
    "Siglip": [{}, {"do_convert_rgb": None, "size": square(60)}, {"size": {"shortest_edge": 60}}],
    "ViT": [{"size": square(64)}, {"size": 48}, {}],
    "DeiT": [{"size": square(50), "crop_size": square(40)}],
    "Beit": [
        {"size": square(50), "crop_size": square(40)},
        {"size": square(50), "crop_size": square(60), "do_center_crop": True, "do_reduce_labels": True},
    ],
    "Pvt": [{"size": square(64)}],
    "PPChart2Table": [{"size": square(64)}],
    "MobileNetV1": [{"size": 40, "crop_size": 30}],
    "MobileNetV2": [{"size": 40, "crop_size": 30}],
    "Levit": [{}, {"size": square(40)}],
    "Chameleon": [{"size": 64, "crop_size": 64}, {}],
    "Segformer": [{"size": square(64)}, {"do_center_crop": True, "size": square(64), "crop_size": 5}],
    "EfficientNet": [
        {"size": square(64)},
        {"size": square(40), "rescale_offset": True, "include_top": False},
        {"size": square(40), "do_rescale": False},
        {"size": square(40), "resample": 0, "do_center_crop": True, "crop_size": 33},
    ],
    "ConvNext": [{"size": {"shortest_edge": 50}}, {"size": 390, "crop_pct": 0.9}],
    "PoolFormer": [
        {},
        {"size": square(40), "crop_pct": None},
        {"size": square(40)},
        {"size": {"height": 30, "width": 40}, "crop_size": 20},
    ],
    "TextNet": [{"size": 50}, {"size": 50, "size_divisor": 7}],
    "GLPN": [
        {},
        {"size_divisor": 16},
        {"do_normalize": True, "image_mean": [0.5, 0.4, 0.3], "image_std": 0.2, "resample": None},
    ],
    "Perceiver": [{"size": square(50), "crop_size": square(60)}, {}],
    "Llava": [{"size": 40, "crop_size": 30}, {"size": 40, "crop_size": 40, "do_pad": True}, {"do_pad": True}],
    "Flava": [
        {"size": square(40), "crop_size": square(30)},
        {
            "size": square(40),
            "crop_size": square(30),
            "return_codebook_pixels": True,
            "codebook_size": square(20),
            "codebook_crop_size": square(16),
        },
    ],
    "Qwen2VL": [
        {},
        {"min_pixels": 3136, "max_pixels": 50000},
        {"size": {"shortest_edge": 1000, "longest_edge": 20000}, "patch_size": 16},
        {"size": None, "merge_size": 1, "max_pixels": 30000},
        {"patch_size": 8, "temporal_patch_size": 1, "max_pixels": 20000, "do_normalize": False, "do_rescale": False},
        {"do_resize": False},
    ],
    "Glm4v": [{"size": {"shortest_edge": 3000, "longest_edge": 60000}}, {}],
    "VideoLlama3": [{"max_pixels": 50000}, {"merge_size": 2, "max_pixels": 30000}],
    "PaddleOCRVL": [{"max_pixels": 50000, "min_pixels": 3000}, {}],
    "GotOcr2": [
        {"size": square(48)},
        {"size": square(48), "crop_to_patches": True},
        {"size": {"height": 40, "width": 60}, "crop_to_patches": True, "min_patches": 2, "max_patches": 6},
    ],
    "Ovis2": [
        {"size": square(48)},
        {"size": square(48), "crop_to_patches": True},
        {"size": square(64), "crop_to_patches": True, "use_covering_area_grid": False, "max_patches": 6},
    ],
    "LlavaNext": [
        {
            "size": {"shortest_edge": 40},
            "crop_size": square(40),
            "image_grid_pinpoints": [[40, 80], [80, 40], [80, 80], [120, 40], [40, 120]],
        },
        {"size": square(40), "crop_size": square(32), "image_grid_pinpoints": [[40, 80], [80, 40], [64, 64]]},
        {
            "size": square(40),
            "do_center_crop": False,
            "crop_size": None,
            "do_pad": False,
            "image_grid_pinpoints": [[80, 80]],
        },
    ],
    "LlavaOnevision": [
        {
            "size": square(32),
            "image_grid_pinpoints": [
                [32, 32],
                [32, 64],
                [32, 96],
                [32, 128],
                [64, 32],
                [64, 64],
                [64, 96],
                [64, 128],
                [96, 32],
                [96, 64],
                [96, 96],
                [96, 128],
                [128, 32],
                [128, 64],
                [128, 96],
                [128, 128],
            ],
        }
    ],
    "Idefics3": [
        {"size": {"longest_edge": 160}, "max_image_size": {"longest_edge": 40}},
        {"size": {"longest_edge": 120}, "max_image_size": {"longest_edge": 40}, "return_row_col_info": True},
        {"do_image_splitting": False, "max_image_size": {"longest_edge": 40}},
        {"size": square(50), "max_image_size": {"longest_edge": 40}, "do_pad": False},
        {"do_resize": False, "max_image_size": {"longest_edge": 50}},
    ],
    "Mllama": [
        {"size": square(56)},
        {"size": square(40), "max_image_tiles": 6},
        {"size": square(40), "do_normalize": False, "do_rescale": False},
    ],
    "MiniCPMV4_6": [
        {"scale_resolution": 112},
        {"scale_resolution": 80, "patch_size": 8, "downsample_mode": "4x"},
        {"slice_mode": False, "scale_resolution": 100},
    ],
    "DeepseekOcr2": [
        {"size": square(96), "tile_size": 48},
        {"size": square(96), "tile_size": 64, "crop_to_patches": False},
        {"size": square(96), "tile_size": 48, "background_color": [1, 2, 3], "max_patches": 9},
    ],
    "Idefics2": [
        {"size": {"shortest_edge": 30, "longest_edge": 98}},
        {"size": {"shortest_edge": 30, "longest_edge": 98}, "do_image_splitting": True},
        {"size": square(40), "do_pad": False},
    ],
    "Aria": [{"max_image_size": 490}, {"max_image_size": 490, "split_image": True}],
    "Siglip2": [
        {},
        {"max_num_patches": 64, "do_convert_rgb": True},
        {"patch_size": 14, "max_num_patches": 100, "do_convert_rgb": True, "size": 5},
    ],
    "Gemma4": [
        {"max_soft_tokens": 70},
        {"max_soft_tokens": 70, "pooling_kernel_size": 2, "do_normalize": True, "patch_size": 8},
    ],
    "Gemma3": [
        {"size": square(48)},
        {
            "size": square(48),
            "do_pan_and_scan": True,
            "pan_and_scan_min_crop_size": 20,
            "pan_and_scan_max_num_crops": 4,
            "pan_and_scan_min_ratio_to_activate": 1.2,
        },
    ],
    "Pixtral": [
        {"size": {"longest_edge": 100}},
        {"size": 90, "patch_size": 14},
        {"size": {"longest_edge": 100}, "do_pad": False},
        {"size": {"longest_edge": 100}, "do_center_crop": True, "crop_size": 30},
    ],
    "Detr": [
        {"size": {"shortest_edge": 60, "longest_edge": 100}},
        {"size": 60, "max_size": 90},
        {"size": 60},
        {"size": square(50), "do_pad": False},
        {"pad_and_return_pixel_mask": False, "size": square(30)},
        {"size": {"shortest_edge": 60, "longest_edge": 100}, "pad_size": square(120)},
    ],
    "Yolos": [{"size": {"shortest_edge": 60, "longest_edge": 100}}, {"size": 60, "max_size": 90}],
    "RTDetr": [
        {"size": square(64)},
        {"size": {"shortest_edge": 60, "longest_edge": 100}, "do_pad": True},
        {"size": 64, "do_normalize": True},
    ],
    "MaskFormer": [
        {"size": {"shortest_edge": 60, "longest_edge": 100}},
        {"size": 60, "max_size": 90, "size_divisor": 0},
        {"size": 60},
    ],
    "Sam": [
        {"size": {"longest_edge": 100}, "pad_size": square(100)},
        {"size": {"longest_edge": 70}, "pad_size": square(100)},
        {"size": {"longest_edge": 70}, "do_pad": False},
    ],
    "DPT": [
        {"size": square(70), "ensure_multiple_of": 14},
        {"size": square(70), "ensure_multiple_of": 14, "keep_aspect_ratio": True},
        {"size": square(70), "do_pad": True, "size_divisor": 16},
    ],
    "Donut": [{"size": {"height": 80, "width": 60}}, {"size": [60, 80]}, {"size": square(50), "do_thumbnail": False}],
    "Fuyu": [{"size": {"height": 100, "width": 120}}, {"size": {"height": 100, "width": 120}, "padding_value": 7}],
}
"""Configurations of each family, with small sizes, so that many images are judged, and with options of no default."""

CONFIGS["Glm46V"] = CONFIGS["Glm4v"]
CONFIGS |= {
    "CohereCompass": CONFIGS["Qwen2VL"][1:3],
    "Glmga": [*CONFIGS["Glm4v"], {"patch_expand_factor": 2, "size": {"shortest_edge": 3000, "longest_edge": 60000}}],
    "Glm5Next": [{}, {"max_image_tokens": 20}, {"min_image_tokens": 64, "merge_size": 1}],
    "GlmImage": [{"min_pixels": 100 * 100, "max_pixels": 200 * 200}, {}, {"patch_size": 8, "max_pixels": 10000}],
    "HunYuanVL": [{"min_pixels": 3000, "max_pixels": 50000}, {"max_pixels": 300000, "resample": 2}],
    "HYV4VL": [{"min_pixels": 3000, "max_pixels": 50000}],
    "Ernie4_5_VLMoe": [{"size": {"shortest_edge": 3000, "longest_edge": 60000}}, {}],
    "Cosmos3Edge": [{"size": {"shortest_edge": 3000, "longest_edge": 60000}}, {"merge_size": 1}],
}
CONFIGS |= {
    "Janus": [{"size": square(48)}, {"size": square(40), "do_pad": False}, {"size": square(40), "image_mean": 0.5}],
    "DeepseekVL": [{"size": square(48), "min_size": 20}],
    "VideoMAE": [{"size": 40, "crop_size": 32}, {"size": square(30), "do_center_crop": False}],
    "PromptDepthAnything": CONFIGS["DPT"],
}
CONFIGS["SmolVLM"] = CONFIGS["Idefics3"]
CONFIGS["ConditionalDetr"] = CONFIGS["Detr"]
CONFIGS["DeformableDetr"] = CONFIGS["Detr"]
CONFIGS["GroundingDino"] = CONFIGS["Detr"]
CONFIGS["Mask2Former"] = CONFIGS["MaskFormer"]

MODES = ("RGB", "RGB", "RGB", "RGB", "L", "LA", "P", "RGBA", "CMYK", "I;16", "F")
"""Pillow modes to draw from, RGB more often, because most configurations need three channels."""

_BANDS = {"L": 1, "LA": 2, "P": 1, "RGB": 3, "RGBA": 4, "CMYK": 4}


def pixels(height: int, width: int, channels: int = 3, seed: int = 0) -> np.ndarray:
    """Bytes without a pattern, computed without a random generator, whose numbers could change between versions."""
    place = np.arange(height * width * channels, dtype=np.uint64) + np.uint64(seed * 7919)
    mixed = (place * np.uint64(2654435761)) ^ (place >> np.uint64(7))
    return (mixed >> np.uint64(13)).astype(np.uint8).reshape(height, width, channels)


def drawn_image(draw: random.Random, longest: int = 300) -> Any:
    """An image of Pillow in any mode, or an array with any strides, read-only, channels first, floats or integers."""
    height, width = (draw.choice((1, 2, 3, draw.randint(1, 40), *[draw.randint(20, longest)] * 3)) for _ in range(2))
    seed = draw.randint(0, 1 << 20)
    if draw.random() < 0.3:
        return _drawn_array(draw, pixels(height, width, draw.choice((1, 3, 3, 3, 4)), seed))
    mode = draw.choice(MODES)
    if mode == "I;16":
        return Image.fromarray(pixels(height, width, 2, seed).view("<u2")[..., 0])
    if mode == "F":
        return Image.fromarray(pixels(height, width, 1, seed)[..., 0].astype(np.float32) * np.float32(1.3))
    image = Image.frombytes(mode, (width, height), pixels(height, width, _BANDS[mode], seed).tobytes())
    if mode == "P":
        image.putpalette(pixels(256, 1, 3, seed).ravel().tolist())
        if draw.random() < 0.5:
            image.info["transparency"] = 5
    return image


def _drawn_array(draw: random.Random, array: np.ndarray) -> np.ndarray:
    kind = draw.randint(0, 5)
    if kind == 0:
        return array[::-1, ::-1]
    if kind == 1:
        array.flags.writeable = False
    if kind == 2:
        return np.ascontiguousarray(array.transpose(2, 0, 1))
    if kind == 3:
        return array.astype(np.float32) / np.float32(255)
    return array.astype(draw.choice((np.int32, np.int64, np.float32))) if kind == 4 else array


def drawn_images(draw: random.Random, longest: int = 300) -> Any:
    """One image, several images, or several images of equal sizes."""
    kind = draw.random()
    if kind < 0.4:
        return drawn_image(draw, longest)
    if kind < 0.6:
        image = drawn_image(draw, longest)
        return [image, image.copy(), drawn_image(draw, longest), image]
    return [drawn_image(draw, longest) for _ in range(draw.randint(1, 3))]


def drawn_config(draw: random.Random, name: str) -> dict[str, Any]:
    """A configuration of a family, mostly with the conversion to RGB."""
    config = dict(draw.choice(CONFIGS[name]))
    return config if draw.random() < 0.3 else {"do_convert_rgb": True, **config}


def processor_of(name: str, config: dict[str, Any]) -> Any:
    return rs.vision.processor({"image_processor_type": f"{name}ImageProcessor", **config})


VECTOR_SIZES = ((37, 50), (61, 23), (37, 50))
"""Heights and widths of the images of a vector: two images of equal sizes, with another one between them."""


def vectors() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, family and configuration of the cases whose results are kept as hashes."""
    for name, configs in CONFIGS.items():
        for place, config in enumerate(configs[:3]):
            yield f"{name} {place}", name, {"do_convert_rgb": True, **config}
