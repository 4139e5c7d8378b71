"""Manifests that the Vulkan loader cannot take are named; it crashes on them, waits for them or says lack of memory."""

from __future__ import annotations

import json
import os
import sys
from itertools import product

import pytest
from support.process import captured
from support.runtime_process import passes
from support.sampled import sample

from restride.runtime.manifests import STANDARD, drivers, layers, read_driver, require_harmless

DRIVER = {"file_format_version": "1.0.0", "ICD": {"library_path": "libvulkan_lvp.so", "api_version": "1.3.0"}}
GOOD = json.dumps(DRIVER).encode()
LAYER = {"name": "VK_LAYER_none", "type": "GLOBAL", "library_path": "./none.so", "api_version": "1.3.0"}
LAYER |= {"implementation_version": "1", "description": "none", "disable_environment": {"NO_LAYER": "1"}}
GOOD_LAYER = json.dumps({"file_format_version": "1.0.0", "layer": LAYER}).encode()

# What a loader reads to its end and refuses: content, and what is said of it.
UNREADABLE = {
    "a byte order mark": (b"\xef\xbb\xbf" + GOOD, "begins with a byte order mark"),
    "UTF-16": (GOOD.decode().encode("utf-16"), "is UTF-16 or binary"),
    "UTF-16 without a mark": (GOOD.decode().encode("utf-16-le"), "is UTF-16 or binary"),
    "a cut file": (GOOD[:60], "is no JSON (Unterminated string"),
    "a NUL": (GOOD[:40] + b"\0" + GOOD[40:], "is no JSON"),
    "text": (b"hello", "is no JSON (Expecting value"),
    "a comment": (b"// driver\n" + GOOD, "is no JSON"),
    "a comma too many": (GOOD.replace(b"}", b",}"), "is no JSON"),
    "NaN": (b'{"ICD": NaN}', "is no JSON (NaN is no number)"),
    "blanks": (b" \n", "is empty"),
}
READABLE = {
    "empty": (b"", "is empty"),
    "no section": (b"{}", "has no library_path in a section ICD"),
    "no library": (b'{"ICD": {"library_path": "./none.so"}}', "names a library that does not exist, './none.so'"),
    "text after it": (GOOD + b"garbage", ""),
    "a NUL after it": (GOOD + b"\0\0", ""),
    "a good one": (GOOD, ""),
}
HARMFUL = {
    "a list": (b"[1, 2]", "is no JSON object"),
    "a list as section": (b'{"ICD": [{"library_path": "x"}]}', "has no library_path in a section ICD"),
    "a number as library": (b'{"ICD": {"library_path": 5}}', "has a library_path that is no path, '5'"),
    "nested": (b'{"a":' * 200_000, "is nested too deeply"),
    "large": (b" " * (1 << 20) + GOOD, "has more than 1 MiB"),
}
HARMFUL_LAYERS = {
    "a list": ([1], "has a layer that is no JSON object"),
    "a number as name": ({**LAYER, "name": 5}, "has a layer whose name is no text, 5"),
    "a list as variables": (
        {**LAYER, "enable_environment": ["A"]},
        "has a layer whose enable_environment is no JSON object of texts",
    ),
    "a number as variable": (
        {**LAYER, "disable_environment": {"A": 1}},
        "has a layer whose disable_environment is no JSON object of texts",
    ),
}


@pytest.fixture
def named(tmp_path, monkeypatch):
    """Variables with which the one driver is ``tmp_path / "driver.json"``, and no standard folder is the user's."""
    file = tmp_path / "driver.json"
    for variable in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        monkeypatch.setenv(variable, str(file))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    return file


def layer_file(tmp_path, kind, content):
    folder = tmp_path / "share" / "vulkan" / f"{kind}_layer.d"
    folder.mkdir(parents=True)
    (folder / "layer.json").write_bytes(content)
    return folder / "layer.json"


@pytest.mark.parametrize("name", [*UNREADABLE, *READABLE, *HARMFUL])
def test_what_is_wrong_with_a_manifest_is_said(tmp_path, name):
    content, problem = (UNREADABLE | READABLE | HARMFUL)[name]
    file = tmp_path / "driver.json"
    file.write_bytes(content)
    found = read_driver(file)
    assert found.problem.startswith(problem)
    assert bool(found.problem) is bool(problem)
    assert found.stops_loaders is (name in HARMFUL)


def test_the_loader_refuses_only_what_has_a_problem(tmp_path):
    """The outside judge: what the loader that is here answers, which differs from version to version."""
    harmless = UNREADABLE | READABLE
    for name, (content, _) in harmless.items():
        (tmp_path / f"{name}.json").write_bytes(content)
    code = """
        import ctypes
        lib = ctypes.CDLL({"darwin": "libvulkan.dylib"}.get(sys.platform, "libvulkan.so.1"))
        for file in sorted(Path(sys.argv[1]).iterdir()):
            os.environ["VK_DRIVER_FILES"] = os.environ["VK_ICD_FILENAMES"] = str(file)
            print(lib.vkEnumerateInstanceExtensionProperties(None, ctypes.byref(ctypes.c_uint32()), None), file.stem)
    """
    answers = [line.partition(" ") for line in passes(code, tmp_path).splitlines()]
    assert len(answers) == len(harmless)
    refused = {name for answer, _, name in answers if int(answer) < 0}
    assert refused <= {name for name, (_, problem) in harmless.items() if problem}


def test_a_folder_a_fifo_and_an_absent_file_are_never_opened(tmp_path):
    (tmp_path / "folder").mkdir()
    assert read_driver(tmp_path / "folder").problem == "is a folder"
    assert read_driver(tmp_path / "none").problem == "does not exist"
    assert read_driver(tmp_path / ("x" * 5000)).problem.startswith("cannot be read (")
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path / "link"):
        if path.name == "link":
            path.symlink_to(tmp_path / "fifo")
        found = read_driver(path)
        assert (found.problem, found.stops_loaders) == ("is no regular file", True)
    (tmp_path / "driver.json").write_bytes(GOOD.replace(b"libvulkan_lvp.so", b"./fifo"))
    found = read_driver(tmp_path / "driver.json")
    assert (found.problem, found.stops_loaders) == ("names a library that is no regular file, './fifo'", True)


def test_a_file_of_a_gibibyte_is_not_read(tmp_path):
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(1 << 30)
    assert read_driver(tmp_path / "large.json").problem == "has more than 1 MiB"


def test_the_files_are_those_that_variables_and_folders_name(tmp_path):
    for place in ("icd.d", "explicit_layer.d", "implicit_layer.d"):
        folder = tmp_path / "share" / "vulkan" / place
        folder.mkdir(parents=True)
        (folder / "standard.json").write_bytes(GOOD)
    added = tmp_path / "added"
    added.mkdir()
    (added / "a.json").write_bytes(GOOD)
    (added / "a.txt").write_bytes(GOOD)
    here = {"XDG_DATA_HOME": str(tmp_path / "share"), "XDG_DATA_DIRS": "/nowhere", "XDG_CONFIG_DIRS": "/nowhere"}
    ours = lambda files: [(file.path.name, file.source) for file in files if tmp_path in file.path.parents]  # noqa: E731
    assert ours(drivers(here)) == [("standard.json", STANDARD)]
    assert ours(drivers({**here, "VK_ADD_DRIVER_FILES": str(added)})) == [
        ("a.json", "VK_ADD_DRIVER_FILES"),
        ("standard.json", STANDARD),
    ]
    several = {"VK_ICD_FILENAMES": f"{added / 'a.json'}{os.pathsep}/nowhere/none.json", "VK_ADD_DRIVER_FILES": "/x"}
    assert [(file.path.name, file.source, file.problem) for file in drivers({**here, **several})] == [
        ("a.json", "VK_ICD_FILENAMES", ""),
        ("none.json", "VK_ICD_FILENAMES", "does not exist"),
    ]
    assert ours(layers(here)) == [("standard.json", STANDARD)] * 2
    assert ours(layers({**here, "VK_LAYER_PATH": str(added)})) == [
        ("a.json", "VK_LAYER_PATH"),
        ("standard.json", STANDARD),
    ]


@pytest.mark.parametrize("kind", ["explicit", "implicit"])
@pytest.mark.parametrize("name", [*HARMFUL_LAYERS, "a byte order mark", "a good one"])
def test_what_is_wrong_with_a_layer_is_said(tmp_path, kind, name):
    layer, problem = HARMFUL_LAYERS.get(name, (LAYER, ""))
    content = json.dumps({"file_format_version": "1.0.0", "layer": layer}).encode()
    if name == "a byte order mark":
        content, problem = b"\xef\xbb\xbf" + content, "begins with a byte order mark"
    file = layer_file(tmp_path, kind, content)
    (found,) = [each for each in layers({"XDG_DATA_HOME": str(tmp_path / "share")}) if each.path == file]
    assert found.problem.startswith(problem)
    assert bool(found.problem) is bool(problem)
    assert found.stops_loaders is (name in HARMFUL_LAYERS)


def test_a_harmful_file_is_refused_before_the_loader_sees_it(named, tmp_path):
    named.write_bytes(GOOD)
    require_harmless()
    (tmp_path / "harmful").mkdir()
    for name, (content, _) in HARMFUL.items():
        (tmp_path / "harmful" / name).write_bytes(content)
    out = passes(
        """
        for file in sorted(Path(sys.argv[1]).iterdir()):
            Path(os.environ["VK_DRIVER_FILES"]).write_bytes(file.read_bytes())
            for open_it in (runtime.list_devices, runtime.open_runtime, lambda: runtime.open_runtime(None, "kompute")):
                try:
                    open_it()
                except DeviceNotFound as error:
                    print(file.name, error)
        """,
        tmp_path / "harmful",
    )
    for name in HARMFUL:
        said = [line for line in out.splitlines() if line.startswith(f"{name} a Vulkan loader may crash")]
        assert len(said) == 3, out
        assert all(f"{named} " in line and line.endswith("; correct or remove this file") for line in said), out


@pytest.mark.usefixtures("named")
def test_no_entry_waits_for_a_fifo(named):
    os.mkfifo(named)
    done = captured([sys.executable, "-m", "restride", "devices"], timeout=60)
    assert (done.returncode, done.stdout) == (4, "")
    assert f"{named} is no regular file" in done.stderr


ENTRIES = """
import restride as rs
entries = rs.devices, rs.Device, lambda: rs.Device(runtime="kompute"), lambda: rs.resample([[1.0]], sizes=(2, 2))
for open_it in entries:
    try:
        open_it()
    except rs.OutOfDeviceMemory:
        raise
    except rs.DeviceNotFound as error:
        print(error)
    else:
        print("found")
"""


def said_everywhere(file, problem):
    """Every entry either finds a device, as loaders do that leave out what they cannot read, or names the file."""
    done = captured([sys.executable, "-c", ENTRIES], timeout=60)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    for line in lines:
        assert line == "found" or f"{file} {problem}" in line
        assert "; correct or remove this file" in line or line == "found"
    return "found" not in lines


@pytest.mark.parametrize("name", sample(["a byte order mark", "UTF-16", "a cut file", "a NUL"], 2))
def test_a_driver_that_is_no_json_is_named_at_every_entry(named, name):
    content, problem = UNREADABLE[name]
    named.write_bytes(content)
    assert said_everywhere(named, problem), "there is no other driver"


@pytest.mark.parametrize(
    ("kind", "name"), sample(product(("explicit", "implicit"), ("a byte order mark", "a cut file")), 2)
)
@pytest.mark.usefixtures("vulkan_device")
def test_a_layer_that_is_no_json_is_named_at_every_entry(tmp_path, monkeypatch, kind, name):
    content = {"a byte order mark": b"\xef\xbb\xbf" + GOOD_LAYER, "a cut file": GOOD_LAYER[:60]}[name]
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    said_everywhere(layer_file(tmp_path, kind, content), UNREADABLE[name][1])


@pytest.mark.parametrize("command", sample(["devices", "doctor", "test smoke", "demo"], 2))
def test_a_command_names_the_file_and_exits_4(named, command):
    named.write_bytes(b"\xef\xbb\xbf" + GOOD)
    done = captured([sys.executable, "-m", "restride", *command.split()], timeout=120)
    assert done.returncode == 4, done.stdout + done.stderr
    assert f"{named} begins with a byte order mark" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("vulkan_device")
def test_the_doctor_names_a_layer_that_is_no_json(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    file = layer_file(tmp_path, "explicit", b"\xef\xbb\xbf" + GOOD_LAYER)
    done = captured([sys.executable, "-m", "restride", "doctor"], timeout=120)
    assert done.returncode in (0, 4), done.stderr
    assert f"BROKEN    layer             {file} begins with a byte order mark" in done.stdout
    assert done.stderr == ""
