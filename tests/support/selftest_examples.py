"""Selftests for tests: the stored files, a part's job, and parts that newer files have and stored ones lack."""

from pathlib import Path

from restride_conformance.record import Outcome, Verdict
from restride_conformance.report import Record
from restride_conformance.report.table import COPY
from restride_measure.own import OURS
from restride_measure.selftest.part import Job
from restride_measure.selftest.speeds import DONE, ONE, STARTED

_HUGE = {"bytes": 10**9, "rounds": 5}

NEWER = (
    Outcome("ci", Verdict.PASSED, group="ci", figures={"selected": 9, "validation": None, "PASSED": 7, "FAILED": 1}),
    Outcome("upload, 1 MiB", Verdict.PASSED, group="transfers", figures={"bytes": 10**6, "numpy": {OURS: 1}}),
    Outcome("upload, 1 GiB", Verdict.PASSED, group="transfers", figures={**_HUGE, "numpy": {OURS: 0.5}}),
    Outcome("download, 1 GiB", Verdict.PASSED, group="transfers", figures={**_HUGE, "numpy": {OURS: 0.25}}),
    Outcome("in place", Verdict.SKIPPED, "the device has memory of its own", group="transfers"),
    Outcome("a plan", Verdict.PASSED, group="calls", figures={STARTED: 15.0, DONE: 20.0, ONE: 31.2}),
    *(
        Outcome(
            f"102 {share}",
            Verdict.PASSED if share < 1 else Verdict.FAILED,
            group="ttc57",
            figures={**_HUGE, "kernel": {OURS: 1, COPY: share}},
        )
        for share in (0.5, 0.8, 1.5)
    ),
    Outcome("filled", Verdict.PASSED, group="large", figures={"bytes": 1 << 33, "windows": 0}),
    Outcome("halved", Verdict.FAILED, group="large", figures={"bytes": 1 << 33, "windows": 2}),
    Outcome("a", Verdict.PASSED, group="cuda", figures={"torch": "2"}),
    Outcome("b", Verdict.FAILED, group="cuda", figures={"torch": "2"}),
)
"""Rows of parts that no stored file of a CPU has."""


def of_part(record: Record, part: str) -> list[Outcome]:
    return [outcome for outcome in record.outcomes if outcome.group == part]


def job(**changes):
    return Job(**{"selector": None, "seconds": 60.0, "is_small": True, "seed": 0, **changes})


DOCS = Path(__file__).resolve().parents[2] / "docs"
FILES = sorted((DOCS / "devices").glob("*.json"))
