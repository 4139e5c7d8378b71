"""Families that transformers has only with torchvision: its geometry, keys and arithmetic, but Pillow's resize.

torchvision's own resize gives other bytes than Pillow's, so resized pixels differ from those of transformers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from ml_dtypes import bfloat16

from restride.dtypes import Array
from restride.errors import DescriptorError, UnsupportedError
from restride.ops.normalized import normalize_fused
from restride.vision.families.plain import BICUBIC, BILINEAR, HALF, IMAGENET, rgb, square
from restride.vision.families.qwen import patches
from restride.vision.families.tiles import at_corner
from restride.vision.family import Family, common, planes
from restride.vision.options import MAX_PATCHES, Options, up_to
from restride.vision.picture import Picture, Piece
from restride.vision.recipe import PATCHES, OutputValue, Shot, UnequalImages, facts_of, one, ragged
from restride.vision.sizes import HeightWidth, raised
from restride.vision.values import bytes_of, means_stds, normalized


def fused(options: Options, channels: int, floats: bool) -> Array:
    """``(v - mean / factor) / (std / factor)`` in f32; without normalizing, ``v * factor`` in f32.

    Source: transformers, TorchvisionBackend.rescale_and_normalize.

    Raises:
        DescriptorError: the factor is 0.
    """
    values = bytes_of(floats)
    if options.do_rescale and options.do_normalize:
        if not options.rescale_factor:
            raise DescriptorError("rescale_factor must not be 0 where do_normalize is true")
        return normalize_fused(
            values, *means_stds(options.image_mean, options.image_std, channels, np.float32), options.rescale_factor
        )
    if options.do_rescale:
        return values.astype(np.float32) * np.float32(options.rescale_factor)
    return normalized(values, options.image_mean, options.image_std, channels) if options.do_normalize else values


def in_bfloat16(options: Options, channels: int, floats: bool) -> Array:
    """The bytes are rescaled, the mean is subtracted, and std divides; each step is rounded to bf16.

    Source: transformers, Llama4ImageProcessor.rescale_and_normalize.
    """
    if not (options.do_rescale and options.do_normalize):
        raise UnsupportedError("Llama4ImageProcessor needs do_rescale and do_normalize here")
    values = (bytes_of(floats).astype(np.float32) * np.float32(options.rescale_factor)).astype(bfloat16)
    mean, std = means_stds(options.image_mean, options.image_std, channels, bfloat16)
    table: Array = (values - mean) / std
    return table


def kimi_size(height: int, width: int, patch: int, most: int, side: int) -> HeightWidth:
    """The image is shrunk to at most ``most`` patches, and ``side`` patches along a side; sides are cut to integers.

    Source: transformers, navit_resize of Kimi-K2.5.

    >>> kimi_size(1080, 1920, 14, 4096, 512)
    (672, 1196)
    """
    patches = max(1.0, height // patch) * max(1.0, width // patch)
    scale = min(1.0, math.sqrt(most / patches), side * patch / height, side * patch / width)
    tall, wide = (min(max(1, int(old * scale)), side * patch) for old in (height, width))
    return tall, wide


def kimi(image: Picture, options: Options) -> Shot:
    """The image is shrunk, and padded with zeros to multiples of a block.

    Source: transformers, Kimi_K25ImageProcessor.
    """
    if not options.do_resize:
        return one(image)
    size = options.needed_size()
    if not size.max_height or size.max_height != size.max_width:
        raise DescriptorError(f"size must have max_height and max_width, both equal, got {size}")
    patch, merge, most = (options[key] for key in ("patch_size", "merge_size", "max_patches"))
    sides = kimi_size(image.height, image.width, patch, most, size.max_height)
    image = image.resize(*sides, options.needed_mode())
    return one(image.pad(*raised(*sides, patch * merge), 0, 0))


def sam2(image: Picture, options: Options) -> Shot:
    """The image is resized and cropped as usual; its original size is a result too.

    Source: transformers, Sam2ImageProcessor.
    """
    return one(common(image, options).picture, original_sizes=[image.height, image.width])


def llama4_canvas(height: int, width: int, side: int, most: int, *, is_largest: bool) -> HeightWidth:
    """The canvas of at most ``most`` tiles that enlarges the image least, by scales in f32; on a tie the smallest.

    If no canvas enlarges the image, the result is the one that shrinks it least. is_largest: the result is the canvas
    that enlarges the image most.

    Source: transformers, find_supported_resolutions and get_best_fit of Llama 4.

    >>> llama4_canvas(480, 640, 336, 16, is_largest=False)
    (672, 672)
    """
    grids = [(rows, tiles // rows) for tiles in range(most, 0, -1) for rows in range(1, tiles + 1) if not tiles % rows]
    ratios = list(dict.fromkeys(rows / columns for rows, columns in grids))
    grids.sort(key=lambda grid: ratios.index(grid[0] / grid[1]))
    canvases = np.array(grids) * side
    scales = np.minimum(
        canvases[:, 0].astype(np.float32) / np.float32(height), canvases[:, 1].astype(np.float32) / np.float32(width)
    )
    larger = scales[scales >= 1]
    if not larger.size or is_largest:
        larger = scales[scales == scales.max()]
    chosen = larger.min()
    equals = canvases[scales == chosen]
    tall, wide = equals[np.argmin(equals[:, 0] * equals[:, 1])]
    return int(tall), int(wide)


def llama4(image: Picture, options: Options) -> Shot:
    """The tiles of the canvas, which the image fills from the top left; if there are several, then the whole image.

    Source: transformers, Llama4ImageProcessor.
    """
    side, other = options.needed_size().sides("size")
    if side != other or not options.do_resize:
        raise DescriptorError(
            f"size must be a square, and do_resize true, got {options.size} and do_resize {options.do_resize}"
        )
    most, is_largest = options["max_patches"], bool(options["resize_to_max_canvas"])
    tall, wide = llama4_canvas(image.height, image.width, side, most, is_largest=is_largest)
    canvas = at_corner(image, (tall, wide), max(tall, wide) if is_largest else side, options)
    rows, columns = tall // side, wide // side
    whole = (Piece(image.resize(side, side, options.needed_mode())),) if rows * columns > 1 else ()
    return Shot((Piece(canvas, rows, columns), *whole), {"aspect_ratios": [rows, columns]})


def llama4_lists(shots: Sequence[Shot], _options: Options, _samples: Sequence[int]) -> dict[str, OutputValue]:
    """The tiles of each image, [images, tiles, ...], and the grids."""
    if len({shot.tiles for shot in shots}) > 1:
        raise UnequalImages("images of one call must have as many tiles")
    return {"pixel_values": replace(ragged(shots, [1] * len(shots)), table=in_bfloat16), **facts_of(shots)}


_MASKS = frozenset(("mask_size", "mask_pad_size"))

FAMILIES = (
    Family(
        ("Kimi_K25",),
        {
            **HALF,
            **rgb(BICUBIC),
            "size": {"max_height": 512, "max_width": 512},
            "max_patches": 16384,
            "patch_size": 14,
            "merge_size": 2,
        },
        kimi,
        patches(PATCHES, fused, are_planes=True),
        words="only shrunk, to at most max_patches, zeros right and below up to blocks; patches",
        checks={"max_patches": up_to(MAX_PATCHES)},
        lists={"pixel_values": 0, "image_grid_thw": 0},
    ),
    Family(("Sam2",), {**IMAGENET, **rgb(BILINEAR), "size": square(1024)}, sam2, planes(fused), ignored=_MASKS),
    Family(("Sam3",), {**HALF, **rgb(BILINEAR), "size": square(1008)}, sam2, planes(fused), ignored=_MASKS),
    Family(
        ("Llama4",),
        {**HALF, **rgb(BILINEAR), "size": square(336), "max_patches": 16, "resize_to_max_canvas": False},
        llama4,
        planes(in_bfloat16, pads=False),
        words="tiles of the canvas that enlarges least, zeros right and below, then the whole image; in bf16",
        lists={"aspect_ratios": 1},
        build_lists=llama4_lists,
    ),
)
