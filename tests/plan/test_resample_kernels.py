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
from restride.ops import plan as plans
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
    plans._plans.clear()


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


@pytest.mark.parametrize("dtype", ["u8", "s16", "f32"])
def test_windows_of_cells(dtype, vulkan_device, monkeypatch):
    """Wherever a window begins and ends, by cells or not, and where rows of 47 have none."""
    shaders = set()
    for width in (47, 48, 50):
        x = np.random.default_rng(width).integers(0, 100, (3, 20, width)).astype(rs.TensorDesc(dtype, ()).dtype.dtype)
        expected = rs.reference.resample(x, (10, width // 2), mode="area")
        tensor = rs.asarray(x, device=vulkan_device)
        for start in range(6):
            window = (slice(start, 9), slice(start, start + 16))
            kernels, made = assert_same_bits(
                lambda tensor=tensor, width=width, window=window: rs.resample(
                    tensor, (10, width // 2), mode="area", window=window
                ),
                vulkan_device,
                monkeypatch,
            )
            if width != 47:  # sums of 23 outputs are rounded
                np.testing.assert_array_equal(made, expected[:, *window])
            shaders |= {kernel.shader for kernel in kernels}
    assert "resample_cells" in shaders
    assert len(shaders) > 1


@pytest.mark.parametrize("rows", range(1, 18))
def test_any_number_of_rows(rows, vulkan_device, monkeypatch):
    for channels in (1, 3):
        arguments = {"sizes": (9,), "axes": (1,), "antialias": True}
        make = resampled("f32", (rows, 32, channels), arguments, vulkan_device)
        kernels, _ = assert_same_bits(make, vulkan_device, monkeypatch)
        expected = "resample" if (rows, channels) in ((1, 1), (1, 3)) else "resample_along"
        assert [kernel.shader for kernel in kernels] == [expected]


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


@pytest.mark.parametrize("dtype", ["u8", "f16", "f32"])
@pytest.mark.parametrize("factor", [2, 3, 4, 5])
@pytest.mark.parametrize("rows", [2, 7, 9])
def test_groups_of_neighbours(dtype, factor, rows, vulkan_device, monkeypatch):
    x = elements(dtype, (2, rows, 48))
    tensor = rs.asarray(x, device=vulkan_device)
    target = (rows * factor, 48 * factor)
    kernels, made = assert_same_bits(lambda: rs.resample(tensor, target, mode="nearest"), vulkan_device, monkeypatch)
    assert [(kernel.shader, kernel.constant("GROUP") > 0) for kernel in kernels] == [("resample_moves", True)]
    np.testing.assert_array_equal(made, x.repeat(factor, 1).repeat(factor, 2))


@pytest.mark.parametrize("dtype", ["u8", "f16", "f32"])
def test_windows_of_groups(dtype, vulkan_device, monkeypatch):
    """Wherever a window begins and ends, with groups or without."""
    tensor = rs.asarray(elements(dtype, (9, 40)), device=vulkan_device)
    groups = set()
    for factor in (2, 4):
        for start in range(9):
            for count in (8, 12, 32):
                window = (slice(1, 16), slice(start, start + count))
                kernels, _ = assert_same_bits(
                    lambda window=window, factor=factor: rs.resample(
                        tensor, (9 * factor, 40 * factor), mode="nearest", window=window
                    ),
                    vulkan_device,
                    monkeypatch,
                )
                groups |= {kernel.constant("GROUP") for kernel in kernels}
    assert len(groups) > 1
    assert 0 in groups


@pytest.mark.parametrize("dtype", ["u8", "f32"])
@pytest.mark.parametrize("arguments", [{"antialias": True}, {"mode": "cubic"}, {"mode": "nearest"}])
def test_windows_of_all_places(dtype, arguments, vulkan_device, monkeypatch):
    """What a window reads begins at any element of the source, and has any size: only some of it is whole fours."""
    shaders = set()
    for size, axis in ((30, 1), (90, 1), (30, 0)):
        tensor = rs.asarray(elements(dtype, (9, 64) if axis else (64, 8)), device=vulkan_device)
        for start in range(0, size - 16, 5 if size == 30 else 17):
            arguments = {**arguments, "axes": (axis,), "dtype": "f32", "window": (slice(start, start + 15),)}
            kernels, _ = assert_same_bits(
                lambda tensor=tensor, size=size, arguments=arguments: rs.resample(tensor, (size,), **arguments),
                vulkan_device,
                monkeypatch,
            )
            shaders |= {kernel.shader for kernel in kernels}
    assert len(shaders) > 1


def test_destinations_from_the_other_end(device, monkeypatch):
    """The table is walked downwards."""
    for sizes, arguments, shader in (
        ((9, 64), {"axes": (1,), "antialias": True}, "resample_along"),
        ((64, 8), {"axes": (0,), "antialias": True}, "resample_across"),
    ):
        x = rs.asarray(elements("f32", sizes), device=device)
        (axis,) = arguments["axes"]
        to = tuple(13 if place == axis else size for place, size in enumerate(sizes))
        flip = tuple(slice(None, None, -1 if place == axis else 1) for place in range(2))

        def make(x=x, to=to, axis=axis, flip=flip, arguments=arguments) -> rs.Tensor:
            out = rs.empty(rs.TensorDesc("f32", to), device)
            rs.resample(x, (to[axis],), out=out[flip], **arguments)
            return out

        kernels, made = assert_same_bits(make, device, monkeypatch)
        assert shader in {kernel.shader for kernel in kernels}
        np.testing.assert_array_equal(made[flip], rs.resample(x, (to[axis],), **arguments).numpy())


@pytest.mark.parametrize(
    ("sizes", "its_sizes", "axes", "shader"),
    [
        ((9, 32), (9, 16), (1,), "resample_along"),
        ((32, 8), (16, 8), (0,), "resample_across"),
        ((8, 8), (20, 20), (0, 1), "resample_rows"),  # some elements are read by none
        ((8, 8), (40, 40), (0, 1), "resample_runs"),
        ((20, 9), (9, 20), (0, 1), "resample"),
    ],
)
def test_sums_of_a_gradient_are_never_minus_zero(sizes, its_sizes, axes, shader, device, monkeypatch):
    """A gradient of -0.0, whose sums are -0.0, gives 0.0."""
    for x in (np.full(sizes, -0.0, np.float32), elements("f32", sizes)):
        grad = rs.asarray(x, device=device)
        kernels, made = assert_same_bits(
            lambda grad=grad: rs.resample_backward(grad, [its_sizes[axis] for axis in axes], axes=axes),
            device,
            monkeypatch,
        )
        assert {kernel.shader for kernel in kernels} == {shader}
        assert not (np.signbit(made) & (made == 0)).any()


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
