"""`restride selftest`: what its files say, what they never say, and what becomes of a part that fails."""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import open_device

from restride.cli import main
from restride.cli.doctor import Finding
from restride.cli.process import Exit
from restride.errors import DeviceLost
from restride.kernel import CANDIDATES
from restride.runtime.choices_file import FOLDER_VARIABLE
from restride_bench.selftest import commands as selftest
from restride_bench.selftest import parts
from restride_bench.selftest.nameless import nameless
from restride_bench.selftest.parts import MEASURED, Part, Problem
from restride_bench.selftest.table import COPIED, SHARES
from restride_bench.workloads import catalogue
from restride_conformance.record import Verdict
from restride_conformance.run.runner import Runner

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


def test_the_files_of_a_whole_run_name_nobody_and_no_path(home, monkeypatch, capsys):
    said = (
        f"cannot open {home}/my files/a.spv, {home}/cache/y.bin: asked by {USER} at {HOST.upper()} ({USER}@{HOST})\n"
        f'  File "{home}/lib/my site/z.py", line 3, in f; /opt/{USER}/driver.so; C:\\Users\\{USER}\\a.dll'
    )
    run, look = Runner.run, parts.look

    def one_fails(runner, case):
        outcome = run(runner, case)
        return replace(outcome, verdict=Verdict.FAILED, message=said) if case == first else outcome

    def one_more(default, selector):
        yield from look(default, selector)
        yield Finding("BROKEN", "driver", f"{home}/icd.json: {said}", f"correct {home}/icd.json")

    first = parts.catalogue("smoke")[0]
    monkeypatch.setattr(Runner, "run", one_fails)
    monkeypatch.setattr(parts, "look", one_more)
    out = home / "my files" / f"of {USER}.json"
    assert main(["selftest", "--small", "--out", str(out)]) == Exit.CHECK_FAILED
    text, page = out.read_text(), out.with_suffix(".html").read_text()
    for each in planted(home):
        assert each.casefold() not in text.casefold(), each
        assert each.casefold() not in page.casefold(), each
    record = json.loads(text)
    assert (
        "cannot open <path>, <path>: asked by <name> at <name> (<name>@<name>)" in record["cases"]["bad"][0]["message"]
    )
    assert 'File "<path>", line 3, in f; <path>; <path>' in record["cases"]["bad"][0]["message"]
    assert "&lt;path&gt;" in page
    assert record["device"]["name"] in page
    assert not set(record["device"]) & {"uuid", "index"}
    printed = capsys.readouterr()
    assert f"problem: FAILED {first}" in printed.out
    assert "restride: wrote" in printed.err


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder, the record and the exit code of a small run, in a process of its own."""
    open_device("vulkan").close()
    folder = tmp_path_factory.mktemp("whole")
    kept = folder / "kept"
    command = [sys.executable, "-m", "restride", "selftest", "--small", "--out", str(folder / "here.json")]
    environment = {**os.environ, FOLDER_VARIABLE: str(kept)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert not kept.exists(), "what was measured is kept"
    return folder, json.loads((folder / "here.json").read_text()), done


def test_a_run_has_every_part(whole):
    folder, record, done = whole
    assert done.returncode == Exit.OK, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["here.html", "here.json"]
    assert record["problems"] == []
    assert record["small"]
    assert {each["subject"] for each in record["installed"]["findings"]} > {
        "restride",
        "Vulkan loader",
        "runtime vulkan",
    }
    assert sum(record["cases"]["counts"].values()) == record["cases"]["counts"]["PASSED"] > 20
    assert record["cases"]["validation"] == "sync"
    assert set(record["kernels"]["seconds"]) == set(record["kernels"]["faster"]) == set(CANDIDATES)
    assert [each["name"] for each in record["speed"]["workloads"]] == [
        each.name for each in catalogue() if each.name in MEASURED
    ]
    for each in record["speed"]["workloads"]:
        assert all(seconds > 0 for of in each["seconds"].values() for seconds in of.values())
    for number, title in enumerate(("what is installed", "smoke cases", "which kernels are faster", "speed"), 1):
        assert f"restride: part {number} of 4, {title} ..." in done.stderr


def test_the_workloads_of_the_page_are_measured():
    assert len(MEASURED) == len({each.name for each in catalogue()} & set(MEASURED))
    assert {COPIED, *SHARES.values()} <= set(MEASURED)


def test_the_page_needs_no_script_and_no_network(whole):
    page = (whole[0] / "here.html").read_text()
    assert "default-src 'none'" in page
    assert [word for word in ("<script", "http:", "https:", "src=", "url(", "onerror", "@@") if word in page] == []
    assert "no problem" in page
    assert page.count("<meter") == len(MEASURED)


def fake(monkeypatch, **found):
    """Parts that have happened; those that are none are a problem or an error."""
    for name in ("installed", "cases", "kernels", "speed"):
        result = found.get(name, Part(EMPTY[name], f"{name}: done"))
        if isinstance(result, Problem):
            result = Part(EMPTY[name], "", (result,))

        def part(*_arguments, result=result):
            if isinstance(result, BaseException):
                raise result
            return result

        monkeypatch.setattr(selftest, name, part)


EMPTY = {
    "installed": {"findings": []},
    "cases": {"catalogue": "smoke", "validation": "sync", "counts": {"PASSED": 9}, "bad": []},
    "kernels": {"clock": "host", "rounds": 1, "seconds": {}, "used": {}, "usual": {}, "faster": {}},
    "speed": {"measures": ["resident"], "rounds": 1, "warnings": [], "workloads": []},
}


@pytest.mark.parametrize(
    ("found", "code", "message", "missing"),
    [
        ({}, 0, "", set()),
        ({"cases": Problem(Exit.CHECK_FAILED, "FAILED reorder")}, 1, "FAILED reorder", set()),
        (
            {"cases": Problem(Exit.DEVICE_FAILED, "CRASHED"), "speed": Problem(Exit.CHECK_FAILED, "no")},
            6,
            "CRASHED",
            set(),
        ),
        ({"installed": Problem(Exit.NO_DEVICE, "no loader")}, 4, "no loader", set()),
        ({"kernels": DeviceLost("it is gone")}, 6, "it is gone", {"kernels"}),
        ({"speed": KeyboardInterrupt()}, 130, "interrupted", {"speed"}),
        ({"speed": ZeroDivisionError("ours")}, 3, "ours", {"speed"}),
        ({"cases": MemoryError("host")}, 6, "host", {"cases"}),
    ],
)
def test_what_fails_is_in_both_files_and_in_the_exit_code(found, code, message, missing, tmp_path, monkeypatch):
    fake(monkeypatch, **found)
    out = tmp_path / "out.json"
    assert main(["selftest", "--out", str(out)]) == code
    record, page = json.loads(out.read_text()), out.with_suffix(".html").read_text()
    assert {name for name in EMPTY if record[name] is None} == missing
    assert message in " ".join(each["message"] for each in record["problems"])
    assert message in page
    assert ("FAILED" in page.split("<main>")[0].split("<header>")[1]) == bool(code)


def test_a_process_that_dies_leaves_the_parts_before(tmp_path, monkeypatch):
    written = []
    fake(monkeypatch)
    monkeypatch.setattr(selftest, "speed", lambda *_: written.append(json.loads((tmp_path / "out.json").read_text())))
    main(["selftest", "--out", str(tmp_path / "out.json")])
    (before,) = written
    assert before["kernels"] == EMPTY["kernels"]
    assert before["speed"] is None


def test_without_the_validation_layer_the_cases_run_and_the_part_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VK_LAYER_PATH", str(tmp_path / "none"))
    fake(monkeypatch)
    monkeypatch.setattr(selftest, "cases", parts.cases)
    out = tmp_path / "out.json"
    assert main(["selftest", "--small", "--out", str(out)]) == Exit.OK
    record = json.loads(out.read_text())
    assert record["cases"]["validation"] is None
    assert record["cases"]["counts"]["PASSED"] > 20
    assert record["problems"] == []
    assert "without validation: 2" in (page := out.with_suffix(".html").read_text())
    assert "no problem" in page
    assert re.search(r"cases: \d+ PASSED; without validation: .* is not installed; install it", capsys.readouterr().out)


def test_what_is_not_in_order_is_named(monkeypatch):
    findings = ("ok", "numpy"), ("ok", "loader"), ("missing", "kp"), ("old", "driver of 0"), ("missing", "rich")
    monkeypatch.setattr(parts, "look", lambda *_: (Finding(status, subject, "") for status, subject in findings))
    part = parts.installed(None)
    assert part.text == "installed: 2 ok; missing: kp, rich; old: driver of 0 (`restride doctor` says what to do)"
    assert part.problems == ()


def test_a_busy_machine_is_named_before_the_first_part(tmp_path, monkeypatch, capsys):
    fake(monkeypatch)
    monkeypatch.setattr(selftest, "warnings", lambda: ["other work is running"])
    assert main(["selftest", "--out", str(tmp_path / "out.json")]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["restride: warning: other work is running", "restride: part 1 of 4, what is installed ..."]


def test_without_a_driver_the_files_say_so(tmp_path):
    environment = {**os.environ, "VK_DRIVER_FILES": "/nowhere/x.json", "VK_ICD_FILENAMES": "/nowhere/x.json"}
    command = [sys.executable, "-m", "restride", "selftest", "--out", str(tmp_path / "out.json")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == Exit.NO_DEVICE
    record = json.loads((tmp_path / "out.json").read_text())
    assert record["device"] is None
    assert record["speed"] is None
    assert any("install a driver" in each["message"] for each in record["problems"])
    assert "/nowhere" not in (tmp_path / "out.json").read_text()
    assert "no device" in (tmp_path / "out.html").read_text()


def test_the_choices_of_the_user_stay(tmp_path, monkeypatch):
    """The faster kernels are measured and named; a stored choice is neither changed nor made."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with open_device("vulkan") as device:
        used = device.limits.choices
        found = parts.kernels(device, True)
        assert device.limits.choices == used
    assert found.record["used"] == parts.asdict(used)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("out", ["out.txt", "out", "out.html"])
def test_the_file_is_json_and_that_is_said_before_the_run(out, tmp_path, capsys):
    assert main(["selftest", "--out", str(tmp_path / out)]) == Exit.USAGE
    assert "--out is a .json file" in capsys.readouterr().err
    assert main(["selftest", "--out", str(tmp_path / "none" / "out.json")]) == Exit.USAGE
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/usr/lib/x.so: no such file", "<path>: no such file"),
        ("in /srv/a, /srv/b; (/srv/c) '/srv/d e'", "in <path>, <path>; (<path>) '<path>'"),
        (r"C:\Users\x\y.dll and \\server\share\z", "<path> and <path>"),
        ("D:/data/x and ~/y and ~other/z and file:///srv/x", "<path> and <path> and <path> and file:<path>"),
        ("12 GB/s, 1/3 of 2, a / b, and/or, 16/09", "12 GB/s, 1/3 of 2, a / b, and/or, 16/09"),
        ("reorder u8[2,3]{1,0} -> u8[2,3]{0,1}", "reorder u8[2,3]{1,0} -> u8[2,3]{0,1}"),
        (
            "mapped by somebody, Somebody's, x_somebody_y, somebodys",
            "mapped by <name>, <name>'s, x_<name>_y, somebodys",
        ),
        ("box-3 and BOX-3.lan; box-33", "<name> and <name>.lan; box-33"),
        ("/home/some body/x y/z.txt: no", "<path> y/z.txt: no"),
    ],
)
def test_texts_lose_paths_and_names(text, expected, monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "box-3")
    monkeypatch.setattr(platform, "node", lambda: "")
    monkeypatch.setattr(getpass, "getuser", lambda: "somebody")
    environment = {"HOME": "/home/some body", "USER": "somebody"}
    assert nameless({"a": [text], "b": text}, ("b",), environment) == {"a": [expected], "b": text}
