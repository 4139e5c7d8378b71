"""What is wrong in a buffer, in words: the first wrong elements by index, value and bits, the first changed bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from restride_conformance.case import Case
from restride_conformance.operations import OPERATIONS

SHOWN = 5  # mismatches that a message lists

Array = np.ndarray[Any, Any]


def wrong_elements(case: Case, before: Array, actual: Array, lowest: Array, highest: Array, right: Array) -> list[str]:
    """The elements of ``actual`` that are not ``right``, and between which values they should lie.

    Those that are as ``before`` the run were never written, the most useful thing to know of a kernel; unless they are
    few: one byte in 256 is what it was by chance.
    """
    places = np.argwhere(~right)
    untouched = int((~right & (bits_of(before) == bits_of(actual))).sum())
    findings = []
    for row in places[:SHOWN].tolist():
        place = tuple(row)
        expected = _expected(actual[place], lowest[place], highest[place])
        findings.append(f"element {place} is {_shown(actual, place)}, expected {expected}")
    if findings and not OPERATIONS[case.op].is_exact(case):
        findings.append(f"the limits are {OPERATIONS[case.op].tolerance(case)}")
    never = ""
    if untouched * 4 >= len(places) > 0:
        never = ", none of them written" if untouched == len(places) else f", {untouched} of them not written"
    return _counted(findings, len(places), actual.size, f"elements are wrong{never}")


def wrong_padding(right: Array, after: Array, padding: Array) -> list[str]:
    """Bytes of ``padding``, in a buffer that begins with its layout, that are not ``right``."""
    places = np.flatnonzero((right != after) & padding)
    findings = [
        f"byte {place} of the destination (padding) is 0x{after[place]:02x}, expected 0x{right[place]:02x}"
        for place in places[:SHOWN].tolist()
    ]
    return _counted(findings, len(places), int(np.count_nonzero(padding)), "bytes of padding are wrong")


def changed_bytes(which: str, before: Array, after: Array, compared: Array, body: range) -> list[str]:
    """Bytes among ``compared`` that the run changed, counted from the beginning of ``body``, between the guards."""
    places = np.flatnonzero((before != after) & compared)
    findings = []
    for place in places[:SHOWN].tolist():
        kind = "element or padding" if place in body else "guard"
        at = f"byte {place - body.start} of the {which} ({kind})"
        findings.append(f"{at} must not change: was 0x{before[place]:02x}, is 0x{after[place]:02x}")
    return _counted(findings, len(places), before.size, f"bytes of the {which} changed")


def _counted(findings: list[str], wrong: int, total: int, what: str) -> list[str]:
    return [f"{wrong} of {total} {what}", *findings] if findings else []


def _expected(element: Any, lowest: Any, highest: Any) -> str:
    """What would be right, and how far ``element`` is from it where that is a distance."""
    if bits_of(lowest) == bits_of(highest):
        return _shown(lowest, ())
    value, low, high = float(element), float(lowest), float(highest)
    away = f", {value - high:g} above" if value > high else f", {low - value:g} below" if value < low else ""
    return f"{_shown(lowest, ())} to {_shown(highest, ())}{away}"


def _shown(elements: Any, place: tuple[int, ...]) -> str:
    """An element and its bits: ``1.5 (0x3fc00000)``. Bits of the array: a pred taken out of it is 0 or 1 at once."""
    return f"{elements[place]} (0x{int(bits_of(elements)[place]):0{2 * elements.dtype.itemsize}x})"


def bits_of(elements: Any) -> Array:
    """Elements as unsigned integers of their size."""
    return np.asarray(elements).view(f"u{elements.dtype.itemsize}")
