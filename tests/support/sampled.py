"""Samples of long checks: `make test` runs a seeded sample, `make test-full` (RESTRIDE_TEST_FULL=1) the whole check.

RESTRIDE_TEST_SEED=N draws another sample; a run that fails says which seed it had.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import TypeVar

FULL = os.environ.get("RESTRIDE_TEST_FULL") == "1"
SEED = int(os.environ.get("RESTRIDE_TEST_SEED", "1"))

Item = TypeVar("Item")


def sample(items: Iterable[Item], count: int, *salt: object) -> list[Item]:
    """``count`` of the items, in their order, or all with RESTRIDE_TEST_FULL=1.

    The choice depends on the seed and ``salt`` alone; another salt, such as a parameter of the test, draws others.
    """
    whole = list(items)
    if FULL or count >= len(whole):
        return whole
    chosen = random.Random(repr((SEED, *salt))).sample(range(len(whole)), count)
    return [whole[place] for place in sorted(chosen)]
