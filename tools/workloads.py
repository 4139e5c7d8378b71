"""Workloads: what tools/measure.py measures, each against something that does the same or moves as many bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from bare_kernel import bare

import restride as rs


@dataclass(frozen=True)
class Workload:
    """One row: an operation of restride and what it is measured against, and the bytes that it moves.

    is_met: whether the medians of the two, the other's first, in seconds, meet the goal.
    against: what the other is.
    """

    name: str
    goal: str
    is_met: Callable[[float, float], bool]
    nbytes: int
    with_other: Callable[[], object]
    with_restride: Callable[[], object]
    against: str = "numpy"


def within(
    factor: float,
    name: str,
    goal: str,
    nbytes: int,
    other: Callable[[], object],
    run: Callable[[], object],
    against: str,
) -> Workload:
    """A row whose goal is at most ``factor`` times as long as the other."""
    return Workload(name, goal, lambda theirs, ours: ours <= factor * theirs, nbytes, other, run, against)


def reorder_into(x: rs.Tensor, desc: rs.TensorDesc | str) -> Callable[[], object]:
    """A reorder into a tensor made beforehand, and the wait for it."""
    out = rs.empty(desc, x.device)

    def operation() -> None:
        rs.reorder(x, out=out)
        x.device.wait()

    return operation


def layout_workloads(device: rs.Device) -> list[Workload]:
    """Tiles and blocks against this library's own transpose of as many bytes; partial tiles against whole ones."""
    generator = np.random.default_rng(0)

    def reorder(src: str, dst: str) -> Callable[[], object]:
        desc = rs.TensorDesc.parse(src)
        noise = generator.integers(0, 256, desc.nbytes, np.uint8)
        return reorder_into(rs.from_buffer(noise, desc, device), dst)

    def both_ways(name: str, plain: str, packed: str, transposed: tuple[int, int]) -> list[Workload]:
        text = f"f32[{transposed[0]},{transposed[1]}]"
        transpose = reorder(text + "{1,0}", text + "{0,1}")
        nbytes = 2 * rs.TensorDesc.parse(plain).nbytes
        goal = "within 1.5x"
        return [
            Workload(
                f"{name} {way}",
                goal,
                lambda other, ours: ours <= 1.5 * other,
                nbytes,
                transpose,
                operation,
                "transpose",
            )
            for way, operation in (("in", reorder(plain, packed)), ("out", reorder(packed, plain)))
        ]

    def partial(name: str, plain: str, tiles: str, whole: str) -> list[Workload]:
        nbytes = 2 * rs.TensorDesc.parse(plain).nbytes
        return [
            Workload(
                f"{name} {way}",
                "within 1.3x",
                lambda other, ours: ours <= 1.3 * other,
                nbytes,
                reorder(*(text + end for text, end in zip((whole, whole), ends, strict=True))),
                reorder(*(text + end for text, end in zip((plain, plain), ends, strict=True))),
                "whole tiles",
            )
            for way, ends in (("in", ("", tiles)), ("out", (tiles, "")))
        ]

    return [
        *both_ways("f32[4096,4096] T(8,128)", "f32[4096,4096]", "f32[4096,4096]{1,0:T(8,128)}", (4096, 4096)),
        *both_ways("f32[8,64,56,56] nChw16c", "f32[8,64,56,56]", "f32[8,64,56,56]:nChw16c", (512, 3136)),
        *both_ways("f32[512,512,3,3] OIhw16i16o", "f32[512,512,3,3]", "f32[512,512,3,3]:OIhw16i16o", (1536, 1536)),
        *partial("f32[4091,4076] T(8,128)", "f32[4091,4076]", "{1,0:T(8,128)}", "f32[4096,4096]"),
        *partial("f32[4091,4077] T(8,128)", "f32[4091,4077]", "{1,0:T(8,128)}", "f32[4096,4096]"),
        *partial("f32[8,60,56,56] nChw16c", "f32[8,60,56,56]", ":nChw16c", "f32[8,64,56,56]"),
    ]


def conversion_workloads(device: rs.Device) -> list[Workload]:
    """Types and scales: against kernels written by hand for one shape, against numpy, and against our own copy."""
    image = np.random.default_rng(0).random((1, 3, 1080, 1920), np.float32)
    pixels = (image.reshape(1, 1080, 1920, 3) * 255).astype(np.uint8)
    mean, std = (np.float32(values).reshape(3, 1, 1) for values in ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375)))

    def ours(array: np.ndarray, dtype: str, layout: str | None = None, **arithmetic: object) -> Callable[[], object]:
        x = rs.asarray(array, device=device)
        out = rs.reorder(x, layout, dtype, **arithmetic)

        def operation() -> None:
            rs.reorder(x, layout, dtype, **arithmetic, out=out)
            device.wait()

        return operation

    scaled = np.empty(image.shape, np.float32)
    cast_out = np.empty(image.shape, np.uint8)

    def numpy_cast() -> None:
        np.multiply(image, np.float32(255), out=scaled)
        np.rint(scaled, out=scaled)
        np.clip(scaled, 0, 255, out=scaled)
        np.copyto(cast_out, scaled, casting="unsafe")

    def numpy_normalise() -> None:
        np.subtract(pixels.transpose(0, 3, 1, 2), mean, out=scaled)
        np.multiply(scaled, 1 / std, out=scaled)

    cast = ours(image, "u8", src_scale=255)
    normalise = ours(pixels, "f32", "NHWC->NCHW", src_scale=1 / std.reshape(3), dst_zero_point=-mean / std)
    divide = ours(pixels, "f32", "NHWC->NCHW", dst_scale=std, dst_zero_point=-mean / std)
    nbytes = image.nbytes + pixels.nbytes
    shape = "1x3x1080x1920"

    def against_copy(name: str, array: np.ndarray, dtype: str, **arithmetic: object) -> Workload:
        moved = array.nbytes + array.size * rs.TensorDesc(dtype, ()).dtype.itemsize
        words = np.random.default_rng(1).integers(0, 1 << 32, moved // 8, np.uint32)
        return within(1.3, name, "within 1.3x", moved, ours(words, "u32"), ours(array, dtype, **arithmetic), "own copy")

    large = np.random.default_rng(2).normal(0, 100, 8 << 20)
    bytes_of_channels = np.random.default_rng(3).integers(-128, 128, (8, 64, 128, 128), np.int8)
    scales = np.random.default_rng(4).random((64, 1, 1), np.float32) + np.float32(0.5)
    return [
        within(
            1.0,
            f"f32 * 255 -> u8 {shape}",
            "as fast",
            nbytes,
            bare(device, "cast_f32_u8", image, image.size),
            cast,
            "by hand",
        ),
        within(1.0, "  the same", "faster than numpy", nbytes, numpy_cast, cast, "numpy"),
        within(
            1.0,
            f"u8 NHWC -> f32 NCHW {shape}",
            "as fast",
            nbytes,
            bare(device, "normalise_u8_f32", pixels, 4 * pixels.size),
            normalise,
            "by hand",
        ),
        within(1.0, "  the same, of bytes", "faster than numpy", nbytes, numpy_normalise, normalise, "numpy"),
        within(1.0, "  the same, divided exactly", "faster than numpy", nbytes, numpy_normalise, divide, "numpy"),
        against_copy(f"f32 -> f16 {shape}", image, "f16"),
        against_copy(f"f32 -> bf16 {shape}", image, "bf16"),
        against_copy("s8 -> f32 8x64x128x128 per channel", bytes_of_channels, "f32", src_scale=scales),
        against_copy("f64 -> f32 64 MiB", large, "f32"),
    ]


def workloads(device: rs.Device) -> list[Workload]:
    """Plain copies, transposes and slices against numpy."""
    generator = np.random.default_rng(0)

    run = generator.random((64 << 18,), np.float32)
    run_copy = np.empty_like(run)
    square = generator.random((4096, 4096), np.float32)
    square_copy = np.empty_like(square)
    image = generator.random((1, 3, 1080, 1920), np.float32)
    half = np.empty((1, 3, 540, 960), np.float32)
    small = rs.asarray(generator.random((1, 3, 8, 8), np.float32), device=device)
    small_nhwc = np.empty((1, 8, 8, 3), np.float32)
    small_host = small.numpy()
    on_device = {
        name: rs.asarray(array, device=device) for name, array in (("run", run), ("square", square), ("image", image))
    }
    return [
        Workload(
            "copy f32 64 MiB",
            "half of numpy's speed",
            lambda theirs, ours: ours <= 2 * theirs,
            2 * run.nbytes,
            lambda: np.copyto(run_copy, run),
            reorder_into(on_device["run"], rs.TensorDesc("f32", run.shape)),
        ),
        Workload(
            "transpose f32 4096x4096",
            "faster than numpy",
            lambda theirs, ours: ours < theirs,
            2 * square.nbytes,
            lambda: np.copyto(square_copy, square.T),
            reorder_into(on_device["square"].permute(1, 0), rs.TensorDesc("f32", square.shape)),
        ),
        Workload(
            "[..., ::2, ::2] f32 1x3x1080x1920",
            "within 2x of numpy",
            lambda theirs, ours: ours <= 2 * theirs,
            2 * half.nbytes,
            lambda: np.copyto(half, image[..., ::2, ::2]),
            reorder_into(on_device["image"][..., ::2, ::2], rs.TensorDesc("f32", half.shape)),
        ),
        Workload(
            "NCHW->NHWC f32 1x3x8x8",
            "under 400 us",
            lambda _, ours: ours < 400e-6,
            2 * small_nhwc.nbytes,
            lambda: np.copyto(small_nhwc, small_host.transpose(0, 2, 3, 1)),
            reorder_into(small.permute(0, 2, 3, 1), rs.TensorDesc("f32", small_nhwc.shape)),
        ),
    ]
