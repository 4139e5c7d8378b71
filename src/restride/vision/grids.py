"""Rules that cut an image into tiles: pure functions from height and width to rows and columns, or a canvas."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from restride.vision.sizes import HeightWidth

RowsColumns = tuple[int, int]


@lru_cache(maxsize=64)
def grids_of(fewest: int, most: int) -> tuple[RowsColumns, ...]:
    """All grids of ``fewest`` to ``most`` tiles, sorted by the number of tiles, then of columns.

    Source: transformers, get_all_supported_aspect_ratios of GOT-OCR2.

    >>> grids_of(2, 3)
    ((2, 1), (1, 2), (3, 1), (1, 3))
    """
    grids = [
        (rows, columns) for columns in range(1, most + 1) for rows in range(-(-fewest // columns), most // columns + 1)
    ]
    return tuple(sorted(grids, key=math.prod))


def closest_ratio(height: int, width: int, tile: HeightWidth, fewest: int, most: int) -> RowsColumns:
    """The grid whose ratio is closest to the image's; on a tie the one with more tiles, if the image half fills them.

    Source: transformers, get_optimal_tiled_canvas of GOT-OCR2 (InternVL).

    >>> closest_ratio(480, 640, (448, 448), 1, 12), closest_ratio(300, 600, (448, 448), 1, 12)
    ((3, 4), (1, 2))
    """
    best, distance = (1, 1), math.inf
    for rows, columns in grids_of(fewest, most):
        difference = abs(width / height - columns / rows)
        is_half_full = height * width > 0.5 * tile[0] * tile[1] * columns * rows
        if difference < distance or (difference == distance and is_half_full):
            best, distance = (rows, columns), difference
    return best


def covering(height: int, width: int, side: int, most: int, threshold: float = 0.9) -> RowsColumns:
    """The grid with the fewest tiles that keeps more than ``threshold`` of the image's area.

    A part of the image that is longer than ``side`` is scaled down to it, which loses area; no part is enlarged. If no
    grid keeps so much, the result is the grid that keeps most.

    The area is computed as if the image were cut into ``columns`` rows and ``rows`` columns, as in the source.

    Source: transformers, get_min_tile_covering_grid of Ovis2.
    """
    found: list[tuple[RowsColumns, float]] = []
    for rows, columns in grids_of(1, most):
        parts = _parts(height, width, columns, rows)
        kept = sum(_kept_area(*part, side) for part in parts) / (width * height)
        found.append(((rows, columns), kept))
    enough = [each for each in found if each[1] > threshold]
    if enough:
        return min(enough, key=lambda each: (math.prod(each[0]), -each[1]))[0]
    return min(found, key=lambda each: (-each[1], math.prod(each[0])))[0]


def _parts(height: int, width: int, rows: int, columns: int) -> list[HeightWidth]:
    """Heights and widths of the parts; the last part of a row or column has the rest."""
    tall, wide = height // rows, width // columns
    heights = [*[tall] * (rows - 1), height - tall * (rows - 1)]
    widths = [*[wide] * (columns - 1), width - wide * (columns - 1)]
    return [(part, other) for part in heights for other in widths]


def _kept_area(height: int, width: int, side: int) -> float:
    longer, shorter = max(width, height), min(width, height)
    return longer * shorter if longer <= side else side * (shorter / longer * side)


def best_canvas(height: int, width: int, canvases: Sequence[HeightWidth]) -> HeightWidth:
    """The canvas that keeps most pixels of an image fitted into it; on a tie the smallest, then the first.

    Source: transformers, image_processing_utils.select_best_resolution.

    >>> best_canvas(480, 640, [(336, 672), (672, 672), (1008, 336)])
    (672, 672)
    """

    def kept(canvas: HeightWidth) -> int:
        scale = min(canvas[1] / width, canvas[0] / height)
        return min(int(width * scale) * int(height * scale), width * height)

    return max(canvases, key=lambda canvas: (kept(canvas), -math.prod(canvas)))


def fitted(height: int, width: int, canvas: HeightWidth, rounded: Callable[[float], int] = math.ceil) -> HeightWidth:
    """The size of an image fitted into a canvas: one side equals the canvas's, the other one is rounded, to 1 or more.

    Source: transformers, image_processing_utils.get_patch_output_size, which rounds up; get_image_size_fit_to_canvas of
    Mllama and get_max_res_without_distortion of Llama 4, which cut.

    >>> fitted(480, 640, (672, 672)), fitted(333, 500, (336, 672))
    ((504, 672), (336, 505))
    """
    tall, wide = canvas
    by_width, by_height = wide / width, tall / height
    if by_width < by_height:
        return min(max(1, rounded(height * by_width)), tall), wide
    return tall, min(max(1, rounded(width * by_height)), wide)


def arrangements(most: int) -> list[RowsColumns]:
    """All grids of at most ``most`` tiles, in the order of Mllama's ids.

    Source: transformers, get_all_supported_aspect_ratios of Mllama.

    >>> arrangements(2)
    [(1, 1), (1, 2), (2, 1)]
    """
    return sorted(grids_of(1, most))


def enlarging(height: int, width: int, side: int, most: int) -> RowsColumns:
    """The grid of tiles whose canvas enlarges the image least; if none enlarges it, the one that shrinks it least.

    On a tie it is the smallest canvas, then the first.

    Source: transformers, get_optimal_tiled_canvas of Mllama.
    """
    grids = arrangements(most)
    scales = [min(rows * side / height, columns * side / width) for rows, columns in grids]
    larger = [scale for scale in scales if scale >= 1]
    chosen = min(larger) if larger else max(scales)
    equals = [grid for grid, scale in zip(grids, scales, strict=True) if scale == chosen]
    return min(equals, key=math.prod)


def sliced(height: int, width: int, side: int, most: int) -> RowsColumns | None:
    """The grid with the ratio closest to the image's, by logarithm, and about as many tiles as the image fills.

    On a tie it is the one with more rows, then fewer tiles. None: the image fills no more than one tile of ``side``.

    Source: transformers, MiniCPMV4_6ImageProcessorPil.get_sliced_grid.
    """
    ratio = math.log(width / height)
    tiles = min(math.ceil(width * height / (side * side)), most)
    if tiles <= 1:
        return None
    grids = grids_of(max(2, tiles - 1), min(tiles + 1, most))
    return min(grids, key=lambda grid: (abs(ratio - math.log(grid[1] / grid[0])), -grid[0]))
