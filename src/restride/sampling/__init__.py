"""Sampling: which elements each output index of a resampled axis reads, and with which weights. Pure and exact."""

from __future__ import annotations

from restride.sampling.band import MODES, NEAREST_RULES, Sampling
from restride.sampling.chunks import MOST_TAPS, Parts, Rows, Sums, steps
from restride.sampling.coordinates import COORDINATES
from restride.sampling.factors import real
from restride.sampling.resizing import POLICIES, Choice, Resizing, resized_axes, resizing

__all__ = [
    "COORDINATES",
    "MODES",
    "MOST_TAPS",
    "NEAREST_RULES",
    "POLICIES",
    "Choice",
    "Parts",
    "Resizing",
    "Rows",
    "Sampling",
    "Sums",
    "real",
    "resized_axes",
    "resizing",
    "steps",
]
