"""numpy: copies views into existing memory, and does arithmetic in place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from restride.dtypes import Array
from restride_conformance.operations import is_arithmetic
from restride_measure.offer import Offer, Peer, factor_and_addend, filling, sampling
from restride_measure.workloads import Workload, crops


class Numpy(Peer):
    version = np.__version__

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        if workload.how == "new shapes":
            return _new_shapes(source)
        fill = _filler(workload, source)
        return None if fill is None else filling(fill, workload)


def _filler(  # noqa: PLR0911 - one for each kind of work
    workload: Workload, x: Array
) -> Callable[[Array], object] | None:
    """A function that fills a given array; None if numpy has no short way."""
    case = workload.case
    if case is None or not workload.is_row_major:
        return None
    view, sizes = case.viewed_array(x), case.dst.sizes
    match case.op:
        case "reorder":
            factor, addend = factor_and_addend(case)
            if not is_arithmetic(case):
                return lambda out: np.copyto(out, view, casting="unsafe")
            if addend is not None:
                return lambda out: np.add(np.multiply(view, factor, out=out), addend, out=out)
            if case.dst.dtype.is_float:
                return lambda out: np.multiply(view, factor, out=out)
            between = np.empty(x.shape, np.float32)
            return lambda out: _rounded(view, factor, between, out)
        case "resample" if sampling(case)[0] == "nearest" and not (sizes[-2] % x.shape[-2] or sizes[-1] % x.shape[-1]):
            # Each element is repeated into a small rectangle.
            height, width = x.shape[-2:]
            shape = (*x.shape[:-2], height, sizes[-2] // height, width, sizes[-1] // width)
            spread = x[..., :, None, :, None]
            return lambda out: np.copyto(out.reshape(shape), spread)
        case _:
            return None


def _rounded(x: Array, factor: Array, between: Array, out: Array) -> None:
    limits = np.iinfo(out.dtype)
    np.rint(np.multiply(x, factor, out=between), out=between)
    np.clip(between, limits.min, limits.max, out=between)
    np.copyto(out, between, casting="unsafe")


def _new_shapes(x: Array) -> Offer:
    resident_crops, numpy_crops = crops(x.shape), crops(x.shape)
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
