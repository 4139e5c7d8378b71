"""Run a case on a device between guard bytes, and judge every byte of both buffers afterwards.

    | 64 guard bytes | the case's buffer: offset, elements, padding between them | 64 guard bytes |

The guards, the padding and the destination before the run hold poison, a function of the byte's position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from restride.conformance import fill
from restride.conformance.case import Case
from restride.conformance.operations import OPERATIONS, answer, source_values
from restride.conformance.outcome import Outcome, Verdict
from restride.desc import TensorDesc
from restride.reference import from_buffer, to_buffer
from restride.reference.buffers import element_bytes

GUARD_BYTES = 64
SHOWN = 5  # mismatches that a message lists

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Setting:
    """Both buffers before the run, and the answer: raw bytes with guards, and descriptors that count the guard."""

    src: TensorDesc
    dst: TensorDesc
    source: Array
    destination: Array
    lowest: Array
    highest: Array


def prepare(case: Case) -> Setting:
    """Fill the buffers of a case and compute its answer; needs no device.

    Raises:
        DescriptorError: the case asks for something its operation does not do.
    """
    src, dst = _guarded(case.src), _guarded(case.dst)
    source = to_buffer(source_values(case), src, fill.poison(_whole(src), fill.POISON_SEED + 1))
    # Read back, because elements that share a place (zero strides) hold one value.
    lowest, highest = answer(case, from_buffer(source, src))
    destination = fill.poison(_whole(dst))
    return Setting(src, dst, source, destination, lowest, highest)


def run_case(case: Case, device: Any) -> Outcome:
    """Run ``case`` on ``device`` (a ``restride.Device``) and judge what it did.

    Raises:
        RestrideError: the operation refused the case, or the device failed; the verdict is then the caller's.
    """
    import restride as rs

    setting = prepare(case)
    source = rs.from_buffer(setting.source, setting.src, device=device)
    out = rs.from_buffer(setting.destination, setting.dst, device=device)
    OPERATIONS[case.op].call(case, source, out)
    return judge(case, setting, source.buffer(), out.buffer())


def judge(case: Case, setting: Setting, source: Array, destination: Array) -> Outcome:
    """Compare both raw buffers after the run with what they must be.

    Elements: bit for bit where the operation is exact, else within the answer's limits, NaN where NaN is due. Every
    other byte of the destination, and the whole source, must be as before.
    """
    findings = [
        *_changed_bytes("source", setting.source, source, np.ones(setting.source.size, np.bool_)),
        *_wrong_elements(case, setting, destination),
    ]
    outside = np.ones(setting.destination.size, np.bool_)
    outside[element_bytes(setting.dst)] = False
    findings += _changed_bytes("destination", setting.destination, destination, outside)
    if not findings:
        return Outcome(case, Verdict.PASSED)
    return Outcome(case, Verdict.FAILED, "\n".join(findings))


def _guarded(desc: TensorDesc) -> TensorDesc:
    """The descriptor in a buffer that begins with a guard; 64 bytes are whole elements of every type."""
    return TensorDesc(desc.dtype, desc.sizes, desc.strides, desc.offset + GUARD_BYTES // desc.dtype.itemsize)


def _whole(guarded: TensorDesc) -> int:
    """Bytes of the buffer with both guards; an empty tensor has nothing between them."""
    return max(guarded.nbytes, GUARD_BYTES) + GUARD_BYTES


def _wrong_elements(case: Case, setting: Setting, destination: Array) -> list[str]:
    if destination.size < setting.destination.size:
        return []  # _changed_bytes says so
    actual = from_buffer(destination, setting.dst)
    lowest, highest = setting.lowest, setting.highest
    if OPERATIONS[case.op].is_exact(case):
        wrong = _bits(actual) != _bits(lowest)
    else:
        values, low, high = (array.astype(np.float64) for array in (actual, lowest, highest))
        wrong = ~(((low <= values) & (values <= high)) | (np.isnan(low) & np.isnan(values)))
    places = np.argwhere(wrong)
    findings = [
        f"element {place} is {_shown(actual[place])}, expected {_expected(lowest[place], highest[place])}"
        for place in (tuple(int(axis) for axis in row) for row in places[:SHOWN])
    ]
    return _counted(findings, len(places), actual.size, "elements are wrong")


def _changed_bytes(which: str, before: Array, after: Array, compared: Array) -> list[str]:
    """Bytes among ``compared`` that the run changed."""
    if after.shape != before.shape:
        return [f"the {which} buffer has {after.size} bytes after the run, {before.size} before"]
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


def _expected(lowest: Any, highest: Any) -> str:
    if _bits(lowest) == _bits(highest):
        return _shown(lowest)
    return f"{_shown(lowest)} to {_shown(highest)}"


def _shown(element: Any) -> str:
    """The value and its bits: ``1.5 (0x3fc00000)``."""
    return f"{element} (0x{int(_bits(element)):0{2 * element.dtype.itemsize}x})"


def _bits(elements: Any) -> Array:
    return np.asarray(elements).view(f"u{elements.dtype.itemsize}")
