"""Which cases run: by words of their line, operation, element type and part of a whole; with other seeds. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from restride.dtypes import as_dtype
from restride.errors import DescriptorError
from restride_conformance.case import Case
from restride_conformance.parameters import PARAMETERS

Matches = Callable[[str], bool]

_LONGEST_EXPRESSION = 4096
_DEEPEST = 50  # parentheses and `not` within each other
_TOKEN = re.compile(r"""\s*(?:(\()|(\))|"([^"]*)"|'([^']*)'|([^\s()"']+))""")


def select(
    cases: Iterable[Case],
    *,
    keywords: str | None = None,
    ops: Collection[str] | None = None,
    dtypes: Collection[str] | None = None,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> tuple[Case, ...]:
    """The cases that pass every filter that is given, in their order.

    Args:
        cases: what to choose from.
        keywords: as in pytest's ``-k``, see ``expression``; it judges the line before ``seed`` adds to it.
        ops: operations; a case has one of them.
        dtypes: element types in any spelling; a case's source or destination has one of them.
        seed: added to each case's seed, modulo 2^64: other values in the same places.
        shard: ``(i, n)``, 1 <= i <= n: of the chosen cases number i, i + n, i + 2n, ... The n parts have no case in
            common and hold all of them.

    Raises:
        DescriptorError: an expression that is not well formed, an operation or type that there is not, or a part that
            is not one of n.
    """
    chosen = list(cases)
    if keywords is not None:
        matches = expression(keywords)
        chosen = [case for case in chosen if matches(str(case))]
    if ops:
        if unknown := [op for op in ops if op not in PARAMETERS]:
            raise DescriptorError(f"operation {unknown[0]!r} is unknown; known: {', '.join(PARAMETERS)}")
        chosen = [case for case in chosen if case.op in ops]
    if dtypes:
        names = {as_dtype(dtype).name for dtype in dtypes}
        chosen = [case for case in chosen if names & {case.src.dtype.name, case.dst.dtype.name}]
    if seed is not None:
        chosen = [replace(case, seed=(case.seed + seed) % (1 << 64)) for case in chosen]
    if shard is not None:
        part, parts = shard
        if not 1 <= part <= parts:
            raise DescriptorError(f"shard {part}/{parts} must be i/n with 1 <= i <= n")
        chosen = chosen[part - 1 :: parts]
    return tuple(chosen)


def expression(text: str) -> Matches:
    """What ``text`` says about a line: ``linear and not (u8 or s8)``.

    A word is true of a line that contains it, in upper or lower case; a word with blanks or parentheses stands in
    quotes. ``not`` binds tighter than ``and``, ``and`` tighter than ``or``.

    Raises:
        DescriptorError: it is not well formed, longer than 4096 characters, or nested deeper than 50.
    """
    return _Expression(text).read()


class _Expression:
    """A position among the tokens of an expression, read by recursive descent."""

    def __init__(self, text: str) -> None:
        self.text = text if len(text) <= 80 else text[:77] + "..."
        if len(text) > _LONGEST_EXPRESSION:
            raise DescriptorError(f"expression {self.text!r} has more than {_LONGEST_EXPRESSION} characters")
        self.tokens: list[tuple[str, str]] = []  # kind, text; the kind of and, or, not and parentheses is the text
        position, end = 0, len(text.rstrip())
        while position < end:
            found = _TOKEN.match(text, position)
            if found is None:
                raise self.wrong("a quote is not closed")
            opening, closing, *quoted, word = found.groups()
            sign = opening or closing or (word if word in ("and", "or", "not") else None)
            content = next((part for part in (*quoted, word) if part is not None), "")
            self.tokens.append((sign, sign) if sign else ("word", content.lower()))
            position = found.end()
        self.tokens.append(("end", "the end"))
        self.depth = 0

    def read(self) -> Matches:
        matches = self.either()
        self.expect("end", "'and', 'or' or the end")
        return matches

    def either(self) -> Matches:
        parts = [self.both()]
        while self.accept("or"):
            parts.append(self.both())
        return lambda line: any(part(line) for part in parts)

    def both(self) -> Matches:
        parts = [self.negated()]
        while self.accept("and"):
            parts.append(self.negated())
        return lambda line: all(part(line) for part in parts)

    def negated(self) -> Matches:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.wrong(f"it is nested deeper than {_DEEPEST}")
        if self.accept("not"):
            inner = self.negated()
            matches: Matches = lambda line: not inner(line)  # noqa: E731 - one of three ways to make the same value
        elif self.accept("("):
            matches = self.either()
            self.expect(")", "')'")
        else:
            word = self.expect("word", "a word, 'not' or '('")
            matches = lambda line: word in line.lower()  # noqa: E731 - as above
        self.depth -= 1
        return matches

    def accept(self, kind: str) -> bool:
        if self.tokens[0][0] != kind:
            return False
        self.tokens.pop(0)
        return True

    def expect(self, kind: str, meaning: str) -> str:
        found, text = self.tokens[0]
        if found != kind:
            raise self.wrong(f"expected {meaning}, found {text!r}")
        self.tokens.pop(0)
        return text

    def wrong(self, why: str) -> DescriptorError:
        return DescriptorError(f"expression {self.text!r} is not like 'linear and not (u8 or s8)': {why}")
