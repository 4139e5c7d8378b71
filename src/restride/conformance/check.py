"""Run a case on a device between guard bytes, and judge every byte of both buffers afterwards.

    | guard bytes | the case's buffer: offset, elements, padding between them | guard bytes |

Tiles, padded sizes and blocks begin where their buffer does, so both guards lie behind those, and views of them.

The guards, the padding and the destination before the run hold poison, a function of the byte's position; where a byte
of it would be right, its inverse. So a padding of the source that is read shows, and one of the destination that is not
written.
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
from restride.conformance.findings import bits_of, changed_bytes, wrong_elements, wrong_padding
from restride.conformance.operations import OPERATIONS, answer, makes_destination, source_values
from restride.conformance.outcome import Outcome, Verdict
from restride.conformance.report import pictures
from restride.conformance.room import buffer_bytes, guard_before, why_not
from restride.desc import TensorDesc
from restride.device import Device
from restride.errors import DeviceLost, DeviceTimeout, RestrideError, UnsupportedError
from restride.reference import from_buffer, to_buffer
from restride.reference.buffers import element_bytes
from restride.tensor import Tensor

_ATTEMPTS = 16
_FEW = 64  # elements: half of more than these do not come out the same by chance, not even truth values

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Setting:
    """Both buffers before the run, and the answer: raw bytes with guards, and descriptors that count the guard.

    places: where in the destination's buffer each byte of each element lies.
    padding: which bytes there the operation must write beside its elements: those of a whole layout.
    padded: the destination's buffer with these bytes right.
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


def _filled(case: Case, values: Array) -> Setting:
    is_same = case["out"] == "same"
    before_src, before_dst = _guards(case)
    src = _moved(case.src, before_src)
    dst = case.dst if makes_destination(case) else _moved(case.dst, before_dst)
    nbytes = [buffer_bytes(case.src.nbytes), buffer_bytes(case.dst.nbytes)]
    source = fill.poison(max(nbytes) if is_same else nbytes[0], fill.POISON_SEED + 1)
    # Not by to_buffer, which would write the padding of a whole layout.
    source[element_bytes(src).reshape(-1)] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    # Read back, because elements that share a place (zero strides) hold one value.
    lowest, highest = answer(case, from_buffer(source, src))
    destination = source if is_same else fill.poison(case.dst.nbytes if makes_destination(case) else nbytes[1])
    padded, places = to_buffer(lowest, dst, destination.copy()), element_bytes(dst)
    padding = np.zeros(destination.size, np.bool_)
    padding[: dst.nbytes] = dst.is_whole
    padding[places] = False
    setting = Setting(src, dst, source, destination, lowest, highest, places, padding, padded)
    early = is_right(case, setting, elements_of(setting, destination))
    destination[places[early]] ^= 0xFF
    destination[padding & (destination == padded)] ^= 0xFF
    return setting


def run_case(
    case: Case,
    device: Device,
    *,
    started: Callable[[], None] = lambda: None,
    judging: Callable[[], None] = lambda: None,
    keep: Path | None = None,
) -> Outcome:
    """Run ``case`` on ``device`` and judge what it did.

    Args:
        case: the problem.
        device: where it runs.
        started: called when the inputs and the answer are there, just before the device works.
        judging: called when the device's results are back, just before they are judged.
        keep: a file for the raw bytes of the destination's buffer after the run.

    Raises:
        DeviceLost, DeviceTimeout: the device is of no more use; the verdict is the caller's.
    """
    start = perf_counter()
    reason = why_not(case, device)
    outcome = Outcome(case, Verdict.SKIPPED, reason) if reason else _run(case, device, started, judging, keep)
    return replace(outcome, seconds=perf_counter() - start)


def _run(
    case: Case, device: Device, started: Callable[[], None], judging: Callable[[], None], keep: Path | None
) -> Outcome:
    import restride as rs

    try:
        setting = prepare(case)
        started()
        source = rs.from_buffer(setting.source, setting.src, device=device)
        out = _destination(case, setting, source)
        before = device.counters().dispatches
        viewed = source if case.view is None else case.view.of_tensor(source)
        dispatched = device.counters().dispatches - before
        made = OPERATIONS[case.op].call(case, viewed, out)
        source_after, after = source.buffer(), (made if out is None else out).buffer()
    except (DeviceLost, DeviceTimeout):
        raise
    except UnsupportedError as error:
        return Outcome(case, Verdict.UNIMPLEMENTED, str(error))
    except RestrideError as error:
        return Outcome(case, Verdict.FAILED, f"{type(error).__name__}: {error}")
    judging()
    if out is None:
        if made.desc != case.dst:
            return Outcome(case, Verdict.FAILED, f"the operation made {made.desc}, expected {case.dst}")
        after = _without_holes(setting, after)
    elif case["out"] == "same":
        source_after = setting.source  # judged as the destination
    if keep is not None:
        keep.write_bytes(after.data)
    if dispatched:
        return Outcome(case, Verdict.FAILED, f"view {case.view} made {dispatched} dispatches; a view makes none")
    return judge(case, setting, source_after, after)


def _destination(case: Case, setting: Setting, source: Tensor) -> Tensor | None:
    """The tensor that an operation is told to write to; None where it makes one."""
    import restride as rs

    device = source.device
    if makes_destination(case):
        # What was freed last is what an allocation gets: poison, not the right answer of an earlier case.
        rs.from_buffer(setting.destination, setting.dst, device=device).memory.free()
        return None
    if case["out"] == "same":
        return rs.Tensor(source.memory, setting.dst, device)
    # Poisoned by a copy on the device that the operation must wait for: a layer sees a barrier that is missing.
    poison = rs.from_buffer(setting.destination, setting.dst, device=device)
    out = rs.Tensor(device.runtime.allocate(poison.memory.nbytes), setting.dst, device)
    device.runtime.copy(poison.memory, out.memory, poison.memory.nbytes)
    return out


def _without_holes(setting: Setting, made: Array) -> Array:
    """What an operation must write of a buffer that it made, in poison: what lies between is nobody's."""
    if made.size != setting.destination.size:
        return made
    written = setting.padding.copy()
    written[setting.places] = True
    return np.where(written, made, setting.destination)


def judge(case: Case, setting: Setting, source: Array, destination: Array) -> Outcome:
    """Compare both raw buffers after the run with what they must be.

    Elements: bit for bit where the operation is exact, else within the answer's limits, NaN where NaN is due. The
    padding of a whole layout: its value, and zeros. Every other byte of the destination, and the whole source, must be
    as before. What is right may still prove nothing.
    """
    for which, before, now in (("source", setting.source, source), ("destination", setting.destination, destination)):
        if now.shape != before.shape:
            message = f"the {which} buffer has {now.size} bytes after the run, {before.size} before"
            return Outcome(case, Verdict.FAILED, message)
    before_src, before_dst = _guards(case)
    findings = changed_bytes("source", setting.source, source, np.ones(source.size, np.bool_), before_src)
    actual = elements_of(setting, destination)
    right = is_right(case, setting, actual)
    untouched = elements_of(setting, setting.destination)
    findings += wrong_elements(case, untouched, actual, setting.lowest, setting.highest, right)
    findings += wrong_padding(setting.padded, destination, setting.padding)
    outside = ~setting.padding
    outside[setting.places] = False
    findings += changed_bytes("destination", setting.destination, destination, outside, before_dst)
    if not findings:
        doubt = mistrusted(case, setting)
        return Outcome(case, Verdict.MISTRUSTED if doubt else Verdict.PASSED, doubt)
    # Where an answer is an interval, the right one nearest to what came: only what is wrong shows as a difference.
    drawn = pictures.draw(case, np.where(right, actual, setting.lowest), actual)
    return Outcome(case, Verdict.FAILED, "\n".join(findings), pictures=drawn)


def elements_of(setting: Setting, destination: Array) -> Array:
    """The elements that a destination's buffer holds."""
    raw: Array = destination[setting.places.reshape(-1)].view(setting.dst.dtype.dtype)
    return raw.reshape(setting.dst.sizes)


def is_right(case: Case, setting: Setting, elements: Array) -> Array:
    """Which ``elements`` of the destination are right, one truth value each."""
    lowest, highest = setting.lowest, setting.highest
    if OPERATIONS[case.op].is_exact(case):
        equal: Array = bits_of(elements) == bits_of(lowest)
        return equal
    with np.errstate(invalid="ignore"):  # poison may hold a signalling NaN
        values, low, high = (array.astype(np.float64) for array in (elements, lowest, highest))
    within = ((low <= values) & (values <= high)) | (np.isnan(low) & np.isnan(values))
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
        # Where the places come from is a question of indices, which nearest answers for linear too.
        nearest = tuple((name, "nearest" if name == "mode" else value) for name, value in case.parameters)
        places = element_bytes(case.src)[..., 0] // case.src.dtype.itemsize
        came_from, _ = answer(replace(case, parameters=nearest), places)
        if doubted := sorted(alike - _axes_alike(came_from)):
            return f"all elements along axis {doubted[0]} must be the same, wherever they come from: {_ANOTHER}"
    return ""


_ANOTHER = "another seed may prove more"


def _axes_alike(array: Array) -> set[int]:
    """The axes longer than 1 along which every element equals the one at index 0."""
    axes = (axis for axis, size in enumerate(array.shape) if size > 1)
    return {axis for axis in axes if (array == array.take([0], axis)).all()}


def _guards(case: Case) -> tuple[int, int]:
    """Guard bytes before the source and before the destination; in one buffer both are counted from one place."""
    before = [guard_before(case.src), guard_before(case.dst)]
    if case["out"] == "same":
        before = [min(before)] * 2
    return before[0], before[1]


def _moved(desc: TensorDesc, before: int) -> TensorDesc:
    """The descriptor in a buffer that begins with ``before`` bytes of guard."""
    if not before:
        return desc
    return TensorDesc(desc.dtype, desc.sizes, desc.strides, desc.offset + before // desc.dtype.itemsize)
