"""Where the Vulkan loader looks for drivers: the manifests (ICD files) that are there, and those named in vain."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

VARIABLES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")
"""Lists of files that replace the search; the loader reads the first one that is set."""


@dataclass(frozen=True)
class Manifest:
    """One ICD file; ``problem`` is empty, or why the loader cannot use it."""

    path: Path
    problem: str = ""


def manifests(environment: Mapping[str, str] = os.environ) -> tuple[str, list[Manifest]]:
    """Where the list comes from (a variable, or "the standard folders"), and the files."""
    for variable in VARIABLES:
        if environment.get(variable):
            named = [Path(entry) for entry in environment[variable].split(os.pathsep) if entry]
            files = [file for entry in named for file in (sorted(entry.glob("*.json")) if entry.is_dir() else [entry])]
            return variable, [_examined(file) for file in files]
    found = sorted({file for folder in _folders(environment) for file in folder.glob("*.json")})
    return "the standard folders", [_examined(file) for file in found]


def _folders(environment: Mapping[str, str]) -> list[Path]:
    home = Path.home()
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


def _examined(path: Path) -> Manifest:
    try:
        library = json.loads(path.read_text(encoding="utf-8"))["ICD"]["library_path"]
    except FileNotFoundError:
        return Manifest(path, "no such file")
    except (OSError, ValueError, KeyError, TypeError) as error:
        return Manifest(path, f"cannot be read: {type(error).__name__}: {error}")
    # A bare name is the dynamic linker's to find; a path is relative to the manifest.
    if os.sep in library and not (path.parent / library).exists():
        return Manifest(path, f"its library {library} does not exist")
    return Manifest(path)
