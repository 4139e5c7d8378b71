"""Judge: an installed library that resizes, and each way of doing so that a profile is held against."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.dtypes import DTypeName
from restride.weights.like.libraries import Library

Array = npt.NDArray[Any]

Resize = Callable[[Array, tuple[int, int]], Array]
"""Pixels of sizes [rows, columns] or [rows, columns, channels], resized to (rows, columns) by the library."""


def any_sizes(_before: tuple[int, ...], _after: tuple[int, ...]) -> bool:
    """A library that is right for all of them."""
    return True


@dataclass(frozen=True)
class Way:
    """One row of the table, but for its direction.

    mode: its words in the table. dtype: of the pixels. arguments: of ``rs.resample``, beside ``like``. resize: the
    library's own. channels: 1 stands for arrays of two axes. result: element type of the result; default: of the
    pixels. largest: no axis of its images is longer, where the library takes its time. against: what the library
    computed in, where that is not the type of the pixels. takes: whether it is to be asked, by the sizes before and
    after.
    """

    mode: str
    dtype: str
    arguments: Mapping[str, Any]
    resize: Resize
    channels: tuple[int, ...] = (1, 2, 3, 4)
    result: DTypeName | None = None
    largest: int = 600
    against: str = ""
    takes: Callable[[tuple[int, ...], tuple[int, ...]], bool] = any_sizes

    @property
    def type(self) -> str:
        """As the table has it."""
        return f"{self.dtype}, against {self.against}" if self.against else self.dtype

    def key(self, like: str) -> str:
        """What its images follow from: "pillow bicubic u8"."""
        return f"{like} {self.mode} {self.type}"


@dataclass(frozen=True)
class Judge:
    """A library: ``like`` as ``rs.resample`` takes it, the name that pip has for it, the version that is installed."""

    like: Library
    package: str
    version: str
    ways: tuple[Way, ...] = field(repr=False)

    def of_rows(self, text: str) -> Judge:
        """Those of its ways that have ``text`` in their mode and type: "cubic u8"."""
        return replace(self, ways=tuple(way for way in self.ways if text in f"{way.mode} {way.type}"))


def as_pixels(array: Any) -> Array:
    """An array in C order, of the library's result."""
    return np.ascontiguousarray(array)
