"""Tensors of other libraries as numpy arrays over the same memory, and back, through DLPack's C structures.

numpy's DLPack supports neither bfloat16 nor the 8-bit floats, and refuses some strides and read-only producers. So
capsules are read here with ctypes, for all element types, and capsules that numpy creates over unsigned integers get
the intended type. Structures and codes: dlpack.h, version 1.1.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import Any, Protocol, TypedDict, Unpack

import numpy as np

from restride.arguments import MAX_RANK
from restride.dtypes import DTYPES, EXTENSIONS, Array
from restride.errors import DescriptorError

_MAJOR_VERSION = 1

_REFUSALS = (BufferError, RuntimeError, ValueError)
"""The exceptions by which producers refuse. torch raises BufferError for gradients and conjugates, ValueError for meta
tensors, and RuntimeError for nested tensors, those of mkldnn and those under vmap."""

CPU, CUDA = 1, 2
"""Numbers of device types in DLPack."""

_HOST_DEVICES = (CPU, 3, 11)
"""Memory that the host can read: 3 and 11 are pinned memory of the host, CUDA's and ROCm's."""

_OTHER_DEVICES = {
    CUDA: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 9: "VPI", 10: "ROCm", 12: "extension", 13: "CUDA managed",
    14: "oneAPI", 15: "WebGPU", 16: "Hexagon", 17: "MAIA", 18: "Trainium",
}  # fmt: skip

_BY_CODE = {(element.format.dlpack, element.format.bits): element.dtype for element in DTYPES.values()}
"""Numpy types by their DLPack type code and bits."""
_CODES_OF_EXTENSIONS = {element.dtype: (element.format.dlpack, element.format.bits) for element in EXTENSIONS}
"""The DLPack code and bits of ml_dtypes' types, which numpy's own DLPack does not support."""
_CODE_NAMES = (
    "int", "uint", "float", "opaque handle", "bfloat", "complex", "bool", "float8_e3m4", "float8_e4m3",
    "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
    "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
)  # fmt: skip


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


# PYFUNCTYPE keeps the GIL during a deleter: producers written in Python need it, C producers take it themselves.
_Deleter = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


class _DLManagedTensor(ctypes.Structure):
    _fields_ = (("tensor", _DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    )


_capsule_is = ctypes.pythonapi.PyCapsule_IsValid
_capsule_is.restype, _capsule_is.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_capsule_rename = ctypes.pythonapi.PyCapsule_SetName
_capsule_rename.restype, _capsule_rename.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)

# These names live as long as the module, because a capsule keeps only the pointer to its name.
_NAMES: tuple[tuple[bytes, bytes, type[_DLManagedTensor | _DLManagedTensorVersioned]], ...] = (
    (b"dltensor_versioned", b"used_dltensor_versioned", _DLManagedTensorVersioned),
    (b"dltensor", b"used_dltensor", _DLManagedTensor),
)


class SupportsDLPack(Protocol):
    """A tensor of any library that hands out its memory by DLPack."""

    def __dlpack__(self) -> object:
        """A capsule over the memory."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """The kind of device that has the memory, and its number."""


class _Owner:
    """Keeps the producer's tensor and calls its deleter once, when the last array over it is gone.

    numpy reads ``__array_interface__`` and keeps this object as the base of the array.
    """

    def __init__(self, address: int, deleter: int | None) -> None:
        self.__array_interface__: dict[str, object] = {}
        # At interpreter exit arrays may still be in use: the producer's memory is then left to the end of the process.
        self.release = weakref.finalize(self, _delete, address, deleter)
        self.release.atexit = False


class _Options(TypedDict, total=False):
    """Arguments of ``__dlpack__`` that are passed on."""

    max_version: tuple[int, int] | None


def _delete(address: int, deleter: int | None) -> None:
    if deleter:
        _Deleter(deleter)(address)


def device_type(producer: Any) -> int:
    """The DLPack type of the device that holds ``producer``.

    Raises:
        DescriptorError: the producer has no ``__dlpack_device__``, or refuses.
    """
    try:
        return int(producer.__dlpack_device__()[0])
    except AttributeError as error:
        raise DescriptorError(
            f"{type(producer).__name__} has no __dlpack_device__, so it is no DLPack tensor"
        ) from error
    except _REFUSALS as error:
        raise DescriptorError(f"{type(producer).__name__} refuses to say where its memory is: {error}") from error


def array_from_dlpack(producer: Any, stream: int | None = None) -> Array:
    """A read-only numpy array over the memory of ``producer``, an object with ``__dlpack__`` and ``__dlpack_device__``.

    Nothing is copied. Strides are the producer's, zero and negative ones included; bfloat16 and the 8-bit floats are
    ml_dtypes' types. The producer's memory stays alive until the array and every view of it are dropped; then its
    deleter runs, once.

    stream: a CUDA stream that the producer makes wait for its work. The array is then over addresses that the host must
        not read. None: memory of the host.

    Raises:
        DescriptorError: the memory is elsewhere, the producer refuses, torch negates the view's elements on reading, or
            restride does not support the element type, rank or version.

    Source: Python array API standard, ``__dlpack__``; dlpack.h 1.1.
    """
    if callable(is_neg := getattr(producer, "is_neg", None)) and is_neg():
        # E.g. torch's z.conj().imag: its elements are negated on reading, which DLPack cannot express.
        raise DescriptorError(
            f"{type(producer).__name__} is a view with the negative bit set: its memory holds the negated elements, "
            f"pass x.resolve_neg(), for sizes {tuple(producer.shape)}"
        )
    devices = _HOST_DEVICES if stream is None else (CUDA,)
    lies_on = device_type(producer)
    if lies_on not in devices:
        raise DescriptorError(
            f"DLPack tensor lies on device type {lies_on} ({_OTHER_DEVICES.get(lies_on, 'unknown')}); "
            f"only host memory can be read: copy it to the CPU first"
        )
    return _array_of(_capsule_of(producer, {} if stream is None else {"stream": stream}), devices)


def capsule_over(array: Array, device: tuple[int, int] = (CPU, 0), **options: Unpack[_Options]) -> Any:
    """A DLPack capsule over the memory of ``array``; nothing is copied. ``options`` are those of ``__dlpack__``.

    device: DLPack type and number of the device that the array's addresses belong to.

    Raises:
        BufferError, TypeError: numpy refuses.
    """
    is_extension = array.dtype in _CODES_OF_EXTENSIONS
    if device == (CPU, 0) and not is_extension:
        return array.__dlpack__(**options)
    capsule: Any = (array.view(f"u{array.itemsize}") if is_extension else array).__dlpack__(**options)
    for name, _, structure in _NAMES:
        if _capsule_is(capsule, name):
            tensor = structure.from_address(_capsule_pointer(capsule, name)).tensor
            tensor.device_type, tensor.device_id = device
            if is_extension:
                tensor.code, tensor.bits = _CODES_OF_EXTENSIONS[array.dtype]
    return capsule


def _capsule_of(producer: Any, options: dict[str, int]) -> object:
    """The producer's capsule: of version 1 if it supports that, else the older unversioned one."""
    try:
        try:
            return producer.__dlpack__(max_version=(_MAJOR_VERSION, 1), **options)
        except TypeError:
            # Producers older than DLPack 1.0 do not know the argument; the standard says to retry without it.
            return producer.__dlpack__(**options)
    except _REFUSALS as error:
        needs_gradient = getattr(producer, "requires_grad", False) is True
        way = "; rs.interop.torch has operations with gradients" if needs_gradient else ""
        raise DescriptorError(f"{type(producer).__name__} refuses to hand out its memory: {error}{way}") from error


def _array_of(capsule: object, devices: tuple[int, ...] = _HOST_DEVICES) -> Array:
    """Take the tensor out of ``capsule``; from here on restride must call its deleter, even for a refused one."""
    for name, used_name, structure in _NAMES:
        if _capsule_is(capsule, name):
            address: int = _capsule_pointer(capsule, name)
            managed = structure.from_address(address)
            _capsule_rename(capsule, used_name)
            owner = _Owner(address, managed.deleter)
            try:
                return _viewed(managed, owner, devices)
            except DescriptorError:
                owner.release()
                raise
    raise DescriptorError(f"__dlpack__ returned {capsule!r}, not an unused capsule named dltensor(_versioned)")


def _viewed(managed: _DLManagedTensor | _DLManagedTensorVersioned, owner: _Owner, devices: tuple[int, ...]) -> Array:
    """The tensor as an array whose base is ``owner``. Strides count elements; null means packed, last axis fastest."""
    if isinstance(managed, _DLManagedTensorVersioned) and managed.major > _MAJOR_VERSION:
        raise DescriptorError(f"DLPack version {managed.major}.{managed.minor} is newer than {_MAJOR_VERSION}.x")
    tensor: _DLTensor = managed.tensor
    if tensor.device_type not in devices:
        raise DescriptorError(f"DLPack tensor lies on device type {tensor.device_type}, and its producer named another")
    code = _CODE_NAMES[tensor.code] if tensor.code < len(_CODE_NAMES) else f"type code {tensor.code}"
    if tensor.lanes != 1:
        raise DescriptorError(
            f"DLPack elements of {tensor.lanes} lanes ({code}{tensor.bits}) are not supported; use 1 lane"
        )
    if (tensor.code, tensor.bits) not in _BY_CODE:
        raise DescriptorError(f"DLPack element type {code} of {tensor.bits} bits is not one of restride's")
    dtype = _BY_CODE[tensor.code, tensor.bits]
    if not 0 <= tensor.ndim <= MAX_RANK:
        raise DescriptorError(f"DLPack tensor has {tensor.ndim} dimensions; 0 to {MAX_RANK} are supported")
    sizes = tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()
    if any(size < 0 for size in sizes):
        raise DescriptorError(f"DLPack tensor has a negative size: {list(sizes)}")
    if 0 in sizes or not tensor.data:
        if 0 not in sizes:
            raise DescriptorError(f"DLPack tensor of sizes {list(sizes)} has no data")
        owner.release()
        return np.empty(sizes, dtype)
    strides = None
    if sizes and tensor.strides:
        strides = tuple(stride * dtype.itemsize for stride in tensor.strides[: tensor.ndim])
    owner.__array_interface__ = {
        "version": 3,
        "data": (tensor.data + tensor.byte_offset, True),
        "shape": sizes,
        # Unsigned integers of the same width: the interface has no name for bfloat16.
        "typestr": np.dtype(f"u{dtype.itemsize}").str,
        "strides": strides,
    }
    return np.asarray(owner).view(dtype)
