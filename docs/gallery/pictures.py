"""How the site draws the gallery: scripts write pictures into their folder, which this moves to their pages."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parents[2]
INK, PAPER = "#1f2328", "#ffffff"
"""Colours of text and lines, and of what is below them: no ink has enough contrast on light and on dark pages alike."""

LINES = ("#0550ae", "#b35900", "#1a7f37", "#cf222e", "#8250df", "#0a7ea4")
"""Colours of curves, boxes and their titles, each of them legible on paper, and white on it."""


def set_style(_options: dict[str, Any], _file: str) -> None:
    """Prepare matplotlib for a script: figures of the width of a page, in colours that can be read."""
    plt.close("all")
    mpl.use("Agg")
    mpl.rcParams |= {
        "figure.figsize": (8, 3.2),
        "figure.dpi": 144,
        **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), PAPER),
        "axes.prop_cycle": mpl.cycler(color=LINES),
        "font.size": 9,
        "axes.titlesize": 9,
        "image.interpolation": "nearest",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    }


def scrape(_block: tuple[Any, ...], variables: dict[str, Any], _options: dict[str, Any]) -> str:
    """Move the pictures that a script has written to its page; sphinx-gallery calls this after each script."""
    script = Path(variables["src_file"])
    title = script.read_text("utf-8").partition("\n")[0].strip('"')
    shown = ""
    for picture in sorted(script.parent.glob("*.[ps][nv]g")):
        place = Path(next(variables["image_path_iterator"])).with_suffix(picture.suffix)
        shutil.move(picture, place)
        shown += f"\n.. image:: /{place.relative_to(ROOT).as_posix()}\n   :alt: {title}\n"
    return shown
