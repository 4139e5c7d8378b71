"""The protocol of googletest, by which Mesa's gtest-runner lists cases, chooses them by name and reads their results.

gtest-runner calls ``--gtest_list_tests`` once, then ``--gtest_filter`` with the names of a group. Between the line
``[ RUN      ]`` of a case and that of its result it takes every ``[word] word`` for a result, so reasons come behind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import translate

from restride.command.process import Exit, counted
from restride_conformance.case import Case
from restride_conformance.record import Outcome, Verdict


def chosen(cases: Iterable[Case], text: str = "*") -> tuple[Case, ...]:
    """The cases whose names a filter accepts: each once, and those of an operation one after the other.

    text: expressions with ``*`` and ``?``, separated by colons; then, optionally, ``-`` and the expressions of cases to
    leave out. Nothing before ``-`` accepts all cases. An empty text accepts none, as in googletest.
    """
    wanted, excludes, unwanted = text.partition("-")
    is_wanted, is_unwanted = _matcher(wanted or ("*" if excludes else "")), _matcher(unwanted)
    named = {case.name: case for case in cases}
    found = [case for name, case in named.items() if is_wanted(name) and not is_unwanted(name)]
    order = {op: place for place, op in enumerate(dict.fromkeys(case.op for case in found))}
    return tuple(sorted(found, key=lambda case: order[case.op]))


def _matcher(text: str) -> Callable[[str], bool]:
    """A function that says whether an expression matches a whole name; plain names, perhaps many, are looked up."""
    expressions = [each for each in text.split(":") if each]
    globs = [each for each in expressions if "*" in each or "?" in each]
    names = set(expressions).difference(globs)
    # ``[`` means nothing here, and translate makes patterns that do not backtrack.
    compiled = [re.compile(translate(each.replace("[", "[[]"))) for each in globs]
    return lambda name: name in names or any(pattern.match(name) for pattern in compiled)


def listing(cases: Sequence[Case]) -> str:
    """The answer to ``--gtest_list_tests``."""
    lines: list[str] = []
    for op in dict.fromkeys(case.op for case in cases):
        lines += [f"{op}.", *(f"  {case.name.removeprefix(f'{op}.')}" for case in cases if case.op == op)]
    return "\n".join(lines)


def opening(cases: Sequence[Case]) -> str:
    """The line before the first case."""
    return f"[==========] Running {_from(cases)}."


def begun(case: Case) -> str:
    """The line before a case runs."""
    return f"[ RUN      ] {case.name}"


def ended(case: Case, outcome: Outcome) -> str:
    """The line of a case's result, then the reason if it did not pass; a driver's crash or hang is a failure too."""
    lines = [f"{_word(outcome)} {case.name} ({round(outcome.seconds * 1e3)} ms)"]
    if outcome.verdict is not Verdict.PASSED:
        lines += [f"  {outcome.verdict} {outcome.case}", *(f"  {line}" for line in outcome.message.splitlines())]
    return "\n".join(lines)


def exit_code(outcomes: Iterable[Outcome]) -> Exit:
    """The exit code of googletest, for which a skipped test is no failure."""
    return Exit.OK if all(outcome.verdict.is_good for outcome in outcomes) else Exit.CHECK_FAILED


def closing(outcomes: Sequence[Outcome], seconds: float) -> str:
    """The lines after the last case."""
    return "\n".join(_closing(outcomes, seconds))


def _closing(outcomes: Sequence[Outcome], seconds: float) -> Iterator[str]:
    cases = [Case.parse(outcome.case) for outcome in outcomes]
    words = [_word(outcome) for outcome in outcomes]
    counts = Counter(words)
    yield f"[==========] {_from(cases)} ran. ({round(seconds * 1e3)} ms total)"
    yield f"[  PASSED  ] {counted(counts[_OK], 'test')}."
    for word in (_SKIPPED, _FAILED):
        if counts[word]:
            yield f"{word} {counted(counts[word], 'test')}, listed below:"
            yield from (f"{word} {case.name}" for case, own in zip(cases, words, strict=True) if own == word)


_OK, _SKIPPED, _FAILED = "[       OK ]", "[  SKIPPED ]", "[  FAILED  ]"


def _word(outcome: Outcome) -> str:
    if outcome.verdict is Verdict.SKIPPED:
        return _SKIPPED
    return _OK if outcome.verdict.is_good else _FAILED


def _from(cases: Sequence[Case]) -> str:
    suites = len({case.op for case in cases})
    return f"{counted(len(cases), 'test')} from {counted(suites, 'test suite')}"
