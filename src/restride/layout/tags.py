"""oneDNN's format tags: ``nChw16c`` as the order of the axes in memory and the blocks inside.

    tag   = letter { letter } { size letter }        the outer axes, slowest first, then the blocks, outermost first

An outer letter is upper-case if its axis is blocked, and lower-case otherwise; a block's letter is lower-case. Letters
stand for logical axes by one of several words: ``abcdefghijkl`` names them by position; the others are oneDNN's, for
convolutions and recurrent networks. A tag uses letters of one word, including all that the word requires, numbered in
the order of the word: ``nhwc`` is axes 0, 2, 3, 1, by ``ncdhw``; ``hwigo`` is 3, 4, 2, 0, 1, by ``goidhw``.

Worked example, ``nChw16c`` of sizes 2,20,4,4: order 0,1,2,3 and one block of 16 on axis 1, so memory is
[2][2][4][4][16], channel 19 being number 3 of the second block; channels 20 to 31 are padding.

Source: oneDNN, "Understanding memory formats"; dnnl_types.h, dnnl_format_tag_t; the words are those of benchdnn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from restride.arguments import MAX_RANK
from restride.errors import DescriptorError
from restride.layout.text import DIGITS, cut

_VOLUME = 1 << 62
"""The blocks of a tag hold fewer elements than this."""

_BY_POSITION = "abcdefghijkl"

_WORDS = {
    _BY_POSITION: "a",
    "x": "x",
    "ncdhw": "nc",
    "oidhw": "oi",
    "goidhw": "goi",
    "tnc": "tn",
    "ldnc": "ldnc",
    "ldigo": "ldo",
}
"""Words, each in logical order, and the letters that each requires. No set of letters fits two words."""

_LETTERS = frozenset("".join(_WORDS) + "".join(_WORDS).upper())

_OWN_SPELLING = {
    "OhwI24o": "Ohwi24o",
    "gOhwI24o": "gOhwi24o",
    "OhwI32o": "Ohwi32o",
    "gOhwI32o": "gOhwi32o",
    "gIOhw2i8o16i2o": "gOIhw2i8o16i2o",
    "gIOdhw2i8o16i2o": "gOIdhw2i8o16i2o",
}
"""Names that dnnl_types.h defines as aliases, and the tags that the library uses for them."""

_BLOCK = re.compile("([0-9]+)(.?)", re.DOTALL)


@dataclass(frozen=True)
class FormatTag:
    """A parsed tag.

    Args:
        text: the tag as it was written.
        order: the logical axes of the outer part, slowest first.
        blocks: (axis, size) of each inner block, from the outermost to the innermost. The innermost block of an axis
            takes the lowest digits of its index. An axis is padded to a multiple of the product of its blocks.
    """

    text: str
    order: tuple[int, ...]
    blocks: tuple[tuple[int, int], ...]

    @property
    def rank(self) -> int:
        """Number of logical axes, 1 to 8."""
        return len(self.order)

    @property
    def minor_to_major(self) -> tuple[int, ...] | None:
        """The axes from the fastest to the slowest; None with blocks."""
        return None if self.blocks else self.order[::-1]

    @property
    def letters(self) -> str:
        """The lower-case letter of each logical axis: ``nchw`` for nhwc."""
        places = {axis: place for place, axis in enumerate(self.order)}
        return "".join(self.text[places[axis]].lower() for axis in range(self.rank))


def parse_tag(text: str) -> FormatTag:
    """Read a tag: ``nChw16c`` is order (0, 1, 2, 3) and blocks ((1, 16),).

    Raises:
        DescriptorError: not a tag; the message points at the character.
    """
    if not isinstance(text, str):
        raise DescriptorError(f"a format tag must be a str, got {text!r} ({type(text).__name__})")
    if text == "any":
        _fail(text, 0, "'any' leaves the layout open, write a tag (a layout argument takes 'any' too),")
    if re.fullmatch("[A-Z]+", text):
        _fail(text, 0, f"an upper-case name is no tag, write {cut(text.lower())} (a layout argument takes 'NHWC' too),")
    return _parsed(text)


@lru_cache(maxsize=256)
def _parsed(text: str) -> FormatTag:
    tag = _OWN_SPELLING.get(text, text)
    outer = _outer_letters(tag)
    axes = _axes(tag, outer)
    blocks = _blocks(tag, outer, axes)
    return FormatTag(text, tuple(axes[letter] for letter in outer.lower()), blocks)


def _outer_letters(tag: str) -> str:
    """The letters before the first block, each of them known, and none twice."""
    outer = ""
    for at, letter in enumerate(tag):
        if letter in DIGITS:
            break
        if letter not in _LETTERS:
            _fail(tag, at, f"unknown letter {letter!r}")
        if letter.lower() in outer.lower():
            _fail(tag, at, f"letter {letter!r} names its axis a second time")
        outer += letter
    if not outer:
        _fail(tag, 0, "expected the letter of an axis")
    return outer


def _axes(tag: str, outer: str) -> dict[str, int]:
    """The axis that each letter stands for: its position among the word's letters that the tag uses."""
    words = list(_WORDS)
    for at, letter in enumerate(outer.lower()):
        words = [word for word in words if letter in word]
        if not words:
            _fail(tag, at, f"letter {outer[at]!r} does not go together with {outer[:at]!r}")
    lacking = {word: _missing(word, outer.lower()) for word in words}
    if all(lacking.values()):
        more = ", or ".join(f"{word} needs {' '.join(letters)} too" for word, letters in lacking.items())
        _fail(tag, len(outer), f"letters {outer!r} are incomplete, {more},")
    word = next(word for word in words if not lacking[word])
    if len(outer) > MAX_RANK:
        _fail(tag, MAX_RANK, f"a tag has at most {MAX_RANK} axes, not {len(outer)},")
    return {letter: axis for axis, letter in enumerate(letter for letter in word if letter in outer.lower())}


def _missing(word: str, letters: str) -> list[str]:
    """The letters that ``word`` requires and ``letters`` lacks; letters by position leave no gap below the last one."""
    required = word[: max(map(word.index, letters)) + 1] if word == _BY_POSITION else _WORDS[word]
    return [letter for letter in required if letter not in letters]


def _blocks(tag: str, outer: str, axes: dict[str, int]) -> tuple[tuple[int, int], ...]:
    """(axis, size) of each block, read from the text after the outer letters."""
    blocks: list[tuple[int, int]] = []
    at, volume = len(outer), 1
    while at < len(tag):
        block = _BLOCK.match(tag, at)
        if block is None:
            _fail(tag, at, f"expected the size of a block, found {tag[at]!r},")
        size, letter = block.groups()
        if size.startswith("0"):
            _fail(tag, at, f"block size {cut(size)} must be 1 or more, without leading zeros,")
        volume *= int(size[:20])
        if volume >= _VOLUME:
            _fail(tag, at, "the blocks of a tag must hold less than 2^62 elements, exceeded")
        if letter not in axes or letter.upper() not in outer:
            _fail(
                tag,
                block.start(2),
                "a block has the lower-case letter of an axis that is upper-case before it, as in 'nChw16c',",
            )
        blocks.append((axes[letter], int(size)))
        at = block.end()
    blocked = {axis for axis, _ in blocks}
    for at, letter in enumerate(outer):
        if letter.isupper() and axes[letter.lower()] not in blocked:
            way = "" if blocks else f" (without blocks: {tag.lower()!r})"
            _fail(tag, at, f"upper-case letter {letter!r} needs a block such as '16{letter.lower()}'{way}")
    return tuple(blocks)


def _fail(tag: str, at: int, rule: str) -> NoReturn:
    raise DescriptorError(f"{rule} at character {at + 1} of tag {cut(tag)}")


def format_tag(order: Sequence[int], blocks: Sequence[tuple[int, int]]) -> str:
    """The tag of an order and its blocks, with letters by position: (0, 1), ((1, 16),) is ``aB16b``."""
    blocked = {axis for axis, _ in blocks}
    outer = [_BY_POSITION[axis].upper() if axis in blocked else _BY_POSITION[axis] for axis in order]
    return "".join(outer) + "".join(f"{size}{_BY_POSITION[axis]}" for axis, size in blocks)
