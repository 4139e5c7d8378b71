"""Contact sheets: panels in one picture; that of the demo has every step's result, and where it differs from numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from restride import reference
from restride.cli.comparison import Array, Comparison
from restride.cli.files import pillow, write_whole
from restride.cli.photograph import Photograph
from restride.cli.tour import Step

_CELL = (360, 288)
_CAPTION = 44
_MARGIN = 24
_HEADER = 76
_COLUMNS = 3
_BACKGROUND, _CELL_GREY, _TITLE, _TEXT = (22, 25, 30), (33, 37, 44), (240, 242, 245), (150, 158, 168)
_TINTS = ((255, 110, 100), (110, 235, 120), (110, 150, 255))
_PILE_STEP = 0.3
"""Of a plane's size: how far the planes of a pile lie apart."""
_DETAIL_CENTRE = (0.38, 0.66)
"""Of height and width: where the enlarged results are shown pixel by pixel."""


class Outcome(Protocol):
    """What the sheet needs of a step's outcome."""

    @property
    def step(self) -> Step: ...
    @property
    def result(self) -> Array: ...
    @property
    def milliseconds(self) -> float: ...
    @property
    def comparison(self) -> Comparison: ...


@dataclass(frozen=True, eq=False)
class Panel:
    """A picture of u8 pixels, [height, width, 3], and two lines below it."""

    pixels: Array
    title: str
    text: str


def draw_contact_sheet(path: Path, photo: Photograph, outcomes: Sequence[Outcome], heading: str) -> None:
    """Draw the panels of the demo and write the sheet as a PNG."""
    draw_sheet(path, "restride demo", heading, _panels(photo, outcomes))


def draw_sheet(path: Path, title: str, heading: str, panels: Sequence[Panel]) -> None:
    """Draw panels in rows of three and write the sheet as a PNG."""
    image_module = pillow()
    from PIL import ImageDraw, ImageFont

    large, medium, small = (ImageFont.load_default(size) for size in (24, 15, 12))
    cell_width, cell_height = _CELL[0] + _MARGIN, _CELL[1] + _CAPTION + _MARGIN
    rows = -(-len(panels) // _COLUMNS)
    sheet = image_module.new("RGB", (_COLUMNS * cell_width + _MARGIN, _HEADER + rows * cell_height), _BACKGROUND)
    draw = ImageDraw.Draw(sheet)
    draw.text((_MARGIN, 16), title, _TITLE, large)
    draw.text((_MARGIN, 48), _cut(heading, 150), _TEXT, small)
    for number, panel in enumerate(panels):
        left = _MARGIN + number % _COLUMNS * cell_width
        top = _HEADER + number // _COLUMNS * cell_height
        picture = _fitted(image_module, panel.pixels)
        draw.rectangle((left, top, left + _CELL[0] - 1, top + _CELL[1] - 1), _CELL_GREY)
        sheet.paste(picture, (left + (_CELL[0] - picture.width) // 2, top + (_CELL[1] - picture.height) // 2))
        draw.text((left, top + _CELL[1] + 6), panel.title, _TITLE, medium)
        draw.text((left, top + _CELL[1] + 26), panel.text, _TEXT, small)
    write_whole(path, lambda file: sheet.save(file, "PNG", optimize=True))


def _panels(photo: Photograph, outcomes: Sequence[Outcome]) -> list[Panel]:
    found = {(outcome.step.name, outcome.step.src.dtype.name): outcome for outcome in outcomes}
    cropped, planes = found["crop + flip", "u8"], found["HWC->CHW", "u8"]
    fused, enlarged = outcomes[-1], found["enlarge, cubic", "f32"]
    height, width, _ = photo.pixels.shape
    panels = [
        Panel(photo.pixels, "the photograph", f"{photo.title}, {width} x {height}"),
        Panel(cropped.result, "cropped and flipped", _caption(cropped)),
        Panel(_tinted_planes(planes.result), "HWC->CHW: three planes in memory", _caption(planes)),
    ]
    for mode in ("nearest", "antialiased"):
        outcome = found[f"shrink, {mode}", "u8"]
        panels.append(Panel(_as_pixels(outcome.result), f"shrunk, {mode}", _caption(outcome)))
    panels.append(Panel(_as_pixels(fused.result), "all four steps in one dispatch, linear", _caption(fused)))
    for mode in ("nearest", "cubic"):
        outcome = found[f"enlarge, {mode}", "u8"]
        panels.append(Panel(_detail(_as_pixels(outcome.result)), f"enlarged, {mode} (detail)", _caption(outcome)))
    panels.append(_difference(enlarged, planes_f32=found["HWC->CHW", "f32"].result))
    return panels


def _caption(outcome: Outcome) -> str:
    return f"{outcome.step.dst.desc}   {outcome.milliseconds:.2f} ms"


def _difference(outcome: Outcome, planes_f32: Array) -> Panel:
    """How far the f32 result is from numpy's: black is equal, white the most that is allowed."""
    sizes = outcome.result.shape[1:]
    answer = reference.resample(planes_f32, sizes, mode="cubic")
    distance = np.abs(outcome.result.astype(np.float64) - answer).max(axis=0)
    comparison = outcome.comparison
    share = np.clip(_detail(distance) / comparison.allowed, 0, 1) if comparison.allowed else _detail(distance)
    verdict = "rounding of last bits, OK" if comparison.passed else "FAILED"
    text = f"cubic, f32: at most {comparison.difference:.1g}, allowed {comparison.allowed:.1g}: {verdict}"
    return Panel(glowing(share), "distance from numpy (white: all that is allowed)", text)


def glowing(share: Array) -> Array:
    """Numbers from 0 to 1 as pixels, black over orange to white."""
    return np.asarray(np.clip(255 * share[:, :, np.newaxis] * np.array([2.2, 1.3, 0.6]), 0, 255), np.uint8)


def _as_pixels(planes: Array) -> Array:
    """Channels first, u8 or f32 of 0 to 1, to u8 pixels."""
    if planes.dtype == np.float32:
        planes = np.rint(np.clip(planes, 0, 1) * 255).astype(np.uint8)
    return planes.transpose(1, 2, 0)


def _tinted_planes(planes: Array) -> Array:
    """The three planes as a pile, each in its colour."""
    rows, columns = planes.shape[1:]
    down, right = int(rows * _PILE_STEP), int(columns * _PILE_STEP)
    pile = np.full((rows + 2 * down, columns + 2 * right, 3), _CELL_GREY, np.uint8)
    for number, (plane, tint) in enumerate(zip(planes, _TINTS, strict=True)):
        tinted = plane[:, :, np.newaxis] * np.array(tint, np.uint16) // 255
        pile[number * down : number * down + rows, number * right : number * right + columns] = tinted
    return pile


def _detail(pixels: Array) -> Array:
    """A window of the size of a cell, pixel for pixel."""
    window = []
    for size, room, centre in zip(pixels.shape[:2], reversed(_CELL), _DETAIL_CENTRE, strict=True):
        start = min(max(int(size * centre) - room // 2, 0), max(size - room, 0))
        window.append(slice(start, start + room))
    return pixels[tuple(window)]


def _fitted(image_module: Any, pixels: Array) -> Any:
    """The picture as large as the cell allows; what is small is magnified pixel by pixel."""
    image = image_module.fromarray(np.ascontiguousarray(pixels))
    scale = min(_CELL[0] / image.width, _CELL[1] / image.height)
    if scale >= 2:
        scale, how = float(int(scale)), image_module.Resampling.NEAREST
    else:
        how = image_module.Resampling.LANCZOS
    if scale == 1:
        return image
    return image.resize((max(1, round(image.width * scale)), max(1, round(image.height * scale))), how)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."
