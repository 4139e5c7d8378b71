"""A run: of each workload every column is checked, then all are measured in turn, round by round."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from restride.errors import OutOfDeviceMemory
from restride.tensor.device import Device
from restride_bench import device_copy, own
from restride_bench.agreement import Disagreement, compare, failed
from restride_bench.offer import Measure, Offer, Peer
from restride_bench.tasks import Array, Relayout
from restride_bench.workload import Workload

OURS = "restride"
WARM_UP = 3
"""Rounds before the clock counts: the first dispatches compile."""

PAUSE = 0.002
"""Seconds after a library whose threads linger."""


@dataclass(frozen=True)
class Result:
    """Seconds of every round, by measure and column.

    disagreements: peers that were left out.
    skipped: why nothing was measured; empty if something was.
    """

    workload: Workload
    seconds: Mapping[Measure, Mapping[str, tuple[float, ...]]]
    disagreements: tuple[Disagreement, ...] = ()
    skipped: str = ""

    def median(self, measure: Measure, column: str = OURS) -> float | None:
        """Of the seconds; None where it was not measured."""
        times = self.seconds.get(measure, {}).get(column)
        return statistics.median(times) if times else None

    def fastest(self, measure: Measure, column: str = OURS) -> float | None:
        """Of the seconds; None where it was not measured."""
        return min(self.seconds.get(measure, {}).get(column, ()), default=None)

    def ratio(self, measure: Measure, column: str) -> float | None:
        """How many times as long as ``column`` restride takes."""
        ours, theirs = self.median(measure), self.median(measure, column)
        return ours / theirs if ours and theirs else None

    def speed(self, measure: Measure) -> float | None:
        """10^9 useful bytes a second."""
        ours = self.median(measure)
        return self.workload.nbytes / ours / 1e9 if ours else None


@dataclass
class Columns:
    """What is measured of one workload: offers by column, in the order in which they run."""

    offers: dict[str, Offer] = field(default_factory=dict)
    lingering: set[str] = field(default_factory=set)
    disagreements: list[Disagreement] = field(default_factory=list)


def run(
    workloads: Iterable[Workload],
    device: Device,
    peers: Sequence[Peer],
    measures: Sequence[Measure],
    repeat: int,
    finished: Callable[[Result], None] = lambda _: None,
) -> None:
    """Measure one workload after the other, whose tensors are gone before the next one's are made.

    Args:
        workloads: what to measure.
        device: where restride runs.
        peers: who else does.
        measures: which of them; "kernel" only where the device has a clock.
        repeat: rounds that count.
        finished: called with each result.
    """
    for workload in workloads:
        finished(_measured(workload, device, peers, measures, repeat))
        gc.collect()


def _measured(
    workload: Workload, device: Device, peers: Sequence[Peer], measures: Sequence[Measure], repeat: int
) -> Result:
    """One workload; skipped where it does not fit the device."""
    try:
        columns = columns_of(workload, device, peers, clock="kernel" in measures)
        return Result(workload, timed_rounds(columns, measures, repeat), tuple(columns.disagreements))
    except OutOfDeviceMemory as error:
        return Result(workload, {}, skipped=str(error))


def columns_of(workload: Workload, device: Device, peers: Sequence[Peer], *, clock: bool) -> Columns:
    """Every column of a workload, each checked once against restride's result."""
    source = workload.source()
    made = Columns()
    made.offers[OURS] = ours = own.offer(workload, source, device, clock=clock)
    expected = _result(ours)
    if isinstance(workload.task, Relayout):
        found = compare(workload, OURS, expected, source)
        made.disagreements += [found] if found else []
    made.offers[device_copy.NAME] = device_copy.offer(workload.nbytes, device, clock=clock)
    for rival in workload.rivals:
        made.offers[rival.name] = own.offer(rival, None, device, clock=clock)
    for peer in peers:
        try:
            offer = peer.offer(workload, source)
            if offer is None:
                continue
            wrong = _disagreement(workload, peer.name, offer, expected)
        except Exception as error:  # noqa: BLE001 - another library's, of any type
            made.disagreements.append(failed(workload, peer.name, error))
            continue
        if wrong is not None:
            made.disagreements.append(wrong)
            continue
        made.offers[peer.name] = offer
        made.lingering |= {peer.name} if peer.lingers else set()
    return made


def timed_rounds(
    columns: Columns, measures: Sequence[Measure], repeat: int, warm_up: int = WARM_UP
) -> dict[Measure, dict[str, tuple[float, ...]]]:
    """Seconds by measure and column. Every round runs all columns, so that other work on the machine meets them all."""
    steps = [
        (measure, column, step)
        for measure in measures
        for column, offer in columns.offers.items()
        if (step := _timer(offer, measure)) is not None
    ]
    found: dict[Measure, dict[str, list[float]]] = {measure: {} for measure in measures}
    for number in range(warm_up + repeat):
        for measure, column, step in steps:
            seconds = step()
            if number >= warm_up:
                found[measure].setdefault(column, []).append(seconds)
            if column in columns.lingering:
                time.sleep(PAUSE)
    return {
        measure: {column: tuple(times) for column, times in of_measure.items()} for measure, of_measure in found.items()
    }


def _timer(offer: Offer, measure: Measure) -> Callable[[], float] | None:
    """A function that does the work once and returns its seconds; None: not measured."""
    if measure == "kernel":
        return offer.kernel
    call = offer.resident if measure == "resident" else offer.numpy
    if call is None:
        return None

    def timed() -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    return timed


def _result(offer: Offer) -> Array:
    """What ``resident`` makes."""
    if offer.resident is None or offer.result is None:
        raise TypeError("an offer that is checked has a result")
    offer.resident()
    return offer.result()


def _disagreement(workload: Workload, name: str, offer: Offer, expected: Array) -> Disagreement | None:
    """Of both ways of a peer, each after its own first call."""
    wrong = compare(workload, name, _result(offer), expected, offer.slack)
    if wrong is None and offer.numpy is not None:
        wrong = compare(workload, name, offer.numpy(), expected, offer.slack)
    return wrong
