"""Which cases of a run are exported, and where to: ``restride test --export DIR``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from restride.command.files import named_errors
from restride.command.process import UsageError, counted, line_for
from restride.errors import UnsupportedError
from restride.files.writing import require_writable
from restride_conformance.case import Case
from restride_conformance.export.folder import Seen, is_export, write_folder
from restride_conformance.export.recorded import program_of
from restride_conformance.record import Host, Outcome, Target, Verdict


@dataclass(frozen=True)
class Exports:
    """A folder for reproducers.

    takes_all: each case that ran is exported, not only those that fail.
    replaces: older exports of the same cases are replaced.
    form: what a case is written as, one of ``folder.FORMS``.
    """

    folder: Path
    takes_all: bool = False
    replaces: bool = False
    form: str = "c"

    def require_places(self, cases: Iterable[Case]) -> None:
        """Raise before any case runs if one of them could not be exported.

        Raises:
            UsageError: the folder cannot be written, or something is in the place of a case that may not be replaced.
        """
        with named_errors("write", self.folder):
            if self.folder.exists() and not self.folder.is_dir():
                raise UsageError(f"--export {self.folder}: it is no folder")
            require_writable(self.folder / "README.md" if self.folder.is_dir() else self.folder)
        if not self.folder.is_dir():
            return
        for case in cases:
            place = self.folder / case.name
            if not (place.exists() or place.is_symlink()):
                continue
            if not is_export(place):
                raise UsageError(f"--export: {place} exists, is no older export, and is not replaced")
            if not self.replaces:
                raise UsageError(f"--export: {place} exists; --force replaces it")

    def is_chosen(self, outcome: Outcome) -> bool:
        """True if the case of an outcome is exported; what was skipped or refused was given to no driver."""
        if outcome.verdict in (Verdict.SKIPPED, Verdict.UNIMPLEMENTED):
            return False
        return self.takes_all or not outcome.is_good

    def write(
        self, outcomes: Sequence[Outcome], host: Host, target: Target, simplest: Sequence[Outcome] = ()
    ) -> ExportResult:
        """Write a folder for each chosen case. An error ends the export; what has been written stays.

        simplest: outcomes of reduced cases, which get folders too. They are known only after the run, so if one cannot
        replace an older export, only its own folder is not written.
        """
        outcomes, said = list(outcomes), []
        chosen = [number for number, outcome in enumerate(outcomes) if self.is_chosen(outcome)]
        if not chosen:
            return ExportResult(tuple(outcomes), (f"nothing to export: {_why_none(outcomes)}",))
        try:
            for number in chosen:
                name, line = self._write(outcomes[number], host, target)
                outcomes[number] = replace(outcomes[number], exported=name)
                said.append(line)
            written = {outcomes[number].case for number in chosen}
            for outcome in {each.case: each for each in simplest if each.case not in written}.values():
                try:
                    self.require_places([Case.parse(outcome.case)])
                except UsageError as error:
                    said.append(f"not exported: {outcome.case}: {error}")
                else:
                    said.append(self._write(outcome, host, target)[1])
        except UsageError as error:
            return ExportResult(tuple(outcomes), tuple(said), error)
        return ExportResult(tuple(outcomes), tuple(said))

    def _write(self, outcome: Outcome, host: Host, target: Target) -> tuple[str, str]:
        """Write the folder of a case; returns its name, empty if the case cannot be exported, and the line to say."""
        case = Case.parse(outcome.case)
        try:
            program = program_of(case, host.limits, target.shader, outcome.groups)
        except Exception as error:  # noqa: BLE001 - it costs this case's export, never the reports of the run
            return "", f"not exported: {outcome.case}: {line_for(error)}"
        try:
            with named_errors("write", self.folder):
                self.folder.mkdir(exist_ok=True)
            write_folder(program, Seen(outcome, host), self.folder / case.name, self.form)
        except UnsupportedError as error:
            return "", f"not exported: {outcome.case}: {error}"
        return case.name, f"exported {self.folder / case.name}"


@dataclass(frozen=True)
class ExportResult:
    """What was exported: the outcomes with the names of their folders, lines to say, and the error that ended it."""

    outcomes: tuple[Outcome, ...]
    said: tuple[str, ...]
    error: UsageError | None = None


def _why_none(outcomes: Sequence[Outcome]) -> str:
    if all(outcome.verdict is Verdict.PASSED for outcome in outcomes):
        return f"all {len(outcomes)} passed"
    return f"none of {counted(len(outcomes), 'case')} failed on the device"
