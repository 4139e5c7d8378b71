"""TensorDesc: what a buffer means, as a value: element type, sizes, and the element offset of every index."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, SupportsIndex

from restride.desc.blocking import blocked, tiled
from restride.desc.checks import (
    checked_padding,
    checked_sizes,
    checked_steps,
    checked_tiles,
    coordinates_of_view,
    naming,
    packed_strides,
    where_of,
)
from restride.desc.dml import checked_dml
from restride.desc.facts import DescFacts
from restride.desc.fields import Fields, strided, viewed, whole
from restride.desc.padding import padding_number
from restride.desc.tags import parse_tag, spelled
from restride.desc.text import DescParts, parse_parts
from restride.dtypes import as_dtype
from restride.errors import DescriptorError, UnsupportedError
from restride.integers import MAX_RANK, integer, integers, permutation


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
