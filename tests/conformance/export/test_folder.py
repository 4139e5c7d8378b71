"""Folders of cases: their programs, compiled and run, notice what is wrong; and how a folder is written."""

import json
import os
import re
import subprocess
from itertools import groupby

import numpy as np
import pytest
from support.c_programs import compile_c
from support.devices import open_device
from support.sampled import sample
from support.validated_process import messages

from restride.command.process import UsageError
from restride.errors import DeviceNotFound, RestrideError
from restride.kernel import Choices, Limits
from restride_conformance import catalogue
from restride_conformance.case import Case
from restride_conformance.export.folder import Seen, is_export, write_folder
from restride_conformance.export.recorded import program_of
from restride_conformance.record import Host, Outcome, Verdict

CASES = [
    "reorder u8[5,13]{1,0} -> u8[5,13]{0,1}",
    "reorder f64[4,3]{1,0} -> f64[4,3]{0,1} out=new",
    "reorder u16[9]{strides=(2)} -> u16[9]{strides=(2),offset=1} out=same",
    "reorder u8[5,13]{1,0} -> u8[5,13]{0,1:T(4,8)}",
    "slice f32[9]{0} -> f32[3]{0} offsets=(0) sizes=(9) strides=(3)",
    "resample f32[9,7]{1,0} -> f32[5,4]{1,0} mode=linear antialias=yes",
    "resample u8[6,8]{1,0} -> u8[12,3]{1,0} mode=cubic",
    "resample f16[6,8]{1,0} -> f16[12,3]{1,0} mode=linear",
]
COPY, EXACT, TILES, BOUNDED = CASES[4], CASES[0], CASES[3], CASES[5]


@pytest.fixture(scope="module")
def device():
    with open_device("vulkan") as device:
        yield device


def host_of(limits):
    driver = {"name": "a device", "driver": "a driver", "driver_version": "1", "uuid": "00ff"}
    return Host(driver, limits, "vulkan", {"restride": "1"})


def written(line, folder, limits, message="", groups=""):
    case = Case.parse(line)
    outcome = Outcome(line, Verdict.FAILED if message else Verdict.PASSED, message, groups=groups)
    write_folder(program_of(case, limits, groups=groups), Seen(outcome, host_of(limits)), folder)
    return folder


def built(folder):
    compile_c(["make", "-s", "CFLAGS=-std=c99 -Wall -Wextra -Werror"], folder)
    return folder / "repro"


def run(program, device, *arguments):
    command = [program, "--device", device.info.name, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def change(file, place, by=0xFF):
    data = bytearray(file.read_bytes())
    data[place] ^= by
    file.write_bytes(data)


def change_first_element(folder):
    """Change what the first element must be; returns False if there is none."""
    places = np.fromfile(folder / "places.bin", "<u8")
    if not places.size:
        return False
    if not (folder / "lowest.bin").exists():
        change(folder / "expected.bin", int(places[0]))
        return True
    for name in ("lowest.bin", "highest.bin"):
        for byte in range((folder / name).stat().st_size // places.size):
            change(folder / name, byte, 0x7F)
    return True


def sampled_lines():
    """Two cases of each operation of the catalogue ci."""
    by_operation = groupby(sorted(catalogue("ci"), key=lambda case: case.op), key=lambda case: case.op)
    return [str(case) for op, cases in by_operation for case in sample(cases, 2, "export", op)]


@pytest.mark.slow
@pytest.mark.parametrize("line", [*CASES, *sampled_lines()])
def test_the_program_of_a_case_is_right_and_notices_a_changed_element(device, tmp_path, line):
    try:
        folder = written(line, tmp_path / "x", device.limits)
    except RestrideError as refused:
        pytest.skip(f"not exported: {refused}")
    program = built(folder)
    done = run(program, device)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("RIGHT\n")
    if change_first_element(folder):
        done = run(program, device)
        assert done.returncode == 1, done.stdout
        assert "elements are wrong, from (" in done.stdout


@pytest.mark.slow
def test_a_byte_that_is_read_a_push_word_and_a_guard_matter(device, tmp_path):
    folder = written(COPY, tmp_path / "x", device.limits)
    program = built(folder)
    source = program_of(Case.parse(COPY), device.limits).buffers[0].contents
    at = int(np.fromfile(folder / "places.bin", "<u8")[1])
    wanted = (folder / "expected.bin").read_bytes()[at : at + 4]
    change(folder / "source.bin", source.tobytes().index(wanted))
    done = run(program, device)
    assert done.returncode == 1
    assert "element (1) is 0x" in done.stdout
    assert "1 of 3 elements are wrong, from (1) to (1)" in done.stdout
    (folder / "source.bin").write_bytes(source.tobytes())
    assert run(program, device).returncode == 0
    change(folder / "expected.bin", 5)
    done = run(program, device)
    assert done.returncode == 1
    assert "byte 5 of destination is 0x" in done.stdout
    change(folder / "expected.bin", 5)
    text = (folder / "repro.c").read_text()
    pushed = re.search(r"PUSH\[\] = \{\n(.*?)\};", text, re.DOTALL)
    rows = pushed[1].split("\n")[:-1]

    def is_wrong_with_another(place):
        changed = [*rows[:place], f"    {int(rows[place].strip(' ,')) ^ 1},", *rows[place + 1 :], ""]
        (folder / "repro.c").write_text(text.replace(pushed[1], "\n".join(changed)))
        return run(built(folder), device).returncode == 1

    assert any(map(is_wrong_with_another, range(len(rows))))


@pytest.mark.slow
@pytest.mark.parametrize(("line", "groups"), [(COPY, "8x8"), (EXACT, "8x8"), (BOUNDED, "32x1")])
def test_a_program_in_other_groups_is_right_and_says_which(device, tmp_path, line, groups):
    folder = written(line, tmp_path / "x", device.limits, f"right with groups of 128x1, wrong with {groups}", groups)
    done = run(built(folder), device)
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((folder / "case.json").read_text())
    assert record["groups"] == groups
    assert all(name.endswith(f"_in_groups_of_{groups}") for name in record["modules"])
    readme = (folder / "README.md").read_text()
    assert f", work groups of {groups}, in one command buffer" in readme
    assert "--repro LINE --groups`" in readme
    change_first_element(folder)
    assert run(folder / "repro", device).returncode == 1


def test_replays_count_distinct_results(device, tmp_path):
    program = built(written(BOUNDED, tmp_path / "x", device.limits))
    done = run(program, device, "--replay", 5)
    assert done.returncode == 0
    assert "replay 1:\n  right\n5 replays, distinct results: 1\n  5 times that of replay 1\n" in done.stdout


@pytest.mark.slow
def test_files_are_read_from_the_folder_that_is_named_and_a_missing_one_is_said(device, tmp_path):
    folder = written(EXACT, tmp_path / "x", device.limits)
    program = built(folder).rename(tmp_path / "elsewhere")
    assert run(program, device, folder).returncode == 0
    (folder / "source.bin").unlink()
    done = run(program, device, folder)
    assert (done.returncode, "cannot read" in done.stderr) == (2, True)
    assert run(program, device, "--replay", 0).returncode == 2
    helped = run(program, device, "--help")
    assert (helped.returncode, helped.stdout[:12], helped.stderr) == (0, "usage: repro", "")


@pytest.mark.slow
def test_without_a_device_the_exit_code_is_77(device, tmp_path):
    program = built(written(EXACT, tmp_path / "x", device.limits))
    done = subprocess.run([program, "--device", "no such"], capture_output=True, text=True, check=False)
    assert done.returncode == 77
    assert re.search("^repro: device 0 is .+, Vulkan 1[.][0-9]$", done.stderr, re.MULTILINE), "it names those there are"
    nowhere = {
        **os.environ,
        "VK_ICD_FILENAMES": str(tmp_path / "no.json"),
        "VK_DRIVER_FILES": str(tmp_path / "no.json"),
    }
    assert subprocess.run([program], capture_output=True, env=nowhere, check=False).returncode == 77


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["core", "sync"])
@pytest.mark.parametrize("line", [TILES, BOUNDED])
def test_the_validation_layer_says_nothing(device, tmp_path, line, profile):
    program = built(written(line, tmp_path / "x", device.limits))
    arguments = [program, "--device", device.info.name, "--replay", "2"]
    script = f"import subprocess; subprocess.run({list(map(str, arguments))!r}, check=True)"
    try:
        assert messages(["-c", script], profile) == []
    except DeviceNotFound as error:
        pytest.skip(str(error))


# How a folder is written.

LIMITS = Limits(offset_alignment=16, choices=Choices.usual("cpu"))


def test_the_description_has_the_modules_steps_and_driver(tmp_path):
    folder = written(EXACT, tmp_path / "x", LIMITS, "1 of 65 elements are wrong")
    record = json.loads((folder / "case.json").read_text())
    assert (record["case"], record["verdict"], record["message"]) == (EXACT, "FAILED", "1 of 65 elements are wrong")
    (step,) = record["steps"]
    assert (folder / f"{step['module']}.spv").is_file()
    assert step.keys() >= {"given", "push", "groups", "bindings", "barrier"}
    assert record["device"] == {"name": "a device", "driver": "a driver", "driver_version": "1"}
    readme = (folder / "README.md").read_text()
    assert EXACT in readme
    assert "`expected`, `places`" in readme
    bounded = (written(BOUNDED, tmp_path / "y", LIMITS) / "README.md").read_text()
    assert "`expected`, `lowest`, `highest`, `places`" in bounded
    assert "1 of 65 elements are wrong" in readme
    assert "a driver" in readme


def test_the_paths_of_a_message_are_left_out(tmp_path):
    message = 'died: File "/home/me/lib/x.py", line 3\nC:\\Users\\me\\y.dll, 1/2 of a/b'
    folder = written(EXACT, tmp_path / "x", LIMITS, message)
    for file in folder.iterdir():
        assert b"/home" not in file.read_bytes()
        assert b"Users" not in file.read_bytes()
        assert os.fsencode(tmp_path) not in file.read_bytes()
    assert "x.py" in (folder / "README.md").read_text()


def test_an_older_export_is_replaced_whole(tmp_path):
    folder = written(EXACT, tmp_path / "x", LIMITS)
    (folder / "stale.bin").write_bytes(b"")
    written(COPY, folder, LIMITS)
    assert not (folder / "stale.bin").exists()
    assert [each.name for each in tmp_path.iterdir()] == ["x"]


def test_what_is_no_export_is_not_replaced(tmp_path):
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "mine").write_text("kept")
    assert not is_export(folder)
    with pytest.raises(UsageError, match=r"cannot write .*x: "):
        written(EXACT, folder, LIMITS)
    assert [each.name for each in tmp_path.iterdir()] == ["x"]
    assert (folder / "mine").read_text() == "kept"


def test_an_error_names_the_file_and_leaves_nothing(tmp_path, monkeypatch):
    folder = written(EXACT, tmp_path / "x", LIMITS)

    def full(path, content):
        if path.name == "repro.c":
            raise UsageError(f"cannot write {path}: No space left on device")
        path.write_bytes(content)

    monkeypatch.setattr("restride_conformance.export.folder.write_whole", full)
    with pytest.raises(UsageError, match=r"x/repro\.c: No space"):
        written(COPY, folder, LIMITS)
    assert [each.name for each in tmp_path.iterdir()] == ["x"]
    assert EXACT in (folder / "repro.c").read_text()
