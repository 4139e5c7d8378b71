"""Tables: what a run of output indices of one axis reads, as the words of the storage buffer that a shader reads.

Worked example, linear, half_pixel, 2 -> 3, source stride 4: three rows of two weights, an offset and a word of padding,
(1, 0, 0, -), (1/2, 1/2, 0, -), (0, 1, 0, -). The second tap of a row is one stride past the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.weights import Parts, Rows, Ruled, Sampling

ROW_WORDS = 4
"""The storage buffer is read in rows of 128 bits; every part of it, and every row of weights, starts at one."""


@dataclass(frozen=True)
class Table:
    """What ``count`` output indices of an axis read, from output index ``start`` on, or downwards if ``descending``.

    A value, not an array: rows are computed for the part that a dispatch is given.

    origin: the source index that is index 0 of what is bound.
    extent: how many there are. fours, aligned: rows read so many whole fours of them; see ``in_fours``.
    """

    rows: Rows
    start: int
    count: int
    origin: int = 0
    descending: bool = False
    extent: int = 0
    fours: int = 0
    aligned: bool = False

    def __hash__(self) -> int:
        """Of what mostly tells them apart."""
        return hash((self.rows, self.start, self.count))

    @property
    def taps(self) -> int:
        """Source indices that a row reads."""
        return 4 * self.fours or self.rows.taps

    @property
    def is_index(self) -> bool:
        """True when a row takes one element as it is: it has no weights."""
        return isinstance(self.rows, (Sampling, Ruled)) and self.rows.moves

    @property
    def nbytes(self) -> int:
        """Bytes of ``words``, at most: rows may come to be whole fours."""
        return 4 * self.count * (1 if self.is_index else _row_words((self.rows.taps + 6) // 4 * 4))

    def reversed(self) -> Table:
        """The table for a destination that is walked from its other end."""
        end = self.start - (self.count - 1) if self.descending else self.start + self.count - 1
        return replace(self, start=end, descending=not self.descending)

    def part(self, start: int, count: int) -> Table:
        """Rows ``start`` to ``start + count``."""
        return replace(self, start=self.start + (-start if self.descending else start), count=count)

    def in_fours(self, aligned: bool) -> Table:
        """The table whose rows have whole fours of taps, which begin at a multiple of four if ``aligned``.

        ``extent`` is a multiple of four then. Taps 6, 7, 8 of 12 become 4 to 7 and 8 to 11, with weights 0, 0, w, w, w,
        0, 0, 0, or 6 to 9 with w, w, w, 0: a tap without weight adds nothing. As few fours as the widest row needs.
        """
        index = self._index()
        has_weight = self.rows.weights(index) != 0
        needed = self.rows.taps - np.argmax(has_weight[:, ::-1], axis=1)
        if aligned:
            needed += (self.rows.first(index) - self.origin) % 4
        return replace(self, fours=-(-int(needed.max()) // 4), aligned=aligned)

    @cached_property
    def reads(self) -> tuple[int, int]:
        """The lowest and the highest source index that any row reads, counted from ``origin``."""
        # Rows read ever higher, or ever lower, but for parts of rows.
        last = self.start + (1 - self.count if self.descending else self.count - 1)
        index = self._index() if isinstance(self.rows, Parts) else np.array([self.start, last], np.int64)
        first = self._first(index).tolist()
        return min(first), max(first) + self.taps - 1

    def first(self) -> npt.NDArray[np.int64]:
        """The source index of the first tap of each row, counted from ``origin``."""
        return self._first(self._index())

    def words(self, stride: int) -> npt.NDArray[np.uint32]:
        """A row an output index: the weights of its taps, f32 or s32, and the source offset of the first, modulo 2^32.

        Rows of an index table are the offset alone.
        """
        index = self._index()
        first = self._first(index)
        # 64 bits may wrap here: a product modulo 2^64 is still right modulo 2^32, which is what the cast keeps.
        offsets = (first * (stride % (1 << 32))).astype(np.uint32)
        if self.is_index:
            return offsets[:, np.newaxis]
        rows = np.zeros((self.count, _row_words(self.taps)), np.uint32)
        weights = self.rows.weights(index)
        if self.fours:
            # Rows of fours begin earlier, and what does not fit behind has no weight.
            early = self.rows.first(index) - self.origin - first
            weights = _moved(weights, early)
        kept = min(self.taps, weights.shape[1])
        rows[:, :kept] = weights[:, :kept].view(np.uint32)
        rows[:, self.taps] = offsets
        return rows

    def _first(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        first = self.rows.first(index) - self.origin
        if not self.fours:
            return first
        return np.minimum(first - first % 4 if self.aligned else first, self.extent - self.taps)

    def _index(self) -> npt.NDArray[np.int64]:
        step = -1 if self.descending else 1
        return np.arange(self.start, self.start + step * self.count, step, dtype=np.int64)


def _moved(rows: npt.NDArray[Any], places: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Each row with so many zeros before it, and as many behind as the others need."""
    count, taps = rows.shape
    wide = np.zeros((count, taps + int(places.max())), rows.dtype)
    wide[np.arange(count)[:, np.newaxis], places[:, np.newaxis] + np.arange(taps)] = rows
    return wide


def _row_words(taps: int) -> int:
    """The words of a row: its weights and its offset, in whole rows of the storage buffer."""
    return (taps // ROW_WORDS + 1) * ROW_WORDS
