"""Element types: the table of what each one is, and ``DType``, which callers see."""

from restride.dtypes.dtype import (
    BY_NAME,
    BY_NUMPY,
    DTYPES,
    EXTENSIONS,
    Array,
    DType,
    DTypeLike,
    Number,
    as_dtype,
    as_number,
    cast,
    is_torch_dtype,
)
from restride.dtypes.table import ELEMENT_TYPES, DTypeName, ElementType, Kind, NumpyName

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
    "ElementType",
    "Kind",
    "Number",
    "NumpyName",
    "as_dtype",
    "as_number",
    "cast",
    "is_torch_dtype",
]
