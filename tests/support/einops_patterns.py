"""Patterns of einops with the sizes that they take."""

from __future__ import annotations

import numpy as np

IMAGES = np.arange(2 * 4 * 6 * 3, dtype=np.int16).reshape(2, 4, 6, 3)


PERMUTATIONS = [
    "b h w c -> b c h w",
    "b h w c -> c w h b",
    "... c -> c ...",
    "b ... -> ... b",
    "b h w c -> b 1 h w c 1",
    "... -> ...",
    "b h w c -> (b h) w c",
    "b h w c -> b h (w c)",
    "b h w c -> (b h w c)",
    "b (h p) (w q) c -> b h w p q c",
    "b ... c -> c (b ...)",
    "b ... -> b (...)",
]
COPIES = [
    "b h w c -> (b w) h c",
    "b (h p) (w q) c -> (b h w) (p q c)",
    "b (h p) (w q) c -> b h w (p q c)",
    "b h w (c d) -> b (h d) w c",
    "(b e) h w c -> (h e) w b c",
    "b (p h) w c -> b (h p) w c",
    "b h w c -> (c w h b)",
    "... c -> (c ...)",
    "b (h p) w c -> (p b) h 1 w c",
]
LENGTHS = {"p": 2, "q": 3, "d": 3, "e": 2}


def lengths_of(pattern):
    return {name: length for name, length in LENGTHS.items() if name in pattern.split("->")[0]}
