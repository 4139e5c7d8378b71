"""Catalogues of cases: the case files of this folder, in the syntax of ``restride_conformance.sweep``.

A folder holds what its catalogue adds to the one before: ``smoke`` is there at once, ``ci`` in a minute, ``full`` takes
its time and has the cases at the device's limits. ``perf`` stands apart: a few large tensors, to be measured.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from restride.errors import DescriptorError
from restride.kernel import Limits
from restride_conformance.case import Case
from restride_conformance.sweep import read_cases

__all__ = ["CATALOGUES", "catalogue", "read_cases"]

NESTED = ("smoke", "ci", "full")
"""Each contains the one before."""

CATALOGUES = (*NESTED, "perf")
"""Every catalogue."""


def catalogue(name: str = "ci", limits: Limits | None = None) -> tuple[Case, ...]:
    """The cases of a catalogue that comes with the package, for a device of these ``limits`` (default: ``Limits()``).

    Raises:
        DescriptorError: there is no such catalogue; the message names those there are.
    """
    if name not in CATALOGUES:
        raise DescriptorError(f"catalogue {name!r} is unknown; known: {', '.join(CATALOGUES)}")
    parts = NESTED[: NESTED.index(name) + 1] if name in NESTED else (name,)
    return tuple(case for part in parts for case in _added(part, limits or Limits()))


@lru_cache(maxsize=8)
def _added(part: str, limits: Limits) -> tuple[Case, ...]:
    """The cases of a folder, which takes seconds to read, once for all catalogues that contain it."""
    cases: list[Case] = []
    for entry in sorted((files(__name__) / part).iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".txt"):
            cases += read_cases(entry.read_text(encoding="utf-8"), f"{part}/{entry.name}", limits)
    return tuple(cases)
