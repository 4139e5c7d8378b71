"""How the site draws the gallery: scripts write pictures into their folder, which this moves to their pages."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parents[2]
INK = "#808080"
"""Colour of text and lines: legible on white and on black."""


def set_style(_options: dict[str, Any], _file: str) -> None:
    """Prepare matplotlib for a script: transparent figures of the width of a page, which dark pages show too."""
    plt.close("all")
    mpl.use("Agg")
    mpl.rcParams |= {
        "figure.figsize": (8, 3.2),
        "figure.dpi": 144,
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "savefig.facecolor": "none",
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
    from sphinx_gallery.scrapers import figure_rst

    shown = []
    for picture in sorted(Path(variables["src_file"]).parent.glob("*.[ps][nv]g")):
        shown.append(str(Path(next(variables["image_path_iterator"])).with_suffix(picture.suffix)))
        shutil.move(picture, shown[-1])
    return figure_rst(shown, str(ROOT))
