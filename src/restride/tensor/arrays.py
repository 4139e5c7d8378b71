"""Host arrays and raw buffers as tensors: the way in."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from restride.errors import DescriptorError, UnsupportedError
from restride.layout import TensorDesc
from restride.layout.overlap import require_injective, require_like
from restride.layout.tensor_desc import packed_strides
from restride.plan import Axis, byte_copy_kernels
from restride.plan.steps import RESULT, SOURCE, Site, Steps
from restride.tensor.device import Device
from restride.tensor.host import host_array, host_bytes, host_span, raw_view, require_own_memory
from restride.tensor.tensor import Tensor, as_desc, as_device, copy_elements, empty


def from_buffer(raw_bytes: Any, desc: TensorDesc | str, device: Device | None = None) -> Tensor:
    """A tensor over a copy of a raw physical buffer, padding included: bytes, bytearray, or any contiguous array.

    Raises:
        DescriptorError: the buffer is not contiguous, or smaller than ``desc.nbytes``.
    """
    its_desc = as_desc(desc)
    data = raw_view(raw_bytes, its_desc)
    if data.nbytes < its_desc.nbytes:
        raise DescriptorError(f"raw_bytes has {data.nbytes} bytes, {its_desc} needs {its_desc.nbytes}")
    its_device = as_device(device)
    memory = its_device.allocate(its_desc, data.nbytes)
    if data.nbytes:
        its_device.runtime.write(memory, 0, data)
    return Tensor(memory, its_desc, its_device)


def asarray(
    array: Any, desc: TensorDesc | str | None = None, device: Device | None = None, copy: bool | None = True
) -> Tensor:
    """A tensor with the elements of ``array``.

    Args:
        array: a numpy array of any strides, whatever numpy makes one of, an object with ``__dlpack__`` on the CPU, or a
            Tensor, which is returned as it is.
        desc: layout on the device, of the array's sizes and element type; default: the array's own strides, or packed.
        device: where to; default: ``rs.default_device()``.
        copy: True: to memory of the device, and the array may change at once. False: never; the device reads the
            array's own memory, which it keeps alive. Nobody may write there until the operations that read it are
            finished, and it is no ``out``. None: a copy only where one is needed; as False, where none is. Of an array
            that ``numpy(copy=False)`` made the device does not know that it is a tensor's: order and overlap with what
            writes that tensor are the caller's.

    Raises:
        DescriptorError: an element type that restride does not know or a byte-swapped one, more than 8 axes, or a
            ``desc`` that does not fit or overlaps itself.
        UnsupportedError: ``desc`` has another element type, or ``copy`` is False and the device has memory of its own
            or cannot import that of the host (the runtime kompute never does), elements do not lie at multiples of
            their size, ``array`` is neither a numpy array nor of DLPack, or ``desc`` is another layout than it has.
    """
    if isinstance(array, Tensor):
        if device is not None and as_device(device) is not array.device:
            raise DescriptorError(
                f"{array!r} lies on another device than {device!r}; pass tensor.numpy() to copy it there"
            )
        return array if desc is None else _laid_out(array, as_desc(desc), copy)
    host = host_array(array)
    packed = _packed(host)
    if desc is not None:
        require_like(as_desc(desc), "desc", packed)  # before anything is uploaded
        own = _own(host, packed)
        if as_desc(desc) != own:
            if copy is False:
                raise UnsupportedError(f"copy=False: elements that lie as {own} are copied to lie as desc, {desc}")
            copy = True
    its_device = as_device(device)
    if not copy:
        try:
            require_own_memory(array)
            return _imported(host, packed, its_device)
        except UnsupportedError:
            if copy is not None:
                raise
    tensor = _upload(host, packed, its_device)
    return tensor if desc is None else _laid_out(tensor, as_desc(desc), copy)


def _laid_out(tensor: Tensor, desc: TensorDesc, copy: bool | None) -> Tensor:
    if desc == tensor.desc and desc.nbytes == tensor.memory.nbytes:
        return Tensor(tensor.memory, desc, tensor.device)
    require_like(desc, "desc", tensor.desc)
    require_injective(desc, "desc")
    if copy is False:
        raise UnsupportedError(f"copy=False: elements that lie as {tensor.desc} are copied to lie as desc, {desc}")
    laid_out = empty(desc, tensor.device)
    copy_elements(tensor, laid_out)
    return laid_out


def _packed(array: npt.NDArray[Any]) -> TensorDesc:
    try:
        return TensorDesc(array.dtype, array.shape)
    except DescriptorError as error:
        raise DescriptorError(f"array of shape {array.shape} cannot become a tensor: {error}") from error


def _own(array: npt.NDArray[Any], packed: TensorDesc) -> TensorDesc | None:
    """How an array lies, from its lowest byte on; None: its strides split elements."""
    if not packed.numel:
        return packed
    host = host_span(array)
    return _strided(packed, host.offset, host.strides)


def _imported(array: npt.NDArray[Any], packed: TensorDesc, device: Device) -> Tensor:
    """The tensor over the memory that the array lies in.

    The device's memory begins a little before the array's where that is not aligned as bindings must be: f32 at address
    0x1008, aligned to 16 bytes, is element 2 of a memory that begins at 0x1000.
    """
    if not packed.numel:
        return empty(packed, device)
    host = host_span(array)
    try:
        memory, start = device.runtime.import_bytes(host.data.data)
    except UnsupportedError as error:
        raise UnsupportedError(f"copy=False: {error}; asked for {packed}") from error
    strided = _strided(packed, start + host.offset, host.strides)
    if strided is None:
        raise UnsupportedError(
            f"copy=False: elements of {packed} must lie at multiples of their {packed.dtype.itemsize} bytes; these lie "
            f"at address {array.ctypes.data:#x}, with strides of {array.strides} bytes"
        )
    return Tensor(memory, strided, device)


def _strided(packed: TensorDesc, offset: int, strides: tuple[int, ...]) -> TensorDesc | None:
    """The descriptor of elements at these byte offsets; None: they lie between the multiples of their size."""
    itemsize = packed.dtype.itemsize
    if any(value % itemsize for value in (offset, *strides)):
        return None
    found = TensorDesc(packed.dtype, packed.sizes, [stride // itemsize for stride in strides], offset // itemsize)
    return packed if found == packed else found


def _upload(array: npt.NDArray[Any], packed: TensorDesc, device: Device) -> Tensor:
    if not packed.numel:
        return empty(packed, device)
    dtype = packed.dtype
    host = host_bytes(array)
    memory = device.allocate(packed, host.data.nbytes)
    device.runtime.write(memory, 0, host.data.data)
    strided = _strided(packed, host.offset, host.strides)
    if strided is not None:
        return Tensor(memory, strided, device)
    # Strides that split elements, as a field of a packed record has them: gathered byte by byte, on the device.
    laid_out = empty(packed, device)
    axes = (
        *(Axis(*step) for step in zip(array.shape, host.strides, _row_major_bytes(array), strict=True)),
        Axis(dtype.itemsize, 1, 1),
    )

    steps = Steps(device.limits)
    target = Site(RESULT, packed)
    steps.add(Site(SOURCE, packed), target, lambda: byte_copy_kernels(axes, host.offset, device.limits))
    device.run(steps, memory, laid_out.memory)
    return laid_out


def _row_major_bytes(array: npt.NDArray[Any]) -> tuple[int, ...]:
    return packed_strides((*array.shape, array.itemsize), range(array.ndim + 1)[::-1])[:-1]
