"""``restride test``: the conformance cases on a device, one verdict each, and reports of the run."""

from __future__ import annotations

import argparse
import platform
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import astuple, replace
from datetime import UTC, datetime
from pathlib import Path

from restride.cli.arguments import Commands, add_device_options
from restride.cli.drivers import driver_file
from restride.cli.exits import EXPLAINED, Exit, UsageError
from restride.cli.last_failed import read_last_failed, write_last_failed
from restride.cli.progress import Progress
from restride.conformance.case import Case
from restride.conformance.catalogue import CATALOGUES, catalogue, read_cases
from restride.conformance.outcome import Outcome, Verdict, worst
from restride.conformance.report.file import require_writable, write_json
from restride.conformance.report.junit import write_junit
from restride.conformance.report.page import write_page
from restride.conformance.report.report import Report, first_line
from restride.conformance.report.summary import printable, speed_text, summary
from restride.conformance.run.runner import Runner
from restride.conformance.run.validation import PROFILES
from restride.conformance.selection import select
from restride.conformance.shader import form_of, shader_under_test
from restride.conformance.target import Target
from restride.errors import RestrideError
from restride.kernel import Limits
from restride.runtime import choose_runtime

_DESCRIPTION = f"""\
Runs conformance cases on a Vulkan device, each against numpy, and says of each: PASSED, FAILED, SKIPPED (with a
reason), UNIMPLEMENTED, MISTRUSTED (right, but the data prove nothing), TIMEOUT or CRASHED. Cases run in a process
of their own, so that a driver that crashes or hangs costs one case.

CASES are catalogues ({", ".join(CATALOGUES)}; each contains the one before) or files with one case a line."""

_EPILOG = f"""\
examples:
  restride test                                        the catalogue ci on the best device
  restride test smoke --op resample --dtype u8 -x      stop at the first that does not pass
  restride test --repro 'reorder u8[2,3]{{1,0}} -> u8[2,3]{{0,1}}'
  restride test ci --driver swiftshader --html report.html
  restride test smoke --validate sync                  under the Khronos validation layer
  restride test --shader my.comp --as strided_copy     your own kernel in the place of ours

{EXPLAINED}"""

_TIMEOUT_HELP = "longest time for one case on the device (default: %(default)g)"


def add_commands(commands: Commands) -> None:
    """Add ``test``."""
    parser = commands.add_parser(
        "test", help="run conformance cases on a device", description=_DESCRIPTION, epilog=_EPILOG
    )
    parser.add_argument("cases", nargs="*", metavar="CASES", help="catalogues or case files (default: ci)")
    parser.add_argument("--repro", action="append", metavar="CASE", help="run this one case; several are allowed")
    _add_selection(parser)
    parser.add_argument(
        "--mode",
        choices=MODES,
        default="correctness",
        help="correctness; bitwise: twice, in two processes, and the bytes must agree; perf: the speed too; list",
    )
    parser.add_argument("-x", "--exitfirst", action="store_true", help="stop at the first case that does not pass")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for every case")
    _add_reports(parser)
    add_device_options(parser, _TIMEOUT_HELP)
    _add_target(parser)
    parser.set_defaults(run=run)


MODES = ("correctness", "bitwise", "perf", "list")


def _add_selection(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("selection")
    group.add_argument("-k", dest="keywords", metavar="EXPRESSION", help="as in pytest: 'nearest and not f16'")
    group.add_argument("--op", action="append", metavar="OP", help="slice, reorder or resample; several are allowed")
    group.add_argument("--dtype", action="append", metavar="TYPE", help="element type; several are allowed")
    group.add_argument("--seed", type=int, metavar="N", help="add N to the seed of each case: other values")
    group.add_argument("--shard", metavar="I/N", help="the I-th of N parts, I from 1")
    group.add_argument("--lf", action="store_true", help="the cases that did not pass last time, if there are any")
    group.add_argument("--list", action="store_true", help="print the cases, run nothing (as --mode list)")


def _add_reports(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("reports")
    group.add_argument("--json", metavar="FILE", help="everything, for `restride report`")
    group.add_argument("--junitxml", metavar="FILE", help="for CI systems")
    group.add_argument("--html", metavar="FILE", help="one page to look at, with pictures of what failed")


def _add_target(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is tested")
    group.add_argument("--driver", metavar="DRIVER", help="lavapipe, swiftshader or the path of an ICD manifest")
    group.add_argument(
        "--form",
        choices=("generic", "specialised"),
        help="kernels that read the shape (default) or are compiled for it",
    )
    group.add_argument("--validate", choices=PROFILES, help="run under this profile of the Khronos validation layer")
    group.add_argument("--shader", metavar="FILE", help="a kernel of yours: GLSL, or SPIR-V")
    group.add_argument("--as", dest="module", metavar="MODULE", help="the module it stands in for: strided_copy, ...")


def run(arguments: argparse.Namespace) -> int:
    """Run the cases and print what became of them; the worst verdict decides the exit code."""
    reports = _reports(arguments)
    cases = _selected(arguments, Limits())
    if not cases:
        return _nothing("no case is selected")
    if arguments.list or arguments.mode == "list":
        print("\n".join(map(str, cases)))
        return Exit.OK
    with tempfile.TemporaryDirectory(prefix="restride-test-") as folder:
        target = _target(arguments, Path(folder))
        with closing(Runner(target)) as runner:
            host = runner.host
            print(f"restride: {host}", file=sys.stderr)
            if host.limits != Limits():  # case files may name the device's own
                cases = _selected(arguments, host.limits)
            started, clock = datetime.now(UTC), time.monotonic()
            outcomes, broken_off = _run_all(runner, cases, arguments)
        _add_aftermath(outcomes, runner.aftermath)
    report = Report(
        started=started,
        seconds=time.monotonic() - clock,
        command=shlex.join(["restride", *sys.argv[1:]]),
        catalogues=tuple(arguments.cases or ([] if arguments.repro or arguments.lf else ["ci"])),
        mode=arguments.mode,
        selected=len(cases),
        target=target,
        device=host.device,
        versions=host.versions,
        platform=platform.platform(),
        outcomes=tuple(outcomes),
        interrupted=broken_off is not None,
    )
    for write, path in reports:
        write(report, path)
        print(f"restride: wrote {path}", file=sys.stderr)
    write_last_failed(outcomes)
    print(summary(report), flush=True)
    if broken_off is not None:
        raise broken_off
    return _exit(report)


def _reports(arguments: argparse.Namespace) -> list[tuple[Callable[[Report, Path], None], Path]]:
    """What to write where; a folder that is not there is better known before the run than after."""
    asked: tuple[tuple[Callable[[Report, Path], None], str | None], ...] = (
        (write_json, arguments.json),
        (write_junit, arguments.junitxml),
        (write_page, arguments.html),
    )
    reports = [(write, Path(name)) for write, name in asked if name is not None]
    for _, path in reports:
        require_writable(path)
    return reports


def _target(arguments: argparse.Namespace, folder: Path) -> Target:
    """What the options ask for; a shader of the user's own is compiled into ``folder`` and checked."""
    if (arguments.shader is None) != (arguments.module is None):
        raise UsageError("--shader FILE and --as MODULE go together")
    shader = None if arguments.shader is None else shader_under_test(arguments.shader, arguments.module, folder)
    form = arguments.form
    if shader is not None:
        form = form_of(shader.module)
        if arguments.form not in (None, form):
            raise UsageError(f"module {shader.module} is {form}; --form {arguments.form} never runs it")
    if not arguments.timeout > 0:
        raise UsageError(f"--timeout must be positive, not {arguments.timeout:g}")
    return Target(
        device=arguments.device,
        runtime=choose_runtime(arguments.runtime),
        timeout=arguments.timeout,
        form=form or "generic",
        driver=None if arguments.driver is None else str(driver_file(arguments.driver)),
        validate=arguments.validate,
        shader=shader,
    )


def _selected(arguments: argparse.Namespace, limits: Limits) -> tuple[Case, ...]:
    """The cases that are named, less what the selection leaves out."""
    cases: list[Case] = []
    failed = read_last_failed() if arguments.lf else ()
    if failed:
        cases += failed
    elif arguments.repro:
        cases += map(Case.parse, arguments.repro)
    for name in [] if failed else arguments.cases or ([] if arguments.repro else ["ci"]):
        if name in CATALOGUES:
            cases += catalogue(name, limits)
        else:
            cases += read_cases(_text(name), name, limits)
    return select(
        dict.fromkeys(cases),
        keywords=arguments.keywords,
        ops=arguments.op,
        dtypes=arguments.dtype,
        seed=arguments.seed,
        shard=_shard(arguments.shard),
    )


_LARGEST_FILE = 64 << 20


def _text(name: str) -> str:
    path = Path(name)
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise UsageError(f"case file {name} is larger than {_LARGEST_FILE >> 20} MiB")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        known = ", ".join(CATALOGUES)
        raise UsageError(f"{name!r} is neither a catalogue ({known}) nor a case file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"case file {name} cannot be read: {error}") from error


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    position, slash, count = text.partition("/")
    if not (slash and position.isdecimal() and count.isdecimal() and 1 <= int(position) <= int(count)):
        raise UsageError(f"--shard {text!r} is not I/N with 1 <= I <= N")
    return int(position), int(count)


def _nothing(why: str) -> int:
    print(f"restride: {why}", file=sys.stderr)
    return Exit.NOTHING_SELECTED


def _run_all(
    runner: Runner, cases: tuple[Case, ...], arguments: argparse.Namespace
) -> tuple[list[Outcome], KeyboardInterrupt | RestrideError | None]:
    """Every outcome, and what broke the run off: Ctrl-C, or a device that does not open again."""
    outcomes: list[Outcome] = []
    progress = Progress(len(cases))
    bad = 0
    try:
        for case in cases:
            outcome = runner.run_bitwise(case) if arguments.mode == "bitwise" else runner.run(case, arguments.mode)
            outcomes.append(outcome)
            bad += not outcome.verdict.is_good
            if arguments.verbose or outcome.speed is not None or not outcome.verdict.is_good:
                progress.clear()
                print(_line(outcome), flush=True)
            progress.step(f"{bad} bad" if bad else "all good")
            if bad and arguments.exitfirst:
                break
    except (KeyboardInterrupt, RestrideError) as broken_off:
        return outcomes, broken_off
    finally:
        progress.clear()
    return outcomes, None


def _add_aftermath(outcomes: list[Outcome], messages: Sequence[str]) -> None:
    """What went wrong while the device was closed counts against the last case."""
    if messages and outcomes:
        message = "\n".join(["after this case, as the device was closed:", *messages, outcomes[-1].message]).rstrip()
        verdict = worst((Verdict.FAILED, outcomes[-1].verdict))
        outcomes[-1] = replace(outcomes[-1], verdict=verdict, message=message)


def _line(outcome: Outcome) -> str:
    """What the terminal shows of an outcome while others still run."""
    speed = outcome.speed
    measured = "" if speed is None else f"{speed_text(*astuple(speed))}  "
    why = first_line(outcome.message)
    return printable(f"{outcome.verdict:<14}{measured}{outcome.case}{f'  # {why}' if why else ''}")


def _exit(report: Report) -> int:
    """0 where nothing is to be mended; a run that skipped everything has proven nothing."""
    if set(report.counts) == {Verdict.SKIPPED}:
        return _nothing("every selected case was skipped")
    if report.worst in (Verdict.TIMEOUT, Verdict.CRASHED):
        return Exit.DEVICE_FAILED
    return Exit.CHECK_FAILED if report.bad else Exit.OK
