"""Both buffers of a case before the run, the right answer, and whether it proves anything. Needs no device.

    | guard bytes | the case's buffer: offset, elements, padding between them | guard bytes |

Layouts with tiles, padded sizes or blocks, and views of them, begin at byte 0 of their buffer, so all of their guard
bytes come after them.

Before the run the guards, the padding and the destination hold poison, a function of the byte's position, inverted
where a byte of it would be right by chance. So reading padding of the source, or not writing a byte of the destination,
shows. A destination that ``sum_scale`` adds to the result holds numbers, and its padding must not change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from restride.dtypes import Array
from restride.layout import TensorDesc
from restride.reference import from_buffer, to_buffer
from restride.reference.comparison import bits_of, within
from restride.reference.memory import element_bytes
from restride_conformance import fill
from restride_conformance.case import Answer, Case
from restride_conformance.operations import (
    answer,
    is_in_place,
    keeps_padding,
    makes_destination,
    origins,
    source_values,
)

GUARD_BYTES = 4096
"""Minimum guard bytes before and after a case's buffer: whole elements of every type, and more than the 512 words that
a work group handles, so that one invocation or work group too many is noticed.
"""

_ATTEMPTS = 16
_ANOTHER = "another seed may prove more"
_OLD_SEED = 0x01D  # added to the seed with which the destination is filled before the run
_MAX_RETRIED_ELEMENTS = 64  # with more elements, chance alone cannot make a case prove nothing, even with pred


@dataclass(frozen=True, eq=False, kw_only=True)
class Setting(Answer):
    """Both buffers before the run, and the answer.

    src, dst: descriptors whose offset includes the guard bytes before the case's buffer.
    source, destination: raw bytes with guards.
    places: the position in the destination's buffer of each byte of each element.
    padding: a mask of the bytes of that buffer that the operation must write besides its elements: the padding of a
        whole layout.
    padded: the destination's buffer with the elements and that padding as they must be.
    """

    src: TensorDesc
    dst: TensorDesc
    source: Array
    destination: Array
    places: Array
    padding: Array
    padded: Array

    @property
    def written(self) -> Array:
        """A mask of the bytes of the destination's buffer that the operation must write: elements and ``padding``."""
        mask = self.padding.copy()
        mask[self.places] = True
        return mask


def prepare(case: Case) -> Setting:
    """Fill the buffers of a case and compute its answer; needs no device.

    A destination of at most 64 elements may by chance prove nothing, for example if two elements are equal. Then the
    values of a seed 2^32 higher are tried, up to 16 seeds, so that no ``--seed N`` makes a correct device fail.

    Raises:
        DescriptorError: the operation does not accept the case.
        UnsupportedError: the operation does not support the case yet.
    """
    setting = _setting_of(case, source_values(case))
    attempts = _ATTEMPTS if case["data"] is None and case.dst.numel <= _MAX_RETRIED_ELEMENTS else 1
    for attempt in range(1, attempts):
        if not mistrusted(case, setting):
            break
        setting = _setting_of(case, source_values(replace(case, seed=(case.seed + (attempt << 32)) % (1 << 64))))
    return setting


def old_values(case: Case) -> Array | None:
    """The destination's elements before the run, in logical order: plain numbers for ``sum_scale``, None without it."""
    if case.get("sum_scale") is None:
        return None
    dtype = case.dst.dtype
    return fill.plain(dtype, dtype, case.dst.numel, case.seed + _OLD_SEED).reshape(case.dst.sizes)


def _setting_of(case: Case, values: Array) -> Setting:
    is_same = case["out"] == "same"
    before_src, before_dst = guards(case)
    src = _behind_guard(case.src, before_src)
    dst = case.dst if makes_destination(case) else _behind_guard(case.dst, before_dst)
    nbytes = [buffer_bytes(case.src.nbytes), buffer_bytes(case.dst.nbytes)]
    source = fill.poison(max(nbytes) if is_same else nbytes[0], fill.POISON_SEED + 1)
    # to_buffer is not used, because it would also write the padding of a whole layout.
    source[element_bytes(src).reshape(-1)] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    destination = source if is_same else fill.poison(case.dst.nbytes if makes_destination(case) else nbytes[1])
    places, old = element_bytes(dst), from_buffer(source, src) if is_in_place(case) else old_values(case)
    if old is not None:
        destination[places.reshape(-1)] = np.ascontiguousarray(old).reshape(-1).view(np.uint8)
    # The source is read back, because elements that share an address (zero strides) have one value.
    right = answer(case, from_buffer(source, src), old)
    padded = to_buffer(right.lowest, dst, destination.copy())
    padding = np.zeros(destination.size, np.bool_)
    padding[: dst.nbytes] = dst.is_whole and not keeps_padding(case)
    padding[places] = False
    setting = Setting(
        **vars(right), src=src, dst=dst, source=source, destination=destination,
        places=places, padding=padding, padded=padded,
    )  # fmt: skip
    if old is None:
        early = is_right(case, setting, elements_of(setting, destination))
        destination[places[early]] ^= 0xFF
    destination[padding & (destination == padded)] ^= 0xFF
    return setting


def buffer_bytes(nbytes: int) -> int:
    """Bytes of a buffer for ``nbytes`` bytes and both guards.

    The result is a multiple of 4 KiB, so that most buffers have one of a few sizes: kompute builds a pipeline for a
    kernel with its buffers, and reuses it if the next case gets the same buffers.
    """
    return (-(-nbytes // GUARD_BYTES) + 2) * GUARD_BYTES


def guards(case: Case) -> tuple[int, int]:
    """Guard bytes before the source and before the destination; the same number if they share a buffer.

    It is 0 before tiles, padded sizes and blocks, which begin at byte 0 of their buffer.
    """
    src, dst = (0 if desc.blocking is not None else GUARD_BYTES for desc in (case.src, case.dst))
    return (min(src, dst),) * 2 if case["out"] == "same" else (src, dst)


def _behind_guard(desc: TensorDesc, before: int) -> TensorDesc:
    """The descriptor with its offset raised by ``before`` guard bytes."""
    if not before:
        return desc
    return TensorDesc(desc.dtype, desc.sizes, desc.strides, desc.offset + before // desc.dtype.itemsize)


def elements_of(setting: Setting, destination: Array) -> Array:
    """The elements in the bytes of a destination's buffer, in logical order."""
    raw: Array = destination[setting.places.reshape(-1)].view(setting.dst.dtype.dtype)
    return raw.reshape(setting.dst.sizes)


def is_right(case: Case, setting: Setting, elements: Array) -> Array:
    """True for each of the destination's ``elements`` that is right."""
    lowest, highest = setting.lowest, setting.highest
    if case.operation.is_exact(case):
        equal: Array = bits_of(elements) == bits_of(lowest)
        return equal
    return within(elements, lowest, highest)


def mistrusted(case: Case, setting: Setting) -> str:
    """The reason why a right answer proves nothing; empty if it proves something.

    There are two reasons. More than an eighth of the destination would be right had no kernel run, because its limits
    accept almost anything. Or a wrong index along an axis would not show, because the expected elements are the same
    bit for bit at every index of it, though they come from different source elements. An empty destination is never
    mistrusted: it proves that the guards stay.
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
