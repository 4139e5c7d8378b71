"""Palette: the colours that tiles, rows and lines take in turn, the same in the terminal and in pictures."""

from __future__ import annotations

HUES = (153, 223, 151, 218, 229, 183, 188)
"""Numbers of xterm's 6x6x6 colour cube and grey ramp, all light: blue, orange, green, pink, yellow, violet, grey.

Seven is a prime: tiles come 2, 4, 6 or 8 a row, and a tile differs in colour from the one below it.
"""

_DEEP = (32, 208, 34, 162, 178, 97, 102)
"""The same hues for thin lines on white."""

_LEVELS = (0x00, 0x5F, 0x87, 0xAF, 0xD7, 0xFF)


def rgb(hue: int) -> str:
    """A hue as ``#rrggbb``, of tiles."""
    return _rgb(HUES[hue])


def deep(hue: int) -> str:
    """A hue as ``#rrggbb``, of lines."""
    return _rgb(_DEEP[hue])


def _rgb(number: int) -> str:
    """Number 16 + 36 r + 6 g + b of the cube, r, g and b 0 to 5. 153 is #afd7ff."""
    red, rest = divmod(number - 16, 36)
    green, blue = divmod(rest, 6)
    return "#" + "".join(f"{_LEVELS[level]:02x}" for level in (red, green, blue))


def painted(text: str, hue: int) -> str:
    """``text`` in black on a hue, for a terminal: readable on dark and on light ones."""
    return f"\x1b[38;5;16;48;5;{HUES[hue]}m{text}\x1b[0m"
