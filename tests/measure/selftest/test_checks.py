"""Parts that check: cases drawn by the seed, wrong bytes, and what a part says where something is missing."""

from __future__ import annotations

import pytest
from support.judges import judge
from support.selftest_examples import job

from restride.command.findings import Finding
from restride.command.process import Exit
from restride_measure.selftest import checks, speeds
from restride_measure.selftest.part import Fault, NotRun

pytestmark = pytest.mark.usefixtures("vulkan_device")


def test_the_seed_draws_the_cases_of_ci(monkeypatch):
    monkeypatch.setattr(checks, "_cases", lambda _job, _name, chosen, more: (list(map(str, chosen)), more))
    first, again, other = (checks.ci(job(seed=seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert first[1] == {"seed": 1}
    assert len(set(first[0])) == checks.SMALL_CASES
    whole, _ = checks.ci(job(seed=1, is_small=False))
    assert whole[: checks.SMALL_CASES] == first[0]
    assert sorted(whole) == sorted(map(str, checks.catalogue("ci")))


def test_wrong_bytes_and_transpositions_are_problems(monkeypatch):
    monkeypatch.setattr(speeds.np, "array_equal", lambda *_: False)
    (problem,) = speeds.transfers(job()).problems
    assert (problem.exit_code, "other bytes came back" in problem.message) == (Exit.CHECK_FAILED, True)
    monkeypatch.setattr("restride_measure.run._difference", lambda *_, **__: 1.0)
    (problem,) = speeds.ttc57(job(seconds=0.0)).problems
    assert problem.message.startswith("wrong transpositions: ")
    part = speeds.speed(job(seconds=0.0))
    assert part.problems == (Fault(Exit.CHECK_FAILED, f"wrong workloads: {speeds.MEASURED[0]}"),)
    assert part.outcomes[0].message.startswith("restride does not compute")
    (problem,) = checks.large(job()).problems
    assert "filled: 24 windows, reversed: 24 windows, transposed: 24 windows, halved: 24 windows" in problem.message


def test_without_room_or_torch_a_part_says_so(monkeypatch):
    with pytest.raises(NotRun, match=r"the device has .* GiB, and this check needs 12.0"):
        checks.large(job(is_small=False))
    monkeypatch.setattr(checks, "find_spec", lambda _: None)
    with pytest.raises(NotRun, match="torch is not installed"):
        checks.cuda(job())


def test_where_torch_sees_no_cuda_a_part_says_so():
    if judge("torch").cuda.is_available():
        pytest.skip("torch sees a CUDA device here")
    with pytest.raises(NotRun, match="sees no CUDA device"):
        checks.cuda(job())


def test_what_is_not_in_order_is_named(monkeypatch):
    findings = ("ok", "numpy"), ("ok", "loader"), ("optional", "kp"), ("old", "device 0's driver"), ("optional", "rich")
    monkeypatch.setattr(checks, "look", lambda *_: (Finding(status, subject, "") for status, subject in findings))
    part = checks.installed(job())
    assert part.text == "2 ok; optional: kp, rich; old: device 0's driver (`restride doctor` says what to do)"
    assert part.problems == ()
