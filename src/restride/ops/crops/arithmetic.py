"""Mean and standard deviation of channels, as the scales and zero points of a reorder."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from restride.arithmetic import require_unit, value_range
from restride.dtypes import DType
from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride.layout.argument import Layout, axis_order
from restride.ops.crops.boxes import per_channel
from restride.ops.crops.source import Form

_Numbers = npt.NDArray[np.float64]


def numbers_of(mean: Any, std: Any, form: Form, dtype: DType, layout: Layout, others: dict[str, Any]) -> dict[str, Any]:
    """``others`` with the arithmetic of ``mean`` and ``std``; those of ``rs.normalize``, one product for integers.

    Raises:
        DescriptorError: a result of integers, other scales or zero points beside them, numbers that are not finite, a
            ``std`` of 0, for integers one beyond -1 and 1, or not one for each channel.
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
    require_unit("mean", means, src)
    require_unit("std", stds, src)
    numbers = {
        name: _along(values, form) if name.startswith("src") else _of_result(values, form, layout)
        for name, values in normal(means, stds, src.dtype).items()
    }
    return {**others, **numbers}


def normal(mean: _Numbers, std: _Numbers, dtype: DType) -> dict[str, _Numbers]:
    """Arguments of a reorder that make ``(v - mean) / std`` of floats, and of integers once their largest value is 1.

    Integers take one product and one sum: u8 to ``v * (1 / (255 * std)) + -mean / std``.
    """
    if dtype.is_float:
        return {"src_zero_point": mean, "dst_scale": std}
    _, largest = value_range(dtype)
    return {"src_scale": 1 / (largest * std), "dst_zero_point": -mean / std}


def _along(values: _Numbers, form: Form) -> _Numbers:
    """The values along the channels of the result, in the order of its boxes and an image's axes."""
    if values.size == 1 or form.channel is None:
        return values.reshape(())
    shape = [1] * (form.desc.rank + 1 - form.first)
    shape[form.channel + 1 - form.first] = values.size
    return values.reshape(shape)


def _of_result(values: _Numbers, form: Form, layout: Layout) -> _Numbers:
    """The same in the order of the result's own axes, which a layout "A->B" permutes."""
    along = _along(values, form)
    if not along.ndim:
        return along
    return along.transpose(axis_order(TensorDesc("f32", along.shape), layout))
