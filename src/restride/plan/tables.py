"""Tables: the rows of an axis as the words of the storage buffer that a shader reads.

Worked example, linear, half_pixel, 2 -> 3, source stride 4: three rows of two weights, an offset and a word of padding,
(1, 0, 0, -), (1/2, 1/2, 0, -), (0, 1, 0, -). The second tap of a row is one stride past the first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from restride.weights import Rows
from restride.weights.rows import Index, Taps

ROW_WORDS = 4
"""The storage buffer is read in rows of 128 bits; every part of it, and every row of weights, starts at one."""


def table_bytes(rows: Rows) -> int:
    """Bytes of ``table_words``, at most: rows may come to be whole fours."""
    return 4 * rows.count * (1 if rows.moves else _row_words((rows.taps + 6) // 4 * 4))


def table_words(rows: Rows, stride: int) -> npt.NDArray[np.uint32]:
    """A row an output index: the weights of its taps, f32 or s32, and the source offset of the first, modulo 2^32.

    Rows that move elements are the offset alone.
    """
    first, weights = (rows.first(), None) if rows.moves else rows.first_and_weights()
    # 64 bits may wrap here: a product modulo 2^64 is still right modulo 2^32, which is what the cast keeps.
    offsets = (first * (stride % (1 << 32))).astype(np.uint32)
    if weights is None:
        return offsets[:, np.newaxis]
    words = np.zeros((rows.count, _row_words(rows.taps)), np.uint32)
    words[:, : rows.taps] = weights.view(np.uint32)
    words[:, rows.taps] = offsets
    return words


def in_fours(rows: Rows, aligned: bool) -> Rows:
    """The rows with whole fours of taps, as few as the widest needs, which begin at a multiple of four if ``aligned``.

    ``extent`` is a multiple of four then. Taps 6, 7, 8 of 12 become 4 to 7 and 8 to 11, with weights 0, 0, w, w, w, 0,
    0, 0, or 6 to 9 with w, w, w, 0: a tap without weight adds nothing.
    """
    first, weights = rows.first_and_weights()
    needed = rows.taps - np.argmax((weights != 0)[:, ::-1], axis=1)
    if aligned:
        needed += first % 4
    taps = -(-int(needed.max()) // 4) * 4
    return replace(
        rows, compute=_fours, arguments=(rows, taps, aligned), taps=taps, origin=0, at_once=False, is_identity=False
    )


def _fours(rows: Rows, taps: int, aligned: bool, index: Index, weighs: bool) -> Taps:
    first, weights, _ = rows.at(index, weighs=weighs)
    first = first - rows.origin
    early = first % 4 if aligned else np.zeros_like(first)
    begin = np.minimum(first - early, rows.extent - taps)
    if weights is None:
        return Taps(begin)
    # Rows of fours begin earlier, and what does not fit behind has no weight.
    early = first - begin
    wide = np.zeros((len(index), max(taps, rows.taps + int(early.max()))), weights.dtype)
    wide[np.arange(len(index))[:, np.newaxis], early[:, np.newaxis] + np.arange(rows.taps)] = weights
    return Taps(begin, wide[:, :taps])


def _row_words(taps: int) -> int:
    """The words of a row: its weights and its offset, in whole rows of the storage buffer."""
    return (taps // ROW_WORDS + 1) * ROW_WORDS
