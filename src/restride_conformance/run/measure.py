"""Measure the speed of a case with its tensors resident on the device, relative to the device's own buffer copy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median

import restride as rs
from restride.command.stopwatch import Timer, copying, rounds
from restride.tensor.device import Device
from restride_conformance.case import Case
from restride_conformance.record import Speed
from restride_conformance.setting import prepare

BATCHES = 5
_MIN_COPIED, _MAX_COPIED = 16 << 20, 256 << 20


def measure_case(case: Case, device: Device, started: Callable[[], None] = lambda: None) -> Speed:
    """Run batches of a case alternately with batches of device copies, so that other work disturbs both equally.

    A copy moves as many bytes as the case reads and writes, rounded up to a power of two from 16 to 256 MiB, so that
    caches affect both equally; its bytes count twice, as read and as written. It takes the same path from runtime to
    queue as a case. The runtime ``kompute`` repeats each copy on the host, so its share is relative to both together.
    A case and its copies take about 0.15 s.

    Args:
        case: a case that passes.
        device: the device to run on.
        started: called before each batch, because the time limit applies to each batch separately.

    Raises:
        RestrideError: the operation refused the case, the device has too little memory, or the device failed.
    """
    setting = prepare(case)
    started()
    source = rs.from_buffer(setting.source, setting.src, device=device)
    viewed = case.viewed_tensor(source)
    out = rs.from_buffer(setting.destination, setting.dst, device=device)
    moved = case.useful_bytes
    copied = min(max(_MIN_COPIED, 1 << (moved - 1).bit_length()), _MAX_COPIED)
    timers = {
        "case": Timer(partial(case.operation.call(case), viewed, out), device.wait, before=started).batch(),
        "copy": Timer(copying(2 * copied, device), device.wait, before=started).batch(),
    }
    seconds, copy_seconds = map(median, rounds(timers, BATCHES).values())
    rate = moved / seconds
    return Speed(seconds, rate / 1e9, rate / (2 * copied / copy_seconds))
