"""Copies by the shipped modules, on a driver: every byte of the destination is as the reference has it.

Narrow limits cut a problem into many dispatches; choices and steps give it to other modules.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support.guarded_memories import run
from support.narrow_limits import ALWAYS_WALK, CRAMPED, CRAMPED_GENERAL, NEVER_SEVERAL, WHOLE
from support.random_layouts import random_sides
from support.sampled import sample

import restride as rs
from restride.errors import UnsupportedError
from restride.kernel import CANDIDATES, Choices, KernelSpec, Limits
from restride.layout import TensorDesc, views
from restride.plan.copy import copy_kernels
from restride.plan.fill import padding_copy_kernels, padding_kernels
from restride.reference.memory import from_buffer, to_buffer
from restride_conformance.shader.part import SteeredLimits

ROOMY = Limits()
GPU = Limits(choices=Choices.usual("discrete"))
CRAMPED_GPU = replace(CRAMPED, choices=GPU.choices)
FEWER = [replace(CRAMPED, widest_element=widest, shortcuts=False) for widest in (1, 4, 16)]


def require_copied(device: rs.Device, src: TensorDesc, dst: TensorDesc, limits: Limits) -> tuple[KernelSpec, ...]:
    """The kernels that copy, with the padding of ``dst``; what lies around its elements has kept its bytes."""
    source = np.random.default_rng(src.numel).integers(0, 256, src.nbytes, np.uint8)
    before = np.full(dst.nbytes, 0xCD, np.uint8)
    kernels = padding_copy_kernels(src, dst, limits)
    kernels = kernels or (*padding_kernels(dst, limits), *copy_kernels(src, dst, limits))
    result = run(device, kernels, source, before)
    np.testing.assert_array_equal(result, to_buffer(from_buffer(source, src), dst, before), f"{src} -> {dst}")
    return kernels


@pytest.mark.parametrize(
    "limits", [WHOLE, GPU, ALWAYS_WALK, NEVER_SEVERAL, CRAMPED, CRAMPED_GENERAL, CRAMPED_GPU, *FEWER]
)
@pytest.mark.parametrize("viewed", [False, True])
def test_any_layout_to_any_other(vulkan_device, viewed, limits):
    done = 0
    for number in sample(range(240), 24, viewed):
        rng = random.Random(f"{number} {viewed}")
        types = (rng.choice(("u8", "u16", "f32", "f64")),)
        src, dst = random_sides(rng, viewed, types, types)
        if src.rank and src.numel and rng.random() < 0.2:
            once = (*[slice(None)] * rng.randrange(src.rank), slice(0, 1))
            src = views.broadcast_to(views.index(src, once), src.sizes)
        try:
            require_copied(vulkan_device, src, dst, limits)
        except UnsupportedError:
            assert limits.max_buffer_range == 512
            continue
        done += 1
    assert done > 8


@pytest.mark.parametrize("limits", [ROOMY, WHOLE, Limits(max_buffer_range=1 << 14, max_group_count=(2, 65535, 2))])
@pytest.mark.parametrize(
    ("src", "dst"),
    [
        ("f32[70,33]{1,0}", "f32[70,33]{0,1}"),
        ("f64[2,2,33,65]{3,2,1,0}", "f64[2,2,33,65]{2,3,0,1}"),
        ("f32[5,40,36]{strides=(1440,-36,-1),offset=1439}", "f32[5,40,36]{1,2,0}"),
        ("u8[128,68]{strides=(-72,1),offset=9148}", "u8[128,68]{strides=(1,132),offset=4}"),
        ("u16[2,66,70]{2,1,0}", "u16[2,66,70]{1,2,0}"),
        ("u8[131,133]{1,0}", "u8[131,133]{0,1}"),
        ("s8[130,67]{strides=(-71,1),offset=9160}", "s8[130,67]{strides=(1,137),offset=3}"),
        ("bf16[3,129,65]{2,1,0}", "bf16[3,129,65]{1,2,0}"),
        ("u8[2,128,68]{strides=(9000,69,1),offset=1}", "u8[2,128,68]{strides=(9001,1,132),offset=2}"),
        ("f32[6,8,8,6]", "f32[6,8,8,6]{0,1,2,3}"),  # both sides jump
        ("f16[64,3,4,6]{strides=(-72,-24,-6,-1),offset=4607}", "f16[64,3,4,6]{0,1,2,3}"),
        ("u8[6,4,3,64]", "u8[6,4,3,64]{0,1,2,3}"),
        ("f16[16,48,5]:ABc8b16a2b", "f16[16,48,5]"),  # short rows
        ("u8[2,16,9]:aBc16b", "u8[2,16,9]"),
    ],
)
def test_no_choice_changes_a_byte(vulkan_device, src, dst, limits):
    src, dst = TensorDesc.parse(src), TensorDesc.parse(dst)
    seen: list[tuple[KernelSpec, ...]] = []
    of_copies = {**CANDIDATES, "rows": ("8",), "runs": ("kernel",)}
    for each in product(*of_copies.values()):
        chosen = replace(limits, choices=Choices(*each))
        kernels = copy_kernels(src, dst, chosen)
        assert any("shared" in kernel.shader for kernel in kernels) <= (chosen.choices.transpose == "shared")
        if kernels not in seen:  # where nothing fits, every choice is of the same kernels
            seen.append(require_copied(vulkan_device, src, dst, chosen))
    assert seen


FULL_GROUPS = SteeredLimits(elements_per_dispatch=1)
EIGHT_GROUPS = SteeredLimits(elements_per_dispatch=1, max_group_count=(8, 65535, 2))
MANY = SteeredLimits(choices=Choices(invocations="many"))
FEW = SteeredLimits(elements_per_dispatch=1 << 40)
FEW_MANY = replace(FEW, choices=MANY.choices)


@pytest.mark.parametrize(
    ("limits", "src", "dst"),
    [
        *((FULL_GROUPS, f"u8[{rows},7,3]{{strides=(21,-3,1),offset=18}}", f"u8[{rows},7,3]") for rows in (101, 100)),
        *((EIGHT_GROUPS, f"u8[{rows},7,3]{{strides=(21,-3,1),offset=18}}", f"u8[{rows},7,3]") for rows in (500, 180)),
        (FULL_GROUPS, "f32[400,16]{strides=(40,2)}", "f32[400,16]"),
        (FULL_GROUPS, "f32[2,400,16]{strides=(17000,40,2)}", "f32[2,400,16]"),
        (MANY, "u8[6,96,288]{strides=(27648,288,1)}", "u8[6,96,288]{strides=(288,1728,1)}"),
        (MANY, "u8[8,224,672]", "u8[8,224,672]{strides=(672,5376,1)}"),
        (MANY, "f32[64,8]", "f32[64,8]{strides=(20,2)}"),
        (ROOMY, "u8[5,6]", "u8[5,6]{strides=(5,7),offset=1}"),  # rows inside one another
        (ROOMY, "f32[3,8]{strides=(12,1),offset=1}", "f32[3,8]{strides=(16,1)}"),  # an odd offset on one side
        # Quads in a row, and apart.
        (ROOMY, "f32[8,64]{strides=(67,1),offset=3}", "f32[8,64]"),
        (ROOMY, "f32[8,64]", "f32[8,64]{strides=(67,1),offset=3}"),
        (ROOMY, "f32[16,4,4]{strides=(1,31,1)}", "f32[16,4,4]"),
        (ALWAYS_WALK, "u8[1,3,9,23]{1,3,2,0}", "u8[1,3,9,23]"),  # whole chunks, and the pixels behind them
        # Rows that begin inside a chunk.
        (ROOMY, "u8[3,5,32]{strides=(1,97,3)}", "u8[3,5,32]{strides=(160,32,1)}"),
        (ROOMY, "u8[3,5,32]{strides=(160,32,1)}", "u8[3,5,32]{strides=(1,97,3)}"),
        (ROOMY, "u8[5,32]{strides=(48,-1),offset=32}", "u8[5,32]"),
        *((limits, "u8[1,3,24,23]{1,3,2,0}", "u8[1,3,24,23]") for limits in (FEW, FEW_MANY)),
        *((limits, "f16[4,40,33]{0,2,1}", "f16[4,40,33]") for limits in (FEW, FEW_MANY)),
        *((limits, "f16[4,40,33]", "f16[4,40,33]{0,2,1}") for limits in (FEW, FEW_MANY)),
        *((limits, "f16[40,333]{strides=(666,-2),offset=664}", "f16[40,333]") for limits in (FEW, FEW_MANY)),
    ],
)
def test_copies_of_special_forms(vulkan_device, limits, src, dst):
    """Full groups and what lies behind them, pieces of a few invocations or many, and rows that begin anywhere."""
    require_copied(vulkan_device, TensorDesc.parse(src), TensorDesc.parse(dst), limits)


@pytest.mark.parametrize("most_bytes", [1 << 20, 1 << 14, 3072, 512])
@pytest.mark.parametrize(
    ("src", "layout"),
    [
        *((f"{dtype}[2,{channels},8,8]", ":nChw16c") for dtype, channels in (("u8", 13), ("f16", 60), ("f64", 2))),
        ("u8[2,61,8,8]{strides=(8000,-64,8,1),offset=7000}", ":nChw16c"),
        ("f32[1,27,8,8]{strides=(2000,-70,-8,-1),offset=1999}", ":nChw8c"),
        ("f32[2,28,64]", ":aBc4b4b"),
        ("f32[40,60]{0,1}", "{1,0:T(8,32)pad(40,62)=0}"),
        ("f32[1,6,8,8]{strides=(9000,1500,8,1)}", ":nChw16c"),  # windows cut it along the channels first
        ("f32[40,60]{0,1}", "{1,0:T(8,32)pad(40,62)=7}"),  # filled first
        ("f32[40,60]{0,1}", "{1,0:T(8,32)(3,1)}"),
    ],
)
def test_padding_with_the_elements_changes_no_byte(vulkan_device, src, layout, most_bytes):
    """Small windows cut the padded axis too, into parts that are all padding."""
    limits = replace(CRAMPED_GPU, max_buffer_range=most_bytes)
    dst = TensorDesc.parse(f"{src.partition(']')[0]}]{layout}")
    require_copied(vulkan_device, TensorDesc.parse(src), dst, limits)


def test_a_store_past_a_window_is_seen(vulkan_device):
    """Drivers drop what is stored past a binding: the guard behind the memory is bound too."""
    desc = TensorDesc("f32", (12,))
    (kernel,) = copy_kernels(desc, desc, ROOMY)
    src, dst = kernel.bindings
    kernel = replace(kernel, bindings=(src, dst._replace(nbytes=32)))
    with pytest.raises(AssertionError, match="bytes around the memory were written"):
        run(vulkan_device, (kernel,), np.ones(48, np.uint8), np.ones(32, np.uint8))
