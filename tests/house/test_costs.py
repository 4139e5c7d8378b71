"""What operations cost, counted: dispatches, submissions, barriers, bytes, pipelines, instructions of Python."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.instructions import instructions

import restride as rs
from restride.ops import perform

MAX_BESIDE = 2 << 20
"""Bytes that an operation takes beside source and destination, but for what lies between several passes."""

BATCH = 100

Operation = Callable[[rs.Tensor, rs.Tensor | None], rs.Tensor]


class Cost(NamedTuple):
    """Of the third call and every later one, which write where the one before wrote, so that there is a barrier.

    between: bytes of buffers that lie between its passes.
    """

    dispatches: int = 1
    submissions: int = 1
    barriers: int = 1
    between: int = 0


class Row(NamedTuple):
    """An operation: its source, the pipelines of its first call, and the cost of every one that follows."""

    name: str
    src: str
    call: Operation
    pipelines: int = 1
    cost: Cost = Cost()


def resample(*sizes: int, **how: Any) -> Operation:
    return lambda x, out: rs.resample(x, sizes, out=out, **how)


def backward(*sizes: int) -> Operation:
    return lambda x, out: rs.resample_backward(x, sizes, out=out)


def batch(x: rs.Tensor, out: rs.Tensor | None) -> rs.Tensor:
    if out is None:
        return rs.reorder(x, "NCHW->NHWC")
    with x.device.batch():
        for _ in range(BATCH):
            rs.reorder(x, "NCHW->NHWC", out=out)
    return out


SCALES = np.linspace(0.5, 1.5, 64, dtype=np.float32).reshape(64, 1, 1)
PHOTO, MAPS, PIXELS = "f32[1,3,270,480]", "f32[2,64,28,28]", "u8[270,480,3]"
COPIED = {"pipelines": 0, "cost": Cost(dispatches=0)}
"""By the device's own copy."""
TWO_PASSES = {"pipelines": 2, "cost": Cost(dispatches=2, submissions=2, between=4 * 3 * 270 * 100)}
"""All 270 rows with 100 columns first, in f32. The second pass waits for the first, and for nothing else."""

ROWS = (
    Row("copy", "f32[256,256]", lambda x, out: rs.reorder(x, out=out), **COPIED),
    Row("copy of odd bytes", "u8[1000003]", lambda x, out: rs.reorder(x, out=out), **COPIED),
    Row("slice", PHOTO, lambda x, out: rs.reorder(x[..., ::2, ::-2], out=out)),
    Row("transpose", "f32[512,512]", lambda x, out: rs.reorder(x, "AB->BA", out=out)),
    Row(
        "rearrange",
        PHOTO,
        lambda x, out: rs.rearrange(x, "n c (h p) (w q) -> n (h w) (p q c)", p=2, q=2, dtype="u8", out=out),
    ),
    # The ends of rows share words with those of others.
    Row(
        "transpose of odd bytes",
        "u8[511,513]",
        lambda x, out: rs.reorder(x, "AB->BA", out=out),
        pipelines=2,
        cost=Cost(dispatches=2, barriers=2),
    ),
    Row("planes to pixels", PHOTO, lambda x, out: rs.reorder(x, "NCHW->NHWC", out=out)),
    Row("to tiles", "f32[256,512]", lambda x, out: rs.reorder(x, "{1,0:T(8,128)}", out=out)),
    Row("from tiles", "f32[256,512]{1,0:T(8,128)}", lambda x, out: rs.reorder(x, out=out)),
    # Whole tiles, the last row of them, the last column, the corner; and the padding of the last three.
    Row(
        "to partial tiles",
        "f32[251,509]",
        lambda x, out: rs.reorder(x, "{1,0:T(8,128)}", out=out),
        pipelines=7,
        cost=Cost(dispatches=7, barriers=3),
    ),
    Row("to blocks", MAPS, lambda x, out: rs.reorder(x, "nChw16c", out=out)),
    Row("quantize", MAPS, lambda x, out: rs.quantize(x, 0.02, np.uint8(128), out=out)),
    Row("scales of channels", "s8[2,64,28,28]", lambda x, out: rs.reorder(x, dtype="f32", src_scale=SCALES, out=out)),
    Row("nearest", PHOTO, resample(540, 960, mode="nearest")),
    Row("linear, larger", PHOTO, resample(540, 960)),
    Row("linear, smaller", PHOTO, resample(224, 224)),
    Row("linear of bytes", PIXELS, resample(224, 224, axes=(0, 1))),
    Row("linear of bytes like OpenCV", PIXELS, resample(224, 224, axes=(0, 1), like="opencv")),
    Row("linear of volumes", "f32[4,16,28,28]", resample(32, 56, 56)),
    Row("cubic", PHOTO, resample(540, 960, mode="cubic")),
    Row("area", PHOTO, resample(100, 100, mode="area"), **TWO_PASSES),
    Row("antialiased", PHOTO, resample(100, 100, antialias=True), **TWO_PASSES),
    Row("antialiased bytes", PIXELS, resample(100, 100, axes=(0, 1), antialias=True), **TWO_PASSES),
    Row("gradient of a smaller one", "f32[1,3,100,100]", backward(270, 480)),
    Row("gradient of a larger one", PHOTO, backward(100, 100), **TWO_PASSES),
    # In parts of 16 dispatches: six, and the last four.
    Row("a batch of 100", "f32[1,3,8,8]", batch, cost=Cost(dispatches=BATCH, submissions=7, barriers=BATCH)),
)


def source(device: rs.Device, text: str) -> rs.Tensor:
    """Zeros: what they are changes no count, and this costs no dispatch."""
    desc = rs.TensorDesc.parse(text)
    return rs.from_buffer(bytes(desc.nbytes), desc, device)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_steady_loop_costs_what_is_written_here(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    with rs.Device(runtime="vulkan") as device:
        x = source(device, row.src)
        out = row.call(x, None)
        device.wait()
        pipelines = device.counters().pipelines
        row.call(x, out)
        device.wait()
        runtime, before = device.runtime, device.counters()
        between, parameters = [], {}
        allocate, submit = runtime.allocate, runtime.submit

        def noted_allocate(nbytes: int, shareable: bool = False) -> Any:
            between.append(nbytes)
            return allocate(nbytes, shareable)

        def noted_submit(kernels: Any, memories: Any) -> None:
            parameters.update({kernel.parameters: len(kernel.parameters) for kernel in kernels})
            submit(kernels, memories)

        monkeypatch.setattr(runtime, "allocate", noted_allocate)
        monkeypatch.setattr(runtime, "submit", noted_submit)
        row.call(x, out)
        device.wait()
        after = device.counters()
        spent = {name: getattr(after, name) - getattr(before, name) for name in vars(after)}
        counted = Cost(spent["dispatches"], spent["submissions"], spent["barriers"], sum(between))
        assert (pipelines, counted) == (row.pipelines, row.cost)
        assert {name: spent[name] for name in ("pipelines", "allocations", "bytes_allocated", "bytes_in_use")} == {
            "pipelines": 0,
            "allocations": 0,
            "bytes_allocated": 0,
            "bytes_in_use": 0,
        }
        assert (spent["uploaded"], spent["downloaded"]) == (0, 0)
        assert sum(between) + sum(parameters.values()) <= MAX_BESIDE


# Instructions of Python's bytecode, counted: the same in every run, on any machine. Each number is what Python 3.11
# executes, and a tenth; later versions execute fewer. Where a call became cheaper, or dearer for a reason, set them to
# 1.1 times what the failing test says, or what `pytest -rP` prints.
MAX_INSTRUCTIONS = {
    "reorder": 1860,
    "resample": 1930,
    "rearrange": 1790,
    "view": 470,
    "plan": 1420,
    "plan in a batch": 1220,
    "repeat": 2550,
    "tile": 2560,
    "concat": 4050,
    "stack": 3910,
    "roll": 3890,
    "pad": 2760,
    "empty": 1630,
    "image": 5810,
}


@pytest.mark.parametrize("name", MAX_INSTRUCTIONS)
def test_a_call_that_was_made_before_executes_at_most_so_many_instructions(name: str, vulkan_device: rs.Device) -> None:
    device = vulkan_device
    x = source(device, "f32[1,3,8,8]")
    turned, small = rs.reorder(x, "NCHW->NHWC"), rs.resample(x, (4, 4))
    patches = "n c (h p) (w q) -> n (h w) (p q c)"
    cut = rs.rearrange(x, patches, p=2, q=2)
    plan = rs.plan_reorder(x.desc, turned.desc, "NCHW->NHWC", device=device)
    images, turned_image = iter(source(device, "f32[6,3,8,8]")), rs.empty("f32[8,8,3]", device)
    rs.reorder(next(images), "CHW->HWC", out=turned_image)
    calls: dict[str, Callable[[], rs.Tensor]] = {
        "reorder": lambda: rs.reorder(x, "NCHW->NHWC", out=turned),
        "resample": lambda: rs.resample(x, (4, 4), out=small),
        "rearrange": lambda: rs.rearrange(x, patches, p=2, q=2, out=cut),
        "view": lambda: rs.rearrange(x, "n c h w -> n h w c"),
        "plan": lambda: plan(x, out=turned),
        "repeat": lambda: rs.xp.repeat(x, 2, axis=2),
        "tile": lambda: rs.xp.tile(x, (1, 1, 2, 1)),
        "concat": lambda: rs.xp.concat([x, x], axis=2),
        "stack": lambda: rs.xp.stack([x, x]),
        "roll": lambda: rs.xp.roll(x, 1, axis=3),
        "pad": lambda: rs.xp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))),
        "empty": lambda: rs.xp.empty((3, 4), dtype="f32", device=device),
        "image": lambda: rs.reorder(next(images), "CHW->HWC", out=turned_image),
    }
    call = calls[name.split(maxsplit=1)[0]]
    counts = []
    gc.disable()  # it runs what others left to be freed
    try:
        for _ in range(5):
            device.wait()
            if name.endswith("in a batch"):
                with device.batch():
                    call()
                    counts.append(instructions(call))
            else:
                counts.append(instructions(call))
    finally:
        gc.enable()
    print(f"{name}: {min(counts)} instructions")
    assert min(counts) <= MAX_INSTRUCTIONS[name]
    assert min(counts) > MAX_INSTRUCTIONS[name] / 2, "the bound is too far above to hold anything"


def test_the_kernels_of_a_large_cubic_resize_are_kept(vulkan_device: rs.Device) -> None:
    """Its tables have 96 KB; to make them again takes as long as a GPU takes for all of it."""
    x = source(vulkan_device, "f32[1,3,224,224]")
    large = rs.resample(x, (1080, 1920), mode="cubic")
    counts = [instructions(lambda: rs.resample(x, (1080, 1920), mode="cubic", out=large)) for _ in range(4)]
    assert min(counts) <= 1.2 * MAX_INSTRUCTIONS["resample"]


def test_a_plan_that_is_forgotten_is_noticed(vulkan_device: rs.Device) -> None:
    """The count sees what it is there for: planning again takes many times the instructions."""
    x = source(vulkan_device, "f32[1,3,8,8]")
    small = rs.resample(x, (4, 4))
    perform._plans.clear()
    assert instructions(lambda: rs.resample(x, (4, 4), out=small)) > 2 * MAX_INSTRUCTIONS["resample"]


MAX_PLANNED = {"resample": 17_000, "crop_resize": 19_600, "resize": 27_500, "transpose": 13_700}
"""Instructions of a call with new sizes, which plans it; set as ``MAX_INSTRUCTIONS``."""


@pytest.mark.parametrize("name", MAX_PLANNED)
def test_a_call_with_new_sizes_executes_at_most_so_many_instructions(name: str, vulkan_device: rs.Device) -> None:
    x = source(vulkan_device, PIXELS)
    pixels, planes = (source(vulkan_device, text) for text in ("u8[64,64,3]", "f32[1,64,64,3]"))
    how: dict[str, Any] = {"axes": (0, 1), "mean": (0.5, 0.5, 0.5), "std": (0.25, 0.25, 0.25)}
    calls: dict[str, Callable[[rs.Tensor], object]] = {
        "resample": lambda image: rs.resample(image, (64, 64), axes=(0, 1), out=pixels),
        "crop_resize": lambda image: rs.crop_resize(image, [(0, 0, *image.sizes[:2])], (64, 64), out=planes, **how),
        "resize": lambda image: rs.resize(image, (22, 24)),
        "transpose": lambda matrix: rs.reorder(matrix, "AB->BA"),
    }
    counts = []
    gc.disable()
    try:
        for less in range(5):
            sizes = 270 - less, 480 - less
            desc = rs.TensorDesc("u8", sizes) if name == "transpose" else rs.TensorDesc("u8", (*sizes, 3))
            image = rs.Tensor(x.memory, desc, vulkan_device)
            counts.append(instructions(partial(calls[name], image)))
            vulkan_device.wait()
    finally:
        gc.enable()
    print(f"{name} of new sizes: {min(counts)} instructions")
    assert min(counts) <= MAX_PLANNED[name]
    assert min(counts) > MAX_PLANNED[name] / 2, "the bound is too far above to hold anything"


DOORS = ("TensorDesc.__init__", "TensorDesc.xla", "TensorDesc.from_tag", "TensorDesc.view_of", "laid_out")
"""The constructors, which check the arguments of callers, and what reads ``layout``."""


@pytest.mark.parametrize(
    ("call", "read"),
    [
        (lambda x: x[:, ::2, ::-1].permute(2, 0, 1).reshape(3, 4, 6, -1), 0),
        (lambda x: x.broadcast_to((2, *x.sizes)), 0),
        (lambda x: rs.strided_slice(x, (0, 0, 0), x.sizes, (2, -2, 1)), 0),
        (lambda x: rs.rearrange(x, "(h p) (w q) c -> (h w) p q c", p=2, q=2), 1),
        (lambda x: rs.reorder(x[::2], "HWC->CHW", dtype="f16"), 1),
        (lambda x: rs.reorder(x[::3], "HWC"), 1),
        (lambda x: rs.resample(x, (31, 37), axes=(0, 1), layout="HWC->CHW", dtype="f32"), 1),
        (lambda x: rs.resample_backward(rs.reorder(x, dtype="f32"), (6,), axes=(2,), layout="HWC"), 2),
        (lambda x: rs.crop_resize(x, [(0, 0, 9, 9)], (5, 5), axes=(0, 1), layout="NHWC->NCHW", mean=0.5, std=0.5), 1),
        (lambda x: rs.lookup(x, np.arange(256, dtype=np.uint8), layout="HWC->CHW"), 1),
        (lambda x: x[::2, ::2].numpy(), 0),
    ],
)
def test_arguments_are_checked_at_the_door_alone(
    call: Callable[[rs.Tensor], object], read: int, vulkan_device: rs.Device
) -> None:
    """No view or result inside is made by a public constructor, and ``layout`` is read once by each operation."""
    x = source(vulkan_device, "u8[24,36,3]{1,0,2}")
    entered: list[str] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_qualname in DOORS:
            entered.append(frame.f_code.co_qualname)

    perform._plans.clear()
    sys.setprofile(profile)
    try:
        call(x)
    finally:
        sys.setprofile(None)
    assert entered == ["laid_out"] * read
