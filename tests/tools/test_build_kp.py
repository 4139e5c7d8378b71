"""The tools: mypy needs no optional package, build_kp.py brings what it builds with, mesa25.sh runs a command beside
its own drivers."""

import importlib.util
import os
import shutil
import sys
import venv
from pathlib import Path

import build_kp
import pytest
from support.process import captured

TOOLS = Path(__file__).resolve().parents[2] / "tools"

TYPED_DEPENDENCIES = ("numpy", "ml_dtypes", "hatchling")
"""What restride and its build need and mypy reads types of."""


def test_mypy_needs_no_optional_package(tmp_path):
    """It reads types in an environment of the dependencies alone: no torch, Pillow, OpenCV, onnx, pybind11 or kp."""
    venv.create(tmp_path, with_pip=False, symlinks=True)
    (packages,) = tmp_path.glob("lib/python*/site-packages")
    for name in TYPED_DEPENDENCIES:
        (packages / name).symlink_to(Path(importlib.util.find_spec(name).origin).parent)
    command = [sys.executable, "-m", "mypy", "--python-executable", str(tmp_path / "bin" / "python")]
    result = captured(command, cwd=TOOLS.parent)
    assert result.returncode == 0, result.stdout + result.stderr


def test_missing_build_packages_are_installed_first(monkeypatch, tmp_path):
    installed, calls = {"setuptools": "80"}, []

    def pip(_, command, *arguments, **__):
        calls.append((command, arguments))
        installed.update(dict.fromkeys(arguments, "1") if command == "install" else {})

    monkeypatch.setattr(build_kp, "installed_version", installed.get)
    monkeypatch.setattr(build_kp, "_pip", pip)
    monkeypatch.setattr(build_kp, "WHEELS", tmp_path)
    monkeypatch.setattr(build_kp, "build", lambda folder: (folder.mkdir(), (folder / "kp-0.9.0-x.whl").touch()))
    build_kp.main()
    assert calls[0] == ("install", ("pybind11", "wheel"))
    (folder,) = tmp_path.iterdir()
    assert folder.name.endswith("pybind11-1")
    build_kp.install_build_packages()
    assert len(calls) == 2


@pytest.fixture
def mesa25(tmp_path):
    """mesa25.sh in a folder of its own, where what it fetches would be; ``apt-get`` fails."""
    for name in ("tools", "bin"):
        (tmp_path / name).mkdir()
    shutil.copy(TOOLS / "packages.sh", tmp_path / "tools")
    script = shutil.copy(TOOLS / "mesa25.sh", tmp_path / "tools")
    apt_get = tmp_path / "bin" / "apt-get"
    apt_get.write_text("#!/bin/sh\necho E: no network >&2\nexit 100\n")
    apt_get.chmod(0o755)
    environment = os.environ | {"PATH": f"{apt_get.parent}:{os.environ['PATH']}"}
    environment |= {"XDG_DATA_DIRS": "/own/share", "LD_LIBRARY_PATH": "/own/lib"}

    def run(*command):
        return captured(["bash", script, *command], env=environment)

    return run


def test_mesa25_that_cannot_be_fetched_fails_and_runs_nothing(mesa25):
    for _ in range(2):  # what the first one left does not count as fetched
        result = mesa25("echo", "run")
        assert (result.returncode, result.stdout) == (1, "")
        assert "E: no network" in result.stderr
        assert result.stderr.splitlines()[-1].startswith(
            "restride: Mesa 25 of Debian's bookworm-backports cannot be fetched"
        )
    assert mesa25().returncode == 1


def test_mesa25_that_is_there_is_the_command_s_drivers(mesa25, tmp_path):
    folder = tmp_path / ".cache" / "mesa25" / "usr"
    libraries = folder / "lib" / "riscv64-linux-gnu"
    libraries.mkdir(parents=True)
    (libraries / "libvulkan_lvp.so").touch()
    result = mesa25("sh", "-c", "env; exit 7")
    assert result.returncode == 7
    variables = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
    assert variables["VK_DRIVER_FILES"] == variables["VK_ICD_FILENAMES"] == f"{folder}/share/vulkan/icd.d/lvp_icd.json"
    assert variables["XDG_DATA_DIRS"] == f"{folder}/share:/own/share"
    assert variables["LD_LIBRARY_PATH"] == f"{libraries}:/own/lib"
