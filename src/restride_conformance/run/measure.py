"""Measure the speed of a case with its tensors resident on the device, relative to the device's own buffer copy."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np

import restride as rs
from restride.tensor.device import Device
from restride_conformance.case import Case
from restride_conformance.fill import poison
from restride_conformance.record import Speed
from restride_conformance.setting import prepare

BATCHES = 5
BATCH_SECONDS = 0.01
"""A batch takes once to twice this long, so a case and its copies take about 0.15 s; a slower call is a batch alone."""

MAX_CALLS = 1024
_MIN_COPIED, _MAX_COPIED = 16 << 20, 256 << 20


class Batch:
    """Repeated calls on the device with one wait at the end; enough of them to take ``BATCH_SECONDS``."""

    def __init__(
        self, call: Callable[[], object], wait: Callable[[], object], started: Callable[[], None] = lambda: None
    ) -> None:
        self._call = call
        self._wait = wait
        self._started = started
        self._calls = 1
        self.seconds()  # warm-up: compiles kernels, touches memory
        while self._calls < MAX_CALLS and self.seconds() * self._calls < BATCH_SECONDS:
            self._calls *= 2

    def seconds(self) -> float:
        """Run the batch; returns the seconds per call."""
        self._started()
        start = perf_counter()
        for _ in range(self._calls):
            self._call()
        self._wait()
        return (perf_counter() - start) / self._calls


def measure_case(case: Case, device: Device, started: Callable[[], None] = lambda: None) -> Speed:
    """Run batches of a case alternately with batches of device copies, so that other work disturbs both equally.

    A copy moves as many bytes as the case reads and writes, rounded up to a power of two from 16 to 256 MiB, so that
    caches affect both equally; its bytes count twice, as read and as written. It takes the same path from runtime to
    queue as a case. The runtime ``kompute`` repeats each copy on the host, so its share is relative to both together.

    Args:
        case: a case that passes.
        device: the device to run on.
        started: called before each batch, as the time limit applies to each batch separately.

    Raises:
        RestrideError: the operation refused the case, the device has too little memory, or the device failed.
    """
    setting = prepare(case)
    started()
    source = rs.from_buffer(setting.source, setting.src, device=device)
    viewed = case.viewed_tensor(source)
    out = rs.from_buffer(setting.destination, setting.dst, device=device)
    moved = useful_bytes(case)
    copied = min(max(_MIN_COPIED, 1 << (moved - 1).bit_length()), _MAX_COPIED)
    runtime = device.runtime
    src, dst = runtime.allocate(copied), runtime.allocate(copied)
    # The bytes are not zeros, which a driver may recognise and treat specially.
    runtime.write(src, 0, np.resize(poison(1 << 20), copied).data)
    operation = Batch(lambda: case.operation.call(case, viewed, out), device.wait, started)
    copy = Batch(lambda: runtime.copy(src, dst, copied), device.wait, started)
    rounds = [(operation.seconds(), copy.seconds()) for _ in range(BATCHES)]
    seconds, copy_seconds = (median(column) for column in zip(*rounds, strict=True))
    rate = moved / seconds
    return Speed(seconds, rate / 1e9, rate / (2 * copied / copy_seconds))


def useful_bytes(case: Case) -> int:
    """Bytes of the elements that a case must read and write, each counted once, whatever their layout.

    slice, reorder: one source element per element written, even where zero strides repeat it; with ``sum_scale`` also
    one old element of the destination.
    resample: along each axis the elements that the result or its window spans, but at most one per element written
    (nearest), two (linear) or four (cubic): ``u8[100] -> u8[20]`` linear reads 40 and writes 20 bytes,
    ``u8[100] -> u8[400]`` reads 100 and writes 400. Mode area, ``antialias`` and ``like`` need the whole span.
    resample_backward: the whole gradient; yuv_to_rgb: whole frames.
    """
    passes = 2 if case.get("sum_scale") is not None else 1
    read = case.operation.elements_read(case)
    return read * case.src.dtype.itemsize + passes * case.dst.numel * case.dst.dtype.itemsize
