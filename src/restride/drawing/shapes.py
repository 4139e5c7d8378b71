"""Shapes: a picture as rectangles, lines and texts, which svg and png write. Units are pixels, y goes down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

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
