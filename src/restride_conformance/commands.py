"""The command ``restride test``, which runs conformance cases on a device."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from restride.command.parser import Commands, add_command, missing_runtimes
from restride.command.process import Exit, NothingSelected, say, tell, why_ended
from restride.kernel import Limits
from restride.progress import Progress
from restride_conformance import gtest
from restride_conformance.case import Case
from restride_conformance.choice import Choice, write_last_failed
from restride_conformance.expectations import Expectations, write_expectations
from restride_conformance.options import (
    MOST_REDUCED,
    add_options,
    expectations_of,
    exports_of,
    require_consistent,
    target_of,
)
from restride_conformance.record import Outcome, Speed, Verdict, add_aftermath
from restride_conformance.reduce import MOST_TRIALS, fails_alike, reduce
from restride_conformance.report import Record, first_line
from restride_conformance.report.commands import ReportFile, exit_code, report_files, write_report
from restride_conformance.report.summary import speed_text, summary
from restride_conformance.run.parallel import run_all
from restride_conformance.run.runner import Runner
from restride_conformance.sweep import CATALOGUES

_DESCRIPTION = f"""\
Runs conformance cases on a Vulkan device and compares each with numpy. Verdicts are PASSED, FAILED, SKIPPED (with a
reason), UNIMPLEMENTED, MISTRUSTED (right, but the data prove nothing), FLAKY (several runs were not alike), TIMEOUT and
CRASHED. Cases run in a process of their own, so that a driver that crashes or hangs costs one case.

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

_REDUCE_SECONDS = 120
"""Seconds for the reduction of one case, after which it ends early."""

_REDUCIBLE = (Verdict.FLAKY, Verdict.FAILED, Verdict.TIMEOUT, Verdict.CRASHED)


def add_commands(commands: Commands) -> None:
    """Add ``test``."""
    add_options(add_command(commands, "test", _DESCRIPTION, run_test))


def run_test(arguments: argparse.Namespace) -> int:
    """Run the cases and print their verdicts; returns the exit code, which follows from the worst verdict."""
    require_consistent(arguments)
    expectations = expectations_of(arguments)
    files = report_files(arguments, [*(arguments.cases or ()), *filter(None, (arguments.shader, arguments.driver))])
    exports = exports_of(arguments)
    choice = Choice(arguments)
    cases = choice.cases(Limits())
    if arguments.list or arguments.gtest_list_tests or arguments.mode == "list":
        _require_any(cases, choice, Limits())
        say(gtest.listing(cases) if arguments.gtest_list_tests else "\n".join(map(str, cases)), has_lines=True)
        return Exit.OK
    with tempfile.TemporaryDirectory(prefix="restride-test-") as folder:
        target = target_of(arguments, Path(folder))
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
            _require_any(cases, choice, host.limits)
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
    for line in () if exported is None else exported.said:
        tell(line, has_lines=True)
    for failure in (broken_off, unpublished, None if exported is None else exported.error):
        if failure is not None:
            raise failure
    return exit_code(record) if arguments.gtest_filter is None else gtest.exit_code(record.outcomes)


def _last_words(record: Record, arguments: argparse.Namespace) -> str:
    """The text after the last case."""
    return summary(record) if arguments.gtest_filter is None else gtest.closing(record.outcomes, record.seconds)


def _require_any(cases: tuple[Case, ...], choice: Choice, limits: Limits) -> None:
    """Raise NothingSelected if there are no cases; ``choice`` knows why."""
    if not cases:
        raise NothingSelected(f"no case is selected: {choice.why_none(limits)}")


def _run_all(
    runners: Sequence[Runner],
    cases: tuple[Case, ...],
    arguments: argparse.Namespace,
    expectations: Expectations,
    judged: dict[int, Outcome],
) -> None:
    """Run the cases and put each outcome into ``judged``, at the index of its case; they stay there after an exception.

    Cases that the expectations skip have their outcomes at once.
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
    """Reduce the first cases that failed unexpectedly.

    Each outcome gets the line of its reduced case, and ``simplest`` the outcome of that line.
    """
    failed = [place for place in sorted(judged) if judged[place].verdict in _REDUCIBLE and not judged[place].is_good]
    with Progress(min(len(failed), MOST_REDUCED), sys.stderr) as progress:
        for place in failed[:MOST_REDUCED]:
            outcome, text = _reduced(runner, cases[place], judged[place])
            if outcome is not judged[place]:
                judged[place] = replace(judged[place], reduced=outcome.case)
                simplest.append(outcome)
            progress.clear()
            say(text)
            progress.step("reduced")
    if len(failed) > MOST_REDUCED:
        tell(f"cases that failed and are not reduced: {len(failed) - MOST_REDUCED}")


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


def _publish(record: Record, text: str, files: Sequence[ReportFile], expectations: Path | None) -> Exception | None:
    """Print ``text``, store the failed cases for ``--lf``, and write every file, even if an earlier one fails.

    expectations: the folder for the lists of what failed; None: they are not written.

    Returns the first error, or None.
    """
    # Failures of a user's shader say nothing about our kernels, so they are not stored.
    steps: list[Callable[[], None]] = [] if record.target.shader else [partial(write_last_failed, record.outcomes)]
    steps += [partial(say, text, has_lines=True), *(partial(write_report, record, *file) for file in files)]
    if expectations is not None:
        steps.append(partial(write_expectations, expectations, record.outcomes))
    first: Exception | None = None
    for step in steps:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - the caller raises it
            first = first or error
    return first
