"""Pillow: bytes in bands apart, I;16, I and F."""

from __future__ import annotations

import numpy as np

from restride_like_check.judge import Array, Judge, Resize, Way, as_pixels

_FILTERS = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")

_MODES = {1: "L", 2: "La", 3: "RGB", 4: "CMYK"}
"""By channels. LA and RGBA are resized with colours times alpha, which ``like`` has not; ``rs.compat.pil`` has."""


def pillow() -> Judge:
    """Of the Pillow that is installed."""
    import PIL

    ways = [Way(name, "u8", {"mode": name}, _resize(name)) for name in _FILTERS]
    for dtype in ("u16", "s32", "f32"):
        ways += [Way(name, dtype, {"mode": name}, _resize(name), (1,)) for name in _FILTERS]
    return Judge("pillow", "Pillow", PIL.__version__, tuple(ways))


def _resize(name: str) -> Resize:
    from PIL import Image

    way = Image.Resampling[name.upper()]

    def resize(x: Array, sizes: tuple[int, int]) -> Array:
        if x.dtype == np.uint8:
            mode = _MODES[1 if x.ndim == 2 else x.shape[2]]
            image = Image.frombytes(mode, (x.shape[1], x.shape[0]), x.tobytes())
        else:
            image = Image.fromarray(x)
        return as_pixels(image.resize((sizes[1], sizes[0]), way))

    return resize
