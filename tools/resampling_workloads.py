"""Resampling workloads of tools/measure.py: against kernels written by hand for one shape, and against Pillow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from bare_kernel import bare
from PIL import Image
from workloads import Workload, within

import restride as rs

_PHOTO = (3, 1080, 1920)
_SMALL = (3, 224, 224)


def resampling_workloads(device: rs.Device) -> list[Workload]:
    """Enlarging, shrinking, nearest neighbours, antialiasing, gradients."""
    generator = np.random.default_rng(0)
    photo, small = generator.random(_PHOTO, np.float32), generator.random(_SMALL, np.float32)
    maps = generator.random((512, 56, 56), np.float32)
    photo_u8, small_u8 = ((image * 255).astype(np.uint8) for image in (photo, small))
    pixels = Image.fromarray(np.ascontiguousarray(photo_u8.transpose(1, 2, 0)))

    def ours(
        function: Callable[..., rs.Tensor], array: np.ndarray, *given: object, **options: object
    ) -> Callable[[], object]:
        x = rs.asarray(array, device=device)
        out = function(x, *given, **options)

        def operation() -> None:
            function(x, *given, **options, out=out)
            device.wait()

        return operation

    def by_hand(
        name: str, kernel: str, array: np.ndarray, groups: tuple[int, int, int], run: Callable[[], object], made: int
    ) -> Workload:
        other = bare(device, kernel, array, 4 * made, groups)
        return within(1.05, name, "as fast, within 5%", array.nbytes + 4 * made, other, run, "by hand")

    def pillow() -> None:
        pixels.resize((224, 224), Image.Resampling.BILINEAR)

    down, up = (ours(rs.resample, image, sizes) for image, sizes in ((photo, (224, 224)), (small, (1080, 1920))))
    down_u8, up_u8 = (
        ours(rs.resample, image, sizes) for image, sizes in ((photo_u8, (224, 224)), (small_u8, (1080, 1920)))
    )
    twice = ours(rs.resample, maps, (112, 112), mode="nearest")
    antialiased = ours(rs.resample, photo_u8, (224, 224), antialias=True)
    interleaved = ours(rs.resample, photo_u8.transpose(1, 2, 0).copy(), (224, 224), axes=(0, 1), antialias=True)
    backward_up, backward_down = (
        ours(rs.resample_backward, image, sizes) for image, sizes in ((photo, (224, 224)), (small, (1080, 1920)))
    )
    nbytes, few = photo.nbytes + small.nbytes, photo_u8.nbytes + small_u8.nbytes
    return [
        by_hand("bilinear f32 1080p -> 224", "bilinear_1080p_224", photo, (4, 28, 3), down, small.size),
        by_hand("bilinear f32 224 -> 1080p", "bilinear_224_1080p", small, (30, 135, 3), up, photo.size),
        by_hand("nearest f32 512x56x56, twice", "nearest_x2", maps, (1, 7, 512), twice, 4 * maps.size),
        within(1.0, "antialiased u8 1080p -> 224, planes", "faster than Pillow", few, pillow, antialiased, "Pillow"),
        within(1.0, "  the same, pixels", "faster than Pillow", few, pillow, interleaved, "Pillow"),
        within(1.0, "bilinear u8 1080p -> 224", "as fast as f32", few, down, down_u8, "own f32"),
        within(1.0, "bilinear u8 224 -> 1080p", "as fast as f32", few, up, up_u8, "own f32"),
        within(1.5, "gradient of bilinear 224 -> 1080p", "within 1.5x", nbytes, up, backward_up, "own forward"),
        within(1.5, "gradient of bilinear 1080p -> 224", "within 1.5x", nbytes, up, backward_down, "own enlarging"),
    ]
