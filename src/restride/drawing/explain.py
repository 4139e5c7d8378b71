"""A layout in words and numbers: its bytes, the marks of its picture, its digits and the formula of the offset."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import zip_longest

from restride.drawing.map import Kind, LayoutMap, index_text
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
    yield f"  offset {offset}, byte {offset * desc.dtype.itemsize}"
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
    elements = f"{counted(desc.numel, 'element')} of {counted(desc.dtype.itemsize, 'byte')}"
    if desc.is_packed:
        return f"{elements} in {counted(desc.nbytes, 'byte')}, no padding"
    if not desc.is_whole:
        return f"{elements}; the buffer has {counted(desc.nbytes, 'byte')} or more"
    padding = desc.extent - desc.numel
    return f"{elements} in {counted(desc.nbytes, 'byte')}, {padding * desc.dtype.itemsize} of them padding"


def outlines(layout: LayoutMap) -> tuple[str, ...]:
    """The meaning of each level of outlines, the outermost first."""
    whole = layout.desc.inner or layout.desc
    noun = "blocks" if whole.tag is not None else "tiles"
    names = (noun, f"sub-{noun}", *["inside them"] * len(layout.blocks))
    return tuple(f"{name} of {size} elements" for name, size in zip(names, layout.blocks, strict=False))


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
    """``1 byte``, ``24 bytes``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
