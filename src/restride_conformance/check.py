"""Run a case on a device between guard bytes, and judge every byte of both buffers afterwards.

A case is skipped if it does not fit the device or this machine's memory, by estimates made before any allocation.
The message of a failure lists the first wrong elements by index, value and bits, and the first changed bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from math import prod
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from restride.dtypes import Array
from restride.errors import DeviceLost, DeviceTimeout, RestrideError, UnsupportedError
from restride.reference.comparison import bits_of
from restride.reference.memory import element_bytes
from restride.tensor.device import Device
from restride_conformance.case import Case
from restride_conformance.operations import is_arithmetic
from restride_conformance.record import FLUSHED, Outcome, Verdict
from restride_conformance.report import pictures
from restride_conformance.run.tally import Tally, difference, digest
from restride_conformance.run.ways import IN_BATCH, start, start_in_batch
from restride_conformance.setting import Setting, buffer_bytes, elements_of, guards, is_right, mistrusted, prepare

SHOWN = 5
"""Maximum number of wrong elements or bytes that a message lists."""

_HOST_BYTES = 12
"""Bytes of the host per byte of a buffer or array: fills hash 64-bit words, and the place of each byte is an int64."""

_CONVERSION_BYTES = 16
"""Bytes of the host per computed element: at most two 64-bit numbers at a time."""

_COORDINATE_BYTES = 600
"""Bytes of the host per index of a resampled axis: its coordinate and both of its weights are Python fractions."""

_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Files with a container's memory limit in bytes, for cgroup versions 2 and 1; ``max`` or a huge number: no limit."""


def run_case(
    case: Case,
    device: Device,
    *,
    started: Callable[[], None] = lambda: None,
    judging: Callable[[], None] = lambda: None,
    keep: Path | None = None,
    replay: int = 1,
    in_batch: bool = False,
) -> Outcome:
    """Run ``case`` on ``device`` and judge what it did.

    Args:
        case: the problem.
        device: where it runs.
        started: called once the inputs and the answer are ready, just before the device starts; again before each
            further run.
        judging: called once the device's results have been read back, just before they are judged.
        keep: a file for the raw bytes of the destination's buffer after the run.
        replay: how many times its command buffers are submitted; FLAKY if the results are not alike.
        in_batch: if it is right, run it among other work in one batch too; FAILED if that has another result.

    Raises:
        DeviceLost, DeviceTimeout: the device is unusable now; the caller decides the verdict.
    """
    begin = perf_counter()
    reason = why_not(case, device, copies=IN_BATCH + 1 if in_batch else 1)
    if reason:
        outcome = Outcome(str(case), Verdict.SKIPPED, reason)
    else:
        try:
            setting = prepare(case)
            outcome, after = _run(case, setting, device, started, judging, replay)
            if after is not None and keep is not None:
                keep.write_bytes(after.data)
            if after is not None and in_batch and outcome.verdict.is_right:
                outcome = _run_in_batch(case, setting, device, started, judging, after) or outcome
        except (DeviceLost, DeviceTimeout):
            raise
        except UnsupportedError as error:
            outcome = Outcome(str(case), Verdict.UNIMPLEMENTED, str(error))
        except RestrideError as error:
            outcome = Outcome(str(case), Verdict.FAILED, f"{type(error).__name__}: {error}")
    return replace(outcome, seconds=perf_counter() - begin)


def _run(
    case: Case,
    setting: Setting,
    device: Device,
    started: Callable[[], None],
    judging: Callable[[], None],
    replay: int,
) -> tuple[Outcome, Array | None]:
    """The outcome of all replays, and the destination's bytes after the first; None if the call itself was wrong."""
    started()
    with closing(start(case, setting, device, keeps=replay > 1)) as running:
        source, first = running.read()
        judging()
        if running.fault:
            return Outcome(str(case), Verdict.FAILED, running.fault), None
        outcome = judge(case, setting, source, first)
        if replay == 1:
            return outcome, first
        tally = Tally("replays")
        tally.add(outcome, first)
        judged = {digest(source, first): outcome}
        for _ in range(1, replay):
            started()
            running.replay()
            source, after = running.read()
            judging()
            known = digest(source, after)
            if known not in judged:
                judged[known] = judge(case, setting, source, after)
            tally.add(judged[known], after)
    return tally.outcome(), first


def _run_in_batch(
    case: Case,
    setting: Setting,
    device: Device,
    started: Callable[[], None],
    judging: Callable[[], None],
    alone: Array,
) -> Outcome | None:
    """The outcome of a case that is right alone, if it is wrong in a batch or has other bytes; else None."""
    started()
    buffers = [running.read() for running in start_in_batch(case, setting, device)]
    judging()
    for source, after in buffers:
        outcome, differs = judge(case, setting, source, after), difference(alone, after)
        if differs or not outcome.verdict.is_right:
            lines = [
                f"right alone, {'another result' if outcome.verdict.is_right else 'wrong'} in a batch",
                f"first differing bytes: {differs}" if differs else "",
                outcome.message,
            ]
            return replace(outcome, verdict=Verdict.FAILED, message="\n".join(filter(None, lines)))
    return None


def judge(case: Case, setting: Setting, source: Array, destination: Array) -> Outcome:
    """Compare both raw buffers after the run with what they must be.

    Elements must match bit for bit where the operation is exact, else lie within the answer's limits, and be NaN where
    NaN is expected. Padding of a whole layout must hold the padding value, or zeros in tiles and blocks. Every other
    byte of the destination, and the whole source, must be unchanged. A case that passes all this is still MISTRUSTED
    if its data prove nothing.
    """
    for which, before, now in (("source", setting.source, source), ("destination", setting.destination, destination)):
        if now.shape != before.shape:
            message = f"the {which} buffer has {now.size} bytes after the run, {before.size} before"
            return Outcome(str(case), Verdict.FAILED, message)
    nbytes = [case.src.nbytes, case.dst.nbytes]
    nbytes = [max(nbytes)] * 2 if case["out"] == "same" else nbytes
    src, dst = (range(before, before + size) for before, size in zip(guards(case), nbytes, strict=True))
    findings = changed_bytes("source", setting.source, source, np.ones(source.size, np.bool_), src)
    actual = elements_of(setting, destination)
    right = is_right(case, setting, actual)
    findings += wrong_elements(case, setting, actual, right)
    findings += wrong_padding(setting, destination)
    findings += changed_bytes("destination", setting.destination, destination, ~setting.written, dst)
    if not findings:
        doubt = mistrusted(case, setting)
        return Outcome(
            str(case), Verdict.MISTRUSTED if doubt else Verdict.PASSED, doubt or _as_flushed(setting, actual)
        )
    # Right elements are drawn as they came, even within an interval, so that only wrong ones show as a difference.
    drawn = pictures.draw(case, np.where(right, actual, setting.lowest), actual)
    wrong = pictures.draw_wrong(right, bits_of(elements_of(setting, setting.destination)) == bits_of(actual))
    return Outcome(str(case), Verdict.FAILED, "\n".join(findings), pictures=drawn, wrong=wrong)


def _as_flushed(setting: Setting, actual: Array) -> str:
    """A message: how many elements match a device that flushes f32 denormals to zero; empty if none do.

    Only elements count whose lower and upper limit differ.
    """
    if setting.flushed is None:
        return ""
    telling = bits_of(setting.lowest) != bits_of(setting.highest)
    as_flushed = int((telling & (bits_of(actual) == bits_of(setting.flushed))).sum())
    if not as_flushed:
        return ""
    return f"{as_flushed} of {telling.size} elements are {FLUSHED}"


# Checks whether a case fits the device and the host.


def why_not(case: Case, device: Device, copies: int = 1) -> str:
    """The reason why ``case`` cannot run on ``device`` and this machine; empty if it can.

    copies: how many copies of the case's buffers there are at one time.
    """
    buffers = [buffer_bytes(desc.nbytes) for desc in (case.src, case.dst)]
    limits, heap, taken = device.limits, device.info.heap_bytes, copies * sum(buffers)
    if taken > heap // 2:
        several = f", {copies} times," if copies > 1 else ""
        return f"its buffers{several} take {taken:,} bytes, more than half of the device's {heap:,}"
    if limits.offset_alignment == 0 and max(buffers) > limits.max_buffer_range:
        return (
            f"a buffer of {max(buffers):,} bytes exceeds the {limits.max_buffer_range:,} that a binding may cover, and "
            f"this runtime binds whole buffers only"
        )
    needed = host_bytes(case) + taken - sum(buffers)
    if needed > _available():
        return f"it takes about {needed:,} bytes of host memory, more than half of what this machine has"
    return ""


def host_bytes(case: Case) -> int:
    """Estimate the bytes of host memory that filling, answering and judging take."""
    itemsize = max(case.src.dtype.itemsize, case.dst.dtype.itemsize)
    on_the_way = 0 if case.view is None else case.view.most_elements(case.src.sizes)
    arrays = [case.src.numel, on_the_way, prod(case.viewed), case.dst.numel]
    nbytes = case.src.nbytes + case.dst.nbytes + sum(arrays) * itemsize
    if case.src.dtype != case.dst.dtype or is_arithmetic(case):
        nbytes += case.dst.numel * _CONVERSION_BYTES
    if case.op.startswith("resample") and len(case.viewed) == case.dst.rank:
        # Axes are resampled one after the other, so no array in between exceeds the larger size along each axis.
        nbytes += prod(map(max, case.viewed, case.dst.sizes)) * (itemsize if case.operation.is_exact(case) else 8)
        resampled = sum(max(old, new) for old, new in zip(case.viewed, case.dst.sizes, strict=True) if old != new)
        return nbytes * _HOST_BYTES + resampled * _COORDINATE_BYTES
    return nbytes * _HOST_BYTES


def _available() -> int:
    """Half of the bytes of memory that this machine or container has; 2^62 if the system does not tell."""
    known = [1 << 63]
    with suppress(AttributeError, ValueError, OSError):
        known.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for file in _CGROUP_LIMITS:
        with suppress(ValueError, OSError):
            known.append(int(file.read_text(encoding="ascii")))
    return min(known) // 2


# Messages that say what is wrong.


def wrong_elements(case: Case, setting: Setting, actual: Array, right: Array) -> list[str]:
    """List the elements of ``actual`` that are not ``right``, and the limits of their right values.

    Wrong elements that are as before the run were never written, which is the most useful fact about a kernel. It is
    stated only if at least a quarter are: one byte in 256 is unchanged by chance. An element that lies elsewhere in the
    buffers tells which index is wrong.
    """
    places = np.argwhere(~right)
    before = elements_of(setting, setting.destination)
    untouched = int((~right & (bits_of(before) == bits_of(actual))).sum())
    findings = []
    for row in places[:SHOWN].tolist():
        place = tuple(row)
        expected = _expected(actual[place], setting.lowest[place], setting.highest[place])
        found = _found(setting, before, actual, place)
        findings.append(f"element {place} is {_element_text(actual, place)}, expected {expected}{found}")
    if findings and not case.operation.is_exact(case):
        findings.append(f"the limits are {case.operation.tolerance(case)}")
    never = ""
    if untouched * 4 >= len(places) > 0:
        never = ", none of them written" if untouched == len(places) else f", {untouched} of them not written"
    return _with_count(findings, len(places), actual.size, f"elements are wrong{never}")


def _found(setting: Setting, before: Array, actual: Array, place: tuple[int, ...]) -> str:
    """Where else a wrong element's bits are, such as ``: what source element (0, 2) holds``; "" if that is unclear.

    before: the destination's elements before the run. A source element is named if it is the only one with these bits;
    if there is none, a place between or around the source's elements is named if it is the only one.
    """
    bits = bits_of(actual)[place]
    if bits == bits_of(before)[place]:
        return ": its value before the run"
    if setting.src.dtype != setting.dst.dtype or not setting.src.numel:
        return ""
    at, size = element_bytes(setting.src)[..., 0], setting.src.dtype.itemsize
    held = setting.source[: setting.source.size // size * size].view(bits.dtype)
    same = np.flatnonzero(held == bits) * size
    elements = np.argwhere(np.isin(at, same))
    if len(elements) == 1:
        return f": what source element {tuple(elements[0].tolist())} holds"
    if len(elements) or len(same) != 1:
        return ""
    where = "before" if same[0] < at.min() else "behind" if same[0] > at.max() else "between"
    return f": what the source's buffer holds {where} its elements"


def wrong_padding(setting: Setting, after: Array) -> list[str]:
    """List the bytes of the padding that are wrong after the run; the layout begins at byte 0 of the buffer."""
    places = np.flatnonzero((setting.padded != after) & setting.padding)
    findings = [
        f"byte {place} of the destination (padding) is 0x{after[place]:02x}, expected 0x{setting.padded[place]:02x}"
        for place in places[:SHOWN].tolist()
    ]
    return _with_count(findings, len(places), int(np.count_nonzero(setting.padding)), "bytes of padding are wrong")


def changed_bytes(which: str, before: Array, after: Array, compared: Array, body: range) -> list[str]:
    """List the bytes in the mask ``compared`` that the run changed.

    ``body`` is the range between the guards, and bytes are counted from its start.
    """
    places = np.flatnonzero((before != after) & compared)
    findings = []
    for place in places[:SHOWN].tolist():
        kind = "element or padding" if place in body else "guard"
        at = f"byte {place - body.start} of the {which} ({kind})"
        findings.append(f"{at} must not change: was 0x{before[place]:02x}, is 0x{after[place]:02x}")
    return _with_count(findings, len(places), before.size, f"bytes of the {which} changed")


def _with_count(findings: list[str], wrong: int, total: int, what: str) -> list[str]:
    return [f"{wrong} of {total} {what}", *findings] if findings else []


def _expected(element: Any, lowest: Any, highest: Any) -> str:
    """The expected value, or the interval and how far ``element`` is above or below it."""
    if bits_of(lowest) == bits_of(highest):
        return _element_text(lowest, ())
    value, low, high = float(element), float(lowest), float(highest)
    away = f", {value - high:g} above" if value > high else f", {low - value:g} below" if value < low else ""
    return f"{_element_text(lowest, ())} to {_element_text(highest, ())}{away}"


def _element_text(elements: Any, place: tuple[int, ...]) -> str:
    """An element and its bits: ``1.5 (0x3fc00000)``.

    The bits are read from the array, because numpy turns any nonzero byte of a pred into True when it is taken out.
    """
    return f"{elements[place]} (0x{int(bits_of(elements)[place]):0{2 * elements.dtype.itemsize}x})"
