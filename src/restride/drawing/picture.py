"""show: the picture of a layout, an array's strides or a reorder, for terminals, notebooks and files."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, SupportsIndex, TextIO

from restride.drawing.figure import draw_figure, write_png, write_svg
from restride.drawing.levels import levels_of
from restride.drawing.map import LayoutMap
from restride.drawing.moves import Move
from restride.drawing.plane import Plane, plane_of, usual_plane
from restride.drawing.terminal import draw_text, in_ascii
from restride.errors import DescriptorError
from restride.files.writing import write_file
from restride.layout import TensorDesc, as_desc
from restride.layout.argument import axis_order, is_permutation, laid_out
from restride.layout.lines import layout_for
from restride.layout.views import permute
from restride.tensor.arrays import layout_of
from restride.tensor.tensor import Tensor

FORMATS = (".svg", ".png")
"""Suffixes that the name of a picture's file may have."""


def show(layout: Any, to: Any = None, *, plane: str | Sequence[SupportsIndex] | None = None) -> Drawing:
    """Draw where the elements of a layout are in memory, or what a reorder to another layout moves.

    A terminal shows text, a notebook an SVG; ``.save("file.svg")`` and ``.save("file.png")`` write files. Each cell
    of a grid shows the element offset of its index; below is the memory, with the index at each place. A thick outline
    bounds a tile or block, thinner ones each level inside. Elements have the colour of their tile or block; without
    these, those along the fastest axis have one colour: a pixel of NHWC, a row of NCHW. No device is needed.

    Args:
        layout: a descriptor, its text, a line of oneDNN, MLIR or HLO with one layout or one source, a tensor, or an
            array of numpy, torch or DLPack, whose strides are shown; the offset of a numpy array is counted from the
            array that owns the memory.
        to: another layout with the same sizes and element type, as in ``rs.reorder``; also a tag, a name, or a line
            with one layout or one destination. Elements keep the colours of the first picture, which for "HWC->CHW"
            shows ``layout`` with its axes permuted.
        plane: the axes of rows and columns, such as (0, 1), or their letters in a tag or in ``restride show
            --explain``, such as "oi". Default: the blocked axes (o and i of OIhw16i16o), the fastest axes of tiles, or
            the last two. Grids for the other axes follow one another.

    Raises:
        DescriptorError: the text is no layout, the sizes or element types differ, ``to`` overlaps itself, the axes of
            ``plane`` are not two of the layout, or an array has an unknown element type.
        UnsupportedError: an element has other bits than its type, or the strides of an array split elements.

    Examples:
        >>> print(rs.show("u8[2,3]{0,1}"))
        u8[2,3]{0,1}
        6 elements of 1 byte in 6 bytes, no padding
        <BLANKLINE>
            0  1  2
          ┌─────────┐
        0 │ 0  2  4 │
        1 │ 1  3  5 │
          └─────────┘
        <BLANKLINE>
        memory, element after element, and the index that lies there
        0 │ 0,0  1,0  0,1  1,1  0,2  1,2 │
    """
    src = _desc_of(layout)
    if to is None:
        return Drawing(src, None, None if plane is None else plane_of(src, plane))
    heading = ""
    if isinstance(to, str):
        to = layout_for("destination", to) or to
    if is_permutation(to):  # what is drawn of the source has other axes than what was typed
        heading = f"{src} to {to}"
        src = permute(src, axis_order(src, to))
    dst = laid_out(src, to) if isinstance(to, str) else _desc_of(to)
    move = Move(src, dst)
    seen = usual_plane(dst if levels_of(dst) else src) if plane is None else plane_of(dst, plane)
    return Drawing(src, move, seen, heading)


def _desc_of(layout: Any) -> TensorDesc:
    if isinstance(layout, Tensor):
        return layout.desc
    if isinstance(layout, str):
        layout = layout_for("source", layout) or layout
    return as_desc(layout) if isinstance(layout, TensorDesc | str) else layout_of(layout)


class Drawing:
    """A drawing of one layout, or of both sides of a move. ``str`` and ``repr`` give text for the current stdout."""

    def __init__(
        self, desc: TensorDesc, move: Move | None = None, plane: Plane | None = None, heading: str = ""
    ) -> None:
        """heading: what was typed, where no layout says it: ``u8[4,6,3]{2,1,0} to HWC->CHW``."""
        self._heading = heading
        first = LayoutMap(desc, plane)
        self._maps = [first] if move is None else [first, LayoutMap(move.dst, plane, first)]
        self._remarks = [] if move is None else list(move.lines())
        self.layouts = [desc] if move is None else [desc, move.dst]

    def text(self, width: int = 80, is_coloured: bool = False) -> str:
        """The picture as lines of at most ``width`` characters, if the labels allow it."""
        drawings = [draw_text(layout, width, is_coloured) for layout in self._maps]
        return "\n\n".join(filter(None, [self._heading, *drawings, "\n".join(self._remarks)]))

    def svg(self) -> str:
        """The picture as an SVG file."""
        return write_svg(draw_figure(self._maps, self._remarks, heading=self._heading))

    def png(self) -> bytes:
        """The picture as a PNG file.

        Raises:
            UnsupportedError: Pillow is not installed.
        """
        return write_png(draw_figure(self._maps, self._remarks, heading=self._heading))

    def file(self, name: str | os.PathLike[str]) -> bytes:
        """The bytes of a file with this name: SVG or PNG.

        Raises:
            DescriptorError: the name has another suffix.
            UnsupportedError: the name is PNG, and Pillow is not installed.
        """
        suffix = Path(name).suffix.lower()
        if suffix not in FORMATS:
            raise DescriptorError(f"the name of a picture must end in {' or '.join(FORMATS)}, got {os.fspath(name)!r}")
        return self.svg().encode() if suffix == ".svg" else self.png()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file: SVG or PNG, by the suffix of its name.

        Raises:
            DescriptorError: the name has another suffix.
            UnsupportedError: the name is PNG, and Pillow is not installed.
            OSError: it cannot be written; an existing file stays whole until the new one is complete.
        """
        write_file(Path(path), self.file(path))

    def __str__(self) -> str:
        text = self.text(shutil.get_terminal_size().columns, takes_colour(sys.stdout))
        try:
            text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
        except UnicodeEncodeError:
            return in_ascii(text)
        return text

    __repr__ = __str__

    def _repr_svg_(self) -> str:
        return self.svg()


def takes_colour(stream: TextIO | None) -> bool:
    """True for a terminal, unless NO_COLOR is set (https://no-color.org) or the terminal is dumb."""
    if stream is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()
