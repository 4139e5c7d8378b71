"""Kernels that are refused, spill, or got worse."""

from dataclasses import replace
from pathlib import Path

from support.audit_tables import GOOD, table_of

from restride_bench.audit import compiler
from restride_bench.audit.kernels import contract_kernels
from restride_bench.audit.problems import EXCEPTIONS, changes, problems
from restride_bench.audit.table import Table, read_table

STORED_TABLE = Path(__file__).resolve().parents[4] / "docs" / "benchmarks" / "vendors.json"


def compared(was, now, version="Mesa 1"):
    return changes(table_of(was), table_of(now, version=version))


def test_counts_are_compared_of_one_version_and_lost_accesses_of_any():
    worse = replace(GOOD, registers=24, in_flight=20, trips=4)
    lines, is_worse = compared(GOOD, worse)
    assert is_worse
    assert [line.rpartition(": ")[2] for line in lines] == ["registers 16 -> 24", "in_flight 32 -> 20", "trips 1 -> 4"]
    assert compared(worse, GOOD)[1] is False
    assert compared(GOOD, replace(GOOD, instructions=102)) == ([], False)
    assert compared(GOOD, replace(GOOD, instructions=103))[1] is True
    assert compared(replace(GOOD, cycles=10**400), GOOD)[1] is False, "of any size that a file has"
    lines, is_worse = compared(GOOD, worse, "Mesa 2")
    assert (lines, is_worse) == (["ampere: 'Mesa 1', now 'Mesa 2': only 128-bit accesses are compared"], False)
    scalar = replace(GOOD, memory={"load 16": 3, "load 4": 4, "store 16": 4})
    for version in ("Mesa 1", "Mesa 2"):
        lines, is_worse = compared(GOOD, scalar, version)
        assert is_worse
        assert lines[-1].endswith("128-bit loads 4 -> 3, narrower ones 0 -> 4")
    assert compared(GOOD, replace(GOOD, memory={"load 16": 3, "store 16": 4})) == ([], False)


def test_new_kernels_are_named_and_no_fault():
    lines, is_worse = changes(table_of(GOOD), table_of(GOOD, "run_copy_32"))
    assert (lines, is_worse) == (["new: run_copy_32(1;3)"], False)


def test_errors_spills_and_scratch_are_problems_but_for_the_exceptions():
    scratch = replace(GOOD, scratch=64)
    assert problems(table_of(GOOD)) == []
    assert all(len(problems(table_of(bad))) == 1 for bad in (scratch, replace(GOOD, spills=1), "it panics"))
    assert problems(table_of(scratch, "digit_copy")) == problems(table_of(scratch, for_gpus=False)) == []
    assert len(EXCEPTIONS) <= 5


def test_a_contract_kernel_keeps_its_wide_accesses_and_has_no_scratch(monkeypatch):
    """By the installed RADV, whose version may be another than the stored table's."""
    monkeypatch.setenv(compiler.FOLDER, "/nowhere")
    kernels = contract_kernels()
    compiled = compiler.compile_all([each.key for each in kernels], ["navi21"], skips_missing=False)
    compiled["navi21"][0]["version"] += " of a test"
    table = Table.of(kernels, compiled)
    assert problems(table) == []
    lines, _ = changes(read_table(STORED_TABLE), table)
    assert [line for line in lines if line.startswith("worse")] == []
