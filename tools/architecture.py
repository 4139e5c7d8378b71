"""Draw docs/images/architecture.svg: the rooms of the package in their order, and what a call does in each.

The order is ``LAYERS`` of tests/house/test_imports.py, which the imports are held to; the path of a call is the walk in
CONTRIBUTING.md, which tools/walk.py prints; the words are the first sentences of the rooms.

    python tools/architecture.py
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "architecture.svg"

WINGS = ("restride_conformance", "restride_measure")
"""Packages of the same wheel, which no room imports."""

WIDTH, MARGIN, ROW, BOX, GAP, LINE = 560, 20, 42, 30, 8, 19
"""Pixels: width of the picture, its margin, height of a layer and of a room, gap of rooms, height of a line."""

_STYLE = """\
  svg { font: 15px sans-serif; }
  .paper { fill: #ffffff; } text { fill: #1f2328; } .side { fill: #57606a; font-size: 14px; }
  .room { fill: #f6f8fa; stroke: #8c959f; } .passed { fill: #ddf4ff; stroke: #0969da; stroke-width: 1.5; }
  .name { font: 15px monospace; } .head { font-weight: bold; font-size: 16px; }
  .badge { fill: #0969da; } .number { fill: #ffffff; font: bold 12px sans-serif; }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117; } text { fill: #e6edf3; } .side { fill: #9198a1; }
    .room { fill: #161b22; stroke: #6e7681; } .passed { fill: #0c2d6b; stroke: #58a6ff; }
    .badge { fill: #58a6ff; } .number { fill: #0d1117; }
  }"""


def layers() -> list[tuple[str, ...]]:
    """The rooms, layer by layer: a room imports those of earlier layers."""
    tree = ast.parse((ROOT / "tests" / "house" / "test_imports.py").read_text("utf-8"))
    assigned = {target.id: node for node in tree.body if isinstance(node, ast.Assign) for target in _names(node)}
    return list(ast.literal_eval(assigned["LAYERS"].value))


def _names(node: ast.Assign) -> Iterator[ast.Name]:
    return (target for target in node.targets if isinstance(target, ast.Name))


def passed() -> list[str]:
    """The rooms that are packages, in the order in which a first ``rs.resample`` enters them."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    entered = re.findall(r"^restride\.(\w+)[.\w]* +\S+$", page, re.MULTILINE)
    return [room for room in dict.fromkeys(entered) if _file_of(room).name == "__init__.py"]


def _file_of(room: str) -> Path:
    package = ROOT / "src" / "restride" / room / "__init__.py"
    return package if package.exists() else package.parent.with_suffix(".py")


def sentence(room: str) -> str:
    """The first sentence of a room about itself, to its first full stop."""
    text = ast.get_docstring(ast.parse(_file_of(room).read_text("utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).partition(". ")[0].rstrip(".").replace("``", "")


def picture() -> str:
    """The picture as SVG."""
    numbers = {room: place for place, room in enumerate(passed(), 1)}
    shapes = [_text(MARGIN, 30, "A room imports only rooms above it", "head")]
    y = 48
    for layer in (*layers(), WINGS):
        width = (WIDTH - 2 * MARGIN - GAP * (len(layer) - 1)) / len(layer)
        for place, room in enumerate(layer):
            shapes += _room(MARGIN + place * (width + GAP), y, width, room, numbers.get(room))
        y += ROW
    y += 24
    shapes.append(_text(MARGIN, y, "rs.resample(x, (224, 224)).numpy(), the first time", "head"))
    for room, number in numbers.items():
        y += 30
        shapes += _badge(MARGIN + 10, y - 5, number)
        shapes.append(_text(MARGIN + 28, y, room, "name"))
        for line in wrap(sentence(room), 54):
            shapes.append(_text(MARGIN + 120, y, line, "side"))
            y += LINE
        y -= LINE
    height = y + MARGIN
    words = f"The rooms of restride in {len(layers())} layers, and the {len(numbers)} that a call of rs.resample passes"
    sizes = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {sizes} role="img" aria-label="{escape(words)}">',
            f"<style>\n{_STYLE}\n</style>",
            f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
            *shapes,
            "</svg>\n",
        ]
    )


def _room(x: float, y: float, width: float, room: str, number: int | None) -> Iterator[str]:
    kind = "room" if number is None else "room passed"
    yield f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{BOX}" rx="5"/>'
    yield _text(x + width / 2, y + 20, room, "name", "middle")
    if number is not None:
        yield from _badge(x + 16, y + BOX / 2, number)


def _badge(x: float, y: float, number: int) -> Iterator[str]:
    yield f'<circle class="badge" cx="{x:g}" cy="{y:g}" r="10"/>'
    yield _text(x, y + 4, str(number), "number", "middle")


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), "utf-8")
