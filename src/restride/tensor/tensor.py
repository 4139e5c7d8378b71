"""Tensor: a buffer on a device and the descriptor of its elements; views share the buffer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

import numpy as np
import numpy.typing as npt

from restride.arguments import flag, integer
from restride.dtypes import Array, DType, DTypeLike, as_dtype
from restride.errors import DescriptorError, ErrorContext, UnsupportedError, prefixed, shown
from restride.layout import TensorDesc, as_desc, views
from restride.layout.overlap import require_whole_elements
from restride.layout.tensor_desc import packed, with_strides
from restride.plan.steps import RESULT, SOURCE, Site, Steps
from restride.runtime import ExternalMemory, Memory, export_kp_tensor
from restride.runtime.cuda_driver import ordinal
from restride.runtime.host_memory import HOST_MEMORY
from restride.tensor.cuda import cuda_bytes
from restride.tensor.device import Device, default_device, opened_by_name
from restride.tensor.dlpack import CPU, CUDA, capsule_over
from restride.tensor.exported import Exported
from restride.words import METHODS as MISSING

METHODS: dict[str, Callable[..., Any]] = {}
"""Functions that methods of Tensor call and that higher modules register: reorder, assign, equal, html, namespace."""

_SMALL = 1 << 20
"""Smaller results, in bytes, come from numpy: there is room for them, however much memory ``HOST_MEMORY`` keeps."""

_API_VERSIONS = (None, "2021.12", "2022.12", "2023.12", "2024.12")


class Tensor:
    """Elements in a device buffer, from ``rs.asarray``, ``rs.from_buffer``, ``rs.empty`` and the operations.

    Indexing, ``permute``, ``broadcast_to`` and ``reshape`` return views: another descriptor over the same buffer, at no
    cost. Reading (``numpy``, ``np.asarray``, ``buffer``, DLPack) waits for the operations that write the buffer, and
    copies to the host unless told not to.

    >>> t = rs.asarray(np.arange(6, dtype=np.int32).reshape(2, 3))
    >>> t.sizes, t.ndim, str(t.dtype), str(t.desc)
    ((2, 3), 2, 's32', 's32[2,3]{1,0}')
    """

    __slots__ = ("__weakref__", "_desc", "_device", "_memory")

    def __init__(self, memory: Memory, desc: TensorDesc, device: Device) -> None:
        if desc.nbytes > memory.nbytes:
            raise DescriptorError(
                f"a buffer of {memory.nbytes} bytes is too small for {desc}, which needs {desc.nbytes}"
            )
        if desc.element_size_in_bits:
            require_whole_elements(desc)
        self._memory = memory
        self._desc = desc
        self._device = device

    @property
    def desc(self) -> TensorDesc:
        """Element type, sizes, strides and offset of the elements in the buffer."""
        return self._desc

    @property
    def device(self) -> Device:
        """The device that holds the buffer."""
        return self._device

    @property
    def memory(self) -> Memory:
        """The buffer, shared by all views."""
        return self._memory

    @property
    def kp(self) -> Any:
        """The ``kp.Tensor`` that holds the buffer, on a ``Device(manager=...)``; see docs/kompute.md.

        It covers the whole buffer, as uint32 words unless the caller created it; ``desc`` gives the layout of the
        elements in it. It outlives this tensor; the caller may destroy it like any tensor of kp.

        Raises:
            UnsupportedError: the device was not opened over a ``kp.Manager``.
        """
        return export_kp_tensor(self.device.runtime, self.memory)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of elements along each axis."""
        return self.desc.sizes

    @property
    def shape(self) -> tuple[int, ...]:
        """The same as ``sizes``, under the name of numpy and torch."""
        return self.desc.sizes

    @property
    def ndim(self) -> int:
        """The number of axes, under the name of numpy and torch; ``rank`` in descriptors."""
        return self.desc.rank

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.desc.dtype

    @property
    def size(self) -> int:
        """The number of elements, under the name of numpy and the array API; ``size()`` of torch is ``shape``."""
        return self.desc.numel

    @property
    def nbytes(self) -> int:
        """Bytes of the elements alone; ``desc.nbytes`` also counts the offset, gaps and padding."""
        return self.desc.numel * self.desc.dtype.itemsize

    @property
    def T(self) -> Tensor:  # noqa: N802 - numpy's name
        """A view with the axes in reverse order."""
        return self.permute(range(self.ndim)[::-1])

    @property
    def mT(self) -> Tensor:  # noqa: N802 - numpy's name
        """A view with the last two axes exchanged.

        Raises:
            DescriptorError: fewer than 2 axes.
        """
        if self.ndim < 2:
            raise DescriptorError(f"mT exchanges the last two axes, and there are {self.ndim}, for {self.desc}")
        return self.permute(*range(self.ndim - 2), -1, -2)

    def __getitem__(self, key: views.BasicIndex) -> Tensor:
        """A view, by numpy's basic indexing: integers, slices with any step, ``...`` and ``None``.

        >>> rs.asarray(np.arange(6, dtype=np.int32).reshape(2, 3))[1, ::-2].numpy()
        array([5, 3], dtype=int32)
        """
        return self._view(views.index(self.desc, key))

    def __setitem__(self, key: views.BasicIndex, value: npt.ArrayLike) -> None:
        """Write ``value``, broadcast and converted as by ``astype``, to the view ``self[key]`` in one dispatch.

        If ``value`` overlaps the view in the same buffer, it is copied first.

        >>> x = rs.asarray(np.zeros((2, 3), np.uint8))
        >>> x[:, ::2] = [[1, 2], [3, 4]]
        >>> x.numpy()
        array([[1, 0, 2],
               [3, 0, 4]], dtype=uint8)

        Raises:
            DescriptorError: ``key`` is not basic indexing, ``value`` does not broadcast or is on another device, or the
                view repeats elements or is in read-only memory.
        """
        try:
            view = self[key]
        except DescriptorError as error:
            raise DescriptorError(f"x[key] = value writes to a view: {error}") from None
        METHODS["assign"](view, value)

    def astype(self, dtype: DTypeLike, copy: bool = True) -> Tensor:
        """The elements as another type, converted as numpy does: towards zero, integers keep their low bits.

        ``rs.reorder(x, dtype=...)`` instead rounds to nearest and saturates. Where numpy leaves the result open, as for
        a NaN that becomes an integer, it is the result of ``reorder``.

        Args:
            dtype: element type.
            copy: if False and the tensor has that type already, return the tensor itself.

        >>> rs.asarray(np.float32([-1.7, 2.7])).astype("s8").numpy()
        array([-1,  2], dtype=int8)
        """
        element = as_dtype(dtype)
        if not flag("copy", copy) and element == self.dtype:
            return self
        tensor: Tensor = METHODS["reorder"](self, dtype=element, rounding="truncate", saturate=False)
        return tensor

    def copy(self) -> Tensor:
        """A copy of the elements in a new row-major tensor."""
        return copy_elements(self, with_strides(self.desc, self.sizes))

    def to(self, device: Device) -> Tensor:
        """A row-major copy on another device, through the host; on this device, the tensor itself.

        Raises:
            DescriptorError: ``device`` is not a ``rs.Device``.
        """
        if as_device(device) is self.device:
            return self
        copy = empty(packed(self.dtype, self.sizes), device)
        if copy.size:
            device.runtime.write(copy.memory, 0, self.numpy().reshape(-1).view(np.uint8).data)
        return copy

    def to_device(self, device: Device, /, *, stream: None = None) -> Tensor:
        """The same as ``to``, under the name of the array API.

        Raises:
            DescriptorError: ``device`` is not a ``rs.Device``, or ``stream`` is not None: there are no streams.
        """
        if stream is not None:
            raise DescriptorError(f"stream must be None, got {stream!r}: operations of a device run in order")
        return self.to(device)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """``restride.xp``, which implements the array API 2024.12 and is returned for every version since 2021.12.

        Raises:
            DescriptorError: another version.
        """
        if api_version not in _API_VERSIONS:
            raise DescriptorError(f"api_version must be one of {', '.join(_API_VERSIONS[1:])}, got {api_version!r}")
        return METHODS["namespace"]()

    def item(self) -> Any:
        """The only element, as a Python number.

        >>> rs.asarray(np.arange(6))[4].item()
        4

        Raises:
            DescriptorError: the tensor does not have exactly one element.
        """
        return self._element("item()").item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; without axes, a number."""
        return self.numpy().tolist()

    def _element(self, what: str) -> Any:
        """The only element, as a numpy scalar. what: the operation that needs it, for the error message."""
        desc = self.desc
        if desc.numel != 1:
            raise DescriptorError(
                f"{what} is for a tensor of one element, not of {desc.numel}; .numpy() brings them here, for {desc}"
            )
        data = np.empty(desc.dtype.itemsize, np.uint8)
        offset = desc.offset_of((0,) * desc.rank)
        self.device.runtime.read(self.memory, offset * desc.dtype.itemsize, data.data)
        return data.view(desc.dtype.dtype)[0]

    def __float__(self) -> float:
        return float(self._element("float()"))

    def __int__(self) -> int:
        return int(self._element("int()"))

    def __index__(self) -> int:
        # TypeError, like operator.index: callers that accept integers use it to find out whether a tensor is one.
        if self.dtype.is_float or self.dtype == "pred" or self.ndim:
            raise TypeError(f"{self!r} is not one integer without axes")
        return int(self._element("an index"))

    def permute(self, *axes: SupportsIndex | Sequence[SupportsIndex]) -> Tensor:
        """A view with the axes in another order: ``permute(0, 2, 3, 1)`` or ``permute((0, 2, 3, 1))``.

        >>> rs.empty("u8[1,3,4,5]").permute(0, 2, 3, 1).sizes
        (1, 4, 5, 3)
        """
        return self._view(views.permute(self.desc, _unpacked(axes)))

    def broadcast_to(self, *sizes: SupportsIndex | Sequence[SupportsIndex]) -> Tensor:
        """A view that repeats axes of size 1, and leading ones, by stride 0, like ``np.broadcast_to``.

        >>> rs.asarray(np.array([1, 2], np.uint8)).broadcast_to(2, 2).numpy()
        array([[1, 2],
               [1, 2]], dtype=uint8)
        """
        return self._view(views.broadcast_to(self.desc, _unpacked(sizes)))

    def reshape(self, *sizes: SupportsIndex | Sequence[SupportsIndex]) -> Tensor:
        """A view with other sizes; one of them may be -1.

        >>> rs.empty("u8[4,6]").reshape(2, -1).sizes
        (2, 12)

        Raises:
            DescriptorError: the strides do not allow a view; ``rs.xp.reshape`` copies then.
        """
        return self._view(views.reshape(self.desc, _unpacked(sizes)))

    def numpy(self, copy: bool = True) -> Array:
        """The elements as a numpy array.

        Args:
            copy: True: a new row-major array; a view that is not row-major is first copied to row-major on the device.
                False: a read-only array over the tensor's own memory, with its strides; it shows what later operations
                write there. It stays valid after the tensor is dropped and the device closed: the memory, and a closed
                device with it, is freed after the last array. Not for use in a child of ``fork``.

        >>> rs.asarray(np.arange(6, dtype=np.int32).reshape(2, 3)).permute(1, 0).numpy()
        array([[0, 3],
               [1, 4],
               [2, 5]], dtype=int32)

        Raises:
            UnsupportedError: ``copy`` is False and the host cannot map the device's memory, or the layout has tiles or
                blocks, which strides cannot express.
        """
        if copy is not True and not flag("copy", copy):
            return self._mapped()
        desc = self.desc
        if desc.numel and not desc.is_row_major:
            return self.copy().numpy()
        nbytes = desc.numel * desc.dtype.itemsize
        data = np.empty(nbytes, np.uint8) if nbytes < _SMALL else HOST_MEMORY.empty(nbytes)
        if desc.numel:
            self.device.runtime.read(self.memory, desc.offset * desc.dtype.itemsize, data.data)
        return data.view(desc.dtype.dtype).reshape(desc.sizes)

    def _mapped(self) -> Array:
        desc = self.desc
        if desc.strides is None:
            raise UnsupportedError(f"copy=False needs strides, and {desc} has none: rs.reorder it to a strided layout")
        if not desc.numel:
            array = np.empty(desc.sizes, desc.dtype.dtype)
            array.flags.writeable = False
            return array
        with ErrorContext(desc), prefixed("copy=False"):
            return _elements(self.device.runtime.mapped_bytes(self.memory), desc)

    def buffer(self) -> npt.NDArray[np.uint8]:
        """The bytes of the whole buffer that this tensor is a view of, padding included, as a new array.

        >>> rs.asarray(np.array([[1, 2], [3, 4]], np.uint8), "u8[2,2]{0,1}").buffer()
        array([1, 3, 2, 4], dtype=uint8)
        """
        data = HOST_MEMORY.empty(self.memory.nbytes)
        self.device.runtime.read(self.memory, 0, data.data)
        return data

    def export(self, *, semaphore: bool = False) -> Exported:
        """The tensor's memory for another program: a new file descriptor, and the facts that its import needs.

        The tensor must be from ``rs.empty(desc, shareable=True)``, or a view of one. Work that reads or writes it is
        finished when this returns; after later work, call the device's ``wait()`` before the other program goes on. The
        result owns the descriptor and closes it; the memory stays until all programs have dropped what uses it. Any
        number of exports may be made.

        Args:
            semaphore: must be False: no semaphore is exported, and ``wait()`` orders the work.

        Example: see ``rs.import_memory``.

        Raises:
            UnsupportedError: the memory is not shareable, or was imported: pass on that descriptor instead.
            DescriptorError: the memory was freed.
            DeviceTimeout: pending work outlasted the time limit.

        Source: Vulkan, ``VK_KHR_external_memory_fd``.
        """
        with ErrorContext(self.desc):
            if flag("semaphore", semaphore):
                raise UnsupportedError(
                    "semaphore=True: restride exports no semaphore; export() waits for the work before it, and "
                    "device.wait() for later work"
                )
            file, memory = self.device.runtime.export_fd(self.memory)
        return Exported(file, memory, self.desc)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        if copy is not False:
            array = self.numpy()
            return array if dtype is None else array.astype(dtype, copy=False)
        if dtype is not None and np.dtype(dtype) != self.dtype.dtype:
            raise ValueError(f"copy=False: {self.desc} cannot become {np.dtype(dtype)} without a copy")
        try:
            return self.numpy(copy=False)
        except UnsupportedError as error:
            raise ValueError(f"{error}") from error

    def __jax_array__(self) -> Any:
        """A copy as an array of jax, which ``jax.numpy.asarray`` and the operators of jax's arrays ask for."""
        return import_module("jax.numpy").asarray(self.numpy())

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule: over a copy on the host, or with ``copy=False`` over ``numpy(copy=False)``.

        >>> np.from_dlpack(rs.asarray(np.arange(3, dtype=np.int32)))
        array([0, 1, 2], dtype=int32)

        ``torch.from_dlpack(tensor, copy=False)`` is a CPU tensor over the device's memory. torch does not know that it
        must not write there.

        For a shareable tensor on a GPU that CUDA can use too, ``torch.from_dlpack(tensor)`` is a CUDA tensor over the
        same memory, which both read and write: docs/arrays.md says how to order their work.

        Args:
            stream: a CUDA stream, not 0. Unless it is -1, all work of the device is finished when this returns.
            max_version: the newest DLPack version that the consumer supports.
            dl_device: type and number of a device; default: that of ``__dlpack_device__``.
            copy: True: always copy. False: never. None: on the host always; on CUDA's device only a tensor that is not
                shareable or has no strides or negative ones, which is copied on the device.

        Raises:
            BufferError: another device is requested, or ``copy`` is False and a stride is negative (torch ends the
                process at these), a copy is needed, or the consumer does not declare DLPack 1.0, the first version that
                can mark memory as read-only.
            OutOfDeviceMemory, DeviceError: CUDA refuses the memory.
        """
        home = self.__dlpack_device__()
        kind, number = home if dl_device is None else dl_device
        is_known = kind == CUDA or (kind, number) == (CPU, 0)
        if not is_known or (stream is not None and CUDA not in (kind, home[0])):
            raise BufferError(
                f"{self!r} hands out memory of the host, without a stream, or of CUDA, not of device {(kind, number)} "
                f"with stream {stream}"
            )
        if kind == CPU and copy is False and self._is_reversed():
            raise BufferError(
                f"copy=False: torch ends the process at negative strides; numpy(copy=False) has them, for {self.desc}"
            )
        try:
            if kind == CUDA:
                return self._cuda_capsule(number, stream, copy)
            # A copy gets an unversioned capsule, which every consumer accepts whatever ``max_version`` allows.
            if copy is not False:
                return capsule_over(self.numpy())
            return capsule_over(self.numpy(copy=False), max_version=max_version)
        except (BufferError, UnsupportedError, TypeError) as error:  # TypeError: numpy before 2.1 knows no max_version
            raise BufferError(f"{self.desc} cannot be handed to DLPack: {error}") from error

    def _cuda_capsule(self, number: int, stream: int | None, copy: bool | None) -> object:
        own = ordinal(self.device.info.uuid)
        if number != own:
            raise UnsupportedError(f"the tensor lies on CUDA device {own}, not on {number}")
        if stream == 0:
            raise UnsupportedError(
                "stream 0 may be either default stream of CUDA: give 1, the legacy one, or 2, that of each thread"
            )
        tensor = self
        if copy or not self.memory.is_shareable or self.desc.strides is None or self._is_reversed():
            if copy is False:
                raise UnsupportedError(
                    "copy=False: the memory is not shareable, or the layout has no strides or negative ones; "
                    "rs.empty(desc, shareable=True) makes such a tensor, to be an out"
                )
            tensor = copy_elements(self, packed(self.dtype, self.sizes), shareable=True)
        if stream != -1:  # not needed for a copy, which is finished before it is exported
            self.device.wait()
        # An unversioned capsule, as above.
        return capsule_over(_elements(cuda_bytes(tensor.device, tensor.memory), tensor.desc), (CUDA, own))

    def _is_reversed(self) -> bool:
        """True if an axis of several elements has a negative stride."""
        return any(stride < 0 and size > 1 for size, stride in zip(self.sizes, self.desc.strides or (), strict=False))

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.memory.is_shareable:
            try:
                return CUDA, ordinal(self.device.info.uuid)
            except UnsupportedError:  # a consumer that requests CUDA by dl_device gets the reason
                pass
        return CPU, 0

    def __len__(self) -> int:
        if not self.sizes:
            raise TypeError(f"a tensor without axes has no len(): {self.desc}")
        return self.sizes[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[position] for position in range(len(self)))

    def __bool__(self) -> bool:
        if self.size == 1:
            return bool(self._element("bool()"))
        raise TypeError(
            f"{self!r} has no truth value: its {self.size} elements lie on a device; .numpy() brings them here"
        )

    # Compares elements with a tensor, an array or a number; see restride.ops.equal.
    def __eq__(self, other: object) -> Tensor:  # type: ignore[override] # as arrays do
        result: Tensor = METHODS["equal"](self, other)
        return result

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override] # as arrays do
        result: Tensor = METHODS["equal"](self, other, negated=True)
        return result

    __hash__ = None  # type: ignore[assignment] # elementwise comparison rules out a hash

    def __contains__(self, value: object) -> bool:
        raise TypeError(
            f"{self!r} cannot be searched for {value!r}: its elements lie on a device; .numpy() brings them here"
        )

    def __copy__(self) -> Tensor:
        return self.copy()

    def __deepcopy__(self, _memo: object) -> Tensor:
        return self.copy()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} lies on a device and is not pickled; .numpy() copies its elements")

    if not TYPE_CHECKING:  # type checkers do not see this method, or they would accept every name

        def __getattr__(self, name: str) -> NoReturn:
            """Raise for a method of numpy's or torch's that is not here, such as ``sum``."""
            if name in MISSING:
                raise AttributeError(f"restride.Tensor has no {name}; it is {MISSING[name]} here", name=name, obj=self)
            raise AttributeError(
                f"restride.Tensor has no {name}: x.numpy() is an array of numpy, and functions of restride.xp, such as "
                f"xp.reshape(x, shape), take tensors",
                name=name,
                obj=self,
            )

    def __repr__(self) -> str:
        return f"<restride.Tensor {self.desc} on {self.device}>"

    def _repr_html_(self) -> str:
        """HTML for notebooks: the layout, a picture of it, and the first elements."""
        page: str = METHODS["html"](self)
        return page

    def _view(self, desc: TensorDesc) -> Tensor:
        return Tensor(self.memory, desc, self.device)


def _elements(data: npt.NDArray[np.uint8], desc: TensorDesc) -> Array:
    """A strided array over the bytes of a buffer; reads no bytes."""
    itemsize = desc.dtype.itemsize
    strides = [stride * itemsize for stride in desc.strides or ()]
    return np.ndarray(desc.sizes, desc.dtype.dtype, data, desc.offset * itemsize, strides)


def _without_arithmetic(sign: str) -> Callable[..., Any]:
    """A method that explains why there is no such operator, or lets an array or another library's object try."""

    def refuse(self: Tensor, *other: object) -> Any:
        if other and not isinstance(other[0], int | float | complex | list | tuple | Tensor):
            return NotImplemented
        raise TypeError(
            f"{self!r} has no {sign}: its elements are moved and converted, not computed with; .numpy() brings them "
            "here, and rs.reorder has scales, sum_scale and post_ops on the device"
        )

    return refuse


_OPERATORS = {
    "add radd pos": "+", "sub rsub neg": "-", "mul rmul": "*", "truediv rtruediv": "/", "floordiv rfloordiv": "//",
    "mod rmod": "%", "divmod rdivmod": "divmod()", "pow rpow": "**", "matmul rmatmul": "@", "and rand": "&",
    "or ror": "|", "xor rxor": "^", "lshift rlshift": "<<", "rshift rrshift": ">>", "invert": "~", "abs": "abs()",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
"""The names of the special methods that a tensor refuses, without underscores, and the operator that calls them."""

for _names, _sign in _OPERATORS.items():
    for _name in _names.split():
        setattr(Tensor, f"__{_name}__", _without_arithmetic(_sign))


def _unpacked(values: tuple[Any, ...]) -> Iterable[SupportsIndex]:
    """The arguments of ``f(1, 2)`` or ``f((1, 2))``, which mean the same."""
    if len(values) > 1:
        return values
    # Check for a tuple first: checking a protocol takes 10 us.
    if values and (isinstance(values[0], tuple | list) or not isinstance(values[0], SupportsIndex)):
        return values[0]  # ``views`` checks its contents
    return values


def empty(desc: TensorDesc | str, device: Device | None = None, *, shareable: bool = False) -> Tensor:
    """A tensor over a new buffer of ``desc.nbytes`` bytes with undefined contents.

    Args:
        desc: element type, sizes and layout, or its text.
        device: where to allocate; default: ``rs.default_device()``.
        shareable: the memory can be shared with other programs, by ``export``, and with CUDA, by DLPack.

    >>> rs.empty("f32[2,20,4,4]:nChw16c").memory.nbytes
    4096

    Raises:
        OutOfDeviceMemory: the device has no room for it.
        UnsupportedError: ``shareable`` is True and the driver (or the runtime kompute) cannot share memory.
    """
    desc, device = as_desc(desc), as_device(device)
    return Tensor(device.allocate(desc, shareable=shareable), desc, device)


def import_memory(
    exported: Exported | None = None,
    *,
    fd: int | None = None,
    nbytes: int | None = None,
    desc: TensorDesc | str | None = None,
    offset: int = 0,
    allocation_bytes: int | None = None,
    memory_type: int | None = None,
    dedicated: bool = True,
    device_uuid: str | None = None,
    driver_uuid: str | None = None,
    device: Device | None = None,
) -> Tensor:
    """A tensor over memory that another program, or this one, exported, without a copy.

    Both read and write it. Neither waits for the other's work: call ``device.wait()`` before telling the other to
    continue. The memory counts where it was allocated, not here. Two imports of one memory are two buffers to this
    device: ``wait()`` between work on the one and on the other.

    Args:
        exported: what ``tensor.export()`` made in this process; the caller still closes it. None: the next nine
            arguments say the same by name.
        fd: an open file descriptor, as this process received it (``VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT``). It
            is duplicated: the caller keeps it and may close it at once.
        nbytes: size of the buffer, a multiple of 16.
        desc: where the elements are in the buffer: a descriptor or its text.
        offset: the byte of the allocation at which the buffer begins.
        allocation_bytes: size of the allocation, as the other program asked for it.
        memory_type: its memory type.
        dedicated: whether the allocation is of this one buffer (``VkMemoryDedicatedAllocateInfo``). If so, the other
            program created the buffer with the usage ``STORAGE_BUFFER | TRANSFER_SRC | TRANSFER_DST`` and no flags.
        device_uuid: 32 hexadecimal digits, of the device that the memory is on.
        driver_uuid: the same of its driver; only memory of the same device and driver is imported.
        device: where the tensor is to be; default: ``rs.default_device()``.

    Example: in one process, for brevity; ``socket.send_fds`` and ``subprocess.Popen(pass_fds=...)`` pass a descriptor
    to another process, and ``exported.fields()`` is a dict that JSON can hold.

    >>> x = rs.empty("s32[2,3]", shareable=True)
    >>> with x.export() as exported:
    ...     y = rs.import_memory(fd=exported.fd, **exported.fields())
    >>> x[...] = np.arange(6).reshape(2, 3)
    >>> x.device.wait()
    >>> y.numpy()
    array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)

    Raises:
        DescriptorError: ``fd`` is not open or is not a descriptor of such memory, the fields contradict one another,
            or one is missing.
        UnsupportedError: the memory is of another device or driver, or this device cannot import such memory.

    Source: Vulkan, ``VK_KHR_external_memory_fd``.
    """
    given = {
        "fd": fd, "nbytes": nbytes, "desc": desc, "allocation_bytes": allocation_bytes, "memory_type": memory_type,
        "device_uuid": device_uuid, "driver_uuid": driver_uuid,
    }  # fmt: skip
    if exported is not None:
        if not isinstance(exported, Exported):
            raise DescriptorError(f"exported must be what tensor.export() makes, got {shown(exported)}")
        named = [name for name, value in given.items() if value is not None]
        if named or offset != 0 or dedicated is not True:
            raise DescriptorError(
                f"exported says all of {', '.join([*given, 'offset', 'dedicated'])}: give either it or these by name"
            )
        return import_memory(fd=exported.fd, **exported.fields(), device=device)  # type: ignore[arg-type] # by name
    missing = [name for name, value in given.items() if value is None]
    if missing or desc is None:
        raise DescriptorError(f"import_memory needs an Exported, or all of {', '.join(given)}; without: {missing}")
    layout, device = as_desc(desc), as_device(device)
    with ErrorContext(layout):
        memory = ExternalMemory(
            nbytes=integer("nbytes", nbytes),
            allocation_bytes=integer("allocation_bytes", allocation_bytes),
            memory_type=integer("memory_type", memory_type),
            device_uuid=_uuid("device_uuid", device_uuid),
            driver_uuid=_uuid("driver_uuid", driver_uuid),
            offset=integer("offset", offset),
            dedicated=flag("dedicated", dedicated),
        )
        if layout.nbytes > memory.nbytes:
            raise DescriptorError(f"the fields say a buffer of {memory.nbytes} bytes, and desc needs {layout.nbytes}")
        return Tensor(device.runtime.import_fd(integer("fd", fd), memory), layout, device)


def _uuid(argument: str, value: object) -> str:
    """The text of 32 hexadecimal digits, in lower case."""
    if not isinstance(value, str) or not re.fullmatch("[0-9A-Fa-f]{32}", value):
        raise DescriptorError(f"{argument} must be a text of 32 hexadecimal digits, got {shown(value)}")
    return value.lower()


def as_device(device: Device | None) -> Device:
    """``device``, or the default device if it is None."""
    if device is None:
        return default_device()
    if not isinstance(device, Device):
        raise DescriptorError(f"device must be a restride.Device, got {shown(device)}; {_device_remedy(device)}")
    return device


def _device_remedy(value: object) -> str:
    """Advice for a value that is no device, such as an element type, which torch's ``to`` accepts."""
    try:
        as_dtype(value)
    except DescriptorError:
        return opened_by_name(value)
    return f"x.astype({value!r}) converts"


def require_tensor(value: object, argument: str = "x") -> Tensor:
    """Return ``value`` if it is a tensor.

    Raises:
        DescriptorError: it is not a tensor.
    """
    if not isinstance(value, Tensor):
        raise DescriptorError(f"{argument} must be a restride.Tensor, got {type(value).__name__}; rs.asarray makes one")
    return value


def require_tensors(values: Iterable[object], argument: str) -> list[Tensor]:
    """Return ``values`` as a list if all are tensors; an error names the index of the one that is not.

    Raises:
        DescriptorError: one is not a tensor, or ``values`` is not iterable.
    """
    try:
        listed = list(values)
    except TypeError:
        raise DescriptorError(f"{argument} must be a sequence of tensors, got {type(values).__name__}") from None
    return [require_tensor(value, f"{argument}[{place}]") for place, value in enumerate(listed)]


def copy_elements(src: Tensor, desc: TensorDesc, *, shareable: bool = False) -> Tensor:
    """The elements of ``src`` in a new tensor of this layout, which has their type and sizes."""
    dst = empty(desc, src.device, shareable=shareable)
    steps = Steps(src.device.limits)
    steps.copy(Site(SOURCE, src.desc), Site(RESULT, dst.desc))
    src.device.run(steps, src.memory, dst.memory)
    return dst
