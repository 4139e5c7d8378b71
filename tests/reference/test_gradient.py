"""The reference's resample_backward: the forward matrix transposed, in exact sums, and the limits of an f32 device."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.random_rules import random_rules
from support.reference_matrix import matrix

from restride.errors import UnsupportedError
from restride.reference import resample_backward, resample_backward_limits


def of_axis(rules: dict[str, Any], k: int, axes: int) -> dict[str, Any]:
    """The rules of axis k alone."""
    own = dict(rules)
    if "roi" in rules:
        own["roi"] = rules["roi"][k::axes]
    for name in ("input_offsets", "output_offsets"):
        if name in rules:
            own[name] = [rules[name][k]]
    return own


def test_one_axis_is_the_forward_matrix_transposed() -> None:
    rng = np.random.default_rng(1)
    for turn in range(150):
        before, rules = int(rng.integers(1, 12)), random_rules(rng, 1)
        scales: dict[str, Any] = {}
        if turn % 3 == 0:
            scales["scales"] = [round(float(rng.uniform(1 / before, 3)), 2) + 0.01]
            scales["recompute_scale_factor"] = turn % 2 == 0
        weights = matrix(before, **rules, **(scales or {"sizes": [int(rng.integers(1, 15))]}))
        grad = rng.standard_normal((3, len(weights))).astype(np.float32)
        result = resample_backward(grad, [before], **scales, **rules)
        expected = grad.astype(np.float64) @ weights.astype(np.float64)
        np.testing.assert_allclose(result, expected, rtol=2.0**-23, atol=1e-12, err_msg=str((before, scales, rules)))


def test_axes_are_taken_one_after_the_other() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        before, made, rules = rng.integers(1, 8, 2).tolist(), rng.integers(1, 9, 2).tolist(), random_rules(rng, 2)
        grad = rng.standard_normal((made[1], 3, made[0])).astype(np.float32)
        result = resample_backward(grad, before, axes=[2, 0], **rules)
        first, last = (matrix(before[k], sizes=[made[k]], **of_axis(rules, k, 2)).astype(np.float64) for k in (1, 0))
        expected = np.einsum("ab,anc,cd->bnd", first, grad.astype(np.float64), last)
        np.testing.assert_allclose(result, expected, rtol=2.0**-23, atol=1e-12, err_msg=str((before, made, rules)))


def test_what_was_extrapolated_has_no_gradient() -> None:
    rules: dict[str, Any] = {"coordinates": "tf_crop_and_resize", "roi": (0.5, 1.5)}
    assert resample_backward(np.float32([1, 10, 100]), [3], **rules).tolist() == [0, 1, 10]
    assert resample_backward(np.float32([1, np.nan, np.inf]), [3], **(rules | {"roi": (1, 2)})).tolist() == [0, 0, 1]


def test_elements_that_nothing_reads_are_zero() -> None:
    result = resample_backward(np.float32([1, 2]), [4], mode="nearest", coordinates="asymmetric", nearest="floor")
    assert result.tolist() == [1, 0, 2, 0]
    assert not np.signbit(result).any()
    assert resample_backward(np.zeros((2, 0), np.float32), [3]).tolist() == [[0, 0, 0]] * 2
    assert resample_backward(np.zeros((0, 2), np.float32), [3]).shape == (0, 3)


def test_many_outputs_of_one_element_and_many_elements_of_one() -> None:
    ones = np.ones((1, 70_000), np.float32)
    assert resample_backward(ones, [1]).tolist() == [[70_000]]
    assert (resample_backward(ones[:, :1], [70_000], mode="area") == np.float32(1 / 70_000)).all()
    assert resample_backward(np.ones((300, 300), np.float32), (1, 1)).tolist() == [[90_000]]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_types(dtype: Any) -> None:
    grad = np.array([1, 1 + 2.0**-7, 2]).astype(dtype)
    assert resample_backward(grad, [6]).dtype == dtype
    for target in ("f32", "f16", "bf16"):
        assert resample_backward(grad, [1], dtype=target).tolist() == [4 if target == "bf16" else 4 + 2.0**-7]
    assert resample_backward(np.full(3, 65504, np.float16), [1]).tolist() == [np.inf]


def test_an_f32_evaluation_lies_within_the_limits() -> None:
    rng = np.random.default_rng(4)
    for _ in range(80):
        before, made, rules = rng.integers(1, 12, 2).tolist(), rng.integers(1, 14, 2).tolist(), random_rules(rng, 2)
        grad = rng.standard_normal(made).astype(np.float32)
        values = grad
        for axis in (1, 0):
            weights = matrix(before[axis], sizes=[made[axis]], **of_axis(rules, axis, 2))
            # Every third weight that f32 rounds is on the other side of a tie: a unit in its last place off.
            is_off = (weights * 4096 % 1 != 0) & (rng.integers(0, 3, weights.shape) == 0)
            weights = np.where(is_off, np.nextafter(weights, np.float32(2)), weights)
            moved = np.moveaxis(values, axis, 0)
            total = np.zeros((before[axis], *moved.shape[1:]), np.float32)
            for o in rng.permutation(made[axis]):
                total += weights[o][:, np.newaxis] * moved[o]
            values = np.moveaxis(total, 0, axis)
        assert values.dtype == np.float32
        for dtype in ("f32", "bf16", "f16"):
            low, high = resample_backward_limits(grad, before, dtype=dtype, **rules)
            narrow = values.astype(low.dtype)
            assert (low <= narrow).all(), rules
            assert (narrow <= high).all(), rules


def test_limits_have_no_tolerance_where_no_step_rounds() -> None:
    grad = np.random.default_rng(5).integers(-99, 99, (8, 8)).astype(np.float32)
    low, high = resample_backward_limits(grad, (16, 4))
    np.testing.assert_array_equal(low, high)
    low, high = resample_backward_limits(grad[:6], (16, 4))
    assert (low < high).any()


def test_a_signalling_nan_is_an_element_as_any_other() -> None:
    """Numpy warns as it converts one, and warnings are errors here."""
    grad = np.array([0x7F800001, 0x3F800000], np.uint32).view(np.float32)
    for result in (resample_backward(grad, (2,)), *resample_backward_limits(grad, (2,))):
        np.testing.assert_array_equal(np.isnan(result), [True, False])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"grad": np.zeros(3), "input_sizes": [3]}, "grad must be f32, f16, bf16, not f64"),
        ({"input_sizes": [3], "dtype": "u8"}, "dtype must be f32, f16, bf16, not u8"),
    ],
)
def test_types_without_gradients(arguments: dict[str, Any], message: str) -> None:
    for function in (resample_backward, resample_backward_limits):
        with pytest.raises(UnsupportedError, match=message):
            function(**({"grad": np.zeros((2, 4), np.float32)} | arguments))
