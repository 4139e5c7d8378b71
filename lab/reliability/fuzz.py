"""Hostile inputs for every reader: it must read each, or refuse it with a typed error, within a second and 64 MiB.

    python lab/reliability/fuzz.py [--small] [--seed N] [--write FILE.json]
    python lab/reliability/fuzz.py --reader NAME [--count N] [--seed N]     one reader, in this process

Each reader (``readers.py``) has its own process, whose memory is measured. Inputs are valid ones with up to six
mistakes. If the package atheris is installed, libFuzzer chooses among them by the branches that they reach.
"""

from __future__ import annotations

import argparse
import ast
import faulthandler
import importlib.util
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

from figures import Figure, run_part

IS_GUIDED = importlib.util.find_spec("atheris") is not None and "pytest" not in sys.modules
if IS_GUIDED:
    import atheris

    instrumented = atheris.instrument_imports(["restride", "restride_bench", "restride_conformance", "PIL", "json"])
else:
    instrumented = nullcontext()
with instrumented if "--reader" in sys.argv else nullcontext():
    from readers import Reader, corpus, readers

COUNT = 200_000
"""Inputs per reader."""

SECONDS = 1.0
"""Seconds of processor time that one input may take; other work on the machine does not count."""

MEBIBYTES = 64
"""MiB by which a reader's process may grow."""

HANG = 60
"""Seconds after which a reader counts as hanging on an input."""

SHOWN = 5
"""Maximum number of failures printed per reader, each from a different place in the code."""

_ANY = (
    "\0\t\n \u00a0-+*#.,:;'\"()[]{}<>=_/\\%019\u00b2\u0661aAbcnxzZ\u00df\u0130\u0131\u017f\u212a\u4e2d\U0001f600\ud800"
)
_NUMBERS = (0, 1, 2, 7, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 13_000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, (1 << 64) - 1)
_VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1.5,
        1e308,
        10**30,
        10**400,
        float("inf"),
        float("nan"),
        "",
        "x" * 5000,
        "\ud800",
        "\0",
    ),
    *("..", "/", "\u0661", [], {}, [[]], [None] * 99, {"a": {}}, "<script>", "1e999"),
)


# Inputs.


def inputs(reader: Reader, rng: Random) -> Iterator[bytes]:
    """An endless stream of inputs: valid ones with 0 to 6 mistakes, and sequences of random tokens."""
    known = (*reader.inputs, *corpus(reader.name))
    while True:
        if reader.tokens and rng.random() < 0.2:
            data = b"".join(rng.choices(reader.tokens, k=rng.randint(0, 24)))
        else:
            data = rng.choice(known)
        yield mutated(data, reader, rng, rng.choice((0, 1, 1, 1, 2, 3, 6)))


def mutated(data: bytes, reader: Reader, rng: Random, mistakes: int) -> bytes:
    """``data`` with random mistakes; checksums and lengths are usually repaired, so that readers get past them."""
    for _ in range(mistakes):
        if reader.is_json and rng.random() < 0.7:
            with suppress(ValueError, RecursionError):
                changed = _mutate_json(data, reader, rng)
                data = changed if len(changed) <= longest(reader) else data
                continue
        data = _mutate(data, reader, rng)[: longest(reader)]
    if reader.repair is not None and rng.random() < 0.8:
        with suppress(ValueError, struct.error, IndexError):
            data = reader.repair(data)
    return data[: longest(reader)]


def longest(reader: Reader) -> int:
    """Maximum number of bytes of an input."""
    return max(reader.longest, 2 * max(map(len, reader.inputs)))


def _mutate(data: bytes, reader: Reader, rng: Random) -> bytes:
    """Delete, replace, repeat (up to 200 times) or move a part of ``data``, or join it to a part of another input."""
    first, last = sorted(rng.choices(range(len(data) + 1), k=2))
    if rng.random() < 0.7:
        last = min(first + 1, last)
    before, part, after = data[:first], data[first:last], data[last:]
    match rng.randrange(9):
        case 0:
            part = b""
        case 1 | 2 if reader.tokens:
            part = rng.choice(reader.tokens)
        case 3 if reader.tokens:
            part += rng.choice(reader.tokens)
        case 4 if reader.tokens or reader.is_json:
            part = rng.choice(_ANY).encode("utf-8", "surrogatepass")
        case 5:
            part *= rng.choice((2, 2, 3, 9, 200))
        case 6:
            part, after = after[: len(part)] + part, after[len(part) :]
        case 7:
            other = rng.choice(reader.inputs)
            part, after = b"", other[rng.randint(0, len(other)) :]
        case _:
            width = rng.choice((1, 1, 2, 4, 4, 8))
            number = rng.choice(_NUMBERS) if rng.random() < 0.7 else rng.getrandbits(64)
            first -= first % width if rng.random() < 0.5 else 0
            part = (number % (1 << 8 * width)).to_bytes(width, "little")
            return data[:first] + part[:: rng.choice((1, -1))] + data[first + width :]
    return before + part + after


def _mutate_json(data: bytes, reader: Reader, rng: Random) -> bytes:
    """Replace, delete, rename, nest or repeat a value of a JSON document, or copy another of its values over it."""
    root = [json.loads(data)]
    places = list(_places(root))
    holder, key = rng.choice(places)
    match rng.randrange(7):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[str(rng.choice(_VALUES))[:99]] = holder.pop(key)
        case 2:
            other, place = rng.choice(places)
            holder[key] = json.loads(json.dumps(other[place]))
        case 3:
            depth = rng.choice((1, 2, 30, 500, 3000))
            return json.dumps(root[0]).encode().replace(b"null", b"[" * depth + b"]" * depth, 1)
        case 4 if isinstance(holder[key], str):
            holder[key] = _mutate(holder[key].encode(), reader, rng).decode("utf-8", "replace")
        case 5 if isinstance(holder[key], list | dict) and holder[key]:
            holder[key] = [holder[key]] if rng.random() < 0.5 else list(holder[key]) * rng.choice((2, 50))
        case _:
            holder[key] = rng.choice(_VALUES)
    return json.dumps(root[0] if root else None).encode()


def _places(holder: Any) -> Iterator[tuple[Any, Any]]:
    """Every nested value, as its container and its key or index there."""
    for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
        yield holder, key
        if isinstance(value, list | dict):
            yield from _places(value)


# Running the inputs.


class Session:
    """The results of one reader's inputs so far.

    read, refused, failed: number of inputs.
    failures: for inputs that raised something other than a typed error, by the place that raised it: (input, error).
    slowest, seconds: the input that took longest, and its seconds of processor time.
    """

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.read = self.refused = self.failed = 0
        self.failures: dict[str, tuple[bytes, str]] = {}
        self.slowest, self.seconds = b"", 0.0

    @property
    def count(self) -> int:
        """Inputs so far."""
        return self.read + self.refused + self.failed

    def summary(self) -> dict[str, Any]:
        """The results as JSON values."""
        return {
            "read": self.read,
            "refused": self.refused,
            "failed": self.failed,
            "failures": [f"{text}; input {data!r}" for data, text in self.failures.values()],
            "slowest": repr(self.slowest),
            "seconds": self.seconds,
        }

    def take(self, data: bytes) -> None:
        """Have the reader read one input, and count the result."""
        started = process_time()
        try:
            self.reader.read(data)
            self.read += 1
        except self.reader.refusals:
            self.refused += 1
        except Exception as error:  # noqa: BLE001 - finding these is the purpose
            self.failed += 1
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
            self.failures.setdefault(where, (data, f"{where}: {error}"[:300]))
        if process_time() - started > self.seconds and (seconds := self.settled(data)) > self.seconds:
            self.slowest, self.seconds = data, seconds

    def settled(self, data: bytes) -> float:
        """Seconds of processor time that an input takes: the best of three."""
        times = []
        for _ in range(3):
            started = process_time()
            with suppress(Exception):
                self.reader.read(data)
            times.append(process_time() - started)
        return min(times)

    def fuzz(self, count: int, seed: int) -> None:
        """Read ``count`` random inputs."""
        for _, data in zip(range(count), inputs(self.reader, Random(f"{seed} {self.reader.name}")), strict=False):
            self.take(data)


def _run_reader(name: str, count: int, seed: int, record: Path | None) -> int:
    """The main function of a reader's process; return its exit code, 1 if an input failed."""
    random.seed(seed)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        reader = next(reader for reader in readers(Path(folder)) if reader.name == name)
        session = Session(reader)
        for data in (*reader.inputs, *corpus(name)):
            session.take(data)
        last = os.open(f"{record}.last" if record else os.devnull, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o644)
        start = _peak()

        def take(data: bytes) -> None:
            if session.count % 64 == 0:
                faulthandler.dump_traceback_later(HANG, exit=True)
            os.pwrite(last, struct.pack("<Q", len(data)) + data, 0)
            session.take(data)
            if session.count >= count:
                faulthandler.cancel_dump_traceback_later()
                summary = session.summary() | {"mebibytes": (_peak() - start) / 1024}
                print(json.dumps(summary, indent=1))
                if record:
                    record.write_text(json.dumps(summary))

        if IS_GUIDED:
            _guided(take, session, count, seed, Path(folder))
        rng = Random(f"{seed} {name}")
        for data in inputs(reader, rng):
            take(data)
            if session.count >= count:
                break
    return 1 if session.failed else 0


def _guided(take: Any, session: Session, count: int, seed: int, folder: Path) -> None:
    """Call ``take`` with inputs that libFuzzer chooses; ends the process."""
    reader = session.reader
    seeds = folder / "seeds"
    seeds.mkdir()
    for number, data in enumerate((*reader.inputs, *corpus(reader.name))):
        (seeds / str(number)).write_bytes(data)

    def one(data: bytes) -> None:
        take(data)
        if session.count >= count:
            shutil.rmtree(folder)
            os._exit(1 if session.failed else 0)

    def mutator(data: bytes, _most: int, number: int) -> bytes:
        rng = Random(number)
        data = data if rng.random() < 0.7 else rng.choice(reader.inputs)
        return mutated(data, reader, rng, rng.choice((1, 1, 2, 3, 6)))

    options = [f"-seed={seed + 1}", f"-max_len={longest(reader)}", "-rss_limit_mb=0", "-verbosity=0", "-timeout=600"]
    options += [f"-artifact_prefix={folder}/"]  # for inputs slow by wall time, which includes other work on the machine
    atheris.Setup([sys.argv[0], *options, str(seeds)], one, custom_mutator=mutator)
    atheris.Fuzz()


def _peak() -> int:
    """The peak of this process's resident memory since the last call, in KiB."""
    status = Path("/proc/self/status").read_text("ascii", "replace")
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    Path("/proc/self/clear_refs").write_text("5")
    return peak


# The part of `make reliability`.


def names() -> list[str]:
    """The names of all readers."""
    with tempfile.TemporaryDirectory() as folder:
        return [reader.name for reader in readers(Path(folder))]


def measure(small: bool, seed: int) -> Iterator[Figure]:
    """A figure for each reader."""
    count = 2000 if small else COUNT
    # Without this, glibc comes to keep large blocks after they are freed, and the peak would be that of all inputs.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(1 << 16)}
    with tempfile.TemporaryDirectory() as folder:
        for name in names():
            record = Path(folder) / "record.json"
            record.unlink(missing_ok=True)
            command = [sys.executable, __file__, "--reader", name, "--count", str(count), "--seed", str(seed)]
            command += ["--record", str(record)]
            process = subprocess.run(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
            )
            what = (
                f"{'guided' if IS_GUIDED else 'mutated'} {name}, {count:,}: untyped errors, slowest, memory over start"
            )
            goal = f"0, {SECONDS:g} s, {MEBIBYTES} MiB"
            if not record.exists():
                tail = process.stderr.decode(errors="replace")[-2000:]
                last = Path(f"{record}.last").read_bytes()
                shown = last[8 : 8 + struct.unpack("<Q", last[:8])[0]]
                print(f"{name}: exit code {process.returncode}, {tail}; input {shown!r}", file=sys.stderr)
                yield Figure(what, goal, f"the process ended with {process.returncode}", met=False)
                continue
            summary = json.loads(record.read_text())
            for failure in summary["failures"][:SHOWN]:
                print(f"{name}: {failure}", file=sys.stderr)
            met = not summary["failed"] and summary["seconds"] <= SECONDS and summary["mebibytes"] <= MEBIBYTES
            if not met:
                print(f"{name}: the slowest input {ast.literal_eval(summary['slowest'])[:500]!r}", file=sys.stderr)
            yield Figure(
                what, goal, f"{summary['failed']}, {summary['seconds']:.3f} s, {summary['mebibytes']:.0f} MiB", met
            )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--reader")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", type=Path)
    chosen, _ = parser.parse_known_args()
    if chosen.reader is None:
        run_part(measure)
    sys.exit(_run_reader(chosen.reader, chosen.count, chosen.seed, chosen.record))


if __name__ == "__main__":
    main()
