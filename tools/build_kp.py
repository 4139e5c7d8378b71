"""Install Kompute's Python package `kp` 0.9.0 for the second runtime: built once, its wheel is kept in .cache/wheels.

`kp` is published as a source distribution only. Three things keep `pip install kp` from working as it is:

- it requires numpy below 2, but works with numpy 2, so it is installed with --no-deps;
- it downloads fmt, pybind11 and the Vulkan headers during the build, so it is pointed at the installed ones instead;
- its setup.py lacks a comma before -DPYTHON_EXECUTABLE, so CMake searches for a Python itself and may find another one
  than that of the build, so a CMake toolchain file names it.

Needs cmake, a C++ compiler, the Vulkan headers and loader, fmt, and Python's headers; pybind11, setuptools and wheel
are installed if missing. Takes about two minutes on two cores. Run it with the interpreter that is to get `kp`:
``.venv/bin/python tools/build_kp.py``.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

KP_VERSION = "0.9.0"
BUILD_PACKAGES = ("pybind11", "setuptools", "wheel")
WHEELS = Path(__file__).resolve().parent.parent / ".cache" / "wheels"
LOG = WHEELS.parent / "build_kp.log"

OPTIONS = {
    "KOMPUTE_OPT_INSTALL": "OFF",
    "KOMPUTE_OPT_USE_BUILT_IN_FMT": "OFF",
    "KOMPUTE_OPT_USE_BUILT_IN_PYBIND11": "OFF",
    "KOMPUTE_OPT_USE_BUILT_IN_VULKAN_HEADER": "OFF",
}

ADVICE = """The whole output is in {log}. What the build needs:
  Debian, Ubuntu   apt-get install g++ cmake libvulkan-dev libfmt-dev python3-dev
  Fedora           dnf install gcc-c++ cmake vulkan-headers vulkan-loader-devel fmt-devel python3-devel
  Arch             pacman -S gcc cmake vulkan-headers vulkan-icd-loader fmt
  macOS            xcode-select --install; brew install cmake vulkan-headers vulkan-loader fmt"""


class KpBuildError(Exception):
    """pip or CMake failed; the message has the end of their output."""


def installed_version(package: str) -> str | None:
    """The version of ``package`` in this interpreter's environment, None if it is not there."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def wheel_folder() -> Path:
    """The folder of the wheel for this interpreter; each version of Python and pybind11 has its own."""
    tag = f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}"
    return WHEELS / f"kp-{KP_VERSION}-{tag}-pybind11-{installed_version('pybind11')}"


def _pip(step: str, *arguments: str, environment: dict[str, str] | None = None) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with LOG.open("w", encoding="utf-8") as log:
        process = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, check=False
        )
    if process.returncode != 0:
        tail = "\n".join(LOG.read_text(encoding="utf-8", errors="replace").splitlines()[-40:])
        raise KpBuildError(f"{step} failed:\n{tail}\n\n{ADVICE.format(log=LOG)}")


def install_build_packages() -> None:
    """Install those of ``BUILD_PACKAGES`` that this interpreter's environment lacks."""
    missing = [name for name in BUILD_PACKAGES if installed_version(name) is None]
    if missing:
        print(f"installing {', '.join(missing)} to build kp with", flush=True)
        _pip(f"installing {', '.join(missing)}", "install", *missing)
        importlib.invalidate_caches()


def build(folder: Path) -> None:
    """Build the wheel into ``folder``, with as many compilers at a time as this process has cores."""
    import pybind11

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        toolchain = Path(scratch) / "python.cmake"
        executable = Path(sys.executable).as_posix()
        toolchain.write_text(f'set(PYTHON_EXECUTABLE "{executable}" CACHE FILEPATH "")\n', encoding="utf-8")
        environment = {
            **os.environ,
            **OPTIONS,
            "CMAKE_PREFIX_PATH": pybind11.get_cmake_dir(),
            "CMAKE_TOOLCHAIN_FILE": str(toolchain),
            # Without a number kp's setup.py runs `make -j`, which compiles all files at once.
            "KOMPUTE_PYTHON_NUM_PARALLEL_THREADS": str(cores),
        }
        source = ("--no-deps", "--no-build-isolation", "--no-binary", "kp", f"kp=={KP_VERSION}")
        _pip(f"building kp {KP_VERSION}", "wheel", "-w", str(folder), *source, environment=environment)


def main() -> int:
    """Install ``kp``; the exit code is 0 if it can be imported, 1 if it could not be built or imported."""
    if installed_version("kp") == KP_VERSION:
        return 0
    try:
        # This comes first, because the wheel's folder is named after pybind11's version.
        install_build_packages()
        folder = wheel_folder()
        if not list(folder.glob("kp-*.whl")):
            print(f"building kp {KP_VERSION}, once, about two minutes (output in {LOG})", flush=True)
            build(folder)
        (wheel,) = folder.glob("kp-*.whl")
        print(f"installing {wheel.name}", flush=True)
        _pip(f"installing {wheel}", "install", "--no-deps", "--force-reinstall", str(wheel))
    except KpBuildError as error:
        print(f"build_kp: {error}", file=sys.stderr)
        return 1
    return subprocess.run([sys.executable, "-c", "import kp"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
