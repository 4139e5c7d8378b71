"""DirectML's rules for the sizes, strides and bytes of a buffer tensor, ``DML_BUFFER_TENSOR_DESC``."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import SupportsIndex

from restride.arguments import MAX_RANK, integers, one_per_axis
from restride.dtypes import DType, DTypeLike, as_dtype
from restride.errors import DescriptorError, ErrorContext
from restride.layout.text import shape_text

_UINT_MAX = 2**32 - 1


def dml_buffer_tensor_size(
    dtype: DTypeLike, sizes: Iterable[SupportsIndex], strides: Iterable[SupportsIndex] | None = None
) -> int:
    """Bytes of a DirectML buffer tensor, as its ``DMLCalcBufferTensorSize`` computes them.

    The last element's offset is ``sum((size - 1) * stride)``, or ``prod(sizes) - 1`` without strides; the bytes through
    that element are rounded up to a multiple of 4. Padding after the last row is not counted. Element types that
    DirectML lacks follow the same rule. Sums that wrap in the published helper's 32 bits do not wrap here.

    Raises:
        DescriptorError: not 1 to 8 axes, a size below 1, a negative stride, a number beyond 32 bits, or more than
            2^32 - 1 elements.

    Examples:
        >>> rs.dml_buffer_tensor_size("u8", (2, 3), (5, 1))
        8
    """
    element = as_dtype(dtype)
    sizes, strides = checked_dml(element, sizes, strides)
    if strides is None:
        last = prod(sizes) - 1
    else:
        last = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    return -(-(last + 1) * element.itemsize // 4) * 4


def checked_dml(
    element: DType, sizes: Iterable[SupportsIndex], strides: Iterable[SupportsIndex] | None
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Sizes and strides by DirectML's rules, as ``dml_buffer_tensor_size`` states them."""
    sizes = integers("sizes", sizes)
    with ErrorContext(shape_text(element.name, sizes)):
        if not 1 <= len(sizes) <= MAX_RANK:
            raise DescriptorError(f"DirectML tensors have 1 to {MAX_RANK} axes, sizes has {len(sizes)}")
        for axis, size in enumerate(sizes):
            if not 1 <= size <= _UINT_MAX:
                raise DescriptorError(f"DirectML sizes are 1 to 2^32 - 1, sizes[{axis}] is {size}")
        if prod(sizes) > _UINT_MAX:
            raise DescriptorError(f"DirectML tensors have at most 2^32 - 1 elements, sizes hold {prod(sizes)}")
        if strides is None:
            return sizes, None
        strides = one_per_axis("strides", strides, len(sizes))
        for axis, stride in enumerate(strides):
            if not 0 <= stride <= _UINT_MAX:
                raise DescriptorError(f"DirectML strides are 0 to 2^32 - 1, strides[{axis}] is {stride}")
        return sizes, strides
