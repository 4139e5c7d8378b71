"""What the tensors of a case hold before the run."""

from __future__ import annotations

from typing import Any

import numpy as np

from restride_conformance import aim, fill, resampling
from restride_conformance.case import Case
from restride_conformance.operations import OPERATIONS
from restride_conformance.scale_values import is_arithmetic

_OLD_SEED = 0x01D

Array = np.ndarray[Any, Any]


def source_values(case: Case) -> Array:
    """The source's elements in logical order, as ``data`` says.

    Without it any bits where they are copied, what is aimed at a conversion where there is one, else numbers: those
    that are interpolated are no larger than the destination's.
    """
    src, dst, sizes, count = case.src.dtype, case.dst.dtype, case.src.sizes, case.src.numel
    if case["data"] == "image":
        return fill.image(src, sizes, case.seed)
    if case["data"] == "edges":
        return fill.edges(src, count, case.seed).reshape(sizes)
    if case["data"] == "index":
        return fill.indices(src, count).reshape(sizes)
    if case["data"] is None and (src != dst or is_arithmetic(case)):
        if case.op == "reorder" or resampling.moves(case):
            return aim.aimed(src, dst, count, case.seed).reshape(sizes)
        if src.itemsize > 1:
            return aim.plain(src, dst, count, case.seed).reshape(sizes)
    values = fill.bits if case["data"] == "bits" or OPERATIONS[case.op].is_exact(case) else fill.numbers
    return values(src, count, case.seed).reshape(sizes)


def old_values(case: Case) -> Array | None:
    """The destination's elements before the run, in logical order, where the operation reads them: plain numbers."""
    if case.get("sum_scale") is None:
        return None
    dtype = case.dst.dtype
    return aim.plain(dtype, dtype, case.dst.numel, case.seed + _OLD_SEED).reshape(case.dst.sizes)
