"""What can be asked of a descriptor: its fields, its bytes, where an index lies, and which index lies there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn, Self, SupportsIndex, cast

from restride.desc.blocking import Blocking
from restride.desc.digits import Linear, affine
from restride.desc.dml import said_to_dml
from restride.desc.fields import Fields
from restride.desc.spelled import Spelled
from restride.desc.text import DescParts, format_parts
from restride.dtypes import DType
from restride.equation import STEPS, SearchTooLongError, has_gap, smallest_index
from restride.errors import DescriptorError
from restride.integers import integer, integers

_PRIVATE = frozenset({"key", "address", "order", "parts"})
"""Fields that a descriptor keeps to itself."""


class DescFacts:
    """The fields of a ``TensorDesc``, which makes them, and what follows from them. They never change."""

    __slots__ = (*(f"_{name}" if name in _PRIVATE else name for name in Fields._fields), "_hash", "_inner", "_spelled")

    dtype: DType
    sizes: tuple[int, ...]
    strides: tuple[int, ...] | None  # None: no strides say where the elements lie
    offset: int  # element of the buffer that index 0,0,... lies at
    numel: int  # the product of the sizes
    extent: int  # elements of the buffer that it needs, the offset counted; see ``nbytes``
    lowest: int  # smallest element of the buffer that an index reaches; 0 if the tensor is empty
    highest: int  # largest one; -1 if the tensor is empty. Both are bounds where strides is None
    blocking: Blocking | None  # of tiles, padding and blocks, or those that a view looks at
    _key: tuple[object, ...]  # the canonical layout
    _address: Linear | None  # None: to be made of strides
    _order: tuple[int, ...] | None  # minor_to_major, if the layout was written so
    _parts: DescParts | None  # what was written; None: strides, or the order alone
    _hash: int
    _inner: DescFacts | None
    _spelled: Spelled | None  # None: to be made

    def _take(self, fields: Fields, inner: DescFacts | None = None) -> None:
        """Fill a descriptor that is being made."""
        assign = object.__setattr__
        for name, value in zip(DescFacts.__slots__, (*fields, hash(fields.key), inner, None), strict=True):
            assign(self, name, value)

    def __setattr__(self, name: str, *_: object) -> NoReturn:
        raise AttributeError(f"a TensorDesc never changes: {name} of {self}")

    __delattr__ = __setattr__

    @property
    def rank(self) -> int:
        """Number of axes, 0 to 8."""
        return len(self.sizes)

    @property
    def true_rank(self) -> int:
        """Number of axes with a size greater than 1, as XLA counts."""
        return sum(size > 1 for size in self.sizes)

    @property
    def parts(self) -> DescParts:
        """The descriptor as it was written, which ``str`` spells."""
        if self._parts is not None:
            return self._parts
        if self._order is not None:
            return DescParts(self.dtype.name, self.sizes, minor_to_major=self._order)
        return DescParts(self.dtype.name, self.sizes, strides=self.strides, offset=self.offset)

    @property
    def spelled(self) -> Spelled:
        """The descriptor and how it was written, which may differ between two that are equal."""
        found = self._spelled
        if found is None:
            found = Spelled(self._hash, self._key, self.strides, self.offset, self._order, self._parts)
            object.__setattr__(self, "_spelled", found)
        return found

    @property
    def minor_to_major(self) -> tuple[int, ...] | None:
        """The axes from the fastest to the slowest: as written, else by stride.

        None where there is no such order: a broadcast, blocks, or a view of tiles. Equal strides go row-major, later
        axis first. An axis of size 1 written with stride 0 counts as slowest.
        """
        strides = self.strides
        if self._order is not None:
            return self._order
        if strides is None or self.is_broadcast:
            return None
        return tuple(sorted(range(self.rank), key=lambda axis: (strides[axis] == 0, abs(strides[axis]), -axis)))

    @property
    def is_written_by_order(self) -> bool:
        """True if the layout was written with a ``minor_to_major`` (or without a layout) rather than by strides."""
        return self._order is not None

    @property
    def tiles(self) -> tuple[tuple[int, ...], ...]:
        """XLA's tiles as written, -1 for a joined dimension; of a view none."""
        return self._parts.tiles if self._parts is not None else ()

    @property
    def padded_sizes(self) -> tuple[int, ...] | None:
        """What the sizes were padded to before tiling, as written; None: not at all."""
        return self._parts.padded_sizes if self._parts is not None else None

    @property
    def padding_value(self) -> float:
        """What an operation that makes the tensor writes between ``sizes`` and ``padded_sizes``."""
        return self._parts.padding_value if self._parts is not None else 0

    @property
    def tag(self) -> str | None:
        """The format tag of oneDNN, if the layout was written so."""
        return self._parts.tag if self._parts is not None else None

    @property
    def inner(self) -> Self | None:
        """Of a view of tiles or blocks: the whole layout that it looks at."""
        return cast("Self | None", self._inner)

    @property
    def is_whole(self) -> bool:
        """True for tiles, padded sizes and blocks: the layout of a whole buffer, whose padding operations write.

        Of views and of strides they write the elements alone.
        """
        return self.blocking is not None and self.inner is None

    @property
    def walk(self) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
        """Starts, and one step per axis: how an index moves in what the descriptor looks at.

        That is the buffer, of one axis, where there are strides; else the axes of ``inner``, or its own.
        """
        if self.strides is not None:
            return (self.offset,), tuple((stride,) for stride in self.strides)
        return self.coordinate_walk

    @property
    def coordinate_walk(self) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
        """Starts, and one step per axis, in the coordinates that are tiled or blocked, also where strides say it."""
        if self.inner is not None:
            return self.starts, self.steps
        axes = range(self.rank)
        return (0,) * self.rank, tuple(tuple(int(axis == other) for other in axes) for axis in axes)

    @property
    def starts(self) -> tuple[int, ...]:
        """Of a view of tiles or blocks: the index of its first element in ``inner``."""
        return self._parts.starts if self._parts is not None else ()

    @property
    def steps(self) -> tuple[tuple[int, ...], ...]:
        """Of a view of tiles or blocks, per axis: how far a step moves along each axis of ``inner``."""
        return self._parts.steps if self._parts is not None else ()

    @property
    def address(self) -> Linear:
        """Element offset as a sum of digits of the index; of an empty tensor 0."""
        if self._address is not None:
            return self._address
        if not self.numel or self.strides is None:
            return Linear()
        return affine(self.offset, zip(range(self.rank), self.sizes, self.strides, strict=True))

    @property
    def nbytes(self) -> int:
        """Bytes the buffer needs, not rounded.

        Strides: through the highest element, the offset counted; 0 if empty. Tiles, padded sizes and blocks: all of the
        buffer, padding counted; views of them need as much.
        """
        return self.extent * self.dtype.itemsize

    @property
    def is_broadcast(self) -> bool:
        """True if an axis of size greater than 1 moves nothing."""
        moving = self.strides if self.strides is not None else [any(step) for step in self.walk[1]]
        return bool(self.numel) and any(not move and size > 1 for size, move in zip(self.sizes, moving, strict=True))

    @property
    def is_padded(self) -> bool:
        """True if the buffer that it needs has an element that no index reaches."""
        if self.strides is None:
            return self._misses_coordinates()
        if self.extent > self.highest + 1:
            return True
        return bool(self.numel) and (self.lowest > 0 or has_gap(self.sizes, self.strides))

    @property
    def is_packed(self) -> bool:
        """True if the elements fill [0, numel) exactly, each once, in whatever order."""
        return self.extent == self.numel and not self.is_padded

    @property
    def is_row_major(self) -> bool:
        """True if every index lies at ``offset`` plus its row-major position; trivially so if empty."""
        if self.strides is None:
            return False
        packed = 1
        for size, stride in zip(self.sizes[::-1], self.strides[::-1], strict=True):
            if size > 1:
                if stride != packed:
                    return not self.numel
                packed *= size
        return True

    def offset_of(self, index: Iterable[SupportsIndex]) -> int:
        """Element of the buffer that ``index`` lies at: XLA's linear index, for every layout.

        Raises:
            DescriptorError: as many numbers as axes not given, or one outside ``[0, size)``.
        """
        values = integers("index", index, self.__str__)
        if len(values) != self.rank:
            raise DescriptorError(f"index {values} needs one value per axis of {self}, which has {self.rank}")
        for axis, (value, size) in enumerate(zip(values, self.sizes, strict=True)):
            if not 0 <= value < size:
                raise DescriptorError(f"index {value} is outside [0, {size}) of axis {axis} in {self}")
        if self.strides is None:
            return self.address.at(values)
        return self.offset + sum(value * stride for value, stride in zip(values, self.strides, strict=True))

    def index_of(self, offset: SupportsIndex) -> tuple[int, ...] | None:
        """The index that lies at an element of the buffer; None if there is none: padding, a gap, or past the buffer.

        Where several indices share the element it is the lexicographically smallest of them.

        Raises:
            DescriptorError: not an integer; or interleaved, overlapping strides hide the answer for too many steps.
        """
        at = integer("offset", offset, self.__str__)
        if not self.numel or not self.lowest <= at <= self.highest:
            return None
        try:
            if self.strides is not None:
                return smallest_index(self.sizes, self.strides, at - self.offset)
            return self._unblocked(at)
        except SearchTooLongError:
            raise DescriptorError(f"the index of offset {at} was not found in {STEPS} steps in {self}") from None

    def _misses_coordinates(self) -> bool:
        """True if what is looked at has padding, or a coordinate that no index has; each coordinate is by itself."""
        whole = self.inner or self
        starts, steps = self.walk
        for coordinate, (size, start) in enumerate(zip(whole.sizes, starts, strict=True)):
            moves = [step[coordinate] for step in steps]
            reach = sum((count - 1) * abs(move) for count, move in zip(self.sizes, moves, strict=True))
            lowest = start + sum((count - 1) * min(move, 0) for count, move in zip(self.sizes, moves, strict=True))
            if lowest > 0 or lowest + reach < size - 1 or has_gap(self.sizes, moves):
                return True
        return self.extent > whole.numel

    def _unblocked(self, at: int) -> tuple[int, ...] | None:
        coordinates = self.blocking.coordinates_of(at) if self.blocking is not None else None
        if coordinates is None:
            return None
        starts, steps = self.walk
        index = [0] * self.rank
        # No axis moves along two coordinates, so each has an equation of its own.
        for coordinate, (value, start) in enumerate(zip(coordinates, starts, strict=False)):
            axes = [axis for axis in range(self.rank) if steps[axis][coordinate]]
            strides = tuple(steps[axis][coordinate] for axis in axes)
            found = smallest_index(tuple(self.sizes[axis] for axis in axes), strides, value - start)
            if found is None:
                return None
            for axis, position in zip(axes, found, strict=True):
                index[axis] = position
        return tuple(index)

    def to_dml(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Sizes and strides as DirectML's buffer tensor takes them, which says nothing of padding.

        Raises:
            UnsupportedError: DirectML cannot say this layout: no strides, a negative one, an offset, a rank or a size
                of 0, or a number past 32 bits.

        Source: DirectML, DML_BUFFER_TENSOR_DESC.
        """
        return said_to_dml(self.dtype, self.sizes, self.strides, self.offset, self.__str__)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DescFacts):
            return NotImplemented
        return self is other or (self._hash == other._hash and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return format_parts(self.parts)
