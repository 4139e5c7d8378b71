"""Element types: the table of what each one is, and ``DType``, which callers see."""

from restride.dtypes.dtype import (
    BY_NAME,
    BY_NUMPY,
    DTYPES,
    EXTENSIONS,
    Array,
    DType,
    DTypeLike,
    F32Array,
    F64Array,
    Number,
    as_dtype,
    as_number,
    cast,
    dtype_here,
    is_torch_dtype,
)
from restride.dtypes.table import ELEMENT_TYPES, DTypeName, ElementKind, ElementType, NumpyName

__all__ = [
    "BY_NAME",
    "BY_NUMPY",
    "DTYPES",
    "ELEMENT_TYPES",
    "EXTENSIONS",
    "Array",
    "DType",
    "DTypeLike",
    "DTypeName",
    "ElementKind",
    "ElementType",
    "F32Array",
    "F64Array",
    "Number",
    "NumpyName",
    "as_dtype",
    "as_number",
    "cast",
    "dtype_here",
    "is_torch_dtype",
]
