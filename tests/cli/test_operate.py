"""The command line: operations from file to file, exit codes, and messages of one line."""

import json
import os
import shlex
import signal
import subprocess
import sys
from importlib.metadata import EntryPoints
from types import SimpleNamespace
from typing import SupportsIndex

import numpy as np
import pytest
from support.devices import open_device

import restride as rs
from restride.cli import command_modules, main, operations
from restride.cli.comparison import compare_bits, compare_limits
from restride.cli.devices import cpu_model
from restride.cli.doctor import Attempt
from restride.cli.operate import FileCommand, call
from restride.cli.parser import LABORATORY, SUMMARIES, parse, parse_index
from restride.cli.process import UsageError, ending
from restride.errors import warn_caller
from restride.runtime import RUNTIMES, DeviceInfo
from restride.runtime.kompute.device import INSTALL_KP

WINDOW_4_TO_9 = ("--offsets", "0", "0", "4", "0", "--sizes", "1", "1", "5", "1")
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
        return call(options, file, file.desc, {})

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
    assert f"({runtime})" in printed.err


def test_slice_by_window(tmp_path, runtime):
    np.save(tmp_path / "x.npy", np.arange(1, 17, dtype=np.int32).reshape(1, 1, 4, 4))
    window = ["--offsets", 0, 0, 0, 1, "--sizes", 1, 1, 4, 3, "--runtime", runtime]
    assert operate(tmp_path, "slice", *window, "--strides", 1, 1, 2, 2).tolist() == [[[[2, 4], [10, 12]]]]
    assert operate(tmp_path, "slice", *window, "--strides", 1, 1, -2, 2).tolist() == [[[[14, 16], [6, 8]]]]
    small = operate(tmp_path, "slice", *window, "--strides", 1, 1, -2, 2, "--output-sizes", 1, 1, 1, 2)
    assert small.tolist() == [[[[14, 16]]]]
    assert operate(tmp_path, "slice", *window).tolist() == [[[[2, 3, 4], [6, 7, 8], [10, 11, 12], [14, 15, 16]]]]


def test_reorder(x, runtime, tmp_path, capsys):
    assert np.array_equal(
        operate(tmp_path, "reorder", "--layout", "NCHW->NHWC", "--runtime", runtime), x.transpose(0, 2, 3, 1)
    )
    assert "changes memory only" not in capsys.readouterr().err
    assert np.array_equal(operate(tmp_path, "reorder", "--layout", "NHWC", "--runtime", runtime), x)
    assert "changes memory only" in capsys.readouterr().err


@pytest.mark.usefixtures("x", "vulkan_device")
def test_a_layout_that_is_none_gets_no_note(tmp_path, capsys):
    for layout in ("NWHQ", "NHW"):
        refused(capsys, "reorder", tmp_path / "x.npy", tmp_path / "y.npy", "--layout", layout)


def test_resample(x, runtime, tmp_path):
    y = operate(tmp_path, "resample", "--sizes", 4, 9, "--runtime", runtime)
    assert np.abs(y - rs.reference.resample(x, (4, 9))).max() < 1e-3
    y = operate(tmp_path, "resample", "--sizes", 5, "--axes", 0, "--mode", "nearest", "--runtime", runtime)
    assert np.array_equal(y, rs.reference.resample(x, (5,), axes=(0,), mode="nearest"))


def test_narrow_floats_go_through(runtime, tmp_path):
    array = np.arange(12, dtype=np.uint16).reshape(3, 4) * 5000
    np.save(tmp_path / "x.npy", array.view("V2"))
    arguments = ("reorder", "--layout", "AB->BA", "--dtype", "bf16", "--runtime", runtime)
    y = operate(tmp_path, *arguments)
    assert np.array_equal(y.view(np.uint16), array.T)


def test_input_may_be_the_output(x, runtime, tmp_path):
    assert np.array_equal(operate(tmp_path, "slice", "[0]", "--runtime", runtime, output="x.npy"), x[0])


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
    ("arguments", "message"),
    [
        (("--colour",), "unrecognized arguments: --colour (see `restride --help`)"),
        (("paint",), "invalid choice: 'paint'"),
        (("devices", "--colour"), "unrecognized arguments: --colour"),
        (("slice", "x.npy"), "required: OUT"),
        (("slice", "x.npy", "y.npy"), "needs an index"),
        (("slice", "x.npy", "y.npy", "--offsets", "0"), "needs an index"),
        (("slice", "x.npy", "y.npy", "[::2]", "--sizes", "1"), "not both"),
        (("slice", "x.npy", "y.npy", "[::0]"), "step"),
        (("slice", "x.npy", "y.npy", "[0, 0, 0, 0, 0]"), "5 indices are too many"),
        (("slice", "x.npy", "y.npy", "[2]"), "index 2 is out of range for axis 0"),
        (("slice", "x.npy", "y.npy", "[[0, 1]]"), "items are integers"),
        (("slice", "x.npy", "y.npy", "[__import__('os')]"), "items are integers"),
        (("slice", "x.npy", "y.npy", "[::2", "--check"), "one bracket of two"),
        (("slice", "x.npy", "y.npy", "--offsets", "a", "--sizes", "1"), "invalid int value: 'a'"),
        (("reorder", "x.npy", "y.npy"), "required: --layout"),
        (("reorder", "x.npy", "y.npy", "--layout", "NWHQ"), "unknown layout 'NWHQ'"),
        (("resample", "x.npy", "y.npy"), "one of these is required: --sizes, --scales"),
        (("resample", "x.npy", "y.npy", "--sizes", "0.5"), "invalid int value: '0.5'"),
        (("resample", "x.npy", "y.npy", "--sizes", "-4"), "-4"),
        (("resample", "x.npy", "y.npy", "--sizes", "4", "--timeout", "0"), "'0' is no time limit"),
        (("resample", "x.npy", "y.gif", "--sizes", "4"), "must end in .npy"),
        (("resample", "x.txt", "y.npy", "--sizes", "4"), "must end in .npy"),
        (("resample", "none.npy", "y.npy", "--sizes", "4"), "no such file"),
        (("resample", "x.npy", "none/y.npy", "--sizes", "4"), "no such folder"),
        (("resample", "x.npy", "y.npy", "--sizes", "4", "--dtype", "f64"), "--dtype f64 has 8 bytes"),
        (("demo", "none.jpg"), "no such file"),
    ],
)
@pytest.mark.usefixtures("x", "vulkan_device")
def test_bad_arguments_exit_2(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = main(list(arguments))
    error = capsys.readouterr().err.splitlines()
    assert code == 2
    assert message in error[-1]
    assert not (tmp_path / "y.npy").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("resample", "x.png", "y.png", "--sizes", "8", "--axes", "2"), "1 to 4 channels, not [20, 30, 8]"),
        (("resample", "x.png", "y.jpg", "--sizes", "8", "65501"), "at most 65500 pixels a side"),
        (
            ("resample", "x.npy", "y.png", "--sizes", "8", "8"),
            "u8 elements, or u16 of 1 or 2 channels, not f32 of sizes [2, 3, 8, 8]",
        ),
        (("reorder", "x.png", "y.png", "--layout", "HWC->CHW"), "not [3, 20, 30]"),
        (("slice", "x.png", "y.png", "[0, 0]"), "not [3]"),
        (("slice", "x.png", "y.jpg", "--offsets", "0", "0", "0", "--sizes", "1", "1", "2"), "1 or 3 channels"),
    ],
)
@pytest.mark.usefixtures("x")
def test_an_image_that_cannot_be_is_refused_before_a_device_opens(arguments, message, tmp_path, capsys, monkeypatch):
    image_module = pytest.importorskip("PIL.Image")
    image_module.new("RGB", (30, 20)).save(tmp_path / "x.png")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("restride.cli.operate.open_device", lambda _: pytest.fail("a device is opened"))
    code, line = refused(capsys, *arguments)
    assert code == 2
    assert message in line


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
    monkeypatch.setattr("restride.cli._run", lambda _: warn_caller("give axes=(0, 1)") or 0)
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
    assert "BROKEN    driver            /nowhere/none.json: no such file" in out
    assert "install a driver" in out
    assert "vulkan, does not work; broken: driver, " in out.splitlines()[-1]


def test_doctor_without_kp_names_what_to_run(capsys, monkeypatch):
    from importlib import metadata

    from restride.cli import doctor

    def version(name):
        if name == "kp":
            raise metadata.PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr(doctor.metadata, "version", version)
    monkeypatch.setattr(doctor, "try_runtime", lambda runtime, _: doctor_attempt(runtime))
    main(["doctor"])
    out = capsys.readouterr().out
    assert "optional  kp                not installed, only needed for the runtime kompute" in out
    assert out.count("fix: run `.venv/bin/python tools/build_kp.py`") == 1
    assert "fix: as for kp\n" in out.split("optional  runtime kompute")[1]
    last = out.splitlines()[-1]
    assert last.startswith("restride: the default runtime, vulkan, works; ")
    assert "; not installed, but optional: kp, " in last
    assert last.endswith("runtime kompute")


def doctor_attempt(runtime):
    """What doctor's other process would find without kp."""
    return Attempt(runtime == "vulkan", f"the runtime {runtime!r} needs the Python package `kp`; {INSTALL_KP}", True)


def test_doctor_names_the_variable_that_hides_the_validation_layer(monkeypatch):
    from restride.cli import doctor

    monkeypatch.setattr(doctor, "package", lambda: SimpleNamespace(vkEnumerateInstanceLayerProperties=list))
    monkeypatch.setenv("VK_LOADER_LAYERS_DISABLE", "~all~")
    hidden = doctor._validation_layer()
    assert hidden.status == "optional"
    assert hidden.detail.endswith("VK_LOADER_LAYERS_DISABLE is '~all~'")
    monkeypatch.delenv("VK_LOADER_LAYERS_DISABLE")
    assert "install it" in doctor._validation_layer().fix


def test_doctor_lists_every_optional_package(monkeypatch, capsys):
    from importlib import metadata

    from restride.cli import doctor

    def version(name):
        if name in {"dask", "h5py"}:
            raise metadata.PackageNotFoundError(name)
        return "1.2.3"

    monkeypatch.setattr(doctor.metadata, "version", version)
    monkeypatch.setattr(doctor, "try_runtime", lambda runtime, _: doctor_attempt(runtime))
    main(["doctor", "--json"])
    found = {finding["subject"]: finding for finding in json.loads(capsys.readouterr().out)}
    for name in ("einops", "zarr", "xarray", "matplotlib", "tifffile", "imagecodecs"):
        assert (found[name]["status"], found[name]["detail"]) == ("ok", "1.2.3")
    assert (found["dask"]["status"], found["dask"]["fix"]) == ("optional", "pip install 'restride[dask]'")
    assert (found["h5py"]["status"], found["h5py"]["fix"]) == ("optional", "pip install h5py")


def test_doctor_without_a_loader(tmp_path):
    (tmp_path / "vulkan.py").write_text("raise OSError('Cannot find Vulkan SDK version')")
    code, out, _ = restride("doctor", PYTHONPATH=str(tmp_path))
    assert code == 4
    assert "BROKEN    Vulkan loader     no Vulkan loader (libvulkan)" in out
    assert "libvulkan1" in out


def test_doctor_where_all_is_well(vulkan_device):
    code, out, error = restride("doctor", "--json", RESTRIDE_RUNTIME="vulkan")
    assert code == 0, out
    findings = {finding["subject"]: finding for finding in json.loads(out)}
    assert findings["runtime vulkan"]["status"] == "ok"
    assert vulkan_device.info.name in findings["device 0"]["detail"] + findings["runtime vulkan"]["detail"]
    assert "vulkan, works" in error


@pytest.mark.parametrize(
    ("driver", "version", "system", "said", "fix"),
    [
        (
            "llvmpipe",
            "Mesa 22.3.6 (LLVM 15.0.6)",
            {"ID": "debian", "VERSION_ID": "12"},
            "Mesa 22.3.6: ",
            "bookworm-backp",
        ),
        (
            "llvmpipe",
            "Mesa 23.2.1-1ubuntu3.1 (LLVM 15.0.7)",
            {"ID": "ubuntu", "VERSION_ID": "22.04"},
            "23.2.1: ",
            "24.04",
        ),
        ("llvmpipe", "Mesa 24.0.5", {"ID": "fedora", "VERSION_ID": "39"}, "Mesa 24.0.5: ", "dnf upgrade"),
        ("llvmpipe", "Mesa 24.3.4-arch1.1 (LLVM 18.1.8)", {"ID": "arch"}, "Mesa 24.3.4: ", "pacman -Syu"),
        ("llvmpipe", "Mesa 22.3.6", {"ID": "debian", "VERSION_ID": "11"}, "Mesa 22.3.6: ", "install Mesa 25 or newer"),
        ("llvmpipe", "Mesa 22.3.6", OSError("no os-release"), "Mesa 22.3.6: ", "install Mesa 25 or newer"),
        ("llvmpipe", "Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)", {"ID": "debian", "VERSION_ID": "12"}, "", ""),
        ("llvmpipe", "0.0.1", {"ID": "debian", "VERSION_ID": "12"}, "", ""),
        ("radv", "Mesa 22.3.6", {"ID": "debian", "VERSION_ID": "12"}, "", ""),
    ],
)
def test_doctor_says_where_lavapipe_is_old_and_how_this_system_gets_a_newer(
    capsys, monkeypatch, driver, version, system, said, fix
):
    from restride.cli import doctor

    def os_release():
        if isinstance(system, OSError):
            raise system
        return system

    name = "llvmpipe (LLVM 15.0.6, 256 bits)"
    info = DeviceInfo(0, name, "cpu", 65541, 0, driver, version, "1.3.230", "0" * 32, 1 << 31)
    monkeypatch.setattr(doctor, "list_devices", lambda: [info])
    monkeypatch.setattr(doctor, "try_runtime", lambda *_: Attempt(True, "right"))
    monkeypatch.setattr(doctor.platform, "freedesktop_os_release", os_release)
    assert main(["doctor", "--json"]) == 0
    old = [each for each in json.loads(capsys.readouterr().out) if each["status"] == "old"]
    assert [each["subject"] for each in old] == (["driver of 0"] if said else [])
    assert all(said in each["detail"] and fix in each["fix"] for each in old)


def test_doctor_survives_a_driver_that_crashes(monkeypatch):
    from restride.cli import doctor as probe

    monkeypatch.setattr(probe.sys, "executable", "/bin/false")
    assert "exit code 1" in probe.try_runtime("vulkan").detail
    assert not probe.try_runtime("vulkan").works


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


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            "processor\t: 0\nmodel name\t: Zen 3 @ 3 GHz\nflags\t: fpu avx avx2\n\nprocessor\t: 1\n",
            "Zen 3 @ 3 GHz, AVX2, ",
        ),
        ("model name\t: Zen 5\nflags\t\t: fpu avx2 avx512vl\nmodel name\t: Zen 5\n", "Zen 5, AVX-512, "),
        ("processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\n", "arm, "),
        (None, "arm, "),
    ],
)
def test_the_processor_is_named(monkeypatch, tmp_path, text, named):
    from restride.cli import devices

    if text is not None:
        (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(devices, "_CPU_INFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(devices.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(devices.platform, "processor", lambda: "arm")
    assert cpu_model() == f"{named}2 cores"


def test_no_command_prints_a_short_tour_whose_commands_exist(capsys):
    assert main([]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 79
    examples = [shlex.split(line.split("   ")[0]) for line in map(str.strip, lines) if line.startswith("restride ")]
    assert len(examples) == 5  # the sentence at its beginning, and four commands
    for _, *words in examples[1:]:
        assert parse(command_modules(), words).command == words[0]


@pytest.mark.parametrize("name", sorted(LABORATORY))
def test_a_command_of_the_laboratory_names_the_package_that_is_missing(name, monkeypatch, capsys):
    monkeypatch.setattr("restride.cli.parser.entry_points", lambda **_: EntryPoints())
    assert main([name, "--help"]) == 2
    assert capsys.readouterr().err == (
        f"restride: `restride {name}` is a command of the package restride-lab: pip install restride-lab, "
        "or in a checkout pip install ./lab\n"
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
    assert ours == {"restride", "restride.errors", *(f"restride.cli{part}" for part in ("", ".parser", ".process"))}
    # What all modules of commands together print is the same.
    with pytest.raises(SystemExit) as ended:
        parse(command_modules(), [word])
    assert (ended.value.code, capsys.readouterr().out) == (0, done.stdout)
    assert main([word]) == 0
    assert capsys.readouterr().out == done.stdout


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"restride {rs.__version__}\n"


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
