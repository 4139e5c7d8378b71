"""The picture of docs/replace_preprocessing.md: one photograph by three libraries, and where they differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from restride.cli.demo import Panel, draw_sheet, glowing
from restride.cli.process import UsageError
from restride.ops.resample import resample
from restride.tensor.arrays import asarray
from restride.tensor.device import Device
from restride.weights.like import LIBRARIES
from restride.weights.like.libraries import Library, ModeName
from restride_like_check import judges_of
from restride_like_check.images import photograph, photographs
from restride_like_check.judge import Array

PHOTOGRAPH = "coffee.png"

SIZES = (240, 360)
"""Rows and columns that its 400 x 600 become."""

MODES: dict[Library, ModeName] = {"pillow": "bilinear", "opencv": "linear", "torch": "bilinear"}
"""What each calls bilinear: Pillow's filter covers all that an output does, the others read 2 x 2 elements."""

_WHITE = 8
"""Steps of 255 that are drawn white."""


def results(device: Device) -> dict[Library, tuple[Array, Array]]:
    """Of each library our result and its own.

    Raises:
        UsageError: one of them, or the photograph, is not installed.
    """
    judges, missing = judges_of(None)
    if PHOTOGRAPH not in photographs():
        missing.append("scikit-image")
    if missing:
        raise UsageError(f"the picture needs every library: pip install {' '.join(missing)}")
    pixels = photograph(PHOTOGRAPH)
    x = asarray(pixels, device=device)
    ways = {(judge.like, way.mode, way.type): way for judge in judges for way in judge.ways}
    return {
        like: (
            resample(x, SIZES, axes=(0, 1), mode=mode, like=like).numpy(),
            ways[like, mode, "u8"].resize(pixels, SIZES),
        )
        for like, mode in MODES.items()
    }


def draw_profile_sheet(path: Path, device: Device) -> None:
    """Draw our result, its distance from the library's own, and from the next library's, for each."""
    made = results(device)
    panels = []
    for place, (like, (ours, own)) in enumerate(made.items()):
        following = list(made)[(place + 1) % len(made)]
        library = LIBRARIES[like].library.split(",")[0]
        other = LIBRARIES[following].library.split(",")[0]
        panels.append(Panel(ours, f'like="{like}", mode="{MODES[like]}"', f"{ours.shape[1]} x {ours.shape[0]}, u8"))
        panels.append(_difference(ours, own, f"distance from {library}"))
        panels.append(_difference(ours, made[following][1], f"distance from {other}, {MODES[following]}"))
    heading = (
        f"{PHOTOGRAPH} of scikit-image, 600 x 400, made bilinear by each; black is equal, white {_WHITE} steps or more"
    )
    draw_sheet(path, "what three libraries call bilinear", heading, panels)


def _difference(ours: Array, theirs: Array, title: str) -> Panel:
    apart = np.abs(ours.astype(np.int64) - theirs.astype(np.int64))
    text = f"{np.count_nonzero(apart)} of {apart.size} values differ, by at most {apart.max(initial=0)}"
    return Panel(glowing(np.minimum(apart.max(axis=2) / _WHITE, 1.0)), title, text)
