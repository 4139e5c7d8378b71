"""SVG: a figure as the text of one file that needs nothing else, https://www.w3.org/TR/SVG2/."""

from __future__ import annotations

from html import escape

from restride.drawing.shapes import PAPER, Figure, Label, Line, Shape

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
