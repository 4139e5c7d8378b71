"""OpenCV: every interpolation of ``cv2.resize``, of four element types."""

from __future__ import annotations

from restride_like_check.judge import Array, Judge, Resize, Way, as_pixels

_MODES = ("nearest", "nearest_exact", "linear", "linear_exact", "area", "cubic", "lanczos4")

_TYPES = ("u8", "u16", "s16", "f32")


def opencv() -> Judge:
    """Of the OpenCV that is installed, as its wheel is set up."""
    import cv2

    ways = [
        Way(mode, dtype, {"mode": mode}, _resize(getattr(cv2, f"INTER_{mode.upper()}")))
        for dtype in _TYPES
        for mode in _MODES
    ]
    return Judge("opencv", "opencv-python-headless", cv2.__version__, tuple(ways))


def _resize(interpolation: int) -> Resize:
    import cv2

    def resize(x: Array, sizes: tuple[int, int]) -> Array:
        return as_pixels(cv2.resize(x, (sizes[1], sizes[0]), interpolation=interpolation))

    return resize
