"""Run workloads: check every column against restride's result, then measure the columns in turn, round by round.

Work that moves elements or rounds once has one right answer, bit for bit. Sums have a tolerance: for floats, how far
f32 roundings can drive two correct libraries apart; for integers 1, because each library rounds its results, some after
sums with fixed-point weights.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from restride.command.stopwatch import Timer, copying, keep_awake, rounds, wait_until_idle
from restride.dtypes import Array
from restride.errors import OutOfDeviceMemory
from restride.tensor.device import Device
from restride_conformance.operations import arguments
from restride_conformance.record import Verdict
from restride_conformance.report.table import COPY, Measure
from restride_measure import own
from restride_measure.offer import Offer, Peer
from restride_measure.own import OURS, dispatched
from restride_measure.workloads import Workload

WARM_UP = 3
"""Number of first rounds that are not counted, because dispatches compile kernels in them."""


@dataclass(frozen=True)
class WorkloadTimes:
    """The measured times of a workload: seconds of every round, by measure and column.

    disagreements: columns with a wrong result; wrong peers are not measured.
    skipped: the reason why nothing was measured; empty if something was.
    """

    workload: Workload
    seconds: Mapping[Measure, Mapping[str, tuple[float, ...]]]
    disagreements: tuple[Disagreement, ...] = ()
    skipped: str = ""

    @property
    def verdict(self) -> Verdict:
        """FAILED if a column is wrong, SKIPPED if nothing was measured."""
        return Verdict.SKIPPED if self.skipped else Verdict.FAILED if self.disagreements else Verdict.PASSED

    @property
    def message(self) -> str:
        """Why it is not PASSED; empty if it is."""
        return self.skipped or "\n".join(map(str, self.disagreements))

    def median(self, measure: Measure, column: str = OURS) -> float | None:
        """The median of the seconds; None if not measured."""
        times = self.seconds.get(measure, {}).get(column)
        return statistics.median(times) if times else None

    def fastest(self, measure: Measure, column: str = OURS) -> float | None:
        """The smallest of the seconds; None if not measured."""
        return min(self.seconds.get(measure, {}).get(column, ()), default=None)

    def ratio(self, measure: Measure, column: str) -> float | None:
        """Median time of restride divided by that of ``column``; None if either was not measured."""
        ours, theirs = self.median(measure), self.median(measure, column)
        return ours / theirs if ours and theirs else None


@dataclass
class Columns:
    """The columns of one workload: offers by name.

    keep_awake: called before each round; see ``stopwatch.keep_awake``.
    """

    offers: dict[str, Offer] = field(default_factory=dict)
    lingering: set[str] = field(default_factory=set)
    disagreements: list[Disagreement] = field(default_factory=list)
    keep_awake: Callable[[int], object] = lambda _: None


def run(
    workloads: Iterable[Workload],
    device: Device,
    peers: Mapping[str, Peer],
    measures: Sequence[Measure],
    repeat: int,
    warm_up: int = WARM_UP,
) -> Iterator[WorkloadTimes]:
    """Measure the workloads one after the other, freeing the tensors of each before the next.

    Args:
        workloads: the workloads; one that does not fit into the device's memory is skipped.
        device: the device for restride.
        peers: the other libraries, by the names of their columns.
        measures: the measures to take; "kernel" only if the device has a clock.
        repeat: rounds that count.
        warm_up: rounds before these.
    """

    def measured(workload: Workload) -> WorkloadTimes:
        columns = columns_of(workload, device, peers)
        seconds = timed_rounds(columns, measures, repeat, warm_up)
        return WorkloadTimes(workload, seconds, tuple(columns.disagreements))

    for workload in workloads:
        try:
            result = measured(workload)
        except OutOfDeviceMemory as error:
            result = WorkloadTimes(workload, {}, skipped=str(error))
        gc.collect()
        yield result


def columns_of(workload: Workload, device: Device, peers: Mapping[str, Peer]) -> Columns:
    """Prepare every column of a workload; check each peer once against restride's result, and moves against numpy."""
    source = workload.source()
    columns = Columns(keep_awake=keep_awake(device))
    columns.offers[OURS] = ours = own.offer(workload, source, device)
    expected = next(_results(ours))
    if (moved := _moved(workload, source)) is not None:
        wrong = compare(workload, OURS, expected, moved)
        columns.disagreements += [wrong] if wrong else []
    columns.offers[COPY] = dispatched(device, copying(workload.nbytes, device))
    if (rival := workload.rival) is not None:
        columns.offers[rival.name] = replace(own.offer(rival, rival.source(), device), numpy=None)
    for name, peer in peers.items():
        try:
            offer = peer.offer(workload, source)
            wrong = None if offer is None else _disagreement(workload, name, offer, expected)
        except Exception as error:  # noqa: BLE001 - other libraries raise any type
            offer, wrong = None, failed(workload, name, error)
        if wrong is not None:
            columns.disagreements.append(wrong)
        elif offer is not None:
            columns.offers[name] = offer
            columns.lingering |= {name} if peer.lingers else set()
    return columns


def _moved(workload: Workload, source: Array) -> Array | None:
    """The right result of a workload that copies elements as they are; None for other workloads."""
    case = workload.case
    if case is None or case.op != "reorder" or case.src.dtype != case.dst.dtype or case["permute"] is not None:
        return None
    return case.viewed_array(source) if case.operation.is_exact(case) else None


def timed_rounds(
    columns: Columns, measures: Sequence[Measure], repeat: int, warm_up: int = WARM_UP
) -> dict[Measure, dict[str, tuple[float, ...]]]:
    """Seconds by measure and column, of ``rounds`` that run all columns.

    A column that drives the device through another API, and one after it, are called once more before they are timed:
    the device first switches from one program to the other, which takes 0.2 ms on an H100. After a column whose threads
    stay busy, the next one waits for them.
    """
    is_elsewhere = False

    def in_turn(column: str, timer: Callable[[], float]) -> Callable[[], float]:
        def timed() -> float:
            nonlocal is_elsewhere
            if columns.offers[column].is_elsewhere != is_elsewhere:
                is_elsewhere = not is_elsewhere
                timer()
            seconds = timer()
            if column in columns.lingering:
                wait_until_idle()
            return seconds

        return timed

    timers = {
        (measure, column): in_turn(column, timer)
        for measure in measures
        for column, offer in columns.offers.items()
        if (timer := _timer(offer, measure)) is not None
    }
    times: dict[Measure, dict[str, tuple[float, ...]]] = {measure: {} for measure in measures}
    taken = rounds(timers, repeat, warm_up=warm_up, begin=columns.keep_awake)
    for (measure, column), seconds in taken.items():
        times[measure][column] = seconds
    return times


def _timer(offer: Offer, measure: Measure) -> Callable[[], float] | None:
    """A function that does the work once and returns its seconds; None if the offer lacks this measure."""
    if measure == "kernel":
        return offer.kernel
    call = offer.numpy if measure == "numpy" else offer.resident
    if call is None:
        return None
    return Timer(call, clock=time.process_time if measure == "processor" else time.perf_counter)


def _results(offer: Offer) -> Iterator[Array]:
    """Yield the result of one call of ``resident``, then of one call of ``numpy``, if the offer has them."""
    if offer.resident is not None:
        if offer.result is None:
            raise TypeError("an offer with resident must have result, which is checked")
        offer.resident()
        yield offer.result()
    if offer.numpy is not None:
        yield offer.numpy()


def _disagreement(workload: Workload, name: str, offer: Offer, expected: Array) -> Disagreement | None:
    """The first wrong result of a peer, of ``resident`` or else of ``numpy``; None if both are right."""
    wrong = (compare(workload, name, result, expected, offer.slack) for result in _results(offer))
    return next(filter(None, wrong), None)


HALF_UNIT = 2.0**-24

_MAX_CHARACTERS = 300
"""Maximum number of characters that are shown of another library's message."""

_SLOPES = {"linear": 1.0, "cubic": 4.0}
"""Maximum change of a result when its coordinate moves by one element, as a multiple of the source's value range."""


@dataclass(frozen=True)
class Disagreement:
    """A wrong result: it differs by ``difference`` where ``tolerance`` is allowed; ``message``: another reason."""

    workload: str
    peer: str
    difference: float
    tolerance: float
    message: str = ""

    def __str__(self) -> str:
        why = self.message or f"differs by {self.difference:g}, and {self.tolerance:g} is allowed"
        return f"{self.peer} does not compute {self.workload!r}: {why}"


def compare(workload: Workload, peer: str, theirs: Array, ours: Array, slack: float = 0.0) -> Disagreement | None:
    """Compare two results of a workload; None if they agree within its tolerance plus ``slack``."""
    allowed = tolerance(workload) + slack
    if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
        message = f"its result is {theirs.dtype}{list(theirs.shape)}, not {ours.dtype}{list(ours.shape)}"
        return Disagreement(workload.name, peer, math.inf, allowed, message)
    difference = _difference(theirs, ours, exactly=not allowed)
    # The comparison is False for a NaN, which counts as a disagreement.
    return None if difference <= allowed else Disagreement(workload.name, peer, difference, allowed)


def failed(workload: Workload, peer: str, error: Exception) -> Disagreement:
    """The disagreement of a peer that raises an exception."""
    words = " ".join(str(error).split())
    return Disagreement(workload.name, peer, math.inf, 0.0, f"{type(error).__name__}: {words[:_MAX_CHARACTERS]}")


def tolerance(workload: Workload) -> float:  # noqa: PLR0911 - one for each operation
    """The maximum difference between two right results; 0 means that their bits must be equal."""
    case = workload.case
    if case is None or case.operation.is_exact(case):
        return 0.0
    numbers, sizes = arguments(case), case.viewed
    gain = float(np.max(numbers.get("src_scale", 1.0)) / np.min(numbers.get("dst_scale", 1.0)))
    match case.op:
        case "reorder" if "dst_zero_point" in numbers:
            # Each side rounds numbers of up to 255 * gain, four times each.
            return 8 * HALF_UNIT * 255 * gain
        case "resample" if not case.src.dtype.is_float:
            return 1.0
        case "resample":
            before, antialias = tuple(sizes[axis] for axis in case.integers("axes")), case["antialias"] == "yes"
            results = tuple(case.dst.sizes[axis] for axis in case.integers("axes"))
            taps = [_taps(size, result, antialias) for size, result in zip(before, results, strict=True)]
            peak, span = max(abs(workload.low), abs(workload.high)), workload.high - workload.low
            slope = 2.0 if antialias else _SLOPES[case.word("mode")]
            return span * slope * _coordinate_error(before) + 4 * peak * sum(taps) * HALF_UNIT
        case "crop_resize":
            # The error is that of a resize of bytes as f32, plus that of the normalization.
            image = [sizes[axis] for axis in case.integers("axes")]
            return (255 * _coordinate_error(image) + (4 * 255 * 8 + 8 * 255) * HALF_UNIT) * gain
        case "resample_backward":
            before = tuple(case.dst.sizes[axis] for axis in case.integers("axes"))
            results = tuple(sizes[axis] for axis in case.integers("axes"))
            terms = math.prod(2 * math.ceil(result / size) + 2 for size, result in zip(before, results, strict=True))
            # Weights are at most 1, and every sum has at most this many terms.
            return workload.high * terms * (_coordinate_error(before) + 2 * terms * HALF_UNIT)
        case _:
            return 0.0


def _coordinate_error(sizes: Sequence[int]) -> float:
    """Error of ``(i + 0.5) * step - 0.5`` in f32, summed over the axes: four roundings of numbers up to the size."""
    return sum(4 * size * HALF_UNIT for size in sizes)


def _taps(size: int, result: int, antialias: bool) -> int:
    return 2 * math.ceil(size / result) + 2 if antialias else 4


def _difference(theirs: Array, ours: Array, *, exactly: bool) -> float:
    """The largest difference. With ``exactly``, 0 only if all bits are equal; equal numbers with other bits: 5e-324."""
    if exactly and np.ascontiguousarray(theirs).tobytes() == np.ascontiguousarray(ours).tobytes():
        return 0.0
    largest = float(np.abs(theirs.astype(np.float64) - ours.astype(np.float64)).max(initial=0.0))
    return max(largest, math.ulp(0.0)) if exactly else largest
