"""Data types of the array API: promoted as numpy's, bf16 and 8-bit floats too."""

from __future__ import annotations

import numpy as np
from support.tensors import assert_equal

import restride as rs
from restride import xp

A = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
B = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)[::-1]


def test_types_promote_as_numpys():
    names = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
    for one in names:
        for other in names:
            pair = getattr(xp, one), getattr(xp, other)
            assert xp.result_type(*pair) == np.result_type(one, other)
            assert xp.can_cast(*pair) == np.can_cast(one, other)
    assert xp.result_type(xp.float32, 1) == xp.float32
    assert xp.result_type(rs.asarray(A), 1.5) == np.result_type(A, 1.5)
    assert xp.result_type(xp.bfloat16, 1.5, xp.int8) == xp.bfloat16
    assert xp.result_type(xp.float8_e4m3fn, 2) == xp.float8_e4m3fn
    assert xp.isdtype(xp.int8, "signed integer")
    assert xp.isdtype(xp.uint8, ("real floating", "integral"))
    assert not xp.isdtype(xp.bool, "numeric")
    assert xp.isdtype(xp.float32, xp.float32)
    assert not xp.isdtype(xp.float32, "complex floating")
    info = xp.finfo(xp.bfloat16)
    assert (info.bits, info.eps, info.dtype) == (16, 2.0**-7, xp.bfloat16)
    assert (xp.iinfo(xp.uint64).max, xp.iinfo(A.dtype).min) == (2**64 - 1, -(2**15))


def test_astype_and_comparison(device):
    tensor = rs.asarray(B, device=device)
    assert_equal(xp.astype(tensor, xp.int32).numpy(), B.astype(np.int32))
    assert xp.astype(tensor, xp.float32, copy=False) is tensor
    assert_equal(xp.equal(tensor, tensor[:1]).numpy(), B[:1] == B)
    assert_equal(xp.not_equal(0, tensor).numpy(), B != 0)
