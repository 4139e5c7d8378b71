"""Dispatches and modules in work groups of another size, with the same invocations: pure functions.

A kernel whose index is linear, the number of its group times the size of a group plus its own number in it, computes
the same in groups of any size. In SPIR-V the size is the execution mode ``LocalSize``, and a constant: glslang gives
``gl_WorkGroupSize.x`` and any other 128 of a module one id, so a second constant takes the place of the first where it
is a size:

    OpExecutionMode %main LocalSize 128 1 1                 OpExecutionMode %main LocalSize 32 1 1
    %gl_WorkGroupSize = ... %uint_128 %uint_1 %uint_1       %gl_WorkGroupSize = ... %size %uint_1 %uint_1
    %7 = OpIMul %uint %6 %uint_128                          %7 = OpIMul %uint %6 %size
    %8 = OpISub %uint %uint_128 %5                          %8 = OpISub %uint %uint_128 %5
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from math import prod

import numpy as np

from restride.errors import DeviceError
from restride.kernel import KernelSpec, Limits
from restride.kernel.modules import interface_of
from restride.plan.dispatches import GROUP_SIZE, rows_of_groups
from restride_conformance.shader.spirv import instructions

SIZES = (GROUP_SIZE, 32, 64, 256, 512)
"""The sizes that are tried, the usual one first."""

_SHARED = "groups share memory, which the plan cuts for 128 invocations, and wait at barriers"
FIXED = {
    "transpose": "a group is a block of two axes, which the plan lays out for 64 invocations",
    "transpose_shared": _SHARED,
    "short_rows": _SHARED,
}
"""The modules whose groups have one size, by their names without widths, and the reasons."""

_IN_GROUPS = " in groups of "

_EXECUTION_MODE, _LOCAL_SIZE, _DECORATE, _BUILT_IN, _WORKGROUP_SIZE = 16, 17, 71, 11, 25
_CONSTANT, _COMPOSITE, _SPEC_OPERATION, _MULTIPLY, _SELECT = 43, 44, 52, 132, 169


def why_fixed(module: str) -> str:
    """The kind of a module and the reason why its groups have one size; empty if they may have others."""
    kind = re.sub(r"(_\d+)?(_aligned)?$", "", module)
    return f"{kind}: {FIXED[kind]}" if kind in FIXED else ""


def resized(kernel: KernelSpec, size: int, limits: Limits) -> KernelSpec:
    """The dispatch in groups of ``size``; unchanged if that is the usual one, or if those of its module have one size.

    A kernel with FULL keeps it if the new groups have no more invocations than the old ones.

    Three groups of 128 are two of 256: 512 invocations, of which 128 have nothing to do, so none is FULL.
    """
    if size == GROUP_SIZE or why_fixed(kernel.shader):
        return kernel
    invocations = prod(kernel.groups) * GROUP_SIZE
    groups = rows_of_groups(-(-invocations // size), limits)
    constants = list(kernel.constants)
    full = interface_of(kernel.shader).constants.get("FULL")
    if full is not None and prod(groups) * size != invocations:
        constants[full] = 0
    return replace(kernel, shader=f"{kernel.shader}{_IN_GROUPS}{size}", constants=tuple(constants), groups=groups)


def with_sizes(source: Callable[[str], bytes]) -> Callable[[str], bytes]:
    """Wrap ``source``: the returned function also has the modules that ``resized`` names."""

    def resizing(name: str) -> bytes:
        module, separator, size = name.partition(_IN_GROUPS)
        return resized_code(source(module), int(size)) if separator else source(module)

    return resizing


def resized_code(code: bytes, size: int) -> bytes:
    """A module of ours whose groups have ``size`` invocations along x.

    Raises:
        DeviceError: the module does not multiply the number of its group by the size of a group exactly once.
    """
    words: list[int] = np.frombuffer(code, "<u4").tolist()
    own = words[3]  # the bound of ids: the first that is free
    changed = [*words[:3], own + 1, *words[4:5]]
    decorated = old = products = 0
    for _, opcode, operands in instructions(words):
        match opcode, operands:
            case _, [result, decoration, built_in] if opcode == _DECORATE:
                decorated = result if (decoration, built_in) == (_BUILT_IN, _WORKGROUP_SIZE) else decorated
            case _, [_, result, x, *_] if opcode == _COMPOSITE and result == decorated:
                old = x
    for position, opcode, operands in instructions(words):
        match opcode, operands:
            case _, [_, mode, _, *_] if opcode == _EXECUTION_MODE and mode == _LOCAL_SIZE:
                operands[2] = size
            case _, [kind, result, _] if opcode == _CONSTANT and result == old:
                changed += [4 << 16 | _CONSTANT, kind, own, size]
            case _, [_, result, *_] if opcode == _COMPOSITE and result == decorated:
                operands[2] = own
            case _, [_, _, _, factor] if opcode == _MULTIPLY and factor == old:
                operands[3] = own
                products += 1
            case _, [_, _, operation, _, _, step] if opcode == _SPEC_OPERATION and operation == _SELECT and step == old:
                operands[5] = own  # NEIGHBOURS ? 1 : gl_WorkGroupSize.x
        changed += [words[position], *operands]
    if products != 1:
        raise DeviceError(
            f"a module multiplies by the size of its groups {products} times; one that can be resized, once"
        )
    return np.array(changed, "<u4").tobytes()


def table() -> str:
    """The table of docs/conformance.md: the modules whose groups have one size, and why."""
    rows = [f"| `{kind}` | {reason} |" for kind, reason in FIXED.items()]
    return "\n".join(["| modules of all widths | why their groups have one size |", "| --- | --- |", *rows])
