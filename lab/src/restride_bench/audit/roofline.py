"""A model of the time that kernels take on a GPU, from their code, their accesses and a few figures of the device.

A dispatch takes as long as its slowest resource: memory, the cache that all compute units share, the cache of each
unit, arithmetic, or latency. None of this is measured. docs/benchmarks/audit.md derives each formula and says how far
to trust it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

from restride_bench.audit.compiler import Compiled
from restride_bench.audit.traffic import SECTOR, Traffic

LAUNCH = 4e-6
"""Seconds from the end of a dispatch to the start of the next that waits for it."""

SLICE = 64
"""Bytes that a slice of the shared cache moves per clock; a smaller access takes as long."""

_WAIT = 320
"""Clocks that RADV's compiler assumes for a load from memory."""

_AS_COMPILED = {"navi21": (32, 32), "polaris10": (16, 8)}
"""For each family, the lanes of a vector unit that the compiler counts with, and the maximum subgroups in flight."""


@dataclass(frozen=True)
class Device:
    """A GPU of ``devices.toml``, which explains the fields and their units."""

    name: str
    family: str
    bandwidth: float
    units: int
    simds: int
    lanes: int
    clock: float
    waves: int
    subgroup: int
    cache: int
    shared: int
    fill: int
    latency: float
    estimated: tuple[str, ...]
    source: str

    @property
    def invocations(self) -> int:
        """Maximum number of invocations in flight."""
        return self.units * self.simds * self.waves * self.subgroup

    @property
    def lane_clocks(self) -> float:
        """Clocks per second, summed over all lanes."""
        return self.units * self.simds * self.lanes * self.clock * 1e9

    def copies(self, nbytes: float) -> float:
        """Seconds of a copy whose reads and writes are ``nbytes`` in total."""
        return LAUNCH + nbytes / (self.bandwidth * 1e9)


def known_devices() -> dict[str, Device]:
    """Every device of the model, by its name."""
    text = files("restride_bench.audit").joinpath("devices.toml").read_text(encoding="utf-8")
    return {
        name: Device(name, **fields | {"estimated": tuple(fields["estimated"])})
        for name, fields in tomllib.loads(text).items()
    }


@dataclass(frozen=True)
class Work:
    """The model's input for a dispatch.

    invocations: in all work groups. compiled: for the device's family. traffic: by "load", "store" and "tables".
    moved: bytes between memory and the device's last cache.
    turns: how often an invocation runs the body of a loop.
    """

    invocations: int
    compiled: Compiled
    traffic: Mapping[str, Traffic]
    moved: float
    turns: float


class Prediction(NamedTuple):
    """The model's prediction for a workload.

    seconds: its time. share: its speed as a share of the device's copy. limit: the resource that takes most time.
    """

    seconds: float
    share: float
    limit: str


def predict(device: Device, works: Iterable[Work], useful: int, copied: int = 0) -> Prediction:
    """Predict a workload whose dispatches run one after the other.

    Args:
        device: the GPU.
        works: the dispatches.
        useful: bytes that the workload must read and write; it is compared with a copy that moves as many.
        copied: bytes that the device's own copies read and write for it.
    """
    spent = {"memory": device.copies(copied) if copied else 0.0}
    for work in works:
        limits = limits_of(device, work)
        slowest = max(limits, key=limits.__getitem__)
        spent[slowest] = spent.get(slowest, 0.0) + limits[slowest]
        spent["launch"] = spent.get("launch", 0.0) + LAUNCH
    seconds = sum(spent.values())
    return Prediction(seconds, device.copies(useful) / seconds, max(spent, key=spent.__getitem__))


def limits_of(device: Device, work: Work) -> dict[str, float]:
    """Seconds that a dispatch needs of each resource; the largest is its time."""
    compiled = work.compiled
    lanes, most_waves = _AS_COMPILED[device.family]
    turns = _turns(compiled, work.turns)
    clocks = work.invocations / 64 * compiled.inverse_throughput * turns * lanes
    in_flight = device.invocations * min(compiled.waves / most_waves, 1.0)
    wait = max(device.latency, _WAIT / device.clock) * 1e-9
    lines = sum(each.lines for each in work.traffic.values())
    return {
        "memory": work.moved / (device.bandwidth * 1e9),
        "shared cache": sum(_shared(device, *each) for each in work.traffic.items())
        / (device.shared * device.clock * 1e9),
        "unit's cache": lines / (device.units * device.clock * 1e9),
        "arithmetic": clocks / device.lane_clocks,
        "waiting": compiled.latency * turns / _WAIT * wait * max(work.invocations / in_flight, 1.0),
    }


def _shared(device: Device, way: str, traffic: Traffic) -> float:
    """Bytes that the shared cache moves, unneeded bytes included."""
    if way == "store":
        # Stores go through to the shared cache, where a partly written sector is read, changed and written.
        whole = max(traffic.requests * SECTOR, traffic.lines * SLICE)
        return whole + min(traffic.partial, 2 * traffic.lines) * SLICE
    missed = traffic.sectors / traffic.requests
    return missed * max(traffic.requests * SECTOR, traffic.lines * max(device.fill, SLICE))


def _turns(compiled: Compiled, turns: float) -> float:
    """The factor that corrects the compiler's clocks for how often loops turn.

    The compiler assumes 8 turns of an outer loop, 4 of the next and 2 of each further in. ``turns`` is the real number.
    """
    straight, *looped = compiled.depths
    assumed = float(straight)
    for depth, count in enumerate(looped):
        assumed += count * (8 if depth == 0 else 32 << depth - 1)
    return (straight + turns * sum(looped)) / assumed
