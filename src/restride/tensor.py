"""Tensor: a buffer on a device and the descriptor that says what it means. Views share the buffer and cost nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from restride import views
from restride.desc import TensorDesc
from restride.device import Device, default_device
from restride.dtypes import DType
from restride.errors import DescriptorError, OutOfDeviceMemory, UnsupportedError
from restride.host import host_array, host_bytes, raw_view
from restride.injective import require_injective
from restride.kernel import KernelSpec, Limits
from restride.plan import Axis, byte_copy_kernels, copy_kernels
from restride.runtime import Memory


class Tensor:
    """Elements in a device buffer. Made by ``rs.asarray``, ``rs.from_buffer``, ``rs.empty`` and the operations.

    Indexing, ``permute``, ``broadcast_to`` and ``reshape`` give views: another descriptor over the same buffer. Reading
    (``numpy``, ``np.asarray``, ``buffer``, DLPack) waits for the operations that write it, and copies to the host.
    """

    __slots__ = ("__weakref__", "desc", "device", "memory")

    desc: TensorDesc
    device: Device
    memory: Memory

    def __init__(self, memory: Memory, desc: TensorDesc, device: Device) -> None:
        if desc.nbytes > memory.nbytes:
            raise DescriptorError(
                f"a buffer of {memory.nbytes} bytes is too small for {desc}, which needs {desc.nbytes}"
            )
        self.memory = memory
        self.desc = desc
        self.device = device

    @property
    def sizes(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return self.desc.sizes

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.desc.dtype

    def __getitem__(self, key: Any) -> Tensor:
        """A view by numpy's basic indexing: integers, slices with any step, ``...`` and ``None``."""
        return self._view(views.index(self.desc, key))

    def permute(self, *axes: SupportsIndex | Sequence[SupportsIndex]) -> Tensor:
        """A view with the axes in another order: ``permute(0, 2, 3, 1)`` or ``permute((0, 2, 3, 1))``."""
        return self._view(views.permute(self.desc, _unpacked(axes)))

    def broadcast_to(self, *sizes: SupportsIndex | Sequence[SupportsIndex]) -> Tensor:
        """A view that repeats axes of size 1, and leading ones, by stride 0, as numpy's ``broadcast_to``."""
        return self._view(views.broadcast_to(self.desc, _unpacked(sizes)))

    def reshape(self, *sizes: SupportsIndex | Sequence[SupportsIndex]) -> Tensor:
        """A view with other sizes, one of them possibly -1.

        Raises:
            DescriptorError: the strides do not allow a view; ``rs.reorder`` makes a packed copy first.
        """
        return self._view(views.reshape(self.desc, _unpacked(sizes)))

    def numpy(self) -> npt.NDArray[Any]:
        """The elements as a new row-major numpy array. A view that is not row-major is laid out on the device first."""
        desc = self.desc
        if desc.numel and not desc.is_row_major:
            packed = empty(TensorDesc(desc.dtype, desc.sizes), self.device)
            copy_elements(self, packed)
            return packed.numpy()
        data = np.empty(desc.numel * desc.dtype.itemsize, np.uint8)
        if desc.numel:
            self.device.runtime.read(self.memory, desc.offset * desc.dtype.itemsize, data.data)
        return data.view(desc.dtype.dtype).reshape(desc.sizes)

    def buffer(self) -> npt.NDArray[np.uint8]:
        """The bytes of the whole buffer that this tensor is a view of, padding included, as a new array."""
        data = np.empty(self.memory.nbytes, np.uint8)
        self.device.runtime.read(self.memory, 0, data.data)
        return data

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError(f"{self!r} lies on a device; a numpy array of it is always a copy")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule over a copy on the host: ``torch.from_dlpack(tensor)`` never shares device memory.

        Raises:
            BufferError: another device is asked for, or that nothing be copied.
            DescriptorError: an element type that numpy does not hand out: bf16 and the 8-bit floats.
        """
        # The capsule is of the unversioned kind that every consumer takes, whatever max_version allows.
        if copy is False or dl_device not in (None, self.__dlpack_device__()) or stream is not None:
            raise BufferError(f"{self!r} hands out copies on the host only, without a stream")
        try:
            return self.numpy().__dlpack__()
        except BufferError as error:
            raise DescriptorError(f"numpy cannot hand {self.desc} to DLPack: {error}") from error

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # kDLCPU

    def __len__(self) -> int:
        if not self.sizes:
            raise TypeError(f"len() of a tensor without axes: {self.desc}")
        return self.sizes[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[position] for position in range(len(self)))

    def __repr__(self) -> str:
        return f"<restride.Tensor {self.desc} on {self.device.info.name}>"

    def _view(self, desc: TensorDesc) -> Tensor:
        return Tensor(self.memory, desc, self.device)


def _unpacked(values: tuple[Any, ...]) -> Iterable[SupportsIndex]:
    """``f(1, 2)`` and ``f((1, 2))`` mean the same."""
    if len(values) == 1 and not isinstance(values[0], SupportsIndex):
        return values[0]  # type: ignore[no-any-return] # views check what is in it
    return values


def empty(desc: TensorDesc, device: Device | None = None) -> Tensor:
    """A tensor over a new buffer of ``desc.nbytes`` bytes whose contents are undefined.

    Raises:
        OutOfDeviceMemory: the device has no room for it.
    """
    _require_desc(desc)
    device = _device(device)
    return Tensor(_allocate(device, desc.nbytes, desc), desc, device)


def from_buffer(raw_bytes: Any, desc: TensorDesc, device: Device | None = None) -> Tensor:
    """A tensor over a copy of a raw physical buffer, padding included: bytes, bytearray, or any contiguous array.

    Raises:
        DescriptorError: the buffer is not contiguous, or smaller than ``desc.nbytes``.
    """
    _require_desc(desc)
    data = raw_view(raw_bytes, desc)
    if data.nbytes < desc.nbytes:
        raise DescriptorError(f"raw_bytes has {data.nbytes} bytes, {desc} needs {desc.nbytes}")
    device = _device(device)
    memory = _allocate(device, data.nbytes, desc)
    if data.nbytes:
        device.runtime.write(memory, 0, data)
    return Tensor(memory, desc, device)


def asarray(array: Any, desc: TensorDesc | None = None, device: Device | None = None) -> Tensor:
    """A tensor with the elements of ``array``, copied to the device.

    Args:
        array: a numpy array of any strides, whatever numpy makes one of, an object with ``__dlpack__`` on the CPU, or a
            Tensor, which is returned as it is.
        desc: layout on the device, of the array's sizes and element type; default: the array's own strides, or packed.
        device: where to; default: ``rs.default_device()``.

    Raises:
        DescriptorError: an element type that restride does not know or a byte-swapped one, more than 8 axes, or a
            ``desc`` that does not fit or overlaps itself.
    """
    if isinstance(array, Tensor):
        tensor = array
        if device is not None and _device(device) is not tensor.device:
            raise DescriptorError(
                f"{tensor!r} lies on another device than {device!r}; pass tensor.numpy() to copy it there"
            )
    else:
        tensor = _upload(host_array(array), _device(device))
    if desc is not None:
        _require_desc(desc)
    if desc is None or (desc == tensor.desc and desc.nbytes == tensor.memory.nbytes):
        return tensor
    laid_out = new_destination(desc, "desc", tensor.desc, tensor.device)
    copy_elements(tensor, laid_out)
    return laid_out


def _upload(array: npt.NDArray[Any], device: Device) -> Tensor:
    try:
        packed = TensorDesc(array.dtype, array.shape)
    except DescriptorError as error:
        raise DescriptorError(f"array of shape {array.shape} cannot become a tensor: {error}") from error
    if not packed.numel:
        return empty(packed, device)
    dtype = packed.dtype
    host = host_bytes(array)
    memory = _allocate(device, host.data.nbytes, packed)
    device.runtime.write(memory, 0, host.data.data)
    if not any(value % dtype.itemsize for value in (host.offset, *host.strides)):
        strides = [stride // dtype.itemsize for stride in host.strides]
        strided = TensorDesc(dtype, array.shape, strides, host.offset // dtype.itemsize)
        return Tensor(memory, packed if strided == packed else strided, device)
    # Strides that split elements, as a field of a packed record has them: gathered byte by byte, on the device.
    laid_out = empty(packed, device)
    axes = (
        *(Axis(*step) for step in zip(array.shape, host.strides, _times(packed.strides, dtype.itemsize), strict=True)),
        Axis(dtype.itemsize, 1, 1),
    )

    def plan(limits: Limits, specialised: bool) -> tuple[KernelSpec, ...]:
        return byte_copy_kernels(axes, host.offset, limits, specialised)

    device.run(plan, (axes, host.offset), array.nbytes, (memory, laid_out.memory))
    return laid_out


def _times(values: tuple[int, ...], factor: int) -> tuple[int, ...]:
    return tuple(value * factor for value in values)


def _require_desc(desc: TensorDesc) -> None:
    if not isinstance(desc, TensorDesc):
        raise DescriptorError(f"desc must be a TensorDesc, got {desc!r}")


def _device(device: Device | None) -> Device:
    if device is None:
        return default_device()
    if not isinstance(device, Device):
        raise DescriptorError(f"device must be a restride.Device, got {device!r}; restride.Device opens one by name")
    return device


def _allocate(device: Device, nbytes: int, desc: TensorDesc) -> Memory:
    try:
        return device.runtime.allocate(max(nbytes, 1))
    except (OutOfDeviceMemory, UnsupportedError) as error:
        raise type(error)(f"{error}; asked for {desc}") from error


def new_destination(desc: TensorDesc, argument: str, like: TensorDesc, device: Device) -> Tensor:
    """A new tensor laid out as ``desc``, once that is proven fit to hold ``like``."""
    require_like(desc, argument, like)
    require_injective(desc, argument)
    return empty(desc, device)


def require_like(desc: TensorDesc, argument: str, like: TensorDesc) -> None:
    """Raise ``DescriptorError`` unless ``desc`` has the sizes and the element type of ``like``."""
    if desc.sizes != like.sizes:
        raise DescriptorError(f"{argument} {desc} must have the sizes of {like}")
    if desc.dtype != like.dtype:
        raise DescriptorError(
            f"{argument} {desc} must have the element type of {like}; this operation does not convert elements"
        )


def copy_elements(src: Tensor, dst: Tensor) -> None:
    """Copy every element of ``src`` to the same index of ``dst``, whose fitness was proven before."""
    if src.desc.numel == 0:
        return

    def plan(limits: Limits, specialised: bool) -> tuple[KernelSpec, ...]:
        return copy_kernels(src.desc, dst.desc, limits, specialised)

    src.device.run(plan, ("copy", src.desc, dst.desc), src.desc.numel, (src.memory, dst.memory))
