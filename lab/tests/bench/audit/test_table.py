"""The table: shown, written, read again, and the stored one."""

import json
from pathlib import Path

import pytest
from support.audit_tables import GOOD, table_of

from restride.command.process import UsageError
from restride_bench.audit.gpus import GPUS, MAKERS, STORED
from restride_bench.audit.problems import problems
from restride_bench.audit.table import FORMAT, VERSION, Summary, Table, read_table

ROOT = Path(__file__).resolve().parents[4]
STORED_TABLE = ROOT / "docs" / "benchmarks" / "vendors.json"


def test_a_line_has_the_figures_or_says_why_there_are_none():
    heads, line = str(table_of(GOOD)).splitlines()
    assert heads.split()[1:6] == ["kernel", "GPU", "instr.", "registers", "in"]
    assert " ".join(line.split()[3:]) == "ampere 100 16 32 0 0 700 1 4 load 16, 4 store 16"
    assert str(table_of("it panics")).endswith("not compiled: it panics")


def test_a_table_is_read_as_it_was_written(tmp_path):
    file = tmp_path / "t.json"
    for figures, compiled, whole in ((GOOD, 1, 8), ("it panics", 0, 0)):
        written = table_of(figures)
        file.write_text(written.json(["ampere"]))
        assert read_table(file) == written
        date = written.gpus["ampere"].date
        assert written.gpus == {"ampere": Summary("a GPU", "a driver", "Mesa 1", date, 1, compiled, 0, whole)}
    file.write_text(table_of(GOOD).json([]))
    (kernel,) = read_table(file).kernels
    assert kernel.compiled == {}


def test_gpus_that_are_not_compiled_anew_stay_as_they_were():
    before = table_of(GOOD)
    before.gpus["m1"] = before.gpus["ampere"]
    before.kernels[0].compiled["m1"] = GOOD
    now = Table.of([*table_of("it panics").kernels, *table_of(GOOD, "run_copy_32").kernels], {})
    both = now.with_others_of(before)
    assert both.gpus == before.gpus
    assert [kernel.compiled for kernel in both.kernels] == [{"ampere": "it panics", "m1": GOOD}, {"ampere": GOOD}]


def content(**changed):
    return json.loads(table_of(GOOD).json(["ampere"])) | changed


@pytest.mark.parametrize(
    "record",
    [
        [],
        {},
        content(version=VERSION - 1),
        content(gpus=[]),
        content(gpus={}),
        content(gpus={"ampere": {"name": "a GPU"}}),
        content(rows=[{}]),
        content(rows=None),
        content(rows=[content()["rows"][0] | {"compiled": {"ampere": [1, 2, 3]}}]),
        content(rows=[content()["rows"][0] | {"constants": [float("inf")]}]),
        content(rows=[content()["rows"][0] | {"subject": "\ud800"}]),
    ],
)
def test_a_damaged_table_is_refused(tmp_path, record):
    (tmp_path / "t.json").write_text(json.dumps(record))
    with pytest.raises(UsageError, match=rf"t\.json is no table .*{FORMAT}|the table .*t\.json is damaged"):
        read_table(tmp_path / "t.json")


def test_the_stored_table_is_small_and_has_a_gpu_of_each_maker():
    table = read_table(STORED_TABLE)
    assert STORED_TABLE.stat().st_size < 300_000
    assert {GPUS[name].maker for name in STORED} == {*MAKERS} == {GPUS[name].maker for name in table.gpus}
    assert problems(table) == []
    assert all(set(kernel.compiled) <= {*STORED} for kernel in table.kernels)


def test_the_page_has_the_table_of_the_stored_gpus():
    heads = ["maker", "GPU", "name", "driver", "kernels", "spills or scratch", "128-bit accesses", "date"]
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for name, each in read_table(STORED_TABLE).gpus.items():
        gpu = GPUS[name]
        cells = [gpu.maker, gpu.card, f"`{name}`", f"{each.driver}, {each.version}"]
        whole = str(each.whole) if each.whole else "no code to read"
        cells += [f"{each.compiled} of {each.kernels}", str(each.spilling), whole, each.date]
        lines.append(f"| {' | '.join(cells)} |")
    page = (ROOT / "docs" / "devices.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("<!-- compiled: make audit -->\n\n")
    shown, end, _ = rest.partition("\n\n<!-- end of compiled -->")
    table = "\n".join(lines)
    assert end
    assert shown == table, f"put this table into docs/devices.md:\n{table}"
