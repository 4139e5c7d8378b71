"""Boxes at the door: edges, the image of each, flips, and what fills the outside, checked, box by box in messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from restride.arguments import counts, integers, require_word
from restride.arithmetic import numbers, require_of_type
from restride.errors import DescriptorError, ErrorContext, UnsupportedError
from restride.layout import TensorDesc

UNITS = ("pixels", "normalized")

FLIPS = {"none": (False, False), "vertical": (True, False), "horizontal": (False, True), "both": (True, True)}
"""Which of rows and columns go backwards."""

FARTHEST = 1 << 30
"""From the image, in pixels: further out no edge lies."""

_BATCH_RANK = 4
"""Axes of a batch: images, rows, columns and channels. One image may have as many, but seldom does."""

_WITHOUT_PIXELS = "; boxes[(boxes[:, :2] < boxes[:, 2:]).all(1)] leaves out those without a pixel"

_Where = Callable[[], str]


def read_boxes(boxes: Any, units: Any, where: _Where) -> npt.NDArray[Any]:
    """Edges y0, x0, y1, x1 of each box: int64 where they are integers of pixels, else f64.

    Raises:
        DescriptorError: not (boxes, 4) numbers; not finite, or too far; integers that hold no pixel; unknown units.
    """
    require_word("units", units, UNITS, where)
    try:
        given = np.asarray(boxes)
    except (TypeError, ValueError) as error:
        raise DescriptorError(f"boxes must be an array of (boxes, 4) numbers: {error}, for {where()}") from error
    if not given.size and given.ndim == 1:
        given = given.reshape(0, 4).astype(np.int64)
    if given.ndim != 2 or given.shape[1] != 4 or given.dtype.kind not in "iuf":
        raise DescriptorError(
            f"boxes must be an array of (boxes, 4) numbers, y0, x0, y1, x1, got {given.dtype} of shape "
            f"{given.shape}, for {where()}"
        )
    farthest = FARTHEST if units == "pixels" else 1 << 16
    is_near = np.abs(given.astype(np.float64)) <= farthest  # NaN is not
    _require(is_near.all(axis=1), f"finite and within +-{farthest}", given, where)
    if given.dtype.kind == "f" or units == "normalized":
        return given.astype(np.float64)
    edges = given.astype(np.int64)
    has_pixels = (edges[:, :2] < edges[:, 2:]).all(axis=1)
    _require(has_pixels, "of integers with y0 < y1 and x0 < x1", given, where, _WITHOUT_PIXELS)
    return edges


def read_sizes(sizes: Any, where: _Where | None = None) -> tuple[int, int]:
    """Height and width of every result.

    Raises:
        DescriptorError: not two integers of 1 or more.
    """
    place = "" if where is None else f", for {where()}"
    if isinstance(sizes, int | np.integer):
        raise DescriptorError(f"sizes must be a height and a width, such as ({sizes}, {sizes}), got {sizes}{place}")
    given = counts("sizes", sizes, where)
    if len(given) != 2 or 0 in given:
        raise DescriptorError(f"sizes must be a height and a width of 1 or more, got {given}{place}")
    return given[0], given[1]


def _require(holds: Any, rule: str, boxes: npt.NDArray[Any], where: _Where, remedy: str = "") -> None:
    if not holds.all():
        box = int(holds.argmin())
        got = tuple(boxes[box].tolist())
        raise DescriptorError(f"boxes[{box}] must be {rule}, got {got}, for {where()}{remedy}")


def refuse_floats(what: str, units: str, where: _Where) -> NoReturn:
    """Refuse an argument that boxes of floats, and normalized ones, do not have."""
    pixels = "boxes" if units == "pixels" else "boxes * (rows, columns, rows, columns)"
    raise DescriptorError(
        f"{what} goes with boxes of integers in pixels, not of floats, for {where()}: "
        f"np.rint({pixels}).astype(np.int64) makes them; a detector's x0, y0, x1, y1 are boxes[:, [1, 0, 3, 2]] first"
    )


def roi_of(box: npt.NDArray[np.float64], extents: tuple[int, int], units: str, number: int) -> tuple[Fraction, ...]:
    """The edges of a box of floats as the ``roi`` of a resample: 0 and 1 are the first and the last element.

    A float counts as the decimal number that prints it.
    """
    edges = [Fraction(repr(edge)) for edge in box.tolist()]
    if units == "pixels":
        if 1 in extents:
            raise UnsupportedError(
                f"boxes[{number}] {tuple(box.tolist())} in pixels needs two rows and two columns or more, not {extents}"
            )
        edges = [edge / (extent - 1) for edge, extent in zip(edges, (*extents, *extents), strict=True)]
    return tuple(edges)


def images_of_boxes(
    images: Iterable[Any] | None, boxes: int, count: int, is_list: bool, where: _Where
) -> npt.NDArray[np.int64]:
    """The image of each box, of ``count``.

    Raises:
        DescriptorError: not an index for each box, or one is outside.
    """
    if images is None:
        if is_list and boxes != count:
            raise DescriptorError(f"images must say the image of each of {boxes} boxes, for a list of {count}")
        return np.arange(boxes) if is_list else np.zeros(boxes, np.int64)
    index = np.array(integers("images", images, where), np.int64)
    if len(index) != boxes:
        raise DescriptorError(f"images must be one for each of {boxes} boxes, got {len(index)}, for {where()}")
    outside = np.flatnonzero((index < 0) | (index >= count))
    if len(outside):
        box = int(outside[0])
        raise DescriptorError(f"images[{box}] = {index[box]} is outside [0, {count}) of the images, for {where()}")
    return index


def read_flips(flip: Any, boxes: int, where: _Where) -> npt.NDArray[np.bool_]:
    """Whether rows and columns of each box go backwards, (boxes, 2).

    Raises:
        DescriptorError: not one word, or one for each box; or an unknown one.
    """
    if flip is None or isinstance(flip, str) or not isinstance(flip, Iterable):
        require_word("flip", flip, (None, *FLIPS), where)
        return np.tile(np.array(FLIPS[flip or "none"], np.bool_), (boxes, 1))
    words = list(flip)
    if len(words) != boxes:
        raise DescriptorError(f"flip must be a word, or one for each of {boxes} boxes, got {len(words)}, for {where()}")
    for box, word in enumerate(words):
        require_word(f"flip[{box}]", word, tuple(FLIPS), where)
    return np.array([FLIPS[word] for word in words], np.bool_).reshape(boxes, 2)


def per_channel(argument: str, value: Any, src: TensorDesc, channels: int | None) -> npt.NDArray[Any]:
    """``value`` as one number, or one for each of the channels of an image.

    channels: None: it has no axis of them alone.

    Raises:
        DescriptorError: not numbers, or not as many.
    """
    with ErrorContext(src):
        given = numbers(argument, value)
    if given.ndim > 1 or (given.ndim and given.size not in (1, channels)):
        many = "one number" if channels is None else f"one number, or one for each of {channels} channels"
        remedy = batch_remedy(src) if channels is None else ""
        raise DescriptorError(f"{argument} must be {many}, got shape {given.shape}, for {src}{remedy}")
    return given


def batch_remedy(src: TensorDesc) -> str:
    """What to say where one image seems to be a batch."""
    return "; a batch needs images=, the image of each box" if src.rank == _BATCH_RANK else ""


def read_fill(fill: Any, src: TensorDesc, channels: int | None) -> npt.NDArray[Any]:
    """``fill`` as elements of the source's type: one, or one for each channel.

    Raises:
        DescriptorError: not numbers, not as many, or an integer type does not have one of them.
    """
    given = per_channel("fill", fill, src, channels)
    if not src.dtype.is_float:
        with ErrorContext(src):
            require_of_type("fill", given, src.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return given.astype(src.dtype.dtype)
