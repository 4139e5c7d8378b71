"""Resizes boxes by single operations, one after the other, if no kernel of boxes sums as the library does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from restride.dtypes import Array
from restride.ops.images import Images
from restride.ops.perform import perform
from restride.ops.reorder import reorder
from restride.ops.resample import resample_plan
from restride.request import Request
from restride.tensor.arrays import asarray
from restride.tensor.device import Device
from restride.tensor.tensor import Tensor
from restride.weights import Boxes
from restride.weights.resizing import replaced


def _visible_part(start: int, stop: int, size: int, flipped: bool) -> tuple[slice, slice]:
    """The part of ``size`` outputs that a box from ``start`` to ``stop`` covers, and that part within the box.

    A box from -58 to 283 covers all of 224 outputs, with its indices 58 to 282, or 59 to 283 if it is reversed.
    """
    place = slice(max(start, 0), min(stop, size))
    if flipped:
        return place, slice(stop - place.stop, stop - place.start)
    return place, slice(place.start - start, place.stop - start)


class OneByOne(NamedTuple):
    """Boxes, and the request of the resampling that each of them goes through."""

    source: Images
    boxes: Boxes
    images: npt.NDArray[np.int64]
    fill: Array
    request: Request

    def run(self, tensors: tuple[Tensor, ...], cropped: Tensor) -> None:
        """Write all boxes, before the arithmetic, to ``cropped``, a packed tensor."""
        sizes, places = cropped.sizes, self.boxes.places
        axes = self.source.axes_of_image
        with cropped.device.batch():
            if (places[:, :2] > 0).any() or (places[:, 2:] < [sizes[axis + 1] for axis in axes]).any():
                reorder(self._filled(sizes, cropped.device), out=cropped)
            for box, place in enumerate(places.tolist()):
                flips = self.boxes.flipped[box].tolist()
                each = zip(place[:2], place[2:], axes, flips, strict=True)
                parts = [_visible_part(start, stop, sizes[axis + 1], flip) for start, stop, axis, flip in each]
                out = cropped[(box, *_image_index(axes, [part for part, _ in parts]))]
                out = out[_image_index(axes, [slice(None, None, -1 if flip else 1) for flip in flips])]
                sizes_of_box = place[2] - place[0], place[3] - place[1]
                request = self.request._replace(sizes=sizes_of_box, axes=axes, window=[window for _, window in parts])
                perform(resample_plan, self._piece(tensors, box, axes), out, request)

    def _piece(self, tensors: tuple[Tensor, ...], box: int, axes: tuple[int, int]) -> Tensor:
        """The elements of the image that are in a box, with ``fill`` where the box leaves the image."""
        index = int(self.images[box])
        image = tensors[0][index] if self.source.first else tensors[index if self.source.is_list else 0]
        y0, x0, y1, x1 = self.boxes.edges[box].tolist()
        bounds = ((y0, y1), (x0, x1))
        extents = [image.sizes[axis] for axis in axes]
        inside = [(max(low, 0), min(high, extent)) for (low, high), extent in zip(bounds, extents, strict=True)]
        present = image[_image_index(axes, [slice(low, max(low, high)) for low, high in inside])]
        sizes = replaced(image.sizes, axes, (y1 - y0, x1 - x0))
        if present.sizes == sizes:
            return present
        piece = reorder(self._filled(sizes, image.device))
        if present.desc.numel:
            ranges = [slice(a - low, b - low) for (a, b), (low, _) in zip(inside, bounds, strict=True)]
            reorder(present, out=piece[_image_index(axes, ranges)])
        return piece

    def _filled(self, sizes: tuple[int, ...], device: Device) -> Tensor:
        """``fill`` broadcast to ``sizes``, without memory for each element."""
        fill = self.fill
        if fill.ndim and self.source.channel is not None:
            fill = fill.reshape(-1, *[1] * (self.source.desc.rank - 1 - self.source.channel))
        return asarray(np.ascontiguousarray(fill), device=device).broadcast_to(sizes)


def _image_index(axes: tuple[int, int], slices: list[slice]) -> tuple[slice, ...]:
    """The index of an image that applies these slices to rows and columns."""
    return replaced([slice(None)] * (axes[1] + 1), axes, slices)
