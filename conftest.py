"""Devices for tests, one a runtime, commands, and the rule that a missing device fails where it is required."""

from __future__ import annotations

import gc
import os
import shlex
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.devices import open_device
from support.sampled import FULL, SEED
from support.skips import (  # noqa: F401 - pytest finds hooks in conftest by name
    pytest_collectreport,
    pytest_runtest_logreport,
    pytest_sessionfinish,
    pytest_terminal_summary,
)

import restride as rs
from restride.cli import main
from restride.runtime import RUNTIMES

# A job in the background, or under nohup, is told to ignore these, and so are its children: tests send them.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


LAB = Path(__file__).parent / "lab"

# The user's own tuning is no matter of the tests; those about it name a folder.
os.environ["RESTRIDE_CHOICES"] = ""


@pytest.fixture(scope="session", params=RUNTIMES)
def device(request: pytest.FixtureRequest) -> Iterator[rs.Device]:
    """A device on each runtime."""
    with open_device(request.param) as opened:
        yield opened


@pytest.fixture(scope="session")
def vulkan_device() -> Iterator[rs.Device]:
    """A device on the direct runtime."""
    with open_device("vulkan") as opened:
        yield opened


@pytest.fixture
def restride(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, list[str]]]:
    """A command in ``tmp_path``: its exit code, stdout, and the lines of stderr without that of how long it took."""
    monkeypatch.chdir(tmp_path)

    def run(words: str, *others: object) -> tuple[int, str, list[str]]:
        code = main([*shlex.split(words), *map(str, others)])
        printed = capsys.readouterr()
        return code, printed.out, [line for line in printed.err.splitlines() if " ms on " not in line]

    return run


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """The installed Chromium, without a window; for a module only, because playwright keeps an event loop running."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Chromium has no sandbox for root.
        opened = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of restride-lab, which `make test` leaves to `make check`."""
    for item in items:
        if LAB in item.path.parents:
            item.add_marker("lab")


def pytest_collection_finish() -> None:
    """Keep the collected tests out of garbage collection: 900,000 objects, 0.7 s for each ``gc.collect()``."""
    gc.collect()
    gc.freeze()


def pytest_report_header() -> list[str]:
    """Which devices the run is about, and what it samples."""
    lines = [f"restride: long checks {'in full' if FULL else f'are samples of RESTRIDE_TEST_SEED={SEED}'}"]
    for runtime in RUNTIMES:
        try:
            with rs.Device(runtime=runtime) as opened:
                info = opened.info
                lines.append(f"restride {runtime}: {info.name}, {info.driver} {info.driver_version}")
        except rs.RestrideError as error:
            lines.append(f"restride {runtime}: none ({error})")
    return lines
