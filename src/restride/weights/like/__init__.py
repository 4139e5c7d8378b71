"""Like: the rows of libraries whose arithmetic differs from ours, with a file of rules for each of them."""

from __future__ import annotations

from restride.weights.like import pillow
from restride.weights.like.libraries import follows_sizes, rows_like

__all__ = ["follows_sizes", "pillow", "rows_like"]
