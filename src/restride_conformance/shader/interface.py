"""Hold a SPIR-V module to the contract: what it says of its interface must be what its caller will give it."""

from __future__ import annotations

from collections.abc import Iterator

from restride.errors import DescriptorError
from restride_conformance.shader.contract import (
    CONTRACT,
    EXTENSIONS,
    INTERFACES,
    SHARED_BYTES,
    SPIRV_VERSION,
    Interface,
)
from restride_conformance.shader.declared import Declared, EntryPoint, Variable
from restride_conformance.shader.spirv import read_interface

_OF_THE_SHADER = ("Input", "Output", "Private", "Workgroup")
"""Storage classes that no caller provides."""

_MOST_SHOWN = 10
"""A module of 4 MiB can break a rule a million times."""


def require_interface(code: bytes, module: str) -> None:
    """Raise unless ``code`` can stand in for ``module``, one of the contract's.

    Raises:
        DescriptorError: it is no SPIR-V, or breaks the contract; the message has a line for each rule that it breaks.
    """
    declared = read_interface(code)
    broken = list(dict.fromkeys(_broken_rules(declared, INTERFACES[module])))
    if len(broken) > _MOST_SHOWN:
        broken[_MOST_SHOWN:] = [f"... and {len(broken) - _MOST_SHOWN} more"]
    if broken:
        raise DescriptorError("\n  - ".join([f"the shader does not fit {module} of contract {CONTRACT}:", *broken]))


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
        found = ", ".join(f"{entry.name[:80]!r} ({entry.model})" for entry in entry_points[:_MOST_SHOWN]) or "none"
        yield f"entry points: {found}; the contract has one, 'main' (GLCompute)"
    elif entry_points[0].local_size != contract.local_size:
        size = entry_points[0].local_size
        yield f"local size {size or 'by specialization constants'}; the contract has {contract.local_size}"


def _broken_variable(variable: Variable, contract: Interface) -> Iterator[str]:
    if variable.storage in _OF_THE_SHADER:
        return
    if variable.storage == "PushConstant":
        most = 4 * contract.push_words
        if variable.nbytes is None:
            yield f"push constants of unknown size; the contract has {most} bytes of 32-bit words"
        elif variable.nbytes > most:
            yield f"push constants of {variable.nbytes} bytes; the contract has {most}, {contract.push_words} words"
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
    for constant in declared.constants:
        if constant.number not in contract.constants:
            yield f"specialization constant {constant.number}; the contract has {_ranges(contract.constants)}"
        elif constant.kind not in ("bool", "int32"):
            yield f"specialization constant {constant.number} is {constant.kind}; the contract's are int32 or bool"


def _ranges(numbers: frozenset[int]) -> str:
    """``{0, 1, 8, 9, 10}`` as ``0, 1, 8 to 10``."""
    text = ""
    for n in sorted(numbers):
        inside = n - 1 in numbers and n + 1 in numbers
        if not inside:
            text += f" to {n}" if {n - 2, n - 1} <= numbers else f", {n}"
    return text.removeprefix(", ") or "none"
