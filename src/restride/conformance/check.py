"""Run a case on a device between guard bytes, and judge every byte of both buffers afterwards.

    | 64 guard bytes | the case's buffer: offset, elements, padding between them | 64 guard bytes |

The guards, the padding and the destination before the run hold poison, a function of the byte's position.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from restride.conformance import fill
from restride.conformance.case import Case
from restride.conformance.operations import OPERATIONS, answer, source_values
from restride.conformance.outcome import Outcome, Verdict
from restride.conformance.report import pictures
from restride.conformance.room import GUARD_BYTES, buffer_bytes, why_not
from restride.desc import TensorDesc
from restride.errors import DeviceLost, DeviceTimeout, RestrideError, UnsupportedError
from restride.reference import from_buffer, to_buffer
from restride.reference.buffers import element_bytes

SHOWN = 5  # mismatches that a message lists
LEAST_TRUSTED = 8  # elements from which on a share of them is judged

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Setting:
    """Both buffers before the run, and the answer: raw bytes with guards, and descriptors that count the guard.

    places: where in the destination's buffer each byte of each element lies.
    """

    src: TensorDesc
    dst: TensorDesc
    source: Array
    destination: Array
    lowest: Array
    highest: Array
    places: Array


def prepare(case: Case) -> Setting:
    """Fill the buffers of a case and compute its answer; needs no device.

    Raises:
        DescriptorError: the case asks for something its operation does not do.
        UnsupportedError: for something it may do one day.
    """
    src, dst = _guarded(case.src), _guarded(case.dst)
    source = to_buffer(source_values(case), src, fill.poison(_whole(src), fill.POISON_SEED + 1))
    # Read back, because elements that share a place (zero strides) hold one value.
    lowest, highest = answer(case, from_buffer(source, src))
    destination = fill.poison(_whole(dst))
    return Setting(src, dst, source, destination, lowest, highest, element_bytes(dst))


def run_case(
    case: Case, device: Any, *, started: Callable[[], None] = lambda: None, keep: Path | None = None
) -> Outcome:
    """Run ``case`` on ``device`` (a ``restride.Device``) and judge what it did.

    Args:
        case: the problem.
        device: where it runs.
        started: called when the inputs and the answer are there, just before the device works.
        keep: a file for the raw bytes of the destination's buffer after the run.

    Raises:
        DeviceLost, DeviceTimeout: the device is of no more use; the verdict is the caller's.
    """
    start = perf_counter()
    reason = why_not(case, device)
    outcome = Outcome(case, Verdict.SKIPPED, reason) if reason else _run(case, device, started, keep)
    return replace(outcome, seconds=perf_counter() - start)


def _run(case: Case, device: Any, started: Callable[[], None], keep: Path | None) -> Outcome:
    import restride as rs

    try:
        setting = prepare(case)
        started()
        source = rs.from_buffer(setting.source, setting.src, device=device)
        # Poisoned by a copy on the device that the operation must wait for: a layer sees a barrier that is missing.
        poison = rs.from_buffer(setting.destination, setting.dst, device=device)
        out = rs.Tensor(device.runtime.allocate(poison.memory.nbytes), setting.dst, device)
        device.runtime.copy(poison.memory, out.memory, poison.memory.nbytes)
        before = device.counters().dispatches
        viewed = source if case.view is None else case.view.of_tensor(source)
        dispatched = device.counters().dispatches - before
        OPERATIONS[case.op].call(case, viewed, out)
        source_after, after = source.buffer(), out.buffer()
    except (DeviceLost, DeviceTimeout):
        raise
    except UnsupportedError as error:
        return Outcome(case, Verdict.UNIMPLEMENTED, str(error))
    except RestrideError as error:
        return Outcome(case, Verdict.FAILED, f"{type(error).__name__}: {error}")
    if keep is not None:
        keep.write_bytes(after.data)
    if dispatched:
        return Outcome(case, Verdict.FAILED, f"view {case.view} made {dispatched} dispatches; a view makes none")
    return judge(case, setting, source_after, after)


def judge(case: Case, setting: Setting, source: Array, destination: Array) -> Outcome:
    """Compare both raw buffers after the run with what they must be.

    Elements: bit for bit where the operation is exact, else within the answer's limits, NaN where NaN is due. Every
    other byte of the destination, and the whole source, must be as before. What is right may still prove nothing.
    """
    for which, before, now in (("source", setting.source, source), ("destination", setting.destination, destination)):
        if now.shape != before.shape:
            message = f"the {which} buffer has {now.size} bytes after the run, {before.size} before"
            return Outcome(case, Verdict.FAILED, message)
    findings = _changed_bytes("source", setting.source, source, np.ones(source.size, np.bool_))
    actual = _elements(setting, destination)
    right = is_right(case, setting, actual)
    findings += _wrong_elements(case, setting, actual, right)
    outside = np.ones(destination.size, np.bool_)
    outside[setting.places] = False
    findings += _changed_bytes("destination", setting.destination, destination, outside)
    if not findings:
        doubt = mistrusted(case, setting)
        return Outcome(case, Verdict.MISTRUSTED if doubt else Verdict.PASSED, doubt)
    # Where an answer is an interval, the right one nearest to what came: only what is wrong shows as a difference.
    drawn = pictures.draw(case, np.where(right, actual, setting.lowest), actual)
    return Outcome(case, Verdict.FAILED, "\n".join(findings), pictures=drawn)


def _elements(setting: Setting, destination: Array) -> Array:
    """The elements that a destination's buffer holds."""
    raw: Array = destination[setting.places.reshape(-1)].view(setting.dst.dtype.dtype)
    return raw.reshape(setting.dst.sizes)


def is_right(case: Case, setting: Setting, elements: Array) -> Array:
    """Which ``elements`` of the destination are right, one truth value each."""
    lowest, highest = setting.lowest, setting.highest
    if OPERATIONS[case.op].is_exact(case):
        equal: Array = _bits(elements) == _bits(lowest)
        return equal
    with np.errstate(invalid="ignore"):  # poison may hold a signalling NaN
        values, low, high = (array.astype(np.float64) for array in (elements, lowest, highest))
    within: Array = (low <= values) & (values <= high)
    return within | (np.isnan(low) & np.isnan(values))


def mistrusted(case: Case, setting: Setting) -> str:
    """Why a right answer proves nothing; empty if it proves something.

    The data prove nothing where the destination may be right without a kernel: of at least 8 elements more than an
    eighth, of fewer all, are right before the run, when they still hold poison. Or where a wrong index may not show:
    every expected element has the same bits, though they come from different places of the source. An empty destination
    proves that its guards stay.
    """
    count = setting.lowest.size
    if not count:
        return ""
    untouched = int(is_right(case, setting, _elements(setting, setting.destination)).sum())
    if untouched == count or (count >= LEAST_TRUSTED and untouched * 8 > count):
        return f"{untouched} of {count} elements would be right had nothing been written: another seed may prove more"
    bits = _bits(setting.lowest)
    if count > 1 and (bits == bits.reshape(-1)[0]).all():
        # What the operation makes of the places themselves differs where the places do; f32 is interpolated too.
        exact = OPERATIONS[case.op].is_exact(case)
        places = element_bytes(case.src)[..., 0] // case.src.dtype.itemsize
        came_from, _ = answer(case, places if exact else places.astype(np.float32))
        if (came_from != came_from.reshape(-1)[0]).any():
            return (
                f"all {count} elements must be {_shown(setting.lowest.reshape(-1)[0])}, wherever they come from: "
                f"another seed may prove more"
            )
    return ""


def _guarded(desc: TensorDesc) -> TensorDesc:
    """The descriptor in a buffer that begins with a guard; 64 bytes are whole elements of every type."""
    return TensorDesc(desc.dtype, desc.sizes, desc.strides, desc.offset + GUARD_BYTES // desc.dtype.itemsize)


def _whole(guarded: TensorDesc) -> int:
    return buffer_bytes(max(guarded.nbytes, GUARD_BYTES) - GUARD_BYTES)


def _wrong_elements(case: Case, setting: Setting, actual: Array, right: Array) -> list[str]:
    places = np.argwhere(~right)
    findings = []
    for row in places[:SHOWN].tolist():
        place = tuple(row)
        element, lowest, highest = actual[place], setting.lowest[place], setting.highest[place]
        findings.append(f"element {place} is {_shown(element)}, expected {_expected(element, lowest, highest)}")
    if findings and not OPERATIONS[case.op].is_exact(case):
        findings.append(f"the limits are {OPERATIONS[case.op].tolerance(case)}")
    return _counted(findings, len(places), actual.size, "elements are wrong")


def _changed_bytes(which: str, before: Array, after: Array, compared: Array) -> list[str]:
    """Bytes among ``compared`` that the run changed."""
    places = np.flatnonzero((before != after) & compared)
    body = range(GUARD_BYTES, before.size - GUARD_BYTES)
    findings = []
    for place in places[:SHOWN].tolist():
        kind = "element or padding" if place in body else "guard"
        at = f"byte {place - GUARD_BYTES} of the {which} ({kind})"
        findings.append(f"{at} must not change: was 0x{before[place]:02x}, is 0x{after[place]:02x}")
    return _counted(findings, len(places), before.size, f"bytes of the {which} changed")


def _counted(findings: list[str], wrong: int, total: int, what: str) -> list[str]:
    return [f"{wrong} of {total} {what}", *findings] if findings else []


def _expected(element: Any, lowest: Any, highest: Any) -> str:
    """What would be right, and how far ``element`` is from it where that is a distance."""
    if _bits(lowest) == _bits(highest):
        return _shown(lowest)
    value, low, high = float(element), float(lowest), float(highest)
    away = f", {value - high:g} above" if value > high else f", {low - value:g} below" if value < low else ""
    return f"{_shown(lowest)} to {_shown(highest)}{away}"


def _shown(element: Any) -> str:
    """The value and its bits: ``1.5 (0x3fc00000)``."""
    return f"{element} (0x{int(_bits(element)):0{2 * element.dtype.itemsize}x})"


def _bits(elements: Any) -> Array:
    return np.asarray(elements).view(f"u{elements.dtype.itemsize}")
