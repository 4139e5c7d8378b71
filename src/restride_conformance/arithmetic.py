"""Integer arithmetic in a case file, ``$((N-1)/3+1)``: + - * / and parentheses over numbers and names, never ``eval``.

Division rounds down. Every value stays below 2^64 in magnitude.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import add, floordiv, mul, sub

from restride.errors import DescriptorError

_DEEPEST = 50
_LIMIT = 1 << 64
_TOKEN = re.compile(r"([0-9]{1,19})|([A-Z][A-Z0-9_]*)|([-+*/()])")


def evaluate(text: str, names: Mapping[str, str]) -> int:
    """The value of ``text``, the inside of ``$(...)``, with the integers that ``names`` stand for.

    Raises:
        DescriptorError: it is not well formed, a name is unknown or no integer, a division by 0, or too large a value.
    """
    return _Sum(text, names).read()


class _Sum:
    """A position among the tokens, read by recursive descent."""

    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        self.text = text
        self.names = names
        self.tokens: list[str] = []
        position = 0
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None:
                raise self.wrong(f"{text[position : position + 20]!r} is no number, name or one of + - * / ( )")
            self.tokens.append(found.group())
            position = found.end()
        self.position = 0
        self.depth = 0

    def read(self) -> int:
        value = self.sum()
        if self.peek():
            raise self.wrong(f"{self.peek()!r} is one too many")
        return value

    def sum(self) -> int:
        value = self.product()
        while self.peek() in ("+", "-"):
            step = add if self.take() == "+" else sub
            value = self.bounded(step(value, self.product()))
        return value

    def product(self) -> int:
        value = self.factor()
        while self.peek() in ("*", "/"):
            step = mul if self.take() == "*" else floordiv
            by = self.factor()
            if step is floordiv and by == 0:
                raise self.wrong("a division by 0")
            value = self.bounded(step(value, by))
        return value

    def factor(self) -> int:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.wrong(f"it is nested deeper than {_DEEPEST}")
        item = self.take()
        if item == "-":
            value = -self.factor()
        elif item == "(":
            value = self.sum()
            if self.take() != ")":
                raise self.wrong("a parenthesis is not closed")
        elif item[:1].isdecimal():
            value = int(item)
        elif item[:1].isalpha():
            value = self.named(item)
        else:
            raise self.wrong(f"expected a number, a name or '(', found {item or 'the end'!r}")
        self.depth -= 1
        return value

    def named(self, name: str) -> int:
        text = self.names.get(name)
        if text is None:
            raise self.wrong(f"{name} is not defined")
        if not re.fullmatch("-?[0-9]{1,19}", text):
            raise self.wrong(f"{name} is {text[:40]!r}, no integer")
        return int(text)

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self) -> str:
        item = self.peek()
        self.position += 1
        return item

    def bounded(self, value: int) -> int:
        if abs(value) >= _LIMIT:
            raise self.wrong("its value reaches 2^64")
        return value

    def wrong(self, why: str) -> DescriptorError:
        text = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        return DescriptorError(f"$({text}): {why}")
