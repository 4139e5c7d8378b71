"""Qwen2-VL and its relatives: sides become multiples of blocks, and the patches of all images follow each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from restride.errors import DescriptorError
from restride.vision.families.plain import BICUBIC
from restride.vision.family import Build, Family, Geometry, Prepare
from restride.vision.options import CLIP_MEAN, CLIP_STD, HALF_MEAN, HALF_STD, Options, as_count
from restride.vision.picture import Picture
from restride.vision.recipe import (
    MERGED_PATCHES,
    PATCHES,
    Order,
    Pixels,
    Put,
    Result,
    Shot,
    channels_of,
    integers,
    one,
    starts_of,
)
from restride.vision.sizes import HeightWidth, at_least_by_cut, at_least_by_rounding, multiples
from restride.vision.values import always_floats

_Rule = Callable[[int, int, Options], HeightWidth]


def _block(options: Options) -> int:
    """The side of a block of patches that the model merges, in pixels."""
    return as_count("patch_size", options["patch_size"]) * as_count("merge_size", options["merge_size"])


def qwen_size(height: int, width: int, options: Options) -> HeightWidth:
    """Multiples of a block, within the budget of pixels that ``size`` is.

    Source: transformers, Qwen2VLImageProcessorPil.
    """
    return multiples(height, width, _block(options), *options.needed_size().edges("size"))


def glm_size(height: int, width: int, options: Options) -> HeightWidth:
    """As Qwen's, after a side below the block was scaled up to it; the budget counts all frames of a patch.

    Source: transformers, Glm4vImageProcessorPil.
    """
    block, frames = _block(options), as_count("temporal_patch_size", options["temporal_patch_size"])
    budget = options.needed_size().edges("size")
    return multiples(*at_least_by_cut(height, width, block), block, *budget, frames)


def paddle_size(height: int, width: int, options: Options) -> HeightWidth:
    """As Qwen's, after a side below the block became it.

    Source: transformers, PaddleOCRVLImageProcessorPil.
    """
    block = _block(options)
    return multiples(*at_least_by_rounding(height, width, block), block, *options.needed_size().edges("size"))


def to_multiples(rule: _Rule) -> Geometry:
    """The geometry that resizes by a rule."""

    def geometry(image: Picture, options: Options) -> Shot:
        if options.do_resize:
            image = image.resize(*rule(image.height, image.width, options), options.needed_mode())
        return one(image)

    return geometry


def patches(*, merged: bool) -> Build:
    """The builder of ``pixel_values``, patches of all images, and ``image_grid_thw``, the grid of each.

    merged: patches are in the order of the blocks, and each is one row; else they are in rows of the image, and each
    is planes.
    """

    def build(shots: Sequence[Shot], options: Options, _samples: Sequence[int]) -> dict[str, Result]:
        side, merge = options["patch_size"], options["merge_size"] if merged else 1
        frames = as_count("temporal_patch_size", options["temporal_patch_size"])
        order = Order(
            MERGED_PATCHES if merged else PATCHES,
            (("p", side), ("q", side), ("t", frames), *((("m", merge), ("n", merge)) if merged else ())),
        )
        grids = [_grid(shot.picture, side, merge) for shot in shots]
        channels = channels_of(shot.picture for shot in shots)
        counts = [rows * columns for rows, columns in grids]
        puts = tuple(
            Put(shot.picture, order, image, start, count)
            for image, (shot, start, count) in enumerate(zip(shots, starts_of(counts), counts, strict=True))
        )
        sizes = (sum(counts), channels, frames, side, side)
        row = (channels * frames * side * side,) if merged else (channels * frames, side, side)
        return {
            "pixel_values": Pixels(sizes, (sum(counts), *row), puts, always_floats),
            "image_grid_thw": integers([[1, *grid] for grid in grids]),
        }

    return build


def _grid(picture: Picture, side: int, merge: int) -> tuple[int, int]:
    """Rows and columns of patches.

    Raises:
        DescriptorError: the picture is not made of blocks.
    """
    block = side * merge
    if picture.height % block or picture.width % block:
        raise DescriptorError(
            f"an image of {picture.height} x {picture.width} is not made of blocks of {block} x {block}: set do_resize"
        )
    return picture.height // side, picture.width // side


def with_merge_sizes(shots: Sequence[Shot], options: Options, samples: Sequence[int]) -> dict[str, Result]:
    """The results of ``patches``, and ``image_merge_sizes``.

    Source: transformers, VideoLlama3ImageProcessorPil.
    """
    results = patches(merged=True)(shots, options, samples)
    return {**results, "image_merge_sizes": integers([options["merge_size"]] * len(shots))}


def budget_in_pixels(default: Mapping[str, int]) -> Prepare:
    """``min_pixels`` and ``max_pixels`` of a file stand for the edges of ``size``, if they are not null.

    A ``size`` of null is the ``default``.

    Source: transformers, Qwen2VLImageProcessorPil.
    """

    def prepare(config: Mapping[str, Any]) -> Mapping[str, Any]:
        changed = dict(config)
        size = changed.get("size")
        if size is None:
            size = default
        for name, edge in (("min_pixels", "shortest_edge"), ("max_pixels", "longest_edge")):
            pixels = changed.pop(name, None)
            if pixels is not None:
                if not isinstance(size, Mapping):
                    raise DescriptorError(f"size must be a dictionary beside {name}, got {size!r}")
                size = {**{key: value for key, value in size.items() if key != name}, edge: pixels}
        return {**changed, "size": size}

    return prepare


_BUDGET = {"shortest_edge": 56 * 56, "longest_edge": 28 * 28 * 1280}
_PADDLE_BUDGET = {"shortest_edge": 384 * 384, "longest_edge": 1536 * 1536}
_COMMON: dict[str, Any] = {
    "do_resize": True,
    "do_rescale": True,
    "do_normalize": True,
    "do_convert_rgb": True,
    "resample": BICUBIC,
    "default_to_square": False,
    "size": _BUDGET,
    "image_mean": CLIP_MEAN,
    "image_std": CLIP_STD,
    "patch_size": 14,
    "temporal_patch_size": 2,
    "merge_size": 2,
}
_GLM = {**_COMMON, "size": {"shortest_edge": 112 * 112, "longest_edge": 28 * 28 * 15000}}
_WORDS = "both sides rounded to blocks of patch_size x merge_size, within size as a number of pixels; patches"

FAMILIES = (
    Family(
        ("Qwen2VL", "Qwen2_5_VL"),
        _COMMON,
        to_multiples(qwen_size),
        patches(merged=True),
        words=_WORDS,
        prepare=budget_in_pixels(_BUDGET),
    ),
    Family(("Glm4v", "Glm46V"), _GLM, to_multiples(glm_size), patches(merged=True), words=_WORDS),
    Family(
        ("VideoLlama3",),
        {**_COMMON, "image_mean": HALF_MEAN, "image_std": HALF_STD, "temporal_patch_size": 1, "merge_size": 1},
        to_multiples(qwen_size),
        with_merge_sizes,
        words=_WORDS,
        prepare=budget_in_pixels(_BUDGET),
    ),
    Family(
        ("PaddleOCRVL",),
        {
            **_COMMON,
            "size": _PADDLE_BUDGET,
            "temporal_patch_size": 1,
        },
        to_multiples(paddle_size),
        patches(merged=False),
        words=_WORDS,
        prepare=budget_in_pixels(_PADDLE_BUDGET),
    ),
)
