"""Catalogues of cases: text files, one case a line, ``#`` begins a comment line, blank lines separate groups."""

from __future__ import annotations

from importlib.resources import files

from restride.conformance.case import Case
from restride.errors import DescriptorError


def read_cases(text: str, name: str = "cases") -> tuple[Case, ...]:
    """The cases of a case file's text, in order.

    Raises:
        DescriptorError: a line is no case; the message begins with ``name`` and the line's number.
        UnsupportedError: a descriptor that this version does not read.
    """
    cases = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                cases.append(Case.parse(line))
            except DescriptorError as error:
                raise DescriptorError(f"{name}:{number}: {error}") from error
    return tuple(cases)


def catalogue(name: str = "first") -> tuple[Case, ...]:
    """The cases of a catalogue that comes with the package.

    Raises:
        DescriptorError: there is no such catalogue; the message names those there are.
    """
    folder = files(__name__)
    known = sorted(entry.name.removesuffix(".txt") for entry in folder.iterdir() if entry.name.endswith(".txt"))
    if name not in known:
        raise DescriptorError(f"catalogue {name!r} is unknown; known: {', '.join(known)}")
    return read_cases((folder / f"{name}.txt").read_text(encoding="utf-8"), f"{name}.txt")
