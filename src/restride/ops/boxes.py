"""Boxes of images as callers write them, checked: their edges, the sizes they are resized to, and how they are flipped.

Messages name the box.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NoReturn, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from restride.arguments import as_numpy, counts, require_word
from restride.dtypes import Array
from restride.errors import DescriptorError, Message

Flip: TypeAlias = str | Iterable[str] | None

Units: TypeAlias = Literal["pixels", "normalized"]
UNITS: tuple[Units, ...] = get_args(Units)

FLIPS = {"none": (False, False), "vertical": (True, False), "horizontal": (False, True), "both": (True, True)}
"""For each flip, whether rows and columns go backwards."""

FARTHEST = 1 << 30
"""Maximum distance of an edge from the image's origin, in pixels."""


def read_boxes(boxes: object, units: object) -> Array:
    """Edges y0, x0, y1, x1 of each box: int64 where they are integers of pixels, else f64.

    Raises:
        DescriptorError: not (boxes, 4) numbers; not finite, or too far; integers that hold no pixel; unknown units.
    """
    require_word("units", units, UNITS)
    edges = as_numpy("boxes", boxes)
    if not edges.size and edges.ndim == 1:
        edges = edges.reshape(0, 4).astype(np.int64)
    if edges.ndim != 2 or edges.shape[1] != 4 or edges.dtype.kind not in "iuf":
        raise DescriptorError(
            f"boxes must be an array of (boxes, 4) numbers, y0, x0, y1, x1, got {edges.dtype} of shape {edges.shape}"
        )
    farthest = FARTHEST if units == "pixels" else 1 << 16
    is_near = np.abs(edges.astype(np.float64)) <= farthest  # False for NaN
    _require(is_near.all(axis=1), f"finite and within +-{farthest}", edges)
    if edges.dtype.kind == "f" or units == "normalized":
        return edges.astype(np.float64)
    edges = edges.astype(np.int64)
    has_pixels = (edges[:, :2] < edges[:, 2:]).all(axis=1)
    remedy = "; boxes[(boxes[:, :2] < boxes[:, 2:]).all(1)] leaves out those without a pixel"
    _require(has_pixels, "of integers with y0 < y1 and x0 < x1", edges, remedy)
    return edges


def _require(holds: Any, rule: str, boxes: Array, remedy: str = "") -> None:
    if not holds.all():
        box = int(holds.argmin())
        raise DescriptorError(f"boxes[{box}] must be {rule}, got {tuple(boxes[box].tolist())}{remedy}")


def about_pixels(edges: Array, sides: npt.NDArray[np.int64]) -> str:
    """Return a warning if boxes in pixels seem to be normalized, or to have x before y; else an empty text.

    Floats that are all of 0 to 1 read hardly more than the first pixel of a larger image.

    A box outside its image gives only ``fill``, which hardly anybody wants. If all boxes are inside their images with x
    and y swapped, the order is the likely cause. sides: rows and columns of the image of each box.
    """
    if edges.dtype.kind == "f" and len(edges) and ((edges >= 0) & (edges <= 1)).all() and (sides > 2).any():
        return (
            "all boxes are floats of 0 to 1, which as pixels lie between the centres of the first two: "
            "units='normalized' takes them as parts of the image"
        )
    low, high = np.minimum(edges[:, :2], edges[:, 2:]), np.maximum(edges[:, :2], edges[:, 2:])  # floats may be reversed
    if not (low >= sides).any() or (low < 0).any() or (high[:, ::-1] > sides).any():
        return ""
    return (
        "a box lies beside its image, and all of them are inside with x and y swapped: boxes are y0, x0, y1, x1, and "
        "boxes[:, [1, 0, 3, 2]] makes them of x0, y0, x1, y1"
    )


def read_sizes(sizes: object) -> tuple[int, int]:
    """Height and width of every result.

    Raises:
        DescriptorError: not two integers of 1 or more.
    """
    if isinstance(sizes, int | np.integer):
        raise DescriptorError(f"sizes must be a height and a width, such as ({sizes}, {sizes}), got {sizes}")
    both = counts("sizes", sizes)
    if len(both) != 2 or 0 in both:
        raise DescriptorError(f"sizes must be a height and a width of 1 or more, got {both}")
    return both[0], both[1]


def refuse_floats(what: str, units: str) -> NoReturn:
    """Refuse an argument that has no effect on boxes of floats or on normalized boxes."""
    pixels = "boxes" if units == "pixels" else "boxes * (rows, columns, rows, columns)"
    raise DescriptorError(
        Message.of(
            f"{what} goes with boxes of integers in pixels, not of floats",
            f": np.rint({pixels}).astype(np.int64) makes them; a detector's x0, y0, x1, y1 are boxes[:, [1, 0, 3, 2]] "
            f"first",
            ": round them; a box is y0, x0, y1, x1",
        )
    )


def read_flips(flip: Any, boxes: int) -> npt.NDArray[np.bool_]:
    """Whether rows and columns of each box are reversed, (boxes, 2). flip: one word for all, or one for each box."""
    if flip is None or isinstance(flip, str) or not isinstance(flip, Iterable):
        require_word("flip", flip, (None, *FLIPS))
        return np.full((boxes, 2), FLIPS[flip or "none"], np.bool_)
    words = list(flip)
    if len(words) != boxes:
        raise DescriptorError(f"flip must be a word, or one for each of {boxes} boxes, got {len(words)}")
    for box, word in enumerate(words):
        require_word(f"flip[{box}]", word, tuple(FLIPS))
    return np.array([FLIPS[word] for word in words], np.bool_).reshape(boxes, 2)
