"""Creation functions of the array API: the device fills tensors with one number; sequences are uploaded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import SupportsIndex

import numpy as np

from restride.arguments import counts, flag, integer
from restride.dtypes import DTYPES, Array, DType, DTypeLike, Number, as_dtype, as_number, cast
from restride.errors import DescriptorError, UnsupportedError, shown
from restride.layout import TensorDesc
from restride.tensor import arrays
from restride.tensor import tensor as tensors
from restride.tensor.device import Device
from restride.tensor.dlpack import SupportsDLPack
from restride.tensor.tensor import Tensor, as_device, require_tensor, require_tensors
from restride.xp.data_types import BOOL

FLOAT, INTEGER = DTYPES["f64"], DTYPES["s64"]
"""The default types, the same as numpy's."""

ShapeLike = SupportsIndex | Iterable[SupportsIndex]


def asarray(
    obj: arrays.TensorLike, /, *, dtype: DTypeLike | None = None, device: Device | None = None, copy: bool | None = None
) -> Tensor:
    """A tensor made of ``obj``: a tensor, an array, a number, or nested sequences of numbers.

    copy: True: always copy. None: copy only if needed; an array of the host is uploaded. False: never copy; the device
        reads a numpy array in place, if it can.

    Raises:
        DescriptorError: the type is unknown, or ``copy`` is False and a copy is needed.
    """
    element = None if dtype is None else as_dtype(dtype)
    copy = None if copy is None else flag("copy", copy)
    if isinstance(obj, Tensor):
        moves = device is not None and as_device(device) is not obj.device
        if copy is False and (moves or (element is not None and element != obj.dtype)):
            raise DescriptorError(f"copy=False: another type or device is a copy, for {obj.desc}")
        result = obj if device is None else obj.to(device)
        if element is not None and element != result.dtype:
            return result.astype(element)
        return result.copy() if copy and result is obj else result
    if element is not None and not hasattr(obj, "__dlpack__") and not isinstance(obj, np.ndarray):
        obj = _convert(obj, element)
    if copy is False:
        try:
            result = arrays.asarray(obj, device=device, copy=False)
        except UnsupportedError as error:
            raise DescriptorError(f"{error}") from error
    else:
        result = arrays.asarray(obj, device=device)
    if element is None or element == result.dtype:
        return result
    if copy is False:
        raise DescriptorError(f"copy=False: {result.dtype} as {element} is a copy, for {result.desc}")
    return result.astype(element)


def from_dlpack(x: SupportsDLPack, /, *, device: Device | None = None, copy: bool | None = None) -> Tensor:
    """A tensor from an object with ``__dlpack__``, in memory of the CPU or in CUDA's memory of a ``Tensor``."""
    if not hasattr(x, "__dlpack__"):
        raise DescriptorError(f"from_dlpack takes an object with __dlpack__, not {type(x).__name__}")
    return asarray(x, device=device, copy=copy)


def empty(shape: ShapeLike, *, dtype: DTypeLike | None = None, device: Device | None = None) -> Tensor:
    """A tensor whose elements are undefined."""
    return tensors.empty(_desc(shape, dtype), as_device(device))


def full(
    shape: ShapeLike, fill_value: Number, *, dtype: DTypeLike | None = None, device: Device | None = None
) -> Tensor:
    """A tensor filled with one value.

    Without ``dtype``, a bool gives pred, an integer s64, or u64 from 2^63 on, other numbers f64.

    Raises:
        DescriptorError: ``fill_value`` is no number, or without ``dtype`` an integer that neither s64 nor u64 holds.
    """
    value = as_number("fill_value", fill_value)
    if dtype is None:
        is_bool = isinstance(fill_value, bool | np.bool_)
        dtype = BOOL if is_bool else _type_of_integer(value) if isinstance(value, int) else FLOAT
    return _filled(_desc(shape, dtype), value, as_device(device))


def zeros(shape: ShapeLike, *, dtype: DTypeLike | None = None, device: Device | None = None) -> Tensor:
    """A tensor of zeros."""
    return _filled(_desc(shape, dtype), 0, as_device(device))


def ones(shape: ShapeLike, *, dtype: DTypeLike | None = None, device: Device | None = None) -> Tensor:
    """A tensor of ones."""
    return _filled(_desc(shape, dtype), 1, as_device(device))


def empty_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: Device | None = None) -> Tensor:
    """``empty`` with the sizes of ``x``, and by default its type and device."""
    return tensors.empty(*_like(x, dtype, device))


def zeros_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: Device | None = None) -> Tensor:
    """``zeros`` with the sizes of ``x``, and by default its type and device."""
    desc, where = _like(x, dtype, device)
    return _filled(desc, 0, where)


def ones_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: Device | None = None) -> Tensor:
    """``ones`` with the sizes of ``x``, and by default its type and device."""
    desc, where = _like(x, dtype, device)
    return _filled(desc, 1, where)


def full_like(
    x: Tensor, /, fill_value: Number, *, dtype: DTypeLike | None = None, device: Device | None = None
) -> Tensor:
    """``full`` with the sizes of ``x``, and by default its type and device."""
    desc, where = _like(x, dtype, device)
    return full(desc.sizes, fill_value, dtype=desc.dtype, device=where)


def arange(
    start: Number,
    /,
    stop: Number | None = None,
    step: Number = 1,
    *,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
) -> Tensor:
    """Numbers from ``start`` to before ``stop``, or from 0 to before ``start``; computed by numpy and uploaded.

    Without ``dtype``, integers are s64, or u64 if one is 2^63 or more; other numbers are f64.

    Raises:
        DescriptorError: ``step`` is 0, there are too many numbers, or neither s64 nor u64 holds all integers.
    """
    if stop is None:
        start, stop = 0, start
    start, stop, step = as_number("start", start), as_number("stop", stop), as_number("step", step)
    if not step:
        raise DescriptorError(f"step of arange({start}, {stop}, {step}) must not be 0")
    whole = [number for number in (start, stop, step) if isinstance(number, int)]
    element = None if dtype is None else as_dtype(dtype)
    try:
        if len(whole) == 3:
            numbers = _whole_numbers(range(*whole))
        else:
            numbers = np.arange(float(start), float(stop), float(step))
        array = numbers if element is None else numbers.astype(element.dtype)
    except (OverflowError, ValueError, MemoryError) as error:  # beyond 64 bits, inf, nan
        call = f"arange({shown(start)}, {shown(stop)}, {shown(step)})"
        raise DescriptorError(f"{call} has too many or too large numbers: {error}") from None
    return arrays.asarray(array, device=device)


def linspace(
    start: Number,
    stop: Number,
    /,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
    endpoint: bool = True,
) -> Tensor:
    """``num`` numbers from ``start`` to ``stop``, evenly spaced; numpy computes them, also to infinity."""
    start, stop = as_number("start", start), as_number("stop", stop)
    count = integer("num", num)
    if count < 0:
        raise DescriptorError(f"num {count} must be 0 or more")
    element = FLOAT if dtype is None else as_dtype(dtype)
    try:
        numbers = np.linspace(float(start), float(stop), count, endpoint=flag("endpoint", endpoint))
    except (OverflowError, ValueError, MemoryError) as error:  # an integer of 1.8e308 or more, too many
        call = f"linspace({shown(start)}, {shown(stop)}, {shown(count)})"
        raise DescriptorError(f"{call} has too many or too large numbers: {error}") from None
    return arrays.asarray(numbers.astype(element.dtype), device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
) -> Tensor:
    """Ones on diagonal ``k``, zeros elsewhere. Zeros are written first, then ones to a strided view of the diagonal."""
    rows = integer("n_rows", n_rows)
    columns = rows if n_cols is None else integer("n_cols", n_cols)
    k = integer("k", k)
    result = zeros((rows, columns), dtype=dtype, device=device)
    first_row, first_column = max(-k, 0), max(k, 0)
    count = min(rows - first_row, columns - first_column)
    if count > 0:
        start = first_row * columns + first_column
        result.reshape(-1)[start : start + (count - 1) * (columns + 1) + 1 : columns + 1] = 1
    return result


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """For each one-dimensional tensor a view of it, broadcast to the sizes of all of them."""
    if indexing not in {"xy", "ij"}:
        raise DescriptorError(f"indexing must be 'xy' or 'ij', got {indexing!r}")
    for place, x in enumerate(require_tensors(arrays, "arrays")):
        if x.ndim != 1 or x.dtype != arrays[0].dtype:
            raise DescriptorError(f"arrays[{place}] must have one axis and the type {arrays[0].dtype}, not be {x.desc}")
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        order[:2] = 1, 0
    sizes = tuple(arrays[place].sizes[0] for place in order)
    keys = [tuple(slice(None) if other == place else None for other in order) for place in range(len(arrays))]
    return [x[key].broadcast_to(sizes) for x, key in zip(arrays, keys, strict=True)]


def _type_of_integer(value: int) -> DType:
    try:
        return as_dtype(_whole_numbers(range(value, value + 1)).dtype)
    except OverflowError:
        raise DescriptorError(f"fill_value {shown(value)} fits neither s64 nor u64: name a dtype") from None


def _whole_numbers(numbers: range) -> Array:
    """The numbers as s64, or as u64 where they reach 2^63; computed in their low 64 bits, whatever ``step`` is.

    Raises:
        OverflowError: neither type holds them all.
    """
    if not numbers:
        return np.empty(0, np.int64)
    low, high = sorted((numbers[0], numbers[-1]))
    kind = np.int64 if high < 1 << 63 else np.uint64
    if low < np.iinfo(kind).min or high > np.iinfo(kind).max:
        raise OverflowError(f"{kind.__name__} does not hold {shown(low)} to {shown(high)}")
    multiples = np.arange(len(numbers), dtype=np.uint64) * np.uint64(numbers.step % (1 << 64))
    return (multiples + np.uint64(numbers.start % (1 << 64))).view(kind)


def _convert(obj: object, element: DType) -> Array:
    """A number, or nested sequences of numbers, as an array of the type; integers keep their low bits.

    Raises:
        DescriptorError: a value is no number or, for a type of integers, has more than 64 bits, is infinite or NaN.
    """
    array = arrays.host_array(obj, element)
    if not array.dtype.hasobject:  # numpy keeps integers of more than 64 bits as objects
        as_dtype(array.dtype)
    if element.is_float or element == BOOL or array.dtype.kind in "biu":
        return cast("obj", array, element)
    try:
        numbers = [int(number) for number in array.flat]
        # As s64, with the same low bits: 2**63 - 1 stays, 2**64 - 1 is -1, and 2**64 is refused.
        signed = np.array([number - (number >> 63 << 64) if number >= 0 else number for number in numbers], np.int64)
    except (OverflowError, TypeError, ValueError) as error:
        raise DescriptorError(f"obj cannot become {element}, got {shown(obj)}: {error}") from None
    return signed.astype(element.dtype).reshape(array.shape)


def _filled(desc: TensorDesc, number: float, device: Device) -> Tensor:
    """A tensor whose elements all equal ``number``, written in one dispatch."""
    result = tensors.empty(desc, device)
    result[...] = cast("fill_value", np.asarray(number), desc.dtype)
    return result


def _desc(shape: ShapeLike, dtype: DTypeLike | None) -> TensorDesc:
    sizes = counts("shape", shape, or_one=True)
    return TensorDesc(FLOAT if dtype is None else dtype, sizes)


def _like(x: Tensor, dtype: DTypeLike | None, device: Device | None) -> tuple[TensorDesc, Device]:
    sizes = require_tensor(x).sizes
    return TensorDesc(x.dtype if dtype is None else dtype, sizes), x.device if device is None else as_device(device)
