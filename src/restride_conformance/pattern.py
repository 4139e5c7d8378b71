"""Regular expressions that find names, in the part of Rust's syntax that lists of deqp-runner use; none backtracks.

A list may come from anywhere, and Python's ``re`` takes years for ``(a*)*b``. Here an expression maps the set of places
where it may begin to the set of those where it may end, so that a name of n characters costs at most n times as much
for each repetition around another.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial, reduce

from restride.errors import DescriptorError

MAX_CHARACTERS = 512
MAX_DEPTH = 8
"""Maximum number of groups around another."""
MAX_REPETITIONS = 1000

_TOKEN = re.compile(
    r"""(?P<one> \\[dDwWsS] | \\[^0-9A-Za-z] | \[\^?\]?(?:\\.|[^\]\\])*\] | \. )
    | (?P<repeat> (?:[*+?] | \{(?P<least>[0-9]{1,4})(?P<to>,(?P<most>[0-9]{1,4})?)?\})\?? )
    | (?P<open> \((?:\?:)? (?!\?) )
    | (?P<sign> [)|^$] )
    | (?P<plain> [^\\\[\](){}*+?] )""",
    re.VERBOSE,
)

_NESTED = re.compile(r"(?<!\\)\[|&&|--|~~|\|\|")

Positions = frozenset[int]
Matcher = Callable[[str, Positions], Positions]
"""A function from a name and the places where a part of an expression may begin to the places where it may end."""


def compiled(text: str) -> Callable[[str], bool]:
    r"""A function that says whether ``text`` matches anywhere in a name; ``^`` and ``$`` bind it to the ends.

    Raises:
        DescriptorError: it is not well formed, too long, or holds what is not read here: flags, ``\b``.
    """
    if len(text) > MAX_CHARACTERS:
        raise DescriptorError(f"it has more than {MAX_CHARACTERS} characters")
    step = _PatternReader(text).whole()
    return lambda name: bool(step(name, frozenset(range(len(name) + 1))))


class _PatternReader:
    """Reads an expression from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def whole(self) -> Matcher:
        step = self._choice(0)
        if self._at < len(self._text):
            raise DescriptorError(f"a parenthesis is closed at character {self._at + 1} that was not opened")
        return step

    def _token(self) -> re.Match[str] | None:
        """The next token, not yet taken; None at the end."""
        if self._at == len(self._text):
            return None
        token = _TOKEN.match(self._text, self._at)
        if token is None:
            raise DescriptorError(f"{self._text[self._at : self._at + 3]!r} at character {self._at + 1} is not read")
        return token

    def _choice(self, depth: int) -> Matcher:
        """Sequences with ``|`` between them, up to the parenthesis that closes them or the end."""
        if depth > MAX_DEPTH:
            raise DescriptorError(f"groups are nested more than {MAX_DEPTH} deep")
        ways = [self._sequence(depth)]
        while (token := self._token()) is not None and token[0] == "|":
            self._at = token.end()
            ways.append(self._sequence(depth))
        return ways[0] if len(ways) == 1 else partial(_any_of, ways)

    def _sequence(self, depth: int) -> Matcher:
        steps: list[Matcher] = []
        while (token := self._token()) is not None and token[0] not in (")", "|"):
            self._at = token.end()
            if token["repeat"]:
                raise DescriptorError(f"{token[0]!r} at character {token.start() + 1} repeats nothing")
            step = self._group(depth) if token["open"] else _single(token)
            following = self._token()
            if following is not None and following["repeat"]:
                self._at = following.end()
                step = partial(_repeated, step, *_bounds(following))
            steps.append(step)
        return partial(_in_turn, steps)

    def _group(self, depth: int) -> Matcher:
        step = self._choice(depth + 1)
        if self._at == len(self._text):
            raise DescriptorError("a parenthesis is not closed")
        self._at += 1
        return step


def _bounds(token: re.Match[str]) -> tuple[int, int | None]:
    """The least and the most repetitions; None: any number."""
    sign = token[0][0]
    if sign != "{":
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
    least = int(token["least"])
    most = least if token["to"] is None else int(token["most"]) if token["most"] else None
    if max(least, most or 0) > MAX_REPETITIONS or (most is not None and most < least):
        raise DescriptorError(f"{token[0]} must count up, to at most {MAX_REPETITIONS}")
    return least, most


def _single(token: re.Match[str]) -> Matcher:
    """The step over one character, or of ``^`` or ``$``."""
    if token[0] == "^":
        return lambda _, places: places & {0}
    if token[0] == "$":
        return lambda name, places: places & {len(name)}
    if token[0][0] == "[" and _NESTED.search(token[0], 1):
        raise DescriptorError(f"{token[0]!r} at character {token.start() + 1} is a class of classes, which is not read")
    try:
        fits = re.compile(token[0] if token["one"] else re.escape(token[0])).fullmatch
    except re.error as error:
        raise DescriptorError(f"{token[0]!r} at character {token.start() + 1}: {error}") from error
    return lambda name, places: frozenset(at + 1 for at in places if at < len(name) and fits(name[at]))


def _in_turn(steps: list[Matcher], name: str, places: Positions) -> Positions:
    return reduce(lambda at, step: step(name, at), steps, places)


def _any_of(steps: list[Matcher], name: str, places: Positions) -> Positions:
    return frozenset[int]().union(*(step(name, places) for step in steps))


def _repeated(step: Matcher, least: int, most: int | None, name: str, places: Positions) -> Positions:
    """The ends of ``least`` to ``most`` steps: once a step changes no place, further ones do not either."""
    reached = places if least == 0 else frozenset[int]()
    done = 0
    while places and (most is None or done < most):
        following = step(name, places)
        done += 1
        if following == places or (done > least and following <= reached):
            return reached | following
        places = following
        if done >= least:
            reached |= places
    return reached
