"""The text of a descriptor, XLA's shape syntax grown by strides: text to parts and parts to text.

    text    = type "[" numbers "]" [ "{" layout "}" ]        no braces: row-major
    layout  = numbers                                        minor_to_major, fastest axis first; -1 is the last axis
            | "strides=(" numbers ")" [ ",offset=" number ]  element strides; negative and zero ones are legal
    numbers = [ number { "," number } ]

``f32[2,3]{1,0}`` is row-major, ``f32[2,3]{0,1}`` column-major, ``f32[]`` a scalar,
``f32[2,3]{strides=(1,2),offset=4}`` column-major from element 4 on. Blanks between the tokens are skipped; text made
here has none. What follows a ``:`` in XLA (tiles, padding) and after the bracket (tags) is named and refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from restride.dtypes import DTYPES
from restride.errors import DescriptorError, UnsupportedError

_TYPE_NAMES = DTYPES | {element.dtype.name: element for element in DTYPES.values()}
_DIGITS = frozenset("0123456789")
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") | _DIGITS
_LONGEST_NUMBER = 155
"""Decimal digits of 2^512, which no number reaches."""


@dataclass(frozen=True)
class DescParts:
    """A descriptor as it was written: either ``minor_to_major`` or ``strides`` (or neither: row-major)."""

    dtype: str
    sizes: tuple[int, ...]
    minor_to_major: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    offset: int = 0


class Scanner:
    """A position in a text that moves forward token by token and knows how to complain about where it stands."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def peek(self) -> str:
        """The next character after blanks; empty at the end of the text."""
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1
        return self.text[self.position : self.position + 1]

    def accept(self, token: str) -> bool:
        """Step over ``token`` if it comes next."""
        if self.peek() and self.text.startswith(token, self.position):
            self.position += len(token)
            return True
        return False

    def expect(self, token: str, meaning: str) -> None:
        """Step over ``token``, which must come next; ``meaning`` says what it is for."""
        if not self.accept(token):
            self.fail(f"expected {token!r} {meaning}")

    def name(self, meaning: str) -> str:
        """A run of letters, digits and underscores."""
        self.peek()
        start = self.position
        while self.text[self.position : self.position + 1] in _NAME:
            self.position += 1
        if start == self.position:
            self.fail(f"expected {meaning}")
        return self.text[start : self.position]

    def number(self, meaning: str) -> int:
        """A decimal integer, perhaps negative."""
        sign = self.peek() == "-"
        start = self.position
        end = start + sign
        first_digit = end
        while end < len(self.text) and self.text[end] in _DIGITS:
            end += 1
        if end == first_digit:
            self.fail(f"expected {meaning}")
        if end - first_digit > _LONGEST_NUMBER:
            self.fail(f"{meaning} of {end - first_digit} digits is not below 2^512")
        self.position = end
        return int(self.text[start:end])

    def numbers(self, closing: str, meaning: str) -> tuple[int, ...]:
        """Integers separated by commas up to and over ``closing``; none at all is fine."""
        found: list[int] = []
        if self.accept(closing):
            return ()
        while True:
            found.append(self.number(meaning))
            if self.accept(closing):
                return tuple(found)
            if self.peek() == ":":
                self.refuse("parts after ':' (tiles, padding, memory spaces)")
            self.expect(",", f"or {closing!r} after {meaning}")

    def fail(self, rule: str) -> NoReturn:
        """Raise DescriptorError: the rule, where it broke, what stands there, the whole text."""
        at = self.position
        found = f"found {_cut(self.text[at:])}" if self.peek() else "the text ends"
        raise DescriptorError(f"{rule} at character {at + 1} of {_cut(self.text)}: {found}")

    def refuse(self, what: str) -> NoReturn:
        """Raise UnsupportedError for a legal part that this version does not read, and name that part."""
        at = self.position
        raise UnsupportedError(
            f"{what} are not supported yet: {_cut(self.text[at:])} at character {at + 1} of {_cut(self.text)}"
        )


def parse_parts(text: str) -> DescParts:
    """The parts of a descriptor text; ``format_parts`` gives the text back, without blanks.

    The parts are checked for syntax only: whether sizes, axes and strides make sense is the descriptor's own business.

    Raises:
        DescriptorError: the text does not follow the syntax; the message points at the character.
        UnsupportedError: the text has a tile, a padding or a tag.
    """
    scanner = Scanner(text)
    scanner.peek()
    start = scanner.position
    name = scanner.name("an element type such as 'f32'")
    if name not in _TYPE_NAMES:
        scanner.position = start
        scanner.fail(f"unknown element type {_cut(name)} (known: {', '.join(DTYPES)})")
    scanner.expect("[", "before the sizes")
    sizes = scanner.numbers("]", "a size")
    parts = DescParts(_TYPE_NAMES[name].name, sizes)
    if scanner.accept("{"):
        parts = _parse_layout(scanner, parts)
    if scanner.peek() == ":":
        scanner.refuse("format tags")
    if scanner.peek():
        scanner.fail("expected the end of the text")
    return parts


def _parse_layout(scanner: Scanner, parts: DescParts) -> DescParts:
    """The inside of the braces, up to and over the closing one."""
    if scanner.peek() == ":":
        scanner.refuse("parts after ':' (tiles, padding, memory spaces)")
    if not scanner.accept("strides"):
        order = scanner.numbers("}", "an axis number")
        return DescParts(parts.dtype, parts.sizes, minor_to_major=order)
    scanner.expect("=", "after 'strides'")
    scanner.expect("(", "before the strides")
    strides = scanner.numbers(")", "a stride")
    offset = 0
    if scanner.accept(","):
        scanner.expect("offset", "after the strides")
        scanner.expect("=", "after 'offset'")
        offset = scanner.number("an offset")
    scanner.expect("}", "after the layout")
    return DescParts(parts.dtype, parts.sizes, strides=strides, offset=offset)


def format_parts(parts: DescParts) -> str:
    """The text of ``parts``: ``f32[2,3]{0,1}``, ``f32[2,3]{strides=(1,2),offset=4}``, ``f32[]``."""
    text = f"{parts.dtype}[{_listed(parts.sizes)}]"
    if parts.strides is not None:
        offset = f",offset={parts.offset}" if parts.offset else ""
        return f"{text}{{strides=({_listed(parts.strides)}){offset}}}"
    if not parts.sizes:
        return text
    order = range(len(parts.sizes))[::-1] if parts.minor_to_major is None else parts.minor_to_major
    return f"{text}{{{_listed(tuple(order))}}}"


def _listed(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


def _cut(text: str) -> str:
    """A quoted text, short enough for a message."""
    return repr(text if len(text) <= 80 else text[:77] + "...")
