"""``restride tune``: measure which kernels are faster on a device, and store the choices for later processes.

Every candidate of every choice runs in turn on the same work.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import restride as rs
from restride.command import stopwatch
from restride.command.parser import Commands, add_command, add_device_option, open_device
from restride.command.process import Exit, UsageError, say, tell
from restride.command.stopwatch import has_clock, keep_awake, warnings, work_timer
from restride.drawing.explain import columns
from restride.dtypes import as_dtype
from restride.errors import DeviceError, UnsupportedError
from restride.kernel import CANDIDATES, Choices, Limits
from restride.progress import Progress
from restride.runtime import DEFAULT_TIMEOUT, DeviceInfo
from restride.runtime.choices_file import FOLDER_VARIABLE, choices_path, write_choices
from restride.runtime.instance import physical_devices
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride.tensor.device import Device
from restride_measure.own import Operation

_DESCRIPTION = f"""\
Measures, in some seconds, which of several equivalent kernels is faster on a device, and stores the choice for this
device and driver. Every process that opens the device uses it. No result changes. Leave the machine alone meanwhile.
What is known when Ctrl-C or SIGTERM ends it is stored too.

The file is in restride/choices of the user's cache folder, or in the folder that {FOLDER_VARIABLE} names; where that is
empty, nothing is stored or read. Remove the file to return to the usual kernels of the kind of device.

examples:
  restride tune
  restride tune --device radeon --json"""


EDGE = 4096
"""Rows and columns of the square source: 64 MiB of f32, more than the caches of most devices."""

ROUNDS = 9
WARM_UP = 2

_SMALL_EDGE = 64

WORTH = 0.95
"""A candidate replaces the usual one if it takes at most this share of its time."""

SMALL = (224, 224)
"""Sizes of a result that is too small to occupy a large GPU fully."""


def _enlarged(x: rs.Tensor, out: rs.Tensor | None) -> rs.Tensor:
    """Enlarge the first quarter of ``x`` along both axes to the sizes of ``x``, in mode linear."""
    return rs.resample(x[: x.sizes[0] // 4, : x.sizes[1] // 4], x.sizes, out=out)


def _shrunk(x: rs.Tensor, out: rs.Tensor | None) -> rs.Tensor:
    """Shrink ``x`` to an eighth of its rows and columns, antialiased."""
    return rs.resample(x, [size // 8 for size in x.sizes[:2]], axes=(0, 1), antialias=True, out=out)


def _odd(x: rs.Tensor) -> rs.Tensor:
    """A packed view with a few rows and columns fewer, so that hardly any row begins at the start of a word."""
    rows, columns = x.sizes[0] - 5, x.sizes[1] - 19
    return x.reshape(-1)[: rows * columns].reshape((rows, columns))


def _pixels(x: rs.Tensor) -> rs.Tensor:
    """A view with four columns as the channels of a pixel."""
    return x.reshape((x.sizes[0], x.sizes[1] // 4, 4))


def _boxes(x: rs.Tensor, out: rs.Tensor | None) -> rs.Tensor:
    """Crop and resize sixteen overlapping boxes of pixels to planes of f32."""
    height, width, _ = _pixels(x).sizes
    corners = [(height * n // 32, width * n // 32) for n in range(16)]
    boxes = [(top, left, top + height // 2, left + width // 2) for top, left in corners]
    return rs.crop_resize(_pixels(x), boxes, SMALL, axes=(0, 1), layout="NHWC->NCHW", dtype="f32", out=out)


WORK: Mapping[str, Mapping[str, tuple[str, Operation]]] = {
    "elements": {
        "every second f32": ("f32", lambda x, out: rs.reorder(x[:, ::2], out=out)),
        "f32 to f16": ("f32", lambda x, out: rs.reorder(x, dtype="f16", out=out)),
        "f32 enlarged": ("f32", _enlarged),
        "boxes": ("u8", _boxes),
    },
    "transpose": {
        "f32": ("f32", lambda x, out: rs.reorder(x.permute(1, 0), out=out)),
        "u16": ("u16", lambda x, out: rs.reorder(x.permute(1, 0), out=out)),
        "u8": ("u8", lambda x, out: rs.reorder(x.permute(1, 0), out=out)),
        "f32 of odd sizes": ("f32", lambda x, out: rs.reorder(_odd(x).permute(1, 0), out=out)),
        "u8 of odd sizes": ("u8", lambda x, out: rs.reorder(_odd(x).permute(1, 0), out=out)),
    },
    "rows": {
        "f32 enlarged": ("f32", _enlarged),
        "u8 enlarged": ("u8", _enlarged),
        "f32 shrunk": ("f32", _shrunk),
        "u8 pixels shrunk": ("u8", lambda x, out: _shrunk(_pixels(x), out)),
        "boxes": ("u8", _boxes),
    },
    "invocations": {
        "f32 resized": ("f32", lambda x, out: rs.resample(x, SMALL, out=out)),
        "u8 pixels resized": ("u8", lambda x, out: rs.resample(_pixels(x), SMALL, axes=(0, 1), out=out)),
        "u16 transposed": ("u16", lambda x, out: rs.reorder(x[: x.sizes[0] // 8].permute(1, 0), out=out)),
    },
    "runs": {
        "f32 copied": ("f32", lambda x, out: rs.reorder(x, out=out)),
        "u8 copied but for one byte": ("u8", lambda x, out: rs.reorder(x.reshape(-1)[1:], out=out)),
    },
}
"""The work for each choice, by name: the element type of the square source, and the operation."""


def work_for(device: DeviceInfo) -> Mapping[str, Mapping[str, tuple[str, Operation]]]:
    """The work that is measured on a device.

    ``elements`` is left out on GPUs: with neighbours an invocation of a resize computes eight elements, and Mesa's
    compilers for AMD, Intel and Mali then keep registers in memory.
    """
    return {choice: works for choice, works in WORK.items() if choice != "elements" or device.kind == "cpu"}


@dataclass(frozen=True)
class Tuning:
    """Median seconds by choice, candidate and work; if the tuning ended early, only of the choices measured by then.

    usual: the default choices for this kind of device.
    by_device: True if measured by the device's clock; otherwise by the host's, from the call to the end of the wait.
    """

    seconds: Mapping[str, Mapping[str, Mapping[str, float]]]
    usual: Choices
    by_device: bool

    def total(self, choice: str, candidate: str) -> float:
        """Sum of the median seconds over all work of a choice."""
        return sum(self.seconds[choice][candidate].values())

    @property
    def choices(self) -> Choices:
        """The fastest candidate of each choice.

        The usual candidate stays where the difference may be chance (``WORTH``), and for a choice that was not
        measured.
        """
        return Choices.parse(asdict(self.usual) | {name: self._best(name) for name in self.seconds})

    def _best(self, choice: str) -> str:
        usual: str = getattr(self.usual, choice)
        best = min(CANDIDATES[choice], key=lambda candidate: self.total(choice, candidate))
        return best if self.total(choice, best) <= WORTH * self.total(choice, usual) else usual


def tune(
    device: Device,
    edge: int = EDGE,
    rounds: int = ROUNDS,
    measured: Callable[[str], None] = lambda _: None,
    known: Callable[[Tuning], None] = lambda _: None,
) -> Tuning:
    """Measure every candidate of each choice, the other choices being the usual; restores the runtime's own choices.

    measured: called after each measured operation, with its choice and name.
    known: called after each choice, with the tuning so far.

    Raises:
        DeviceError: two candidates have different results.
        UnsupportedError: the runtime is not ``vulkan``.
    """
    runtime = device.runtime
    if not isinstance(runtime, VulkanRuntime):
        raise UnsupportedError("kernels are chosen on the runtime vulkan; what is chosen holds on every runtime")
    info, limits = runtime.info, runtime.limits
    usual = Choices.usual(info.kind, info.driver_version, info.vendor_id)
    by_device, awake = has_clock(device), keep_awake(device)
    seconds: dict[str, dict[str, dict[str, float]]] = {}
    try:
        for choice, works in work_for(info).items():
            candidates = {
                candidate: replace(limits, choices=Choices.parse(asdict(usual) | {choice: candidate}))
                for candidate in CANDIDATES[choice]
            }
            found: dict[str, dict[str, float]] = {candidate: {} for candidate in candidates}
            for work, (dtype, operation) in works.items():
                starts = _starts(device, runtime, candidates, _square(device, dtype, edge), operation)
                timers = {name: work_timer(device, start, by_device=by_device) for name, start in starts.items()}
                for candidate, times in stopwatch.rounds(timers, rounds, warm_up=WARM_UP, begin=awake).items():
                    found[candidate][work] = statistics.median(times)
                measured(f"{choice}: {work}")
            seconds[choice] = found
            known(Tuning(dict(seconds), usual, by_device))
    finally:
        runtime.limits = limits
    return Tuning(seconds, usual, by_device)


def _square(device: Device, dtype: str, edge: int) -> rs.Tensor:
    desc = rs.TensorDesc(as_dtype(dtype), (edge, edge))
    return rs.from_buffer(np.random.default_rng(edge).integers(0, 128, desc.nbytes, np.uint8), desc, device=device)


def _starts(
    device: Device, runtime: VulkanRuntime, candidates: Mapping[str, Limits], x: rs.Tensor, operation: Operation
) -> dict[str, Callable[[], object]]:
    """For each candidate a function that starts the same work, after one call of each to compare their results.

    Raises:
        DeviceError: two candidates have different results.
    """
    outs: dict[str, rs.Tensor] = {}
    for candidate, limits in candidates.items():
        runtime.limits = limits
        outs[candidate] = operation(x, None)
    first, *others = (out.buffer() for out in outs.values())
    if not all(np.array_equal(first, other) for other in others):
        raise DeviceError(f"{' and '.join(outs)} have different results on {device.info.name}: see `restride test`")

    def start(candidate: str) -> None:
        runtime.limits = candidates[candidate]
        operation(x, outs[candidate])

    return {name: partial(start, name) for name in candidates}


# The command `restride tune`.


def add_commands(commands: Commands) -> None:
    """Add ``tune``."""
    parser = add_command(commands, "tune", _DESCRIPTION, run)
    add_device_option(parser)
    text = "small sizes, to see in a moment if it works; keeps nothing"
    parser.add_argument("--small", action="store_true", help=text)
    parser.add_argument("--json", action="store_true", help="a JSON object instead of the table")
    parser.set_defaults(runtime="vulkan", timeout=DEFAULT_TIMEOUT)


def run(arguments: argparse.Namespace) -> int:
    """Measure, print the times and the choices, and store them; if interrupted, those that are known by then."""
    edge, rounds = (_SMALL_EDGE, 1) if arguments.small else (EDGE, ROUNDS)
    tunings: list[Tuning] = []
    broken_off: BaseException | None = None
    for warning in warnings():
        tell(f"warning: {warning}")
    with open_device(arguments) as device:
        info = device.info
        tell(f"measuring on {info.name}, some seconds for each kind of kernel")
        with Progress(sum(map(len, work_for(info).values())), sys.stderr) as progress:
            try:
                tune(device, edge=edge, rounds=rounds, measured=progress.step, known=tunings.append)
            except BaseException as error:  # noqa: BLE001 - raised below, after the known choices are kept
                broken_off = error
    if tunings:
        _keep(arguments, info, tunings[-1], rounds)
    if broken_off is not None:
        raise broken_off
    return Exit.OK


def _keep(arguments: argparse.Namespace, info: DeviceInfo, tuning: Tuning, rounds: int) -> None:
    """Store the choices and print them; if the tuning was interrupted, those not measured stay as they were."""
    missing = [name for name in work_for(info) if name not in tuning.seconds]
    choices = replace(tuning.choices, **{name: getattr(info.limits.choices, name) for name in missing})
    path = None if arguments.small else _store(info, choices)
    record = _record(info, tuning, choices, path, rounds)
    say(json.dumps(record, indent=2) if arguments.json else _text(info, tuning, rounds), has_lines=True)
    for choice in missing:
        tell(f"not measured, and left as it was: {choice}")
    if arguments.small:
        tell("nothing is kept: these sizes say nothing about speed")
    else:
        tell(f"wrote {path}" if path else f"nothing is kept: {FOLDER_VARIABLE} is empty, or there is no home")


def _store(info: DeviceInfo, choices: Choices) -> Path | None:
    """Store the choices; returns the path of the file, or None if choices are not stored."""
    (identity,) = (each.pipeline_cache_id for each in physical_devices() if each.info.index == info.index)
    path = choices_path(identity)
    if path is not None:
        try:
            write_choices(path, f"{info.name}, {info.driver} {info.driver_version}", choices)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from error
    return path


def _record(info: DeviceInfo, tuning: Tuning, choices: Choices, path: Path | None, rounds: int) -> dict[str, Any]:
    return {
        "device": info.name,
        "driver": f"{info.driver} {info.driver_version}",
        "clock": "device" if tuning.by_device else "host",
        "rounds": rounds,
        "seconds": tuning.seconds,
        "usual": asdict(tuning.usual),
        "choices": asdict(choices),
        "file": None if path is None else str(path),
    }


def _text(info: DeviceInfo, tuning: Tuning, rounds: int) -> str:
    """The table with a row per candidate: its total and single milliseconds, and whether it is chosen or usual."""
    rows = [("choice", "candidate", "ms", "", "")]
    for choice, candidates in tuning.seconds.items():
        for candidate in candidates:
            each = ", ".join(
                f"{name} {milliseconds(seconds)}" for name, seconds in tuning.seconds[choice][candidate].items()
            )
            is_chosen = getattr(tuning.choices, choice) == candidate
            words = ["chosen"] * is_chosen + ["usual"] * (getattr(tuning.usual, choice) == candidate)
            rows.append((choice, candidate, milliseconds(tuning.total(choice, candidate)), ", ".join(words), each))
    clock = "the device's own clock" if tuning.by_device else "the host's clock"
    heading = f"{info.name}, {info.driver} {info.driver_version}; {clock}, medians of {rounds} rounds"
    return "\n".join([heading, *columns(rows, right=(2,))])


def milliseconds(seconds: float) -> str:
    """Three digits, or all before the point: 0.0123 s is "12.3", 1.8149 s "1815"."""
    return f"{seconds * 1e3:.3g}" if seconds < 0.9995 else f"{seconds * 1e3:.0f}"
