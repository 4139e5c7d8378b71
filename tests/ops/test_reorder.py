"""The operations on both runtimes: worked examples, answers by hand, layouts, and what they cost in memory."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from support.destinations import assert_equal

import restride as rs

# reorder


def test_a_chain_of_dependent_operations(device):
    """Each writes what the next one reads, then over what the one before read."""
    x = np.arange(6, dtype=np.int32)
    one, two = rs.asarray(x, device=device), rs.empty(rs.TensorDesc("s32", (6,)), device)
    for _ in range(25):
        rs.reorder(one[::-1], out=two)
        rs.reorder(two.reshape(2, 3), "AB->BA", out=one.reshape(3, 2))
        x = np.ascontiguousarray(x[::-1].reshape(2, 3).T).ravel()
    assert_equal(one, x)


# Memory


def test_ten_thousand_operations_make_a_handful_of_allocations(device):
    x = rs.asarray(np.arange(1 * 3 * 8 * 8, dtype=np.float32).reshape(1, 3, 8, 8), device=device)
    small = rs.resample(x, (4, 4))
    device.wait()
    gc.collect()  # errors that earlier tests caught may hold tensors
    start = device.counters()
    for repeat in range(2500):
        rs.reorder(x, "NHWC")
        rs.reorder(x[..., ::-1], "NCHW->NHWC")
        rs.strided_slice(x, (0, 0, 1, 1), (1, 3, 6, 6), (1, -1, 2, 2), out=rs.empty(small.desc, device)[..., :3, :3])
        rs.resample(x, (4, 4))
        if repeat == 500:
            device.wait()
            settled = device.counters()
    device.wait()
    end = device.counters()
    assert end.dispatches - start.dispatches == 10_000
    assert end.allocations - start.allocations <= 50
    # Prepared submissions keep less than 1 MiB of parameters (MAX_PREPARED), which are taken in chunks. How much of
    # that is there by ``settled`` depends on how far the host runs ahead of the device.
    assert end.bytes_allocated <= settled.bytes_allocated + (2 << 20)
    assert end.bytes_in_use == start.bytes_in_use
    assert end.pipelines - start.pipelines <= 50


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
