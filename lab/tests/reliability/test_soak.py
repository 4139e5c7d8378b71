"""The soak of make reliability for some seconds: it notices wrong results and growth."""

from __future__ import annotations

import os
import shlex
from itertools import islice
from pathlib import Path

import pytest
import soak

import restride as rs
from restride_conformance import Case, Outcome, Verdict


def test_a_soak_of_a_few_seconds_passes(device: rs.Device) -> None:
    runtime = type(device.runtime).__name__.removesuffix("Runtime").lower()
    figures = list(soak.figures(1 / 60, 1, (runtime,), "smoke"))
    assert [(figure.goal, figure.met) for figure in figures] == [("0", True)]


def test_a_wrong_result_is_shown_with_the_command_that_repeats_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], device: rs.Device
) -> None:
    runtime = type(device.runtime).__name__.removesuffix("Runtime").lower()
    noted = []

    def fails(case: Case, _device: rs.Device) -> Outcome:
        noted.append((soak.RUNNING / f"soak-{os.getpid()}.txt").read_text(encoding="utf-8"))
        return Outcome(str(case), Verdict.FAILED, "1 of 9 elements")

    monkeypatch.setattr(soak, "RUNNING", tmp_path)
    monkeypatch.setattr(soak, "run_case", fails)
    soaked = soak.soak(runtime, 0.0, 5, "smoke")
    (case,) = islice(soak.drawn_cases(5, "smoke"), 1)
    assert (soaked.operations, len(soaked.wrong)) == (1, 1)
    shown = capsys.readouterr().err
    assert "WRONG, operation 1 of seed 5: 1 of 9 elements" in shown
    command = shlex.split(shown.partition("\nagain: ")[2].partition("\n")[0])
    assert command == ["restride", "test", "--repro", str(case), "--runtime", runtime]
    assert noted == [f"{case}\n"]
    assert not [*tmp_path.iterdir()], "nothing is left of a soak that ended"


def test_growth_is_measured_over_the_later_half() -> None:
    soaked = soak.Soaked("vulkan", operations=4000)
    soaked.samples = [(n, (500 << 20) + max(2000 - n, 0) * 9999 + n * 2048, 0, 0) for n in range(0, 4001, 100)]
    assert soaked.growth(1) == pytest.approx(2000)
    assert soaked.growth(2) == pytest.approx(0)
