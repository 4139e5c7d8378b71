"""Contract 1: the bindings, push words and constants of each module. ``shaders/README.md`` says what they mean."""

from __future__ import annotations

import re
from dataclasses import dataclass

from restride.errors import DescriptorError

CONTRACT = 1
"""Goes up with every change that a shader which keeps to it would notice."""

SPIRV_VERSION = (1, 3)
"""The newest that every Vulkan 1.1 device takes."""

EXTENSIONS = frozenset({"SPV_KHR_storage_buffer_storage_class"})
"""SPIR-V extensions that Vulkan 1.1 has in its core."""

SHARED_BYTES = 16384
"""Of all ``shared`` variables together: what every Vulkan device has (``maxComputeSharedMemorySize``)."""

NUMBER_OF_AXES = 15
"""The specialization constant behind those of the kernels."""


@dataclass(frozen=True)
class Interface:
    """What a module is given; it may leave out any of it but the local size.

    local_size: invocations of a work group.
    bindings: storage buffers, numbers 0, 1, ... of descriptor set 0.
    push_words: 32-bit words of push constants.
    kernel_constants: specialization constants 0, 1, ... that the kernel has.
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
        return frozenset({*range(self.kernel_constants), *([NUMBER_OF_AXES] if self.walks_axes else ())})


_LINE = (128, 1, 1)
_BLOCKS = (64, 1, 1)

INTERFACES = {
    "run_copy_32": Interface(_LINE, 2, 5, 1, walks_axes=False),
    "run_copy_128": Interface(_LINE, 2, 5, 1, walks_axes=False),
    "strided_copy_32": Interface(_LINE, 3, 5, 2),
    "strided_copy_64": Interface(_LINE, 3, 5, 2),
    "strided_copy_128": Interface(_LINE, 3, 5, 2),
    "strided_gather_128": Interface(_LINE, 3, 5, 3),
    "strided_scatter_128": Interface(_LINE, 3, 5, 2),
    "strided_fill_32": Interface(_LINE, 3, 5, 2),
    "strided_fill_128": Interface(_LINE, 3, 5, 2),
    "transpose_8": Interface(_BLOCKS, 3, 14, 2),
    "transpose_16": Interface(_BLOCKS, 3, 14, 2),
    "transpose_32": Interface(_BLOCKS, 3, 14, 2),
    "transpose_64": Interface(_BLOCKS, 3, 14, 2),
    "transpose_8_aligned": Interface(_BLOCKS, 3, 14, 2),
    "transpose_16_aligned": Interface(_BLOCKS, 3, 14, 2),
    "transpose_32_aligned": Interface(_BLOCKS, 3, 14, 2),
    "transpose_64_aligned": Interface(_BLOCKS, 3, 14, 2),
    "transpose_shared_8": Interface(_LINE, 3, 7, 0),
    "transpose_shared_16": Interface(_LINE, 3, 7, 0),
    "transpose_shared_32": Interface(_LINE, 3, 7, 0),
    "transpose_shared_64": Interface(_LINE, 3, 7, 0),
    "pixels_to_planes": Interface(_LINE, 3, 5, 4),
    "planes_to_pixels": Interface(_LINE, 3, 5, 4),
    "element_copy": Interface(_LINE, 3, 5, 2),
    "element_rows": Interface(_LINE, 3, 5, 3),
    "element_fill": Interface(_LINE, 3, 5, 2),
    "yuv_to_rgb": Interface(_LINE, 3, 16, 3),
    "digit_copy": Interface(_LINE, 3, 5, 4, walks_axes=False),
    "convert_elements": Interface(_LINE, 3, 19, 6),
    "convert_fours": Interface(_LINE, 3, 19, 12),
    "convert_planes": Interface(_LINE, 3, 19, 12),
    "digit_convert": Interface(_LINE, 3, 19, 7, walks_axes=False),
    "resample_nearest": Interface(_LINE, 3, 5, 2),
    "resample": Interface(_LINE, 3, 19, 7),
    "resample_rows": Interface(_LINE, 3, 19, 15),
    "resample_runs": Interface(_LINE, 3, 19, 15),
    "resample_along": Interface(_LINE, 3, 19, 12),
    "resample_across": Interface(_LINE, 3, 19, 9),
    "resample_fixed": Interface(_LINE, 3, 19, 7),
    "resample_along_fixed": Interface(_LINE, 3, 19, 12),
    "resample_across_fixed": Interface(_LINE, 3, 19, 9),
    "crop_resize": Interface(_LINE, 3, 19, 12),
    "crop_pixels": Interface(_LINE, 3, 19, 12),
    "crop_resize_fixed": Interface(_LINE, 3, 19, 13),
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
