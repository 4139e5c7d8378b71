"""Random cases: the same for a seed, of every operation, and each a line that repeats it."""

from __future__ import annotations

from itertools import islice

import cases
import pytest

from restride_conformance import Case
from restride_conformance.case import OPERATIONS


def test_cases_are_the_same_for_a_seed_and_can_be_repeated_from_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = list(islice(cases.drawn_cases(3, "smoke"), 40))
    assert drawn == list(islice(cases.drawn_cases(3, "smoke"), 40))
    assert drawn == [Case.parse(str(case)) for case in drawn]
    assert drawn != list(islice(cases.drawn_cases(4, "smoke"), 40))
    monkeypatch.setattr(cases, "_STRETCH", 10)
    assert {case.op for case in islice(cases.drawn_cases(4, "smoke"), 600)} == {*OPERATIONS}
