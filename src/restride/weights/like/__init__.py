"""Profiles: what a library that is named makes of its modes, as choices of a resampling and rules for its rows."""

from __future__ import annotations

from restride.weights.like import pillow
from restride.weights.like.libraries import IMAGES_ONLY, LIBRARIES, chosen, word_of_mode

__all__ = ["IMAGES_ONLY", "LIBRARIES", "chosen", "pillow", "word_of_mode"]
