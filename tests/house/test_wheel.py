"""The wheels of restride and restride-lab: for every system, complete, and at work where there is no compiler."""

import hashlib
import json
import os
import shutil
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from support.process import captured

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "conftest.py")
FOLDERS = ("src", "shaders", "lab", "tools", "tests")
PACKAGES = ("restride", "restride_conformance", "restride_measure")
LAB_PACKAGES = ("restride_bench", "restride_like_check")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

RUN_AN_OPERATION = """
import numpy as np, pathlib, restride as rs
home = pathlib.Path(rs.__file__)
x = np.arange(6, dtype="f4").reshape(2, 3)
assert np.array_equal(rs.reorder(x, "AB->BA").numpy(), x.T)
y = np.arange(1, 17, dtype="i4").reshape(4, 4)
assert rs.strided_slice(y, (0, 1), (4, 3), (-2, 2)).numpy().tolist() == [[14, 16], [6, 8]]
print(home)
"""


def run(*command, **options):
    result = captured(list(map(str, command)), **options)
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.fixture(scope="session")
def dist(tmp_path_factory):
    """A folder with the source distributions of this checkout, and the wheels that are built from them."""
    # Built from a copy: the hook compiles into the tree that it builds from.
    checkout = tmp_path_factory.mktemp("checkout")
    for name in SOURCES:
        shutil.copy(ROOT / name, checkout)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__", "spirv"))
    shutil.copy(ROOT / ".gitignore", checkout)
    folder = tmp_path_factory.mktemp("dist")
    for project in (checkout, checkout / "lab"):
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, project)
    return folder


@pytest.fixture(scope="session")
def wheel(dist):
    (path,) = dist.glob("restride-*.whl")
    return path


@pytest.fixture(scope="session")
def lab_wheel(dist):
    (path,) = dist.glob("restride_lab-*.whl")
    return path


def test_wheels_are_for_every_python_and_system(wheel, lab_wheel):
    for path, name in ((wheel, "restride"), (lab_wheel, "restride_lab")):
        assert path.name == f"{name}-{VERSION}-py3-none-any.whl"
        with zipfile.ZipFile(path) as archive:
            metadata = archive.read(f"{name}-{VERSION}.dist-info/WHEEL").decode()
        assert "Tag: py3-none-any" in metadata
        assert "Root-Is-Purelib: true" in metadata


def test_wheels_hold_every_module_with_its_hash(wheel, lab_wheel):
    for path, folder in ((wheel, "restride/spirv"), (lab_wheel, "restride_bench/spirv")):
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read(f"{folder}/manifest.json"))
            shipped = {name for name in archive.namelist() if name.startswith(f"{folder}/")}
            assert manifest["modules"]
            for name, entry in manifest["modules"].items():
                code = archive.read(f"{folder}/{name}.spv")
                assert hashlib.sha256(code).hexdigest() == entry["sha256"]
                assert len(code) == entry["bytes"]
        expected = {f"{folder}/{name}.spv" for name in manifest["modules"]}
        assert shipped == expected | {f"{folder}/manifest.json"}


def test_the_wheel_of_the_laboratory_holds_its_packages_alone(lab_wheel):
    with zipfile.ZipFile(lab_wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"restride_lab-{VERSION}.dist-info/METADATA").decode()
    assert {name.split("/")[0] for name in names} == {*LAB_PACKAGES, f"restride_lab-{VERSION}.dist-info"}
    assert f"Requires-Dist: restride=={VERSION}" in metadata


def test_wheel_holds_the_glsl_and_the_type_marker(wheel):
    shaders = [path for path in (ROOT / "shaders").rglob("*") if path.is_file()]
    with zipfile.ZipFile(wheel) as archive:
        for path in shaders:
            name = f"restride/shaders/{path.relative_to(ROOT / 'shaders').as_posix()}"
            assert archive.read(name) == path.read_bytes()
        names = archive.namelist()
    assert "restride/py.typed" in names
    assert f"restride-{VERSION}.dist-info/licenses/LICENSE" in names
    assert {name.split("/")[0] for name in names} == {*PACKAGES, f"restride-{VERSION}.dist-info"}


def test_sdist_holds_what_a_wheel_is_built_from(dist):
    (path,) = dist.glob("restride-*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    for needed in (
        "shaders/variants.txt",
        "tools/hatch_build.py",
        "tools/compile_shaders.py",
        "pyproject.toml",
        "LICENSE",
    ):
        assert needed in names
    assert not any(name.endswith(".spv") for name in names)


@pytest.fixture(scope="session")
def clean_python(wheel, lab_wheel, tmp_path_factory):
    """A new environment's interpreter: both wheels, and their dependencies borrowed from this environment."""
    home = tmp_path_factory.mktemp("clean")
    run(sys.executable, "-m", "venv", "--without-pip", home)
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--no-deps", "--no-index", wheel, lab_wheel)
    # Only the directory: a .pth inside it, such as that of an editable restride, is not followed. It comes after the
    # wheel's own folder.
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def test_installed_wheel_runs_an_operation_without_a_compiler(clean_python, tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PATH"] = str(tmp_path)  # empty: no glslang
    lines = run(clean_python, "-c", RUN_AN_OPERATION, cwd=tmp_path, env=environment).splitlines()
    assert clean_python.parent.parent in Path(lines[-1]).parents, f"restride came from {lines[-1]}"


@pytest.fixture
def installed(clean_python, tmp_path):
    """Runs the wheel's command where there is no checkout and no compiler, and gives what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PATH"] = str(tmp_path)  # empty: no glslang
    return lambda *command: run(clean_python.with_name("restride"), *command, cwd=tmp_path, env=environment)


def test_installed_command_says_its_devices(installed):
    assert installed("devices")


def test_installed_command_runs_the_cases(installed, tmp_path):
    installed("test", "smoke", "--json", "here.json", "--html", "here.html")
    assert len(json.loads((tmp_path / "here.json").read_text())["outcomes"]) > 300
    assert "</html>" in (tmp_path / "here.html").read_text()


def test_installed_command_measures(installed, tmp_path):
    installed("bench", "--small", "--repeat", "1", "--peers", "by-hand", "--json", "here.json")
    outcomes = json.loads((tmp_path / "here.json").read_text())["outcomes"]
    assert len(outcomes) >= 60
    assert any(set(each["figures"]["resident"]) == {"restride", "copy", "by-hand"} for each in outcomes)


def test_installed_command_asks_a_library(installed):
    output = installed("profiles", "--check", "--images", "1", "--like", "pillow")
    assert "rows are as docs/profiles.md states" in output
