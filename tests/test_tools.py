"""The tools: build_kp.py brings what it builds with."""

import importlib
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parent.parent / "tools"


@pytest.fixture
def build_kp(monkeypatch):
    monkeypatch.syspath_prepend(TOOLS)
    return importlib.import_module("build_kp")


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
