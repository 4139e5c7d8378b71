"""Contract 1: the bindings, push words and constants of each module. ``shaders/README.md`` says what they mean."""

from __future__ import annotations

import re
from dataclasses import dataclass

from restride.conformance.target import Form
from restride.errors import DescriptorError

CONTRACT = 1
"""Goes up with every change that a shader which keeps to it would notice."""

SPIRV_VERSION = (1, 3)
"""The newest that every Vulkan 1.1 device takes."""

EXTENSIONS = frozenset({"SPV_KHR_storage_buffer_storage_class"})
"""SPIR-V extensions that Vulkan 1.1 has in its core."""

SHARED_BYTES = 16384
"""Of all ``shared`` variables together: what every Vulkan device has (``maxComputeSharedMemorySize``)."""

FIRST_OF_AXES = 8
"""Specialization constant: the number of axes; those of each axis follow."""

_FORM = "_specialised"


@dataclass(frozen=True)
class Interface:
    """What a module is given; it may leave out any of it but the local size.

    local_size: invocations of a work group.
    bindings: storage buffers, numbers 0, 1, ... of descriptor set 0.
    push_words: 32-bit words of push constants.
    kernel_constants: specialization constants 0, 1, ... that the kernel has.
    axes_as_constants: it also has those of the axes: 8 for their number, five for each of 12 axes.
    has_pairs: it finds scales and zero points by its axes; as constants, two more for each of 12 axes.
    """

    local_size: tuple[int, int, int]
    bindings: int
    push_words: int
    kernel_constants: int
    axes_as_constants: bool = False
    has_pairs: bool = False

    @property
    def constants(self) -> frozenset[int]:
        """Ids of all specialization constants."""
        each = 7 if self.has_pairs else 5
        axes = range(FIRST_OF_AXES, FIRST_OF_AXES + 1 + each * 12) if self.axes_as_constants else ()
        return frozenset({*range(self.kernel_constants), *axes})


_LINE = (128, 1, 1)
_BLOCKS = (2, 32, 1)

INTERFACES = {
    "run_copy_32": Interface(_LINE, 2, 5, 1),
    "run_copy_128": Interface(_LINE, 2, 5, 1),
    "strided_copy_32": Interface(_LINE, 3, 5, 1),
    "strided_copy_64": Interface(_LINE, 3, 5, 1),
    "strided_copy_128": Interface(_LINE, 3, 5, 1),
    "strided_gather_128": Interface(_LINE, 3, 5, 1),
    "strided_scatter_128": Interface(_LINE, 3, 5, 1),
    "strided_fill_32": Interface(_LINE, 3, 5, 1),
    "strided_fill_128": Interface(_LINE, 3, 5, 1),
    "strided_copy_32_specialised": Interface(_LINE, 2, 5, 1, axes_as_constants=True),
    "strided_copy_64_specialised": Interface(_LINE, 2, 5, 1, axes_as_constants=True),
    "strided_copy_128_specialised": Interface(_LINE, 2, 5, 1, axes_as_constants=True),
    "strided_gather_128_specialised": Interface(_LINE, 2, 5, 1, axes_as_constants=True),
    "strided_scatter_128_specialised": Interface(_LINE, 2, 5, 1, axes_as_constants=True),
    "transpose_32": Interface(_BLOCKS, 3, 7, 0),
    "transpose_32_aligned": Interface(_BLOCKS, 3, 7, 0),
    "element_copy": Interface(_LINE, 3, 5, 2),
    "element_copy_specialised": Interface(_LINE, 2, 5, 2, axes_as_constants=True),
    "element_fill": Interface(_LINE, 3, 5, 2),
    "digit_copy": Interface(_LINE, 3, 5, 4),
    "convert_elements": Interface(_LINE, 3, 18, 6, has_pairs=True),
    "convert_elements_specialised": Interface(_LINE, 3, 18, 6, axes_as_constants=True, has_pairs=True),
    "convert_fours": Interface(_LINE, 3, 18, 8, has_pairs=True),
    "convert_fours_specialised": Interface(_LINE, 3, 18, 8, axes_as_constants=True, has_pairs=True),
    "convert_planes": Interface(_LINE, 3, 18, 7, has_pairs=True),
    "convert_planes_specialised": Interface(_LINE, 3, 18, 7, axes_as_constants=True, has_pairs=True),
    "digit_convert": Interface(_LINE, 3, 18, 7, has_pairs=True),
    "resample_nearest": Interface(_LINE, 3, 5, 2),
    "resample_nearest_specialised": Interface(_LINE, 3, 5, 2, axes_as_constants=True),
    "resample": Interface(_LINE, 3, 18, 7, has_pairs=True),
    "resample_specialised": Interface(_LINE, 3, 18, 7, axes_as_constants=True, has_pairs=True),
    "resample_rows": Interface(_LINE, 3, 18, 8, has_pairs=True),
    "resample_rows_specialised": Interface(_LINE, 3, 18, 8, axes_as_constants=True, has_pairs=True),
}
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


def form_of(module: str) -> Form:
    """The form of the kernels in which cases reach ``module``."""
    return "specialised" if module.endswith(_FORM) else "generic"


def generic_name(module: str) -> str:
    """The module that does the same with its axes as parameters."""
    return module.removesuffix(_FORM)
