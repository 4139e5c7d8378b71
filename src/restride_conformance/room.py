"""Room: whether a case fits a device and this machine's memory, before anything is allocated. Estimates, no clock."""

from __future__ import annotations

import os
from contextlib import suppress
from math import prod
from pathlib import Path

from restride.layout import TensorDesc
from restride.tensor.device import Device
from restride_conformance.case import Case
from restride_conformance.operations import OPERATIONS
from restride_conformance.scale_values import is_arithmetic

GUARD_BYTES = 4096
"""Least bytes before and behind a case's buffer that nothing may change: whole elements of every type, and more than
the 512 words that a work group handles, so that one invocation or group too many is seen."""

_HOST_BYTES = 12
"""Host bytes for each byte of a buffer or of an array: fills are hashed in 64 bits, and a byte has an int64 place."""

_CONVERSION_BYTES = 16
"""Bytes of arrays for each element that is computed: numbers of 64 bits, at most two at a time."""

_COORDINATE_BYTES = 600
"""Host bytes for each index of a resampled axis: its coordinate is a Python fraction, as are both of its weights."""


_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Bytes of memory that a container has, version 2 and 1; ``max`` or more than there is: no limit."""


def buffer_bytes(nbytes: int) -> int:
    """Bytes of a buffer with both guards; an empty tensor has nothing between them.

    A multiple of 4 KiB, so most have one of a few sizes: kompute makes a pipeline for a kernel and its buffers, and
    finds it again where the next case gets the same ones.
    """
    return (-(-nbytes // GUARD_BYTES) + 2) * GUARD_BYTES


def guard_before(desc: TensorDesc) -> int:
    """Guard bytes before a buffer: none before tiles, padded sizes and blocks, which begin where their buffer does."""
    return 0 if desc.blocking is not None else GUARD_BYTES


def why_not(case: Case, device: Device) -> str:
    """Why ``case`` cannot run on ``device`` and this machine; empty if it can."""
    buffers = [buffer_bytes(desc.nbytes) for desc in (case.src, case.dst)]
    limits, heap = device.limits, device.info.heap_bytes
    if sum(buffers) > heap // 2:
        return f"its buffers take {sum(buffers):,} bytes, more than half of the device's {heap:,}"
    if limits.offset_alignment == 0 and max(buffers) > limits.max_buffer_range:
        return (
            f"a buffer of {max(buffers):,} bytes exceeds the {limits.max_buffer_range:,} that a binding may cover, and "
            f"this runtime binds whole buffers only"
        )
    needed = host_bytes(case)
    if needed > _available():
        return f"it takes about {needed:,} bytes of host memory, more than half of what this machine has"
    return ""


def host_bytes(case: Case) -> int:
    """About what filling, answering and judging take on the host."""
    itemsize = max(case.src.dtype.itemsize, case.dst.dtype.itemsize)
    on_the_way = 0 if case.view is None else case.view.most_elements(case.src.sizes)
    arrays = [case.src.numel, on_the_way, prod(case.viewed), case.dst.numel]
    nbytes = case.src.nbytes + case.dst.nbytes + sum(arrays) * itemsize
    if case.src.dtype != case.dst.dtype or is_arithmetic(case):
        nbytes += case.dst.numel * _CONVERSION_BYTES
    if case.op.startswith("resample") and len(case.viewed) == case.dst.rank:
        # Axes change one after the other: the largest array on the way has the larger size of each.
        nbytes += prod(map(max, case.viewed, case.dst.sizes)) * (itemsize if OPERATIONS[case.op].is_exact(case) else 8)
        resampled = sum(max(old, new) for old, new in zip(case.viewed, case.dst.sizes, strict=True) if old != new)
        return nbytes * _HOST_BYTES + resampled * _COORDINATE_BYTES
    return nbytes * _HOST_BYTES


def _available() -> int:
    """Half of the memory that this machine has, or this container; where the system does not say, 2^62."""
    found = [1 << 63]
    with suppress(AttributeError, ValueError, OSError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for file in _CGROUP_LIMITS:
        with suppress(ValueError, OSError):
            found.append(int(file.read_text(encoding="ascii")))
    return min(found) // 2
