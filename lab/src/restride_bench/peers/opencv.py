"""OpenCV: resize, flip, transpose, merge and split; photographs are stored as pixels, which OpenCV needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from restride.dtypes import Array
from restride_conformance.case import Case
from restride_conformance.operations import is_arithmetic
from restride_measure.offer import (
    Offer,
    Peer,
    StridedCopy,
    factor_and_addend,
    filling,
    installed,
    is_of_pixels,
    returning,
    sampling,
)
from restride_measure.workloads import Workload

_MAX_CHANNELS = 4


class OpenCV(Peer):
    """The peer OpenCV, for images of one to four channels."""

    lingers = True

    def __init__(self) -> None:
        self._cv = installed("cv2", "opencv-python-headless")
        self.version: str = self._cv.__version__

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        case = workload.case
        if case is None or not workload.is_row_major or case.src.dtype.name not in ("u8", "s16", "f32", "f64"):
            return None
        factor, addend = factor_and_addend(case)
        if case.op == "reorder" and addend is not None:
            return self._normalize(factor, addend, source) if source.shape[0] == 1 else None
        if case.op == "resample" and sampling(case)[0] == "linear" and not is_of_pixels(case):
            return self._planes(case, workload, source)
        fill = self._filler(case, StridedCopy.of(workload), source)
        # multiply computes in f64: where f32 rounds a product to a tie, f64 may keep it beside the tie, and the integer
        # differs by 1. Resized bytes are rounded before they are normalized.
        slack = {"reorder": float(is_arithmetic(case)), "crop_resize": float(factor.max())}.get(case.op, 0.0)
        return None if fill is None else filling(fill, workload, slack)

    def _normalize(self, factor: Array, addend: Array, x: Array) -> Offer:
        """The input blob of a network, a new array at each call."""
        options = self._cv.dnn.Image2BlobParams()
        options.scalefactor = [*factor.ravel().tolist(), 1.0]
        options.mean = [*(-addend / factor).ravel().tolist(), 0.0]
        return returning(lambda: self._cv.dnn.blobFromImageWithParams(x[0], options))

    def _filler(  # noqa: PLR0911 - one for each function
        self, case: Case, move: StridedCopy | None, x: Array
    ) -> Callable[[Array], object] | None:
        """A function that fills a given array; None if OpenCV has no function with the same rule.

        INTER_AREA is a different filter from antialias, and cubic has another rule at the ends.
        """
        cv, sizes, (factor, addend) = self._cv, case.dst.sizes, factor_and_addend(case)
        match move:
            case StridedCopy((1, 0), (1, 1)):
                return lambda out: cv.transpose(x, out)
            case StridedCopy((0, 2, 3, 1), (1, 1, 1, 1)) if x.shape[0] == 1 and x.shape[1] <= _MAX_CHANNELS:
                return lambda out: cv.merge(list(x[0]), out[0])
            case StridedCopy((0, 3, 1, 2), (1, 1, 1, 1)) if x.shape[0] == 1 and x.shape[3] <= _MAX_CHANNELS:
                return lambda out: cv.split(x[0], list(out[0]))
            case StridedCopy((0, 1, 2, 3), (1, 1, 1, -1)):
                return lambda out: cv.flip(_rows(x), 1, _rows(out))
            case StridedCopy((0, 1, 2), (1, -1, 1)) if x.shape[2] <= _MAX_CHANNELS:
                return lambda out: cv.flip(x, 1, out)
        match case.op:
            case "resample" if sampling(case)[0] == "nearest" and not (
                sizes[-2] % x.shape[-2] or sizes[-1] % x.shape[-1]
            ):
                # With the planes one below another, enlarging all of them as one image enlarges each.
                size = sizes[-1], math.prod(sizes[:-1])
                return lambda out: cv.resize(_rows(x), size, _rows(out), interpolation=cv.INTER_NEAREST)
            case "resample" if sampling(case) == ("linear", False):
                return lambda out: cv.resize(x, sizes[1::-1], out, interpolation=cv.INTER_LINEAR)
            case "crop_resize" if addend is not None:
                numbers = factor.ravel(), addend.ravel()
                return lambda out: self._boxes(case, *numbers, x, out)
            case "reorder" if case.dst.dtype == "u8" and isinstance(case["src_scale"], float) and x.dtype == np.float32:
                return lambda out: cv.multiply(_rows(x), case["src_scale"], _rows(out), dtype=cv.CV_8U)
            case _:
                return None

    def _boxes(self, case: Case, factor: Array, addend: Array, x: Array, out: Array) -> None:
        named = case.operation.arguments(case)
        size = named["sizes"][::-1]
        for (y0, x0, y1, x1), planes in zip(named["boxes"].tolist(), out, strict=True):
            resized = self._cv.resize(x[y0:y1, x0:x1], size, interpolation=self._cv.INTER_LINEAR)
            planes[...] = (resized * factor + addend).transpose(2, 0, 1)

    def _planes(self, case: Case, workload: Workload, x: Array) -> Offer | None:
        """The offer for a photograph in planes: ``resident`` resizes pixels, as OpenCV wants, ``numpy`` each plane."""
        resize, options = self._cv.resize, {"interpolation": self._cv.INTER_LINEAR}
        if sampling(case)[1] or case.integers("axes") != (2, 3) or x.shape[0] != 1 or x.shape[1] > _MAX_CHANNELS:
            return None
        size = case.dst.sizes[:1:-1]
        pixels = np.ascontiguousarray(x[0].transpose(1, 2, 0))
        out = np.empty((*size[::-1], x.shape[1]), x.dtype)

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
