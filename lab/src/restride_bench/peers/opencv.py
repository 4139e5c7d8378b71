"""OpenCV: resize, flip, transpose, merge and split; photographs are stored as pixels, which OpenCV needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from restride_measure.offer import Offer, Peer, filling, installed, returning
from restride_measure.workloads import MEAN, STD, Array, Boxes, Convert, Move, Normalize, Resize, Task, Workload

_MAX_CHANNELS = 4


class OpenCV(Peer):
    """The peer OpenCV, for images of one to four channels."""

    lingers = True

    def __init__(self) -> None:
        self._cv = installed("cv2", "opencv-python-headless")
        self.version: str = self._cv.__version__

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        task = workload.task
        if workload.desc.dtype.name not in ("u8", "s16", "f32", "f64"):
            return None
        if isinstance(task, Normalize):
            return self._normalize(source) if source.shape[0] == 1 else None
        if isinstance(task, Resize) and task.mode == "linear" and not task.pixels:
            return self._planes(task, workload, source)
        fill = self._filler(task, source, workload.result_sizes)
        # multiply computes in f64: a product that is a tie in f32 may be beside the tie, and then rounds differently.
        # Resized bytes are rounded too.
        slack = {Convert: 1.0, Boxes: 1 / min(STD)}.get(type(task), 0.0)
        return None if fill is None else filling(fill, workload, slack)

    def _normalize(self, x: Array) -> Offer:
        """The input blob of a network, a new array at each call."""
        options = self._cv.dnn.Image2BlobParams()
        options.scalefactor, options.mean = [*(1 / value for value in STD), 1.0], [*MEAN, 0.0]
        return returning(lambda: self._cv.dnn.blobFromImageWithParams(x[0], options))

    def _filler(  # noqa: PLR0911 - one for each function
        self, task: Task, x: Array, sizes: tuple[int, ...]
    ) -> Callable[[Array], object] | None:
        """A function that fills a given array; None if OpenCV has no function with the same rule.

        INTER_AREA is a different filter from antialias, and cubic has another rule at the ends.
        """
        cv = self._cv
        rank = x.ndim
        match task:
            case Resize((height, width), "nearest") if not (height % x.shape[-2] or width % x.shape[-1]):
                # With the planes one below another, enlarging all of them as one image enlarges each.
                size = width, math.prod(sizes[:-1])
                return lambda out: cv.resize(_rows(x), size, _rows(out), interpolation=cv.INTER_NEAREST)
            case Resize((height, width), "linear", False, True):
                return lambda out: cv.resize(x, (width, height), out, interpolation=cv.INTER_LINEAR)
            case Boxes():
                return lambda out: self._boxes(task, x, out)
            case Move((1, 0), ()):
                return lambda out: cv.transpose(x, out)
            case Move((0, 2, 3, 1), ()) if x.shape[0] == 1 and x.shape[1] <= _MAX_CHANNELS:
                return lambda out: cv.merge(list(x[0]), out[0])
            case Move((0, 3, 1, 2), ()) if x.shape[0] == 1 and x.shape[3] <= _MAX_CHANNELS:
                return lambda out: cv.split(x[0], list(out[0]))
            case Move(axes, steps) if axes == tuple(range(rank)) and steps == (1,) * (rank - 1) + (-1,):
                return lambda out: cv.flip(_rows(x), 1, _rows(out))
            case Move((0, 1, 2), (1, -1, 1)) if x.shape[2] <= _MAX_CHANNELS:
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

    def _planes(self, task: Resize, workload: Workload, x: Array) -> Offer | None:
        """The offer for a photograph in planes: as pixels, which OpenCV wants, or plane by plane if numpy passes it."""
        resize, options = self._cv.resize, {"interpolation": self._cv.INTER_LINEAR}
        if task.antialias or len(task.sizes) != 2 or x.ndim != 4 or x.shape[0] != 1 or x.shape[1] > _MAX_CHANNELS:
            return None
        size = task.sizes[::-1]
        pixels = np.ascontiguousarray(x[0].transpose(1, 2, 0))
        out = np.empty((*task.sizes, x.shape[1]), x.dtype)

        def fill(planes: Array) -> None:
            for plane, target in zip(x[0], planes[0], strict=True):
                resize(plane, size, target, **options)

        return replace(
            filling(fill, workload),
            resident=lambda: resize(pixels, size, out, **options),
            result=lambda: np.ascontiguousarray(out.transpose(2, 0, 1)[None]),
        )


def _rows(x: Array) -> Array:
    """The array as a matrix whose rows are those along its last axis."""
    return x.reshape(-1, x.shape[-1])
