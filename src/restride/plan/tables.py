"""Tables: what a run of output indices of one axis reads, as the words of the storage buffer that a shader reads.

Worked example, linear, half_pixel, 2 -> 3, source stride 4: three rows of an offset and two weights, (0, 1, 0),
(0, 1/2, 1/2), (0, 0, 1). The second tap of a row is one stride past the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.sampling import Parts, Rows, Sampling


@dataclass(frozen=True)
class Table:
    """What ``count`` output indices of an axis read, from output index ``start`` on, or downwards if ``descending``.

    A value, not an array: rows are computed for the part that a dispatch is given.

    origin: the source index that is index 0 of what is bound.
    """

    rows: Rows
    start: int
    count: int
    origin: int = 0
    descending: bool = False

    @property
    def taps(self) -> int:
        """Source indices that a row reads."""
        return self.rows.taps

    @property
    def is_index(self) -> bool:
        """True when a row takes one element as it is: it has no weights."""
        return isinstance(self.rows, Sampling) and self.rows.mode == "nearest" and not self.rows.is_transposed

    @property
    def nbytes(self) -> int:
        """Bytes of ``words``."""
        return 4 * self.count * (1 if self.is_index else 1 + self.taps)

    def reversed(self) -> Table:
        """The table for a destination that is walked from its other end."""
        end = self.start - (self.count - 1) if self.descending else self.start + self.count - 1
        return replace(self, start=end, descending=not self.descending)

    def part(self, start: int, count: int) -> Table:
        """Rows ``start`` to ``start + count``."""
        return replace(self, start=self.start + (-start if self.descending else start), count=count)

    def reads(self) -> tuple[int, int]:
        """The lowest and the highest source index that any row reads, counted from ``origin``."""
        # Rows read ever higher, or ever lower, but for parts of rows.
        last = self.start + (1 - self.count if self.descending else self.count - 1)
        index = self._index() if isinstance(self.rows, Parts) else np.array([self.start, last], np.int64)
        first = self.rows.first(index) - self.origin
        return int(first.min()), int(first.max()) + self.taps - 1

    def words(self, stride: int) -> npt.NDArray[np.uint32]:
        """A row an output index: the source offset of its first tap, modulo 2^32, and the f32 weights of all."""
        first = self.rows.first(self._index()) - self.origin
        # 64 bits may wrap here: a product modulo 2^64 is still right modulo 2^32.
        offsets = (first * (stride % (1 << 32)) % (1 << 32)).astype(np.uint32)[:, np.newaxis]
        return offsets if self.is_index else np.hstack([offsets, self.rows.weights(self._index()).view(np.uint32)])

    def _index(self) -> npt.NDArray[Any]:
        step = -1 if self.descending else 1
        return self.start + step * np.arange(self.count, dtype=np.int64)
