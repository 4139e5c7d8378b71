"""restride.xp: the part of the array API 2024.12 that creates, moves and converts elements. docs/arrays.md lists it."""

from __future__ import annotations

import builtins
import math

from restride.arguments import MAX_RANK
from restride.dtypes import DTYPES, DType
from restride.errors import DescriptorError
from restride.ops.equal import equal as _equal
from restride.tensor.arrays import TensorLike
from restride.tensor.device import Device, default_device
from restride.tensor.tensor import Tensor
from restride.xp.creation import (
    FLOAT,
    INTEGER,
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from restride.xp.data_types import KindName, astype, can_cast, finfo, iinfo, isdtype, of_kind, result_type
from restride.xp.manipulation import (
    broadcast_arrays,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    matrix_transpose,
    moveaxis,
    pad,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    take,
    take_along_axis,
    tile,
    unstack,
)

__array_api_version__ = "2024.12"

e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi

bool = DTYPES["pred"]  # noqa: A001 - the array API's name
int8, int16, int32, int64 = (DTYPES[name] for name in ("s8", "s16", "s32", "s64"))
uint8, uint16, uint32, uint64 = (DTYPES[name] for name in ("u8", "u16", "u32", "u64"))
float32, float64 = DTYPES["f32"], DTYPES["f64"]

_NARROW = {element.dtype.name: element for element in DTYPES.values() if element.is_float and element.itemsize < 4}
"""Types of restride that the array API does not name, which are here too: ``xp.bfloat16``."""


def equal(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """``x1 == x2`` element by element, compared as exact numbers, in one dispatch; one of them may be a number."""
    return _compare(x1, x2, negated=False)


def not_equal(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """``x1 != x2`` element by element; see ``equal``."""
    return _compare(x1, x2, negated=True)


def _compare(x1: TensorLike, x2: TensorLike, *, negated: builtins.bool) -> Tensor:
    first, second = (x1, x2) if isinstance(x1, Tensor) else (x2, x1)
    result = _equal(first if isinstance(first, Tensor) else asarray(first), second, negated)
    if not isinstance(result, Tensor):
        raise DescriptorError(f"a tensor is compared with a tensor, an array or a number, got {second!r}")
    return result


class Info:
    """The result of ``__array_namespace_info__``: devices, types and missing capabilities."""

    def capabilities(self) -> dict[str, object]:
        """The capabilities: boolean indices and data-dependent sizes are not supported; a tensor has at most 8 axes."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": MAX_RANK}

    def default_device(self) -> Device:
        """``rs.default_device()``."""
        return default_device()

    def devices(self) -> list[Device]:
        """A list of the default device alone; ``rs.Device`` opens others."""
        return [default_device()]

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, DType]:  # noqa: ARG002 - the same on each
        """f64, s64, and s64 for indices. There are no complex types."""
        return {"real floating": FLOAT, "integral": INTEGER, "indexing": INTEGER}

    def dtypes(
        self,
        *,
        device: Device | None = None,  # noqa: ARG002 - the same on each
        kind: KindName | tuple[KindName, ...] | None = None,
    ) -> dict[str, DType]:
        """The types by their names in the array API; kind: only types of this kind, or of these kinds."""
        kinds = ("bool", "numeric") if kind is None else (kind if isinstance(kind, tuple) else (kind,))
        chosen = [element for each in kinds for element in of_kind(each)]
        return {element.dtype.name: element for element in chosen if element.dtype.name not in _NARROW}


def __array_namespace_info__() -> Info:  # noqa: N807 - the array API's name
    return Info()


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> DType:
    if name in _NARROW:
        return _NARROW[name]
    raise AttributeError(
        f"restride.xp has no {name}: it creates, moves and converts elements, under the array API's names; x.numpy() "
        f"is an array of numpy, for the rest"
    )


__all__ = [  # noqa: PLE0604 - the keys of _NARROW are strings
    "__array_api_version__",
    "__array_namespace_info__",
    "arange",
    "asarray",
    "astype",
    "bool",
    "broadcast_arrays",
    "broadcast_to",
    "can_cast",
    "concat",
    "e",
    "empty",
    "empty_like",
    "equal",
    "expand_dims",
    "eye",
    "finfo",
    "flip",
    "float32",
    "float64",
    "from_dlpack",
    "full",
    "full_like",
    "iinfo",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "linspace",
    "matrix_transpose",
    "meshgrid",
    "moveaxis",
    "nan",
    "newaxis",
    "not_equal",
    "ones",
    "ones_like",
    "pad",
    "permute_dims",
    "pi",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "squeeze",
    "stack",
    "take",
    "take_along_axis",
    "tile",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unstack",
    "zeros",
    "zeros_like",
    *_NARROW,
]
