"""Weights: the source elements that each output index of a resampled axis reads, and their weights. Pure."""

from __future__ import annotations

from restride.weights.boxes import Boxes, BoxRows, Crops, Sums, moved_rows
from restride.weights.coordinates import COORDINATES
from restride.weights.filters import AREA_MODES, MODES, NEAREST_RULES, Filter, filter_of
from restride.weights.request import (
    DEFAULTS,
    POLICIES,
    Request,
    Resizing,
    keeping_aspect,
    resized_axes,
    resizing,
    word_elsewhere,
    word_of_mode,
)
from restride.weights.rows import MAX_TAPS, LibraryRows, Rows, Shifts, in_quads, indexed_rows, with_edges

__all__ = [
    "AREA_MODES",
    "COORDINATES",
    "DEFAULTS",
    "MAX_TAPS",
    "MODES",
    "NEAREST_RULES",
    "POLICIES",
    "BoxRows",
    "Boxes",
    "Crops",
    "Filter",
    "LibraryRows",
    "Request",
    "Resizing",
    "Rows",
    "Shifts",
    "Sums",
    "filter_of",
    "in_quads",
    "indexed_rows",
    "keeping_aspect",
    "moved_rows",
    "resized_axes",
    "resizing",
    "with_edges",
    "word_elsewhere",
    "word_of_mode",
]
