"""Contract 1: the bindings, push words and constants of each module, and the check of a SPIR-V module against them.

``shaders/README.md`` explains what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from restride.errors import DescriptorError
from restride_conformance.shader.spirv import Declared, EntryPoint, Variable, read_interface

CONTRACT = 1
"""Version of the contract, raised by every change that can affect a shader written for it."""

SPIRV_VERSION = (1, 3)
"""The newest SPIR-V version that every Vulkan 1.1 device accepts."""

EXTENSIONS = frozenset({"SPV_KHR_storage_buffer_storage_class"})
"""SPIR-V extensions that are core in Vulkan 1.1."""

SHARED_BYTES = 16384
"""Most bytes of all ``shared`` variables together: the least ``maxComputeSharedMemorySize`` of any Vulkan device."""

NUMBER_OF_AXES = 15
"""Id of the specialization constant with the number of axes, which many kernels share."""


@dataclass(frozen=True)
class Interface:
    """The resources of a module. A shader must have this local size, and may leave any of the others unused.

    local_size: invocations of a work group.
    bindings: number of storage buffers, at bindings 0, 1, ... of descriptor set 0.
    push_words: number of 32-bit words of push constants.
    kernel_constants: number of the kernel's own specialization constants, with ids 0 to 14, 16, ...
    walks_axes: the kernel also has the constant NUMBER_OF_AXES.
    """

    local_size: tuple[int, int, int]
    bindings: int
    push_words: int
    kernel_constants: int
    walks_axes: bool = True

    @property
    def constants(self) -> frozenset[int]:
        """The ids of all specialization constants."""
        own = (number + (number >= NUMBER_OF_AXES) for number in range(self.kernel_constants))
        return frozenset({*own, *([NUMBER_OF_AXES] if self.walks_axes else ())})


_LINE = (128, 1, 1)
_BLOCKS = (64, 1, 1)

_MODULES = (
    ("run_copy_32 run_copy_128", Interface(_LINE, 2, 5, 2, walks_axes=False)),
    ("strided_copy_32 strided_copy_64 strided_copy_128", Interface(_LINE, 3, 5, 5)),
    ("strided_gather_128 strided_scatter_128 strided_fill_32 strided_fill_128", Interface(_LINE, 3, 5, 5)),
    ("transpose_8 transpose_16 transpose_32 transpose_64", Interface(_BLOCKS, 3, 14, 3)),
    ("transpose_8_aligned transpose_16_aligned", Interface(_BLOCKS, 3, 14, 3)),
    ("transpose_32_aligned transpose_64_aligned", Interface(_BLOCKS, 3, 14, 3)),
    ("transpose_shared_8 transpose_shared_16", Interface(_LINE, 3, 7, 3)),
    ("transpose_shared_32 transpose_shared_64", Interface(_LINE, 3, 7, 2)),
    ("pixels_to_planes planes_to_pixels", Interface(_LINE, 3, 5, 6)),
    ("element_copy", Interface(_LINE, 3, 5, 4)),
    ("element_rows", Interface(_LINE, 3, 5, 3)),
    ("short_rows", Interface(_LINE, 3, 5, 4)),
    ("element_fill", Interface(_LINE, 3, 5, 2)),
    ("element_pad", Interface(_LINE, 3, 6, 4)),
    ("yuv_to_rgb", Interface(_LINE, 3, 16, 3)),
    ("digit_copy", Interface(_LINE, 3, 5, 4, walks_axes=False)),
    ("convert_elements", Interface(_LINE, 3, 19, 6)),
    ("convert_fours convert_planes", Interface(_LINE, 3, 19, 12)),
    ("digit_convert", Interface(_LINE, 3, 19, 7, walks_axes=False)),
    ("resample_nearest", Interface(_LINE, 3, 5, 2)),
    ("resample", Interface(_LINE, 3, 19, 7)),
    ("resample_rows resample_runs", Interface(_LINE, 3, 19, 16)),
    ("resample_cells", Interface(_LINE, 3, 19, 14)),
    ("resample_along", Interface(_LINE, 3, 19, 13)),
    ("resample_across", Interface(_LINE, 3, 19, 9)),
    ("resample_fixed", Interface(_LINE, 3, 19, 7)),
    ("resample_rows_fixed", Interface(_LINE, 3, 19, 16)),
    ("resample_along_fixed", Interface(_LINE, 3, 19, 13)),
    ("resample_across_fixed", Interface(_LINE, 3, 19, 9)),
    ("crop_resize crop_pixels", Interface(_LINE, 3, 19, 12)),
    ("crop_resize_fixed", Interface(_LINE, 3, 19, 13)),
)

INTERFACES = {name: interface for names, interface in _MODULES for name in names.split()}
"""Every module of the contract."""


def module_named(name: str) -> str:
    """The module called ``name``; without a width, the narrowest: ``"strided_copy"`` means ``"strided_copy_32"``.

    Raises:
        DescriptorError: there is no such module; the message lists all of them.
    """
    if name in INTERFACES:
        return name
    for module in INTERFACES:  # narrow modules come before wide ones
        if re.sub(r"_\d+", "", module) == name:
            return module
    raise DescriptorError(f"no module is called {name!r}; contract {CONTRACT} has {', '.join(INTERFACES)}")


_OF_THE_SHADER = ("Input", "Output", "Private", "Workgroup")
"""Storage classes of variables that the caller does not provide."""

_MOST_SHOWN = 10
"""Most broken rules that a message lists: a module of 4 MiB can break a rule a million times."""


def require_interface(code: bytes, module: str) -> None:
    """Raise unless ``code`` can replace ``module``, a module of the contract.

    Raises:
        DescriptorError: ``code`` is not SPIR-V or breaks the contract; the message has a line for each broken rule.
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
        names = ", ".join(f"{entry.name[:80]!r} ({entry.model})" for entry in entry_points[:_MOST_SHOWN]) or "none"
        yield f"entry points: {names}; the contract has one, 'main' (GLCompute)"
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
    """The numbers as text with ranges: ``{0, 1, 8, 9, 10}`` gives ``0, 1, 8 to 10``."""
    text = ""
    for n in sorted(numbers):
        inside = n - 1 in numbers and n + 1 in numbers
        if not inside:
            text += f" to {n}" if {n - 2, n - 1} <= numbers else f", {n}"
    return text.removeprefix(", ") or "none"
