"""Write the record of a test as JUnit XML, in the form that Jenkins, GitLab and the reporters of GitHub Actions read.

https://github.com/testmoapp/junitxml: a suite with counts and properties, and a testcase for each case, which holds a
failure, error or skipped element unless the case passed.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC
from pathlib import Path
from xml.etree import ElementTree as ET

from restride_conformance.record import Outcome, Verdict
from restride_conformance.report import Record, first_line
from restride_conformance.report.file import write_text
from restride_conformance.report.summary import ended_early, facts, op_of

ELEMENTS = {
    Verdict.SKIPPED: "skipped",
    Verdict.MISTRUSTED: "failure",
    Verdict.UNIMPLEMENTED: "failure",
    Verdict.FLAKY: "failure",
    Verdict.FAILED: "failure",
    Verdict.TIMEOUT: "error",
    Verdict.CRASHED: "error",
}
"""The XML element for each verdict; PASSED has none."""

# Characters that an XML document cannot contain, not even as references: https://www.w3.org/TR/xml/#charsets
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(record: Record, path: Path) -> None:
    """Write the record of a test as JUnit XML, as ``write_text`` does."""
    numbers = Counter(map(_kind, record.outcomes))
    counts = {
        "tests": str(len(record.outcomes) + bool(record.broken_off)),
        "failures": str(numbers["failure"]),
        "errors": str(numbers["error"] + bool(record.broken_off)),
        "skipped": str(numbers["skipped"]),
        "time": f"{record.seconds:.3f}",
    }
    root = ET.Element("testsuites", {"name": "restride test", **counts})
    # Times are in UTC and without a zone, the only form that every reader accepts.
    started = record.started.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
    suite = ET.SubElement(root, "testsuite", {"name": _suite_name(record), **counts, "timestamp": started})
    properties = ET.SubElement(suite, "properties")
    known = {**facts(record), "command": record.command, "broken off": record.broken_off}
    for name, value in known.items():
        if value:
            ET.SubElement(properties, "property", {"name": _text(name), "value": _text(value)})
    for outcome in record.outcomes:
        _add_case(suite, record, outcome)
    if record.broken_off:
        _add_end(suite, record)
    ET.indent(root, " ")
    write_text(path, f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n')


def _kind(outcome: Outcome) -> str | None:
    """The XML element of an outcome. As in pytest, a known failure is skipped, and an unexpected pass is a failure."""
    if outcome.is_known:
        return "skipped"
    return ELEMENTS.get(outcome.verdict, None if outcome.is_good else "failure")


def _suite_name(record: Record) -> str:
    return _text(f"restride {record.target.runtime} on {facts(record)['device']}")


def _add_case(suite: ET.Element, record: Record, outcome: Outcome) -> None:
    attributes = {
        "classname": _text(f"restride.{record.target.runtime}.{op_of(outcome)}"),
        "name": _text(outcome.case),
        "time": f"{outcome.seconds:.3f}",
    }
    element = ET.SubElement(suite, "testcase", attributes)
    kind = _kind(outcome)
    if kind is None:
        return
    short = first_line(outcome.reason)
    if outcome.is_known:
        short = f"{outcome.verdict}, as expected: {short}"
    if kind == "skipped":
        ET.SubElement(element, kind, {"message": _text(short)})
        return
    why = _text(f"{outcome.state}: {short}" if short else outcome.state)
    ET.SubElement(element, kind, {"type": outcome.state, "message": why}).text = _text(
        "".join(f"{line}\n" for line in (*record.lead(outcome), outcome.reason, record.repro(outcome)) if line)
    )


def _add_end(suite: ET.Element, record: Record) -> None:
    """Add a testcase with an error for the cases that a run did not reach, so that CI does not take it as complete."""
    attributes = {"classname": _text(f"restride.{record.target.runtime}"), "name": "the whole run", "time": "0.000"}
    element = ET.SubElement(suite, "testcase", attributes)
    why = _text(ended_early(record))
    ET.SubElement(element, "error", {"type": "BROKEN_OFF", "message": why}).text = _text(f"{record.broken_off}\n")


def _text(text: str) -> str:
    """The text with characters that XML forbids escaped: ESC becomes a backslash and ``x1b``."""
    return _FORBIDDEN.sub(lambda character: ascii(character[0])[1:-1], text)
