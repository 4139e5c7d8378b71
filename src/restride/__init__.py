"""restride: any tensor layout to any other, any size to any other, on any Vulkan device."""

__version__ = "0.1.0"

from restride import compat, reference
from restride.drawing.picture import show
from restride.dtypes import DType
from restride.errors import (
    DescriptorError,
    DeviceError,
    DeviceLost,
    DeviceNotFound,
    DeviceTimeout,
    OutOfDeviceMemory,
    RestrideError,
    UnsupportedError,
)
from restride.layout import TensorDesc
from restride.layout.dml import dml_buffer_tensor_size
from restride.ops.crop_resize import crop_resize
from restride.ops.letterbox import Letterboxed
from restride.ops.plan import Plan
from restride.ops.preprocess import Preprocess
from restride.ops.quantize import dequantize, normalize, quantize
from restride.ops.reorder import plan_reorder, reorder, strided_slice
from restride.ops.resample import plan_resample, plan_resample_backward, resample, resample_backward, source_window
from restride.ops.yuv import yuv_to_rgb
from restride.tensor.arrays import asarray, from_buffer
from restride.tensor.device import Device, default_device, devices
from restride.tensor.tensor import Tensor, empty

__all__ = [
    "DType",
    "DescriptorError",
    "Device",
    "DeviceError",
    "DeviceLost",
    "DeviceNotFound",
    "DeviceTimeout",
    "Letterboxed",
    "OutOfDeviceMemory",
    "Plan",
    "Preprocess",
    "RestrideError",
    "Tensor",
    "TensorDesc",
    "UnsupportedError",
    "asarray",
    "compat",
    "crop_resize",
    "default_device",
    "dequantize",
    "devices",
    "dml_buffer_tensor_size",
    "empty",
    "from_buffer",
    "normalize",
    "plan_reorder",
    "plan_resample",
    "plan_resample_backward",
    "quantize",
    "reference",
    "reorder",
    "resample",
    "resample_backward",
    "show",
    "source_window",
    "strided_slice",
    "yuv_to_rgb",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
