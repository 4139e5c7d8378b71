"""The tools: what measure.py says of its figures, and that build_kp.py brings what it builds with."""

import importlib
import os
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parent.parent / "tools"


@pytest.fixture
def measure(monkeypatch):
    monkeypatch.syspath_prepend(TOOLS)
    return importlib.import_module("measure")


@pytest.fixture
def build_kp(monkeypatch):
    monkeypatch.syspath_prepend(TOOLS)
    return importlib.import_module("build_kp")


def test_goals_are_met_or_missed(measure, vulkan_device):
    goals = {row.goal: row for row in measure.workloads(vulkan_device)}
    assert len(goals) == 4
    for goal, met, missed in (
        ("half of numpy's speed", 2.0, 2.1),
        ("faster than numpy", 0.9, 1.0),
        ("within 2x of numpy", 2.0, 2.1),
        ("under 400 us", 399e-6, 400e-6),
    ):
        row = goals[goal]
        assert measure.result_line(row, 1.0, met).endswith(" met")
        assert measure.result_line(row, 1.0, missed).endswith(" missed")


def test_progress_is_for_terminals(measure, capsys):
    row = measure.Workload("nothing", "none", lambda *_: True, 0, int, int)
    assert len(measure.measure([row], 3)["nothing"][0]) == 3
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("average", "warns"), [(0.9, False), (1.1, True)])
def test_a_busy_machine_is_named(measure, monkeypatch, average, warns):
    monkeypatch.setattr(os, "getloadavg", lambda: (average, 0.0, 0.0), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert ("figures are too high" in measure.load()) == warns


def test_missing_build_packages_are_installed_first(build_kp, monkeypatch, tmp_path):
    installed, calls = {"setuptools": "80"}, []

    def pip(_, command, *arguments, **__):
        calls.append((command, arguments))
        installed.update(dict.fromkeys(arguments, "1") if command == "install" else {})

    monkeypatch.setattr(build_kp, "installed_version", installed.get)
    monkeypatch.setattr(build_kp, "_pip", pip)
    monkeypatch.setattr(build_kp, "WHEELS", tmp_path)
    monkeypatch.setattr(build_kp, "build", lambda folder: (folder.mkdir(), (folder / "kp-0.9.0-x.whl").touch()))
    build_kp.main()
    assert calls[0] == ("install", ("pybind11", "wheel"))
    (folder,) = tmp_path.iterdir()
    assert folder.name.endswith("pybind11-1")
    build_kp.install_build_packages()
    assert len(calls) == 2
