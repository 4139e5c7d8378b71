"""Like: the modes of other libraries, with a file of rules for each library whose arithmetic differs from ours."""

from __future__ import annotations

from restride.weights.like import pillow
from restride.weights.like.libraries import IMAGES_ONLY, LIBRARIES

__all__ = ["IMAGES_ONLY", "LIBRARIES", "pillow"]
