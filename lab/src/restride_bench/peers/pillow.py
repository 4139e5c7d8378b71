"""Pillow: bilinear resizing of photographs in u8, which antialiases where it shrinks."""

from __future__ import annotations

import numpy as np

from restride.dtypes import Array
from restride_measure.offer import Offer, Peer, installed, is_of_pixels, sampling
from restride_measure.workloads import Workload


class Pillow(Peer):
    def __init__(self) -> None:
        self._image = installed("PIL.Image", "pillow")
        self.version: str = installed("PIL", "pillow").__version__

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        case = workload.case
        if case is None or case.op != "resample" or len(case.integers("axes")) != 2 or source.dtype != np.uint8:
            return None
        (mode, antialias), is_packed = sampling(case), is_of_pixels(case)
        pixels = self._pixels(source, is_packed=is_packed)
        if pixels is None or mode != "linear":
            return None
        before, (height, width) = pixels.shape[:2], (case.dst.sizes[axis] for axis in case.integers("axes"))
        if not antialias and (height < before[0] or width < before[1]):
            return None
        image, bilinear = self._image, self._image.Resampling.BILINEAR
        photograph = image.fromarray(pixels)
        last = [photograph]

        def resident() -> None:
            last[0] = photograph.resize((width, height), bilinear)

        def through() -> Array:
            whole = self._pixels(source, is_packed=is_packed)
            return shaped(np.asarray(image.fromarray(whole).resize((width, height), bilinear)))

        def shaped(result: Array) -> Array:
            return result if is_packed else np.ascontiguousarray(result.transpose(2, 0, 1)[None])

        return Offer(resident=resident, result=lambda: shaped(np.asarray(last[0])), numpy=through)

    def _pixels(self, x: Array, *, is_packed: bool) -> Array | None:
        """The array as pixels; None if it is not one photograph."""
        if is_packed:
            return x if x.ndim == 3 and x.shape[2] == 3 else None
        if x.ndim != 4 or x.shape[:2] != (1, 3):
            return None
        return np.ascontiguousarray(x[0].transpose(1, 2, 0))
