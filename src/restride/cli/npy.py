"""The .npy format, read by hand: no pickles, no expressions, and no byte allocated that the file does not have."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from restride.cli.exits import UsageError
from restride.dtypes import DType, as_dtype
from restride.errors import DescriptorError

Array = npt.NDArray[Any]

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 10_000
"""Bytes of a header; numpy's own limit, above which parsing it can exhaust the stack."""

_RAW_TYPES = ("bf16", "f8e4m3fn", "f8e5m2")
"""What numpy can only write as raw bytes."""


def read_npy(path: Path, dtype: str | None = None) -> Array:
    """The array in a .npy file, in C or Fortran order, brought to this machine's byte order.

    ``dtype`` takes its elements as a type of the same width.

    Raises:
        UsageError: not a .npy file, truncated, or its elements are no numbers.
    """
    with path.open("rb") as file:
        descr, fortran_order, shape = _header(file, path)
        stored = _stored_type(descr, path)
        element = _element_type(stored, dtype, path)
        needed = math.prod(shape) * stored.itemsize
        start = file.tell()
        present = file.seek(0, 2) - start
        if present < needed:
            raise UsageError(
                f"{path} is truncated: its header says {stored.str}{list(shape)}, {needed} bytes, and {present} follow"
            )
        file.seek(start)
        data = np.fromfile(file, np.uint8, needed)
    if not stored.isnative:
        data.view(f"u{stored.itemsize}").byteswap(inplace=True)
    try:
        array: Array = data.view(element.dtype).reshape(shape, order="F" if fortran_order else "C")
    except ValueError as error:  # a size beyond what numpy can index, beside a size of 0
        raise UsageError(f"{path} has sizes {list(shape)}: {error}") from error
    return array


def write_npy(file: BinaryIO, array: Array) -> None:
    """Write an array; bf16 and f8 elements as raw bytes, which numpy can read back and view."""
    is_raw = as_dtype(array.dtype).name in _RAW_TYPES
    np.lib.format.write_array(file, array.view(f"V{array.dtype.itemsize}") if is_raw else array, allow_pickle=False)


def _header(file: BinaryIO, path: Path) -> tuple[object, bool, tuple[int, ...]]:
    start = file.read(8)
    if start[:6] != _MAGIC or len(start) < 8:
        raise UsageError(f"{path} is not a .npy file: it does not begin with {_MAGIC!r}")
    major = start[6]
    if major not in {1, 2, 3}:
        raise UsageError(f"{path} is a .npy file of version {major}.{start[7]}; 1.0, 2.0 and 3.0 are known")
    length = int.from_bytes(file.read(2 if major == 1 else 4), "little")
    if length > _LONGEST_HEADER:
        raise UsageError(f"{path} claims a header of {length} bytes, more than the {_LONGEST_HEADER} that are accepted")
    text = file.read(length)
    if len(text) < length:
        raise UsageError(f"{path} is truncated: {len(text)} of its {length} header bytes are there")
    try:
        header = ast.literal_eval(text.decode("utf-8" if major == 3 else "latin-1").strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise UsageError(f"{path} has a damaged .npy header: it is not a dictionary of plain values") from error
    if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"}:
        raise UsageError(f"{path} has a damaged .npy header: it needs descr, fortran_order and shape")
    shape, fortran_order = header["shape"], header["fortran_order"]
    if not isinstance(shape, tuple) or not all(type(size) is int and size >= 0 for size in shape):
        raise UsageError(f"{path} has a damaged .npy header: shape is {str(shape)[:60]}")
    if not isinstance(fortran_order, bool):
        raise UsageError(f"{path} has a damaged .npy header: fortran_order is {str(fortran_order)[:60]}")
    return header["descr"], fortran_order, shape


def _stored_type(descr: object, path: Path) -> np.dtype[Any]:
    if descr == "<f1":  # ml_dtypes' float8_e5m2 as numpy writes it, and cannot read it
        return np.dtype("V1")
    if isinstance(descr, list):
        raise UsageError(f"{path} holds records with named fields; save each field as its own array")
    try:
        stored = np.dtype(descr) if isinstance(descr, str) else None
    except TypeError:
        stored = None
    if stored is None:
        raise UsageError(f"{path} has a damaged .npy header: descr is {str(descr)[:60]}")
    if stored.hasobject:
        raise UsageError(f"{path} holds pickled Python objects, which are never loaded; save an array of numbers")
    return stored


def _element_type(stored: np.dtype[Any], dtype: str | None, path: Path) -> DType:
    if dtype is not None:
        element = as_dtype(dtype)
        if element.itemsize != stored.itemsize:
            raise UsageError(
                f"--dtype {element} has {element.itemsize} bytes an element, those of {path} ({stored.str}) have "
                f"{stored.itemsize}"
            )
        return element
    if stored.kind == "V":
        fitting = [name for name in _RAW_TYPES if as_dtype(name).itemsize == stored.itemsize]
        hint = f"; if they are {' or '.join(fitting)}, say so with --dtype" if fitting else ""
        raise UsageError(f"{path} holds raw elements of {stored.itemsize} bytes ({stored.str}){hint}")
    try:
        return as_dtype(stored.newbyteorder("="))
    except DescriptorError as error:
        raise UsageError(f"{path}: {error}") from error
