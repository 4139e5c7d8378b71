"""A recording: submissions whose command buffers are kept, so that the device can be given the same ones again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from restride.runtime.vulkan.device import LogicalDevice
from restride.runtime.vulkan.dispatch import Prepared, Recorder
from restride.runtime.vulkan.memory import Block
from restride.runtime.vulkan.program import Pipeline
from restride.runtime.vulkan.queue import Queue, Slot, Use


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

    ``VulkanRuntime.recording`` makes it and ``VulkanRuntime.replay`` submits it again. What the host wrote while the
    recording was made, such as tables, is not written again, but kept as it is. What the recording keeps is marked as
    kept, and noted here, by statements without a call between them: an interrupt may come at a call.

    dispatches: number of kernels in all submissions. holds: the holds of the blocks that the commands use.
    """

    def __init__(self, session: Opened) -> None:
        self.dispatches = 0
        self.parts: list[tuple[Slot, list[Use]]] = []
        self.holds: list[Held] = []
        self._session = session
        self._works: list[Prepared] = []
        self._pipelines: list[Pipeline] = []

    @property
    def ticket(self) -> int:
        """The last submission of a command buffer of the recording."""
        return max((slot.ticket for slot, _ in self.parts), default=0)

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
        self.holds += holds
        if work is not None:
            work.kept = True
            self._works += [work]
            for dispatch in work.dispatches:
                self._pipelines += [dispatch.pipeline]
                dispatch.pipeline.keeps += 1
        slot = queue.record(self.parts, uses, *records)
        queue.submit_kept(slot, uses)
        self.dispatches += 0 if work is None else len(work.dispatches)

    def close(self) -> None:
        """Let everything be reused once the device has finished with it; a second call does nothing."""
        session = self._session
        if session.device.dead:
            return  # all of it is destroyed together with the device
        with session.lock:
            last = session.queue.last  # others may have used the pipelines since
            while self._pipelines:
                self._pipelines[-1].used = last
                self._pipelines[-1].keeps -= 1
                del self._pipelines[-1]
            while self.parts:
                session.queue.release(self.parts[-1][0])
                del self.parts[-1]
            while self._works:
                work = self._works.pop()  # first: an interrupt may lose an entry, but never releases one twice
                work.use(last)
                session.recorder.preparations.release(work)
        self.holds.clear()
