"""docs/devices.md: its table is that of the stored selftests, which are read as what anyone may have sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.selftest_examples import NEWER

from restride.cli import main
from restride.cli.process import UsageError
from restride_measure.selftest.nameless import NAME, PATH
from restride_measure.selftest.parts import GRACE, PARTS, TOTAL
from restride_measure.selftest.table import LARGEST, SHARES, read, table

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "devices.md"
FILES = sorted((DOCS / "devices").glob("*.json"))


def stored() -> dict[str, object]:
    return json.loads(FILES[0].read_text())


@pytest.fixture
def sent(tmp_path):
    def write(record: object) -> Path:
        path = tmp_path / "sent.json"
        path.write_text(record if isinstance(record, str) else json.dumps(record))
        return path

    return write


def test_the_page_has_the_table_of_the_files(capsys):
    _, _, rest = PAGE.read_text().partition("<!-- devices: restride selftest --table docs/devices/*.json -->\n\n")
    shown, end, _ = rest.partition("\n\n<!-- end of devices -->")
    assert end
    assert main(["selftest", "--table", *map(str, FILES)]) == 0
    assert shown == capsys.readouterr().out.rstrip("\n"), "put this table into docs/devices.md"
    devices = "".join(line.split("|")[1] for line in shown.splitlines())
    assert "llvmpipe" in devices
    assert "SwiftShader" in devices


def test_the_page_names_the_workloads_of_its_columns():
    text = " ".join(PAGE.read_text().split())
    assert all(f"`{name}`" in text for name in SHARES.values())
    for row in PARTS:
        assert f"`{row.name}`" in text
    table_of_parts = PAGE.read_text().partition("| part |")[2].partition("\n\n")[0]
    seconds = [line.split(" | ")[1] for line in table_of_parts.splitlines()[2:]]
    assert ", ".join(seconds) == ", ".join(f"{row.seconds}" for row in PARTS)
    assert f"at most {TOTAL:.0f} s" in text
    assert f"killed {GRACE:.0f} s after" in text
    assert PATH in text
    assert NAME in text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_stored_file_is_whole_small_and_nameless(path):
    record = read(path)
    assert not record["small"]
    assert all(record[part] is not None for part in ("device", "installed", "smoke", "copy", "kernels", "speed"))
    assert path.stat().st_size < 32 << 10
    text = path.read_text()
    assert not [word for word in ("/home", "/usr", "/root", "/tmp", "uuid") if word in text]


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
    with pytest.raises(UsageError, match=f"has more than {LARGEST} bytes"):
        read(sent(json.dumps(stored()) + " " * LARGEST))
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
