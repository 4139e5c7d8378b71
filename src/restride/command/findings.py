"""What restride finds on a machine: packages, loader, drivers, devices and runtimes, each tried, with fixes."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path

import numpy as np

import restride
from restride import reference
from restride.command.process import ending
from restride.command.processor import cpu_model
from restride.errors import DeviceError, DeviceNotFound, RestrideError, UnsupportedError, installing
from restride.kernel.modules import load_module, manifest
from restride.ops.reorder import reorder
from restride.runtime import RUNTIMES, DeviceInfo, choose_runtime, list_devices
from restride.runtime.instance import layer_names, loader_version
from restride.runtime.kompute.device import INSTALL_KP
from restride.runtime.loader import VALIDATION_LAYER, loader_file, missing_layer
from restride.runtime.manifests import (
    DRIVER_VARIABLES,
    INSTALL_DRIVER,
    STANDARD,
    Manifest,
    driver_variable,
    drivers,
    layers,
)
from restride.tensor.arrays import asarray
from restride.tensor.device import Device

_PACKAGES = (
    ("numpy", "", "pip install numpy"),
    ("ml_dtypes", "", "pip install ml_dtypes"),
    ("cffi", "", "pip install cffi"),
    ("kp", "the runtime kompute", INSTALL_KP),
    ("pillow", "images", installing("images")),
    ("scikit-image", "the demo without a photograph of yours", installing("demo")),
    ("matplotlib", "charts of restride bench", "pip install './lab[charts]' in a checkout"),
    ("einops", "einops' functions on tensors", installing("einops")),
    ("dask", "rs.dask", installing("dask")),
    ("zarr", "rs.stream of zarr arrays", installing("zarr")),
    ("h5py", "rs.stream of HDF5 files", "pip install h5py"),
    ("tifffile", "TIFF", installing("images")),
    ("imagecodecs", "TIFF with LZW, fax, JPEG and others", installing("codecs")),
    ("xarray", "rs.xarray, and DataArrays of tensors", installing("xarray")),
    ("rich", "progress bars", installing("cli")),
    ("shtab", "restride completion", installing("cli")),
)
"""For each package its name, the only feature that needs it (empty: all of restride needs it), and the fix."""

_MAX = 120.0
"""Maximum seconds for one runtime, including the start of Python and a first compilation of shaders."""


@dataclass(frozen=True)
class Finding:
    """A line of the output. status: "ok", "old" (slow), "optional" (absent) or "BROKEN". fix: advice, or empty."""

    status: str
    subject: str
    detail: str
    fix: str = ""


def look(default: str, selector: str | None) -> Iterator[Finding]:
    """Yield the findings; ``default``: the runtime that must work, ``selector``: the device for the runtimes."""
    yield Finding("ok", "restride", f"{restride.__version__} in {Path(restride.__file__).parent}")
    yield Finding("ok", "python", f"{platform.python_version()} on {platform.platform()}")
    yield Finding("ok", "processor", cpu_model())
    packages = [_package(name, purpose, fix) for name, purpose, fix in _PACKAGES]
    yield from (package for package in packages if package.status != "optional")
    yield _guarded("shader modules", _shader_modules)
    yield from _manifests()
    yield from _in_process("Vulkan loader", _LOADER)
    for runtime in RUNTIMES:
        finding = try_runtime(runtime, selector)
        is_needed = finding.status == "optional" and runtime == default
        yield replace(finding, status="BROKEN") if is_needed else finding
    if default not in RUNTIMES:
        fix = f"set it to one of {', '.join(RUNTIMES)}, or unset it"
        yield Finding("BROKEN", f"runtime {default}", "RESTRIDE_RUNTIME names no known runtime", fix)
    yield from (package for package in packages if package.status == "optional")  # behind all that matters more


def _guarded(subject: str, look: Callable[[], Finding]) -> Finding:
    """The finding of ``look``, or a BROKEN one for a ``RestrideError`` that it raises."""
    try:
        return look()
    except RestrideError as error:
        return _finding_from_error("BROKEN", subject, str(error))


def _finding_from_error(status: str, subject: str, message: str) -> Finding:
    """A finding from the message of a device error, whose part after the first semicolon is the fix."""
    detail, _, fix = message.partition("; ")
    return Finding(status, subject, detail, fix)


def _package(name: str, purpose: str, fix: str) -> Finding:
    try:
        return Finding("ok", name, metadata.version(name))
    except metadata.PackageNotFoundError:
        if purpose:
            return Finding("optional", name, f"not installed, only needed for {purpose}", fix)
        return Finding("BROKEN", name, "not installed", fix)


def _shader_modules() -> Finding:
    names = sorted(manifest())
    for name in names:
        load_module(name)
    return Finding("ok", "shader modules", f"{len(names)}, each with the SHA-256 of the manifest")


def _manifests() -> Iterator[Finding]:
    """The manifests of drivers, and those of layers that are wrong: a loader can stop at these too."""
    found = drivers()
    if not found:
        where = f"none in {driver_variable() or STANDARD}"
        if sys.platform == "win32":
            yield Finding("ok", "drivers", "the registry keeps them on Windows")
        else:
            yield Finding("BROKEN", "drivers", where, INSTALL_DRIVER)
    for file in found:
        yield _manifest("driver", file)
    for file in layers():
        if file.problem:
            yield _manifest("layer", file)


def _manifest(subject: str, file: Manifest) -> Finding:
    if not file.problem:  # it is then a driver, which is tried alone
        return _in_process(subject, _DRIVER, str(file.path), alone=file.path)[-1]
    fix = f"correct {file.source}" if file.source != STANDARD else f"install that {subject} again"
    return Finding("BROKEN", subject, f"{file.path} {file.problem}", f"{fix}, or correct or remove the file")


def _loader() -> Iterator[Finding]:
    """What the loader says: its version, the devices, the validation layer."""
    loader = _guarded("Vulkan loader", lambda: Finding("ok", "Vulkan loader", f"{loader_version()}, {loader_file()}"))
    yield loader
    if loader.status == "ok":
        yield from _devices()
        yield _guarded("validation layer", _validation_layer)


def _devices() -> Iterator[Finding]:
    try:
        devices = list_devices()
    except DeviceError as error:
        yield _finding_from_error("BROKEN", "devices", str(error))
        return
    for info in devices:
        limits = info.limits
        left = "" if info.heap_left is None else f" ({info.heap_left >> 20} left, says the driver)"
        yield Finding(
            "ok",
            f"device {info.index}",
            f"{info.name} ({info.kind}), {info.driver} {info.driver_version}, Vulkan {info.api_version}; "
            f"heap {info.heap_bytes >> 20} MiB{left}, buffer range {limits.max_buffer_range >> 20} MiB, "
            f"offset alignment {limits.offset_alignment}, groups {' x '.join(map(str, limits.max_group_count))}, "
            f"kernels {'that `restride tune` found faster here' if info.is_tuned else 'usual for its kind'}",
        )
        yield from _old_lavapipe(info)


_FAST_MESA = 25
"""First major version of Mesa with a faster lavapipe: docs/benchmarks compares 22.3, 23.2, 24.0 and 25.0."""

_NEWER_MESA = {
    "debian 12": "add the suite bookworm-backports to apt's sources, then `apt install -t bookworm-backports "
    "mesa-vulkan-drivers` (25.0.7)",
    "ubuntu": "from 24.04 on, `apt update`, then `apt install mesa-vulkan-drivers` (25.2.8, faster in resampling only)",
    "fedora": "`dnf upgrade mesa-vulkan-drivers`",
    "arch": "`pacman -Syu vulkan-swrast`",
}
"""How to install a newer Mesa, by ID, and VERSION_ID if that matters, in /etc/os-release."""


def _old_lavapipe(info: DeviceInfo) -> Iterator[Finding]:
    version = re.match(r"Mesa (\d+)\.[\d.]+", info.driver_version)
    if info.driver != "llvmpipe" or version is None or int(version[1]) >= _FAST_MESA:
        return
    try:
        system = platform.freedesktop_os_release()
    except OSError:
        system = {}
    names = (f"{system.get('ID')} {system.get('VERSION_ID')}", system.get("ID", ""))
    fix = next((_NEWER_MESA[name] for name in names if name in _NEWER_MESA), f"install Mesa {_FAST_MESA} or newer")
    detail = f"{version[0]}: lavapipe of Mesa {_FAST_MESA}.0 is up to twice as fast, and more on CPUs without AVX-512"
    yield Finding("old", f"device {info.index}'s driver", detail, fix)


def _validation_layer() -> Finding:
    user = "used by `restride test --validate` and `restride selftest` only"
    if VALIDATION_LAYER in layer_names():
        return Finding("ok", "validation layer", f"{VALIDATION_LAYER}, {user}")
    if disabled := os.environ.get("VK_LOADER_LAYERS_DISABLE"):
        # The loader does not list a layer that the variable disables, so it may be installed.
        fix = "unset it to see whether the layer is installed"
        return Finding("optional", "validation layer", f"{user}; VK_LOADER_LAYERS_DISABLE is {disabled!r}", fix)
    why, fix = missing_layer()
    return Finding("optional", "validation layer", f"{user}; {why}", fix)


# The loader, each driver and each runtime are tried in processes of their own, so that a crashing driver ends only that
# process.
#
# ``python -m restride.command.findings loader``, ``driver FILE`` or ``RUNTIME [DEVICE]`` prints a finding a line, as
# JSON; ``_in_process`` runs it and reads the lines.

_LOADER = "loader"
_DRIVER = "driver"


def try_runtime(runtime: str, selector: str | None = None) -> Finding:
    """Open ``runtime`` on a device and reorder a tiny tensor, in another process; "optional": it is not installed."""
    return _in_process(f"runtime {runtime}", runtime, *([] if selector is None else [selector]))[-1]


def _in_process(subject: str, *words: str, alone: Path | None = None) -> list[Finding]:
    """What another process finds; the last finding is about its end, if it did not end well.

    alone: the manifest of the only driver that its loader reads; None: the drivers of this process.
    """
    command = [sys.executable, "-m", "restride.command.findings", *words]
    drivers = {} if alone is None else dict.fromkeys(DRIVER_VARIABLES, str(alone))
    try:
        process = subprocess.run(
            command, env=os.environ | drivers, capture_output=True, text=True, timeout=_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        return [Finding("BROKEN", subject, f"no answer within {_MAX:g} s: the driver hangs", _ONE_BY_ONE)]
    findings = [Finding(**json.loads(line)) for line in process.stdout.splitlines() if line.startswith('{"status": ')]
    if process.returncode < 0:
        why = f"the process {ending(process.returncode)}: the driver crashes"
        findings.append(Finding("BROKEN", subject, why, _ONE_BY_ONE))
    elif process.returncode or not findings:
        last = [line for line in process.stderr.splitlines() if line.strip()][-1:] or ["no message"]
        message = f"the process {ending(process.returncode)}: {last[0]}"
        findings.append(_finding_from_error("BROKEN", subject, message))
    return findings


_AGAIN = "install that driver again"

_ONE_BY_ONE = "try the drivers one by one: VK_DRIVER_FILES=FILE restride doctor"


def _driver(path: Path) -> Finding:
    """What the driver of a manifest has here: its library is loaded, and its devices are asked for."""
    library = json.loads(path.read_bytes())["ICD"]["library_path"]
    try:
        ctypes.CDLL(str(path.parent / library) if os.sep in library else library)
    except OSError as error:
        if "wrong ELF class" in str(error):
            return Finding("ok", "driver", f"{path}: for programs of another word size")
        return Finding(
            "BROKEN", "driver", f"{path}: its library does not load: {error}", f"{_AGAIN}, or remove the file"
        )
    try:
        names = ", ".join(info.name for info in list_devices())
    except DeviceError:
        names = ""
    return Finding("ok", "driver", f"{path}: {names or 'it loads, and finds no device of its kind here'}")


def _attempt(runtime: str, selector: str | None = None) -> Finding:
    subject = f"runtime {runtime}"
    x = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    try:
        with Device(selector, choose_runtime(runtime)) as device:
            result = reorder(asarray(x, device=device), "CHW->HWC").numpy()
            name = f"{device.info.name}, {device.info.driver} {device.info.driver_version}"
    except (DeviceNotFound, UnsupportedError) as error:
        return _finding_from_error("optional", subject, str(error))
    except RestrideError as error:
        return _finding_from_error("BROKEN", subject, f"{type(error).__name__}: {error}")
    if not np.array_equal(result, reference.reorder(x, "CHW->HWC")):
        return Finding("BROKEN", subject, f"a reorder of 24 bytes gives wrong elements on {name}")
    return Finding("ok", subject, f"a small reorder is right on {name}")


if __name__ == "__main__":
    word, *others = sys.argv[1:]
    if word == _LOADER:
        found = _loader()
    else:
        found = iter([_driver(Path(*others)) if word == _DRIVER else _attempt(word, *others)])
    for each in found:
        print(json.dumps(asdict(each)), flush=True)
