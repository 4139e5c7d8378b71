"""Kernels of a plan, run by a Vulkan driver on memories that lie between guard bytes.

Drivers read zeros behind a binding and drop what is stored there. So kernels run twice: with the windows of the plan,
which must suffice, and with those that are written bound up to the end of the guard, where a store past a window shows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import restride as rs
from restride.kernel import Binding, KernelSpec

GUARD = 256
"""Bytes on either side of a memory, a multiple of what any device aligns bindings to."""
_GUARD_BYTE = 0xA5

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def run(device: rs.Device, kernels: tuple[KernelSpec, ...], source: Bytes, destination: Bytes) -> Bytes:
    """The bytes of the destination's memory after ``kernels``; before, they are those of ``destination``."""
    # The end of a memory need not be a multiple of 4 bytes, but that of a window is.
    behind = [GUARD + -len(memory) % 4 for memory in (source, destination)]
    before = [
        np.pad(memory, (GUARD, after), constant_values=_GUARD_BYTE)
        for memory, after in zip((source, destination), behind, strict=True)
    ]
    runtime = device.runtime
    ends = []
    for is_open in (False, True):
        memories = [runtime.allocate(len(each)) for each in before]
        for memory, each in zip(memories, before, strict=True):
            runtime.write(memory, 0, memoryview(each))
        runtime.submit([_moved(kernel, [len(each) for each in before], is_open) for kernel in kernels], memories)
        ends.append(np.empty_like(before[1]))
        runtime.read(memories[1], 0, memoryview(ends[-1]))
        for memory in memories:
            memory.free()
    own = slice(GUARD, GUARD + len(destination))
    assert (np.delete(ends[1], own) == _GUARD_BYTE).all(), "bytes around the memory were written"
    assert (ends[0] == ends[1]).all(), "bytes outside a window were written"
    return ends[0][own]


def _moved(kernel: KernelSpec, sizes: list[int], is_open: bool) -> KernelSpec:
    """The kernel on memories behind a guard; if ``is_open``, what it writes is bound to the end of its memory."""
    bindings = []
    for binding, size in zip(kernel.bindings, sizes, strict=True):
        assert binding.offset + binding.nbytes <= -(-max(size - 2 * GUARD, 1) // 16) * 16, "a window past its memory"
        start = GUARD + binding.offset
        nbytes = size - start if is_open and binding.writes else binding.nbytes
        bindings.append(Binding(start, nbytes, binding.writes))
    return replace(kernel, bindings=tuple(bindings))
