"""Sampling: which elements each output index of a resampled axis reads, and with which weights. Pure and exact."""

from __future__ import annotations

from restride.weights.boxes import BoxRows, RuledSide, Side, ones, rows_of, ruled_rows_of
from restride.weights.coordinates import COORDINATES
from restride.weights.filters import NEAREST_RULES
from restride.weights.request import (
    POLICIES,
    Choice,
    Resizing,
    outside_value,
    resized_axes,
    resizing,
    sampling_of,
    word_elsewhere,
)
from restride.weights.rows import (
    MODES,
    MOST_TAPS,
    Parts,
    Rows,
    Rule,
    Ruled,
    RuledRows,
    Rules,
    Ruling,
    Sampling,
    Shifts,
    Sums,
    at_edges,
    normalized,
    on_axis,
    steps,
)

__all__ = [
    "COORDINATES",
    "MODES",
    "MOST_TAPS",
    "NEAREST_RULES",
    "POLICIES",
    "BoxRows",
    "Choice",
    "Parts",
    "Resizing",
    "Rows",
    "Rule",
    "Ruled",
    "RuledRows",
    "RuledSide",
    "Rules",
    "Ruling",
    "Sampling",
    "Shifts",
    "Side",
    "Sums",
    "at_edges",
    "normalized",
    "on_axis",
    "ones",
    "outside_value",
    "resized_axes",
    "resizing",
    "rows_of",
    "ruled_rows_of",
    "sampling_of",
    "steps",
    "word_elsewhere",
]
