"""Families that cut an image into tiles of the size that the model takes, and mostly add the whole image, small."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from restride.errors import DescriptorError, shown
from restride.vision.families.plain import (
    BICUBIC,
    BILINEAR,
    CLIP,
    HALF,
    LANCZOS,
    mean_colour,
    on_square,
    rgb,
    shorter,
    square,
)
from restride.vision.family import Family, cropped, planes, resize
from restride.vision.grids import (
    arrangements,
    best_canvas,
    closest_ratio,
    covering,
    enlarging,
    fitted,
    sliced,
)
from restride.vision.options import Options, as_colour, as_pairs, as_size, one_of, or_null
from restride.vision.picture import Picture, Piece, cut, require_bounded, tiles_of_canvas
from restride.vision.recipe import (
    Order,
    OutputValue,
    Pixels,
    Put,
    Shot,
    UnequalImages,
    channels_of,
    facts_of,
    grid_of,
    integers,
    largest_tile,
    mask,
    one,
    placed,
    ragged,
    stacked,
)
from restride.vision.sizes import HeightWidth, longest_even, longest_within, raised_by_ratio
from restride.vision.values import always_floats, plain

_SLICES = "(rows gh p) (columns gw q) c -> rows columns gh gw c p q"
"""The pattern that cuts each tile into patches."""


def finished(tile: Picture, options: Options) -> Picture:
    """The tile, resized and cropped as the options say; most tiles have that size already and stay as they are."""
    return cropped(resize(tile, options), options)


def _counts(options: Options) -> tuple[int, int]:
    """The minimum and maximum number of tiles."""
    return options["min_patches"], options["max_patches"]


def got(image: Picture, options: Options) -> Shot:
    """With ``crop_to_patches`` the tiles of the closest grid, followed by the whole image if there are several tiles.

    Source: transformers, GotOcr2ImageProcessorPil; the class of InternVL and Aya.
    """
    fewest, most = _counts(options)
    if not options["crop_to_patches"] or most == 1:
        return Shot((Piece(resize(image, options)),))
    tall, wide = options.needed_size().sides("size")
    rows, columns = closest_ratio(image.height, image.width, (tall, wide), fewest, most)
    canvas = image.resize(rows * tall, columns * wide, options.needed_mode())
    if rows * columns == 1:
        return Shot((Piece(canvas),))
    return Shot((Piece(canvas, rows, columns), Piece(image.resize(tall, wide, options.needed_mode()))))


def got_results(shots: Sequence[Shot], _options: Options, _samples: Sequence[int]) -> dict[str, OutputValue]:
    """The tiles of all images, and the number of tiles of each."""
    return {"pixel_values": stacked(shots), "num_patches": integers([shot.tiles for shot in shots])}


def ovis(image: Picture, options: Options) -> Shot:
    """As ``got``, but the whole image comes first, and the grid is by default that of ``covering``.

    Source: transformers, Ovis2ImageProcessorPil.
    """
    finish, (fewest, most) = partial(finished, options=options), _counts(options)
    if not options["crop_to_patches"] or most == 1:
        return Shot((Piece(finish(image)),), {"grids": [1, 1]})
    tall, wide = options.needed_size().sides("size")
    if options["use_covering_area_grid"]:
        rows, columns = covering(image.height, image.width, tall, most)
    else:
        rows, columns = closest_ratio(image.height, image.width, (tall, wide), fewest, most)
    canvas = image.resize(rows * tall, columns * wide, options.needed_mode())
    tiles = cut(canvas, tall, wide, finish)
    whole = (Piece(finish(image.resize(tall, wide, options.needed_mode()))),) if rows * columns > 1 else ()
    return Shot((*whole, *tiles), {"grids": [rows, columns]})


def on_canvas(image: Picture, canvas: HeightWidth, options: Options) -> Picture:
    """The image, fitted into a canvas of zeros and put in its middle."""
    sides = fitted(image.height, image.width, canvas)
    return image.resize(*sides, options.needed_mode()).pad_center(*canvas)


def llava_next(image: Picture, options: Options) -> Shot:
    """The whole image, then the tiles of the best canvas, row by row.

    Source: transformers, LlavaNextImageProcessorPil.
    """
    size, crop, finish = options.needed_size(), options.crop_size, partial(finished, options=options)
    edge = size.shortest_edge or 0
    whole = (size.height, size.width) if size.height and size.width else (edge, edge)
    side = (crop.height if crop else None) or size.height or edge
    canvas = on_canvas(image, best_canvas(image.height, image.width, options["image_grid_pinpoints"]), options)
    small = finish(image.resize(*whole, options.needed_mode()))
    facts = {"image_sizes": [image.height, image.width]}
    return Shot((Piece(small), *cut(canvas, side, side, finish)), facts)


def one_on_square(image: Picture, options: Options) -> Shot:
    """The geometry of an image whose sample has several: a square of the mean colour, which is not cut into tiles.

    Source: transformers, LlavaOnevisionImageProcessorPil.
    """
    square = on_square(image, options["square_color"] or mean_colour(options.image_mean, image.channels))
    return one(finished(square, options), image_sizes=[image.height, image.width])


def llava_next_results(shots: Sequence[Shot], options: Options, _samples: Sequence[int]) -> dict[str, OutputValue]:
    """The tiles of each image, followed by zeros for images with fewer tiles, and the images' original sizes."""
    if not options.do_pad and len({shot.tiles for shot in shots}) > 1:
        raise UnequalImages("images of one call must have as many tiles where do_pad is false")
    return {"pixel_values": ragged(shots, [1] * len(shots)), **facts_of(shots)}


def onevision_results(shots: Sequence[Shot], options: Options, samples: Sequence[int]) -> dict[str, OutputValue]:
    """The results of LLaVA-NeXT, and the number of images of each sample."""
    results = llava_next_results(shots, options, samples)
    return {**results, "batch_num_images": integers([count for count in samples if count])}


def as_longest_edge(key: str, value: object) -> int:
    """The longest edge of a size.

    Raises:
        DescriptorError: the size has none.
    """
    size = as_size(key, value)
    if size is None or size.longest_edge is None:
        raise DescriptorError(f"{key} must have longest_edge, got {shown(value)}")
    return size.longest_edge


def idefics3_size(height: int, width: int, options: Options) -> HeightWidth:
    """The longer side becomes ``longest_edge``; without one, the size is height and width of ``size``."""
    size = options.needed_size()
    return longest_even(height, width, size.longest_edge) if size.longest_edge else size.sides("size")


def idefics3(image: Picture, options: Options) -> Shot:
    """The image is resized to the longest edge, then to multiples of a tile. Its tiles come before the whole image.

    Source: transformers, Idefics3ImageProcessorPil.
    """
    mode = options.needed_mode()
    image = resize(image, options, idefics3_size)
    side = options["max_image_size"]
    if not options["do_image_splitting"]:
        return Shot((Piece(image.resize(side, side, mode)),), {"grid": (0, 0)})
    canvas = image.resize(*raised_by_ratio(image.height, image.width, side), mode)
    rows, columns = canvas.height // side, canvas.width // side
    if rows * columns == 1:
        return Shot((Piece(canvas),), {"grid": (0, 0)})
    return Shot((Piece(canvas, rows, columns), Piece(canvas.resize(side, side, mode))), {"grid": (rows, columns)})


def tiles_of_samples(shots: Sequence[Shot], options: Options, samples: Sequence[int]) -> dict[str, OutputValue]:
    """The tiles of each sample; with ``do_pad`` also zeros beside and after them, and a mask.

    If tiles are missing, the values are f32. Without ``do_pad`` all samples must have equally many tiles of one size.

    Raises:
        UnequalImages: samples have different numbers of tiles.
    """
    pixels = ragged(shots, samples, largest_tile(shots) if options.do_pad else None)
    if sum(shot.tiles for shot in shots) < pixels.sizes[0]:
        if not options.do_pad:
            raise UnequalImages("samples of one call must have as many tiles where do_pad is false")
        pixels = replace(pixels, table=always_floats)
    return {"pixel_values": pixels, **({"pixel_attention_mask": mask(pixels)} if options.do_pad else {})}


def idefics3_results(shots: Sequence[Shot], options: Options, samples: Sequence[int]) -> dict[str, OutputValue]:
    """The tiles of each sample, and with ``return_row_col_info`` the rows and columns of each image's grid."""
    results = tiles_of_samples(shots, options, samples)
    if options["return_row_col_info"]:
        grids = iter([shot.facts["grid"] for shot in shots])
        of_samples = [[next(grids) for _ in range(count)] for count in samples]
        results["rows"] = [[rows for rows, _ in sample] for sample in of_samples]
        results["cols"] = [[columns for _, columns in sample] for sample in of_samples]
    return results


def at_corner(image: Picture, canvas: HeightWidth, most: int, options: Options) -> Picture:
    """The image at the top left of a canvas of zeros, fitted into it; but no side is enlarged above ``most``."""
    inner = min(max(image.height, most), canvas[0]), min(max(image.width, most), canvas[1])
    sides = fitted(image.height, image.width, inner, math.floor)
    return image.resize(*sides, options.needed_mode()).pad(*canvas, 0, 0)


def mllama(image: Picture, options: Options) -> Shot:
    """The tiles of the canvas that enlarges the image least; the image fills the canvas from the top left.

    Source: transformers, MllamaImageProcessorPil.
    """
    side, other = options.needed_size().sides("size")
    if side != other or not options.do_pad or not options.do_resize:
        raise DescriptorError(
            f"size must be a square, and do_pad and do_resize true, got {options.size}, do_pad {options.do_pad} and "
            f"do_resize {options.do_resize}"
        )
    most = options["max_image_tiles"]
    rows, columns = enlarging(image.height, image.width, side, most)
    canvas = at_corner(image, (rows * side, columns * side), side, options)
    return Shot((Piece(canvas, rows, columns),), {"grid": (rows, columns)})


def mllama_results(shots: Sequence[Shot], options: Options, samples: Sequence[int]) -> dict[str, OutputValue]:
    """Tiles [samples, most images, most tiles, ...], ids and masks of the grids, and the tile count of each image."""
    shape = (len(samples), max(samples), options["max_image_tiles"])
    for shot in shots:
        require_bounded(shot.pieces[0].picture, shape[2] * math.prod(shot.pieces[0].tile) * channels_of(shots))
    places = [sample * shape[1] + place for sample, count in enumerate(samples) for place in range(count)]
    grids = [shot.facts["grid"] for shot in shots]
    ids = np.zeros(shape[0] * shape[1], np.int64)
    mask_of_tiles = np.zeros((shape[0] * shape[1], shape[2]), np.int64)
    mask_of_tiles[:, 0] = 1
    for place, grid in zip(places, grids, strict=True):
        ids[place] = arrangements(shape[2]).index(grid) + 1
        mask_of_tiles[place, : math.prod(grid)] = 1
    counts = iter([shot.tiles for shot in shots])
    return {
        "pixel_values": placed(shots, [place * shape[2] for place in places], shape, always_floats),
        "aspect_ratio_ids": ids.reshape(shape[:2]),
        "aspect_ratio_mask": mask_of_tiles.reshape(shape),
        "num_tiles": [[next(counts) for _ in range(count)] for count in samples],
    }


def minicpm(image: Picture, options: Options) -> Shot:
    """The whole image, then its slices; all have whole blocks of 4 x 4 or 2 x 2 patches.

    Source: transformers, MiniCPMV4_6ImageProcessorPil.
    """
    side, mode = options["scale_resolution"], options.resample or "bilinear"
    grid = None
    if options["slice_mode"]:
        grid = sliced(image.height, image.width, side, options["max_slice_nums"])
    whole = image
    if options.do_resize:
        sides = _minicpm_size(image.height, image.width, options, enlarges=grid is None)
        whole = image.resize(*sides, mode)
    if grid is None:
        return Shot((Piece(whole),), {"grid": [0, 0]})
    rows, columns = grid
    canvas = image
    if options.do_resize:
        tile = _multiple(image.height, rows) / rows, _multiple(image.width, columns) / columns
        tall, wide = _minicpm_size(*tile, options, enlarges=True)
        canvas = image.resize(tall * rows, wide * columns, mode)
    tiles = cut(canvas, canvas.height // rows, canvas.width // columns, lambda tile: tile)
    return Shot((Piece(whole), *tiles), {"grid": list(grid)})


def _minicpm_size(height: float, width: float, options: Options, *, enlarges: bool) -> HeightWidth:
    side = options["scale_resolution"]
    if height * width > side * side or enlarges:
        ratio = width / height
        height = int(side / math.sqrt(ratio))
        width = int(height * ratio)
    block = options["patch_size"] * (2 if options["downsample_mode"] == "4x" else 4)
    return _multiple(height, block), _multiple(width, block)


def _multiple(length: float, divisor: int) -> int:
    """The nearest multiple of ``divisor``, but at least ``divisor``."""
    return max(round(length / divisor) * divisor, divisor)


def minicpm_results(shots: Sequence[Shot], options: Options, _samples: Sequence[int]) -> dict[str, OutputValue]:
    """Patches of all slices in one row, [1, channels, side, patches * side], and the grid of patches of each slice."""
    side = options["patch_size"]
    puts, grids, start = [], [], 0
    for image, shot in enumerate(shots):
        for piece in shot.pieces:
            grid = grid_of(piece.tile, side)
            count = piece.tiles * math.prod(grid)
            lengths = (("rows", piece.rows), ("columns", piece.columns), ("p", side), ("q", side))
            puts.append(Put(piece.picture, Order(_SLICES, lengths), image, start, count))
            grids += [grid] * piece.tiles
            start += count
    channels = channels_of(shots)
    return {
        "pixel_values": Pixels(
            (start, channels, side, side), (1, channels, side, start * side), tuple(puts), plain, memory=(1, 2, 0, 3)
        ),
        "target_sizes": np.array(grids, np.int32),
        "grids": [shot.facts["grid"] for shot in shots],
        "num_patches_per_image": [shot.tiles for shot in shots],
    }


def deepseek(image: Picture, options: Options) -> Shot:
    """The whole image on a square of the background colour, and tiles if a side is longer than a tile.

    Source: transformers, DeepseekOcr2ImageProcessorPil.
    """
    side, mode = options["tile_size"], options.needed_mode()
    splits = options["crop_to_patches"]
    tiles: tuple[Piece, ...] = ()
    if splits and max(image.height, image.width) > side:
        rows, columns = closest_ratio(image.height, image.width, (side, side), *_counts(options))
        tiles = (Piece(image.resize(rows * side, columns * side, mode), rows, columns),)
    whole = options.needed_size().sides("size")[0] if splits else side
    scale = whole / max(image.width, image.height)
    small = image.resize(round(image.height * scale), round(image.width * scale), mode)
    colour = options["background_color"]
    return Shot((Piece(on_square(small, colour)), *tiles))


def deepseek_results(shots: Sequence[Shot], _options: Options, _samples: Sequence[int]) -> dict[str, OutputValue]:
    """The whole images, the number of tiles of each, and the tiles of all images, if there are any."""
    local = [replace(shot, pieces=shot.pieces[1:]) for shot in shots]
    results: dict[str, OutputValue] = {
        "pixel_values": stacked([replace(shot, pieces=shot.pieces[:1]) for shot in shots]),
        "num_local_patches": integers([shot.tiles for shot in local]),
    }
    if any(shot.tiles for shot in local):
        results["pixel_values_local"] = stacked(local)
    return results


def idefics2_size(height: int, width: int, options: Options) -> HeightWidth:
    """The longer side is at most ``longest_edge``; without edges, the size is height and width of ``size``."""
    size = options.needed_size()
    if size.shortest_edge and size.longest_edge:
        return longest_within(height, width, size.shortest_edge, size.longest_edge)
    return size.sides("size")


def idefics2(image: Picture, options: Options) -> Shot:
    """The image, or with ``do_image_splitting`` its four quarters and itself, each resized.

    Source: transformers, Idefics2ImageProcessorPil.
    """
    pictures = [image]
    if options["do_image_splitting"]:
        tall, wide = image.height // 2, image.width // 2
        quarters = [
            image.crop(top, left, height, width)
            for top, height in ((0, tall), (tall, image.height - tall))
            for left, width in ((0, wide), (wide, image.width - wide))
        ]
        pictures = [*quarters, image]
    return Shot(tuple(Piece(resize(each, options, idefics2_size)) for each in pictures))


def aria(image: Picture, options: Options) -> Shot:
    """The longer side becomes ``max_image_size``, the other one at least ``min_image_size``; zeros fill the rest.

    With ``split_image`` this is done with each tile of the best canvas.

    Source: transformers, AriaImageProcessorPil.
    """
    side, least = options["max_image_size"], options["min_image_size"]
    pieces = [image]
    if options["split_image"]:
        canvases = options["split_resolutions"] or _ARIA_CANVASES
        canvas = on_canvas(image, best_canvas(image.height, image.width, canvases), options)
        pieces = tiles_of_canvas(canvas, side, side)
    tiles = [each.resize(*_aria_size(each, side, least), options.resample or "bilinear") for each in pieces]
    facts = {"sizes": [(tile.height, tile.width) for tile in tiles]}
    return Shot(tuple(Piece(tile.pad(side, side, 0, 0)) for tile in tiles), facts)


def _aria_size(image: Picture, side: int, least: int) -> HeightWidth:
    scale = side / max(image.height, image.width)
    if image.width >= image.height:
        return max(int(image.height * scale), least), side
    return side, max(int(image.width * scale), least)


def aria_results(shots: Sequence[Shot], _options: Options, _samples: Sequence[int]) -> dict[str, OutputValue]:
    """The tiles of all images, a mask of bool, and the largest number of tiles of an image."""
    pixels = stacked(shots)
    inside = np.zeros((pixels.sizes[0], *pixels.sizes[2:]), np.bool_)
    for place, (tall, wide) in enumerate(size for shot in shots for size in shot.facts["sizes"]):
        inside[place, :tall, :wide] = True
    most = np.array(max(shot.tiles for shot in shots), np.int64)
    return {"pixel_values": pixels, "pixel_mask": inside, "num_crops": most}


_ARIA_GRIDS = (
    *((1, columns) for columns in range(2, 9)),
    (2, 4),
    (2, 3),
    (2, 2),
    (2, 1),
    (3, 1),
    (3, 2),
    (4, 1),
    (4, 2),
    *((rows, 1) for rows in range(5, 9)),
)
_ARIA_CANVASES = [(rows * 490, columns * 490) for rows, columns in _ARIA_GRIDS]

_TILED = {**CLIP, "size": square(384), "crop_to_patches": False, "min_patches": 1, "max_patches": 12}
_IDEFICS3 = {
    **HALF,
    **rgb(LANCZOS),
    "size": {"longest_edge": 4 * 364},
    "do_pad": True,
    "max_image_size": {"longest_edge": 364},
    "do_image_splitting": True,
    "return_row_col_info": False,
}
_SIDES = [384 * count for count in range(1, 7)]

FAMILIES = (
    Family(
        ("GotOcr2",),
        _TILED,
        got,
        got_results,
        words="crop_to_patches: stretched to the closest grid of tiles; the whole image last",
    ),
    Family(
        ("Ovis2",),
        {**_TILED, "use_covering_area_grid": True},
        ovis,
        planes(pads=False),
        words="crop_to_patches: stretched to a grid of tiles; the whole image first",
    ),
    Family(
        ("LlavaNext",),
        {
            **CLIP,
            **shorter(224),
            "do_pad": True,
            "image_grid_pinpoints": [[336, 672], [672, 336], [672, 672], [1008, 336], [336, 1008]],
        },
        llava_next,
        llava_next_results,
        words="fitted into the best of image_grid_pinpoints; the whole image first, then tiles",
        ignored=frozenset(("aspect_ratio_setting",)),
    ),
    Family(
        ("LlavaOnevision",),
        {
            **CLIP,
            "size": square(384),
            "default_to_square": False,
            "do_pad": True,
            "image_grid_pinpoints": [[tall, wide] for tall in _SIDES for wide in _SIDES],
            "square_color": None,
        },
        llava_next,
        onevision_results,
        words="fitted into the best of image_grid_pinpoints; the whole image first, then tiles",
        ignored=frozenset(("aspect_ratio_setting",)),
        checks={"square_color": or_null(as_colour)},
        together=one_on_square,
    ),
    Family(
        ("Idefics3", "SmolVLM"),
        _IDEFICS3,
        idefics3,
        idefics3_results,
        words="raised to multiples of max_image_size; tiles, then the whole image",
        ignored=frozenset(("video_sampling",)),
        checks={"max_image_size": as_longest_edge},
        list_is_sample=True,
        lists={"pixel_values": (0, 2), "pixel_attention_mask": 0},
    ),
    Family(
        ("Mllama",),
        {**HALF, **rgb(BILINEAR), "size": square(224), "do_pad": True, "max_image_tiles": 4},
        mllama,
        mllama_results,
        words="tiles of the canvas that enlarges least, zeros right and below",
        list_is_sample=True,
        lists={"pixel_values": 0, "aspect_ratio_ids": 0, "aspect_ratio_mask": 0},
    ),
    Family(
        ("MiniCPMV4_6",),
        {
            **HALF,
            **rgb(BICUBIC),
            "max_slice_nums": 9,
            "scale_resolution": 448,
            "patch_size": 14,
            "slice_mode": True,
            "downsample_mode": "16x",
        },
        minicpm,
        minicpm_results,
        words="the whole image, then slices of the closest grid; patches in one row",
        ignored=frozenset(("use_image_id",)),
        checks={"downsample_mode": one_of("4x", "16x")},
        lists={"pixel_values": 0, "target_sizes": 0},
    ),
    Family(
        ("DeepseekOcr2",),
        {
            **HALF,
            **rgb(BICUBIC),
            "size": square(1024),
            "crop_to_patches": True,
            "min_patches": 2,
            "max_patches": 6,
            "tile_size": 768,
            "background_color": [127, 127, 127],
        },
        deepseek,
        deepseek_results,
        words="on a square of background_color; tiles of the closest grid where a side is longer than tile_size",
        checks={"background_color": as_colour},
    ),
    Family(
        ("Idefics2",),
        {
            **HALF,
            **rgb(BILINEAR),
            "size": {"shortest_edge": 378, "longest_edge": 980},
            "default_to_square": False,
            "do_pad": True,
            "do_image_splitting": False,
        },
        idefics2,
        tiles_of_samples,
        words="do_image_splitting: four quarters, then the whole image",
        list_is_sample=True,
        lists={"pixel_values": (0, 2), "pixel_attention_mask": 0},
    ),
    Family(
        ("Aria",),
        {
            **HALF,
            **rgb(BICUBIC),
            "do_resize": None,
            "max_image_size": 980,
            "min_image_size": 336,
            "split_image": False,
            "split_resolutions": None,
        },
        aria,
        aria_results,
        words="the longer side becomes max_image_size, zeros right and below; split_image: tiles",
        checks={"max_image_size": one_of(490, 980), "split_resolutions": or_null(as_pairs)},
        lists={"pixel_values": 0, "pixel_mask": 0},
    ),
)
