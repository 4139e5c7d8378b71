"""The model of GPUs: the result of each formula for kernels that are simple enough to compute by hand."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from restride_bench.audit.compiler import Compiled
from restride_bench.audit.gpus import FAMILIES
from restride_bench.audit.roofline import LAUNCH, Device, Work, known_devices, limits_of, predict
from restride_bench.audit.traffic import LINE, SECTOR, Shared, Traffic

DEVICE = Device(
    "a device", "navi21", bandwidth=100, units=10, simds=2, lanes=32, clock=1.0, waves=16, subgroup=64,
    cache=1 << 20, shared=400, fill=64, latency=320, estimated=(), source="nowhere",
)  # fmt: skip

NBYTES = 1 << 26
"""Bytes of each side of a copy."""


def compiled(
    latency: int = 320, inverse_throughput: int = 0, waves: int = 32, depths: tuple[int, ...] = (10,)
) -> Compiled:
    return Compiled(128, 16, 0, 0, waves, 100, 0, latency, inverse_throughput, {}, 0, depths)


def traffic(nbytes: int, requests_a_sector: int = 1, *, partial: bool = False) -> Traffic:
    """Traffic of whole lines, whose sectors are each requested ``requests_a_sector`` times, whole or in parts."""
    sectors = nbytes // SECTOR
    requests = sectors * requests_a_sector
    lines = requests if requests_a_sector > 1 else nbytes // LINE
    return Traffic(nbytes, sectors, sectors, requests, lines, requests if partial else 0)


COPY = Work(1 << 22, compiled(), {"load": traffic(NBYTES), "store": traffic(NBYTES)}, 2.0 * NBYTES, 1.0)


def test_a_copy_is_as_fast_as_the_devices_own():
    seconds, share, limit = predict(DEVICE, [COPY], 2 * NBYTES)
    assert seconds == pytest.approx(LAUNCH + 2 * NBYTES / 100e9)
    assert share == 1
    assert limit == "memory"


def test_dispatches_and_copies_add_up():
    once, _, _ = predict(DEVICE, [COPY], NBYTES)
    assert predict(DEVICE, [COPY] * 3, NBYTES).seconds == pytest.approx(3 * once)
    assert predict(DEVICE, [COPY], NBYTES, copied=2 * NBYTES).seconds == pytest.approx(2 * once)
    assert predict(DEVICE, [replace(COPY, moved=0, traffic={}, invocations=64)] * 9, 64).limit == "launch"


def test_parts_of_sectors_cost_the_shared_cache_whole_slices_and_stores_twice():
    whole = limits_of(DEVICE, COPY)["shared cache"]
    assert whole == pytest.approx(2 * NBYTES / 400e9)
    strided = replace(COPY, traffic={"store": traffic(NBYTES, 8, partial=True)})
    assert limits_of(DEVICE, strided)["shared cache"] == pytest.approx(NBYTES / SECTOR * 8 * 2 * 64 / 400e9)
    strided = replace(COPY, traffic={"load": replace(traffic(NBYTES, 8, partial=True), sectors=8 * NBYTES // SECTOR)})
    assert limits_of(DEVICE, strided)["shared cache"] == pytest.approx(NBYTES / SECTOR * 8 * 64 / 400e9)
    assert limits_of(replace(DEVICE, fill=128), strided)["shared cache"] == pytest.approx(NBYTES / 4 * 128 / 400e9)


def test_loads_that_the_units_cache_has_cost_the_shared_cache_nothing():
    again = replace(COPY, traffic={"load": traffic(NBYTES, 8)})
    assert limits_of(DEVICE, again)["shared cache"] == pytest.approx(NBYTES / SECTOR * 64 / 400e9)
    assert limits_of(DEVICE, again)["unit's cache"] == pytest.approx(NBYTES / SECTOR * 8 / 10e9)


def test_arithmetic_takes_the_compilers_clocks_on_the_devices_lanes():
    busy = replace(COPY, compiled=compiled(inverse_throughput=1000))
    assert limits_of(DEVICE, busy)["arithmetic"] == pytest.approx((1 << 22) / 64 * 1000 / (10 * 2 * 1e9))
    assert limits_of(replace(DEVICE, lanes=16), busy)["arithmetic"] == pytest.approx((1 << 22) / 64 * 1000 / (10 * 1e9))


def test_loops_run_as_often_as_the_trace_says():
    """The compiler counts 10 instructions outside a loop and 5 in it as 10 + 8 * 5; 5 in an inner loop are 32 * 5."""
    busy = replace(COPY, compiled=compiled(inverse_throughput=50, depths=(10, 5)), turns=4.0)
    clocks = limits_of(DEVICE, busy)["arithmetic"] / ((1 << 22) / 64 / (10 * 2 * 1e9))
    assert clocks == pytest.approx(10 + 4 * 5)
    busy = replace(busy, compiled=compiled(inverse_throughput=210, depths=(10, 5, 5)))
    clocks = limits_of(DEVICE, busy)["arithmetic"] / ((1 << 22) / 64 / (10 * 2 * 1e9))
    assert clocks == pytest.approx(10 + 4 * 10)


def test_few_invocations_wait_as_long_as_one_does_and_many_in_turn():
    few = replace(COPY, compiled=compiled(latency=3200), invocations=64)
    assert limits_of(DEVICE, few)["waiting"] == pytest.approx(10 * 320e-9)
    many = replace(few, invocations=4 * DEVICE.invocations)
    assert limits_of(DEVICE, many)["waiting"] == pytest.approx(4 * 10 * 320e-9)
    half = replace(many, compiled=compiled(latency=3200, waves=16))
    assert limits_of(DEVICE, half)["waiting"] == pytest.approx(8 * 10 * 320e-9)


def test_a_shared_cache_keeps_the_lines_that_were_touched_last():
    line = np.tile(np.arange(100), 4)
    sector = np.repeat(np.arange(4), 100)
    touched = Shared(line, sector, 1.0)
    assert touched.moved(100 * LINE) == 400 * SECTOR
    again = Shared(np.tile(line, 2), np.tile(sector, 2), 1.0)
    assert again.moved(100 * LINE) == 400 * SECTOR
    assert again.moved(99 * LINE) == 800 * SECTOR
    assert replace(again, share=0.5).moved(200 * LINE) == 800 * SECTOR
    assert replace(again, share=0.5).moved(198 * LINE) == 1600 * SECTOR


def test_the_devices_are_plausible_and_say_where_their_figures_are_from():
    devices = known_devices()
    assert {"RX 6900 XT", "RX 580", "Arc A770", "RTX 4090", "H100 HBM3", "H200"} <= set(devices)
    assert {"Apple M2", "Adreno 740", "Mali-G715"} <= set(devices)
    names = {field.name for field in fields(Device)}
    for device in devices.values():
        assert device.family in FAMILIES
        assert set(device.estimated) <= names
        assert len(device.source) > 20
        assert device.shared * device.clock > device.bandwidth
        copied = limits_of(device, replace(COPY, invocations=2 * NBYTES // 16))
        assert max(copied, key=copied.__getitem__) == "memory", device.name
