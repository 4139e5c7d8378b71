"""The modules that reach a driver: unchanged modules of the package, and a user's shader in a worker alone."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import tampering
from support.devices import open_device

import restride as rs
from restride.cli import main
from restride.errors import DeviceError
from restride.kernel import modules
from restride.runtime.kompute.device import KomputeDevice
from restride.runtime.vulkan.device import LogicalDevice
from restride_conformance.run import runner

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _device():
    open_device("vulkan").close()


def test_changed_modules_are_refused_before_the_driver_sees_them():
    counted, wrong = tampering.tampered(200, seed=1)
    assert wrong == []
    assert set(counted) == {*tampering.EVERY, tampering.WHOLE}
    assert min(counted.values()) >= 4


def test_a_module_that_reaches_the_driver_is_counted(monkeypatch):
    # As if hashes were not checked. A valid module with the same bindings replaces each changed one, because changed
    # modules crash drivers.
    def stand_in(folder, name, *_):
        (folder.path / f"{name}.spv").write_bytes(folder.codes["run_copy_32"])

    monkeypatch.setattr(modules, "require_sha256", lambda *_: None)
    monkeypatch.setattr(tampering.Folder, "change", stand_in)
    _, wrong = tampering.tampered(13, seed=1)
    assert len(wrong) == 13


@pytest.fixture
def shader(tmp_path):
    code = modules.load_module("run_copy_32")
    (tmp_path / "my.spv").write_bytes(code)
    return tmp_path / "my.spv"


@pytest.mark.parametrize(
    "options",
    [
        ["-x", "-v", "--mode", "perf", "--json", "{}/a.json", "--html", "{}/a.html", "--junitxml", "{}/a.xml"],
        ["--repeat", "2"],
        ["--mode", "list"],
        ["--runtime", "kompute"],
    ],
    ids=lambda options: " ".join(options[:2]),
)
def test_a_shader_of_the_user_never_reaches_a_driver_in_the_process_of_the_command(
    tmp_path, monkeypatch, capsys, shader, options
):
    if "kompute" in options:
        open_device("kompute").close()
    opened = []

    def no_driver(*_arguments, **_named):
        opened.append("device")
        raise DeviceError("the process of the command opens a device")

    # These functions are the only way to a module, so no device of either runtime opens.
    monkeypatch.setattr(LogicalDevice, "__init__", no_driver)
    monkeypatch.setattr(KomputeDevice, "__init__", no_driver)
    workers = []
    started = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *words, **named: workers.append(words) or started(*words, **named))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    case = "reorder s32[5,13]{1,0} -> s32[5,13]{1,0}"
    words = [option.format(tmp_path) for option in options]
    with pytest.raises(DeviceError, match="the process of the command opens a device"):
        rs.Device(runtime="kompute" if "kompute" in options else "vulkan")
    opened.clear()
    code = main(["test", "--repro", case, "--shader", str(shader), "--as", "run_copy_32", *words])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    assert opened == []
    ran = [words for words in workers if words[0] == runner.COMMAND]
    assert len(ran) == {"2": 2, "list": 0}.get((*options, "", "")[1], 1)


def test_the_page_on_security_names_what_the_code_checks():
    page = (ROOT / "docs" / "security.md").read_text("utf-8")
    for path in re.findall(r"\]\(([^)#]+)", page):
        assert (ROOT / "docs" / path).exists(), path
    for word in re.findall(r"`((?:src|lab|tools|tests)/[^`]+)`", page):
        assert (ROOT / word).exists(), word
    for text in ((ROOT / "README.md").read_text("utf-8"), (ROOT / "docs" / "reliability.md").read_text("utf-8")):
        assert "security.md" in text
