"""Outcome: what became of one case, and behind it, as values that travel between processes and into reports."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

from restride_conformance.case import Case

FLUSHED = "as on a device that takes denormals of f32 for zeros"
"""How the message of a case that passed says what some of its elements are; both answers are right."""


class Verdict(StrEnum):
    """What a run of a case says; the mildest first, and the worst of a run is the run's.

    SKIPPED: not run, for the reason in the message. MISTRUSTED: right, but the data prove nothing. UNIMPLEMENTED: the
    library refused it with UnsupportedError. TIMEOUT, CRASHED: the driver hung, or took its process along.
    """

    PASSED = "PASSED"
    SKIPPED = "SKIPPED"
    MISTRUSTED = "MISTRUSTED"
    UNIMPLEMENTED = "UNIMPLEMENTED"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    CRASHED = "CRASHED"

    @property
    def severity(self) -> int:
        """0 for PASSED, up to 6 for CRASHED."""
        return list(Verdict).index(self)

    @property
    def is_good(self) -> bool:
        """True where nothing is to be mended: PASSED and SKIPPED."""
        return self in (Verdict.PASSED, Verdict.SKIPPED)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of at least one verdict."""
    return max(verdicts, key=lambda verdict: verdict.severity)


@dataclass(frozen=True)
class Speed:
    """How fast a case is with its tensors resident on the device, medians of several calls.

    seconds: one call. gigabytes_per_second: useful bytes read and written, 10^9 a second. share_of_copy: that rate over
    the rate of the device's own buffer copy, measured in the same process.
    """

    seconds: float
    gigabytes_per_second: float
    share_of_copy: float


@dataclass(frozen=True)
class Pictures:
    """PNG files of an image-like case: what was expected, what came, and their difference times ``gain``."""

    expected: bytes
    actual: bytes
    difference: bytes
    gain: int


@dataclass(frozen=True)
class Outcome:
    """The verdict on a case.

    message: the reason, lines of text, the first one says it shortest; empty if it passed, unless it was not measured
        as asked, or has elements that are FLUSHED.
    seconds: wall time of the case in its worker, filling and judging included.
    """

    case: Case
    verdict: Verdict
    message: str = ""
    seconds: float = 0.0
    speed: Speed | None = None
    pictures: Pictures | None = None

    def record(self) -> dict[str, Any]:
        """The outcome as JSON has it; absent values are left out."""
        record: dict[str, Any] = {"case": str(self.case), "verdict": str(self.verdict), "seconds": self.seconds}
        if self.message:
            record["message"] = self.message
        if self.speed is not None:
            record["speed"] = asdict(self.speed)
        if self.pictures is not None:
            shown = self.pictures
            files = {name: b64encode(getattr(shown, name)).decode() for name in ("expected", "actual", "difference")}
            record["pictures"] = {**files, "gain": shown.gain}
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The outcome that ``record`` made; trusts it, as a worker's parent may. Reports check theirs first."""
        speed, pictures = record.get("speed"), record.get("pictures")
        if pictures is not None:
            expected, actual, difference = (b64decode(pictures[name]) for name in ("expected", "actual", "difference"))
            pictures = Pictures(expected, actual, difference, pictures["gain"])
        return cls(
            Case.parse(record["case"]),
            Verdict(record["verdict"]),
            record.get("message", ""),
            record["seconds"],
            None if speed is None else Speed(**speed),
            pictures,
        )


@dataclass(frozen=True)
class Aftermath:
    """What went wrong behind a case that had its outcome: messages of the validation layer, or a death.

    case: the one before; None: there was none yet.
    """

    case: Case | None
    verdict: Verdict
    message: str

    def __str__(self) -> str:
        return f"after {self.case or 'the device was open'}: {self.message}"
