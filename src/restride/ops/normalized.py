"""Normalization of bytes by tables, which hold a library's result for every byte, in its own order of operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

import numpy as np

from restride.dtypes import Array, F32Array, F64Array

NormalizingLibrary: TypeAlias = Literal["transformers", "torchvision"]
"""The libraries whose order of operations ``normalize`` can follow."""

ORDERS: tuple[str, ...] = get_args(NormalizingLibrary)

CLIP_MEAN, CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

_CODES = np.arange(256, dtype=np.float64)
_FACTOR = 1 / 255
"""Both libraries' image processors multiply by this factor, which is rounded to f64."""


def normalized_table(mean: F64Array, std: F64Array, order: str) -> F32Array:
    """The result for each of the bytes 0 to 255, with a row for each mean and std.

    mean, std: of sizes [rows, 1], in the unit of bytes divided by 255.
    """
    return _ORDERS[order](mean, std)


def rescale(values: Array, factor: float) -> F32Array:
    """``values * factor`` in f64, rounded to f32 once.

    Source: transformers, image_transforms.rescale, which the PIL backend calls.
    """
    with np.errstate(over="ignore"):  # as in transformers, the factor may exceed the range of f32
        return (values.astype(np.float64) * factor).astype(np.float32)


def normalize(values: Array, mean: Array, std: Array) -> F32Array:
    """``(values - mean) / std`` in f32: the arguments are rounded to f32 first, and each step is rounded.

    Source: transformers, image_transforms.normalize, which the PIL backend calls.
    """
    with np.errstate(all="ignore"):  # as in transformers, a mean or std may exceed the range of f32
        entries: F32Array = np.divide(values.astype(np.float32) - mean.astype(np.float32), std.astype(np.float32))
    return entries


def normalize_fused(values: Array, mean: Array, std: Array, factor: float) -> F32Array:
    """``(values - mean / factor) / (std / factor)`` in f32: mean and std, rounded to f32, times ``1 / factor``.

    Source: transformers, image_processing_backends: _fuse_mean_std_and_rescale_factor of the torchvision backend;
    torchvision, transforms.v2.functional.normalize.
    """
    inverse = np.float32(1.0 / factor)
    with np.errstate(all="ignore"):  # as in torch
        return normalize(values, mean.astype(np.float32) * inverse, std.astype(np.float32) * inverse)


_ORDERS: dict[str, Callable[[F64Array, F64Array], F32Array]] = {
    "transformers": lambda mean, std: normalize(rescale(_CODES, _FACTOR), mean, std),
    "torchvision": lambda mean, std: normalize_fused(_CODES, mean, std, _FACTOR),
}
