"""The catalogue ``smoke`` on every runtime, as ``restride test`` runs it; the id of a test is the line that reruns it.

tools/conformance.sh has ``ci``, beside pytest.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.devices import open_device

from restride.runtime import RUNTIMES
from restride_conformance import Case, Verdict, catalogue
from restride_conformance.record import Target
from restride_conformance.run.runner import Runner


@pytest.fixture(scope="module", params=RUNTIMES)
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    open_device(request.param).close()
    with Runner(Target(runtime=request.param)) as opened:
        yield opened
    assert opened.aftermath == ()


@pytest.mark.parametrize("case", catalogue("smoke"), ids=str)
def test_conformance(case: Case, runner: Runner) -> None:
    outcome = runner.run(case)
    if outcome.verdict is Verdict.SKIPPED:
        pytest.skip(outcome.message)
    assert outcome.verdict is Verdict.PASSED, f"{outcome.verdict}: {outcome.message}\n{runner.target.repro(case)}"
