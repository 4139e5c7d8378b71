"""Contract 1: the bindings, push words and constants of each module, and whether a SPIR-V module keeps to them.

``shaders/README.md`` says what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from restride.errors import DescriptorError
from restride_conformance.shader.spirv import Declared, EntryPoint, Variable, read_interface

CONTRACT = 1
"""Goes up with every change that a shader which keeps to it would notice."""

SPIRV_VERSION = (1, 3)
"""The newest that every Vulkan 1.1 device takes."""

EXTENSIONS = frozenset({"SPV_KHR_storage_buffer_storage_class"})
"""SPIR-V extensions that Vulkan 1.1 has in its core."""

SHARED_BYTES = 16384
"""Of all ``shared`` variables together: what every Vulkan device has (``maxComputeSharedMemorySize``)."""

NUMBER_OF_AXES = 15
"""The specialization constant that is no kernel's own."""


@dataclass(frozen=True)
class Interface:
    """What a module is given; it may leave out any of it but the local size.

    local_size: invocations of a work group.
    bindings: storage buffers, numbers 0, 1, ... of descriptor set 0.
    push_words: 32-bit words of push constants.
    kernel_constants: how many of the specialization constants 0 to 14, 16, ... the kernel has.
    walks_axes: it has one more, the number of axes.
    """

    local_size: tuple[int, int, int]
    bindings: int
    push_words: int
    kernel_constants: int
    walks_axes: bool = True

    @property
    def constants(self) -> frozenset[int]:
        """Ids of all specialization constants."""
        own = (number + (number >= NUMBER_OF_AXES) for number in range(self.kernel_constants))
        return frozenset({*own, *([NUMBER_OF_AXES] if self.walks_axes else ())})


_LINE = (128, 1, 1)
_BLOCKS = (64, 1, 1)

_MODULES = (
    ("run_copy_32 run_copy_128", Interface(_LINE, 2, 5, 1, walks_axes=False)),
    ("strided_copy_32 strided_copy_64 strided_copy_128", Interface(_LINE, 3, 5, 2)),
    ("strided_gather_128", Interface(_LINE, 3, 5, 3)),
    ("strided_scatter_128 strided_fill_32 strided_fill_128", Interface(_LINE, 3, 5, 2)),
    ("transpose_8 transpose_16 transpose_32 transpose_64", Interface(_BLOCKS, 3, 14, 3)),
    ("transpose_8_aligned transpose_16_aligned", Interface(_BLOCKS, 3, 14, 2)),
    ("transpose_32_aligned transpose_64_aligned", Interface(_BLOCKS, 3, 14, 2)),
    ("transpose_shared_8 transpose_shared_16", Interface(_LINE, 3, 7, 2)),
    ("transpose_shared_32 transpose_shared_64", Interface(_LINE, 3, 7, 1)),
    ("pixels_to_planes planes_to_pixels", Interface(_LINE, 3, 5, 4)),
    ("element_copy", Interface(_LINE, 3, 5, 3)),
    ("element_rows", Interface(_LINE, 3, 5, 3)),
    ("element_fill", Interface(_LINE, 3, 5, 2)),
    ("element_pad", Interface(_LINE, 3, 6, 3)),
    ("yuv_to_rgb", Interface(_LINE, 3, 16, 3)),
    ("digit_copy", Interface(_LINE, 3, 5, 4, walks_axes=False)),
    ("convert_elements", Interface(_LINE, 3, 19, 6)),
    ("convert_fours convert_planes", Interface(_LINE, 3, 19, 12)),
    ("digit_convert", Interface(_LINE, 3, 19, 7, walks_axes=False)),
    ("resample_nearest", Interface(_LINE, 3, 5, 2)),
    ("resample", Interface(_LINE, 3, 19, 7)),
    ("resample_rows resample_runs", Interface(_LINE, 3, 19, 16)),
    ("resample_along", Interface(_LINE, 3, 19, 13)),
    ("resample_across", Interface(_LINE, 3, 19, 9)),
    ("resample_fixed", Interface(_LINE, 3, 19, 7)),
    ("resample_along_fixed", Interface(_LINE, 3, 19, 13)),
    ("resample_across_fixed", Interface(_LINE, 3, 19, 9)),
    ("crop_resize crop_pixels", Interface(_LINE, 3, 19, 12)),
    ("crop_resize_fixed", Interface(_LINE, 3, 19, 13)),
)

INTERFACES = {name: interface for names, interface in _MODULES for name in names.split()}
"""Every module of the contract."""


def module_named(name: str) -> str:
    """The module that ``name`` means; without the width, the narrowest: ``"strided_copy"`` is ``"strided_copy_32"``.

    Raises:
        DescriptorError: there is none; the message lists all.
    """
    if name in INTERFACES:
        return name
    for module in INTERFACES:  # narrow ones stand before wide ones
        if re.sub(r"_\d+", "", module) == name:
            return module
    raise DescriptorError(f"no module is called {name!r}; contract {CONTRACT} has {', '.join(INTERFACES)}")


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
    """``{0, 1, 8, 9, 10}`` as ``0, 1, 8 to 10``."""
    text = ""
    for n in sorted(numbers):
        inside = n - 1 in numbers and n + 1 in numbers
        if not inside:
            text += f" to {n}" if {n - 2, n - 1} <= numbers else f", {n}"
    return text.removeprefix(", ") or "none"
