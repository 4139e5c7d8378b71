"""`restride selftest`: what its files say, what they never say, and what becomes of a part that fails."""

from __future__ import annotations

import html
import json
import os
import platform
import re
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.devices import open_device
from support.process import captured
from support.selftest_examples import of_part

from restride.cli import main
from restride.command.process import Exit
from restride.kernel import CANDIDATES
from restride.runtime.choices_file import FOLDER_VARIABLE
from restride_conformance.record import Verdict
from restride_conformance.run.process import WorkerDied
from restride_measure.selftest import checks
from restride_measure.selftest import commands as selftest
from restride_measure.selftest.parts import PARTS
from restride_measure.selftest.speeds import MEASURED, share_of_copy
from restride_measure.selftest.table import read
from restride_measure.workloads import catalogue

pytestmark = pytest.mark.slow

FAULTY = Path(__file__).parents[2] / "support" / "faulty_part.py"
USER, HOST, SECRET = "Quentin.Planted", "planted-host-17", "planted-secret-value"


@pytest.fixture(autouse=True)
def _device():
    open_device("vulkan").close()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user, a host, a home with a blank in its name, and an environment that nobody is to see."""
    home = tmp_path / "the homes" / USER
    (home / "my files").mkdir(parents=True)
    (home / "tmp").mkdir()
    for name, value in {
        "HOME": home, "USERPROFILE": home, "USER": USER, "LOGNAME": USER, "USERNAME": USER, "HOSTNAME": HOST,
        "TMPDIR": home / "tmp", "XDG_CACHE_HOME": home / "cache", "SECRET_TOKEN": SECRET,
    }.items():  # fmt: skip
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr(socket, "gethostname", lambda: f"{HOST}.example.org")
    monkeypatch.setattr(platform, "node", lambda: HOST)
    monkeypatch.chdir(home / "my files")
    return home


def planted(home: Path) -> tuple[str, ...]:
    return (USER, USER.lower(), HOST, SECRET, str(home), home.parent.name, "my files", str(home.parent.parent))


def only(monkeypatch, *names, **limits):
    """Run these parts alone, with other limits: ``TOTAL``, ``GRACE``, or the seconds of every part."""
    seconds = limits.pop("seconds", None)
    rows = [row for row in PARTS if row.name in names]
    monkeypatch.setattr(selftest, "PARTS", [row if seconds is None else row._replace(seconds=seconds) for row in rows])
    for name, value in limits.items():
        monkeypatch.setattr(selftest, name, value)


def plant(monkeypatch, fault, part):
    """Run the parts in processes with a fault; see ``faulty_part``."""
    monkeypatch.setattr(selftest, "COMMAND", (sys.executable, str(FAULTY), fault, part))


def test_the_files_of_a_whole_run_name_nobody_and_no_path(home, monkeypatch, capsys):
    said = (
        f"cannot open {home}/my files/a.spv, {home}/cache/y.bin: asked by {USER} at {HOST.upper()} ({USER}@{HOST})\n"
        f'  File "{home}/lib/my site/z.py", line 3, in f; /opt/{USER}/driver.so; C:\\Users\\{USER}\\a.dll'
    )
    monkeypatch.setenv("RESTRIDE_TEST_SAID", said)
    plant(monkeypatch, "private", "all")
    only(monkeypatch, "installed", "device", "smoke", "copy")
    out = home / "my files" / f"of {USER}.json"
    assert main(["selftest", "--small", "--out", str(out)]) == Exit.CHECK_FAILED
    text, page = out.read_text(), out.with_suffix(".html").read_text()
    for each in planted(home):
        assert each.casefold() not in text.casefold(), each
        assert each.casefold() not in page.casefold(), each
    record = json.loads(text)
    (bad,) = [each for each in record["outcomes"] if each["group"] == "smoke" and each["verdict"] != "PASSED"]
    assert "cannot open <path>, <path>: asked by <name> at <name> (<name>@<name>)" in bad["message"]
    assert 'File "<path>", line 3, in f; <path>; <path>' in bad["message"]
    first = str(checks.catalogue("smoke")[0])
    assert bad["figures"]["repeat"].startswith(f"restride test --repro '{first}'")
    assert "&lt;path&gt;" in page
    assert record["device"]["name"] in page
    assert not set(record["device"]) & {"uuid", "index"}
    assert (record["command"], record["platform"]) == ("restride selftest", f"{platform.system()} {platform.machine()}")
    assert record["started"].endswith("T00:00:00+00:00"), "the day says enough"
    printed = capsys.readouterr()
    assert f"problem: FAILED {first}" in printed.out
    assert "restride: wrote" in printed.err


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder, the record and the exit code of a small run, in a process of its own."""
    open_device("vulkan").close()
    folder = tmp_path_factory.mktemp("whole")
    kept = folder / "kept"
    command = [
        sys.executable,
        "-m",
        "restride",
        "selftest",
        "--small",
        "--seed",
        "7",
        "--out",
        str(folder / "here.json"),
    ]
    environment = {**os.environ, FOLDER_VARIABLE: str(kept)}
    done = captured(command, env=environment, timeout=300)
    assert not kept.exists(), "what was measured is kept"
    return folder, read(folder / "here.json"), done


def test_a_run_has_every_part(whole):
    folder, record, done = whole
    assert done.returncode == Exit.OK, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["here.html", "here.json"]
    assert record.problems == ()
    assert record.options["small"]
    assert {each.case for each in of_part(record, "installed")} > {"restride", "Vulkan loader", "runtime vulkan"}
    for part in ("smoke", "ci"):
        (counted,) = of_part(record, part)
        assert 20 < counted.figures["PASSED"] == counted.figures["selected"]
        assert counted.figures["validation"] == "sync"
    assert of_part(record, "ci")[0].figures["seed"] == 7
    assert {each.case.split()[0] for each in of_part(record, "kernels")} == set(CANDIDATES)
    speed = of_part(record, "speed")
    assert [each.case for each in speed] == [each.name for each in catalogue() if each.name in MEASURED]
    assert all(share_of_copy(each) > 0 for each in speed)
    transpositions = of_part(record, "ttc57")
    assert len(transpositions) == 57
    assert (
        {each.verdict for each in transpositions} == {each.verdict for each in of_part(record, "large")} == {"PASSED"}
    )
    assert set(record.not_run) <= {"cuda"}
    ran = {"device", *(each.group for each in record.outcomes)}
    assert ran | set(record.not_run) == {row.name for row in PARTS}
    for number, row in enumerate(PARTS, 1):
        assert f"restride: part {number} of 12, {row.title}, at most {row.seconds} s ..." in done.stderr


def test_the_page_needs_no_script_and_no_network(whole):
    page = (whole[0] / "here.html").read_text()
    assert "default-src 'none'" in page
    assert [word for word in ("<script", "http:", "https:", "src=", "url(", "onerror", "@@") if word in page] == []
    assert "PASSED: " in page
    assert all(f">{html.escape(name)}</th>" in page for name in MEASURED)


DEVICE = {"name": "x", "kind": "cpu", "driver": "y", "driver_version": "1", "api_version": "1.3", "limits": {}}
QUICK = ("installed", "device", "smoke", "speed", "kernels")


def fake(monkeypatch, took=lambda _: None, **found):
    """Parts that are over at once. found: errors of ``run_part``, or problems, by the name of the part."""

    def run_part(name, job, _step):
        took(job)
        result = found.get(name, ())
        if isinstance(result, BaseException):
            raise result
        outcomes = [{"case": "x", "verdict": "PASSED", "group": name}]
        return {"outcomes": outcomes, "device": DEVICE, "text": "done", "problems": result}, ""

    monkeypatch.setattr(selftest, "run_part", run_part)
    only(monkeypatch, *QUICK)


@pytest.mark.parametrize(
    ("found", "code", "message", "missing"),
    [
        ({}, 0, "", set()),
        ({"smoke": [(1, "FAILED reorder")]}, 1, "FAILED reorder", set()),
        ({"smoke": [(6, "CRASHED")], "speed": [(1, "no")]}, 6, "CRASHED", set()),
        ({"installed": [(4, "no loader")]}, 4, "no loader", set()),
        ({"speed": [(3, "a mistake")], "kernels": [(6, "lost")]}, 3, "a mistake", set()),
        ({"kernels": WorkerDied(Verdict.CRASHED, "it died")}, 6, "it died", {"kernels"}),
        ({"kernels": KeyboardInterrupt()}, 130, "interrupted", {"kernels"}),
    ],
)
def test_what_fails_is_in_both_files_and_in_the_exit_code(found, code, message, missing, tmp_path, monkeypatch):
    fake(monkeypatch, **found)
    out = tmp_path / "out.json"
    assert main(["selftest", "--out", str(out)]) == code
    record, page = json.loads(out.read_text()), out.with_suffix(".html").read_text()
    assert set(QUICK) - {each["group"] for each in record["outcomes"]} == missing
    assert message in " ".join(each["message"] for each in record["problems"])
    assert message in page
    assert ("FAILED" in page.split("<main>")[0].split("<header>")[1]) == bool(code)


@pytest.mark.parametrize(
    ("fault", "code", "message"),
    [
        ("hang", 6, "the device's own copy: not done after 2 s"),
        ("segfault", 6, "the device's own copy: the worker died of SIGSEGV"),
        ("abort", 6, "the device's own copy: the worker died of SIGABRT"),
        ("exit", 6, "the device's own copy: the worker ended with exit code 0"),
        ("lost", 6, "it is gone"),
        ("unsupported", 1, "it cannot do that"),
        ("memory", 6, "host"),
        ("mistake", 3, "a mistake in restride: ZeroDivisionError: ours"),
        ("full", 0, "the device is full"),
    ],
)
def test_a_part_that_hangs_or_crashes_costs_itself_alone(fault, code, message, tmp_path, monkeypatch, capsys):
    plant(monkeypatch, fault, "copy")
    only(monkeypatch, "device", "copy", "calls")
    if fault == "hang":
        run_part = selftest.run_part
        monkeypatch.setattr(selftest, "GRACE", 1.0)
        short = lambda name, job, step: run_part(name, job | {"seconds": 1.0 if name == "copy" else 60.0}, step)  # noqa: E731
        monkeypatch.setattr(selftest, "run_part", short)
    out = tmp_path / "out.json"
    assert main(["selftest", "--small", "--out", str(out)]) == code
    record = json.loads(out.read_text())
    assert record["device"]
    groups = {each["group"] for each in record["outcomes"]}
    assert "calls" in groups, "the part after it ran"
    assert "copy" not in groups
    said = [record["not_run"]["copy"]] if fault == "full" else [each["message"] for each in record["problems"]]
    assert message in said[0]
    assert message in capsys.readouterr().out


def test_a_crash_after_the_answer_keeps_the_answer(tmp_path, monkeypatch):
    plant(monkeypatch, "crash late", "copy")
    only(monkeypatch, "device", "copy")
    out = tmp_path / "out.json"
    assert main(["selftest", "--small", "--out", str(out)]) == Exit.DEVICE_FAILED
    record = json.loads(out.read_text())
    assert [each["group"] for each in record["outcomes"]] == ["copy"]
    (problem,) = record["problems"]
    assert "the worker died of SIGSEGV" in problem["message"]


def test_what_a_driver_prints_is_no_answer(tmp_path, monkeypatch):
    plant(monkeypatch, "shout", "all")
    only(monkeypatch, "device", "calls")
    assert main(["selftest", "--small", "--out", str(tmp_path / "out.json")]) == Exit.OK


def test_a_device_with_memory_of_its_own_runs_every_part(tmp_path, monkeypatch):
    monkeypatch.setenv("RESTRIDE_TEST_AS_GPU", "1")
    plant(monkeypatch, "none", "all")
    only(monkeypatch, *(row.name for row in PARTS if row.name not in ("installed", "smoke", "ci")))
    out = tmp_path / "out.json"
    assert main(["selftest", "--small", "--out", str(out)]) == Exit.OK
    record = json.loads(out.read_text())
    assert record["device"]["kind"] == "discrete"
    *ways, in_place = [each for each in record["outcomes"] if each["group"] == "transfers"]
    assert "memory of its own" in in_place["message"]
    assert [each["case"].split(",")[0] for each in ways] == ["upload", "download", "rs.asarray", "numpy()"]
    assert set(record["not_run"]) <= {"cuda"}


def test_later_parts_get_the_time_that_is_left(tmp_path, monkeypatch, capsys):
    clock = [0.0]

    def run_part(_name, job, _step):
        given.append(job["seconds"])
        clock[0] += job["seconds"] + selftest.GRACE
        return {"outcomes": [], "device": DEVICE, "text": "done"}, ""

    given: list[float] = []
    monkeypatch.setattr(selftest, "run_part", run_part)
    monkeypatch.setattr(selftest, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(selftest, "page", lambda _: "")
    out = tmp_path / "out.json"
    assert main(["selftest", "--out", str(out)]) == Exit.OK
    assert clock[0] <= selftest.TOTAL
    whole = [row.seconds for row in PARTS]
    assert given[:-1] == whole[: len(given) - 1], "earlier parts have all their time"
    assert given[-1] < whole[len(given) - 1]
    not_run = json.loads(out.read_text())["not_run"]
    assert list(not_run) == [row.name for row in PARTS[len(given) :]]
    assert set(not_run.values()) == {"the 300 s of the selftest were over"}
    assert "not run: the 300 s of the selftest were over" in capsys.readouterr().out


def test_without_the_validation_layer_the_cases_run_and_the_part_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VK_LAYER_PATH", str(tmp_path / "none"))
    only(monkeypatch, "device", "smoke")
    out = tmp_path / "out.json"
    assert main(["selftest", "--small", "--out", str(out)]) == Exit.OK
    record = json.loads(out.read_text())
    (smoke,) = record["outcomes"]
    assert smoke["figures"]["validation"] is None
    assert smoke["figures"]["PASSED"] > 20
    assert record["problems"] == []
    assert "all right" in out.with_suffix(".html").read_text()
    assert re.search(r"smoke: \d+ PASSED; without validation: .* is not in VK_LAYER_PATH", capsys.readouterr().out)


def test_a_busy_machine_is_named_before_the_first_part(tmp_path, monkeypatch, capsys):
    fake(monkeypatch)
    monkeypatch.setattr(selftest, "warnings", lambda: ["other work is running"])
    assert main(["selftest", "--out", str(tmp_path / "out.json")]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == [
        "restride: warning: other work is running",
        "restride: part 1 of 5, what is installed, at most 20 s ...",
    ]


def test_without_a_driver_the_files_say_so(tmp_path):
    environment = {**os.environ, "VK_DRIVER_FILES": "/nowhere/x.json", "VK_ICD_FILENAMES": "/nowhere/x.json"}
    command = [sys.executable, "-m", "restride", "selftest", "--out", str(tmp_path / "out.json")]
    done = captured(command, env=environment, timeout=300)
    assert done.returncode == Exit.NO_DEVICE
    record = json.loads((tmp_path / "out.json").read_text())
    assert record["device"] is None
    assert {each["group"] for each in record["outcomes"]} == {"installed"}
    assert any("install a driver" in each["message"] for each in record["problems"])
    assert "/nowhere" not in (tmp_path / "out.json").read_text()
    assert "no device" in (tmp_path / "out.html").read_text()


@pytest.mark.parametrize("out", ["out.txt", "out", "out.html"])
def test_the_file_is_json_and_that_is_said_before_the_run(out, tmp_path, capsys):
    assert main(["selftest", "--out", str(tmp_path / out)]) == Exit.USAGE
    assert "--out must be a .json file" in capsys.readouterr().err
    assert main(["selftest", "--out", str(tmp_path / "none" / "out.json")]) == Exit.USAGE
    assert list(tmp_path.iterdir()) == []
