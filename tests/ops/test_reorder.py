"""What operations take of the memory of a device, on both runtimes."""

from __future__ import annotations

import numpy as np
import pytest

import restride as rs


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: rs.reorder(x, "ABC->CBA"),
        lambda x: rs.resample(x, (700, 900)),
        lambda x: rs.resample(x, (700, 900), mode="nearest"),
        lambda x: rs.strided_slice(
            x, (0, 0, 0), x.sizes, (1, -1, 2), out=rs.empty(rs.TensorDesc("f32", (3, 512, 256)), x.device)
        ),
    ],
    ids=["reorder", "linear", "nearest", "slice"],
)
def test_an_operation_takes_its_destination_and_at_most_2_mib(operation, device):
    x = rs.asarray(np.ones((3, 512, 512), np.float32), device=device)
    device.wait()
    before = device.counters()
    result = operation(x)
    after = device.counters()
    assert after.bytes_in_use - before.bytes_in_use <= result.desc.nbytes + (2 << 20)
    del result
    device.wait()
    assert device.counters().bytes_in_use - before.bytes_in_use <= 2 << 20
