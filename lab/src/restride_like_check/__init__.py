"""Measure how close ``rs.resample(..., like=...)`` is to the libraries themselves, by running them side by side."""

from __future__ import annotations

from restride_like_check.comparison import Row, compare, is_measured, measured, stated, steps_of
from restride_like_check.judges import JUDGES, judges_of

__all__ = ["JUDGES", "Row", "compare", "is_measured", "judges_of", "measured", "stated", "steps_of"]
