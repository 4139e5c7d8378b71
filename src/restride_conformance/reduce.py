"""The simplest case that still fails, found from a failing one by trials in a fixed order. Needs no device.

Each step drops or shrinks one thing: a step of the view, a parameter, a box, an axis, a size, a layout, an element type
or a number. What follows from the sizes goes with them: the destination's sizes, windows, boxes and entries by axis.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from restride.dtypes import as_dtype
from restride.errors import RestrideError
from restride.layout import TensorDesc
from restride.layout.argument import laid_out
from restride.layout.overlap import require_injective
from restride_conformance.case import Case
from restride_conformance.operations import require_valid
from restride_conformance.record import Outcome
from restride_conformance.spelling import Call, CaseWindow, Entries, Indexing, Sizes, Value, View, read_integers, write

MOST_TRIALS = 200
"""Cases that a reduction tries at most, unless another number is given."""

_Parameters = dict[str, Value]
"""Values, or their texts, by name; the seed is one of them."""

_Change = tuple[TensorDesc, TensorDesc, _Parameters]
"""Another source, destination and parameters; the destination may have other sizes than the result."""


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
    """Replace a failing case by its first candidate of a kind that fails, kind after kind, until no candidate fails.

    No case is tried twice.

    Args:
        case: a case that fails.
        fails: runs a case; True if it fails as the first one does.
        most: the number of trials.
        goes_on: asked before each trial; False ends the reduction early.
    """
    tried: set[Case] = set()
    kind = exhausted = 0
    while exhausted < len(_KINDS):
        found: Case | None = None
        for candidate in _of_kind(case, _KINDS[kind]):
            if candidate in tried:
                continue
            if len(tried) == most or not goes_on():
                return Reduced(case, len(tried), ended_early=True)
            tried.add(candidate)
            if fails(candidate):
                found = candidate
                break
        if found is None:
            kind, exhausted = (kind + 1) % len(_KINDS), exhausted + 1
        else:
            case, exhausted = found, 0
    return Reduced(case, len(tried), ended_early=False)


def fails_alike(outcome: Outcome, first: Outcome) -> bool:
    """True if both have one verdict, and both are wrong results or the same error: a refusal is no wrong result."""
    return outcome.verdict is first.verdict and _error(outcome) == _error(first)


def _error(outcome: Outcome) -> str:
    """What tells errors apart: the name in ``DescriptorError: ...``; empty for a message about a wrong result."""
    named = re.match(r"(?:a mistake in restride: )?([A-Z]\w+(?=: )|the operation made)", outcome.message)
    return named[1] if named else ""


def measure(case: Case) -> tuple[int, ...]:
    """The measure of a case, a tuple; candidates have a smaller one. It has whole numbers, so every descent ends."""
    unpacked = sum(desc != TensorDesc(desc.dtype, desc.sizes) for desc in (case.src, case.dst))
    itemsizes = case.src.dtype.itemsize + case.dst.dtype.itemsize
    text = str(case)
    return (*counts(case), unpacked, itemsizes, sum(map(int, re.findall("[0-9]+", text))), len(text))


def counts(case: Case) -> tuple[int, int, int]:
    """The numbers of steps of the view, of parameters and of elements; for a candidate none of them is greater."""
    return 0 if case.view is None else len(case.view.steps), len(case.parameters), case.elements


def candidates(case: Case) -> Iterator[Case]:
    """The valid cases one step simpler than ``case``, kind after kind, the greatest steps of each first."""
    for kind in _KINDS:
        yield from _of_kind(case, kind)


def _of_kind(case: Case, changes: Callable[[Case], Iterator[_Change]]) -> Iterator[Case]:
    for src, dst, named in changes(case):
        with suppress(RestrideError, ValueError, OverflowError):
            simpler = _fitted(case.op, src, dst, named)
            fewer = all(new <= old for new, old in zip(counts(simpler), counts(case), strict=True))
            if fewer and measure(simpler) < measure(case) and (simpler.dst.numel or not case.dst.numel):
                require_valid(simpler)
                require_injective(simpler.dst, "destination")
                yield simpler


def _fitted(op: str, src: TensorDesc, dst: TensorDesc, named: _Parameters) -> Case:
    """The case, with the window of a slice moved inside its source, and the destination fitted to the result."""
    own = {name: value for name, value in named.items() if name != "seed"}
    if op == "slice" and {"offsets", "sizes"} <= own.keys():
        viewed = View.read(write(named["view"])).sizes(src.sizes) if "view" in named else src.sizes
        offsets, sizes = (read_integers(write(named[name])) for name in ("offsets", "sizes"))
        windows = tuple(min(window, size) for window, size in zip(sizes, viewed, strict=True))
        most = (size - window for window, size in zip(windows, viewed, strict=True))
        own |= {"sizes": windows, "offsets": tuple(map(min, offsets, most))}
    case = Case(op, src, dst, tuple(own.items()), int(write(named.get("seed", 0))))
    sizes = case.operation.sizes(case)
    if case.view is None and case["out"] not in (None, "same", "new", "default"):
        like = src if case["out"] == "any" else TensorDesc(dst.dtype, sizes)
        fitting = laid_out(_resized(like, sizes), case.layout, dst.dtype)
    else:
        fitting = dst if sizes == dst.sizes else _resized(dst, sizes)
    return case if fitting is dst else Case(op, src, fitting, case.parameters, case.seed)


def _named(case: Case) -> _Parameters:
    return {**dict(case.parameters), **({"seed": case.seed} if case.seed else {})}


# The kinds of steps.


def _shorter_views(case: Case) -> Iterator[_Change]:
    """Without the first steps of the view, whose result becomes the source; then without any one of several steps."""
    steps, named = () if case.view is None else case.view.steps, _named(case)
    for count in range(len(steps), 0, -1):
        src = TensorDesc(case.src.dtype, View(steps[:count]).sizes(case.src.sizes))
        rest: _Parameters = {"view": View(steps[count:])} if steps[count:] else {}
        yield src, case.dst, {name: value for name, value in named.items() if name != "view"} | rest
    for number in range(len(steps)) if len(steps) > 1 else ():
        yield case.src, case.dst, named | {"view": View((*steps[:number], *steps[number + 1 :]))}


def _fewer_parameters(case: Case) -> Iterator[_Change]:
    named = _named(case)
    for dropped in named:
        yield case.src, case.dst, {name: value for name, value in named.items() if name != dropped}


def _fewer_boxes(case: Case) -> Iterator[_Change]:
    """The first or the last of the boxes, each with its image."""
    named = _named(case)
    boxes, images = (cast("tuple[int, ...]", named.get(name, ())) for name in ("boxes", "images"))
    for count in _smaller(len(boxes) // 4):
        for part in (slice(count), slice(-count, None)):
            fewer = boxes[4 * (part.start or 0) : part.stop and 4 * part.stop]
            yield case.src, case.dst, named | {"boxes": fewer} | ({"images": images[part]} if images else {})


def _fewer_axes(case: Case) -> Iterator[_Change]:
    """Without an axis of the source and of the destination, packed or in the same order as before."""
    has_axes = case.view is None and case.src.rank > 1 and case.dst.rank > 0
    for axis in range(case.src.rank) if has_axes else ():
        named = _without_axis(case, axis)
        order = write(case.get("permute") or "").partition("->")
        to = order[2].index(order[0][axis]) if order[1] else min(axis, case.dst.rank - 1)
        for keeps_order in (False, True):
            yield (
                _without(case.src, axis, keeps_order=keeps_order),
                _without(case.dst, to, keeps_order=keeps_order),
                named,
            )


def _smaller_sources(case: Case) -> Iterator[_Change]:
    """With a smaller axis of the source; what follows from its size is changed in proportion, or stays."""
    src, dst, named = case.src, case.dst, _named(case)
    for axis, size in enumerate(src.sizes):
        for smaller in _smaller(size):
            changed = _resized(src, _with(src.sizes, axis, smaller))
            following = _following(case, axis, smaller)
            if src.rank == dst.rank:
                yield changed, _resized(dst, _with(dst.sizes, axis, -(-dst.sizes[axis] * smaller // size))), following
            yield changed, dst, following
            yield changed, dst, named


def _smaller_destinations(case: Case) -> Iterator[_Change]:
    for axis, size in enumerate(case.dst.sizes):
        for smaller in _smaller(size):
            yield case.src, _resized(case.dst, _with(case.dst.sizes, axis, smaller)), _named(case)


def _plainer_layouts(case: Case) -> Iterator[_Change]:
    src, dst, named = case.src, case.dst, _named(case)
    packed = [TensorDesc(desc.dtype, desc.sizes) for desc in (src, dst)]
    yield packed[0], packed[1], named
    yield packed[0], dst, named
    yield src, packed[1], named


def _plainer_types(case: Case) -> Iterator[_Change]:
    src, dst, named = case.src, case.dst, _named(case)
    for dtype in dict.fromkeys(("u8", "f32", src.dtype.name, dst.dtype.name)):
        yield _typed(src, dtype), _typed(dst, dtype), named
        yield _typed(src, dtype), dst, named
        yield src, _typed(dst, dtype), named


def _smaller_numbers(case: Case) -> Iterator[_Change]:
    """With a smaller number in a parameter, a tile, a stride or an offset."""
    named = _named(case)
    for name, value in named.items():
        for shorter in _with_smaller_numbers(write(value)):
            yield case.src, case.dst, named | {name: shorter}
    for smaller in _smaller_layouts(case.src):
        yield smaller, case.dst, named
    for smaller in _smaller_layouts(case.dst):
        yield case.src, smaller, named


_KINDS = (
    _shorter_views, _fewer_parameters, _fewer_boxes, _fewer_axes, _smaller_sources, _smaller_destinations,
    _plainer_layouts, _plainer_types, _smaller_numbers,
)  # fmt: skip
"""The kinds of steps, in the order in which they are tried."""


# Parts of descriptors and of parameters.


def _smaller(size: int) -> list[int]:
    """Smaller sizes to try, by bisection: of 20 these are 1, 2, 10, 15, 18, 19."""
    halves = (size - (size >> bits) for bits in range(1, size.bit_length()))
    return sorted({each for each in (1, 2, *halves) if 0 < each < size})


def _with_smaller_numbers(text: str) -> Iterator[str]:
    """The text with one of its integers nearer to 0: of ``(-4,0)`` these are ``(0,0)``, ``(1,0)``, ``(-1,0)``, ..."""
    for number in re.finditer("-?[0-9]+", text):
        size = abs(int(number[0]))
        for smaller in (0, *_smaller(size), size):
            for sign in ("", "-") if number[0][0] == "-" and smaller else ("",):
                yield f"{text[: number.start()]}{sign}{smaller}{text[number.end() :]}"


def _with(sizes: Sizes, axis: int, size: int) -> Sizes:
    return (*sizes[:axis], size, *sizes[axis + 1 :])


def _resized(desc: TensorDesc, sizes: Sizes) -> TensorDesc:
    """Other sizes in the same written layout, or packed if the layout does not suit them."""
    if len(sizes) == desc.rank:
        with suppress(RestrideError):
            return TensorDesc.parse(re.sub(r"\[.*?\]", f"[{','.join(map(str, sizes))}]", str(desc), count=1))
    return TensorDesc(desc.dtype, sizes)


def _without(desc: TensorDesc, axis: int, *, keeps_order: bool) -> TensorDesc:
    """The descriptor without an axis: packed, or with the others in the same order or at the same strides."""
    sizes, text = (*desc.sizes[:axis], *desc.sizes[axis + 1 :]), str(desc)
    head = f"{desc.dtype}[{','.join(map(str, sizes))}]"
    with suppress(RestrideError):
        if keeps_order and (order := re.search(r"\]\{([0-9,]+)", text)):
            kept = [int(each) - (int(each) > axis) for each in order[1].split(",") if int(each) != axis]
            return TensorDesc.parse(f"{head}{{{','.join(map(str, kept))}{text[order.end() :]}")
        if keeps_order and (strides := re.search(r"\]\{strides=\(([-0-9,]+)", text)):
            kept_strides = strides[1].split(",")
            del kept_strides[axis]
            return TensorDesc.parse(f"{head}{{strides=({','.join(kept_strides)}{text[strides.end() :]}")
    return TensorDesc(desc.dtype, sizes)


def _typed(desc: TensorDesc, dtype: str) -> TensorDesc:
    """Another element type in the same written layout, or packed if the layout, say its padding, does not suit it."""
    with suppress(RestrideError):
        return TensorDesc.parse(re.sub("^[^[]+", dtype, str(desc)))
    return TensorDesc(as_dtype(dtype), desc.sizes)


def _smaller_layouts(desc: TensorDesc) -> Iterator[TensorDesc]:
    head, bracket, layout = str(desc).partition("]")
    for number in _with_smaller_numbers(layout):
        with suppress(RestrideError):
            yield TensorDesc.parse(f"{head}{bracket}{number}")


def _without_axis(case: Case, axis: int) -> _Parameters:
    """The parameters once the viewed source has lost an axis."""
    axes, rank, named = case.get("axes"), len(case.viewed), dict[str, Value]()
    place = axes.index(axis) if isinstance(axes, tuple) and axis in axes else None
    for name, value in _named(case).items():
        entry = axis if isinstance(value, tuple) and len(value) == rank else place
        if name == "permute":
            letters, _, order = str(value).partition("->")
            named[name] = f"{letters[:axis]}{letters[axis + 1 :]}->{order.replace(letters[axis], '')}"
        elif isinstance(value, tuple) and (name == "axes" or name in _BY_AXES):
            if kept := tuple(int(each) - (each > axis) for each in value if each != axis):
                named[name] = kept
        elif isinstance(value, tuple) and entry is not None and len(value) in (rank, len(cast("Sizes", axes or ()))):
            named[name] = cast("Value", (*value[:entry], *value[entry + 1 :]))
        elif isinstance(value, CaseWindow) and place is not None and len(value.parts) == len(cast("Sizes", axes)) > 1:
            named[name] = CaseWindow((*value.parts[:place], *value.parts[place + 1 :]))
        elif isinstance(value, Entries):
            named[name] = Entries(value.axis - (value.axis > axis), value.numbers)
        else:
            named[name] = value
    return named


_BY_AXES = ("src_scale", "src_zero_point", "dst_scale", "dst_zero_point")
"""The parameters that may hold the axes along which their numbers vary."""


def _following_step(step: Indexing | Call, size: int, smaller: int) -> Indexing | Call:
    """A step of a view once an axis is smaller: changes the axis's size in a call, or a factor of it in a reshape."""
    if not isinstance(step, Call) or step.method == "permute":
        return step
    numbers = list(step.numbers)
    if size in numbers:
        numbers[numbers.index(size)] = smaller
    elif step.method == "reshape":
        place = next((at for at, number in enumerate(numbers) if number * smaller % size == 0), None)
        if place is not None:
            numbers[place] = numbers[place] * smaller // size
    return Call(step.method, tuple(numbers))


def _following(case: Case, axis: int, smaller: int) -> _Parameters:
    """The parameters with what follows from the size of an axis of the source: numbers of a view, boxes, entries."""
    size, named = case.src.sizes[axis], _named(case)
    axes = cast("Sizes", case.get("axes") or ())
    for name, value in named.items():
        if isinstance(value, View):
            named[name] = View(tuple(_following_step(step, size, smaller) for step in value.steps))
        elif isinstance(value, TensorDesc):
            place = axis + value.rank - case.src.rank
            if place >= 0 and value.sizes[place] == size:
                named[name] = _resized(value, _with(value.sizes, place, smaller))
        elif isinstance(value, Entries) and value.axis == axis:
            named[name] = Entries(axis, value.numbers[:smaller])
        elif name == "boxes" and axis in axes and case["units"] == "pixels":
            edges = cast("tuple[float, ...]", value)
            mine = axes.index(axis)
            named[name] = tuple(
                int(edge * smaller // size) if place % 2 == mine else edge for place, edge in enumerate(edges)
            )
        elif name == "images" and axis == 0:
            named[name] = tuple(min(image, smaller - 1) for image in cast("Sizes", value))
        elif name == "lengths":
            named[name] = re.sub(rf"={size}\b", f"={smaller}", str(value))
    return named
