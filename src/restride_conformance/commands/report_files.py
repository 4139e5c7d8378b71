"""Files that ``restride test`` writes of a run: which were asked for, and all of them written, whatever one costs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from restride.cli.process import UsageError
from restride_conformance.commands.last_failed import write_last_failed
from restride_conformance.report.file import require_writable, write_json
from restride_conformance.report.junit import write_junit
from restride_conformance.report.page import write_page
from restride_conformance.report.report import Report

ReportFile = tuple[Callable[[Report, Path], None], Path]
"""What writes a report, and where to."""


def asked_for(arguments: argparse.Namespace) -> list[ReportFile]:
    """The files; a folder that is not there is better known before the run than after.

    Raises:
        RestrideError: a file that cannot be written, or two that are one.
    """
    options = ((write_json, arguments.json), (write_junit, arguments.junitxml), (write_page, arguments.html))
    files: list[ReportFile] = [(write, Path(name)) for write, name in options if name is not None]
    for _, path in files:
        require_writable(path)
    if len({os.path.realpath(path) for _, path in files}) < len(files):
        raise UsageError(f"each report needs a file of its own, not {', '.join(str(path) for _, path in files)}")
    return files


def publish(report: Report, text: str, files: Sequence[ReportFile]) -> Exception | None:
    """Print ``text``, keep for ``--lf`` what failed, and write every file, though one before it cannot be written.

    The first error is returned, for the end.
    """
    # A kernel under test says nothing about ours.
    steps: list[Callable[[], None]] = [] if report.target.shader else [partial(write_last_failed, report.outcomes)]
    steps += [partial(print, text, flush=True), *(partial(_write, report, *file) for file in files)]
    first: Exception | None = None
    for step in steps:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - the caller raises it
            first = first or error
    return first


def _write(report: Report, write: Callable[[Report, Path], None], path: Path) -> None:
    write(report, path)
    print(f"restride: wrote {path}", file=sys.stderr)
