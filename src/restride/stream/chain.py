"""Chain: a sequence of operations; WindowedChain: the source part that a window reads, and how to compute it.

A window, a range of indices for each axis, is mapped from the result back to the source by one operation after the
other (``restride.ops.operation``).
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from inspect import signature
from itertools import islice
from types import EllipsisType
from typing import Any, NoReturn, SupportsIndex, Unpack

import numpy as np
import numpy.typing as npt

from restride.arguments import MAX_MEMBERS, RealNumber, counts, integer, list_arguments, unexpected
from restride.dtypes import Array, DType, DTypeLike, as_dtype, is_torch_dtype
from restride.errors import DescriptorError, ErrorContext, shown
from restride.layout import TensorDesc
from restride.layout.argument import Layout, is_permutation
from restride.layout.views import BasicIndex
from restride.ops import quantize as quantization
from restride.ops.lookup import looking_up, lookup
from restride.ops.normalized import NormalizingLibrary
from restride.ops.operation import Indexed, Operation, Window
from restride.ops.reorder import Reorder, ReorderArguments, reorder
from restride.ops.resample import DEFAULT_ARGUMENTS, Resample, ResampleArguments, resample, split_arguments
from restride.ops.target import Result
from restride.request import ModeName
from restride.request.resampling import read_window
from restride.tensor.arrays import TensorLike, asarray, host_array
from restride.tensor.device import Device
from restride.tensor.tensor import Tensor


@dataclass(frozen=True)
class ChainedCall:
    """A call of an operation in a chain: its name, and its arguments by name."""

    name: str
    arguments: dict[str, Any] = field(hash=False)

    def __str__(self) -> str:
        arguments = ", ".join(f"{name}={_spelled(value)}" for name, value in self.arguments.items())
        return f"{self.name}({arguments})"


@dataclass(frozen=True)
class Chain:
    """A sequence of operations, as a value: nothing is computed until ``rs.stream`` or Dask asks for a chunk.

    Each method returns a longer chain, and takes the arguments of the operation with its name, without ``x`` and
    ``out``. A chain can be pickled, and applies to every source that it fits. It copies arrays passed as arguments.

    Example:
        >>> halves = rs.Chain().resample(scales=(0.5, 0.5), mode="area").reorder("TYX->YXT", dtype="f16")
        >>> halves.of((10, 64, 48), "u8").sizes
        (32, 24, 10)
    """

    operations: tuple[ChainedCall, ...] = ()

    def __post_init__(self) -> None:
        if not all(isinstance(each, ChainedCall) for each in self.operations):
            raise DescriptorError(
                f"a chain begins empty, as in rs.Chain().resample((2, 3)), got {shown(self.operations)}"
            )

    @list_arguments(ResampleArguments, DEFAULT_ARGUMENTS)
    def resample(
        self,
        sizes: Iterable[SupportsIndex] | None = None,
        scales: Iterable[RealNumber] | None = None,
        axes: Iterable[SupportsIndex] | None = None,
        mode: ModeName | int | Enum | None = None,
        **arguments: Unpack[ResampleArguments],
    ) -> Chain:
        """``rs.resample``, without ``sum_scale``, ``window`` and ``source_sizes``; ``layout`` only as "A->B"."""
        return self._with(resample, sizes, scales, axes, mode, **arguments)

    @list_arguments(ReorderArguments, DEFAULT_ARGUMENTS)
    def reorder(
        self,
        layout: Layout = None,
        dtype: DTypeLike | None = None,
        *numbers: Any,
        **named: Unpack[ReorderArguments],
    ) -> Chain:
        """``rs.reorder``, without ``sum_scale``; ``layout`` only as "A->B": the destination has its own layout."""
        return self._with(reorder, layout, dtype, *numbers, **named)

    def quantize(
        self,
        scale: npt.ArrayLike,
        zero_point: npt.ArrayLike | None = None,
        dtype: DTypeLike | None = None,
        axis: SupportsIndex = 1,
        block_size: SupportsIndex | None = None,
        saturate: bool = True,
        *,
        layout: Layout = None,
    ) -> Chain:
        """``rs.quantize``; ``layout`` only as "A->B"."""
        return self._with(quantization.quantize, scale, zero_point, dtype, axis, block_size, saturate, layout=layout)

    def dequantize(
        self,
        scale: npt.ArrayLike,
        zero_point: npt.ArrayLike | None = None,
        dtype: DTypeLike | None = None,
        axis: SupportsIndex = 1,
        block_size: SupportsIndex | None = None,
        *,
        layout: Layout = None,
    ) -> Chain:
        """``rs.dequantize``; ``layout`` only as "A->B"."""
        return self._with(quantization.dequantize, scale, zero_point, dtype, axis, block_size, layout=layout)

    def normalize(
        self,
        mean: npt.ArrayLike,
        std: npt.ArrayLike,
        *,
        axis: SupportsIndex = -1,
        layout: Layout = None,
        dtype: DTypeLike | None = None,
        like: NormalizingLibrary | None = None,
    ) -> Chain:
        """``rs.normalize``; ``layout`` only as "A->B"."""
        return self._with(quantization.normalize, mean, std, axis=axis, layout=layout, dtype=dtype, like=like)

    def lookup(
        self,
        table: npt.ArrayLike,
        *,
        axis: SupportsIndex | None = None,
        layout: Layout = None,
        dtype: DTypeLike | None = None,
    ) -> Chain:
        """``rs.lookup``; ``layout`` only as "A->B"."""
        return self._with(lookup, table, axis=axis, layout=layout, dtype=dtype)

    def __getitem__(self, key: BasicIndex) -> Chain:
        """Basic indexing, as in numpy: integers, slices with any step, ``...`` and ``None``.

        >>> rs.Chain()[0, ::-2, None].of((3, 8), "u8").sizes
        (4, 1)
        """
        members = key if isinstance(key, tuple) else (key,)
        return Chain((*self.operations, ChainedCall("slice", {"key": tuple(map(_index, members))})))

    def of(self, sizes: Iterable[SupportsIndex], dtype: DTypeLike) -> WindowedChain:
        """The chain for sources of these sizes and this element type.

        Raises:
            DescriptorError, UnsupportedError: an operation raises it.
        """
        return WindowedChain(self, counts("sizes", sizes), as_dtype(dtype))

    def _with(self, operation: Callable[..., Tensor], *arguments: object, **named: object) -> Chain:
        """The chain with one more operation, which keeps the arguments that differ from the defaults."""
        listed = signature(operation)
        if not named.keys() <= listed.parameters.keys():
            raise unexpected(operation, named, listed.parameters)
        try:
            given = listed.bind(None, *arguments, **named).arguments.items()
        except TypeError as error:
            raise TypeError(f"{operation.__name__}() {error}") from None
        bound: dict[str, Any] = {
            name: value for name, value in given if name != "x" and value is not listed.parameters[name].default
        }
        for refused in ("out", "sum_scale", "window", "source_sizes"):
            if bound.pop(refused, None) is not None:
                raise DescriptorError(f"{refused} is not accepted in a chain, which computes new results, in windows")
        layout = bound.get("layout")
        if layout is not None and not is_permutation(layout):
            raise DescriptorError(
                f"layout {layout!r} of a chain must only permute axes, as 'NCHW->NHWC': the destination has its layout"
            )
        added = ChainedCall(operation.__name__, {argument: _frozen(value) for argument, value in bound.items()})
        _ = str(added)  # raises here if an argument has no unambiguous text
        return Chain((*self.operations, added))

    def __getattr__(self, name: str) -> NoReturn:
        known = ", ".join(call for call in _OPERATIONS if call != "slice")
        raise AttributeError(
            f"a chain has no {name}: it takes {known} and indices, as rs.Chain().resample((2, 3))[..., 0]",
            name=name,
            obj=self,
        )

    def __call__(self, *_: object) -> NoReturn:
        raise TypeError(
            "a chain is not called: rs.LazyArray(x, chain)[:] computes it, or a part of it, and rs.stream(x, "
            "destination, chain) writes it in chunks"
        )

    def __iter__(self) -> NoReturn:
        raise TypeError("a chain is not iterated; its operations are in chain.operations")

    def __str__(self) -> str:
        return " | ".join(map(str, self.operations)) or "copy"


@dataclass(frozen=True, eq=False)
class WindowedChain:
    """A chain for sources of given sizes and element type: maps a window of the result to the source, and computes it.

    It is small and can be pickled, so a task on another machine can use it.

    Attributes:
        chain: the operations.
        source_sizes: sizes of the whole source.
        source_dtype: element type of the source.

    Example:
        >>> halved = rs.Chain().resample((4, 4), mode="area").of((8, 8), "f32")
        >>> part = halved.source_window((slice(0, 2), slice(2, 4)))
        >>> part
        (slice(0, 4, None), slice(4, 8, None))
        >>> image = np.arange(64, dtype=np.float32).reshape(8, 8)
        >>> halved.compute(image[part], (slice(0, 2), slice(2, 4))).tolist()
        [[8.5, 10.5], [24.5, 26.5]]
    """

    chain: Chain
    source_sizes: tuple[int, ...]
    source_dtype: DType

    def __post_init__(self) -> None:
        _ = self.stages  # checks every operation

    def __reduce__(self) -> tuple[object, ...]:
        return WindowedChain, (self.chain, self.source_sizes, self.source_dtype)

    @functools.cached_property
    def text(self) -> str:
        """A text that identifies the work: equal texts mean equal work."""
        return f"{TensorDesc(self.source_dtype, self.source_sizes)}: {self.chain}"

    @functools.cached_property
    def stages(self) -> tuple[Operation, ...]:
        """The operations, each for the sizes and type of its own source."""
        stages: list[Operation] = []
        desc = TensorDesc(self.source_dtype, self.source_sizes)
        for call in self.chain.operations:
            with ErrorContext(desc):
                operation = _OPERATIONS[call.name](desc, call.arguments)
            desc = TensorDesc(operation.dtype, operation.sizes)
            stages.append(operation)
        return tuple(stages)

    @property
    def sizes(self) -> tuple[int, ...]:
        """All sizes of the result."""
        return self.stages[-1].sizes if self.stages else self.source_sizes

    @property
    def dtype(self) -> DType:
        """Element type of the result."""
        return self.stages[-1].dtype if self.stages else self.source_dtype

    @property
    def blends(self) -> bool:
        """True if an element of the result may be a sum of several of the source: a resampling that is not nearest."""
        return any(stage.blends for stage in self.stages)

    def source_window(self, window: Sequence[slice]) -> tuple[slice, ...]:
        """The part of the source that a window of the result reads.

        Raises:
            DescriptorError: for an axis, the window has anything but a slice without a step, inside the result, or None
                for the whole axis.
        """
        return slices(self.windows(self.as_window(window))[0])

    def compute(self, part: TensorLike, window: Sequence[slice], device: Device | None = None) -> Array:
        """The window of the result, computed from the part of the source that ``source_window`` returns.

        Raises:
            DescriptorError: ``window`` is invalid, or ``part`` has other sizes or another element type.
        """
        return self.run(part, self.as_window(window), device).numpy()

    def run(self, part: TensorLike, window: Window, device: Device | None = None) -> Tensor:
        """Like ``compute`` for a checked window; the result stays on the device."""
        windows = self.windows(window)
        x = part if isinstance(part, Tensor) else asarray(part, device=device, copy=None)
        expected = TensorDesc(self.source_dtype, lengths(windows[0]))
        if x.sizes != expected.sizes or x.dtype != expected.dtype:
            raise DescriptorError(f"part is {x.desc}, and the window {spelled(window)} reads {expected}")
        for stage, result in zip(self.stages, windows[1:], strict=True):
            x = stage.run(x, result)
        return x

    def windows(self, window: Window) -> list[Window]:
        """The windows that the operations read, from the source on, followed by ``window`` itself."""
        windows = [window]
        for stage in reversed(self.stages):
            windows.insert(0, stage.reads(windows[0]))
        return windows

    def along(self, axis: int, part: range) -> list[tuple[int, range] | None]:
        """For each array from the source to the result: the axis, and the range along it, that are read for ``part``.

        axis: of the result. part: a range along it. None stands for an array without a corresponding axis.
        """
        spans: list[tuple[int, range] | None] = [(axis, part)]
        for stage in reversed(self.stages):
            before = None
            if spans[0] is not None:
                here, part = spans[0]
                source = stage.axes[here]
                before = None if source is None else (source, stage.reads_along(here, part))
            spans.insert(0, before)
        return spans

    def nbytes(self, window: Window) -> int:
        """Upper bound of the bytes of host and device memory together that computing the window needs.

        They hold the part of the source and its copy on the device, intermediate results between operations and between
        their passes, the result, and its copy on the host.
        """
        return self.nbytes_of([lengths(each) for each in self.windows(window)])

    def nbytes_of(self, sizes: Sequence[Sequence[int]]) -> int:
        """As ``nbytes``, given the sizes of every array from the source to the result."""
        types = [self.source_dtype, *(stage.dtype for stage in self.stages)]
        each = [math.prod(size) * dtype.itemsize for size, dtype in zip(sizes, types, strict=True)]
        between = [
            stage.between([max(pair) for pair in _paired(stage, before, after)])
            for stage, before, after in zip(self.stages, sizes, sizes[1:], strict=False)
        ]
        return each[0] + sum(each) + max(between, default=0) + each[-1]

    def as_window(self, window: Sequence[slice | None]) -> Window:
        """Check the window and return it as ranges."""
        return read_window(window, self.sizes)

    def __str__(self) -> str:
        return self.text


def slices(window: Window) -> tuple[slice, ...]:
    """The window as an index of an array."""
    return tuple(slice(part.start, part.stop) for part in window)


def inside(window: Window, whole: Window) -> tuple[slice, ...]:
    """The index that selects ``window`` in an array of the window ``whole``."""
    return tuple(
        slice(part.start - around.start, part.stop - around.start) for part, around in zip(window, whole, strict=True)
    )


def lengths(window: Window) -> tuple[int, ...]:
    """Sizes of the window."""
    return tuple(part.stop - part.start for part in window)


def spelled(window: Window) -> str:
    """The window as text for a message: ``[0:4, 8:16]``."""
    return f"[{', '.join(f'{part.start}:{part.stop}' for part in window)}]"


def _paired(stage: Operation, before: Sequence[int], after: Sequence[int]) -> list[tuple[int, int]]:
    return [(size, 1 if axis is None else before[axis]) for size, axis in zip(after, stage.axes, strict=True)]


def _index(member: object) -> int | slice | EllipsisType | None:
    """Check a member of an index, and convert integers to Python's.

    Raises:
        DescriptorError: it is no integer, slice, ``...`` or None, or a slice with step 0.
    """
    if member is None or member is Ellipsis:
        return member
    if isinstance(member, slice):
        ends = {"start": member.start, "stop": member.stop, "step": member.step}
        start, stop, step = (None if end is None else integer(f"{name} of a slice", end) for name, end in ends.items())
        if step == 0:
            raise DescriptorError(f"step of a slice must not be 0, got {member!r}")
        return slice(start, stop, step)
    try:
        return integer("index", member)
    except DescriptorError:
        raise DescriptorError(
            f"a chain takes integers, slices, ... and None as an index, got {shown(member)}"
        ) from None


def _frozen(value: object) -> Any:
    """A copy of an argument that nobody else can change: any library's arrays as numpy's, sequences as tuples."""
    if isinstance(value, str | type | Enum | np.generic | np.dtype):
        return value
    if isinstance(value, Tensor) or hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        array = np.array(value.numpy() if isinstance(value, Tensor) else host_array(value))
        array.flags.writeable = False
        return array
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_frozen, value))
    if isinstance(value, Iterable):
        return tuple(map(_frozen, islice(value, MAX_MEMBERS + 1)))
    return value


def _spelled(value: object) -> str:
    """A text that differs for different values: arrays are represented by a hash of their bytes.

    Raises:
        DescriptorError: values of this type may share a text.
    """
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:32]
        return f"{value.dtype}{list(value.shape)}#{digest}"
    if isinstance(value, DType | np.dtype | type) or is_torch_dtype(value):
        return repr(as_dtype(value).name)
    if isinstance(value, Enum):
        return f"{type(value).__name__}({_spelled(value.value)})"
    if value is None or value is Ellipsis or type(value) in (bool, int, float, str, slice, Fraction, Decimal):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_spelled, value))}]"
    raise DescriptorError(f"a chain takes numbers, texts, arrays and sequences of these, got {shown(value)}")


def _reorder(src: TensorDesc, arguments: Mapping[str, object]) -> Operation:
    _, numbers, others = split_arguments(arguments)
    return Reorder(src, Result(numbers=numbers, **others))


def _resample(src: TensorDesc, arguments: Mapping[str, object]) -> Operation:
    request, numbers, others = split_arguments(arguments)
    return Resample(src, request, Result(numbers=numbers, **others))


_OPERATIONS: dict[str, Callable[[TensorDesc, Mapping[str, Any]], Operation]] = {
    "slice": lambda src, arguments: Indexed(src, **arguments),
    "reorder": _reorder,
    "resample": _resample,
    "quantize": lambda src, arguments: quantization.quantizing(src, **arguments).operation(src),
    "dequantize": lambda src, arguments: quantization.dequantizing(src, **arguments).operation(src),
    "lookup": lambda src, arguments: looking_up(src, **arguments).operation(src),
    "normalize": lambda src, arguments: quantization.normalizing(src, **arguments).operation(src),
}
"""For each name of a call, the function that checks its arguments for a source and returns the operation."""
