"""Parts: what the group ``scale`` measures on which source, and its goals, as plain values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from restride_bench.scale.ways import SMALLER, astronaut, noise

SCALE = "scale"
"""The group, which is measured only where it is asked for."""


def is_asked_for(keyword: str) -> bool:
    """Whether a keyword is the group, or a part of it as "scale: growth"; others may have the word in their names."""
    return keyword.casefold().partition(":")[0].strip() == SCALE


Measure: TypeAlias = Literal["seconds", "peak"]


@dataclass(frozen=True)
class Source:
    """A volume in a file. chunk: elements along y and x of a chunk of Zarr; 0: a .npy file of u16."""

    sizes: tuple[int, int, int]
    chunk: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return math.prod(self.sizes) * (1 if self.chunk else 2)

    def write(self, path: Path) -> None:
        """Make the file, or the folder."""
        if self.chunk:
            astronaut(path, self.sizes[0], self.sizes[1], self.chunk)
        else:
            noise(path, self.sizes[0], self.sizes[1])

    def __str__(self) -> str:
        text = f"{'u8' if self.chunk else 'u16'}[{','.join(map(str, self.sizes))}]"
        return f"{text} in chunks of {self.chunk}" if self.chunk else text


@dataclass(frozen=True)
class Way:
    """A row of the table: ``way`` of ``WAYS``.

    packages: that it needs. extra: what pip installs to have them.
    lines: of the source, where it takes a part of it; times are then those of a line.
    """

    name: str
    way: str
    packages: tuple[str, ...] = ()
    extra: str = ""
    lines: int = 0
    memory: str = "512MiB"


@dataclass(frozen=True)
class Goal:
    """``way`` takes at most ``most`` times as much as ``against``, or at most ``most`` bytes where that is empty."""

    way: str
    most: float
    against: str = ""
    measure: Measure = "seconds"

    def __str__(self) -> str:
        memory = " of memory" if self.measure == "peak" else ""
        amount = f"{self.most:.2f}x {self.against}" if self.against else f"{self.most / 1e6:.0f} MB"
        return f"at most {amount}{memory}"


@dataclass(frozen=True)
class Part:
    """Ways that take turns on one source."""

    name: str
    source: Source
    ways: tuple[Way, ...]
    goals: tuple[Goal, ...]

    @property
    def is_growth(self) -> bool:
        """Whether its ways are one way on ever more lines."""
        return any(way.lines for way in self.ways)


_ZARR, _DASK, _OME = "restride[zarr]", "restride[dask,zarr]", "restride[ome]"

PYRAMID_PEERS = (
    Way("ngff-zarr bin shrink", "ngff-zarr", ("ngff_zarr", "itkwasm_downsample"), "ngff-zarr itkwasm-downsample"),
    Way("ome-zarr local mean", "ome-zarr", ("ome_zarr",), "ome-zarr"),
    Way("dask coarsen", "dask-coarsen", ("dask", "zarr"), _DASK),
    Way("xarray-multiscale", "xarray-multiscale", ("xarray_multiscale", "zarr"), "xarray-multiscale"),
    Way("pyvips", "pyvips", ("pyvips", "zarr"), "'pyvips[binary]'"),
    Way("tensorstore", "tensorstore", ("tensorstore", "zarr"), "tensorstore"),
)

PEERS = tuple(way.way for way in PYRAMID_PEERS)
"""As ``--peers`` names them."""

_WORKERS = 1 / 0.9
"""Two workers with one core each are at least 0.9 times as fast as one with two."""

GROWS, FLAT = 1.15, 1.1
"""Most time of a line, and most memory, beside those of the smallest size."""

_BOUND, _BESIDE = 256, 200e6
"""MiB that a growing stream may take; bytes that Python, libraries and the driver take beside that."""


def parts(*, is_small: bool = False, is_whole: bool = False, peers: tuple[str, ...] = PEERS) -> list[Part]:
    """The parts of the group.

    Args:
        is_small: of a few MB, to see that all works.
        is_whole: the whole image of 7.1 GB, else an eighth of it; streams up to 8 GiB, else 4.
        peers: which of ``PEERS`` take part.
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
    """Streams of 1 GiB, 2 GiB and so on: the first lines of one file."""
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
