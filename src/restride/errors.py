"""The errors restride raises, as one tree.

RestrideError
├── DescriptorError          an argument breaks a rule (also ValueError)
├── UnsupportedError         legal, but not available here (also NotImplementedError)
└── DeviceError              the device, its driver or its loader
    ├── DeviceNotFound       no loader, no driver, or no such device
    ├── OutOfDeviceMemory    (also MemoryError)
    ├── DeviceLost           lost, closed, or inherited through fork
    └── DeviceTimeout        the work outlasted the time limit (also TimeoutError)

A message names the rule, the argument, its value and the descriptor:
``window [4, 9) exceeds size 8 of axis 1 in f32[2,8]{1,0}``.
"""

from __future__ import annotations


class RestrideError(Exception):
    """Everything that restride raises on purpose."""


class DescriptorError(RestrideError, ValueError):
    """An argument breaks a rule; nothing was dispatched and no destination was touched."""


class UnsupportedError(RestrideError, NotImplementedError):
    """The request is legal, but this version, runtime or device does not serve it."""


class DeviceError(RestrideError):
    """The device, its driver or the Vulkan loader failed."""


class DeviceNotFound(DeviceError):
    """No Vulkan loader, no driver, or no device that matches the selector."""


class OutOfDeviceMemory(DeviceError, MemoryError):
    """The device's heap, or restride's budget against it, is exhausted."""


class DeviceLost(DeviceError):
    """The device is gone: lost by the driver, closed, or inherited through ``fork``."""


class DeviceTimeout(DeviceError, TimeoutError):
    """Work on the device did not finish within the time limit."""
