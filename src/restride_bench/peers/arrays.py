"""numpy: views copied into memory that is there, and arithmetic in place."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import numpy as np

from restride.dtypes import as_dtype
from restride_bench.offer import Offer
from restride_bench.tasks import (
    MEAN,
    STD,
    Array,
    Convert,
    Move,
    NewShapes,
    Normalize,
    Resize,
    Task,
    channel_scales,
    result_dtype,
    result_sizes,
)
from restride_bench.workload import Workload


class Numpy:
    """The library that everybody has."""

    name = "numpy"
    version = np.__version__
    lingers = False

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        """See ``Peer.offer``."""
        task = workload.task
        if isinstance(task, NewShapes):
            return _new_shapes(task, source)
        into = _into(task, source)
        if into is None:
            return None
        dtype = as_dtype(result_dtype(task, workload.desc.dtype.name)).dtype
        sizes = result_sizes(task, source.shape)
        out = np.empty(sizes, dtype)

        def through() -> Array:
            made = np.empty(sizes, dtype)
            into(made)
            return made

        return Offer(resident=lambda: into(out), result=lambda: out, numpy=through)


def _into(task: Task, x: Array) -> Callable[[Array], object] | None:
    """What fills a destination."""
    match task:
        case Move(axes):
            view = x[task.index()].transpose(axes)
            return lambda out: np.copyto(out, view)
        case Convert():
            return _convert(task, x)
        case Normalize():
            return _normalize(x)
        case Resize(sizes, "nearest"):
            return _repeat(sizes, x)
        case _:
            return None


def _convert(task: Convert, x: Array) -> Callable[[Array], object]:
    if task.per_channel:
        scales = channel_scales(x.shape[1]).reshape(-1, 1, 1)
        return lambda out: np.multiply(x, scales, out=out)
    if task.scale is None:
        return lambda out: np.copyto(out, x, casting="unsafe")
    scale, between = np.float32(task.scale), np.empty(x.shape, np.float32)

    def rounded(out: Array) -> None:
        limits = np.iinfo(out.dtype)
        np.multiply(x, scale, out=between)
        np.rint(between, out=between)
        np.clip(between, limits.min, limits.max, out=between)
        np.copyto(out, between, casting="unsafe")

    return rounded


def _normalize(x: Array) -> Callable[[Array], object]:
    mean, factor = (array.reshape(3, 1, 1) for array in (np.array(MEAN, np.float32), 1 / np.array(STD, np.float32)))
    planes = x.transpose(0, 3, 1, 2)

    def normalized(out: Array) -> None:
        np.subtract(planes, mean, out=out)
        np.multiply(out, factor, out=out)

    return normalized


def _repeat(sizes: tuple[int, ...], x: Array) -> Callable[[Array], object] | None:
    """Nearest neighbours, where both sizes are multiples: each element fills a small rectangle."""
    (height, width), lead = x.shape[-2:], x.shape[:-2]
    if len(sizes) != 2 or sizes[0] % height or sizes[1] % width:
        return None
    shape = (*lead, height, sizes[0] // height, width, sizes[1] // width)
    spread = x[..., :, None, :, None]
    return lambda out: np.copyto(out.reshape(shape), spread)


def _new_shapes(task: NewShapes, x: Array) -> Offer:
    resident_calls, numpy_calls = count(), count()
    out = np.empty(x.shape[::-1], x.dtype)
    last = [out]

    def resident() -> None:
        rows, columns = task.crop(x.shape, next(resident_calls))
        last[0] = out[:columns, :rows]
        np.copyto(last[0], x[:rows, :columns].T)

    def through() -> Array:
        rows, columns = task.crop(x.shape, next(numpy_calls))
        return np.array(x[:rows, :columns].T, order="C", copy=True)

    return Offer(resident=resident, result=lambda: last[0], numpy=through)
