"""restride runs a vision model's image processor on a Vulkan GPU, with the bits of Pillow and without torch."""

import os
import signal
import sys
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

__version__ = "0.1.0"

# The command ``restride`` imports for some tenths of a second. Until ``cli.main`` handles signals, a signal therefore
# ends it silently, with the exit code of an interrupted command. An ``import restride`` leaves signals alone.
_program = "".join(sys.argv[:1])
_is_command = Path(_program).name == "restride" or (_program == "-m" and "restride" in sys.orig_argv)
if _is_command and threading.current_thread() is threading.main_thread():
    for _name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, _name) and signal.getsignal(getattr(signal, _name)) is not signal.SIG_IGN:
            signal.signal(getattr(signal, _name), lambda *_: os._exit(130))

OVERVIEW = frozenset({"-h", "--help", "--version"})
"""With only one of these arguments, the command ``restride`` needs nothing of the library."""

if TYPE_CHECKING or not (_is_command and len(sys.argv) == 2 and sys.argv[1] in OVERVIEW):
    from restride import compat, reference
    from restride.drawing import notebook as _notebook  # noqa: F401 - enters Tensor._repr_html_
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
        StreamError,
        UnsupportedError,
    )
    from restride.layout import TensorDesc
    from restride.layout.dml import dml_buffer_tensor_size
    from restride.ops import equal as _equal  # noqa: F401 - enters Tensor.__eq__
    from restride.ops.crop_resize import crop_resize
    from restride.ops.letterbox import Letterboxed
    from restride.ops.lookup import lookup
    from restride.ops.perform import Plan
    from restride.ops.preprocess import Preprocess
    from restride.ops.quantize import dequantize, normalize, quantize
    from restride.ops.rearrange import rearrange
    from restride.ops.reorder import plan_reorder, reorder, strided_slice
    from restride.ops.resample import plan_resample, plan_resample_backward, resample, resample_backward, source_window
    from restride.ops.resize import resize
    from restride.ops.yuv import yuv_to_rgb
    from restride.runtime import device_requirements
    from restride.stream.chain import Chain, WindowedChain
    from restride.stream.laid_out import LaidOut
    from restride.stream.lazy import LazyArray
    from restride.stream.run import stream
    from restride.tensor.arrays import asarray, from_buffer
    from restride.tensor.device import Device, default_device, devices, set_default_device
    from restride.tensor.exported import Exported
    from restride.tensor.images import imread, imwrite, to_rgb
    from restride.tensor.tensor import METHODS as _METHODS
    from restride.tensor.tensor import Tensor, empty, import_memory

    _METHODS["namespace"] = lambda: import_module("restride.xp")  # for Tensor.__array_namespace__, imported on use

    # einops looks for our types among loaded classes. This import takes 2 ms if einops is installed; if it fails, an
    # import of restride.interop.einops says why.
    with suppress(ImportError):
        from restride.interop import einops as _einops  # noqa: F401 - its functions then take tensors

if TYPE_CHECKING:  # type checkers know these as modules; __getattr__ imports them on use
    from restride import vision as vision
    from restride import xp as xp
    from restride.interop import dask as dask
    from restride.interop import ome as ome
    from restride.interop import xarray as xarray

__all__ = [
    "Chain",
    "DType",
    "DescriptorError",
    "Device",
    "DeviceError",
    "DeviceLost",
    "DeviceNotFound",
    "DeviceTimeout",
    "Exported",
    "LaidOut",
    "LazyArray",
    "Letterboxed",
    "OutOfDeviceMemory",
    "Plan",
    "Preprocess",
    "RestrideError",
    "StreamError",
    "Tensor",
    "TensorDesc",
    "UnsupportedError",
    "WindowedChain",
    "asarray",
    "compat",
    "crop_resize",
    "default_device",
    "dequantize",
    "device_requirements",
    "devices",
    "dml_buffer_tensor_size",
    "empty",
    "from_buffer",
    "import_memory",
    "imread",
    "imwrite",
    "lookup",
    "normalize",
    "plan_reorder",
    "plan_resample",
    "plan_resample_backward",
    "quantize",
    "rearrange",
    "reference",
    "reorder",
    "resample",
    "resample_backward",
    "resize",
    "set_default_device",
    "show",
    "source_window",
    "stream",
    "strided_slice",
    "to_rgb",
    "yuv_to_rgb",
]


globals().pop("tensor", None)  # the subpackage, so that rs.tensor(...) is an error of __getattr__

_LIBRARIES = {"dask": "dask", "ome": "zarr", "xarray": "xarray"}
"""The package that each of these parts of the library needs."""


def __dir__() -> list[str]:
    return [*__all__, "__version__", "interop", "vision", "xp", *_LIBRARIES]


def __getattr__(name: str) -> ModuleType:
    """Import on use ``rs.xp``, ``rs.interop``, ``rs.vision``, ``rs.dask``, ``rs.ome`` and ``rs.xarray``."""
    if name in ("interop", "vision", "xp"):
        return import_module(f"restride.{name}")
    if name in _LIBRARIES:
        from restride.errors import needed_package

        with needed_package(f"rs.{name}", _LIBRARIES[name], name):
            return import_module(f"restride.interop.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_suggestion(name)}", name=name)


def _suggestion(name: str) -> str:
    """The end of the error about a missing name: restride's name for another library's word, or the nearest name."""
    from restride.dtypes import BY_NAME
    from restride.errors import did_you_mean
    from restride.words import FUNCTIONS

    if name.startswith("_"):
        return ""
    if name in FUNCTIONS:
        return f"; it is {FUNCTIONS[name]} here"
    if name in BY_NAME:
        return f"; element types are texts here: {BY_NAME[name].name!r}"
    if hasattr(import_module("restride.xp"), name):
        return f"; rs.xp.{name} is the array API's"
    return did_you_mean(name, __dir__())
