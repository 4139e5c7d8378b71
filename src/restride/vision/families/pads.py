"""Families of dynamic sizes: images keep their ratio, and zeros, masks or positions show where they end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from restride.errors import DescriptorError, UnsupportedError, shown
from restride.vision.families.plain import BICUBIC, BILINEAR, CLIP, HALF, IMAGENET, rgb, square
from restride.vision.family import Family, by_rule, cropped, or_bilinear, planes, resize
from restride.vision.options import (
    Options,
    as_byte,
    as_count,
    as_number,
    as_size,
    one_of,
    or_null,
)
from restride.vision.picture import Picture, Piece, require_bounded
from restride.vision.recipe import (
    PIXEL_PATCHES,
    Order,
    OutputValue,
    Pixels,
    Shot,
    channels_of,
    grid_of,
    integers,
    mask,
    one,
    padded,
    patches_of,
    placed,
    ragged,
    require_equal_tiles,
    stacked,
)
from restride.vision.sizes import (
    HeightWidth,
    Size,
    between_edges_in_multiples,
    in_patches,
    inside,
    longest_by_half_up,
    most_patches,
    nearest_multiples,
    patch_budget,
    raised,
    resized,
)
from restride.vision.values import plain

# Families with a fixed number of patches: SigLIP2, Gemma 4.


def siglip2_size(height: int, width: int, options: Options) -> HeightWidth:
    """The sides become multiples of a patch, with as many patches as ``max_num_patches`` allows.

    Source: transformers, Siglip2ImageProcessorPil.
    """
    return most_patches(height, width, options["patch_size"], options["max_num_patches"])


def rows_of_patches(shots: Sequence[Shot], patch: int, most: int) -> tuple[Pixels, list[HeightWidth]]:
    """For each image its patches, channels last, then zeros, [images, most, patch * patch * channels]; and the grids.

    Raises:
        DescriptorError: an image does not consist of whole patches, or has more than ``most``; or these are too many.
    """
    grids = [grid_of(shot.tile, patch) for shot in shots]
    largest = max(rows * columns for rows, columns in grids)
    if largest > most:
        raise DescriptorError(f"{largest} patches of an image are more than the {most} that are allowed")
    channels = channels_of(shots)
    for shot in shots:
        require_bounded(shot.picture, most * patch**2 * channels)
    order = Order(PIXEL_PATCHES, (("p", patch), ("q", patch)))
    puts = patches_of(shots, order, grids, [image * most for image in range(len(shots))])
    sizes = (len(shots) * most, patch, patch, channels)
    zeros = any(put.count < most for put in puts)
    return Pixels(sizes, (len(shots), most, math.prod(sizes[1:])), puts, plain, zeros), grids


def siglip2_results(shots: Sequence[Shot], options: Options, _samples: Sequence[int]) -> dict[str, OutputValue]:
    """The patches, an s32 mask that is 1 for each patch, and the grids."""
    most = options["max_num_patches"]
    pixels, grids = rows_of_patches(shots, options["patch_size"], most)
    there = np.arange(most) < np.array([[rows * columns] for rows, columns in grids])
    return {
        "pixel_values": pixels,
        "pixel_attention_mask": there.astype(np.int32),
        "spatial_shapes": integers(grids),
    }


def gemma4_size(height: int, width: int, options: Options) -> HeightWidth:
    """The sides become multiples of a block of pooled patches, with as many blocks as ``max_soft_tokens`` allows.

    Source: transformers, Gemma4ImageProcessorPil.
    """
    patch, pool = options["patch_size"], options["pooling_kernel_size"]
    return patch_budget(height, width, patch, _most_patches(options), pool)


def _most_patches(options: Options) -> int:
    return int(options["max_soft_tokens"] * options["pooling_kernel_size"] ** 2)


def gemma4_results(shots: Sequence[Shot], options: Options, _samples: Sequence[int]) -> dict[str, OutputValue]:
    """The patches; the column and row of each patch, then -1; and the number of pooled tokens of each image."""
    most, pool = _most_patches(options), options["pooling_kernel_size"]
    pixels, grids = rows_of_patches(shots, options["patch_size"], most)
    positions = np.full((len(shots), most, 2), -1, np.int64)
    for image, (rows, columns) in enumerate(grids):
        positions[image, : rows * columns, 0] = np.tile(np.arange(columns), rows)
        positions[image, : rows * columns, 1] = np.repeat(np.arange(rows), columns)
    tokens = [rows * columns // pool**2 for rows, columns in grids]
    return {
        "pixel_values": pixels,
        "image_position_ids": positions,
        "num_soft_tokens_per_image": integers(tokens),
    }


# Families that pad to the largest image of a call.


def pixtral_size(height: int, width: int, options: Options) -> HeightWidth:
    """The image is fitted into the longest edge, and its sides are raised to multiples of a patch.

    Source: transformers, PixtralImageProcessorPil.
    """
    size, patch = options.needed_size(), options["patch_size"] or Size(16, 16)
    most = (size.longest_edge, size.longest_edge) if size.longest_edge else size.sides("size")
    return in_patches(height, width, most, patch.sides("patch_size"))


def pixtral_results(shots: Sequence[Shot], options: Options, _samples: Sequence[int]) -> dict[str, OutputValue]:
    """The images at the top left of zeros, as large as the largest one whatever ``pad_size`` is; and their sizes."""
    pixels = padded(shots, None) if options.do_pad else stacked(shots)
    sizes = [[shot.picture.height, shot.picture.width] for shot in shots]
    return {"pixel_values": pixels, "image_sizes": integers(sizes)}


def detr_size(height: int, width: int, options: Options) -> HeightWidth:
    """As ``resized``, but a shortest edge alone is refused.

    Source: transformers, DetrImageProcessorPil.resize.
    """
    size = options.needed_size()
    if size.shortest_edge and not size.longest_edge:
        raise DescriptorError(f"size must have longest_edge beside shortest_edge, got {size}")
    return resized(height, width, size)


def yolos_size(height: int, width: int, options: Options) -> HeightWidth:
    """As ``detr_size``, but edges are multiples of 16.

    Source: transformers, YolosImageProcessorPil.resize.
    """
    size = options.needed_size()
    if size.shortest_edge and size.longest_edge:
        return between_edges_in_multiples(height, width, size.shortest_edge, size.longest_edge)
    return detr_size(height, width, options)


def as_divisor(key: str, value: object) -> int | None:
    """A positive integer; null and 0 are None.

    Raises:
        DescriptorError: anything else.
    """
    return None if value in (None, 0) else as_count(key, value)


def maskformer_size(height: int, width: int, options: Options) -> HeightWidth:
    """As ``detr_size``, but sides are raised to multiples of ``size_divisor``.

    Source: transformers, MaskFormerImageProcessorPil.resize.
    """
    return raised(*detr_size(height, width, options), options["size_divisor"] or 1)


def detr_results(shots: Sequence[Shot], options: Options, _samples: Sequence[int]) -> dict[str, OutputValue]:
    """The pixels: with ``do_pad`` the images at the top left of zeros, and a mask; otherwise the images alone."""
    if not options.do_pad:
        return {"pixel_values": stacked(shots)}
    pixels = padded(shots, options.pad_size)
    return {"pixel_mask": mask(pixels), "pixel_values": pixels}


def maskformer_results(shots: Sequence[Shot], options: Options, _samples: Sequence[int]) -> dict[str, OutputValue]:
    """The images at the top left of zeros, and a mask."""
    pixels = padded(shots, options.pad_size)
    return {"pixel_values": pixels, "pixel_mask": mask(pixels)}


def old_detr(config: dict[str, object]) -> None:
    """Convert the keys of old files: ``max_size``, by default 1333, adds a longest edge to an integer ``size``.

    ``pad_and_return_pixel_mask`` is the old name of ``do_pad``.

    Source: transformers, DetrImageProcessorPil.
    """
    config.setdefault("do_pad", config.pop("pad_and_return_pixel_mask", True))
    longest = config.pop("max_size", 1333)
    if config.get("size") is None:
        config["size"] = _EDGES
    _add_longest_edge(config, longest)


def old_maskformer(config: dict[str, object]) -> None:
    """Convert the keys of old files: ``max_size`` is the longest edge beside an integer ``size`` or none.

    Source: transformers, MaskFormerImageProcessorPil.
    """
    longest = config.pop("max_size", None)
    if config.get("size") is None:
        config["size"] = _EDGES if longest is None else {**_EDGES, "longest_edge": longest}
    _add_longest_edge(config, longest)


def _add_longest_edge(config: dict[str, object], longest: Any) -> None:
    """Make an integer ``size`` the shortest edge beside a longest one, if there is one."""
    if isinstance(config["size"], int) and longest is not None:
        config["size"] = {"shortest_edge": config["size"], "longest_edge": longest}


# Families that pad to one size.


def sam_size(height: int, width: int, options: Options) -> HeightWidth:
    """The longer side becomes ``longest_edge``; both sides are rounded half up.

    Source: transformers, SamImageProcessorPil.
    """
    longest = options.needed_size().longest_edge
    if not longest:
        raise DescriptorError(f"size must have longest_edge, got {options.size}")
    return longest_by_half_up(height, width, longest)


def sam(image: Picture, options: Options) -> Shot:
    """The image, resized by the rule of ``sam_size`` and cropped as usual, and its sizes before and after."""
    small = resize(image, options, sam_size)
    before, after = [image.height, image.width], [small.height, small.width]
    return one(cropped(small, options), original_sizes=before, reshaped_input_sizes=after)


def dpt_size(height: int, width: int, options: Options) -> HeightWidth:
    """The sides become multiples of ``ensure_multiple_of``, by the rule of ``nearest_multiples``.

    Source: transformers, DPTImageProcessorPil.
    """
    size, factor = options.needed_size().sides("size"), options["ensure_multiple_of"]
    return nearest_multiples(height, width, size, factor, keeps_ratio=options["keep_aspect_ratio"])


def dpt_results(shots: Sequence[Shot], options: Options, _samples: Sequence[int]) -> dict[str, OutputValue]:
    """The images; with ``do_pad`` each is in the middle of zeros, with sides that are multiples of ``size_divisor``."""
    if not options.do_pad or options["size_divisor"] is None:
        return {"pixel_values": stacked(shots)}
    _, height, width = require_equal_tiles(shots)
    tall, wide = raised(height, width, options["size_divisor"])
    corner = (tall - height) // 2, (wide - width) // 2
    return {"pixel_values": placed(shots, range(len(shots)), (len(shots),), plain, (tall, wide), corner)}


def without_conversion(config: dict[str, object]) -> None:
    """Images keep their channels, whatever ``do_convert_rgb`` says.

    Source: transformers, PromptDepthAnythingImageProcessorPil.
    """
    config["do_convert_rgb"] = False


def donut(image: Picture, options: Options) -> Shot:
    """The image is resized by its shorter side, then shrunk to fit the size, then put in the middle of zeros.

    If ``resample`` is 0, which is nearest, or null, it is shrunk by the bicubic filter.

    Source: transformers, DonutImageProcessorPil.
    """
    tall, wide = options.needed_size().sides("size")
    if options["do_align_long_axis"]:
        raise UnsupportedError("do_align_long_axis turns images, which is not done here: turn them first")
    if options.do_resize:
        image = image.resize(
            *resized(image.height, image.width, Size(shortest_edge=min(tall, wide))), options.needed_mode()
        )
    if options["do_thumbnail"]:
        mode = options.resample if options.resample not in (None, "nearest") else "bicubic"
        image = _thumbnail(image, tall, wide, mode)
    if options.do_pad:
        image = image.pad_center(tall, wide)
    return one(cropped(image, options))


def _thumbnail(image: Picture, tall: int, wide: int, mode: str) -> Picture:
    height, width = min(image.height, tall), min(image.width, wide)
    if (height, width) == (image.height, image.width):
        return image
    if image.height > image.width:
        width = int(image.width * height / image.height)
    elif image.width > image.height:
        height = int(image.height * width / image.width)
    return image.resize(height, width, mode)


def size_as_width_height(config: dict[str, object]) -> None:
    """Convert the key ``size`` of old Donut files, whose two integers are width and height.

    Source: transformers, DonutImageProcessorPil.
    """
    size = config.get("size")
    if isinstance(size, list | tuple):
        config["size"] = list(size)[::-1]
    elif size is None:
        config.pop("size", None)


def as_constant(key: str, value: object) -> str:
    """The mode of a pad, which must be the one with a single colour.

    Raises:
        UnsupportedError: another mode.
    """
    if value != "constant":
        raise UnsupportedError(f"{key} must be 'constant', got {shown(value)}")
    return "constant"


def fuyu(image: Picture, options: Options) -> Shot:
    """A larger image is fitted into the size; the colour ``padding_value`` fills the rest.

    Source: transformers, FuyuImageProcessorPil.
    """
    before = [image.height, image.width]
    tall, wide = options.needed_size().sides("size")
    if options.do_resize and (image.height > tall or image.width > wide):
        image = image.resize(*inside(image.height, image.width, tall, wide), options.needed_mode())
    after = [image.height, image.width]
    if options.do_pad and (image.height < tall or image.width < wide):
        image = image.pad(tall, wide, 0, 0, (options["padding_value"],))
    return one(image, before=before, after=after)


def fuyu_results(shots: Sequence[Shot], _options: Options, samples: Sequence[int]) -> dict[str, OutputValue]:
    """The images of each sample; and the original size, the resized size and the scale of its first image."""
    if len(set(samples)) > 1:
        raise DescriptorError(f"samples of one call must have as many images, got {list(samples)}")
    require_equal_tiles(shots)
    firsts = [shots[sum(samples[:sample])].facts for sample in range(len(samples))]
    return {
        "images": ragged(shots, samples),
        "image_unpadded_heights": integers([[facts["after"][0]] for facts in firsts]),
        "image_unpadded_widths": integers([[facts["after"][1]] for facts in firsts]),
        "image_scale_factors": np.array([[facts["after"][0] / facts["before"][0]] for facts in firsts]),
        "image_sizes": integers([facts["before"] for facts in firsts]),
    }


# Families with pan and scan.


def gemma3(image: Picture, options: Options) -> Shot:
    """The whole image, and with ``do_pan_and_scan`` two or more parts along its longer side, all resized to ``size``.

    Source: transformers, Gemma3ImageProcessorPil.
    """
    pictures = [image, *(_parts(image, options) if options["do_pan_and_scan"] else [])]
    return Shot(tuple(Piece(resize(each, options)) for each in pictures))


def _parts(image: Picture, options: Options) -> list[Picture]:
    least, most = options["pan_and_scan_min_crop_size"], options["pan_and_scan_max_num_crops"]
    longer, shorter = max(image.height, image.width), min(image.height, image.width)
    if longer / shorter < options["pan_and_scan_min_ratio_to_activate"]:
        return []
    count = min(most, max(2, min(longer // least, math.floor(longer / shorter + 0.5))))
    length = math.ceil(longer / count)
    if min(length, shorter) < least:
        return []
    starts = [length * place for place in range(count)]
    if image.width >= image.height:
        return [image.crop(0, start, image.height, min(length, image.width - start)) for start in starts]
    return [image.crop(start, 0, min(length, image.height - start), image.width) for start in starts]


def require_pan_and_scan(config: dict[str, object]) -> None:
    """Refuse ``do_pan_and_scan`` without all its numbers.

    Raises:
        DescriptorError: one of the numbers is null.
    """
    for key in _PAN_AND_SCAN:
        if config.get("do_pan_and_scan") and config.get(key) is None:
            raise DescriptorError(f"{key} must not be null where do_pan_and_scan is true")


def gemma3_results(shots: Sequence[Shot], _options: Options, _samples: Sequence[int]) -> dict[str, OutputValue]:
    """All pictures, and the number of parts of each image."""
    return {"pixel_values": stacked(shots), "num_crops": integers([shot.tiles - 1 for shot in shots])}


_PAN_AND_SCAN = (
    "pan_and_scan_min_crop_size",
    "pan_and_scan_max_num_crops",
    "pan_and_scan_min_ratio_to_activate",
)
_Dpt = partial(
    Family,
    defaults={
        **HALF,
        "resample": BICUBIC,
        "size": square(384),
        "do_pad": False,
        "ensure_multiple_of": 1,
        "keep_aspect_ratio": False,
        "size_divisor": None,
    },
    geometry=by_rule(dpt_size, crops=False),
    build=dpt_results,
    words="multiples of ensure_multiple_of; do_pad: zeros around",
)
_EDGES = {"shortest_edge": 800, "longest_edge": 1333}
_LABELS = frozenset(("format", "do_convert_annotations", "max_size"))
_DETR = {**IMAGENET, "resample": BILINEAR, "do_pad": True, "size": _EDGES, "default_to_square": False}
_DETR_WORDS = "zeros right and below, and a mask"
_Detr = partial(Family, build=detr_results, ignored=_LABELS, lists={"pixel_mask": 1})
_MASKS = frozenset(("_max_size", "ignore_index", "do_reduce_labels", "reduce_labels"))

FAMILIES = (
    Family(
        ("Siglip2",),
        {**HALF, "resample": BILINEAR, "patch_size": 16, "max_num_patches": 256},
        or_bilinear(siglip2_size),
        siglip2_results,
        words="multiples of patch_size, at most max_num_patches; zeros behind",
        lists={"pixel_attention_mask": 1},
    ),
    Family(
        ("Gemma4",),
        {
            **HALF,
            **rgb(BICUBIC),
            "do_normalize": False,
            "image_mean": (0.0, 0.0, 0.0),
            "image_std": (1.0, 1.0, 1.0),
            "patch_size": 16,
            "max_soft_tokens": 280,
            "pooling_kernel_size": 3,
        },
        or_bilinear(gemma4_size),
        gemma4_results,
        words="multiples of a pool of patches, at most max_soft_tokens; zeros behind",
        checks={"max_soft_tokens": one_of(70, 140, 280, 560, 1120)},
        lists={"pixel_values": 0, "image_position_ids": 0},
    ),
    Family(
        ("Gemma3",),
        {**HALF, **rgb(BILINEAR), "size": square(224), "do_pan_and_scan": False, **dict.fromkeys(_PAN_AND_SCAN)},
        gemma3,
        gemma3_results,
        words="do_pan_and_scan: parts along the longer side behind the whole image",
        checks={"pan_and_scan_min_ratio_to_activate": or_null(as_number)},
        prepare=require_pan_and_scan,
    ),
    Family(
        ("Pixtral",),
        {**CLIP, "size": {"longest_edge": 1024}, "do_pad": True, "patch_size": square(16)},
        by_rule(pixtral_size),
        pixtral_results,
        words="raised to multiples of patch_size; zeros right and below",
        lists={"pixel_values": (0, 1)},
        checks={"patch_size": as_size},
    ),
    _Detr(
        ("Detr", "ConditionalDetr", "DeformableDetr", "GroundingDino"),
        _DETR,
        by_rule(detr_size, crops=False),
        words=_DETR_WORDS,
        prepare=old_detr,
    ),
    _Detr(
        ("Yolos",),
        _DETR,
        by_rule(yolos_size, crops=False),
        words=f"multiples of 16; {_DETR_WORDS}",
        prepare=old_detr,
    ),
    _Detr(
        ("RTDetr",),
        {
            **IMAGENET,
            "do_normalize": False,
            "do_pad": False,
            "resample": BILINEAR,
            "size": square(640),
            "default_to_square": False,
        },
        by_rule(detr_size, crops=False),
        words=f"do_pad: {_DETR_WORDS}",
    ),
    Family(
        ("MaskFormer", "Mask2Former"),
        {**IMAGENET, "resample": BILINEAR, "size": _EDGES, "default_to_square": False, "size_divisor": 32},
        by_rule(maskformer_size, crops=False),
        maskformer_results,
        words=f"raised to multiples of size_divisor; {_DETR_WORDS}",
        checks={"size_divisor": as_divisor},
        ignored=_MASKS,
        prepare=old_maskformer,
        lists={"pixel_mask": 1},
    ),
    Family(
        ("Sam",),
        {**IMAGENET, **rgb(BILINEAR), "size": {"longest_edge": 1024}, "do_pad": True, "pad_size": square(1024)},
        sam,
        words="zeros right and below",
        ignored=frozenset(("mask_size", "mask_pad_size")),
    ),
    _Dpt(("DPT",), ignored=frozenset(("do_reduce_labels",))),
    _Dpt(("PromptDepthAnything",), ignored=frozenset(("prompt_scale_to_meter",)), prepare=without_conversion),
    Family(
        ("Donut",),
        {
            **HALF,
            "resample": BILINEAR,
            "size": {"height": 2560, "width": 1920},
            "do_pad": True,
            "do_thumbnail": True,
            "do_align_long_axis": False,
        },
        donut,
        planes(pads=False),
        words="the shorter side, then a thumbnail, then on the middle of zeros",
        ignored=frozenset(("random_padding",)),
        prepare=size_as_width_height,
    ),
    Family(
        ("Fuyu",),
        {
            **HALF,
            "image_mean": 0.5,
            "image_std": 0.5,
            "do_pad": True,
            "resample": BILINEAR,
            "size": {"height": 1080, "width": 1920},
            "padding_value": 1.0,
            "padding_mode": "constant",
        },
        fuyu,
        fuyu_results,
        words="larger images are fitted into size; padding_value right and below",
        ignored=frozenset(("patch_size",)),
        checks={"padding_value": as_byte, "padding_mode": as_constant},
        lists={"images": 2},
    ),
)
