"""Load the Vulkan loader through cffi, say how to mend or install it, make structs, and check VkResults."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import Any, TypeAlias

from restride.errors import DeviceError, DeviceLost, DeviceNotFound, OutOfDeviceMemory

Handle: TypeAlias = Any
"""A handle, struct or array. Handles of instances, devices, queues and command buffers are pointers of cffi, all others
integers."""

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

_OUT_OF_MEMORY = ("VK_ERROR_OUT_OF_HOST_MEMORY", "VK_ERROR_OUT_OF_DEVICE_MEMORY", "VK_ERROR_TOO_MANY_OBJECTS")


LIBRARIES = ("libvulkan.so.1", "vulkan-1.dll", "libvulkan.dylib")
"""Names of the loader's library, on Linux, Windows and macOS."""


def missing_layer() -> tuple[str, str]:
    """Why the loader does not find the validation layer, and what to do."""
    if folders := os.environ.get("VK_LAYER_PATH"):
        why = f"it is not in VK_LAYER_PATH ({folders!r}), and the loader looks nowhere else"
        return why, f"use VK_ADD_LAYER_PATH, or {INSTALL_VALIDATION_LAYER}"
    return "it is not installed", INSTALL_VALIDATION_LAYER


@cache
def binding() -> Any:
    """The module ``generated`` with its types (``ffi``) and constants, and as ``lib`` the loader's library.

    Raises:
        DeviceNotFound: no loader on this machine, or cffi is not installed.
    """
    try:
        from restride.runtime.vulkan import generated
    except ImportError as error:
        raise DeviceNotFound(f"the Python package `cffi` cannot be imported ({error}); pip install cffi") from error
    problems = []
    for name in LIBRARIES:
        try:
            generated.lib = generated.ffi.dlopen(name)
        except OSError as error:
            problems.append(str(error))
        else:
            for function in ("vkGetInstanceProcAddr", "vkGetDeviceProcAddr"):
                if not _has(generated, function):
                    lacks = f"{loader_file()} is no Vulkan loader: it has no function {function}"
                    raise DeviceNotFound(f"{lacks}; {INSTALL_LOADER}")
            return generated
    raise DeviceNotFound(f"no Vulkan loader (libvulkan) on this machine ({problems[0]}); {INSTALL_LOADER}")


def _has(vulkan: ModuleType, function: str) -> bool:
    try:
        return bool(getattr(vulkan.lib, function))
    except (AttributeError, vulkan.ffi.error):
        return False


def loader_file() -> str:
    """The path of the loader's library if the dynamic linker tells it, else its name."""
    for name in LIBRARIES:
        try:
            ctypes.CDLL(name).restride  # noqa: B018 - glibc names the file that lacks it
        except OSError:
            continue
        except AttributeError as error:
            return str(error).partition(": ")[0] if os.sep in str(error) else name
    return LIBRARIES[0]


class Owner:
    """Keeps what a struct points to alive as long as the struct; cffi itself keeps only the struct's own bytes."""

    __slots__ = ("fields",)

    def __init__(self, fields: dict[str, object]) -> None:
        self.fields = fields

    def __call__(self, _struct: Handle) -> None:
        """Do nothing: cffi calls this when nothing refers to the struct any more, and then drops this object."""


def struct(name: str, **fields: Any) -> Handle:
    """A pointer to a new struct ``name`` with its ``sType`` filled in; keeps what the fields point to alive.

    A field that is a struct itself takes a pointer to one, whose members are copied.
    """
    kind, values, embedded = _kind(name)
    values = values | fields
    for member in embedded:
        if member in fields:
            values[member] = fields[member][0]
    ffi = binding().ffi
    return ffi.gc(ffi.new(kind, values), Owner(fields))


@cache
def _kind(name: str) -> tuple[Any, dict[str, Any], tuple[str, ...]]:
    """The type of pointers to a struct, its ``sType`` if it has one, and its members that are structs themselves."""
    vulkan = binding()
    kind, types = vulkan.ffi.typeof(f"{name} *"), vulkan.STRUCTURE_TYPES
    embedded = tuple(member for member, field in kind.item.fields if field.type.kind == "struct")
    return kind, {"sType": types[name]} if name in types else {}, embedded


def array(type_name: str, values: int | Sequence[object]) -> Handle:
    """A new C array of ``values``, such as ``array("float", [1.0])``; if ``values`` is a number, of so many zeros."""
    return binding().ffi.new(f"{type_name}[]", values)


def result_name(result: int) -> str:
    """The name of a VkResult: ``VK_ERROR_DEVICE_LOST`` for -4."""
    name: str = binding().ffi.typeof("VkResult").elements.get(result, f"VkResult {result}")
    return name


def failure(call: str, result: int, *, has_device: bool = True) -> DeviceError:
    """The typed error for a negative VkResult.

    has_device: False if there is no device yet. Then no OutOfDeviceMemory is returned: there is no memory of a device
        to exhaust, and a smaller batch would not help.
    """
    name = result_name(result)
    if name in _OUT_OF_MEMORY and has_device:
        return OutOfDeviceMemory(f"{call} failed with {name}: the driver has no memory left")
    if name == "VK_ERROR_DEVICE_LOST":
        return DeviceLost(f"{call} failed with {name}: the device is gone; make a new Device")
    return DeviceError(f"{call} failed with {name}")


def require_handle(call: str, handle: Handle) -> Handle:
    """Return ``handle``, the result of ``call``: some drivers report success with a null handle, which crashes later.

    Raises:
        DeviceError: the handle is null.
    """
    if not handle:
        raise DeviceError(f"{call} succeeded, but the driver gave a null handle")
    return handle


class Functions:
    """The functions of an instance or device, by name; a function that returns a VkResult raises if that is an error.

    Positive results (``VK_TIMEOUT``, ``VK_INCOMPLETE``) are returned.

    lost: None for an instance; for a device, what is called before DeviceLost is raised.
    """

    def __init__(self, resolve: Callable[[bytes], Handle], lost: Callable[[], None] | None = None) -> None:
        self._resolve = resolve
        self._lost = lost

    def __getattr__(self, name: str) -> Callable[..., Any]:
        # Runs only once for each name, because the function then becomes an attribute.
        function = self.unchecked(name)
        if binding().ffi.typeof(f"PFN_{name}").result == binding().ffi.typeof("VkResult"):
            function = self._checked(name, function)
        setattr(self, name, function)
        return function

    def unchecked(self, name: str) -> Callable[..., Any]:
        """The function without the check; pass its result to ``check``.

        No Python function wraps it, because an interrupt could be raised inside the wrapper, before the call.
        """
        ffi = binding().ffi
        address = self._resolve(name.encode())
        if address == ffi.NULL:
            raise DeviceError(f"the driver has no function {name}")
        function: Callable[..., Any] = ffi.cast(f"PFN_{name}", address)
        return function

    def check(self, name: str, result: int) -> None:
        """Raise the error that ``result`` of the function ``name`` stands for, if it is one."""
        if result < 0:
            error = failure(name, result, has_device=self._lost is not None)
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
