"""A position in a text that moves forward token by token and complains by pointing at a character."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from restride.errors import DescriptorError, UnsupportedError

DIGITS = "0123456789"

LONGEST_NUMBER = 155
"""Decimal digits of 2^512, which no number reaches."""

_NUMBER = re.compile("0|-?[1-9][0-9]*")
_NAME = re.compile("[A-Za-z0-9_]+")

Item = TypeVar("Item")


class Scanner:
    """What is left of ``text`` starts at ``position``; blanks before a token are skipped.

    Raises:
        DescriptorError: from ``fail``, and from every method that finds something else than it needs.
        UnsupportedError: from ``refuse``.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def here(self) -> int:
        """Where the next token begins, for a message that is made later."""
        while self.position < len(self.text) and self.text[self.position] in " \t\r\n":
            self.position += 1
        return self.position

    def comes(self, characters: str) -> bool:
        """Whether the next token begins with one of ``characters``; False at the end of the text."""
        next_one = self.text[self.here() : self.position + 1]
        return next_one != "" and next_one in characters

    def is_at_end(self) -> bool:
        """Whether nothing is left but blanks."""
        return self.here() == len(self.text)

    def accept(self, token: str) -> bool:
        """Step over ``token`` if it comes next."""
        if self.text.startswith(token, self.here()):
            self.position += len(token)
            return True
        return False

    def expect(self, token: str, meaning: str) -> None:
        """Step over ``token``, which must come next; ``meaning`` says what it is for."""
        if not self.accept(token):
            self.fail(f"expected {token!r} {meaning}")

    def take(self, characters: str) -> str:
        """Step over the next character if it is one of ``characters`` and return it; else an empty text."""
        if not self.comes(characters):
            return ""
        self.position += 1
        return self.text[self.position - 1]

    def match(self, pattern: re.Pattern[str]) -> str:
        """Step over what ``pattern`` matches next and return it; else an empty text."""
        found = pattern.match(self.text, self.here())
        if found is None:
            return ""
        self.position = found.end()
        return found.group()

    def name(self, meaning: str) -> str:
        """A run of letters, digits and underscores."""
        return self.match(_NAME) or self.fail(f"expected {meaning}")

    def number(self, meaning: str) -> int:
        """A decimal integer, perhaps negative."""
        at = self.here()
        digits = self.match(_NUMBER) or self.fail(f"expected {meaning}")
        length = len(digits.removeprefix("-"))
        if length > LONGEST_NUMBER:
            self.fail(f"{meaning} of {length} digits is not below 2^512", at)
        return int(digits)

    def sequence(self, item: Callable[[], Item], ends: str, meaning: str) -> tuple[Item, ...]:
        """Items separated by commas up to one of the characters ``ends``, which stays; no item at all is fine.

        Args:
            item: reads one item.
            ends: what may follow the last one, a character each.
            meaning: what an item is, for the message when something else follows.
        """
        found: list[Item] = []
        if self.comes(ends):
            return ()
        while True:
            found.append(item())
            if self.comes(ends):
                return tuple(found)
            if not self.accept(","):
                self.fail(f"expected ',' or {' or '.join(map(repr, ends))} after {meaning}")

    def numbers(self, ends: str, meaning: str) -> tuple[int, ...]:
        """A ``sequence`` of integers."""
        return self.sequence(lambda: self.number(meaning), ends, meaning)

    def fail(self, rule: str, at: int | None = None) -> NoReturn:
        """Raise DescriptorError: the rule, where it broke (None: here), what stands there, the whole text."""
        position = self.here() if at is None else at
        found = f"found {cut(self.text[position:])}" if position < len(self.text) else "the text ends"
        raise DescriptorError(f"{rule} at character {position + 1} of {cut(self.text)}: {found}")

    def refuse(self, what: str, at: int) -> NoReturn:
        """Raise UnsupportedError for a legal part that has no meaning here, and name that part."""
        raise UnsupportedError(
            f"{what} are not supported: {cut(self.text[at:])} at character {at + 1} of {cut(self.text)}"
        )


def cut(text: str) -> str:
    """A quoted text, short enough for a message."""
    return repr(text if len(text) <= 80 else text[:77] + "...")
