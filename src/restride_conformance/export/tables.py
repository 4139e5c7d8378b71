"""The C program of a case: the template ``repro.c`` with tables of buffers, pipelines, bindings and steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources
from itertools import chain
from typing import TypeVar

import numpy as np

from restride.dtypes import DType
from restride_conformance.export.program import Check, Copy, Dispatch, Program

_Item = TypeVar("_Item")

_MARK = "/* @TABLES@ */"

_PLAIN = {ord("\\"): r"\\", ord('"'): r"\"", ord("?"): r"\?"}
"""Characters of a C string that need a backslash; two question marks may begin a trigraph."""


def c_program(program: Program) -> str:
    """The C99 program that runs a case and compares its buffers."""
    template = resources.files(__package__).joinpath("repro.c").read_text("utf-8")
    before, after = template.split(_MARK)
    return f"{before}{_tables(program)}{after}"


def largest_number(dtype: DType) -> int:
    """The bits of the largest magnitude of a floating type that is no NaN; of most types it is infinity."""
    if dtype.itemsize > 1:
        return int(np.array(np.inf, dtype.dtype).view(f"u{dtype.itemsize}"))
    magnitudes = np.arange(1 << 7, dtype=np.uint8).view(dtype.dtype)
    with np.errstate(invalid="ignore"):  # ml_dtypes warns of a signalling NaN
        return int(np.flatnonzero(~np.isnan(magnitudes))[-1])


def _tables(program: Program) -> str:
    dispatches = [step for step in program.steps if isinstance(step, Dispatch)]
    pipelines = tuple(dict.fromkeys(map(_pipeline_of, dispatches)))
    constants, constants_at = _joined([values for _, values, _ in pipelines])
    push, push_at = _joined([each.push for each in dispatches])
    bindings, bindings_at = _joined([each.bindings for each in dispatches])
    buffer_rows = [
        f"{{{_string(each.name)}, {each.contents.size}, {number in program.check.unchanged:d}}}"
        for number, each in enumerate(program.buffers)
    ]
    pipeline_rows = [
        f"{{{_string(module)}, {count}, {len(values)}, {at}}}"
        for (module, values, count), at in zip(pipelines, constants_at, strict=True)
    ]
    binding_rows = [f"{{{each.buffer}, {each.offset}, {each.nbytes}}}" for each in bindings]
    places = iter(zip(bindings_at, push_at, strict=True))
    step_rows = [
        _copy(step) if isinstance(step, Copy) else _dispatch(step, pipelines.index(_pipeline_of(step)), *next(places))
        for step in program.steps
    ]
    return "\n\n".join(
        [
            _array("Buffer BUFFERS", buffer_rows),
            _array("Pipeline PIPELINES", pipeline_rows),
            _array("uint32_t CONSTANTS", map(str, constants)),
            _array("uint32_t PUSH", map(str, push)),
            _array("Binding BINDINGS", binding_rows),
            _array("Step STEPS", step_rows),
            _case(program, len(pipelines), len(bindings)),
        ]
    )


def _pipeline_of(step: Dispatch) -> tuple[str, tuple[int, ...], int]:
    """What makes a pipeline: the module, its constants, and the number of its bindings."""
    return step.module, step.constants, len(step.bindings)


def _dispatch(step: Dispatch, pipeline: int, first_binding: int, first_push: int) -> str:
    groups = ", ".join(map(str, step.groups))
    return (
        f"{{.kind = DISPATCH, .has_barrier = {step.barrier:d}, .pipeline = {pipeline}, .groups = {{{groups}}}, "
        f".first_binding = {first_binding}, .pushes = {len(step.push)}, .first_push = {first_push}}}"
    )


def _copy(step: Copy) -> str:
    return (
        f"{{.kind = COPY, .has_barrier = {step.barrier:d}, .src = {step.src}, .dst = {step.dst}, "
        f".src_offset = {step.src_offset}, .dst_offset = {step.dst_offset}, .size = {step.nbytes}}}"
    )


def _case(program: Program, pipelines: int, bindings: int) -> str:
    check = program.check
    sizes = ", ".join(map(str, check.sizes)) or "1"
    fields = {
        "line": _string(program.line),
        "buffers": len(program.buffers),
        "pipelines": pipelines,
        "steps": len(program.steps),
        "bindings": bindings,
        "destination": check.destination,
        "comparison": _comparison(check),
        "element_bytes": check.dtype.itemsize,
        "largest_number": f"{largest_number(check.dtype) if check.dtype.is_float else 0:#x}",
        "elements": check.places.size,
        "rank": len(check.sizes),
        "sizes": f"{{{sizes}}}",
    }
    lines = "".join(f"    .{name} = {value},\n" for name, value in fields.items())
    return f"static const Case CASE = {{\n{lines}}};"


def _comparison(check: Check) -> str:
    if check.is_exact:
        return "EXACT"
    if check.dtype.is_float:
        return "FLOAT_LIMITS"
    return "SIGNED_LIMITS" if check.dtype.kind == "i" else "UNSIGNED_LIMITS"


def _array(declared: str, rows: Iterable[str]) -> str:
    """An array in C. C99 has no empty arrays, so an array without rows gets a row that nothing refers to."""
    empty = "0" if declared.startswith("uint32_t") else "{0}"
    lines = "".join(f"    {row},\n" for row in rows) or f"    {empty},\n"
    return f"static const {declared}[] = {{\n{lines}}};"


def _joined(parts: Sequence[Sequence[_Item]]) -> tuple[list[_Item], list[int]]:
    """All items one after the other, and where each part begins."""
    return list(chain.from_iterable(parts)), [sum(map(len, parts[:number])) for number in range(len(parts))]


def _string(text: str) -> str:
    return f'"{text.translate(_PLAIN)}"'
