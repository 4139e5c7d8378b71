"""``restride report``: what a kept report says, in other forms, and what differs between two."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from restride.cli.arguments import Commands
from restride.cli.process import EXPLAINED, Exit
from restride_conformance.report.compare import compare
from restride_conformance.report.file import read_json
from restride_conformance.report.junit import write_junit
from restride_conformance.report.page import write_page
from restride_conformance.report.summary import summary

_DESCRIPTION = "Reads reports that `restride test --json` wrote: of other devices, other drivers, other versions."
_COMPARE = """\
Puts two reports side by side: what they were made on and with, cases that only one has, cases whose verdict changed,
and how the speeds of `--mode perf` moved. Ends with 1 if a case that both have got worse (its verdict, from PASSED or
SKIPPED to anything else, or from one fault to a graver one), else with 0: speeds, and cases that only one report has,
do not count."""


def add_commands(commands: Commands) -> None:
    """Add ``report`` and what it can do."""
    parser = commands.add_parser("report", help="compare and convert test reports", description=_DESCRIPTION)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    two = actions.add_parser("compare", help="what differs between two", description=_COMPARE, epilog=EXPLAINED)
    two.add_argument("before", type=Path, metavar="A.json")
    two.add_argument("after", type=Path, metavar="B.json")
    two.add_argument("--json", action="store_true", help="one JSON object instead of text")
    two.set_defaults(run=run_compare)

    show = actions.add_parser("show", help="the summary, as `restride test` prints it", epilog=EXPLAINED)
    show.add_argument("report", type=Path, metavar="REPORT.json")
    show.set_defaults(run=run_show)

    for name, write, what in (("html", write_page, "the page to look at"), ("junit", write_junit, "JUnit XML for CI")):
        convert = actions.add_parser(name, help=what, epilog=EXPLAINED)
        convert.add_argument("report", type=Path, metavar="REPORT.json")
        convert.add_argument("output", type=Path, metavar="OUTPUT")
        convert.set_defaults(run=run_convert, write=write)


def run_compare(arguments: argparse.Namespace) -> int:
    """Print the comparison."""
    comparison = compare(read_json(arguments.before), read_json(arguments.after))
    print(json.dumps(comparison.record(), indent=2, allow_nan=False) if arguments.json else comparison)
    return Exit.CHECK_FAILED if comparison.is_worse else Exit.OK


def run_show(arguments: argparse.Namespace) -> int:
    """Print the summary."""
    print(summary(read_json(arguments.report)))
    return Exit.OK


def run_convert(arguments: argparse.Namespace) -> int:
    """Write the report in another form."""
    arguments.write(read_json(arguments.report), arguments.output)
    return Exit.OK
