"""Check this machine for anything that would distort the figures, and measure the memory of an operation."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

import restride as rs
from restride.tensor.device import Device

BUSY = 0.5
"""Load average per core above which other work distorts the figures."""

_LAYERS = ("VK_INSTANCE_LAYERS", "VK_LOADER_LAYERS_ENABLE")


def warnings(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The reasons why measured times would be too high; empty on an idle machine without validation layers."""
    lines = []
    if hasattr(os, "getloadavg"):
        average, cores = os.getloadavg()[0], os.cpu_count() or 1
        if average > BUSY * cores:
            lines.append(
                f"load average {average:.1f} on {cores} cores: other work is running, and figures are too high"
            )
    lines += [
        f"{name} is set: layers are loaded, and figures are too high" for name in _LAYERS if environment.get(name)
    ]
    return lines


def memory_beside(device: Device) -> int:
    """Bytes of device memory that a resample to f32[3,1200,2000] allocates in addition to its destination."""
    x = rs.asarray(np.random.default_rng(0).random((3, 1080, 1920), np.float32), device=device)
    device.wait()
    before = device.counters().bytes_allocated
    y = rs.resample(x, sizes=(1200, 2000))
    device.wait()
    return device.counters().bytes_allocated - before - y.desc.nbytes
