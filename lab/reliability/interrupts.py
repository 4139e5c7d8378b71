"""Interrupt commands while they write files, interrupt operations, and write to folders that refuse.

A command gets its signal at a random moment after it has installed its signal handlers, which /proc shows (Linux);
before that, only the interpreter runs. Before a command runs, each output has the content OLD; a new file must be valid
in its format.
"""

from __future__ import annotations

import errno
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO
from xml.etree import ElementTree as ET

import numpy as np
from cases import drawn_cases
from figures import Figure, run_part
from work import KINDS, Known, drawn, no_cases, of_case
from worker import Worker

import restride as rs
from restride.command.files import write_array
from restride.command.process import UsageError
from restride.files.writing import write_file
from restride.runtime import RUNTIMES
from restride.runtime.interface import RuntimeName
from restride_conformance.run.process import WorkerDied

OLD = b"OLD " * 1000
INPUTS = 48, 40, 3
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
MAX = 10.0
"""Maximum seconds that a command may run on after a signal."""

COMMANDS: Mapping[str, str] = {
    "show": "show f32[2,20,4,4]:nChw16c -o out.svg",
    "slice": "slice x.npy out.npy [::2,::-1]",
    "reorder": "reorder x.npy out.npy --layout HWC->CHW",
    "reorder to .bin": "reorder x.npy out.bin --layout HWC->CHW",
    "resample": "resample x.png out.png --sizes 30 50 --antialias",
    "crop": "crop x.png out.npy --box 2,3,20,30 --sizes 16 16",
    "yuv": "yuv frame.npy out.npy",
    "preprocess": "preprocess x.png x.png -o out.npy --sizes 16 16",
    "demo": "demo x.png --out .",
    "bench": "bench --small --repeat 1 -k transpose --peers none --json out.json",
    "profiles": "profiles --check --like pillow --images 1 -k nearest --json out.json",
    "test": "test smoke -k crop --json out.json --html out.html --junitxml out.xml",
    "report html": "report html report.json out.html",
    "report junit": "report junit report.json out.xml",
    "tune": "tune",
}
"""The arguments of ``restride`` for each command by name; it runs in a folder of ``inputs``."""

SMALL = ("reorder",)
SCRATCH = "scratch"
"""Folder of temporary files."""


@dataclass
class Interrupted:
    """The results of interrupted commands."""

    runs: int = 0
    slowest: tuple[float, str] = 0.0, ""
    """The longest time in seconds from a signal to the end of the process, and the command."""
    torn: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    """Tracebacks, and exit codes other than 0 and 130."""


def measure(small: bool, seed: int) -> Iterator[Figure]:
    """The figures for interrupted commands, interrupted operations, and folders that refuse."""
    chosen = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="restride-interrupts-") as name:
        folder = Path(name)
        yield from commands(folder, chosen, SMALL if small else tuple(COMMANDS), 1 if small else 12)
        yield from refusals(folder, chosen, 40 if small else 2000)
        yield two_writers(folder, 100 if small else 5000)
    for runtime in RUNTIMES:
        yield from operations(runtime, seed, 40 if small else 2000)


# Commands.


def inputs(folder: Path, *, report: bool) -> None:
    """Write the files that the commands read, and create folders for their caches and temporary files."""
    (folder / "choices").mkdir(mode=0o700)
    (folder / SCRATCH).mkdir()
    array = np.arange(math.prod(INPUTS), dtype=np.uint8).reshape(INPUTS)
    for path in ("x.npy", "x.png"):
        write_array(folder / path, array)
    write_array(folder / "frame.npy", array[:, :, 0])
    if report:
        _start("test smoke -k crop --json report.json", folder).communicate(timeout=120)


def _start(command: str, folder: Path) -> subprocess.Popen[str]:
    caches = {"RESTRIDE_CHOICES": str(folder / "choices"), "TMPDIR": str(folder / SCRATCH)}
    # A shell starts background jobs with SIGINT ignored, and nohup ignores SIGHUP; a command would inherit that.
    ignored = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_IGN]
    try:
        for number in ignored:
            signal.signal(number, signal.SIG_DFL)
        return subprocess.Popen(
            [sys.executable, "-m", "restride", *command.split()],
            cwd=folder,
            env=os.environ | caches,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


def commands(folder: Path, chosen: random.Random, names: Sequence[str], each: int) -> Iterator[Figure]:
    """Run every command ``each`` times with each signal; yield the figures."""
    home = folder / "commands"
    home.mkdir()
    inputs(home, report=any(name.startswith("report") for name in names))
    inputs_before = _under(home)
    seen = Interrupted()
    for name in names:
        command = COMMANDS[name]
        seconds = _untouched(command, home)
        outputs = {path for path in _under(home) - inputs_before if path.parts[0] != SCRATCH}
        for number in SIGNALS * each:
            for path in outputs:
                (home / path).write_bytes(OLD)
            _interrupt(f"{name}, {number.name}", command, home, number, chosen.uniform(0, 1.1 * seconds), seen)
            torn = [str(path) for path in outputs if not is_whole(home / path)]
            seen.torn += [f"{name}, {number.name}: {path}" for path in torn]
            rest = _under(home) - outputs - inputs_before
            if number != signal.SIGKILL:
                seen.left += [f"{name}, {number.name}: {path}" for path in rest]
            for path in rest:
                (home / path).unlink()
        for path in outputs:
            (home / path).unlink()
    every = f"{seen.runs} runs of {len(names)} commands that got SIGINT, SIGTERM, SIGHUP or SIGKILL at a random moment"
    yield _none(f"files neither old nor new, in {every}", seen.torn)
    yield _none("temporary files left by them, but for SIGKILL", seen.left)
    yield _none("tracebacks, and exit codes other than 0 and 130", seen.complaints)
    seconds, which = seen.slowest
    yield Figure("slowest end after a signal, seconds", f"<= {MAX:g}", f"{seconds:.1f} ({which})", seconds <= MAX)


def _untouched(command: str, home: Path) -> float:
    """Run a command to its end; return the seconds it takes once it handles signals."""
    process = _start(command, home)
    wait_for_handlers(process.pid)
    start = time.perf_counter()
    _, stderr = process.communicate(timeout=300)
    if process.returncode:
        raise RuntimeError(f"restride {command} ended with {process.returncode}: {stderr}")
    return time.perf_counter() - start


def _interrupt(name: str, command: str, home: Path, number: signal.Signals, after: float, seen: Interrupted) -> None:
    process = _start(command, home)
    wait_for_handlers(process.pid)
    with suppress(subprocess.TimeoutExpired):
        process.wait(after)
    start = time.perf_counter()
    process.send_signal(number)
    try:
        _, stderr = process.communicate(timeout=6 * MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        _, stderr = process.communicate()
    seen.runs += 1
    seen.slowest = max(seen.slowest, (time.perf_counter() - start, name))
    codes = (0, -signal.SIGKILL) if number == signal.SIGKILL else (0, 130)
    if process.returncode not in codes or "Traceback" in stderr or "Exception ignored" in stderr:
        seen.complaints.append(f"{name}: exit code {process.returncode}, {stderr[-2000:]}")


def wait_for_handlers(pid: int) -> None:
    """Wait until a process handles SIGTERM."""
    status = Path(f"/proc/{pid}/status")
    bit = 1 << (signal.SIGTERM - 1)
    for _ in range(10_000):
        words = dict(line.split(":", 1) for line in status.read_text().splitlines())
        if int(words.get("SigCgt", "0"), 16) & bit or words["State"].strip().startswith("Z"):
            return
        time.sleep(0.001)


def _under(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir()}


_ENDS = {".html": b"</html>\n", ".svg": b"</svg>\n", ".png": b"IEND\xaeB`\x82"}


def is_whole(path: Path) -> bool:
    """True if a file is the old one, or a complete new one."""
    try:
        content = path.read_bytes()
        if content == OLD:
            return True
        if path.suffix == ".json":
            json.loads(content)
        elif path.suffix == ".xml":
            ET.fromstring(content)
        elif path.suffix == ".npy":
            np.load(path)
        elif path.suffix == ".bin":
            return len(content) == math.prod(INPUTS)
        else:
            return content.endswith(_ENDS[path.suffix])
    except (OSError, ValueError, ET.ParseError):
        return False
    return True


def _none(name: str, wrong: Sequence[str]) -> Figure:
    for line in wrong[:5]:
        print(line, file=sys.stderr)
    return Figure(name, "0", str(len(wrong)), not wrong)


# Operations: a timer raises KeyboardInterrupt inside them.


def _ring(*_: object) -> None:
    raise KeyboardInterrupt


def interrupted_work(runtime: RuntimeName, seed: int, most: int) -> list[str]:
    """What is wrong in work that is interrupted ``most`` times, and in other work after each interrupt.

    Half of the interrupted work is new, so that interrupts also come while it is planned and its pipelines are made.
    """
    chosen, wrong = random.Random(seed), []
    signal.signal(signal.SIGALRM, _ring)
    new = drawn_cases(seed, "smoke")
    with rs.Device(runtime=runtime) as device:
        known = [Known.alone("batch", KINDS["batch"], device), *drawn(device, 4, seed, "smoke"), *no_cases(device)]
        works = [(each, each.kind(device)) for each in known]
        count = 0
        while count < most:
            name, work = chosen.choice([(each.name, work) for each, work in works])
            if chosen.random() < 1 / 2:
                name = str(case := next(new))
                work = of_case(case)(device)
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, chosen.uniform(1e-5, 3e-3))
                    for _ in range(1000):
                        work.run()
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                count += 1
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a figure
                wrong.append(f"{name}: {error!r}")
            for each, work in works:
                try:
                    each.require_right(work.run())
                except Exception as error:  # noqa: BLE001 - as above
                    wrong.append(f"afterwards: {error!r}")
    return wrong


def operations(runtime: RuntimeName, seed: int, most: int) -> Iterator[Figure]:
    """Interrupt operations ``most`` times; after each interrupt, check that others work."""
    if runtime == "kompute" and find_spec("kp") is None:
        return
    with Worker() as worker:
        try:
            wrong = worker.call(1800, "interrupts.interrupted_work", runtime, seed, most)
        except WorkerDied as died:
            wrong = str(died).splitlines()[-8:]
    yield _none(f"operations that fail or differ after {most} KeyboardInterrupts inside of others, {runtime}", wrong)


# Folders that refuse: full, read-only, gone.


@contextmanager
def small_disk(folder: Path, room: int) -> Iterator[bool]:
    """Mount a file system of ``room`` bytes at ``folder``. If that fails, yield False, and limit files to half."""
    folder.mkdir()
    mounted = shutil.which("mount") is not None and not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", str(folder)], capture_output=True, check=False
    ).returncode  # fmt: skip
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        if not mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room // 2, limits[1]))
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def refusals(folder: Path, chosen: random.Random, each: int) -> Iterator[Figure]:
    """Write arrays about as long as the free room; then to a folder that is read-only, and one that disappears."""
    room = 1 << 17
    wrong: list[str] = []
    refused = 0
    with small_disk(folder / "disk", room) as mounted:
        path = folder / "disk" / "out.npy"
        path.write_bytes(OLD)
        longest = room - 4096 if mounted else room // 2  # the old file has a page
        for _ in range(each):
            before = path.read_bytes()
            array = np.frombuffer(chosen.randbytes(longest - 128 + chosen.randrange(-5000, 5000)), np.uint8)
            try:
                write_array(path, array)
            except UsageError as error:
                refused += 1
                if path.read_bytes() != before or os.strerror(errno.ENOSPC if mounted else errno.EFBIG) not in str(
                    error
                ):
                    wrong.append(f"{array.size} bytes: {error}, and {path.stat().st_size} bytes are there")
            else:
                if not np.array_equal(np.load(path), array):
                    wrong.append(f"{array.size} bytes: no error, and {path.stat().st_size} bytes are there")
                path.write_bytes(OLD)
            wrong += [f"left: {rest}" for rest in path.parent.iterdir() if rest != path]
        where = "a full tmpfs" if mounted else "files at their limit (RLIMIT_FSIZE: no tmpfs can be mounted)"
        if not 0 < refused < each:
            wrong.append(f"{refused} of {each} writes were refused: the room is not about their length")
        yield _none(f"files lost or cut in silence, in {each} writes of which {refused} met {where}", wrong)
        kinds = "read-only or gone" if mounted else "gone"
        yield _none(f"old files lost in folders that are {kinds}", [*_read_only(path, mounted), *_gone(folder)])


def _read_only(path: Path, mounted: bool) -> Iterator[str]:
    if not mounted:
        return
    path.write_bytes(OLD)
    subprocess.run(["mount", "-o", "remount,ro", str(path.parent)], check=True)
    try:
        write_array(path, np.zeros(3))
    except UsageError as error:
        if os.strerror(errno.EROFS) not in str(error):
            yield f"read-only: {error}"
    else:
        yield "read-only: no error"
    if path.read_bytes() != OLD:
        yield "read-only: the old file is lost"
    subprocess.run(["mount", "-o", "remount,rw", str(path.parent)], check=True)


def _gone(folder: Path) -> Iterator[str]:
    path = folder / "gone" / "out"
    path.parent.mkdir()

    def vanish(file: BinaryIO) -> None:
        file.write(OLD)
        shutil.rmtree(path.parent)

    try:
        write_file(path, vanish)
    except FileNotFoundError:
        return
    yield "gone: no error"


def two_writers(folder: Path, each: int) -> Figure:
    """Two threads write one file, and this thread reads it."""
    path = folder / "both"
    path.write_bytes(b"a" * 100_000)
    writers = [threading.Thread(target=_write_many, args=(path, letter * 100_000, each)) for letter in (b"a", b"b")]
    for writer in writers:
        writer.start()
    torn = reads = 0
    while any(writer.is_alive() for writer in writers):
        content = path.read_bytes()
        reads += 1
        torn += len(content) != 100_000 or len(set(content)) != 1
    left = [str(rest) for rest in folder.glob(".*")]
    name = (
        f"reads of a half-written file, and files left, in {reads} reads of a file that two writers write {each} times"
    )
    return _none(name, ["torn"] * torn + left)


def _write_many(path: Path, content: bytes, each: int) -> None:
    for _ in range(each):
        write_file(path, content)


if __name__ == "__main__":
    run_part(measure)
