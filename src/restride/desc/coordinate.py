"""A coordinate of a view as text: where along one axis of an array the index of the view lies, as in ``1+2a``.

    coordinate = [ "-" ] term { ( "+" | "-" ) term }        a constant comes first
    term       = digits | [ digits ] letter                 letter a: the index along axis 0 of the view

Text made here leaves out a constant of 0, unless it is all there is, a factor of 1 and letters multiplied with 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from string import ascii_lowercase

from restride.desc.scanner import DIGITS, Scanner

MOST_AXES = len(ascii_lowercase)
"""Axes that a letter can be said of."""


def parse_coordinate(scanner: Scanner, rank: int) -> tuple[int, dict[int, int]]:
    """The constant, and by axis of the view what its index is multiplied with.

    ``7-2b`` is 7 and {1: -2}: index (i, j) of the view lies at coordinate 7 - 2*j.

    Raises:
        DescriptorError: wrong syntax, a letter beyond the ``rank`` axes of the view, or one that occurs twice.
    """
    start, factors = 0, dict[int, int]()
    is_first = True
    sign = -1 if scanner.accept("-") else 1
    while True:
        at = scanner.here()
        number = scanner.number("a number") if scanner.comes(DIGITS) else None
        at_letter = scanner.here()
        letter = scanner.take(ascii_lowercase)
        if letter:
            axis = ascii_lowercase.index(letter)
            if axis >= rank:
                scanner.fail(f"letter {letter!r} stands for axis {axis}, beyond the {rank} axes of the view", at_letter)
            if axis in factors:
                scanner.fail(f"letter {letter!r} occurs twice in a coordinate", at_letter)
            factors[axis] = sign * (1 if number is None else number)
        elif number is None:
            scanner.fail("expected a coordinate such as '1+2a'")
        elif not is_first:
            scanner.fail("the constant of a coordinate comes first, and once", at)
        else:
            start = sign * number
        is_first = False
        if scanner.accept("+"):
            sign = 1
        elif scanner.accept("-"):
            sign = -1
        else:
            return start, factors


def format_coordinate(start: int, factors: Iterable[int]) -> str:
    """The text of a coordinate, ``factors`` by axis of the view: ``7-2b`` for 7 and (0, -2)."""
    text = str(start) if start else ""
    for letter, factor in zip(ascii_lowercase, factors, strict=False):
        if factor:
            sign = "-" if factor < 0 else "+" if text else ""
            text += f"{sign}{abs(factor) if abs(factor) > 1 else ''}{letter}"
    return text or "0"
