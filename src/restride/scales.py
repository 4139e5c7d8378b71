"""Scales and zero points at the door: float32 arrays with all axes out of whatever numbers the caller has, checked."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from restride.desc import TensorDesc
from restride.dtypes import DType
from restride.errors import DescriptorError


def scale_array(argument: str, value: Any, desc: TensorDesc, groups: tuple[int, ...]) -> npt.NDArray[np.float32] | None:
    """Checked, with all axes; None where all are 1."""
    given = _broadcasting(argument, value, desc, groups)
    scales = as_float32(given)
    _require_all(np.isfinite(scales) & (scales != 0), argument, "finite and not 0 as f32", given, desc)
    return None if (scales == 1).all() else scales


def zero_point_array(
    argument: str, value: Any, desc: TensorDesc, groups: tuple[int, ...]
) -> npt.NDArray[np.float32] | None:
    """Checked, with all axes; None where all are 0."""
    given = _broadcasting(argument, value, desc, groups)
    if not desc.dtype.is_float:
        require_of_type(argument, given, desc)
    zero_points = as_float32(given)
    _require_all(np.isfinite(zero_points), argument, "finite as f32", given, desc)
    return zero_points if zero_points.any() else None


def refined(array: npt.NDArray[np.float32], sizes: tuple[int, ...], groups: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """``array`` with an entry for each index where another array of its side has one: 2 of 3 become 5 as 0 0 0 1 1."""
    for axis, (count, wanted, group) in enumerate(zip(array.shape, sizes, groups, strict=True)):
        if count not in (1, wanted):
            array = np.take(array, np.arange(wanted) // group, axis)
    return array


@cache
def value_range(dtype: DType) -> tuple[int, int]:
    """The lowest and the highest finite value."""
    if dtype == "pred":
        return 0, 1
    limits = ml_dtypes.finfo(dtype.dtype) if dtype.is_float else np.iinfo(dtype.dtype)  # type: ignore[no-untyped-call]
    return int(limits.min), int(limits.max)


def require_unit(name: str, values: npt.NDArray[Any], desc: TensorDesc) -> None:
    """Refuse a mean or a deviation of integers that counts elements, as those of 0 to 255, and not the range 0 to 1."""
    if not desc.dtype.is_float and (np.abs(values) > 1).any():
        _, largest = value_range(desc.dtype)
        worst = values.flat[np.abs(values).argmax()]
        raise DescriptorError(
            f"{name} must be within -1 and 1, for elements of {desc.dtype} are divided by {largest} first, got "
            f"{worst:g}: in the unit of elements it is mean / {largest} and std / {largest}, for {desc}"
        )


def numbers(argument: str, value: Any, desc: TensorDesc) -> npt.NDArray[Any]:
    """``value`` as an array of real numbers: numpy's integers and floats, and those of ml_dtypes."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise DescriptorError(
            f"{argument} must be numbers, not this {type(value).__name__}: {error}, for {desc}"
        ) from error
    is_extension = array.dtype.kind == "V" and not issubclass(array.dtype.type, np.void)
    if array.dtype.kind not in "iuf" and not is_extension:
        raise DescriptorError(f"{argument} must be numbers, got an array of {array.dtype}, for {desc}")
    return array


def as_float32(array: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """``array`` rounded to nearest even, or itself."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large, or NaN, is refused with its place
        return array.astype(np.float32, copy=False)


def _broadcasting(argument: str, value: Any, desc: TensorDesc, groups: tuple[int, ...]) -> npt.NDArray[Any]:
    """``value`` as an array with all the axes of ``desc``, along each of which its entries are 1, one each or groups.

    Example: for sizes 2,64 in groups of 1,32 these sizes broadcast: (), 64, 1,64, 2,1, 2,2 and 2,64.
    """
    array = numbers(argument, value, desc)
    shape = (1,) * (desc.rank - array.ndim) + array.shape
    fits = [
        count in (1, size) or (array.ndim == desc.rank and count == -(-size // group))
        for count, size, group in zip(shape, desc.sizes, groups, strict=False)
    ]
    if array.ndim > desc.rank or not all(fits):
        raise DescriptorError(f"{argument} of sizes {list(array.shape)} {_misfit(array, fits, desc, groups)}")
    return array.reshape(shape)


def _misfit(array: npt.NDArray[Any], fits: list[bool], desc: TensorDesc, groups: tuple[int, ...]) -> str:
    """The rule that an array breaks which does not broadcast; with all axes, along its first wrong one."""
    if array.ndim != desc.rank:
        is_grouped = max(groups, default=1) > 1
        grouped = f" in groups of {list(groups)}, which need all {desc.rank} axes," if is_grouped else ""
        return f"must broadcast{grouped} against {desc}"
    axis = fits.index(False)
    size, group = desc.sizes[axis], groups[axis]
    grouped = f" in groups of {group}" if group > 1 else ""
    counts = " or ".join(map(str, sorted({1, -(-size // group), size})))
    return (
        f"must broadcast against {desc}: axis {axis} of size {size}{grouped} takes {counts} entries, "
        f"not {array.shape[axis]}"
    )


def require_of_type(argument: str, given: npt.NDArray[Any], desc: TensorDesc) -> None:
    """Check that integers have zero points of their own type, before float32 rounds 2147483647 to 2147483648."""
    values = given if given.dtype.kind in "iu" else given.astype(np.float64)
    low, high = value_range(desc.dtype)
    rule = f"an integer of {desc.dtype}, {low} to {high}"
    if values.dtype.kind == "f":
        is_integral = np.isfinite(values) & (values == np.trunc(values))
        remedy = "; a side of floats takes any finite number: dst_zero_point of a float result"
        _require_all(is_integral, argument, rule, given, desc, remedy)
    for position in (values.argmin(), values.argmax()) if values.size else ():
        # numpy would round the bounds of 64-bit integers to compare them; Python's numbers compare exactly.
        if not low <= values.flat[position].item() <= high:
            inside = np.ones(values.shape, bool)
            inside.flat[position] = False
            _require_all(inside, argument, rule, given, desc)


def _require_all(
    holds: npt.NDArray[np.bool_], argument: str, rule: str, given: npt.NDArray[Any], desc: TensorDesc, remedy: str = ""
) -> None:
    if holds.all():
        return
    entry = tuple(int(index) for index in np.unravel_index(int(holds.argmin()), holds.shape))
    where = f" at entry {entry}" if holds.size > 1 else ""
    raise DescriptorError(f"{argument} must be {rule}, got {given[entry]}{where}, for {desc}{remedy}")
