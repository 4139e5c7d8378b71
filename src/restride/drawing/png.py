"""PNG: a figure as pixels, two to each of its units, drawn by Pillow, which is an extra: restride[images]."""

from __future__ import annotations

import io
from typing import Any

from restride.drawing.shapes import PAPER, Figure, Label, Line
from restride.errors import UnsupportedError

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
