"""Plan of the general copy: a kernel splits each index into digits, as the layouts of both sides require.

For layouts that no strided walks describe: sub-tiles that do not divide their tile, dimensions joined across a tile,
steps that do not divide a tile. The kernel gets a program, which has the address of each side as a weighted sum of:

    numbers 0, 1, ...     the index, one number for each axis of the region
    one for each digit    ``(const + sum of coefficient * number) mod modulus div divisor``
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from restride.errors import UnsupportedError
from restride.kernel import Binding, KernelSpec, Limits, struct_words
from restride.layout.digits import Digit, Index, Linear, affine
from restride.plan.dispatches import MAX_COUNT, MAX_PAIR_BYTES, Bound, groups_for, require_windows
from restride.plan.problem import Span, multiply_shift
from restride.plan.tiles import Region

_NUMBERS = (16, 32, 64, 192)
"""A pipeline has room for one of these counts of numbers: axes and digits. There are few counts, so that there are few
pipelines. The largest has room for the axes and for 64 digits of each side, more than any blocking needs."""

_Rows = list[list[int]]

UNREAD = Binding(0, 4)
"""A fill binds this in place of a source, and does not read it."""


class DigitDispatch(NamedTuple):
    """One dispatch by digits.

    pieces: elements. room: how many numbers the pipeline can hold. pairs: addresses of the pairs of source and
    destination.
    """

    program: bytes
    bound: Bound
    pieces: int
    room: int
    pairs: tuple[Linear, Linear]

    def kernel(self, shader: str, constants: Mapping[str, int], push: Mapping[str, int], limits: Limits) -> KernelSpec:
        """The dispatch of ``shader``."""
        groups = groups_for(self.pieces, limits)
        return KernelSpec.of(
            shader, {**constants, "NUMBERS": self.room}, push, self.program, groups, self.bound.windows
        )


def general_kernels(region: Region, itemsize: int, limits: Limits, fill: int | None = None) -> Iterator[KernelSpec]:
    """Dispatches that copy the elements of a region, or set all of them to the bits ``fill``.

    Raises:
        UnsupportedError: no cut of the region makes its buffers fit a binding, or a coordinate reaches 2^31.
    """
    words = max(itemsize // 4, 1)
    constants = {"BITS": 8 * itemsize // words, "ELEMENT_WORDS": words, "FILLS": fill is not None}
    for part in digit_dispatches(region, (itemsize, itemsize), limits):
        push = {"src_base_or_low": part.bound.src_base, "dst_base": part.bound.dst_base, "pieces": part.pieces}
        if fill is None:
            yield part.kernel("digit_copy", constants, push, limits)
        else:
            push |= {"src_base_or_low": fill, "high": fill >> 32}
            filled = part._replace(bound=part.bound._replace(windows=(UNREAD, part.bound.windows[1])))
            yield filled.kernel("digit_copy", constants, push, limits)


def digit_dispatches(
    region: Region, itemsizes: tuple[int, int], limits: Limits, *, has_pairs: bool = False
) -> Iterator[DigitDispatch]:
    """Yield the dispatches of the parts of a region. itemsizes: bytes of a source and of a destination element.

    has_pairs: the program also computes the addresses of the pairs of both sides.

    Raises:
        UnsupportedError: as ``general_kernels``.
    """
    src, dst, *pairs = _addresses(region)
    windows = (Span(*src.span).window(itemsizes[0], limits), Span(*dst.span).window(itemsizes[1], limits, writes=True))
    widest = max(window.nbytes for window in windows)
    has_room = sum(Span(*address.span).pair_bytes for address in pairs) <= MAX_PAIR_BYTES
    if widest > limits.max_buffer_range or region.count > MAX_COUNT or not has_room:
        if widest > limits.max_buffer_range:
            require_windows(widest, limits)
        for half in _halves(region, limits, _window_reach if has_room else _pair_reach):
            yield from digit_dispatches(half, itemsizes, limits, has_pairs=has_pairs)
        return
    program = _DigitProgram("digit_convert" if has_pairs else "digit_copy", region)
    packed = program.packed(*(program.terms_of(address) for address in (src, dst, *(pairs if has_pairs else ()))))
    src_base = src.const - windows[0].offset // itemsizes[0]
    dst_base = dst.const - windows[1].offset // itemsizes[1]
    room = next(numbers for numbers in _NUMBERS if program.numbers <= numbers)
    yield DigitDispatch(packed, Bound(windows, src_base, dst_base), region.count, room, (pairs[0], pairs[1]))


def _addresses(region: Region) -> tuple[Linear, ...]:
    """The address of a region's index in the source, in the destination, and in the pairs of both."""
    ranges = enumerate(zip(region.starts, region.sizes, strict=True))
    index = [affine(start, [(axis, size, 1)]) for axis, (start, size) in ranges]
    places = (region.src, region.dst, *region.pairs)
    return tuple(Linear(0) if place is None else place.address(index) for place in places)


def _halves(region: Region, limits: Limits, reach: Callable[[Region], int]) -> tuple[Region, Region]:
    """The region, cut in two along the axis where a cut shortens the byte range most."""
    cuts = [_cut(region, axis) for axis, size in enumerate(region.sizes) if size > 1]
    if not cuts:
        raise UnsupportedError(f"one element lies beyond the {limits.max_buffer_range} bytes that a binding covers")
    return min(cuts, key=lambda halves: max(reach(half) for half in halves))


def _cut(region: Region, axis: int) -> tuple[Region, Region]:
    half = region.sizes[axis] // 2
    parts = []
    for start, size in ((0, half), (half, region.sizes[axis] - half)):
        starts, sizes = list(region.starts), list(region.sizes)
        starts[axis] += start
        sizes[axis] = size
        parts.append(replace(region, starts=tuple(starts), sizes=tuple(sizes)))
    return parts[0], parts[1]


def _window_reach(region: Region) -> int:
    return max(high - low for low, high in (address.span for address in _addresses(region)[:2]))


def _pair_reach(region: Region) -> int:
    return sum(high - low for low, high in (address.span for address in _addresses(region)[2:]))


class _DigitProgram:
    """A program of rows of four words: the axes, then the digits in the order they are needed."""

    def __init__(self, shader: str, region: Region) -> None:
        self._words = partial(struct_words, shader)
        self._axes = region.sizes
        self._number_of: dict[Digit, int] = {}
        self._rows: _Rows = []

    @property
    def numbers(self) -> int:
        """How many numbers the program computes: axes and digits."""
        return len(self._axes) + len(self._number_of)

    def terms_of(self, linear: Linear) -> _Rows:
        """A row (number, coefficient) for each term; adds the digits among the terms to the program."""
        terms = [(self._number(atom), coefficient) for coefficient, atom in linear.terms]
        return [self._words("Term", number=number, coefficient=times, unused=(0, 0)) for number, times in terms]

    def _number(self, atom: Digit | Index) -> int:
        if isinstance(atom, Index):
            return atom.axis
        if atom not in self._number_of:
            if atom.of.span[1] > MAX_COUNT:
                raise UnsupportedError(f"the general kernel handles coordinates below 2^31, got {atom.of.span[1]}")
            terms, modulus, divisor = self.terms_of(atom.of), atom.modulus, atom.divisor
            digit = {"terms": len(terms), "constant": atom.of.const, "modulus": modulus, "divisor": divisor}
            by = {"divide_by_modulus": multiply_shift(modulus), "divide_by_divisor": multiply_shift(divisor)}
            self._rows += [self._words("Digit", **digit, **by), *terms]
            self._number_of[atom] = self.numbers
        return self._number_of[atom]

    def packed(self, src_terms: _Rows, dst_terms: _Rows, *pair_terms: _Rows) -> bytes:
        """The storage buffer that shaders/copy/digit_copy.comp reads; for a conversion, the terms of pairs follow."""
        counts = {"digits": len(self._number_of), "src_terms": len(src_terms), "dst_terms": len(dst_terms)}
        head = self._words("Program", axes=len(self._axes), **counts)
        # The kernel splits an index innermost axis first.
        sizes = reversed(list(enumerate(self._axes)))
        axes = [self._words("Split", number=n, size=size, divide_by_size=multiply_shift(size)) for n, size in sizes]
        rows = [head, *axes, *self._rows, *src_terms, *dst_terms]
        if pair_terms:
            src, dst = map(len, pair_terms)
            rows += [self._words("PairTerms", src_terms=src, dst_terms=dst, unused=(0, 0)), *chain(*pair_terms)]
        return np.array([*chain.from_iterable(rows)], np.uint32).tobytes()
