"""Sampling: which elements each output index of a resampled axis reads, and with which weights. Pure and exact."""

from __future__ import annotations

from restride.sampling.band import MODES, Sampling
from restride.sampling.boxes import BoxRows, Side, ones, rows_of
from restride.sampling.choice import POLICIES, Choice, outside_value, word_elsewhere
from restride.sampling.chunks import MOST_TAPS, Parts, Rows, Sums, steps
from restride.sampling.coordinates import COORDINATES
from restride.sampling.filters import NEAREST_RULES
from restride.sampling.resizing import Resizing, resized_axes, resizing, sampling_of
from restride.sampling.ruled import Rule, Ruled, RuledRows, Rules, Ruling, Shifts, at_edges, normalized, on_axis
from restride.sampling.ruled_boxes import RuledSide, ruled_rows_of

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
