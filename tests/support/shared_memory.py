"""Devices that share memory by file descriptors, their tensors, and how many descriptors this process has open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import restride as rs
from restride.runtime import choose, list_devices
from restride.runtime.handles import FD_SHARING
from restride.runtime.vulkan.runtime import VulkanRuntime


@pytest.fixture(params=[False, True], ids=["in-place", "staging"])
def sharing_device(request: pytest.FixtureRequest) -> Iterator[rs.Device]:
    """A device of one test, where the driver shares memory."""
    with rs.Device.over(VulkanRuntime(choose(list_devices()), staging=request.param)) as opened:
        if FD_SHARING not in opened.runtime._session.device.physical.extensions:
            pytest.skip(f"{opened.info.name} shares no memory between processes")
        yield opened


def shared(values: np.ndarray[Any, Any], device: rs.Device, desc: rs.TensorDesc | str | None = None) -> rs.Tensor:
    """A shareable tensor with these elements."""
    tensor = rs.empty(desc or rs.TensorDesc(values.dtype, values.shape), device, shareable=True)
    rs.reorder(rs.asarray(values, device=device), out=tensor)
    return tensor


def open_fds() -> int:
    """The number of open file descriptors."""
    return len([*Path("/proc/self/fd").iterdir()])
