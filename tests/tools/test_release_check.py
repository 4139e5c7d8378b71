"""What `make release-check` refuses: builds that differ, files missing, stray or too large, versions that disagree."""

import io
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest
import release_check

ROOT = release_check.ROOT
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
INFO = "restride-1.2.3.dist-info"
METADATA = b"License-Expression: Apache-2.0\nLicense-File: LICENSE\nRequires-Python: >=3.11\nVersion: 1.2.3\n"
WHEEL = dict.fromkeys(release_check.LIBRARY.wheel_needs, b"") | {
    f"{INFO}/METADATA": METADATA,
    f"{INFO}/licenses/LICENSE": b"",
    f"{INFO}/entry_points.txt": b"",
}
SDIST = dict.fromkeys(release_check.LIBRARY.sdist_needs, b"")
LAB = '[project]\nversion = "1.2.3"\ndependencies = ["numpy", "restride==1.2.3"]\n'


def wheel(folder, files, date=(2026, 1, 1, 0, 0, 0)):
    path = folder / "restride-1.2.3-py3-none-any.whl"
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, date), data)
    return path


def wheel_problems(folder, files):
    path = wheel(folder, files)
    return release_check.wheel_problems(path, release_check.members(path), "1.2.3")


def sdist_problems(folder, files):
    path = folder / "restride-1.2.3.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"restride-1.2.3/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return release_check.sdist_problems(path, release_check.members(path))


def test_what_is_complete_has_no_problem(tmp_path):
    assert wheel_problems(tmp_path, WHEEL) == []
    assert sdist_problems(tmp_path, SDIST | {".gitignore": b""}) == []


@pytest.mark.parametrize("missing", WHEEL)
def test_a_wheel_that_lacks_something(missing, tmp_path):
    problems = wheel_problems(tmp_path, {name: data for name, data in WHEEL.items() if name != missing})
    assert problems
    assert all("lacks" in problem for problem in problems)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("restride/cli/__pycache__/demo.pyc", "stray"),
        ("restride/.DS_Store", "stray"),
        ("restride/old.py~", "stray"),
        ("tests/conftest.py", "no package of restride"),
        ("restride_bench/run.py", "no package of restride"),
        ("restride_measure/large.bin", "more than 3200000"),
    ],
)
def test_a_wheel_that_holds_too_much(name, problem, tmp_path):
    data = bytes(release_check.MAX_BYTES) if "large" in name else b""
    problems = wheel_problems(tmp_path, WHEEL | {name: data})
    assert len(problems) == 1
    assert problem in problems[0]


def test_a_source_distribution_without_its_license_or_with_compiled_shaders(tmp_path):
    assert "lacks LICENSE" in sdist_problems(tmp_path, {k: v for k, v in SDIST.items() if k != "LICENSE"})[0]
    assert "which the wheel's build makes" in sdist_problems(tmp_path, SDIST | {"src/restride/spirv/a.spv": b""})[0]


def test_two_builds_that_differ_are_named(tmp_path):
    first = wheel(tmp_path / "one", WHEEL)
    assert release_check.differences(first, wheel(tmp_path / "two", WHEEL)) == []
    (changed,) = release_check.differences(first, wheel(tmp_path / "two", WHEEL | {"restride/py.typed": b"now"}))
    assert changed.endswith("differ in restride/py.typed")
    (later,) = release_check.differences(first, wheel(tmp_path / "two", WHEEL, (2026, 1, 2, 0, 0, 0)))
    assert later.endswith("differ in order, times or modes of their members")


def test_versions_agree():
    def problems(tag, changelog, module='__version__ = "1.2.3"\n', lab=LAB):
        return release_check.version_problems(tag, changelog, "1.2.3", module, lab)

    released = "## [Unreleased]\n\n## [1.2.3] - 2026-01-01\n"
    assert problems("v1.2.3", released) == []
    assert problems(None, "") == []
    assert problems("1.2.3", released) == ["the tag is 1.2.3, the version 1.2.3"]
    assert "no section" in problems("v1.2.3", "## [Unreleased]\n")[0]
    assert problems(None, "", '__version__ = "1.2.2"\n') == ["restride.__version__ is not 1.2.3"]
    wrong = "lab/pyproject.toml is not of version 1.2.3, or does not need restride==1.2.3"
    assert problems(None, "", lab=LAB.replace('version = "1.2.3"', 'version = "1.2.2"')) == [wrong]
    assert problems(None, "", lab=LAB.replace("restride==", "restride>=")) == [wrong]


def test_a_command_that_ends_with_another_code_is_an_error():
    assert release_check.run(sys.executable, "-c", "raise SystemExit(4)", code=4) == ""
    with pytest.raises(release_check.ReleaseError, match="exit code 4, not 0"):
        release_check.run(sys.executable, "-c", "raise SystemExit(4)")


def test_only_pythons_that_start_are_taken(tmp_path, monkeypatch):
    false = tmp_path / "versions" / "3.99.1" / "bin"
    false.mkdir(parents=True)
    (false / "python3.99").write_text("#!/bin/sh\nexit 1\n")
    (false / "python3.99").chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert release_check.interpreters(["3.99"]) == {}
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    (tmp_path / "versions" / f"{here}.99" / "bin").mkdir(parents=True)
    monkeypatch.setenv("PATH", str(tmp_path / "versions" / f"{here}.99" / "bin"))
    (tmp_path / "versions" / f"{here}.99" / "bin" / f"python{here}").symlink_to(sys.executable)
    assert list(release_check.interpreters([here])) == [here]


def test_this_checkout_says_one_version_everywhere():
    version = PROJECT["project"]["version"]
    module = (ROOT / "src" / "restride" / "__init__.py").read_text(encoding="utf-8")
    lab = (ROOT / "lab" / "pyproject.toml").read_text(encoding="utf-8")
    assert release_check.version_problems(None, "", version, module, lab) == []
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_laboratory_is_built_as_the_library_is():
    lab = tomllib.loads((ROOT / "lab" / "pyproject.toml").read_text(encoding="utf-8"))
    assert lab["build-system"] == PROJECT["build-system"]
    assert lab["project"]["requires-python"] == PROJECT["project"]["requires-python"]
    assert (ROOT / "lab" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_pythons_of_the_check_are_those_of_the_project():
    assert PROJECT["project"]["requires-python"] == f">={release_check.PYTHONS[0]}"
    release = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"^ +(3\.\d+)$", release, re.MULTILINE)) == set(release_check.PYTHONS)
    oldest = next(line for line in PROJECT["project"]["dependencies"] if line.startswith("numpy"))
    assert oldest.replace(">=", "==") + ".*" == release_check.OLDEST_NUMPY


def test_the_command_says_what_it_does():
    command = [sys.executable, str(ROOT / "tools" / "release_check.py"), "--help"]
    assert "--all-pythons" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
