"""A verdict from several runs of one case: are they right each time, and do they leave the same bytes?"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from hashlib import blake2b

import numpy as np

from restride.dtypes import Array
from restride_conformance.record import Outcome, Verdict

_SHOWN = 5
"""Maximum number of differing bytes that a message lists."""

_ENDED = (Verdict.TIMEOUT, Verdict.CRASHED)


class Tally:
    """Counts the verdicts of runs and the distinct results that they left.

    runs: the word for them in a message, such as ``"replays"``.
    """

    def __init__(self, runs: str) -> None:
        self._runs = runs
        self._verdicts: Counter[Verdict] = Counter()
        self._worst: Outcome | None = None
        self._seconds = 0.0
        self._first: Array | None = None
        self._results: set[bytes] = set()
        self._difference = ""

    def add(self, outcome: Outcome, result: Array | None) -> None:
        """Add a run; ``result``: the raw bytes that it left, None if it left none."""
        self._verdicts[outcome.verdict] += 1
        self._seconds += outcome.seconds
        if self._worst is None or outcome.verdict.severity > self._worst.verdict.severity:
            self._worst = outcome
        if result is None:
            return
        self._results.add(digest(result))
        if self._first is None:
            self._first = result
        elif not self._difference:
            self._difference = difference(self._first, result)

    @property
    def is_decided(self) -> bool:
        """True if more runs would tell nothing new: the case does not run, or the first two both hung or crashed."""
        ended = sum(self._verdicts[verdict] for verdict in _ENDED)
        return any(self._verdicts[verdict] for verdict in (Verdict.SKIPPED, Verdict.UNIMPLEMENTED)) or (
            ended == self._verdicts.total() == 2
        )

    def outcome(self) -> Outcome:
        """The outcome of all runs, of which there is at least one: the worst, or FLAKY if they are not alike."""
        if self._worst is None:
            raise ValueError("no run was added")
        same = replace(self._worst, seconds=self._seconds)
        if len(self._verdicts) == 1 and len(self._results) <= 1:
            return same
        right = sum(count for verdict, count in self._verdicts.items() if verdict.is_right)
        parts = [f"right in {right} of {self._verdicts.total()} {self._runs}"]
        if self._results:
            parts.append(f"{len(self._results)} distinct result{'s' * (len(self._results) > 1)}")
        if self._difference:
            parts.append(f"first differing bytes: {self._difference}")
        message = "\n".join(filter(None, ["; ".join(parts), self._worst.message]))
        return replace(same, verdict=Verdict.FLAKY, message=message)


def digest(*buffers: Array) -> bytes:
    """A short name for the bytes of buffers: equal for equal bytes."""
    hashed = blake2b()
    for buffer in buffers:
        hashed.update(buffer.data)
    return hashed.digest()


def difference(first: Array, other: Array) -> str:
    """How the raw bytes of two results differ; empty if they do not."""
    if first.size != other.size:
        return f"{first.size} bytes and {other.size} bytes"
    places = np.flatnonzero(first != other)
    shown = [f"byte {place} is 0x{first[place]:02x} and 0x{other[place]:02x}" for place in places[:_SHOWN].tolist()]
    return f"{', '.join(shown)} ({places.size} of {first.size} differ)" if shown else ""
