"""Data types of the array API: restride's own types, promoted as numpy does, bf16 and 8-bit floats included."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import ml_dtypes
import numpy as np

from restride.dtypes import DTYPES, DType, DTypeLike, ElementKind, as_dtype
from restride.errors import DescriptorError, shown
from restride.tensor.device import Device
from restride.tensor.tensor import Tensor, require_tensor

KindName: TypeAlias = ElementKind | Literal["integral", "numeric", "complex floating"]
"""The kinds of types that the array API names."""

BOOL = DTYPES["pred"]

_KINDS: dict[str, tuple[DType, ...]] = {
    kind: tuple(element for element in DTYPES.values() if element.format.kind == kind)
    for kind in (*get_args(ElementKind), "complex floating")
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"]


def of_kind(kind: object) -> tuple[DType, ...]:
    """The element types of a kind: "bool", "signed integer", "integral", "real floating", "numeric", ...

    Raises:
        DescriptorError: no such kind.
    """
    if not isinstance(kind, str) or kind not in _KINDS:
        raise DescriptorError(f"kind must be a type or one of {', '.join(map(repr, _KINDS))}, got {kind!r}")
    return _KINDS[kind]


def isdtype(dtype: DTypeLike, kind: DTypeLike | KindName | tuple[DTypeLike | KindName, ...]) -> bool:
    """True if ``dtype`` is of ``kind``: a type, the name of a kind, or a tuple of these."""
    element = as_dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(element, each) for each in kind)
    return element in of_kind(kind) if isinstance(kind, str) and kind in _KINDS else element == as_dtype(kind)


def result_type(*arrays_and_dtypes: Tensor | DTypeLike | float) -> DType:
    """The type that tensors, types and Python numbers promote to, by numpy's rules; a number takes the others' type.

    Raises:
        DescriptorError: there is nothing to promote, or no type holds all of them.
    """
    numbers = [each for each in arrays_and_dtypes if isinstance(each, int | float)]
    elements = [_element_type(each) for each in arrays_and_dtypes if not isinstance(each, int | float)]
    if not elements:
        raise DescriptorError(f"result_type needs a tensor or a type, got {shown(arrays_and_dtypes)}")
    try:
        common = as_dtype(np.result_type(*(element.dtype for element in elements)))
    except TypeError:
        raise DescriptorError(f"no type holds all of {', '.join(map(str, elements))}; astype converts them") from None
    return common if common.is_float else as_dtype(np.result_type(common.dtype, *numbers))


def can_cast(from_: Tensor | DTypeLike, to: Tensor | DTypeLike, /) -> bool:
    """True if type ``to`` can hold every number of ``from_``, by numpy's "safe" casting; both are types or tensors."""
    return bool(np.can_cast(_element_type(from_).dtype, _element_type(to).dtype))


def astype(x: Tensor, dtype: DTypeLike, /, *, copy: bool = True, device: Device | None = None) -> Tensor:
    """``x.astype(dtype)``. copy False: ``x`` itself if it has that type. device: the device of the result."""
    result = require_tensor(x).astype(dtype, copy=copy)
    return result if device is None else result.to(device)


def _element_type(value: Tensor | DTypeLike) -> DType:
    return value.dtype if isinstance(value, Tensor) else as_dtype(value)


class FloatInfo(NamedTuple):
    """The result of ``finfo``: limits of a floating type, as Python numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IntegerInfo(NamedTuple):
    """The result of ``iinfo``: limits of an integer type, as Python numbers."""

    bits: int
    max: int
    min: int
    dtype: DType


def finfo(type: Tensor | DTypeLike, /) -> FloatInfo:  # noqa: A002 - the array API's name
    """The limits of a floating type, or of the type of a tensor.

    Raises:
        DescriptorError: ``type`` is not a floating type.
    """
    element = _element_type(type)
    if not element.is_float:
        raise DescriptorError(f"finfo is for floating types, not {element}; iinfo is for integers")
    info: Any = ml_dtypes.finfo(element.dtype)  # type: ignore[no-untyped-call] # it has no annotations
    eps, most, least, normal = (float(number) for number in (info.eps, info.max, info.min, info.smallest_normal))
    return FloatInfo(8 * element.itemsize, eps, most, least, normal, element)


def iinfo(type: Tensor | DTypeLike, /) -> IntegerInfo:  # noqa: A002 - the array API's name
    """The limits of an integer type, or of the type of a tensor.

    Raises:
        DescriptorError: ``type`` is not an integer type.
    """
    element = _element_type(type)
    if element not in of_kind("integral"):
        raise DescriptorError(f"iinfo is for integer types, not {element}; finfo is for floats")
    info = np.iinfo(element.dtype)
    return IntegerInfo(8 * element.itemsize, int(info.max), int(info.min), element)
