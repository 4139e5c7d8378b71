"""The device's own copy of as many bytes: what memory gives, and the measure of every kernel that only moves."""

from __future__ import annotations

import numpy as np

from restride.tensor.device import Device
from restride_bench.offer import Offer
from restride_bench.own import device_seconds

NAME = "copy"


def offer(nbytes: int, device: Device, *, clock: bool) -> Offer:
    """A copy that reads and writes ``nbytes`` bytes together.

    With the runtime kompute the host has a part in it.
    """
    half = max(nbytes // 2, 1)
    runtime = device.runtime
    src, dst = runtime.allocate(half), runtime.allocate(half)
    # Not zeros, which a driver may know to be.
    runtime.write(src, 0, np.random.default_rng(0).integers(0, 256, half, np.uint8).data)

    def start() -> None:
        runtime.copy(src, dst, half)

    def resident() -> None:
        start()
        runtime.wait()

    return Offer(resident=resident, kernel=device_seconds(device, start) if clock else None)
