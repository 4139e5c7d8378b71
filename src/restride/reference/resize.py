"""The reference for ``resize``, in linear light and with premultiplied alpha by the formulas of sRGB in f64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from restride.dtypes import Array
from restride.errors import DescriptorError
from restride.reference.arguments import ReferenceResampleArguments, as_array, described
from restride.reference.resample import resample, resample_limits

_F32_UNIT = 2.0**-24  # largest relative error of one rounding to f32


def resize(
    x: Any,
    sizes: Sequence[int],
    axes: Sequence[int] = (0, 1),
    channels: int | None = None,
    *,
    linear_light: bool = False,
    premultiply: bool = False,
    mode: Any = None,
    **resampling: Unpack[ReferenceResampleArguments],
) -> Array:
    """Resample ``x``, or its codes, u8 or u16, in linear light, weighted by alpha, or both.

    The result of codes is ``sum(w * a * L(c / most)) / sum(w * a)``, with L the light of a code, as the nearest code.

    Args:
        x: the array.
        sizes: sizes of the result along ``axes``.
        axes: the axes of rows and columns.
        channels: the axis whose last element is alpha; None: no alpha.
        linear_light: L is sRGB's transfer function; else L(c) is c.
        premultiply: a is alpha; else 1. If the sum of alphas is not above 0, the result is 0.
        mode: as in ``reference.resample``.
        resampling: other arguments of ``reference.resample``, which define the weights w.

    Source: IEC 61966-2-1 (sRGB); Porter and Duff, Compositing Digital Images, 1984.

    Example:
        >>> rs.reference.resize(np.uint8([[0, 255]]), (1, 1), linear_light=True)
        array([[188]], dtype=uint8)
    """
    if not linear_light and not premultiply:
        return resample(x, sizes, axes=axes, mode=mode, **resampling)
    array = as_array(x)
    values = resample(_light(array, channels, linear_light, premultiply), sizes, axes=axes, mode=mode, **resampling)
    return _codes(array, values, values, channels, linear_light, premultiply, 0.0)


def resize_limits(
    x: Any,
    sizes: Sequence[int],
    axes: Sequence[int] = (0, 1),
    channels: int | None = None,
    *,
    linear_light: bool = False,
    premultiply: bool = False,
    mode: Any = None,
    **resampling: Unpack[ReferenceResampleArguments],
) -> tuple[Array, Array]:
    """The lowest and the highest correct result of ``resize`` by a device whose light is f32.

    The sums are within ``resample_limits``. A threshold between two codes is rounded to f32 once, and its product with
    alpha once more, which moves the value at which codes change by 2 * 2^-24 of the sum.
    """
    if not linear_light and not premultiply:
        return resample_limits(x, sizes, axes=axes, mode=mode, **resampling)
    array = as_array(x)
    light = _light(array, channels, linear_light, premultiply)
    low, high = resample_limits(light, sizes, axes=axes, mode=mode, **resampling)
    rest = (channels, linear_light, premultiply)
    return _codes(array, low, high, *rest, -2 * _F32_UNIT), _codes(array, high, low, *rest, 2 * _F32_UNIT)


def _light(array: Array, channels: int | None, linear_light: bool, premultiply: bool) -> Array:
    """The f32 values to resample: light, or codes, times alpha if premultiplied, each rounded once; alpha unchanged."""
    if array.dtype not in (np.uint8, np.uint16):
        raise DescriptorError(f"codes are u8 or u16, not {described(array)}")
    light = array.astype(np.float64)
    if linear_light:
        part = light / np.iinfo(array.dtype).max
        light = np.where(part > 0.04045, np.power((part + 0.055) / 1.055, 2.4), part / 12.92)
    light = light.astype(np.float32)
    if channels is not None:
        alpha = np.take(array, [-1], channels).astype(np.float32)
        colors = np.delete(light, -1, channels)
        light = np.concatenate([colors * alpha if premultiply else colors, alpha], channels)
    return light


def _codes(
    array: Array,
    values: Array,
    opposite: Array,
    channels: int | None,
    linear_light: bool,
    premultiply: bool,
    moved: float,
) -> Array:
    """The nearest codes of sums; colours are multiplied by ``1 + moved`` and divided by the alphas of ``opposite``."""
    most = np.iinfo(array.dtype).max
    colors = values.astype(np.float64) * (1 + moved)
    if channels is not None:
        alphas = np.take(values, [-1], channels)
        colors = np.delete(colors, -1, channels)
        if premultiply:
            divisor = np.take(opposite, [-1], channels).astype(np.float64)
            colors = np.where(divisor > 0, colors / np.where(divisor > 0, divisor, 1), 0.0)
    colors = np.maximum(colors, 0)
    if linear_light:
        colors = np.where(colors > 0.0031308, 1.055 * np.power(colors, 1 / 2.4) - 0.055, 12.92 * colors) * most
    codes = np.floor(np.minimum(colors, most) + 0.5)
    if channels is not None:
        codes = np.concatenate([codes, np.rint(np.clip(alphas, 0, most))], channels)
    return codes.astype(array.dtype)
