"""Plans: from source and destination descriptors to the dispatches that do the work. Pure; no device is needed."""

from __future__ import annotations

from restride.plan.convert import convert_kernels
from restride.plan.copy import byte_copy_kernels, copy_kernels, copy_problems, run_copied
from restride.plan.fill import pad_kernels, padding_copy_kernels, padding_kernels
from restride.plan.problem import Axis
from restride.plan.resample import (
    Tables,
    is_index,
    is_made_by_elements,
    is_resampled_by_walks,
    passes,
    resample_kernels,
    taps_fit,
)
from restride.plan.yuv import reads_frames, writes_frames, yuv_kernels

__all__ = [
    "Axis",
    "Tables",
    "byte_copy_kernels",
    "convert_kernels",
    "copy_kernels",
    "copy_problems",
    "is_index",
    "is_made_by_elements",
    "is_resampled_by_walks",
    "pad_kernels",
    "padding_copy_kernels",
    "padding_kernels",
    "passes",
    "reads_frames",
    "resample_kernels",
    "run_copied",
    "taps_fit",
    "writes_frames",
    "yuv_kernels",
]
