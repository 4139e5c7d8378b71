"""Tables of pixel values: the result for each of the 256 elements of u8, by channel, as transformers computes it.

A byte has 256 values, so a table that the host computes has the exact result of any arithmetic on pixels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from restride.dtypes import Array
from restride.errors import DescriptorError, shown
from restride.ops.normalized import normalize, rescale
from restride.vision.options import Mean, Options


def plain(options: Options, channels: int, floats: bool) -> Array:
    """A table [channels, 256], or [256] if channels do not differ, rescaled and then normalized, as the options say.

    It is u8 if the pixels do not change, else f32. floats: the elements are floats of 0 to 1, times 255.

    Source: transformers, PilBackend._preprocess.
    """
    values = bytes_of(floats)
    if options.do_rescale:
        values = rescale(values, options.rescale_factor)
    if options.do_normalize:
        values = normalized(values, options.image_mean, options.image_std, channels)
    return values


def always_floats(options: Options, channels: int, floats: bool) -> Array:
    """The values of ``plain`` as f32, even if the pixels do not change."""
    return plain(options, channels, floats).astype(np.float32)


def bytes_of(floats: bool) -> Array:
    """The elements 0 to 255; for floats, f32 of 0 to 1, as transformers computes them after the resize."""
    values = np.arange(256, dtype=np.uint8)
    return rescale(values, 1 / 255) if floats else values


def normalized(values: Array, mean: Mean, std: Mean, channels: int) -> Array:
    """``(values - mean) / std`` in f32, for each channel.

    Raises:
        DescriptorError: there is not one mean or std for each channel.
    """
    return normalize(values, *means_stds(mean, std, channels, np.float32))


def means_stds(mean: Mean, std: Mean, channels: int, dtype: npt.DTypeLike) -> tuple[Array, Array]:
    """The means and the stds of the channels, each a column, or one number for all.

    Raises:
        DescriptorError: there is not one mean or std for each channel.
    """
    return of_channels("image_mean", mean, channels, dtype), of_channels("image_std", std, channels, dtype)


def of_channels(key: str, value: Mean, channels: int, dtype: npt.DTypeLike) -> Array:
    """``value`` as an array: a column with one number for each channel, or one number for all.

    Raises:
        DescriptorError: there is not one number for each channel.
    """
    if isinstance(value, tuple) and len(value) != channels:
        raise DescriptorError(
            f"{key} must have {channels} values for an image of {channels} channels, got {shown(value)}"
        )
    with np.errstate(over="ignore"):  # as in transformers, it may exceed the range of f32
        return np.reshape(np.array(value, dtype), (-1, 1) if isinstance(value, tuple) else ())
