"""Weights: the source elements that each output index of a resampled axis reads, and their weights. Pure."""

from __future__ import annotations

from restride.weights.boxes import Boxes, BoxRows, Crops, Sums, moved_rows
from restride.weights.filters import Filter, filter_of
from restride.weights.resizing import Resizing, keeping_aspect, resizing
from restride.weights.rows import MAX_TAPS, LibraryRows, Rows, Shifts, in_quads, indexed_rows, with_edges

__all__ = [
    "MAX_TAPS",
    "BoxRows",
    "Boxes",
    "Crops",
    "Filter",
    "LibraryRows",
    "Resizing",
    "Rows",
    "Shifts",
    "Sums",
    "filter_of",
    "in_quads",
    "indexed_rows",
    "keeping_aspect",
    "moved_rows",
    "resizing",
    "with_edges",
]
