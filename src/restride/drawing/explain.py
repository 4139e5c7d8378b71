"""A layout in words and numbers: its bytes, the marks of its picture, its digits and the formula of the offset."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import zip_longest

from restride.drawing.map import Edge, Kind, LayoutMap, index_text
from restride.drawing.plane import axis_names
from restride.layout import TensorDesc
from restride.layout.digits import Atom, Digit, Linear, axis_letter

MEMORY = "memory, element after element, and the index that lies there"
"""The title of the line of memory."""


def explain(desc: TensorDesc, index: tuple[int, ...] | None = None) -> str:
    """Several lines: axes, formula, digits, the offset of ``index`` (None: the last element) step by step, and bytes.

    Raises:
        DescriptorError: the index is outside the layout.
    """
    return "\n".join(_lines(desc, index))


def _lines(desc: TensorDesc, index: tuple[int, ...] | None) -> Iterator[str]:
    yield str(desc)
    for axis, size in enumerate(desc.sizes):
        yield f"  {axis_letter(axis)} is the index along axis {axis}, of size {size}"
    if not desc.numel:
        yield "  no element: there is no offset"
        return
    yield f"  offset = {desc.address}"
    terms = desc.address.terms
    at = tuple(size - 1 for size in desc.sizes) if index is None else index
    offset = desc.offset_of(at)
    if terms:
        yield "  where"
        digits = [(str(atom), "{} to {}:".format(*atom.span), _meaning(atom)) for _, atom in terms]
        yield from (f"    {line}" for line in columns(digits))
    which = f"the last element, index {index_text(at)}," if index is None else f"the element of index {index_text(at)}"
    yield f"  {which} lies at"
    rows = [
        (f"{stride} *", f"{_value(atom, at)}", "=", f"{stride * _value(atom, at)}", f"for {atom}")
        for stride, atom in terms
    ]
    if desc.address.const or not terms:
        rows.append(("", "", "=", f"{desc.address.const}", "in any case"))
    yield from (f"    {line}" for line in columns(rows, range(4)))
    byte, bit = divmod(offset * (desc.element_size_in_bits or 8 * desc.dtype.itemsize), 8)
    yield f"  offset {offset}, byte {byte}{f', bit {bit}' if bit else ''}"
    yield f"  {memory_text(desc)}"


def columns(rows: Sequence[Sequence[str]], right: Container[int] = ()) -> list[str]:
    """Format rows of cells as lines with aligned columns, two blanks apart; columns in ``right`` are right-aligned.

    A row may have fewer cells than others.
    """
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    return [
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=False))
        ).rstrip()
        for row in rows
    ]


def _value(atom: Atom, index: tuple[int, ...]) -> int:
    return Linear(0, ((1, atom),)).at(index)


def _meaning(atom: Atom) -> str:
    """The meaning of a digit of the index, in words."""
    if not isinstance(atom, Digit):
        return f"the index along axis {atom.axis}"
    if not atom.modulus:
        return f"which group of {atom.divisor} along {atom.of}"
    if atom.divisor == 1:
        return f"the place inside a group of {atom.modulus} along {atom.of}"
    return f"which group of {atom.divisor} inside a group of {atom.modulus} along {atom.of}"


def memory_text(desc: TensorDesc) -> str:
    """A sentence on the memory that a layout takes."""
    size = counted(desc.dtype.itemsize, "byte")
    if not desc.has_whole_elements:
        size = counted(desc.element_size_in_bits, "bit")
    elements, nbytes = f"{counted(desc.numel, 'element')} of {size}", counted(desc.nbytes, "byte")
    space = f", in memory space {desc.memory_space}" if desc.memory_space else ""
    if desc.is_packed:
        return f"{elements} in {nbytes}, no padding{space}"
    if not desc.is_whole:
        return f"{elements}; the buffer has {nbytes} or more{space}"
    padding = desc.extent - desc.numel
    if not desc.has_whole_elements:
        return f"{elements} in {nbytes}, with {counted(padding, 'element')} of padding{space}"
    return f"{elements} in {nbytes}, {padding * desc.dtype.itemsize} of them padding{space}"


def axes(layout: LayoutMap) -> str:
    """``rows: o, columns: i``, unless these are the last two axes; else empty."""
    names = [axis_names(layout.desc)[axis] for axis in layout.plane]
    is_usual = layout.plane == tuple(range(layout.desc.rank))[-2:]
    return "" if is_usual else f"rows: {names[0]}, columns: {names[1]}"


def outlines(layout: LayoutMap, drawn: Container[Edge]) -> tuple[str, ...]:
    """The name and meaning of each level of outlines, the outermost first: ``T(2,2): tiles of 4 elements``.

    drawn: the levels with an outline in the picture. Others are sub-tiles as large as their tile, or larger than the
        part that is shown, or lie along axes that are not drawn.
    """
    return tuple(
        f"{level.name}: {level.noun} of {level.size} elements{', apart in memory' * (not level.is_contiguous)}"
        f"{', without outlines of their own here' * (place not in drawn)}"
        for place, level in enumerate(layout.levels)
    )


def colours(layout: LayoutMap) -> str:
    """The meaning of the colours where there are no tiles or blocks and several axes; else empty.

    ``a colour: a run of 3 along c``: in NHWC, the three channels of a pixel.
    """
    if layout.coloured_by is not layout or layout.levels or layout.desc.rank < 2 or not layout.run:
        return ""
    names, fastest = axis_names(layout.desc), layout.run[0]
    return f"a colour: a run of {layout.desc.sizes[fastest]} along {names[fastest]}, the fastest axis"


def marks(layout: LayoutMap, kinds: Iterable[Kind]) -> tuple[str, ...]:
    """The meanings of the marks for these kinds of padding."""
    meanings = {
        Kind.ZERO: "padding, holds 0",
        Kind.VALUE: f"padding, holds {layout.desc.padding_value!r}".removesuffix(".0"),
        Kind.UNREACHED: "not reached by any index, never written",
    }
    present = set(kinds)
    return tuple(f"{kind.value} {meaning}" for kind, meaning in meanings.items() if kind in present)


def counted(number: int, noun: str) -> str:
    """A number and a noun that agrees with it: ``1 byte``, ``24 bytes``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
