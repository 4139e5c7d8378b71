"""Patterns such as ``b (h 2) w -> b h (w 2)``: how axes are split, and in which order the parts are joined.

The syntax is that of einops: names, parentheses around axes that form one axis, and ``...`` for all others. A number
is an axis of that size, which stands once on each side; only 1 may be missing on one side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod
from typing import NamedTuple

from restride.arguments import integer
from restride.errors import DescriptorError

_TOKEN = re.compile(r"\.\.\.|[()]|[^\W\d_](?:\w*[^\W_])?|\d+")
_ELLIPSIS = "..."

AxisGroups = tuple[tuple[str, ...] | None, ...]
"""For each axis of a tensor the names of its parts, the slowest first; None: the axes that ``...`` stands for."""


class Pattern(NamedTuple):
    """Both sides of a pattern; ``...`` stands for any number of axes."""

    text: str
    left: AxisGroups
    right: AxisGroups

    @classmethod
    def parse(cls, text: object) -> Pattern:
        """The pattern that ``text`` writes.

        Raises:
            DescriptorError: wrong syntax, or an axis that does not stand once on each side.
        """
        if not isinstance(text, str) or text.count("->") != 1:
            raise DescriptorError(f"pattern must be a text with one '->', such as 'h w c -> c h w', got {text!r}")
        left, right = (tuple(_axes(text, side)) for side in text.split("->"))
        names = [[name for axis in side for name in ((_ELLIPSIS,) if axis is None else axis)] for side in (left, right)]
        for side in names:
            twice = sorted({name for name in side if side.count(name) > 1})
            if twice:
                raise DescriptorError(f"pattern {text!r} has {', '.join(twice)} more than once on one side")
        for side, other, where in (
            (names[0], names[1], "before '->' only: an axis cannot vanish; index it, or reduce .numpy(), first"),
            (names[1], names[0], "behind '->' only; einops.repeat adds axes"),
        ):
            if alone := sorted({*side} - {*other}):
                raise DescriptorError(f"pattern {text!r} has {', '.join(alone)} {where}")
        if None not in left and _ELLIPSIS in names[0]:
            raise DescriptorError(f"pattern {text!r} has '...' in parentheses before '->'")
        return cls(text, left, right)

    def split(
        self, sizes: tuple[int, ...], lengths: Mapping[str, object]
    ) -> tuple[list[list[int]], list[list[tuple[int, int]]]]:
        """The arguments ``parts`` and ``groups`` of ``views.regrouped`` for a tensor of these sizes.

        lengths: sizes of axes by name; in each pair of parentheses one may be left out, and follows from the rest.

        Raises:
            DescriptorError: another number of axes, a size that does not divide, or one that is missing or unknown.
        """
        known = {name: _length(name, value) for name, value in lengths.items()}
        others = [name for axis in self.left for name in axis or ()]
        for name, length in known.items():
            if name not in others:
                raise DescriptorError(f"{name}={length} is the length of no axis of the pattern {self.text!r}")
        known |= {name: int(name) for name in others if name.isdecimal()}
        rest = len(sizes) - len(self.left) + (None in self.left)
        if rest < 0 or (rest > 0 and None not in self.left):
            raise DescriptorError(f"pattern {self.text!r} has {len(self.left)} axes, not the {len(sizes)} of {sizes}")
        between = tuple(f"...{place}" for place in range(rest))
        left: list[tuple[str, ...]] = []
        for axis_names in self.left:
            left += [(name,) for name in between] if axis_names is None else [axis_names]
        parts = [
            self._parts(axis, names, size, known) for axis, (names, size) in enumerate(zip(left, sizes, strict=True))
        ]
        places = {name: (axis, place) for axis, names in enumerate(left) for place, name in enumerate(names)}
        groups = []
        for axis_names in self.right:
            if axis_names is None:
                groups += [[places[name]] for name in between]
            else:
                spelled = [name for each in axis_names for name in (between if each == _ELLIPSIS else (each,))]
                groups.append([places[name] for name in spelled])
        return parts, groups

    def _parts(self, axis: int, names: tuple[str, ...], size: int, known: Mapping[str, int]) -> list[int]:
        """The sizes of the parts of one axis of the tensor."""
        unknown = [name for name in names if name not in known]
        if len(unknown) > 1:
            missing = ", ".join(unknown)
            raise DescriptorError(
                f"the lengths of {missing} do not follow from size {size} of axis {axis}: pattern {self.text!r} needs "
                "all but one"
            )
        rest = prod(known[name] for name in names if name in known)
        if not (size % rest == 0 if unknown and rest else size == rest):
            parts = ", ".join(f"{name}={known.get(name, '?')}" for name in names) or "1"
            raise DescriptorError(f"size {size} of axis {axis} is not made of {parts}, in the pattern {self.text!r}")
        return [known[name] if name in known else size // rest for name in names]


def _length(name: str, value: object) -> int:
    length = integer(name, value)
    if length < 1:
        raise DescriptorError(f"{name}={length} is the length of an axis, which must be 1 or more")
    return length


def _axes(text: str, side: str) -> Iterator[tuple[str, ...] | None]:
    """The axes of one side. 1 is an axis without names, which has one element."""
    group: list[str] | None = None
    at = 0
    for token in _TOKEN.finditer(side):
        if side[at : token.start()].strip():
            break
        at, word = token.end(), token.group()
        if word == "(" and group is None:
            group = []
        elif word == ")" and group is not None:
            yield tuple(group)
            group = None
        elif word in "()":
            raise DescriptorError(f"pattern {text!r} has a parenthesis {word!r} too many")
        else:
            names = () if word == "1" else (word,)
            if group is not None:
                group += names
            else:
                yield None if word == _ELLIPSIS else names
    rest = side[at:].strip()
    if rest:
        raise DescriptorError(
            f"pattern {text!r} has {rest.split()[0]!r}, which is no name of an axis, number, parenthesis or '...'"
        )
    if group is not None:
        raise DescriptorError(f"pattern {text!r} has a parenthesis that is not closed")
