"""Digits against plain ``//`` and ``%``: random trees of sums and digits, what must dissolve, and how they print."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from restride.layout import TensorDesc
from restride.layout.digits import Digit, Index, Linear, affine, digit, digit_span, linear_span

SIZES = (1, 2, 3, 4, 5, 6, 8, 12)
NUMBERS = (1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 24)


@dataclass(frozen=True)
class Checked:
    """An expression and, beside it, its value at every index; what is done to one is done to the other."""

    linear: Linear
    values: np.ndarray

    def plus(self, other: Checked) -> Checked:
        return Checked(self.linear.plus(other.linear), self.values + other.values)

    def times(self, factor: int) -> Checked:
        return Checked(self.linear.times(factor), self.values * factor)

    def lifted(self) -> Checked:
        """Never negative, as what digits are taken of has to be."""
        least = int(self.values.min())
        return self if least >= 0 else self.plus(Checked(Linear(-least), np.full_like(self.values, -least)))

    def digit(self, modulus: int, divisor: int) -> Checked:
        below = self.values % modulus if modulus else self.values
        return Checked(digit(self.linear, modulus, divisor), below // divisor)

    def check(self) -> None:
        low, high = self.linear.span
        assert low <= self.values.min()
        assert self.values.max() <= high
        for index in np.ndindex(self.values.shape):
            assert self.linear.at(index) == self.values[index], (str(self.linear), index)
        letters = dict(zip("abc", np.indices(self.values.shape), strict=False))
        python = str(self.linear).replace("div", "//").replace("mod", "%")
        assert (eval(python, {}, letters) == self.values).all(), self.linear
        assert len({atom for _, atom in self.linear.terms}) == len(self.linear.terms)
        assert all(coefficient for coefficient, _ in self.linear.terms)
        for axis, size in enumerate(self.values.shape):
            if axis not in {index.axis for index in self.linear.indices}:
                assert (self.values == self.values.take([0], axis)).all(), (self.linear, axis)
            elif size == 1:
                raise AssertionError(f"{self.linear} depends on axis {axis} of size 1")


@st.composite
def leaves(draw, sizes):
    strides = [draw(st.integers(-12, 12)) for _ in sizes]
    const = draw(st.integers(-5, 30))
    linear = affine(
        const, [(axis, size, stride) for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True))]
    )
    grid = np.indices(sizes)
    return Checked(linear, const + sum(stride * index for stride, index in zip(strides, grid, strict=True)))


@st.composite
def trees(draw):
    """A few sums, the digits of some of them as tiles cut them, and sums of those again."""
    sizes = tuple(draw(st.lists(st.sampled_from(SIZES), min_size=1, max_size=3)))
    made = [draw(leaves(sizes))]
    for _ in range(draw(st.integers(1, 6))):
        source = draw(st.sampled_from(made))
        match draw(st.sampled_from(["leaf", "digit", "split", "sum"])):
            case "leaf":
                made.append(draw(leaves(sizes)))
            case "digit":
                made.append(source.lifted().digit(draw(st.sampled_from((0, *NUMBERS))), draw(st.sampled_from(NUMBERS))))
            case "split":
                size = draw(st.sampled_from(NUMBERS))
                made += [source.lifted().digit(0, size), source.lifted().digit(size, 1)]
            case "sum":
                factor = draw(st.sampled_from((-7, -2, -1, 1, 2, 3, 4, 6, 8)))
                made.append(draw(st.sampled_from(made)).times(factor).plus(source))
    return made


@settings(max_examples=600, deadline=None)
@given(trees())
def test_every_tree_has_its_value_at_every_index(made):
    for checked in made:
        checked.check()


@settings(max_examples=200, deadline=None)
@given(trees())
def test_sums_do_not_depend_on_the_order_of_two(made):
    one, other = made[-1].linear, made[0].linear
    assert one.plus(other) == other.plus(one)
    assert hash(one.plus(other)) == hash(other.plus(one))
    assert one.plus(one.times(-1)) == Linear()
    assert one.times(0) == Linear()
    assert one.times(3) == one.plus(one).plus(one)


@settings(max_examples=200, deadline=None)
@given(trees(), st.data())
def test_spans_of_part_of_an_axis_hold_its_values(made, data):
    for checked in made:
        spans, part = {}, checked.values
        for axis, size in enumerate(checked.values.shape):
            if data.draw(st.booleans()):
                low, high = sorted(data.draw(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))))
                spans[axis] = low, high
                part = part.take(range(low, high + 1), axis)
        low, high = linear_span(checked.linear, spans)
        assert low <= part.min(), checked.linear
        assert part.max() <= high, checked.linear


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 60), st.integers(0, 40), st.sampled_from((0, *NUMBERS)), st.sampled_from(NUMBERS))
def test_the_span_of_a_digit_holds_its_values(low, more, modulus, divisor):
    values = [(x % modulus if modulus else x) // divisor for x in range(low, low + more + 1)]
    least, most = digit_span((low, low + more), modulus, divisor)
    assert least <= min(values)
    assert max(values) <= most


def letters(*sizes: int) -> list[Linear]:
    return [affine(0, [(axis, size, 1)]) for axis, size in enumerate(sizes)]


def combined(*terms: tuple[int, Linear]) -> Linear:
    return reduce(Linear.plus, (linear.times(factor) for factor, linear in terms), Linear())


A, B = letters(64, 4)
SPLIT = digit(A, 8, 1)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        # the docstrings' examples
        (digit(letters(2)[0], 0, 2), "0"),
        (digit(combined((8, A), (1, B)), 0, 8), "a"),
        (digit(combined((12, A), (3, B)), 0, 6), "2*a+(b div 2)"),
        (digit(digit(digit(A, 8, 2), 2, 1), 0, 1), "((a mod 4) div 2)"),
        # nothing to do
        (digit(A, 0, 1), "a"),
        (digit(A, 64, 1), "a"),
        (digit(A, 1 << 70, 1), "a"),
        (digit(A, 1, 1), "0"),
        (digit(A, 8, 8), "0"),
        (digit(A, 8, 9), "0"),
        (digit(Linear(13), 8, 2), "2"),
        (digit(Linear(), 0, 5), "0"),
        # a split and its join
        (combined((8, digit(A, 0, 8)), (1, digit(A, 8, 1))), "a"),
        (combined((4, digit(A, 0, 8)), (2, digit(A, 8, 4)), (1, digit(A, 4, 2))), "(a div 2)"),
        (combined((-8, digit(A, 0, 8)), (-1, digit(A, 8, 1))), "-a"),
        # digits of digits
        (digit(digit(A, 0, 4), 0, 2), "(a div 8)"),
        (digit(SPLIT, 4, 1), "(a mod 4)"),
        (digit(SPLIT, 0, 4), "((a mod 8) div 4)"),
        (digit(SPLIT, 3, 1), "((a mod 8) mod 3)"),
        (digit(digit(A, 0, 3), 2, 1), "((a mod 6) div 3)"),
        # steps: a slice [1::2] under tiles of 8 has tiles of 4
        (digit(combined((2, A), (1, Linear(1))), 0, 8), "(a div 4)"),
        # a start of whole tiles is a constant
        (digit(combined((1, A), (1, Linear(16))), 0, 8), "(a div 8)+2"),
        (digit(combined((1, A), (1, Linear(16))), 8, 1), "(a mod 8)"),
        # within one tile
        (digit(combined((1, B), (1, Linear(11))), 8, 1), "b+3"),
        (digit(combined((1, B), (1, Linear(11))), 0, 8), "1"),
        # flips
        (digit(combined((-1, A), (1, Linear(63))), 8, 1), "((-a+63) mod 8)"),
        (digit(combined((-8, A), (1, B), (1, Linear(504))), 0, 8), "-a+63"),
        # what a modulus hides
        (digit(combined((16, A), (1, B)), 8, 1), "b"),
        (digit(combined((-16, A), (1, B), (1, Linear(1600))), 8, 2), "(b div 2)"),
        # (4*a + b) mod 8 is 4*(a mod 2) + b, and joins 8*(a div 2)
        (combined((8, digit(A, 0, 2)), (1, digit(combined((4, A), (1, B)), 8, 1))), "4*a+b"),
    ],
    ids=str,
)
def test_what_ranges_and_divisibility_prove_is_gone(found, text):
    assert str(found) == text


def test_axes_of_size_one_and_strides_of_zero_add_nothing():
    assert affine(3, [(0, 1, 7), (1, 4, 0), (2, 5, 2)]) == Linear(3, ((2, Index(2, 5)),))
    assert affine(0, []) == Linear()
    assert (str(Linear()), str(Linear(-4)), str(affine(-4, [(0, 2, -1)]))) == ("0", "-4", "-a-4")
    assert affine(0, [(0, 4, 3), (0, 4, -3)]) == Linear()
    assert affine(0, [(0, 4, 3), (0, 4, 2)]).stride(0) == 5
    assert affine(5, [(7, 4, 3)]).stride(1) == 0


def test_atoms_and_affine_sums_know_that_they_are():
    assert A.is_atom
    assert A.is_affine
    assert SPLIT.is_atom
    assert not SPLIT.is_affine
    assert not A.times(2).is_atom
    assert not A.plus(Linear(1)).is_atom
    assert not Linear().is_atom
    assert SPLIT.terms == ((1, Digit(A, 8, 1)),)
    assert {index.axis for index in SPLIT.indices} == {0}
    assert {index.axis for index in SPLIT.plus(B).indices} == {0, 1}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("f32[8]{0:T(4)(2)}", "f32[8]"),
        ("f32[24,128]{1,0:T(8,128)}", "f32[24,128]"),
        ("f32[4,256]{1,0:T(1,128)}", "f32[4,256]"),
        ("f32[6,4]{0,1:T(4,6)}", "f32[6,4]{0,1}"),
        ("f32[8,8]{1,0:T(4,4)(2,4)}", "f32[8,8]{1,0:T(4,4)}"),
        ("f32[8,6]{1,0:T(1,1)(1,1)}", "f32[8,6]"),
        ("f32[3,5]{1,0:T(1,2,2)}", "f32[3,5]{1,0:T(2,2)}"),
        ("f32[3,5]{1,0:T(2,2)(1,2)}", "f32[3,5]{1,0:T(2,2)}"),
        ("f32[16,8]:BA16a8b", "f32[16,8]"),
        ("f32[2,32,4,4]:nChw8c", "f32[2,32,4,4]:aBcd8b"),
        ("f32[4,6]:Ab2a", "f32[4,6]{1,0:T(2,1)}"),
        ("f32[5]{0:T(8)}", "f32[5]:A8a"),
        ("f32[5]{0:T(8)}", "f32[5]{0:pad(8)=0}"),
        ("f32[4,6]{1,0:pad(4,6)=7}", "f32[4,6]"),  # nothing between the sizes and the padded sizes
        ("f32[5]{0:T(8)pad(5)=7}", "f32[5]{0:T(8)}"),
        ("f32[112,110]{1,0:T(2,3)}", "f32[112,110]{1,0:T(1,2,3)}"),
        ("f32[2,3,4]{2,1,0:T(*,*,24)}", "f32[2,3,4]"),
        ("f32[4,4]{1,0:T(*,8)}", "f32[4,4]"),
        ("f32[]{:T(1)}", "f32[]"),
        ("f32[0,3]{1,0:T(2,2)}", "f32[0,3]"),
    ],
)
def test_tiles_that_change_nothing_are_equal_to_what_they_are(one, other):
    """The sums are canonical, so two texts of one memory are one descriptor."""
    first, second = TensorDesc.parse(one), TensorDesc.parse(other)
    assert first == second
    assert hash(first) == hash(second)
    assert str(first) == one  # and yet each prints as it was written
