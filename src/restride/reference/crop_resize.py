"""The reference for ``crop_resize``: every box is padded, sliced, resampled, flipped, placed and converted alone.

Integer boxes in pixels are cut from an image that ``fill`` extends without end. Other boxes are resamplings of the
whole image with ``tf_crop_and_resize``; their edges are exact fractions of the image's size less one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from restride.arguments import as_numpy, unexpected
from restride.dtypes import Array, as_dtype
from restride.errors import ErrorContext, UnsupportedError
from restride.reference.arguments import BoxArguments, as_array, described, require_few_elements
from restride.reference.conversion import convert
from restride.reference.reorder import reorder
from restride.reference.resample import NEUTRAL, resample, resample_limits
from restride.request import Request
from restride.request.arithmetic import require_of_type
from restride.request.boxes import (
    read_axes,
    read_boxes,
    read_flips,
    read_image_indices,
    read_per_channel,
    read_sizes,
    read_words_of_boxes,
    require_pixels,
    require_place,
)
from restride.request.resampling import FilterArguments

Resampled = Callable[..., tuple[Array, Array]]
"""A resampling function that returns two arrays: the lowest and the highest correct results."""


def crop_resize(x: Any, boxes: Any, sizes: Sequence[int], **arguments: Unpack[BoxArguments]) -> Array:
    """The result of ``rs.crop_resize`` for one image or a batch; arguments have the same names.

    ``axes`` is required. A list of images, ``mean``, ``std``, ``layout`` and ``out`` are not supported.

    Example:
        >>> photo = np.arange(6, dtype=np.uint8).reshape(2, 3)
        >>> rs.reference.crop_resize(photo, [(0, 1, 2, 4)], (2, 3), axes=(0, 1), fill=9).tolist()
        [[[1, 2, 9], [4, 5, 9]]]
    """
    return _crop(lambda *values, **others: (resample(*values, **others),) * 2, x, boxes, sizes, arguments)[0]


def crop_resize_limits(
    x: Any, boxes: Any, sizes: Sequence[int], **arguments: Unpack[BoxArguments]
) -> tuple[Array, Array]:
    """The lowest and the highest correct result of each element, as for ``resample_limits``."""
    return _crop(resample_limits, x, boxes, sizes, arguments)


def _crop(
    resampled: Resampled, x: object, boxes: object, sizes: Sequence[int], arguments: Mapping[str, Any]
) -> tuple[Array, Array]:
    if not arguments.keys() <= BoxArguments.__annotations__.keys():
        raise unexpected(crop_resize, arguments, BoxArguments.__annotations__.keys())
    if "axes" not in arguments:
        raise TypeError("crop_resize() missing 1 required keyword-only argument: 'axes'")
    array = as_array(x)
    with ErrorContext(described(array)):
        return _cut_all(resampled, array, boxes, sizes, dict(arguments))


def _cut_all(
    resampled: Resampled, array: Array, boxes: object, sizes: Sequence[int], others: dict[str, Any]
) -> tuple[Array, Array]:
    axes, images, letterbox, flip = (others.pop(name, None) for name in ("axes", "images", "letterbox", "flip"))
    units, fill, desc = others.pop("units", "pixels"), others.pop("fill", 0), described(array)
    require_pixels("x", desc)
    first = int(images is not None)
    image_axes = tuple(axis - first for axis in read_axes(axes, desc, first))
    edges, size = read_boxes(boxes, units), read_sizes(sizes)
    chosen = None if images is None else read_image_indices(images, len(edges), len(array))
    require_place(edges, units, letterbox)
    words = {name: value for name, value in others.items() if name in (*FilterArguments.__annotations__, "mode")}
    flips = read_flips(flip, len(edges))
    read_words_of_boxes(Request(**words), edges, units, desc.dtype.name)
    channels = [count for axis, count in enumerate(array.shape[first:]) if axis not in image_axes]
    values = read_per_channel("fill", fill, channels[0] if len(channels) == 1 else None)
    if not desc.dtype.is_float:
        require_of_type("fill", values, desc.dtype)
    dtype = others.get("dtype")
    others["dtype"] = as_dtype(array.dtype if dtype is None else dtype).dtype
    require_few_elements((len(edges), *size, *channels), array)
    if not len(edges):
        sizes_of_result = list(array.shape[first:])
        for axis, each in zip(image_axes, size, strict=True):
            sizes_of_result[axis] = each
        nothing = np.empty((0, *sizes_of_result), others["dtype"])
        return nothing, nothing
    is_cut = edges.dtype.kind == "i"
    ends = []
    for number, box in enumerate(edges.tolist()):
        image = array if chosen is None else array[chosen[number]]
        crop = _Crop(
            image,
            image_axes,
            size,
            _place(box, size, letterbox) if is_cut else [(0, each) for each in size],
            tuple(axis for axis, is_flipped in zip(image_axes, flips[number], strict=True) if is_flipped),
            np.broadcast_to(convert(fill, image.dtype), channels),
            others | _steps_of_box(others, number, image.ndim),
        )
        pair = crop.cut(resampled, box) if is_cut else crop.sample(resampled, box, units)
        ends.append([crop.place_part(end) for end in pair])
    return np.stack([low for low, _ in ends]), np.stack([high for _, high in ends])


def _steps_of_box(arguments: Mapping[str, object], number: int, rank: int) -> dict[str, Any]:
    """The scales and zero points of box ``number``; arrays may have one entry for each box."""
    steps = {}
    for name in NEUTRAL:
        if arguments.get(name) is not None:
            values = as_numpy(name, arguments[name])
            values = values[min(number, len(values) - 1)] if values.ndim > rank else values
            steps[name] = values.reshape((1,) * (rank - values.ndim) + values.shape)
    return steps


def _place(box: Sequence[int], sizes: Sequence[int], letterbox: str | None) -> list[tuple[int, int]]:
    """The (start, stop) of the rows and of the columns of the result that a box fills.

    The factor is an f64, the smaller one of ``H / h`` and ``W / w`` for a box of height h and width w in H x W.
    """
    if letterbox is None:
        return [(0, size) for size in sizes]
    height, width = box[2] - box[0], box[3] - box[1]
    factor = min(sizes[0] / height, sizes[1] / width)
    spans = []
    for size, extent in zip(sizes, (height, width), strict=True):
        part = max(1, int(np.rint(extent * factor)))
        start = 0 if letterbox == "top_left" else (size - part) // 2
        spans.append((start, start + part))
    return spans


@dataclass(frozen=True, eq=False)
class _Crop:
    """One box of an image with rows and columns along ``axes``; the result has ``sizes`` there.

    place: the (start, stop) of the rows and columns of the result that the box fills. fill: one element for each
    channel; the rest of the result is made of it, and a box that leaves the image reads it. backwards: axes to flip.
    arguments: keywords of ``resample``, for the whole result.
    """

    image: Array
    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    place: list[tuple[int, int]]
    backwards: tuple[int, ...]
    fill: Array
    arguments: dict[str, Any]

    def cut(self, resampled: Resampled, box: Sequence[int]) -> tuple[Array, Array]:
        """Resample a slice of the image, which ``fill`` continues without end."""
        sizes, indices = list(self.image.shape), []
        for axis, low, high in zip(self.axes, box[:2], box[2:], strict=True):
            sizes[axis] = high - low
            indices.append(np.arange(low, high))
        rows, columns = (
            (index >= 0) & (index < self.image.shape[axis]) for index, axis in zip(indices, self.axes, strict=True)
        )
        piece = np.moveaxis(self._filled(sizes), self.axes, (0, 1))
        image = np.moveaxis(self.image, self.axes, (0, 1))
        piece[np.ix_(rows, columns)] = image[np.ix_(indices[0][rows], indices[1][columns])]
        new = [stop - start for start, stop in self.place]
        return resampled(np.moveaxis(piece, (0, 1), self.axes), new, axes=self.axes, **self._arguments_in_place())

    def sample(self, resampled: Resampled, box: Sequence[float], units: str) -> tuple[Array, Array]:
        """Resample with an extrapolation value: one for all channels, or channel by channel."""
        edges = [Fraction(repr(float(edge))) for edge in box]
        if units == "pixels":
            spans = [self.image.shape[axis] - 1 for axis in self.axes] * 2
            if 0 in spans:
                raise UnsupportedError(f"box {tuple(box)} in pixels needs an image of 2 x 2 or more")
            edges = [edge / span for edge, span in zip(edges, spans, strict=True)]
        others = {**self._arguments_in_place(), "coordinates": "tf_crop_and_resize", "roi": edges}

        def one(value: Any) -> tuple[Array, Array]:
            return resampled(self.image, self.sizes, axes=self.axes, extrapolation_value=value.item(), **others)

        values = np.unique(self.fill if self.fill.dtype.kind in "iu" else self.fill.astype(np.float64))
        low, high = one(values[0])
        for value in values[1:]:
            chosen = np.broadcast_to(np.expand_dims(self.fill == value, self.axes), low.shape)
            low, high = (np.where(chosen, new, old) for new, old in zip(one(value), (low, high), strict=True))
        return low, high

    def place_part(self, part: Array) -> Array:
        """Flip ``part`` and put it into the result, whose rest is ``fill`` after the arithmetic."""
        part = np.flip(part, self.backwards)
        sizes = list(part.shape)
        for axis, size in zip(self.axes, self.sizes, strict=True):
            sizes[axis] = size
        if list(part.shape) == sizes:
            return part
        arguments = self.arguments
        names = (*NEUTRAL, "post_ops", "rounding", "saturate")
        around = self._filled(sizes)
        if arguments.get("mode") != "nearest" and self.image.dtype != arguments["dtype"]:
            around = convert(around, np.float32)
        steps = {name: arguments[name] for name in names if arguments.get(name) is not None}
        result = reorder(around, dtype=arguments["dtype"], **steps)
        key = [slice(None)] * part.ndim
        for axis, (start, stop) in zip(self.axes, self.place, strict=True):
            key[axis] = slice(start, stop)
        result[tuple(key)] = part
        return result

    def _filled(self, sizes: Sequence[int]) -> Array:
        """An array of ``sizes`` that contains only ``fill``."""
        require_few_elements(sizes, self.image)
        return np.array(np.broadcast_to(np.expand_dims(self.fill, self.axes), sizes))

    def _arguments_in_place(self) -> dict[str, Any]:
        """The arguments for the box's part of the result, before it is flipped."""
        arguments = dict(self.arguments)
        for name in NEUTRAL:
            values = arguments.get(name)
            for axis, (start, stop) in zip(self.axes, self.place, strict=True):
                if values is not None and values.ndim > axis and values.shape[axis] > 1:
                    values = np.take(values, range(start, stop), axis)
                    values = np.flip(values, axis) if axis in self.backwards else values
            arguments[name] = values
        return arguments
