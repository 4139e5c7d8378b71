"""The simplest case that still fails, found from a failing one by trials in a fixed order. Needs no device.

Each step drops or shrinks one thing: a parameter, a step of the view, an axis, a size, a number of a parameter, a
layout, an element type or the seed. The destination's sizes follow from the operation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from restride.errors import RestrideError
from restride.layout import TensorDesc
from restride_conformance.case import Case
from restride_conformance.operations import require_valid
from restride_conformance.record import Outcome
from restride_conformance.spelling import Value, View, write

MOST_TRIALS = 200
"""Cases that a reduction tries at most, unless another number is given."""

_Parameters = dict[str, Value]


@dataclass(frozen=True)
class Reduced:
    """What a reduction found.

    case: the simplest case found that fails; the one it began with if no simpler one does.
    trials: how many simpler cases were tried.
    ended_early: True if there were untried cases when the trials or the time were used up.
    """

    case: Case
    trials: int
    ended_early: bool


def reduce(
    case: Case, fails: Callable[[Case], bool], most: int = MOST_TRIALS, goes_on: Callable[[], bool] = lambda: True
) -> Reduced:
    """Replace a failing case by its first candidate that fails, again and again; no case is tried twice.

    Args:
        case: a case that fails.
        fails: runs a case; True if it fails as the first one does.
        most: the number of trials.
        goes_on: asked before each trial; False ends the reduction early.
    """
    tried: set[Case] = set()
    found: Case | None = case
    while found is not None:
        case, found = found, None
        for candidate in candidates(case):
            if candidate in tried:
                continue
            if len(tried) == most or not goes_on():
                return Reduced(case, len(tried), ended_early=True)
            tried.add(candidate)
            if fails(candidate):
                found = candidate
                break
    return Reduced(case, len(tried), ended_early=False)


def fails_alike(outcome: Outcome, first: Outcome) -> bool:
    """True if both have one verdict, and both are wrong results or the same error: a refusal is no wrong result."""
    return outcome.verdict is first.verdict and _error(outcome) == _error(first)


def _error(outcome: Outcome) -> str:
    """The name of the error at the beginning of a message such as ``DescriptorError: ...``; empty for another."""
    named = re.match(r"(?:a mistake in restride: )?([A-Z]\w+): ", outcome.message)
    return named[1] if named else ""


def measure(case: Case) -> tuple[int, ...]:
    """By which candidates are smaller than their case, in the order of tuples; whole numbers, so every descent ends."""
    unpacked = sum(desc != TensorDesc(desc.dtype, desc.sizes) for desc in (case.src, case.dst))
    itemsizes = case.src.dtype.itemsize + case.dst.dtype.itemsize
    return (*counts(case), unpacked, itemsizes, len(str(case)), case.seed)


def counts(case: Case) -> tuple[int, int, int]:
    """Steps of the view, parameters and elements, none of which a candidate has more of."""
    return 0 if case.view is None else len(case.view.steps), len(case.parameters), case.elements


def candidates(case: Case) -> Iterator[Case]:
    """The valid cases one step simpler than ``case``, the greatest steps first."""
    for src, dst, parameters, seed in _changes(case):
        with suppress(RestrideError):
            simpler = _sized(case.op, src, dst, tuple(parameters.items()), seed)
            fewer = all(new <= old for new, old in zip(counts(simpler), counts(case), strict=True))
            if fewer and measure(simpler) < measure(case):
                require_valid(simpler)
                yield simpler


def _sized(op: str, src: TensorDesc, dst: TensorDesc, parameters: tuple[tuple[str, Value], ...], seed: int) -> Case:
    """The case with the sizes of its result in the place of the destination's."""
    case = Case(op, src, dst, parameters, seed)
    sizes = case.operation.sizes(case)
    return case if sizes == dst.sizes else Case(op, src, _resized(dst, sizes), parameters, seed)


def _changes(case: Case) -> Iterator[tuple[TensorDesc, TensorDesc, _Parameters, int]]:
    """All changes; first those of views, parameters, axes and sizes."""
    src, dst, seed, named = case.src, case.dst, case.seed, dict(case.parameters)
    if case.view is not None:
        without = {name: value for name, value in named.items() if name != "view"}
        yield TensorDesc(src.dtype, case.viewed), dst, without, seed
        steps = case.view.steps
        for number in range(len(steps)) if len(steps) > 1 else ():
            yield src, dst, named | {"view": View((*steps[:number], *steps[number + 1 :]))}, seed
    for dropped in named:
        yield src, dst, {name: value for name, value in named.items() if name != dropped}, seed
    for axis in range(src.rank):
        if src.rank == dst.rank > 1:
            less = {name: _without_axis(value, axis, src.rank) for name, value in named.items()}
            yield _without(src, axis), _without(dst, axis), less, seed
    for axis, size in enumerate(src.sizes):
        for smaller in _smaller(size):
            changed = _resized(src, _with(src.sizes, axis, smaller))
            if src.rank == dst.rank:
                yield changed, _resized(dst, _with(dst.sizes, axis, min(smaller, dst.sizes[axis]))), named, seed
            yield changed, dst, named, seed
    for axis, size in enumerate(dst.sizes):
        for smaller in _smaller(size):
            yield src, _resized(dst, _with(dst.sizes, axis, smaller)), named, seed
    yield from _changes_of_values(case)


def _changes_of_values(case: Case) -> Iterator[tuple[TensorDesc, TensorDesc, _Parameters, int]]:
    """Changes of numbers, layouts, element types and the seed."""
    src, dst, seed, named = case.src, case.dst, case.seed, dict(case.parameters)
    for name, value in named.items():
        text = write(value)
        for number in re.finditer("[0-9]+", text):
            for smaller in (0, *_smaller(int(number[0]))):
                shorter = f"{text[: number.start()]}{smaller}{text[number.end() :]}"
                yield src, dst, named | {name: shorter}, seed
    yield TensorDesc(src.dtype, src.sizes), dst, named, seed
    yield src, TensorDesc(dst.dtype, dst.sizes), named, seed
    for dtype in ("u8", "f32"):
        yield _typed(src, dtype), _typed(dst, dtype), named, seed
        yield _typed(src, dtype), dst, named, seed
        yield src, _typed(dst, dtype), named, seed
    yield src, dst, named, 0


def _smaller(size: int) -> list[int]:
    """Smaller sizes to try, by bisection: of 20 these are 1, 2, 10, 15, 18, 19."""
    halves = (size - (size >> bits) for bits in range(1, size.bit_length()))
    return sorted({each for each in (1, 2, *halves) if 0 < each < size})


def _with(sizes: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*sizes[:axis], size, *sizes[axis + 1 :])


def _resized(desc: TensorDesc, sizes: tuple[int, ...]) -> TensorDesc:
    """Other sizes in the same written layout, or packed where that has no such layout."""
    if len(sizes) == desc.rank:
        with suppress(RestrideError):
            return TensorDesc.parse(re.sub(r"\[.*?\]", f"[{','.join(map(str, sizes))}]", str(desc), count=1))
    return TensorDesc(desc.dtype, sizes)


def _without(desc: TensorDesc, axis: int) -> TensorDesc:
    return TensorDesc(desc.dtype, (*desc.sizes[:axis], *desc.sizes[axis + 1 :]))


def _typed(desc: TensorDesc, dtype: str) -> TensorDesc:
    return TensorDesc.parse(re.sub("^[^[]+", dtype, str(desc)))


def _without_axis(value: Value, axis: int, rank: int) -> Value:
    """A parameter for one axis less: without the entry of the axis, or renumbered if it is an order of the axes."""
    if not isinstance(value, tuple) or len(value) != rank:
        return value
    numbers = [each for each in value if isinstance(each, int)]
    if sorted(numbers) == list(range(rank)):
        return tuple(each - (each > axis) for each in numbers if each != axis)
    return cast("Value", (*value[:axis], *value[axis + 1 :]))
