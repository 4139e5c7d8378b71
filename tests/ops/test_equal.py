"""== and != of tensors against Python, which compares numbers of any types exactly; dispatches; what is refused."""

from __future__ import annotations

import math
import operator
from itertools import combinations_with_replacement

import numpy as np
import pytest
from support.sampled import sample
from support.tensors import Costs, FromDLPack, assert_equal

import restride as rs
from restride.dtypes import DTYPES

NUMBERS = [0, 1, 2, 3, 0.5, 127, 128, 255, 256, 448, 2**11 + 1, 2**24, 2**24 + 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32]
NUMBERS += [2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1025, 2**63 - 1024, 2**63 - 1, 2**63, 2**64 - 2049, 2**64 - 1, 2**64]
NUMBERS += [0.1, 1e-40, 2.0**-149, 2.0**-16, 5e-324, 1e300, 65504, math.inf, math.nan]
NUMBERS += [-number for number in NUMBERS]


def numbers_of(name):
    """The elements that this type has of NUMBERS, or that it rounds them to."""
    dtype = DTYPES[name].dtype
    if DTYPES[name].is_float or name == "pred":
        with np.errstate(all="ignore"):
            return np.array([float(number) for number in NUMBERS]).astype(dtype)
    ends = np.iinfo(dtype)
    return np.array([number for number in NUMBERS if isinstance(number, int) and ends.min <= number <= ends.max], dtype)


def by_python(x, y):
    """Each element of x with each of y. Python compares int and float exactly."""
    return np.array([[one == other for other in y.tolist()] for one in x.tolist()], bool)


PAIRS = list(combinations_with_replacement(DTYPES, 2))
HARDEST = [("s64", "u64"), ("u64", "f64"), ("s64", "f64"), ("s64", "f32"), ("f32", "f32")]


@pytest.mark.parametrize("pair", dict.fromkeys([*HARDEST, *sample(PAIRS, 20)]), ids="-".join)
def test_numbers_of_any_types_are_compared_exactly(pair, device):
    x, y = map(numbers_of, pair)
    expected = by_python(x, y)
    assert expected.any()
    assert not expected.all()
    ours, theirs = (rs.asarray(each, device=device) for each in (x, y))
    costs = Costs(device)
    result = ours[:, None] == theirs
    assert costs().dispatches == 1
    assert result.desc == rs.TensorDesc("pred", expected.shape)
    assert_equal(result.numpy(), expected)
    assert_equal((theirs != ours[:, None]).numpy(), ~expected)


RNG = np.random.default_rng(0)
A = RNG.integers(0, 3, (5, 6, 7)).astype(np.int16)
B = RNG.integers(0, 3, (5, 6, 7)).astype(np.float32)


def test_a_tensor_against_a_view_of_itself(device):
    tensor = rs.asarray(A, device=device)
    assert_equal((tensor == tensor[::-1]).numpy(), A[::-1] == A)
    assert (tensor == tensor).numpy().all()  # noqa: PLR0124 - not by identity: that of NaN is the next test's
    nan = rs.asarray(np.float32([np.nan]), device=device)
    assert not (nan == nan).item()  # noqa: PLR0124 - NaN equals nothing, not itself
    assert (nan != nan).item()  # noqa: PLR0124 - the same


@pytest.mark.parametrize(
    ("dtype", "elements", "number", "expected"),
    [
        ("f32", [0.1, 0.25], 0.1, [True, False]),
        ("f64", [0.1, 0.25], 0.1, [True, False]),
        ("bf16", [0.1, 0.25], 0.1, [True, False]),
        ("f32", [np.inf, 1], 1e300, [False, False]),
        ("f32", [np.inf, 1], math.inf, [True, False]),
        ("f8e4m3fn", [np.nan, 1], 1e300, [False, False]),
        ("f32", [2**24, 1], 2**24 + 1, [False, False]),
        ("f64", [2.0**70, 1], 2**70, [True, False]),
        ("f32", [np.inf, np.nan], 10**400, [False, False]),
        ("u64", [2**64 - 1, 1], 2**64 - 1, [True, False]),
        ("s64", [-1, 1], 2**64 - 1, [False, False]),
        ("s32", [1, 2], True, [True, False]),
        ("s32", [1, 2], 1.5, [False, False]),
        ("pred", [1, 0], 1, [True, False]),
        ("f32", [0.1, 1], np.float64(0.1), [False, False]),
        ("f32", [0.5, 1], np.float64(0.5), [True, False]),
    ],
)
def test_numbers_of_python(dtype, elements, number, expected, device):
    tensor = rs.asarray(np.array(elements, DTYPES[dtype].dtype), device=device)
    assert (tensor == number).tolist() == expected
    assert (tensor != number).tolist() == [not each for each in expected]
    assert (number == tensor).tolist() == expected if not isinstance(number, np.generic) else True


def test_arrays_are_compared_on_the_device(device):
    tensor = rs.asarray(A, device=device)
    for other in (B, FromDLPack(B), B.tolist()):
        result = tensor == other
        assert isinstance(result, rs.Tensor)
        assert_equal(result.numpy(), A == B)
    assert_equal(operator.eq(A, tensor[::-1]), operator.eq(A, A[::-1]))  # numpy's own, from __array__


def test_objects_that_are_no_numbers_are_not_equal(device):
    tensor = rs.asarray(A, device=device)
    for other in (None, "s16", {}, object(), 1j):
        assert (tensor == other) is False
        assert (tensor != other) is True


def test_sizes_and_devices_that_do_not_fit_are_refused(device):
    tensor = rs.asarray(A, device=device)
    with pytest.raises(rs.DescriptorError, match=r"sizes \(5, 6, 7\) and \(5, 6\) do not broadcast, to .*s16\[5,6,7\]"):
        _ = tensor == tensor[..., 0]
    with rs.Device(runtime="vulkan") as other, pytest.raises(rs.DescriptorError, match="lies on another device than"):
        _ = tensor == rs.asarray(A, device=other)


def test_tensors_have_no_hash(device):
    tensor = rs.asarray(A, device=device)
    with pytest.raises(TypeError, match="unhashable"):
        hash(tensor)
    # No cache asks for one: operations that take tensors beside their source.
    scales = rs.asarray(np.ones((6, 1), np.float32), device=device)
    assert rs.reorder(tensor, dtype="f32", src_scale=scales).sizes == A.shape
    assert rs.quantize(tensor.astype("f32"), scales[0, 0], dtype="u8").sizes == A.shape
