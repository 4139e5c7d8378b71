"""The catalogue on every runtime: each case's id is the line that reruns it."""

from __future__ import annotations

import pytest

import restride as rs
from restride.conformance import Case, Verdict, catalogue, run_case


@pytest.mark.parametrize("case", catalogue(), ids=str)
def test_conformance(case: Case, device: rs.Device) -> None:
    outcome = run_case(case, device)
    assert outcome.verdict is Verdict.PASSED, outcome.message
