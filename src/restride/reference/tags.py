"""oneDNN's format tags, read by a regular expression: ``nChw16c`` has the order 0,1,2,3 and one block, 16 of axis 1."""

from __future__ import annotations

import re

from restride.errors import DescriptorError

_WORDS = {"abcdefghijkl": "a", "x": "x", "ncdhw": "nc", "goidhw": "oi", "tnc": "tn", "ldnc": "ldnc", "ldigo": "ldo"}
"""Letters in logical order, and those that every tag of the word has: whoever writes ``ohwi`` means axes o, i, h, w."""

_MISSPELT = {
    "OhwI24o": "Ohwi24o",
    "gOhwI24o": "gOhwi24o",
    "OhwI32o": "Ohwi32o",
    "gOhwI32o": "gOhwi32o",
    "gIOhw2i8o16i2o": "gOIhw2i8o16i2o",
    "gIOdhw2i8o16i2o": "gOIdhw2i8o16i2o",
}
"""Names in dnnl_types.h that have the value of another name."""


def read_tag(tag: str) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """The axes of a tag's outer dimensions, slowest first, and its blocks (axis, size), the outermost first.

    ``OIhw8i16o2i`` is ``(0, 1, 2, 3)`` and ``((1, 8), (0, 16), (1, 2))``; ``acb`` is ``(0, 2, 1)`` and no blocks.

    Raises:
        DescriptorError: not a tag, letters of no known order, or the capital letters are not those with blocks.

    Source: oneDNN, ``dnnl_format_tag_t``.
    """
    match = re.fullmatch(r"([A-Za-z]+)((?:[1-9][0-9]*[a-z])*)", _MISSPELT.get(tag, tag))
    if match is None:
        raise DescriptorError(f"tag {tag!r} must be letters, then blocks such as '16c'")
    outer, blocks = match[1].lower(), re.findall(r"([0-9]+)([a-z])", match[2])
    logical = next((word for word, needed in _WORDS.items() if set(needed) <= set(outer) <= set(word)), "")
    letters = [letter for letter in logical if letter in outer]
    if len(letters) != len(outer) or ("a" in letters and not logical.startswith("".join(letters))):
        raise DescriptorError(f"tag {tag!r} must name the axes of one tensor, each once, such as 'nchw' or 'acdb'")
    if {letter.lower() for letter in match[1] if letter.isupper()} != {letter for _, letter in blocks}:
        raise DescriptorError(f"tag {tag!r} must have a capital letter for each axis with blocks and for no other")
    return (
        tuple(letters.index(letter) for letter in outer),
        tuple((letters.index(letter), int(size)) for size, letter in blocks),
    )
