"""On the device: each kernel of a resampling writes bit for bit what the general one writes, whatever is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import restride as rs
from restride.kernel import KernelSpec
from restride.ops import perform
from restride.plan import resample as plan_of_resample
from restride.plan.resample import by_elements

pytestmark = pytest.mark.slow

Array = np.ndarray[Any, Any]
Kernels = list[KernelSpec]

TYPES: dict[str, Any] = {"u8": np.uint8, "s8": np.int8, "u16": np.uint16, "f16": np.float16, "f32": np.float32}
TYPES |= {"bf16": ml_dtypes.bfloat16, "s32": np.int32}


def elements(dtype: str, sizes: tuple[int, ...]) -> Array:
    """Numbers; of floats also infinities, zeros of both signs and the smallest."""
    rng = np.random.default_rng(sum(sizes))
    if dtype[0] in "us":
        return rng.integers(0 if dtype[0] == "u" else -100, 100, sizes).astype(TYPES[dtype])
    some = np.array([np.inf, -0.0, -0.0, 0.0, 6e-8, 1e-38, -65504.0])
    numbers = rng.normal(0, 9, sizes)
    return np.where(rng.random(sizes) < 0.05, rng.choice(some, sizes), numbers).astype(TYPES[dtype])


def forget() -> None:
    plan_of_resample._cached_invocations.cache_clear()
    perform._plans.clear()


@contextmanager
def noted(device: rs.Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernels]:
    """The kernels that are started meanwhile, none of them remembered from before."""
    kernels: Kernels = []
    submit = device.runtime.submit

    def submit_and_note(batch: Any, memories: Any) -> None:
        kernels.extend(batch)
        submit(batch, memories)

    forget()
    with monkeypatch.context() as patched:
        patched.setattr(device.runtime, "submit", submit_and_note)
        yield kernels
    forget()


def assert_same_bits(
    make: Callable[[], rs.Tensor], device: rs.Device, monkeypatch: pytest.MonkeyPatch
) -> tuple[Kernels, Array]:
    """What a call makes as planned is, in every byte of the buffer, what it makes by elements."""
    with noted(device, monkeypatch) as kernels:
        made = make()
        planned = made.buffer()
    with monkeypatch.context() as patched, noted(device, monkeypatch) as general:
        patched.setattr("restride.plan.resample.invocations", by_elements)
        expected = make().buffer()
    assert {kernel.shader for kernel in general if kernel.shader.startswith("resample")} <= {
        "resample",
        "resample_nearest",
    }
    np.testing.assert_array_equal(planned, expected)
    return kernels, made.numpy()


ALONG: tuple[tuple[str, tuple[int, ...], dict[str, Any]], ...] = (
    ("u8", (3, 13, 64), {"sizes": (11,), "antialias": True, "dtype": "f32"}),
    ("f16", (27, 64), {"sizes": (90,), "mode": "cubic", "dtype": "f32"}),
    ("f32", (1, 2, 7, 20), {"sizes": (7,), "mode": "area"}),
    ("f32", (9, 600), {"sizes": (13,), "antialias": True}),
    ("bf16", (8, 400), {"sizes": (5,), "mode": "area", "dtype": "f32"}),
    ("s32", (17, 32), {"sizes": (6,), "antialias": True, "mode": "cubic"}),
    ("u8", (2, 9, 64, 2), {"sizes": (13,), "axes": (2,), "antialias": True, "dtype": "f32"}),
    ("u8", (2, 9, 64, 3), {"sizes": (13,), "axes": (2,), "antialias": True, "dtype": "f32"}),
    ("f16", (15, 640, 3), {"sizes": (13,), "axes": (1,), "antialias": True, "dtype": "f32"}),
    ("f32", (15, 40, 4), {"sizes": (9,), "axes": (1,), "mode": "area", "layout": "{0,1,2}"}),
)

ACROSS: tuple[tuple[str, tuple[int, ...], dict[str, Any]], ...] = (
    ("f32", (3, 50, 20), {"sizes": (7,), "axes": (1,), "antialias": True}),
    ("u8", (3, 51, 20), {"sizes": (7,), "axes": (1,), "antialias": True}),
    ("f16", (50, 8), {"sizes": (9,), "axes": (0,), "antialias": True, "mode": "cubic"}),
    ("f32", (2, 500, 12), {"sizes": (9,), "axes": (1,), "antialias": True, "dtype": "u8"}),
    ("s8", (2, 50, 12), {"sizes": (7,), "axes": (1,), "antialias": True, "dtype": "f16"}),
    ("u8", (2, 50, 12), {"sizes": (7,), "axes": (1,), "mode": "area", "dtype": "f32"}),
    ("f32", (50, 12), {"sizes": (9,), "axes": (0,), "antialias": True, "window": (slice(2, 7),)}),
)


def resampled(
    dtype: str, sizes: tuple[int, ...], arguments: dict[str, Any], device: rs.Device, **more: Any
) -> Callable[[], rs.Tensor]:
    x = rs.asarray(elements(dtype, sizes), device=device)
    return lambda: rs.resample(x, **arguments, **more)


@pytest.mark.parametrize(("dtype", "sizes", "arguments"), ALONG)
def test_four_taps_at_a_load(dtype, sizes, arguments, device, monkeypatch):
    kernels, _ = assert_same_bits(resampled(dtype, sizes, arguments, device), device, monkeypatch)
    assert "resample_along" in {kernel.shader for kernel in kernels}


@pytest.mark.parametrize(("dtype", "sizes", "arguments"), ACROSS)
def test_four_neighbours_at_a_load(dtype, sizes, arguments, device, monkeypatch):
    kernels, _ = assert_same_bits(resampled(dtype, sizes, arguments, device), device, monkeypatch)
    assert "resample_across" in {kernel.shader for kernel in kernels}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("factors", [(2, 2), (1, 2, 2), (2, 2, 2), (3, 4), (4, 3), (2, 1, 2), (3, 2, 4)])
@pytest.mark.parametrize("size", [(9, 1, 4), (2, 17, 12), (1, 8, 8)])
def test_cells(dtype, factors, size, device, monkeypatch):
    """Blocks of fewer rows than eight, of one, and whole ones. Integers by halves and quarters are what numpy says."""
    target = size[-len(factors) :]
    x = elements(dtype, tuple(number * factor for number, factor in zip(target, factors, strict=True)))
    tensor = rs.asarray(x, device=device)
    kernels, made = assert_same_bits(lambda: rs.resample(tensor, target, mode="area"), device, monkeypatch)
    assert [kernel.shader for kernel in kernels] == ["resample_cells"]
    if dtype[0] in "us" and 3 not in factors:  # sums by thirds are rounded
        np.testing.assert_array_equal(made, rs.reference.resample(x, target, mode="area"))


@pytest.mark.parametrize(
    ("shader", "dtype", "sizes", "arguments"),
    [
        ("resample_along", "u8", (3, 9, 32), {"sizes": (7,), "antialias": True, "dtype": "f32"}),
        ("resample_along", "u8", (3, 9, 32, 3), {"sizes": (7,), "axes": (2,), "antialias": True, "dtype": "f32"}),
        ("resample_across", "f32", (3, 32, 8), {"sizes": (7,), "axes": (1,), "antialias": True, "dtype": "u8"}),
        ("resample_across", "u8", (3, 32, 8), {"sizes": (7,), "axes": (1,), "mode": "area", "dtype": "f16"}),
        ("resample_cells", "u8", (3, 18, 24), {"sizes": (9, 12), "mode": "area"}),
        ("resample_cells", "f16", (6, 18, 24), {"sizes": (3, 9, 8), "mode": "area", "dtype": "f32"}),
        ("resample_rows", "u8", (3, 9, 32), {"sizes": (17, 12)}),
        ("resample_runs", "u8", (3, 9, 8), {"sizes": (17, 12)}),
        ("resample_runs", "f16", (3, 9, 8), {"sizes": (17, 48), "dtype": "f32"}),
        ("resample_moves", "f32", (3, 9, 8), {"sizes": (18, 16), "mode": "nearest", "dtype": "f16"}),
    ],
)
def test_scales_post_ops_and_sums(shader, dtype, sizes, arguments, vulkan_device, monkeypatch):
    make = resampled(dtype, sizes, arguments, vulkan_device)
    made = make().sizes
    scales = [np.arange(1, 1 + n).reshape(-1, *[1] * (len(made) - 1 - axis)) / 2 for axis, n in enumerate(made)]
    post_ops = [("linear", 0.5, 3.0), ("clip", -2.0, 90.0), ("relu", 0.25)]
    for more in (
        {"post_ops": post_ops},
        {"src_scale": 0.5, "src_zero_point": 3, "dst_scale": 0.25, "dst_zero_point": 7},
        *({"src_scale": scale, "dst_scale": scale[::-1]} for scale in scales),
        {"src_zero_point": 2 * scales[0], "dst_zero_point": 2 * scales[-1], "post_ops": post_ops},
    ):
        call = resampled(dtype, sizes, arguments, vulkan_device, **more)
        kernels, _ = assert_same_bits(call, vulkan_device, monkeypatch)
        assert {kernel.shader for kernel in kernels} == {shader}, more

    def added() -> rs.Tensor:
        old = rs.asarray(elements(arguments.get("dtype", dtype), made), device=vulkan_device)
        return resampled(dtype, sizes, arguments, vulkan_device, out=old, sum_scale=-0.5)()

    kernels, _ = assert_same_bits(added, vulkan_device, monkeypatch)
    assert shader in {kernel.shader for kernel in kernels}


def test_forward_sums_keep_minus_zero(device, monkeypatch):
    for sizes, arguments in (
        ((9, 32), {"sizes": (7,), "antialias": True}),
        ((32, 8), {"sizes": (7,), "axes": (0,), "antialias": True}),
        ((9, 400), {"sizes": (7,), "antialias": True}),
        ((400, 8), {"sizes": (7,), "axes": (0,), "antialias": True}),
        ((8, 8), {"sizes": (20, 20)}),
    ):
        x = rs.asarray(np.full(sizes, -0.0, np.float32), device=device)
        _, made = assert_same_bits(lambda x=x, arguments=arguments: rs.resample(x, **arguments), device, monkeypatch)
        assert (made.view(np.uint32) == 0x80000000).all()


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
    for constant in np.float32([0.52, 0.1, 0.7, 1000.3, -3.3e-5]):
        x = rs.asarray(np.full(sizes, constant), device=device)
        with noted(device, monkeypatch) as kernels:
            made = rs.resample(x, **arguments).numpy()
        assert shader in {kernel.shader for kernel in kernels}
        assert (np.abs(made - constant) <= 2 * np.spacing(np.abs(constant))).all()


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
