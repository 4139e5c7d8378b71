"""The reference for ``yuv_to_rgb``: the inverse of the standard's matrix, applied to each pixel."""

from __future__ import annotations

from typing import Any

import numpy as np

from restride.dtypes import Array
from restride.reference.arguments import as_array, described
from restride.request.yuv import require_colors, sizes_of_rgb

_RED_AND_BLUE = {"bt601": (0.299, 0.114), "bt709": (0.2126, 0.0722)}

_OF_OPENCV = np.array([(1220542, 0, 1673527), (1220542, -409993, -852492), (1220542, 2116026, 0)])


def yuv_to_rgb(
    frame: Any,
    format: str = "nv12",  # noqa: A002 - the field's own word
    matrix: str = "bt601",
    full_range: bool = False,
    *,
    like: str | None = None,
) -> Array:
    """RGB of YUV frames; the arguments are those of ``rs.yuv_to_rgb``.

    Args:
        frame: u8 array [..., 3/2 rows, columns].
        format: "nv12", "nv21", "i420" or "yv12".
        matrix: "bt601" or "bt709".
        full_range: luma is 0 to 255, else 16 to 235.
        like: "opencv" for its integer arithmetic, or None.

    Returns:
        A new u8 array [..., rows, columns, 3].

    Raises:
        DescriptorError: an unknown word, or the array does not have the type or sizes of a frame.

    Source: ITU-R BT.601-7, BT.709-6: Y = r R + g G + b B, U = (B - Y) / (2 - 2 b), V = (R - Y) / (2 - 2 r).

    Example:
        >>> frame = np.uint8([[16, 235], [126, 126], [128, 128]])  # luma, and below it U and V of the four pixels
        >>> rs.reference.yuv_to_rgb(frame).tolist()
        [[[0, 0, 0], [255, 255, 255]], [[128, 128, 128], [128, 128, 128]]]
    """
    array = as_array(frame)
    require_colors(format, matrix, full_range, like)
    sizes_of_rgb(described(array))  # checks them
    *frames, height, columns = array.shape
    rows = height // 3 * 2
    luma = array[..., :rows, :].astype(np.int64)
    below = array[..., rows:, :].reshape(*frames, -1).astype(np.int64)
    halves = (*frames, rows // 2, columns // 2)
    if format in ("nv12", "nv21"):
        first, second = (below[..., place::2].reshape(halves) for place in (0, 1))
    else:
        first, second = (part.reshape(halves) for part in np.split(below, 2, axis=-1))
    u, v = (first, second) if format in ("nv12", "i420") else (second, first)
    u, v = (np.repeat(np.repeat(each, 2, axis=-2), 2, axis=-1) - 128 for each in (u, v))
    if like == "opencv":
        y, factors = np.maximum(luma, 16) - 16, _OF_OPENCV
    else:
        y = luma if full_range else luma - 16
        factors = np.rint(_factors(matrix, full_range) * 2**20).astype(np.int64)
    channels = [np.floor_divide(a * y + b * u + c * v + 2**19, 2**20) for a, b, c in factors]
    return np.stack(channels, axis=-1).clip(0, 255).astype(np.uint8)


def _factors(matrix: str, full_range: bool) -> Array:
    """Rows of factors of Y, U and V, for red, green and blue: the inverse of the standard's matrix."""
    r, b = _RED_AND_BLUE[matrix]
    g = 1 - r - b
    luma = np.array([r, g, b])
    inverse = np.linalg.inv([luma, ([0, 0, 1] - luma) / (2 - 2 * b), ([1, 0, 0] - luma) / (2 - 2 * r)])
    return inverse if full_range else inverse * np.array([255 / 219, 255 / 224, 255 / 224])
