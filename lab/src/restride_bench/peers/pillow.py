"""Pillow: bilinear resizing of photographs in u8, which antialiases where it shrinks."""

from __future__ import annotations

import numpy as np

from restride_measure.offer import Offer, Peer, installed
from restride_measure.workloads import Array, Resize, Workload


class Pillow(Peer):
    def __init__(self) -> None:
        self._image = installed("PIL.Image", "pillow")
        self.version: str = installed("PIL", "pillow").__version__

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        task = workload.task
        if not isinstance(task, Resize) or task.mode != "linear" or len(task.sizes) != 2 or source.dtype != np.uint8:
            return None
        pixels = self._pixels(task, source)
        if pixels is None:
            return None
        before, (height, width) = pixels.shape[:2], task.sizes
        if not task.antialias and (height < before[0] or width < before[1]):
            return None
        image, bilinear = self._image, self._image.Resampling.BILINEAR
        photograph = image.fromarray(pixels)
        last = [photograph]

        def resident() -> None:
            last[0] = photograph.resize((width, height), bilinear)

        def through() -> Array:
            whole = self._pixels(task, source)
            return shaped(np.asarray(image.fromarray(whole).resize((width, height), bilinear)))

        def shaped(result: Array) -> Array:
            return result if task.pixels else np.ascontiguousarray(result.transpose(2, 0, 1)[None])

        return Offer(resident=resident, result=lambda: shaped(np.asarray(last[0])), numpy=through)

    def _pixels(self, task: Resize, x: Array) -> Array | None:
        """The array as pixels; None if it is not one photograph."""
        if task.pixels:
            return x if x.ndim == 3 and x.shape[2] == 3 else None
        if x.ndim != 4 or x.shape[:2] != (1, 3):
            return None
        return np.ascontiguousarray(x[0].transpose(1, 2, 0))
