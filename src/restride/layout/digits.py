"""Digits: the offset of an element as an exact expression in its index: sums of digits, ``(x mod m) div d`` of a sum.

A plain axis is one digit, the index itself. An axis under a tile of 2 is two, ``a div 2`` and ``a mod 2``; a slice of
it is ``(1 + 2*a) div 2`` and ``(1 + 2*a) mod 2``. Sums and digits simplify at once: what ranges and
divisibility prove disappears, so ``(8*a + b) div 8`` with b below 8 is ``a``, and a layout whose digits all dissolve is
strided.

Worked example, ``f32[3,5]{1,0:T(2,2)}``: ``12*(a div 2) + 4*(b div 2) + 2*(a mod 2) + (b mod 2)``; index (2, 3) lies at
12 + 4 + 0 + 1 = 17.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd


@dataclass(frozen=True)
class Index:
    """The position along one axis: 0 to ``size - 1``."""

    axis: int
    size: int

    @property
    def span(self) -> tuple[int, int]:
        """The lowest and the highest value."""
        return 0, self.size - 1

    def __str__(self) -> str:
        return axis_letter(self.axis)


@dataclass(frozen=True)
class Digit:
    """``(of mod modulus) div divisor``; a modulus of 0 leaves ``of`` unchanged. ``of`` is never negative."""

    of: Linear
    modulus: int
    divisor: int

    @cached_property
    def span(self) -> tuple[int, int]:
        """Bounds of the value."""
        return digit_span(self.of.span, self.modulus, self.divisor)

    def __str__(self) -> str:
        text = str(self.of) if self.of.is_atom else f"({self.of})"
        for word, number in (("mod", self.modulus), ("div", self.divisor)):
            if number > 1:
                text = f"({text} {word} {number})"
        return text


Atom = Index | Digit


@dataclass(frozen=True)
class Linear:
    """``const + sum of coefficient * atom``, the largest coefficients first; every atom once."""

    const: int = 0
    terms: tuple[tuple[int, Atom], ...] = ()
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.const, self.terms)))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def span(self) -> tuple[int, int]:
        """Bounds of the value, exact where no atom depends on another's axis."""
        return linear_span(self, {})

    @cached_property
    def indices(self) -> frozenset[Index]:
        """The axes it depends on."""
        return frozenset[Index]().union(
            *({atom} if isinstance(atom, Index) else atom.of.indices for _, atom in self.terms)
        )

    @property
    def is_atom(self) -> bool:
        """True for a single axis or digit without a factor or constant."""
        return self.const == 0 and len(self.terms) == 1 and self.terms[0][0] == 1

    @property
    def is_affine(self) -> bool:
        """True if it has no digits, only a constant and strides."""
        return all(isinstance(atom, Index) for _, atom in self.terms)

    def stride(self, axis: int) -> int:
        """The coefficient of an axis's index; 0 if it has none."""
        return next((c for c, atom in self.terms if isinstance(atom, Index) and atom.axis == axis), 0)

    def at(self, index: Sequence[int] | Mapping[int, int]) -> int:
        """The value at an index, which may be a mapping of only the axes that the value depends on."""
        return self.const + sum(coefficient * _value(atom, index) for coefficient, atom in self.terms)

    def times(self, factor: int) -> Linear:
        """This expression times ``factor``."""
        if factor == 1:
            return self
        return _sum(self.const * factor, ((c * factor, atom) for c, atom in self.terms))

    def plus(self, other: Linear) -> Linear:
        """The sum of both."""
        if not self.terms or not other.terms:
            return Linear(self.const + other.const, self.terms or other.terms)
        return _sum(self.const + other.const, (*self.terms, *other.terms))

    def __str__(self) -> str:
        parts = [f"{'' if abs(c) == 1 else f'{abs(c)}*'}{atom}" for c, atom in self.terms]
        signs = ["-" if c < 0 else "+" for c, _ in self.terms]
        text = "".join(sign + part for sign, part in zip(signs, parts, strict=True)).removeprefix("+")
        if not text or self.const:
            text += f"{self.const:+d}" if text else str(self.const)
        return text


def axis_letter(axis: int) -> str:
    """The letter of an axis, as oneDNN's tags have it: a, b, c, ..."""
    return chr(ord("a") + axis)


def affine(const: int, strides: Iterable[tuple[int, int, int]]) -> Linear:
    """``const + sum of stride * index``, from (axis, size, stride); an axis of size 1 or stride 0 adds nothing."""
    return _sum(const, ((stride, Index(axis, size)) for axis, size, stride in strides if size > 1))


def each_axis(rank: int) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """The starts and steps by which each index moves along a coordinate of its own: ``i`` is at coordinates ``i``."""
    axes = range(rank)
    return (0,) * rank, tuple(tuple(int(axis == other) for other in axes) for axis in axes)


def coordinates(starts: Sequence[int], steps: Sequence[Sequence[int]], sizes: Sequence[int]) -> list[Linear]:
    """The coordinates ``starts + sum of i_k * steps[k]`` of an index i within ``sizes``, an expression for each."""
    return [
        affine(start, [(axis, size, steps[axis][place]) for axis, size in enumerate(sizes)])
        for place, start in enumerate(starts)
    ]


def digit(of: Linear, modulus: int, divisor: int) -> Linear:
    """``(of mod modulus) div divisor`` in its simplest form; modulus 0: no mod. ``of`` must never be negative.

    ``a div 2`` of a below 2 is 0; ``(8*a + b) div 8`` with b below 8 is a; ``(12*a + 3*b) div 6`` with b below 4 is
    ``(4*a + b) div 2`` and so ``2*a + (b div 2)``; ``((a mod 8) div 2) mod 2`` is ``(a mod 4) div 2``.
    """
    if modulus:
        if divisor >= modulus:
            return Linear()
        of, modulus = _reduced(of, modulus)
    if not modulus:
        # (d*A + B) div d = A + B div d.
        whole, rest = _divided(of, divisor)
        if _is_within(rest, divisor):
            return whole
        if whole.terms or whole.const:
            return whole.plus(digit(rest, 0, divisor))
    apart = _digit_of_two_values(of, modulus, divisor) or _split_digit(of, modulus, divisor)
    if apart is not None:
        return apart
    simpler = _coarser(of, modulus, divisor) or _unnested(of, modulus, divisor)
    return _sum(0, ((1, Digit(of, modulus, divisor)),)) if simpler is None else digit(*simpler)


def _digit_of_two_values(of: Linear, modulus: int, divisor: int) -> Linear | None:
    """Write a digit of one axis of size 2 as the line through its two values: ``(2 + a) mod 3`` is ``2 - 2*a``."""
    if len(of.indices) != 1:
        return None
    (index,) = of.indices
    if index.size > 2:
        return None
    atom = Digit(of, modulus, divisor)
    first, second = (_value(atom, {index.axis: position}) for position in range(2))
    return _sum(first, ((second - first, index),))


def _split_digit(of: Linear, modulus: int, divisor: int) -> Linear | None:
    """With x = g*A + B, 0 <= B < g, where d divides g and g divides m: (x mod m) div d is (g/d)*(A mod m/g) + B div d.

    ``(4*a + b) mod 8`` with b below 4 is ``4*(a mod 2) + b``.
    """
    for factor in sorted({gcd(c, modulus) for c, _ in of.terms}, reverse=True) if modulus else ():
        if factor > 1 and factor % divisor == 0:
            whole, rest = _divided(of, factor)
            if _is_within(rest, factor) and whole.span[0] >= 0:
                high = digit(whole, modulus // factor, 1)
                return high.times(factor // divisor).plus(digit(rest, 0, divisor))
    return None


def _coarser(of: Linear, modulus: int, divisor: int) -> tuple[Linear, int, int] | None:
    """With x = g*A + B, 0 <= B < g, where g divides m and d: ((g*A + B) mod m) div d is (A mod m/g) div d/g."""
    for factor in sorted({gcd(c, modulus, divisor) for c, _ in of.terms}, reverse=True):
        if factor > 1:
            whole, rest = _divided(of, factor)
            if _is_within(rest, factor) and whole.span[0] >= 0:
                return whole, modulus // factor, divisor // factor
    return None


def _unnested(of: Linear, modulus: int, divisor: int) -> tuple[Linear, int, int] | None:
    """Merge a digit of a digit: (((x mod m1) div d1) mod m2) div d2 is (x mod d1*m2) div d1*d2 if d1*m2 divides m1.

    With m2 = 0, which stands for no mod, it is (x mod m1) div d1*d2.
    """
    inner = of.terms[0][1] if of.is_atom else None
    if not isinstance(inner, Digit):
        return None
    if not modulus:
        return inner.of, inner.modulus, inner.divisor * divisor
    if inner.modulus % (inner.divisor * modulus) == 0:
        return inner.of, inner.divisor * modulus, inner.divisor * divisor
    return None


def digit_span(span: tuple[int, int], modulus: int, divisor: int) -> tuple[int, int]:
    """Bounds of ``(x mod modulus) div divisor`` for x within ``span``."""
    low, high = span
    if modulus:
        low, high = (0, modulus - 1) if low // modulus != high // modulus else (low % modulus, high % modulus)
    return low // divisor, high // divisor


def linear_span(linear: Linear, spans: Mapping[int, tuple[int, int]]) -> tuple[int, int]:
    """Bounds of the value while the axes named in ``spans`` stay within theirs, the others within their sizes."""
    low = high = linear.const
    for coefficient, atom in linear.terms:
        if isinstance(atom, Index):
            ends = spans.get(atom.axis, atom.span)
        elif spans:
            ends = digit_span(linear_span(atom.of, spans), atom.modulus, atom.divisor)
        else:
            ends = atom.span
        near, far = sorted(coefficient * end for end in ends)
        low, high = low + near, high + far
    return low, high


def _value(atom: Atom, index: Sequence[int] | Mapping[int, int]) -> int:
    if isinstance(atom, Index):
        return index[atom.axis]
    value = atom.of.at(index)
    return (value % atom.modulus if atom.modulus else value) // atom.divisor


def _sum(const: int, terms: Iterable[tuple[int, Atom]]) -> Linear:
    """The sum with every atom once and neighbouring digits of one number joined."""
    coefficients: dict[Atom, int] = {}
    for coefficient, atom in terms:
        coefficients[atom] = coefficients.get(atom, 0) + coefficient
    remaining = [(coefficient, atom) for atom, coefficient in coefficients.items() if coefficient]
    digits = [(coefficient, atom) for coefficient, atom in remaining if isinstance(atom, Digit)]
    for high_coefficient, high in digits:
        for low_coefficient, low in digits:
            if _are_adjacent(high_coefficient, high, low_coefficient, low):
                rest = [(c, atom) for c, atom in remaining if atom not in (high, low)]
                joined = digit(high.of, high.modulus, low.divisor)
                return _sum(const + low_coefficient * joined.const, [*rest, *joined.times(low_coefficient).terms])
    if len({coefficient for coefficient, _ in remaining}) < len(remaining):
        remaining.sort(key=lambda term: str(term[1]))  # compare texts only to break ties, because formatting is slow
    remaining.sort(key=lambda term: -term[0])
    return Linear(const, tuple(remaining))


def _are_adjacent(high_coefficient: int, high: Digit, low_coefficient: int, low: Digit) -> bool:
    # 4*(a div 2) + 2*(a mod 2) is 2*a: the low digit ends where the high one begins, and the ratio of their weights is
    # its count.
    return (
        high.of == low.of
        and low.modulus == high.divisor
        and high.divisor % low.divisor == 0
        and high.modulus % high.divisor == 0
        and high_coefficient == low_coefficient * (high.divisor // low.divisor)
    )


def _divided(of: Linear, divisor: int) -> tuple[Linear, Linear]:
    """A and B with ``of = divisor * A + B``; B has the terms that do not divide; its minimum is in [0, divisor)."""
    whole = [(c // divisor, atom) for c, atom in of.terms if c % divisor == 0]
    rest = Linear(0, tuple((c, atom) for c, atom in of.terms if c % divisor))
    carried = (of.const + rest.span[0]) // divisor
    return _sum(carried, whole), Linear(of.const - carried * divisor, rest.terms)


def _reduced(of: Linear, modulus: int) -> tuple[Linear, int]:
    """A number >= 0 that equals ``of`` modulo ``modulus``; and the modulus, or 0 if the number is always below it."""
    rest = Linear(0, tuple((c, atom) for c, atom in of.terms if c % modulus))
    const = of.const % modulus
    lift = max(0, -(-(-rest.span[0] - const) // modulus))
    number = Linear(const + lift * modulus, rest.terms)
    low, high = number.span
    if low // modulus == high // modulus:
        return Linear(number.const - low // modulus * modulus, number.terms), 0
    return number, modulus


def _is_within(linear: Linear, limit: int) -> bool:
    low, high = linear.span
    return low >= 0 and high < limit
