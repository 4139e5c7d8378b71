"""restride: any tensor layout to any other, any size to any other, on any Vulkan device."""

__version__ = "0.1.0"

from restride import compat, reference
from restride.arrays import asarray, from_buffer
from restride.cropping import crop_resize
from restride.crops.letterbox import Letterboxed
from restride.desc import TensorDesc
from restride.desc.dml import dml_buffer_tensor_size
from restride.device import Device, default_device, devices
from restride.drawing.show import show
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
from restride.ops import reorder, strided_slice
from restride.planned import Plan
from restride.plans import plan_reorder, plan_resample, plan_resample_backward
from restride.preprocess import Preprocess
from restride.quantization import dequantize, normalize, quantize
from restride.resampling import resample, resample_backward, source_window
from restride.tensor import Tensor, empty
from restride.video import yuv_to_rgb

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
