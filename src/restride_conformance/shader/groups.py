"""Dispatches and modules in work groups of other shapes, with the same invocations: pure functions.

**Shapes.** A kernel that tells the invocations of a group apart by one number computes the same in groups of 128 x 1
and 16 x 8. Where it takes ``gl_LocalInvocationID.x`` for that number, it is given ``gl_LocalInvocationIndex``, which
is the same number in a group of 128 x 1:

    OpExecutionMode %main LocalSize 128 1 1                 OpExecutionMode %main LocalSize 16 8 1
    OpDecorate %id BuiltIn LocalInvocationId                OpDecorate %id BuiltIn LocalInvocationIndex
    OpDecorate %size BuiltIn WorkgroupSize
    %51 = OpAccessChain %_ptr_Input_uint %id %uint_0
    %52 = OpLoad %uint %51                                  %52 = OpLoad %uint %id

``gl_WorkGroupSize`` keeps its value, 128 x 1, because the execution mode alone says what the shape is.

**Sizes.** A kernel whose index is linear, the number of its group times the size of a group plus its own number in it,
computes the same in groups of any size. A user's shader declares that: ``local_size_x_id`` sets the size. In ours it is
a number, and glslang gives ``gl_WorkGroupSize.x`` and any other 128 of a module one id, so a second constant takes the
place of the first where it is a size:

    %7 = OpIMul %uint %6 %uint_128                          %7 = OpIMul %uint %6 %size
    %8 = OpISub %uint %uint_128 %5                          %8 = OpISub %uint %uint_128 %5

A shader with ``local_size_y_id`` too sees to all shapes by itself, so only these two constants are set.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import NamedTuple, Self

import numpy as np

from restride.errors import DescriptorError, DeviceError
from restride.kernel import KernelSpec, Limits
from restride.kernel.modules import interface_of
from restride.kernel.shared_constants import GROUP_SIZE
from restride.plan.dispatches import rows_of_groups
from restride_conformance.shader.spirv import instructions, read_interface


class Shape(NamedTuple):
    """The invocations of a work group along x and y. Its text is ``8x8``."""

    x: int
    y: int = 1

    @property
    def size(self) -> int:
        """The number of invocations."""
        return self.x * self.y

    def __str__(self) -> str:
        return f"{self.x}x{self.y}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text of a shape."""
        return cls(*map(int, text.split("x")))


SHAPES = (*map(Shape, (GROUP_SIZE, 32, 64, 256, 512)), Shape(8, 8), Shape(1, 64), Shape(16, 8), Shape(1, 128))
"""The shapes that are tried, those along x first."""

_SHARED = "groups share memory, which the plan cuts for 128 invocations, and wait at barriers"
FIXED = {
    "transpose": "a group is a block of two axes, which the plan lays out for 64 invocations",
    "transpose_shared": _SHARED,
    "short_rows": _SHARED,
}
"""The modules whose groups have one size, by their names without widths, and the reasons."""

_IN_GROUPS = "_in_groups_of_"

_EXECUTION_MODE, _LOCAL_SIZE, _DECORATE, _SPEC_ID, _BUILT_IN = 16, 17, 71, 1, 11
_WORKGROUP_SIZE, _LOCAL_ID, _GLOBAL_ID, _LOCAL_INDEX = 25, 27, 28, 29  # built-ins
_CONSTANT, _COMPOSITE, _SPEC_CONSTANT, _SPEC_OPERATION, _MULTIPLY, _SELECT = 43, 44, 50, 52, 132, 169
_FUNCTION, _VARIABLE, _INPUT, _LOAD = 54, 59, 1, 61
_CHAINS = (65, 66)  # OpAccessChain, OpInBoundsAccessChain
_TAKE_POINTERS = (57, 63, 83)  # OpFunctionCall, OpCopyMemory, OpCopyObject


def why_fixed(module: str) -> str:
    """The kind of a module and the reason why its groups have one size; empty if they may have others."""
    kind = re.sub(r"(_\d+)?(_aligned)?$", "", module)
    return f"{kind}: {FIXED[kind]}" if kind in FIXED else ""


def usual_shape(module: str) -> Shape:
    """The shape that the groups of a module have if nothing else is asked for."""
    x, y, _ = interface_of(module).local_size or (GROUP_SIZE, 1, 1)
    return Shape(x, y)


def shapes_of(module: str) -> tuple[Shape, ...]:
    """The other shapes in which one of our modules computes the same."""
    usual = usual_shape(module)
    has_one_size = bool(why_fixed(module))
    return tuple(shape for shape in SHAPES if shape != usual and (shape.size == usual.size or not has_one_size))


def shapes_of_shader(code: bytes, module: str) -> tuple[Shape, ...]:
    """The other shapes in which a user's shader, which fits ``module`` of the contract, must compute the same.

    Raises:
        DescriptorError: the shader has no other shape; the message says what would give it some.
    """
    (entry,) = read_interface(code).entry_points
    x, y, _ = entry.size_constants
    depends = _depends_on_shape(_words(code))
    has_rows = not depends or (x is not None and y is not None)
    shapes = tuple(
        shape
        for shape in shapes_of(module)
        if (shape.size == usual_shape(module).size or x is not None) and (shape.y == 1 or has_rows)
    )
    if not shapes:
        raise DescriptorError(
            f"{depends}, so it has one shape of work groups: tell invocations apart by gl_LocalInvocationIndex or "
            "gl_LocalInvocationID.x alone, or declare local_size_x_id"
        )
    return shapes


def reshaped(kernel: KernelSpec, shape: Shape, limits: Limits) -> KernelSpec:
    """The dispatch in groups of ``shape``, one that its module may have.

    A kernel with FULL keeps it if the new groups have no more invocations than the old ones.

    Three groups of 128 are two of 256: 512 invocations, of which 128 have nothing to do, so none is FULL.
    """
    named = replace(kernel, shader=f"{kernel.shader}{_IN_GROUPS}{shape}")
    usual = usual_shape(kernel.shader).size
    if shape.size == usual:
        return named
    invocations = prod(kernel.groups) * usual
    groups = rows_of_groups(-(-invocations // shape.size), limits)
    constants = list(kernel.constants)
    full = interface_of(kernel.shader).constants.get("FULL")
    if full is not None and prod(groups) * shape.size != invocations:
        constants[full] = 0
    return replace(named, constants=tuple(constants), groups=groups)


def module_of(name: str) -> str:
    """The module in a name that ``reshaped`` has made; any other name is a module's own."""
    return name.partition(_IN_GROUPS)[0]


def with_shapes(source: Callable[[str], bytes]) -> Callable[[str], bytes]:
    """Wrap ``source``: the returned function also has the modules that ``reshaped`` names."""

    def reshaping(name: str) -> bytes:
        module, separator, shape = name.partition(_IN_GROUPS)
        return reshaped_code(source(module), Shape.parse(shape)) if separator else source(module)

    return reshaping


def reshaped_code(code: bytes, shape: Shape) -> bytes:
    """A module whose groups have ``shape``, one of those that it may have.

    Raises:
        DeviceError: groups of another size are asked for, and the module multiplies the number of its group by their
            size not exactly once.
    """
    (entry,) = read_interface(code).entry_points
    x, y, _ = entry.size_constants
    words = _words(code)
    if x is not None and y is not None:
        return _bytes(_with_constants(words, {x: shape.x, y: shape.y}))
    if shape.size != prod(entry.local_size or ()):
        words = _with_size(words, shape.size) if x is None else _with_constants(words, {x: shape.size})
    if shape.y != 1:
        words = _with_index(words)
    return _bytes(_with_local_size(words, shape))


def table() -> str:
    """The table of docs/conformance.md: the modules whose groups have one size, and why."""
    rows = [f"| `{kind}` | {reason} |" for kind, reason in FIXED.items()]
    return "\n".join(["| modules of all widths | why their groups have one size |", "| --- | --- |", *rows])


# Changes of a module, as words.


def _with_constants(words: list[int], values: dict[int, int]) -> list[int]:
    """The module with other defaults of the specialization constants of these ids."""
    numbers: dict[int, int] = {}  # the SpecId of each constant
    changed = list(words)
    for position, opcode, operands in instructions(words):
        match opcode, operands:
            case _, [constant, decoration, number] if (opcode, decoration) == (_DECORATE, _SPEC_ID):
                numbers[constant] = number
            case _, [_, constant, _] if opcode == _SPEC_CONSTANT and numbers.get(constant) in values:
                changed[position + 3] = values[numbers[constant]]
    return changed


def _with_local_size(words: list[int], shape: Shape) -> list[int]:
    """The module whose execution mode says the shape of groups; no constant does any more."""
    changed = words[:5]
    for position, opcode, operands in instructions(words):
        if opcode == _EXECUTION_MODE and operands[1] == _LOCAL_SIZE:
            operands[2:] = [shape.x, shape.y, 1]
        if opcode != _DECORATE or operands[1:] != [_BUILT_IN, _WORKGROUP_SIZE]:
            changed += [words[position], *operands]
    return changed


def _with_size(words: list[int], size: int) -> list[int]:
    """A module of ours that multiplies the number of its group by ``size``."""
    own = words[3]  # the bound of ids: the first that is free
    changed = [*words[:3], own + 1, *words[4:5]]
    composite = _built_in(words, _WORKGROUP_SIZE)
    old = products = 0
    for _, opcode, operands in instructions(words):
        match opcode, operands:
            case _, [_, result, x, *_] if opcode == _COMPOSITE and result == composite:
                old = x
    for position, opcode, operands in instructions(words):
        match opcode, operands:
            case _, [kind, result, _] if opcode == _CONSTANT and result == old:
                changed += [4 << 16 | _CONSTANT, kind, own, size]
            case _, [_, _, _, factor] if opcode == _MULTIPLY and factor == old:
                operands[3] = own
                products += 1
            case _, [_, _, operation, _, _, step] if opcode == _SPEC_OPERATION and operation == _SELECT and step == old:
                operands[5] = own  # NEIGHBOURS ? 1 : gl_WorkGroupSize.x
        changed += [words[position], *operands]
    if products != 1:
        raise DeviceError(
            f"a module whose groups are resized must multiply by their size once, and this one does {products} times"
        )
    return changed


def _with_index(words: list[int]) -> list[int]:
    """A module that does not depend on the shape, and reads ``gl_LocalInvocationIndex`` for ``gl_LocalInvocationID.x``.

    The variable of ``gl_LocalInvocationID`` becomes that of ``gl_LocalInvocationIndex``, declared after all types. A
    module that has both variables reads its own ``gl_LocalInvocationIndex``.
    """
    local_id, index = _built_in(words, _LOCAL_ID), _built_in(words, _LOCAL_INDEX)
    chains = {operands[1]: operands[0] for operands in _chains(words, local_id)}
    if not chains:
        return words
    pointer = next(iter(chains.values()))
    variable = [] if index else [4 << 16 | _VARIABLE, pointer, local_id, _INPUT]
    changed = words[:5]
    for position, opcode, operands in instructions(words):
        first = words[position]
        if opcode == _FUNCTION:
            changed, variable = changed + variable, []
        if opcode == _LOAD and operands[2] in chains:
            operands[2] = index or local_id
        if not index:
            if opcode == _DECORATE and operands == [local_id, _BUILT_IN, _LOCAL_ID]:
                operands[2] = _LOCAL_INDEX
            if opcode == _VARIABLE and operands[1] == local_id:
                continue
        if opcode not in _CHAINS or operands[1] not in chains:
            changed += [first, *operands]
    return changed


def _depends_on_shape(words: list[int]) -> str:
    """What a module reads that is another number in another shape of as many invocations; empty if nothing."""
    if _built_in(words, _GLOBAL_ID):
        return "it reads gl_GlobalInvocationID"
    local_id = _built_in(words, _LOCAL_ID)
    chains = _chains(words, local_id)
    zeros = {operands[1] for _, opcode, operands in instructions(words) if opcode == _CONSTANT and operands[2:] == [0]}
    pointers = {local_id, *(operands[1] for operands in chains)}
    is_whole = any(len(operands) != 4 or operands[3] not in zeros for operands in chains) or any(
        (opcode == _LOAD and operands[2] == local_id) or (opcode in _TAKE_POINTERS and pointers.intersection(operands))
        for _, opcode, operands in instructions(words)
    )
    return "it reads gl_LocalInvocationID, not its x alone" if local_id and is_whole else ""


def _chains(words: list[int], base: int) -> list[list[int]]:
    """The operands of the instructions that point at a part of the variable ``base``."""
    return [operands for _, opcode, operands in instructions(words) if opcode in _CHAINS and operands[2] == base]


def _built_in(words: list[int], number: int) -> int:
    """The id of what is decorated as the built-in of this number; 0 if nothing is."""
    return next(
        (
            operands[0]
            for _, opcode, operands in instructions(words)
            if opcode == _DECORATE and operands[1:] == [_BUILT_IN, number]
        ),
        0,
    )


def _words(code: bytes) -> list[int]:
    words: list[int] = np.frombuffer(code, "<u4").tolist()
    return words


def _bytes(words: list[int]) -> bytes:
    return np.array(words, "<u4").tobytes()
