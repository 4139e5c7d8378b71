"""DirectML's rules for the sizes, strides and bytes of a buffer tensor, ``DML_BUFFER_TENSOR_DESC``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any, SupportsIndex

from restride.arguments import MAX_RANK, integers
from restride.dtypes import DType, as_dtype
from restride.errors import DescriptorError, UnsupportedError

_UINT_MAX = 2**32 - 1


def dml_buffer_tensor_size(
    dtype: Any, sizes: Iterable[SupportsIndex], strides: Iterable[SupportsIndex] | None = None
) -> int:
    """Bytes of a DirectML buffer tensor, as its ``DMLCalcBufferTensorSize`` computes them.

    The last element's offset is ``sum((size - 1) * stride)``, or ``prod(sizes) - 1`` without strides; the bytes through
    that element are rounded up to 4. Padding after the last row is not counted: u8 sizes 2,3 with strides 5,1 end at
    element 7, so 8 bytes. Element types that DirectML lacks are computed by the same rule, and sums that wrap in the
    published helper's 32 bits do not wrap here.

    Raises:
        DescriptorError: not 1 to 8 axes, a size below 1, a negative stride, a number beyond 32 bits, or more than
            2^32 - 1 elements.
    """
    element = as_dtype(dtype)
    its_sizes, its_strides = checked_dml(element, sizes, strides)
    if its_strides is None:
        last = prod(its_sizes) - 1
    else:
        last = sum((size - 1) * stride for size, stride in zip(its_sizes, its_strides, strict=True))
    return -(-(last + 1) * element.itemsize // 4) * 4


def checked_dml(
    element: DType, sizes: Iterable[SupportsIndex], strides: Iterable[SupportsIndex] | None
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Sizes and strides by DirectML's rules, as ``dml_buffer_tensor_size`` states them."""
    its_sizes = integers("sizes", sizes)
    text = f"{element.name}[{','.join(map(str, its_sizes))}]"
    if not 1 <= len(its_sizes) <= MAX_RANK:
        raise DescriptorError(f"DirectML tensors have 1 to {MAX_RANK} axes, sizes has {len(its_sizes)} in {text}")
    for axis, size in enumerate(its_sizes):
        if not 1 <= size <= _UINT_MAX:
            raise DescriptorError(f"DirectML sizes are 1 to 2^32 - 1, sizes[{axis}] is {size} in {text}")
    if prod(its_sizes) > _UINT_MAX:
        raise DescriptorError(
            f"DirectML tensors have at most 2^32 - 1 elements, sizes hold {prod(its_sizes)} in {text}"
        )
    if strides is None:
        return its_sizes, None
    its_strides = integers("strides", strides, lambda: text)
    if len(its_strides) != len(its_sizes):
        raise DescriptorError(f"strides need one value per axis: {its_strides} for {text}")
    for axis, stride in enumerate(its_strides):
        if not 0 <= stride <= _UINT_MAX:
            raise DescriptorError(f"DirectML strides are 0 to 2^32 - 1, strides[{axis}] is {stride} in {text}")
    return its_sizes, its_strides


def said_to_dml(
    element: DType, sizes: tuple[int, ...], strides: tuple[int, ...] | None, offset: int, where: Callable[[], str]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and strides of a layout that ``where`` writes.

    Raises:
        UnsupportedError: DirectML cannot say it.
    """
    if strides is None or offset:
        raise UnsupportedError(f"DirectML has strides and no offset: not {where()}")
    try:
        checked_dml(element, sizes, strides)
    except DescriptorError as error:
        raise UnsupportedError(f"{error}: not {where()}") from None
    return sizes, strides
