"""Operation: an operation with its arguments for one source: its result, what a window reads, and how to compute it.

Every operation here maps an axis of its result to one axis of its source, or to none, so a window is mapped axis by
axis. The result of a window is bit for bit that part of the whole result: weights, scales and element types are
determined for the whole, and then cut.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from restride.layout import TensorDesc, views
from restride.tensor.tensor import Tensor

Window: TypeAlias = tuple[range, ...]
"""A part of an array: for each axis a range of indices with step 1."""


class Operation(ABC):
    """An operation for one source. A subclass checks its arguments when it is made.

    Attributes:
        src: the source.
        sizes: the sizes of the whole result.
        dtype: the element type of the result.
        axes: for each axis of the result, the axis of the source that it reads, or None.
        fixed: for each axis of the source that no axis of the result reads, the index taken.
        blends: an element of the result may be a sum of several elements of the source.
    """

    fixed: Mapping[int, int] = {}
    blends: bool = False

    def __init__(self, src: TensorDesc, dst: TensorDesc, axes: Sequence[int | None]) -> None:
        """dst: the type and sizes of the whole result."""
        self.src, self.sizes, self.dtype, self.axes = src, dst.sizes, dst.dtype, tuple(axes)

    def reads_along(self, axis: int, part: range) -> range:
        """The indices along ``axes[axis]`` of the source that a part of axis ``axis`` of the result reads."""
        del axis
        return part

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.src} to {TensorDesc(self.dtype, self.sizes)}>"

    @abstractmethod
    def run(self, x: Tensor, window: Window) -> Tensor:
        """Compute a window of the result from ``x``, the part of the source that it reads."""

    def reads(self, window: Window) -> Window:
        """The part of the source that a window of the result reads."""
        parts = [range(size) for size in self.src.sizes]
        for axis, index in self.fixed.items():
            parts[axis] = range(index, index + 1)
        for axis, source in enumerate(self.axes):
            if source is not None:
                parts[source] = self.reads_along(axis, window[axis])
        return tuple(parts)

    def between(self, lengths: Sequence[int]) -> int:
        """Maximum number of bytes of intermediate results between the passes of the operation.

        lengths: for each axis, the larger of the sizes of a window and of its source.
        """
        del lengths
        return 0


class Indexed(Operation):
    """Basic indexing: integers, slices with any step, ``...`` and None."""

    def __init__(self, src: TensorDesc, key: tuple[Any, ...]) -> None:
        """key: consists of Python integers, and slices whose steps are not 0."""
        result = views.index(src, key)
        place = key.index(Ellipsis) if Ellipsis in key else len(key)
        rest = (slice(None),) * (src.rank - sum(member is not None and member is not Ellipsis for member in key))
        axes: list[int | None] = []
        self._steps: list[tuple[int, int]] = []
        self.fixed = dict[int, int]()
        axis = 0
        for member in (*key[:place], *rest, *key[place + 1 :]):
            if member is None:
                axes.append(None)
                self._steps.append((0, 1))
                continue
            if isinstance(member, slice):
                walked = range(src.sizes[axis])[member]
                axes.append(axis)
                self._steps.append((walked.start, walked.step))
            else:
                self.fixed[axis] = member % src.sizes[axis]
            axis += 1
        super().__init__(src, result, axes)

    def reads_along(self, axis: int, part: range) -> range:
        if not part:
            return range(0)
        start, step = self._steps[axis]
        ends = start + step * part.start, start + step * (part.stop - 1)
        return range(min(ends), max(ends) + 1)

    def run(self, x: Tensor, window: Window) -> Tensor:
        moves = dict(zip(self.axes, self._steps, strict=True))
        walked = tuple(0 if axis in self.fixed else slice(None, None, moves[axis][1]) for axis in range(self.src.rank))
        added = tuple(None if axis is None else slice(None) for axis in self.axes)
        return x[walked][added][tuple(slice(len(part)) for part in window)]  # a window may exclude an axis of None
