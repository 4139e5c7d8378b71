"""CUDA's driver, loaded at first use: maps memory that Vulkan exported to addresses of the same GPU's CUDA device.

Only the driver API is called, through ctypes. Source of the functions, structures and codes: CUDA Driver API, Primary
Context Management and External Resource Interoperability, as they are since CUDA 11.4.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from ctypes import POINTER, byref, c_char, c_char_p, c_int, c_uint, c_uint64, c_void_p
from functools import cache
from typing import Any

from restride.errors import DeviceError, OutOfDeviceMemory, UnsupportedError
from restride.runtime.interface import ExternalMemory, bytes_at
from restride.runtime.open_file import OpenFile

LEGACY_STREAM = 1
"""The legacy default stream of CUDA, CU_STREAM_LEGACY; DLPack gives it the number 1 too."""

_LIBRARY = "libcuda.so.1"
_OUT_OF_MEMORY = 2
_OPAQUE_FD = 1
_DEDICATED = 1
"""CUDA_EXTERNAL_MEMORY_DEDICATED; every export of the runtime vulkan is dedicated."""


class _Handle(ctypes.Union):
    _fields_ = (("fd", c_int), ("win32", c_void_p * 2))


class _HandleDesc(ctypes.Structure):
    """CUDA_EXTERNAL_MEMORY_HANDLE_DESC. size: of the whole allocation, in bytes."""

    _fields_ = (
        ("type", c_int),
        ("handle", _Handle),
        ("size", c_uint64),
        ("flags", c_uint),
        ("reserved", c_uint * 16),
    )


class _BufferDesc(ctypes.Structure):
    """CUDA_EXTERNAL_MEMORY_BUFFER_DESC: the bytes of the allocation to map."""

    _fields_ = (("offset", c_uint64), ("size", c_uint64), ("flags", c_uint), ("reserved", c_uint * 16))


_SIGNATURES: dict[str, tuple[object, ...]] = {
    "cuInit": (c_uint,),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetUuid_v2": (POINTER(c_char * 16), c_int),
    "cuDevicePrimaryCtxRetain": (POINTER(c_void_p), c_int),
    "cuDevicePrimaryCtxRelease_v2": (c_int,),
    "cuCtxPushCurrent_v2": (c_void_p,),
    "cuCtxPopCurrent_v2": (POINTER(c_void_p),),
    "cuCtxSynchronize": (),
    "cuStreamSynchronize": (c_void_p,),
    "cuImportExternalMemory": (POINTER(c_void_p), POINTER(_HandleDesc)),
    "cuExternalMemoryGetMappedBuffer": (POINTER(c_uint64), c_void_p, POINTER(_BufferDesc)),
    "cuMemFree_v2": (c_uint64,),
    "cuDestroyExternalMemory": (c_void_p,),
}
"""The argument types of each function; all return a CUresult."""


class _Driver:
    """The functions of a CUDA driver."""

    def __init__(self, library: ctypes.CDLL) -> None:
        """Start the driver.

        Raises:
            UnsupportedError: it lacks a function, or does not start, for instance because there is no CUDA device.
        """
        self._functions: dict[str, Callable[..., int]] = {}
        for name, types in _SIGNATURES.items():
            function = getattr(library, name, None)
            if function is None:
                raise UnsupportedError(f"the CUDA driver has no {name}: it is older than CUDA 11.4")
            function.restype, function.argtypes = c_int, types
            self._functions[name] = function
        try:
            self.call("cuInit", 0)
        except DeviceError as error:
            raise UnsupportedError(f"the CUDA driver does not start: {error}") from error

    def call(self, name: str, *arguments: object) -> None:
        """Call a function; raise the error that it returns."""
        result = self._functions[name](*arguments)
        if result:
            text = c_char_p()
            self._functions["cuGetErrorName"](result, byref(text))
            message = f"{name} failed with {text.value.decode() if text.value else f'CUresult {result}'}"
            raise OutOfDeviceMemory(message) if result == _OUT_OF_MEMORY else DeviceError(message)

    @contextmanager
    def current(self, context: c_void_p) -> Iterator[None]:
        """Make the context current for this thread, and restore the previous one at the end."""
        self.call("cuCtxPushCurrent_v2", context)
        try:
            yield
        finally:
            self.call("cuCtxPopCurrent_v2", byref(c_void_p()))

    def call_in(self, context: c_void_p, name: str, *arguments: object) -> None:
        with self.current(context):
            self.call(name, *arguments)


def _library() -> Any:
    try:
        return ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise UnsupportedError(f"there is no CUDA driver ({_LIBRARY}) on this machine") from error


@cache
def _driver() -> _Driver:
    return _Driver(_library())


@cache
def ordinal(uuid: str) -> int:
    """The number of the CUDA device of this UUID, 32 hexadecimal digits, in this process.

    Raises:
        UnsupportedError: there is no CUDA driver, or it shows no such device.
    """
    driver, count, device, own = _driver(), c_int(), c_int(), (c_char * 16)()
    driver.call("cuDeviceGetCount", byref(count))
    for number in range(count.value):
        driver.call("cuDeviceGet", byref(device), number)
        driver.call("cuDeviceGetUuid_v2", byref(own), device)
        if own.raw.hex() == uuid:
            return number
    raise UnsupportedError(f"none of the {count.value} CUDA devices of this process has the UUID {uuid}")


class CudaMemory:
    """Exported memory as CUDA addresses it, until this object is dropped.

    Before the memory is unmapped, CUDA's pending work in its context is awaited: kernels that use a dropped tensor may
    still be in flight.

    owner: kept alive as long as this object. address, nbytes: of the whole allocation.
    __array_interface__: lets numpy make an array of these addresses, which the host must not read.
    """

    def __init__(self, file: OpenFile, external: ExternalMemory, owner: Any) -> None:
        """Map the memory. CUDA takes ownership of the descriptor; if that fails, ``file`` keeps it.

        Raises:
            UnsupportedError: its device is no CUDA device of this process.
            OutOfDeviceMemory, DeviceError: the driver refuses.
        """
        with ExitStack() as undo:
            self._driver = driver = _driver()
            device, context, memory, address = c_int(), c_void_p(), c_void_p(), c_uint64()
            driver.call("cuDeviceGet", byref(device), ordinal(external.device_uuid))
            driver.call("cuDevicePrimaryCtxRetain", byref(context), device)
            undo.callback(driver.call, "cuDevicePrimaryCtxRelease_v2", device)
            size = external.allocation_bytes
            with driver.current(context):
                handle = _HandleDesc(type=_OPAQUE_FD, handle=_Handle(fd=file.fd), size=size, flags=_DEDICATED)
                fd = file.release()  # before the call: an interrupt after it must not close what is CUDA's
                try:
                    driver.call("cuImportExternalMemory", byref(memory), byref(handle))
                except DeviceError:
                    file.place[0] = fd
                    raise
                undo.callback(driver.call_in, context, "cuDestroyExternalMemory", memory)
                buffer = _BufferDesc(size=size)
                driver.call("cuExternalMemoryGetMappedBuffer", byref(address), memory, byref(buffer))
                undo.callback(driver.call_in, context, "cuMemFree_v2", address)
                undo.callback(driver.call_in, context, "cuCtxSynchronize")
            self._context, self.owner, self.address, self.nbytes = context, owner, address.value, size
            self.__array_interface__ = bytes_at(self.address, size, is_readonly=False)
            # At process exit CUDA may be torn down before this object, and frees the memory itself.
            weakref.finalize(self, _release, os.getpid(), undo.pop_all().close).atexit = False

    def wait(self, stream: int) -> None:
        """Wait for all work submitted to the stream so far."""
        self._driver.call_in(self._context, "cuStreamSynchronize", stream)


def _release(process: int, release: Callable[[], None]) -> None:
    if os.getpid() == process:  # a child made by fork has no CUDA
        release()
