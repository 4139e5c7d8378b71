"""Chunks: rows with more taps than an invocation should sum, as rows of parts and rows that sum them.

A row of 70,000 taps is 18 rows of 4096, the last one padded with weights of zero, and one row that adds their 18 sums.
Where a part begins depends on the row alone, so a window of the output sums as the whole does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.sampling.band import Sampling
from restride.sampling.ruled import Ruled, Shifts

MOST_TAPS = 4096
"""Taps of one row in a dispatch: llvmpipe ends loops without a word after 65,535 steps of an invocation."""


@dataclass(frozen=True)
class Parts:
    """Rows of ``MOST_TAPS`` taps, ``count`` of them for each row of ``whole``."""

    whole: Rows

    @property
    def count(self) -> int:
        """Parts of a row."""
        return -(-self.whole.taps // MOST_TAPS)

    @property
    def is_transposed(self) -> bool:
        """True when the rows are those of a gradient."""
        return self.whole.is_transposed

    @property
    def taps(self) -> int:
        """Indices that a row reads."""
        return MOST_TAPS

    @property
    def reads(self) -> int:
        """Indices of the side that is read."""
        return self.whole.reads

    @property
    def makes(self) -> int:
        """Rows of all."""
        return self.whole.makes * self.count

    def first(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The lowest index that each of these rows reads."""
        last = self.whole.first(index // self.count) + self.whole.taps - MOST_TAPS  # not beyond the row
        return np.minimum(self._begins(index), last)

    @property
    def shifts(self) -> Shifts | None:
        """What is left out of the products alone."""
        shifts = self.whole.shifts
        return None if shifts is None else Shifts(shifts.element, shifts.product)

    def weights(self, index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """The weights of these rows; a part that would end beyond its row begins earlier, with weights of zero."""
        row, part = np.divmod(index, self.count)
        early = self._begins(index) - self.first(index)
        weights = np.zeros((len(index), MOST_TAPS), self.whole.weights(row[:1]).dtype)
        for one in np.unique(row):
            (whole,) = self.whole.weights(np.array([one]))
            for place in np.flatnonzero(row == one):
                mine = whole[part[place] * MOST_TAPS : (part[place] + 1) * MOST_TAPS]
                weights[place, early[place] : early[place] + len(mine)] = mine
        return weights

    def _begins(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        begins: npt.NDArray[np.int64] = self.whole.first(index // self.count) + index % self.count * MOST_TAPS
        return begins


@dataclass(frozen=True)
class Sums:
    """Rows that add the parts of each row of ``parts``."""

    parts: Parts

    @property
    def is_transposed(self) -> bool:
        """True when the rows are those of a gradient."""
        return self.parts.is_transposed

    @property
    def taps(self) -> int:
        """Indices that a row reads."""
        return self.parts.count

    @property
    def reads(self) -> int:
        """Indices of the side that is read."""
        return self.parts.makes

    @property
    def makes(self) -> int:
        """Rows of all."""
        return self.parts.whole.makes

    def first(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The lowest index that each of these rows reads."""
        return index * self.parts.count

    @property
    def shifts(self) -> Shifts | None:
        """What is left out of the sum alone."""
        shifts = self.parts.whole.shifts
        return None if shifts is None else Shifts(total=shifts.total, bits=shifts.bits)

    def weights(self, index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """The weights of these rows: ones."""
        return np.ones((len(index), self.taps), np.float32 if self.shifts is None else np.int32)


Rows = Sampling | Ruled | Parts | Sums
"""What the rows of a table are made of."""


def steps(rows: Rows) -> tuple[Rows, ...]:
    """One step along an axis, or several where rows have too many taps for one."""
    if rows.taps <= MOST_TAPS:
        return (rows,)
    parts = Parts(rows)
    return (parts, *steps(Sums(parts)))
