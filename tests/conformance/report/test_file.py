"""Reports: what they count and say, the file that keeps them, and files that others may have sent."""

import copy
import json
import random
import re
import sys
from dataclasses import asdict, replace
from typing import get_args

import jsonschema
import pytest
from support.devices import open_device
from support.report_examples import PERF, PICTURE, example, many, outcome, wrong_picture

from restride.cli.files import require_places
from restride.cli.process import UsageError
from restride.errors import DescriptorError, UnsupportedError
from restride.runtime import DeviceInfo
from restride_conformance import Case, run_case
from restride_conformance.record import (
    FLUSHED,
    Mode,
    Outcome,
    Pictures,
    Profile,
    ShaderUnderTest,
    Speed,
    Target,
    Verdict,
)
from restride_conformance.report import (
    MESSAGE_CHARACTERS,
    PICTURE_BYTES,
    Report,
    facts,
    headline,
    printable,
    speed_text,
    summary,
)
from restride_conformance.report.file import read_json, report_schema, write_json
from restride_conformance.report.page import write_page


def measured(*speeds, op="reorder"):
    line = {
        "reorder": "reorder u8[{0}] -> u8[{0}]",
        "slice": "slice u8[9] -> u8[{0}] offsets=(0) sizes=({0}) strides=(1)",
    }
    return [
        Outcome(Case.parse(line[op].format(number)), Verdict.PASSED, speed=speed)
        for number, speed in enumerate(speeds, 1)
    ]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "report.json"


@pytest.fixture(scope="module")
def record():
    return json.loads(json.dumps(example().record()))


def refused(path, data):
    """What ``read_json`` says against a file."""
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    with pytest.raises(DescriptorError) as caught:
        read_json(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


# The value.


def test_verdicts_are_counted_mildest_first():
    report = example()
    assert report.counts == {
        Verdict.PASSED: 3,
        Verdict.SKIPPED: 1,
        Verdict.MISTRUSTED: 1,
        Verdict.UNIMPLEMENTED: 1,
        Verdict.FAILED: 2,
        Verdict.TIMEOUT: 1,
        Verdict.CRASHED: 1,
    }
    assert list(report.counts) == list(Verdict)
    assert report.worst is Verdict.CRASHED


def test_what_is_not_right_comes_worst_first_and_then_in_order():
    verdicts = [one.verdict for one in example().bad]
    assert verdicts == ["CRASHED", "TIMEOUT", "FAILED", "FAILED", "UNIMPLEMENTED", "MISTRUSTED"]
    failed = [one for one in example().bad if one.verdict == "FAILED"]
    assert [one.case.op for one in failed] == ["resample", "slice"]


def test_skip_reasons_are_grouped_by_their_first_line():
    skipped = [outcome("SKIPPED", message=message) for message in ("a\nx", "b", "b\ny", "b")]
    assert list(example(outcomes=tuple(skipped)).skip_reasons.items()) == [("b", 3), ("a", 1)]


@pytest.mark.parametrize(
    ("verdicts", "selected", "broken_off", "said"),
    [
        ([], 0, "", "nothing was judged"),
        ([], 3, "interrupted", "INTERRUPTED: 0 of 3 cases done"),
        (["PASSED"], 3, "interrupted", "INTERRUPTED: 1 of 3 cases done, all right"),
        (["PASSED", "SKIPPED"], 3, "interrupted", "INTERRUPTED: 2 of 3 cases done, 1 passed, 1 was skipped"),
        (["PASSED"], 3, "gone\nfor good", "STOPPED: gone; 1 of 3 cases done, all right"),
        (["PASSED"], 1, "gone", "STOPPED: gone; 1 of 1 case done, all right"),
        (["PASSED"], 2, "", "STOPPED: 1 of 2 cases done, all right"),
        (["FAILED"], 2, "interrupted", "FAILED: 1 of 1 case is not right (1 FAILED); interrupted after 1 of 2"),
        (["FAILED"], 2, "gone", "FAILED: 1 of 1 case is not right (1 FAILED); stopped after 1 of 2: gone"),
        (["PASSED"], 1, "", "PASSED: 1 case, all right"),
        (["PASSED"] * 1200, 1200, "", "PASSED: 1,200 cases, all right"),
        (["PASSED", "SKIPPED"], 2, "", "PASSED: 1 of 2 cases passed, 1 was skipped"),
        (["SKIPPED"] * 2, 2, "", "SKIPPED: 0 of 2 cases passed, 2 were skipped"),
        (["PASSED", "FAILED"], 4, "", "FAILED: 1 of 2 cases is not right (1 FAILED); stopped after 2 of 4"),
        (
            ["PASSED", *["FAILED"] * 2, *["SKIPPED"] * 3],
            6,
            "",
            "FAILED: 2 of 3 that ran are not right (2 FAILED), 3 were skipped",
        ),
        (["MISTRUSTED"], 1, "", "MISTRUSTED: 1 of 1 case is not right (1 MISTRUSTED)"),
        (["FAILED", "CRASHED", "FAILED"], 3, "", "CRASHED: 3 of 3 cases are not right (2 FAILED, 1 CRASHED)"),
    ],
)
def test_the_headline_says_the_worst_verdict_and_how_far_the_run_came(verdicts, selected, broken_off, said):
    outcomes = tuple(outcome(verdict) for verdict in verdicts)
    assert headline(example(outcomes=outcomes, selected=selected, broken_off=broken_off)) == said


def test_the_summary_has_each_failure_with_its_command_and_no_control_characters():
    text = summary(example())
    for one in example().bad:
        assert f"{one.verdict} {one.case}\n" in text
        assert f"    {example().target.repro(one.case)}\n" in text
    assert "\\x1b[31m" in text
    assert not set(text) & {*map(chr, range(32)), "\x7f", "\u2028"} - {"\n"}
    assert "1  strided_copy_32 takes no part in it" in text
    assert "llvmpipe (LLVM 15.0.6, 256 bits) (cpu), llvmpipe Mesa 22.3.6" in text
    assert text.splitlines()[-1].startswith("CRASHED: 6 of 9 that ran are not right (1 MISTRUSTED, 1 UNIMPL")


def test_the_summary_says_where_denormals_were_taken_for_zeros():
    outcomes = (outcome("PASSED", message=f"2 of 9 elements are {FLUSHED}"), outcome("PASSED"))
    said = "passed with elements as on a device that takes denormals of f32 for zeros: 1 case\n"
    assert said in summary(example(outcomes=outcomes, selected=2))
    assert FLUSHED not in summary(example(outcomes=outcomes[1:], selected=1))


def test_the_summary_of_many_failures_is_short():
    failures = tuple(outcome("FAILED", message="line\n" * 1000) for _ in range(5000))
    text = summary(example(outcomes=failures, selected=5000))
    assert len(text.splitlines()) < 300
    assert "... and 992 more lines" in text
    assert "... and 4,980 more that are not right; `restride test --lf` runs them again" in text
    shader = ShaderUnderTest("my.comp", "strided_copy_32", "my.spv")
    text = summary(example(outcomes=failures, selected=5000, target=Target(shader=shader)))
    assert "... and 4,980 more that are not right\n" in text


def test_the_commands_of_a_report_rerun_its_mode():
    assert "--mode bitwise" in summary(example(mode="bitwise"))
    assert "--mode" not in summary(example())


def test_a_text_that_turns_its_direction_is_written_out():
    turned = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    assert printable(f"a{turned}b\u2027\u202f\u206a") == f"a{ascii(turned)[1:-1]}b\u2027\u202f\u206a"


def test_no_version_stands_for_another_fact():
    report = example(versions={"device": "mine", "mode": "perf", "numpy": "2"})
    assert facts(report) == facts(example(versions={})) | {"numpy": "2"}


@pytest.mark.parametrize(
    ("speed", "text"),
    [
        (Speed(2e-4, 9.314, 0.8721), "0.200 ms 9.31 GB/s 87.2% of copy"),
        (Speed(1.23456, 0.1, 1.034), "1,235 ms 0.100 GB/s 103% of copy"),
        (Speed(9.876e-5, 0.0123, 0.00456), "98.8 us 12.3 MB/s 0.456% of copy"),
        (Speed(1e-4, 1e-5, 0), "0.100 ms 0.0100 MB/s 0% of copy"),
        (Speed(1e-12, 1e-300, 1e-300), "0.000001 us 0.000000 MB/s 0.000000% of copy"),
    ],
)
def test_a_speed_has_three_digits_and_units_that_fit(speed, text):
    assert " ".join(speed_text(speed).split()) == text


def test_the_summary_of_speeds_has_medians():
    assert "3 cases  reorder      0.200 ms     90.0 MB/s   50.0% of copy\n" in summary(PERF)


def test_medians_leave_out_what_moves_little():
    small, large = Speed(1e-5, 0.01, 0.01), Speed(1e-3, 5.0, 0.5)
    lines = summary(example(outcomes=(*measured(small, small, large), *measured(small, op="slice")))).splitlines()
    (reorders,) = [line for line in lines if "  reorder  " in line]
    assert " ".join(reorders.split()) == (
        "1 case reorder 1.00 ms 5.00 GB/s 50.0% of copy (2 that move less than 64 KiB left out)"
    )
    (slices,) = [line for line in lines if "  slice  " in line]
    assert slices.endswith("% of copy")


def test_messages_and_pictures_are_kept_within_bounds():
    long = outcome("FAILED", message="x" * (MESSAGE_CHARACTERS + 5))
    assert len(example(outcomes=(long,)).outcomes[0].message) == MESSAGE_CHARACTERS
    assert example(outcomes=(long,)).outcomes[0].message.endswith("more characters")
    picture = Pictures(b"x" * (PICTURE_BYTES // 4), b"", b"", 1)
    drawn = example(outcomes=(replace(wrong_picture(), pictures=picture),) * 6).outcomes
    assert [one.pictures is not None for one in drawn] == [True] * 4 + [False] * 2


# The file.


@pytest.mark.parametrize(
    "report",
    [
        example(),
        PERF,
        example(outcomes=(), broken_off="interrupted"),
        example(mode="bitwise", broken_off="no worker process opens the device"),
        example(target=Target(validate="sync", driver="/x.json", shader=ShaderUnderTest("a.comp", "b", "/c.spv"))),
    ],
)
def test_what_is_written_is_read_back_and_fits_the_schema(report, path):
    write_json(report, path)
    assert read_json(path) == report
    jsonschema.validate(json.loads(path.read_bytes()), report_schema(), cls=jsonschema.Draft202012Validator)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_real_run_is_written_and_read_back(path):
    lines = ("reorder u8[2,3]{1,0} -> u8[2,3]{0,1}", "resample f32[2,7,9] -> f32[2,5,4] mode=linear")
    with open_device("vulkan") as device:
        outcomes = tuple(run_case(Case.parse(line), device) for line in lines)
        report = example(outcomes=outcomes, selected=2, device=asdict(device.info))
    write_json(report, path)
    jsonschema.validate(json.loads(path.read_bytes()), report_schema(), cls=jsonschema.Draft202012Validator)
    back = read_json(path)
    assert back.outcomes == outcomes
    assert [one.verdict for one in back.outcomes] == ["PASSED", "PASSED"]
    assert back.device["limits"]["max_group_count"] == list(device.info.limits.max_group_count)
    assert back.device["name"] in summary(back)


def test_a_file_that_cannot_be_replaced_stays_whole(path):
    write_json(PERF, path)
    bad = example(outcomes=(Outcome(PICTURE, Verdict.PASSED, seconds=float("nan")),))
    with pytest.raises(ValueError, match="JSON"):
        write_json(bad, path)
    assert read_json(path) == PERF
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("place", ["", "none/report.json"])
def test_a_place_that_takes_no_file_is_named(tmp_path, place):
    for action in (lambda target: write_json(example(), target), require_places):
        with pytest.raises(UsageError, match=r"cannot write .*: "):
            action(tmp_path / place)
    require_places(tmp_path / "report.json")


def test_a_link_is_followed(tmp_path, path):
    (tmp_path / "link.json").symlink_to(path)
    write_json(PERF, tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert read_json(path) == PERF


def test_a_name_that_is_no_text_is_written_as_text(path):
    write_json(example(command="restride test \udcff.txt"), path)
    assert read_json(path).command == "restride test ?.txt"


# What others may have sent.


def test_what_is_no_file_is_named(tmp_path):
    for place in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(UsageError, match=r"cannot read .*: (not a file|no such file)"):
            read_json(place)


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
def test_what_is_no_report_is_refused_with_the_reason(path, data, said):
    message = refused(path, data)
    assert re.search(said, message), message
    assert len(message) < 500


def test_a_file_that_is_too_long_is_not_read_to_its_end(path, monkeypatch):
    monkeypatch.setattr("restride_conformance.report.file.MOST_BYTES", 100)
    path.write_bytes(b" " * 101)
    with pytest.raises(UsageError, match=rf"{path.name} has more than 100 bytes"):
        read_json(path)


def test_more_outcomes_than_a_report_may_have_are_refused_unread(path, record):
    most = report_schema()["properties"]["outcomes"]["maxItems"]
    message = refused(path, record | {"outcomes": [0] * (most + 1)})
    assert re.search(r"outcomes: \[0, 0, .* is too long", message)
    assert "outcomes[0]: 0 is not of type 'object'" in refused(path, record | {"outcomes": [0] * most})


@pytest.mark.parametrize("member", ["command", "platform"])
def test_halves_of_surrogate_pairs_are_refused_and_pairs_are_read(path, record, member):
    assert f"{member!r} must have no half of a surrogate pair" in refused(path, record | {member: "\ud83d!"})
    path.write_text(json.dumps(record | {member: "\U0001f600 \\ud83d"}))
    assert getattr(read_json(path), member) == "\U0001f600 \\ud83d"


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
        ("mode", "fast", r"mode: 'fast' is not one of \['correctness', 'bitwise', 'perf'\]"),
        ("mode", [], r"mode: \[\] is not one of"),
        ("catalogues", "smoke", "catalogues: 'smoke' is not of type 'array'"),
        ("target.validate", "other", "target.validate: 'other' is not one of"),
        ("target.shader", {}, "target.shader: 'source' is a required property"),
        ("target.extra", 1, r"target: Additional properties are not allowed \('extra' was unexpected\)"),
        ("device.limits.depth", [[1]], r"device.limits.depth\[0\]: \[1\] is not of type 'string', 'number'"),
        ("device.name", "x" * 5000, "device.name: 'xxx.*x' is too long"),
        ("versions", None, "versions: None is not of type 'object'"),
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


@pytest.mark.parametrize("name", sorted(report_schema()["required"]))
def test_a_missing_member_is_named(path, record, name):
    message = refused(path, {key: value for key, value in record.items() if key != name})
    assert name in message


def _damaged(data, rng):
    """The file as a bad disk, a bad wire or a bad editor leaves it."""
    kind = rng.randrange(5)
    place = rng.randrange(len(data))
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
    if kind == 2:
        return data[:place] + bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9))) + data[place:]
    if kind == 3:
        return data[:place] + data[rng.randrange(len(data)) :]
    word = rng.choice([b"null", b"[]", b"{}", b"-1", b"1e308", b'""', b"true", b"NaN", b"[" * 5000, b"9" * 5000])
    begin = data.find(b":", place)
    end = min((found for found in (data.find(mark, begin) for mark in b",}") if found > 0), default=len(data))
    return data[: begin + 1] + word + data[end:]


def test_a_thousand_damaged_files_are_read_or_refused_and_nothing_else(path):
    small = example(outcomes=tuple(replace(one, pictures=None) for one in example().outcomes))
    reports = (small, PERF, example(outcomes=example().outcomes[3:4]))
    files = [json.dumps(report.record()).encode() for report in reports]
    rng = random.Random(7)
    refusals = 0
    for number in range(1000):
        path.write_bytes(_damaged(files[number % 3], rng))
        try:
            report = read_json(path)
        except DescriptorError:
            refusals += 1
            continue
        # A flipped bit in a message or a number passes; what was read can then be used.
        assert isinstance(report, Report)
        summary(report)
        write_json(report, path)
        assert read_json(path) == report
    assert 500 < refusals < 1000


# The schema, and what the values say a second time.


def test_without_jsonschema_the_extra_is_named(path, record, monkeypatch):
    path.write_text(json.dumps(record))
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'restride\[report\]'"):
        read_json(path)


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
    jsonschema.Draft202012Validator.check_schema(report_schema())
    for part in _schemas(report_schema()):
        assert "properties" not in part or "additionalProperties" in part
        assert part.get("$ref", "#/$defs/text").removeprefix("#/$defs/") in report_schema()["$defs"]


def test_the_schema_and_the_values_have_the_same_members():
    defs = report_schema()["$defs"]
    assert set(report_schema()["properties"]) == set(report_schema()["required"]) == set(example().record())
    assert set(defs["target"]["properties"]) == set(asdict(Target()))
    assert set(defs["shader"]["properties"]) == set(asdict(ShaderUnderTest("", "", "")))
    assert set(defs["speed"]["properties"]) == set(asdict(Speed(0, 0, 0)))
    assert set(defs["pictures"]["properties"]) == set(asdict(Pictures(b"", b"", b"", 1)))
    assert set(defs["device"]["required"]) <= set(DeviceInfo.__dataclass_fields__)
    full = Outcome(PICTURE, Verdict.FAILED, "x", 1.0, Speed(0, 0, 0), wrong_picture().pictures)
    assert set(defs["outcome"]["properties"]) == set(full.record())
    assert defs["outcome"]["properties"]["verdict"]["enum"] == list(Verdict)
    assert defs["outcome"]["properties"]["message"]["maxLength"] == MESSAGE_CHARACTERS
    assert tuple(report_schema()["properties"]["mode"]["enum"]) == get_args(Mode)
    assert (*get_args(Profile), None) == tuple(defs["target"]["properties"]["validate"]["enum"])


def test_twenty_thousand_cases_are_written_and_read(path):
    report = example(outcomes=many(20_000), selected=20_000)
    write_json(report, path)
    assert read_json(path) == report
    assert len({str(one.case) for one in report.outcomes}) > 15_000


def test_the_page_has_one_row_for_what_a_type_becomes(tmp_path):
    lines = ["reorder u8[4] -> f32[4]", "reorder u8[4] -> s8[4]", "reorder f32[4] -> u8[4]", "reorder u8[4] -> u8[4]"]
    outcomes = tuple(Outcome(Case.parse(line), Verdict.PASSED) for line in lines)
    write_page(example(outcomes=outcomes, selected=4), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '"types":["u8","u8 to others","f32 to others"]' in page
