"""The table of selftests, whose files are read as what anyone may have sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.selftest_examples import FILES, NEWER

from restride.cli import main
from restride.command.process import UsageError
from restride_measure.selftest.table import MAX, SHARES, read, table


def stored() -> dict[str, object]:
    return json.loads(FILES[0].read_text())


@pytest.fixture
def sent(tmp_path):
    def write(record: object) -> Path:
        path = tmp_path / "sent.json"
        path.write_text(record if isinstance(record, str) else json.dumps(record))
        return path

    return write


def changed(**fields):
    return {**stored(), **fields}


@pytest.mark.parametrize(
    "record",
    [
        "",
        "[]",
        "{}",
        "null",
        "[" * 100_000,
        '{"format": ' + "1" * 5000 + "}",
        changed(version=1),
        changed(format="restride-benchmark"),
        changed(device=[]),
        changed(device={"name": "x"}),
        changed(smoke={"counts": {"PASSED": "many"}, "validation": None}),
        changed(speed={"measures": [], "workloads": []}),
        changed(copy={"bytes": 1, "seconds": 0}),
        changed(copy={"bytes": 1e999, "seconds": 1}),
        changed(transfers={"arrays": []}),
        changed(calls={"calls": [{}]}),
        changed(ttc57={"transpositions": []}),
        changed(ttc57={"transpositions": [{"share": "much", "right": True}]}),
        changed(large={"wrong": []}),
        changed(cuda={"claims": 1}),
        changed(kernels={"usual": 1, "faster": 2}),
    ],
)
def test_what_is_no_selftest_is_refused(record, sent, capsys):
    path = sent(record)
    with pytest.raises(UsageError, match=r"sent.json is no file of `restride selftest`"):
        read(path)
    assert main(["selftest", "--table", str(path)]) == 2
    assert "is no file of `restride selftest`" in capsys.readouterr().err


def test_a_file_that_is_too_long_or_absent_is_refused(sent, tmp_path):
    with pytest.raises(UsageError, match=f"has more than {MAX} bytes"):
        read(sent(json.dumps(stored()) + " " * MAX))
    with pytest.raises(UsageError):
        read(tmp_path / "none.json")


def test_texts_of_a_file_cannot_break_the_table(sent):
    record = stored()
    record["device"]["name"] = "a | b <script>x</script> `c` \\| \n\x1b[31m\u202e end " + "z" * 500
    record["processor"] = "| --- |"
    heading, rule, row = table([read(sent(record))]).splitlines()
    assert row.replace("\\|", "").count("|") == heading.count("|") == rule.count("|")
    assert "<script" not in row
    assert "\x1b" not in row
    assert "z" * 100 not in row


def test_a_part_that_did_not_run_leaves_its_cells_empty(sent):
    record = changed(device=None, smoke=None, copy=None, kernels=None, speed=None)
    cells = table([read(sent(record))]).splitlines()[2].split(" | ")
    assert cells[0] == "| no device"
    assert len([cell for cell in cells if not cell.strip()]) == len(cells) - 3
    small = table([read(sent(changed(small=True)))]).splitlines()[2]
    assert small.count("|  ") >= 1 + len(SHARES)


def test_every_part_has_its_column(sent):
    rows = [line.split(" | ") for line in table([read(sent(changed(**NEWER)))]).splitlines()]
    cells = dict(zip(rows[0], rows[2], strict=True))
    assert cells["ci"] == "7 of 8, no validation, 1 FAILED"
    assert cells["up, down, GB/s"] == "2, 4"
    assert cells["call, us"] == "15, 31"
    assert cells["ttc57"] == "0.8 (3, 1 WRONG)"
    assert cells["over 4 GiB"] == "halved WRONG"
    assert cells["CUDA"] == "1 of 2"


def test_workloads_that_there_was_no_time_for_leave_their_cells_empty(sent):
    speed = stored()["speed"]
    record = changed(speed={**speed, "workloads": speed["workloads"][:2]})
    assert table([read(sent(record))]).splitlines()[2].count("|  ") > table([stored()]).splitlines()[2].count("|  ")
