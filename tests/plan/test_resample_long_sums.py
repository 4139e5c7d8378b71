"""On the device: sums of many taps are compensated for rounding, in every kernel that resamples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import restride as rs

pytestmark = pytest.mark.slow

MEANS: tuple[tuple[str, tuple[int, ...], dict[str, Any]], ...] = (
    ("resample_across", (600, 8), {"sizes": (1,), "axes": (0,), "mode": "area"}),
    ("resample_along", (9, 600), {"sizes": (1,), "axes": (1,), "mode": "area"}),
    ("resample", (1, 9000), {"sizes": (1,), "axes": (1,), "mode": "area"}),
    ("resample_across", (600, 8), {"sizes": (1, 8), "axes": (0, 1), "mode": "box", "like": "pillow"}),
    ("resample_along", (9, 600), {"sizes": (9, 2), "axes": (0, 1), "mode": "box", "like": "pillow"}),
)


@pytest.mark.parametrize(("shader", "sizes", "arguments"), MEANS)
def test_the_mean_of_a_constant_is_that_constant(shader, sizes, arguments, device, monkeypatch):
    """But for the rounding of weights, products and the sum; 600 plain additions were off by 60 units."""
    shaders, submit = set(), device.runtime.submit

    def submit_and_note(kernels: Any, memories: Any) -> None:
        shaders.update(kernel.shader for kernel in kernels)
        submit(kernels, memories)

    monkeypatch.setattr(device.runtime, "submit", submit_and_note)
    for constant in np.float32([0.52, 0.1, 0.7, 1000.3, -3.3e-5]):
        made = rs.resample(rs.asarray(np.full(sizes, constant), device=device), **arguments).numpy()
        assert (np.abs(made - constant) <= 2 * np.spacing(np.abs(constant))).all()
    assert shader in shaders


def test_the_mean_of_a_constant_box_is_that_constant(device):
    """Beside a box of few elements too, which is resized as it is alone; and filled up at an edge."""
    x = rs.asarray(np.full((600, 700, 2), np.float32(0.52)), device=device)
    ramp = rs.asarray(np.random.default_rng(0).random((600, 700, 2), np.float32), device=device)
    boxes = [(0, 0, 600, 700), (10, 20, 30, 40), (300, 0, 600, 5)]
    for options in ({"mode": "area"}, {"antialias": True}):
        made = rs.crop_resize(x, boxes, (2, 3), axes=(0, 1), **options).numpy()
        assert np.abs(made - np.float32(0.52)).max() <= 2 * np.spacing(np.float32(0.52))
        many = rs.crop_resize(ramp, boxes, (2, 3), axes=(0, 1), **options).numpy()
        for place, (top, left, bottom, right) in enumerate(boxes):
            alone = rs.resample(ramp[top:bottom, left:right], (2, 3), axes=(0, 1), **options).numpy()
            np.testing.assert_array_equal(many[place], alone)


def test_a_long_sum_that_overflows_is_infinite(device):
    for sizes, axis in (((9, 600), 1), ((600, 8), 0), ((600, 1), 0)):
        x = np.full(sizes, np.float32(3e38))
        grad = rs.resample_backward(rs.asarray(x, device=device), (2,), axes=(axis,)).numpy()
        assert (grad == np.inf).all()
