"""Write records to JSON files atomically, and read them as untrusted input.

Reading needs the package jsonschema, which checks a record against ``record.schema.json``.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

from restride.command.files import read_bounded, write_whole
from restride.errors import DescriptorError, UnsupportedError, installing
from restride_conformance.case import Case
from restride_conformance.record import Outcome
from restride_conformance.report import FORMAT, VERSION, Record, RecordKind

MAX_BYTES = 48 << 20
"""Maximum size of a file to read, in bytes: enough for 150,000 cases with all pictures that a record keeps, or for
200,000 cases, the limit of a record, which take about a minute to read.
"""


def write_record(record: Record, path: Path) -> None:
    """Write the record as JSON; ``write_text`` says how."""
    write_text(path, json_text(record))


def json_text(record: Record) -> str:
    """The record as JSON, an outcome on each line, which a diff shows alone."""
    values = record.values()
    outcomes = ",\n".join(map(_line, values.pop("outcomes")))
    members = [f"{_line(name)}: {_line(value)}" for name, value in values.items()]
    return "{\n" + ",\n".join([*members, f'"outcomes": [\n{outcomes}\n]']) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def read_record(path: Path, kind: RecordKind | None = None) -> Record:
    """Read a record from a file that ``write_record`` wrote, of one kind or of any.

    Raises:
        UsageError: no such file, or it has more than ``MAX_BYTES``.
        DescriptorError: the file is no such record; the message says what is wrong, and where.
        UnsupportedError: jsonschema is not installed.
    """
    data = read_bounded(path, MAX_BYTES)
    try:
        return _record(data, kind)
    except DescriptorError as error:
        raise DescriptorError(f"{path} is no record of a run: {error}") from error


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` atomically: an existing file stays intact until the new one is complete.

    Raises:
        UsageError: the file cannot be written.
    """
    write_whole(path, text.encode("utf-8", "replace"))  # file names in it may hold bytes that are not text


@cache
def schema() -> Mapping[str, Any]:
    """The JSON Schema of records."""
    text = (files(__package__) / "record.schema.json").read_text(encoding="utf-8")
    parsed: Mapping[str, Any] = json.loads(text)
    return parsed


def _record(data: bytes, kind: RecordKind | None) -> Record:
    record = _parsed(data)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise DescriptorError(f'it does not begin with "format": "{FORMAT}"')
    if record.get("version") != VERSION:
        shown = reprlib.repr(record.get("version"))
        raise DescriptorError(f"version must be {VERSION}, which this restride reads, is {shown}")
    if kind not in (None, record.get("kind")):
        raise DescriptorError(f"kind must be {kind}, is {reprlib.repr(record.get('kind'))}")
    _require_schema(record)
    try:
        datetime.fromisoformat(record["started"]).astimezone(UTC)  # its year may be before 1 or after 9999
    except (ValueError, OverflowError) as error:
        raise DescriptorError(f"started {record['started']!r}: {error}") from error
    return Record.from_values(record, _outcomes(record["kind"], record["outcomes"]))


def _require_schema(record: dict[str, Any]) -> None:
    try:
        import jsonschema
    except ImportError as error:
        raise UnsupportedError(
            f"to check a record, restride needs the package jsonschema: {installing('report')}"
        ) from error
    for name, value in record.items():
        # JSON can escape half of a surrogate pair, which nothing can print afterwards.
        text = json.dumps([name, value], ensure_ascii=False)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            shown = ascii(text[max(0, error.start - 20) : error.start + 20])
            raise DescriptorError(f"{name[:80]!a} must have no half of a surrogate pair, is {shown}") from error
    for wrong in jsonschema.Draft202012Validator(schema()).iter_errors(record):
        message = wrong.message  # it begins with the wrong value and ends with the broken rule
        shown = message if len(message) <= 400 else f"{message[:200]} ... {message[-200:]}"
        raise DescriptorError(f"{wrong.json_path.removeprefix('$.')[:120]}: {shown}")


def _outcomes(kind: RecordKind, records: list[Any]) -> Iterator[Outcome]:
    for index, record in enumerate(records):
        try:
            if kind == "test":
                Case.parse(record["case"])
            yield Outcome.from_record(record)
        except (DescriptorError, UnsupportedError) as error:
            raise DescriptorError(f"outcomes[{index}].case: {error}") from error
        except ValueError as error:  # invalid base64
            raise DescriptorError(f"outcomes[{index}].pictures: {error}") from error


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(
            data.decode("utf-8"), object_pairs_hook=_unique_members, parse_constant=_no_number, parse_float=_finite
        )
    except RecursionError as error:
        raise DescriptorError("it is nested too deeply") from error
    except DescriptorError:
        raise
    except ValueError as error:  # invalid JSON or UTF-8, or an integer with thousands of digits
        raise DescriptorError(f"it is no JSON: {error}") from error


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise DescriptorError(f"the member {twice[:80]!r} is given twice")
    return members


def _no_number(word: str) -> NoReturn:
    raise DescriptorError(f"{word} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise DescriptorError(f"the number {text[:80]} is too large")
    return number
