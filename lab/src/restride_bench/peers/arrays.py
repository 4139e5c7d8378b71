"""numpy: copies views into existing memory, and does arithmetic in place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from restride_measure.offer import Offer, Peer, filling
from restride_measure.workloads import (
    MEAN,
    STD,
    Array,
    Convert,
    Move,
    NewShapes,
    Normalize,
    Resize,
    Task,
    Workload,
    channel_scales,
)


class Numpy(Peer):
    version = np.__version__

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        if isinstance(workload.task, NewShapes):
            return _new_shapes(workload.task, source)
        fill = _filler(workload.task, source)
        return None if fill is None else filling(fill, workload)


def _filler(task: Task, x: Array) -> Callable[[Array], object] | None:  # noqa: PLR0911 - one for each kind of task
    """A function that fills a given array; None if numpy has no short way."""
    match task:
        case Move(axes):
            view = x[task.index()].transpose(axes)
            return lambda out: np.copyto(out, view)
        case Convert(per_channel=True):
            scales = channel_scales(x.shape[1]).reshape(-1, 1, 1)
            return lambda out: np.multiply(x, scales, out=out)
        case Convert(scale=None):
            return lambda out: np.copyto(out, x, casting="unsafe")
        case Convert(scale=scale):
            between = np.empty(x.shape, np.float32)
            return lambda out: _rounded(x, np.float32(scale), between, out)
        case Normalize():
            planes, mean = x.transpose(0, 3, 1, 2), np.array(MEAN, np.float32).reshape(3, 1, 1)
            factor = 1 / np.array(STD, np.float32).reshape(3, 1, 1)
            return lambda out: np.multiply(np.subtract(planes, mean, out=out), factor, out=out)
        case Resize((rows, columns), "nearest") if not (rows % x.shape[-2] or columns % x.shape[-1]):
            # Each element is repeated into a small rectangle.
            height, width = x.shape[-2:]
            shape = (*x.shape[:-2], height, rows // height, width, columns // width)
            spread = x[..., :, None, :, None]
            return lambda out: np.copyto(out.reshape(shape), spread)
        case _:
            return None


def _rounded(x: Array, scale: np.float32, between: Array, out: Array) -> None:
    limits = np.iinfo(out.dtype)
    np.rint(np.multiply(x, scale, out=between), out=between)
    np.clip(between, limits.min, limits.max, out=between)
    np.copyto(out, between, casting="unsafe")


def _new_shapes(task: NewShapes, x: Array) -> Offer:
    resident_crops, numpy_crops = task.crops(x.shape), task.crops(x.shape)
    out = np.empty(x.shape[::-1], x.dtype)
    last = [out]

    def resident() -> None:
        rows, columns = next(resident_crops)
        last[0] = out[:columns, :rows]
        np.copyto(last[0], x[:rows, :columns].T)

    def through() -> Array:
        rows, columns = next(numpy_crops)
        return np.array(x[:rows, :columns].T, order="C", copy=True)

    return Offer(resident=resident, result=lambda: last[0], numpy=through)
