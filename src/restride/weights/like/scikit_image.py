"""scikit-image's resize: a Gaussian against aliasing, then two neighbours, as one row of weights for each output."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from restride.request.libraries import LibraryRequest
from restride.weights.rows import LibraryRows, Taps, folded_at_edges, library_rows

_MAX = 4.0
"""A Gaussian is cut off at this many standard deviations."""


def rules(request: LibraryRequest) -> LibraryRows:
    """The rows of all axes, of order 0 for "nearest", else of order 1."""
    rule, more = (nearest, ()) if request.mode == "nearest" else (bilinear, (request.antialias,))
    axes = zip(request.old, request.new, strict=True)
    return LibraryRows(tuple(library_rows(rule, old, new, *more) for old, new in axes))


def nearest(source_size: int, size: int) -> Taps:
    """Rows of order 0: half-pixel nearest, halves up, at positions rounded to f64.

    Worked example, 14 -> 12: output 4 reads at 4.75, so element 5; a position of exactly a half may round below it.
    """
    place = (np.arange(size) + 0.5) * (source_size / size) - 0.5
    return Taps(np.clip(np.floor(place + 0.5).astype(np.int64), 0, source_size - 1))


def bilinear(source_size: int, size: int, antialias: bool) -> Taps:
    """Rows of order 1: two neighbours, each the Gaussian's sum of those around it; the axis is mirrored at its ends.

    Worked example, 4 -> 2 without ``antialias``: output 0 reads at 1/2, elements 0 and 1 with weights 1/2.
    """
    place = (np.arange(size) + 0.5) * (source_size / size) - 0.5
    at = np.floor(place).astype(np.int64)
    part = place - at
    sigma = max((source_size / size - 1.0) / 2.0, 0.0) if antialias else 0.0
    around = int(_MAX * sigma + 0.5)
    distance = np.arange(-around, around + 1)
    gaussian = np.exp(-0.5 * (distance / sigma) ** 2) if sigma else np.ones(1)
    gaussian /= gaussian.sum()
    near = np.concatenate([gaussian, [0.0]]), np.concatenate([[0.0], gaussian])
    weights = (1.0 - part)[:, np.newaxis] * near[0] + part[:, np.newaxis] * near[1]
    index = at[:, np.newaxis] + np.arange(-around, around + 2)
    first, weights = folded_at_edges(_mirrored(index, source_size), weights, source_size)
    return Taps(first, weights.astype(np.float32))


def _mirrored(index: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """Indices beyond an end are mirrored, without repeating the end itself: -1 is 1."""
    period = max(2 * size - 2, 1)
    folded = index % period
    return np.where(folded < size, folded, period - folded)
