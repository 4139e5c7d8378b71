"""The cases that the options of ``restride test`` choose, and those that did not pass when they last ran."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from restride.command.process import UsageError, counted, tell
from restride.errors import DescriptorError, RestrideError, did_you_mean
from restride.kernel import Limits
from restride.layout.text import cut
from restride.runtime.file_store import cache_folder, locked_cached, read_cached, write_cached
from restride_conformance import gtest
from restride_conformance.case import OPERATIONS, Case
from restride_conformance.operations import require_valid
from restride_conformance.record import Outcome
from restride_conformance.selection import select
from restride_conformance.sweep import CATALOGUES, catalogue, read_cases

_MAX_FILE = 64 << 20


class Choice:
    """The cases that the arguments choose. Case files are read once, on creation, because a pipe can be read only once.

    Raises:
        RestrideError: a file that cannot be read, or contradictory arguments.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._shard = _shard(arguments.shard)
        self._failed = _read_last_failed() if arguments.lf else ()
        if arguments.lf and not self._failed:
            tell("nothing failed last time: all cases run")
        self._repro = tuple(map(Case.parse, arguments.repro or ()))
        self._is_named = bool(arguments.cases or arguments.repro)
        usual = "perf" if arguments.mode == "perf" else "ci"
        names = arguments.cases or ([] if self._repro or self._failed else [usual])
        self._texts = {name: None if name in CATALOGUES else _text(name) for name in names}

    @property
    def names(self) -> tuple[str, ...]:
        """The sources of the cases, for the report: catalogues, case files, and ``--lf``."""
        return (*self._texts, *(["--lf"] if self._failed else []))

    def cases(self, limits: Limits) -> tuple[Case, ...]:
        """The chosen cases for a device of these limits.

        With ``--lf`` they are the cases that failed last time, restricted to the named ones if any are named.

        Raises:
            RestrideError: a line is not a case, or an option names something that does not exist.
        """
        *_, (_, chosen) = self._narrowed(limits)
        return chosen

    def why_none(self, limits: Limits) -> str:
        """Which option leaves no case, as a part of a sentence. Call it only if ``cases`` of these limits is empty."""
        before = 0
        for option, chosen in self._narrowed(limits):
            if not chosen:
                return f"{option} leaves none of {counted(before, 'case')}" if before else f"{option} has none"
            before = len(chosen)
        raise AssertionError("there are cases")

    def _narrowed(self, limits: Limits) -> Iterator[tuple[str, tuple[Case, ...]]]:
        """The cases that are named, then those that each option leaves; with the words for that step."""
        arguments = self._arguments
        if arguments.gtest_filter is not None:
            limits = Limits()  # those of --gtest_list_tests, which opens no device: names must be the same
        takes_failed = bool(self._failed) and not self._is_named
        chosen = self._failed if takes_failed else tuple(dict.fromkeys(self._named(limits)))
        yield " ".join(map(repr, self.names)), chosen
        chosen = select(chosen, keywords=arguments.keywords)
        yield f"-k {cut(arguments.keywords or '')}", chosen
        chosen = select(chosen, ops=arguments.op)
        yield f"--op {', '.join(arguments.op or ())}", chosen
        chosen = select(chosen, dtypes=arguments.dtype)
        yield f"--dtype {', '.join(arguments.dtype or ())}", chosen
        if not takes_failed:  # stored failures already include the seed of the run in which they failed
            chosen = select(chosen, seed=arguments.seed)
        if self._failed:
            failed = set(self._failed)
            chosen = tuple(case for case in chosen if case in failed)
        yield "--lf", chosen
        if arguments.gtest_list_tests or arguments.gtest_filter is not None:
            chosen = gtest.chosen(chosen, "*" if arguments.gtest_filter is None else arguments.gtest_filter)
        yield f"--gtest_filter {cut(arguments.gtest_filter or '')}", chosen
        yield f"--shard {arguments.shard}", select(chosen, shard=self._shard)

    def _named(self, limits: Limits) -> list[Case]:
        for case in self._repro:
            _require_valid(case)
        cases = list(self._repro)
        for name, text in self._texts.items():
            cases += catalogue(name, limits) if text is None else read_cases(text, name, limits, _require_valid)
        return cases


def _require_valid(case: Case) -> None:
    """Raise UsageError if the operation does not accept a user's case; cases of catalogues are known to be valid."""
    try:
        require_valid(case)
    except DescriptorError as error:
        # The descriptor that the error adds may be one that the check made up, and the case has its own.
        why = str(error).replace(f", for {error.desc}", "")
        raise UsageError(f"there is no such case as {str(case)!r}: {why}") from error


def _text(name: str) -> str:
    try:
        with Path(name).open("rb") as file:
            data = file.read(_MAX_FILE + 1)
        if len(data) > _MAX_FILE:
            raise UsageError(f"case file {name} is larger than {_MAX_FILE >> 20} MiB")
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        if name in OPERATIONS:
            raise UsageError(f"{name!r} is no catalogue; --op {name} chooses its cases") from None
        if name.partition(" ")[0] in OPERATIONS:  # before FileNotFoundError, because a long case is no valid file name
            raise UsageError(f"{name!r} is no case file; a case itself goes with --repro") from None
        if isinstance(error, FileNotFoundError):
            known = ", ".join(CATALOGUES)
            raise UsageError(
                f"{name!r} is neither a catalogue ({known}) nor a case file{did_you_mean(name, CATALOGUES)}"
            ) from None
        raise UsageError(f"case file {name} cannot be read: {error}") from error


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = re.fullmatch("([0-9]{1,9})/([0-9]{1,9})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"--shard {text[:80]!r} is not I/N with 1 <= I <= N")
    return int(match[1]), int(match[2])


# The file with the cases that did not pass when they last ran, in the user's cache folder.


def last_failed_file() -> Path | None:
    """The case file with the cases that did not pass when they last ran; None: the user has no home folder."""
    folder = cache_folder()
    return None if folder is None else folder / "last_failed.txt"


def write_last_failed(outcomes: Iterable[Outcome]) -> None:
    """Add cases that did not pass to the file and remove those that did; ignores errors such as a read-only home.

    Runs that end at the same time change the file one after the other.
    """
    path = last_failed_file()
    if path is None:
        return
    with suppress(OSError), locked_cached(path):
        cases = {str(case): None for case in _last_failed_lines().values() if case is not None}
        for outcome in outcomes:
            if outcome.is_good:
                cases.pop(outcome.case, None)
            else:
                cases[outcome.case] = None
        write_cached(path, "".join(f"{case}\n" for case in cases).encode("utf-8", "replace"))


def _read_last_failed() -> tuple[Case, ...]:
    """The cases that failed last time; prints on stderr how many lines of the file are no longer valid cases."""
    lines = _last_failed_lines()
    cases = tuple(case for case in lines.values() if case is not None)
    if dropped := len(lines) - len(cases):
        tell(f"{last_failed_file()}: lines that are no cases any more are left out: {dropped}")
    return cases


def _last_failed_lines() -> Mapping[str, Case | None]:
    """Each line of the file and its case; None where the line is not a case, for example one of another version."""
    path = last_failed_file()
    try:
        content = None if path is None else read_cached(path, _MAX_FILE)
    except DescriptorError as error:
        raise UsageError(f"{path}: {error}") from error
    if content is None:
        return {}
    return {line: _case(line) for line in content.decode("utf-8", "replace").splitlines() if line.strip()}


def _case(line: str) -> Case | None:
    try:
        return Case.parse(line)
    except RestrideError:
        return None
