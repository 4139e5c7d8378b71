"""The table of selftests, whose files are read as what anyone may have sent."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.selftest_examples import FILES, NEWER

from restride.cli import main
from restride.command.process import UsageError
from restride_conformance.report import Record
from restride_conformance.report.file import write_record
from restride_measure.selftest.table import SHARES, read, table

(STORED,) = [path for path in FILES if path.stem == "llvmpipe"]


@pytest.fixture
def sent(tmp_path):
    def write(record: Record | dict[str, Any] | str) -> Path:
        path = tmp_path / "sent.json"
        if isinstance(record, Record):
            write_record(record, path)
        else:
            path.write_text(record if isinstance(record, str) else json.dumps(record))
        return path

    return write


def changed(**members):
    return json.loads(STORED.read_text()) | members


def with_figures(group, **figures):
    """The stored record, with other figures in a part."""
    return changed(outcomes=[{"case": "x", "verdict": "PASSED", "group": group, "figures": figures}])


@pytest.mark.parametrize(
    "record",
    [
        "",
        "[]",
        "{}",
        "null",
        "[" * 100_000,
        changed(version=2),
        changed(kind="bench"),
        changed(device=[]),
        changed(device={"name": "x"}),
        changed(versions={}),
        changed(options={}),
        with_figures("smoke", validation=None, PASSED="many"),
        with_figures("smoke", PASSED=1),
        with_figures("copy", bytes=1),
        with_figures("copy", bytes=1, kernel={"copy": 0}),
        with_figures("transfers", bytes=1),
        with_figures("calls"),
        with_figures("ttc57"),
        with_figures("kernels", **{"is": 1}),
    ],
)
def test_what_is_no_selftest_is_refused(record, sent, capsys):
    path = sent(record)
    with pytest.raises(UsageError, match=r"sent.json is no file of `restride selftest`"):
        read(path)
    assert main(["selftest", "--table", str(path)]) == 2
    assert "is no file of `restride selftest`" in capsys.readouterr().err


def test_texts_of_a_file_cannot_break_the_table(sent):
    name = "a | b <script>x</script> `c` \\| \n\x1b[31m\u202e end " + "z" * 500
    device = changed()["device"] | {"name": name}
    heading, rule, row = table([read(sent(changed(device=device, processor="| --- |")))]).splitlines()
    assert row.replace("\\|", "").count("|") == heading.count("|") == rule.count("|")
    assert "<script" not in row
    assert "\x1b" not in row
    assert "z" * 100 not in row


def test_a_part_that_did_not_run_leaves_its_cells_empty(sent):
    cells = table([read(sent(changed(device=None, outcomes=[])))]).splitlines()[2].split(" | ")
    assert cells[0] == "| no device"
    assert len([cell for cell in cells if not cell.strip()]) == len(cells) - 3
    small = table([read(sent(changed(options={"small": True})))]).splitlines()[2]
    assert small.count("|  ") >= 1 + len(SHARES)


def test_every_part_has_its_column(sent):
    record = read(STORED)
    path = sent(replace(record, outcomes=(*record.outcomes, *NEWER)))
    rows = [line.split(" | ") for line in table([read(path)]).splitlines()]
    cells = dict(zip(rows[0], rows[2], strict=True))
    assert cells["ci"] == "7 of 8, no validation, 1 FAILED"
    assert cells["up, down, GB/s"] == "2, 4"
    assert cells["call, us"] == "15, 31"
    assert cells["ttc57"] == "0.8 (3, 1 WRONG)"
    assert cells["over 4 GiB"] == "halved WRONG"
    assert cells["CUDA"] == "1 of 2"
