"""Fills by the shipped modules, on a driver: padding and nothing else is written, alone and around a source."""

from __future__ import annotations

import random

import numpy as np
import pytest
from support.guarded_memories import run
from support.random_layouts import random_layout
from support.sampled import sample

import restride as rs
from restride.kernel import Limits
from restride.layout import TensorDesc, views
from restride.plan.fill import pad_kernels, padding_kernels
from restride.reference.memory import from_buffer, to_buffer
from restride_conformance.shader.part import SteeredLimits

POISON = 0xCD


# --- padding


def padded(device: rs.Device, desc: TensorDesc, limits: Limits) -> np.ndarray:
    """A poisoned buffer after the kernels that write the padding."""
    return run(device, padding_kernels(desc, limits), np.zeros(4, np.uint8), np.full(desc.nbytes, POISON, np.uint8))


def expected(desc: TensorDesc) -> tuple[np.ndarray, np.ndarray]:
    """The buffer around elements of two kinds: where both agree, there is padding."""
    itemsize = desc.dtype.itemsize
    images = []
    for byte in (0x00, 0x3F if desc.dtype.name != "pred" else 0x01):
        elements = np.full(desc.numel * itemsize, byte, np.uint8).view(desc.dtype.dtype).reshape(desc.sizes)
        images.append(to_buffer(elements, desc))
    return images[0], images[0] == images[1]


@pytest.mark.parametrize("limits", [Limits(), SteeredLimits(elements_per_dispatch=0)], ids=["usual", "walks"])
def test_every_place_between_elements_is_written(vulkan_device, limits):
    seen = 0
    for number in sample(range(200), 60):
        desc = TensorDesc.parse(random_layout(random.Random(number), max_elements=200))
        memory = padded(vulkan_device, desc, limits)
        if not desc.is_whole or not desc.is_padded:
            np.testing.assert_array_equal(memory, POISON, str(desc))
            continue
        image, is_padding = expected(desc)
        np.testing.assert_array_equal(memory[is_padding], image[is_padding], str(desc))
        seen += 1
    assert seen > 10


@pytest.mark.parametrize(
    "text",
    [
        "u8[0,3]{1,0:pad(2,4)=7}",
        "u8[0,3]{1,0:T(2,2)pad(2,3)=7}",
        "u64[3,0]{0,1:T(2,3)pad(5,4)=18446744073709551615}",
        "s64[2,3]{1,0:T(2,2)pad(3,5)=-2}",
        "u64[4,4]{1,0:pad(4,8)=4294967298}",  # by 16 bytes
        "f64[1,1]{1,0:T(3)(2)pad(2,3)=-1.5}",
        "f8e5m2[7]{0:T(4)(3)pad(9)=inf}",
        "bf16[3,5]{1,0:T(2,2)(2,1)pad(3,6)=nan}",
        "pred[3,3]{1,0:T(*,4)pad(4,3)=1}",
        "u16[31,31]{1,0:pad(32,32)=513}",
        "u8[255]{0:pad(256)=7}",
        "u16[63,64]{1,0:T(8,8)(2,1)pad(64,64)=513}",
        "u8[]{:T(128)}",
        "u32[1]{0:T(2,3)pad(2)=9}",
        "u8[2,20,3,3]:nChw16c",
        "u8[63,130]:AB8b8a",
        "u8[3,5]{1,0:L(100)}",
        "f32[3,5]{1,0:T(2,4)L(50)pad(4,6)=1.5}",
    ],
)
def test_padding_of_known_layouts(vulkan_device, text):
    desc = TensorDesc.parse(text)
    image, is_padding = expected(desc)
    assert is_padding.any()
    for limits in (Limits(), SteeredLimits(elements_per_dispatch=0)):
        np.testing.assert_array_equal(padded(vulkan_device, desc, limits)[is_padding], image[is_padding])


@pytest.mark.parametrize(
    "text", ["f32[64,1020]{1,0:pad(64,1024)=1}", "u16[63,64]{1,0:T(8,8)(2,1)}", "u8[2,31,9,9]:nChw16c"]
)
def test_thin_padding_is_written_alone(vulkan_device, text):
    """A last column of 4 in rows of 1024: filling the whole buffer would cost as much as the copy."""
    desc = TensorDesc.parse(text)
    image, is_padding = expected(desc)
    memory = padded(vulkan_device, desc, Limits())
    np.testing.assert_array_equal(memory[is_padding], image[is_padding])
    np.testing.assert_array_equal(memory[~is_padding], POISON)


# --- one value around a source


@pytest.mark.parametrize("limits", [Limits(), SteeredLimits(max_buffer_range=256, max_group_count=(3, 65535, 2))])
@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
def test_a_source_anywhere_in_a_result(vulkan_device, itemsize, limits):
    """Sources and results of any strides: nothing but the elements of the result is written."""
    cut = 0
    for number in sample(range(120), 20, itemsize):
        rng = random.Random(f"{itemsize} {number}")
        sizes = [rng.choice((1, 2, 3, 4, 8, 12)) for _ in range(rng.randrange(1, 4))]
        steps = rng.choice((1, 2, 4, 8))
        starts, behind = ([rng.randrange(4) * steps for _ in sizes] for _ in range(2))
        sizes_of_result = [sum(each) for each in zip(starts, sizes, behind, strict=True)]
        src, dst = random_strides(rng, sizes, itemsize), random_strides(rng, sizes_of_result, itemsize)
        source = np.random.default_rng(itemsize).integers(0, 256, src.nbytes, np.uint8)
        value = rng.randrange(1 << 8 * itemsize)
        kernels = pad_kernels(src, dst, starts, value, limits)
        widths = list(zip(starts, behind, strict=True))
        right = np.pad(from_buffer(source, src), widths, constant_values=value)
        before = np.full(dst.nbytes, POISON, np.uint8)
        result = run(vulkan_device, kernels, source, before)
        np.testing.assert_array_equal(result, to_buffer(right, dst, before), f"{src} in {dst} at {starts}")
        assert limits != Limits() or len(kernels) == 1
        cut += len(kernels) > 1
    assert bool(cut) == (limits != Limits())


def random_strides(rng: random.Random, sizes: list[int], itemsize: int) -> TensorDesc:
    order = rng.sample(range(len(sizes)), len(sizes))
    room = [size * rng.choice((1, 1, 2)) + rng.choice((0, 0, 1)) for size in sizes]
    key = tuple(
        slice(None, None, rng.choice((1, -1))) if size == of else slice(of - size, None)
        for size, of in zip(sizes, room, strict=True)
    )
    return views.index(TensorDesc.xla(f"u{8 * itemsize}", room, order), key)
