"""The manifests (JSON files) of drivers and layers that the Vulkan loader reads, and why it cannot use one.

Loaders handle bad manifests badly: the loader 1.3.239 answers VK_ERROR_OUT_OF_HOST_MEMORY to a file that is no JSON,
crashes where a list or a number is in place of an object or text, and waits for ever if the file is a FIFO. So the
files are read here first.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Never

from restride.errors import DescriptorError, DeviceNotFound
from restride.files.reading import NotRegular, open_regular, read_bounded

INSTALL_DRIVER = (
    "install a driver (Debian, Ubuntu: `apt install mesa-vulkan-drivers`, which holds lavapipe for machines without a "
    "GPU; Fedora: `dnf install mesa-vulkan-drivers`; Arch: `pacman -S vulkan-swrast`; macOS: `brew install molten-vk`; "
    "Windows: the GPU vendor's driver)"
)

DRIVER_VARIABLES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")
"""Environment variables that list drivers; the loader reads the first one that is set, instead of its own search."""

STANDARD = "the standard folders"

ABSENT = "does not exist"

_MAX = 1 << 20
"""Maximum bytes of a manifest; those of today's drivers and layers have at most 50,000."""

_SHOWN = 3
"""A message names at most this many files."""


@dataclass(frozen=True)
class Manifest:
    """A manifest.

    source: the environment variable that names it, or the standard folders.
    problem: why the loader cannot use the manifest, as the end of a sentence ("is empty"); empty if it can.
    stops_loaders: a loader may crash on the manifest or wait for ever, so no function of the loader may be called.
    """

    path: Path
    source: str = STANDARD
    problem: str = ""
    stops_loaders: bool = False


class _Problem(Exception):
    """A manifest is wrong; ``stops_loaders`` has the meaning of the field of ``Manifest``."""

    def __init__(self, problem: str, *, stops_loaders: bool = False) -> None:
        super().__init__(problem)
        self.stops_loaders = stops_loaders


def drivers(environment: Mapping[str, str] = os.environ) -> list[Manifest]:
    """The manifests of drivers, in the order in which the loader reads them."""
    if replaced := driver_variable(environment):
        named = _named(replaced, environment)
    else:
        named = [*_named("VK_ADD_DRIVER_FILES", environment), *_standard("icd.d", environment)]
    return [read_driver(path, source) for path, source in named]


def layers(environment: Mapping[str, str] = os.environ) -> list[Manifest]:
    """The manifests of layers; a loader reads all of them before it makes an instance, used or not."""
    variables = "VK_LAYER_PATH", "VK_ADD_LAYER_PATH", "VK_IMPLICIT_LAYER_PATH", "VK_ADD_IMPLICIT_LAYER_PATH"
    named = [file for variable in variables for file in _named(variable, environment)]
    if not environment.get("VK_LAYER_PATH"):
        named += _standard("explicit_layer.d", environment)
    named += _standard("implicit_layer.d", environment)
    return [_read(path, source, _check_layers) for path, source in named]


def driver_variable(environment: Mapping[str, str] = os.environ) -> str:
    """The variable of ``DRIVER_VARIABLES`` that the loader reads; empty if none is set."""
    return next((variable for variable in DRIVER_VARIABLES if environment.get(variable)), "")


def read_driver(path: Path, source: str = STANDARD) -> Manifest:
    """The manifest of a driver, in the file ``path``."""
    return _read(path, source, _check_driver)


def require_harmless() -> None:
    """Read all manifests, before the loader does.

    Raises:
        DeviceNotFound: a loader may crash on some manifests or wait for ever; the message names them.
    """
    if harmful := [file for file in (*drivers(), *layers()) if file.stops_loaders]:
        why = f"a Vulkan loader may crash or wait for ever: {_named_problems(harmful)}"
        raise DeviceNotFound(f"{why}; correct or remove {_these(harmful)}")


def no_driver(why: str) -> DeviceNotFound:
    """The error where no driver starts: names manifests that are wrong, and says what to do."""
    advice = [INSTALL_DRIVER]
    if variable := driver_variable():
        advice.insert(
            0, f"correct or unset {variable} ({os.environ[variable]!r}), because the loader looks nowhere else"
        )
    if bad := [file for file in (*drivers(), *layers()) if file.problem]:
        why = f"{why}: {_named_problems(bad)}"
        if present := [file for file in bad if file.problem != ABSENT]:
            advice.insert(0, f"correct or remove {_these(present)}")
    return DeviceNotFound(f"{why}; {', or '.join(advice)}")


def no_device() -> DeviceNotFound:
    """The error where the loader lists no device."""
    variable = driver_variable()
    if variable and not any(file.problem for file in drivers()):
        return DeviceNotFound(f"no driver of {variable} ({os.environ[variable]!r}) brings a device")
    return no_driver("the Vulkan loader finds no device")


def _named_problems(files: list[Manifest]) -> str:
    more = f", and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return ", ".join(f"{file.path} {file.problem}" for file in files[:_SHOWN]) + more


def _these(files: list[Manifest]) -> str:
    return "this file" if len(files) == 1 else "these files"


def _named(variable: str, environment: Mapping[str, str]) -> list[tuple[Path, str]]:
    """The files that a variable lists, and those in the folders that it lists."""
    files: list[Path] = []
    for entry in filter(None, environment.get(variable, "").split(os.pathsep)):
        is_folder = os.path.isdir(entry)  # noqa: PTH112 - Path's own raises at a name that is too long
        files += _listed(Path(entry)) if is_folder else [Path(entry)]
    return [(file, variable) for file in files]


def _standard(kind: str, environment: Mapping[str, str]) -> list[tuple[Path, str]]:
    return [(file, STANDARD) for file in installed(kind, environment)]


def installed(kind: str, environment: Mapping[str, str]) -> list[Path]:
    """The files in the standard folders for ``kind``, such as ``icd.d``, folder by folder, each once."""
    return list(dict.fromkeys(file for folder in standard_folders(kind, environment) for file in _listed(folder)))


def _listed(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"))


def standard_folders(kind: str, environment: Mapping[str, str]) -> list[Path]:
    """The folders that the loader searches for ``kind``: ``icd.d``, ``explicit_layer.d`` or ``implicit_layer.d``."""
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
    return [root / "vulkan" / kind for root in roots]


def _read(path: Path, source: str, check: Callable[[Path, dict[str, Any]], None]) -> Manifest:
    try:
        check(path, _parse(_content(path)))
    except _Problem as problem:
        return Manifest(path, source, str(problem), problem.stops_loaders)
    except FileNotFoundError:
        return Manifest(path, source, ABSENT)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        return Manifest(path, source, f"cannot be read ({error})")
    return Manifest(path, source)


def _content(path: Path) -> bytes:
    if path.is_dir():
        raise _Problem("is a folder")
    try:
        with open_regular(path) as file:
            return read_bounded(file, _MAX)
    except NotRegular as error:
        raise _Problem("is no regular file", stops_loaders=True) from error
    except DescriptorError as error:
        raise _Problem("has more than 1 MiB", stops_loaders=True) from error


def _parse(content: bytes) -> dict[str, Any]:
    """The object at the beginning of a manifest. As in loaders, the text ends at a NUL, and the rest is ignored."""
    if content.startswith(b"\xef\xbb\xbf"):
        raise _Problem("begins with a byte order mark, which loaders do not read")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content[:2]:
        raise _Problem("is UTF-16 or binary, where loaders read UTF-8")
    text = content.partition(b"\0")[0].decode(errors="surrogateescape")
    begin = len(text) - len(text.lstrip())
    if begin == len(text):
        raise _Problem("is empty")
    try:
        value, _ = json.JSONDecoder(strict=False, parse_constant=_no_number).raw_decode(text, begin)
    except ValueError as error:
        raise _Problem(f"is no JSON ({error})") from error
    except RecursionError as error:
        raise _Problem("is nested too deeply", stops_loaders=True) from error
    if not isinstance(value, dict):
        raise _Problem("is no JSON object", stops_loaders=True)
    return value


def _no_number(word: str) -> Never:
    raise ValueError(f"{word} is no number")


def _check_driver(path: Path, manifest: dict[str, Any]) -> None:
    section = manifest.get("ICD")
    if not isinstance(section, dict) or "library_path" not in section:
        raise _Problem("has no library_path in a section ICD", stops_loaders=isinstance(section, list))
    _check_library(path, section["library_path"])


def _check_layers(_: Path, manifest: dict[str, Any]) -> None:
    """Check the layers of a manifest, but not their libraries: the loader looks for one only when its layer is used."""
    sections = manifest["layers"] if isinstance(manifest.get("layers"), list) else [manifest.get("layer", {})]
    for section in sections:
        if not isinstance(section, dict):
            raise _Problem("has a layer that is no JSON object", stops_loaders=True)
        if not isinstance(section.get("name", ""), str):
            raise _Problem(f"has a layer whose name is no text, {section['name']!r:.80}", stops_loaders=True)
        for key in ("enable_environment", "disable_environment"):
            variables = section.get(key, {})
            if not isinstance(variables, dict) or not all(isinstance(value, str) for value in variables.values()):
                raise _Problem(f"has a layer whose {key} is no JSON object of texts", stops_loaders=True)


def _check_library(path: Path, library: object) -> None:
    if not isinstance(library, str) or not library or "\0" in library:
        raise _Problem(
            f"has a library_path that is no path, {str(library)[:80]!r}", stops_loaders=not isinstance(library, str)
        )
    # The dynamic linker finds a bare name; a path is relative to the manifest.
    if os.sep in library:
        try:
            mode = (path.parent / library).stat().st_mode
        except OSError as error:
            raise _Problem(f"names a library that does not exist, {library[:200]!r}") from error
        if not stat.S_ISREG(mode):
            raise _Problem(
                f"names a library that is no regular file, {library[:200]!r}", stops_loaders=not stat.S_ISDIR(mode)
            )
