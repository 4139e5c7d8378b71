"""Mean and standard deviation of channels, as the scales and zero points of a reorder."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from restride.crops.boxes import per_channel
from restride.crops.source import Form
from restride.desc import TensorDesc
from restride.dtypes import DType
from restride.errors import DescriptorError
from restride.layout import Layout, axis_order
from restride.scales import value_range


def numbers_of(mean: Any, std: Any, form: Form, dtype: DType, layout: Layout, others: dict[str, Any]) -> dict[str, Any]:
    """``others`` with the arithmetic of ``mean`` and ``std``; those of ``rs.normalize``, one product for integers.

    Raises:
        DescriptorError: a result of integers, other scales or zero points beside them, numbers that are not finite, a
            ``std`` of 0, or not one for each channel.
    """
    src = form.desc
    scales = [
        name for name in ("src_scale", "src_zero_point", "dst_scale", "dst_zero_point") if others[name] is not None
    ]
    if scales:
        raise DescriptorError(f"mean and std say scales and zero points, and so does {scales[0]}, for {src}")
    if not dtype.is_float:
        raise DescriptorError(f"mean and std make floats, and dtype is {dtype}, for {src}")
    means = per_channel("mean", 0.0 if mean is None else mean, src, form.channels).astype(np.float64)
    stds = per_channel("std", 1.0 if std is None else std, src, form.channels).astype(np.float64)
    if not np.isfinite(means).all() or not (np.isfinite(stds) & (stds != 0)).all():
        raise DescriptorError(f"mean must be finite and std finite and not 0, got {mean!r} and {std!r}, for {src}")
    if src.dtype.is_float:
        return {**others, "src_zero_point": _along(means, form), "dst_scale": _of_result(stds, form, layout)}
    _, largest = value_range(src.dtype)
    src_scale = _along(1 / (largest * stds), form)
    return {**others, "src_scale": src_scale, "dst_zero_point": _of_result(-means / stds, form, layout)}


def _along(values: npt.NDArray[np.float64], form: Form) -> npt.NDArray[np.float64]:
    """The values along the channels of the result, in the order of its boxes and an image's axes."""
    if values.size == 1 or form.channel is None:
        return values.reshape(())
    shape = [1] * (form.desc.rank + 1 - form.first)
    shape[form.channel + 1 - form.first] = values.size
    return values.reshape(shape)


def _of_result(values: npt.NDArray[np.float64], form: Form, layout: Layout) -> npt.NDArray[np.float64]:
    """The same in the order of the result's own axes, which a layout "A->B" permutes."""
    along = _along(values, form)
    if not along.ndim:
        return along
    return along.transpose(axis_order(TensorDesc("f32", along.shape), layout))
