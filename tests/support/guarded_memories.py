"""Kernels of a plan, run by a Vulkan driver on memories that lie between guard bytes.

A kernel reads its window of the source alone: drivers read zeros behind it. They also drop stores behind a binding, so
what a kernel writes is bound up to the end of the memory and of the guard behind it: stores past a window change bytes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import restride as rs
from restride.kernel import KernelSpec

GUARD = 256
"""Bytes on either side of a memory, a multiple of what any device aligns bindings to."""
_GUARD_BYTE = 0xA5

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def run(device: rs.Device, kernels: tuple[KernelSpec, ...], source: Bytes, destination: Bytes) -> Bytes:
    """The bytes of the destination's memory after ``kernels``; before, they are those of ``destination``."""
    guarded = [np.pad(memory, GUARD, constant_values=_GUARD_BYTE) for memory in (source, destination)]
    # The end of a window is a multiple of 4 bytes, that of a memory is not.
    whole = [np.append(each, np.full(-len(each) % 4, _GUARD_BYTE, np.uint8)) for each in guarded]
    runtime = device.runtime
    memories = [runtime.allocate(len(each)) for each in whole]
    for memory, each in zip(memories, whole, strict=True):
        runtime.write(memory, 0, memoryview(each))
    runtime.submit([_moved(kernel, *map(len, whole)) for kernel in kernels], memories)
    after = np.empty_like(whole[1])
    runtime.read(memories[1], 0, memoryview(after))
    for memory in memories:
        memory.free()
    own = slice(GUARD, GUARD + len(destination))
    assert (np.delete(after, own) == _GUARD_BYTE).all(), "bytes around the memory were written"
    return after[own]


def _moved(kernel: KernelSpec, *sizes: int) -> KernelSpec:
    """The kernel on memories behind a guard; what it writes is bound to the end of ``sizes``."""
    bindings = []
    for binding, size in zip(kernel.bindings, sizes, strict=True):
        assert binding.offset + binding.nbytes <= -(-max(size - 2 * GUARD, 1) // 16) * 16, "a window past its memory"
        start = GUARD + binding.offset
        bindings.append(replace(binding, offset=start, nbytes=size - start if binding.writes else binding.nbytes))
    return replace(kernel, bindings=tuple(bindings))
