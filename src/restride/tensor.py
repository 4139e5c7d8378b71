"""Tensor: a buffer on a device and the descriptor that says what it means. Views share the buffer and cost nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn, SupportsIndex

import numpy as np
import numpy.typing as npt

from restride import views
from restride.arithmetic import NO_ARITHMETIC, Arithmetic
from restride.desc import TensorDesc
from restride.device import Device, Planner, default_device
from restride.dtypes import DType
from restride.errors import DescriptorError, OutOfDeviceMemory, UnsupportedError
from restride.injective import require_injective
from restride.kernel import KernelSpec, Limits
from restride.plan import convert_kernels, copy_kernels, padding_kernels
from restride.runtime import Memory


class Tensor:
    """Elements in a device buffer. Made by ``rs.asarray``, ``rs.from_buffer``, ``rs.empty`` and the operations.

    Indexing, ``permute``, ``broadcast_to`` and ``reshape`` give views: another descriptor over the same buffer. Reading
    (``numpy``, ``np.asarray``, ``buffer``, DLPack) waits for the operations that write it, and copies to the host.
    """

    __slots__ = ("__weakref__", "_desc", "_device", "_memory")

    def __init__(self, memory: Memory, desc: TensorDesc, device: Device) -> None:
        if desc.nbytes > memory.nbytes:
            raise DescriptorError(
                f"a buffer of {memory.nbytes} bytes is too small for {desc}, which needs {desc.nbytes}"
            )
        self._memory = memory
        self._desc = desc
        self._device = device

    @property
    def desc(self) -> TensorDesc:
        """What the buffer means: element type, sizes, strides and offset."""
        return self._desc

    @property
    def device(self) -> Device:
        """The device that the buffer lies on."""
        return self._device

    @property
    def memory(self) -> Memory:
        """The buffer, which views share."""
        return self._memory

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

    def numpy(self, copy: bool = True) -> npt.NDArray[Any]:
        """The elements as a new row-major numpy array. A view that is not row-major is laid out on the device first.

        Raises:
            UnsupportedError: ``copy`` is False; this version always copies.
        """
        require_copy(copy)
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
            BufferError: another device is asked for, or that nothing be copied, or the element type is bf16 or an
                8-bit float, which numpy does not hand out.
        """
        # The capsule is of the unversioned kind that every consumer takes, whatever max_version allows.
        if copy is False or dl_device not in (None, self.__dlpack_device__()) or stream is not None:
            raise BufferError(f"{self!r} hands out copies on the host only, without a stream")
        try:
            return self.numpy().__dlpack__()
        except BufferError as error:
            raise BufferError(f"numpy cannot hand {self.desc} to DLPack: {error}") from error

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # kDLCPU

    def __len__(self) -> int:
        if not self.sizes:
            raise TypeError(f"len() of a tensor without axes: {self.desc}")
        return self.sizes[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[position] for position in range(len(self)))

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} has no truth value: its elements lie on a device; .numpy() brings them here")

    def __contains__(self, value: object) -> bool:
        raise TypeError(
            f"{self!r} cannot be searched for {value!r}: its elements lie on a device; .numpy() brings them here"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} lies on a device and is neither copied nor pickled; .numpy() copies its elements")

    def __repr__(self) -> str:
        return f"<restride.Tensor {self.desc} on {self.device.info.name}>"

    def _view(self, desc: TensorDesc) -> Tensor:
        return Tensor(self.memory, desc, self.device)


def _unpacked(values: tuple[Any, ...]) -> Iterable[SupportsIndex]:
    """``f(1, 2)`` and ``f((1, 2))`` mean the same."""
    if len(values) == 1 and not isinstance(values[0], SupportsIndex):
        return values[0]  # type: ignore[no-any-return] # views check what is in it
    return values


def empty(desc: TensorDesc | str, device: Device | None = None) -> Tensor:
    """A tensor over a new buffer of ``desc.nbytes`` bytes whose contents are undefined. ``desc`` may be its text.

    Raises:
        OutOfDeviceMemory: the device has no room for it.
    """
    its_desc = as_desc(desc)
    its_device = as_device(device)
    return Tensor(allocate(its_device, its_desc.nbytes, its_desc), its_desc, its_device)


def require_copy(copy: bool) -> None:
    """Refuse ``copy=False``: this version does not share memory between host and device."""
    if not copy:
        raise UnsupportedError(f"copy={copy!r} would share memory between host and device; this version copies")


def as_desc(desc: TensorDesc | str) -> TensorDesc:
    """``desc``, or the descriptor that it writes."""
    if isinstance(desc, str):
        return TensorDesc.parse(desc)
    if not isinstance(desc, TensorDesc):
        raise DescriptorError(
            f"desc must be a TensorDesc or its text, got {' '.join(repr(desc).split())[:60]} ({type(desc).__name__})"
        )
    return desc


def as_device(device: Device | None) -> Device:
    """``device``, or the default one."""
    if device is None:
        return default_device()
    if not isinstance(device, Device):
        raise DescriptorError(f"device must be a restride.Device, got {device!r}; restride.Device opens one by name")
    return device


def allocate(device: Device, nbytes: int, desc: TensorDesc) -> Memory:
    """A buffer for ``desc``; an error says what it was for."""
    try:
        return device.runtime.allocate(nbytes)
    except (OutOfDeviceMemory, UnsupportedError) as error:
        raise type(error)(f"{error}; asked for {desc}") from error


def new_destination(
    desc: TensorDesc, argument: str, like: TensorDesc, device: Device, dtype: DType | None = None
) -> Tensor:
    """A new tensor laid out as ``desc``, once that is proven fit to hold ``like``, as ``dtype`` if one is given."""
    require_like(desc, argument, like, dtype)
    require_injective(desc, argument)
    return empty(desc, device)


def require_like(desc: TensorDesc, argument: str, like: TensorDesc, dtype: DType | None = None) -> None:
    """Check that ``desc`` has the sizes of ``like``, and the element type ``dtype`` or that of ``like``.

    Raises:
        DescriptorError: it does not.
    """
    if desc.sizes != like.sizes:
        raise DescriptorError(f"{argument} {desc} must have the sizes of {like}")
    if dtype is None and desc.dtype != like.dtype:
        raise DescriptorError(f"{argument} {desc} must have the element type of {like}; rs.reorder converts elements")
    if dtype is not None and desc.dtype != dtype:
        raise DescriptorError(f"{argument} {desc} must have the element type {dtype} that is asked for, from {like}")


def copy_elements(
    src: Tensor, dst: Tensor, whole: TensorDesc | None = None, arithmetic: Arithmetic = NO_ARITHMETIC
) -> None:
    """Bring every element of ``src`` to the same index of ``dst``, whose fitness was proven before.

    whole: the layout of the buffer of ``dst``, whose padding is to be written; None: that of ``dst`` itself. It stays
        where a sum reads the old elements, or ``dst`` is ``src``: padding is written before elements, and over them.
    arithmetic: what is done to them, with scales in the axes of ``src`` and ``dst``.
    """
    padded = dst.desc if whole is None else whole
    in_place = dst.memory is src.memory and dst.desc == src.desc and dst.desc.numel > 0
    is_copy = arithmetic.is_conversion and src.dtype == dst.dtype
    if (not src.desc.numel and not padded.is_whole) or (in_place and is_copy):
        return
    keeps_padding = in_place or arithmetic.sum_scale is not None

    def plan(limits: Limits) -> Iterator[KernelSpec]:
        if not keeps_padding:
            yield from padding_kernels(padded, limits)
        if is_copy:
            yield from copy_kernels(src.desc, dst.desc, limits)
        else:
            yield from convert_kernels(src.desc, dst.desc, arithmetic, limits)

    run(plan, src, dst)


def run(plan: Planner, src: Tensor, dst: Tensor) -> None:
    """Start the kernels that ``plan`` makes.

    Raises:
        UnsupportedError: the runtime cannot bind such buffers.
    """
    try:
        src.device.run(plan, (src.memory, dst.memory))
    except UnsupportedError as error:
        raise UnsupportedError(f"{error}; asked for {src.desc} to {dst.desc}") from error
