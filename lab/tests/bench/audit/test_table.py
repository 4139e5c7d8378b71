"""The record of an audit: its rows, those that it keeps of an earlier one, and the stored one."""

import json
from pathlib import Path

import pytest
from support.audit_tables import GOOD, audit_of

from restride.errors import DescriptorError
from restride_bench.audit.gpus import GPUS, MAKERS, STORED
from restride_bench.audit.table import gpus_in, stored, with_others_of
from restride_conformance.report.file import json_text, read_record, write_record
from restride_conformance.report.summary import summary

ROOT = Path(__file__).resolve().parents[4]
STORED_TABLE = ROOT / "docs" / "benchmarks" / "vendors.json"


def test_a_row_has_the_counts_or_says_why_there_are_none():
    gpu, row = audit_of(GOOD).outcomes
    counts = {"instructions": 100, "registers": 16, "in_flight": 32, "cycles": 700, "trips": 1}
    assert (row.group, row.case, row.verdict) == ("strided_copy_128(1;3)", "ampere", "PASSED")
    assert row.figures == {"for": "a workload", **counts, "load 16": 4, "store 16": 4}
    assert [gpu.figures[name] for name in ("kernels", "compiled", "spilling", "whole")] == [1, 1, 0, 8]
    text = summary(audit_of("it panics"))
    assert "problem: ampere: strided_copy_128(1;3): not compiled: it panics" in text


def test_a_record_is_read_as_it_was_written(tmp_path):
    for figures in (GOOD, "it panics"):
        record = audit_of(figures)
        write_record(record, tmp_path / "t.json")
        assert read_record(tmp_path / "t.json", "audit") == record
    assert [each.case for each in stored(audit_of(GOOD), []).outcomes] == ["ampere"]


def test_gpus_that_are_not_compiled_anew_stay_as_they_were():
    before = audit_of(GOOD, gpu="m1")
    both = with_others_of(audit_of("it panics"), before)
    assert list(gpus_in(both)) == ["m1", "ampere"]
    assert [(each.case, each.verdict) for each in both.outcomes[2:]] == [("m1", "PASSED"), ("ampere", "FAILED")]
    assert len(both.problems) == 1
    anew = with_others_of(audit_of("it panics"), audit_of(GOOD))
    assert [each.verdict for each in anew.outcomes] == ["PASSED", "FAILED"], "a GPU that is compiled anew is there once"
    other = with_others_of(audit_of(GOOD, "run_copy_32"), before)
    assert [each.group for each in other.outcomes] == ["GPUs", "GPUs", "run_copy_32(1;3)"]


@pytest.mark.parametrize("figures", [{"instructions": "many"}, {"cycles": 1.5}, {"trips": -1}, {"for": 3}, []])
def test_counts_of_a_file_are_whole_numbers(tmp_path, figures):
    values = json.loads(json_text(audit_of(GOOD)))
    values["outcomes"][1]["figures"] = figures
    (tmp_path / "t.json").write_text(json.dumps(values))
    with pytest.raises(DescriptorError, match=r"outcomes\[1\].figures"):
        read_record(tmp_path / "t.json", "audit")


def test_the_stored_table_is_small_and_has_a_gpu_of_each_maker():
    record = read_record(STORED_TABLE, "audit")
    assert STORED_TABLE.stat().st_size < 600_000
    assert {GPUS[name].maker for name in STORED} == {*MAKERS} == {GPUS[name].maker for name in gpus_in(record)}
    assert record.problems == ()
    assert {each.case for each in record.outcomes if each.group != "GPUs"} <= {*STORED}


def test_the_page_has_the_table_of_the_stored_gpus():
    heads = ["maker", "GPU", "name", "driver", "kernels", "spills or scratch", "128-bit accesses", "date"]
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for name, row in gpus_in(read_record(STORED_TABLE, "audit")).items():
        gpu, each = GPUS[name], row.figures
        cells = [gpu.maker, gpu.card, f"`{name}`", f"{each['driver']}, {each['version']}"]
        whole = str(each["whole"]) if each["whole"] else "no code to read"
        cells += [f"{each['compiled']} of {each['kernels']}", str(each["spilling"]), whole, each["date"]]
        lines.append(f"| {' | '.join(cells)} |")
    page = (ROOT / "docs" / "devices.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("<!-- compiled: make audit -->\n\n")
    shown, end, _ = rest.partition("\n\n<!-- end of compiled -->")
    table = "\n".join(lines)
    assert end
    assert shown == table, f"put this table into docs/devices.md:\n{table}"
