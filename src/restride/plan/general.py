"""Plan of the general copy: each index is taken apart into the digits of both sides, whatever they are.

For layouts that no strided walks describe: sub-tiles that do not divide their tile, dimensions joined across a tile,
steps that fall out of step with tiles. The kernel gets a program, the address of each side as a sum of numbers:

    numbers 0, 1, ...   the index, one number an axis of the region
    then one a digit    ``(const + sum of coefficient * number) mod modulus div divisor``
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from restride.desc.digits import Digit, Index, Linear, affine
from restride.errors import UnsupportedError
from restride.kernel import Binding, KernelSpec, Limits
from restride.plan.boxes import MAX_COUNT, Span, require_windows, rows_of_groups
from restride.plan.elements import GROUP_SIZE
from restride.plan.parameters import Push, multiply_shift, word
from restride.plan.regions import Region

_NUMBERS = (16, 32, 64, 192)
"""Numbers that a pipeline has room for; few sizes, so that there are few pipelines. The largest has 64 digits for each
side, more than a blocking makes, and the axes."""


UNREAD = Binding(0, 4)
"""A fill has no source; what is bound in its place is not read."""


def general_kernels(region: Region, itemsize: int, limits: Limits, fill: int | None = None) -> Iterator[KernelSpec]:
    """Dispatches that copy the elements of a region, or give them all the bits ``fill``.

    Raises:
        UnsupportedError: no cut of the region makes its buffers fit a binding, or a coordinate reaches 2^31.
    """
    index = [affine(start, [(axis, size, 1)]) for axis, (start, size) in enumerate(_ranges(region))]
    src, dst = region.src.address(index), region.dst.address(index)
    windows = tuple(Span(*side.span).window(itemsize, limits, writes) for side, writes in ((src, False), (dst, True)))
    widest = max(window.nbytes for window in windows)
    if widest > limits.max_buffer_range or region.count > MAX_COUNT:
        for half in _halves(region, limits, widest):
            yield from general_kernels(half, itemsize, limits, fill)
        return
    program = _Program(region)
    src_terms, dst_terms = program.terms_of(src), program.terms_of(dst)
    push = Push(
        word(src.const - windows[0].offset // itemsize),
        word(dst.const - windows[1].offset // itemsize),
        region.count,
    )
    if fill is not None:
        push = push._replace(src_base=word(fill), lane_stride=fill >> 32)
        windows = (UNREAD, windows[1])
    room = next(numbers for numbers in _NUMBERS if program.numbers <= numbers)
    words = max(itemsize // 4, 1)
    yield KernelSpec(
        shader="digit_copy",
        constants=(8 * itemsize // words, words, int(fill is not None), room),
        push=push,
        parameters=program.packed(src_terms, dst_terms),
        groups=rows_of_groups(-(-region.count // GROUP_SIZE), limits),
        bindings=windows,
    )


def _ranges(region: Region) -> Iterator[tuple[int, int]]:
    return zip(region.starts, region.sizes, strict=True)


def _halves(region: Region, limits: Limits, widest: int) -> tuple[Region, Region]:
    """The region cut where that narrows its wider window most."""
    if widest > limits.max_buffer_range:
        require_windows(widest, limits)
    cuts = [_cut(region, axis) for axis, size in enumerate(region.sizes) if size > 1]
    if not cuts:
        raise UnsupportedError(f"one element lies further than the {limits.max_buffer_range} bytes of a binding")
    return min(cuts, key=lambda halves: max(_reach(half) for half in halves))


def _cut(region: Region, axis: int) -> tuple[Region, Region]:
    half = region.sizes[axis] // 2
    parts = []
    for start, size in ((0, half), (half, region.sizes[axis] - half)):
        starts, sizes = list(region.starts), list(region.sizes)
        starts[axis] += start
        sizes[axis] = size
        parts.append(replace(region, starts=tuple(starts), sizes=tuple(sizes)))
    return parts[0], parts[1]


def _reach(region: Region) -> int:
    index = [affine(start, [(axis, size, 1)]) for axis, (start, size) in enumerate(_ranges(region))]
    spans = [place.address(index).span for place in (region.src, region.dst)]
    return max(high - low for low, high in spans)


class _Program:
    """Rows of four words: the axes, then the digits in the order they are needed."""

    def __init__(self, region: Region) -> None:
        self._axes = region.sizes
        self._number_of: dict[Digit, int] = {}
        self._rows: list[list[int]] = []

    @property
    def numbers(self) -> int:
        """How many numbers it makes."""
        return len(self._axes) + len(self._number_of)

    def terms_of(self, linear: Linear) -> list[list[int]]:
        """A row for each term, (number, coefficient); the digits among them join the program."""
        return [[self._number(atom), word(coefficient), 0, 0] for coefficient, atom in linear.terms]

    def _number(self, atom: Digit | Index) -> int:
        if isinstance(atom, Index):
            return atom.axis
        if atom not in self._number_of:
            if atom.of.span[1] > MAX_COUNT:
                raise UnsupportedError(f"a coordinate of {atom.of.span[1]} is past the 2^31 - 1 of the general kernel")
            terms = self.terms_of(atom.of)
            head = [len(terms), word(atom.of.const), atom.modulus, atom.divisor]
            self._rows += [head, [*_multiplier(atom.modulus), *_multiplier(atom.divisor)], *terms]
            self._number_of[atom] = self.numbers
        return self._number_of[atom]

    def packed(self, src_terms: list[list[int]], dst_terms: list[list[int]]) -> bytes:
        """The storage buffer that shaders/digit_copy.comp reads."""
        head = [len(self._axes), len(self._number_of), len(src_terms), len(dst_terms)]
        # Innermost first, as an index is taken apart.
        axes = [[axis, size, *_multiplier(size)] for axis, size in reversed(list(enumerate(self._axes)))]
        return np.array([head, *axes, *self._rows, *src_terms, *dst_terms], np.uint32).tobytes()


def _multiplier(divisor: int) -> tuple[int, int]:
    return multiply_shift(divisor) if divisor > 1 else (0, 0)
