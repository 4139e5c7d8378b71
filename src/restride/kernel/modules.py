"""SPIR-V modules by name: the interface of each, and its code, checked against its SHA-256 before a driver sees it.

The modules come from the wheel, and from folders that ``add_folder`` adds.
Damaged SPIR-V crashes or hangs drivers, and ``spirv-val`` passes some of it, so the hash is the only gate.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, TypeAlias

from restride.errors import DeviceError
from restride.lru import cached_property

_Entry: TypeAlias = dict[str, Any]
"""A module in a manifest: sha256, bytes, source, defines, and the fields of ``Interface``."""

_REINSTALL = "reinstall restride (from a source tree: run `make shaders`)"


def spirv_folder() -> Traversable:
    """The folder of the shipped modules and their manifest."""
    return resources.files("restride") / "spirv"


@cache
def manifest() -> dict[str, _Entry]:
    """The manifest of the wheel's modules, by name.

    Raises:
        DeviceError: there is no manifest, or it cannot be read.
    """
    return _read_manifest(spirv_folder())


def _read_manifest(folder: Traversable) -> dict[str, _Entry]:
    path = folder / "manifest.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DeviceError(f"no shader modules: {path} does not exist; {_REINSTALL}") from error
    except (OSError, RecursionError, ValueError) as error:
        raise DeviceError(f"the list of shader modules {path} is damaged: {error}; {_REINSTALL}") from error
    if not isinstance(content, dict) or content.get("format") != 2 or not isinstance(content.get("modules"), dict):
        raise DeviceError(f"the list of shader modules {path} is not of format 2; {_REINSTALL}")
    for name, entry in content["modules"].items():
        if not isinstance(entry, dict) or not isinstance(entry.get("defines"), list):
            raise DeviceError(f"the list of shader modules {path} is damaged at {name[:80]!a}; {_REINSTALL}")
    modules: dict[str, _Entry] = content["modules"]
    return modules


_ADDED: dict[str, tuple[Traversable, _Entry]] = {}
"""The modules that ``add_folder`` has added, by name: the folder of each, and its entry in the manifest there."""


def add_folder(folder: Traversable) -> None:
    """Let kernels name the modules of another package; adding a folder again changes nothing.

    folder: ``.spv`` files and the ``manifest.json`` that ``tools/compile_shaders.py`` writes beside them.

    Raises:
        DeviceError: the manifest is missing or damaged, or it names a module that another folder has.
    """
    added = {name: (folder, entry) for name, entry in _read_manifest(folder).items()}
    for name, place in added.items():
        if name in manifest() or _ADDED.get(name, place)[0] != folder:
            raise DeviceError(f"the shader module {name!r} of {folder} has the name of another one")
    _ADDED.update(added)


@dataclass(frozen=True)
class Interface:
    """The interface of a module, as glslang wrote it into the SPIR-V.

    local_size: invocations of a work group along x, y and z; None where specialization constants set it.
    bindings: number of storage buffers, at bindings 0, 1, ... of descriptor set 0.
    constants: the id of each specialization constant, by its name in GLSL.
    push: the names of the push constants in order, one 32-bit word each.
    structs: for each struct in the parameters buffer, the number of words of each member, by its name, in order.
    """

    local_size: tuple[int, int, int] | None
    bindings: int
    constants: Mapping[str, int]
    push: tuple[str, ...]
    structs: Mapping[str, Mapping[str, int]]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of the constant of each id, empty for ids without one."""
        by_id = {number: name for name, number in self.constants.items()}
        return tuple([by_id.get(number, "") for number in range(max(by_id, default=-1) + 1)])

    @cached_property
    def pushed_axes(self) -> tuple[str, ...]:
        """The push constants for the innermost axes, ``axes[0]`` and on, which come last; () if there are none."""
        return self.push[self.push.index("axes[0]") :] if "axes[0]" in self.push else ()


@cache
def interface_of(name: str) -> Interface:
    """The interface of the module ``name``.

    Raises:
        DeviceError: the module is unknown, or its entry in the manifest is damaged.
    """
    _, entry = _found(name)
    try:
        size = entry["local_size"]
        local_size = None if size is None else (size[0], size[1], size[2])
        return Interface(local_size, entry["bindings"], entry["constants"], tuple(entry["push"]), entry["structs"])
    except (LookupError, TypeError) as error:
        raise DeviceError(f"the list of shader modules is damaged at {name!r}: {error!r}; {_REINSTALL}") from error


def _found(name: str) -> tuple[Traversable, _Entry]:
    """The folder of a module and its entry in the manifest there."""
    entry = manifest().get(name)
    if entry is not None:
        return spirv_folder(), entry
    if name in _ADDED:
        return _ADDED[name]
    raise DeviceError(f"unknown shader module {name!r}; known are {', '.join(sorted([*manifest(), *_ADDED]))}")


@cache
def load_module(name: str) -> bytes:
    """The SPIR-V of the module ``name``.

    Raises:
        DeviceError: the module is unknown or missing, or its bytes are not those that the manifest names.
    """
    folder, entry = _found(name)
    path = folder / f"{name}.spv"
    try:
        code = path.read_bytes()
    except FileNotFoundError as error:
        raise DeviceError(f"shader module {name!r} is missing: no file {path}; {_REINSTALL}") from error
    except OSError as error:
        raise DeviceError(f"shader module {name!r} cannot be read: {error}; {_REINSTALL}") from error
    require_sha256(name, code, str(entry.get("sha256")))
    return code


def require_sha256(name: str, code: bytes, expected: str) -> None:
    """Raise ``DeviceError`` unless ``code`` has the SHA-256 ``expected`` (hexadecimal) and is whole words."""
    actual = hashlib.sha256(code).hexdigest()
    if actual != expected:
        raise DeviceError(
            f"shader module {name!r} is damaged: SHA-256 {actual} of its {len(code)} bytes is not {expected}; "
            f"{_REINSTALL}"
        )
    if len(code) < 20 or len(code) % 4:
        raise DeviceError(f"shader module {name!r} of {len(code)} bytes is not SPIR-V; {_REINSTALL}")
