"""A strict reader of Amber's scripts, written from Amber's specification, and what its expectations accept.

It knows compute scripts with modules from files, buffers of integers and their comparisons, and refuses the rest of the
language by name. Where the specification leaves something open, the narrower reading counts: what Amber's own parser
takes but reads as something else (a hexadecimal constant is 0 to it, an IDX passes through a float) is refused.

Source: docs/amber_script.md of github.com/google/amber at fc02f9ba.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import eq, ge, gt, le, lt, ne

import numpy as np

TYPES = {f"{sign}int{bits}": f"{sign or 'i'}{bits // 8}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
"""Amber's integer types, and what numpy calls them."""

_LIMITS = {name: (int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for name, kind in TYPES.items()}

COMPARATORS = {"EQ": eq, "NE": ne, "LT": lt, "LE": le, "GT": gt, "GE": ge}

ENVIRONMENTS = frozenset({*(f"spv1.{n}" for n in range(7)), *(f"vulkan1.{n}" for n in range(5))})

_KEYWORDS = frozenset(
    [
        "AS", "ATTACH", "BIND", "BINDING", "BUFFER", "COPY", "DATA", "DATA_TYPE", "DESCRIPTOR_OFFSET",
        "DESCRIPTOR_RANGE", "DESCRIPTOR_SET", "END", "ENTRY_POINT", "EQ_BUFFER", "EXPECT", "FILE", "FILL", "IDX",
        "PIPELINE", "RUN", "SHADER", "SIZE", "SPECIALIZE", "TARGET_ENV", "TO", "TOLERANCE", *COMPARATORS, *TYPES,
    ]
)  # fmt: skip

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.+-]*")
_DECIMAL = re.compile(r"-?[0-9]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_MAX_INDEX = 1 << 24  # an IDX passes through a 32-bit float


class AmberError(ValueError):
    """What a script breaks, and in which line."""


@dataclass(frozen=True)
class Shader:
    """A compute shader in a file of SPIR-V."""

    name: str
    target: str
    file: str


@dataclass(frozen=True)
class Buffer:
    """A buffer of integers with its first values."""

    name: str
    type: str
    values: tuple[int, ...]

    @cached_property
    def bytes(self) -> bytes:
        """The values as they lie in memory; integers of std430 are packed."""
        return np.array(self.values, np.dtype(TYPES[self.type]).newbyteorder("<")).tobytes()

    @property
    def itemsize(self) -> int:
        """Bytes of a value."""
        return np.dtype(TYPES[self.type]).itemsize


@dataclass(frozen=True)
class Binding:
    """A storage buffer at a binding; ``nbytes`` is None where the whole buffer is bound."""

    buffer: str
    set: int
    binding: int
    offset: int
    nbytes: int | None


@dataclass(frozen=True)
class Pipeline:
    """A compute pipeline: its shader, constants by id, bindings, and the buffer of its push constants."""

    name: str
    shader: str
    entry_point: str
    constants: tuple[tuple[int, int], ...]
    bindings: tuple[Binding, ...]
    push: str | None


@dataclass(frozen=True)
class Run:
    """Work groups of a pipeline."""

    pipeline: str
    groups: tuple[int, int, int]


@dataclass(frozen=True)
class Copy:
    """A buffer copied to another one after the runs before it."""

    source: str
    destination: str


@dataclass(frozen=True)
class EqualBuffers:
    """Two buffers must be the same, byte for byte."""

    buffer: str
    expected: str


@dataclass(frozen=True)
class Expect:
    """The values of a buffer from byte ``index`` on, compared one by one."""

    buffer: str
    index: int
    comparator: str
    values: tuple[int, ...]


Command = Run | Copy | EqualBuffers | Expect


@dataclass(frozen=True)
class Script:
    """What a script declares, and its commands in order."""

    shaders: Mapping[str, Shader]
    buffers: Mapping[str, Buffer]
    pipelines: Mapping[str, Pipeline]
    commands: tuple[Command, ...]

    def accepts(self, memories: Mapping[str, bytes]) -> bool:
        """True if every expectation holds where each named buffer holds these bytes at the end, others what they held.

        Only for scripts that expect nothing before their last run or copy.
        """
        held = {name: memories.get(name, buffer.bytes) for name, buffer in self.buffers.items()}
        return all(self._holds(command, held) for command in self.commands)

    def _holds(self, command: Command, held: Mapping[str, bytes]) -> bool:
        match command:
            case EqualBuffers(buffer, expected):
                return held[buffer] == held[expected]
            case Expect(name, index, comparator, values):
                buffer = self.buffers[name]
                actual = np.frombuffer(held[name], np.dtype(TYPES[buffer.type]).newbyteorder("<"))
                first = index // buffer.itemsize
                seen = actual[first : first + len(values)].tolist()
                return all(map(COMPARATORS[comparator], seen, values))
        return True


def read(text: str) -> Script:
    """Read a script.

    Raises:
        AmberError: it breaks a rule of the language, or uses a part of it that this reader does not know.
    """
    return _Reader(text).script()


class _Reader:
    def __init__(self, text: str) -> None:
        lines = text.split("\n")
        if lines[0] != "#!amber":
            raise AmberError("line 1: the first line must be #!amber")
        if not text.isascii() or "\r" in text or "\t" in text:
            raise AmberError("a script has ASCII characters, blanks and ends of lines only")
        self.tokens: list[tuple[int, str]] = []  # with the number of its line; "" is an end of line
        for number, line in enumerate(lines, 1):
            words = line.partition("#")[0].split()
            ends = not (words and words[-1] == "\\")
            self.tokens += [(number, word) for word in (words if ends else words[:-1])]
            if ends:
                self.tokens.append((number, ""))
        self.at = 0
        self.shaders: dict[str, Shader] = {}
        self.buffers: dict[str, Buffer] = {}
        self.pipelines: dict[str, Pipeline] = {}
        self.commands: list[Command] = []
        self.roles: dict[str, str] = {}  # the one way in which each buffer is bound or copied to

    def script(self) -> Script:
        statements = {
            "SHADER": self.shader, "BUFFER": self.buffer, "PIPELINE": self.pipeline, "RUN": self.run,
            "COPY": self.copy, "EXPECT": self.expect,
        }  # fmt: skip
        while self.at < len(self.tokens):
            word = self.next()
            if word in statements:
                statements[word]()
            elif word:
                raise self.error(f"{word} is not a command that this reader knows")
        return Script(self.shaders, self.buffers, self.pipelines, tuple(self.commands))

    # Statements.

    def shader(self) -> None:
        self.literal("compute")
        name = self.new(self.shaders, "shader")
        self.literal("SPIRV-BIN")
        target = "spv1.0"
        if self.peek() == "TARGET_ENV":
            self.next()
            target = self.next()
            if target not in ENVIRONMENTS:
                raise self.error(f"{target!r} is not a target environment")
        self.literal("FILE")
        self.shaders[name] = Shader(name, target, self.name())
        self.end()

    def buffer(self) -> None:
        name = self.new(self.buffers, "buffer")
        self.literal("DATA_TYPE")
        kind = self.next()
        if kind not in TYPES:
            raise self.error(f"{kind!r} is not an integer type")
        form = self.next()
        values: list[int] = []
        if form == "DATA":
            while (word := self.next()) != "END":
                values += [self.value(word, kind)] if word else []
        elif form == "SIZE":
            count = self.integer()
            self.literal("FILL")
            word = self.next()
            if not _DECIMAL.fullmatch(word):
                raise self.error(f"FILL takes a decimal number, not {word!r}")
            values = [self.value(word, kind)] * count
        else:
            raise self.error(f"{form!r} does not initialize a buffer")
        self.end()
        if not values:
            raise self.error(f"buffer {name} is empty")
        self.buffers[name] = Buffer(name, kind, tuple(values))

    def pipeline(self) -> None:
        self.literal("compute")
        name = self.new(self.pipelines, "pipeline")
        self.end()
        shader, entry_point, push = None, "main", None
        constants: dict[int, int] = {}
        bindings: list[Binding] = []
        while (word := self.next()) != "END":
            if word == "ATTACH":
                if shader is not None:
                    raise self.error(f"pipeline {name} has a second shader")
                shader = self.known(self.shaders, "shader")
                if self.peek() == "ENTRY_POINT":
                    self.next()
                    entry_point = self.name()
                while self.peek() == "SPECIALIZE":
                    self.next()
                    number = self.integer()
                    self.literal("AS")
                    self.literal("uint32")
                    if number in constants:
                        raise self.error(f"constant {number} is given twice")
                    constants[number] = self.integer()
                self.end()
            elif word == "BIND":
                self.literal("BUFFER")
                buffer = self.known(self.buffers, "buffer")
                self.literal("AS")
                kind = self.next()
                self.used(buffer, kind)
                if kind == "storage":
                    bindings.append(self.storage(buffer, bindings))
                elif kind == "push_constant" and push is None:
                    push = buffer
                else:
                    raise self.error(f"pipeline {name} cannot bind a buffer as {kind} (again)")
                self.end()
            elif word:
                raise self.error(f"{word} is nothing in a pipeline that this reader knows")
        self.end()
        if shader is None:
            raise self.error(f"pipeline {name} has no shader")
        self.pipelines[name] = Pipeline(name, shader, entry_point, tuple(constants.items()), tuple(bindings), push)

    def storage(self, buffer: str, bindings: list[Binding]) -> Binding:
        self.literal("DESCRIPTOR_SET")
        number = self.integer()
        self.literal("BINDING")
        binding, offset, nbytes = self.integer(), 0, None
        if self.peek() == "DESCRIPTOR_OFFSET":
            self.next()
            offset = self.integer()
        if self.peek() == "DESCRIPTOR_RANGE":
            self.next()
            nbytes = self.integer()
        size = len(self.buffers[buffer].bytes)
        if nbytes == 0 or offset >= size or offset + (nbytes or 0) > size:
            raise self.error(f"bytes {offset} + {nbytes} are not in the {size} of buffer {buffer}")
        if any((number, binding) == (other.set, other.binding) for other in bindings):
            raise self.error(f"binding {binding} of set {number} is bound twice")
        return Binding(buffer, number, binding, offset, nbytes)

    def run(self) -> None:
        pipeline = self.known(self.pipelines, "pipeline")
        self.commands.append(Run(pipeline, (self.integer(), self.integer(), self.integer())))
        self.end()

    def copy(self) -> None:
        source = self.known(self.buffers, "buffer")
        self.literal("TO")
        destination = self.known(self.buffers, "buffer")
        self.end()
        if source == destination or self.buffers[source].type != self.buffers[destination].type:
            raise self.error(f"{source} cannot be copied to {destination}: a copy is of two buffers of one type")
        self.used(destination, "a copy's destination")
        self.commands.append(Copy(source, destination))

    def expect(self) -> None:
        name = self.known(self.buffers, "buffer")
        buffer, form = self.buffers[name], self.next()
        if form == "EQ_BUFFER":
            expected = self.known(self.buffers, "buffer")
            self.end()
            other = self.buffers[expected]
            if (buffer.type, len(buffer.values)) != (other.type, len(other.values)):
                raise self.error(f"buffers {name} and {expected} differ in type or size")
            self.commands.append(EqualBuffers(name, expected))
            return
        if form != "IDX":
            raise self.error(f"{form!r} is no comparison that this reader knows")
        index, comparator = self.integer(), self.next()
        if comparator not in COMPARATORS:
            raise self.error(f"{comparator!r} is no comparator that this reader knows")
        values = []
        while word := self.next():
            values.append(self.value(word, buffer.type))
        if not values:
            raise self.error("EXPECT has no value")
        if index % buffer.itemsize or index > _MAX_INDEX or index + len(values) * buffer.itemsize > len(buffer.bytes):
            raise self.error(f"{len(values)} values at byte {index} are not values of buffer {name}")
        self.commands.append(Expect(name, index, comparator, tuple(values)))

    # Words.

    def next(self) -> str:
        if self.at == len(self.tokens):
            raise self.error("the script ends within a command")
        self.at += 1
        return self.tokens[self.at - 1][1]

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def literal(self, word: str) -> None:
        if (found := self.next()) != word:
            raise self.error(f"{word} is expected, not {found!r}")

    def end(self) -> None:
        if self.at < len(self.tokens) and (found := self.next()):
            raise self.error(f"{found!r} is too much")

    def name(self) -> str:
        word = self.next()
        if not _NAME.fullmatch(word) or word in _KEYWORDS:
            raise self.error(f"{word!r} is not a name")
        return word

    def new(self, names: Mapping[str, object], what: str) -> str:
        if (name := self.name()) in names:
            raise self.error(f"{what} {name} exists already")
        return name

    def known(self, names: Mapping[str, object], what: str) -> str:
        if (name := self.name()) not in names:
            raise self.error(f"{what} {name} is not declared before")
        return name

    def used(self, buffer: str, role: str) -> None:
        if self.roles.setdefault(buffer, role) != role:
            raise self.error(f"buffer {buffer} is used as {self.roles[buffer]} and as {role}")

    def integer(self) -> int:
        """A decimal number that fits 32 bits without a sign."""
        word = self.next()
        if not re.fullmatch("[0-9]+", word) or int(word) >= 1 << 32:
            raise self.error(f"{word!r} is not a decimal number of 32 bits")
        return int(word)

    def value(self, word: str, kind: str) -> int:
        """A number in decimal or hexadecimal form that the type can hold."""
        if not (_DECIMAL.fullmatch(word) or _HEX.fullmatch(word)):
            raise self.error(f"{word!r} is not an integer")
        number, (lowest, highest) = int(word, 16 if "x" in word else 10), _LIMITS[kind]
        if not lowest <= number <= highest:
            raise self.error(f"{word} does not fit {kind}")
        return number

    def error(self, why: str) -> AmberError:
        line = self.tokens[min(self.at, len(self.tokens)) - 1][0] if self.tokens else 1
        return AmberError(f"line {line}: {why}")
