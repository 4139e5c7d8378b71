"""Both buffers of a case before the run, the right answer, and whether it proves anything. Needs no device.

    | guard bytes | the case's buffer: offset, elements, padding between them | guard bytes |

Tiles, padded sizes and blocks begin where their buffer does, so both guards lie behind those, and views of them.

The guards, the padding and the destination before the run hold poison, a function of the byte's position; where a byte
of it would be right, its inverse. So it shows when padding of the source is read, or when a byte of the destination is
not written. A destination that is added to the answer holds numbers, and its padding must stay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from restride.layout import TensorDesc
from restride.reference import from_buffer, to_buffer
from restride.reference.memory import element_bytes
from restride_conformance import fill
from restride_conformance.case import Case
from restride_conformance.operations import (
    answer,
    is_in_place,
    keeps_padding,
    makes_destination,
    origins,
    source_values,
)

GUARD_BYTES = 4096
"""Least bytes before and behind a case's buffer that nothing may change: whole elements of every type, and more than
the 512 words that a work group handles, so that one invocation or group too many is seen."""

_ATTEMPTS = 16
_ANOTHER = "another seed may prove more"
_OLD_SEED = 0x01D  # added to the seed for the destination's elements before the run
_FEW = 64  # elements: half of more than these do not come out the same by chance, not even truth values

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Setting:
    """Both buffers before the run, and the answer: raw bytes with guards, and descriptors that count the guard.

    places: where in the destination's buffer each byte of each element lies.
    padding: which bytes there the operation must write beside its elements: those of a whole layout.
    padded: the destination's buffer with these bytes right.
    flushed: which elements come out otherwise on a device that takes denormals of f32 for zeros, and how.
    """

    src: TensorDesc
    dst: TensorDesc
    source: Array
    destination: Array
    lowest: Array
    highest: Array
    places: Array
    padding: Array
    padded: Array
    flushed: Array | None = None


def prepare(case: Case) -> Setting:
    """Fill the buffers of a case and compute its answer; needs no device.

    Of few elements chance may make data that prove nothing, such as two equal ones: then the values are those of a seed
    2^32 higher, and so on, 16 times at most. So ``--seed N`` finds no fault with a device that is right.

    Raises:
        DescriptorError: the case asks for something its operation does not do.
        UnsupportedError: for something it may do one day.
    """
    setting = _filled(case, source_values(case))
    attempts = _ATTEMPTS if case["data"] is None and case.dst.numel <= _FEW else 1
    for attempt in range(1, attempts):
        if not mistrusted(case, setting):
            break
        setting = _filled(case, source_values(replace(case, seed=(case.seed + (attempt << 32)) % (1 << 64))))
    return setting


def old_values(case: Case) -> Array | None:
    """The destination's elements before the run, in logical order, where the operation reads them: plain numbers."""
    if case.get("sum_scale") is None:
        return None
    dtype = case.dst.dtype
    return fill.plain(dtype, dtype, case.dst.numel, case.seed + _OLD_SEED).reshape(case.dst.sizes)


def _filled(case: Case, values: Array) -> Setting:
    is_same = case["out"] == "same"
    before_src, before_dst = guards(case)
    src = _moved(case.src, before_src)
    dst = case.dst if makes_destination(case) else _moved(case.dst, before_dst)
    nbytes = [buffer_bytes(case.src.nbytes), buffer_bytes(case.dst.nbytes)]
    source = fill.poison(max(nbytes) if is_same else nbytes[0], fill.POISON_SEED + 1)
    # Not by to_buffer, which would write the padding of a whole layout.
    source[element_bytes(src).reshape(-1)] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    destination = source if is_same else fill.poison(case.dst.nbytes if makes_destination(case) else nbytes[1])
    places, old = element_bytes(dst), from_buffer(source, src) if is_in_place(case) else old_values(case)
    if old is not None:
        destination[places.reshape(-1)] = np.ascontiguousarray(old).reshape(-1).view(np.uint8)
    # Read back, because elements that share a place (zero strides) hold one value.
    right = answer(case, from_buffer(source, src), old)
    padded = to_buffer(right.lowest, dst, destination.copy())
    padding = np.zeros(destination.size, np.bool_)
    padding[: dst.nbytes] = dst.is_whole and not keeps_padding(case)
    padding[places] = False
    setting = Setting(
        src, dst, source, destination, right.lowest, right.highest, places, padding, padded, right.flushed
    )
    if old is None:
        early = is_right(case, setting, elements_of(setting, destination))
        destination[places[early]] ^= 0xFF
    destination[padding & (destination == padded)] ^= 0xFF
    return setting


def buffer_bytes(nbytes: int) -> int:
    """Bytes of a buffer with both guards; an empty tensor has nothing between them.

    A multiple of 4 KiB, so most have one of a few sizes: kompute makes a pipeline for a kernel and its buffers, and
    reuses it where the next case gets the same ones.
    """
    return (-(-nbytes // GUARD_BYTES) + 2) * GUARD_BYTES


def guards(case: Case) -> tuple[int, int]:
    """Guard bytes before the source and before the destination; in one buffer both are counted from one place.

    None lie before tiles, padded sizes and blocks, which begin where their buffer does.
    """
    src, dst = (0 if desc.blocking is not None else GUARD_BYTES for desc in (case.src, case.dst))
    return (min(src, dst),) * 2 if case["out"] == "same" else (src, dst)


def _moved(desc: TensorDesc, before: int) -> TensorDesc:
    """The descriptor in a buffer that begins with ``before`` bytes of guard."""
    if not before:
        return desc
    return TensorDesc(desc.dtype, desc.sizes, desc.strides, desc.offset + before // desc.dtype.itemsize)


def elements_of(setting: Setting, destination: Array) -> Array:
    """The elements that a destination's buffer holds."""
    raw: Array = destination[setting.places.reshape(-1)].view(setting.dst.dtype.dtype)
    return raw.reshape(setting.dst.sizes)


def is_right(case: Case, setting: Setting, elements: Array) -> Array:
    """Which ``elements`` of the destination are right, one truth value each."""
    lowest, highest = setting.lowest, setting.highest
    if case.operation.is_exact(case):
        equal: Array = bits_of(elements) == bits_of(lowest)
        return equal
    with np.errstate(invalid="ignore"):  # poison may hold a signalling NaN
        values, low, high = (array.astype(np.float64) for array in (elements, lowest, highest))
    not_a_number = np.isnan(values) & (np.isnan(low) | np.isnan(high))
    within = (low <= values) & ((values <= high) | np.isnan(high)) | not_a_number
    one = (bits_of(lowest) == bits_of(highest)) & ~np.isnan(low)  # the sign of a zero counts
    return np.where(one, bits_of(elements) == bits_of(lowest), within)


def mistrusted(case: Case, setting: Setting) -> str:
    """Why a right answer proves nothing; empty if it proves something.

    The data prove nothing where more than an eighth of the destination would be right without a kernel, because its
    limits accept almost anything. Or where a wrong index along an axis may not show: the expected elements are the
    same at every index of it, bit for bit, though they come from different places of the source. An empty destination
    proves that its guards stay.
    """
    count = setting.lowest.size
    if not count:
        return ""
    untouched = int(is_right(case, setting, elements_of(setting, setting.destination)).sum())
    if untouched * 8 > count:
        return f"{untouched} of {count} elements would be right had nothing been written: {_ANOTHER}"
    bits = bits_of(setting.lowest)
    if alike := _axes_alike(bits):
        came_from = origins(case, element_bytes(case.src)[..., 0])
        if doubted := sorted(alike - _axes_alike(came_from)):
            return f"all elements along axis {doubted[0]} must be the same, wherever they come from: {_ANOTHER}"
    return ""


def _axes_alike(array: Array) -> set[int]:
    """The axes longer than 1 along which every element equals the one at index 0."""
    axes = (axis for axis, size in enumerate(array.shape) if size > 1)
    return {axis for axis in axes if (array == array.take([0], axis)).all()}


def bits_of(elements: Any) -> Array:
    """Elements as unsigned integers of their size."""
    return np.asarray(elements).view(f"u{elements.dtype.itemsize}")
