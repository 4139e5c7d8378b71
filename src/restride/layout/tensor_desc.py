"""TensorDesc: what a buffer means, as a value: element type, sizes, and the element offset of every index."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple, NoReturn, Self, SupportsIndex, cast

import numpy as np

from restride.arguments import MAX_RANK, integer, integers, permutation
from restride.dtypes import BY_NUMPY, DType, as_dtype
from restride.errors import DescriptorError, UnsupportedError
from restride.layout.blocking import Blocking, blocked, tiled
from restride.layout.digits import Linear, affine
from restride.layout.dml import checked_dml, said_to_dml
from restride.layout.equation import STEPS, SearchTooLongError, has_gap, smallest_index
from restride.layout.tags import parse_tag, spelled
from restride.layout.text import DescParts, cut, format_parts, parse_parts

# The padding value of a descriptor: a number that its element type can hold, and that element's bits.


def padding_number(value: Any, dtype: DType, where: Callable[[], str]) -> int | float:
    """``value`` as an int for an integer type or ``pred``, as a float for a floating one.

    A float is rounded when its bits are taken: 0.1 is as good a value as any other.

    Raises:
        DescriptorError: not a number, or out of the element type's range.
    """
    if type(value) is int and value == 0:
        return 0.0 if dtype.is_float else 0
    number = _as_number(value)
    if number is None:
        raise DescriptorError(f"padding_value must be a number, got {value!r} in {where()}")
    if isinstance(number, int):
        number = integer("padding_value", number, where)
    if dtype.is_float:
        wanted = float(number)
        with np.errstate(over="ignore"):
            held = float(np.array(wanted).astype(dtype.dtype))
        is_finite = isinstance(number, int) or math.isfinite(number)
        if is_finite != math.isfinite(held) or math.isnan(wanted) != math.isnan(held):
            raise DescriptorError(f"padding_value {value} is beyond what {dtype} holds, in {where()}")
        return wanted
    whole = int(number) if isinstance(number, float) and number == number // 1 else number  # "0.0" is a 0
    whole = integer("padding_value", whole, where)
    low, high = (0, 1) if dtype.name == "pred" else (np.iinfo(dtype.dtype).min, np.iinfo(dtype.dtype).max)
    if not low <= whole <= high:
        raise DescriptorError(f"padding_value {whole} is outside [{low}, {high}] of {dtype}, in {where()}")
    return whole


def _as_number(value: Any) -> int | float | None:
    """``value`` as Python's int or float, exactly; None if it is neither one of these nor a number of numpy's."""
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, np.generic):
        element = BY_NUMPY.get(value.dtype)
        return None if element is None else float(value) if element.is_float else int(value)
    return value if isinstance(value, int | float) else None


def element_bits(value: float, dtype: DType) -> int:
    """The bits of an element: 1.5 of f16 is 0x3E00, -1 of s8 is 0xFF."""
    if not dtype.is_float:
        return int(value) & ((1 << 8 * dtype.itemsize) - 1)
    number: Any = np.float64(value)
    if dtype.itemsize < 4 and dtype.name != "f16":
        number = _by_way_of_f32(value)
    with np.errstate(over="ignore"):
        return int.from_bytes(np.array(number).astype(dtype.dtype).tobytes(), "little")


def _by_way_of_f32(value: float) -> Any:
    """An f32 that a cast to a narrower float rounds as ``value`` itself would be rounded.

    ml_dtypes casts by way of f32, which rounds twice. Cut towards zero, with the last bit set where something was lost,
    f32 keeps what the second rounding asks: below a half, at it, or above.
    """
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if not np.isfinite(single) or float(single) == value:
        return single
    if abs(float(single)) > abs(value):
        single = np.nextafter(single, np.float32(0))
    return (single.view(np.uint32) | np.uint32(1)).view(np.float32)


# The fields of a descriptor, computed from strides, from a blocking, or from an address.


class Fields(NamedTuple):
    """What a ``TensorDesc`` is made of; ``DescFacts`` says what each is."""

    dtype: DType
    sizes: tuple[int, ...]
    strides: tuple[int, ...] | None
    offset: int
    numel: int
    extent: int
    lowest: int
    highest: int
    blocking: Blocking | None
    key: tuple[object, ...]
    address: Linear | None
    order: tuple[int, ...] | None
    parts: DescParts | None


def strided(
    dtype: DType,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int = 0,
    order: tuple[int, ...] | None = None,
    parts: DescParts | None = None,
) -> Fields:
    """A layout of strides; ``order`` and ``parts`` as it was written, if not by them.

    Raises:
        DescriptorError: an element below the buffer's start.
    """
    numel, below, above = 1, 0, 0
    for size, stride in zip(sizes, strides, strict=True):
        numel *= size
        reach = (size - 1) * stride
        if reach < 0:
            below += reach
        else:
            above += reach
    lowest, highest = (offset + below, offset + above) if numel else (0, -1)
    if offset < 0 or lowest < 0:
        text = format_parts(DescParts(dtype.name, sizes, strides=strides, offset=offset))
        raise DescriptorError(
            f"the lowest element must be at 0 or above: offset {offset} puts it at {min(offset, lowest)} "
            f"in {text}; the smallest legal offset is {-below if numel else 0}"
        )
    key: tuple[object, ...] = (dtype.name, sizes)
    if numel:
        key += (tuple(s if size > 1 else 0 for s, size in zip(strides, sizes, strict=True)), offset)
    return Fields(dtype, sizes, strides, offset, numel, highest + 1, lowest, highest, None, key, None, order, parts)


def whole(dtype: DType, blocking: Blocking, parts: DescParts) -> Fields:
    """A layout of tiles, padding or blocks that covers its whole buffer."""
    coordinates = [affine(0, [(axis, size, 1)]) for axis, size in enumerate(parts.sizes)]
    fields = viewed(dtype, blocking, coordinates, parts)._replace(order=parts.minor_to_major)
    if fields.extent == fields.numel:
        return fields
    # Padding is part of what is compared: it is written. Where it has a value, so is where that lies.
    padded = parts.padded_sizes or parts.sizes
    value = element_bits(parts.padding_value, dtype) if padded != parts.sizes else 0
    places = blocking.address([affine(0, [(axis, size, 1)]) for axis, size in enumerate(padded)])
    return fields._replace(key=(*fields.key, fields.extent, *((value, padded, places) if value else ())))


def viewed(dtype: DType, blocking: Blocking, coordinates: list[Linear], parts: DescParts) -> Fields:
    """A layout by the coordinates that an index has in a blocking; strided, if no digit is left of its address."""
    sizes, numel = parts.sizes, prod(parts.sizes)
    address = blocking.address(coordinates) if numel else Linear()
    low, high = address.span if numel else (0, -1)
    offset = address.at((0,) * len(sizes)) if numel else 0
    strides = tuple(address.stride(axis) for axis in range(len(sizes))) if address.is_affine else None
    key: tuple[object, ...] = (dtype.name, sizes)
    if numel:
        key += (address,) if strides is None else (strides, offset)
    extent = blocking.extent
    high = min(high, extent - 1)
    return Fields(dtype, sizes, strides, offset, numel, extent, low, high, blocking, key, address, None, parts)


# Spelled: a descriptor as it was written, as a value that is hashed once: what plans are found again by.


class Spelled:
    """What tells a descriptor from every other one: what lies where, and how that was written."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, hashed: int, *parts: object) -> None:
        self._hash = hashed
        self._parts = parts

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spelled) and self._parts == other._parts


# What can be asked of a descriptor: its fields, its bytes, where an index lies, and which index lies there.

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


# The rules that a descriptor's arguments keep, and what an error calls the descriptor before there is one.


def packed_strides(sizes: Sequence[int], minor_to_major: Sequence[int]) -> tuple[int, ...]:
    """Strides without gaps, the axes in this order from the fastest on; a size of 0 counts as 1, as in numpy."""
    strides, step = [0] * len(sizes), 1
    for axis in minor_to_major:
        strides[axis] = step
        step *= max(sizes[axis], 1)
    return tuple(strides)


def where_of(dtype: DType, sizes: tuple[int, ...]) -> Callable[[], str]:
    """The beginning of a descriptor for messages, when its layout is not known yet."""
    return lambda: f"{dtype.name}[{','.join(map(str, sizes))}]"


def checked_sizes(dtype: DType, sizes: Any) -> tuple[int, ...]:
    """Up to 8 sizes, each 0 or more."""
    values = integers("sizes", sizes)
    if len(values) > MAX_RANK:
        raise DescriptorError(f"rank {len(values)} exceeds {MAX_RANK}: sizes {values} of {dtype.name}")
    for axis, size in enumerate(values):
        if size < 0:
            raise DescriptorError(f"size {size} of axis {axis} must be 0 or more in {dtype.name}{list(values)}")
    return values


@contextmanager
def naming(parts: DescParts) -> Iterator[None]:
    """Say in an error which layout it is about."""
    try:
        yield
    except UnsupportedError as error:
        raise UnsupportedError(f"{error}, in {cut(format_parts(parts))}") from None


def checked_tiles(tiles: Any, where: Callable[[], str]) -> tuple[tuple[int, ...], ...]:
    """XLA's tiles: of each the sizes, 1 or more, or -1 for a dimension that is joined with the next faster one."""
    return tuple(_checked_tile(tile, where) for tile in _members("tiles", tiles, where))


def checked_steps(steps: Any, inner: DescFacts) -> tuple[tuple[int, ...], ...]:
    """Of each axis of a view, how far a step of it moves along each axis of ``inner``."""
    members = _members("steps", steps, inner.__str__)
    return tuple(integers(f"steps[{axis}]", step, inner.__str__) for axis, step in enumerate(members))


def _members(argument: str, values: Any, where: Callable[[], str]) -> tuple[Any, ...]:
    try:
        return tuple(values)
    except TypeError:
        raise DescriptorError(f"{argument} must be a sequence of sequences, got {values!r} in {where()}") from None


def _checked_tile(tile: Any, where: Callable[[], str]) -> tuple[int, ...]:
    sizes = integers("tile", tile, where)
    if not sizes:
        raise DescriptorError(f"a tile needs a size, got {sizes} for {where()}")
    for size in sizes:
        if size < 1 and size != -1:
            raise DescriptorError(
                f"tile sizes are 1 or more, or -1 to join dimensions: {size} of {sizes} for {where()}"
            )
    if sizes[-1] == -1:
        raise DescriptorError(
            f"the last size of a tile has no faster dimension to be joined with: {sizes} for {where()}"
        )
    return sizes


def checked_padding(padded_sizes: Any, sizes: tuple[int, ...], where: Callable[[], str]) -> tuple[int, ...]:
    """One padded size an axis, none below its size."""
    padded = integers("padded_sizes", padded_sizes, where)
    if len(padded) != len(sizes):
        raise DescriptorError(f"padded_sizes need one value per axis: got {padded} for {where()}")
    for axis, (size, wide) in enumerate(zip(sizes, padded, strict=True)):
        if wide < size:
            raise DescriptorError(f"padded size {wide} of axis {axis} is below its size {size} in {where()}")
    return padded


def coordinates_of_view(
    inner: DescFacts, sizes: tuple[int, ...], starts: tuple[int, ...], steps: tuple[tuple[int, ...], ...]
) -> list[Linear]:
    """Where an index of a view lies along each axis of ``inner``.

    A view reaches no index outside what it looks at, and no axis of it moves along two axes there.
    """
    if len(steps) != len(sizes) or any(len(given) != inner.rank for given in (starts, *steps)):
        raise DescriptorError(
            f"a view of sizes {sizes} of {inner} needs one step per axis, and starts and steps of {inner.rank} "
            f"numbers each: got starts {starts}, steps {steps}"
        )
    coordinates = []
    for axis, (start, size) in enumerate(zip(starts, inner.sizes, strict=True)):
        coordinate = affine(start, [(k, sizes[k], step[axis]) for k, step in enumerate(steps)])
        low, high = coordinate.span if 0 not in sizes else (start, start - 1)
        if low < 0 or high >= size:
            raise DescriptorError(f"a view reaches [{low}, {high}] along axis {axis} of size {size} in {inner}")
        coordinates.append(coordinate)
    for axis, (count, moves) in enumerate(zip(sizes, steps, strict=True)):
        if count > 1 and sum(move != 0 for move in moves) > 1:
            raise DescriptorError(f"axis {axis} of a view moves along several axes of {inner}: steps {moves}")
    return coordinates


# TensorDesc: what a buffer means, as a value: element type, sizes, and the element offset of every index.


class TensorDesc(DescFacts):
    """Element type, sizes and layout of a tensor in a buffer.

    Made by strides here, by XLA's layouts (``xla``), by oneDNN's format tags (``from_tag``), from a text of any of
    these (``parse``), and by views of all of them. Sizes 2,3 with strides 3,1 are row-major, 1,2 column-major, 5,1
    padded to five elements a row, 0,1 one row seen twice. Strides may be negative where the offset keeps every element
    at 0 or above. The unit of strides and ``offset`` is elements.

    ``==`` and ``hash`` compare memory: what lies where, and the padding that is written with it. The strides of axes of
    size 1 do not count, nor do those of an empty tensor. ``str`` and ``strides`` give back what was written.

    Args:
        dtype: element type, in any spelling ``as_dtype`` knows.
        sizes: up to 8 sizes, each 0 or more.
        strides: one a size; None: packed in row-major order.
        offset: element of the buffer that index 0,0,... lies at.

    Raises:
        DescriptorError: no such type, not integers, a negative size, more than 8 axes, as many strides as axes not
            given, or an element below the buffer's start.
    """

    __slots__ = ()

    def __init__(
        self,
        dtype: Any,
        sizes: Iterable[SupportsIndex],
        strides: Iterable[SupportsIndex] | None = None,
        offset: SupportsIndex = 0,
    ) -> None:
        element = as_dtype(dtype)
        its_sizes = checked_sizes(element, sizes)
        where = where_of(element, its_sizes)
        its_offset = integer("offset", offset, where)
        order: tuple[int, ...] | None = None
        if strides is None:
            row_major = tuple(range(len(its_sizes)))[::-1]
            its_strides, order = packed_strides(its_sizes, row_major), None if its_offset else row_major
        else:
            its_strides = integers("strides", strides, where)
            if len(its_strides) != len(its_sizes):
                raise DescriptorError(
                    f"strides need one value per axis: got {len(its_strides)}, {its_strides}, for the "
                    f"{len(its_sizes)} axes of {where()}"
                )
        self._take(strided(element, its_sizes, its_strides, its_offset, order))

    @classmethod
    def xla(
        cls,
        dtype: Any,
        sizes: Iterable[SupportsIndex],
        minor_to_major: Iterable[SupportsIndex] | None = None,
        tiles: Iterable[Iterable[SupportsIndex]] = (),
        padded_sizes: Iterable[SupportsIndex] | None = None,
        padding_value: float = 0,
    ) -> TensorDesc:
        """XLA's layout: an order of the axes, padding, tiles.

        ``xla("f32", (3, 5), tiles=[(2, 2)])`` is ``f32[3,5]{1,0:T(2,2)}``. Tiles cover the fastest dimensions, each the
        ones that the tile before it left; -1 joins a dimension with the next faster one.

        Args:
            dtype: element type.
            sizes: up to 8 sizes.
            minor_to_major: the axes from the fastest to the slowest, -1 the last one; None: row-major.
            tiles: sizes of each tile, slowest dimension first.
            padded_sizes: per axis, at least its size: what the tensor is padded to before it is tiled.
            padding_value: what an operation writes into that padding. Padding inside tiles is 0.

        Raises:
            DescriptorError: not a permutation of the axes, a tile without dimensions, with a size below 1 that is not
                -1, or with -1 last, padding below the size, or what the constructor refuses.

        Source: XLA, Shapes and layout; Tiled layout.
        """
        element = as_dtype(dtype)
        its_sizes = checked_sizes(element, sizes)
        where = where_of(element, its_sizes)
        row_major = tuple(range(len(its_sizes)))[::-1]
        order = (
            row_major
            if minor_to_major is None
            else permutation("minor_to_major", minor_to_major, len(row_major), where)
        )
        its_tiles = checked_tiles(tiles, where)
        padded = None if padded_sizes is None else checked_padding(padded_sizes, its_sizes, where)
        value = padding_number(padding_value, element, where)
        if value and padded is None:
            raise DescriptorError(f"padding_value {padding_value} needs padded_sizes, which {where()} has none of")
        if its_tiles or padded is not None:
            parts = DescParts(element.name, its_sizes, order, its_tiles, padded, value)
            with naming(parts):
                return cls._made(
                    whole(element, tiled(its_sizes if padded is None else padded, order, its_tiles), parts)
                )
        return cls._made(strided(element, its_sizes, packed_strides(its_sizes, order), order=order))

    @classmethod
    def from_tag(cls, tag: str, sizes: Iterable[SupportsIndex], dtype: Any = "f32") -> TensorDesc:
        """A layout by oneDNN's format tag: ``nhwc``, ``nChw16c``, ``OIhw4i16o4i``, ``acdb``, ``aBcd8b``.

        Sizes are in logical order. Capital letters are axes under blocks, which follow from the outermost to the
        innermost. An axis that its blocks do not divide is padded, and operations write zeros there.

        Raises:
            DescriptorError: no such tag (the message points at the character), or another number of sizes.

        Source: oneDNN, memory format tags.
        """
        element = as_dtype(dtype)
        its_sizes = checked_sizes(element, sizes)
        its_tag = parse_tag(tag)
        if its_tag.rank != len(its_sizes):
            raise DescriptorError(
                f"tag {tag!r} has {its_tag.rank} axes, {where_of(element, its_sizes)()} has {len(its_sizes)}"
            )
        parts = DescParts(element.name, its_sizes, tag=its_tag.text)
        if its_tag.blocks:
            with naming(parts):
                return cls._made(whole(element, blocked(its_sizes, its_tag.order, its_tag.blocks), parts))
        order = its_tag.order[::-1]
        return cls._made(strided(element, its_sizes, packed_strides(its_sizes, order), order=order, parts=parts))

    @classmethod
    def view_of(
        cls,
        inner: TensorDesc,
        sizes: Iterable[SupportsIndex],
        starts: Iterable[SupportsIndex],
        steps: Iterable[Iterable[SupportsIndex]],
    ) -> TensorDesc:
        """A view: index i of it is the element of ``inner`` at ``starts + sum of i_k * steps[k]``, one number an axis.

        Slices, flips, permutations and broadcasts of any tensor are views; indexing makes them. Operations write
        nothing outside a view's elements.

        Raises:
            DescriptorError: as many numbers as axes not given, an axis that moves along two axes of ``inner``, or an
                element outside it.
            UnsupportedError: ``inner`` is a view itself, or written by strides.
        """
        if not isinstance(inner, TensorDesc):
            raise DescriptorError(f"a view looks at a TensorDesc, not at {inner!r}")
        its_sizes = checked_sizes(inner.dtype, sizes)
        its_starts, its_steps = integers("starts", starts, inner.__str__), checked_steps(steps, inner)
        coordinates = coordinates_of_view(inner, its_sizes, its_starts, its_steps)
        blocking = inner.blocking
        if blocking is None and inner.is_written_by_order and inner.minor_to_major is not None:
            blocking = tiled(inner.sizes, inner.minor_to_major, ())
        if blocking is None or inner.inner is not None:
            raise UnsupportedError(f"a view looks at an order, tiles or a tag, not at {inner}")
        parts = DescParts(inner.dtype.name, its_sizes, inner=inner.parts, starts=its_starts, steps=its_steps)
        return cls._made(viewed(inner.dtype, blocking, coordinates, parts), inner)

    @classmethod
    def _made(cls, fields: Fields, inner: TensorDesc | None = None) -> TensorDesc:
        desc = cls.__new__(cls)
        desc._take(fields, inner)  # noqa: SLF001 - the object that is being made
        return desc

    @classmethod
    def parse(cls, text: str) -> TensorDesc:
        """The descriptor that ``text`` writes, such as ``f32[2,3]{0,1}``; ``parse(str(desc)) == desc``.

        Blanks between tokens are skipped; without braces the layout is row-major. The grammar is in ``desc/text.py``.

        Raises:
            DescriptorError: wrong syntax (the message points at the character), or what the constructors refuse.
            UnsupportedError: a part of XLA's layouts that has no meaning here, such as a memory space.
        """
        if not isinstance(text, str):
            raise DescriptorError(f"a descriptor text must be a str, got {text!r} ({type(text).__name__})")
        return _parsed(text)

    @classmethod
    def from_dml(
        cls, sizes: Iterable[SupportsIndex], strides: Iterable[SupportsIndex] | None = None, dtype: Any = "f32"
    ) -> TensorDesc:
        """DirectML's buffer tensor: 1 to 8 sizes of 1 or more, strides of 0 or more, or None for packed.

        Raises:
            DescriptorError: a rule of DirectML is broken.

        Source: DirectML, DML_BUFFER_TENSOR_DESC.
        """
        element = as_dtype(dtype)
        return cls(element, *checked_dml(element, sizes, strides))

    @classmethod
    def interleaved(cls, dtype: Any, sizes: Iterable[SupportsIndex]) -> TensorDesc:
        """Channels fastest, as images come: N,C,H,W in the order of NHWC, N,C,D,H,W in that of NDHWC.

        Sizes 1,3,480,640 have strides 921600,1,1920,3.

        Raises:
            DescriptorError: fewer than 2 axes, or what the constructor refuses.
        """
        its_sizes = integers("sizes", sizes)
        if len(its_sizes) < 2:
            raise DescriptorError(f"an interleaved layout needs a batch and a channel axis, sizes are {its_sizes}")
        return cls.xla(dtype, its_sizes, (1, *range(2, len(its_sizes))[::-1], 0))

    @classmethod
    def padded_rows(cls, dtype: Any, sizes: Iterable[SupportsIndex], row: SupportsIndex) -> TensorDesc:
        """Row-major with ``row`` elements from one row, the last axis, to the next: an image with a row pitch.

        Sizes 2,3 with rows of 5 have strides 5,1. Operations leave what lies between the rows as it is.

        Raises:
            DescriptorError: no axis, rows below the last size, or what the constructor refuses.
        """
        its_sizes = integers("sizes", sizes)
        pitch = integer("row", row)
        if not its_sizes or pitch < its_sizes[-1]:
            raise DescriptorError(f"rows of {pitch} elements do not hold the last axis of sizes {its_sizes}")
        return cls(dtype, its_sizes, packed_strides((*its_sizes[:-1], pitch), tuple(range(len(its_sizes)))[::-1]))

    def promoted(self, rank: SupportsIndex) -> TensorDesc:
        """The same elements with leading axes of size 1 up to ``rank``: ``f32[3,5]`` to 4 has strides 15,15,5,1.

        Raises:
            DescriptorError: ``rank`` is below the descriptor's or above 8.
        """
        wanted = integer("rank", rank, self.__str__)
        extra = wanted - self.rank
        if not self.rank <= wanted <= MAX_RANK:
            raise DescriptorError(f"rank {wanted} is outside [{self.rank}, {MAX_RANK}] for {self}")
        sizes = (1,) * extra + self.sizes
        if self.tag is not None:
            tag = parse_tag(self.tag)
            blocks = [(axis + extra, size) for axis, size in tag.blocks]
            return TensorDesc.from_tag(
                spelled([*range(extra), *(axis + extra for axis in tag.order)], blocks), sizes, self.dtype
            )
        if self.is_written_by_order and self.minor_to_major is not None:
            order = (*(axis + extra for axis in self.minor_to_major), *range(extra)[::-1])
            padded = None if self.padded_sizes is None else (1,) * extra + self.padded_sizes
            return TensorDesc.xla(self.dtype, sizes, order, self.tiles, padded, self.padding_value)
        if self.strides is not None:
            slowest = max((abs(s) * size for s, size in zip(self.strides, self.sizes, strict=True)), default=1)
            return TensorDesc(self.dtype, sizes, (slowest,) * extra + self.strides, self.offset)
        starts, steps = self.walk
        return TensorDesc.view_of(self.inner or self, sizes, starts, ((0,) * len(starts),) * extra + steps)

    def __repr__(self) -> str:
        return f"TensorDesc.parse({str(self)!r})"

    def __reduce__(self) -> tuple[Callable[[str], TensorDesc], tuple[str]]:
        # By text, because the hash of a text, and so the stored one, differs from process to process.
        return TensorDesc.parse, (str(self),)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> TensorDesc:
    # A program writes few layouts, and each at every call; a descriptor never changes.
    return _of(parse_parts(text))


def _of(parts: DescParts) -> TensorDesc:
    dtype, sizes = parts.dtype, parts.sizes
    if parts.strides is not None:
        return TensorDesc(dtype, sizes, parts.strides, parts.offset)
    if parts.tag is not None:
        return TensorDesc.from_tag(parts.tag, sizes, dtype)
    if parts.inner is not None:
        return TensorDesc.view_of(_of(parts.inner), sizes, parts.starts, parts.steps)
    return TensorDesc.xla(dtype, sizes, parts.minor_to_major, parts.tiles, parts.padded_sizes, parts.padding_value)
