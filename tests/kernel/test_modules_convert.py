"""Conversions by the shipped modules, on a driver: every byte is as the reference has it, whatever limits and pairs.

Element types, roundings and roomy limits are the cases' (``restride test``).
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from support.guarded_memories import run
from support.narrow_limits import ALWAYS_WALK, CRAMPED, CRAMPED_GENERAL, WHOLE
from support.random_layouts import random_sides
from support.sampled import sample

import restride as rs
from restride.dtypes import DTYPES
from restride.errors import UnsupportedError
from restride.kernel import Choices, KernelSpec, Limits
from restride.layout import TensorDesc, views
from restride.plan.convert import convert_kernels
from restride.reference import from_buffer, reorder, to_buffer
from restride.request.arithmetic import Numbers, arithmetic

ROOMY = Limits()
GPU = Limits(choices=Choices("apart"))


def numbers(dtype: str, sizes: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    low = 0 if dtype[0] == "u" else -120
    return rng.integers(low, 120, sizes).astype(DTYPES[dtype].dtype)


def require_converted(
    device: rs.Device, src: TensorDesc, dst: TensorDesc, limits: Limits, **arguments: object
) -> set[str]:
    """The modules that convert; what lies around the elements of ``dst`` has kept its bytes."""
    rng = np.random.default_rng(src.numel)
    source = to_buffer(numbers(src.dtype.name, src.sizes, rng), src, rng.integers(0, 256, src.nbytes, np.uint8))
    x, old = from_buffer(source, src), numbers(dst.dtype.name, dst.sizes, rng)  # elements of x may share a place
    before = to_buffer(old, dst, rng.integers(0, 256, dst.nbytes + 5, np.uint8))
    has_sum = arguments.get("sum_scale") is not None
    right = reorder(x, dtype=dst.dtype, out=old if has_sum else None, **arguments)
    done = arithmetic(src, dst, range(src.rank), Numbers(**arguments))
    kernels: tuple[KernelSpec, ...] = tuple(convert_kernels(src, dst, done, limits))
    result = run(device, kernels, source, before)
    # The padding, which other kernels write, is as before.
    np.testing.assert_array_equal(result, to_buffer(right, dst, before.copy()), f"{src} -> {dst} with {arguments}")
    return {kernel.shader for kernel in kernels}


def random_arguments(rng: random.Random, src: TensorDesc, dst: TensorDesc) -> dict[str, object]:
    """Scales and zero points for some axes, for groups, or for every element; at times a sum."""
    values = np.random.default_rng(rng.randrange(1 << 30))
    groups = [rng.choice((1, 1, 2, 3, 5, size or 1)) for size in src.sizes]
    arguments: dict[str, object] = {}
    for side, desc in (("src", src), ("dst", dst)):
        for name, choices in (("scale", (0.5, 1, 2, 3, -4)), ("zero_point", (0, 1, 2, 5))):
            if rng.random() < 0.5:
                sizes = [
                    rng.choice((1, size, -(-size // group))) for size, group in zip(desc.sizes, groups, strict=True)
                ]
                arguments[f"{side}_{name}"] = values.choice(choices, sizes).astype(np.float32)
    if arguments and rng.random() < 0.7:
        arguments["group_sizes"] = groups
    elif "group_sizes" not in arguments:
        arguments = {
            name: value
            for name, value in arguments.items()
            if all(count in (1, size) for count, size in zip(np.shape(value), src.sizes, strict=True))
        }
    if rng.random() < 0.3:
        arguments["sum_scale"] = rng.choice((1, 2, -0.5))
    return arguments


@pytest.mark.parametrize("limits", [ROOMY, GPU, WHOLE, ALWAYS_WALK, CRAMPED, CRAMPED_GENERAL])
@pytest.mark.parametrize("viewed", [False, True])
def test_any_layout_to_any_other_with_any_scales(vulkan_device, viewed, limits):
    shaders: set[str] = set()
    done = 0
    for number in sample(range(120), 12, viewed):
        rng = random.Random(f"{number} {viewed}")
        src, dst = random_sides(rng, viewed)
        arguments = random_arguments(rng, src, dst)
        try:
            shaders |= require_converted(vulkan_device, src, dst, limits, **arguments)
        except UnsupportedError:
            assert limits.max_buffer_range == 512
            continue
        done += 1
    assert done > 3
    assert "convert_elements" in shaders


def from_text(device: rs.Device, src: str, dst: str, limits: Limits = ROOMY, **arguments: object) -> set[str]:
    return require_converted(device, TensorDesc.parse(src), TensorDesc.parse(dst), limits, **arguments)


@pytest.mark.parametrize("channels", [2, 3, 4])
@pytest.mark.parametrize(("src", "dst"), [("u8", "f32"), ("s16", "u8"), ("f32", "f64")])
def test_interleaved_channels_become_planes_run_by_run(vulkan_device, src, dst, channels):
    sizes = f"2,{channels},4,8"
    scale = np.array([3, 0.5, 7, -2])[:channels].reshape(-1, 1, 1)
    zero_point = np.arange(1, channels + 1).reshape(-1, 1, 1)
    for arguments in (
        {"src_scale": scale, "src_zero_point": zero_point},
        {"dst_scale": scale, "dst_zero_point": zero_point, "sum_scale": 2},
        {"src_scale": np.arange(1, 9), "dst_zero_point": zero_point},
    ):
        assert from_text(vulkan_device, f"{src}[{sizes}]{{1,3,2,0}}", f"{dst}[{sizes}]", **arguments) == {
            "convert_planes"
        }


@pytest.mark.parametrize(
    ("src", "dst"),
    [
        ("u8[2050]", "f32[2050]"),  # by fours, and the rest alone
        ("u8[3,31,37]{0,2,1}", "f32[3,31,37]"),  # planes of an odd size
        ("u8[2,3,4,8]{strides=(192,1,24,3),offset=1}", "f32[2,3,4,8]"),  # runs begin between words
        ("f32[12]{strides=(-1),offset=11}", "u8[12]"),
        ("u8[6,12]", "s64[6,12]{strides=(-14,1),offset=70}"),
        ("s16[3,32]{strides=(48,1),offset=16}", "f32[3,32]"),  # rows that are loaded whole
        ("u8[3,32]{strides=(36,1),offset=4}", "f32[3,32]"),
        ("u8[3,32]{strides=(33,-1),offset=31}", "f32[3,32]"),
        ("s16[3,16,3]", "f32[3,16,3]{1,0,2}"),
        ("f32[6,12]{0,1}", "u8[6,12]{strides=(12,1),offset=2}"),
        ("f32[5,6]", "u8[5,6]{strides=(5,7),offset=1}"),  # rows inside one another
    ],
)
def test_conversions_of_special_forms(vulkan_device, src, dst):
    for limits in (ROOMY, GPU):
        from_text(vulkan_device, src, dst, limits, src_scale=3)


@pytest.mark.parametrize("group", [1, 3, 4, 31])
@pytest.mark.parametrize("src", ["u8[3,31]", "u8[3,31]{0,1}", "u8[3,31]{1,0:T(2,4)}", "u8[3,31]{0,1:T(3,5)(2)}"])
def test_groups_whose_last_one_is_partial(vulkan_device, src, group):
    scale = np.arange(1, 3 * -(-31 // group) + 1).reshape(3, -1)
    for limits in (ROOMY, ALWAYS_WALK):
        from_text(vulkan_device, src, "s32[3,31]", limits, src_scale=scale, group_sizes=(1, group))
        from_text(vulkan_device, src, "s32[3,31]", limits, dst_zero_point=scale, group_sizes=(1, group))


@pytest.mark.parametrize("dst", ["f32[2,150000]", "f32[2,150000]{1,0:T(2,7)(3)}"])
def test_pairs_that_are_cut(vulkan_device, dst):
    scale = (np.arange(300_000) % 7 + 1).reshape(2, -1)
    from_text(vulkan_device, "u8[2,150000]", dst, src_scale=scale, dst_scale=scale[:, ::-1])


def test_pairs_that_run_backwards_with_the_destination(vulkan_device):
    """A negative stride of the destination turns the walk around, and the pairs with it."""
    for limits in (ROOMY, CRAMPED):
        of_all, of_rows = np.arange(1, 61).reshape(5, 12), np.arange(1, 13)
        from_text(vulkan_device, "u8[5,12]", "f32[5,12]{strides=(-12,-1),offset=59}", limits, src_scale=of_all)
        from_text(vulkan_device, "u8[5,12]", "f32[5,12]{strides=(12,-1),offset=11}", limits, dst_scale=of_rows)


@pytest.mark.parametrize("dst", ["f16[2,3,16,16]{strides=(960,320,20,1),offset=8}", "f16[2,3,16,16]{3,2,1,0:T(8,8)}"])
def test_a_slice_that_is_permuted_and_scaled_by_channel(vulkan_device, dst):
    """A slice with steps of an NHWC image, permuted, scaled by channel, and written in any layout."""
    image = TensorDesc.parse("u8[2,3,40,60]{1,3,2,0}")
    src = views.index(image, (slice(None), slice(None), slice(3, 35, 2), slice(50, 2, -3)))
    mean, std = np.array([3, 5, 7]).reshape(3, 1, 1), np.array([2, 4, 8]).reshape(3, 1, 1)
    named = {"src_zero_point": mean, "src_scale": 1 / std, "dst_zero_point": 0.5}
    require_converted(vulkan_device, src, TensorDesc.parse(dst), ROOMY, **named)
