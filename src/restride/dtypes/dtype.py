"""Element types: their names in XLA, widths in bytes and numpy types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias, get_args

import ml_dtypes  # noqa: F401 - the import makes its types' names known to numpy
import numpy as np
import numpy.typing as npt

from restride.dtypes.table import ELEMENT_TYPES, DTypeName, ElementType, NumpyName
from restride.errors import DescriptorError, did_you_mean, shown


@dataclass(frozen=True, eq=False)
class DType:
    """One element type.

    ``name`` is XLA's spelling (``"f32"``), ``itemsize`` the width in bytes, ``dtype`` the numpy type, named as in
    numpy's protocol, so that ``np.dtype(desc.dtype)`` works. A DType compares equal to every spelling of
    itself, such as "f32", "float32" and np.float32 for f32, and hashes as its name.

    Examples:
        >>> dtype = rs.TensorDesc("bfloat16", (2,)).dtype
        >>> dtype, dtype.itemsize, dtype == "bf16"
        (DType('bf16'), 2, True)
    """

    name: str
    dtype: np.dtype[Any]
    itemsize: int = field(init=False)
    """Bytes of one element: 1, 2, 4 or 8."""
    format: ElementType = field(init=False)
    """Its row in the table of element types."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "itemsize", self.dtype.itemsize)
        object.__setattr__(self, "format", ELEMENT_TYPES[self.name])

    @property
    def is_float(self) -> bool:
        """True for the floating types, the narrow ones included."""
        return self.format.is_float

    @property
    def kind(self) -> str:
        """The letter of the numpy type's kind, which xarray and others ask for: "b", "i", "u", "f", or "V"."""
        return self.dtype.kind

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"DType({self.name!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self.name == other.name
        try:
            return self.name == as_dtype(other).name
        except DescriptorError:
            return False

    def __hash__(self) -> int:
        return hash(self.name)


Array: TypeAlias = npt.NDArray[Any]
"""A numpy array of any element type."""

F32Array: TypeAlias = npt.NDArray[np.float32]
F64Array: TypeAlias = npt.NDArray[np.float64]

DTypeLike: TypeAlias = DType | DTypeName | NumpyName | type[np.generic] | np.dtype[Any]
"""The values that ``dtype=`` accepts; ``as_dtype`` reads them."""

Number: TypeAlias = float | np.integer[Any] | np.floating[Any] | np.bool_
"""A number of Python or numpy; ``as_number`` reads it."""

DTYPES: dict[str, DType] = {name: DType(name, np.dtype(ELEMENT_TYPES[name].numpy)) for name in get_args(DTypeName)}
"""Every element type by its XLA name."""

EXTENSIONS = tuple(element for element in DTYPES.values() if element.dtype.isbuiltin != 1)
"""The element types that ml_dtypes adds to numpy; many formats of files know only their bits."""

_OTHERS: dict[str, str] = {other: row.name for row in ELEMENT_TYPES.values() for other in row.others}
"""Our names for element types of other libraries."""

BY_NUMPY: dict[np.dtype[Any], DType] = {element.dtype: element for element in DTYPES.values()}
"""Every element type by its numpy type."""

BY_NAME: dict[str, DType] = {element.dtype.name: element for element in DTYPES.values()} | DTYPES
"""Every element type by its own name and by the full name of its numpy type."""


def as_dtype(value: Any) -> DType:
    """The element type that ``value`` names.

    Takes a ``DType``, XLA's name (``"bf16"``), numpy's full name (``"float32"``), a numpy scalar type or ``np.dtype``,
    and a ``torch.dtype``.

    Raises:
        DescriptorError: the type is unknown, its bytes are not in this machine's order, or ``value`` is one of numpy's
            short names: numpy's "i8" is 64 bits wide, while our "u8" is 8.
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and value in BY_NAME:
        return BY_NAME[value]
    if is_torch_dtype(value) and str(value).removeprefix("torch.") in BY_NAME:
        return BY_NAME[str(value).removeprefix("torch.")]
    known = f"known element types are {', '.join(DTYPES)} and their numpy names"
    try:
        # numpy reads None as float64, but here it is no type at all.
        numpy_type = np.dtype(value) if value is not None else None
    except Exception:  # noqa: BLE001 - numpy raises six types of errors: TypeError, SyntaxError, ...
        numpy_type = None
    if numpy_type is None:
        raise DescriptorError(f"unknown element type {value!r:.60}; {known}{dtype_here(value)}")
    if not numpy_type.isnative:
        raise DescriptorError(
            f"element type {numpy_type.str!r} is byte-swapped; elements must be in this machine's byte order: "
            f"use array.astype(array.dtype.newbyteorder('='))"
        )
    if numpy_type not in BY_NUMPY:
        raise DescriptorError(f"unknown element type {numpy_type.name!r}; {known}")
    element = BY_NUMPY[numpy_type]
    if isinstance(value, str):
        raise DescriptorError(_short_name(value, element))
    return element


def as_number(argument: str, value: object) -> int | float:
    """A number of Python, or of an element type's numpy type, as a Python int or float; exact. A boolean is 0 or 1.

    Raises:
        DescriptorError: ``value`` is anything else: a text, a complex number, an array.
    """
    if isinstance(value, np.generic):
        element = BY_NUMPY.get(value.dtype)
        if element is not None:
            return float(value) if element.is_float else int(value)
    elif isinstance(value, int | float):
        return int(value) if isinstance(value, bool) else value
    raise DescriptorError(f"{argument} must be a number, got {shown(value)}")


def cast(argument: str, numbers: Array, dtype: DType) -> Array:
    """Numbers as numpy casts them to an element type: integers keep their low bits.

    Integers of more than 64 bits, which numpy holds as objects, become floats only.

    Raises:
        DescriptorError: objects that are no numbers, or integers of more than 64 bits for an integer type.
    """
    try:
        if dtype.is_float and numbers.dtype.hasobject:  # ml_dtypes' types refuse such arrays
            numbers = numbers.astype(np.float64)
        with np.errstate(all="ignore"):
            return numbers.astype(dtype.dtype)
    except (OverflowError, TypeError, ValueError) as error:
        raise DescriptorError(f"{argument} cannot become {dtype}, got {shown(numbers.tolist())}: {error}") from None


def is_torch_dtype(value: object) -> bool:
    """True for a ``torch.dtype``; torch may not be installed."""
    return type(value).__module__ == "torch" and type(value).__name__ == "dtype"


def dtype_here(value: object) -> str:
    """The end of an error about an unknown type: restride's name if it is another library's, else the nearest name."""
    if not isinstance(value, str):
        return ""
    if value.lower().startswith(("complex", "c64", "c128")):
        return "; complex numbers are no elements here, their parts are: along an axis of size 2"
    if value.lower() in ("s2", "s4", "u2", "u4", "int2", "int4", "uint2", "uint4"):
        return "; integers have 8 bits or more here"
    here = _OTHERS.get(value) or _OTHERS.get(value.lower()) or (value.lower() if value.lower() in BY_NAME else None)
    return did_you_mean(value, BY_NAME) if here is None else f"; it is {here!r} here"


def _short_name(text: str, element: DType) -> str:
    """Why numpy's "i8" is refused: it counts 8 bytes, while our "s8" counts bits."""
    in_bits = [name for name in DTYPES if name.startswith(text.replace("i", "s")) and DTYPES[name].itemsize == 1]
    # Many libraries mean 32 bits by these names.
    narrow = [element.name.replace("64", "32")] if text in ("float", "int", "uint") else []
    choices = " or ".join(map(repr, [element.name, *narrow, *in_bits]))
    name = element.dtype.name
    meaning = f"counts bytes in numpy, where it is {name}" if text[-1].isdigit() else f"is {name} in numpy"
    return f"element type {text!r} {meaning}: say {choices}"
