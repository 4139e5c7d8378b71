"""scikit-image: ``skimage.transform.resize``, which computes in float64, so that bytes are compared before rounding."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from restride_like_check.judge import Array, Judge, Resize, Way, as_pixels


def scikit_image() -> Judge:
    """Of the scikit-image that is installed."""
    ways = []
    for dtype in ("u8", "f32"):
        ways.append(Way("nearest", dtype, {"mode": "nearest"}, _resize(0, is_smoothed=False)))
        for words, antialias in (("bilinear", False), ("bilinear, antialias", True)):
            arguments = {"mode": "bilinear", "antialias": antialias}
            resize = _resize(1, is_smoothed=antialias)
            ways.append(Way(words, dtype, arguments, resize, result="f32"))
    return Judge("scikit-image", "scikit-image", version("scikit-image"), tuple(ways))


def _resize(order: int, *, is_smoothed: bool) -> Resize:
    from skimage import transform

    theirs: Any = transform.resize

    def resize(x: Array, sizes: tuple[int, int]) -> Array:
        result = theirs(x, sizes, order=order, anti_aliasing=is_smoothed, preserve_range=True)
        return as_pixels(result)

    return resize
