"""Read case files, which hold one case per line and loops over them, and the catalogues that come with the package.

    # A # at the start of a line, or after a blank, begins a comment.
    let WIDE = f32 s32 u32
    for T in $WIDE u8
    for N,M in 4,2 65,33
    reorder $T[$N,$M]{1,0} -> $T[$N,$M]{0,1}
    slice $T[$N]{0} -> $T[$((N-1)/3+1)]{0} offsets=(0) sizes=($N) strides=(3)

A ``for`` applies to all lines after it up to the next blank line, including further loops. Its names are separated by
commas, or by semicolons if values contain commas: ``for SIZES;ORDER in 2,3;1,0 4,5;0,1``. ``1..4`` means ``1 2 3 4``.
A ``let`` names a text until the end of the file, or inside a ``for`` until the blank line. Names are upper case.
``$NAME`` stands for the text, ``$(...)`` for integer arithmetic: ``+ - * /`` and parentheses over numbers and names.

Predefined names: TYPES, INTERPOLATED_TYPES and LINEAR_TYPES are the element types that can be copied, that can be
interpolated, and that oneDNN interpolates. MAX_BINDING is the bytes that one binding of the device covers; MAX_GROUPS
is its largest number of work groups along an axis.

The catalogues are folders of ``restride_conformance/catalogue``: ``smoke``, ``ci`` and ``full``, which has the cases at
the device's limits. Each contains the one before, and its folder holds only the cases that it adds. ``perf`` stands
apart: a few large tensors, to be measured.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from operator import add, floordiv, mul, sub
from typing import NamedTuple

from restride.dtypes import DTYPES
from restride.errors import DescriptorError, prefixed
from restride.kernel import Limits
from restride.reference.resample import INTERPOLATED_TYPES, LINEAR_TYPES
from restride_conformance.case import MAX_LINE, OPERATIONS, Case

MAX_CASES = 200_000
"""Maximum number of cases in a file, once its loops are unrolled."""

MAX_CHARACTERS = 20_000_000
"""Maximum number of characters in a file."""

MAX_WORK = 50_000_000
"""Maximum number of characters that the loops of a file may read and produce, where each turn counts as 50 more."""

MAX_NAMES = 256
"""Maximum number of names that are defined at once."""

MAX_LOOPED = 16
"""Maximum number of names in nested loops."""

NESTED = ("smoke", "ci", "full")
"""The catalogues each of which contains the one before it."""

CATALOGUES = (*NESTED, "perf")
"""Every catalogue."""

# Possessive, because a repetition could otherwise try 2^n ways to split a long name into shorter ones.
_NAME = "[A-Z][A-Z0-9_]*+"
_LET = re.compile(rf"let\s+({_NAME})\s*=\s*(.*)")
_FOR = re.compile(rf"for\s+({_NAME}(?:[,;]{_NAME})*)\s+in\s+(.*)")
_RANGE = re.compile(r"(-?[0-9]{1,18})\.\.(-?[0-9]{1,18})")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_DOLLAR = re.compile(rf"\$(?:({_NAME})|\()?")

Names = dict[str, str]


def read_cases(
    text: str, name: str = "cases", limits: Limits | None = None, check: Callable[[Case], None] | None = None
) -> tuple[Case, ...]:
    """Read the cases of a case file, in order.

    Args:
        text: the content of the file.
        name: the file's name in error messages.
        limits: the device limits that MAX_BINDING and MAX_GROUPS come from; default: ``Limits()``.
        check: called with each case; its errors get the name and the line's number too.

    Raises:
        DescriptorError: a line is neither a case, a loop nor a ``let``, or there are too many; the message begins with
            ``name`` and the line's number.
        UnsupportedError: a descriptor that this version does not read.
    """
    return tuple(_File(name, limits or Limits(), check).cases(text))


def catalogue(name: str = "ci", limits: Limits | None = None) -> tuple[Case, ...]:
    """The cases of a catalogue that comes with the package, for a device of these ``limits`` (default: ``Limits()``).

    Raises:
        DescriptorError: there is no such catalogue; the message lists the known ones.
    """
    if name not in CATALOGUES:
        raise DescriptorError(f"catalogue {name!r} is unknown; known: {', '.join(CATALOGUES)}")
    parts = NESTED[: NESTED.index(name) + 1] if name in NESTED else (name,)
    return tuple(case for part in parts for case in _folder(part, limits or Limits()))


@lru_cache(maxsize=8)
def _folder(part: str, limits: Limits) -> tuple[Case, ...]:
    """The cases of a catalogue's folder, cached, because reading one takes seconds and several catalogues contain it.

    Cases are in the order of ``OPERATIONS``, slices first, then reorders, whatever file they are in. So a fault in a
    kernel that many operations use shows first in a case that uses only this kernel.
    """
    cases: list[Case] = []
    for entry in sorted((files("restride_conformance") / "catalogue" / part).iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".txt"):
            cases += read_cases(entry.read_text(encoding="utf-8"), f"{part}/{entry.name}", limits)
    ops = list(OPERATIONS)
    return tuple(sorted(cases, key=lambda case: ops.index(case.op)))


class _Line(NamedTuple):
    number: int
    text: str


@dataclass
class _File:
    """A case file whose loops are being unrolled."""

    name: str
    limits: Limits
    check: Callable[[Case], None] | None = None
    work: int = 0
    cases_read: int = 0

    def cases(self, text: str) -> Iterator[Case]:
        names: Names = {
            "TYPES": " ".join(DTYPES),
            "LINEAR_TYPES": " ".join(LINEAR_TYPES),
            "INTERPOLATED_TYPES": " ".join(INTERPOLATED_TYPES),
            "MAX_BINDING": str(self.limits.max_buffer_range),
            "MAX_GROUPS": str(min(self.limits.max_group_count)),
        }
        if len(text) > MAX_CHARACTERS:
            raise DescriptorError(f"{self.name}: a case file has at most {MAX_CHARACTERS:,} characters")
        group: list[_Line] = []
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                yield from self.unrolled(group, names)
                group = []
            elif code := _COMMENT.sub("", line).strip():
                group.append(_Line(number, code))
        yield from self.unrolled(group, names)

    def unrolled(self, lines: list[_Line], names: Names, looped: frozenset[str] = frozenset()) -> Iterator[Case]:
        """Yield the cases of some lines inside loops over ``looped``; a ``let`` among them changes ``names``."""
        for position, (number, text) in enumerate(lines):
            with prefixed(f"{self.name}:{number}"):
                if len(text) > MAX_LINE:
                    raise _too_long(text)
                line = substitute(text, names)
                self.count(len(text) + len(line))
                if line.startswith("let "):
                    self.count(_let(line, names))
                    continue
                if not line.startswith("for "):
                    yield self.case(line)
                    continue
                keys, turns = _loop(line)
                self.count(sum(50 + sum(map(len, values)) for values in turns))
                if again := looped.intersection(keys):
                    raise DescriptorError(f"{', '.join(again)} is looped over already; a blank line ends that loop")
                if len(looped) + len(keys) > MAX_LOOPED:
                    raise DescriptorError(f"more than {MAX_LOOPED} names are looped over")
            for values in turns:
                turn = {**names, **dict(zip(keys, values, strict=True))}
                yield from self.unrolled(lines[position + 1 :], turn, looped | set(keys))
            return

    def case(self, line: str) -> Case:
        self.cases_read += 1
        if self.cases_read > MAX_CASES:
            raise DescriptorError(f"more than {MAX_CASES:,} cases")
        case = Case.parse(line)
        if self.check is not None:
            self.check(case)
        return case

    def count(self, characters: int) -> None:
        self.work += characters
        if self.work > MAX_WORK:
            raise DescriptorError(f"its loops read and make more than {MAX_WORK:,} characters")


def substitute(text: str, names: Mapping[str, str]) -> str:
    """``text`` with each ``$NAME`` and ``$(...)`` replaced by its value.

    Raises:
        DescriptorError: an unknown name, wrong arithmetic, a lone ``$``, or more characters than a case may have.
    """
    parts: list[str] = []
    position = length = 0
    while (match := _DOLLAR.search(text, position)) is not None:
        name = match.group(1)
        end = match.end()
        if name is not None:
            if name not in names:
                raise DescriptorError(f"${name[:40]} is not defined; there is {_last_names(names)}")
            value = names[name]
        elif match.group().endswith("("):
            end = _closing(text, end)
            value = str(evaluate(text[match.end() : end - 1].replace(" ", ""), names))
        else:
            raise DescriptorError(
                f"a $ stands before a name in upper case or a (, not in {text[match.start() :][:40]!r}"
            )
        parts += [text[position : match.start()], value]
        length += len(parts[-1]) + len(parts[-2])
        position = end
        if length > MAX_LINE:
            break
    parts.append(text[position:])
    if length + len(parts[-1]) > MAX_LINE:
        raise _too_long(text)
    return "".join(parts)


_MAX_ARITHMETIC = 200
_LIMIT = 1 << 64
_ARITHMETIC = re.compile(rf"(?:[0-9]{{1,19}}(?![0-9A-Z_])|{_NAME}|[-+*/()])*")
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.Div: floordiv,
}


def evaluate(text: str, names: Mapping[str, str]) -> int:
    """The value of ``text``, the inside of ``$(...)``. names: maps names to texts of integers.

    Division rounds down. Python's parser reads the text; nothing is executed.

    Raises:
        DescriptorError: the text is not well formed or longer than 200 characters, a name is unknown or not an integer,
            a divisor is 0, or a value reaches 2^64 in magnitude.
    """

    def wrong(why: str) -> DescriptorError:
        return DescriptorError(f"$({text if len(text) <= 80 else text[:77] + '...'}): {why}")

    def value_of(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int(value)):
                pass
            case ast.Name(id=name):
                if name not in names:
                    raise wrong(f"{name} is not defined")
                if not re.fullmatch("-?[0-9]{1,19}", names[name]):
                    raise wrong(f"{name} is {names[name][:40]!r}, no integer")
                value = int(names[name])
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = -value_of(operand)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                first, second = value_of(left), value_of(right)
                if isinstance(operator, ast.Div) and second == 0:
                    raise wrong("a division by 0")
                value = _OPERATORS[type(operator)](first, second)
            case _:
                raise wrong("it is no sum, difference, product or quotient of integers")
        if abs(value) >= _LIMIT:
            raise wrong("its value reaches 2^64")
        return value

    if len(text) > _MAX_ARITHMETIC:
        raise wrong(f"it has more than {_MAX_ARITHMETIC} characters")
    if not _ARITHMETIC.fullmatch(text):
        raise wrong("it has more than numbers, names and + - * / ( )")
    try:
        root = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise wrong(f"it is not well formed: {error.msg}") from error
    return value_of(root)


def _too_long(text: str) -> DescriptorError:
    return DescriptorError(f"a line has at most {MAX_LINE} characters, not more: {text[:80]!r}...")


def _last_names(names: Mapping[str, str]) -> str:
    """The last nine names, for a message."""
    return ", ".join(name[:40] for name in [*names][-9:])


def _closing(text: str, start: int) -> int:
    """The position after the parenthesis that closes the one just before ``start``."""
    depth = 1
    for position in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if not depth:
            return position + 1
    raise DescriptorError(f"a parenthesis is not closed in {text[start - 2 :][:40]!r}")


def _let(line: str, names: Names) -> int:
    """Add the name that ``line`` defines to ``names``; returns the length of its text."""
    match = _LET.fullmatch(line)
    if match is None:
        raise DescriptorError(f"a name is given as 'let NAME = TEXT', not {line[:80]!r}")
    name, value = match.group(1), " ".join(_words(match.group(2)))
    if len(names) >= MAX_NAMES and name not in names:
        raise DescriptorError(f"more than {MAX_NAMES} names stand at once; there is {_last_names(names)}")
    names[name] = value
    return len(value)


def _loop(line: str) -> tuple[list[str], list[list[str]]]:
    """The names of a ``for``, and their values for each turn of the loop."""
    match = _FOR.fullmatch(line)
    if match is None:
        raise DescriptorError(f"a loop is written 'for NAME,... in VALUE,... ...', not {line[:80]!r}")
    separator = ";" if ";" in match.group(1) else ","
    keys = match.group(1).split(separator)
    if not all(re.fullmatch(_NAME, key) for key in keys):
        raise DescriptorError(f"names are split by commas or by semicolons, not by both: {match.group(1)!r}")
    turns: list[list[str]] = []
    for word in _words(match.group(2)):
        values = word.split(separator) if len(keys) > 1 else [word]
        if len(values) != len(keys):
            raise DescriptorError(f"{word[:80]!r} must hold {len(keys)} values, split by {separator!r}")
        turns.append(values)
    return keys, turns


def _words(text: str) -> list[str]:
    """The words of a list, with ranges expanded: ``1..3`` becomes 1, 2 and 3."""
    words: list[str] = []
    for word in text.split():
        bounds = _RANGE.fullmatch(word)
        if bounds is None:
            words.append(word)
            continue
        first, last = map(int, bounds.groups())
        if last < first:
            raise DescriptorError(f"range {word} is empty")
        if last - first >= MAX_LINE:
            raise DescriptorError(f"range {word} has more than {MAX_LINE} values")
        words += map(str, range(first, last + 1))
        if len(words) > MAX_LINE:
            raise DescriptorError(f"a list has more than {MAX_LINE} values")
    return words
