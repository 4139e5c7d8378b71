"""Check fresh images against the differences that docs/profiles.md states, for every installed library."""

from __future__ import annotations

from collections.abc import Iterator

from figures import Figure, run_part

import restride as rs
from restride_like_check import compare, judges_of

IMAGES = 56
"""Images of each mode, type and direction, one of each size; the small form has one image."""


def measure(small: bool, seed: int) -> Iterator[Figure]:
    """A figure for each library; the small form checks only linear floats."""
    with rs.Device() as device:
        for judge in judges_of(None)[0]:
            chosen = judge.of_rows("linear f32") if small else judge
            rows = list(compare([chosen], 1 if small else IMAGES, device, lambda _: None, seed))
            beyond = [f"; {row.mode} {row.type} {row.direction}: {row.largest:g}" for row in rows if not row.holds]
            name = f"rows of fresh images further from {judge.like} {judge.version} than docs/profiles.md states"
            if rows:
                yield Figure(name, "0", f"{len(beyond)} of {len(rows)}{''.join(beyond)}", not beyond)


if __name__ == "__main__":
    run_part(measure)
