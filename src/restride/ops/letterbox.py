"""Letterbox: a box resized to fit the sizes with its aspect kept, and the map from the result back to the image."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from restride.arguments import as_numpy, flag, require_word
from restride.dtypes import Array
from restride.errors import DescriptorError, warn_caller
from restride.request.arithmetic import numbers
from restride.request.boxes import PLACES, Flip, LetterboxPlace, read_boxes, read_flips, read_sizes, require_place

PlacedRounding: TypeAlias = Literal["nearest", "floor", "half_up"]

PointOrder: TypeAlias = Literal["yx", "xy"]

ORDERS: dict[PointOrder, str] = {"yx": "y0, x0, y1, x1", "xy": "x0, y0, x1, y1"}
"""For each order, the names of a box's coordinates."""

PLACED_ROUNDINGS: dict[PlacedRounding, Callable[[float], int]] = {
    "nearest": round,
    "floor": math.floor,
    "half_up": lambda size: math.floor(size + 0.5),
}
"""How the sizes of a letterboxed box are rounded: "nearest" takes halves to even."""


@dataclass(frozen=True, eq=False)
class Letterboxed:
    """The place of each box in its output; maps points and boxes of the outputs to their images, and boxes back.

    Points are (y, x), continuous: pixel i covers [i, i + 1), so that the corners of an output of (h, w) are (0, 0) and
    (h, w). If rows [y0, y1) of the image are rows [at, at + h) of the output, ``y`` of the output is
    ``y0 + (y - at) * (y1 - y0) / h`` of the image.

    Attributes:
        boxes: (boxes, 4), y0, x0, y1, x1 in the image, as the caller gave them.
        places: (boxes, 4), the same in the output: the part of it that is not filled.
        flipped: (boxes, 2), bool: whether along y, whether along x.
    """

    boxes: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    flipped: npt.NDArray[np.bool_]

    @classmethod
    def of(
        cls, boxes: Any, sizes: Iterable[SupportsIndex], letterbox: LetterboxPlace = "center", *, flip: Flip = None
    ) -> Letterboxed:
        """The places that ``crop_resize`` gives the boxes with these arguments; nothing is computed on the device.

        Args:
            boxes: (boxes, 4) integers y0, x0, y1, x1.
            sizes: height and width of every output.
            letterbox: "center" or "top_left".
            flip: as in ``crop_resize``.

        Raises:
            DescriptorError: boxes, sizes or words that ``crop_resize`` refuses.

        Examples:
            >>> placed = rs.Letterboxed.of([(0, 0, 480, 640)], (320, 320))
            >>> placed.places.tolist()
            [[40, 0, 280, 320]]
            >>> placed.to_image((40, 0, 280, 320), 0).tolist()
            [0.0, 0.0, 480.0, 640.0]
        """
        edges = read_boxes(boxes, "pixels")
        require_word("letterbox", letterbox, PLACES)
        return cls(edges, places_of(edges, "pixels", read_sizes(sizes), letterbox), read_flips(flip, len(edges)))

    def points(self, points: Any, index: Any = None) -> npt.NDArray[np.float64]:
        """Points (..., 2) of the outputs ``index`` as points of their images.

        index: the box, needed unless there is only one: an integer, or an array with an integer for each point, which
            broadcasts along axes of size 1: for points (images, points, 2) with a box for each image it is
            ``np.arange(images)[:, None]``.
        """
        array = _read("points", points, 2)
        if array.ndim == 0 or array.shape[-1] != 2:
            raise DescriptorError(f"points must be (..., 2), y and x, got shape {array.shape}")
        return self._mapped(array, self._index(index, array.shape[:-1]), self.places, self.boxes)

    def _mapped(
        self,
        points: npt.NDArray[np.float64],
        index: npt.NDArray[np.int64],
        before: npt.NDArray[np.int64],
        after: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.float64]:
        """Points in the rectangles ``before``, mapped to the rectangles ``after`` and flipped inside them."""
        old, new = before[index].astype(np.float64), after[index].astype(np.float64)
        part = (points - old[..., :2]) / (old[..., 2:] - old[..., :2])
        part = np.where(self.flipped[index], 1 - part, part)
        mapped: npt.NDArray[np.float64] = new[..., :2] + part * (new[..., 2:] - new[..., :2])
        return mapped

    def _index(self, index: object, points: tuple[int, ...]) -> npt.NDArray[np.int64]:
        if index is None:
            if len(self.boxes) != 1:
                raise DescriptorError(
                    f"index must say which of {len(self.boxes)} outputs each point or box is in, got none"
                )
            index = 0
        array = as_numpy("index", index)
        if array.dtype.kind not in "iuf" or (array != np.floor(array)).any():
            raise DescriptorError(f"index must be whole numbers, got {index!r} of {array.dtype}")
        is_of_axes = array.ndim == len(points) and all(
            size in (1, of) for size, of in zip(array.shape, points, strict=True)
        )
        if array.ndim and not is_of_axes:  # [0, 1, 2] for 3 x 3 points would broadcast along columns
            raise DescriptorError(
                f"index must be one integer, or an array of shape {points}, in which any axis may be 1, got shape "
                f"{array.shape}"
            )
        if array.size and not (array.min() >= 0 and array.max() < len(self.boxes)):
            raise DescriptorError(f"index must be in [0, {len(self.boxes)}), the boxes, got {index!r}")
        return array.astype(np.int64)

    def to_image(
        self, boxes: Any, index: Any = None, *, order: PointOrder = "yx", clip: bool = False
    ) -> npt.NDArray[np.float64]:
        """Boxes of the outputs, such as a network finds them, as boxes of their images, f64 of the same shape.

        Args:
            boxes: (..., 4), the first corner and the opposite one, in pixels. Corners in the other order are exchanged,
                with a warning.
            index: the output of each box, needed unless there is only one output: an integer, or an array with an
                integer for each box, as in ``points``.
            order: of ``boxes`` and of the result: "yx" is y0, x0, y1, x1; "xy" is x0, y0, x1, y1.
            clip: cut boxes to the part of the image that the output shows; a box all outside becomes empty.

        Raises:
            DescriptorError: ``boxes`` has another shape, no box has the index, or the order is unknown.
        """
        return self._boxes(boxes, index, order, self.places, self.boxes, clip=clip)

    def to_output(
        self, boxes: Any, index: Any = None, *, order: PointOrder = "yx", clip: bool = False
    ) -> npt.NDArray[np.float64]:
        """Boxes of the images, such as labels, as boxes of the outputs: the inverse of ``to_image``.

        Args:
            boxes: (..., 4), as in ``to_image``, in pixels of the image.
            index: as in ``to_image``.
            order: as in ``to_image``.
            clip: cut boxes to the part of the output that shows the image; a box all outside becomes empty.

        Raises:
            DescriptorError: as ``to_image``.

        Examples:
            >>> placed = rs.Letterboxed.of([(0, 0, 480, 640)], (320, 320))
            >>> placed.to_output([(120, 160, 240, 400)], 0).tolist()
            [[100.0, 80.0, 160.0, 200.0]]
            >>> placed.to_output([(160, 120, 800, 240)], 0, order="xy", clip=True).tolist()
            [[80.0, 100.0, 320.0, 160.0]]
        """
        return self._boxes(boxes, index, order, self.boxes, self.places, clip=clip)

    def _boxes(
        self,
        boxes: object,
        index: object,
        order: PointOrder,
        before: npt.NDArray[np.int64],
        after: npt.NDArray[np.int64],
        *,
        clip: bool,
    ) -> npt.NDArray[np.float64]:
        """Boxes in the rectangles ``before``, mapped to the rectangles ``after``. Boxes and result are in ``order``."""
        require_word("order", order, tuple(ORDERS))
        array = _read("boxes", boxes, 4)
        if array.ndim == 0 or array.shape[-1] != 4:
            raise DescriptorError(f"boxes must be (..., 4), {ORDERS[order]}, got shape {array.shape}")
        box = self._index(index, array.shape[:-1])
        corners = array.reshape(*array.shape[:-1], 2, 2)
        if (corners[..., 0, :] > corners[..., 1, :]).any():
            warn_caller(
                f"a box has its second corner before its first, and they are exchanged: boxes are {ORDERS[order]}, "
                f"corners in pixels, not a centre, height and width"
            )
        if order == "xy":
            corners = corners[..., ::-1]
        box = box[..., np.newaxis]  # the same for both corners
        mapped = np.sort(self._mapped(corners, box, before, after), axis=-2)
        if flag("clip", clip):
            mapped = mapped.clip(after[box][..., :2], after[box][..., 2:])
        if order == "xy":
            mapped = mapped[..., ::-1]
        return mapped.reshape(array.shape)


def _read(argument: str, values: object, length: int) -> npt.NDArray[np.float64]:
    """``values`` as an f64 array of shape (..., length); an empty list has the shape (0, length)."""
    array = numbers(argument, values).astype(np.float64, copy=False)
    return array.reshape(0, length) if array.shape == (0,) else array


def placed(
    box: tuple[int, int], sizes: tuple[int, int], place: str, rounding: PlacedRounding = "nearest"
) -> tuple[int, int, int, int]:
    """The place of a box of these sizes in the output: y0, x0, y1, x1, at least one row and column.

    The axis with less room decides the scale, an f64, by which both sizes are multiplied and then rounded, as programs
    for detectors do: 300 x 400 in 640 x 640 is 480 x 640, in rows 80 to 560. 57 x 192 in 416 x 416 is 123 x 416: as
    an f64, 416 / 192 is a little less than 13/6, so 57 times that is less than 123.5.

    Source: Ultralytics, LetterBox ("nearest"); YOLOX, preproc ("floor"); SAM, ResizeLongestSide ("half_up").
    """
    scale = min(size / before for size, before in zip(sizes, box, strict=True))
    height, width = (max(PLACED_ROUNDINGS[rounding](before * scale), 1) for before in box)
    y, x = (0, 0) if place == "top_left" else ((sizes[0] - height) // 2, (sizes[1] - width) // 2)
    return y, x, y + height, x + width


def places_of(
    edges: Array, units: str, sizes: tuple[int, int], letterbox: LetterboxPlace | None
) -> npt.NDArray[np.int64]:
    """The place of each box in its output, (boxes, 4): y0, x0, y1, x1; without ``letterbox`` all of the output.

    Raises:
        DescriptorError: an unknown word, or letterboxed boxes of floats.
    """
    require_place(edges, units, letterbox)
    if letterbox is None:
        return np.full((len(edges), 4), (0, 0, *sizes), np.int64)
    box_sizes = (edges[:, 2:] - edges[:, :2]).tolist()
    return np.array([placed((height, width), sizes, letterbox) for height, width in box_sizes], np.int64).reshape(-1, 4)
