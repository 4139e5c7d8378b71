"""Creation functions of the array API against numpy, and numbers that no type holds."""

from __future__ import annotations

import numpy as np
import pytest
from support.tensors import FromDLPack, assert_equal

import restride as rs
from restride import xp
from restride.dtypes import DTYPES

A = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
B = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)[::-1]
CREATED = {
    "zeros": (lambda d: xp.zeros((2, 3), device=d), np.zeros((2, 3))),
    "zeros of a type": (lambda d: xp.zeros(4, dtype=xp.int8, device=d), np.zeros(4, np.int8)),
    "ones": (lambda d: xp.ones((2, 0), device=d), np.ones((2, 0))),
    "full": (lambda d: xp.full((2, 3), 2.5, dtype=xp.float32, device=d), np.full((2, 3), 2.5, np.float32)),
    "full of integers": (lambda d: xp.full((), 2**62 + 1, device=d), np.full((), 2**62 + 1)),
    "full of numpy's integers": (lambda d: xp.full(2, np.int64(-3), device=d), np.full(2, -3)),
    "full of more than 64 bits": (
        lambda d: xp.full(2, 10**30, dtype=xp.bfloat16, device=d),
        np.full(2, 1e30, DTYPES["bf16"].dtype),
    ),
    "full of what is too large": (lambda d: xp.full(2, 1e300, dtype=xp.float32, device=d), np.float32([np.inf] * 2)),
    "full of u64": (lambda d: xp.full((2,), 2**63, device=d), np.uint64([2**63, 2**63])),
    "full of booleans": (lambda d: xp.full(3, True, device=d), np.full(3, True)),
    "zeros_like": (lambda d: xp.zeros_like(rs.asarray(A, device=d)), np.zeros_like(A)),
    "ones_like": (lambda d: xp.ones_like(rs.asarray(A, device=d), dtype=xp.bool), np.ones_like(A, bool)),
    "full_like": (lambda d: xp.full_like(rs.asarray(B, device=d), -1), np.full_like(B, -1)),
    "arange": (lambda d: xp.arange(5, device=d), np.arange(5)),
    "arange of numpy's integers": (lambda d: xp.arange(np.int64(2), np.uint8(5), device=d), np.arange(2, 5)),
    "arange of floats": (lambda d: xp.arange(1, 2.5, 0.25, device=d), np.arange(1, 2.5, 0.25)),
    "arange backwards": (lambda d: xp.arange(5, -5, -3, dtype=xp.float32, device=d), np.arange(5, -5, -3, np.float32)),
    "arange of floats as numpy rounds them": (lambda d: xp.arange(1, 3, 0.1, device=d), np.arange(1, 3, 0.1)),
    "arange beyond 63 bits": (
        lambda d: xp.arange(2**63 - 2, 2**63 + 1, dtype=xp.uint64, device=d),
        np.uint64([2**63 - 2, 2**63 - 1, 2**63]),
    ),
    "arange of u64": (lambda d: xp.arange(2**63, 2**63 + 3, device=d), np.uint64([2**63, 2**63 + 1, 2**63 + 2])),
    "arange by far": (lambda d: xp.arange(2**62, -(2**63), -(2**62), device=d), 2**62 * np.array([1, 0, -1])),
    "arange of one": (lambda d: xp.arange(3, 5, 10**30, device=d), np.array([3])),
    "arange of nothing": (lambda d: xp.arange(5, 1, device=d), np.arange(5, 1)),
    "linspace": (lambda d: xp.linspace(0, 1, 7, endpoint=False, device=d), np.linspace(0, 1, 7, endpoint=False)),
    "eye": (lambda d: xp.eye(3, 5, k=1, device=d), np.eye(3, 5, k=1)),
    "eye below": (lambda d: xp.eye(5, 3, k=-3, dtype=xp.uint8, device=d), np.eye(5, 3, k=-3, dtype=np.uint8)),
    "eye beside": (lambda d: xp.eye(3, k=5, device=d), np.eye(3, k=5)),
    "asarray": (lambda d: xp.asarray([[1, 2], [3, 4]], dtype=xp.float32, device=d), np.float32([[1, 2], [3, 4]])),
    "asarray of low bits": (lambda d: xp.asarray([300, -1], dtype=xp.uint8, device=d), np.uint8([44, 255])),
    "asarray of large integers with others": (
        lambda d: xp.asarray([[2**64 - 1, -1], [2**53 + 1, -2.5]], dtype=xp.uint64, device=d),
        np.array([[2**64 - 1, 2**64 - 1], [2**53 + 1, 2**64 - 2]], np.uint64),
    ),
    "asarray of what is too large": (
        lambda d: xp.asarray([1e300, 10**30], dtype=xp.float32, device=d),
        np.float32([np.inf, 1e30]),
    ),
    "asarray of more than 64 bits": (
        lambda d: xp.asarray([10**30, -1], dtype=xp.bfloat16, device=d),
        np.float64([1e30, -1]).astype(DTYPES["bf16"].dtype),
    ),
    "asarray of a number": (lambda d: xp.asarray(3, device=d), np.asarray(3)),
    "asarray of an array": (lambda d: xp.asarray(B, dtype=xp.int32, device=d), B.astype(np.int32)),
    "from_dlpack": (lambda d: xp.from_dlpack(FromDLPack(A), device=d), A),
}


@pytest.mark.parametrize("name", CREATED)
def test_creation(name, device):
    create, expected = CREATED[name]
    result = create(device)
    assert result.device is device
    assert_equal(result.numpy(), expected)


@pytest.mark.parametrize(("start", "stop"), [(1.7e308, -1.7e308), (10**308, -(10**308)), (np.inf, 1), (0, np.nan)])
def test_numbers_of_linspace_may_be_too_large(device, start, stop):
    with np.errstate(all="ignore"):
        assert_equal(xp.linspace(start, stop, 5, device=device).numpy(), np.linspace(float(start), float(stop), 5))


@pytest.mark.parametrize(
    "create",
    [
        lambda: xp.full(2, 2**64),
        lambda: xp.full(2, -(2**63) - 1),
        lambda: xp.arange(2**64 - 1, 2**64 + 1),
        lambda: xp.arange(-1, 2**63 + 2, 2**63 + 1),
    ],
    ids=["full", "full below", "arange", "arange of signs"],
)
def test_integers_that_no_type_holds_are_refused(create):
    with pytest.raises(rs.DescriptorError, match=r"fits neither s64 nor u64: name a dtype|int64 does not hold"):
        create()


def test_asarray_copies_where_it_must(device):
    tensor = rs.asarray(A, device=device)
    assert xp.asarray(tensor) is tensor
    assert xp.asarray(tensor, copy=True).memory is not tensor.memory
    assert xp.asarray(tensor, dtype=xp.int16, copy=False) is tensor
    assert xp.asarray(tensor, dtype=xp.float32).dtype == xp.float32
    with pytest.raises(ValueError, match="copy=False: another type or device is a copy"):
        xp.asarray(tensor, dtype=xp.int32, copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray([1, 2], copy=False, device=device)
    assert xp.empty((2, 3), dtype=xp.uint8, device=device).desc == xp.empty_like(xp.zeros((2, 3), dtype=xp.uint8)).desc
