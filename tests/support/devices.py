"""Devices for tests: one on a runtime, or a skip; and a CPU's driver that poses as a discrete GPU."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from support.skips import REQUIRE

import restride as rs
from restride.kernel import NVIDIA, Choices
from restride.runtime import instance

if os.environ.get("RESTRIDE_TEST_AS_GPU"):
    # A CPU's driver poses as a discrete GPU of NVIDIA, so copies use staging, and kernels are chosen for such a GPU.
    describe = instance._describe

    def posing(*arguments: object) -> instance.PhysicalDevice:
        physical = describe(*arguments)
        kept = physical.info.limits.choices if physical.info.is_tuned else None
        limits = replace(physical.info.limits, choices=kept or Choices.usual("discrete", "", NVIDIA))
        return replace(physical, info=replace(physical.info, kind="discrete", vendor_id=NVIDIA, limits=limits))

    instance._describe = posing


def open_device(runtime: str, **arguments: object) -> rs.Device:
    """A device; if there is none, a skip that says why, or a failure if the runtime is required."""
    try:
        return rs.Device(runtime=runtime, **arguments)
    except (rs.DeviceNotFound, rs.UnsupportedError) as error:
        if runtime in os.environ.get(REQUIRE, "").split(","):
            raise
        pytest.skip(f"runtime {runtime} is not available: {error}")
