"""Kernels that are refused, spill, or got worse."""

from dataclasses import replace
from pathlib import Path

from support.audit_tables import GOOD, audit_of

from restride.cli import main
from restride_bench.audit import compiler
from restride_bench.audit.kernels import contract_kernels
from restride_bench.audit.problems import EXCEPTIONS, differences
from restride_bench.audit.table import record_of
from restride_conformance.report.compare import compare
from restride_conformance.report.file import read_record

STORED_TABLE = Path(__file__).resolve().parents[4] / "docs" / "benchmarks" / "vendors.json"


def compared(was, now, same=("ampere",)):
    """The differences of two audits of a kernel, and whether one is worse."""
    found = compare(audit_of(was), audit_of(now), differences(same)).differences
    return [each.text for each in found], any(each.is_worse for each in found)


def test_counts_are_compared_of_one_version_and_lost_accesses_of_any():
    worse = replace(GOOD, registers=24, in_flight=20, trips=4)
    assert compared(GOOD, worse) == (["registers 16 -> 24", "in_flight 32 -> 20", "trips 1 -> 4"], True)
    assert compared(worse, GOOD)[1] is False
    assert compared(GOOD, replace(GOOD, instructions=102)) == ([], False)
    assert compared(GOOD, replace(GOOD, instructions=103))[1] is True
    assert compared(GOOD, worse, ()) == ([], False)
    scalar = replace(GOOD, memory={"load 16": 3, "load 4": 4, "store 16": 4})
    for same in (("ampere",), ()):
        assert compared(GOOD, scalar, same) == (["128-bit loads 4 -> 3, narrower ones 0 -> 4"], True)
    assert compared(GOOD, replace(GOOD, memory={"load 16": 3, "store 16": 4})) == ([], False)
    assert compared(GOOD, "it panics") == ([], False), "its verdict says so"


def test_new_kernels_are_named_and_no_fault():
    comparison = compare(audit_of(GOOD), audit_of(GOOD, "run_copy_32"), differences(["ampere"]))
    assert not comparison.is_worse
    assert "only in the second: 1\n  PASSED run_copy_32(1;3): ampere" in str(comparison)


def test_errors_spills_and_scratch_are_problems_but_for_the_exceptions():
    scratch = replace(GOOD, scratch=64)
    assert audit_of(GOOD).problems == ()
    assert all(len(audit_of(bad).problems) == 1 for bad in (scratch, replace(GOOD, spills=1), "it panics"))
    assert audit_of(scratch, "digit_copy").problems == audit_of(scratch, for_gpus=False).problems == ()
    assert len(EXCEPTIONS) <= 5


def test_reports_of_compilers_are_compared_by_the_command_that_judges_counts(capsys):
    assert main(["report", "compare", str(STORED_TABLE), str(STORED_TABLE)]) == 2
    assert "`restride audit GPU --against REPORT.json`" in capsys.readouterr().err


def test_a_contract_kernel_keeps_its_wide_accesses_and_has_no_scratch(monkeypatch):
    """By the installed RADV, whose version may be another than the stored table's."""
    monkeypatch.setenv(compiler.FOLDER, "/nowhere")
    kernels = contract_kernels()
    compiled = compiler.compile_all([each.key for each in kernels], ["navi21"], skips_missing=False)
    record = record_of(kernels, compiled)
    assert record.problems == ()
    comparison = compare(read_record(STORED_TABLE, "audit"), record, differences([]))
    assert [each for each in comparison.differences if each.is_worse] == []
