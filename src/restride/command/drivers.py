"""Find the manifest (ICD file) of a Vulkan driver by its name."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path

from restride.command.process import UsageError
from restride.errors import DeviceNotFound
from restride.runtime.manifests import ABSENT, installed, read_driver, standard_folders

_INSTALL = {
    "lavapipe": "Debian, Ubuntu: `apt install mesa-vulkan-drivers`; Fedora: `dnf install mesa-vulkan-drivers`; Arch: "
    "`pacman -S vulkan-swrast`",
    "swiftshader": "it comes with Chromium and Chrome (Debian: `apt install chromium-common`)",
}
"""How to install the drivers that ``driver_file`` knows by name."""

_SWIFTSHADER = "vk_swiftshader_icd.json"
_BROWSERS = (
    "/usr/lib/chromium",
    "/usr/lib/chromium-browser",
    "/usr/lib64/chromium-browser",
    "/opt/google/chrome",
    "/snap/chromium/current/usr/lib/chromium-browser",
    "/Applications/Google Chrome.app/Contents/Frameworks/Google Chrome Framework.framework/Versions/Current/Libraries",
    "/Applications/Chromium.app/Contents/Frameworks/Chromium Framework.framework/Versions/Current/Libraries",
)


def driver_file(name: str, environment: Mapping[str, str] = os.environ) -> Path:
    """The absolute path of a driver's manifest.

    Args:
        name: ``"lavapipe"``, ``"swiftshader"``, the path of a manifest, or part of the file name of an installed one
            (``"radeon"``).
        environment: variables in which to look up XDG folders.

    Raises:
        DeviceNotFound: there is no such driver; the message lists the drivers, or says how to install it.
        UsageError: the path is no manifest, or its library does not exist.
    """
    if name not in _INSTALL:
        return _file_or_installed(name, environment)
    folders = standard_folders("icd.d", environment)
    if name == "lavapipe":
        files = [file for folder in folders for file in sorted(folder.glob("lvp_icd*.json"))]
        files.sort(key=_is_for_another_machine)  # a stable sort: among equals the first folder wins
    else:
        files = [folder / _SWIFTSHADER for folder in (*folders, *map(Path, _BROWSERS))]
    usable = [file for file in files if not read_driver(file).problem]
    if not usable:
        raise DeviceNotFound(f"the driver {name} is not installed; {_INSTALL[name]}; or give its manifest's path")
    return usable[0].absolute()


def _file_or_installed(name: str, environment: Mapping[str, str]) -> Path:
    manifest = read_driver(Path(name).absolute())
    if not manifest.problem:
        return manifest.path
    if manifest.problem != ABSENT:
        raise UsageError(f"driver {name!r} is no ICD manifest: {manifest.problem}")
    usable = [file for file in installed("icd.d", environment) if not read_driver(file).problem]
    matching = [file for file in usable if name and name.casefold() in file.name.casefold()]
    if not matching:
        installed_files = ", ".join(file.name for file in usable) or "there is none"
        here = f"no driver here has this text in its name ({installed_files})"
        raise DeviceNotFound(f"driver {name!r} is no file, {here}, and it is not {' or '.join(_INSTALL)}")
    # Of intel_icd and intel_hasvk_icd, the driver with the shorter name is for current devices.
    return min(matching, key=lambda file: (_is_for_another_machine(file), len(_driver(file)))).absolute()


def _driver(file: Path) -> str:
    """The driver in a file name: ``lvp_icd`` for lvp_icd.x86_64.json (Mesa 22) and for lvp_icd.json (Mesa 25)."""
    return file.name.partition(".")[0]


def _is_for_another_machine(file: Path) -> bool:
    """True for a manifest of another architecture: on x86_64 for lvp_icd.i686.json, but not for lvp_icd.json."""
    return file.stem not in {_driver(file), f"{_driver(file)}.{platform.machine()}"}
