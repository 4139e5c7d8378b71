"""``restride profiles``: list the libraries that ``like`` accepts, and measure how close it is to those installed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from restride.command.options import whole_number
from restride.command.parser import Commands, add_command, add_device_options, open_device
from restride.command.process import Exit, NothingSelected, UsageError, tell
from restride.progress import Progress
from restride.request import LIBRARIES
from restride_conformance.report import Record
from restride_conformance.report.file import write_record, write_text
from restride_like_check import JUDGES, Row, compare, is_measured, judges_of, measured, steps_of
from restride_like_check.page import cells, draw_profile_sheet, listing, page

_DESCRIPTION = """\
Lists the libraries that `like` of rs.resample takes: the version measured, its modes, and each mode in the words of
rs.resample. With --check it resizes photographs and synthetic images with each of them that is installed, and counts
where rs.resample(..., like=...) differs. docs/profiles.md is that table.

examples:
  restride profiles --like pillow
  restride profiles --check --like opencv -k 'cubic u8'     how close is it here?
  restride profiles --picture profiles.png"""

_IMAGES = 12


def add_commands(commands: Commands) -> None:
    """Add ``profiles``."""
    parser = add_command(commands, "profiles", _DESCRIPTION, run)
    parser.add_argument("--check", action="store_true", help="run each library, and count what differs")
    parser.add_argument("--like", choices=LIBRARIES, metavar="NAME", help=f"one of {', '.join(LIBRARIES)}")
    parser.add_argument("-k", metavar="TEXT", help="rows with this in mode and type: 'cubic u8', u16")
    parser.add_argument(
        "--images",
        type=whole_number("number of images", 1, 100_000),
        metavar="N",
        help=f"images for each row of the table (default: {_IMAGES}; with 112 there are 336 of each mode and type)",
    )
    parser.add_argument(
        "--seed",
        type=whole_number("number", 0, (1 << 32) - 1),
        default=0,
        metavar="N",
        help="seed of the images and sizes (default: 0)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write docs/profiles.md")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw a photograph by three libraries, as a PNG")
    add_device_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """List the profiles, or check them."""
    if arguments.check:
        return _check(arguments)
    if arguments.picture is not None:
        with open_device(arguments) as device:
            draw_profile_sheet(arguments.picture, device)
        return Exit.OK
    for option in ("-k", "--images", "--json", "--markdown"):
        if getattr(arguments, option.lstrip("-")) is not None:
            raise UsageError(f"{option} needs --check (see `restride profiles --help`)")
    print(listing(arguments.like))
    return Exit.OK


def _check(arguments: argparse.Namespace) -> int:
    """Print the table row by row; the exit code is 1 if a row exceeds its stated limit."""
    if arguments.picture is not None:
        raise UsageError("--picture does not go with --check")
    if arguments.markdown is not None and (arguments.like, arguments.k) != (None, None):
        raise UsageError("--markdown writes the page of all libraries: leave out --like and -k")
    images = arguments.images or _IMAGES
    judges, missing = judges_of(arguments.like)
    for package in missing:
        tell(f"{package} is not installed, and is left out")
    if arguments.markdown is not None and missing:
        raise UsageError(f"--markdown needs every library: pip install {' '.join(missing)}")
    if not judges:
        if arguments.like is not None and arguments.like not in JUDGES:
            raise NothingSelected(f"{arguments.like} is not run by this command: its profile is formulas only")
        raise NothingSelected("no library to compare with is installed")
    judges = [judge for judge in (each.of_rows(arguments.k or "") for each in judges) if judge.ways]
    if not judges:
        raise NothingSelected(f"-k {arguments.k!r} is in no row's mode and type")
    for judge in judges:
        if not is_measured(judge.like, judge.version):
            installed = f"{judge.package} {judge.version} is installed"
            print(f"{installed}; the stated limits were measured with {measured(judge.like)}")
    rows: list[Row] = []
    with open_device(arguments) as device, Progress(steps_of(judges, images), sys.stderr) as progress:
        options = {"images": images, "seed": arguments.seed}
        record = Record.begin("profiles", device.info, options=options)
        print(_line(("library", "version", "mode", "type", "sizes", "images", "pixels", "differ", "largest", "stated")))
        for row in compare(judges, images, device, progress.step, arguments.seed):
            rows.append(row)
            progress.clear()
            print(_line((row.like, row.version, *cells(row))) + ("" if row.holds else "  FAILED"), flush=True)
    failed = [row for row in rows if not row.holds]
    print(f"{len(rows) - len(failed)} of {len(rows)} rows are as docs/profiles.md states")
    if arguments.json is not None:
        write_record(record.ended(row.outcome for row in rows), arguments.json)
    if arguments.markdown is not None:
        write_text(arguments.markdown, page(rows))
    return Exit.CHECK_FAILED if failed else Exit.OK


_WIDTHS = (13, 12, 24, 18, 6, 7, 10, 20, 8, 20)


def _line(row: tuple[str, ...]) -> str:
    return " ".join(cell.ljust(width) for cell, width in zip(row, _WIDTHS, strict=True)).rstrip()
