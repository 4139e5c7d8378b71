"""The command line: operations from file to file, exit codes, and messages of one line."""

import json
import os
import shlex
import signal
import subprocess
import sys
from importlib.metadata import EntryPoints
from pathlib import Path
from typing import SupportsIndex

import numpy as np
import pytest
from support.devices import open_device
from support.judges import judge

import restride as rs
from restride.cli import command_modules, main, operations
from restride.cli.operate import FileCommand, call
from restride.command.parser import LABORATORY, SUMMARIES, parse, parse_index
from restride.command.process import UsageError, ending
from restride.command.processor import cpu_model
from restride.errors import Message, warn_caller
from restride.reference.comparison import compare_bits, compare_limits
from restride.runtime import RUNTIMES
from restride.runtime.manifests import DRIVER_VARIABLES, drivers

NO_DRIVER = {"VK_DRIVER_FILES": "/nowhere/none.json", "VK_ICD_FILENAMES": "/nowhere/none.json"}


@pytest.fixture(scope="module", params=RUNTIMES)
def runtime(request):
    with open_device(request.param):
        return request.param


@pytest.fixture
def x(tmp_path):
    array = np.arange(2 * 3 * 8 * 6, dtype=np.float32).reshape(2, 3, 8, 6)
    np.save(tmp_path / "x.npy", array)
    return array


def restride(*arguments, **environment):
    """A process of its own: exit code, stdout, stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "restride", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    return done.returncode, done.stdout, done.stderr


def test_an_axis_of_a_function_reaches_it(x, tmp_path, monkeypatch, capsys):
    """Functions that take scales do not take the axis of scales; the command makes arrays of both."""

    def flip(x: rs.Tensor, axis: SupportsIndex) -> rs.Tensor:
        return x[(slice(None),) * axis + (slice(None, None, -1),)]

    def operation(options, file):
        return call(options, file, file.desc)

    flips = FileCommand("flip", "", flip, {"": {"axis": "which"}}, operation)
    monkeypatch.setitem(SUMMARIES, "flip", "reverse an axis")
    monkeypatch.setattr(operations, "COMMANDS", (*operations.COMMANDS, flips))
    monkeypatch.setattr(rs.reference, "flip", np.flip, raising=False)
    assert main(["flip", str(tmp_path / "x.npy"), str(tmp_path / "y.npy"), "--axis", "2", "--check"]) == 0
    assert "OK" in capsys.readouterr().out
    assert np.array_equal(np.load(tmp_path / "y.npy"), x[:, :, ::-1])


def refused(capsys, *arguments):
    """Exit code and the one line that says why."""
    code = main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert len(lines) == 1, printed.err
    assert lines[0].startswith("restride: ")
    return code, lines[0]


def operate(tmp_path, command, *arguments, output="y.npy", source="x.npy"):
    code = main([command, str(tmp_path / source), str(tmp_path / output), "--check", *map(str, arguments)])
    assert code == 0
    return np.load(tmp_path / output)


def test_slice_by_index(x, runtime, tmp_path, capsys):
    y = operate(tmp_path, "slice", "[..., ::2, ::-1]", "--runtime", runtime)
    assert np.array_equal(y, x[..., ::2, ::-1])
    printed = capsys.readouterr()
    assert "check: largest difference 0 (allowed 0): OK" in printed.out
    assert "f32[2,3,4,6]{3,2,1,0} from f32[2,3,8,6]{3,2,1,0}" in printed.out
    assert printed.err.endswith(
        f"({runtime}), kernels prepared and result read back, without reading and writing files\n"
    )


def test_slice_by_window(tmp_path, runtime):
    np.save(tmp_path / "x.npy", np.arange(1, 17, dtype=np.int32).reshape(1, 1, 4, 4))
    window = ["--offsets", 0, 0, 0, 1, "--sizes", 1, 1, 4, 3, "--runtime", runtime]
    assert operate(tmp_path, "slice", *window, "--strides", 1, 1, 2, 2).tolist() == [[[[2, 4], [10, 12]]]]
    assert operate(tmp_path, "slice", *window, "--strides", 1, 1, -2, 2).tolist() == [[[[14, 16], [6, 8]]]]
    small = operate(tmp_path, "slice", *window, "--strides", 1, 1, -2, 2, "--output-sizes", 1, 1, 1, 2)
    assert small.tolist() == [[[[14, 16]]]]
    assert operate(tmp_path, "slice", *window).tolist() == [[[[2, 3, 4], [6, 7, 8], [10, 11, 12], [14, 15, 16]]]]


def test_input_may_be_the_output(x, runtime, tmp_path):
    words = ("slice", "[0]", "--runtime", runtime, "--in-place")
    assert np.array_equal(operate(tmp_path, *words, output="x.npy"), x[0])


def commands_that_replace():
    """For each command that reads and writes files, words by which its result would replace an input."""
    sizes = ("--sizes", "4", "4")
    words = {
        "slice": ("a.npy", "a.npy", "[:2]"),
        "reorder": ("a.npy", "./a.npy", "--to", "f32"),
        "resample": ("a.npy", "link.npy", *sizes, "--axes", "0", "1"),
        "resize": ("photos", "photos", *sizes),
        "crop": ("a.npy", "hard.npy", "--box", "0,0,4,4", *sizes),
        "crop --boxes": ("a.npy", "boxes.npy", "--boxes", "boxes.npy", *sizes),
        "yuv": ("a.npy", "a.npy"),
        "preprocess": ("a.npy", "-o", "a.npy", *sizes),
        "view": ("a.png", "-o", "a.png"),
        "demo": ("demo/contact_sheet.png", "--out", "demo"),
        "report": ("html", "a.npy", "a.npy"),
        "test": ("a.npy", "--json", "a.npy"),
    }
    return [(name.split()[0], *each) for name, each in words.items()]


@pytest.mark.parametrize("words", commands_that_replace(), ids=lambda words: words[0])
def test_no_command_replaces_its_input_unasked(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pillow = judge("PIL.Image")
    np.save("a.npy", np.zeros((6, 4), np.uint8) if words[0] == "yuv" else np.zeros((8, 8, 3), np.uint8))
    np.save("boxes.npy", np.array([[0, 0, 4, 4]]))
    Path("link.npy").symlink_to("a.npy")
    Path("hard.npy").hardlink_to("a.npy")
    for folder in ("photos", "demo"):
        Path(folder).mkdir()
    for name in ("a.png", "photos/a.png", "demo/contact_sheet.png"):
        pillow.new("RGB", (40, 40)).save(name)
    before = {path: (path.read_bytes(), path.lstat().st_ino) for path in Path().rglob("*.*")}
    assert main(words) == 2
    assert "and the result would replace it: " in capsys.readouterr().err
    assert {path: (path.read_bytes(), path.lstat().st_ino) for path in Path().rglob("*.*")} == before
    if words[0] in ("slice", "reorder", "resample", "resize", "preprocess"):
        assert main([*words, "--in-place"]) == 0
        assert Path("photos/a.png" if words[0] == "resize" else "a.npy").read_bytes() not in before.values()


@pytest.mark.parametrize(
    "words",
    [
        "resample --sizes 4 5 --mode nearest",  # bits
        "resample --sizes 4 5",  # sums within limits
        "reorder --src-scale 0.5",  # f32 steps
        "crop --sizes 4 5 --mean 0.5",
        "slice [:,::2]",
    ],
)
@pytest.mark.usefixtures("x")
def test_check_tells_one_wrong_element(words, runtime, tmp_path, capsys, monkeypatch):
    honest = rs.Tensor.numpy

    def damaged(tensor):
        array = honest(tensor)
        array.reshape(-1)[5] += np.float32(1)
        return array

    monkeypatch.setattr(rs.Tensor, "numpy", damaged)
    command, *options = words.split()
    files = [str(tmp_path / "x.npy"), str(tmp_path / "y.npy")]
    assert main([command, *files, *options, "--check", "--runtime", runtime]) == 1
    printed = capsys.readouterr()
    assert "FAILED, 1 of " in printed.out
    assert printed.err.endswith("y.npy is not written\n")
    assert not (tmp_path / "y.npy").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--colour", "unrecognized arguments: --colour (see `restride --help`)"),
        ("paint", "invalid choice: 'paint'"),
        ("devices --colour", "unrecognized arguments: --colour"),
    ],
)
def test_unknown_words_exit_2(words, message, capsys):
    code, line = refused(capsys, *words.split())
    assert (code, message in line) == (2, True)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (rs.DeviceLost("gone"), 6),
        (rs.DeviceTimeout("late"), 6),
        (rs.OutOfDeviceMemory("full"), 6),
        (MemoryError("no room"), 6),
        (rs.DeviceNotFound("none"), 4),
        (rs.UnsupportedError("not yet"), 2),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_error_has_its_exit_code(error, code, capsys, monkeypatch):
    def fail():
        raise error

    monkeypatch.setattr("restride.cli.devices.list_devices", fail)
    assert refused(capsys, "devices")[0] == code


@pytest.mark.usefixtures("x", "vulkan_device")
def test_a_time_limit_is_told_in_words_of_the_command_line(tmp_path, capsys):
    arguments = ("resample", tmp_path / "x.npy", tmp_path / "y.npy", "--sizes", 1500, 1500, "--timeout", 1e-6)
    code, line = refused(capsys, *arguments, "--runtime", "vulkan")
    assert code == 6
    assert "--timeout" in line
    assert "Device(" not in line


@pytest.mark.parametrize("seconds", ["inf", "nan", "1e400", "1e12", "-1", "0", "soon"])
@pytest.mark.parametrize("command", ["test", "demo"])
def test_a_time_limit_is_a_number_of_seconds_up_to_a_day(command, seconds, capsys):
    code, line = refused(capsys, command, f"--timeout={seconds}")
    assert code == 2
    assert f"{seconds!r} is no time limit: seconds, more than 0 and at most 86400" in line


def test_a_warning_is_one_line(capsys, monkeypatch):
    monkeypatch.setattr(
        "restride.cli._run", lambda _: warn_caller(Message.of("give ", "axes=(0, 1)", "--axes 0 1")) or 0
    )
    assert main([]) == 0
    assert capsys.readouterr().err == "restride: warning: give --axes 0 1\n"


def test_our_own_mistakes_exit_3_with_a_traceback(capsys, monkeypatch):
    monkeypatch.setattr("restride.cli.devices.list_devices", lambda: 1 // 0)
    assert main(["devices"]) == 3
    printed = capsys.readouterr()
    assert "ZeroDivisionError" in printed.err
    assert "Traceback" in printed.err


@pytest.mark.usefixtures("x")
def test_unknown_device_exits_4(tmp_path, capsys, vulkan_device):
    arguments = ("slice", tmp_path / "x.npy", tmp_path / "y.npy", "[0]", "--device", "no such card")
    code, line = refused(capsys, *arguments)
    assert code == 4
    assert "'no such card'" in line
    assert vulkan_device.info.name in line


@pytest.mark.usefixtures("x")
def test_without_a_driver_every_command_exits_4_and_says_what_to_install(tmp_path):
    for arguments in (("devices",), ("demo",), ("slice", tmp_path / "x.npy", tmp_path / "y.npy", "[0]")):
        code, out, error = restride(*arguments, **NO_DRIVER)
        assert (code, out) == (4, "")
        assert "mesa-vulkan-drivers" in error
        assert len(error.splitlines()) == 1


def test_doctor_without_a_driver():
    code, out, error = restride("doctor", **NO_DRIVER)
    assert (code, error) == (4, "")
    assert "BROKEN    driver            /nowhere/none.json does not exist" in out
    assert "install a driver" in out
    assert "vulkan, does not work; broken: driver, " in out.splitlines()[-1]


def test_doctor_where_all_is_well(vulkan_device):
    code, out, error = restride("doctor", "--json", RESTRIDE_RUNTIME="vulkan")
    assert code == 0, out
    findings = {finding["subject"]: finding for finding in json.loads(out)}
    assert findings["runtime vulkan"]["status"] == "ok"
    assert vulkan_device.info.name in findings["device 0"]["detail"] + findings["runtime vulkan"]["detail"]
    assert "vulkan, works" in error


def test_devices_of_one_driver(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.json").write_text('{"ICD": {"library_path": "libmine.so"}}')
    for variable in DRIVER_VARIABLES:
        monkeypatch.setenv(variable, "another")
    listed = []
    monkeypatch.setattr("restride.cli.devices.list_devices", lambda: listed.append(drivers()) or [])
    assert main(["devices", "--driver", str(tmp_path / "mine.json")]) == 0
    assert [file.path for file in listed[0]] == [tmp_path / "mine.json"]
    capsys.readouterr()
    assert refused(capsys, "devices", "--driver", "nosuch")[0] == 4


def test_devices_table_and_json(capsys, vulkan_device):
    assert main(["devices"]) == 0
    table = capsys.readouterr().out
    assert vulkan_device.info.name in table
    assert "*" in table
    assert main(["devices", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert vulkan_device.info.uuid in [info["uuid"] for info in listed]
    assert sum(info["default"] for info in listed) == 1
    assert table.splitlines()[-1] == f"processor: {cpu_model()}"
    assert {info["processor"] for info in listed} == {cpu_model()}
    assert vulkan_device.info.driver_version in table


def test_no_command_prints_a_short_tour_whose_commands_exist(capsys):
    assert main([]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 79
    examples = [shlex.split(line.strip().split("   ")[0]) for line in lines if line.startswith("  restride ")]
    assert len(examples) == 4
    for _, *words in examples:
        assert parse(command_modules(), words).command == words[0]


@pytest.mark.parametrize("name", sorted(LABORATORY))
def test_a_command_of_the_laboratory_names_the_package_that_is_missing(name, monkeypatch, capsys):
    monkeypatch.setattr("restride.command.parser.entry_points", lambda **_: EntryPoints())
    assert main([name, "--help"]) == 2
    assert capsys.readouterr().err == (
        f"restride: `restride {name}` is a command of the package restride-lab: pip install ./lab in a checkout\n"
    )
    assert main(["--help"]) == 0
    assert f"\n  {name} " not in capsys.readouterr().out


@pytest.mark.parametrize("word", ["--help", "-h", "--version"])
def test_an_overview_imports_nothing_of_the_library(word, capsys):
    command = [sys.executable, "-X", "importtime", "-m", "restride", word]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    ours = {name for name in names if name.split(".")[0].startswith(("restride", "numpy", "vulkan"))}
    assert ours == {
        "restride",
        "restride.errors",
        "restride.cli",
        *map("restride.command{}".format, ("", ".parser", ".process")),
    }
    # What all modules of commands together print is the same.
    with pytest.raises(SystemExit) as ended:
        parse(command_modules(), [word])
    assert (ended.value.code, capsys.readouterr().out) == (0, done.stdout)
    assert main([word]) == 0
    assert capsys.readouterr().out == done.stdout


@pytest.mark.usefixtures("vulkan_device")
def test_a_reader_that_leaves_early_is_no_error():
    command = f"{sys.executable} -m restride devices --json | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout == "["
    assert done.stderr == ""


def in_a_shell(command):
    """Exit code, stdout, stderr of a bash command, in which $restride is the program."""
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        # argparse is silent about what it cannot write; buffered, we write it.
        env=os.environ | {"restride": f"{sys.executable} -m restride", "PYTHONUNBUFFERED": ""},
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", ["devices", "--help", "--version", "test smoke --list"])
@pytest.mark.usefixtures("vulkan_device")
def test_output_that_cannot_be_written_is_an_error_of_one_line(command):
    code, out, err = in_a_shell(f"$restride {command} >/dev/full")
    assert (code, out) == (2, "")
    assert err == "restride: cannot write to a standard stream: No space left on device\n"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("--version >&-", 0),
        ("--version 2>&-", 0),
        ("--version >&- 2>&-", 0),
        ("slice 2>&-", 2),
        ("slice 2>/dev/full", 2),
        ("nonsense >&-", 2),
    ],
)
def test_closed_and_full_streams_leave_the_exit_code(command, code):
    found, out, err = in_a_shell(f"$restride {command}")
    assert found == code
    assert "Traceback" not in out + err


@pytest.mark.usefixtures("vulkan_device")
def test_a_full_stderr_keeps_no_result_back(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("in.npy", np.arange(6, dtype=np.uint8).reshape(2, 3))
    code, out, _ = in_a_shell("$restride reorder in.npy out.npy --layout 'HW->WH' 2>/dev/full")
    assert (code, out) == (0, "out.npy: u8[3,2]{1,0} from u8[2,3]{1,0}\n")
    assert np.load("out.npy").tolist() == [[0, 3], [1, 4], [2, 5]]
    code, out, _ = in_a_shell("$restride test --repro 'reorder u8[2,3] -> u8[2,3]{0,1}' 2>/dev/full")
    assert code == 0
    assert "PASSED: 1 case" in out


@pytest.mark.usefixtures("vulkan_device")
def test_what_belongs_on_a_closed_stderr_is_not_put_on_stdout():
    assert in_a_shell("$restride slice 2>&-") == (2, "", "")
    code, out, _ = in_a_shell("$restride test --repro 'reorder u8[2,3]{1,0} -> u8[2,3]{0,1}' 2>&-")
    assert code == 0
    assert out.startswith("device: ")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[..., ::2, ::-1]", (..., slice(None, None, 2), slice(None, None, -1))),
        ("1:9:2, -1, None", (slice(1, 9, 2), -1, None)),
        ("[:, 3:]", (slice(None), slice(3, None))),
        ("[ -4 : +2 ]", (slice(-4, 2),)),
        ("[0,]", (0,)),
        ("[]", ()),
        ("[newaxis, ::]", (None, slice(None))),
    ],
)
def test_index_text(text, key):
    assert parse_index(text) == key


@pytest.mark.parametrize(
    "text", ["[,]", "[1,,2]", "[1 2]", "[a]", "[1:2:3:4]", "[1", "1]", "[True]", "[1.5]", "[9" * 40]
)
def test_index_text_that_is_none(text):
    with pytest.raises(UsageError, match="index"):
        parse_index(text)


def test_how_a_process_ended_is_said_for_every_signal():
    assert ending(3) == "ended with exit code 3"
    assert ending(-signal.SIGSEGV) == "died of SIGSEGV"
    assert ending(-signal.SIGRTMIN - 3) == f"died of signal {signal.SIGRTMIN + 3}"


def test_comparisons():
    a = np.array([1.0, np.nan, np.inf, -0.0], np.float32)
    assert compare_bits(a, a.copy()).passed
    assert compare_bits(a, np.abs(a)).wrong == 1
    assert compare_limits(a, a, a, a).passed
    answer = np.array([10, 20], np.uint8)
    report = compare_limits(np.array([11, 22], np.uint8), answer, answer, answer + np.uint8(1))
    assert (report.wrong, report.count, report.difference, report.allowed) == (1, 2, 2.0, 1.0)
    assert compare_limits(np.array([1, np.nan]), np.ones(2), np.ones(2), np.ones(2)).difference == np.inf
    # A sum that may overflow to NaN: NaN and all from the lowest value up are right.
    one, overflows = np.ones(3, np.float32), np.full(3, np.nan, np.float32)
    assert compare_limits(np.array([0.5, 2, np.nan], np.float32), one, one, overflows).wrong == 1
