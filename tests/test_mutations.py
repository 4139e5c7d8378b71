"""The faults of tools/mutate.py fit the sources as they are, and results are judged and shown as they should be."""

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def load():
    specification = importlib.util.spec_from_file_location("mutate", ROOT / "tools" / "mutate.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["mutate"] = module  # dataclasses look their module up there
    specification.loader.exec_module(module)
    return module


mutate = load()
FAULTS = mutate.read_faults()
FAULT = mutate.Fault("a name", "shaders/x.comp", "old", "new")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_occurs_once_in_its_file(fault):
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    assert fault.plant(text) != text
    assert fault.run.split()[0] in ("smoke", "ci")


def test_the_table_has_a_row_of_every_fault_and_no_other():
    page = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    rows = mutate.rows_of(page, FAULTS)
    assert [fault.name for fault in FAULTS if fault.name not in rows] == [], "python tools/mutate.py --new --write FILE"
    assert page.endswith(mutate.table(rows.values())), "rows of faults that are no more: --new --write takes them out"


def test_there_are_many_faults_with_names_of_their_own():
    assert len(FAULTS) >= 120
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert {fault.file.split("/")[0] for fault in FAULTS} == {"shaders", "src"}


@pytest.mark.parametrize("text", ["", "old old"])
def test_a_fault_that_does_not_fit_once_is_refused(text):
    with pytest.raises(mutate.FaultError, match=r"'a name': its text occurs [02] times in shaders/x.comp, not once"):
        FAULT.plant(text)


@pytest.mark.parametrize(
    ("code", "case", "result"),
    [(0, "", "survived"), (1, "a case", "caught"), (6, "a case", "caught"), (1, "", "no result"), (3, "", "no result"),
     (-1, "", "no result"), (130, "a case", "no result")],
)  # fmt: skip
def test_exit_codes_say_what_became_of_a_fault(code, case, result):
    assert mutate.Trial(FAULT, code, case=case).result == result


def run_test(outcomes, code):
    """What stands for ``restride test``; shaders compile as ever."""

    def run(command, **options):
        if "restride" not in command:
            return subprocess.CompletedProcess(command, 0, "", "")
        source = Path(options["env"]["PYTHONPATH"]) / "restride" / "kernel.py"
        assert "planted" in source.read_text()
        assert command[3:6] == ["test", "ci", "-x"]
        Path(command[command.index("--json") + 1]).write_text(json.dumps({"outcomes": outcomes}))
        return subprocess.CompletedProcess(command, code, "", "the last words")

    return run


@pytest.fixture
def root(tmp_path):
    (tmp_path / "shaders").mkdir()
    package = tmp_path / "src" / "restride"
    package.mkdir(parents=True)
    (package / "kernel.py").write_text("as it was")
    return tmp_path


def planted(old="as it was"):
    return mutate.Fault("a name", "src/restride/kernel.py", old, "planted")


def test_the_first_case_that_does_not_pass_is_reported(monkeypatch, root):
    outcomes = [
        {"case": "one", "verdict": "SKIPPED", "message": "no room"},
        {"case": "two", "verdict": "FAILED", "message": "1 of 3 elements are wrong\nelement (0,) is 1"},
    ]
    monkeypatch.setattr(mutate.subprocess, "run", run_test(outcomes, 1))
    trial = mutate.try_fault(planted(), root)
    assert (trial.result, trial.case, trial.verdict, trial.cases) == ("caught", "two", "FAILED", 2)
    assert trial.reason == "1 of 3 elements are wrong"
    assert (root / "src" / "restride" / "kernel.py").read_text() == "as it was", "only the copy is changed"


def test_a_mutant_that_cannot_run_has_no_result(monkeypatch, root):
    monkeypatch.setattr(mutate.subprocess, "run", run_test([], 3))
    trial = mutate.try_fault(planted(), root)
    assert (trial.result, trial.reason) == ("no result", "exit code 3: the last words")
    trial = mutate.try_fault(planted("is not there"), root)
    assert trial.result == "no result"
    assert "occurs 0 times" in trial.reason


def test_survivors_lead_the_table_and_the_exit_code(monkeypatch, tmp_path, capsys):
    codes = dict(zip((fault.name for fault in FAULTS), [1, 3, 0, *[1] * len(FAULTS)], strict=False))

    def trial(fault, *_):
        code = codes.get(fault.name, 0)
        return mutate.Trial(fault, code, 7, 1.0, "a case" if code == 1 else "", "FAILED" if code == 1 else "")

    monkeypatch.setattr(mutate, "try_fault", trial)
    path = tmp_path / "page.md"
    path.write_text("# A page\n\n## What the cases catch\n\nold\n")
    assert mutate.main(["--write", str(path), "--jobs", "2"]) == 1
    page = path.read_text()
    assert page.startswith("# A page\n\n## What the cases catch\n")
    assert "old" not in page
    rows = [line for line in page.splitlines() if line.startswith("| ")][2:]
    assert len(rows) == len(FAULTS)
    assert [row.split(" | ")[3] for row in rows[:3]] == ["survived", "no result", "caught"]
    codes[FAULTS[2].name] = 1
    assert mutate.main([]) == 2, "one has no result"
    codes[FAULTS[1].name] = 6
    codes["no fault: ci"] = 1
    assert mutate.main([]) == 2, "the control fails"
    assert "prove nothing" in capsys.readouterr().err
    assert mutate.main(["--only", FAULTS[0].name]) == 0, "without controls"


def test_some_faults_are_written_beside_the_rows_of_the_others(monkeypatch, tmp_path):
    first, second, third = faults = [replace(FAULT, name=name) for name in ("first", "second", "third")]
    gone, changed = replace(FAULT, name="gone"), replace(second, run="smoke")
    old = [mutate.row(mutate.Trial(fault, 1, 5, 2.0, "old", "FAILED")) for fault in (gone, changed, third, first)]
    path = tmp_path / "page.md"
    path.write_text(f"# A page\n\n## What the cases catch\n\n{mutate.table(old)}")
    monkeypatch.setattr(mutate, "read_faults", lambda: faults)
    tried = []

    def trial(fault, *_):
        tried.append(fault.name)
        return mutate.Trial(fault, 1, 7, 1.0, "new", "FAILED")

    monkeypatch.setattr(mutate, "try_fault", trial)
    assert mutate.main(["--new", "--write", str(path)]) == 0
    assert mutate.main(["--only", "third", "--write", str(path)]) == 0
    assert tried == ["second", "third"], "the row of the second is of another way of running"
    rows = [line.split(" | ") for line in path.read_text().splitlines() if line.startswith("| ")][2:]
    cases = [("| first", "FAILED: `old`"), ("| second", "FAILED: `new`"), ("| third", "FAILED: `new`")]
    assert [(cells[0], cells[4]) for cells in rows] == cases
