"""A recording: submissions whose command buffers are kept, so that the device can be given the same ones again."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from restride.runtime.vulkan.device import LogicalDevice
from restride.runtime.vulkan.dispatch import Prepared, Recorder
from restride.runtime.vulkan.memory import Block
from restride.runtime.vulkan.queue import Queue, Slot, Use

_ALWAYS = sys.maxsize
"""As the last submission that uses a pipeline or a set, so that neither is reused or destroyed meanwhile."""


class Opened(Protocol):
    """The open device, a ``Session``: what a recording needs of it."""

    device: LogicalDevice
    queue: Queue
    recorder: Recorder

    @property
    def lock(self) -> threading.RLock:
        """The lock of its state on the host."""


class _Holds(Protocol):
    block: Block


Held = TypeVar("Held", bound=_Holds)
"""A reference that keeps a block alive, a ``Hold``."""


class Recording(Generic[Held]):
    """Submissions in order, each a command buffer, with everything that their commands use.

    ``VulkanRuntime.recording`` makes it and ``VulkanRuntime.replay`` submits it again. What the host wrote while it was
    made, such as tables, is not written again, but kept as it is. Other kernels may be started while it is kept, but
    then no ``trim``: it destroys a pipeline that both use.

    ticket: its last submission. dispatches: kernels in all of it. holds: of the blocks that its commands use.
    """

    def __init__(self, session: Opened) -> None:
        self.ticket = self.dispatches = 0
        self.parts: list[tuple[Slot, list[Use]]] = []
        self.holds: list[Held] = []
        self._session = session
        self._works: list[Prepared] = []

    @property
    def written(self) -> list[Held]:
        """The holds of the blocks that its commands write, each once."""
        blocks = {block for _, uses in self.parts for block, _, _, writes in uses if writes}
        return list({hold.block: hold for hold in self.holds if hold.block in blocks}.values())

    def add(
        self,
        uses: list[Use],
        records: Sequence[Callable[[Slot], None]],
        holds: Sequence[Held],
        work: Prepared | None = None,
    ) -> None:
        """Record commands, submit them for the first time, and keep them. The caller holds the lock."""
        queue = self._session.queue
        slot = queue.record(uses, *records)
        self.parts.append((slot, uses))
        self.holds += holds
        if work is not None:
            self._session.recorder.take(work)
            self._works.append(work)
            work.use(_ALWAYS)
            self.dispatches += len(work.dispatches)
        self.ticket = queue.submit_kept(slot, uses)

    def close(self) -> None:
        """Let everything be reused once the device has finished with it; a second call does nothing."""
        session = self._session
        if session.device.dead:
            return  # all of it is destroyed together with the device
        with session.lock:
            while self.parts:
                session.queue.release(self.parts.pop()[0])
            while self._works:
                work = self._works.pop()
                work.use(self.ticket)
                session.recorder.preparations.release(work)
        self.holds.clear()
