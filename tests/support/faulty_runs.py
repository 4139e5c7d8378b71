"""Runs of ``restride test`` in this process, whose worker may have a fault in one case (``faulty_worker.py``)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from restride.cli import main
from restride_conformance.run.runner import Runner

FAULTY = str(Path(__file__).with_name("faulty_worker.py"))

RIGHT = "reorder u8[2,3]{1,0} -> u8[2,3]{0,1}"
WRONG = "reorder u8[5,13]{1,0} -> u8[5,13]{0,1} seed=25"
"""The case with the fault."""


def restride_test(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of the command."""
    code = main(["test", *map(str, arguments)])
    return code, *capsys.readouterr()


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Have Python start the workers of a run by other words, such as ``FAULTY, "wrong", WRONG``."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def planted(*words: str) -> None:
        command = (sys.executable, *words)
        monkeypatch.setattr("restride_conformance.commands.Runner", lambda target: Runner(target, command))

    return planted


@pytest.fixture
def wrong(plant: Callable[..., None]) -> None:
    """The worker writes a byte of the answer of ``WRONG`` that is none of it."""
    plant(FAULTY, "wrong", WRONG)
