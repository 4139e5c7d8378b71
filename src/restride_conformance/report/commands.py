"""The command ``restride report``, and the options of all tests for the files that reports are written to."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from restride.command.files import require_apart, require_places
from restride.command.parser import Commands, add_command
from restride.command.process import Exit, NothingSelected, UsageError, say, tell
from restride_conformance.record import Verdict
from restride_conformance.report import Record
from restride_conformance.report.compare import compare
from restride_conformance.report.file import read_record, write_record
from restride_conformance.report.junit import write_junit
from restride_conformance.report.merge import merge
from restride_conformance.report.page import write_page
from restride_conformance.report.summary import summary

_REPORT_DESCRIPTION = """\
Reads the JSON of `restride test`, bench, selftest, tune, audit and profiles, also of other devices, drivers and
versions. merge and junit take that of tests alone.

examples:
  restride report show report.json
  restride report compare before.json after.json     exit code 1 if a case got worse
  restride report html report.json report.html
  restride report merge 1.json 2.json --json all.json --junitxml all.xml"""
_MERGE_DESCRIPTION = """\
Makes one report of the parts of a run, such as those of `restride test --shard`: the cases of all, in the order of the
parts. Its seconds are the sum of theirs. The parts must be of one device, driver, mode, shader and versions, and run in
the same way (--groups, --repeat, --replay, --under-load, --in-batch); no case may be in two. The exit code is
that of the whole run; it is 1 also if parts are missing."""
_COMPARE_DESCRIPTION = """\
Compares two reports: devices and versions, cases that only one of them has, cases whose verdict changed, and the times
of calls; of two drivers, what only one of them fails. The exit code is 1 if a case of both got worse, from PASSED or
SKIPPED to anything else, or from one fault to a graver one, and 2 if no case is in both. Times, other figures, and
cases that only one report has do not count. Counts of compilers are compared by `restride audit --against`."""


ReportFile = tuple[Callable[[Record, Path], None], Path]
"""The function that writes a report, and the path to write to."""


def add_commands(commands: Commands) -> None:
    """Add ``report``."""
    parser = add_command(commands, "report", _REPORT_DESCRIPTION)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    two = actions.add_parser("compare", help="say what differs between two", description=_COMPARE_DESCRIPTION)
    two.add_argument("before", type=Path, metavar="A.json", help="the report before")
    two.add_argument("after", type=Path, metavar="B.json", help="the report after")
    two.add_argument("--json", action="store_true", help="one JSON object instead of text")
    two.set_defaults(run=_run_compare)

    show = actions.add_parser("show", help="print the summary, as `restride test` does")
    show.add_argument("report", type=Path, metavar="REPORT.json", help="the report to read")
    show.set_defaults(run=_run_show)

    several = actions.add_parser("merge", help="make one report of several", description=_MERGE_DESCRIPTION)
    several.add_argument("parts", nargs="+", type=Path, metavar="PART.json", help="the reports to read")
    add_reports(several)
    several.set_defaults(run=_run_merge)

    for name, write, what, kind in (
        ("html", write_page, "write a page to look at", None),
        ("junit", write_junit, "write JUnit XML", "test"),
    ):
        convert = actions.add_parser(name, help=what)
        convert.add_argument("report", type=Path, metavar="REPORT.json", help="the report to read")
        convert.add_argument("output", type=Path, metavar="OUTPUT", help="the file to write")
        convert.set_defaults(run=_run_convert, write=write, kind=kind)


def _run_compare(arguments: argparse.Namespace) -> int:
    """Print the comparison of two reports."""
    before, after = read_record(arguments.before), read_record(arguments.after)
    if before.kind == after.kind == "audit":  # only the laboratory knows which counts are worse
        raise UsageError("audits are compared by `restride audit GPU --against REPORT.json`")
    comparison = compare(before, after)
    text = json.dumps(comparison.values(), indent=2, allow_nan=False) if arguments.json else str(comparison)
    say(text, has_lines=True)
    return Exit.CHECK_FAILED if comparison.is_worse else Exit.OK


def _run_show(arguments: argparse.Namespace) -> int:
    """Print the summary of a report."""
    say(summary(read_record(arguments.report)), has_lines=True)
    return Exit.OK


def _run_merge(arguments: argparse.Namespace) -> int:
    """Print the summary of the merged report, and write it; returns the run's exit code, 1 if parts are missing."""
    files = report_files(arguments, arguments.parts)
    merged = merge([(str(path), read_record(path, "test")) for path in arguments.parts])
    say(summary(merged), has_lines=True)
    for file in files:
        write_report(merged, *file)
    code = exit_code(merged)
    return Exit.CHECK_FAILED if code == Exit.OK and merged.broken_off else code


def _run_convert(arguments: argparse.Namespace) -> int:
    """Write a report in another form."""
    require_apart([arguments.report], arguments.output)
    arguments.write(read_record(arguments.report, arguments.kind), arguments.output)
    return Exit.OK


def exit_code(record: Record) -> int:
    """The exit code of a test's run.

    Raises:
        NothingSelected: no case was judged, or all were skipped.
    """
    if record.worst is None:
        raise NothingSelected("no case was judged")
    if set(record.counts) == {Verdict.SKIPPED}:
        raise NothingSelected("every selected case was skipped")
    if record.bad and record.bad[0].verdict in (Verdict.TIMEOUT, Verdict.CRASHED):
        return Exit.DEVICE_FAILED
    return Exit.CHECK_FAILED if record.bad else Exit.OK


def add_reports(parser: argparse.ArgumentParser) -> None:
    """Add the options for report files, which ``report_files`` reads."""
    group = parser.add_argument_group("reports")
    group.add_argument("--json", metavar="FILE", help="write everything, for `restride report`")
    group.add_argument("--junitxml", metavar="FILE", help="write JUnit XML, for CI systems")
    group.add_argument("--html", metavar="FILE", help="write a page with pictures of what failed")


def report_files(arguments: argparse.Namespace, sources: Sequence[str | Path]) -> list[ReportFile]:
    """The report files that the options ask for, checked before the run so that a missing folder costs no run.

    Raises:
        RestrideError: a file cannot be written, or two options name the same file, or it is one of ``sources``.
    """
    options = ((write_record, arguments.json), (write_junit, arguments.junitxml), (write_page, arguments.html))
    files: list[ReportFile] = [(write, Path(name)) for write, name in options if name is not None]
    require_places(*(path for _, path in files))
    for _, path in files:
        require_apart(map(Path, sources), path)
    return files


def write_report(record: Record, write: Callable[[Record, Path], None], path: Path) -> None:
    """Write a report file, and say so."""
    write(record, path)
    tell(f"wrote {path}")
