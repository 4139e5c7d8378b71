"""What the scripts of the gallery share: photographs, the style of figures, where pictures go, one-line errors."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
INK = "#808080"
"""Of text and lines: legible on white and on black."""


def say(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """What is missing in one line: a package, a driver, a file. Another error has its traceback."""
    if isinstance(error, ImportError):
        print(f"{Path(sys.argv[0]).name}: {error}: pip install . --group docs", file=sys.stderr)
    elif isinstance(error, OSError) or kind.__module__ == "restride.errors":
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, traceback)


sys.excepthook = say

import matplotlib as mpl  # noqa: E402 - its absence is said in one line

mpl.use("Agg")
mpl.rcParams |= {
    "figure.figsize": (8, 3.2),
    "figure.dpi": 144,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "axes.titlesize": 9,
    "image.interpolation": "nearest",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}
from matplotlib import pyplot as plt  # noqa: E402


def photo(name: str) -> Any:
    """A photograph that scikit-image's package contains: "astronaut", "coffee", "chelsea" or "camera", u8."""
    from skimage import data

    return getattr(data, name)()


def images(*titled: tuple[str, Any], **options: Any) -> Any:
    """A figure with images side by side, each below its title; grey ones are drawn from 0 to 255."""
    height = max(image.shape[0] / image.shape[1] for _, image in titled) * 8 / len(titled)
    figure, axes = plt.subplots(1, len(titled), squeeze=False, figsize=(8, height + 0.4))
    for place, (title, image) in zip(axes[0], titled, strict=True):
        place.imshow(image, **({"cmap": "gray", "vmin": 0, "vmax": 255} | options))
        place.set_title(title)
        place.set_axis_off()
    return figure


def save(picture: Any) -> None:
    """Write the picture of this script to the current folder: a figure, the text of an SVG, or the bytes of a PNG."""
    path = Path(os.environ.get("RESTRIDE_PICTURES", "."), Path(sys.argv[0]).stem)
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(picture, str):
        path = path.with_suffix(".svg")
        path.write_text(picture, "utf-8")
    else:
        path = path.with_suffix(".png")
        if isinstance(picture, bytes):
            path.write_bytes(picture)
        else:
            picture.savefig(path)
            plt.close(picture)
    if "RESTRIDE_PICTURES" not in os.environ:
        print(path)


def scrape(_block: tuple[Any, ...], variables: dict[str, Any], _options: dict[str, Any]) -> str:
    """What sphinx-gallery calls after each script, to show the picture that it has saved."""
    from sphinx_gallery.scrapers import figure_rst

    shown = []
    for picture in Path(os.environ["RESTRIDE_PICTURES"]).glob(f"{Path(variables['src_file']).stem}.*"):
        shown.append(str(Path(next(variables["image_path_iterator"])).with_suffix(picture.suffix)))
        shutil.move(picture, shown[-1])
    return figure_rst(shown, str(ROOT))


__all__ = ["INK", "ROOT", "images", "photo", "plt", "save", "scrape"]
