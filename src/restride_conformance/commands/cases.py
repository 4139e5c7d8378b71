"""Cases that ``restride test`` is to run: those that its arguments name, those kept from the last run, or both."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from restride.cli.process import UsageError
from restride.errors import DescriptorError
from restride.kernel import Limits
from restride_conformance.case import Case
from restride_conformance.catalogue import CATALOGUES, catalogue, read_cases
from restride_conformance.commands.last_failed import read_last_failed
from restride_conformance.operations import require_valid
from restride_conformance.parameters import PARAMETERS
from restride_conformance.selection import select

_LARGEST_FILE = 64 << 20


class Choice:
    """What the arguments choose. Files are read once, here: a pipe gives its text once.

    Raises:
        RestrideError: a file that cannot be read, or arguments that make no sense.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._shard = _shard(arguments.shard)
        self._kept = read_last_failed() if arguments.lf else ()
        if arguments.lf and not self._kept:
            print("restride: nothing failed last time: all cases run", file=sys.stderr)
        self._repro = tuple(map(Case.parse, arguments.repro or ()))
        self._is_named = bool(arguments.cases or arguments.repro)
        usual = "perf" if arguments.mode == "perf" else "ci"
        names = arguments.cases or ([] if self._repro or self._kept else [usual])
        self._texts = {name: None if name in CATALOGUES else _text(name) for name in names}

    @property
    def names(self) -> tuple[str, ...]:
        """Where the cases are from, for the report: catalogues, case files, and ``--lf``."""
        return (*self._texts, *(["--lf"] if self._kept else []))

    def cases(self, limits: Limits) -> tuple[Case, ...]:
        """The chosen cases for a device of these limits; of those that are named, with ``--lf``, the kept ones.

        Raises:
            RestrideError: a line is no case, or an option names what there is not.
        """
        given = self._arguments
        takes_kept = bool(self._kept) and not self._is_named
        chosen = select(
            self._kept if takes_kept else dict.fromkeys(self._named(limits)),
            keywords=given.keywords,
            ops=given.op,
            dtypes=given.dtype,
            # What was kept has the seed of the run that it was kept from.
            seed=None if takes_kept else given.seed,
        )
        if self._kept:
            kept = set(self._kept)
            chosen = tuple(case for case in chosen if case in kept)
        elif self._repro or any(text is not None for text in self._texts.values()):
            for case in chosen:
                _require_valid(case)
        return select(chosen, shard=self._shard)

    def _named(self, limits: Limits) -> list[Case]:
        cases = list(self._repro)
        for name, text in self._texts.items():
            cases += catalogue(name, limits) if text is None else read_cases(text, name, limits)
        return cases


def _require_valid(case: Case) -> None:
    """Catalogues hold no case that asks for what its operation does not do, but whoever writes one may."""
    try:
        require_valid(case)
    except DescriptorError as error:
        raise UsageError(f"there is no such case as {str(case)!r}: {error}") from error


def _text(name: str) -> str:
    try:
        with Path(name).open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
        if len(data) > _LARGEST_FILE:
            raise UsageError(f"case file {name} is larger than {_LARGEST_FILE >> 20} MiB")
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        if name.partition(" ")[0] in PARAMETERS:  # a long one is no name that a file may have
            raise UsageError(f"{name!r} is no case file; a case itself goes with --repro") from None
        if isinstance(error, FileNotFoundError):
            known = ", ".join(CATALOGUES)
            raise UsageError(f"{name!r} is neither a catalogue ({known}) nor a case file") from None
        raise UsageError(f"case file {name} cannot be read: {error}") from error


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    position, slash, count = text.partition("/")
    if not (slash and position.isdecimal() and count.isdecimal() and 1 <= int(position) <= int(count)):
        raise UsageError(f"--shard {text!r} is not I/N with 1 <= I <= N")
    return int(position), int(count)
