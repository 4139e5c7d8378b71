"""The table of element types: its numbers are those of numpy and ml_dtypes, and every list of types has them all."""

from __future__ import annotations

import re
from typing import get_args

import ml_dtypes
import numpy as np
import pytest

from restride.dtypes import DTYPES, ELEMENT_TYPES, DTypeName, ElementKind, NumpyName

FLOATS = [name for name, row in ELEMENT_TYPES.items() if row.is_float]
INTEGERS = [name for name, row in ELEMENT_TYPES.items() if "integer" in row.kind]


def bits_of(number, dtype):
    """The bits of a number as numpy or ml_dtypes converts it."""
    return int(np.array(number, dtype).view(f"u{dtype.itemsize}"))


def test_names():
    """The names that mypy knows are those of the rows; no two rows share a name or a code."""
    rows = ELEMENT_TYPES.values()
    assert sorted(get_args(DTypeName)) == sorted(ELEMENT_TYPES) == sorted(DTYPES)
    assert sorted(get_args(NumpyName)) == sorted(row.numpy for row in rows)
    assert {row.kind for row in rows} == set(get_args(ElementKind))
    assert [DTYPES[row.name].dtype.name for row in rows] == [row.numpy for row in rows]
    assert [8 * DTYPES[row.name].itemsize for row in rows] == [row.bits for row in rows]
    names = [name for row in rows for name in {row.name, row.numpy, row.onednn, *row.mlir, *row.others} - {""}]
    assert not {name for name in names if names.count(name) > 1}, "one name of two types"
    assert len({(row.dlpack, row.bits) for row in rows}) == len(rows)


@pytest.mark.parametrize("name", FLOATS)
def test_floats(name):
    """The numbers of a float are those that ml_dtypes finds."""
    row, dtype = ELEMENT_TYPES[name], DTYPES[name].dtype
    info = ml_dtypes.finfo(dtype)
    assert (row.bits, row.fraction, row.exponents) == (info.bits, info.nmant, 1 << info.iexp)
    assert float(info.smallest_normal) == 2.0 ** (1 - row.bias)
    assert row.largest == bits_of(info.max, dtype)
    assert row.range == (float(info.min), float(info.max))
    with np.errstate(all="ignore"):
        infinity = np.array(np.inf, dtype)
    assert row.infinity == (bits_of(infinity, dtype) if np.isinf(infinity) else None)
    assert row.nan == bits_of(np.nan, dtype)
    assert row.digits == info.nmant + 1
    assert 2.0 ** (row.whole_digits - 1) <= float(info.max) < 2.0 ** (row.whole_digits - 1) * 2


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name):
    """The range of an integer type is numpy's."""
    row, info = ELEMENT_TYPES[name], np.iinfo(DTYPES[name].dtype)
    assert row.range == (info.min, info.max)
    assert row.digits == row.whole_digits == int(info.max).bit_length()
    assert re.search(r"^(un)?signed", row.kind)[0] == ("signed" if info.min else "unsigned")


def test_saturating_types():
    """Overflow gives the largest number in the floats of fewer exponents than f32 and bf16 have."""
    narrow = {name for name in FLOATS if float(ml_dtypes.finfo(DTYPES[name].dtype).max) < 2.0**127}
    assert {name for name, row in ELEMENT_TYPES.items() if row.saturates} == narrow
