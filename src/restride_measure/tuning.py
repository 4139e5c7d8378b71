"""``restride tune``: measure which kernels are faster on a device, and store the choices for later processes.

Every candidate of every choice runs in turn on the same work.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

import restride as rs
from restride.command import stopwatch
from restride.command.parser import Commands, add_command, add_device_option, open_device
from restride.command.process import Exit, UsageError, say, tell, why_ended
from restride.command.stopwatch import figure, has_clock, keep_awake, rounds_text, warnings, work_timer
from restride.errors import DeviceError, UnsupportedError
from restride.kernel import CANDIDATES, Choices, Limits
from restride.progress import Progress
from restride.runtime import DEFAULT_TIMEOUT, DeviceInfo
from restride.runtime.choices_file import FOLDER_VARIABLE, choices_path, write_choices
from restride.runtime.instance import physical_devices
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride.tensor.device import Device
from restride_conformance.case import Case
from restride_conformance.record import Outcome, Verdict
from restride_conformance.report import Record
from restride_conformance.report.file import json_text
from restride_conformance.report.summary import summary
from restride_conformance.sweep import substitute

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
"""Rows and columns of the source: 64 MiB of f32, more than the caches of most devices."""

ROUNDS = 9
WARM_UP = 2

_SMALL_EDGE = 64

WORTH = 0.95
"""A candidate replaces the usual one if it takes at most this share of its time."""

_CORNERS = ",".join(f"$(N*{n}/32),$(N/4*{n}/32),$(N*{n}/32+N/2),$(N/4*{n}/32+N/8)" for n in range(16))
_BOXES = (
    f"crop_resize u8[$N,$(N/4),4] -> f32[16,4,224,224] view=.permute(2,0,1) boxes=({_CORNERS}) axes=(1,2) mode=linear"
)

WORK: Mapping[str, Mapping[str, str]] = {
    "elements": {
        "every second f32": "reorder f32[$N,$N] -> f32[$N,$(N/2)] view=[:,::2]",
        "f32 to f16": "reorder f32[$N,$N] -> f16[$N,$N]",
        "f32 enlarged": "resample f32[$N,$N] -> f32[$N,$N] view=[:$(N/4),:$(N/4)] mode=linear",
        "boxes": _BOXES,
    },
    "transpose": {
        "f32": "reorder f32[$N,$N] -> f32[$N,$N] view=.permute(1,0)",
        "u16": "reorder u16[$N,$N] -> u16[$N,$N] view=.permute(1,0)",
        "u8": "reorder u8[$N,$N] -> u8[$N,$N] view=.permute(1,0)",
        "f32 of odd sizes": "reorder f32[$(N-5),$(N-19)] -> f32[$(N-19),$(N-5)] view=.permute(1,0)",
        "u8 of odd sizes": "reorder u8[$(N-5),$(N-19)] -> u8[$(N-19),$(N-5)] view=.permute(1,0)",
    },
    "rows": {
        "f32 enlarged": "resample f32[$N,$N] -> f32[$N,$N] view=[:$(N/4),:$(N/4)] mode=linear",
        "u8 enlarged": "resample u8[$N,$N] -> u8[$N,$N] view=[:$(N/4),:$(N/4)] mode=linear",
        "f32 shrunk": "resample f32[$N,$N] -> f32[$(N/8),$(N/8)] mode=linear antialias=yes",
        "u8 pixels shrunk": "resample u8[$N,$(N/4),4] -> u8[$(N/8),$(N/32),4] mode=linear antialias=yes",
        "boxes": _BOXES,
    },
    "invocations": {
        "f32 resized": "resample f32[$N,$N] -> f32[224,224] mode=linear",
        "u8 pixels resized": "resample u8[$N,$(N/4),4] -> u8[224,224,4] mode=linear",
        "u16 transposed": "reorder u16[$(N/8),$N] -> u16[$N,$(N/8)] view=.permute(1,0)",
    },
    "runs": {
        "f32 copied": "reorder f32[$N,$N] -> f32[$N,$N]",
        "u8 copied but for one byte": "reorder u8[$(N*N)] -> u8[$(N*N-1)] view=[1:]",
    },
}
"""The work for each choice, by name: cases of a source with ``$N`` rows and columns, or as many bytes.

There are sixteen boxes, which overlap; their pixels have four channels. Odd sizes are those whose rows hardly ever
begin at the start of a word. A result of 224 x 224 is too small to occupy a large GPU fully.
"""


def work_for(device: DeviceInfo) -> Mapping[str, Mapping[str, str]]:
    """The work that is measured on a device.

    ``elements`` is left out on GPUs: by its candidate ``neighbours`` an invocation of a resize computes eight elements,
    and Mesa's compilers for AMD, Intel and Mali then keep registers in memory.
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

    def outcomes(self, marks: Mapping[str, Choices]) -> list[Outcome]:
        """A row for each candidate under its choice: the milliseconds of all work together, and of each.

        marks: choices by the word that marks their candidates, such as ``usual``.
        """
        return [
            Outcome(
                str(candidate),
                Verdict.PASSED,
                group=choice,
                figures={
                    "ms": figure(1e3 * sum(seconds.values())),
                    "is": ", ".join(word for word, each in marks.items() if getattr(each, choice) == candidate),
                    "work": {name: figure(1e3 * each) for name, each in seconds.items()},
                },
            )
            for choice, candidates in self.seconds.items()
            for candidate, seconds in candidates.items()
        ]


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
        raise UnsupportedError(
            f"device must be of the runtime vulkan, got {type(runtime).__name__}; the choices hold on every runtime"
        )
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
            for work, line in works.items():
                case = Case.parse(substitute(line, {"N": str(edge)}))
                starts = _starts(device, runtime, candidates, case)
                timers = {name: work_timer(device, start, by_device=by_device) for name, start in starts.items()}
                for candidate, times in stopwatch.rounds(timers, rounds, warm_up=WARM_UP, begin=awake).items():
                    found[candidate][work] = statistics.median(times)
                measured(f"{choice}: {work}")
            seconds[choice] = found
            known(Tuning(dict(seconds), usual, by_device))
    finally:
        runtime.limits = limits
    return Tuning(seconds, usual, by_device)


def _starts(
    device: Device, runtime: VulkanRuntime, candidates: Mapping[str, Limits], case: Case
) -> dict[str, Callable[[], object]]:
    """For each candidate a function that starts the same work, after one call of each to compare their results.

    Raises:
        DeviceError: two candidates have different results.
    """
    elements = np.random.default_rng(case.src.numel).integers(0, 128, case.src.nbytes, np.uint8)
    x = case.viewed_tensor(rs.from_buffer(elements, case.src, device=device))
    operation, outs = case.operation.call(case), {name: rs.empty(case.dst, device) for name in candidates}

    def start(candidate: str) -> None:
        runtime.limits = candidates[candidate]
        operation(x, outs[candidate])

    for candidate in candidates:
        start(candidate)
    first, *others = (out.buffer() for out in outs.values())
    if not all(np.array_equal(first, other) for other in others):
        raise DeviceError(f"{' and '.join(outs)} have different results on {device.info.name}: see `restride test`")
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
    noticed = tuple(warnings())
    for warning in noticed:
        tell(f"warning: {warning}")
    with open_device(arguments) as device:
        info = device.info
        record = Record.begin("tune", info, warnings=noticed)
        tell(f"measuring on {info.name}, some seconds for each kind of kernel")
        with Progress(sum(map(len, work_for(info).values())), sys.stderr) as progress:
            try:
                tune(device, edge=edge, rounds=rounds, measured=progress.step, known=tunings.append)
            except BaseException as error:  # noqa: BLE001 - raised below, after the known choices are kept
                broken_off = error
    if tunings:
        _keep(arguments, replace(record, broken_off=why_ended(broken_off)), info, tunings[-1], rounds)
    if broken_off is not None:
        raise broken_off
    return Exit.OK


def _keep(arguments: argparse.Namespace, record: Record, info: DeviceInfo, tuning: Tuning, rounds: int) -> None:
    """Store the choices and print them; if the tuning was interrupted, those not measured stay as they were."""
    missing = [name for name in work_for(info) if name not in tuning.seconds]
    choices = replace(tuning.choices, **{name: getattr(info.limits.choices, name) for name in missing})
    path = None if arguments.small else _store(info, choices)
    own = {"usual": asdict(tuning.usual), "choices": asdict(choices), "file": None if path is None else str(path)}
    record = record.ended(
        tuning.outcomes({"chosen": tuning.choices, "usual": tuning.usual}),
        options={"runtime": "vulkan", "repeat": rounds, "small": arguments.small, **own},
        selected=sum(len(CANDIDATES[name]) for name in work_for(info)),
        notes=(f"by the clock of the {'device' if tuning.by_device else 'host'}, {rounds_text(rounds)}",),
    )
    say(json_text(record) if arguments.json else summary(record), has_lines=True)
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
