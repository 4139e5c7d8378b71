"""Hooks that fail a run with an unexpected skip: if both runtimes are required, a skip could hide a missing runtime.

conftest.py imports the hooks. They act only if RESTRIDE_REQUIRE_RUNTIMES is set; expected_skips.txt has the patterns of
reasons that are allowed then. Tests skipped for a judge that is not installed (judges.py) are written to the file that
RESTRIDE_JUDGE_TESTS names. With RESTRIDE_REQUIRE_JUDGES=1 such a skip fails the run too, and so does a run of no test.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

REQUIRE = "RESTRIDE_REQUIRE_RUNTIMES"
REQUIRE_JUDGES = "RESTRIDE_REQUIRE_JUDGES"
JUDGE_TESTS = "RESTRIDE_JUDGE_TESTS"
WITHOUT_A_JUDGE = "judge * is not installed"
PATTERNS = Path(__file__).with_name("expected_skips.txt")

_unexpected: list[tuple[str, str]] = []


def expected_reasons() -> list[str]:
    lines = (line.strip() for line in PATTERNS.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return str(report.longrepr)


def _requires_judges() -> bool:
    return os.environ.get(REQUIRE_JUDGES) == "1"


def _note(report: pytest.TestReport | pytest.CollectReport) -> None:
    # An xfail is reported as a skip too; xfail_strict watches over those.
    if not report.skipped or hasattr(report, "wasxfail") or not os.environ.get(REQUIRE):
        return
    reason = _reason(report)
    if not fnmatchcase(reason, WITHOUT_A_JUDGE):
        if not any(fnmatchcase(reason, pattern) for pattern in expected_reasons()):
            _unexpected.append((report.nodeid, reason))
    elif _requires_judges():
        _unexpected.append((report.nodeid, reason))
    elif path := os.environ.get(JUDGE_TESTS):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(report.nodeid + "\n")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _note(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _unexpected and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _requires_judges():
        ran = sum(len(terminalreporter.getreports(outcome)) for outcome in ("passed", "failed"))
        terminalreporter.line(f"judge tests: {ran} ran, {len(terminalreporter.getreports('skipped'))} were skipped")
    if not _unexpected:
        return
    terminalreporter.section("unexpected skips", red=True)
    for nodeid, reason in _unexpected:
        terminalreporter.line(f"{nodeid}: {reason}")
    variables = f"{REQUIRE} and {REQUIRE_JUDGES} are" if _requires_judges() else f"{REQUIRE} is"
    terminalreporter.line(f"{variables} set, and {PATTERNS.name} lists no pattern for these reasons")
