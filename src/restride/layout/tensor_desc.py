"""TensorDesc: the layout of a buffer as a value: element type, sizes, and the element offset of every index."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, NoReturn, SupportsIndex

import numpy as np

from restride.arguments import MAX_RANK, integer, integers, one_per_axis, permutation
from restride.dtypes import EXTENSIONS, DType, DTypeLike, as_dtype, as_number
from restride.errors import DescriptorError, ErrorContext, UnsupportedError, shown
from restride.layout.blocking import Blocking, blocked, tiled
from restride.layout.digits import Linear, affine, coordinates, each_axis
from restride.layout.dml import checked_dml
from restride.layout.equation import STEPS, SearchTooLongError, has_gap, smallest_index
from restride.layout.tags import format_tag, parse_tag
from restride.layout.text import DescParts, Storage, cut, format_parts, parse_parts, shape_text


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Fields:
    """The attributes of a TensorDesc: how it was written, and the memory that this describes."""

    dtype: DType
    sizes: tuple[int, ...]
    parts: DescParts
    inner: TensorDesc | None
    blocking: Blocking | None
    strides: tuple[int, ...] | None
    offset: int
    numel: int
    nbytes: int
    lowest: int
    highest: int
    _terms: Linear | None  # the address, if there are no strides
    _key: tuple[object, ...]  # describes the memory; == compares it
    _hash: int  # of the key


class TensorDesc(_Fields):
    """Element type, sizes and layout of a tensor in a buffer. It never changes.

    The constructor takes strides; ``xla`` takes XLA's layouts, ``from_tag`` oneDNN's format tags, ``parse`` a text of
    any of these, and ``view_of`` makes views of them. Sizes 2,3 with strides 3,1 are row-major, 1,2 column-major, 5,1
    padded to five elements a row, 0,1 one row seen twice. Strides may be negative where the offset keeps every element
    at 0 or above. The unit of strides and ``offset`` is elements.

    ``==`` and ``hash`` compare memory: which index lies where, the padding that is written, the bits of an element in
    memory, and the memory space. The strides of axes of size 1 do not count, nor do those of an empty tensor. ``str``
    and ``strides`` give back what was written. A descriptor equals a text that describes it, but the text has another
    hash, so a dict of descriptors cannot be searched by texts.

    Args:
        dtype: element type, in any spelling ``as_dtype`` knows.
        sizes: up to 8 sizes, each 0 or more.
        strides: one for each size; None: packed in row-major order.
        offset: element of the buffer at which index 0,0,... lies.
        element_size_in_bits: bits that XLA stores an element in; 0: those of the type.
        memory_space: a number of XLA's, kept and printed; every buffer is in the device's memory. 0: the default one.

    Attributes:
        parts: the descriptor as it was written, which ``str`` formats.
        strides: None where no strides describe the layout: tiles and blocks, and most views of them.
        numel: the product of the sizes.
        nbytes: bytes that the buffer needs, not rounded: those of ``extent`` elements of ``element_size_in_bits``.
        lowest: the smallest element of the buffer that an index reaches; 0 if the tensor is empty.
        highest: the largest one; -1 if the tensor is empty. Both are bounds where ``strides`` is None.
        blocking: the tiles, padding and blocks of the layout, or of the layout that is viewed; None if there are none.
        inner: for a view of tiles or blocks, the whole layout that is viewed; else None.

    Raises:
        DescriptorError: no such type, not integers, a negative size, more than 8 axes, not one stride per axis, or an
            element below the buffer's start.

    Examples:
        >>> desc = rs.TensorDesc("f32", (2, 3), (1, 2))
        >>> desc.offset_of((1, 2)), desc.nbytes
        (5, 24)
        >>> desc == rs.TensorDesc.parse("f32[2,3]{0,1}"), desc == "f32[2,3]{0,1}", desc == "f32[2,3]"
        (True, True, False)
    """

    __slots__ = ()

    def __init__(
        self,
        dtype: DTypeLike,
        sizes: Iterable[SupportsIndex],
        strides: Iterable[SupportsIndex] | None = None,
        offset: SupportsIndex = 0,
        *,
        element_size_in_bits: SupportsIndex = 0,
        memory_space: SupportsIndex = 0,
    ) -> None:
        element = as_dtype(dtype)
        sizes = _checked_sizes(element, sizes)
        order = None
        try:
            offset = integer("offset", offset)
            if strides is not None:
                strides = one_per_axis("strides", strides, len(sizes))
            elif offset:
                strides = packed_strides(sizes, _row_major(len(sizes)))
            else:
                order = _row_major(len(sizes))
            bits = space = 0
            if element_size_in_bits != 0 or memory_space != 0:
                bits, space = _checked_storage(element_size_in_bits, memory_space)
        except DescriptorError as error:
            error.add_descriptor(shape_text(element.name, sizes))
            raise
        self._locate(element, DescParts(element.name, sizes, order, (), None, 0, 1, bits, space, strides, offset))

    @classmethod
    def xla(
        cls,
        dtype: DTypeLike,
        sizes: Iterable[SupportsIndex],
        minor_to_major: Iterable[SupportsIndex] | None = None,
        tiles: Iterable[Iterable[SupportsIndex]] = (),
        padded_sizes: Iterable[SupportsIndex] | None = None,
        padding_value: float = 0,
        tail_padding_alignment_in_elements: SupportsIndex = 1,
        element_size_in_bits: SupportsIndex = 0,
        memory_space: SupportsIndex = 0,
    ) -> TensorDesc:
        """XLA's layout: an order of the axes, padding, tiles, and how it is stored.

        Each tile covers the fastest dimensions that the tile before it left; -1 joins a dimension with the next faster
        one. The last three arguments do not move elements. The number of elements of the buffer, with all other
        padding, is rounded up to a multiple of the alignment; each has ``element_size_in_bits``, and their sum is
        rounded up to bytes. Elements of another size than their type's are not read or written (UnsupportedError). The
        memory space is kept and printed only: every buffer is in the device's memory.

        Args:
            dtype: element type.
            sizes: up to 8 sizes.
            minor_to_major: the axes from the fastest to the slowest, -1 the last one; None: row-major.
            tiles: sizes of each tile, slowest dimension first.
            padded_sizes: per axis, the size, not below that in ``sizes``, to which the tensor is padded before tiling.
            padding_value: what an operation writes into that padding. Padding inside tiles and at the end is 0.
            tail_padding_alignment_in_elements: the buffer has a multiple of so many elements: ``L(100)`` in a text.
            element_size_in_bits: ``E(4)`` in a text; 0: that of the type.
            memory_space: ``S(1)`` in a text; 0: the default one.

        Raises:
            DescriptorError: not a permutation of the axes, a tile without dimensions, with a size below 1 that is not
                -1, or with -1 last, padding below the size, an alignment below 1, another number below 0, or what the
                constructor refuses.

        Examples:
            >>> str(rs.TensorDesc.xla("f32", (3, 5), tiles=[(2, 2)]))
            'f32[3,5]{1,0:T(2,2)}'
            >>> rs.TensorDesc.parse("f32[3,5]{1,0:L(100)}").nbytes
            400

        Source: XLA, Shapes and layout; Tiled layout; LayoutProto in xla_data.proto; ShapeUtil::ArraySize.
        """
        element = as_dtype(dtype)
        sizes = _checked_sizes(element, sizes)
        try:
            order = _row_major(len(sizes))
            if minor_to_major is not None:
                order = permutation("minor_to_major", minor_to_major, len(sizes))
            tiles = _checked_tiles(tiles)
            padded, value = _checked_padding(padded_sizes, padding_value, sizes, element)
            tail, storage = 1, (0, 0)
            if tail_padding_alignment_in_elements != 1:
                tail = _checked_number("tail_padding_alignment_in_elements", tail_padding_alignment_in_elements, 1)
            if element_size_in_bits != 0 or memory_space != 0:
                storage = _checked_storage(element_size_in_bits, memory_space)
        except DescriptorError as error:
            error.add_descriptor(shape_text(element.name, sizes))
            raise
        return desc_of_parts(element, DescParts(element.name, sizes, order, tiles, padded, value, tail, *storage))

    @classmethod
    def from_tag(cls, tag: str, sizes: Iterable[SupportsIndex], dtype: DTypeLike = "f32") -> TensorDesc:
        """A layout by oneDNN's format tag: ``nhwc``, ``nChw16c``, ``OIhw4i16o4i``, ``acdb``, ``aBcd8b``.

        Sizes are in logical order. A capital letter is an axis that is split into blocks; the blocks follow, from the
        outermost to the innermost. An axis that its blocks do not divide is padded, and operations write zeros there.

        Raises:
            DescriptorError: no such tag (the message points at the character), or another number of sizes.

        Examples:
            >>> rs.TensorDesc.from_tag("nhwc", (1, 3, 4, 5)).strides
            (60, 1, 15, 3)

        Source: oneDNN, memory format tags.
        """
        element = as_dtype(dtype)
        sizes = _checked_sizes(element, sizes)
        read = parse_tag(tag)
        if read.rank != len(sizes):
            raise DescriptorError(
                f"tag {tag!r} has {read.rank} axes, {shape_text(element.name, sizes)} has {len(sizes)}"
            )
        return desc_of_parts(element, DescParts(element.name, sizes, tag=read.text))

    @classmethod
    def view_of(
        cls,
        inner: TensorDesc,
        sizes: Iterable[SupportsIndex],
        starts: Iterable[SupportsIndex],
        steps: Iterable[Iterable[SupportsIndex]],
    ) -> TensorDesc:
        """A view: index i is the element of ``inner`` at ``starts + sum of i_k * steps[k]``, one number for each axis.

        Slices, flips, permutations and broadcasts of any tensor are views; indexing makes them. Operations write
        nothing outside a view's elements.

        Raises:
            DescriptorError: not as many numbers as axes, an axis that moves along two axes of ``inner``, or an element
                outside it.
            UnsupportedError: ``inner`` is a view itself, or written by strides.

        Examples:
            >>> tiled = rs.TensorDesc.parse("f32[4,4]{1,0:T(4,4)}")
            >>> str(rs.TensorDesc.view_of(tiled, (2,), (1, 3), ((2, 0),)))
            'f32[2]{at=(1+2a,3),in=[4,4]{1,0:T(4,4)}}'
        """
        if not isinstance(inner, TensorDesc):
            raise DescriptorError(f"inner must be a TensorDesc, got {inner!r}")
        with ErrorContext(inner):
            sizes, starts = _checked_sizes(inner.dtype, sizes), integers("starts", starts)
            moves = tuple(integers(f"steps[{axis}]", step) for axis, step in enumerate(_members("steps", steps)))
            _check_view(inner.sizes, sizes, starts, moves)
            if inner.inner is not None or inner.parts.strides is not None:
                raise UnsupportedError(f"inner must be written by an order, tiles or a tag, got {inner}")
            return with_walk(inner, sizes, starts, moves)

    @classmethod
    def parse(cls, text: str) -> TensorDesc:
        """The descriptor that ``text`` describes; ``parse(str(desc)) == desc``.

        Blanks between tokens are skipped; without braces the layout is row-major. The grammar is that of
        ``restride.layout.text``.

        Raises:
            DescriptorError: wrong syntax (the message points at the character), or what the constructors refuse.
            UnsupportedError: a part of XLA's layouts that has no meaning here, such as split configurations.

        Examples:
            >>> rs.TensorDesc.parse("f32[2,3]{0,1}").strides
            (1, 2)
        """
        if not isinstance(text, str):
            raise DescriptorError(f"a descriptor text must be a str, got {text!r} ({type(text).__name__})")
        return _parsed(text)

    @classmethod
    def from_dml(
        cls, sizes: Iterable[SupportsIndex], strides: Iterable[SupportsIndex] | None = None, dtype: DTypeLike = "f32"
    ) -> TensorDesc:
        """DirectML's buffer tensor: 1 to 8 sizes of 1 or more, strides of 0 or more, or None for packed.

        Raises:
            DescriptorError: a rule of DirectML is broken.

        Examples:
            >>> str(rs.TensorDesc.from_dml((1, 1, 3, 5)))
            'f32[1,1,3,5]{3,2,1,0}'

        Source: DirectML, DML_BUFFER_TENSOR_DESC.
        """
        element = as_dtype(dtype)
        return cls(element, *checked_dml(element, sizes, strides))

    @classmethod
    def interleaved(cls, dtype: DTypeLike, sizes: Iterable[SupportsIndex]) -> TensorDesc:
        """Channels fastest, as in most images: N,C,H,W in the order of NHWC, N,C,D,H,W in that of NDHWC.

        Raises:
            DescriptorError: fewer than 2 axes, or what the constructor refuses.

        Examples:
            >>> rs.TensorDesc.interleaved("u8", (1, 3, 480, 640)).strides
            (921600, 1, 1920, 3)
        """
        sizes = integers("sizes", sizes)
        if len(sizes) < 2:
            raise DescriptorError(f"an interleaved layout needs a batch and a channel axis, sizes are {sizes}")
        return cls.xla(dtype, sizes, (1, *range(2, len(sizes))[::-1], 0))

    @classmethod
    def padded_rows(cls, dtype: DTypeLike, sizes: Iterable[SupportsIndex], row: SupportsIndex) -> TensorDesc:
        """Row-major with ``row`` elements from one row, the last axis, to the next: an image with a row pitch.

        Operations leave the gaps between rows unchanged.

        Raises:
            DescriptorError: no axis, rows below the last size, or what the constructor refuses.

        Examples:
            >>> rs.TensorDesc.padded_rows("f32", (2, 3), 5).strides
            (5, 1)
        """
        sizes, row = integers("sizes", sizes), integer("row", row)
        if not sizes:
            raise DescriptorError("sizes must have an axis, got ()")
        if row < sizes[-1]:
            raise DescriptorError(f"row must be at least {sizes[-1]}, the last of sizes {sizes}, got {row}")
        return cls(dtype, sizes, packed_strides((*sizes[:-1], row), _row_major(len(sizes))))

    def promoted(self, rank: SupportsIndex) -> TensorDesc:
        """The layout with leading axes of size 1 added, up to ``rank`` axes.

        Raises:
            DescriptorError: ``rank`` is below the descriptor's or above 8, or the new stride is not below 2^512.

        Examples:
            >>> rs.TensorDesc("f32", (3, 5)).promoted(4).strides
            (15, 15, 5, 1)
        """
        with ErrorContext(self):
            rank = integer("rank", rank)
            if not self.rank <= rank <= MAX_RANK:
                raise DescriptorError(f"rank {rank} is outside [{self.rank}, {MAX_RANK}]")
        extra = rank - self.rank
        sizes = (1,) * extra + self.sizes
        if self.tag is not None:
            tag = parse_tag(self.tag)
            blocks = [(axis + extra, size) for axis, size in tag.blocks]
            order = [*range(extra), *(axis + extra for axis in tag.order)]
            return TensorDesc.from_tag(format_tag(order, blocks), sizes, self.dtype)
        if self.parts.minor_to_major is not None:
            minor_to_major = (*(axis + extra for axis in self.parts.minor_to_major), *_row_major(extra))
            padded = None if self.padded_sizes is None else (1,) * extra + self.padded_sizes
            parts = self.parts._replace(sizes=sizes, minor_to_major=minor_to_major, padded_sizes=padded)
            return desc_of_parts(self.dtype, parts)
        if self.strides is not None:
            slowest = max((abs(s) * size for s, size in zip(self.strides, self.sizes, strict=True)), default=1)
            with ErrorContext(self):
                integer("strides[0]", slowest)
            return with_strides(self, sizes, (slowest,) * extra + self.strides, self.offset)
        starts, steps = self.walk
        return with_walk(self.inner or self, sizes, starts, ((0,) * len(starts),) * extra + steps)

    def _locate(self, dtype: DType, parts: DescParts, inner: TensorDesc | None = None) -> None:
        """Set the fields, all of which follow from ``parts``: where in the buffer the elements are.

        Beside type, sizes and storage ``==`` compares ``place``, strides and offset or else the address, and
        ``padding``, what operations write between the elements.

        Raises:
            DescriptorError: an element below the buffer's start.
        """
        sizes, strides, offset = parts.sizes, _written_strides(parts), parts.offset
        numel, low, high = 1, offset, offset
        blocking: Blocking | None = None
        terms: Linear | None = None
        padding: tuple[object, ...] = ()
        place: tuple[object, ...]
        if strides is not None:
            moves = []
            for size, stride in zip(sizes, strides, strict=True):
                numel *= size
                moves.append(stride if size > 1 else 0)  # the stride of an axis of size 1 does not count
                reach = (size - 1) * stride
                if reach < 0:
                    low += reach
                else:
                    high += reach
            if not numel:
                low, high = 0, -1
            if offset < 0 or low < 0:
                raise DescriptorError(
                    f"the lowest element must be at 0 or above: offset {offset} puts it at {min(offset, low)} in "
                    f"{format_parts(parts)}; the smallest legal offset is {offset - low if numel else 0}"
                )
            extent, place = high + 1, (tuple(moves), offset)
        else:
            numel = prod(sizes)
            blocking = inner.blocking if inner and inner.blocking else _blocking(parts.inner or parts)
            walk = (parts.starts, parts.steps) if inner else each_axis(len(sizes))
            address = blocking.address(coordinates(*walk, sizes)) if numel else Linear()
            low, high = address.span if numel else (0, -1)
            high, extent = min(high, blocking.tail - 1), blocking.extent
            offset = address.at((0,) * len(sizes))
            if address.is_affine:  # such as within a single tile
                strides = tuple(map(address.stride, range(len(sizes))))
                place = strides, offset
            else:
                terms, place = address, (address,)
            if not inner and extent > numel:
                padding = _written_padding(dtype, parts, blocking)
        bits = parts.element_size_in_bits or 8 * dtype.itemsize
        nbytes = (extent * bits + 7) // 8
        key = (dtype.name, sizes, *place) if numel else (dtype.name, sizes)
        if padding or parts.memory_space or bits != 8 * dtype.itemsize:
            key += (bits, parts.memory_space, padding)
        _Fields.__init__(
            self, dtype, sizes, parts, inner, blocking, strides, offset, numel, nbytes, low, high, terms, key, hash(key)
        )

    def __setattr__(self, name: str, *_: object) -> NoReturn:
        raise AttributeError(f"a TensorDesc never changes: {name} of {self}")

    __delattr__ = __setattr__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorDesc):
            if not isinstance(other, str):
                return NotImplemented
            try:
                other = _parsed(other)
            except (DescriptorError, UnsupportedError):
                return False
        return self is other or (self._hash == other._hash and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return format_parts(self.parts)

    def __repr__(self) -> str:
        return f"TensorDesc.parse({str(self)!r})"

    def __reduce__(self) -> tuple[Callable[[str], TensorDesc], tuple[str]]:
        # Pickled as text, because hashes of texts, and so the stored hash, differ from process to process.
        return TensorDesc.parse, (str(self),)

    @property
    def rank(self) -> int:
        """Number of axes, 0 to 8."""
        return len(self.sizes)

    @property
    def true_rank(self) -> int:
        """Number of axes with a size greater than 1, as XLA counts."""
        return sum(size > 1 for size in self.sizes)

    @property
    def minor_to_major(self) -> tuple[int, ...] | None:
        """The axes from the fastest to the slowest: as written, else by stride.

        None where there is no such order: a broadcast, blocks, or a view of tiles. Equal strides go row-major, later
        axis first. An axis of size 1 written with stride 0 counts as slowest.
        """
        parts, strides = self.parts, self.strides
        if parts.minor_to_major is not None:
            return parts.minor_to_major
        if parts.tag is not None and self.blocking is None:
            return parse_tag(parts.tag).minor_to_major
        if strides is None or self.is_broadcast:
            return None
        return tuple(sorted(range(self.rank), key=lambda axis: (strides[axis] == 0, abs(strides[axis]), -axis)))

    @property
    def is_written_by_order(self) -> bool:
        """True if the layout was written with a ``minor_to_major`` (or without a layout) rather than by strides."""
        return self.parts.minor_to_major is not None or (self.tag is not None and self.blocking is None)

    @property
    def tiles(self) -> tuple[tuple[int, ...], ...]:
        """XLA's tiles as written, -1 for a joined dimension; () for a view."""
        return self.parts.tiles

    @property
    def padded_sizes(self) -> tuple[int, ...] | None:
        """The sizes after padding, before tiling, as written; None: no padding."""
        return self.parts.padded_sizes

    @property
    def padding_value(self) -> float:
        """The value that operations write between ``sizes`` and ``padded_sizes``."""
        return self.parts.padding_value

    @property
    def tail_padding_alignment_in_elements(self) -> int:
        """The number of elements of the buffer is a multiple of this, as it was written; 1 for a view."""
        return self.parts.tail_padding_alignment_in_elements

    @property
    def element_size_in_bits(self) -> int:
        """Bits that XLA stores an element in, as written; 0: those of the type."""
        return self.parts.element_size_in_bits

    @property
    def memory_space(self) -> int:
        """XLA's number of the memory, as written; 0: the default one."""
        return self.parts.memory_space

    @property
    def storage(self) -> Storage:
        """``element_size_in_bits`` and ``memory_space``, as keywords of the constructors."""
        return self.parts.storage

    @property
    def has_whole_elements(self) -> bool:
        """True if an element has the size of its type. Operations refuse others, such as s8 stored in 4 bits."""
        return self.parts.element_size_in_bits in (0, 8 * self.dtype.itemsize)

    @property
    def tag(self) -> str | None:
        """The oneDNN format tag, if the layout was written with one; else None."""
        return self.parts.tag

    @property
    def is_whole(self) -> bool:
        """True for tiles, blocks, padded sizes and padding at the end: operations write the whole buffer, with padding.

        For views and strides, operations write the elements only.
        """
        return self.blocking is not None and self.inner is None

    @property
    def walk(self) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
        """Starts, and one step per axis: index i lies at ``starts + sum of i_k * steps[k]``.

        With strides that is a place in the buffer, one number; without, coordinates along the axes of ``inner``, or of
        the descriptor itself.
        """
        if self.strides is not None:
            return (self.offset,), tuple(zip(self.strides, strict=True))
        return self.coordinate_walk

    @property
    def coordinate_walk(self) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
        """``walk`` through the coordinates that are tiled or blocked, even where strides describe the layout too."""
        return each_axis(self.rank) if self.inner is None else (self.starts, self.steps)

    @property
    def starts(self) -> tuple[int, ...]:
        """For a view of tiles or blocks: the index of its first element in ``inner``."""
        return self.parts.starts

    @property
    def steps(self) -> tuple[tuple[int, ...], ...]:
        """For a view of tiles or blocks, per axis: how far a step moves along each axis of ``inner``."""
        return self.parts.steps

    @property
    def address(self) -> Linear:
        """Element offset as a sum of digits of the index; 0 for an empty tensor."""
        if self._terms is not None:
            return self._terms
        if not self.numel or self.strides is None:
            return Linear()
        return affine(self.offset, zip(range(self.rank), self.sizes, self.strides, strict=True))

    @property
    def extent(self) -> int:
        """Elements that the buffer needs.

        Strides: through the highest element, including the offset; 0 if empty. Tiles, padded sizes and blocks: the
        whole buffer, including padding; views of them need as much.
        """
        return self.highest + 1 if self.blocking is None else self.blocking.extent

    @property
    def is_broadcast(self) -> bool:
        """True if steps along some axis of size greater than 1 do not move, so that its indices share elements."""
        moves = zip(self.sizes, self.walk[1], strict=True)
        return bool(self.numel) and any(size > 1 and not any(step) for size, step in moves)

    @property
    def is_padded(self) -> bool:
        """True if some element in the needed ``extent`` of the buffer is reached by no index."""
        if not self.numel:
            return self.extent > 0
        whole = self.inner or self
        bounds = (self.extent,) if self.strides is not None else whole.sizes
        starts, steps = self.walk
        for coordinate, (bound, start) in enumerate(zip(bounds, starts, strict=True)):
            moves = [step[coordinate] for step in steps]
            lowest, highest = span(start, self.sizes, moves)
            if lowest > 0 or highest < bound - 1 or has_gap(self.sizes, moves):
                return True
        return self.extent > whole.numel

    @property
    def is_packed(self) -> bool:
        """True if the elements fill [0, numel) exactly, each once, in any order."""
        return self.extent == self.numel and not self.is_padded

    @property
    def is_row_major(self) -> bool:
        """True if every index is at ``offset`` plus its row-major position; trivially so if empty."""
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
        """Element of the buffer at which ``index`` is: XLA's linear index, for every layout.

        Raises:
            DescriptorError: not as many numbers as axes, or one outside ``[0, size)``.

        Examples:
            >>> rs.TensorDesc.parse("f32[3,5]{1,0:T(2,2)}").offset_of((2, 3))
            17
        """
        with ErrorContext(self):
            values = one_per_axis("index", index, self.rank)
            for axis, (value, size) in enumerate(zip(values, self.sizes, strict=True)):
                if not 0 <= value < size:
                    raise DescriptorError(f"index {value} is outside [0, {size}) of axis {axis}")
        if self.strides is None:
            return self.address.at(values)
        return self.offset + sum(value * stride for value, stride in zip(values, self.strides, strict=True))

    def index_of(self, offset: SupportsIndex) -> tuple[int, ...] | None:
        """The index that is at an element of the buffer; None if there is none: padding, a gap, or past the buffer.

        If several indices share the element, the lexicographically smallest of them.

        Raises:
            DescriptorError: not an integer; or, with interleaved or overlapping strides, the search takes too long.

        Examples:
            >>> rows = rs.TensorDesc.padded_rows("f32", (2, 3), 5)
            >>> rows.index_of(6), rows.index_of(4)
            ((1, 1), None)
        """
        with ErrorContext(self):
            at = integer("offset", offset)
            if not self.numel or not self.lowest <= at <= self.highest:
                return None
            # Without strides, ``at`` stands for coordinates, which were split into digits. No axis moves along two of
            # them, so each coordinate has an equation of its own.
            found: tuple[int, ...] | None = (at,)
            if self.strides is None and self.blocking is not None:
                found = self.blocking.coordinates_of(at)
            index = [0] * self.rank
            starts, steps = self.walk
            for coordinate, (value, start) in enumerate(zip(found or (), starts, strict=False)):
                axes = [axis for axis in range(self.rank) if steps[axis][coordinate]]
                strides = tuple(steps[axis][coordinate] for axis in axes)
                try:
                    positions = smallest_index(tuple(self.sizes[axis] for axis in axes), strides, value - start)
                except SearchTooLongError:
                    raise DescriptorError(f"the index of offset {at} was not found in {STEPS} steps") from None
                if positions is None:
                    return None
                for axis, position in zip(axes, positions, strict=True):
                    index[axis] = position
            return None if found is None else tuple(index)

    def to_dml(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Sizes and strides as DirectML's buffer tensor takes them; padding is not part of them.

        Raises:
            UnsupportedError: DirectML cannot describe this layout: no strides, a negative one, an offset, elements of
                other bits than their type's, a rank or a size of 0, or a number past 32 bits.

        Examples:
            >>> rs.TensorDesc("f32", (2, 3)).to_dml()
            ((2, 3), (3, 1))

        Source: DirectML, DML_BUFFER_TENSOR_DESC.
        """
        if not self.has_whole_elements:
            bits = self.parts.element_size_in_bits
            raise UnsupportedError(f"DirectML needs elements of the size of their type, not of {bits} bits, got {self}")
        here = f"got {self}; rs.reorder(x) makes a packed tensor"
        if self.strides is None:
            raise UnsupportedError(f"DirectML needs strides, and none describe this layout, {here}")
        if min(self.strides, default=0) < 0:
            raise UnsupportedError(f"DirectML needs strides of 0 or more, not {self.strides}, {here}")
        if self.offset:
            raise UnsupportedError(f"DirectML needs an offset of 0, not {self.offset}, {here}")
        try:
            checked_dml(self.dtype, self.sizes, self.strides)
        except DescriptorError as error:
            raise UnsupportedError(str(error)) from None
        return self.sizes, self.strides


# Descriptors of numbers that are checked already, such as those of another descriptor.


def desc_of_parts(dtype: DType, parts: DescParts, inner: TensorDesc | None = None) -> TensorDesc:
    """The descriptor that ``parts`` write; ``inner``: of a view, the layout that is viewed.

    Raises:
        DescriptorError: more than 8 axes, which views and results of checked numbers may have too.
    """
    _require_rank(dtype, parts.sizes)
    desc = TensorDesc.__new__(TensorDesc)
    desc._locate(dtype, parts, inner)  # noqa: SLF001 - the object that is being made
    return desc


def packed(dtype: DType, sizes: Sequence[int], minor_to_major: Sequence[int] | None = None) -> TensorDesc:
    """A layout without gaps, its axes in this order from the fastest to the slowest; None: row-major."""
    # A numpy integer equals Python's and has its hash: the cache would keep a layout made with it for callers who pass
    # Python's.
    return _packed(dtype, tuple(map(int, sizes)), None if minor_to_major is None else tuple(map(int, minor_to_major)))


@lru_cache(maxsize=1024)  # calls planned anew often make layouts of sizes seen before
def _packed(dtype: DType, sizes: tuple[int, ...], minor_to_major: tuple[int, ...] | None) -> TensorDesc:
    order = _row_major(len(sizes)) if minor_to_major is None else minor_to_major
    return desc_of_parts(dtype, DescParts(dtype.name, sizes, order))


def with_strides(
    desc: TensorDesc, sizes: Sequence[int], strides: Sequence[int] | None = None, offset: int = 0
) -> TensorDesc:
    """A layout with the type and storage of ``desc``, by strides; without them row-major, from element 0 on."""
    order, moves = (_row_major(len(sizes)), None) if strides is None else (None, tuple(strides))
    parts = DescParts(desc.dtype.name, tuple(sizes), order, strides=moves, offset=offset, **desc.parts.storage)
    return desc_of_parts(desc.dtype, parts)


def with_walk(
    inner: TensorDesc, sizes: Sequence[int], starts: tuple[int, ...], steps: Sequence[tuple[int, ...]]
) -> TensorDesc:
    """A view as of ``TensorDesc.view_of``."""
    viewed = inner.parts
    parts = DescParts(viewed.dtype, tuple(sizes), inner=viewed, starts=starts, steps=tuple(steps), **viewed.storage)
    return desc_of_parts(inner.dtype, parts, inner)


@lru_cache(maxsize=4096)  # a program uses few texts, but parses them again at every call
def _parsed(text: str) -> TensorDesc:
    return _from_parts(parse_parts(text))


def _from_parts(parts: DescParts) -> TensorDesc:
    dtype, sizes = as_dtype(parts.dtype), parts.sizes
    if parts.strides is not None:
        return TensorDesc(dtype, sizes, parts.strides, parts.offset, **parts.storage)
    if parts.tag is not None:
        return TensorDesc.from_tag(parts.tag, sizes, dtype)
    if parts.inner is not None:
        return TensorDesc.view_of(_from_parts(parts.inner), sizes, parts.starts, parts.steps)
    padding = (parts.padded_sizes, parts.padding_value, parts.tail_padding_alignment_in_elements)
    return TensorDesc.xla(dtype, sizes, parts.minor_to_major, parts.tiles, *padding, **parts.storage)


# Computes the memory that the written parts describe.


def _written_strides(parts: DescParts) -> tuple[int, ...] | None:
    """The strides of a layout written by strides, an order or a tag; None with tiles, padding, blocks or a view."""
    if parts.strides is not None:
        return parts.strides
    if parts.tiles or parts.padded_sizes is not None or parts.tail_padding_alignment_in_elements != 1:
        return None
    order = parts.minor_to_major
    if parts.tag is not None:
        order = parse_tag(parts.tag).minor_to_major
    return None if order is None else packed_strides(parts.sizes, order)


def _written_padding(dtype: DType, parts: DescParts, blocking: Blocking) -> tuple[object, ...]:
    """A key for the padding that operations write: the end of the buffer and, if it is not 0, the padding's value."""
    padded = parts.padded_sizes or parts.sizes
    value = element_bits(parts.padding_value, dtype) if padded != parts.sizes else 0
    if not value:
        return (blocking.extent,)
    return blocking.extent, value, padded, blocking.address(coordinates(*each_axis(len(padded)), padded))


def _blocking(parts: DescParts) -> Blocking:
    """The blocking of the tiles, padding or blocks in ``parts``."""
    try:
        if parts.tag is not None:
            tag = parse_tag(parts.tag)
            return blocked(parts.sizes, tag.order, tag.blocks)
        bounds, tail = parts.padded_sizes or parts.sizes, parts.tail_padding_alignment_in_elements
        return tiled(bounds, parts.minor_to_major or (), parts.tiles, tail)
    except UnsupportedError as error:
        error.add_descriptor(cut(format_parts(parts)))
        raise


# Checks of the arguments.


def _check_view(
    sizes: tuple[int, ...], counts: tuple[int, ...], starts: tuple[int, ...], steps: tuple[tuple[int, ...], ...]
) -> None:
    """Check that a view of sizes ``counts`` stays within the viewed layout of ``sizes``.

    Raises:
        DescriptorError: an index outside the viewed layout, an axis that moves along two of its axes, or not as many
            numbers as axes.
    """
    if len(steps) != len(counts) or any(len(numbers) != len(sizes) for numbers in (starts, *steps)):
        raise DescriptorError(
            f"a view of sizes {counts} needs one step per axis, and starts and steps of {len(sizes)} numbers each: got "
            f"starts {starts}, steps {steps}"
        )
    for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        low, high = (start, start - 1) if 0 in counts else span(start, counts, [step[axis] for step in steps])
        if low < 0 or high >= size:
            raise DescriptorError(f"a view must not reach [{low}, {high}] along axis {axis} of size {size}")
    for axis, (count, moves) in enumerate(zip(counts, steps, strict=True)):
        if count > 1 and sum(move != 0 for move in moves) > 1:
            raise DescriptorError(f"axis {axis} of a view must move along one axis of inner, got steps {moves}")


def packed_strides(sizes: Sequence[int], minor_to_major: Sequence[int]) -> tuple[int, ...]:
    """Strides without gaps, for axes in this order from the fastest on; a size of 0 counts as 1, as in numpy."""
    strides, step = [0] * len(sizes), 1
    for axis in minor_to_major:
        strides[axis] = step
        step *= max(sizes[axis], 1)
    return tuple(strides)


def span(start: int, sizes: Sequence[int], moves: Sequence[int]) -> tuple[int, int]:
    """The lowest and the highest value of ``start + sum of i_k * moves[k]`` for an index within sizes of 1 or more."""
    low = high = start
    for size, move in zip(sizes, moves, strict=True):
        reach = (size - 1) * move
        if reach < 0:
            low += reach
        else:
            high += reach
    return low, high


def _row_major(rank: int) -> tuple[int, ...]:
    return tuple(range(rank))[::-1]


def _checked_sizes(dtype: DType, sizes: object) -> tuple[int, ...]:
    """Up to 8 sizes, each 0 or more."""
    checked = integers("sizes", sizes)
    _require_rank(dtype, checked)
    if checked and min(checked) < 0:
        axis = next(axis for axis, size in enumerate(checked) if size < 0)
        raise DescriptorError(f"size {checked[axis]} of axis {axis} must be 0 or more in {dtype.name}{list(checked)}")
    return checked


def _require_rank(dtype: DType, sizes: Sequence[int]) -> None:
    """Refuse more than 8 axes."""
    if len(sizes) > MAX_RANK:
        raise DescriptorError(f"rank {len(sizes)} exceeds {MAX_RANK}: sizes {tuple(sizes)} of {dtype.name}")


def _members(argument: str, values: Any) -> tuple[Any, ...]:
    try:
        return tuple(values)
    except TypeError:
        raise DescriptorError(f"{argument} must be a sequence of sequences, got {values!r}") from None


def _checked_tiles(tiles: object) -> tuple[tuple[int, ...], ...]:
    """XLA's tiles: the sizes of each, 1 or more, or -1 for a dimension that is joined with the next faster one."""
    checked = tuple(integers("tile", tile) for tile in _members("tiles", tiles))
    for sizes in checked:
        if not sizes:
            raise DescriptorError(f"a tile needs a size, got {sizes}")
        for size in sizes:
            if size < 1 and size != -1:
                raise DescriptorError(f"tile sizes are 1 or more, or -1 to join dimensions: {size} of {sizes}")
        if sizes[-1] == -1:
            raise DescriptorError(f"the last size of a tile must not be -1, as no faster dimension follows: {sizes}")
    return checked


def _checked_padding(
    padded_sizes: object, value: object, sizes: tuple[int, ...], dtype: DType
) -> tuple[tuple[int, ...] | None, int | float]:
    """The padded sizes, one per axis and none below its size, and the padding value, 0 without padded sizes."""
    padded = None if padded_sizes is None else one_per_axis("padded_sizes", padded_sizes, len(sizes))
    for axis, (size, wide) in enumerate(zip(sizes, padded, strict=True) if padded else ()):
        if wide < size:
            raise DescriptorError(f"padded size {wide} of axis {axis} is below its size {size}")
    number = padding_number(value, dtype)
    if number and padded is None:
        raise DescriptorError(f"padding_value {value} needs padded_sizes")
    return padded, number


def _checked_storage(bits: object, space: object) -> tuple[int, int]:
    """``element_size_in_bits`` and ``memory_space``, checked."""
    return _checked_number("element_size_in_bits", bits, 0), _checked_number("memory_space", space, 0)


def _checked_number(argument: str, value: object, least: int) -> int:
    number = integer(argument, value)
    if not least <= number < 1 << 63:
        raise DescriptorError(f"{argument} {number} is outside [{least}, 2^63)")
    return number


def padding_number(value: object, dtype: DType) -> int | float:
    """``value`` as an int for an integer type or ``pred``, as a float for a floating one.

    A float need not be exact in ``dtype``, such as 0.1: it is rounded when its bits are taken.

    Raises:
        DescriptorError: not a number, or out of the element type's range.
    """
    if type(value) is int and value == 0:
        return 0.0 if dtype.is_float else 0
    number = as_number("padding_value", value)
    if isinstance(number, int):
        number = integer("padding_value", number)
    if dtype.is_float:
        real = float(number)
        with np.errstate(over="ignore"):
            rounded = float(np.array(real).astype(dtype.dtype))
        if math.isfinite(real) != math.isfinite(rounded) or math.isnan(real) != math.isnan(rounded):
            raise DescriptorError(f"padding_value {value} is beyond what {dtype} holds")
        return real
    whole = int(number) if isinstance(number, float) and number.is_integer() else number  # for example "0.0" is 0
    whole = integer("padding_value", whole)
    low, high = dtype.format.range
    if not low <= whole <= high:
        raise DescriptorError(f"padding_value {whole} is outside [{low}, {high}] of {dtype}")
    return whole


def element_bits(value: float, dtype: DType) -> int:
    """The bits of an element: 1.5 of f16 is 0x3E00, -1 of s8 is 0xFF."""
    if not dtype.is_float:
        return int(value) & ((1 << 8 * dtype.itemsize) - 1)
    number: Any = np.float64(value)
    if dtype in EXTENSIONS:
        number = _f32_that_rounds_once(value)
    with np.errstate(over="ignore"):
        return int.from_bytes(np.array(number).astype(dtype.dtype).tobytes(), "little")


def _f32_that_rounds_once(value: float) -> Any:
    """An f32 that a cast to a narrower float rounds as ``value`` itself would be rounded.

    ml_dtypes casts through f32, which rounds twice. If the f32 is cut towards zero, with the last bit set where bits
    were lost, it has what the second rounding needs: whether the rest is below a half, at it, or above.
    """
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if not np.isfinite(single) or float(single) == value:
        return single
    if abs(float(single)) > abs(value):
        single = np.nextafter(single, np.float32(0))
    return (single.view(np.uint32) | np.uint32(1)).view(np.float32)


def as_desc(desc: TensorDesc | str) -> TensorDesc:
    """``desc``, or the descriptor that its text describes."""
    if isinstance(desc, str):
        return TensorDesc.parse(desc)
    if not isinstance(desc, TensorDesc):
        raise DescriptorError(f"desc must be a TensorDesc or its text, such as 'f32[2,3]', got {shown(desc)}")
    return desc
