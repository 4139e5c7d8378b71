"""The reference for ``strided_slice``: a window per axis, walked forwards or backwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from restride.errors import DescriptorError
from restride.integers import integers
from restride.reference.arguments import as_array, describe


def strided_slice(
    x: Any,
    offsets: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    output_sizes: Sequence[int] | None = None,
) -> np.ndarray[Any, Any]:
    """Copy a window of ``x``: ``out[i] = x[start + i * stride]`` along every axis.

    ``start = offset`` where the stride is positive, and ``offset + size - 1``, the window's end, where it is negative.

    Args:
        x: array of rank 1 to 8.
        offsets: first element of the window, one an axis.
        sizes: elements in the window, at least 1; ``offset + size`` must not exceed the axis.
        strides: step inside the window, not 0.
        output_sizes: elements taken, ``1 <= n <= 1 + (size - 1) // abs(stride)``, which is also the default.

    Returns:
        A new array of ``output_sizes``.

    Raises:
        DescriptorError: a rule above is broken.

    Source: DirectML, ``DML_SLICE1_OPERATOR_DESC`` (InputWindowOffsets, InputWindowSizes, InputWindowStrides).

    Example: rows of 1..16, four a row; offsets (0, 1), sizes (4, 3), strides (-2, 2) give [[14, 16], [6, 8]].
    """
    array = as_array(x)
    rank = array.ndim
    if rank == 0:
        raise DescriptorError(f"strided_slice needs 1 to 8 dimensions, not {describe(array)}")
    windows = {
        "offsets": integers("offsets", offsets),
        "sizes": integers("sizes", sizes),
        "strides": integers("strides", strides),
    }
    if output_sizes is not None:
        windows["output_sizes"] = integers("output_sizes", output_sizes)
    for argument, values in windows.items():
        if len(values) != rank:
            raise DescriptorError(
                f"{argument} {list(values)} must have one value for each of the {rank} axes of {describe(array)}"
            )
    taken = []
    for axis in range(rank):
        offset, size, stride = (windows[argument][axis] for argument in ("offsets", "sizes", "strides"))
        where = f"of axis {axis} in {describe(array)}"
        if offset < 0:
            raise DescriptorError(f"offset {offset} is negative; offsets {where} must be at least 0")
        if size < 1:
            raise DescriptorError(f"window size {size} {where} must be at least 1")
        if stride == 0:
            raise DescriptorError(f"stride 0 {where} must not be zero")
        if offset + size > array.shape[axis]:
            raise DescriptorError(f"window [{offset}, {offset + size}) exceeds size {array.shape[axis]} {where}")
        walked = list(range(offset, offset + size))[::stride]
        count = windows["output_sizes"][axis] if "output_sizes" in windows else len(walked)
        if not 1 <= count <= len(walked):
            raise DescriptorError(
                f"output size {count} {where} must be in [1, {len(walked)}]: window size {size}, stride {stride}"
            )
        taken.append(walked[:count])
    return np.ascontiguousarray(array[np.ix_(*taken)])
