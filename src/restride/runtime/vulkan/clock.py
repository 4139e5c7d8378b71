"""The device's own clock: two timestamps around every submission, so that host work and waits do not count."""

from __future__ import annotations

from restride.errors import DeviceError, UnsupportedError
from restride.runtime.loader import Handle, array
from restride.runtime.vulkan import generated as vulkan
from restride.runtime.vulkan.device import LogicalDevice

_PAIRS_PER_POOL = 64


class Clock:
    """Timestamps of all submissions, of any thread, while the clock runs.

    The queue calls ``start`` and ``stop`` with every command buffer, under the lock. The time of a submission begins
    when everything before it is finished.
    """

    def __init__(self, device: LogicalDevice) -> None:
        """A clock that has not started.

        Raises:
            UnsupportedError: the device's queue has no timestamps.
        """
        self._valid_bits, self._period = device.physical.timestamp_bits, device.physical.timestamp_period
        if not self._valid_bits:
            raise UnsupportedError(f"the queue of {device.physical.info.name} has no timestamps (timestampValidBits 0)")
        self._device = device
        self._stage = vulkan.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT
        self._is_64_bits = vulkan.VK_QUERY_RESULT_64_BIT
        self._pools: list[Handle] = []
        self._pairs = 0
        self._started: tuple[Handle, int] | None = None
        self._ended: list[tuple[Handle, int]] = []  # pool and first query
        self._ticks: list[int] | None = None

    def start(self, command: Handle) -> None:
        """Stamp the beginning of a command buffer."""
        pool, first = self._started = self._next_pair()
        vk = self._device.vk
        vk.vkCmdResetQueryPool(command, pool, first, 2)
        # The timestamp is taken at the bottom of the pipe, when earlier work is finished, so that no work is counted
        # twice.
        vk.vkCmdWriteTimestamp(command, self._stage, pool, first)

    def stop(self, command: Handle) -> None:
        """Stamp the end of the command buffer begun last, if the clock was running when it began."""
        started, self._started = self._started, None  # first, because the queue calls this again after an interrupt
        if started is None:
            return
        pool, first = started
        self._device.vk.vkCmdWriteTimestamp(command, self._stage, pool, first + 1)
        self._ended.append(started)

    @property
    def submissions(self) -> int:
        """The number of submissions with both timestamps."""
        return len(self._ended)

    @property
    def seconds(self) -> float:
        """Device time in seconds, summed over the submissions, which must all be finished.

        Raises:
            DeviceError: a submission is not finished, or the device is gone.
        """
        ticks = self._read() if self._ticks is None else self._ticks
        return sum(ticks) * self._period * 1e-9

    def close(self) -> None:
        """Read the timestamps and destroy the queries. Nothing may be pending."""
        try:
            self._ticks = self._read()
        finally:
            self.destroy()

    def destroy(self) -> None:
        """Destroy the queries. Nothing may be pending."""
        device = self._device
        for pool in self._pools:
            device.vk.vkDestroyQueryPool(device.handle, pool, device.null)
        self._pools.clear()

    def _next_pair(self) -> tuple[Handle, int]:
        """The pool and the first of two queries; a new pool if the others are full."""
        pair = self._pairs % _PAIRS_PER_POOL
        if pair == 0:
            kind = vulkan.VK_QUERY_TYPE_TIMESTAMP
            self._pools.append(self._device.create("QueryPool", queryType=kind, queryCount=2 * _PAIRS_PER_POOL))
        self._pairs += 1
        return self._pools[-1], 2 * pair

    def _read(self) -> list[int]:
        device = self._device
        device.require_alive()
        stamps = array("uint64_t", 2)
        ticks: list[int] = []
        for pool, first in self._ended:
            arguments = (pool, first, 2, 16, stamps, 8, self._is_64_bits)
            if device.vk.vkGetQueryPoolResults(device.handle, *arguments):
                raise DeviceError(
                    f"a submission on {device.physical.info.name} is not finished: wait before reading seconds"
                )
            ticks.append(stamps[1] - stamps[0] & (1 << self._valid_bits) - 1)
        return ticks
