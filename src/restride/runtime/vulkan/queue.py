"""The queue: command buffers recorded under a lock, barriers, submission in order, and fences to wait for."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

from restride.errors import DeviceError, DeviceLost, DeviceTimeout, Message
from restride.runtime.loader import Handle, array, require_handle, struct
from restride.runtime.vulkan import generated as vulkan
from restride.runtime.vulkan.clock import Clock
from restride.runtime.vulkan.device import LogicalDevice
from restride.runtime.vulkan.memory import Block

Use: TypeAlias = tuple[Block, int, int, bool]
"""A block, the bytes ``[start, end)`` of it that one command may touch, and whether it may write them."""

MAX_PENDING = 64
"""Maximum number of unfinished submissions on a device."""

MAX_USES = 32
"""A batch is submitted after this many uses of blocks, two per dispatch, so that the device works while more is
recorded. On llvmpipe a small dispatch takes about as long as its recording: 100 dispatches in parts of 16 take two
thirds of the time of 100 in one part.
"""

MAX_WINDOWS = 64
"""Maximum number of separate byte ranges noted for a block between two barriers."""


_MAX_SECONDS = 1e9
"""Closing a device waits at most this long, even if the time limit is infinite."""

_PAUSE_SECONDS = 0.01
"""Pause between attempts to wait, when a device is closed and the driver refuses."""

_SLICE_SECONDS = 0.2
"""A wait returns to Python this often, so that an interrupt takes effect."""


class Slot:
    """A command buffer and its fence, used for one submission after another.

    ticket: number of the last submission that used it. waiters: threads that wait for this submission.
    retired: the device does not have the command buffer. recording: commands were begun, but not yet submitted or
        thrown away.
    ended: the recording takes no more commands. shared: buffers acquired from other processes for this recording.
    kept: the recording is submitted more than once, so the slot is not free between its submissions.
    """

    __slots__ = (
        *("command", "ended", "fence", "fences", "kept", "recording", "retired", "shared", "submit", "ticket"),
        "waiters",
    )

    def __init__(self, command: Handle, fence: Handle) -> None:
        self.command = command
        self.fence = fence
        self.fences = array("VkFence", [fence])
        commands = array("VkCommandBuffer", [command])
        self.submit = struct("VkSubmitInfo", commandBufferCount=1, pCommandBuffers=commands)
        self.shared: list[Handle] = []
        self.ticket = 0
        self.waiters = 0
        self.retired = True
        self.recording = self.ended = self.kept = False


class Hazards:
    """Decides where barriers go: only between uses of the same bytes of which at least one writes.

    It records the bytes used since the last barrier; a barrier orders everything before it against everything after.

    The records are kept in the blocks: the windows ``reads`` and ``writes``, valid while the block's ``epoch`` equals
    the number of the last barrier. A window that meets the latest one is merged with it, and beyond 64 windows the
    whole block counts as used.
    """

    def __init__(self) -> None:
        self._epoch = 0
        self._unknown = False

    def conflict(self, uses: Sequence[Use]) -> bool:
        """True if the next command needs a barrier before it; records what the command uses."""
        epoch = self._epoch
        needed = self._unknown
        for block, start, end, writes in uses:
            if block.epoch == epoch and (
                (block.writes and _overlaps(block.writes, start, end))
                or (writes and block.reads and _overlaps(block.reads, start, end))
            ):
                needed = True
                break
        if needed:
            self._epoch = epoch = epoch + 1
            self._unknown = False
        for block, start, end, writes in uses:
            if block.epoch != epoch:
                block.epoch = epoch
                block.reads, block.writes = ([], [(start, end)]) if writes else ([(start, end)], [])
                continue
            windows = block.writes if writes else block.reads
            if windows:
                _join(windows, start, end, block.nbytes)
            else:
                windows.append((start, end))
        return needed

    def abandon(self) -> None:
        """Note that a recording, perhaps with counted barriers, was thrown away: the next command gets a barrier."""
        self._unknown = True


def _overlaps(windows: list[tuple[int, int]], start: int, end: int) -> bool:
    for window_start, window_end in windows:  # noqa: SIM110 - any() takes twice the time
        if window_start < end and start < window_end:
            return True
    return False


def _join(windows: list[tuple[int, int]], start: int, end: int, whole: int) -> None:
    last_start, last_end = windows[-1]
    if last_start <= start and end <= last_end:
        return
    if start <= last_end and last_start <= end:
        windows[-1] = (min(start, last_start), max(end, last_end))
    elif len(windows) < MAX_WINDOWS:
        windows.append((start, end))
    else:
        windows[:] = [(0, whole)]


SPIN_SECONDS = 2e-4
"""A wait asks the driver repeatedly for so many seconds before it sleeps; 0 if the device is a CPU, which computes
meanwhile.

On an H200, a small call and its wait take 54 us, but 95 us if the thread sleeps; both cost the same processor time.
"""


class Queue:
    """Submissions in order, numbered from 1 by their tickets. The caller holds the runtime's lock, except in ``wait``.

    ``completed`` is the last ticket known to be finished: fences signal in submission order.

    In a batch one command buffer stays open for several recordings, until somebody waits or it has ``MAX_USES``.
    """

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self._vk = device.vk
        self._hand_over = device.vk.unchecked("vkQueueSubmit")
        self._end_recording = device.vk.unchecked("vkEndCommandBuffer")
        self._pool = device.create(
            "CommandPool",
            flags=vulkan.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
            queueFamilyIndex=device.physical.family,
        )
        self._slots: list[Slot] = []
        self._free: list[Slot] = []
        self._pending: deque[Slot] = deque()
        self._begin_info = struct("VkCommandBufferBeginInfo", flags=vulkan.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)
        self._kept_begin_info = struct("VkCommandBufferBeginInfo")
        self._stages = vulkan.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | vulkan.VK_PIPELINE_STAGE_TRANSFER_BIT
        written = vulkan.VK_ACCESS_SHADER_WRITE_BIT | vulkan.VK_ACCESS_TRANSFER_WRITE_BIT
        touched = vulkan.VK_ACCESS_SHADER_READ_BIT | vulkan.VK_ACCESS_TRANSFER_READ_BIT
        self._host_stage, host_read = vulkan.VK_PIPELINE_STAGE_HOST_BIT, vulkan.VK_ACCESS_HOST_READ_BIT
        self._barrier = struct("VkMemoryBarrier", srcAccessMask=written, dstAccessMask=touched | written)
        self._host_barrier = struct("VkMemoryBarrier", srcAccessMask=written, dstAccessMask=host_read)
        self._external_family = vulkan.VK_QUEUE_FAMILY_EXTERNAL
        self.hazards = Hazards()
        self.batches = 0  # open batches, whose recordings share a command buffer; ``flush`` comes before the last ends
        self.refused = 0  # batches that could not be handed over: all that they had recorded is lost
        self._open: Slot | None = None
        self._recorded: list[Use] = []
        self.clock: Clock | None = None
        self.submitted = self.completed = self.barriers = 0
        self._spin_seconds = 0.0 if device.physical.info.kind == "cpu" else SPIN_SECONDS

    @property
    def is_full(self) -> bool:
        """True when one more submission must wait for the oldest, ``completed + 1``."""
        return len(self._pending) >= MAX_PENDING

    def submit(self, uses: Sequence[Use], *records: Callable[[Slot], None]) -> int:
        """Let ``records`` record commands that use these blocks; submit now, or in a batch later; return the ticket."""
        slot = self._begin(uses)
        try:
            if self._device.shares_memory:
                self._take_over(slot, uses)
            for record in records:
                record(slot)
            if slot is not self._open:
                return self._submit(slot, uses)
            ticket = self.last
            if len(self._recorded) >= MAX_USES:
                self.flush()
        except BaseException:
            self.abandon(slot)
            raise
        return ticket

    def record(self, parts: list[tuple[Slot, list[Use]]], uses: list[Use], *records: Callable[[Slot], None]) -> Slot:
        """Record commands for ``submit_kept``; at each submission, the first one waits for everything submitted before.

        parts: a list to which the slot and its uses are appended; they stay there until ``release``.
        """
        self.flush()
        self.hazards.abandon()
        slot = self._begin_slot(self._kept_begin_info)
        try:
            if self._device.shares_memory:
                self._take_over(slot, uses)
            for record in records:
                record(slot)
            self.end(slot)
            # No call between these statements and after them, at which an interrupt may come: they belong together.
            slot.kept = True
            parts += [(slot, uses)]
        except BaseException:
            self.abandon(slot)
            raise
        return slot

    def submit_kept(self, slot: Slot, uses: Sequence[Use]) -> None:
        """Submit what ``record`` recorded; the device must have finished with it, and no thread may wait for it."""
        self.flush()
        self._vk.vkResetFences(self._device.handle, 1, slot.fences)
        self.hazards.abandon()  # only for the first submission is it known what was used since the last barrier
        self._submit(slot, uses)

    def release(self, slot: Slot) -> None:
        """End what ``record`` began: the slot is free once the device has finished with it. Safe to call again."""
        if not slot.kept:
            return
        slot.kept = False
        if slot.retired and not slot.waiters:
            self._free += [slot]

    def _begin(self, uses: Sequence[Use]) -> Slot:
        """Return a slot whose command buffer is ready to record commands that use these blocks."""
        if self._open is not None and self._open.ended:
            self.flush()  # an interrupt broke off the flush at the end of the last batch
        slot = self._open or self._begin_slot(self._begin_info)
        if self.batches:
            # Noted before the commands are recorded: if an interrupt leaves commands in the buffer, they will run.
            self._open = slot
            self._recorded += uses
            _mark(uses, self.submitted + 1)
        return slot

    def _take_over(self, slot: Slot, uses: Sequence[Use]) -> None:
        """Before a recording's first use of a buffer that other processes use, acquire it from their queue family."""
        for block, *_ in uses:
            if block.chunk.is_shared and block.chunk.buffer not in slot.shared:
                self._change_family(slot, block.chunk.buffer, self._external_family, self._device.physical.family)
                slot.shared.append(block.chunk.buffer)

    def _change_family(self, slot: Slot, buffer: Handle, before: int, after: int) -> None:
        """Transfer a buffer and all writes to it from one queue family to another."""
        null, touched = self._device.null, self._barrier.dstAccessMask
        barrier = struct(
            "VkBufferMemoryBarrier",
            srcAccessMask=touched,
            dstAccessMask=touched,
            srcQueueFamilyIndex=before,
            dstQueueFamilyIndex=after,
            buffer=buffer,
            size=vulkan.VK_WHOLE_SIZE,
        )
        self._vk.vkCmdPipelineBarrier(slot.command, self._stages, self._stages, 0, 0, null, 1, barrier, 0, null)

    def _begin_slot(self, info: Handle) -> Slot:
        slot = self._free[-1] if self._free else self.new_slot()
        del self._free[-1:]  # not .pop(): after a call an interrupt could lose the slot
        slot.shared, slot.ended = [], False
        try:
            if slot.ticket:
                # Reset here and not when the slot retires, so that an error is raised in the call that needs the slot.
                self._vk.vkResetFences(self._device.handle, 1, slot.fences)
            self._vk.vkBeginCommandBuffer(slot.command, info)
            if self.clock is not None:
                self.clock.start(slot.command)
        except BaseException:
            self._discard(slot)
            raise
        slot.recording = True
        return slot

    def barrier(self, slot: Slot) -> None:
        """Record a barrier that orders everything before it against everything after it."""
        null = self._device.null
        self._vk.vkCmdPipelineBarrier(slot.command, self._stages, self._stages, 0, 1, self._barrier, 0, null, 0, null)
        self.barriers += 1

    @property
    def last(self) -> int:
        """The highest ticket so far: that of the last submission, or of the batch that is being recorded."""
        return self.submitted + (self._open is not None)

    def flush(self) -> None:
        """Hand the commands of a batch to the device. An error loses all of them, an interrupt none."""
        slot, uses = self._open, self._recorded
        if slot is None:
            return
        try:
            self._submit(slot, uses)
        except DeviceError:
            if not slot.retired:  # the device has it: the error came from the caller's lock
                raise
            self._open, self._recorded = None, []
            self.refused += 1
            self.abandon(slot)
            _mark(uses, self.submitted)
            raise

    def end(self, slot: Slot) -> None:
        """End the recording: release buffers that other processes share, and make its writes visible to the host.

        Safe to call again after an interrupt: a barrier may then be recorded twice, which does no harm.
        """
        if slot.ended:
            return
        if self.clock is not None:
            self.clock.stop(slot.command)
        command, null = slot.command, self._device.null
        while slot.shared:
            self._change_family(slot, slot.shared[-1], self._device.physical.family, self._external_family)
            del slot.shared[-1]
        self._vk.vkCmdPipelineBarrier(
            command, self._stages, self._host_stage, 0, 1, self._host_barrier, 0, null, 0, null
        )
        slot.ended = True
        result = self._end_recording(command)
        self._vk.check("vkEndCommandBuffer", result)

    def _submit(self, slot: Slot, uses: Sequence[Use]) -> int:
        """End the recording and hand it to the device."""
        self.end(slot)
        ticket, queue = self.submitted + 1, self._device.queue
        slot.ticket = ticket
        try:
            if slot is not self._open:  # ``_begin`` has marked them for the open slot; an interrupt keeps the marks
                _mark(uses, ticket)
            # All state changes come in statements before the call, without calls between them: Python raises an
            # interrupt when a call returns, so it finds all of them done or none. A Python function around the call
            # would admit an interrupt. The lock, which may be the caller's, is entered before.
            with self._device.lock:
                self._pending += (slot,)
                self.submitted = ticket
                slot.retired = slot.recording = False
                if slot is self._open:
                    self._open, self._recorded = None, []
                result = self._hand_over(queue, 1, slot.submit, slot.fence)
                if result < 0:  # the driver refused; again in statements without a call
                    slot.retired = slot.recording = True
                    del self._pending[-1]
                    self.submitted = slot.ticket = ticket - 1
            self._vk.check("vkQueueSubmit", result)
        except BaseException:
            # What the device has stays submitted, whatever the lock raised then. An open slot that was kept from the
            # device keeps its commands, marks and ticket for the next try.
            if slot.retired and slot is not self._open:
                slot.ticket = self.submitted
                _mark(uses, self.submitted)
            raise
        return ticket

    def abandon(self, slot: Slot) -> None:
        """Throw a recording away, unless the device already has it. A batch keeps its earlier recordings."""
        if not (slot.retired and slot.recording):
            return
        self.hazards.abandon()
        if slot is self._open:
            return
        slot.recording = False
        self._discard(slot)

    def poll(self) -> int:
        """Take back the slots of finished submissions; return the last finished ticket."""
        pending = self._pending
        while pending and self._vk.vkGetFenceStatus(self._device.handle, pending[0].fence) == 0:
            self._retire()
        return self.completed

    def _retire(self) -> None:
        """Mark the oldest pending submission as finished."""
        slot = self._pending[0]
        # All state changes come before the call, because an interrupt is raised after it.
        self.completed = slot.ticket
        slot.retired = True
        self._pending.popleft()
        if not slot.waiters and not slot.kept:
            self._free.append(slot)

    def enter_wait(self, ticket: int) -> Slot | None:
        """The slot to wait for, reserved until ``end_wait``; None if the ticket is finished or was not submitted."""
        if ticket <= self.completed:
            return None
        if ticket > self.submitted:
            self.flush()
            if ticket > self.submitted:  # the caller read it without the lock, and the driver then refused the work
                return None
        # Tickets are consecutive and so are pending slots.
        slot = self._pending[ticket - self._pending[0].ticket]
        slot.waiters += 1
        return slot

    def end_wait(self, slot: Slot, finished: int) -> None:
        """End a wait, after ``slot.waiters -= 1``.

        finished: this submission has finished, with all before it; 0: the wait ended before.
        """
        if slot.retired:
            if not slot.waiters and not slot.kept:
                self._free.append(slot)
        elif not self._device.dead:
            while self.completed < finished:
                self._retire()

    def wait(self, slot: Slot, timeout: float) -> None:
        """Wait for a slot from ``enter_wait``, without the lock and without the GIL.

        Raises:
            DeviceTimeout: it took longer than ``timeout`` seconds.
        """
        begin, remaining = time.monotonic(), timeout
        wait_for_fences, handle = self._vk.vkWaitForFences, self._device.handle
        while time.monotonic() - begin < self._spin_seconds:
            if self._vk.vkGetFenceStatus(handle, slot.fence) == 0:
                return
        while (
            wait_for_fences(handle, 1, slot.fences, 1, int(min(remaining, _SLICE_SECONDS) * 1e9)) == vulkan.VK_TIMEOUT
        ):
            self._device.require_alive()
            remaining = begin + timeout - time.monotonic()
            if remaining <= 0:
                raise DeviceTimeout(
                    Message.of(
                        f"work on {self._device.physical.info.name} did not finish within the time limit of "
                        f"{timeout:g} s; it goes on, and a later call may find it finished; for a longer limit ",
                        "open Device(timeout=...)",
                        "use --timeout SECONDS",
                    )
                )

    def drain(self, timeout: float) -> bool:
        """Wait for everything pending, at most ``timeout`` seconds each; return True if nothing is pending any more."""
        try:
            self._flush_ignoring_errors()
            while self._pending:
                if not self._fence_signals(self._pending[0], timeout):
                    return False
                self._retire()
        except DeviceLost:
            return self.wait_idle(timeout)
        return True

    def _flush_ignoring_errors(self) -> None:
        try:
            self.flush()
        except DeviceLost:
            raise
        except DeviceError:
            return  # at the end of a device nobody is left to receive the error

    def wait_idle(self, timeout: float) -> bool:
        """Wait until a lost device is idle, which Vulkan promises to happen; False if the driver keeps refusing.

        On the caller's device, wait for this queue only: others may be in use, and ``lock`` is of this one.
        """

        def is_idle() -> bool:
            with suppress(DeviceLost), self._device.lock:
                if self._device.is_own:
                    self._vk.vkDeviceWaitIdle(self._device.handle)
                else:
                    self._vk.vkQueueWaitIdle(self._device.queue)
            return True

        if not _retry_wait(is_idle, timeout):
            return False
        self._pending.clear()
        return True

    def _fence_signals(self, slot: Slot, timeout: float) -> bool:
        slices = math.ceil(min(timeout, _MAX_SECONDS) / _SLICE_SECONDS)
        nanoseconds = int(_SLICE_SECONDS * 1e9)

        def ends() -> bool:
            wait_for_fences, handle = self._vk.vkWaitForFences, self._device.handle
            return any(
                wait_for_fences(handle, 1, slot.fences, 1, nanoseconds) != vulkan.VK_TIMEOUT for _ in range(slices)
            )

        return _retry_wait(ends, timeout)

    def destroy(self) -> None:
        """Destroy everything; nothing may be pending."""
        device = self._device
        for slot in self._slots:
            self._vk.vkDestroyFence(device.handle, slot.fence, device.null)
        self._vk.vkDestroyCommandPool(device.handle, self._pool, device.null)
        for slots in (self._slots, self._free, self._pending):
            slots.clear()

    def _discard(self, slot: Slot) -> None:
        """Free a slot that the device does not use. Resetting it instead might fail."""
        device = self._device
        if not device.dead:  # otherwise ``destroy`` frees it, once the device is idle
            self._slots.remove(slot)
            self._vk.vkFreeCommandBuffers(device.handle, self._pool, 1, slot.submit.pCommandBuffers)
            self._vk.vkDestroyFence(device.handle, slot.fence, device.null)

    def new_slot(self) -> Slot:
        """Create a slot, which lives as long as the queue, or until ``_discard``."""
        device = self._device
        request = struct("VkCommandBufferAllocateInfo", commandPool=self._pool, level=0, commandBufferCount=1)
        command = vulkan.ffi.new("VkCommandBuffer *")
        fence = device.create("Fence")
        try:
            self._vk.vkAllocateCommandBuffers(device.handle, request, command)
            slot = Slot(require_handle("vkAllocateCommandBuffers", command[0]), fence)
        except BaseException:
            self._vk.vkDestroyFence(device.handle, fence, device.null)
            raise
        self._slots.append(slot)
        return slot


def _retry_wait(wait: Callable[[], bool], timeout: float) -> bool:
    """Call ``wait`` again for ``timeout`` seconds while the driver refuses; return its result, or False at the end.

    Raises:
        DeviceLost: the device is gone.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            return wait()
        except DeviceLost:
            raise
        except DeviceError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE_SECONDS)


def _mark(uses: Sequence[Use], ticket: int) -> None:
    for block, _, _, writes in uses:
        block.used = ticket
        if writes:
            block.written = ticket
