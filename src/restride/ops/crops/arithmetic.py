"""Mean and standard deviation of channels, as the scales and zero points of a reorder."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from restride.dtypes import DType
from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride.layout.argument import Layout
from restride.ops.crops.boxes import per_channel
from restride.ops.crops.source import Form
from restride.ops.quantize import in_axes_of_result, normalizing

_SCALES = ("src_scale", "src_zero_point", "dst_scale", "dst_zero_point")


def numbers_of(mean: Any, std: Any, form: Form, dtype: DType, layout: Layout, others: dict[str, Any]) -> dict[str, Any]:
    """``others`` with the arithmetic of ``mean`` and ``std``, which is that of ``rs.normalize``.

    Raises:
        DescriptorError: a result of integers, other scales or zero points beside them, or what ``normalizing`` refuses.
    """
    src = form.desc
    if beside := [name for name in _SCALES if others[name] is not None]:
        raise DescriptorError(f"mean and std say scales and zero points, and so does {beside[0]}, for {src}")
    if not dtype.is_float:
        raise DescriptorError(f"mean and std make floats, and dtype is {dtype}, for {src}")

    def read(argument: str, value: Any) -> npt.NDArray[Any]:
        values = per_channel(argument, value, src, form.channels)
        if values.size == 1 or form.channel is None:
            return values.reshape(())
        return values.reshape([-1, *[1] * (src.rank - 1 - form.channel)])

    arguments = normalizing(0.0 if mean is None else mean, 1.0 if std is None else std, src, read)
    result = TensorDesc(dtype, form.result_sizes(1, (1, 1)))
    return {**others, **in_axes_of_result(arguments, result, layout)}
