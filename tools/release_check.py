"""Check that restride and restride-lab can be published; leaves their files in dist/, and their SBOMs in build/.

The wheel and the source distribution of each are built twice from copies of the checkout that differ in folder, umask,
time zone and hash seed, and must be equal byte for byte. Their contents are listed and checked, and twine reads their
metadata. The wheel of restride is installed in clean environments and runs the demo there: with each installed Python,
the oldest numpy and the newest. In the last environment, commands and library calls without a Vulkan loader must end in
the error that names the fix, and `restride bench` names restride-lab until its wheel is installed too.

    python tools/release_check.py                               with every Python from 3.11 to 3.14 that is here
    python tools/release_check.py --all-pythons --tag v1.2.3    none may be missing, and the versions must agree
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".cache" / "release"
"""A virtual environment with the dependency group ``release`` and the build requirements."""

MAX_BYTES = 3_200_000
"""Maximum bytes of a wheel, and of a source distribution."""

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
OLDEST_NUMPY, LAST_PYTHON_OF_IT = "numpy==1.26.*", "3.12"
"""The oldest numpy that restride supports, and the last Python for which it has wheels."""


@dataclass(frozen=True)
class Project:
    """A package that is published.

    name: of its distribution. folder: of its pyproject.toml, in the checkout.
    packages: all that its wheel may hold. wheel_needs, sdist_needs: some of what its files must hold.
    compiled: the folder of the SPIR-V, which its source distribution must not hold.
    """

    name: str
    folder: str
    packages: tuple[str, ...]
    wheel_needs: tuple[str, ...]
    sdist_needs: tuple[str, ...]
    compiled: str


LIBRARY = Project(
    "restride",
    ".",
    ("restride", "restride_conformance", "restride_measure"),
    (
        "restride/py.typed",
        "restride/spirv/manifest.json",
        "restride/shaders/README.md",
        "restride/shaders/include/element_types.glsl",
        "restride/shaders/include/shared_constants.glsl",
    ),
    ("LICENSE", "CHANGELOG.md", "SECURITY.md", "CITATION.cff", "shaders/variants.txt", "tools/hatch_build.py"),
    "src/restride/spirv/",
)
LAB = Project(
    "restride-lab",
    "lab",
    ("restride_bench", "restride_like_check"),
    ("restride_bench/spirv/manifest.json", "restride_like_check/profiles.md"),
    ("LICENSE", "README.md", "shaders/variants.txt", "build_hook.py", "tools/compile_shaders.py"),
    "src/restride_bench/spirv/",
)
_STRAY = re.compile(r"(^|/)(__pycache__|\.[^/]+|[^/]+\.py[co]|[^/]+~)(/|$)")

_LIBRARY_WORKS_WITHOUT_VULKAN = """
import numpy as np, restride as rs
x = np.arange(6.0, dtype="f4").reshape(2, 3)
assert (rs.reference.reorder(x, "AB->BA") == x.T).all()
assert rs.TensorDesc("f32", (2, 3)).nbytes == 24
try:
    rs.resample(x, (4, 6))
except rs.DeviceNotFound as error:
    assert "no Vulkan loader" in str(error) and "apt install libvulkan1" in str(error), error
else:
    raise SystemExit("an operation ran without a Vulkan loader")
"""


class ReleaseError(Exception):
    """The reason why the files must not be published."""


def run(*command: str | Path, code: int = 0, **options: object) -> str:
    """Run a command; returns its output on both streams.

    Raises:
        ReleaseError: the exit code is not ``code``.
    """
    process = subprocess.run(  # type: ignore[call-overload]
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )
    if process.returncode != code:
        raise ReleaseError(
            f"{' '.join(map(str, command))}: exit code {process.returncode}, not {code}\n{process.stdout}"
        )
    return str(process.stdout)


def say(text: str) -> None:
    """Print a line of progress on stderr."""
    print(f"restride: {text}", file=sys.stderr, flush=True)


# Checks the two files without running anything.


def members(path: Path) -> dict[str, bytes]:
    """The files in a wheel or a source distribution by path; in the latter without the first folder."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")}
    with tarfile.open(path) as sdist:
        files = [member for member in sdist if not member.isdir()]
        return {member.name.partition("/")[2]: _content(sdist, member) for member in files}


def _content(sdist: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = sdist.extractfile(member) if member.isfile() else None
    return f"link to {member.linkname}".encode() if file is None else file.read()


def differences(first: Path, second: Path) -> list[str]:
    """A message that names the members in which two builds of a file differ; empty if they are equal."""
    if first.read_bytes() == second.read_bytes():
        return []
    one, other = members(first), members(second)
    names = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    return [f"two builds of {first.name} differ in {', '.join(names[:9]) or 'order, times or modes of their members'}"]


def wheel_problems(path: Path, files: Mapping[str, bytes], version: str, project: Project = LIBRARY) -> list[str]:
    """Messages about what a wheel lacks, and what it must not contain."""
    info = f"{project.name.replace('-', '_')}-{version}.dist-info"
    tops = {name.partition("/")[0] for name in files} - {*project.packages, info}
    problems = [f"{path.name} has {top}, which is no package of {project.name}" for top in sorted(tops)]
    metadata = files.get(f"{info}/METADATA", b"").decode()
    required = (
        "License-Expression: Apache-2.0",
        "License-File: LICENSE",
        "Requires-Python: >=3.11",
        f"Version: {version}",
    )
    problems += [f"METADATA of {path.name} lacks {line!r}" for line in required if line not in metadata.splitlines()]
    needed = (*project.wheel_needs, f"{info}/licenses/LICENSE", f"{info}/entry_points.txt")
    return problems + _common_problems(path, files, needed)


def sdist_problems(path: Path, files: Mapping[str, bytes], project: Project = LIBRARY) -> list[str]:
    """Messages about what a source distribution lacks, and what it must not contain."""
    compiled = sorted(name for name in files if name.startswith(project.compiled))
    problems = [f"{path.name} has {compiled[0]}, which the wheel's build makes"] if compiled else []
    kept = {name: data for name, data in files.items() if name != ".gitignore"}
    return problems + _common_problems(path, kept, project.sdist_needs)


def _common_problems(path: Path, files: Mapping[str, bytes], needed: Sequence[str]) -> list[str]:
    size = path.stat().st_size
    problems = [f"{path.name} has {size} bytes, more than {MAX_BYTES}"] if size > MAX_BYTES else []
    problems += [f"{path.name} lacks {name}" for name in needed if name not in files]
    return problems + [f"{path.name} has {name}, a stray file" for name in sorted(files) if _STRAY.search(name)]


def version_problems(tag: str | None, changelog: str, version: str, module: str, lab: str) -> list[str]:
    """Messages if a text disagrees with pyproject.toml's version.

    module: restride/__init__.py. lab: the pyproject.toml of restride-lab, which needs restride of the same version.
    changelog: looked at if there is a ``tag``, which must agree too.
    """
    problems = [] if f'__version__ = "{version}"' in module else [f"restride.__version__ is not {version}"]
    project = tomllib.loads(lab)["project"]
    if project["version"] != version or f"restride=={version}" not in project["dependencies"]:
        problems.append(f"lab/pyproject.toml is not of version {version}, or does not need restride=={version}")
    if tag is not None:
        problems += [] if tag == f"v{version}" else [f"the tag is {tag}, the version {version}"]
        if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE):
            problems.append(f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD'")
    return problems


def contents(path: Path, files: Mapping[str, bytes]) -> str:
    """A table of the number of files and unpacked bytes in each folder."""
    folders: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for name, data in files.items():
        folder = "/".join(name.split("/")[:-1][:2]) or "."
        folders[folder] += len(data)
        counts[folder] += 1
    lines = [f"  {counts[folder]:>5} {size:>9,}  {folder}" for folder, size in folders.most_common()]
    return "\n".join([f"{path.name}: {path.stat().st_size:,} bytes, {len(files)} files", *lines])


# Builds the wheel and tries it.


def pip(python: Path, *arguments: str | Path) -> None:
    """Run this environment's pip on the environment of ``python``, which needs no pip of its own."""
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", python, *arguments)


def environment(home: Path, python: str | Path = sys.executable) -> Path:
    """Create a virtual environment without pip; returns its interpreter."""
    run(python, "-m", "venv", "--clear", "--without-pip", home)
    return home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def install_tools() -> Path:
    """Install the tools that build and check, again if pyproject.toml has changed; returns their interpreter."""
    stamp = TOOLS / "stamp"
    requires = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    requirements = [*requires["build-system"]["requires"], *requires["dependency-groups"]["release"]]
    fingerprint = json.dumps([sys.version, *requirements])
    python = TOOLS / "bin" / "python"
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != fingerprint:
        say(f"installing the release's tools into {TOOLS.relative_to(ROOT)}")
        python = environment(TOOLS)
        pip(python, "install", *requirements)
        stamp.write_text(fingerprint, encoding="utf-8")
    return python


def build(python: Path, folder: Path, place: str, umask: int, **variables: str) -> list[Path]:
    """Build each source distribution, and the wheel from it, in a copy of the checkout in ``folder``."""
    checkout = folder / place / "restride"
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, checkout / name)
    dist = folder / place / "dist"
    date = run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()
    for project in (LIBRARY, LAB):
        run(
            *(python, "-m", "build", "--no-isolation", "--outdir", dist),
            checkout / project.folder,
            env=os.environ | {"SOURCE_DATE_EPOCH": date} | variables,
            umask=umask,
        )
    return sorted(dist.iterdir())


def interpreters(names: Sequence[str]) -> dict[str, str]:
    """Those of ``names`` that are installed, on the PATH or in pyenv's folder, and can create virtual environments."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    present = {}
    for name in names:
        places = [
            shutil.which(f"python{name}"),
            *map(str, sorted(pyenv.glob(f"{name}*/bin/python{name}"), reverse=True)),
        ]
        works = f"import ensurepip, sys, venv; assert sys.version.startswith('{name}.')"
        for place in filter(None, places):
            if not subprocess.run([place, "-c", works], capture_output=True, check=False).returncode:
                present[name] = place
                break
    return present


def try_wheel(python: Path, wheel: Path, numpy: str, folder: Path) -> str:
    """Install the wheel with ``numpy`` for ``python``, and run the demo; returns the first line of its output."""
    pip(python, "install", "--only-binary=:all:", wheel, numpy)
    pip(python, "check")
    demo = run(python.with_name("restride"), "demo", "--no-photo", cwd=folder, env=_outside())
    if "17 of 17 results are right" not in demo:
        raise ReleaseError(f"the demo fails:\n{demo}")
    return demo.splitlines()[0]


def try_without_vulkan(python: Path, folder: Path) -> None:
    """Check without a Vulkan loader: what needs a device ends in the error that names the fix, and the rest works."""
    # Empty files, which are not valid libraries, come first on the library path, so that no installed loader is loaded.
    hidden = folder / "hidden"
    hidden.mkdir()
    for name in ("libvulkan.so", "libvulkan.so.1", "libvulkan.dylib"):
        (hidden / name).touch()
    without = _outside() | {"LD_LIBRARY_PATH": str(hidden), "DYLD_LIBRARY_PATH": str(hidden)}
    command = python.with_name("restride")
    for arguments in (("devices",), ("demo", "--no-photo"), ("doctor",)):
        output = run(command, *arguments, code=4, cwd=folder, env=without)
        if "no Vulkan loader (libvulkan) on this machine" not in output or "apt install libvulkan1" not in output:
            raise ReleaseError(f"`restride {' '.join(arguments)}` without a Vulkan loader names no fix:\n{output}")
    run(python, "-c", _LIBRARY_WORKS_WITHOUT_VULKAN, cwd=folder, env=without)
    run(command, "show", "f32[2,3]", cwd=folder, env=without)


def try_lab(python: Path, wheel: Path, folder: Path) -> None:
    """Check that `restride bench` names restride-lab, and that it measures once that is installed beside restride."""
    command = (python.with_name("restride"), "bench", "--small", "--repeat", "1", "-k", "copy f32 16")
    output = run(*command, code=2, cwd=folder, env=_outside())
    if "pip install ./lab" not in output:
        raise ReleaseError(f"`restride bench` without restride-lab names no fix:\n{output}")
    pip(python, "install", "--only-binary=:all:", "--no-index", wheel)
    pip(python, "check")
    output = run(*command, cwd=folder, env=_outside())
    if "by-hand lab/shaders" not in output:
        raise ReleaseError(f"`restride bench` of restride-lab does not run its own kernels:\n{output}")


def _outside() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def write_sbom(tools: Path, python: Path, project: Project, version: str) -> Path:
    """Write the CycloneDX SBOM of an environment with only the project's wheel and what it needs; returns its path."""
    target = ROOT / "build" / f"{project.name}.cdx.json"
    target.parent.mkdir(exist_ok=True)
    run(
        *(tools.with_name("cyclonedx-py"), "environment", python),
        *("--pyproject", ROOT / project.folder / "pyproject.toml"),
        *("--mc-type", "library", "--output-reproducible", "--of", "JSON", "-o", target),
    )
    record = json.loads(target.read_text(encoding="utf-8"))
    main = record["metadata"]["component"]
    names = {component["name"] for component in record["components"]}
    if (main["name"], main["version"]) != (project.name, version) or not {"numpy", "ml_dtypes", "cffi"} <= names:
        raise ReleaseError(
            f"{target} must be of {project.name} {version} with numpy, ml_dtypes and cffi; it is of {main['name']} "
            f"{main['version']} with {sorted(names)}"
        )
    return target


def check(tag: str | None, pythons: Mapping[str, str], folder: Path) -> None:
    """Run all checks, and leave the files in dist/ and build/.

    Raises:
        ReleaseError: a check failed.
    """
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    module = (ROOT / "src" / "restride" / "__init__.py").read_text(encoding="utf-8")
    lab = (ROOT / LAB.folder / "pyproject.toml").read_text(encoding="utf-8")
    problems = version_problems(tag, changelog, version, module, lab)
    tools = install_tools()
    say("building twice")
    first = build(tools, folder, "one", 0o022, TZ="UTC", PYTHONHASHSEED="1")
    second = build(tools, folder, "another/place", 0o077, TZ="Asia/Tokyo", PYTHONHASHSEED="2")
    for one, other in zip(first, second, strict=True):
        problems += differences(one, other)
    wheels = {}
    for project in (LIBRARY, LAB):
        prefix = f"{project.name.replace('-', '_')}-{version}"
        wheel, sdist = sorted(
            (path for path in first if path.name.startswith(prefix)), key=lambda path: path.suffix != ".whl"
        )
        in_wheel, in_sdist = members(wheel), members(sdist)
        print(contents(wheel, in_wheel), contents(sdist, in_sdist), sep="\n", flush=True)
        problems += wheel_problems(wheel, in_wheel, version, project) + sdist_problems(sdist, in_sdist, project)
        wheels[project] = wheel
    if problems:
        raise ReleaseError("\n".join(problems))
    run(tools, "-m", "twine", "check", "--strict", *first)
    for name, interpreter in pythons.items():
        newest = "numpy>=2"
        for numpy in (newest,) if PYTHONS.index(name) > PYTHONS.index(LAST_PYTHON_OF_IT) else (OLDEST_NUMPY, newest):
            start = time.monotonic()
            python = environment(folder / "clean", interpreter)
            device = try_wheel(python, wheels[LIBRARY], numpy, folder)
            say(f"Python {name}, {numpy}: {device}, {time.monotonic() - start:.0f} s")
    try_without_vulkan(python, folder)
    say("without a Vulkan loader: the errors name the fix")
    sboms = [write_sbom(tools, python, LIBRARY, version)]
    try_lab(python, wheels[LAB], folder)
    say("restride-lab: named where it is missing, and measures where it is installed")
    sboms.append(write_sbom(tools, python, LAB, version))
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir()
    for path in first:
        shutil.copy(path, dist)
    for path in (*(dist / path.name for path in first), *sboms):
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(ROOT)}")


def main() -> int:
    """Run the command line; the exit code is 0 if the files may be published."""
    parser = argparse.ArgumentParser(description="check that restride and restride-lab can be published")
    parser.add_argument("--all-pythons", action="store_true", help=f"fail if one of {', '.join(PYTHONS)} is missing")
    parser.add_argument("--tag", help="the release's tag: the version and the changelog must agree with it")
    parser.add_argument("--python", nargs="+", choices=PYTHONS, default=PYTHONS, help="try these only")
    arguments = parser.parse_args()
    present = interpreters(arguments.python)
    for name in arguments.python:
        if name not in present:
            say(f"no Python {name} here: not tried")
    if not present or (arguments.all_pythons and len(present) < len(arguments.python)):
        say("not fit for a release: a Python is missing")
        return 1
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="restride-release-") as folder:
            check(arguments.tag, present, Path(folder))
    except ReleaseError as error:
        say(f"not fit for a release: {error}")
        return 1
    say(f"fit for a release, {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
