"""Draw docs/images/light.png: how averaging codes changes brightness and colours behind alpha, and rs.resize's options.

Stripes of 0 and 255 emit as much light as a square of 188, the code for half the light, so the square stands out where
codes are averaged. A red disc lies on transparent pixels whose hidden colour is green.

    python tools/resize_picture.py docs/images/light.png
"""

import sys
from pathlib import Path

import numpy as np

import restride as rs
from restride.cli.demo import Panel, draw_sheet

SHAPE, SMALL = (160, 240), (40, 60)


def stripes() -> np.ndarray:
    """Rows of 0 and 255, and a square of 188 in the middle."""
    pixels = np.zeros((*SHAPE, 3), np.uint8)
    pixels[::2] = 255
    pixels[48:112, 88:152] = 188
    return pixels


def disc() -> np.ndarray:
    """Pixels that are red with alpha 255 inside a circle, and green with alpha 0 outside."""
    y, x = np.ogrid[: SHAPE[0], : SHAPE[1]]
    is_inside = (y - 79.5) ** 2 + (x - 119.5) ** 2 < 67**2
    return np.where(is_inside[..., None], np.uint8([220, 30, 40, 255]), np.uint8([0, 255, 0, 0]))


def on_white(pixels: np.ndarray) -> np.ndarray:
    """The pixels blended onto white, as a viewer shows them."""
    alpha = pixels[..., 3:] / 255
    return np.rint(pixels[..., :3] * alpha + 255 * (1 - alpha)).astype(np.uint8)


def panels() -> list[Panel]:
    """The panels: each source, its resize by default, and its resize with the option."""
    lines, shape = stripes(), disc()
    codes, light = (rs.resize(lines, SMALL, linear_light=each).numpy() for each in (False, True))
    apart, times = (rs.resize(shape, SMALL, premultiply=each).numpy() for each in (False, True))
    call = f"rs.resize(x, {SMALL}"
    return [
        Panel(lines, "x: rows of 0 and 255, and a square of 188", "both send half of the light, on most screens"),
        Panel(codes, f"{call})", f"rows become {codes[8, 8, 0]}, the square stays {codes[20, 30, 0]}"),
        Panel(
            light, f"{call}, linear_light=True)", f"rows become {light[8, 8, 0]}, the square stays {light[20, 30, 0]}"
        ),
        Panel(on_white(shape), "x: red, on transparent pixels that are green", "shown on white"),
        Panel(on_white(apart), f"{call})", "alpha is one channel more: green bleeds into the rim"),
        Panel(on_white(times), f"{call}, premultiply=True)", "colours count by their alpha"),
    ]


if __name__ == "__main__":
    draw_sheet(Path(sys.argv[1]), "light and alpha", "u8 of 160 x 240, made 40 x 60; enlarged pixel by pixel", panels())
