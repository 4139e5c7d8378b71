"""Plans: made of descriptors, they do to tensors what the operations do; and what is remembered is what was asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import restride as rs
from restride.compat.pil import Resampling
from restride.ops.perform import cached, key_of
from restride.request import Request
from restride.weights import resizing

CASES: list[tuple[Any, Any, str, tuple[Any, ...], dict[str, Any]]] = [
    (rs.plan_reorder, rs.reorder, "f32[3,5]", ("AB->BA",), {}),
    (rs.plan_reorder, rs.reorder, "f32[3,5]{1,0:T(2,2)}", (), {"dtype": "u8", "src_scale": 255}),
    (rs.plan_reorder, rs.reorder, "u8[2,3,4]", (), {"dtype": "f32", "dst_scale": np.float32([[2], [4], [8]])}),
    (rs.plan_resample, rs.resample, "u8[9,12,3]", ((5, 7), None, (0, 1)), {"antialias": True}),
    (rs.plan_resample, rs.resample, "f16[2,6,8]", (), {"scales": (2, 1.5), "mode": "cubic", "dtype": "f32"}),
    (
        rs.plan_resample,
        rs.resample,
        "f32[6,8]",
        ((9, 9),),
        {"coordinates": "tf_crop_and_resize", "roi": (-0.5, 0, 0.5, 1), "extrapolation_value": 7},
    ),
    (rs.plan_resample_backward, rs.resample_backward, "f32[2,9,9]", ((4, 5),), {"mode": "cubic"}),
]


@pytest.mark.parametrize(("make", "operation", "src", "arguments", "named"), CASES)
def test_a_plan_does_what_its_operation_does(
    device: rs.Device, make: Any, operation: Any, src: str, arguments: tuple[Any, ...], named: dict[str, Any]
) -> None:
    plan = make(src, None, *arguments, device=device, **named)
    desc = rs.TensorDesc.parse(src)
    rng = np.random.default_rng(0)
    for _ in range(2):
        numbers = rng.integers(0, 100, desc.sizes).astype(desc.dtype.dtype)
        x = rs.asarray(numbers, desc, device=device)
        expected = operation(x, *arguments, **named)
        assert plan.dst == expected.desc
        np.testing.assert_array_equal(plan(x).numpy(), expected.numpy())
        out = rs.empty(plan.dst, device)
        assert plan(x, out=out) is out
        np.testing.assert_array_equal(out.buffer(), expected.buffer())


def test_a_plan_makes_the_layout_that_is_given(vulkan_device: rs.Device) -> None:
    plan = rs.plan_reorder("f32[3,5]", "f32[3,5]{0,1:T(2,4)}", device=vulkan_device)
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    assert str(plan(rs.asarray(x, device=vulkan_device)).desc) == "f32[3,5]{0,1:T(2,4)}"


def test_a_plan_takes_arrays(vulkan_device: rs.Device) -> None:
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    out = rs.empty("f32[5,3]", vulkan_device)
    np.testing.assert_array_equal(
        rs.plan_reorder("f32[3,5]", None, "AB->BA", device=vulkan_device)(x, out).numpy(), x.T
    )


def refused(device: rs.Device) -> dict[str, tuple[Any, str]]:
    plan = rs.plan_reorder("f32[3,5]", None, "AB->BA", device=device)
    adds = rs.plan_reorder("f32[3,5]", "f32[3,5]", sum_scale=1, device=device)
    x = rs.empty("f32[3,5]", device)
    square = rs.empty("f32[4,4]", device)
    return {
        "another source": (lambda: plan(square), r"x is f32\[4,4\]\{1,0\}, but the plan is for f32\[3,5\]"),
        "another out": (lambda: plan(x, out=square), r"out is f32\[4,4\].*, but the plan makes f32\[5,3\]"),
        "no out to add to": (lambda: adds(x), "adds to its result"),
        "itself": (
            lambda: rs.plan_reorder("f32[4,4]", None, "AB->BA", device=device)(square, out=square),
            "must have another buffer",
        ),
        "an out at first": (lambda: rs.plan_reorder("f32[3,5]", out=x, device=device), "a plan has no out"),
        "what the operation refuses": (
            lambda: rs.plan_resample("f32[3,5]", None, (2, 2, 2), device=device),
            "sizes",
        ),
    }


def test_a_plan_refuses_other_tensors_than_its_own(vulkan_device: rs.Device) -> None:
    for call, message in refused(vulkan_device).values():
        with pytest.raises(rs.DescriptorError, match=message):
            call()


def test_a_layout_that_a_plan_does_not_read_is_named() -> None:
    with pytest.raises(rs.DescriptorError, match="'AB->BA' is a permutation: layout='AB->BA'"):
        rs.plan_reorder("f32[4,6]", "AB->BA")
    for src, dst, argument in (("f32[4,6", None, "src"), ("f32[4,6]", "f32[4,6", "dst")):
        with pytest.raises(rs.DescriptorError, match=rf"^{argument}: expected ',' or '\]'"):
            rs.plan_reorder(src, dst)


def test_unknown_arguments_of_a_plan_are_those_of_its_operation(vulkan_device: rs.Device) -> None:
    with pytest.raises(TypeError, match="alias"):
        rs.plan_resample("f32[3,5]", None, (2, 2), alias=True, device=vulkan_device)


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((None, None, "u8", *[None] * 6, "nearest_even", True, None), {}, "too many positional"),
        ((None, None, "u8", 2.0), {"src_scale": 3.0}, "multiple values for argument 'src_scale'"),
        ((), {"numbers": 3}, "unexpected keyword argument 'numbers'"),
    ],
)
def test_a_plan_takes_no_more_by_position_than_its_operation(arguments, named, message) -> None:
    with pytest.raises(TypeError, match=message):
        rs.plan_reorder("f32[3]", *arguments, **named)


# --- what is remembered


ONE_ROW = resizing((4,), Request((2,)))

DIFFERENT = [
    ONE_ROW,
    replace(ONE_ROW, fill=-0.0),
    0,
    0.0,
    -0.0,
    float("nan"),
    -float("nan"),
    False,
    1,
    1.0,
    True,
    None,
    "1",
    (1,),
    [1],
    (1.0,),
    np.float32(1),
    np.int64(1),
    np.array([1.0]),
    np.array([1], np.int64),
    np.array([[1.0]]),
    slice(0, 1),
    slice(0, 1, 1),
    rs.TensorDesc("f32", (2, 1), (1, 1)),
    rs.TensorDesc("f32", (2, 1), (1, 2)),
    rs.TensorDesc.parse("f32[2,1]"),
    rs.TensorDesc.parse("f32[2,1]{0,1}"),
    Resampling.LANCZOS,
    np.float32,
    np.dtype(np.float32),
]


def test_arguments_that_may_mean_different_things_differ() -> None:
    for i, one in enumerate(DIFFERENT):
        for j, other in enumerate(DIFFERENT):
            assert (key_of(one) == key_of(other)) == (i == j), (one, other)
            hash(key_of(one))


def test_values_that_may_change_are_not_cached(vulkan_device: rs.Device) -> None:
    calls = []

    def make(value: Any) -> int:
        calls.append(value)
        return len(calls)

    assert [cached(make, value=(2, 3)) for _ in range(2)] == [1, 1]
    sizes = [2, 3]
    assert cached(make, value=sizes) == 2
    sizes[0] = 9
    assert cached(make, value=sizes) == 3
    for value in (iter((2, 3)), rs.empty("f32[2]", vulkan_device), np.zeros(1000), object()):
        assert cached(make, value=value) + 1 == cached(make, value=value)


def test_names_of_arguments_count() -> None:
    def make(**named: Any) -> dict[str, Any]:
        return named

    assert cached(make, src_scale=2) == {"src_scale": 2}
    assert cached(make, dst_scale=2) == {"dst_scale": 2}


def test_large_and_deep_lists_are_not_cached() -> None:
    calls = []

    def make(value: Any) -> int:
        calls.append(value)
        return len(calls)

    endless: list[Any] = []
    endless.append(endless)
    for value in ([1] * 65, [[[[[[[1]]]]]]], endless):
        assert cached(make, value=value) + 1 == cached(make, value=value)


def test_errors_are_not_cached() -> None:
    calls = []

    def fail(value: int) -> int:
        calls.append(value)
        raise rs.DescriptorError(f"value {value}")

    for _ in range(2):
        with pytest.raises(rs.DescriptorError):
            cached(fail, value=3)
    assert calls == [3, 3]


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_the_sign_of_zero_is_cached(vulkan_device: rs.Device, zero: float) -> None:
    x = rs.asarray(np.ones((2, 2), np.float32), device=vulkan_device)
    crop = rs.resample(x, (2, 2), coordinates="tf_crop_and_resize", roi=(2, 2, 3, 3), extrapolation_value=zero)
    assert np.signbit(crop.numpy()).all() == (np.copysign(1, zero) < 0)


def test_a_plan_says_how_many_kernels_a_call_starts(vulkan_device):
    image = rs.asarray(np.zeros((60, 80, 3), np.uint8), device=vulkan_device)
    for sizes in ((30, 40), (60, 41), (31, 41)):
        plan = rs.plan_resample(image.desc, None, sizes, axes=(0, 1), like="pillow", device=vulkan_device)
        before = vulkan_device.counters().dispatches
        plan(image)
        assert vulkan_device.counters().dispatches - before == plan.dispatches


# Where in a buffer a tensor begins: plans are for the first place that is as well aligned.


def made_by(device: rs.Device, call: Any) -> int:
    """How many plans a call makes."""
    before = device.counters().plans_made
    call()
    return device.counters().plans_made - before


@pytest.mark.parametrize(
    ("operation", "arguments", "named"),
    [
        (rs.reorder, ("ABC->CAB",), {}),
        (rs.reorder, (), {"dtype": "f32", "src_scale": np.float32([1, 2, 3])}),
        (rs.resample, ((4, 8),), {"axes": (0, 1), "antialias": True}),
        (rs.resample, ((4, 8),), {"axes": (0, 1), "like": "pillow"}),
        (rs.resample, ((4, 8),), {"axes": (0, 1), "like": "scikit-image", "dtype": "f32"}),
        (rs.resample, ((12, 8),), {"axes": (0, 1), "coordinates": "tf_crop_and_resize", "roi": (0, 0, 2, 1)}),
        (rs.crop_resize, ([(0, 0, 4, 6), (1, 2, 8, 9)], (4, 8)), {"axes": (0, 1)}),
        (
            rs.crop_resize,
            ([(0, 0, 4, 6)], (4, 8)),
            {"axes": (0, 1), "dtype": "s16", "mode": "area", "layout": "NHWC->NCHW"},
        ),
        (rs.crop_resize, ([(0, 0, 4, 6)], (4, 8)), {"axes": (0, 1), "like": "opencv", "mode": "area"}),
    ],
)
def test_images_of_a_batch_share_a_plan(device: rs.Device, operation: Any, arguments: Any, named: Any) -> None:
    numbers = np.random.default_rng(1).integers(0, 256, (6, 8, 10, 3), dtype=np.uint8)
    batch = rs.asarray(numbers, device=device)
    expected = [operation(rs.asarray(each, device=device), *arguments, **named) for each in numbers]
    out = rs.empty(rs.TensorDesc(expected[0].dtype, (6, *expected[0].sizes)), device)
    operation(batch[0], *arguments, **named)

    def alone() -> None:
        for image, right in zip(batch, expected, strict=True):
            np.testing.assert_array_equal(operation(image, *arguments, **named).numpy(), right.numpy())

    def together() -> None:
        for image, part in zip(batch, out, strict=True):
            operation(image, *arguments, **named, out=part)
        np.testing.assert_array_equal(out.numpy(), [each.numpy() for each in expected])

    runs = made_by(device, alone), made_by(device, together)
    if device.limits.window_alignment == 16:
        assert runs == (0, 2), "one for an out at the start of its buffer, one for the others"


def test_a_plan_runs_where_a_tensor_is_as_well_aligned(vulkan_device: rs.Device) -> None:
    numbers = np.random.default_rng(2).integers(0, 256, (400, 4, 2, 2), dtype=np.uint8)
    batch = rs.asarray(numbers, device=vulkan_device)
    plan = rs.plan_reorder(batch[0].desc, None, "ABC->CBA", device=vulkan_device)
    out = rs.empty("u8[400,2,2,4]", vulkan_device)
    for place in (0, 16, 399):
        assert plan(batch[place], out=out[place]).desc == out[place].desc
        np.testing.assert_array_equal(out[place].numpy(), numbers[place].transpose())
    later = rs.plan_reorder(batch[16].desc, None, "ABC->CBA", device=vulkan_device)
    np.testing.assert_array_equal(later(batch[17]).numpy(), numbers[17].transpose())
    with pytest.raises(rs.DescriptorError, match=r"x is u8\[4,2,2\]\{2,1,0\}, but the plan is for .*offset=256\}"):
        later(batch[0])
    with pytest.raises(rs.DescriptorError, match=r"x is .*strides=\(-4,2,1\),offset=268\}, but the plan is for"):
        plan(batch[16, ::-1])
    one = rs.plan_reorder(
        "u8[1,4,2,2]", None, "ABCD->DCBA", device=vulkan_device
    )  # where the stride of 1 does not count
    alone = rs.Tensor(batch.memory, rs.TensorDesc("u8", (1, 4, 2, 2), (0, 4, 2, 1), 48), vulkan_device)
    np.testing.assert_array_equal(one(alone).numpy()[..., 0], numbers[3].transpose())
    flat = batch.reshape(-1)
    shifted = rs.Tensor(flat.memory, rs.TensorDesc("u8", (4, 2, 2), offset=20), vulkan_device)
    with pytest.raises(rs.DescriptorError, match=r"x is u8\[4,2,2\]\{.*offset=20\}, but the plan is for u8\[4,2,2\]"):
        plan(shifted)
    with pytest.raises(rs.DescriptorError, match=r"out is .*offset=20\}, but the plan makes u8\[2,2,4\]"):
        plan(batch[0], out=rs.Tensor(out.memory, rs.TensorDesc("u8", (2, 2, 4), offset=20), vulkan_device))


def test_a_result_that_is_a_view_is_where_its_source_is(vulkan_device: rs.Device) -> None:
    batch = rs.asarray(np.arange(96, dtype=np.float32).reshape(4, 4, 6), device=vulkan_device)
    for place in range(4):
        view = rs.rearrange(batch[place], "h w -> w h")
        assert view.memory is batch.memory
        assert view.desc == batch[place].T.desc


def test_parts_of_one_buffer_are_planned_where_they_are(vulkan_device: rs.Device) -> None:
    numbers = np.arange(4096, dtype=np.uint8).reshape(4, 32, 32)
    x = rs.asarray(numbers, device=vulkan_device)
    rs.reorder(x[1], "AB->BA", out=x[3])
    np.testing.assert_array_equal(x.numpy(), [*numbers[:3], numbers[1].T])
    with pytest.raises(rs.DescriptorError, match=r"overlap|share"):
        rs.reorder(x[1], "AB->BA", out=rs.Tensor(x.memory, rs.TensorDesc("u8", (32, 32), offset=1040), vulkan_device))


def test_an_error_names_the_place_of_the_caller(vulkan_device: rs.Device) -> None:
    x = rs.asarray(np.zeros((3, 16, 16), np.uint8), device=vulkan_device)
    for sizes in ((5, 5, 5), [5, 5, 5], iter((5, 5, 5))):
        with pytest.raises(rs.DescriptorError) as caught:
            rs.resample(x[2], sizes, axes=(0, 1))
        if not isinstance(sizes, type(iter(()))):  # which is used up when the message is made
            assert "offset=512" in str(caught.value)
        assert "sizes" in str(caught.value)
        assert caught.value.__context__ is None
    with pytest.raises(rs.DescriptorError, match=r"letterbox.*offset=512"):
        rs.crop_resize(x[2], [(0, 0, 4, 4)], (2, 2), letterbox="middle")
    for scale in (np.ones(600, np.float32), rs.asarray(np.ones(60, np.float32), device=vulkan_device)):  # without a key
        with pytest.raises(rs.DescriptorError, match="offset=512"):
            rs.reorder(x[2], src_scale=scale)


@pytest.mark.parametrize("place", [0, 1])
def test_a_layout_beside_out_is_that_of_out_wherever_it_is(vulkan_device: rs.Device, place: int) -> None:
    x, out = np.ones((16, 16), np.float32), rs.empty("f32[4,16,16]", vulkan_device)
    with pytest.raises(rs.DescriptorError, match=r"but layout .* asks for"):
        rs.reorder(x, "f32[16,16]{0,1}", out=out[place])
    rs.reorder(x, out[place].desc, out=out[place])
    assert (out[place].numpy() == x).all()
    if place:
        with pytest.raises(rs.DescriptorError, match=r"offset=256.*but layout"):
            rs.reorder(x, "f32[16,16]", out=out[place])


def test_images_that_come_again_are_prepared_once(vulkan_device: rs.Device) -> None:
    batch = rs.asarray(np.zeros((6, 16, 16, 3), np.uint8), device=vulkan_device)
    tiled, small = rs.empty("u8[768]{0:T(1024)}", vulkan_device), rs.empty("u8[5,7,3]", vulkan_device)
    prepared = vulkan_device.runtime._session.recorder.preparations.by_key
    counts = []
    for _ in range(3):
        for image in batch:
            rs.resample(image, (5, 7), axes=(0, 1), out=small)
            rs.reorder(image.reshape(-1), out=tiled)  # by the device's copy, after kernels that write the padding
        counts.append(len(prepared))
    assert counts[1] == counts[2]
