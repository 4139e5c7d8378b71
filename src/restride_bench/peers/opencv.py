"""OpenCV: resize, flip, transpose, merge and split; photographs lie as pixels, as it wants them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from restride.dtypes import as_dtype
from restride_bench.offer import Offer, installed
from restride_bench.tasks import (
    MEAN,
    STD,
    Array,
    Boxes,
    Convert,
    Move,
    Normalize,
    Resize,
    Task,
    result_dtype,
    result_sizes,
)
from restride_bench.workload import Workload

_MOST_CHANNELS = 4


class OpenCV:
    """Images of one to four channels."""

    name = "opencv"
    lingers = True

    def __init__(self) -> None:
        """Import it.

        Raises:
            Absent: it is not installed.
        """
        self._cv = installed("cv2", "opencv-python-headless")
        self.version: str = self._cv.__version__

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        """See ``Peer.offer``."""
        task, dtype = workload.task, workload.desc.dtype.name
        if dtype not in ("u8", "s16", "f32", "f64"):
            return None
        sizes = result_sizes(task, source.shape)
        made_of = as_dtype(result_dtype(task, dtype)).dtype
        if isinstance(task, Resize):
            return self._resize(task, source, sizes)
        if isinstance(task, Normalize):
            return self._normalize(source) if source.shape[0] == 1 else None
        into = self._into(task, source)
        if into is None:
            return None
        out = np.empty(sizes, made_of)

        def through() -> Array:
            made = np.empty(sizes, made_of)
            into(made)
            return made

        # multiply works in f64, where a product that f32 makes a half is none; bytes that are resized are bytes again.
        slack = {Convert: 1.0, Boxes: 1 / min(STD)}.get(type(task), 0.0)
        return Offer(resident=lambda: into(out), result=lambda: out, numpy=through, slack=slack)

    def _normalize(self, x: Array) -> Offer:
        """A blob: what its networks take; always a new one."""
        options = self._cv.dnn.Image2BlobParams()
        options.scalefactor, options.mean = [*(1 / value for value in STD), 1.0], [*MEAN, 0.0]
        last = [x]

        def through() -> Array:
            last[0] = self._cv.dnn.blobFromImageWithParams(x[0], options)
            return last[0]

        return Offer(resident=through, result=lambda: last[0], numpy=through)

    def _into(  # noqa: PLR0911 - one for each function
        self, task: Task, x: Array
    ) -> Callable[[Array], object] | None:
        """What fills a destination."""
        cv = self._cv
        rank = x.ndim
        match task:
            case Boxes():
                return lambda out: self._boxes(task, x, out)
            case Move((1, 0), ()):
                return lambda out: cv.transpose(x, out)
            case Move((0, 2, 3, 1), ()) if x.shape[0] == 1 and x.shape[1] <= _MOST_CHANNELS:
                return lambda out: cv.merge(list(x[0]), out[0])
            case Move((0, 3, 1, 2), ()) if x.shape[0] == 1 and x.shape[3] <= _MOST_CHANNELS:
                return lambda out: cv.split(x[0], list(out[0]))
            case Move(axes, steps) if axes == tuple(range(rank)) and steps == (1,) * (rank - 1) + (-1,):
                return lambda out: cv.flip(_rows(x), 1, _rows(out))
            case Move((0, 1, 2), (1, -1, 1)) if x.shape[2] <= _MOST_CHANNELS:
                return lambda out: cv.flip(x, 1, out)
            case Convert("u8", scale, False) if scale is not None and x.dtype == np.float32:
                return lambda out: cv.multiply(_rows(x), scale, _rows(out), dtype=cv.CV_8U)
            case _:
                return None

    def _boxes(self, task: Boxes, x: Array, out: Array) -> None:
        mean, factor = np.array(MEAN, np.float32), 1 / np.array(STD, np.float32)
        for (y0, x0, y1, x1), planes in zip(task.of(x.shape).tolist(), out, strict=True):
            resized = self._cv.resize(x[y0:y1, x0:x1], task.sizes[::-1], interpolation=self._cv.INTER_LINEAR)
            planes[...] = ((resized - mean) * factor).transpose(2, 0, 1)

    def _resize(self, task: Resize, x: Array, sizes: tuple[int, ...]) -> Offer | None:
        cv = self._cv
        if task.antialias or len(task.sizes) != 2 or task.mode == "cubic":
            return None  # INTER_AREA is another filter, and cubic's ends another rule
        height, width = task.sizes
        if task.mode == "nearest":
            # Planes one below the other, where twice is twice for each.
            if height % x.shape[-2] or width % x.shape[-1]:
                return None
            flat, options = _rows(x), {"interpolation": cv.INTER_NEAREST}
            out = np.empty(sizes, x.dtype)
            size = (width, flat.shape[0] * height // x.shape[-2])
            return _offer(lambda made: cv.resize(flat, size, _rows(made), **options), out)
        options = {"interpolation": cv.INTER_LINEAR}
        if task.pixels:
            out = np.empty(sizes, x.dtype)
            return _offer(lambda made: cv.resize(x, (width, height), made, **options), out)
        if x.ndim != 4 or x.shape[0] != 1 or x.shape[1] > _MOST_CHANNELS:
            return None
        pixels = np.ascontiguousarray(x[0].transpose(1, 2, 0))
        out = np.empty((height, width, x.shape[1]), x.dtype)

        def planes() -> Array:
            made = np.empty(sizes, x.dtype)
            for plane, target in zip(x[0], made[0], strict=True):
                cv.resize(plane, (width, height), target, **options)
            return made

        return Offer(
            resident=lambda: cv.resize(pixels, (width, height), out, **options),
            result=lambda: np.ascontiguousarray(out.transpose(2, 0, 1)[None]),
            numpy=planes,
        )


def _offer(into: Callable[[Array], Any], out: Array) -> Offer:
    def through() -> Array:
        made = np.empty_like(out)
        into(made)
        return made

    return Offer(resident=lambda: into(out), result=lambda: out, numpy=through)


def _rows(x: Array) -> Array:
    """A matrix of all rows of the last axis."""
    return x.reshape(-1, x.shape[-1])
