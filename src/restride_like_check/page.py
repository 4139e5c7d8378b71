"""The page docs/profiles.md: its head, which is profiles.md beside this module, and a table for each library."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from restride.weights.like import LIBRARIES
from restride_like_check.comparison import Row
from restride_like_check.judges import JUDGES
from restride_like_check.limits import Limit, is_measured, measured
from restride_like_check.listing import free_of, words

_UNJUDGED = [name for name in LIBRARIES if name not in JUDGES]


def page(rows: Sequence[Row]) -> str:
    """The whole page, of rows that ``compare`` gave."""
    return "\n\n".join((head(), *(_table(name, [row for row in rows if row.like == name]) for name in JUDGES), _rest()))


def head() -> str:
    """What stands before the figures, with the profiles themselves."""
    text = (files(__package__) / "profiles.md").read_text(encoding="utf-8")
    return text.replace("{profiles}", profiles_table()).rstrip()


def profiles_table() -> str:
    """Every mode of every library, in the words of ``rs.resample``."""
    lines = ["| `like` | mode | arguments of `rs.resample` | free arguments |", "| --- | --- | --- | --- |"]
    for name, profile in LIBRARIES.items():
        for word, mode in profile.modes.items():
            default = ", the default" if word == profile.default else ""
            free = ", ".join(f"`{argument}`" for argument in free_of(mode))
            text = words(name, word)
            shown = f"`{text}`" if "=" in text else text
            lines.append(f"| `{name}` | `{word}`{default} | {shown} | {free} |")
    return "\n".join(lines)


def cells(row: Row) -> tuple[str, ...]:
    """The columns of a row, but for the library's."""
    differ = f"{row.differ} ({100 * row.share:.3g} %)" if row.differ else "0"
    return (
        row.mode,
        row.type,
        row.direction,
        str(row.images),
        str(row.pixels),
        differ,
        f"{row.largest:g}",
        limit_text(row.limit),
    )


def limit_text(limit: Limit) -> str:
    """``exact``, or the largest difference and where it is one, the share: ``1 in 0.1 %``."""
    if not limit.largest:
        return "exact"
    return f"{limit.largest:g}" + (f" in {100 * limit.share:g} %" if limit.share < 1 else "")


def _table(name: str, rows: Sequence[Row]) -> str:
    version = rows[0].version if rows else "not installed"
    if rows and not is_measured(name, version):
        version += f", where what is stated was measured with {measured(name)}"
    lines = [
        f"### {name}: {LIBRARIES[name].library}",
        "",
        f"Installed: {version}.",
        "",
        "| mode | type | sizes | images | pixels | that differ | largest | stated |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        *(f"| {' | '.join(cells(row))} |" for row in rows),
    ]
    return "\n".join(lines)


def _rest() -> str:
    lines = [f"### {', '.join(_UNJUDGED)}: formulas only", ""]
    named = "; ".join(LIBRARIES[name].library for name in _UNJUDGED)
    lines.append(
        f"{named}. They have not been run beside restride: the profile is what their documents and sources say, and "
        "the conformance cases hold the device to those formulas."
    )
    return "\n".join(lines) + "\n"
