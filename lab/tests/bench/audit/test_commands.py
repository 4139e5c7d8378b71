"""The command, with the installed RADV."""

import json
import re
from dataclasses import replace

import pytest
from support.audit_tables import GOOD, audit_of

from restride.cli import main
from restride_bench.audit import commands, compiler
from restride_bench.audit.commands import _DESCRIPTION
from restride_bench.audit.table import complete, gpus_in
from restride_conformance import Case
from restride_conformance.report.file import read_record, write_record

CASE = "reorder f32[64,48]{1,0} -> f32[64,48]{0,1}"


@pytest.fixture(autouse=True)
def without_mesa_26(monkeypatch):
    monkeypatch.setenv(compiler.FOLDER, "/nowhere")


def test_the_list_needs_no_compiler(capsys):
    assert main(["audit", "--list", "-k", "transpose F32 4096"]) == 0
    assert re.fullmatch(r"permutations: +transpose f32 4096x4096 +f32\[4096,4096\]\n", capsys.readouterr().out)


def test_the_command_writes_and_compares(tmp_path, capsys):
    before = tmp_path / "before.json"
    assert main(["audit", "navi21", "-k", "nearest", "--json", str(before)]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"resample_moves\(.*\nname .*\nnavi21 +nearest f32 8x64x56x56, twice +[1-9]", out)
    assert re.search(r"compiling \d+ kernels for navi21 \(AMD RX 6900 XT, RDNA 2\)", err)
    assert main(["audit", "-k", "nearest", "--against", str(before)]) == 0
    out, err = capsys.readouterr()
    assert f"\nagainst {before}\n" in out
    assert re.search(
        r"\n0 worse, 0 better, 0 otherwise changed, \d+ the same, 0 only in the first, 0 only in the second\n$", out
    )
    assert err.count("compiling") == 1, "the GPUs of the earlier table"
    content = json.loads(before.read_text())
    content["outcomes"][1]["figures"]["instructions"] //= 2
    before.write_text(json.dumps(content))
    assert main(["audit", "-k", "nearest", "--against", str(before)]) == 1
    worse = r"\nworse figures: 1\n  resample_moves\(.*: navi21: instructions \d+ -> \d+\n"
    assert re.search(worse, capsys.readouterr().out)
    assert main(["audit", "-k", "nearest", "--against", str(before), "--json", str(before)]) == 2
    assert f"{before} is an input, and the result would replace it: name another file" in capsys.readouterr().err
    assert json.loads(before.read_text()) == content


def test_the_contract_keeps_the_gpus_that_are_not_compiled_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "contract_kernels", lambda: commands.kernels_of_case(Case.parse(CASE)))
    file, (kernel,) = tmp_path / "table.json", commands.contract_kernels()
    gpu, row = audit_of(GOOD).outcomes
    write_record(complete(audit_of(GOOD), [gpu, replace(row, group=kernel.name)]), file)
    assert main(["audit", "navi21", "--contract", "--json", str(file)]) == 0
    after = read_record(file, "audit")
    assert list(gpus_in(after)) == ["ampere", "navi21"]
    assert {each.case: each.figures["instructions"] for each in after.outcomes[2:]}["ampere"] == GOOD.instructions


def test_a_case_is_audited_on_all_gpus_whose_compilers_are_here(capsys):
    assert main(["audit", "--case", CASE]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"transpose_shared_32\(.*\nname .*\nnavi21 ", out)
    assert "ampere is left out: libvulkan_nouveau.so" in err


def test_the_example_of_the_help_is_a_case():
    (line,) = re.findall(r"--case '(.*?)'", " ".join(_DESCRIPTION.split()))
    assert str(Case.parse(line)) == line


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nosuch"], 2, "no GPU is named 'nosuch': known are navi21, .*Imagination"),
        (["nvidia"], 4, "libvulkan_nouveau.so .*bash tools/mesa26.sh"),
        (["-k", "no such workload"], 5, "no workload has 'no such workload' in its name.*audit --list"),
        (["-k", "copy f32 4096"], 5, "no kernel is dispatched: the device's own copy"),
        (["-k", "", "--case", "turn f32[2]"], 2, "turn"),
        (["--contract", "--case", CASE], 2, "not allowed with"),
        (["--against", "nowhere.json"], 2, "cannot read nowhere.json"),
        (["--against", "/dev/zero"], 2, "cannot read /dev/zero: not a file"),
        (["--json", "/nowhere/now.json"], 2, "cannot write /nowhere/now.json"),
        (["--case", "reorder u8[1000000,1000000]{1,0} -> f32[1000000,1000000]{0,1}"], 6, "no room"),
    ],
)
def test_what_cannot_be_audited_is_named(arguments, code, words, capsys):
    assert main(["audit", *arguments]) == code
    assert re.search(words, capsys.readouterr().err)
