"""Contract 4: the modules that another kernel may replace, and the check of a SPIR-V module against what each is given.

The interface of each module is in the package's manifest (``restride.kernel.modules``); ``shaders/README.md`` explains
what it means, and has ``table()``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby

from restride.errors import DescriptorError, did_you_mean
from restride.kernel.modules import Interface, interface_of, manifest
from restride_conformance.shader.spirv import Declared, EntryPoint, Variable, read_interface


class ShaderRefused(DescriptorError):
    """The contract, a compiler or a validator refuses a shader; the message has a line for each reason."""

    has_lines = True


CONTRACT = 4
"""Version of the contract, raised by every change that can affect a shader written for it."""

SPIRV_VERSION = (1, 3)
"""The newest SPIR-V version that every Vulkan 1.1 device accepts."""

EXTENSIONS = frozenset({"SPV_KHR_storage_buffer_storage_class"})
"""SPIR-V extensions that are core in Vulkan 1.1."""

SHARED_BYTES = 16384
"""Maximum bytes of all ``shared`` variables: the smallest ``maxComputeSharedMemorySize`` that Vulkan allows."""

_OUTSIDE = ("equal_elements", "light_elements")
"""Modules that no conformance case runs, because they read a second source."""


@cache
def interfaces() -> dict[str, Interface]:
    """The interface of each module of the contract. A shader may leave any of it unused but the local size.

    Raises:
        DeviceError: the list of modules is missing or damaged.
    """
    return {name: interface_of(name) for name in manifest() if name not in _OUTSIDE}


def module_named(name: str) -> str:
    """The module called ``name``; without a width, the narrowest: ``"strided_copy"`` means ``"strided_copy_32"``.

    Raises:
        DescriptorError: there is no such module; the message lists all of them.
    """
    if name in interfaces():
        return name
    for module in interfaces():  # narrow modules come before wide ones
        if re.sub(r"_\d+", "", module) == name:
            return module
    known = ", ".join(interfaces())
    hint = did_you_mean(name, [*interfaces(), *(re.sub(r"_\d+", "", module) for module in interfaces())])
    raise DescriptorError(f"no module is called {name!r}; contract {CONTRACT} has {known}{hint}")


_OF_THE_SHADER = ("Input", "Output", "Private", "Workgroup")
"""Storage classes of variables that the caller does not provide."""

_MAX_SHOWN = 10
"""Maximum number of broken rules that a message lists: a module of 4 MiB can break a rule a million times."""


def require_interface(code: bytes, module: str) -> None:
    """Raise unless ``code`` can replace ``module``, a module of the contract.

    Raises:
        DescriptorError: ``code`` is not SPIR-V or breaks the contract; the message has a line for each broken rule.
    """
    declared = read_interface(code)
    broken = list(dict.fromkeys(_broken_rules(declared, interfaces()[module])))
    if len(broken) > _MAX_SHOWN:
        broken[_MAX_SHOWN:] = [f"... and {len(broken) - _MAX_SHOWN} more"]
    if broken:
        raise ShaderRefused("\n  - ".join([f"the shader does not fit {module} of contract {CONTRACT}:", *broken]))


def _broken_rules(declared: Declared, contract: Interface) -> Iterator[str]:
    if declared.version > SPIRV_VERSION or declared.version < (1, 0):
        written, newest = (".".join(map(str, version)) for version in (declared.version, SPIRV_VERSION))
        yield f"SPIR-V version {written}; the contract takes 1.0 to {newest} (glslang: --target-env vulkan1.1)"
    for capability in declared.capabilities:
        if capability != "Shader":
            yield f"capability {capability}; the contract has Shader alone, which every device has"
    for extension in declared.extensions:
        if extension not in EXTENSIONS:
            yield f"SPIR-V extension {extension[:80]!r}; the contract has {', '.join(EXTENSIONS)} alone"
    yield from _broken_start(declared.entry_points, contract)
    for variable in declared.variables:
        yield from _broken_variable(variable, contract)
    yield from _broken_shared(declared)
    yield from _broken_constants(declared, contract)


def _broken_start(entry_points: tuple[EntryPoint, ...], contract: Interface) -> Iterator[str]:
    if [(entry.model, entry.name) for entry in entry_points] != [("GLCompute", "main")]:
        names = ", ".join(f"{entry.name[:80]!r} ({entry.model})" for entry in entry_points[:_MAX_SHOWN]) or "none"
        yield f"entry points: {names}; the contract has one, 'main' (GLCompute)"
    elif entry_points[0].local_size != contract.local_size:
        size = entry_points[0].local_size
        yield f"local size {size or 'computed from constants'}; the contract has {contract.local_size}"


def _broken_variable(variable: Variable, contract: Interface) -> Iterator[str]:
    if variable.storage in _OF_THE_SHADER:
        return
    if variable.storage == "PushConstant":
        most = 4 * len(contract.push)
        if variable.nbytes is None:
            yield f"push constants of unknown size; the contract has {most} bytes of 32-bit words"
        elif variable.nbytes > most:
            yield f"push constants of {variable.nbytes} bytes; the contract has {most}, {len(contract.push)} words"
        return
    where = f"binding {variable.binding} of descriptor set {variable.descriptor_set}"
    if not variable.is_buffer:
        yield f"{where} is no storage buffer ({variable.storage}); the contract has storage buffers only"
    if variable.descriptor_set != 0:
        yield f"{where}; the contract has set 0 alone"
    elif variable.binding is None or variable.binding >= contract.bindings:
        yield f"{where}; the contract has bindings {', '.join(map(str, range(contract.bindings)))}"


def _broken_shared(declared: Declared) -> Iterator[str]:
    sizes = [variable.nbytes for variable in declared.variables if variable.storage == "Workgroup"]
    known = sum(size for size in sizes if size is not None)
    if None in sizes:
        yield f"shared memory of unknown size; the contract has {SHARED_BYTES} bytes"
    elif known > SHARED_BYTES:
        yield f"shared memory of {known} bytes; the contract has {SHARED_BYTES}, which every device has"


def _broken_constants(declared: Declared, contract: Interface) -> Iterator[str]:
    known = ", ".join(f"{number} {name}" for name, number in contract.constants.items()) or "none"
    sizes = {number for entry in declared.entry_points for number in entry.size_constants if number is not None}
    free = len(contract.names)  # a dispatch has a value for every id below, 0 for those without a name
    for number in sorted(number for number in sizes if number < free):
        yield f"specialization constant {number} sets the local size; the contract has {known}: take {free} or above"
    for constant in declared.constants:
        if constant.number in sizes:
            continue
        if constant.number not in contract.constants.values():
            yield f"specialization constant {constant.number}; the contract has {known}"
        elif constant.kind not in ("bool", "int32"):
            yield f"specialization constant {constant.number} is {constant.kind}; the contract's are int32 or bool"


def table() -> str:
    """The table of ``shaders/README.md``: what each module is given, those given the same in one row."""
    rows = ["| modules | local size | bindings | push constants | specialization constants |", "| --- |" + " --- |" * 4]
    for given, names in groupby(interfaces(), interfaces().__getitem__):
        push = [name for name in given.push if name not in given.pushed_axes]
        push += [f"axes[{len(given.pushed_axes)}]"] if given.pushed_axes else []
        constants = (f"`{name}` {number}" for name, number in given.constants.items())
        cells = (
            " ".join(f"`{name}`" for name in names),
            ", ".join(map(str, given.local_size or ())),
            ", ".join(map(str, range(given.bindings))),
            " ".join(f"`{name}`" for name in push),
            ", ".join(constants),
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)
