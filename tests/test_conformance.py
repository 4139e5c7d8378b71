"""The catalogue ``ci``, as ``restride test`` runs it; the id of a test is the line that reruns it.

On ``vulkan``: tools/conformance.sh has ``kompute`` and other drivers, without what pytest costs a case.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conftest import open_device

from restride.conformance import Case, Verdict, catalogue
from restride.conformance.run.runner import Runner
from restride.conformance.target import Target


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    open_device("vulkan").close()
    with Runner(Target(runtime="vulkan")) as opened:
        yield opened
    assert opened.aftermath == ()


@pytest.mark.parametrize("case", catalogue("ci"), ids=str)
def test_conformance(case: Case, runner: Runner) -> None:
    outcome = runner.run(case)
    if outcome.verdict is Verdict.SKIPPED:
        pytest.skip(outcome.message)
    assert outcome.verdict is Verdict.PASSED, f"{outcome.verdict}: {outcome.message}\n{runner.target.repro(case)}"
