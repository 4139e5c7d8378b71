"""Load the Vulkan loader through the CFFI package ``vulkan``, say how to install a missing one, and check VkResults.

The package is untyped and its struct helpers are slow and drop what nested structs point to, so only its ``ffi``, its
library and its constants are used, all of them from here.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from restride.errors import DeviceError, DeviceLost, DeviceNotFound, OutOfDeviceMemory

Handle: TypeAlias = Any
"""A value of CFFI: a Vulkan handle, struct or array. The vulkan package declares no types."""

INSTALL_DRIVER = (
    "install a driver (Debian, Ubuntu: `apt install mesa-vulkan-drivers`, which holds lavapipe for machines without a "
    "GPU; Fedora: `dnf install mesa-vulkan-drivers`; Arch: `pacman -S vulkan-swrast`; macOS: `brew install molten-vk`; "
    "Windows: the GPU vendor's driver)"
)
INSTALL_LOADER = (
    "install it (Debian, Ubuntu: `apt install libvulkan1 mesa-vulkan-drivers`; Fedora: `dnf install vulkan-loader "
    "mesa-vulkan-drivers`; Arch: `pacman -S vulkan-icd-loader vulkan-swrast`; macOS: `brew install vulkan-loader "
    "molten-vk`; Windows: it comes with the GPU vendor's driver)"
)

VALIDATION_LAYER = "VK_LAYER_KHRONOS_validation"
INSTALL_VALIDATION_LAYER = (
    "install it (Debian, Ubuntu: `apt install vulkan-validationlayers`; Fedora: `dnf install "
    "vulkan-validation-layers`; Arch: `pacman -S vulkan-validation-layers`)"
)

DRIVER_VARIABLES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")
"""Environment variables that list the drivers in place of the loader's own search; it reads the first one set."""

TIMEOUT, INCOMPLETE = 2, 5
_OUT_OF_MEMORY = ("VK_ERROR_OUT_OF_HOST_MEMORY", "VK_ERROR_OUT_OF_DEVICE_MEMORY", "VK_ERROR_TOO_MANY_OBJECTS")


@cache
def package() -> Any:
    """The module ``vulkan``: ``ffi``, ``lib`` and the constants.

    Raises:
        DeviceNotFound: no loader on this machine, or the package is not installed.
    """
    try:
        return importlib.import_module("vulkan")
    except OSError as error:
        raise DeviceNotFound(f"no Vulkan loader (libvulkan) on this machine; {INSTALL_LOADER}") from error
    except ImportError as error:
        raise DeviceNotFound(f"the Python package `vulkan` cannot be imported ({error}); pip install vulkan") from error


# Keeps what each struct points to alive as long as the struct: CFFI itself keeps only the outermost allocation.
_referenced: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def struct(name: str, **fields: Any) -> Handle:
    """A pointer to a new struct ``name`` with its ``sType`` filled in; keeps what the fields point to alive."""
    values = dict(fields)
    structure_type = _structure_type(name)
    if structure_type is not None:
        values["sType"] = structure_type
    pointer = package().ffi.new(f"{name} *", values)
    _referenced[pointer] = fields
    return pointer


def array(type_name: str, values: Any) -> Handle:
    """A new C array, such as ``array("float", [1.0])``."""
    return package().ffi.new(f"{type_name}[]", values)


@cache
def _structure_type(name: str) -> int | None:
    words = re.sub(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[0-9])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name[2:]).upper()
    structure_type: int | None = getattr(package(), f"VK_STRUCTURE_TYPE_{words}", None)
    return structure_type


def result_name(result: int) -> str:
    """The name of a VkResult: ``VK_ERROR_DEVICE_LOST`` for -4."""
    # The package lists some codes without their sign, and some names without a code.
    codes = ((name, code) for name, code in vars(package()).items() if name.startswith("VK_ERROR_"))
    return next((name for name, code in codes if isinstance(code, int) and -abs(code) == result), f"VkResult {result}")


def failure(call: str, result: int) -> DeviceError:
    """The typed error for a negative VkResult."""
    name = result_name(result)
    if name in _OUT_OF_MEMORY:
        return OutOfDeviceMemory(f"{call} failed with {name}: the driver has no memory left")
    if name == "VK_ERROR_DEVICE_LOST":
        return DeviceLost(f"{call} failed with {name}: the device is gone; make a new Device")
    if name == "VK_ERROR_INCOMPATIBLE_DRIVER":
        return DeviceNotFound(
            f"{call} failed with {name}: no Vulkan 1.1 driver on this machine; {how_to_get_a_driver()}"
        )
    return DeviceError(f"{call} failed with {name}")


def require_handle(call: str, handle: Handle) -> Handle:
    """Return ``handle``, the result of ``call``: some drivers report success with a null handle, which crashes later.

    Raises:
        DeviceError: the handle is null.
    """
    if handle == package().ffi.NULL:
        raise DeviceError(f"{call} succeeded, but the driver gave a null handle")
    return handle


def how_to_get_a_driver() -> str:
    """Advice where the loader finds no driver; first of all, unset a variable that hides them."""
    for variable in DRIVER_VARIABLES:
        if files := os.environ.get(variable):
            return (
                f"{variable} is {files!r}, and the loader looks nowhere else: correct or unset it, or {INSTALL_DRIVER}"
            )
    return INSTALL_DRIVER


class Functions:
    """The functions of an instance or device, by name; one that returns a VkResult raises if it is an error.

    Positive results (``TIMEOUT``, ``INCOMPLETE``) are returned. ``lost`` is called before DeviceLost is raised.
    """

    def __init__(self, resolve: Callable[[bytes], Handle], lost: Callable[[], None] | None = None) -> None:
        self._resolve = resolve
        self._lost = lost

    def __getattr__(self, name: str) -> Callable[..., Any]:
        # Runs only once for each name, because the function then becomes an attribute.
        function = self.unchecked(name)
        if package().ffi.typeof(f"PFN_{name}").result == package().ffi.typeof("VkResult"):
            function = self._checked(name, function)
        setattr(self, name, function)
        return function

    def unchecked(self, name: str) -> Callable[..., Any]:
        """The function without the check; pass its result to ``check``.

        No Python function wraps it, because an interrupt could be raised inside before the call.
        """
        ffi = package().ffi
        address = self._resolve(name.encode())
        if address == ffi.NULL:
            raise DeviceError(f"the driver has no function {name}")
        function: Callable[..., Any] = ffi.cast(f"PFN_{name}", address)
        return function

    def check(self, name: str, result: int) -> None:
        """Raise the error that ``result`` of the function ``name`` stands for, if it is one."""
        if result < 0:
            error = failure(name, result)
            if self._lost is not None and isinstance(error, DeviceLost):
                self._lost()
            raise error

    def _checked(self, name: str, function: Callable[..., int]) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            result = function(*arguments)
            if result < 0:
                self.check(name, result)
            return result

        return call
