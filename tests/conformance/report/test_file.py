"""Reports: what they count and say, the file that keeps them, and files that others may have sent."""

import copy
import json
import re
import sys
from dataclasses import asdict, fields
from typing import get_args

import jsonschema
import pytest
from support.devices import open_device
from support.report_examples import PERF, PICTURE, example, many

from restride.command.files import require_places
from restride.command.process import UsageError
from restride.errors import DescriptorError, UnsupportedError
from restride.runtime import DeviceInfo
from restride_conformance import Case, run_case
from restride_conformance.record import (
    Outcome,
    Pictures,
    RunMode,
    ShaderUnderTest,
    Speed,
    Target,
    ValidationProfile,
    Verdict,
)
from restride_conformance.report import MESSAGE_CHARACTERS, Record, RecordKind
from restride_conformance.report.file import json_text, read_record, schema, write_record
from restride_conformance.report.summary import summary
from restride_conformance.report.table import MEASURES


@pytest.fixture
def path(tmp_path):
    return tmp_path / "report.json"


@pytest.fixture(scope="module")
def record():
    return json.loads(json_text(example()))


def refused(path, data):
    """What ``read_record`` says against a file."""
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    with pytest.raises(DescriptorError) as caught:
        read_record(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


# The file.


@pytest.mark.parametrize(
    "report",
    [
        example(),
        PERF,
        example(outcomes=(), broken_off="interrupted"),
        example(
            target=Target(repeat=20, replay=5, under_load=True, in_batch=True),
            broken_off="no worker process opens the device",
        ),
        example(target=Target(validate="sync", driver="/x.json", shader=ShaderUnderTest("a.comp", "b", "/c.spv"))),
    ],
)
def test_what_is_written_is_read_back_and_fits_the_schema(report, path):
    write_record(report, path)
    assert read_record(path) == report
    jsonschema.validate(json.loads(path.read_bytes()), schema(), cls=jsonschema.Draft202012Validator)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_report_from_before_an_option_has_its_default(path, record):
    record = copy.deepcopy(record)
    for name in ("groups", "repeat", "replay", "under_load", "in_batch"):
        del record["options"][name]
    path.write_text(json.dumps(record))
    assert read_record(path).target == example().target
    assert summary(read_record(path)) == summary(example())


def test_a_real_run_is_written_and_read_back(path):
    lines = ("reorder u8[2,3]{1,0} -> u8[2,3]{0,1}", "resample f32[2,7,9] -> f32[2,5,4] mode=linear")
    with open_device("vulkan") as device:
        outcomes = tuple(run_case(Case.parse(line), device) for line in lines)
        report = example(outcomes=outcomes, selected=2, device=asdict(device.info))
    write_record(report, path)
    jsonschema.validate(json.loads(path.read_bytes()), schema(), cls=jsonschema.Draft202012Validator)
    back = read_record(path)
    assert back.outcomes == outcomes
    assert [one.verdict for one in back.outcomes] == ["PASSED", "PASSED"]
    assert back.device["limits"]["max_group_count"] == list(device.info.limits.max_group_count)
    assert back.device["name"] in summary(back)


def test_a_file_that_cannot_be_replaced_stays_whole(path):
    write_record(PERF, path)
    bad = example(outcomes=(Outcome(str(PICTURE), Verdict.PASSED, seconds=float("nan")),))
    with pytest.raises(ValueError, match="JSON"):
        write_record(bad, path)
    assert read_record(path) == PERF
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("place", ["", "none/report.json"])
def test_a_place_that_takes_no_file_is_named(tmp_path, place):
    for action in (lambda target: write_record(example(), target), require_places):
        with pytest.raises(UsageError, match=r"cannot write .*: "):
            action(tmp_path / place)
    require_places(tmp_path / "report.json")


def test_a_name_that_is_no_text_is_written_as_text(path):
    write_record(example(command="restride test \udcff.txt"), path)
    assert read_record(path).command == "restride test ?.txt"


# What others may have sent.


def test_paths_that_are_no_file_are_named(tmp_path):
    for place in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(UsageError, match=r"cannot read .*: (not a file|no such file)"):
            read_record(place)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no JSON: Expecting value"),
        (b"{", "no JSON: .*line 1 column 2"),
        (b"\xff\xfe{}", "no JSON: 'utf-8' codec"),
        (b"[]", 'does not begin with "format"'),
        (b'{"format": "other"}', 'does not begin with "format"'),
        (b"[" * 1_000_000, "nested too deeply"),
        (b'{"a":' * 1_000_000, "nested too deeply"),
        (b"[" + b"9" * 10_000 + b"]", "no JSON: .*digits"),
        (b'{"a": NaN}', "NaN is no number"),
        (b'{"a": -Infinity}', "-Infinity is no number"),
        (b'{"a": 1e999}', "1e999 is too large"),
        (b'{"a": 1, "b": 2, "a": 1}', "'a' is given twice"),
    ],
)
def test_files_that_are_no_report_are_refused_with_the_reason(path, data, said):
    message = refused(path, data)
    assert re.search(said, message), message
    assert len(message) < 500


def test_a_file_that_is_too_long_is_not_read_to_its_end(path, monkeypatch):
    monkeypatch.setattr("restride_conformance.report.file.MAX_BYTES", 100)
    path.write_bytes(b" " * 101)
    with pytest.raises(UsageError, match=rf"{path.name}: it has more than 100 bytes"):
        read_record(path)


def test_more_outcomes_than_a_report_may_have_are_refused_unread(path, record):
    most = schema()["properties"]["outcomes"]["maxItems"]
    message = refused(path, record | {"outcomes": [0] * (most + 1)})
    assert re.search(r"outcomes: \[0, 0, .* is too long", message)
    assert "outcomes[0]: 0 is not of type 'object'" in refused(path, record | {"outcomes": [0] * most})


@pytest.mark.parametrize("member", ["command", "platform"])
def test_halves_of_surrogate_pairs_are_refused_and_pairs_are_read(path, record, member):
    assert f"{member!r} must have no half of a surrogate pair" in refused(path, record | {member: "\ud83d!"})
    path.write_text(json.dumps(record | {member: "\U0001f600 \\ud83d"}))
    assert getattr(read_record(path), member) == "\U0001f600 \\ud83d"


def test_a_name_with_half_of_a_surrogate_pair_is_refused(path, record):
    assert "'versions' must have no half of a surrogate pair, is" in refused(
        path, record | {"versions": {"\ud800": "1"}}
    )


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("version", 2, "version must be 1, which this restride reads, is 2"),
        ("version", True, "version: True is not of type 'integer'"),
        ("version", None, "version must be 1"),
        ("seconds", "12", "seconds: '12' is not of type 'number'"),
        ("seconds", True, "seconds: True is not of type 'number'"),
        ("seconds", -1, "seconds: -1 is less than the minimum of 0"),
        ("seconds", 10**400, "seconds: 1000.* is greater than the maximum of 1000000000000"),
        ("started", "yesterday", "started: 'yesterday' does not match"),
        ("started", "2025-13-01T00:00:00Z", "started '2025-13-01T00:00:00Z': "),
        ("started", "0001-01-01T00:00:00+05:30", "started '0001-01-01T00:00:00.05:30': "),
        ("started", "9999-12-31T23:59:59-01:00", "started '9999"),
        ("broken_off", True, "broken_off: True is not of type 'string'"),
        ("options.mode", "fast", r"options.mode: 'fast' is not one of \['correctness', 'perf'\]"),
        ("options.mode", [], r"options.mode: \[\] is not one of"),
        ("options.repeat", 0, "options.repeat: 0 is less than the minimum of 1"),
        ("options.catalogues", "smoke", "options.catalogues: 'smoke' is not of type 'array'"),
        ("options.validate", "other", "options.validate: 'other' is not one of"),
        ("options.shader", {}, "options.shader: 'source' is a required property"),
        ("options.extra", 1, r"options: Additional properties are not allowed \('extra' was unexpected\)"),
        ("device.limits.depth", [[1]], r"device.limits.depth\[0\]: \[1\] is not of type 'string', 'number'"),
        ("device.name", "x" * 5000, "device.name: 'xxx.*x' is too long"),
        ("versions", None, "versions: None is not of type 'object'"),
        ("device", None, "device: None is not of type 'object'"),
        ("kind", "walk", "kind: 'walk' is not one of"),
        ("outcomes", {}, "outcomes: {} is not of type 'array'"),
        ("outcomes.3", 7, r"outcomes\[3\]: 7 is not of type 'object'"),
        ("outcomes.0.verdict", "GOOD", r"outcomes\[0\].verdict: 'GOOD' is not one of \['PASSED'"),
        ("outcomes.2.case", "copy it", r"outcomes\[2\].case: a case is written"),
        ("outcomes.2.case", "copy f32[2] -> f32[2]", r"outcomes\[2\].case: operation 'copy' is unknown"),
        ("outcomes.3.pictures.gain", 0, r"outcomes\[3\].pictures.gain: 0 is less than the minimum of 1"),
        ("outcomes.3.pictures.actual", "iVBORw0KGgo", r"outcomes\[3\].pictures: .*padding"),
        ("outcomes.3.pictures.actual", "javascript:1", r"outcomes\[3\].pictures.actual: 'javascript:1' does not match"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(path, record, place, value, said):
    changed = copy.deepcopy(record)
    *folders, name = place.split(".")
    holder = changed
    for folder in folders:
        holder = holder[int(folder)] if isinstance(holder, list) else holder[folder]
    holder[int(name) if isinstance(holder, list) else name] = value
    message = refused(path, changed)
    assert re.search(said, message), message
    assert len(message) < 600


@pytest.mark.parametrize("name", sorted(schema()["required"]))
def test_a_missing_member_is_named(path, record, name):
    message = refused(path, {key: value for key, value in record.items() if key != name})
    assert name in message


# The schema, and what the values say a second time.


def test_without_jsonschema_the_extra_is_named(path, record, monkeypatch):
    path.write_text(json.dumps(record))
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(UnsupportedError, match=r"pip install '\.\[report\]'"):
        read_record(path)


def _schemas(part):
    """Every schema within a schema."""
    yield part
    for name in ("properties", "$defs"):
        for inner in part.get(name, {}).values():
            yield from _schemas(inner)
    for name in ("items", "additionalProperties"):
        if isinstance(part.get(name), dict):
            yield from _schemas(part[name])


def test_every_object_of_the_schema_refuses_unknown_names_and_every_reference_leads_somewhere():
    jsonschema.Draft202012Validator.check_schema(schema())
    for part in _schemas(schema()):
        assert "properties" not in part or "additionalProperties" in part
        assert part.get("$ref", "#/$defs/text").removeprefix("#/$defs/") in schema()["$defs"]


def test_the_schema_and_the_values_have_the_same_members():
    defs, members = schema()["$defs"], schema()["properties"]
    assert set(members) == {"format", "version", *(each.name for each in fields(Record))}
    assert set(schema()["required"]) <= set(json.loads(json_text(example())))
    assert set(members["kind"]["enum"]) == {*get_args(RecordKind)}
    assert set(defs["test"]["properties"]) == {"mode", "catalogues", *asdict(Target())}
    assert set(defs["shader"]["properties"]) == set(asdict(ShaderUnderTest("", "", "")))
    assert set(defs["speed"]["properties"]) == set(asdict(Speed(0, 0, 0)))
    assert set(defs["pictures"]["properties"]) == set(asdict(Pictures(b"", b"", b"", 1)))
    assert set(defs["device"]["required"]) <= set(DeviceInfo.__dataclass_fields__)
    assert set(defs["outcome"]["properties"]) == {each.name for each in fields(Outcome)}
    assert set(defs["measure"]["enum"]) == {*MEASURES} <= set(defs["figures"]["properties"])
    assert defs["outcome"]["properties"]["verdict"]["enum"] == list(Verdict)
    assert defs["message"]["maxLength"] == members["broken_off"]["maxLength"] == MESSAGE_CHARACTERS
    assert tuple(defs["test"]["properties"]["mode"]["enum"]) == get_args(RunMode)
    assert (*get_args(ValidationProfile), None) == tuple(defs["test"]["properties"]["validate"]["enum"])


def test_twenty_thousand_cases_are_written_and_read(path):
    report = example(outcomes=many(20_000), selected=20_000)
    write_record(report, path)
    assert read_record(path) == report
    assert len({one.case for one in report.outcomes}) > 15_000
