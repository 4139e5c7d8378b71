"""A case as a script of Amber, which runs it by itself or within VK-GL-CTS. Pure.

Every buffer is declared as integers, never as floats, because Amber compares floats by value: NaN, infinities and -0.0
would pass for others. A destination with one right content is compared as a whole. A destination with bounds, or with
bytes that may hold anything, is declared as integers of its elements' size; the script expects each of them to lie
between two integers. The bounds of a float are bit patterns, which grow with the magnitude. An element that may have
either sign lies between no two bit patterns, so its case has no script.

Source: docs/amber_script.md of github.com/google/amber.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from restride.dtypes import Array
from restride.errors import UnsupportedError
from restride_conformance.export.program import Check, Dispatch, Program

MAX_WORDS = 1 << 16
"""Maximum number of 32-bit words of a buffer in a script: 256 KiB, whose text takes about a megabyte."""

_A_LINE = 8
"""Number of values on a line of the script: Amber says on which line the first wrong value is."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def script(program: Program) -> str:
    """The script, which reads each module from the file ``MODULE.spv`` beside it.

    Amber waits after each RUN, so the script needs no barriers, and does not show that a case lacks one.

    Raises:
        UnsupportedError: Amber's language cannot say what the case does or expects; the message has the reason.
    """
    dispatches, check = _dispatches(program), program.check
    low, high, judged = _limits(check)
    is_whole = bool(judged.all() and (low == high).all())
    contents = {number: buffer.contents.view("<u4") for number, buffer in enumerate(program.buffers)}
    if not is_whole:
        contents[check.destination] = program.buffers[check.destination].contents.view(low.dtype)
    expected = {number: contents[number] for number in check.unchanged}
    if is_whole:
        expected[check.destination] = low.view("<u4")
    names = [buffer.name for buffer in program.buffers]
    lines = ["#!amber", f"# {program.line}", ""]
    lines += [_shader(name, module) for name, module in program.modules.items()]
    for number, values in contents.items():
        lines += ["", *_buffer(names[number], values)]
    for number, step in enumerate(dispatches):
        lines += ["", *_pipeline(number, step, names)]
    lines += ["", *(f"RUN step_{number} {_text(step.groups)}" for number, step in enumerate(dispatches))]
    for number, values in expected.items():
        name = f"{names[number]}_expected"
        lines += ["", *_buffer(name, values), f"EXPECT {names[number]} EQ_BUFFER {name}"]
    if not is_whole:
        lines += ["", *_expectations(names[check.destination], low, high, judged)]
    return "\n".join([*lines, ""])


def _dispatches(program: Program) -> list[Dispatch]:
    """The steps of a program.

    Raises:
        UnsupportedError: Amber's language has no words for a step, size or name of the program.
    """
    dispatches = [step for step in program.steps if isinstance(step, Dispatch)]
    if len(dispatches) < len(program.steps):
        raise UnsupportedError("the device copies bytes without a kernel, which Amber would do on the host")
    if (words := max(buffer.contents.size for buffer in program.buffers) // 4) > MAX_WORDS:
        raise UnsupportedError(f"a buffer has {words:,} words, more than the {MAX_WORDS:,} that a script may hold")
    for name in (*program.modules, *(buffer.name for buffer in program.buffers)):
        if not _NAME.fullmatch(name):
            raise UnsupportedError(f"{name!r} cannot be a name in a script")
    return dispatches


def _limits(check: Check) -> tuple[Array, Array, Array]:
    """The destination as integers: the lowest and the highest right value of each, and a mask of those that are judged.

    Raises:
        UnsupportedError: some elements may have either sign, or be any NaN.
    """
    if check.lowest is None or check.highest is None:
        width = next(n for n in (4, 2, 1) if not _splits(check.judged, n))
        low = check.expected.view(f"<u{width}")
        return low, low, check.judged[::width]
    width = check.dtype.itemsize
    judged = check.judged.copy()
    judged[check.element_bytes] = True
    if (check.places % np.uint64(width)).any() or _splits(judged, width):
        raise UnsupportedError("bytes of an element and bytes that may hold anything lie in one integer")
    bits, places = check.limits, check.places // np.uint64(width)
    if check.dtype.kind == "i":
        bits = bits[0].view(f"<i{width}"), bits[1].view(f"<i{width}")
    elif check.dtype.is_float:
        bits = _same_sign(check.lowest, check.highest, *bits)
    low, high = (check.expected.view(bits[0].dtype).copy() for _ in range(2))
    low[places], high[places] = bits
    return low, high, judged[::width]


def _splits(judged: Array, width: int) -> bool:
    """True if some of the integers of ``width`` bytes are judged in part."""
    integers = judged.reshape(-1, width)
    return bool((integers.any(1) != integers.all(1)).any())


def _same_sign(lowest: Array, highest: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """The smaller and the larger bits of each pair of floats; all floats between the two have bits between these."""
    with np.errstate(invalid="ignore"):  # converting a signalling NaN warns
        first, last = lowest.astype(np.float64), highest.astype(np.float64)
    one = (low == high) & ~np.isnan(first)
    split = ~one & ~((first > 0) | (last < 0))  # also where one of them is NaN
    split |= np.isnan(first) | np.isnan(last)
    if count := int(split.sum()):
        raise UnsupportedError(
            f"{count} of {split.size} elements may have either sign or be any NaN, which no two integers bound"
        )
    return np.minimum(low, high), np.maximum(low, high)


def _shader(name: str, module: bytes) -> str:
    """The line that declares a module. By the version in it, the module's second word, Amber checks the module."""
    version = np.frombuffer(module, "<u4", 1, 4)[0].item()
    return f"SHADER compute {name} SPIRV-BIN TARGET_ENV spv{version >> 16 & 0xFF}.{version >> 8 & 0xFF} FILE {name}.spv"


def _buffer(name: str, values: Array) -> Iterator[str]:
    unsigned = "u" if values.dtype.kind == "u" else ""
    yield f"BUFFER {name} DATA_TYPE {unsigned}int{values.itemsize * 8} DATA"
    for start in range(0, values.size, _A_LINE):
        yield f"  {_text(values[start : start + _A_LINE].tolist())}"
    yield "END"


def _pipeline(number: int, step: Dispatch, names: list[str]) -> Iterator[str]:
    if step.push:
        yield from _buffer(f"push_{number}", np.array(step.push, "<u4"))
    yield f"PIPELINE compute step_{number}"
    constants = (f" SPECIALIZE {place} AS uint32 {value}" for place, value in enumerate(step.constants))
    yield f"  ATTACH {step.module}{''.join(constants)}"
    for place, bound in enumerate(step.bindings):
        where = f"DESCRIPTOR_OFFSET {bound.offset} DESCRIPTOR_RANGE {bound.nbytes}"
        yield f"  BIND BUFFER {names[bound.buffer]} AS storage DESCRIPTOR_SET 0 BINDING {place} {where}"
    if step.push:
        yield f"  BIND BUFFER push_{number} AS push_constant"
    yield "END"


def _expectations(name: str, low: Array, high: Array, judged: Array) -> Iterator[str]:
    """Yield lines that expect each ``judged`` value of a buffer to be from ``low`` to ``high``."""
    kinds = np.where(judged, np.where(low == high, 1, 2), 0)
    edges = [0, *(np.flatnonzero(np.diff(kinds)) + 1).tolist(), kinds.size]
    for first, end in pairwise(edges):
        for start in range(first, end, _A_LINE) if kinds[first] else ():
            run = slice(start, min(start + _A_LINE, end))
            at = f"EXPECT {name} IDX {start * low.itemsize}"
            if kinds[first] == 1:
                yield f"{at} EQ {_text(low[run].tolist())}"
            else:
                yield f"{at} GE {_text(low[run].tolist())}"
                yield f"{at} LE {_text(high[run].tolist())}"


def _text(values: Iterable[int]) -> str:
    return " ".join(map(str, values))
