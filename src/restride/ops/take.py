"""Take elements by lists of indices along axes, or pad a tensor with elements around it, in one dispatch.

A list of indices is a nearest resampling whose table holds the indices.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from restride.arguments import as_numpy, require_word
from restride.dtypes import as_number, cast
from restride.errors import DescriptorError, ErrorContext
from restride.kernel import Limits
from restride.layout import TensorDesc
from restride.layout.tensor_desc import packed
from restride.ops.perform import Plan, perform
from restride.ops.resample import plan_of
from restride.ops.target import Out, destination, read_layout, require_room
from restride.plan.steps import SOURCE, Site, Steps
from restride.tensor.tensor import Tensor
from restride.weights import LibraryRows, Resizing, indexed_rows
from restride.weights.rows import IndexArray


def taken(x: Tensor, indices: Mapping[int, IndexArray]) -> Tensor:
    """The tensor whose element o along axis k is ``indices[k][o]`` of ``x``, bit for bit; negative: from the end.

    Raises:
        DescriptorError: an index is outside the axis.
    """
    return perform(take_plan, x, None, axes=tuple(indices), indices=tuple(indices.values()))


def take_plan(
    src: TensorDesc, out: Out | None, limits: Limits, axes: tuple[int, ...], indices: tuple[IndexArray, ...]
) -> Plan:
    """The plan of ``taken``."""
    rows = []
    with ErrorContext(src):
        for axis, listed in zip(axes, indices, strict=True):
            rows.append(indexed_rows(src.sizes[axis], _from_0(listed, axis, src.sizes[axis])))
    window = tuple(range(each.size) for each in rows)
    resized = Resizing(src.sizes, axes, window, LibraryRows(tuple(rows)))
    return plan_of(src, out, limits, resized)


def _from_0(indices: IndexArray, axis: int, size: int) -> IndexArray:
    """Convert the indices of an axis, where negative ones count from its end, to indices from 0 on."""
    outside = indices[(indices < -size) | (indices >= size)]
    if outside.size:
        raise DescriptorError(f"index {int(outside[0])} is out of range for axis {axis} of size {size}")
    return np.where(indices < 0, indices + size, indices)


def taken_along(x: Tensor, indices: IndexArray, axis: int) -> Tensor:
    """The tensor whose element at p is the element of ``x`` at p, but at ``indices[p]`` along ``axis``, bit for bit.

    A take from the buffer as one axis: of f32[2,3]{1,0}, [[2], [0]] along axis 1 are elements 2 and 3 of the buffer.

    Args:
        x: a tensor; one of tiles or blocks is copied first.
        indices: of the sizes of ``x`` except along ``axis``; negative ones count from the end.
        axis: from 0 on.

    Raises:
        DescriptorError: an index is outside the axis.
        OutOfDeviceMemory: the device has no room for the result.
    """
    require_room(indices.shape, x.dtype, x.device.limits)
    with ErrorContext(x.desc):
        along_axis = _from_0(indices, axis, x.sizes[axis])
    x = x if x.desc.strides is not None else x.copy()
    desc = x.desc
    places = np.full(indices.shape, desc.offset, np.int64)
    for k, (size, stride) in enumerate(zip(desc.sizes, desc.strides or (), strict=True)):
        places += stride * (along_axis if k == axis else np.arange(size).reshape(-1, *(1,) * (desc.rank - 1 - k)))
    buffer = Tensor(x.memory, packed(desc.dtype, (desc.highest + 1,)), x.device)
    return taken(buffer, {0: places.reshape(-1)}).reshape(indices.shape)


PAD_MODES = ("constant", "edge", "reflect", "wrap")


def padded(x: Tensor, pad_width: object, mode: str, value: object) -> Tensor:
    """``x`` with elements added before and after each axis, as ``np.pad`` does, in one dispatch."""
    return perform(pad_plan, x, None, pad_width=pad_width, mode=mode, value=value)


def pad_plan(src: TensorDesc, out: Out | None, limits: Limits, pad_width: object, mode: str, value: object) -> Plan:
    """The plan of ``padded``."""
    require_word("mode", mode, PAD_MODES)
    with ErrorContext(src):
        number = as_number("constant_values", value)
        element = cast("constant_values", np.asarray(number), src.dtype).tobytes()
        if mode != "constant" and number != 0:
            raise DescriptorError(f"constant_values {number} goes with mode 'constant', not with {mode!r}")
    widths = _pairs(pad_width, src)
    sizes = [size + before + behind for size, (before, behind) in zip(src.sizes, widths, strict=True)]
    require_room(sizes, src.dtype, limits)
    if mode != "constant" and any(map(any, widths)):
        indices = {axis: _pad_indices(src, axis, pair, mode) for axis, pair in enumerate(widths) if any(pair)}
        return take_plan(src, out, limits, tuple(indices), tuple(indices.values()))
    dst, site = destination(read_layout(packed(src.dtype, sizes), None, converts=False), src, out)
    steps = Steps(limits)
    if dst.numel == src.numel:
        steps.copy(Site(SOURCE, src), site, dst)
    else:
        steps.pad(Site(SOURCE, src), site, [before for before, _ in widths], element)
    return Plan(src, dst, steps)


def _pairs(pad_width: object, src: TensorDesc) -> list[list[int]]:
    """How many elements are added before and after each axis."""
    with ErrorContext(src):
        widths = as_numpy("pad_width", pad_width)
    try:
        pairs = np.broadcast_to(widths, (src.rank, 2))
    except ValueError:
        raise DescriptorError(f"pad_width {pad_width!r} is not a pair for each of {src.rank} axes, for {src}") from None
    if widths.dtype.kind not in "iu" or widths.min(initial=0) < 0:
        raise DescriptorError(f"pad_width {pad_width!r} must be integers of 0 or more, for {src}")
    each: list[list[int]] = pairs.tolist()
    return each


def _pad_indices(src: TensorDesc, axis: int, widths: list[int], mode: str) -> IndexArray:
    """The indices of an axis that is padded with its own elements."""
    size, (before, behind) = src.sizes[axis], widths
    if not size:
        raise DescriptorError(f"mode {mode!r} repeats elements, and axis {axis} has none, for {src}")
    index = np.arange(-before, size + behind, dtype=np.int64)
    if mode == "edge":
        return index.clip(0, size - 1)
    if mode == "wrap":
        return index % size
    period = max(2 * size - 2, 1)  # 0 1 2 3 2 1 0 1 ...
    index %= period
    return np.where(index < size, index, period - index)
