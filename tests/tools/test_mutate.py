"""The faults of tools/mutate.py fit the sources as they are, and results are judged and shown as they should be."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import faults
import mutate
import pytest

ROOT = Path(__file__).resolve().parents[2]

FAULTS = faults.read_faults()
FAULT = faults.Fault("a name", replace="old", by="new")
real_digest = mutate.digest_of_sources


@pytest.fixture(autouse=True)
def kept(monkeypatch, tmp_path):
    """The file of outcomes, apart from that of runs by hand, and the digest of the sources, without reading them."""
    monkeypatch.setattr(mutate, "KEPT", tmp_path / "kept" / "mutate.jsonl")
    monkeypatch.setattr(mutate, "digest_of_sources", lambda: "these sources")
    return mutate.KEPT


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_changes_one_file_and_what_python_changes_compiles(fault):
    try:
        path, text = fault.plant()
    except faults.FaultError as error:
        raise pytest.fail.Exception(f"tools/faults.toml: {error}", pytrace=False) from None
    assert text != (ROOT / path).read_text(encoding="utf-8")
    if fault.symbol:
        compile(text, path, "exec")
    assert fault.run.split()[0] in ("smoke", "ci") or (ROOT / fault.run.split()[0]).is_file()


def test_the_table_has_a_row_of_every_fault_and_no_other():
    page = mutate.PAGE.read_text(encoding="utf-8")
    rows = mutate.rows_of(page, FAULTS)
    assert [fault.name for fault in FAULTS if fault.name not in rows] == [], "python tools/mutate.py --new --write"
    places = {name: line.split(" | ")[1] for name, line in rows.items()}
    assert [fault.name for fault in FAULTS if fault.symbol and places[fault.name] != f"`{fault.symbol}`"] == []
    assert page.endswith(mutate.table(rows.values()) + mutate.END), (
        "rows of faults that are no more: --new --write takes them out"
    )
    assert len(mutate.cases_of(rows)) == len(FAULTS), "a fault that no case catches"


def test_there_are_many_faults_with_names_of_their_own():
    assert len(FAULTS) >= 291
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert sum(bool(fault.symbol) for fault in FAULTS) >= 155
    assert len({str(replace(fault, name="", run="", options="")) for fault in FAULTS}) == len(FAULTS)


SOURCE = """\
\"\"\"A module.\"\"\"
from __future__ import annotations
from functools import cache
LIMIT: int = 5
class Box:
    @property
    def area(self):
        return self.wide * self.high
    def grown(self, by, *more, least=1, **others):
        return (by, *more, least, others)
def pieces(count):
    for piece in range(count):
        yield piece
@cache
def middle(low, high):
    \"\"\"Between them.\"\"\"
    span = high - low
    if low < 0: low += 1
    return (low + high) // 2 if span > LIMIT else low
"""


def run_with(tmp_path, **operation):
    """The names of ``SOURCE`` with a fault in it."""
    package = tmp_path / "src" / "restride"
    package.mkdir(parents=True)
    (package / "sums.py").write_text(SOURCE)
    (package / "reference").mkdir()
    (package / "reference" / "sums.py").write_text(SOURCE)
    path, text = faults.Fault("a name", **operation).plant(tmp_path)
    assert path == Path("src/restride/sums.py")
    names = {"__name__": "sums", "SimpleNamespace": SimpleNamespace}
    exec(compile(text, path, "exec"), names)
    return names


@pytest.mark.parametrize(
    ("operation", "expression", "value"),
    [
        ({"symbol": "middle", "gives": "result + high"}, "middle(0, 10)", 15),
        ({"symbol": "Box.area", "gives": "-result"}, "Box.area.fget(SimpleNamespace(wide=2, high=3))", -6),
        ({"symbol": "grown", "gives": "result[::-1]"}, "Box().grown(1, 2, least=3, x=4)", ({"x": 4}, 3, 2, 1)),
        ({"symbol": "pieces", "gives": "result[:-1]"}, "list(pieces(3))", [0, 1]),
        ({"symbol": "sums.LIMIT", "gives": "result * 2"}, "LIMIT", 10),
        ({"symbol": "middle", "takes": {"low": "-low", "high": "2 * high"}}, "middle(2, 10)", 9),
        ({"symbol": "pieces", "takes": {"count": "count + 1"}}, "list(pieces(2))", [0, 1, 2]),
        ({"symbol": "middle", "replace": "A > LIMIT", "by": "A >= LIMIT"}, "middle(0, 5)", 2),
        ({"symbol": "middle", "replace": "(A + B) // 2", "by": "(A + B, B - A)"}, "middle(0, 10)", (10, 10)),
        ({"symbol": "middle", "replace": "A += 1", "by": "pass"}, "middle(-10, 0)", -5),
    ],
)  # fmt: skip
def test_operations_on_symbols(tmp_path, operation, expression, value):
    assert eval(expression, run_with(tmp_path, **operation)) == value


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ({"symbol": "no_such", "gives": "0"}, "0 functions or constants are named 'no_such', not one"),
        ({"symbol": "middle", "replace": "A - B - C", "by": "A"}, "'A - B - C' matches 0 places, not one, of"),
        ({"symbol": "middle", "replace": "low", "by": "high"}, "'low' matches 5 places, not one, of"),
        ({"symbol": "middle", "replace": "A > B", "by": "C > A"}, "'C > A' uses C, which the symbol does not know"),
        ({"symbol": "middle", "replace": "A // 2", "by": "A // 2"}, "it leaves 'middle' as it is"),
        ({"symbol": "middle", "gives": "results"}, "'results' uses results, which the symbol does not know"),
        ({"symbol": "middle", "takes": {"lowest": "0"}}, r"'lowest' is no parameter, those are \['low', 'high'\]"),
        ({"symbol": "middle", "gives": "result +"}, "'a name': invalid syntax"),
    ],
)
def test_a_fault_that_does_not_fit_its_symbol_is_refused(tmp_path, operation, message):
    with pytest.raises(faults.FaultError, match=message):
        run_with(tmp_path, **operation)


def test_of_functions_of_one_name_the_one_is_meant_that_the_fault_fits(tmp_path):
    for name in ("one", "two"):
        path = tmp_path / "src" / "restride" / "plan" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"def rows({name}):\n    return {name} + 1\n")
    with pytest.raises(
        faults.FaultError, match=r"2 functions .* 'rows', not one: src/restride/plan/one.py, src/.*two.py"
    ):
        faults.Fault("a name", "rows", gives="2").plant(tmp_path)
    for which in ({"gives": "two"}, {"takes": {"two": "3"}}, {"replace": "two + 1", "by": "two"}):
        assert faults.Fault("a name", "rows", **which).plant(tmp_path)[0].name == "two.py"
    assert faults.Fault("a name", "two.rows", gives="2").plant(tmp_path)[0].name == "two.py"


def test_the_runner_that_judges_cases_has_faults_for_tests_only(tmp_path):
    for package in ("restride", "restride_conformance"):
        path = tmp_path / "src" / package / f"{package}.py"
        path.parent.mkdir(parents=True)
        path.write_text(f"def {package}_rows():\n    return 1\n")
    fault = faults.Fault("a name", "restride_conformance_rows", gives="2", run="tests/conformance/test_gtest.py -k x")
    assert fault.plant(tmp_path)[0] == Path("src/restride_conformance/restride_conformance.py")
    with pytest.raises(faults.FaultError, match="0 functions"):
        replace(fault, run="smoke").plant(tmp_path)


def test_text_of_a_shader_is_found_in_any_folder_and_however_it_is_broken(tmp_path):
    for name in ("a.comp", "include/b.glsl"):
        (tmp_path / "shaders" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "shaders" / name).write_text("if (x <\n    y) {}\nx += 1;" + "z;" * (name == "a.comp"))
    fault = replace(FAULT, replace="x < y", by="x <= y")
    with pytest.raises(faults.FaultError, match=r"'a name': 'x < y' occurs 2 times in the shaders, .* a.comp, b.glsl"):
        fault.plant(tmp_path)
    assert replace(fault, shader="b.glsl").plant(tmp_path) == (
        Path("shaders/include/b.glsl"),
        "if (x <= y) {}\nx += 1;",
    )
    with pytest.raises(faults.FaultError, match="occurs 0 times"):
        replace(fault, replace="x > y").plant(tmp_path)


@pytest.mark.parametrize(
    ("code", "case", "result"),
    [(0, "", "survived"), (1, "a case", "caught"), (6, "a case", "caught"), (1, "", "no result"), (3, "", "no result"),
     (-1, "", "no result"), (130, "a case", "no result")],
)  # fmt: skip
def test_exit_codes_say_what_became_of_a_fault(code, case, result):
    assert mutate.Trial(FAULT, code, case=case).result == result


def run_test(outcomes, code, tried):
    """What stands for ``restride test``: its outcomes by the selection; shaders compile as ever."""

    def run(command, **options):
        source = Path(options["env"]["PYTHONPATH"]) / "restride" / "kernel.py"
        assert "faultless" in source.read_text()
        chosen = Path(command[4]).read_text() if "/" in command[4] else command[4]
        assert command[3::2] == ["test", "-x", str(options["cwd"] / "report.json")]
        tried.append(chosen)
        found = [outcome for outcome in outcomes if chosen in ("ci", outcome["case"])]
        Path(command[-1]).write_text(json.dumps({"outcomes": found}))
        return subprocess.CompletedProcess(command, code if chosen == "ci" else 0, "", "the last words")

    return run


@pytest.fixture
def root(tmp_path):
    (tmp_path / "shaders").mkdir()
    package = tmp_path / "src" / "restride"
    package.mkdir(parents=True)
    (package / "kernel.py").write_text("def words(count):\n    return count\n")
    return tmp_path


PLANTED = faults.Fault("a name", "words", gives="result + 1")


def test_the_first_case_that_does_not_pass_is_reported(monkeypatch, root):
    outcomes = [
        {"case": "one", "verdict": "SKIPPED", "message": "no room"},
        {"case": "two", "verdict": "FAILED", "message": "1 of 3 elements are wrong\nelement (0,) is 1"},
    ]
    tried = []
    monkeypatch.setattr(mutate.subprocess, "run", run_test(outcomes, 1, tried))
    trial = mutate.try_fault(PLANTED, root=root)
    assert (trial.result, trial.case, trial.verdict, trial.cases) == ("caught", "two", "FAILED", 2)
    assert (trial.reason, trial.place) == ("1 of 3 elements are wrong", "kernel.py")
    assert "faultless" not in (root / "src" / "restride" / "kernel.py").read_text(), "only the copy is changed"
    assert mutate.try_fault(PLANTED, "one", root).case == "two", "the case that is known no longer fails"
    assert mutate.try_fault(PLANTED, "two", root).cases == 1
    assert tried == ["ci", "one", "ci", "two"]


def test_what_no_case_runs_is_shown_by_a_test(monkeypatch, root):
    commands = []

    def run(command, **options):
        commands.append(command[2:])
        assert "faultless" in (Path(options["env"]["PYTHONPATH"]) / "restride" / "kernel.py").read_text()
        said = "FAILED tests/stream/test_run.py::test_it[a b-1] - assert 1 == 2\n1 failed"
        return subprocess.CompletedProcess(command, 1, said, "")

    monkeypatch.setattr(mutate.subprocess, "run", run)
    trial = mutate.try_fault(replace(PLANTED, run="tests/stream/test_run.py -k it"), root=root)
    assert (trial.result, trial.case, trial.reason) == ("caught", "tests/stream/test_run.py::test_it", "assert 1 == 2")
    assert (commands[0][0], commands[0][-3:]) == ("pytest", ["tests/stream/test_run.py", "-k", "it"])


@pytest.mark.parametrize(("text", "result"), [("", "survived"), ("judge zarr 3 is not installed", "left out")])
def test_a_fault_that_only_a_missing_judge_could_show_is_left_out(monkeypatch, root, text, result):
    skipped = f"SKIPPED [1] tests/support/judges.py:19: {text}\n1 passed, 1 skipped"
    monkeypatch.setattr(mutate, "_run", lambda *_, **__: (mutate.Run(0, [], ""), skipped))
    trial = mutate.try_fault(replace(PLANTED, run="tests/stream"), root=root)
    assert (trial.result, trial.reason) == (result, text)


def test_a_mutant_that_cannot_run_has_no_result(monkeypatch, root):
    monkeypatch.setattr(mutate.subprocess, "run", run_test([], 3, []))
    trial = mutate.try_fault(PLANTED, root=root)
    assert (trial.result, trial.reason) == ("no result", "exit code 3: the last words")
    trial = mutate.try_fault(replace(PLANTED, symbol="missing"), root=root)
    assert trial.result == "no result"
    assert "are named 'missing'" in trial.reason


def page_of(path, lines=""):
    path.write_text(f"# A page\n\n## What the cases catch\n\n{lines}")
    return ["--page", str(path)]


def test_survivors_lead_the_table_and_the_exit_code(monkeypatch, tmp_path, capsys):
    codes = dict(zip((fault.name for fault in FAULTS), [1, 3, 0, *[1] * len(FAULTS)], strict=False))
    bad = []

    def trial(fault, *_):
        code = codes.get(fault.name, 0)
        return mutate.Trial(fault, code, 7, 1.0, "a case" if code == 1 else "", "FAILED" if code == 1 else "")

    monkeypatch.setattr(mutate, "try_fault", trial)
    monkeypatch.setattr(mutate, "failing_without", lambda _: bad)
    path = tmp_path / "page.md"
    page = page_of(path, "no table\n")
    assert mutate.main([*page, "--write", "--jobs", "2"]) == 1
    text = path.read_text()
    assert text.startswith("# A page\n\n## What the cases catch\n")
    assert "no table" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ")][2:]
    assert len(rows) == len(FAULTS)
    assert [row.split(" | ")[3] for row in rows[:3]] == ["survived", "no result", "caught"]
    codes[FAULTS[2].name] = 1
    assert mutate.main(page) == 2, "one has no result"
    codes[FAULTS[1].name] = 6
    bad += ["a case"]
    assert mutate.main(page) == 2, "a case fails without a fault"
    assert "prove nothing: a case" in capsys.readouterr().err


def test_a_sample_is_the_same_faults_for_the_same_seed(monkeypatch, tmp_path):
    tried = []
    monkeypatch.setattr(mutate, "try_fault", lambda fault, _: tried.append(fault.name) or mutate.Trial(fault, 0))
    page = page_of(tmp_path / "page.md")
    for seed in (1, 1, 2):
        assert mutate.main([*page, "--sample", "40", "--seed", str(seed)]) == 1
    assert len(set(tried[:40])) == 40
    assert tried[:40] == tried[40:80] != tried[80:]


def test_a_run_that_was_stopped_goes_on(monkeypatch, tmp_path, kept, capsys):
    names = ["first", "second", "third", "fourth"]
    monkeypatch.setattr(mutate, "read_faults", lambda: [replace(FAULT, name=name) for name in names])
    monkeypatch.setattr(mutate, "failing_without", lambda _: [])
    codes, tried = {"second": 3, "third": None, "fourth": None}, []

    def trial(fault, _):
        tried.append(fault.name)
        if (code := codes.get(fault.name, 1)) is None:
            raise KeyboardInterrupt
        return mutate.Trial(fault, code, 7, 1.0, *("a case", "FAILED") * (code == 1))

    monkeypatch.setattr(mutate, "try_fault", trial)
    page = page_of(tmp_path / "page.md")
    with pytest.raises(KeyboardInterrupt):
        mutate.main(page)
    assert tried[:3] == names[:3]
    with kept.open("a") as file:
        file.write('{"sources": "these sou')  # the run was killed as it wrote
    codes.clear()
    tried.clear()
    assert mutate.main([*page, "--resume", "--write"]) == 0
    assert tried == names[1:], "the first is caught, the second had no result"
    assert [line.partition("] ")[0] for line in capsys.readouterr().out.splitlines() if line.startswith("[")] == [
        "[1/4, 0 min left", "[2/4, 0 min left", "[2/4, 0 min left", "[3/4, 0 min left", "[4/4, 0 min left",
    ]  # fmt: skip
    assert list(mutate.rows_of((tmp_path / "page.md").read_text(), mutate.read_faults())) == names
    tried.clear()
    assert mutate.main([*page, "--resume", "--only", "th"]) == 0
    assert tried == []
    monkeypatch.setattr(mutate, "digest_of_sources", lambda: "others")
    assert mutate.main([*page, "--resume"]) == 0
    assert mutate.main(page) == 0
    assert tried == names * 2, "the sources have changed; all are tried anew"


def test_sources_are_told_apart_by_name_and_content(tmp_path):
    def digest():
        return real_digest(tmp_path)

    (tmp_path / "src" / "restride" / "__pycache__").mkdir(parents=True)
    file = tmp_path / "src" / "restride" / "a.py"
    digests = [digest()]
    for text in ("a", "b", "a"):
        file.write_text(text)
        digests.append(digest())
    (tmp_path / "src" / "restride" / "__pycache__" / "a.pyc").write_text("compiled")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.py").write_text("a page")
    digests.append(digest())
    file.rename(file.with_name("b.py"))
    digests.append(digest())
    assert digests[1] == digests[3] == digests[4]
    assert len(set(digests)) == 4


def test_a_case_that_fails_without_a_fault_is_named(monkeypatch):
    ran = []

    def run_cases(fault, cases, *_):
        ran.append((fault.options, cases))
        outcomes = [{"case": case, "verdict": "FAILED" if case == "bad" else "PASSED"} for case in cases]
        return mutate.Run(int("bad" in cases), outcomes, "")

    monkeypatch.setattr(mutate, "run_cases", run_cases)
    other = replace(FAULT, options="--runtime kompute")
    trials = [mutate.Trial(FAULT, 1, case="good"), mutate.Trial(FAULT, 1, case="good"), mutate.Trial(FAULT, 0)]
    assert mutate.failing_without([*trials, mutate.Trial(other, 1, case="bad")]) == ["bad --runtime kompute"]
    assert ran == [("", ["good"]), ("--runtime kompute", ["bad"])]


def test_some_faults_are_written_beside_the_rows_of_the_others(monkeypatch, tmp_path):
    first, second, third = known = [replace(FAULT, name=name) for name in ("first", "second", "third")]
    gone, changed = replace(FAULT, name="gone"), replace(second, run="smoke")
    old = [mutate.row(mutate.Trial(fault, 1, 5, 2.0, "old", "FAILED")) for fault in (gone, changed, third, first)]
    path = tmp_path / "page.md"
    page = page_of(path, mutate.table(old))
    monkeypatch.setattr(mutate, "read_faults", lambda: known)
    monkeypatch.setattr(mutate, "failing_without", lambda _: [])
    tried = []

    def trial(fault, case):
        tried.append((fault.name, case))
        return mutate.Trial(fault, 1, 7, 1.0, "new", "FAILED")

    monkeypatch.setattr(mutate, "try_fault", trial)
    assert mutate.main([*page, "--new", "--write"]) == 0
    assert mutate.main([*page, "--only", "third", "--write"]) == 0
    assert tried == [("second", ""), ("third", "old")], "the row of the second is of another way of running"
    rows = [line.split(" | ") for line in path.read_text().splitlines() if line.startswith("| ")][2:]
    cases = [("| first", "FAILED: `old` |"), ("| second", "FAILED: `new` |"), ("| third", "FAILED: `new` |")]
    assert [(cells[0], cells[4]) for cells in rows] == cases
