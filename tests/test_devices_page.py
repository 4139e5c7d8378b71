"""docs/devices.md: its table is that of the stored selftests, which are read as what anyone may have sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from restride.cli import main
from restride.cli.process import UsageError
from restride_bench.selftest.nameless import NAME, PATH
from restride_bench.selftest.table import COPIED, LARGEST, SHARES, read, table

DOCS = Path(__file__).resolve().parent.parent / "docs"
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
    assert COPIED.startswith("copy")
    assert PATH in text
    assert NAME in text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_stored_file_is_whole_small_and_nameless(path):
    record = read(path)
    assert not record["small"]
    assert all(record[part] is not None for part in ("device", "installed", "cases", "kernels", "speed"))
    assert path.stat().st_size < 16 << 10
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
        changed(version=2),
        changed(format="restride-benchmark"),
        changed(device=[]),
        changed(device={"name": "x"}),
        changed(cases={"counts": {"PASSED": "many"}, "validation": None}),
        changed(speed={"measures": [], "workloads": [], "warnings": []}),
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
    record = changed(device=None, cases=None, kernels=None, speed=None)
    cells = table([read(sent(record))]).splitlines()[2].split(" | ")
    assert cells[0] == "| no device"
    assert "not run" in cells
    small = table([read(sent(changed(small=True)))]).splitlines()[2]
    assert small.count("|  ") >= 1 + len(SHARES)
