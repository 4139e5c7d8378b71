"""Boxes of images as callers write them, checked: their edges, sizes, words and images, for every box.

Messages name the box.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NoReturn, SupportsIndex, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from restride.arguments import as_numpy, counts, integers, require_word
from restride.dtypes import Array
from restride.errors import DescriptorError, ErrorContext, Message
from restride.kernel.shared_constants import MAX_CHANNELS
from restride.layout import TensorDesc
from restride.request.arithmetic import numbers
from restride.request.libraries import LibraryRequest
from restride.request.resampling import Request, read_words

Flip: TypeAlias = str | Iterable[str] | None

Indices: TypeAlias = Iterable[SupportsIndex] | None

LetterboxPlace: TypeAlias = Literal["center", "top_left"]
PLACES: tuple[LetterboxPlace, ...] = get_args(LetterboxPlace)
"""Places that a letterboxed box may have in its result."""

Units: TypeAlias = Literal["pixels", "normalized"]
UNITS: tuple[Units, ...] = get_args(Units)

FLIPS = {"none": (False, False), "vertical": (True, False), "horizontal": (False, True), "both": (True, True)}
"""For each flip, whether rows and columns go backwards."""

_BATCH_RANK = 4
"""A batch has this many axes: images, rows, columns and channels. A single image seldom has as many."""

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
            "all boxes are floats of 0 to 1, which in pixels lie between the centres of the first two pixels: "
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


def require_place(edges: Array, units: str, letterbox: object) -> None:
    """Check where boxes that keep their aspect lie in their results.

    Raises:
        DescriptorError: an unknown word, or letterboxed boxes of floats.
    """
    require_word("letterbox", letterbox, (None, *PLACES))
    if letterbox is not None and edges.dtype.kind != "i":
        refuse_floats("letterbox", units)


def read_words_of_boxes(
    request: Request, edges: Array, units: str, dtype: str
) -> tuple[Request, LibraryRequest | None]:
    """``read_words`` for boxes, which have their own coordinates if they are floats or normalized.

    Raises:
        DescriptorError: as ``read_words``, or a word that does not go with such boxes.
    """
    if edges.dtype.kind != "i":
        if request.antialias:
            refuse_floats("antialias", units)
        if request.coordinates not in (None, "tf_crop_and_resize"):
            refuse_floats(f"coordinates {request.coordinates!r}", units)
        if request.like is not None:
            refuse_floats(f"like {request.like!r}", units)
        return read_words(request._replace(coordinates=None), dtype)  # each box has its own roi
    if request.coordinates == "tf_crop_and_resize":
        raise DescriptorError("coordinates 'tf_crop_and_resize' goes with boxes of floats, not of integers in pixels")
    return read_words(request, dtype)


def require_pixels(name: str, desc: TensorDesc) -> None:
    """Require that an image or a batch has elements.

    Raises:
        DescriptorError: there are none.
    """
    if not desc.numel:
        raise DescriptorError(f"{name} {desc} has no elements to cut boxes from")


def read_axes(axes: Indices, desc: TensorDesc, first: int) -> tuple[int, int]:
    """Rows and columns among the axes of ``desc``, counted from 0; default: the last two.

    first: the first axis of an image, 1 in a batch.

    Raises:
        DescriptorError: not two axes of an image, rows before columns; or the default seems to be columns and channels.
    """
    rank = desc.rank
    if rank < first + 2:
        raise DescriptorError(f"x {desc} must have rows and columns{', behind the axis of the images' * first}")
    if axes is None:
        if rank > first + 2 and desc.sizes[-1] <= MAX_CHANNELS < desc.sizes[-2]:
            raise DescriptorError(
                Message.of(
                    f"the last axes of x {desc} look like columns and channels: say ",
                    f"axes=({rank - 3}, {rank - 2}), or axes=({rank - 2}, {rank - 1}) if they are not"
                    f"{'' if first else batch_remedy(desc)}",
                    f"--axes {rank - 3} {rank - 2}, or --axes {rank - 2} {rank - 1} if they are not",
                )
            )
        return rank - 2, rank - 1
    with ErrorContext(desc):
        both = integers("axes", axes)
    counted = [axis + rank if axis < 0 else axis for axis in both]
    if len(counted) != 2 or not first <= counted[0] < counted[1] < rank:
        raise DescriptorError(
            f"axes {both} must be two of an image, rows before columns, each in [{first}, {rank}), for {desc}"
        )
    return counted[0], counted[1]


def batch_remedy(desc: TensorDesc) -> str:
    """The end of an error message if one image seems to be a batch; else empty."""
    return "; a batch needs images=, the image of each box" if desc.rank == _BATCH_RANK else ""


def read_image_indices(images: Indices, boxes: int, number: int) -> npt.NDArray[np.int64]:
    """The image of each box, of ``number`` images.

    Raises:
        DescriptorError: not one integer for each box, or the index of an image that does not exist.
    """
    index = np.array(integers("images", images), np.int64)
    if len(index) != boxes:
        raise DescriptorError(f"images must be one for each of {boxes} boxes, got {len(index)}")
    outside = np.flatnonzero((index < 0) | (index >= number))
    if len(outside):
        box = int(outside[0])
        raise DescriptorError(f"images[{box}] = {index[box]} is outside [0, {number}) of the images")
    return index


def read_per_channel(argument: str, value: object, channels: int | None, remedy: str = "") -> Array:
    """``value`` as one number, or one for each channel of an image. channels: None without exactly one such axis.

    Raises:
        DescriptorError: not numbers, or not as many as channels; ``remedy`` ends the message.
    """
    array = numbers(argument, value)
    if array.ndim > 1 or (array.ndim and array.size not in (1, channels)):
        many = "one number" if channels is None else f"one number, or one for each of {channels} channels"
        raise DescriptorError(Message.of(f"{argument} must be {many}, got shape {array.shape}", remedy))
    return array
