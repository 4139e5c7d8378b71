"""Profile: a library's modes, as the choices that each stands for, and rules for rows where its arithmetic differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from restride.weights.rows import LibraryRows


class Asked(NamedTuple):
    """What a library looks at before it chooses an arithmetic.

    mode: in the library's word. dtype: the element type's name. source_sizes: of all axes. axes, old, new: those that
    are resampled, before and after. scales: where coordinates follow what was given; else None.
    """

    mode: str
    antialias: bool
    align_corners: bool
    dtype: str
    source_sizes: tuple[int, ...]
    axes: tuple[int, ...]
    old: tuple[int, ...]
    new: tuple[int, ...]
    scales: tuple[float, ...] | None

    @property
    def channels(self) -> int:
        """Elements side by side, behind the last resampled axis."""
        count = 1
        for size in self.source_sizes[max(self.axes) + 1 :]:
            count *= size
        return count


Rules = Callable[[Asked], LibraryRows | None]
"""The library's own rows, of axes with elements; None: those of the choice."""


@dataclass(frozen=True)
class Mode:
    """A mode of a library.

    choice: the arguments of ``rs.resample`` that say the same. antialiased: what changes of it with ``antialias``;
    None: the mode has no such argument. free: other arguments that the library has too.
    """

    choice: Mapping[str, Any]
    antialiased: Mapping[str, Any] | None
    free: tuple[str, ...]


@dataclass(frozen=True)
class Profile:
    """A library as it was measured, its modes by its own words, and the mode that it has where none is asked for.

    constants: modes by the numbers that its constants are, from 0 on. is_flat: it resizes two axes, never more or
    fewer. rounds_sizes: to nearest even where scales are given. keeps: the element types of which results are rounded
    to the same type first, whatever they are to become. coordinates: those that it has, if not all.
    """

    library: str
    default: str
    modes: Mapping[str, Mode]
    constants: tuple[str, ...] = ()
    rules: Rules = lambda _asked: None
    is_flat: bool = False
    rounds_sizes: bool = False
    keeps: tuple[str, ...] = ()
    coordinates: tuple[str, ...] = ()


def mode_of(*free: str, antialiased: dict[str, Any] | None = None, **choice: Any) -> Mode:
    """A ``Mode`` in one line."""
    return Mode(choice, antialiased, free)
