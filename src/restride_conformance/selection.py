"""Select the cases to run by keywords, operation, element type and shard, and change their seeds. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from restride.dtypes import as_dtype
from restride.errors import DescriptorError, did_you_mean
from restride.layout.text import cut
from restride_conformance.case import OPERATIONS, Case

Matches = Callable[[str], bool]

_MAX_EXPRESSION = 4096
_MAX_NEGATIONS = 100
_TOKEN = re.compile(r"""([()])|("[^"]*"|'[^']*')|([^\s()"']+)""")
_NODES = (ast.Name, ast.UnaryOp, ast.Not, ast.BoolOp, ast.And, ast.Or, ast.Load)


def select(
    cases: Iterable[Case],
    *,
    keywords: str | None = None,
    ops: Collection[str] | None = None,
    dtypes: Collection[str] | None = None,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> tuple[Case, ...]:
    """The cases that pass every filter that is not None, in their order.

    Args:
        cases: the cases to choose from.
        keywords: as in pytest's ``-k``, see ``expression``; it is matched to the line before ``seed`` is added.
        ops: keep cases with one of these operations.
        dtypes: element types in any spelling; keep cases whose source or destination has one of them.
        seed: added to each case's seed, modulo 2^64, for other values in the same tensors.
        shard: ``(i, n)``, 1 <= i <= n: keep number i, i + n, i + 2n, ... of the cases chosen so far. The n shards have
            no case in common and together hold all of them.

    Raises:
        DescriptorError: an expression that is not well formed, an unknown operation or type, or a shard outside 1 to n.
    """
    chosen = list(cases)
    if keywords is not None:
        matches = expression(keywords)
        chosen = [case for case in chosen if matches(str(case))]
    if ops:
        if unknown := [op for op in ops if op not in OPERATIONS]:
            hint = did_you_mean(unknown[0], OPERATIONS)
            raise DescriptorError(f"operation {unknown[0]!r} is unknown; known: {', '.join(OPERATIONS)}{hint}")
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
    """A function that tests whether a line matches ``text``, such as ``linear and not (u8 or s8)``.

    A word matches a line that contains it, regardless of case; a word with blanks or parentheses must be quoted.
    ``not`` binds tighter than ``and``, ``and`` tighter than ``or``.

    Each word is replaced by a name, and Python's parser, which has the same precedence, reads the result; nothing is
    executed.

    Raises:
        DescriptorError: the expression is not well formed, has more than 4096 characters or more than 100 ``not``.
    """
    shown = f"expression {cut(text)}"
    if len(text) > _MAX_EXPRESSION:
        raise DescriptorError(f"{shown} has more than {_MAX_EXPRESSION} characters")
    words: dict[str, str] = {}

    def as_python(token: re.Match[str]) -> str:
        sign, quoted, word = token.groups()
        if sign or word in ("and", "or", "not"):
            return f"{sign or word} "
        name = f"word{len(words)}"
        words[name] = (word or quoted[1:-1]).lower()
        return f"{name} "

    source = " ".join(_TOKEN.sub(as_python, text).split())
    rule = f"{shown} is not like 'linear and not (u8 or s8)'"
    try:
        root = ast.parse(source, mode="eval").body
    except (SyntaxError, MemoryError, RecursionError) as error:
        raise DescriptorError(f"{rule}: {getattr(error, 'msg', error)}") from error
    if source.split().count("not") > _MAX_NEGATIONS:
        raise DescriptorError(f"{shown} has 'not' more than {_MAX_NEGATIONS} times")
    if not all(isinstance(node, _NODES) for node in ast.walk(root)):
        raise DescriptorError(f"{rule}: there are words without 'and' or 'or' between them")

    def holds(node: ast.AST, line: str) -> bool:
        match node:
            case ast.Name(id=name):
                return words[name] in line
            case ast.UnaryOp(operand=operand):
                return not holds(operand, line)
            case ast.BoolOp(op=operator, values=values):
                return (all if isinstance(operator, ast.And) else any)(holds(value, line) for value in values)
        raise AssertionError(ast.dump(node))

    return lambda line: holds(root, line.lower())
