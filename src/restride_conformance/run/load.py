"""A device that always has other work: copies that nobody waits for, around everything that a case submits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from restride.runtime.vulkan.recording import Recording
from restride.runtime.vulkan.runtime import Hold, VulkanRuntime

COPIED_BYTES = 8 << 20
"""Bytes of each copy."""

_PARTS = 8
_BEFORE, _AFTER = 2, 1
_STARTS_WORK = ("submit", "copy", "replay")


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

    @contextmanager
    def recording(self) -> Iterator[Recording[Hold]]:
        """See ``VulkanRuntime.recording``; the copies are not part of it, but are started around each replay."""
        with self._runtime.recording() as recording:
            self._is_recording = True
            try:
                yield recording
            finally:
                self._is_recording = False

    def _start(self, copies: int) -> None:
        for _ in range(0 if self._is_recording else copies):
            offset = next(self._copies) % _PARTS * COPIED_BYTES
            self._runtime.copy(self._source, self._target, COPIED_BYTES, 0, offset)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._runtime, name)
        if name not in _STARTS_WORK:
            return attribute

        def surrounded(*arguments: Any) -> None:
            self._start(_BEFORE)
            attribute(*arguments)
            self._start(_AFTER)

        return surrounded
