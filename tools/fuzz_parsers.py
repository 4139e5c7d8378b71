"""Feed mutated and random texts to the parsers: a text is read, or refused with a typed error, and soon.

    python tools/fuzz_parsers.py [--count N] [--seed N]

The parsers are those of descriptors, of format tags and of permutations such as "NCHW->NHWC". What one reads is looked
at, too: a descriptor's text made of it reads back, an order names every axis once. The exit code is 1 if a text brings
another error, reads wrong, or takes longer than 50 ms.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from time import perf_counter

from restride.errors import RestrideError
from restride.layout import TensorDesc
from restride.layout.argument import axis_order
from restride.layout.tags import parse_tag
from restride.layout.text import format_parts, parse_parts

SECONDS = 0.05
"""What one text may take."""

LONGEST = 4096
"""Characters of a text at most."""

_ANY = (
    "\0\t\n \u00a0-+*#.,:;'\"()[]{}<>=_/\\%019\u00b2\u0661aAbcnxzZ\u00df\u0130\u0131\u017f\u212a\u4e2d\U0001f600\ud800"
)


@dataclass(frozen=True)
class Parser:
    """One parser.

    read: reads a text, and raises AssertionError if what it read makes no sense.
    texts: what it reads, to mutate.
    tokens: what its texts are made of.
    """

    name: str
    read: Callable[[str], None]
    texts: tuple[str, ...]
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class Failure:
    """A text that brought something else than a typed error."""

    parser: str
    text: str
    reason: str

    def __str__(self) -> str:
        return f"{self.parser}: {self.text[:200]!a}: {self.reason}"


@dataclass(frozen=True)
class Summary:
    """What became of the texts of one parser."""

    parser: str
    read: int
    refused: int
    slowest: str
    seconds: float
    failures: tuple[Failure, ...]

    def __str__(self) -> str:
        return (
            f"{self.parser}: {self.read} read, {self.refused} refused, {len(self.failures)} failed; the slowest took "
            f"{self.seconds * 1e3:.2f} ms, {len(self.slowest)} characters: {self.slowest[:60]!a}"
        )


def _read_descriptor(text: str) -> None:
    canonical = format_parts(parse_parts(text))
    assert format_parts(parse_parts(canonical)) == canonical, f"{canonical} does not read back"


def _read_tag(text: str) -> None:
    tag = parse_tag(text)
    assert sorted(tag.order) == list(range(tag.rank)), f"order {tag.order} names no axis once"
    assert all(0 <= axis < tag.rank and size > 0 for axis, size in tag.blocks), f"blocks {tag.blocks}"


_RANK_4 = TensorDesc("f32", (2, 3, 4, 5))


def _read_permutation(text: str) -> None:
    order = axis_order(_RANK_4, text)
    assert sorted(order) == [0, 1, 2, 3], f"order {order} names no axis once"


PARSERS = (
    Parser(
        "descriptors",
        _read_descriptor,
        (
            "f32[]",
            "u32[]{:T(128)}",
            "f32[2,3]{0,1}",
            "bf16[0]{0}",
            "f32[2,3]{strides=(-1,2),offset=4}",
            "f32[3,5]{1,0:T(2,2)}",
            "bf16[2048]{0:T(1024)(128)(2,1)}",
            "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}",
            "f32[2,3]{1,0:T(2,2)pad(3,5)=-1.5}",
            "f64[2]{0:pad(3)=1e+30}",
            "f32[2,16,4,4]:nChw16c",
            "f32[2]{at=(1+2a,3),in=[4,4]{1,0:T(4,4)}}",
            "s8[3,4]{at=(7-b,a,4a+b),in=[8,3,20]:aBc4b}",
            "f32[8,128]{1,0:T(8,128)S(1)}",
        ),
        (
            *("f32", "s8", "[", "]", "{", "}", "(", ")", ",", ":", "T", "pad", "=", "strides", "offset", "at", "in"),
            *("*", "-", "+", "-1", "0", "1", "2", "16", "a", "b", "c", "nan", "inf", "1.5", "e9", "S(", "D(", " "),
        ),
    ),
    Parser(
        "tags",
        _read_tag,
        ("x", "acdb", "abcdefgh", "nhwc", "nChw16c", "OIhw4i16o4i", "BA16a16b2a", "hwigo", "ldgOI32o4i", "ntc", "NHWC"),
        (*"abcdefghijklnotwxABCIO", "16", "8", "2", "0", "4611686018427387904"),
    ),
    Parser(
        "permutations",
        _read_permutation,
        ("NCHW->NHWC", "NHWC -> NCHW", "abcd->dcba", "NCHW->NCHW", "NCHW"),
        ("N", "C", "H", "W", "D", "a", "->", "-", ">", " "),
    ),
)


def texts(parser: Parser, rng: Random) -> Iterator[str]:
    """Texts without end: good ones with one to six mistakes, and rows of tokens."""
    while True:
        if rng.random() < 0.3:
            text = "".join(rng.choices(parser.tokens, k=rng.randint(0, 24)))
        else:
            text = rng.choice(parser.texts)
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 6))):
            text = _mutated(text, parser, rng)
        yield text


def _mutated(text: str, parser: Parser, rng: Random) -> str:
    """``text`` with a part deleted, replaced, repeated (now and then very often), moved or joined to another text's."""
    first, last = sorted(rng.choices(range(len(text) + 1), k=2))
    if rng.random() < 0.7:
        last = min(first + 1, last)
    before, part, after = text[:first], text[first:last], text[last:]
    match rng.randrange(7):
        case 0:
            part = ""
        case 1:
            part = rng.choice(parser.tokens)
        case 2:
            part += rng.choice(parser.tokens)
        case 3:
            part = rng.choice(_ANY)
        case 4:
            part *= rng.choice((2, 2, 3, 9, 200))
        case 5:
            part, after = after[: len(part)] + part, after[len(part) :]
        case _:
            other = rng.choice(parser.texts)
            part, after = "", other[rng.randint(0, len(other)) :]
    return (before + part + after)[:LONGEST]


def settled(parser: Parser, text: str) -> float:
    """Seconds that ``text`` takes when nothing else comes in between: the best of five."""
    times = []
    for _ in range(5):
        started = perf_counter()
        with suppress(Exception):
            parser.read(text)
        times.append(perf_counter() - started)
    return min(times)


def fuzz(parser: Parser, count: int, seed: int) -> Summary:
    """Feed ``count`` texts to ``parser``, with progress on a terminal."""
    rng = Random(f"{seed} {parser.name}")
    read, slowest, longest = 0, "", 0.0
    failures: list[Failure] = []
    for number, text in zip(range(count), texts(parser, rng), strict=False):
        started = perf_counter()
        try:
            parser.read(text)
            read += 1
        except RestrideError:
            pass
        except Exception as error:  # noqa: BLE001  # finding those is what this is for
            failures.append(Failure(parser.name, text, f"{type(error).__name__}: {error}"[:200]))
        if perf_counter() - started > longest and (seconds := settled(parser, text)) > longest:
            slowest, longest = text, seconds
        if number % 1000 == 0 and sys.stderr.isatty():
            print(f"{parser.name}: {number} of {count}", end="\r", file=sys.stderr, flush=True)
    return Summary(parser.name, read, count - read - len(failures), slowest, longest, tuple(failures))


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Feed mutated and random texts to the parsers.")
    parser.add_argument("--count", type=int, default=200_000, help="texts, for all parsers together (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other texts (%(default)s)")
    chosen = parser.parse_args(arguments)
    code = 0
    for fuzzed in PARSERS:
        summary = fuzz(fuzzed, chosen.count // len(PARSERS), chosen.seed)
        print(summary)
        for failure in summary.failures[:20]:
            print(f"  {failure}")
        is_slow = summary.seconds > SECONDS
        if is_slow:
            print(f"  which is more than {SECONDS * 1e3:.0f} ms")
        if is_slow or summary.failures:
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
