"""The commands ``restride test``, which runs conformance cases on a device, and ``restride report``."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from restride.command.drivers import driver_file
from restride.command.files import require_apart, require_places
from restride.command.options import whole_number
from restride.command.parser import Commands, add_command, add_device_options, missing_runtimes
from restride.command.process import Exit, NothingSelected, UsageError, say, tell, why_ended
from restride.errors import prefixed
from restride.kernel import Limits
from restride.progress import Progress
from restride.runtime import RUNTIMES, choose_runtime
from restride_conformance import gtest
from restride_conformance.case import OPERATIONS, Case
from restride_conformance.choice import Choice, write_last_failed
from restride_conformance.expectations import Expectations, require_free, write_expectations
from restride_conformance.export.exports import Exports
from restride_conformance.export.folder import FORMS
from restride_conformance.record import Outcome, Speed, Target, Verdict, add_aftermath
from restride_conformance.reduce import MOST_TRIALS, fails_alike, reduce
from restride_conformance.report import Record, first_line
from restride_conformance.report.compare import compare
from restride_conformance.report.file import read_record, write_record
from restride_conformance.report.junit import write_junit
from restride_conformance.report.merge import merge
from restride_conformance.report.page import write_page
from restride_conformance.report.summary import speed_text, summary
from restride_conformance.run.groups import shapes_under
from restride_conformance.run.limits import BOUNDS
from restride_conformance.run.parallel import run_all
from restride_conformance.run.runner import Runner
from restride_conformance.run.validation import PROFILES
from restride_conformance.shader import shader_under_test
from restride_conformance.sweep import CATALOGUES

_DESCRIPTION = f"""\
Runs conformance cases on a Vulkan device and compares each with numpy. Verdicts are PASSED, FAILED, SKIPPED (with a
reason), UNIMPLEMENTED, MISTRUSTED (right, but the data prove nothing), TIMEOUT and CRASHED. Cases run in a process of
their own, so that a driver that crashes or hangs costs one case.

CASES are catalogues ({", ".join(CATALOGUES)}) or files with a case on each line.

examples:
  restride test                                        the catalogue ci on the best device
  restride test smoke --op resample --dtype u8 -x      stop at the first that does not pass
  restride test --repro 'reorder u8[2,3]{{1,0}} -> u8[2,3]{{0,1}}'
  restride test ci --driver swiftshader --html report.html
  restride test full -n 4                              in four processes at a time
  restride test smoke --repeat 20                      each 20 times, and the bytes must be the same
  restride test smoke --validate sync                  under the Khronos validation layer
  restride test --shader my.comp --as strided_copy     your own kernel in the place of ours
  restride test ci --export bugs                       each that fails as a C program of its own"""

_TIMEOUT_HELP = "longest time for one case on the device (default: %(default)g)"


_MAX_PROCESSES = 64

_MOST_REDUCED = 10
_REDUCE_SECONDS = 120
"""Seconds for the reduction of one case, after which it ends early."""

_REDUCIBLE = (Verdict.FLAKY, Verdict.FAILED, Verdict.TIMEOUT, Verdict.CRASHED)

MODES = ("correctness", "perf", "list")

_MAX_RUNS = 1000


def add_commands(commands: Commands) -> None:
    """Add ``test`` and ``report``."""
    _add_test(commands)
    _add_report(commands)


def _add_test(commands: Commands) -> None:
    parser = add_command(commands, "test", _DESCRIPTION, run_test)
    text = "catalogues or case files (default: ci; perf with --mode perf)"
    parser.add_argument("cases", nargs="*", metavar="CASES", help=text)
    parser.add_argument("--repro", action="append", metavar="CASE", help="run this case; repeat it for more")
    _add_selection(parser)
    text = "correctness (default); perf: also measure; list"
    parser.add_argument("--mode", choices=MODES, metavar="MODE", default=MODES[0], help=text)
    number = whole_number("number of processes", 1, _MAX_PROCESSES)
    text = "run the cases in N processes at a time (default: 1); not with --mode perf"
    parser.add_argument("-n", dest="processes", type=number, metavar="N", default=1, help=text)
    parser.add_argument("-x", "--exitfirst", action="store_true", help="stop at the first case that does not pass")
    text = f"also search the simplest case that still fails, for the first {_MOST_REDUCED} that fail; correctness only"
    parser.add_argument("--reduce", action="store_true", help=text)
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for every case")
    parser.add_argument("--force", action="store_true", help="replace existing exports and expectations")
    _add_runs(parser)
    _add_reports(parser)
    _add_export(parser)
    _add_expectations(parser)
    _add_gtest(parser)
    _add_target(parser)
    add_device_options(parser, _TIMEOUT_HELP)


def _add_selection(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("selection")
    group.add_argument("-k", dest="keywords", metavar="EXPRESSION", help="as in pytest: 'nearest and not f16'")
    group.add_argument("--op", action="append", metavar="OP", help=f"{', '.join(OPERATIONS)}; repeat it for more")
    group.add_argument("--dtype", action="append", metavar="TYPE", help="element type; repeat it for more")
    group.add_argument("--seed", type=int, metavar="N", help="add N to the seed of each case, for other values")
    group.add_argument("--shard", metavar="I/N", help="run the I-th of N parts, I from 1")
    group.add_argument("--lf", action="store_true", help="only those of CASES that did not pass last time")
    group.add_argument("--list", action="store_true", help="print the cases, run nothing (as --mode list)")


def _add_runs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("several runs of each case, which must leave the same bytes")
    number = whole_number("number of repetitions", 2, _MAX_RUNS)
    text = "run each case N times, in two processes in turn"
    group.add_argument("--repeat", type=number, metavar="N", default=1, help=text)
    number = whole_number("number of replays", 2, _MAX_RUNS)
    text = "record the command buffers of each case once, and submit them N times (runtime vulkan)"
    group.add_argument("--replay", type=number, metavar="N", default=1, help=text)
    text = "start large copies, for which nobody waits, around all work of a case (runtime vulkan)"
    group.add_argument("--under-load", action="store_true", help=text)
    text = "run each case alone, and then among other work in one batch (runtime vulkan)"
    group.add_argument("--in-batch", action="store_true", help=text)


def _require_consistent_runs(arguments: argparse.Namespace) -> None:
    """Raise UsageError if an option for several runs contradicts another option."""
    needs_vulkan = {
        "--replay": arguments.replay > 1,
        "--under-load": arguments.under_load,
        "--in-batch": arguments.in_batch,
    }
    asked = [name for name, is_set in {"--repeat": arguments.repeat > 1, **needs_vulkan}.items() if is_set]
    if not asked:
        return
    if arguments.list or arguments.gtest_list_tests or arguments.mode == "list":
        raise UsageError(f"{asked[0]} and a list of the cases: nothing runs")
    if arguments.mode == "perf":
        raise UsageError(f"{asked[0]} and --mode perf: a speed is that of a case that runs with nothing beside it")
    if arguments.repeat > 1 and arguments.validate is not None:
        raise UsageError("--repeat and --validate: the layer gives a message only once in a process")
    runtime = choose_runtime(arguments.runtime)
    if runtime != RUNTIMES[0] and asked[-1] != "--repeat":
        raise UsageError(f"{asked[-1]} needs the runtime {RUNTIMES[0]}, not {runtime}")


def _add_reports(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("reports")
    group.add_argument("--json", metavar="FILE", help="write everything, for `restride report`")
    group.add_argument("--junitxml", metavar="FILE", help="write JUnit XML, for CI systems")
    group.add_argument("--html", metavar="FILE", help="write a page with pictures of what failed")


def _add_export(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("reproducers")
    text = "write a program that needs no restride for each case that fails, or that --repro names"
    group.add_argument("--export", metavar="DIR", type=Path, help=text)
    text = "what it is: c, a C program that needs only Vulkan (default); amber, a script of Amber"
    group.add_argument("--export-as", choices=FORMS, metavar="FORM", help=text)
    group.add_argument("--export-all", action="store_true", help="for each case that runs, also if it passes")


def _exports(arguments: argparse.Namespace) -> Exports | None:
    """The folder for reproducers that the options ask for."""
    if arguments.force and arguments.export is None and arguments.write_expectations is None:
        raise UsageError("--force goes with --export DIR or --write-expectations DIR")
    if arguments.export is None:
        if arguments.export_all or arguments.export_as:
            raise UsageError("--export-all and --export-as go with --export DIR")
        return None
    takes_all = arguments.export_all or bool(arguments.repro and not arguments.cases)
    return Exports(arguments.export, takes_all, arguments.force, arguments.export_as or FORMS[0])


def _add_expectations(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("expectations, in the lists of Mesa's deqp-runner")
    text = "a folder with fails.txt, flakes.txt, skips.txt: what fails as they say is no failure, what passes is one"
    group.add_argument("--expect", type=Path, metavar="DIR", help=text)
    text = "write fails.txt and flakes.txt of this run into a folder"
    group.add_argument("--write-expectations", type=Path, metavar="DIR", help=text)


def _add_gtest(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the protocol of googletest, for Mesa's gtest-runner")
    group.add_argument("--gtest_list_tests", action="store_true", help="print the names of the cases, run nothing")
    text = "run the cases of these names, such as 'slice.*:pad.*-*_u8_*', and print googletest's lines"
    group.add_argument("--gtest_filter", metavar="FILTER", help=text)


def _add_target(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("driver and shader")
    text = "lavapipe, swiftshader, an ICD manifest, or part of an installed one's name"
    group.add_argument("--driver", metavar="DRIVER", help=text)
    text = f"run under the Khronos validation layer: {', '.join(PROFILES)}"
    group.add_argument("--validate", choices=PROFILES, metavar="PROFILE", help=text)
    text = "use no more than the limits of a small device (runtime vulkan)"
    group.add_argument("--limits", choices=BOUNDS, help=text)
    text = "run each case in work groups of other sizes, 32 to 512, and shapes, such as 8x8"
    group.add_argument("--groups", action="store_true", help=text)
    group.add_argument("--shader", metavar="FILE", help="your own kernel, GLSL or SPIR-V")
    group.add_argument("--as", dest="module", metavar="MODULE", help="the module it replaces, such as strided_copy")


def run_test(arguments: argparse.Namespace) -> int:
    """Run the cases and print their verdicts; returns the exit code, which follows from the worst verdict."""
    _require_consistent(arguments)
    expectations = _expectations(arguments)
    files = _report_files(arguments, [*(arguments.cases or ()), *filter(None, (arguments.shader, arguments.driver))])
    exports = _exports(arguments)
    choice = Choice(arguments)
    cases = choice.cases(Limits())
    if arguments.list or arguments.gtest_list_tests or arguments.mode == "list":
        _require_any(cases)
        say(gtest.listing(cases) if arguments.gtest_list_tests else "\n".join(map(str, cases)), has_lines=True)
        return Exit.OK
    with tempfile.TemporaryDirectory(prefix="restride-test-") as folder:
        target = _target(arguments, Path(folder))
        judged: dict[int, Outcome] = {}
        simplest: list[Outcome] = []
        broken_off: BaseException | None = None
        with ExitStack() as opened:
            runners = [opened.enter_context(Runner(target)) for _ in range(arguments.processes)]
            with missing_runtimes():
                host = runners[0].host
            tell(str(host))
            if host.limits != Limits():  # then case files may refer to limits that differ from the usual ones
                cases = choice.cases(host.limits)
            _require_any(cases)
            if exports is not None:
                exports.require_places(cases)
            if unknown := expectations.unknown(cases):
                tell(f"fails.txt names {len(unknown)} that are no cases of this run, such as {unknown[0][:120]}")
            record = Record.begin(
                "test", None, options={"mode": arguments.mode, "catalogues": list(choice.names), **asdict(target)}
            )
            try:
                with ExitStack() as closed:
                    for runner in runners:
                        closed.enter_context(runner)
                    _run_all(runners, cases, arguments, expectations, judged)
                    if arguments.reduce:
                        _reduce_all(runners[0], cases, judged, simplest)
            except BaseException as error:  # noqa: BLE001 - raised below, once the reports are written
                broken_off = error
        outcomes = [judged[place] for place in sorted(judged)]
        for runner in runners:
            add_aftermath(outcomes, runner.aftermath)
        exported = None if exports is None else exports.write(outcomes, host, target, simplest)
        record = record.ended(
            outcomes if exported is None else exported.outcomes,
            selected=len(cases),
            device=host.device,
            versions=host.versions,
            broken_off=why_ended(broken_off),
        )
        unpublished = _publish(record, _last_words(record, arguments), files, arguments.write_expectations)
    if exported is not None and exported.said:
        tell("\n".join(exported.said), has_lines=True)
    for failure in (broken_off, unpublished, None if exported is None else exported.error):
        if failure is not None:
            raise failure
    return _exit(record) if arguments.gtest_filter is None else gtest.exit_code(record.outcomes)


def _require_consistent(arguments: argparse.Namespace) -> None:
    """Raise UsageError if two options contradict each other."""
    if arguments.processes > 1 and arguments.mode == "perf":
        raise UsageError("-n and --mode perf: cases that run at the same time have no speed of their own")
    if arguments.reduce and arguments.mode != "correctness":
        raise UsageError(f"--reduce and --mode {arguments.mode}: only cases of --mode correctness are reduced")
    is_gtest = arguments.gtest_list_tests or arguments.gtest_filter is not None
    if is_gtest and (arguments.processes > 1 or arguments.expect is not None):
        raise UsageError("gtest-runner has processes and lists of its own: --gtest_... goes without -n and --expect")
    _require_consistent_runs(arguments)
    if is_gtest and arguments.reduce:
        raise UsageError("--reduce and --gtest_...: gtest-runner reads no other lines on stdout")


def _expectations(arguments: argparse.Namespace) -> Expectations:
    """The expectations that the options name; those that a run shall write are known to have a place afterwards."""
    if arguments.write_expectations is not None:
        require_free(arguments.write_expectations, force=arguments.force)
    return Expectations() if arguments.expect is None else Expectations.read(arguments.expect)


def _last_words(record: Record, arguments: argparse.Namespace) -> str:
    """The text after the last case."""
    return summary(record) if arguments.gtest_filter is None else gtest.closing(record.outcomes, record.seconds)


def _target(arguments: argparse.Namespace, folder: Path) -> Target:
    """The target that the options ask for; a user's shader is compiled into ``folder`` and checked."""
    if (arguments.shader is None) != (arguments.module is None):
        raise UsageError("--shader FILE and --as MODULE go together")
    if arguments.groups and arguments.mode == "perf":
        raise UsageError("--groups and --mode perf: a speed is that of one size of work groups")
    shader = None if arguments.shader is None else shader_under_test(arguments.shader, arguments.module, folder)
    if arguments.groups and shader is not None:
        with prefixed(f"--groups: shader {shader.source}"):
            shapes_under(shader)
    return Target(
        device=arguments.device,
        runtime=choose_runtime(arguments.runtime),
        timeout=arguments.timeout,
        driver=None if arguments.driver is None else str(driver_file(arguments.driver)),
        validate=arguments.validate,
        limits=arguments.limits,
        shader=shader,
        groups=arguments.groups,
        repeat=arguments.repeat,
        replay=arguments.replay,
        under_load=arguments.under_load,
        in_batch=arguments.in_batch,
    )


def _require_any(cases: tuple[Case, ...]) -> None:
    if not cases:
        raise NothingSelected("no case is selected")


def _run_all(
    runners: Sequence[Runner],
    cases: tuple[Case, ...],
    arguments: argparse.Namespace,
    expectations: Expectations,
    judged: dict[int, Outcome],
) -> None:
    """Run the cases and put each outcome into ``judged``, at the index of its case; an exception keeps them.

    Those that the expectations skip have their outcomes at once.
    """
    bad = 0
    judged |= {place: outcome for place, case in enumerate(cases) if (outcome := expectations.skipped(case))}
    places = [place for place in range(len(cases)) if place not in judged]
    to_run = [cases[place] for place in places]
    is_gtest = arguments.gtest_filter is not None
    if is_gtest:
        say(gtest.opening(to_run))
        say(gtest.begun(to_run[0]))
    with Progress(len(to_run), sys.stderr) as progress, closing(run_all(runners, to_run, arguments.mode)) as running:
        try:
            for number, result in running:
                case = to_run[number]
                judged[places[number]] = outcome = expectations.judged(case, result)
                bad += not outcome.is_good
                if is_gtest:
                    progress.clear()
                    say(gtest.ended(case, outcome), has_lines=True)
                elif arguments.verbose or arguments.mode == "perf" or not outcome.is_good:
                    progress.clear()
                    say(_line(outcome))
                progress.step(f"{bad} bad" if bad else "all good")
                if arguments.exitfirst and (bad or any(runner.aftermath for runner in runners)):
                    break
                if is_gtest and number + 1 < len(to_run):
                    say(gtest.begun(to_run[number + 1]))
        except BaseException:  # such as Ctrl-C
            for runner in runners:
                runner.abandon()
            raise


def _reduce_all(runner: Runner, cases: Sequence[Case], judged: dict[int, Outcome], simplest: list[Outcome]) -> None:
    """Reduce the first cases that failed unexpectedly: each outcome gets its line, ``simplest`` that line's outcome."""
    failed = [place for place in sorted(judged) if judged[place].verdict in _REDUCIBLE and not judged[place].is_good]
    with Progress(min(len(failed), _MOST_REDUCED), sys.stderr) as progress:
        for place in failed[:_MOST_REDUCED]:
            outcome, text = _reduced(runner, cases[place], judged[place])
            if outcome is not judged[place]:
                judged[place] = replace(judged[place], reduced=outcome.case)
                simplest.append(outcome)
            progress.clear()
            say(text)
            progress.step("reduced")
    if len(failed) > _MOST_REDUCED:
        tell(f"cases that failed and are not reduced: {len(failed) - _MOST_REDUCED}")


def _reduced(runner: Runner, case: Case, outcome: Outcome) -> tuple[Outcome, str]:
    """The outcome of the simplest case found that fails as ``case``, whose outcome is given; and a line for it."""
    end = time.monotonic() + _REDUCE_SECONDS

    def fails(simpler: Case) -> bool:
        nonlocal outcome
        tried = runner.run(simpler)
        if not fails_alike(tried, outcome):
            return False
        outcome = tried
        return True

    found = reduce(case, fails, goes_on=lambda: time.monotonic() < end)
    what = f"reduced to {found.case}" if found.case != case else f"nothing simpler is {outcome.verdict}"
    early = ", ended early" if found.ended_early else ""
    return outcome, f"{what} ({found.trials} of {MOST_TRIALS} trials{early})"


def _line(outcome: Outcome) -> str:
    """The line that the terminal shows for an outcome during the run."""
    measured = f"{speed_text(Speed(**outcome.figures))}  " if outcome.figures else ""
    why = first_line(outcome.reason)
    return f"{outcome.state:<13} {measured}{outcome.case}{f'  # {why}' if why else ''}"


def _exit(record: Record) -> int:
    """The exit code of a run.

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


# Report files: all that were requested are written, even if one of them fails.

ReportFile = tuple[Callable[[Record, Path], None], Path]
"""The function that writes a report, and the path to write to."""


def _report_files(arguments: argparse.Namespace, sources: Sequence[str | Path]) -> list[ReportFile]:
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


def _publish(record: Record, text: str, files: Sequence[ReportFile], expectations: Path | None) -> Exception | None:
    """Print ``text``, store the failed cases for ``--lf``, and write every file, even if an earlier one fails.

    expectations: the folder for the lists of what failed; None: they are not written.

    Returns the first error, or None.
    """
    # Failures of a user's shader say nothing about our kernels, so they are not stored.
    steps: list[Callable[[], None]] = [] if record.target.shader else [partial(write_last_failed, record.outcomes)]
    steps += [partial(say, text, has_lines=True), *(partial(_write, record, *file) for file in files)]
    if expectations is not None:
        steps.append(partial(write_expectations, expectations, record.outcomes))
    first: Exception | None = None
    for step in steps:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - the caller raises it
            first = first or error
    return first


def _write(record: Record, write: Callable[[Record, Path], None], path: Path) -> None:
    write(record, path)
    tell(f"wrote {path}")


# The command `restride report`.

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
parts. Its seconds are the sum of theirs. The parts must be of one device, driver, mode, shader and versions, and no
case may be in two."""
_COMPARE_DESCRIPTION = """\
Compares two reports: devices and versions, cases that only one of them has, cases whose verdict changed, and the times
of calls; of two drivers, what only one of them fails. The exit code is 1 if a case of both got worse, from PASSED or
SKIPPED to anything else, or from one fault to a graver one, and 2 if no case is in both. Times, other figures, and
cases that only one report has do not count. Counts of compilers are compared by `restride audit --against`."""


def _add_report(commands: Commands) -> None:
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
    _add_reports(several)
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
    """Print the summary of the merged report, and write it."""
    files = _report_files(arguments, arguments.parts)
    merged = merge([(str(path), read_record(path, "test")) for path in arguments.parts])
    say(summary(merged), has_lines=True)
    for file in files:
        _write(merged, *file)
    return Exit.OK


def _run_convert(arguments: argparse.Namespace) -> int:
    """Write a report in another form."""
    require_apart([arguments.report], arguments.output)
    arguments.write(read_record(arguments.report, arguments.kind), arguments.output)
    return Exit.OK
