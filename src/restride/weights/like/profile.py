"""Profile: a library's modes in our words, and the rules for its rows of weights if its arithmetic differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from restride.errors import DescriptorError
from restride.weights.rows import LibraryRows


class LibraryRequest(NamedTuple):
    """A request to a library: the values on which its choice of arithmetic depends.

    mode: the library's word. dtype: name of the element type. source_sizes: of all axes. axes: those that are resized,
    with ``old`` sizes before and ``new`` ones after. scales: the scales that coordinates follow; None: they follow the
    sizes. Sizes, axes and scales are empty as long as the source is not known.
    """

    like: str
    profile: Profile
    mode: str
    antialias: bool
    align_corners: bool
    dtype: str
    source_sizes: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()
    old: tuple[int, ...] = ()
    new: tuple[int, ...] = ()
    scales: tuple[float | None, ...] = ()

    @property
    def keeps_type(self) -> bool:
        """True if results are rounded to the source's type before they are converted to another."""
        return self.dtype in self.profile.keeps

    @property
    def clips(self) -> bool:
        """True if sums are clipped to the range of the source."""
        return self.profile.clips

    def rows(self) -> LibraryRows | None:
        """The rows of each axis; None: the library's mode gives the same rows as the modes of ``rs.resample``."""
        if self.profile.is_flat and len(self.axes) != 2:
            raise DescriptorError(f"like {self.like!r} resizes two axes, not {len(self.axes)}")
        if 0 in (*self.old, *self.new):
            return None
        return self.profile.rules(self)

    @property
    def channels(self) -> int:
        """Number of elements in all axes after the last resized one."""
        count = 1
        for size in self.source_sizes[max(self.axes) + 1 :]:
            count *= size
        return count


@dataclass(frozen=True)
class Mode:
    """A mode of a library.

    choice: the arguments of ``rs.resample`` that mean the same. antialiased: the arguments that change with
    ``antialias``;
        None: the library's mode has no antialiasing.
    free: other arguments of the library that a caller may set.
    """

    choice: Mapping[str, Any]
    antialiased: Mapping[str, Any] | None
    free: tuple[str, ...]


@dataclass(frozen=True)
class Profile:
    """A library: the version that was measured, its default mode, and its modes by its own words.

    numbered_modes: the modes whose constants are 0, 1, 2 and so on. is_flat: it resizes exactly two axes.
    rules: computes the library's own rows for axes that have elements; None: the rows of our own words.
    follows_sizes: for each axis, whether its coordinates follow the sizes even if a scale is given.
    rounds_sizes: sizes that follow from scales are rounded to nearest even, instead of down.
    keeps: element types whose results are rounded to the same type before any conversion.
    clips: sums are clipped to the range of the whole source.
    coordinates: the rules that the library supports, if not all.
    """

    library: str
    default: str
    modes: Mapping[str, Mode]
    numbered_modes: tuple[str, ...] = ()
    rules: Callable[[LibraryRequest], LibraryRows | None] = lambda _request: None
    follows_sizes: Callable[[LibraryRequest], tuple[bool, ...]] = lambda request: (False,) * len(request.axes)
    is_flat: bool = False
    rounds_sizes: bool = False
    keeps: tuple[str, ...] = ()
    clips: bool = False
    coordinates: tuple[str, ...] = ()


def mode_of(*free: str, antialiased: dict[str, Any] | None = None, **choice: str | float | None) -> Mode:
    """A ``Mode`` in one line."""
    return Mode(choice, antialiased, free)
