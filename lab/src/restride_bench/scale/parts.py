"""The parts of the group ``scale``: sources, ways to process them, and goals, as plain values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from restride_bench.scale.ways import SMALLER, astronaut, noise

SCALE = "scale"
"""Name of the group, which is measured only on request."""


def is_scale(keyword: str) -> bool:
    """True if a keyword is the group's name, or names a part of it as in "scale: growth"."""
    return keyword.casefold().partition(":")[0].strip() == SCALE


Cost: TypeAlias = Literal["seconds", "peak"]


@dataclass(frozen=True)
class Source:
    """A volume in a file. chunk: the size of Zarr chunks of u8 along y and x; 0: a .npy file of u16 instead."""

    sizes: tuple[int, int, int]
    chunk: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return math.prod(self.sizes) * (1 if self.chunk else 2)

    def write(self, path: Path) -> None:
        """Write the .npy file or the Zarr folder."""
        if self.chunk:
            astronaut(path, self.sizes[0], self.sizes[1], self.chunk)
        else:
            noise(path, self.sizes[0], self.sizes[1])

    def __str__(self) -> str:
        text = f"{'u8' if self.chunk else 'u16'}[{','.join(map(str, self.sizes))}]"
        return f"{text} in chunks of {self.chunk}" if self.chunk else text


@dataclass(frozen=True)
class Way:
    """A row of the table, which runs the function ``way`` of ``WAYS``.

    packages: modules that it needs. extra: the requirement with which pip installs them.
    lines: how many lines of the source it reads, and times are then per line; 0: all of them.
    memory: limit for restride's stream.
    """

    name: str
    way: str
    packages: tuple[str, ...] = ()
    extra: str = ""
    lines: int = 0
    memory: str = "512MiB"


@dataclass(frozen=True)
class Goal:
    """A limit: ``way`` takes at most ``most`` times as much as ``against``, or ``most`` bytes if ``against`` is ""."""

    way: str
    most: float
    against: str = ""
    measure: Cost = "seconds"

    def __str__(self) -> str:
        memory = " of memory" if self.measure == "peak" else ""
        amount = f"{self.most:.2f}x {self.against}" if self.against else f"{self.most / 1e6:.0f} MB"
        return f"at most {amount}{memory}"


@dataclass(frozen=True)
class Part:
    """Ways that are measured in turn on one source."""

    name: str
    source: Source
    ways: tuple[Way, ...]
    goals: tuple[Goal, ...]

    @property
    def is_growth(self) -> bool:
        """True if the ways are the same way with more and more lines."""
        return any(way.lines for way in self.ways)


_ZARR, _DASK, _OME = (f"'.[{extra}]' in a checkout" for extra in ("zarr", "dask,zarr", "ome"))

PYRAMID_PEERS = (
    Way("ngff-zarr bin shrink", "ngff-zarr", ("ngff_zarr", "itkwasm_downsample"), "ngff-zarr itkwasm-downsample"),
    Way("ome-zarr local mean", "ome-zarr", ("ome_zarr",), "ome-zarr"),
    Way("dask coarsen", "dask-coarsen", ("dask", "zarr"), _DASK),
    Way("xarray-multiscale", "xarray-multiscale", ("xarray_multiscale", "zarr"), "xarray-multiscale"),
    Way("pyvips", "pyvips", ("pyvips", "zarr"), "'pyvips[binary]'"),
    Way("tensorstore", "tensorstore", ("tensorstore", "zarr"), "tensorstore"),
)

WAYS_OF_PEERS = tuple(way.way for way in PYRAMID_PEERS)
"""The names of these ways in ``--peers``."""

_WORKERS = 1 / 0.9
"""Time limit for two workers with one core each: at least 0.9 times as fast as one worker with two cores."""

GROWS, FLAT = 1.15, 1.1
"""Maximum growth of the time per line, and of the memory, as multiples of the values at the smallest size."""

_BOUND, _BESIDE = 256, 200e6
"""Memory limit of a growing stream in MiB; and bytes that Python, libraries and the driver may take in addition."""


def parts(*, is_small: bool = False, is_whole: bool = False, peers: tuple[str, ...] = WAYS_OF_PEERS) -> list[Part]:
    """The parts of the group.

    Args:
        is_small: sources of a few MB, as a test.
        is_whole: the whole image of 7.1 GB instead of an eighth of it, and streams up to 8 GiB instead of 4.
        peers: which of ``WAYS_OF_PEERS`` take part.
    """
    image = Source((2, 1024, 1024), 256) if is_small else Source((15, 7680, 7680), 2048)
    if is_whole:
        image = Source((30, 15360, 15360), 2048)
    rivals = tuple(way for way in PYRAMID_PEERS if way.way in peers)
    against = {"ngff-zarr": 0.5, "ome-zarr": 1.0, "dask-coarsen": 1.0, "xarray-multiscale": 1.0}
    pyramid = Part(
        f"pyramid with {SMALLER} smaller levels, Zarr to Zarr",
        image,
        (Way("restride", "restride", ("zarr",), _OME), *rivals),
        (
            *(Goal("restride", against[way.way], way.name) for way in rivals if way.way in against),
            Goal("restride", 1e9, measure="peak"),
        ),
    )
    both = ("dask", "zarr")
    tasks = Part(
        "rs.dask beside rs.stream, halved, Zarr to Zarr",
        image,
        (
            Way("rs.stream", "stream to zarr", ("zarr",), _ZARR),
            Way("rs.dask", "dask to zarr", both, _DASK),
            Way("one worker, two cores", "one worker", (*both, "distributed"), _DASK),
            Way("two workers, a core each", "two workers", (*both, "distributed"), _DASK),
        ),
        (
            Goal("rs.dask", 1.3, "rs.stream"),
            Goal("two workers, a core each", _WORKERS, "one worker, two cores"),
        ),
    )
    overhead = Part(
        "rs.stream beside one call, halved, in memory",
        Source((4, 64, 64)) if is_small else Source((64, 1024, 1024)),
        (Way("one call", "one call"), Way("rs.stream", "stream in memory")),
        (Goal("rs.stream", 1.25, "one call"),),
    )
    return [pyramid, tasks, overhead, _growth(is_small=is_small, is_whole=is_whole)]


def _growth(*, is_small: bool, is_whole: bool) -> Part:
    """The part with streams of 1 GiB, 2 GiB and so on, which read the first lines of one file."""
    side, unit = (64, "MiB") if is_small else (1024, "GiB")
    amounts = (1, 2, 4, 8) if is_whole else (1, 2, 4)
    lines = (1 << (20 if is_small else 30)) // (2 * side)
    ways = [
        Way(f"{amount} {unit}", "stream to file", lines=amount * lines, memory=f"{_BOUND}MiB") for amount in amounts
    ]
    first, *larger = (way.name for way in ways)
    return Part(
        "growth of rs.stream, halved, .npy to .npy",
        Source((amounts[-1] * lines // side, side, side)),
        tuple(ways),
        (
            *(Goal(name, GROWS, first) for name in larger),
            *(Goal(name, FLAT, first, "peak") for name in larger),
            *(Goal(name, (_BOUND << 20) + _BESIDE, measure="peak") for name in (first, *larger)),
        ),
    )
