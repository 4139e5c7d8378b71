"""Write the documents: the list of profiles, the tables of docs/profiles.md, and a picture of three libraries.

The beginning of docs/profiles.md is profiles.md in the folder of this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from restride.cli.demo import Panel, draw_sheet, shipped
from restride.command.process import UsageError
from restride.ops.resample import resample
from restride.request import LIBRARIES, Library, ModeName
from restride.request.libraries import Mode
from restride.tensor.arrays import asarray
from restride.tensor.device import Device
from restride_conformance.report.table import Table
from restride_like_check.comparison import Limit, Row, is_measured, measured
from restride_like_check.images import photograph
from restride_like_check.judges import JUDGES, Array, judges_of

_OWN = {"pillow": ("box", "bilinear", "hamming", "bicubic", "lanczos"), "opencv": ("area", "lanczos4")}
"""Modes that arguments of ``rs.resample`` do not approximate in all cases."""


def listing(like: str | None) -> str:
    """The text of all profiles, or of one, as ``restride profiles`` prints them."""
    return "\n\n".join("\n".join(_lines(name)) for name in LIBRARIES if like in (None, name))


def _lines(name: str) -> Iterator[str]:
    profile = LIBRARIES[name]
    yield f"{name}: {profile.library}"
    width = max(map(len, profile.modes))
    for word in profile.modes:
        default = "  (default)" if word == profile.default else ""
        yield f"  {word.ljust(width)}  {words(name, word)}{default}"
    free = sorted({argument for mode in profile.modes.values() for argument in free_of(mode)})
    if free:
        yield f"  {'free'.ljust(width)}  {', '.join(free)}"


def words(like: str, word: str) -> str:
    """The equivalent arguments of ``rs.resample``, apart from the library's arithmetic; or "a filter of its own"."""
    if word in _OWN.get(like, ()):
        return "a filter of its own"
    mode = LIBRARIES[like].modes[word]
    return " ".join(f"{name}={value!r}" for name, value in mode.choice.items())


def free_of(mode: Mode) -> tuple[str, ...]:
    """The arguments that may be combined with this mode."""
    return (("antialias",) if mode.antialiased is not None else ()) + mode.free


def page(rows: Sequence[Row]) -> str:
    """The whole page docs/profiles.md with the rows from ``compare``."""
    tables = (_table(name, [row for row in rows if row.like == name]) for name in JUDGES)
    return "\n\n".join((head(), *tables, "<!-- end of figures -->", _rest()))


def head() -> str:
    """The text before the figures, including the table of profiles."""
    text = (files(__package__) / "profiles.md").read_text(encoding="utf-8")
    return text.replace("{profiles}", profiles_table()).rstrip()


def profiles_table() -> str:
    """The Markdown table of every mode of every library, with the arguments of ``rs.resample``."""
    rows: list[tuple[str, ...]] = [("`like`", "mode", "arguments of `rs.resample`", "free arguments")]
    for name, profile in LIBRARIES.items():
        for word, mode in profile.modes.items():
            default = ", the default" if word == profile.default else ""
            free = ", ".join(f"`{argument}`" for argument in free_of(mode))
            text = words(name, word)
            shown = f"`{text}`" if "=" in text else text
            rows.append((f"`{name}`", f"`{word}`{default}", shown, free))
    return Table("", rows).markdown()


def cells(row: Row) -> tuple[str, ...]:
    """The cells of a row, without those about the library."""
    differ = f"{row.differ} ({100 * row.share:.3g} %)" if row.differ else "0"
    counts = str(row.images), str(row.pixels), differ, f"{row.largest:g}"
    return row.mode, row.type, row.direction, *counts, limit_text(row.limit)


def limit_text(limit: Limit) -> str:
    """A limit as text: ``exact``, or the largest difference and the share if that is limited: ``1 in 0.1 %``."""
    if not limit.largest:
        return "exact"
    return f"{limit.largest:g}" + (f" in {100 * limit.share:g} %" if limit.share < 1 else "")


def _table(name: str, rows: Sequence[Row]) -> str:
    version = rows[0].version if rows else "not installed"
    if rows and not is_measured(name, version):
        version += f", where what is stated was measured with {measured(name)}"
    heading = f"### {name}: {LIBRARIES[name].library}\n\nInstalled: {version}.\n"
    titles = ("mode", "type", "sizes", "images", "pixels", "that differ", "largest", "stated")
    return f"{heading}\n{Table('', [titles, *map(cells, rows)]).markdown()}"


def _rest() -> str:
    """The section about libraries that have not been run."""
    unjudged = {name: profile.library for name, profile in LIBRARIES.items() if name not in JUDGES}
    return (
        f"### {', '.join(unjudged)}: formulas only\n\n{'; '.join(unjudged.values())}. They have not been run beside "
        "restride: the profile is what their documents and sources say, and the conformance cases hold the device to "
        "those formulas.\n"
    )


# Draws the picture of docs/replace_preprocessing.md: one photograph by three libraries, and where they differ.

PHOTOGRAPH = "coffee.png"

SIZES = (240, 360)
"""Rows and columns to which the 400 x 600 pixels are resized."""

MODES: dict[Library, ModeName] = {"pillow": "bilinear", "opencv": "linear", "torch": "bilinear"}
"""Each library's bilinear mode: Pillow's filter covers all that an output covers, the others read 2 x 2 elements."""

_WHITE = 8
"""A difference of this many steps of 1/255 is drawn white."""


def results(device: Device) -> dict[Library, tuple[Array, Array]]:
    """The result of restride and of the library itself, by library.

    Raises:
        UsageError: a library or the photograph is not installed.
    """
    judges, missing = judges_of(None)
    if not shipped(PHOTOGRAPH):
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
    """Draw for each library: our result, its distance from the library's own result, and from the next library's."""
    by_library = results(device)
    panels = []
    for place, (like, (ours, own)) in enumerate(by_library.items()):
        following = list(by_library)[(place + 1) % len(by_library)]
        library = LIBRARIES[like].library.split(",")[0]
        other = LIBRARIES[following].library.split(",")[0]
        panels.append(Panel(ours, f'like="{like}", mode="{MODES[like]}"', f"{ours.shape[1]} x {ours.shape[0]}, u8"))
        panels.append(_difference(ours, own, f"distance from {library}"))
        panels.append(_difference(ours, by_library[following][1], f"distance from {other}, {MODES[following]}"))
    heading = (
        f"{PHOTOGRAPH} of scikit-image, 600 x 400, made bilinear by each; black is equal, white {_WHITE} steps or more"
    )
    draw_sheet(path, "what three libraries call bilinear", heading, panels)


def _difference(ours: Array, theirs: Array, title: str) -> Panel:
    apart = np.abs(ours.astype(np.int64) - theirs.astype(np.int64))
    text = f"{np.count_nonzero(apart)} of {apart.size} values differ, by at most {apart.max(initial=0)}"
    return Panel(_glowing(np.minimum(apart.max(axis=2) / _WHITE, 1.0)), title, text)


def _glowing(share: Array) -> Array:
    """Numbers from 0 to 1 as u8 pixels with colours from black through orange to white."""
    return np.asarray(np.clip(255 * share[:, :, np.newaxis] * np.array([2.2, 1.3, 0.6]), 0, 255), np.uint8)
