"""The verdict of several runs: that of all if they are alike, else FLAKY with the counts."""

from __future__ import annotations

import numpy as np
import pytest

from restride_conformance.record import Outcome, Verdict
from restride_conformance.run.tally import Tally, difference

RESULTS = {"a": np.array([1, 2], np.uint8), "b": np.array([1, 3], np.uint8), "c": np.array([4, 3], np.uint8)}
FIRST = "first differing bytes: byte"
FAILED = "1 of 9 (FAILED)"


def tally(*runs):
    """The tally of runs such as ``"PASSED a"``: a verdict, and the letter of a result if it left one."""
    told = Tally("repetitions")
    for run in runs:
        verdict, _, result = run.partition(" ")
        message = "" if verdict == "PASSED" else f"1 of 9 ({verdict})"
        told.add(Outcome("a case", Verdict(verdict), message, seconds=1.0), RESULTS.get(result))
    return told


@pytest.mark.parametrize(
    ("runs", "verdict", "message"),
    [
        (["PASSED a"] * 3, "PASSED", ""),
        (["MISTRUSTED a"] * 2, "MISTRUSTED", "1 of 9 (MISTRUSTED)"),
        (["FAILED b"] * 3, "FAILED", "1 of 9 (FAILED)"),
        (["CRASHED"] * 2, "CRASHED", "1 of 9 (CRASHED)"),
        (
            [*["PASSED a"] * 17, "FAILED b", "FAILED c", "FAILED b"],
            "FLAKY",
            f"right in 17 of 20 repetitions; 3 distinct results; {FIRST} 1 is 0x02 and 0x03 (1 of 2 differ)\n{FAILED}",
        ),
        (
            ["FAILED b", "FAILED c"],
            "FLAKY",
            f"right in 0 of 2 repetitions; 2 distinct results; {FIRST} 0 is 0x01 and 0x04 (1 of 2 differ)\n{FAILED}",
        ),
        (["PASSED a", "FAILED a"], "FLAKY", "right in 1 of 2 repetitions; 1 distinct result\n1 of 9 (FAILED)"),
        (["CRASHED", "PASSED a"], "FLAKY", "right in 1 of 2 repetitions; 1 distinct result\n1 of 9 (CRASHED)"),
        (["CRASHED", "TIMEOUT"], "FLAKY", "right in 0 of 2 repetitions\n1 of 9 (CRASHED)"),
    ],
)
def test_the_outcome_of_runs(runs, verdict, message):
    outcome = tally(*runs).outcome()
    assert (outcome.verdict, outcome.message, outcome.seconds) == (Verdict(verdict), message, len(runs))


@pytest.mark.parametrize(
    ("runs", "is_decided"),
    [
        (["PASSED a"], False),
        (["SKIPPED"], True),
        (["UNIMPLEMENTED"], True),
        (["CRASHED"], False),
        (["CRASHED", "TIMEOUT"], True),
        (["CRASHED", "PASSED a"], False),
        (["PASSED a", "CRASHED", "CRASHED"], False),
    ],
)
def test_runs_end_where_more_would_tell_nothing(runs, is_decided):
    assert tally(*runs).is_decided is is_decided


def test_a_difference_lists_five_bytes_and_counts_all():
    zeros, ones = np.zeros(9, np.uint8), np.ones(9, np.uint8)
    assert difference(zeros, zeros.copy()) == ""
    assert difference(zeros, zeros[:5]) == "9 bytes and 5 bytes"
    text = difference(zeros, ones)
    assert text.startswith("byte 0 is 0x00 and 0x01, byte 1 is ")
    assert text.endswith(", byte 4 is 0x00 and 0x01 (9 of 9 differ)")
