"""A call of ``resample`` whose arguments are checked: the rows of each axis, and what follows the sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from restride.dtypes import DType, as_dtype
from restride.errors import DescriptorError, UnsupportedError
from restride.reference.arguments import as_array, describe
from restride.reference.exact import Array
from restride.reference.like import answer_like, rounding_between_like, rounding_like, words_like
from restride.reference.like_rows import Answer, asked_of
from restride.reference.resample_request import RULE_NAMES, Request, Rules, resample_request
from restride.reference.sum_bounds import WeightedAxes
from restride.reference.weight_rows import weight_rows

LINEAR_TYPES = ("f32", "f16", "bf16", "u8", "s8", "s32")
"""Element types that oneDNN interpolates."""

INTERPOLATED_TYPES = (*LINEAR_TYPES, "s16", "u16", "u32", "f8e4m3fn", "f8e5m2")
"""Element types that every mode takes. Nearest moves elements, so it takes every type."""

NEUTRAL = {"src_scale": 1, "src_zero_point": 0, "dst_scale": 1, "dst_zero_point": 0}
"""Arithmetic that changes nothing."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A checked call.

    steps: the arithmetic, as arguments of ``reorder``. its_own: what the library that ``like`` names makes of it.
    rounding: how it rounds to the source's element type, whatever type is asked for; None: it does not.
    rounding_between: how it does so between the axes.
    """

    array: Array
    request: Request
    mode: str
    extrapolation_value: float
    target: DType
    steps: dict[str, Any]
    its_own: Answer | None
    rounding: str | None
    rounding_between: str | None

    @property
    def moves(self) -> bool:
        """Elements are taken as they are, of whatever type."""
        return self.mode == "nearest"

    @property
    def weighted(self) -> WeightedAxes:
        """The rows asked for along each axis."""
        request = self.request
        if isinstance(self.its_own, list):
            parts = dict(zip(request.axes, request.parts, strict=True))
            return [(axis, rows.part(parts[axis])) for axis, rows in self.its_own]
        return [
            (axis, weight_rows(how, part.start, part.stop))
            for axis, how, part in zip(request.axes, request.how, request.parts, strict=True)
        ]

    @property
    def integers(self) -> Array | None:
        """What a library's integers make: the right answer, exactly."""
        if self.its_own is None or isinstance(self.its_own, list):
            return None
        key = [slice(None)] * self.array.ndim
        for axis, part in zip(self.request.axes, self.request.parts, strict=True):
            key[axis] = slice(part.start, part.stop)
        return self.its_own[tuple(key)].astype(np.float64)

    @property
    def extrapolated(self) -> Array:
        """Which elements of the result read beyond the source along any axis; broadcasts against it."""
        found = np.zeros((1,) * self.array.ndim, bool)
        for axis, rows in self.weighted:
            along = [1] * self.array.ndim
            along[axis] = len(rows.extrapolated)
            found = found | rows.extrapolated.reshape(along)
        return found


def problem_of(
    x: Any, sizes: Any, scales: Any, axes: Any, mode: Any, *, extrapolation_value: float = 0.0, **arguments: Any
) -> Problem:
    """The arguments of ``resample``, checked."""
    array = as_array(x)
    given = {"mode": mode} | {name: arguments.pop(name) for name in RULE_NAMES if name in arguments}
    given = {name: value for name, value in given.items() if value is not None}
    like: str | None = arguments.pop("like", None)
    word = ""
    if like is not None:
        word, given = words_like(like, given, array)
    rules = Rules(**given)
    mode = rules.mode
    request = resample_request(array, sizes, scales, axes, rules, arguments.pop("window", None))
    if mode != "nearest" and as_dtype(array.dtype).name not in INTERPOLATED_TYPES:
        raise UnsupportedError(
            f"{mode} resampling takes element types {', '.join(INTERPOLATED_TYPES)}, not {describe(array)}"
        )
    dtype = arguments.pop("dtype", None)
    if unknown := sorted(set(arguments) - {*NEUTRAL, "sum_scale", "post_ops", "rounding", "saturate", "out"}):
        raise TypeError(f"resample has no argument {unknown[0]!r}")
    old = None if arguments.get("out") is None else as_array(arguments["out"])
    target = as_dtype(dtype if dtype is not None else array.dtype if old is None else old.dtype)
    if old is not None:
        made = list(array.shape)
        for axis, part in zip(request.axes, request.parts, strict=True):
            made[axis] = len(part)
        if list(old.shape) != made or target != old.dtype:
            raise DescriptorError(f"out {describe(old)} must have the sizes {made} and the type {target} of the result")
    its_own = None
    if like is not None:
        its_own = answer_like(like, asked_of(array, request, word, scales, rules))
    rounding, between = rounding_like(like, array), rounding_between_like(like, array)
    return Problem(array, request, mode, extrapolation_value, target, arguments, its_own, rounding, between)
