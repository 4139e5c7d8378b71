"""Listing: each profile in the words of ``rs.resample``, as text for a terminal and rows for a table."""

from __future__ import annotations

from collections.abc import Iterator

from restride.weights.like import LIBRARIES, pillow
from restride.weights.like.profile import Mode

_OWN = {"pillow": pillow.FILTERS, "opencv": ("area", "lanczos4")}
"""Modes that no arguments of ``rs.resample`` come near, or not all of the time."""


def listing(like: str | None) -> str:
    """All profiles, or one, as ``restride profiles`` prints them."""
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
    """The arguments of ``rs.resample`` that say the same, without the library's arithmetic; or that there are none."""
    if word in _OWN.get(like, ()):
        return "a filter of its own"
    mode = LIBRARIES[like].modes[word]
    return " ".join(f"{name}={value!r}" for name, value in mode.choice.items())


def free_of(mode: Mode) -> tuple[str, ...]:
    """The arguments that may be given beside this mode."""
    return (("antialias",) if mode.antialiased is not None else ()) + mode.free
