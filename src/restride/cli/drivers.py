"""Find Vulkan drivers: the manifests (ICD files) that the loader reads, and the manifest of a driver by its name."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from restride.cli.process import UsageError
from restride.errors import DeviceNotFound
from restride.runtime.loader import DRIVER_VARIABLES


@dataclass(frozen=True)
class Manifest:
    """An ICD file; ``problem``: why the loader cannot use it, or empty."""

    path: Path
    problem: str = ""


def manifests(environment: Mapping[str, str] = os.environ) -> tuple[str, list[Manifest]]:
    """The source of the list (a variable's name, or "the standard folders"), and the manifests."""
    for variable in DRIVER_VARIABLES:
        if environment.get(variable):
            named = [Path(entry) for entry in environment[variable].split(os.pathsep) if entry]
            files = [file for entry in named for file in (sorted(entry.glob("*.json")) if entry.is_dir() else [entry])]
            return variable, [_read_manifest(file) for file in files]
    return "the standard folders", [_read_manifest(file) for file in _installed(environment)]


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
    folders = _folders(environment)
    if name == "lavapipe":
        files = [file for folder in folders for file in sorted(folder.glob("lvp_icd*.json"))]
        files.sort(key=_is_for_another_machine)  # a stable sort: among equals the first folder wins
    else:
        files = [folder / _SWIFTSHADER for folder in (*folders, *map(Path, _BROWSERS))]
    usable = [file for file in files if not _read_manifest(file).problem]
    if not usable:
        raise DeviceNotFound(f"the driver {name} is not installed; {_INSTALL[name]}; or give its manifest's path")
    return usable[0].absolute()


def _file_or_installed(name: str, environment: Mapping[str, str]) -> Path:
    manifest = _read_manifest(Path(name).absolute())
    if not manifest.problem:
        return manifest.path
    if manifest.problem != _ABSENT:
        raise UsageError(f"driver {name!r} is no ICD manifest: {manifest.problem}")
    installed = [file for file in _installed(environment) if not _read_manifest(file).problem]
    matching = [file for file in installed if name and name.casefold() in file.name.casefold()]
    if not matching:
        known = ", ".join([*_INSTALL, *(file.name for file in installed)])
        raise DeviceNotFound(f"driver {name!r} is no file, and no driver here has it in its name: {known}")
    # The shorter name of intel_icd and intel_hasvk_icd is the driver for current devices.
    return min(matching, key=lambda file: (_is_for_another_machine(file), len(_driver(file)))).absolute()


def _installed(environment: Mapping[str, str]) -> list[Path]:
    """Every manifest, folder by folder in the loader's order."""
    return list(dict.fromkeys(file for folder in _folders(environment) for file in sorted(folder.glob("*.json"))))


def _driver(file: Path) -> str:
    """The driver in a file name: ``lvp_icd`` for lvp_icd.x86_64.json (Mesa 22) and for lvp_icd.json (Mesa 25)."""
    return file.name.partition(".")[0]


def _is_for_another_machine(file: Path) -> bool:
    """True for a manifest of another architecture: on x86_64 for lvp_icd.i686.json, but not for lvp_icd.json."""
    return file.stem not in {_driver(file), f"{_driver(file)}.{platform.machine()}"}


def _folders(environment: Mapping[str, str]) -> list[Path]:
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path's own raises where a user has no home
    roots = [
        Path(environment.get("XDG_CONFIG_HOME") or home / ".config"),
        *map(Path, (environment.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)),
        Path("/usr/local/etc"),
        Path("/etc"),
        Path(environment.get("XDG_DATA_HOME") or home / ".local/share"),
        *map(Path, (environment.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(os.pathsep)),
    ]
    if sys.platform == "darwin":
        roots += [Path("/opt/homebrew/share"), Path("/opt/homebrew/etc")]
    return [root / "vulkan" / "icd.d" for root in roots]


_MAX_MANIFEST = 1 << 20
_ABSENT = "no such file"


def _read_manifest(path: Path) -> Manifest:
    try:
        if path.exists() and not path.is_file():
            return Manifest(path, "no file")
        with path.open("rb") as file:
            library = json.loads(file.read(_MAX_MANIFEST))["ICD"]["library_path"]
    except FileNotFoundError:
        return Manifest(path, _ABSENT)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        lacks = isinstance(error, KeyError | TypeError)
        why = "has no library_path in a section ICD" if lacks else f"cannot be read: {type(error).__name__}: {error}"
        return Manifest(path, why)
    if not isinstance(library, str) or not library or "\0" in library:
        return Manifest(path, f"its library_path is {str(library)[:80]!r}")
    # The dynamic linker finds a bare name; a path is relative to the manifest.
    if os.sep in library and not (path.parent / library).exists():
        return Manifest(path, f"its library {library[:200]} does not exist")
    return Manifest(path)
