"""Qwen2-VL and its relatives: sides become multiples of blocks, and the patches of all images follow each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

from restride.errors import DescriptorError, UnsupportedError, shown
from restride.vision.families.plain import CLIP, HALF
from restride.vision.family import Build, Family, Prepare, by_rule, resize, size_in_words
from restride.vision.options import MAX_PIXELS, Options, up_to
from restride.vision.picture import Picture, require_bounded
from restride.vision.recipe import (
    FRAME,
    MERGED_PATCHES,
    MERGED_PIXELS,
    PATCHES,
    Order,
    OutputValue,
    Pixels,
    Put,
    Shot,
    ValueMap,
    channels_of,
    grid_of,
    integers,
    one,
    patches_of,
    starts_of,
)
from restride.vision.sizes import (
    HeightWidth,
    at_least_by_cut,
    at_least_by_rounding,
    halved_between,
    multiples,
    raised_within,
)
from restride.vision.values import always_floats


def _block(options: Options) -> int:
    """The side of a block of patches that the model merges, in pixels."""
    return int(options["patch_size"] * options["merge_size"])


def qwen_size(height: int, width: int, options: Options) -> HeightWidth:
    """The sides are multiples of a block, within the budget of pixels that ``size`` gives.

    Source: transformers, Qwen2VLImageProcessorPil.
    """
    return multiples(height, width, _block(options), *options.needed_size().edges("size"))


def glm_size(height: int, width: int, options: Options) -> HeightWidth:
    """As ``qwen_size``, after a side smaller than a block is scaled up to it; the budget counts all frames of a patch.

    Source: transformers, Glm4vImageProcessorPil.
    """
    block, frames = _block(options), options["temporal_patch_size"]
    budget = options.needed_size().edges("size")
    return multiples(*at_least_by_cut(height, width, block), block, *budget, frames)


def paddle_size(height: int, width: int, options: Options) -> HeightWidth:
    """As ``qwen_size``, after a side smaller than a block is set to it.

    Source: transformers, PaddleOCRVLImageProcessorPil.
    """
    block = _block(options)
    return multiples(*at_least_by_rounding(height, width, block), block, *options.needed_size().edges("size"))


def glm_image_size(height: int, width: int, options: Options) -> HeightWidth:
    """The sides are halved, by the rule of ``halved_between`` with the edges of ``size``.

    Source: transformers, GlmImageImageProcessorPil.
    """
    return halved_between(height, width, _block(options), *options.needed_size().edges("size"))


def glm5(image: Picture, options: Options) -> Shot:
    """The image keeps its ratio at the top left of zeros, whose sides are multiples of a block.

    Source: transformers, Glm5NextImageProcessorPil.
    """
    if not options.do_resize:
        return one(image)
    block, frames = _block(options), options["temporal_patch_size"]
    token = frames * block**2
    fewest, most = options["min_image_tokens"] * token, options["max_image_tokens"] * token
    tall, wide = raised_within(image.height, image.width, block, fewest, most, frames)
    scale = min(tall / image.height, wide / image.width)
    if frames * image.height * image.width >= fewest:
        scale = min(1.0, scale)
    sides = (
        max(1, min(tall, math.floor(image.height * scale))),
        max(1, min(wide, math.floor(image.width * scale))),
    )
    if sides != (image.height, image.width):
        image = image.resize(*sides, options.resample or "bilinear")
    return one(image.pad(tall, wide, 0, 0))


def hunyuan(image: Picture, options: Options) -> Shot:
    """As ``qwen_size``, always with the bicubic filter.

    Source: transformers, HunYuanVLImageProcessorPil.resize.
    """
    return one(resize(image, options, qwen_size, "bicubic"))


def patches(pattern: str = MERGED_PATCHES, table: ValueMap = always_floats, *, are_planes: bool = False) -> Build:
    """The builder of ``pixel_values``, the patches of all images, and of ``image_grid_thw``, the grid of each image.

    pattern: the order of the patches and of the elements of each. are_planes: a patch stays planes, not one row.
    """
    is_merged = " m " in pattern

    def build(shots: Sequence[Shot], options: Options, _samples: Sequence[int]) -> dict[str, OutputValue]:
        side, merge = options["patch_size"], options["merge_size"]
        frames = options.own.get("temporal_patch_size", 1)
        blocks = (("m", merge), ("n", merge)) if is_merged else ()
        order = Order(pattern, (("p", side), ("q", side), ("t", frames), *blocks))
        channels = channels_of(shots)
        grids = [grid_of(shot.tile, side, 1 if are_planes else merge) for shot in shots]
        counts = [rows * columns for rows, columns in grids]
        puts = patches_of(shots, order, grids, starts_of(counts))
        lengths = {"c": channels, "t": frames, "p": side, "q": side}
        sizes = tuple(lengths[axis] for axis in order.axes if axis in lengths)
        row = (channels * frames, side, side) if are_planes else (math.prod(sizes),)
        places = sum(counts)
        return {
            "pixel_values": Pixels((places, *sizes), (places, *row), puts, table),
            "image_grid_thw": integers([[1, *grid] for grid in grids]),
        }

    return build


def frames_of_videos(shots: Sequence[Shot], options: Options, samples: Sequence[int]) -> dict[str, OutputValue]:
    """``pixel_values_videos``, whose patches have ``temporal_patch_size`` frames, and ``video_grid_thw``.

    A sample is a video, its images are the frames. If the last patch lacks frames, the last frame is repeated.

    Source: transformers, Qwen2VLVideoProcessor.
    """
    side, merge = options["patch_size"], options["merge_size"]
    together = options["temporal_patch_size"]
    order = Order(FRAME, (("p", side), ("q", side), ("m", merge), ("n", merge)))
    channels = channels_of(shots)
    puts, grids, start = [], [], 0
    for first, count in zip(starts_of(samples), samples, strict=True):
        if not count:
            raise DescriptorError("a video must have at least one frame")
        if len({shot.tile for shot in shots[first : first + count]}) > 1:
            raise DescriptorError("frames of a video must have equal sizes")
        rows, columns = grid_of(shots[first].tile, side, merge)
        groups = -(-count // together)
        require_bounded(shots[first].picture, together * channels * math.prod(shots[first].tile))
        for frame in range(groups * together):
            image = first + min(frame, count - 1)
            place = start + frame // together * rows * columns
            corner, extent = (0, frame % together, 0, 0), (channels, 1, side, side)
            puts.append(Put(shots[image].picture, order, image, place, rows * columns, corner, extent))
        grids.append([groups, rows, columns])
        start += groups * rows * columns
    return {
        "pixel_values_videos": Pixels(
            (start, channels, together, side, side),
            (start, channels * together * side * side),
            tuple(puts),
            always_floats,
        ),
        "video_grid_thw": integers(grids),
    }


def whole_videos(config: dict[str, object]) -> None:
    """Refuse keys of a video processor that ask for fewer frames, because the caller chooses the frames.

    Raises:
        UnsupportedError: a key asks for fewer frames.
    """
    budget_in_pixels(_VIDEO_BUDGET)(config)
    for key in ("do_sample_frames", "cap_pixels_per_frame", "fps", "num_frames"):
        if config.pop(key, None):
            raise UnsupportedError(f"{key} is not done: choose the frames of a video, and set it to null")


def with_merge_sizes(shots: Sequence[Shot], options: Options, samples: Sequence[int]) -> dict[str, OutputValue]:
    """The results of ``patches``, and ``image_merge_sizes``.

    Source: transformers, VideoLlama3ImageProcessorPil.
    """
    results = patches()(shots, options, samples)
    return {**results, "image_merge_sizes": integers([options["merge_size"]] * len(shots))}


def budget_in_pixels(default: Mapping[str, int]) -> Prepare:
    """``min_pixels`` and ``max_pixels`` of a file replace the edges of ``size``, if they are not null.

    If ``size`` is null, it is ``default``.

    Source: transformers, Qwen2VLImageProcessorPil.
    """

    def prepare(config: dict[str, object]) -> None:
        size = default if config.get("size") is None else config["size"]
        for name, edge in (("min_pixels", "shortest_edge"), ("max_pixels", "longest_edge")):
            pixels = config.pop(name, None)
            if pixels is not None:
                if not isinstance(size, Mapping):
                    raise DescriptorError(f"size must be a dictionary beside {name}, got {shown(size)}")
                others = {key: value for key, value in size.items() if key != name}
                size = {**others, edge: up_to(MAX_PIXELS)(name, pixels)}
        config["size"] = size

    return prepare


def pixels_in_words(options: Options) -> str:
    """The number of pixels that images are resized to, for people."""
    size = options.size
    if size is None or None in (size.shortest_edge, size.longest_edge):
        return size_in_words(options)
    return f"{size.shortest_edge} to {size.longest_edge} pixels"


_BUDGET = {"shortest_edge": 56 * 56, "longest_edge": 28 * 28 * 1280}
_PADDLE_BUDGET = {"shortest_edge": 384 * 384, "longest_edge": 1536 * 1536}
_COMMON: dict[str, object] = {
    **CLIP,
    "default_to_square": False,
    "size": _BUDGET,
    "patch_size": 14,
    "temporal_patch_size": 2,
    "merge_size": 2,
}
_GLM = {**_COMMON, "size": {"shortest_edge": 112 * 112, "longest_edge": 28 * 28 * 15000}}
_WORDS = "both sides rounded to blocks of patch_size x merge_size; patches"

_GLM_IGNORED = frozenset(("patch_expand_factor",))
_HUNYUAN_BUDGET = {"shortest_edge": 512 * 512, "longest_edge": 2048 * 2048}
_VIDEO_BUDGET = {"shortest_edge": 128 * 28 * 28, "longest_edge": 28 * 28 * 768}

_Family = partial(
    Family,
    size_words=pixels_in_words,
    words=_WORDS,
    lists={"pixel_values": 0, "image_grid_thw": 0, "image_merge_sizes": 0},
)

FAMILIES = (
    _Family(
        ("Qwen2VL", "Qwen2_5_VL", "CohereCompass"),
        _COMMON,
        by_rule(qwen_size, crops=False),
        patches(),
        prepare=budget_in_pixels(_BUDGET),
    ),
    _Family(
        ("Qwen2VLVideo", "Qwen2_5_VLVideo"),
        {**_COMMON, "size": _VIDEO_BUDGET},
        by_rule(qwen_size, crops=False),
        frames_of_videos,
        words=f"{_WORDS} of temporal_patch_size frames",
        ignored=frozenset(("min_frames", "max_frames", "max_video_tokens", "video_metadata", "return_metadata")),
        prepare=whole_videos,
        list_is_sample=True,
    ),
    _Family(
        ("Glm4v", "Glm46V", "Glmga"),
        _GLM,
        by_rule(glm_size, crops=False),
        patches(),
        ignored=_GLM_IGNORED,
    ),
    _Family(
        ("Glm5Next",),
        {**_COMMON, "size": {"longest_edge": 1}, "min_image_tokens": 16, "max_image_tokens": 8000},
        glm5,
        patches(),
        size_words=lambda options: "{min_image_tokens} to {max_image_tokens} tokens".format_map(options.own),
        words="the ratio kept, zeros right and below up to blocks of patch_size x merge_size; patches",
        ignored=_GLM_IGNORED,
    ),
    _Family(
        ("GlmImage",),
        _COMMON,
        by_rule(glm_image_size, crops=False),
        patches(),
        words="half of each side, rounded to blocks of patch_size x merge_size; patches",
        prepare=budget_in_pixels(_BUDGET),
    ),
    _Family(
        ("HunYuanVL", "HYV4VL"),
        {**_COMMON, "size": _HUNYUAN_BUDGET, "patch_size": 16, "temporal_patch_size": 1},
        hunyuan,
        patches(PATCHES),
        prepare=budget_in_pixels(_HUNYUAN_BUDGET),
    ),
    _Family(
        ("Ernie4_5_VLMoe", "Ernie4_5_VL_Moe"),
        {**_COMMON, "size": {**_BUDGET, "longest_edge": 28 * 28 * 6177}, "temporal_patch_size": 1},
        by_rule(qwen_size, crops=False),
        patches(),
    ),
    _Family(
        ("Cosmos3Edge",),
        {
            **_COMMON,
            **HALF,
            "size": {"shortest_edge": 256 * 256, "longest_edge": 4096 * 4096},
            "patch_size": 16,
            "temporal_patch_size": 1,
        },
        by_rule(glm_size, crops=False),
        patches(MERGED_PIXELS),
    ),
    _Family(
        ("VideoLlama3",),
        {**_COMMON, **HALF, "temporal_patch_size": 1, "merge_size": 1},
        by_rule(qwen_size, crops=False),
        with_merge_sizes,
        prepare=budget_in_pixels(_BUDGET),
    ),
    _Family(
        ("PaddleOCRVL",),
        {**_COMMON, "size": _PADDLE_BUDGET, "temporal_patch_size": 1},
        by_rule(paddle_size, crops=False),
        patches(PATCHES, are_planes=True),
        prepare=budget_in_pixels(_PADDLE_BUDGET),
    ),
)
