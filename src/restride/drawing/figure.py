"""A layout in the style of XLA's documentation, as an SVG or PNG file: coloured tiles, outlines, offsets and memory.

A picture is rectangles, lines and texts, in pixels, with y pointing down. Source: XLA, Tiled layout, figures 1 and 2.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from html import escape
from itertools import groupby
from typing import Any, Literal

from restride.drawing.explain import MEMORY, axes, colours, marks, memory_text, outlines
from restride.drawing.map import FRAME, Cell, Edge, Kind, LayoutMap, PlaneMap, index_text, memory_line, rgb, shown
from restride.errors import needed_package

INK, GREY, FAINT, RED, BLUE, PAPER = "#1f2328", "#656d76", "#afb8c1", "#9b0d25", "#0549a0", "#ffffff"
"""Colours of text and of outlines of tiles; of side notes; of borders of cells; of outlines of sub-tiles; of outlines
inside these; and of the background. Text has the contrast that WCAG AA asks for, 4.5, and outlines have its 3 on every
hue."""


@dataclass(frozen=True)
class Rect:
    """A filled rectangle with a thin border."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    stroke: str = FAINT


@dataclass(frozen=True)
class Stroke:
    """A straight line."""

    x: float
    y: float
    to_x: float
    to_y: float
    colour: str
    width: float


@dataclass(frozen=True)
class Label:
    """A text, vertically centred at ``y``. data: names and values that programs may look for in the SVG."""

    x: float
    y: float
    text: str
    size: float = 13
    colour: str = INK
    anchor: Literal["start", "middle", "end"] = "start"
    is_bold: bool = False
    data: tuple[tuple[str, str], ...] = ()

    @property
    def width(self) -> float:
        """An upper bound of its width: a monospaced character is at most 0.62 of its size wide."""
        return len(self.text) * self.size * 0.62


Mark = Rect | Stroke | Label


@dataclass
class Figure:
    """A picture, from back to front, on white paper; ``description`` is for people who cannot see it."""

    title: str
    description: str = ""
    width: float = 0
    height: float = 0
    shapes: list[Mark] = field(default_factory=list)


_MARGIN = 20
_WIDTH = 960
"""Maximum width in pixels of the grids and of the line of memory; a title may be wider."""


@dataclass(frozen=True)
class Most:
    """The maximum part of a large layout that a picture shows.

    cells: maximum number in all grids together, unless a single grid has more.
    """

    planes: int = 6
    rows: int = 20
    columns: int = 32
    cells: int = 384
    memory_rows: int = 8


_ALL = Most()


def draw_figure(maps: Sequence[LayoutMap], remarks: Iterable[str] = (), most: Most = _ALL, heading: str = "") -> Figure:
    """A figure of layouts, one below the other, under a heading if there is one, and followed by lines of text."""
    page = _Page(most)
    if heading:
        page.text(heading, 18, is_bold=True)
        page.y += _MARGIN / 2
    for layout in maps:
        page.draw(layout)
    for remark in remarks:
        page.text(remark)
    title = heading or " to ".join(str(layout.desc) for layout in maps)
    width, height = round(page.right + _MARGIN), round(page.y + _MARGIN / 2)
    return Figure(f"Memory layout {title}", "\n".join(page.words), width, height, page.shapes)


class _Page:
    """The shapes of a picture, the position of the next ones, and their description in words."""

    def __init__(self, most: Most) -> None:
        self.most = most
        self.shapes: list[Mark] = []
        self.words: list[str] = []
        self.y: float = _MARGIN
        self.right: float = 0

    def draw(self, layout: LayoutMap) -> None:
        self.text(str(layout.desc), 16, is_bold=True)
        self.text(memory_text(layout.desc), 12, GREY)
        if layout.desc.numel:
            self.words.append(f"offset = {layout.desc.address}")
            if text := axes(layout):
                self.text(text, 12, GREY)
            before = len(self.shapes)
            kinds = self._grids(layout) | self._memory(layout)
            drawn = {(shape.colour, shape.width) for shape in self.shapes[before:] if isinstance(shape, Stroke)}
            levels = [level for level in range(len(layout.levels)) if stroke(level) in drawn]
            for level, text in enumerate(outlines(layout, levels)):
                if level in levels:
                    self._add(Stroke(_MARGIN, self.y + 6, _MARGIN + 16, self.y + 6, *stroke(level)))
                self.text(text, 12, GREY, indent=24)
            if text := colours(layout):
                self.text(text, 12, GREY)
            for text in marks(layout, kinds):
                self.text(text, 12, GREY)
        else:
            self.text("no element: nothing to draw")
        self.y += _MARGIN / 2

    def text(self, text: str, size: float = 13, colour: str = INK, indent: float = 0, is_bold: bool = False) -> None:
        self.words.append(text)
        self._add(Label(_MARGIN + indent, self.y + size / 2, text, size, colour, is_bold=is_bold))
        self.y += round(size * 1.6)

    def _add(self, *shapes: Mark) -> None:
        self.shapes += shapes
        ends = (shape.x + shape.width for shape in shapes if isinstance(shape, Label) and shape.anchor == "start")
        self.right = max([self.right, *ends])

    def _grids(self, layout: LayoutMap) -> set[Kind]:
        """Draw the planes from left to right, in as many rows as needed; return the kinds of elements shown."""
        rows, columns = layout.grid
        cell_width = _room_for(max(layout.longest_offset, len(str(columns - 1))))
        name_width = _name_width(layout)
        shown_rows = shown(rows, self.most.rows)
        shown_columns = shown(columns, min(int((_WIDTH - name_width) // cell_width), self.most.columns))
        cells = len(shown_rows.positions) * len(shown_columns.positions)
        planes = shown(layout.planes, max(min(self.most.planes, self.most.cells // cells), 1))
        title = Label(0, 0, layout.title(layout.planes - 1), 12)
        title_height = 20 if title.text else 0
        width = name_width + max(cell_width * len(shown_columns.positions), title.width)
        height = title_height + ROW_HEIGHT * (len(shown_rows.positions) + 1)
        kinds: set[Kind] = set()
        x: float = _MARGIN
        used = 0
        more = Label(0, 0, f"… {layout.planes - len(planes.positions) + 1} more", colour=GREY)
        for plane in planes.names:
            needed = width if plane is not None else name_width + more.width
            if x > _MARGIN and x + needed > _MARGIN + _WIDTH:
                x, self.y, used = _MARGIN, self.y + used + 10, 0
            if plane is None:
                self._add(replace(more, x=x + name_width, y=self.y + (used or 16) / 2))
                used = used or 16
            else:
                if title_height:
                    self._add(Label(x + name_width, self.y + 10, layout.title(plane), 12))
                grid = PlaneMap(layout, plane, shown_rows, shown_columns)
                self._grid(grid, x + name_width, self.y + title_height + ROW_HEIGHT, cell_width)
                kinds |= grid.kinds
                used = height
            x += needed + 24
        self.y += used + 18
        return kinds

    def _grid(self, grid: PlaneMap, left: float, top: float, cell_width: float) -> None:
        """Draw a plane with column numbers above and row numbers on the left."""
        self._add(*Tiles(left, top, cell_width, grid.cells, grid.beside, grid.above).shapes(_offset_label))
        for place, name in enumerate(grid.column_names if grid.map.desc.rank else ()):
            self._add(Label(left + (place + 0.5) * cell_width, top - 9, name, 11, GREY, "middle"))
        for place, name in enumerate(grid.row_names if grid.map.desc.rank > 1 else ()):
            self._add(Label(left - 8, top + (place + 0.5) * ROW_HEIGHT, name, 11, GREY, "end"))
        self.right = max(self.right, left + cell_width * len(grid.columns.positions))

    def _memory(self, layout: LayoutMap) -> set[Kind]:
        """Draw the line of memory, one strip for each row; return the kinds of elements shown."""
        self.text(MEMORY, 12, GREY)
        self.words.pop()  # the description leaves memory out, so its title too
        cell_width = _room_for(len(index_text(tuple(size - 1 for size in layout.desc.sizes))))
        left = _MARGIN + _name_width(layout)
        columns = min(int((_WIDTH - left) // cell_width), self.most.columns)
        memory = memory_line(layout, columns, self.most.memory_rows)
        for name, cells, beside in zip(memory.row_names, memory.cells, memory.beside, strict=True):
            self._add(Label(left - 8, self.y + ROW_HEIGHT / 2, name, 11, GREY, "end"))
            if cells:
                above = [[layout.edge_along(cell.offset)] * 2 for cell in cells]
                self._add(*Tiles(left, self.y, cell_width, [cells], [beside], above).shapes(_index_label))
            self.y += ROW_HEIGHT + 6
        self.right = max(self.right, left + cell_width * memory.width)
        self.y += 4
        return memory.kinds


def _name_width(layout: LayoutMap) -> int:
    """Width for the row numbers of grids and of memory."""
    return _room_for(len(str(max(layout.grid[0], layout.span.stop) - 1)))


def _room_for(characters: int) -> int:
    """The width of a cell with this many characters."""
    return max(8 * characters + 12, ROW_HEIGHT)


def _offset_label(x: float, y: float, cell: Cell) -> Label:
    data = () if cell.index is None else (("index", cell.index_text),)
    return Label(x, y, cell.offset_text, colour=GREY if cell.index is None else INK, anchor="middle", data=data)


def _index_label(x: float, y: float, cell: Cell) -> Label:
    data = (("offset", str(cell.offset)),)
    return Label(x, y, cell.index_text, colour=GREY if cell.index is None else INK, anchor="middle", data=data)


ROW_HEIGHT = 26


@dataclass(frozen=True)
class Tiles:
    """A table with its upper left corner at x, y.

    cells: the cells by row and column; None: left out.
    beside: for each row, the outlines left of every cell and right of the last.
    above: for each column, the outlines above every cell and below the last.
    """

    x: float
    y: float
    cell_width: float
    cells: Sequence[Sequence[Cell | None]]
    beside: Sequence[Sequence[Edge]]
    above: Sequence[Sequence[Edge]]

    def shapes(self, label: Callable[[float, float, Cell], Label]) -> Iterator[Mark]:
        """Cells, then sub-tiles, tiles and texts on top; ``label`` gives the text for a centre and a cell."""
        present = [
            (self.x + column * self.cell_width, self.y + row * ROW_HEIGHT, cell)
            for row, cells in enumerate(self.cells)
            for column, cell in enumerate(cells)
            if cell is not None
        ]
        for x, y, cell in present:
            yield Rect(x, y, self.cell_width, ROW_HEIGHT, PAPER if cell.hue is None else rgb(cell.hue))
        # Sub-tiles are drawn first, so that where both have an outline, that of the tile covers it.
        edges = {edge for row in (*self.beside, *self.above) for edge in row if edge is not None}
        for level in sorted(edges, reverse=True):
            yield from self._outlines(level)
        for x, y, cell in present:
            yield label(x + self.cell_width / 2, y + ROW_HEIGHT / 2, cell)

    def _outlines(self, level: int) -> Iterator[Stroke]:
        colour, width = stroke(level)
        for edge in range(len(self.above) + 1):
            x = self.x + edge * self.cell_width
            for start, stop in _runs([row[edge] == level for row in self.beside]):
                yield Stroke(x, self.y + start * ROW_HEIGHT, x, self.y + stop * ROW_HEIGHT, colour, width)
        for edge in range(len(self.beside) + 1):
            y = self.y + edge * ROW_HEIGHT
            for start, stop in _runs([column[edge] == level for column in self.above]):
                yield Stroke(self.x + start * self.cell_width, y, self.x + stop * self.cell_width, y, colour, width)


def stroke(level: int) -> tuple[str, float]:
    """Colour and width of an outline: tiles dark, sub-tiles red, those inside blue; a frame thin and grey."""
    return (GREY, 1) if level == FRAME else ((INK, 2.5), (RED, 1.5), (BLUE, 1))[min(level, 2)]


def _runs(flags: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """The (start, stop) of each unbroken run of set flags. 1 1 0 1: (0, 2), (3, 4)."""
    at = 0
    for is_set, group in groupby(flags):
        length = len(list(group))
        if is_set:
            yield at, at + length
        at += length


_FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"


def write_svg(figure: Figure) -> str:
    """The SVG file. It has white paper of its own, so it is readable on dark pages too."""
    width, height = f"{figure.width:g}", f"{figure.height:g}"
    title = escape(figure.title)
    root = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    lines = [
        f'{root} role="img" aria-label="{title}" font-family="{_FONTS}">',
        f"<title>{title}</title>",
        f"<desc>{escape(figure.description)}</desc>",
        f'<rect width="{width}" height="{height}" rx="6" fill="{PAPER}"/>',
        *map(_element, figure.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _element(shape: Mark) -> str:
    if isinstance(shape, Label):
        data = "".join(f' data-{name}="{escape(value)}"' for name, value in shape.data)
        weight = ' font-weight="bold"' if shape.is_bold else ""
        anchor = f' text-anchor="{shape.anchor}"' if shape.anchor != "start" else ""
        # A digit is about 0.7 of its size high, so its baseline is half of that below the middle.
        return (
            f'<text x="{shape.x:g}" y="{shape.y + 0.35 * shape.size:g}" font-size="{shape.size:g}" '
            f'fill="{shape.colour}"{anchor}{weight}{data} xml:space="preserve">{escape(shape.text)}</text>'
        )
    if isinstance(shape, Stroke):
        return (
            f'<path d="M{shape.x:g} {shape.y:g}L{shape.to_x:g} {shape.to_y:g}" stroke="{shape.colour}" '
            f'stroke-width="{shape.width:g}" stroke-linecap="square"/>'
        )
    return (
        f'<rect x="{shape.x:g}" y="{shape.y:g}" width="{shape.width:g}" height="{shape.height:g}" '
        f'fill="{shape.fill}" stroke="{shape.stroke}" stroke-width="0.5"/>'
    )


_MONOSPACED = ("DejaVuSansMono.ttf", "LiberationMono-Regular.ttf", "Menlo.ttc", "consola.ttf")
"""Files of fonts for PNG, of which Pillow finds those that the system has."""


def _font(size: float) -> Any:
    """The first monospaced font that is installed; where none is, Pillow's own."""
    from PIL import ImageFont

    for name in _MONOSPACED:
        with suppress(OSError):
            return ImageFont.truetype(name, size)
    return ImageFont.load_default(size)


_SCALE = 2
_ANCHORS = {"start": "lm", "middle": "mm", "end": "rm"}


def write_png(figure: Figure) -> bytes:
    """The PNG file.

    Raises:
        MissingPackage: Pillow is not installed.
    """
    with needed_package("a picture as PNG (SVG needs nothing)", "Pillow", "images", "PIL"):
        from PIL import Image, ImageDraw
    image = Image.new("RGB", (round(figure.width * _SCALE), round(figure.height * _SCALE)), PAPER)
    draw = ImageDraw.Draw(image)
    fonts: dict[float, Any] = {}
    for shape in figure.shapes:
        x, y = shape.x * _SCALE, shape.y * _SCALE
        if isinstance(shape, Label):
            font = fonts.setdefault(shape.size, _font(shape.size * _SCALE))
            bold = _SCALE / 4 if shape.is_bold else 0
            text = shape.text.replace("⋮", "…")  # Pillow's font lacks the vertical ellipsis
            draw.text((x, y), text, shape.colour, font, _ANCHORS[shape.anchor], stroke_width=bold)
        elif isinstance(shape, Stroke):
            draw.line((x, y, shape.to_x * _SCALE, shape.to_y * _SCALE), shape.colour, round(shape.width * _SCALE))
        else:
            corner = (x + shape.width * _SCALE, y + shape.height * _SCALE)
            draw.rectangle((x, y, *corner), shape.fill, shape.stroke)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()
