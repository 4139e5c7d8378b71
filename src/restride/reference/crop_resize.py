"""The reference for ``crop_resize``: every box padded, sliced, resampled, flipped, placed and converted by itself.

Boxes of integers in pixels are cut out of an image that goes on for ever with ``fill``. Others are a resampling with
``tf_crop_and_resize`` of the whole image, whose edges are exact fractions of its extent less one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from restride.reference.arguments import Array
from restride.reference.conversion import convert
from restride.reference.layouts import reorder
from restride.reference.resample import resample, resample_limits

_STEPS = ("src_scale", "src_zero_point", "dst_scale", "dst_zero_point")


def crop_resize(x: Any, boxes: Any, sizes: Sequence[int], **arguments: Any) -> Array:
    """The result of ``rs.crop_resize`` for one image or a batch; its arguments are called as there.

    ``axes`` are to be given. ``mean``, ``std``, ``layout`` and ``out`` are not known here.
    """
    return _cropped(lambda *given, **named: (resample(*given, **named),) * 2, x, boxes, sizes, **arguments)[0]


def crop_resize_limits(x: Any, boxes: Any, sizes: Sequence[int], **arguments: Any) -> tuple[Array, Array]:
    """The lowest and the highest right answer of each element, as ``resample_limits`` has them."""
    return _cropped(resample_limits, x, boxes, sizes, **arguments)


def _cropped(
    resampled: Callable[..., tuple[Array, Array]],
    x: Any,
    boxes: Any,
    sizes: Sequence[int],
    *,
    axes: Sequence[int],
    images: Sequence[int] | None = None,
    units: str = "pixels",
    letterbox: str | None = None,
    flip: str | Sequence[str] = "none",
    fill: Any = 0,
    **others: Any,
) -> tuple[Array, Array]:
    array, edges = np.asarray(x), np.asarray(boxes)
    dtype = np.dtype(others.pop("dtype", None) or array.dtype)
    made = []
    for number, box in enumerate(edges):
        image = array if images is None else array[images[number]]
        image_axes = [axis % array.ndim - (images is not None) for axis in axes]
        is_cut = edges.dtype.kind == "i" and units == "pixels"
        place = _place(box.tolist(), sizes, letterbox) if is_cut else [(0, size) for size in sizes]
        word = flip if isinstance(flip, str) else flip[number]
        words = ("vertical both", "horizontal both")
        backwards = [
            axis for axis, words_of_axis in zip(image_axes, words, strict=True) if word in words_of_axis.split()
        ]
        steps = _of_box(others, number, image.ndim)
        named = {**others, **_of_place(steps, image_axes, place, backwards), "dtype": dtype}
        given = np.broadcast_to(convert(np.asarray(fill), image.dtype), _channels(image, image_axes))
        if is_cut:
            piece = _piece(image, image_axes, box.tolist(), given)
            one = resampled(piece, [b - a for a, b in place], axes=image_axes, **named)
        else:
            roi = _roi(box, image, image_axes, units)
            one = _crop_of_floats(resampled, image, sizes, image_axes, roi, given, named)
        around = (image_axes, place, sizes, given, image.dtype, {**named, **steps})
        made.append([_placed(np.flip(end, tuple(backwards)), *around) for end in one])
    return np.stack([low for low, _ in made]), np.stack([high for _, high in made])


def _channels(image: Array, axes: Sequence[int]) -> tuple[int, ...]:
    """Sizes against which fill broadcasts: channels of an image."""
    return tuple(size for axis, size in enumerate(image.shape) if axis not in axes)


def _of_box(others: dict[str, Any], number: int, rank: int) -> dict[str, Any]:
    """The scales and zero points of one box, of arrays that go along all of them."""
    found = {}
    for name in _STEPS:
        values = None if others.get(name) is None else np.asarray(others[name])
        if values is not None:
            its = values[min(number, len(values) - 1)] if values.ndim > rank else values
            found[name] = its.reshape((1,) * (rank - its.ndim) + its.shape)
    return found


def _of_place(
    steps: dict[str, Array], axes: Sequence[int], place: Sequence[tuple[int, int]], backwards: Sequence[int]
) -> dict[str, Array]:
    """Those of the part of the result that a box takes, as the box has them before it is flipped."""
    found = {}
    for name, values in steps.items():
        its = values
        for axis, (start, stop) in zip(axes, place, strict=True):
            if values.ndim > axis and values.shape[axis] > 1:
                its = np.take(its, range(start, stop), axis)
                its = np.flip(its, axis) if axis in backwards else its
        found[name] = its
    return found


def _everywhere(fill: Array, axes: Sequence[int], sizes: Sequence[int]) -> Array:
    """An image of fill alone."""
    return np.array(np.broadcast_to(np.expand_dims(fill, tuple(axes)), sizes))


def _piece(image: Array, axes: Sequence[int], box: Sequence[int], fill: Array) -> Array:
    """What an endless image has in a box of integers."""
    sizes = list(image.shape)
    indices = []
    for axis, low, high in zip(axes, box[:2], box[2:], strict=True):
        sizes[axis] = high - low
        indices.append(np.arange(low, high))
    rows, columns = ((index >= 0) & (index < image.shape[axis]) for index, axis in zip(indices, axes, strict=True))
    there = np.moveaxis(_everywhere(fill, axes, sizes), axes, (0, 1))
    whole = np.moveaxis(image, axes, (0, 1))
    there[np.ix_(rows, columns)] = whole[np.ix_(indices[0][rows], indices[1][columns])]
    return np.moveaxis(there, (0, 1), axes)


def _place(box: Sequence[int], sizes: Sequence[int], letterbox: str | None) -> list[tuple[int, int]]:
    """The rows and the columns of the result that a box takes.

    Of height h and width w in H x W, the height is all of H where ``h * W >= w * H``, and the width then ``w * H / h``.
    """
    if letterbox is None:
        return [(0, size) for size in sizes]
    height, width = box[2] - box[0], box[3] - box[1]
    if height * sizes[1] >= width * sizes[0]:
        made = (sizes[0], max(1, round(Fraction(width * sizes[0], height))))
    else:
        made = (max(1, round(Fraction(height * sizes[1], width))), sizes[1])
    starts = [0 if letterbox == "top_left" else (size - its) // 2 for size, its in zip(sizes, made, strict=True)]
    return [(start, start + its) for start, its in zip(starts, made, strict=True)]


def _roi(box: Array, image: Array, axes: Sequence[int], units: str) -> list[Fraction]:
    edges = [Fraction(repr(float(edge))) for edge in box.tolist()]
    if units == "pixels":
        spans = [image.shape[axis] - 1 for axis in axes] * 2
        edges = [edge / span for edge, span in zip(edges, spans, strict=True)]
    return edges


def _crop_of_floats(
    resampled: Callable[..., tuple[Array, Array]],
    image: Array,
    sizes: Sequence[int],
    axes: Sequence[int],
    roi: Sequence[Fraction],
    fill: Array,
    named: dict[str, Any],
) -> tuple[Array, Array]:
    """A resampling with an extrapolation value, one for all channels, or channel by channel."""
    named = {**named, "coordinates": "tf_crop_and_resize", "roi": roi}

    def one(value: Any) -> tuple[Array, Array]:
        return resampled(image, sizes, axes=axes, extrapolation_value=float(value), **named)

    values = np.unique(fill.astype(np.float64))
    low, high = one(values[0])
    for value in values[1:]:
        its = np.broadcast_to(np.expand_dims(fill == value, tuple(axes)), low.shape)
        low, high = (np.where(its, new, old) for new, old in zip(one(value), (low, high), strict=True))
    return low, high


def _placed(
    made: Array,
    axes: Sequence[int],
    place: Sequence[tuple[int, int]],
    sizes: Sequence[int],
    fill: Array,
    src: np.dtype[Any],
    named: dict[str, Any],
) -> Array:
    """A result of ``sizes`` with ``made`` in its place, and ``fill`` around it, after the steps."""
    whole = list(made.shape)
    for axis, size in zip(axes, sizes, strict=True):
        whole[axis] = size
    if list(made.shape) == whole:
        return made
    steps = {name: named[name] for name in (*_STEPS, "post_ops", "rounding", "saturate") if named.get(name) is not None}
    around = _everywhere(fill, axes, whole)
    if named.get("mode") != "nearest" and src != named["dtype"]:
        around = convert(around, np.float32)
    result = reorder(around, dtype=named["dtype"], **steps)
    index = [slice(None)] * made.ndim
    for axis, (start, stop) in zip(axes, place, strict=True):
        index[axis] = slice(start, stop)
    result[tuple(index)] = made
    return result
