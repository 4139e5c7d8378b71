"""PNG: a figure as pixels, two to each of its units, drawn by Pillow, which is an extra: restride[images]."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal

from restride.errors import UnsupportedError

# Shapes: a picture as rectangles, lines and texts, which svg and png write. Units are pixels, y goes down.

INK, GREY, FAINT, RED, PAPER = "#1f2328", "#656d76", "#afb8c1", "#cf222e", "#ffffff"
"""Colours of text and tiles, of what stands beside, of cells, of sub-tiles, and of the background."""


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
class Line:
    """A straight line."""

    x: float
    y: float
    to_x: float
    to_y: float
    colour: str
    width: float


@dataclass(frozen=True)
class Label:
    """A text, centred at its height; ``data`` are names and values that a reader of the file may look for."""

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
        """Room that it takes: a monospaced character is at most 0.62 of its size wide."""
        return len(self.text) * self.size * 0.62


Shape = Rect | Line | Label


@dataclass
class Figure:
    """A picture, from back to front, on white paper."""

    title: str
    width: float = 0
    height: float = 0
    shapes: list[Shape] = field(default_factory=list)


# SVG: a figure as the text of one file that needs nothing else, https://www.w3.org/TR/SVG2/.

_FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"


def write_svg(figure: Figure) -> str:
    """The file. It stands on white paper of its own, so it reads on dark pages too."""
    width, height = f"{figure.width:g}", f"{figure.height:g}"
    title = escape(figure.title)
    root = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    lines = [
        f'{root} role="img" aria-label="{title}" font-family="{_FONTS}">',
        f"<title>{title}</title>",
        f'<rect width="{width}" height="{height}" rx="6" fill="{PAPER}"/>',
        *map(_element, figure.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _element(shape: Shape) -> str:
    if isinstance(shape, Label):
        data = "".join(f' data-{name}="{escape(value)}"' for name, value in shape.data)
        weight = ' font-weight="bold"' if shape.is_bold else ""
        anchor = f' text-anchor="{shape.anchor}"' if shape.anchor != "start" else ""
        # A digit is about 0.7 of its size high: its foot is half of that below the middle.
        return (
            f'<text x="{shape.x:g}" y="{shape.y + 0.35 * shape.size:g}" font-size="{shape.size:g}" '
            f'fill="{shape.colour}"{anchor}{weight}{data} xml:space="preserve">{escape(shape.text)}</text>'
        )
    if isinstance(shape, Line):
        return (
            f'<path d="M{shape.x:g} {shape.y:g}L{shape.to_x:g} {shape.to_y:g}" stroke="{shape.colour}" '
            f'stroke-width="{shape.width:g}" stroke-linecap="square"/>'
        )
    return (
        f'<rect x="{shape.x:g}" y="{shape.y:g}" width="{shape.width:g}" height="{shape.height:g}" '
        f'fill="{shape.fill}" stroke="{shape.stroke}" stroke-width="0.5"/>'
    )


# PNG: a figure as pixels, two to each of its units, drawn by Pillow, which is an extra: restride[images].

_SCALE = 2
_ANCHORS = {"start": "lm", "middle": "mm", "end": "rm"}


def write_png(figure: Figure) -> bytes:
    """The file.

    Raises:
        UnsupportedError: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as error:
        raise UnsupportedError("PNG pictures need Pillow: pip install 'restride[images]'; SVG needs nothing") from error
    image = Image.new("RGB", (round(figure.width * _SCALE), round(figure.height * _SCALE)), PAPER)
    draw = ImageDraw.Draw(image)
    fonts: dict[float, Any] = {}
    for shape in figure.shapes:
        x, y = shape.x * _SCALE, shape.y * _SCALE
        if isinstance(shape, Label):
            font = fonts.setdefault(shape.size, ImageFont.load_default(shape.size * _SCALE))
            bold = _SCALE / 4 if shape.is_bold else 0
            draw.text((x, y), shape.text, shape.colour, font, _ANCHORS[shape.anchor], stroke_width=bold)
        elif isinstance(shape, Line):
            draw.line((x, y, shape.to_x * _SCALE, shape.to_y * _SCALE), shape.colour, round(shape.width * _SCALE))
        else:
            corner = (x + shape.width * _SCALE, y + shape.height * _SCALE)
            draw.rectangle((x, y, *corner), shape.fill, shape.stroke)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()
