"""TensorDesc: what a buffer means, as a value. An index goes to element ``offset + sum of index_k * strides_k``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, SupportsIndex

from restride.desc_text import DescParts, format_parts, parse_parts
from restride.dtypes import DType, as_dtype
from restride.equation import STEPS, SearchTooLongError, has_gap, smallest_index
from restride.errors import DescriptorError
from restride.integers import integer, integers, permutation

MAX_RANK = 8
"""Axes a descriptor can have, DirectML's limit."""

_assign = object.__setattr__


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class TensorDesc:
    """Element type, sizes and element strides of a tensor in a buffer, from an element offset on.

    Sizes 2,3 with strides 3,1 are row-major, 1,2 column-major, 5,1 padded to five elements a row, 0,1 one row seen
    twice. Strides may be negative where the offset keeps every element at 0 or above. The unit of strides and
    ``offset`` is elements.

    ``==`` and ``hash`` compare memory: the strides of axes of size 1 do not count, nor do strides and offset of an
    empty tensor. ``str``, ``strides`` and ``minor_to_major`` give back what was written.

    Args:
        dtype: element type, in any spelling ``as_dtype`` knows.
        sizes: up to 8 sizes, each 0 or more.
        strides: one a size; None: packed in row-major order.
        offset: element of the buffer that index 0,0,... lies at.

    Raises:
        DescriptorError: no such type, not integers, a negative size, more than 8 axes, as many strides as axes not
            given, or an element below the buffer's start.
    """

    dtype: DType
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    numel: int = field(init=False)  # the product of the sizes
    lowest: int = field(init=False)  # smallest element of the buffer that an index reaches; 0 if the tensor is empty
    highest: int = field(init=False)  # largest one; -1 if the tensor is empty
    _order: tuple[int, ...] | None = field(init=False)  # minor_to_major, if the layout was written so
    _key: tuple[object, ...] = field(init=False)  # the canonical layout
    _hash: int = field(init=False)

    def __init__(
        self,
        dtype: Any,
        sizes: Iterable[SupportsIndex],
        strides: Iterable[SupportsIndex] | None = None,
        offset: SupportsIndex = 0,
    ) -> None:
        element = as_dtype(dtype)
        its_sizes = _checked_sizes(element, sizes)
        row_major = tuple(range(len(its_sizes)))[::-1]
        where = _where(element, its_sizes)
        its_offset = integer("offset", offset, where)
        if strides is None:
            its_strides, order = packed_strides(its_sizes, row_major), None if its_offset else row_major
        else:
            its_strides, order = integers("strides", strides, where), None
            if len(its_strides) != len(its_sizes):
                raise DescriptorError(
                    f"strides need one value per axis: got {len(its_strides)}, {its_strides}, for the "
                    f"{len(its_sizes)} axes of {where()}"
                )
        numel, below, above = 1, 0, 0
        for size, stride in zip(its_sizes, its_strides, strict=True):
            numel *= size
            reach = (size - 1) * stride
            if reach < 0:
                below += reach
            else:
                above += reach
        lowest, highest = (its_offset + below, its_offset + above) if numel else (0, -1)
        if its_offset < 0 or lowest < 0:
            text = format_parts(DescParts(element.name, its_sizes, strides=its_strides, offset=its_offset))
            raise DescriptorError(
                f"the lowest element must be at 0 or above: offset {its_offset} puts it at {min(its_offset, lowest)} "
                f"in {text}; the smallest legal offset is {-below if numel else 0}"
            )
        key: tuple[object, ...] = (element.name, its_sizes)
        if numel:
            key += (tuple(s if size > 1 else 0 for s, size in zip(its_strides, its_sizes, strict=True)), its_offset)
        _assign(self, "dtype", element)
        _assign(self, "sizes", its_sizes)
        _assign(self, "strides", its_strides)
        _assign(self, "offset", its_offset)
        _assign(self, "numel", numel)
        _assign(self, "lowest", lowest)
        _assign(self, "highest", highest)
        _assign(self, "_order", order)
        _assign(self, "_key", key)
        _assign(self, "_hash", hash(key))

    @classmethod
    def xla(
        cls, dtype: Any, sizes: Iterable[SupportsIndex], minor_to_major: Iterable[SupportsIndex] | None = None
    ) -> TensorDesc:
        """A packed layout by XLA's ``minor_to_major``: the axes from the fastest to the slowest; None: row-major.

        Sizes 2,3 with minor_to_major 0,1 are column-major: strides 1,2. Axis -1 is the last one.

        Raises:
            DescriptorError: not a permutation of the axes, or what the constructor refuses.
        """
        element = as_dtype(dtype)
        its_sizes = _checked_sizes(element, sizes)
        if minor_to_major is None:
            return cls(element, its_sizes)
        order = permutation("minor_to_major", minor_to_major, len(its_sizes), _where(element, its_sizes))
        desc = cls(element, its_sizes, packed_strides(its_sizes, order))
        _assign(desc, "_order", order)
        return desc

    @classmethod
    def parse(cls, text: str) -> TensorDesc:
        """The descriptor that ``text`` writes, such as ``f32[2,3]{0,1}``; ``parse(str(desc)) == desc``.

        Blanks between tokens are skipped; without braces the layout is row-major.

        Raises:
            DescriptorError: wrong syntax (the message points at the character), or what the constructor refuses.
            UnsupportedError: the text has tiles, a padding or a format tag.
        """
        if not isinstance(text, str):
            raise DescriptorError(f"a descriptor text must be a str, got {text!r} ({type(text).__name__})")
        parts = parse_parts(text)
        if parts.strides is not None:
            return cls(parts.dtype, parts.sizes, parts.strides, parts.offset)
        return cls.xla(parts.dtype, parts.sizes, parts.minor_to_major)

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
        """The axes from the fastest to the slowest: as written, else by stride; None if a broadcast leaves no order.

        Equal strides go row-major, later axis first. An axis of size 1 written with stride 0 counts as slowest.
        """
        if self._order is not None:
            return self._order
        if self.is_broadcast:
            return None
        return tuple(
            sorted(range(self.rank), key=lambda axis: (self.strides[axis] == 0, abs(self.strides[axis]), -axis))
        )

    @property
    def is_written_by_order(self) -> bool:
        """True if the layout was written as ``minor_to_major`` (or not at all) rather than as strides."""
        return self._order is not None

    @property
    def nbytes(self) -> int:
        """Bytes the buffer needs: through the highest element, the offset counted, not rounded; 0 if empty."""
        return (self.highest + 1) * self.dtype.itemsize

    @property
    def is_broadcast(self) -> bool:
        """True if an axis of size greater than 1 has stride 0."""
        return bool(self.numel) and any(
            stride == 0 and size > 1 for size, stride in zip(self.sizes, self.strides, strict=True)
        )

    @property
    def is_padded(self) -> bool:
        """True if the buffer, up to the highest element, has an element that no index reaches."""
        return bool(self.numel) and (self.lowest > 0 or has_gap(self.sizes, self.strides))

    @property
    def is_packed(self) -> bool:
        """True if the elements fill [0, numel) exactly, each once, in whatever order."""
        return self.highest + 1 == self.numel and not self.is_padded

    @property
    def is_row_major(self) -> bool:
        """True if every index lies at ``offset`` plus its row-major position; trivially so if empty."""
        packed = 1
        for size, stride in zip(self.sizes[::-1], self.strides[::-1], strict=True):
            if size > 1:
                if stride != packed:
                    return not self.numel
                packed *= size
        return True

    def offset_of(self, index: Iterable[SupportsIndex]) -> int:
        """Element of the buffer that ``index`` lies at.

        Raises:
            DescriptorError: as many numbers as axes not given, or one outside ``[0, size)``.
        """
        where = self.__str__
        values = integers("index", index, where)
        if len(values) != self.rank:
            raise DescriptorError(f"index {values} needs one value per axis of {self}, which has {self.rank}")
        for axis, (value, size) in enumerate(zip(values, self.sizes, strict=True)):
            if not 0 <= value < size:
                raise DescriptorError(f"index {value} is outside [0, {size}) of axis {axis} in {self}")
        return self.offset + sum(value * stride for value, stride in zip(values, self.strides, strict=True))

    def index_of(self, offset: SupportsIndex) -> tuple[int, ...] | None:
        """The index that lies at an element of the buffer; None if there is none, which makes it padding.

        Where several indices share the element it is the lexicographically smallest of them.

        Raises:
            DescriptorError: not an integer; or interleaved, overlapping strides hide the answer for too many steps.
        """
        at = integer("offset", offset, self.__str__)
        if not self.lowest <= at <= self.highest:
            return None
        try:
            return smallest_index(self.sizes, self.strides, at - self.offset)
        except SearchTooLongError:
            raise DescriptorError(f"the index of offset {at} was not found in {STEPS} steps in {self}") from None

    def promoted(self, rank: SupportsIndex) -> TensorDesc:
        """The same elements with leading axes of size 1 up to ``rank``, as DirectML wants 2-D data in 4-D or 5-D.

        ``f32[3,5]`` promoted to 4 has sizes 1,1,3,5 and strides 15,15,5,1.

        Raises:
            DescriptorError: ``rank`` is below the descriptor's or above 8.
        """
        wanted = integer("rank", rank, self.__str__)
        extra = wanted - self.rank
        if not self.rank <= wanted <= MAX_RANK:
            raise DescriptorError(f"rank {wanted} is outside [{self.rank}, {MAX_RANK}] for {self}")
        if self._order is not None:
            order = (*(axis + extra for axis in self._order), *range(extra)[::-1])
            return TensorDesc.xla(self.dtype, (1,) * extra + self.sizes, order)
        slowest = max((abs(s) * size for s, size in zip(self.strides, self.sizes, strict=True)), default=1)
        return TensorDesc(self.dtype, (1,) * extra + self.sizes, (slowest,) * extra + self.strides, self.offset)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TensorDesc):
            return NotImplemented
        return self._hash == other._hash and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        if self._order is not None:
            return format_parts(DescParts(self.dtype.name, self.sizes, minor_to_major=self._order))
        return format_parts(DescParts(self.dtype.name, self.sizes, strides=self.strides, offset=self.offset))

    def __repr__(self) -> str:
        return f"TensorDesc.parse({str(self)!r})"

    def __reduce__(self) -> tuple[Callable[[str], TensorDesc], tuple[str]]:
        # By text, because the hash of a text, and so the stored one, differs from process to process.
        return TensorDesc.parse, (str(self),)


def packed_strides(sizes: tuple[int, ...], minor_to_major: tuple[int, ...]) -> tuple[int, ...]:
    """Strides without gaps, the axes in this order from the fastest on; a size of 0 counts as 1, as in numpy."""
    strides, step = [0] * len(sizes), 1
    for axis in minor_to_major:
        strides[axis] = step
        step *= max(sizes[axis], 1)
    return tuple(strides)


def _where(dtype: DType, sizes: tuple[int, ...]) -> Callable[[], str]:
    """The beginning of a descriptor for messages, when its strides are not known yet."""
    return lambda: f"{dtype.name}[{','.join(map(str, sizes))}]"


def _checked_sizes(dtype: DType, sizes: Any) -> tuple[int, ...]:
    values = integers("sizes", sizes)
    if len(values) > MAX_RANK:
        raise DescriptorError(f"rank {len(values)} exceeds {MAX_RANK}: sizes {values} of {dtype.name}")
    for axis, size in enumerate(values):
        if size < 0:
            raise DescriptorError(f"size {size} of axis {axis} must be 0 or more in {dtype.name}{list(values)}")
    return values
