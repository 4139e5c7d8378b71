"""Random rules of a resampling: a mode, where outputs read, how nearest rounds, and how filters are widened."""

from __future__ import annotations

from typing import Any

import numpy as np

from restride.request import AREA_MODES, COORDINATES, MODES, NEAREST_RULES


def random_rules(rng: np.random.Generator, axes: int) -> dict[str, Any]:
    """The arguments of a resampling along some axes but for its sizes."""
    mode = str(rng.choice(MODES))
    if mode in AREA_MODES:
        return {"mode": mode}
    rules = {"mode": mode, **_places(rng, axes)}
    if mode == "nearest":
        return rules | {"nearest": str(rng.choice(NEAREST_RULES))}
    return rules | {"antialias": bool(rng.integers(2)), "exclude_outside": bool(rng.integers(2))}


def _places(rng: np.random.Generator, axes: int) -> dict[str, Any]:
    """Where outputs read."""
    if rng.integers(6) == 0:
        return {"input_offsets": rng.uniform(-1, 1, axes).tolist(), "output_offsets": rng.uniform(-2, 1, axes).tolist()}
    rule = str(rng.choice(COORDINATES))
    if rule != "tf_crop_and_resize":
        return {"coordinates": rule}
    ends = np.stack([rng.uniform(-0.4, 0.6, axes), rng.uniform(0.4, 1.4, axes)])
    falling = rng.integers(4, size=axes) == 0
    ends[:, falling] = ends[::-1, falling]
    return {"coordinates": rule, "roi": ends.ravel().tolist()}
