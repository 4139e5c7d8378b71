"""Families with the usual steps: resize, cut out the middle, map bytes by a table, write a plane for each channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from restride.dtypes import Array
from restride.errors import DescriptorError, UnsupportedError, shown
from restride.ops.normalized import CLIP_MEAN, CLIP_STD, IMAGENET_MEAN, IMAGENET_STD, rescale
from restride.vision.family import Family, by_rule, common, cropped, or_bilinear, planes, resize
from restride.vision.options import (
    Mean,
    Options,
    as_colour,
    as_flag,
    as_mode,
    as_number,
    as_ratio,
    as_std,
    needed,
    or_null,
)
from restride.vision.picture import Picture, Piece
from restride.vision.recipe import OutputValue, Shot, UnequalImages, one, ragged, stacked
from restride.vision.sizes import HeightWidth, raised, resized, shorter_side
from restride.vision.values import bytes_of, normalized

BILINEAR, BICUBIC, LANCZOS = 2, 3, 1


def rgb(resample: int) -> dict[str, object]:
    """Keys of a family that converts images to RGB and resizes them by a filter."""
    return {"do_convert_rgb": True, "resample": resample}


_STEPS = {"do_resize": True, "do_rescale": True, "do_normalize": True}
CLIP = {**_STEPS, **rgb(BICUBIC), "image_mean": CLIP_MEAN, "image_std": CLIP_STD}
HALF = {**_STEPS, "image_mean": (0.5, 0.5, 0.5), "image_std": (0.5, 0.5, 0.5)}
IMAGENET = {**_STEPS, "image_mean": IMAGENET_MEAN, "image_std": IMAGENET_STD}


def square(side: int) -> dict[str, int]:
    """A size of equal sides, as configurations write it."""
    return {"height": side, "width": side}


def shorter(edge: int, crop: int | None = None) -> dict[str, object]:
    """Keys of a family that resizes the shorter side to ``edge`` and cuts out a square of ``crop``, or of ``edge``."""
    return {
        "size": {"shortest_edge": edge},
        "default_to_square": False,
        "do_center_crop": True,
        "crop_size": square(crop or edge),
    }


# Rules for sizes, each of which one family has.


def levit_size(height: int, width: int, options: Options) -> HeightWidth:
    """The shorter side becomes ``int(256 / 224 * shortest_edge)``.

    Source: transformers, LevitImageProcessorPil.resize.
    """
    size = options.needed_size()
    if size.shortest_edge:
        return shorter_side(height, width, int(256 / 224 * size.shortest_edge))
    return size.sides("size")


def convnext(image: Picture, options: Options) -> Shot:
    """The image becomes a square of ``shortest_edge``.

    If ``shortest_edge`` is below 384, the shorter side becomes ``int(shortest_edge / crop_pct)`` and the middle is cut
    out; otherwise the image is stretched.

    Source: transformers, ConvNextImageProcessorPil.resize.
    """
    if options.do_resize:
        edge, mode = options.needed_size().shortest_edge, options.needed_mode()
        if not edge:
            raise DescriptorError(f"size must have shortest_edge, got {options.size}")
        if edge < 384:
            sides = shorter_side(image.height, image.width, int(edge / options["crop_pct"]))
            image = image.resize(*sides, mode).center_crop(edge, edge)
        else:
            image = image.resize(edge, edge, mode)
    return one(cropped(image, options))


def poolformer_size(height: int, width: int, options: Options) -> HeightWidth:
    """The shorter side becomes ``int(edge / crop_pct)``, where edge is the shortest edge or the side of a square.

    Unequal height and width are both divided by ``crop_pct``. If it is null, the size is that of ``resized``.

    Source: transformers, PoolFormerImageProcessorPil.resize.
    """
    size, part = options.needed_size(), options["crop_pct"]
    if part is None:
        return resized(height, width, size)
    if size.shortest_edge:
        return shorter_side(height, width, int(size.shortest_edge / part))
    tall, wide = (int(side / part) for side in size.sides("size"))
    return shorter_side(height, width, tall) if tall == wide else (tall, wide)


def textnet_size(height: int, width: int, options: Options) -> HeightWidth:
    """The size is that of ``shorter_side``, with each side raised to a multiple of ``size_divisor``.

    Source: transformers, TextNetImageProcessorPil.resize.
    """
    size = options.needed_size()
    if not size.shortest_edge:
        raise DescriptorError(f"size must have shortest_edge, got {size}")
    return raised(*shorter_side(height, width, size.shortest_edge), options["size_divisor"])


def glpn_size(height: int, width: int, options: Options) -> HeightWidth:
    """Each side is cut to a multiple of ``size_divisor``.

    Source: transformers, GLPNImageProcessorPil.resize.
    """
    divisor = options["size_divisor"]
    return height // divisor * divisor, width // divisor * divisor


def perceiver(image: Picture, options: Options) -> Shot:
    """The middle, whose sides are ``size / crop_size`` times the image's shorter side, is cut out and then resized.

    Source: transformers, PerceiverImageProcessorPil.
    """
    if options.do_center_crop:
        shortest = min(image.height, image.width)
        crop, size = options.needed_crop(), options.needed_size().sides("size")
        image = image.center_crop(*(int(side / part * shortest) for side, part in zip(size, crop, strict=True)))
    return one(resize(image, options))


def llava(image: Picture, options: Options) -> Shot:
    """With ``do_pad`` the image is first put in the middle of a square of its mean colour, ``int(255 * mean)``.

    Source: transformers, LlavaImageProcessorPil.
    """
    return common(
        on_square(image, mean_colour(options.image_mean, image.channels)) if options.do_pad else image, options
    )


def mean_colour(mean: Mean, channels: int) -> tuple[int, ...]:
    """The colour of a mean, ``int(255 * mean)``; without a mean it is black.

    Source: transformers, LlavaImageProcessorPil._preprocess.

    Raises:
        DescriptorError: there is not one mean for each channel, or a mean is no colour.
    """
    if isinstance(mean, float) or (mean and len(mean) != channels):
        raise DescriptorError(f"image_mean must have {channels} values for do_pad, one a channel, got {shown(mean)}")
    scaled = [255 * value for value in mean or (0.0,) * channels]
    if not all(-1 < value < 256 for value in scaled):
        raise DescriptorError(f"image_mean must be 0 to 1 for do_pad, got {shown(mean)}")
    return tuple(map(int, scaled))


def on_square(image: Picture, colour: tuple[int, ...]) -> Picture:
    """The image in the middle of a square of a colour; an odd row or column is added after it.

    Source: transformers, LlavaImageProcessorPil.pad_to_square.

    Raises:
        DescriptorError: the colour has not one value for each channel.
    """
    if image.height != image.width and len(colour) != image.channels:
        raise DescriptorError(f"background_color must have {image.channels} values, one a channel, got {shown(colour)}")
    side = max(image.height, image.width)
    return image.pad_center(side, side, colour)


def janus_size(height: int, width: int, options: Options) -> HeightWidth:
    """The longer side becomes ``size``; both sides are rounded half to even, and are at least ``min_size``.

    Source: transformers, JanusImageProcessorPil.resize.
    """
    side, other = options.needed_size().sides("size")
    if side != other:
        raise DescriptorError(f"size must be a square, got {options.size}")
    scale, least = side / max(height, width), options["min_size"]
    return max(round(height * scale), least), max(round(width * scale), least)


def janus(image: Picture, options: Options) -> Shot:
    """The image is resized by ``janus_size``, then padded to a square by ``square_color`` or else the mean colour.

    Source: transformers, JanusImageProcessorPil.
    """
    colour, mean = options["square_color"], options.image_mean
    if colour is None and isinstance(mean, float):
        raise DescriptorError(f"image_mean must have one value for each channel, got {mean}")
    image = resize(image, options, janus_size)
    if options.do_pad and image.height != image.width:
        image = on_square(image, colour or mean_colour(mean or (0.5, 0.5, 0.5), image.channels))
    return one(image)


def frames(shots: Sequence[Shot], _options: Options, samples: Sequence[int]) -> dict[str, OutputValue]:
    """``pixel_values`` [videos, frames, channels, height, width].

    Source: transformers, VideoMAEImageProcessorPil.
    """
    if len(set(samples)) > 1:
        raise UnequalImages(f"videos of one call must have as many frames, got {list(samples)}")
    return {"pixel_values": ragged(shots, samples)}


# Functions that compute pixel values, each for one family.


def efficientnet(options: Options, channels: int, floats: bool) -> Array:
    """The table of EfficientNet: ``rescale_offset`` subtracts 1 after rescaling, ``include_top`` divides by std again.

    Source: transformers, EfficientNetImageProcessorPil._preprocess.
    """
    values = bytes_of(floats)
    if options.do_rescale:
        values = rescale(values, options.rescale_factor)
        if options["rescale_offset"]:
            values -= 1
    if options.do_normalize:
        values = normalized(values, options.image_mean, options.image_std, channels)
    if options["include_top"]:
        values = normalized(values, 0.0, options.image_std, channels)
    return values


def flava_codebook(options: Options, channels: int, floats: bool) -> Array:
    """The pixels of the codebook: rescaled and normalized by its own keys, then ``0.8 * v + 0.1``.

    Source: transformers, FlavaImageProcessorPil.map_pixels.
    """
    values = bytes_of(floats)
    if options["codebook_do_rescale"]:
        values = rescale(values, options["codebook_rescale_factor"])
    if options["codebook_do_normalize"]:
        values = normalized(values, options["codebook_image_mean"], options["codebook_image_std"], channels)
    if options["codebook_do_map_pixels"]:
        if values.dtype.kind != "f":
            raise UnsupportedError("codebook_do_map_pixels needs codebook_do_rescale or codebook_do_normalize")
        values = (1 - 2 * 0.1) * values + 0.1
    return values


def flava(image: Picture, options: Options) -> Shot:
    """The image, and with ``return_codebook_pixels`` a smaller one for the codebook.

    Source: transformers, FlavaImageProcessorPil._preprocess.
    """
    if options["return_image_mask"]:
        raise UnsupportedError("return_image_mask asks for random masks, which are not made here: set it to false")
    shot = common(image, options)
    if not options["return_codebook_pixels"]:
        return shot
    if options["codebook_do_resize"]:
        sides = resized(image.height, image.width, options["codebook_size"])
        image = image.resize(*sides, options["codebook_resample"])
    if options["codebook_do_center_crop"]:
        image = image.center_crop(*options["codebook_crop_size"].sides("codebook_crop_size"))
    return Shot((*shot.pieces, Piece(image)))


def flava_results(shots: Sequence[Shot], _options: Options, _samples: Sequence[int]) -> dict[str, OutputValue]:
    """``pixel_values``, and ``codebook_pixel_values`` if there are any."""
    results: dict[str, OutputValue] = {
        "pixel_values": stacked([replace(shot, pieces=shot.pieces[:1]) for shot in shots])
    }
    if len(shots[0].pieces) > 1:
        codebook = [replace(shot, pieces=shot.pieces[1:]) for shot in shots]
        results["codebook_pixel_values"] = stacked(codebook, flava_codebook)
    return results


def square_if_asked(config: dict[str, object]) -> None:
    """With ``use_square_size``, in old CLIP files, the size is a square of 224, whatever ``size`` is.

    Source: transformers, CLIPImageProcessorPil.
    """
    if as_flag("use_square_size", config.pop("use_square_size", False)):
        config["size"] = square(224)


def old_rescale(config: dict[str, object]) -> None:
    """``rescale`` of old OWL-ViT files is ``do_rescale``.

    Source: transformers, OwlViTImageProcessorPil.
    """
    if "rescale" in config:
        config["do_rescale"] = config.pop("rescale")


_LABELS = frozenset(("do_reduce_labels", "reduce_labels"))
"""Keys about segmentation maps, which have no effect on images."""

FAMILIES = (
    Family(("CLIP",), {**CLIP, **shorter(224)}, prepare=square_if_asked),
    Family(("ChineseCLIP",), {**CLIP, **shorter(224)}),
    Family(("Bit",), {**CLIP, **shorter(224)}),
    Family(("Blip",), {**CLIP, "size": square(384)}, ignored=frozenset(("size_divisor",))),
    Family(("OwlViT",), {**CLIP, "size": square(768), "crop_size": square(768)}, prepare=old_rescale),
    Family(
        ("Siglip",),
        {**HALF, **rgb(BICUBIC), "size": square(224), "default_to_square": False},
    ),
    Family(("ViT",), {**HALF, "resample": BILINEAR, "size": square(224)}),
    Family(
        ("DeiT",),
        {**HALF, "resample": BICUBIC, "size": square(256), "do_center_crop": True, "crop_size": square(224)},
    ),
    Family(
        ("Beit",),
        {**HALF, "resample": BICUBIC, "size": square(224), "crop_size": square(224)},
        build=planes(pads=False),
        ignored=_LABELS,
    ),
    Family(("Pvt",), {**IMAGENET, "resample": BICUBIC, "size": square(224)}),
    Family(("PPChart2Table",), {**CLIP, "do_convert_rgb": None, "size": square(1024)}),
    Family(("MobileNetV1",), {**HALF, "resample": BILINEAR, **shorter(256, 224)}),
    Family(
        ("MobileNetV2",),
        {**HALF, "resample": BILINEAR, **shorter(256, 224)},
        build=planes(pads=False),
        ignored=_LABELS,
    ),
    Family(
        ("Levit",),
        {**IMAGENET, "resample": BICUBIC, **shorter(224)},
        by_rule(levit_size),
        words="the shorter side is 8/7 of size",
    ),
    Family(
        ("Chameleon",),
        {
            **HALF,
            **rgb(LANCZOS),
            "rescale_factor": 0.0078,
            "image_mean": (1.0, 1.0, 1.0),
            "image_std": (1.0, 1.0, 1.0),
            **shorter(512),
        },
    ),
    Family(
        ("Segformer",),
        {**IMAGENET, "resample": BILINEAR, "size": square(512)},
        by_rule(crops=False),
        build=planes(pads=False),
        ignored=_LABELS,
    ),
    Family(
        ("EfficientNet",),
        {
            **HALF,
            "resample": BICUBIC,
            "size": square(346),
            "crop_size": square(289),
            "rescale_offset": False,
            "include_top": True,
        },
        build=planes(efficientnet, pads=False),
        words="include_top divides by the std once more",
        checks={"image_std": as_std},
    ),
    Family(
        ("ConvNext",),
        {
            **HALF,
            "resample": BICUBIC,
            "size": {"shortest_edge": 384},
            "default_to_square": False,
            "crop_pct": 224 / 256,
        },
        convnext,
        planes(pads=False),
        words="below 384 resized to size / crop_pct and cut, else stretched",
    ),
    Family(
        ("PoolFormer",),
        {**IMAGENET, "resample": BICUBIC, **shorter(224), "crop_pct": 0.9},
        by_rule(poolformer_size),
        words="resized to size / crop_pct",
        checks={"crop_pct": or_null(as_ratio)},
    ),
    Family(
        ("TextNet",),
        {**IMAGENET, **rgb(BILINEAR), **shorter(640, 224), "do_center_crop": False, "size_divisor": 32},
        by_rule(textnet_size),
        planes(pads=False),
        words="sides raised to multiples of size_divisor",
    ),
    Family(
        ("GLPN",),
        {"do_resize": True, "do_rescale": True, "resample": BILINEAR, "size_divisor": 32},
        or_bilinear(glpn_size),
        planes(pads=False),
        words="sides cut to multiples of size_divisor",
    ),
    Family(
        ("Perceiver",),
        {**IMAGENET, "resample": BICUBIC, "size": square(224), "do_center_crop": True, "crop_size": square(256)},
        perceiver,
        planes(pads=False),
        words="a square of the middle is cut out first",
    ),
    Family(
        ("Llava",),
        {**CLIP, **shorter(224), "do_pad": False},
        llava,
        planes(pads=False),
        words="do_pad: laid on a square of the mean colour first",
    ),
    Family(
        ("Janus", "DeepseekVL"),
        {**CLIP, "do_convert_rgb": None, "size": square(384), "do_pad": True, "min_size": 14, "square_color": None},
        janus,
        planes(pads=False),
        words="the longer side becomes size; on a square of the mean colour",
        checks={"square_color": or_null(as_colour)},
        ignored=frozenset(("background_color",)),
    ),
    Family(
        ("VideoMAE",),
        {**HALF, "resample": BILINEAR, **shorter(224)},
        build=frames,
        words="frames of videos",
        list_is_sample=True,
        lists={"pixel_values": 2},
    ),
    Family(
        ("Flava",),
        {
            **CLIP,
            "do_convert_rgb": None,
            "size": square(224),
            "do_center_crop": True,
            "crop_size": square(224),
            "return_image_mask": False,
            "return_codebook_pixels": False,
            "codebook_do_resize": True,
            "codebook_size": square(112),
            "codebook_resample": LANCZOS,
            "codebook_do_center_crop": True,
            "codebook_crop_size": square(112),
            "codebook_do_rescale": True,
            "codebook_rescale_factor": 1 / 255,
            "codebook_do_map_pixels": True,
            "codebook_do_normalize": True,
            "codebook_image_mean": (0.0, 0.0, 0.0),
            "codebook_image_std": (1.0, 1.0, 1.0),
        },
        flava,
        flava_results,
        words="return_codebook_pixels: a smaller image, mapped by 0.8 v + 0.1",
        checks={
            "codebook_resample": needed(as_mode),
            "codebook_rescale_factor": as_number,
            "codebook_image_std": needed(as_std),
        },
        ignored=frozenset(
            (
                "codebook_do_convert_rgb",
                "input_size_patches",
                "total_mask_patches",
                "mask_group_min_patches",
                "mask_group_max_patches",
                "mask_group_min_aspect_ratio",
                "mask_group_max_aspect_ratio",
            )
        ),
    ),
)
