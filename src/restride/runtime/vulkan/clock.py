"""The device's own clock: two timestamps around every submission, which leave the host and its waiting out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from restride.errors import DeviceError, UnsupportedError
from restride.runtime.loader import Handle, array, package, struct
from restride.runtime.vulkan.device import LogicalDevice
from restride.runtime.vulkan.session import Session

_PAIRS_A_POOL = 64


class Clock:
    """Timestamps of the submissions that were made while it ran, those of other threads too.

    The queue calls ``start`` and ``stop`` with every command buffer, under the lock. A submission counts from the end
    of everything before it to its own end.
    """

    def __init__(self, device: LogicalDevice) -> None:
        """Ask the device what its clock is like.

        Raises:
            UnsupportedError: its queue has none.
        """
        self._valid_bits, self._period = device.physical.timestamp_bits, device.physical.timestamp_period
        if not self._valid_bits:
            raise UnsupportedError(f"the queue of {device.physical.info.name} has no timestamps (timestampValidBits 0)")
        vulkan = package()
        self._device = device
        self._stage = vulkan.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT
        self._is_64_bits = vulkan.VK_QUERY_RESULT_64_BIT
        self._pools: list[Handle] = []
        self._used = 0
        self._open: int | None = None
        self._ended: list[int] = []
        self._ticks: list[int] | None = None
        self._place(0)

    def start(self, command: Handle) -> None:
        """Stamp the beginning of a command buffer."""
        self._open, self._used = self._used, self._used + 1
        pool, first = self._place(self._open)
        vk = self._device.vk
        vk.vkCmdResetQueryPool(command, pool, first, 2)
        # At the bottom of the pipe: what came before is finished, so that work in flight counts once.
        vk.vkCmdWriteTimestamp(command, self._stage, pool, first)

    def stop(self, command: Handle) -> None:
        """Stamp the end of the command buffer that was begun last, if that was while the clock ran."""
        if self._open is None:
            return
        pool, first = self._place(self._open)
        self._device.vk.vkCmdWriteTimestamp(command, self._stage, pool, first + 1)
        self._ended.append(self._open)
        self._open = None

    @property
    def submissions(self) -> int:
        """How many were stamped."""
        return len(self._ended)

    @property
    def seconds(self) -> float:
        """The sum over the submissions; all of them must be finished.

        Raises:
            DeviceError: one is not.
        """
        ticks = self._read() if self._ticks is None else self._ticks
        return sum(ticks) * self._period * 1e-9

    def close(self) -> None:
        """Keep the figures and destroy the queries. Nothing may be pending."""
        device = self._device
        try:
            self._ticks = self._read()
        finally:
            for pool in self._pools:
                device.vk.vkDestroyQueryPool(device.handle, pool, device.null)
            self._pools.clear()

    def _place(self, number: int) -> tuple[Handle, int]:
        """The pool and the first query of a pair; a new pool where the others are full."""
        index, pair = divmod(number, _PAIRS_A_POOL)
        if index == len(self._pools):
            kind = package().VK_QUERY_TYPE_TIMESTAMP
            info = struct("VkQueryPoolCreateInfo", queryType=kind, queryCount=2 * _PAIRS_A_POOL)
            self._pools.append(self._device.create("vkCreateQueryPool", "VkQueryPool", info))
        return self._pools[index], 2 * pair

    def _read(self) -> list[int]:
        device = self._device
        stamps = array("uint64_t", 2)
        ticks: list[int] = []
        for number in self._ended:
            pool, first = self._place(number)
            arguments = (pool, first, 2, 16, stamps, 8, self._is_64_bits)
            if device.vk.vkGetQueryPoolResults(device.handle, *arguments):
                raise DeviceError(
                    f"a submission on {device.physical.info.name} is not finished: wait before its seconds"
                )
            ticks.append(stamps[1] - stamps[0] & (1 << self._valid_bits) - 1)
        return ticks


@contextmanager
def timed(session: Session) -> Iterator[Clock]:
    """A clock that runs inside the block: start operations and wait for them there.

    Raises:
        UnsupportedError: the queue has no timestamps, or another clock runs.
    """
    with session.lock:
        session.enter()
        if session.queue.clock is not None:
            raise UnsupportedError("one clock at a time: this device has one that runs")
        clock = session.queue.clock = Clock(session.device)
    try:
        yield clock
    finally:
        try:
            with session.lock:
                session.queue.flush()  # what a batch has begun inside ends inside
        finally:
            session.queue.clock = None
        # Raises where the device is gone or busy: then the queries stay, for they may be in use.
        session.wait_for(session.queue.submitted)
        clock.close()
