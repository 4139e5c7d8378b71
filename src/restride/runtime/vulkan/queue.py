"""The queue: command buffers recorded under a lock, barriers, submission in order, and fences to wait for."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol, TypeAlias

from restride.errors import DeviceError, DeviceLost, DeviceTimeout
from restride.runtime.loader import TIMEOUT, Handle, array, package, require_handle, struct
from restride.runtime.vulkan.device import LogicalDevice
from restride.runtime.vulkan.memory import Block

Use: TypeAlias = tuple[Block, int, int, bool]
"""A block, the bytes ``[start, end)`` of it that one command may touch, and whether it may write them."""

MOST_PENDING = 64
"""Submissions that the device has and that are not finished."""

MOST_USES = 32
"""Uses of blocks, two per dispatch, after which a batch is handed to the device, which works while more is recorded. On
llvmpipe a small dispatch takes about as long as its recording: 100 in parts of 16 take two thirds of the time.
"""

MOST_WINDOWS = 64
"""Byte ranges of a block that are told apart between two barriers."""

_WHOLE_SIZE = (1 << 64) - 1
"""VK_WHOLE_SIZE, which the package has as -1."""

_LONGEST_SECONDS = 1e9
"""A wait at the end of a device lasts no longer, though a time limit may be infinite."""

_PAUSE_SECONDS = 0.01
"""Between two attempts to wait where the driver refuses, at the end of a device."""

_SLICE_SECONDS = 0.2
"""A wait returns to Python this often, so that an interrupt is heard."""


class Slot:
    """A command buffer and its fence, used for one submission after another.

    retired: the device does not have it. recording: it was begun, and neither submitted nor thrown away.
    ended: the recording takes no more commands. shared: the buffers that it took over from other processes.
    """

    __slots__ = ("command", "ended", "fence", "fences", "recording", "retired", "shared", "submit", "ticket", "waiters")

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
        self.recording = self.ended = False


class Hazards:
    """Where barriers go: between uses of the same bytes, one of which writes, and nowhere else.

    It notes which bytes were used since the last barrier, which orders everything before it against everything after.

    The notes are on the blocks: ``reads`` and ``writes``, windows that are valid while the block's ``epoch`` is the
    current one, the number of the last barrier. A window that meets the one before it is joined to it, and past 64 of
    them the whole block counts as used.
    """

    def __init__(self) -> None:
        self._epoch = 0
        self._unknown = False
        self.enabled = True
        """Tests turn barriers off, to see that validation catches it."""

    def conflict(self, uses: Sequence[Use]) -> bool:
        """True if the next command needs a barrier before it; notes what it uses."""
        epoch = self._epoch
        needed = self._unknown
        for block, start, end, writes in uses:
            if block.epoch == epoch and (
                (block.writes and _meets(block.writes, start, end))
                or (writes and block.reads and _meets(block.reads, start, end))
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
        return needed and self.enabled

    def abandon(self) -> None:
        """A recording was thrown away, perhaps with barriers that count as recorded: the next command gets one."""
        self._unknown = True


def _meets(windows: list[tuple[int, int]], start: int, end: int) -> bool:
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
    elif len(windows) < MOST_WINDOWS:
        windows.append((start, end))
    else:
        windows[:] = [(0, whole)]


class Stamps(Protocol):
    """Told about the begin and end of every command buffer while it is ``Queue.clock``; see ``clock.Clock``."""

    def start(self, command: Handle) -> None: ...

    def stop(self, command: Handle) -> None: ...


class Queue:
    """Submissions in order, numbered from 1 by their tickets. The caller holds the runtime's lock, but not in ``wait``.

    ``completed`` is the last ticket known to be finished: fences signal in submission order.

    In a batch one command buffer stays open for recording after recording, until somebody waits for it.
    """

    def __init__(self, device: LogicalDevice) -> None:
        vulkan = package()
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
        self._stages = vulkan.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | vulkan.VK_PIPELINE_STAGE_TRANSFER_BIT
        written = vulkan.VK_ACCESS_SHADER_WRITE_BIT | vulkan.VK_ACCESS_TRANSFER_WRITE_BIT
        touched = vulkan.VK_ACCESS_SHADER_READ_BIT | vulkan.VK_ACCESS_TRANSFER_READ_BIT
        self._host_stage, host_read = vulkan.VK_PIPELINE_STAGE_HOST_BIT, vulkan.VK_ACCESS_HOST_READ_BIT
        self._barrier = struct("VkMemoryBarrier", srcAccessMask=written, dstAccessMask=touched | written)
        self._host_barrier = struct("VkMemoryBarrier", srcAccessMask=written, dstAccessMask=host_read)
        self._theirs = vulkan.VK_QUEUE_FAMILY_EXTERNAL
        self.hazards = Hazards()
        self.batches = 0  # in a batch, recordings stay in one command buffer; ``flush`` comes before the last ends
        self.refused = 0  # batches that could not be handed over: what they had recorded is lost
        self._open: Slot | None = None
        self._recorded: list[Use] = []
        self.clock: Stamps | None = None
        self.submitted = self.completed = self.barriers = 0

    @property
    def is_full(self) -> bool:
        """True when one more submission must wait for the oldest, ``completed + 1``."""
        return len(self._pending) >= MOST_PENDING

    def submit(self, uses: Sequence[Use], record: Callable[[Slot], None]) -> int:
        """Record commands that use these blocks and hand them to the device, or in a batch later; the ticket."""
        slot = self.begin(uses)
        try:
            if self._device.shares_memory:
                self._take_over(slot, uses)
            record(slot)
            return self.finish(slot, uses)
        except BaseException:
            self.abandon(slot)
            raise

    def begin(self, uses: Sequence[Use]) -> Slot:
        """A slot whose command buffer records commands that use these blocks."""
        if self._open is not None and self._open.ended:
            self.flush()  # which an interrupt broke off
        slot = self._open or self._begun()
        if self.batches:
            # Noted before the commands: those that an interrupt leaves in the buffer run all the same.
            self._open = slot
            self._recorded += uses
            _mark(uses, self.submitted + 1)
        return slot

    def _take_over(self, slot: Slot, uses: Sequence[Use]) -> None:
        """Before the first use of a buffer that other processes use too: it comes from their queue family to ours."""
        for block, *_ in uses:
            if block.chunk.is_shared and block.chunk.buffer not in slot.shared:
                self._change_family(slot, block.chunk.buffer, self._theirs, self._device.physical.family)
                slot.shared.append(block.chunk.buffer)

    def _change_family(self, slot: Slot, buffer: Handle, before: int, after: int) -> None:
        """Hand a buffer, with all that was written to it, from one queue family to another."""
        null, touched = self._device.null, self._barrier.dstAccessMask
        barrier = struct(
            "VkBufferMemoryBarrier",
            srcAccessMask=touched,
            dstAccessMask=touched,
            srcQueueFamilyIndex=before,
            dstQueueFamilyIndex=after,
            buffer=buffer,
            size=_WHOLE_SIZE,
        )
        self._vk.vkCmdPipelineBarrier(slot.command, self._stages, self._stages, 0, 0, null, 1, barrier, 0, null)

    def _begun(self) -> Slot:
        slot = self._free[-1] if self._free else self.new_slot()
        del self._free[-1:]  # no call, after which an interrupt would lose the slot
        slot.shared, slot.ended = [], False
        try:
            if slot.ticket:
                # Here and not when it retires: a call that may fail belongs to the work that needs it.
                self._vk.vkResetFences(self._device.handle, 1, slot.fences)
            self._vk.vkBeginCommandBuffer(slot.command, self._begin_info)
            if self.clock is not None:
                self.clock.start(slot.command)
        except BaseException:
            self._discard(slot)
            raise
        slot.recording = True
        return slot

    def barrier(self, slot: Slot) -> None:
        """Order everything before against everything after."""
        null = self._device.null
        self._vk.vkCmdPipelineBarrier(slot.command, self._stages, self._stages, 0, 1, self._barrier, 0, null, 0, null)
        self.barriers += 1

    @property
    def last(self) -> int:
        """The last ticket: of the last submission, or of the one that a batch records."""
        return self.submitted + (self._open is not None)

    def flush(self) -> None:
        """Hand what a batch has recorded to the device. An error loses all of it, an interrupt nothing."""
        slot, uses = self._open, self._recorded
        if slot is None:
            return
        try:
            self._submit(slot, uses)
        except DeviceError:
            self._open, self._recorded = None, []
            self.refused += 1
            self.abandon(slot)
            _mark(uses, self.submitted)
            raise

    def finish(self, slot: Slot, uses: Sequence[Use]) -> int:
        """The recording is over: hand it to the device, or in a batch leave that for later; its ticket.

        ``uses``: every block that the commands use, as in ``begin``; all are marked with the ticket.
        """
        if slot is not self._open:
            return self._submit(slot, uses)
        ticket = self.last
        if len(self._recorded) >= MOST_USES:
            self.flush()
        return ticket

    def end(self, slot: Slot) -> None:
        """End the recording: hand back what other processes use too, and make what it writes visible to the host.

        After an interrupt it goes on: a barrier is there twice then, which does no harm, but the end is not.
        """
        if slot.ended:
            return
        if self.clock is not None:
            self.clock.stop(slot.command)
        command, null = slot.command, self._device.null
        while slot.shared:
            self._change_family(slot, slot.shared[-1], self._device.physical.family, self._theirs)
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
            if slot is not self._open:  # ``begin`` did it, and an interrupt leaves the marks
                _mark(uses, ticket)
            # All notes before the call, and no call between: an interrupt, which Python hears when a call returns,
            # finds all of them made or none. A function in Python around the call would hear one before.
            self._pending += (slot,)
            self.submitted = ticket
            slot.retired = slot.recording = False
            if slot is self._open:
                self._open, self._recorded = None, []
            result = self._hand_over(queue, 1, slot.submit, slot.fence)
            self._vk.check("vkQueueSubmit", result)
        except BaseException as error:
            if slot.retired or isinstance(error, DeviceError):
                self._undo(slot, uses)
            raise
        return ticket

    def abandon(self, slot: Slot) -> None:
        """Throw a recording away, unless the device has it already. What a batch recorded before it stays."""
        if not (slot.retired and slot.recording):
            return
        self.hazards.abandon()
        if slot is self._open:
            return
        slot.recording = False
        self._discard(slot)

    def poll(self) -> int:
        """Take back the slots of finished submissions; the last finished ticket."""
        pending = self._pending
        while pending and self._vk.vkGetFenceStatus(self._device.handle, pending[0].fence) == 0:
            self._retire()
        return self.completed

    def _retire(self) -> None:
        """The oldest pending submission is finished."""
        slot = self._pending[0]
        # All notes before the call: an interrupt is heard after it.
        self.completed = slot.ticket
        slot.retired = True
        self._pending.popleft()
        if not slot.waiters:
            self._free.append(slot)

    def enter_wait(self, ticket: int) -> Slot | None:
        """The slot to wait for, which is kept until ``leave_wait``; None: the ticket is finished, or not submitted."""
        if ticket <= self.completed:
            return None
        if ticket > self.submitted:
            self.flush()
            if ticket > self.submitted:  # of a caller that looked without the lock; the driver refused it meanwhile
                return None
        # Tickets are consecutive and so are pending slots.
        slot = self._pending[ticket - self._pending[0].ticket]
        slot.waiters += 1
        return slot

    def leave_wait(self, slot: Slot, finished: bool) -> None:
        """The wait is over; finished: so is what it was for, and all before it."""
        slot.waiters -= 1
        if slot.retired:
            if not slot.waiters:
                self._free.append(slot)
        elif finished and not self._device.dead:
            while not slot.retired:
                self._retire()

    def wait(self, slot: Slot, timeout: float) -> None:
        """Wait for a slot from ``enter_wait``, without the lock and without the GIL.

        Raises:
            DeviceTimeout: it took longer than ``timeout`` seconds.
        """
        deadline, remaining = time.monotonic() + timeout, timeout
        wait_for_fences, handle = self._vk.vkWaitForFences, self._device.handle
        while wait_for_fences(handle, 1, slot.fences, 1, int(min(remaining, _SLICE_SECONDS) * 1e9)) == TIMEOUT:
            self._device.require_alive()
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise DeviceTimeout(
                    f"work on {self._device.physical.info.name} did not finish within the time limit of {timeout:g} s;"
                    " it goes on, and a later call may find it finished; for a longer limit open Device(timeout=...)"
                )

    def drain(self, timeout: float) -> bool:
        """Wait for everything pending, at most ``timeout`` seconds each; True: nothing is pending."""
        try:
            self._flush_unheard()
            while self._pending:
                if not self._finishes(self._pending[0], timeout):
                    return False
                self._retire()
        except DeviceLost:
            return self.rest(timeout)
        return True

    def _flush_unheard(self) -> None:
        try:
            self.flush()
        except DeviceLost:
            raise
        except DeviceError:
            return  # nobody is left to hear of it

    def rest(self, timeout: float) -> bool:
        """Wait until a lost device no longer works; True: it does not. Vulkan promises that it takes finite time."""

        def is_idle() -> bool:
            with suppress(DeviceLost):
                self._vk.vkDeviceWaitIdle(self._device.handle)
            return True

        if not _insisting(is_idle, timeout):
            return False
        self._pending.clear()
        return True

    def _finishes(self, slot: Slot, timeout: float) -> bool:
        slices = math.ceil(min(timeout, _LONGEST_SECONDS) / _SLICE_SECONDS)
        nanoseconds = int(_SLICE_SECONDS * 1e9)

        def ends() -> bool:
            wait_for_fences, handle = self._vk.vkWaitForFences, self._device.handle
            return any(wait_for_fences(handle, 1, slot.fences, 1, nanoseconds) != TIMEOUT for _ in range(slices))

        return _insisting(ends, timeout)

    def destroy(self) -> None:
        """Destroy everything; nothing is pending."""
        device = self._device
        for slot in self._slots:
            self._vk.vkDestroyFence(device.handle, slot.fence, device.null)
        self._vk.vkDestroyCommandPool(device.handle, self._pool, device.null)
        for slots in (self._slots, self._free, self._pending):
            slots.clear()

    def _undo(self, slot: Slot, uses: Sequence[Use]) -> None:
        """The device did not get the slot, which would have been the last."""
        slot.retired = slot.recording = True
        if self._pending and self._pending[-1] is slot:
            self._pending.pop()
        self.submitted = slot.ticket - 1
        _mark(uses, self.submitted)

    def _discard(self, slot: Slot) -> None:
        """Free a slot that the device does not have. To reset it instead might fail."""
        device = self._device
        if not device.dead:  # else ``destroy`` does it, once the device is idle
            self._slots.remove(slot)
            self._vk.vkFreeCommandBuffers(device.handle, self._pool, 1, slot.submit.pCommandBuffers)
            self._vk.vkDestroyFence(device.handle, slot.fence, device.null)

    def new_slot(self) -> Slot:
        """One more, which lives as long as the queue."""
        device = self._device
        request = struct("VkCommandBufferAllocateInfo", commandPool=self._pool, level=0, commandBufferCount=1)
        command = device.ffi.new("VkCommandBuffer *")
        fence = device.create("Fence")
        try:
            self._vk.vkAllocateCommandBuffers(device.handle, request, command)
            slot = Slot(require_handle("vkAllocateCommandBuffers", command[0]), fence)
        except BaseException:
            self._vk.vkDestroyFence(device.handle, fence, device.null)
            raise
        self._slots.append(slot)
        return slot


def _insisting(wait: Callable[[], bool], timeout: float) -> bool:
    """The answer of ``wait``, which is asked again for ``timeout`` seconds while the driver refuses; then False.

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
