"""Nothing grows: the small form of lab/reliability/leaks.py, and memory after a dropped device or unused pool bins."""

from __future__ import annotations

import gc
import sys
import weakref

import leaks
import numpy as np
import pytest
from support.devices import open_device

import restride as rs
from restride.runtime.interface import RuntimeName
from restride.runtime.vulkan.runtime import VulkanRuntime

BOTH = pytest.mark.parametrize("runtime", ["vulkan", "kompute"])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@BOTH
def test_mixed_operations_and_devices_add_nothing(runtime: RuntimeName) -> None:
    open_device(runtime).close()  # a skip where there is none
    figures = list(leaks.figures_of(runtime, small=True, seed=1))
    assert len(figures) == 7
    assert [figure for figure in figures if not figure.met] == []


@BOTH
def test_a_dropped_device_is_closed_at_once(runtime: RuntimeName) -> None:
    """It does not wait for the next full collection, which may be far away in a program of large arrays."""
    device = open_device(runtime)
    x = rs.asarray(np.ones((40, 30), np.float32), device=device)
    rs.resample(x, (7, 8), antialias=True).numpy()
    inner = device.runtime._session if isinstance(device.runtime, VulkanRuntime) else device.runtime._pool
    left = weakref.ref(inner)
    gc.collect()
    gc.disable()
    try:
        del device, x, inner
        assert left() is None
    finally:
        gc.enable()


def test_sizes_that_are_used_once_leave_nothing_in_a_pool() -> None:
    with open_device("vulkan") as device:
        for step in range(1, 60):
            rs.empty(f"u8[{step * 4000}]", device)
            rs.empty(f"u8[{step * 400_000}]", device)
        pool = device.runtime._session.blocks.pool
        device.trim()
        assert pool._idle == {}
        assert device.counters().bytes_allocated == 0
