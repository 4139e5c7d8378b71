"""Take elements by lists of indices along axes, in one dispatch: nearest resampling whose tables are the indices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.errors import DescriptorError, ErrorContext
from restride.kernel import Limits
from restride.layout import TensorDesc
from restride.ops.plan import Plan, perform
from restride.ops.resample import plan_of
from restride.ops.target import Out
from restride.tensor.tensor import Tensor, empty
from restride.weights import Resizing, indexed_rows

Indices = npt.NDArray[np.int64]


def taken(x: Tensor, indices: Mapping[int, Indices]) -> Tensor:
    """The tensor whose element o along axis k is ``indices[k][o]`` of ``x``, bit for bit; negative: from the end.

    Raises:
        DescriptorError: an index is outside the axis.
    """
    return perform(take_plan, x, None, axes=tuple(indices), indices=tuple(indices.values()))


def take_plan(
    src: TensorDesc, out: Out | None, limits: Limits, axes: tuple[int, ...], indices: tuple[Indices, ...]
) -> Plan:
    """The plan of ``taken``."""
    rows = []
    with ErrorContext(src):
        for axis, listed in zip(axes, indices, strict=True):
            size = src.sizes[axis]
            outside = listed[(listed < -size) | (listed >= size)]
            if outside.size:
                raise DescriptorError(f"index {int(outside[0])} is out of range for axis {axis} of size {size}")
            rows.append(indexed_rows(size, np.where(listed < 0, listed + size, listed)))
    resized = Resizing(axes, tuple(rows), tuple(range(each.size) for each in rows), src.sizes)
    return plan_of(src, resized, None, None, out, 0.0, {}, limits)


PAD_MODES = ("constant", "edge", "reflect", "wrap")


def padded(x: Tensor, widths: tuple[tuple[int, int], ...], mode: str, value: Any) -> Tensor:
    """``x`` with elements added before and after each axis, as ``np.pad`` does.

    One dispatch; two for mode "constant", which writes the value everywhere first.
    """
    sizes = tuple(size + before + behind for size, (before, behind) in zip(x.sizes, widths, strict=True))
    if mode == "constant":
        result = filled(TensorDesc(x.dtype, sizes), value, x.device)
        key = tuple(slice(before, before + size) for size, (before, _) in zip(x.sizes, widths, strict=True))
        result[key] = x
        return result
    indices = {}
    for axis, (size, (before, behind)) in enumerate(zip(x.sizes, widths, strict=True)):
        if not before and not behind:
            continue
        if not size:
            raise DescriptorError(f"mode {mode!r} repeats elements, and axis {axis} has none, for {x.desc}")
        index = np.arange(-before, size + behind)
        if mode == "edge":
            index = index.clip(0, size - 1)
        elif mode == "wrap":
            index %= size
        else:  # 0 1 2 3 2 1 0 1 ...
            period = max(2 * size - 2, 1)
            index = (index % period).astype(np.int64)
            index = np.where(index < size, index, period - index)
        indices[axis] = index.astype(np.int64)
    return taken(x, indices) if indices else x.copy()


def filled(desc: TensorDesc, value: Any, device: Any) -> Tensor:
    """A tensor of one value, written in one dispatch."""
    try:
        element = np.asarray(value).astype(desc.dtype.dtype)
    except OverflowError:
        raise DescriptorError(f"value {value} has more bits than a number of the host, for {desc}") from None
    result = empty(desc, device)
    if desc.numel:
        result[...] = element
    return result
