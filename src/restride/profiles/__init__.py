"""Profiles: what a library that is named makes of its modes, as choices of a resampling and rules for its rows."""

from __future__ import annotations

from restride.profiles import pillow
from restride.profiles.choosing import chosen, word_of_mode
from restride.profiles.libraries import IMAGES_ONLY, LIBRARIES

__all__ = ["IMAGES_ONLY", "LIBRARIES", "chosen", "pillow", "word_of_mode"]
