"""The text of descriptors, XLA's shape syntax extended by strides, tags and views: text to parts and parts to text.

    text       = type array
    array      = "[" numbers "]" [ "{" layout "}" | ":" tag ]       neither: row-major
    layout     = numbers [ ":" { tiles | padding | tail | storage } ]   minor_to_major, fastest axis first; -1: the last
               | "strides=(" numbers ")" [ ",offset=" number ] [ ":" { storage } ]   element strides, also negative or 0
               | "at=(" [ coordinate { "," coordinate } ] "),in=" array    a view
    tiles      = "T" tile { tile }                                  repeated tiles tile the tile before them
    tile       = "(" size { "," size } ")"                          1 or more, or "*" (also -1): combined with the next
    padding    = "pad(" numbers ")=" value                          padded_sizes; value: 0, -1.5, 1e+30, nan, -inf
    tail       = "L(" size ")"                                      the buffer has a multiple of so many elements
    storage    = "E(" bits ")" | "S(" number ")"                    bits of an element in memory; the memory space
    coordinate = [ "-" ] term { ( "+" | "-" ) term }                a constant comes first
    term       = digits | [ digits ] letter                         letter a: the index along axis 0 of the view
    tag        = letters and digits                                 read by ``restride.layout.tags``
    numbers    = [ number { "," number } ]

``f32[2,3]{1,0}`` is row-major, ``f32[2,3]{0,1}`` column-major, ``f32[]`` a scalar, ``f32[2,3]{strides=(1,2),offset=4}``
column-major from element 4 on. ``f32[3,5]{1,0:T(2,2)}`` lies in tiles of 2 x 2, ``f32[2,3]{0,1:pad(3,5)=0}`` inside an
array of 3 x 5, ``f32[2,16,4,4]:nChw16c`` as oneDNN's tag says. ``f32[2]{at=(1+2a,3),in=[4,4]{1,0:T(4,4)}}`` is elements
1,3 and 3,3 of a tiled array: index i of the view lies at coordinates 1 + 2*i and 3. The viewed layout is written by an
order or a tag, not by strides (the view would have strides itself), and is no view.

The parts after the ":" are written once each and in any order, and blanks between the tokens are skipped; text written
here has the order T, pad, L, E, S and no blanks. ``L(1)``, ``E(0)`` and ``S(0)`` are defaults, which are not written.
The other parts that XLA writes after the ":" are named and refused. Source of the order, the tiles and the "*": XLA,
"Shapes and layout" and "Tiled layout"; of L, E and S: ``LayoutProto`` in its xla_data.proto, ``Layout::ToString``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from string import ascii_lowercase
from typing import Any, NamedTuple, NoReturn, TypedDict, TypeVar

from restride.dtypes import BY_NAME, DTYPES, dtype_here
from restride.errors import DescriptorError, UnsupportedError

COMBINED = -1
"""A tile size written ``*``: this dimension is combined with the next more minor one before it is tiled."""

DIGITS = "0123456789"

MAX_NUMBER = 155
"""Maximum number of decimal digits of a number: as many as 2^512 has, which no number reaches."""

MAX_AXES = len(ascii_lowercase)
"""Maximum number of axes of a view: each has a letter in the coordinates."""

_NUMBER = re.compile("0|-?[1-9][0-9]*")
_VALUE = re.compile(r"nan|-?inf|-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_NAME = re.compile("[A-Za-z0-9_]+")

_LINE = re.compile(r".*((memref|tensor)<|:blocked:)|\s*((ROOT )?\S+ = \(*|\(+)[a-z]\w*\[")
"""How lines begin that are no descriptors; ``restride.layout.lines`` has their grammar."""

_REFUSED = {
    "D": "dimension level types D(..)",
    "#": "index types #(..)",
    "*": "pointer types *(..)",
    "SC": "split configurations SC(..)",
    "P": "physical shapes P(..)",
    "M": "dynamic shape metadata M(..)",
}
"""Parts of XLA's layouts that have no meaning here, by the letters before the parenthesis (Layout::ToString)."""

_NUMBERED = {
    "L": ("tail_padding_alignment_in_elements", 1),
    "E": ("element_size_in_bits", 0),
    "S": ("memory_space", 0),
}
"""Parts with one number, by the letter before the parenthesis: the field's name, and its least value, the default."""


Item = TypeVar("Item")


class Storage(TypedDict):
    """How XLA stores a layout, as keywords: bits of an element, 0 for those of its type; number of the memory space."""

    element_size_in_bits: int
    memory_space: int


class DescParts(NamedTuple):
    """A descriptor as it was written; the fields of one written form are set, the others have their defaults.

    An order: ``minor_to_major``, and with it ``tiles`` (-1 for ``*``), ``padded_sizes`` with ``padding_value``, and
    ``tail_padding_alignment_in_elements``. Strides: ``strides`` and ``offset``. Orders and strides:
    ``element_size_in_bits`` and ``memory_space``; the descriptor of a view has those of ``inner``. A tag: ``tag``. A
    view: ``inner``, the viewed layout, ``starts``, the coordinate of index 0,0,... along each axis of ``inner``, and
    ``steps``: per axis of the view, how far one step moves along each axis of ``inner``. None of these: row-major.

    ``f32[2]{at=(1+2a,3),in=[4,4]{1,0}}`` has starts (1, 3) and steps ((2, 0),).
    """

    dtype: str
    sizes: tuple[int, ...]
    minor_to_major: tuple[int, ...] | None = None
    tiles: tuple[tuple[int, ...], ...] = ()
    padded_sizes: tuple[int, ...] | None = None
    padding_value: int | float = 0
    tail_padding_alignment_in_elements: int = 1
    element_size_in_bits: int = 0
    memory_space: int = 0
    strides: tuple[int, ...] | None = None
    offset: int = 0
    tag: str | None = None
    inner: DescParts | None = None
    starts: tuple[int, ...] = ()
    steps: tuple[tuple[int, ...], ...] = ()

    @property
    def storage(self) -> Storage:
        """The bits of an element and the memory space."""
        return {"element_size_in_bits": self.element_size_in_bits, "memory_space": self.memory_space}


def parse_parts(text: str) -> DescParts:
    """The parts of a descriptor text; ``format_parts`` gives the text back, without blanks.

    Only the syntax is checked; the descriptor checks whether sizes, axes, tiles, strides and tags make sense.

    Raises:
        DescriptorError: the text does not follow the syntax; the message points at the character.
        UnsupportedError: the text has a part of XLA's layouts that has no meaning here, such as split configurations.
    """
    scanner = Scanner(text)
    at = scanner.here()
    if _LINE.match(text):
        hint = "; `restride show` draws the layouts in lines of oneDNN, MLIR and HLO"
        scanner.fail("expected an element type such as 'f32'", at, hint)
    name = scanner.name("an element type such as 'f32'")
    if name not in BY_NAME and scanner.is_at_end():
        scanner.fail("expected an element type and sizes, as in 'f32[2,16,4,4]:nChw16c' or 'f32[3,5]{0,1}',", at)
    if name not in BY_NAME:
        scanner.fail(f"unknown element type {cut(name)} (known: {', '.join(DTYPES)})", at, dtype_here(name))
    parts = _parse_array(scanner, BY_NAME[name].name)
    if not scanner.is_at_end():
        scanner.fail("expected the end of the text")
    return parts


def _parse_array(scanner: Scanner, dtype: str, *, is_inner: bool = False) -> DescParts:
    """Sizes and layout: what follows the element type, and what follows the ``in=`` of a view."""
    parts = DescParts(dtype, scanner.numbers("[]", "a size", "the sizes"))
    if scanner.accept(":"):
        parts = parts._replace(tag=scanner.name("a format tag such as 'nChw16c'"))
        if scanner.comes("("):
            scanner.fail("XLA's tiles and other parts stand in braces after an order, as in '{1,0:T(8,128)(2,1)}',")
        return parts
    if not scanner.accept("{"):
        return parts
    at = scanner.here()
    is_strides, is_view = scanner.accept("strides"), scanner.accept("at")
    if is_inner and (is_strides or is_view):
        scanner.fail("a view looks at a minor_to_major layout or at a tag, neither at strides nor at another view", at)
    if is_strides:
        parts = _parse_strides(scanner, parts)
    elif is_view:
        parts = _parse_view(scanner, parts)
    else:
        parts = _parse_order(scanner, parts)
    scanner.expect("}", "after the layout")
    if scanner.comes(":"):
        scanner.fail("a layout is written in braces or as a tag, not both")
    return parts


def _parse_strides(scanner: Scanner, parts: DescParts) -> DescParts:
    """Read what follows ``strides``, up to the closing brace."""
    scanner.expect("=", "after 'strides'")
    strides = scanner.numbers("()", "a stride", "the strides")
    offset = 0
    if scanner.accept(","):
        scanner.expect("offset", "after the strides")
        scanner.expect("=", "after 'offset'")
        offset = scanner.number("an offset")
    return _parse_colon(scanner, parts._replace(strides=strides, offset=offset), "E S")


def _parse_order(scanner: Scanner, parts: DescParts) -> DescParts:
    """XLA's layout: the order of the axes, then what follows the colon, up to the closing brace."""
    if scanner.comes("TpLES"):
        scanner.fail("an order of axes comes before ':' and other parts, as in '{1,0:T(8,128)(2,1)}',")
    order = scanner.sequence(lambda: scanner.number("an axis number"), "}:", "an axis number")
    return _parse_colon(scanner, parts._replace(minor_to_major=order), "T pad L E S")


def _parse_colon(scanner: Scanner, parts: DescParts, known: str) -> DescParts:
    """The parts after a colon, each once and in any order, up to the closing brace; ``known``: how each begins."""
    if not scanner.accept(":"):
        return parts
    seen: list[str] = []
    while not (seen and scanner.comes("}")):
        _refuse_part_of_xla(scanner)
        at = scanner.here()
        letters = next((each for each in known.split() if scanner.accept(each)), "")
        if not letters:
            expected = ", ".join(f"{each}(..)" for each in known.split())
            scanner.fail(f"expected one of {expected}" + " or '}'" * bool(seen), at)
        if letters in seen:
            hint = ", repeated tiles as 'T(8,128)(2,1)'" if letters == "T" else ""
            scanner.fail(f"{letters}(..) is written once{hint}", at)
        seen.append(letters)
        if letters == "T":
            parts = parts._replace(tiles=_parse_tiles(scanner))
        elif letters == "pad":
            padded_sizes = scanner.numbers("()", "a padded size", "the padded sizes")
            scanner.expect("=", "before the padding value")
            parts = parts._replace(padded_sizes=padded_sizes, padding_value=_parse_value(scanner))
        else:
            parts = _parse_number(scanner, parts, letters)
    return parts


def _parse_number(scanner: Scanner, parts: DescParts, letter: str) -> DescParts:
    """Read what follows the letter of a part with one number."""
    name, least = _NUMBERED[letter]
    scanner.expect("(", f"after {letter!r}")
    at = scanner.here()
    value = scanner.number(f"the number of {letter}(..)")
    if not least <= value < 1 << 63:
        scanner.fail(f"{name} is {least} or more, and below 2^63, not {value}", at)
    scanner.expect(")", f"after the number of {letter}(..)")
    field: dict[str, Any] = {name: value}
    return parts._replace(**field)


def _parse_tiles(scanner: Scanner) -> tuple[tuple[int, ...], ...]:
    """Read what follows ``T``: one tile or more."""
    tiles: list[tuple[int, ...]] = []
    while not tiles or scanner.comes("("):
        sizes = scanner.enclosed("()", lambda: _parse_tile_size(scanner), "a tile size", "the sizes of a tile")
        if not sizes:
            scanner.fail("a tile has one size or more", scanner.position - 1)
        last, at = sizes[-1]
        if last == COMBINED:
            scanner.fail("'*' combines a dimension with the next one of the tile, and the last one has no next", at)
        tiles.append(tuple(size for size, _ in sizes))
    return tuple(tiles)


def _parse_tile_size(scanner: Scanner) -> tuple[int, int]:
    """A size of a tile, and its position in the text."""
    at = scanner.here()
    if scanner.accept("*"):
        return COMBINED, at
    size = scanner.number("a tile size or '*'")
    if size < 1 and size != COMBINED:
        scanner.fail(f"a tile size is 1 or more, or '*', not {size}", at)
    return size, at


def _parse_value(scanner: Scanner) -> int | float:
    """A padding value: an int if it is written as one, else a float."""
    at = scanner.here()
    text = scanner.match(_VALUE) or scanner.fail("expected a padding value such as 0, -1.5, 1e+30, nan or -inf")
    if len(text) > MAX_NUMBER:
        scanner.fail(f"a padding value has at most {MAX_NUMBER} characters, not {len(text)}", at)
    if _NUMBER.fullmatch(text):
        return int(text)
    value = float(text)
    if math.isinf(value) and "inf" not in text:
        scanner.fail(f"padding value {text} is beyond the largest f64", at)
    return value


def _refuse_part_of_xla(scanner: Scanner) -> None:
    """Raise UnsupportedError if one of XLA's other parts comes next."""
    at = scanner.here()
    for letters, what in _REFUSED.items():
        if scanner.accept(letters) and scanner.comes("("):
            raise UnsupportedError(
                f"{what} are not supported: {cut(scanner.text[at:])} at character {at + 1} of {cut(scanner.text)}"
            )
        scanner.position = at


def _parse_view(scanner: Scanner, parts: DescParts) -> DescParts:
    """Read what follows ``at``, up to the closing brace."""
    rank = len(parts.sizes)
    scanner.expect("=", "after 'at'")
    if rank > MAX_AXES:
        scanner.fail(f"a view has at most {MAX_AXES} axes, a letter each, not {rank}")
    coordinates = scanner.enclosed("()", lambda: _parse_coordinate(scanner, rank), "a coordinate", "the coordinates")
    scanner.expect(",", "after the coordinates")
    scanner.expect("in", "after the coordinates")
    scanner.expect("=", "after 'in'")
    at = scanner.here()
    inner = _parse_array(scanner, parts.dtype, is_inner=True)
    if len(inner.sizes) != len(coordinates):
        scanner.fail(f"at needs one coordinate per axis of in: got {len(coordinates)} for {len(inner.sizes)} axes", at)
    starts = tuple(start for start, _ in coordinates)
    steps = tuple(tuple(factors.get(axis, 0) for _, factors in coordinates) for axis in range(rank))
    return parts._replace(inner=inner, starts=starts, steps=steps)


def _parse_coordinate(scanner: Scanner, rank: int) -> tuple[int, dict[int, int]]:
    """The constant, and for each axis of the view the factor of its index.

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


def format_parts(parts: DescParts) -> str:
    """The text of ``parts``: ``f32[2,3]{0,1}``, ``f32[2,3]{strides=(1,2),offset=4}``, ``f32[]``."""
    return parts.dtype + _array_text(parts)


def _array_text(parts: DescParts) -> str:
    """The text of everything except the element type."""
    sizes = f"[{_listed(parts.sizes)}]"
    if parts.tag is not None:
        return f"{sizes}:{parts.tag}"
    if parts.strides is not None:
        offset = f",offset={parts.offset}" if parts.offset else ""
        storage = _numbered_text(parts)
        return f"{sizes}{{strides=({_listed(parts.strides)}){offset}{':' if storage else ''}{storage}}}"
    if parts.inner is not None:
        factors = zip(*parts.steps, strict=True) if parts.steps else [()] * len(parts.starts)
        coordinates = map(_coordinate_text, parts.starts, factors)
        return f"{sizes}{{at=({','.join(coordinates)}),in={_array_text(parts.inner)}}}"
    order = parts.minor_to_major
    if order is None:
        order = tuple(range(len(parts.sizes)))[::-1]
    tiles = "".join(f"({_listed('*' if size == COMBINED else size for size in tile)})" for tile in parts.tiles)
    colon = f"T{tiles}" if tiles else ""
    if parts.padded_sizes is not None:
        colon += f"pad({_listed(parts.padded_sizes)})={_value_text(parts.padding_value)}"
    colon += _numbered_text(parts)
    layout = _listed(order) + (f":{colon}" if colon else "")
    return f"{sizes}{{{layout}}}" if layout or parts.sizes else sizes


def _numbered_text(parts: DescParts) -> str:
    """``L(100)E(4)S(1)``: the parts with one number, without those that have their defaults."""
    numbers = {letter: getattr(parts, name) for letter, (name, _) in _NUMBERED.items()}
    return "".join(f"{letter}({number})" for letter, number in numbers.items() if number != _NUMBERED[letter][1])


def shape_text(dtype: str, sizes: Iterable[int]) -> str:
    """``f32[2,3]``: the text of a descriptor without its layout."""
    return f"{dtype}[{_listed(sizes)}]"


def _value_text(value: float) -> str:
    """Shortest text that reads back as ``value``: ``3`` for 3.0, but ``-0.0`` for -0.0, which is not an int."""
    text = repr(value)
    return text if text == "-0.0" else text.removesuffix(".0")


def _listed(items: Iterable[int | str]) -> str:
    return ",".join(map(str, items))


def _coordinate_text(start: int, factors: Iterable[int]) -> str:
    """The text of a coordinate, with a factor for each axis of the view: ``7-2b`` for 7 and (0, -2)."""
    text = str(start) if start else ""
    for letter, factor in zip(ascii_lowercase, factors, strict=False):
        if factor:
            sign = "-" if factor < 0 else "+" if text else ""
            text += f"{sign}{abs(factor) if abs(factor) > 1 else ''}{letter}"
    return text or "0"


class Scanner:
    """A position in a text that moves forward token by token; its errors point at a character.

    The rest of ``text`` starts at ``position``; blanks before a token are skipped.

    Raises:
        DescriptorError: from ``fail``, and from every method that finds something else than it needs.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def here(self) -> int:
        """The position where the next token begins, for a later message."""
        while self.position < len(self.text) and self.text[self.position] in " \t\r\n":
            self.position += 1
        return self.position

    def comes(self, characters: str) -> bool:
        """True if the next token begins with one of ``characters``; False at the end of the text."""
        next_one = self.text[self.here() : self.position + 1]
        return next_one != "" and next_one in characters

    def is_at_end(self) -> bool:
        """True if nothing is left but blanks."""
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
        """Step over what ``pattern`` matches next and return it; an empty text if it does not match."""
        match = pattern.match(self.text, self.here())
        if match is None:
            return ""
        self.position = match.end()
        return match.group()

    def name(self, meaning: str) -> str:
        """A run of letters, digits and underscores."""
        return self.match(_NAME) or self.fail(f"expected {meaning}")

    def number(self, meaning: str) -> int:
        """A decimal integer, perhaps negative."""
        at = self.here()
        digits = self.match(_NUMBER) or self.fail(f"expected {meaning}")
        length = len(digits.removeprefix("-"))
        if length > MAX_NUMBER:
            self.fail(f"{meaning} of {length} digits is not below 2^512", at)
        return int(digits)

    def sequence(self, item: Callable[[], Item], ends: str, meaning: str) -> tuple[Item, ...]:
        """Items separated by commas up to one of the characters ``ends``, which stays; no item at all is fine.

        Args:
            item: reads one item.
            ends: the characters that may follow the last item.
            meaning: what an item is, for the message when something else follows.
        """
        items: list[Item] = []
        if self.comes(ends):
            return ()
        while True:
            items.append(item())
            if self.comes(ends):
                return tuple(items)
            if not self.accept(","):
                self.fail(f"expected ',' or {' or '.join(map(repr, ends))} after {meaning}")

    def enclosed(self, brackets: str, item: Callable[[], Item], meaning: str, plural: str) -> tuple[Item, ...]:
        """A ``sequence`` between an opening and a closing bracket; ``plural`` says what stands in them."""
        self.expect(brackets[0], f"before {plural}")
        items = self.sequence(item, brackets[1], meaning)
        self.expect(brackets[1], f"after {plural}")
        return items

    def numbers(self, brackets: str, meaning: str, plural: str) -> tuple[int, ...]:
        """Integers between brackets."""
        return self.enclosed(brackets, lambda: self.number(meaning), meaning, plural)

    def fail(self, rule: str, at: int | None = None, hint: str = "") -> NoReturn:
        """Raise a DescriptorError: the rule, the position ``at`` (None: here), the text there, the text, and a hint."""
        position = self.here() if at is None else at
        here = f"found {cut(self.text[position:])}" if position < len(self.text) else "the text ends"
        raise DescriptorError(f"{rule} at character {position + 1} of {cut(self.text)}: {here}{hint}")


def cut(text: str) -> str:
    """A quoted text, short enough for a message."""
    return repr(text if len(text) <= 80 else text[:77] + "...")
