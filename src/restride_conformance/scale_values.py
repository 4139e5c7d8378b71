"""What a case says is computed: numbers are on its line, the entries of arrays follow from its seed."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from restride.dtypes import DType, as_dtype
from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride.layout.argument import axis_order
from restride_conformance.case import Case
from restride_conformance.fill import hashed_words
from restride_conformance.parameters import SCALES
from restride_conformance.spelling import post_ops_of

MOST_ENTRIES = 1 << 20
"""Entries of an array of scales or zero points."""

_NEUTRAL = {"src_scale": 1.0, "src_zero_point": 0.0, "dst_scale": 1.0, "dst_zero_point": 0.0, "sum_scale": 0.0}

Array = np.ndarray[Any, Any]


def is_arithmetic(case: Case) -> bool:
    """Whether a case computes in f32 what it writes: a scale, a zero point, a sum that is not neutral, or post-ops."""
    named = any(case.get(name) not in (None, neutral) for name, neutral in _NEUTRAL.items())
    return named or case.get("post_ops") is not None


def order(case: Case) -> tuple[int, ...]:
    """For each axis of the destination, the axis of the source, as the view leaves it; a resample keeps their order."""
    if case.op != "reorder":
        return tuple(range(case.dst.rank))
    permutation = None if case["permute"] is None else case.word("permute")
    return axis_order(TensorDesc(case.src.dtype, case.viewed, (0,) * len(case.viewed)), permutation)


def computed_type(case: Case) -> DType:
    """The element type that the arithmetic starts from: of what is interpolated f32, else the source's."""
    is_sum = case.op in ("resample", "crop_resize") and not case.word("mode").startswith("nearest")
    return as_dtype("f32") if is_sum else case.src.dtype


def arguments(case: Case) -> dict[str, Any]:
    """The arithmetic that an operation is called with; only what differs from its default.

    The arrays of a reorder fit the source and the destination, both of those of a resample its result.

    Raises:
        DescriptorError: a parameter does not fit the sizes.
    """
    given: dict[str, Any] = {}
    groups = (1,) * (len(case.viewed) if case.op == "reorder" else case.dst.rank)
    if case.get("group_sizes") is not None:
        given["group_sizes"] = groups = case.integers("group_sizes")
        if len(groups) != len(case.viewed):
            raise DescriptorError(f"group_sizes {list(groups)} must be one for each of {len(case.viewed)} axes: {case}")
    for number, name in enumerate(SCALES):
        value = case[name]
        if isinstance(value, tuple):
            along = case.integers(name)
            is_source = name.startswith("src")
            sizes = case.viewed if is_source and case.op == "reorder" else case.dst.sizes
            its_groups = groups if is_source else tuple(groups[axis] for axis in order(case))
            words = _words(case, name, along, sizes, its_groups, number)
            dtype = computed_type(case) if is_source else case.dst.dtype
            given[name] = _scales(words) if name.endswith("scale") else _zero_points(dtype, words)
        elif value is not None:
            given[name] = value
    if case.get("sum_scale") is not None:
        given["sum_scale"] = case.number("sum_scale")
    if case["post_ops"] is not None:
        given["post_ops"] = post_ops_of(case.word("post_ops"))
    if case["rounding"] != "nearest_even":
        given["rounding"] = case.word("rounding")
    if case["saturate"] == "no":
        given["saturate"] = False
    return given


def _words(
    case: Case, name: str, axes: tuple[int, ...], sizes: tuple[int, ...], groups: tuple[int, ...], number: int
) -> Array:
    """A hashed word for each entry: along ``axes`` one for each group of indices, elsewhere one for all."""
    if len(set(axes)) != len(axes) or any(not 0 <= axis < len(sizes) for axis in axes):
        raise DescriptorError(f"{name}={list(axes)} must be axes in [0, {len(sizes)}), each once: {case}")
    entries = [-(-size // groups[axis]) if axis in axes else 1 for axis, size in enumerate(sizes)]
    if prod(entries) > MOST_ENTRIES:
        raise DescriptorError(f"{name} has {prod(entries):,} entries, more than {MOST_ENTRIES:,}: {case}")
    # Of one seed, the four arrays and the elements come from different words.
    first = (number + 1) << 40
    return hashed_words(np.arange(first, first + prod(entries), dtype=np.uint64), case.seed).reshape(entries)


def _scales(words: Array) -> Array:
    """1/8 to 8 in magnitude: a quarter are powers of two, the others have all 24 bits; one of eight is negative."""
    fraction = np.where(words & np.uint64(3) == 0, 0, (words >> np.uint64(2)) & np.uint64((1 << 23) - 1))
    exponent = ((words >> np.uint64(32)) % np.uint64(6)).astype(np.int64) - 3
    magnitude = np.ldexp(1 + fraction.astype(np.float64) / (1 << 23), exponent)
    return np.where((words >> np.uint64(61)) == 0, -magnitude, magnitude).astype(np.float32)


def _zero_points(dtype: DType, words: Array) -> Array:
    """Of a float side eighths in [-8, 8]; of another integers of its range, up to 1000 in magnitude."""
    if dtype.is_float:
        return ((words % np.uint64(129)).astype(np.float32) - np.float32(64)) / np.float32(8)
    lowest, highest = (0, 1) if dtype == "pred" else (np.iinfo(dtype.dtype).min, np.iinfo(dtype.dtype).max)
    low, high = max(lowest, -1000), min(highest, 1000)
    return ((words % np.uint64(high - low + 1)).astype(np.int64) + low).astype(np.float32)
