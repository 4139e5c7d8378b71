"""Host arrays and raw buffers as tensors: the bytes to upload or import, and the positions of the elements in them.

numpy only moves runs of bytes here: a transposed, reversed or sliced array is uploaded as the span of memory that holds
it, and the device reads it by strides. If most bytes of the span belong to other elements, the array is packed first: a
100-column window of a 4096-column image is uploaded as 4096 runs of 100 bytes, not 4096 of 4096.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from restride.arguments import as_numpy, check_keywords, flag, require_unmasked
from restride.arguments.pillow import PillowImage, is_file
from restride.dtypes import Array, DType
from restride.errors import DescriptorError, ErrorContext, UnsupportedError, prefixed, shown
from restride.layout import TensorDesc, as_desc
from restride.layout.overlap import require_injective, require_like, require_whole_elements
from restride.plan.copy import byte_copy_kernels
from restride.plan.problem import Axis
from restride.plan.steps import RESULT, SOURCE, Site, Steps
from restride.runtime import import_kp_tensor, is_kp_tensor
from restride.runtime.cuda_driver import LEGACY_STREAM
from restride.tensor.cuda import memory_under
from restride.tensor.device import Device, device_over_manager
from restride.tensor.dlpack import CUDA, SupportsDLPack, array_from_dlpack, device_type
from restride.tensor.tensor import Tensor, as_device, copy_elements, empty

_MAX_NAMED = 100
"""If an array of objects is refused, the error names the types of at most this many elements."""

_MAX_GAP = 16
"""Widest gap in bytes between two runs that is uploaded too; starting another run costs numpy less than a wider gap."""


TensorLike: TypeAlias = npt.ArrayLike | SupportsDLPack | PillowImage | Sequence[PillowImage]
"""What ``asarray`` takes: arrays and tensors of any library, nested sequences of numbers, images of Pillow."""


def from_buffer(raw_bytes: Any, desc: TensorDesc | str, device: Device | None = None) -> Tensor:
    """A tensor over a copy of a raw physical buffer, padding included.

    Args:
        raw_bytes: bytes, a bytearray, or any contiguous array; at least ``desc.nbytes`` bytes.
        desc: the layout of the elements in the bytes, a TensorDesc or its text.
        device: where to; default: ``rs.default_device()``.

    Example: 2 x 3 elements, column after column.

    >>> rs.from_buffer(bytes([1, 2, 3, 4, 5, 6]), "u8[2,3]{0,1}").numpy()
    array([[1, 3, 5],
           [2, 4, 6]], dtype=uint8)

    Raises:
        DescriptorError: the buffer is not contiguous, or smaller than ``desc.nbytes``.
    """
    desc = as_desc(desc)
    data = _raw_view(raw_bytes, desc)
    if data.nbytes < desc.nbytes:
        raise DescriptorError(f"raw_bytes has {data.nbytes} bytes, {desc} needs {desc.nbytes}")
    device = as_device(device)
    memory = device.allocate(desc, data.nbytes)
    if data.nbytes:
        device.runtime.write(memory, 0, data)
    return Tensor(memory, desc, device)


@partial(
    check_keywords,
    elsewhere={
        "the type stays: rs.asarray(x).astype or rs.reorder(x, dtype=...)": ("dtype",),
        "desc= is the layout, such as 'f32[2,3]{0,1}'; rs.reorder(x, layout=...) takes a name": ("layout", "order"),
    },
)
def asarray(
    array: Any, desc: TensorDesc | str | None = None, device: Device | None = None, copy: bool | None = True
) -> Tensor:
    """A tensor with the elements of ``array``.

    Args:
        array: a numpy array of any strides, anything that ``np.asarray`` accepts, an object with ``__dlpack__`` on the
            CPU, an image of Pillow, converted as by ``resize`` (palettes become RGB or RGBA), or an object that is on a
            device already: a Tensor, which is returned itself, a CUDA tensor over the memory of one, or a ``kp.Tensor``
            of a ``Device`` over its manager, whose memory the tensor shares, whatever ``copy`` says.
        desc: layout on the device, with the array's sizes and element type; default: the array's own strides, or
            packed. For a ``kp.Tensor``: the layout of its bytes, as in ``from_buffer``; default: one axis.
        device: where to; default: ``rs.default_device()``, for a ``kp.Tensor`` the one open device over a manager.
        copy: True: copy to memory of the device; the array may change at once. False: never copy; the device reads the
            array's own memory and keeps it alive. Nobody may write there until the operations that read it are
            finished, and the tensor cannot be an ``out``. None: copy only where False would raise. The device does not
            know that an array from ``numpy(copy=False)`` belongs to a tensor: the caller must order operations that
            read the array and operations that write that tensor.

    Example: a transposed array keeps its strides; a ``desc`` changes the layout.

    >>> x = np.arange(6, dtype=np.float32).reshape(2, 3)
    >>> rs.asarray(x.T).desc
    TensorDesc.parse('f32[3,2]{strides=(1,3)}')
    >>> rs.asarray(x.T, "f32[3,2]{1,0}").buffer().view(np.float32)
    array([0., 3., 1., 4., 2., 5.], dtype=float32)

    Raises:
        DescriptorError: the element type is unknown to restride or byte-swapped, there are more than 8 axes, a mask
            would be lost, integers of a list fit neither s64 nor u64, or ``desc`` does not fit or overlaps itself.
        UnsupportedError: ``desc`` has another element type; or ``copy`` is False and the device has memory of its own
            or cannot import the host's (the runtime kompute never can), elements do not lie at multiples of their
            size, ``array`` is neither a numpy array nor a DLPack tensor, or is in CUDA's own memory, or ``desc`` is not
            its present layout; or a ``kp.Tensor`` is of type storage, its bytes are no multiple of 16, or ``device`` is
            not over a manager.
    """
    copy = None if copy is None else flag("copy", copy)
    if isinstance(array, Tensor):
        if device is not None and as_device(device) is not array.device:
            raise DescriptorError(
                f"{array!r} lies on another device than {device!r}; pass tensor.numpy() to copy it there"
            )
        if desc is None:
            return array
        desc = as_desc(desc)
        require_whole_elements(array.desc, desc)
        return _laid_out(array, desc, copy)
    if is_kp_tensor(array):
        return _from_kp(array, desc, device_over_manager() if device is None else as_device(device))
    if not isinstance(array, np.ndarray) and hasattr(array, "__dlpack__") and device_type(array) == CUDA:
        return _from_cuda(array, desc, device, copy)
    host = host_array(array)
    packed = _packed(host)
    if desc is not None:
        desc = as_desc(desc)
        require_like(desc, "desc", packed)  # checked before anything is uploaded
        own = _own_layout(host, packed)
        if desc != own:
            if copy is False:
                raise UnsupportedError(f"copy=False: elements laid out as {own} need a copy to lie as desc, {desc}")
            copy = True
    device = as_device(device)
    if not copy:
        try:
            _require_own_memory(array)
            return _imported(host, packed, device)
        except UnsupportedError:
            if copy is not None:
                raise
    tensor = _upload(host, packed, device)
    return tensor if desc is None else _laid_out(tensor, desc, copy)


def _laid_out(tensor: Tensor, desc: TensorDesc, copy: bool | None) -> Tensor:
    if desc == tensor.desc and desc.nbytes == tensor.memory.nbytes:
        return Tensor(tensor.memory, desc, tensor.device)
    require_like(desc, "desc", tensor.desc)
    require_injective(desc, "desc")
    if copy is False:
        raise UnsupportedError(f"copy=False: elements laid out as {tensor.desc} need a copy to lie as desc, {desc}")
    return copy_elements(tensor, desc)


def _from_cuda(producer: object, desc: TensorDesc | str | None, device: Device | None, copy: bool | None) -> Tensor:
    """A tensor with the elements of a CUDA tensor that is in a restride tensor's memory: shared, or a copy.

    Memory that CUDA allocated is refused. Memory of cudaMalloc cannot be exported. Memory of cuMemCreate, as in torch's
    expandable segments, can be, but only in pages of 2 or 20 MiB, and a tensor spans several pages or a part of one.
    """
    array = array_from_dlpack(producer, LEGACY_STREAM)
    packed = _packed(array)
    if not packed.numel:
        return asarray(empty(packed, device), desc, copy=copy)
    host = _host_span(array)
    lies_in = memory_under(host.data)
    if lies_in is None:
        kind = UnsupportedError if copy is False else DescriptorError
        raise kind(
            f"DLPack tensor {packed} lies in memory of CUDA's own; allocate it by rs.empty(desc, shareable=True) "
            "and hand that to the other library, or copy it to the CPU first"
        )
    home, memory, start = lies_in
    tensor = Tensor(memory, _require_strided(array, packed, host, start), home)
    if copy:
        tensor = tensor.copy()
        home.wait()  # from here on CUDA may change its tensor
    return asarray(tensor, desc, device, copy)


def _from_kp(kp_tensor: Any, desc: TensorDesc | str | None, device: Device) -> Tensor:
    memory = import_kp_tensor(device.runtime, kp_tensor)
    if desc is None:
        elements = kp_tensor.data()
        desc = TensorDesc(elements.dtype, elements.shape)
    return Tensor(memory, as_desc(desc), device)


def _packed(array: Array) -> TensorDesc:
    if array.dtype == object:
        kinds = ", ".join(sorted({type(each).__name__ for each in array.reshape(-1)[:_MAX_NAMED].tolist()}))
        raise DescriptorError(
            f"array of shape {array.shape} cannot become a tensor: it holds Python objects ({kinds or 'none'}), not "
            f"numbers of at most 64 bits"
        )
    try:
        return TensorDesc(array.dtype, array.shape)
    except DescriptorError as error:
        raise DescriptorError(f"array of shape {array.shape} cannot become a tensor: {error}") from error


def _own_layout(array: Array, packed: TensorDesc) -> TensorDesc | None:
    """The layout of an array, from its lowest byte on; None: its strides split elements."""
    if not packed.numel:
        return packed
    host = _host_span(array)
    return _strided(packed, host.offset, host.strides)


def layout_of(array: Any) -> TensorDesc:
    """The layout of an array's elements in its own memory, by its strides; nothing is read or copied.

    The offset of a numpy array is counted from the array that owns the memory, if the bytes before it are whole
    elements. Otherwise, and for DLPack tensors, it is the smallest that is possible with the strides. The offset of a
    torch tensor, on any device, is ``storage_offset()``.

    Raises:
        DescriptorError: it is no array, its element type is unknown, or it has more than 8 axes.
        UnsupportedError: its strides split elements, or it has none, as a sparse tensor.
    """
    if hasattr(array, "stride") and hasattr(array, "storage_offset"):
        if str(array.layout) != "torch.strided":
            raise UnsupportedError(f"a tensor of layout {array.layout} has no strides, for shape {tuple(array.shape)}")
        desc = TensorDesc(array.dtype, array.shape, array.stride(), array.storage_offset())
        packed = TensorDesc(array.dtype, array.shape)
        return packed if desc == packed else desc
    if not hasattr(array, "__array_interface__") and not hasattr(array, "__dlpack__"):
        raise DescriptorError(
            f"layout must be a TensorDesc or its text, such as 'f32[2,3]', or an array, got {shown(array)}"
        )
    host = host_array(array)
    packed = _packed(host)
    if not packed.numel:
        return packed
    span, owner = _host_span(host), host
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    before = span.data.ctypes.data - owner.ctypes.data
    is_whole = before >= 0 and before % host.itemsize == 0
    return _require_strided(host, packed, span, before * is_whole)


def _imported(array: Array, packed: TensorDesc, device: Device) -> Tensor:
    """A tensor over the memory of an array.

    Bindings must be aligned, so the device's memory may begin a little before the array: f32 at address 0x1008, aligned
    to 16 bytes, is element 2 of a memory that begins at 0x1000.
    """
    if not packed.numel:
        return empty(packed, device)
    host = _host_span(array)
    with ErrorContext(packed), prefixed("copy=False"):
        memory, start = device.runtime.import_bytes(host.data.data)
        return Tensor(memory, _require_strided(array, packed, host, start), device)


def _strided(packed: TensorDesc, offset: int, strides: tuple[int, ...]) -> TensorDesc | None:
    """The descriptor for these byte offset and strides; None if they are not multiples of the element size."""
    itemsize = packed.dtype.itemsize
    if any(value % itemsize for value in (offset, *strides)):
        return None
    desc = TensorDesc(packed.dtype, packed.sizes, [stride // itemsize for stride in strides], offset // itemsize)
    return packed if desc == packed else desc


def _require_strided(array: Array, packed: TensorDesc, host: _HostBytes, start: int) -> TensorDesc:
    """The descriptor of an array in a memory that has the bytes of ``host`` from byte ``start`` on.

    Raises:
        UnsupportedError: its strides or its first byte split elements.
    """
    strided = _strided(packed, start + host.offset, host.strides)
    if strided is None:
        raise UnsupportedError(
            f"elements of {packed} must lie at multiples of their {packed.dtype.itemsize} bytes; these lie at address "
            f"{array.ctypes.data:#x}, with strides of {array.strides} bytes"
        )
    return strided


def _upload(array: Array, packed: TensorDesc, device: Device) -> Tensor:
    if not packed.numel:
        return empty(packed, device)
    dtype = packed.dtype
    if array.flags.c_contiguous:  # the walk over the strides would take as long as a small transfer
        memory = device.allocate(packed, array.nbytes)
        device.runtime.write(memory, 0, array.reshape(-1).view(np.uint8).data)
        return Tensor(memory, packed, device)
    host = _host_bytes(array)
    memory = device.allocate(packed, host.data.nbytes)
    device.runtime.write(memory, 0, host.data.data)
    strided = _strided(packed, host.offset, host.strides)
    if strided is not None:
        return Tensor(memory, strided, device)
    # Strides that split elements, such as those of a field of a packed record: the device gathers single bytes.
    laid_out = empty(packed, device)
    row_major = [stride * dtype.itemsize for stride in packed.strides or ()]
    axes = (
        *(Axis(*step) for step in zip(array.shape, host.strides, row_major, strict=True)),
        Axis(dtype.itemsize, 1, 1),
    )

    steps = Steps(device.limits)
    target = Site(RESULT, packed)
    steps.add(Site(SOURCE, packed), target, lambda: byte_copy_kernels(axes, host.offset, device.limits))
    device.run(steps, memory, laid_out.memory)
    return laid_out


def host_array(value: object, dtype: DType | None = None) -> Array:
    """``value`` as a plain numpy array; arrays and DLPack tensors are not copied.

    dtype: the type that the elements will have, as in ``restride.arguments.as_numpy``.

    Raises:
        DescriptorError: ``value`` is None, a path, bytes or what ``as_numpy`` refuses, or its DLPack memory is not the
            host's.
    """
    if not isinstance(value, np.ndarray | np.generic) and hasattr(value, "__dlpack__"):
        return array_from_dlpack(value)
    if isinstance(value, bytes):
        raise DescriptorError(
            f"array is {len(value)} bytes, not an array: np.frombuffer(raw, np.uint8).reshape(rows, columns, 3) makes "
            f"one; for a frame of video .reshape(rows * 3 // 2, columns)"
        )
    if is_file(value) and not isinstance(value, bytearray | memoryview):  # numpy makes arrays of these
        kind, name = ("file object", "file") if hasattr(value, "read") else ("text", "path")
        raise DescriptorError(
            f"array is the {kind} {value!s:.4096}, not an array: rs.imread({name}) reads an image file, upright, and "
            f"rs.imread({name}, mode='rgb') as RGB; np.asarray(PIL.Image.open({name})) has its pixels as they are "
            f"stored"
        )
    if value is None:
        raise DescriptorError("array is None (cv2.imread returns None for a file it cannot read)")
    return as_numpy("array", value, None if dtype is None else dtype.dtype)


def _require_own_memory(value: object) -> None:
    """Refuse a value that ``host_array`` copies, such as a list.

    Raises:
        UnsupportedError: ``value`` is neither a numpy array nor a DLPack tensor.
    """
    if not isinstance(value, np.ndarray) and not hasattr(value, "__dlpack__"):
        raise UnsupportedError(
            f"copy=False takes a numpy array or a DLPack tensor; numpy would copy this {type(value).__name__}"
        )


def _raw_view(raw_bytes: Any, desc: TensorDesc) -> memoryview:
    """The bytes of a contiguous buffer, for a tensor of ``desc``.

    Raises:
        DescriptorError: ``raw_bytes`` is no buffer, not contiguous, or masked.
    """
    require_unmasked("raw_bytes", raw_bytes)
    if isinstance(raw_bytes, np.ndarray) and raw_bytes.flags.c_contiguous:
        # memoryview knows no types of ml_dtypes, and cannot cast an array without elements.
        return raw_bytes.reshape(-1).view(np.uint8).data
    try:
        return memoryview(raw_bytes).cast("B")
    except (TypeError, ValueError) as error:
        raise DescriptorError(
            f"raw_bytes must be a contiguous buffer, got {type(raw_bytes).__name__} for {desc}: {error}"
        ) from error


@dataclass(frozen=True)
class _HostBytes:
    """1-D contiguous ``data``, and the positions of elements in it: byte offset of index 0, and byte strides."""

    data: npt.NDArray[np.uint8]
    offset: int
    strides: tuple[int, ...]


def _host_span(array: Array) -> _HostBytes:
    """The memory that holds ``array``, of any strides and at least one element; nothing is copied.

    Example: ``np.arange(6, dtype=np.uint16)[::-2]`` lies in bytes 2 to 12 of its base: data of 10 bytes, offset 8,
    stride -4.
    """
    strides = tuple(stride if size > 1 else 0 for size, stride in zip(array.shape, array.strides, strict=True))
    nbytes = array.itemsize + sum((size - 1) * abs(stride) for size, stride in zip(array.shape, strides, strict=True))
    data = np.lib.stride_tricks.as_strided(_lowest_element(array), (nbytes,), (1,), writeable=False)
    return _HostBytes(data, _offset(array.shape, strides), strides)


def _offset(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """Bytes from the lowest element to the one at index 0, which negative strides move up."""
    return -sum((size - 1) * min(stride, 0) for size, stride in zip(sizes, strides, strict=True))


def _host_bytes(array: Array) -> _HostBytes:
    """The bytes to upload for ``array``, of any strides, with at least one element: its span, or its runs packed.

    Example: rows 0 and 3 of u8[4,100], columns 10 to 19: two runs of 10 bytes, so strides of 10 and 1.
    """
    whole = _host_span(array)
    distance = [abs(stride) for stride in whole.strides]
    outer = sorted((axis for axis in range(array.ndim) if distance[axis]), key=lambda axis: distance[axis])
    run = array.itemsize  # bytes that are uploaded together, small gaps included; the axes outside it are walked
    while outer and distance[outer[0]] - run <= _MAX_GAP:
        axis = outer.pop(0)
        run += (array.shape[axis] - 1) * distance[axis]
    if whole.data.nbytes <= run * math.prod(array.shape[axis] for axis in outer):
        return whole  # one run, or windows that overlap
    runs = np.lib.stride_tricks.as_strided(
        _lowest_element(array),
        shape=(*(array.shape[axis] for axis in reversed(outer)), run),
        strides=(*(distance[axis] for axis in reversed(outer)), 1),
        writeable=False,
    )
    strides, step = list(whole.strides), run
    for axis in outer:
        strides[axis] = step if strides[axis] > 0 else -step
        step *= array.shape[axis]
    return _HostBytes(np.ascontiguousarray(runs).reshape(-1), _offset(array.shape, strides), tuple(strides))


def _lowest_element(array: Array) -> npt.NDArray[np.uint8]:
    """The bytes of the element at the lowest address. The ``...`` keeps an array without axes an array."""
    lowest = (slice(-1, None) if stride < 0 else slice(0, 1) for stride in array.strides)
    return array[*lowest, ...].reshape(1).view(np.uint8)
