"""Which kernels are faster on a device: every candidate of every choice, in turn on the same work."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np

import restride as rs
from restride.dtypes import as_dtype
from restride.errors import DeviceError, UnsupportedError
from restride.kernel import CANDIDATES, Choices, Limits
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride.tensor.device import Device
from restride_bench.own import device_seconds, has_clock

EDGE = 4096
"""Of the square that is moved: 64 MiB of f32, more than the caches of most devices."""

ROUNDS = 9
WARM_UP = 2

WORTH = 0.95
"""A candidate takes the place of the usual one where it takes at most this share of its time."""

Operation = Callable[[rs.Tensor, rs.Tensor | None], rs.Tensor]

WORK: Mapping[str, Mapping[str, tuple[str, Operation]]] = {
    "elements": {
        "every second f32": ("f32", lambda x, out: rs.reorder(x[:, ::2], out=out)),
        "f32 to f16": ("f32", lambda x, out: rs.reorder(x, dtype="f16", out=out)),
    },
    "transpose": {
        "f32": ("f32", lambda x, out: rs.reorder(x.permute(1, 0), out=out)),
        "u16": ("u16", lambda x, out: rs.reorder(x.permute(1, 0), out=out)),
        "u8": ("u8", lambda x, out: rs.reorder(x.permute(1, 0), out=out)),
    },
}
"""By choice and name: the element type of a square, and what is done to it."""


@dataclass(frozen=True)
class Tuning:
    """Median seconds by choice, candidate and work.

    usual: the choices for this kind of device.
    by_device: the clock is the device's own; else the host's, from the call to the end of the wait.
    """

    seconds: Mapping[str, Mapping[str, Mapping[str, float]]]
    usual: Choices
    by_device: bool

    def total(self, choice: str, candidate: str) -> float:
        """Seconds of all work together."""
        return sum(self.seconds[choice][candidate].values())

    @property
    def choices(self) -> Choices:
        """The faster ones; the usual one where the difference may be chance."""
        return Choices.parse({name: self._best(name) for name in CANDIDATES})

    def _best(self, choice: str) -> str:
        usual: str = getattr(self.usual, choice)
        best = min(CANDIDATES[choice], key=lambda candidate: self.total(choice, candidate))
        return best if self.total(choice, best) <= WORTH * self.total(choice, usual) else usual


def tune(
    device: Device, edge: int = EDGE, rounds: int = ROUNDS, measured: Callable[[str], None] = lambda _: None
) -> Tuning:
    """Measure every candidate beside the usual other choices. The choices of the runtime are as before in the end.

    measured: called after each work, with its choice and name.

    Raises:
        DeviceError: two candidates have different results.
        UnsupportedError: the runtime is not ``vulkan``.
    """
    runtime = device.runtime
    if not isinstance(runtime, VulkanRuntime):
        raise UnsupportedError("kernels are chosen on the runtime vulkan; what is chosen holds on every runtime")
    limits, usual = runtime.limits, Choices.usual(runtime.info.kind)
    by_device = has_clock(device)
    seconds: dict[str, dict[str, dict[str, float]]] = {}
    try:
        for choice, works in WORK.items():
            candidates = {
                candidate: replace(limits, choices=Choices.parse(asdict(usual) | {choice: candidate}))
                for candidate in CANDIDATES[choice]
            }
            seconds[choice] = {candidate: {} for candidate in candidates}
            for name, (dtype, operation) in works.items():
                steps = _steps(device, runtime, candidates, _square(device, dtype, edge), operation, by_device)
                for candidate, median in _medians(steps, rounds).items():
                    seconds[choice][candidate][name] = median
                measured(f"{choice}: {name}")
    finally:
        runtime.limits = limits
    return Tuning(seconds, usual, by_device)


def _square(device: Device, dtype: str, edge: int) -> rs.Tensor:
    desc = rs.TensorDesc(as_dtype(dtype), (edge, edge))
    return rs.from_buffer(np.random.default_rng(edge).integers(0, 128, desc.nbytes, np.uint8), desc, device=device)


def _steps(
    device: Device,
    runtime: VulkanRuntime,
    candidates: Mapping[str, Limits],
    x: rs.Tensor,
    operation: Operation,
    by_device: bool,
) -> dict[str, Callable[[], float]]:
    """By candidate: a function that does the work once more and returns its seconds. Each has done it once."""
    outs: dict[str, rs.Tensor] = {}
    for candidate, runtime.limits in candidates.items():
        outs[candidate] = operation(x, None)
    first, *others = (out.buffer() for out in outs.values())
    if not all(np.array_equal(first, other) for other in others):
        raise DeviceError(f"{' and '.join(outs)} have different results on {device.info.name}: see `restride test`")

    def step_of(limits: Limits, out: rs.Tensor) -> Callable[[], float]:
        def call() -> None:
            runtime.limits = limits
            operation(x, out)

        return device_seconds(device, call) if by_device else _host_seconds(device, call)

    return {candidate: step_of(candidates[candidate], out) for candidate, out in outs.items()}


def _host_seconds(device: Device, call: Callable[[], object]) -> Callable[[], float]:
    def timed() -> float:
        start = time.perf_counter()
        call()
        device.wait()
        return time.perf_counter() - start

    return timed


def _medians(steps: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Every round has all of them in turn, so that other work on the machine meets them all."""
    found: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(WARM_UP + rounds):
        for name, step in steps.items():
            seconds = step()
            if number >= WARM_UP:
                found[name].append(seconds)
    return {name: statistics.median(each) for name, each in found.items()}
