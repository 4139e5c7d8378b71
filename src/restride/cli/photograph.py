"""The photograph of the demo: the user's own, or one that scikit-image ships."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.cli.exits import UsageError
from restride.cli.files import pillow, read_array

_SHIPPED = ("astronaut.png", "coffee.png", "chelsea.png")
_LONGEST_SIDE = 1280
"""Pixels. The numpy reference works in float64 and takes its time with a camera's 48 megapixels."""
_SHORTEST_SIDE = 32


@dataclass(frozen=True, eq=False)
class Photograph:
    """u8 pixels of sizes [height, width, 3], what they are, and what was done to them first (usually nothing)."""

    pixels: npt.NDArray[Any]
    title: str
    note: str = ""


def load_photograph(path: Path | None) -> Photograph:
    """``path``, or a photograph that scikit-image ships, as RGB.

    Raises:
        UsageError: no such photograph, or smaller than the demo can crop.
    """
    chosen = path if path is not None else _shipped()
    array = read_array(chosen).array
    if array.dtype != np.uint8 or array.ndim not in {2, 3}:
        raise UsageError(f"{chosen} is no photograph of u8 pixels: {array.dtype}{list(array.shape)}")
    image = pillow().fromarray(array).convert("RGB")
    title, note = chosen.name, ""
    if path is None:
        title += ", from scikit-image"
    if min(image.size) < _SHORTEST_SIDE:
        raise UsageError(f"{chosen} is {image.width} x {image.height} pixels; the demo needs {_SHORTEST_SIDE} a side")
    if max(image.size) > _LONGEST_SIDE:
        before = f"{image.width} x {image.height}"
        image.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
        note = f"{before} pixels, shrunk to {image.width} x {image.height} by Pillow first: the numpy reference is slow"
    return Photograph(np.asarray(image), title, note)


def _shipped() -> Path:
    fix = "name a photograph (restride demo PHOTO.jpg), or pip install 'restride[demo]'"
    package = find_spec("skimage")
    if package is None or package.origin is None:
        raise UsageError(f"scikit-image, which ships the demo's photographs, is not installed; {fix}")
    folder = Path(package.origin).parent / "data"
    for name in _SHIPPED:
        if (folder / name).is_file():
            return folder / name
    raise UsageError(f"scikit-image ships none of {', '.join(_SHIPPED)} in {folder}; {fix}")
