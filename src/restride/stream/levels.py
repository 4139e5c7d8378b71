"""Levels of a pyramid, counted from level 0, the image itself: their sizes, and the rules by which they shrink."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, SupportsIndex

from restride.arguments import fraction, integer, reals
from restride.dtypes import DType
from restride.errors import DescriptorError
from restride.ops.resample import split_arguments
from restride.request import read_words
from restride.weights.resizing import scaled_sizes


def level_sizes(sizes: Sequence[int], factors: Sequence[float], levels: SupportsIndex) -> tuple[tuple[int, ...], ...]:
    """Sizes of ``levels`` levels, the first of which has ``sizes``; size 45 and factor 1/2 give 45, 22, 11.

    Args:
        sizes: sizes of level 0.
        factors: for each axis, the size of a level relative to that of the level before.
        levels: number of levels.

    Raises:
        DescriptorError: ``levels`` is below 1, or a level has no elements.
    """
    count = integer("levels", levels)
    if count < 1:
        raise DescriptorError(f"levels must be 1 or more, got {count}")
    each, exact = [tuple(sizes)], reals("factors", factors)
    for level in range(count):
        if 0 in each[level]:
            raise DescriptorError(f"level {level} has no elements: levels must be at most {level}")
        each.append(scaled_sizes(each[level], exact))
    return tuple(each[:-1])


def level_factor(argument: str, value: float, *, may_keep: bool = False) -> float:
    """Check the size of a level relative to the one before; ``may_keep``: it may be 1.

    Raises:
        DescriptorError: it is no number above 0 and below 1.
    """
    number = fraction(argument, value)
    if not 0 < number < 1 and not (may_keep and number == 1):
        raise DescriptorError(f"{argument} must be above 0 and {'at most' if may_keep else 'below'} 1, got {value}")
    return value


def level_rules(rules: Mapping[str, object]) -> dict[str, Any]:
    """Arguments of ``rs.resample`` for a level: mode "area_weighted", unless ``rules`` have a mode or a library."""
    chosen = {name: value for name, value in rules.items() if value is not None}
    return chosen if chosen.keys() & {"mode", "like"} else {"mode": "area_weighted", **chosen}


def drifts(rules: Mapping[str, object], dtype: DType) -> bool:
    """True if levels by these rules must be computed from level 0, as those of mode "nearest" must.

    An element taken by "nearest" is up to half an element away from the exact position, in units of its own level. From
    level to level the errors add up: element 0 of level 4 would be element 15 of level 0, instead of 7 or 8.
    """
    request, _, _ = split_arguments(rules)
    mode: str = read_words(request, dtype.name)[0].mode
    return mode == "nearest"
