"""A device that always has other work: copies that nobody waits for, around everything that a case submits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from restride.kernel import KernelSpec
from restride.runtime import Memory
from restride.runtime.vulkan.recording import Recording
from restride.runtime.vulkan.runtime import Hold, VulkanRuntime

COPIED_BYTES = 8 << 20
"""Bytes of each copy."""

_PARTS = 8
_BEFORE, _AFTER = 2, 1


class LoadedRuntime:
    """A ``Runtime`` that wraps another: it starts two large copies before all work, and one after it.

    They go from one memory of its own to the parts of another in turn. So nothing that a case does depends on them, and
    a barrier is due only once in eight copies.
    """

    def __init__(self, runtime: VulkanRuntime) -> None:
        self._runtime = runtime
        self._source = runtime.allocate(COPIED_BYTES)
        self._target = runtime.allocate(COPIED_BYTES * _PARTS)
        self._copies = count()
        self._is_recording = False

    def submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory]) -> None:
        self._start(_BEFORE)
        self._runtime.submit(kernels, memories)
        self._start(_AFTER)

    def copy(
        self,
        src: Memory,
        dst: Memory,
        nbytes: int,
        src_offset: int = 0,
        dst_offset: int = 0,
        kernels: Sequence[KernelSpec] = (),
    ) -> None:
        self._start(_BEFORE)
        self._runtime.copy(src, dst, nbytes, src_offset, dst_offset, kernels)
        self._start(_AFTER)

    @contextmanager
    def recording(self) -> Iterator[Recording[Hold]]:
        """See ``VulkanRuntime.recording``; the copies are not part of it, but are started around each replay."""
        with self._runtime.recording() as recording:
            self._is_recording = True
            try:
                yield recording
            finally:
                self._is_recording = False

    def replay(self, recording: Recording[Hold]) -> None:
        """See ``VulkanRuntime.replay``."""
        self._start(_BEFORE)
        self._runtime.replay(recording)
        self._start(_AFTER)

    def _start(self, copies: int) -> None:
        for _ in range(0 if self._is_recording else copies):
            offset = next(self._copies) % _PARTS * COPIED_BYTES
            self._runtime.copy(self._source, self._target, COPIED_BYTES, 0, offset)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)
