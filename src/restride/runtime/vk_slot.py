"""Slot: a command buffer with its fence, used again and again."""

from __future__ import annotations

from restride.runtime.loader import Handle, array, struct


class Slot:
    """What one submission is recorded into.

    retired: the device does not have it. recording: it was begun, and neither submitted nor thrown away.
    """

    __slots__ = ("command", "fence", "fences", "recording", "retired", "submit", "ticket", "waiters")

    def __init__(self, command: Handle, fence: Handle) -> None:
        self.command = command
        self.fence = fence
        self.fences = array("VkFence", [fence])
        commands = array("VkCommandBuffer", [command])
        self.submit = struct("VkSubmitInfo", commandBufferCount=1, pCommandBuffers=commands)
        self.ticket = 0
        self.waiters = 0
        self.retired = True
        self.recording = False
