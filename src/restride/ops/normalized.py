"""Normalization of bytes by tables, which hold a library's result for every byte, in its own order of operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

Order: TypeAlias = Literal["transformers", "torchvision"]
"""The libraries whose order of operations ``normalize`` has."""

ORDERS: tuple[str, ...] = get_args(Order)

Numbers: TypeAlias = npt.NDArray[np.float64]
Entries: TypeAlias = npt.NDArray[np.float32]

_CODES = np.arange(256, dtype=np.float64)
_FACTOR = 1 / 255
"""The factor of both libraries' image processors, which f64 rounds."""


def normalized_table(mean: Numbers, std: Numbers, order: str) -> Entries:
    """The results for the bytes 0 to 255, by rows, one for each mean and std.

    mean, std: of sizes [rows, 1], in units of bytes that are divided by 255.
    """
    with np.errstate(all="ignore"):  # as both libraries: a mean and a std may be beyond f32
        return _ORDERS[order](mean, std)


def _of_transformers(mean: Numbers, std: Numbers) -> Entries:
    """Rescaled in f64 and rounded to f32; then a subtraction and a division in f32.

    Source: transformers, image_transforms: rescale and normalize, which the PIL backend calls.
    """
    rescaled: Entries = (_CODES * np.float64(_FACTOR)).astype(np.float32)
    entries: Entries = np.divide(rescaled - mean.astype(np.float32), std.astype(np.float32))
    return entries


def _of_torchvision(mean: Numbers, std: Numbers) -> Entries:
    """Mean and std, rounded to f32 and multiplied by 255 in f32, for bytes as they are.

    Source: transformers, image_processing_backends: _fuse_mean_std_and_rescale_factor of the torchvision backend;
    torchvision, transforms.v2.functional.normalize.
    """
    largest = np.float32(1 / _FACTOR)
    middle, width = (each.astype(np.float32) * largest for each in (mean, std))
    entries: Entries = np.divide(_CODES.astype(np.float32) - middle, width)
    return entries


_ORDERS: dict[str, Callable[[Numbers, Numbers], Entries]] = {
    "transformers": _of_transformers,
    "torchvision": _of_torchvision,
}
