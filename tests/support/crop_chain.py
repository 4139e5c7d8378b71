"""The chain of single operations, box after box, whose result ``crop_resize`` promises to equal."""

from __future__ import annotations

import numpy as np

import restride as rs


def padded_slice(image, axes, box, fill):
    """The box of a numpy image; outside it is ``fill``, one value or one along the last of the other axes."""
    sizes = list(image.shape)
    source, target = [slice(None)] * image.ndim, [slice(None)] * image.ndim
    for axis, low, high in zip(axes, box[:2], box[2:], strict=True):
        sizes[axis] = high - low
        begin, end = min(max(low, 0), image.shape[axis]), max(min(high, image.shape[axis]), 0)
        source[axis] = slice(begin, max(begin, end))
        target[axis] = slice(begin - low, max(begin, end) - low) if begin < end else slice(0, 0)
    made = filled(sizes, axes, fill, image.dtype)
    made[tuple(target)] = image[tuple(source)]
    return made


def filled(sizes, axes, fill, dtype):
    """An array of ``fill``."""
    others = [axis for axis in range(len(sizes)) if axis not in axes]
    fill = np.asarray(fill).astype(dtype)
    if fill.ndim:
        fill = fill.reshape([-1 if axis == others[-1] else 1 for axis in range(len(sizes))])
    return np.array(np.broadcast_to(fill, sizes), order="C")


def turned(array, axes, flip):
    """The array, flipped."""
    index = [slice(None)] * array.ndim
    for axis, words in zip(axes, (("vertical", "both"), ("horizontal", "both")), strict=True):
        if flip in words:
            index[axis] = slice(None, None, -1)
    return array[tuple(index)]


def chained(images, boxes, sizes, axes, *, flips, fill, places=None, floats=None, after=None, **sampling):
    """The results of all boxes, each with its own image.

    places: y0, x0, y1, x1 of each letterboxed result. floats: rois, used instead of boxes. after: arguments of
    ``reorder``.
    """
    moves = sampling.get("mode") == "nearest"
    made = []
    for number, image in enumerate(images):
        dtype = image.dtype if moves else np.dtype(np.float32)
        y0, x0, y1, x1 = (0, 0, *sizes) if places is None else places[number]
        if floats is not None:
            one = rs.resample(
                image, sizes, axes=axes, coordinates="tf_crop_and_resize", roi=floats[number],
                extrapolation_value=fill, dtype=dtype, **sampling,
            ).numpy()  # fmt: skip
        else:
            piece = padded_slice(image, axes, boxes[number], fill)
            one = rs.resample(piece, (y1 - y0, x1 - x0), axes=axes, dtype=dtype, **sampling).numpy()
        one = turned(one, axes, flips[number])
        if places is not None:
            whole = list(image.shape)
            whole[axes[0]], whole[axes[1]] = sizes
            result = filled(whole, axes, np.asarray(fill).astype(image.dtype), dtype)
            index = [slice(None)] * image.ndim
            index[axes[0]], index[axes[1]] = slice(y0, y1), slice(x0, x1)
            result[tuple(index)] = one
            one = result
        made.append(one)
    return rs.reorder(np.ascontiguousarray(np.stack(made)), **(after or {})).numpy()


def random_image(rng, dtype, shape):
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 200, shape).astype(dtype)  # some s8 elements become negative
    return rng.normal(0, 50, shape).astype(np.float32).astype(dtype)


def random_boxes(rng, count, extents):
    """Boxes inside an image, across its edge, around all of it, and far away."""
    boxes = []
    for _ in range(count):
        box = []
        for extent in extents:
            reach = int(rng.choice([0, 0, 3, extent, 3 * extent]))
            ends = np.sort(rng.integers(-reach, extent + reach + 1, 2))
            box.append((int(ends[0]), int(ends[1] + (ends[0] == ends[1]))))
        boxes.append((box[0][0], box[1][0], box[0][1], box[1][1]))
    return boxes
