"""The table of the parts of a selftest, in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from restride_measure.selftest import checks, speeds
from restride_measure.selftest.part import Job, Part


class Row(NamedTuple):
    """A part. seconds: the time that it may use; it is killed ``GRACE`` later. function: run in another process."""

    name: str
    title: str
    seconds: float
    function: Callable[[Job], Part]


PARTS = (
    Row("installed", "what is installed", 20, checks.installed),
    Row("device", "the device", 10, checks.device),
    Row("smoke", "smoke cases", 60, checks.smoke),
    Row("copy", "the device's own copy", 15, speeds.copy),
    Row("speed", "workloads beside the copy", 40, speeds.speed),
    Row("transfers", "transfers", 20, speeds.transfers),
    Row("calls", "calls", 10, speeds.calls),
    Row("kernels", "which kernels are faster", 45, speeds.kernels),
    Row("ttc57", "transpositions", 30, speeds.ttc57),
    Row("large", "a tensor over 4 GiB", 30, checks.large),
    Row("cuda", "memory shared with CUDA", 40, checks.cuda),
    Row("ci", "cases drawn from ci", 60, checks.ci),
)
"""The parts. Parts that measure come early, while a GPU is cool; the last one uses whatever time is left."""

TOTAL = 300.0
"""Maximum seconds of all parts together: later parts get what is left."""

GRACE = 12.0
"""Seconds past its time after which a part is killed: a case that began in time may take ``checks.CASE_SECONDS``."""
