"""Host arrays and raw buffers as tensors: the way in."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from restride.desc import TensorDesc
from restride.desc.checks import packed_strides
from restride.device import Device
from restride.errors import DescriptorError
from restride.host import host_array, host_bytes, raw_view
from restride.injective import require_injective, require_like
from restride.plan import Axis, byte_copy_kernels
from restride.steps import RESULT, SOURCE, Site, Steps
from restride.tensor import Tensor, as_desc, as_device, copy_elements, empty, require_copy


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
    array: Any, desc: TensorDesc | str | None = None, device: Device | None = None, copy: bool = True
) -> Tensor:
    """A tensor with the elements of ``array``, copied to the device.

    Args:
        array: a numpy array of any strides, whatever numpy makes one of, an object with ``__dlpack__`` on the CPU, or a
            Tensor, which is returned as it is.
        desc: layout on the device, of the array's sizes and element type; default: the array's own strides, or packed.
        device: where to; default: ``rs.default_device()``.
        copy: True; this version always copies.

    Raises:
        DescriptorError: an element type that restride does not know or a byte-swapped one, more than 8 axes, or a
            ``desc`` that does not fit or overlaps itself.
        UnsupportedError: ``copy`` is False, or ``desc`` has another element type.
    """
    require_copy(copy)
    if isinstance(array, Tensor):
        if device is not None and as_device(device) is not array.device:
            raise DescriptorError(
                f"{array!r} lies on another device than {device!r}; pass tensor.numpy() to copy it there"
            )
        return array if desc is None else _laid_out(array, as_desc(desc))
    host = host_array(array)
    packed = _packed(host)
    if desc is None:
        return _upload(host, packed, as_device(device))
    require_like(as_desc(desc), "desc", packed)  # before anything is uploaded
    return _laid_out(_upload(host, packed, as_device(device)), as_desc(desc))


def _laid_out(tensor: Tensor, desc: TensorDesc) -> Tensor:
    if desc == tensor.desc and desc.nbytes == tensor.memory.nbytes:
        return Tensor(tensor.memory, desc, tensor.device)
    require_like(desc, "desc", tensor.desc)
    require_injective(desc, "desc")
    laid_out = empty(desc, tensor.device)
    copy_elements(tensor, laid_out)
    return laid_out


def _packed(array: npt.NDArray[Any]) -> TensorDesc:
    try:
        return TensorDesc(array.dtype, array.shape)
    except DescriptorError as error:
        raise DescriptorError(f"array of shape {array.shape} cannot become a tensor: {error}") from error


def _upload(array: npt.NDArray[Any], packed: TensorDesc, device: Device) -> Tensor:
    if not packed.numel:
        return empty(packed, device)
    dtype = packed.dtype
    host = host_bytes(array)
    memory = device.allocate(packed, host.data.nbytes)
    device.runtime.write(memory, 0, host.data.data)
    if not any(value % dtype.itemsize for value in (host.offset, *host.strides)):
        strides = [stride // dtype.itemsize for stride in host.strides]
        strided = TensorDesc(dtype, array.shape, strides, host.offset // dtype.itemsize)
        return Tensor(memory, packed if strided == packed else strided, device)
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
