"""Judge: an installed library that resizes, and each way of doing so that a profile is held against."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

Resize = Callable[[Array, tuple[int, int]], Array]
"""Pixels of sizes [rows, columns] or [rows, columns, channels], resized to (rows, columns) by the library."""


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
    channels: tuple[int, ...] = (1, 3, 4)
    result: str | None = None
    largest: int = 320
    against: str = ""
    takes: Callable[[tuple[int, ...], tuple[int, ...]], bool] = lambda _before, _after: True

    @property
    def type(self) -> str:
        """As the table has it."""
        return f"{self.dtype}, against {self.against}" if self.against else self.dtype


@dataclass(frozen=True)
class Judge:
    """A library: ``like`` as ``rs.resample`` takes it, the name that pip has for it, the version that is installed."""

    like: str
    package: str
    version: str
    ways: tuple[Way, ...] = field(repr=False)


def as_pixels(array: Any) -> Array:
    """An array in C order, of the library's result."""
    return np.ascontiguousarray(array)
