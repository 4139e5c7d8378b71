"""``restride test``: the conformance cases on a device, one verdict each, and reports of the run."""

from __future__ import annotations

import argparse
import platform
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import astuple, replace
from datetime import UTC, datetime
from pathlib import Path

from restride.cli.arguments import Commands, add_device_options
from restride.cli.drivers import driver_file
from restride.cli.process import EXPLAINED, Exit, UsageError, as_interrupts, line_for
from restride.errors import DeviceNotFound, UnsupportedError
from restride.kernel import Limits
from restride.ops.progress import Progress
from restride.runtime import choose_runtime
from restride_conformance.case import Case
from restride_conformance.catalogue import CATALOGUES
from restride_conformance.commands.cases import Choice
from restride_conformance.commands.report_files import asked_for, publish
from restride_conformance.outcome import Aftermath, Outcome, Verdict, worst
from restride_conformance.report.report import INTERRUPTED, Report, first_line
from restride_conformance.report.summary import printable, speed_text, summary
from restride_conformance.run.host import Host
from restride_conformance.run.runner import Runner
from restride_conformance.run.validation import PROFILES
from restride_conformance.shader import shader_under_test
from restride_conformance.target import Target

_DESCRIPTION = f"""\
Runs conformance cases on a Vulkan device, each against numpy, and says of each: PASSED, FAILED, SKIPPED (with a
reason), UNIMPLEMENTED, MISTRUSTED (right, but the data prove nothing), TIMEOUT or CRASHED. Cases run in a process
of their own, so that a driver that crashes or hangs costs one case.

CASES are catalogues ({", ".join(CATALOGUES)}) or files with one case a line."""

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


MODES = ("correctness", "bitwise", "perf", "list")


def add_commands(commands: Commands) -> None:
    """Add ``test``."""
    parser = commands.add_parser(
        "test", help="run conformance cases on a device", description=_DESCRIPTION, epilog=_EPILOG
    )
    parser.add_argument(
        "cases", nargs="*", metavar="CASES", help="catalogues or case files (default: ci; perf with --mode perf)"
    )
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


def _add_selection(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("selection")
    group.add_argument("-k", dest="keywords", metavar="EXPRESSION", help="as in pytest: 'nearest and not f16'")
    group.add_argument("--op", action="append", metavar="OP", help="slice, reorder or resample; several are allowed")
    group.add_argument("--dtype", action="append", metavar="TYPE", help="element type; several are allowed")
    group.add_argument("--seed", type=int, metavar="N", help="add N to the seed of each case: other values")
    group.add_argument("--shard", metavar="I/N", help="the I-th of N parts, I from 1")
    group.add_argument("--lf", action="store_true", help="of CASES, or of all, those that did not pass last time")
    group.add_argument("--list", action="store_true", help="print the cases, run nothing (as --mode list)")


def _add_reports(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("reports")
    group.add_argument("--json", metavar="FILE", help="everything, for `restride report`")
    group.add_argument("--junitxml", metavar="FILE", help="for CI systems")
    group.add_argument("--html", metavar="FILE", help="one page to look at, with pictures of what failed")


def _add_target(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is tested")
    group.add_argument(
        "--driver",
        metavar="DRIVER",
        help="lavapipe, swiftshader, an ICD manifest, or part of an installed one's name",
    )
    group.add_argument("--validate", choices=PROFILES, help="run under this profile of the Khronos validation layer")
    group.add_argument("--shader", metavar="FILE", help="a kernel of yours: GLSL, or SPIR-V")
    group.add_argument("--as", dest="module", metavar="MODULE", help="the module it stands in for: strided_copy, ...")


def run(arguments: argparse.Namespace) -> int:
    """Run the cases and print what became of them; the worst verdict decides the exit code."""
    files = asked_for(arguments)
    choice = Choice(arguments)
    cases = choice.cases(Limits())
    if arguments.list or arguments.mode == "list":
        if not cases:
            return _nothing("no case is selected")
        print("\n".join(map(str, cases)))
        return Exit.OK
    with as_interrupts(), tempfile.TemporaryDirectory(prefix="restride-test-") as folder:
        target = _target(arguments, Path(folder))
        outcomes: list[Outcome] = []
        broken_off: BaseException | None = None
        with Runner(target) as runner:
            host = _opened(runner)
            print(f"restride: {host}", file=sys.stderr)
            if host.limits != Limits():  # case files may name the device's own
                cases = choice.cases(host.limits)
            if not cases:
                return _nothing("no case is selected")
            started, clock = datetime.now(UTC), time.monotonic()
            try:
                with runner:
                    _run_all(runner, cases, arguments, outcomes)
            except BaseException as error:  # noqa: BLE001 - raised below, once the reports are written
                broken_off = error
        _add_aftermath(outcomes, runner.aftermath)
        report = Report(
            started=started,
            seconds=time.monotonic() - clock,
            command=shlex.join(["restride", *sys.argv[1:]]),
            catalogues=choice.names,
            mode=arguments.mode,
            selected=len(cases),
            target=target,
            device=host.device,
            versions=host.versions,
            platform=platform.platform(),
            outcomes=tuple(outcomes),
            broken_off=_reason(broken_off),
        )
        unpublished = publish(report, summary(report), files)
    for failure in (broken_off, unpublished):
        if failure is not None:
            raise failure
    return _exit(report)


def _opened(runner: Runner) -> Host:
    """What the cases run on; a runtime that is not installed is a device that is not there, as in other commands."""
    try:
        return runner.host
    except UnsupportedError as error:
        raise DeviceNotFound(str(error)) from error


def _reason(broken_off: BaseException | None) -> str:
    """What broke a run off, in the words that the report keeps."""
    if isinstance(broken_off, KeyboardInterrupt):
        return INTERRUPTED
    return "" if broken_off is None else line_for(broken_off)


def _target(arguments: argparse.Namespace, folder: Path) -> Target:
    """What the options ask for; a shader of the user's own is compiled into ``folder`` and checked."""
    if (arguments.shader is None) != (arguments.module is None):
        raise UsageError("--shader FILE and --as MODULE go together")
    shader = None if arguments.shader is None else shader_under_test(arguments.shader, arguments.module, folder)
    return Target(
        device=arguments.device,
        runtime=choose_runtime(arguments.runtime),
        timeout=arguments.timeout,
        driver=None if arguments.driver is None else str(driver_file(arguments.driver)),
        validate=arguments.validate,
        shader=shader,
    )


def _nothing(why: str) -> int:
    print(f"restride: {why}", file=sys.stderr)
    return Exit.NOTHING_SELECTED


def _run_all(runner: Runner, cases: tuple[Case, ...], arguments: argparse.Namespace, outcomes: list[Outcome]) -> None:
    """Add the outcome of each case to ``outcomes``, which keeps them whatever breaks the run off."""
    progress = Progress(len(cases), sys.stderr)
    bad = 0
    try:
        for case in cases:
            outcome = runner.run_bitwise(case) if arguments.mode == "bitwise" else runner.run(case, arguments.mode)
            outcomes.append(outcome)
            bad += not outcome.verdict.is_good
            if arguments.verbose or arguments.mode == "perf" or not outcome.verdict.is_good:
                progress.clear()
                print(_line(outcome), flush=True)
            progress.step(f"{bad} bad" if bad else "all good")
            if (bad or runner.aftermath) and arguments.exitfirst:
                break
    finally:
        progress.clear()


def _add_aftermath(outcomes: list[Outcome], aftermath: Sequence[Aftermath]) -> None:
    """What went wrong behind a case that had its verdict, as the device was closed say, counts against that case."""
    for found in aftermath:
        ran = [number for number, outcome in enumerate(outcomes) if outcome.case == found.case]
        if outcomes:
            number = ran[-1] if ran else len(outcomes) - 1
            outcome = outcomes[number]
            parts = [outcome.message, f"found after it had its verdict: {found.message}"]
            verdict = worst((found.verdict, outcome.verdict))
            outcomes[number] = replace(outcome, verdict=verdict, message="\n".join(filter(None, parts)))


def _line(outcome: Outcome) -> str:
    """What the terminal shows of an outcome while others still run."""
    speed = outcome.speed
    measured = "" if speed is None else f"{speed_text(*astuple(speed))}  "
    why = first_line(outcome.message)
    return printable(f"{outcome.verdict:<14}{measured}{outcome.case}{f'  # {why}' if why else ''}")


def _exit(report: Report) -> int:
    """0 where nothing is to be mended; a run that judged nothing, or skipped everything, has proven nothing."""
    if report.worst is None:
        return _nothing("no case was judged")
    if set(report.counts) == {Verdict.SKIPPED}:
        return _nothing("every selected case was skipped")
    if report.worst in (Verdict.TIMEOUT, Verdict.CRASHED):
        return Exit.DEVICE_FAILED
    return Exit.CHECK_FAILED if report.bad else Exit.OK
