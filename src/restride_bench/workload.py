"""A workload: a task, the source that it is given, what it is measured against, and the goals that it is held to."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from restride.layout import TensorDesc
from restride_bench.tasks import Array, Task, useful_bytes


@dataclass(frozen=True)
class Goal:
    """At most ``factor`` times as long as the column ``against``, or under so many ``seconds`` where there is none."""

    against: str = ""
    factor: float = 1.0
    seconds: float = 0.0

    def is_met(self, ours: float, theirs: float | None) -> bool:
        """Whether the median of restride meets it, in seconds, beside that of the other."""
        return ours < self.seconds if theirs is None else ours <= self.factor * theirs

    def __str__(self) -> str:
        if not self.against:
            return f"under {self.seconds * 1e6:g} us"
        return f"at most {self.factor:g}x {self.against}"


@dataclass(frozen=True)
class Rival:
    """Another task of restride's own, which a workload is measured against."""

    name: str
    src: str
    task: Task


@dataclass(frozen=True)
class Workload:
    """One row.

    src: the source's descriptor, as text.
    low, high: floating elements are random numbers between them; integers are any.
    """

    name: str
    group: str
    src: str
    task: Task
    goals: tuple[Goal, ...] = ()
    rivals: tuple[Rival, ...] = ()
    low: float = 0.0
    high: float = 1.0

    @property
    def desc(self) -> TensorDesc:
        """The source's descriptor."""
        return TensorDesc.parse(self.src)

    @property
    def nbytes(self) -> int:
        """Useful bytes of one call."""
        return useful_bytes(self.task, self.desc)

    def source(self) -> Array:
        """Elements in logical order, the same in every run."""
        return random_elements(self.desc, self.name, self.low, self.high)


def random_elements(desc: TensorDesc, seed: str, low: float = 0.0, high: float = 1.0) -> Array:
    """An array of the sizes and type of ``desc``: random, for a driver may know zeros."""
    generator = np.random.default_rng(crc32(seed.encode()))
    dtype = np.dtype(desc.dtype)
    if not desc.dtype.is_float:
        return generator.integers(0, 256, desc.numel * dtype.itemsize, np.uint8).view(dtype).reshape(desc.sizes)
    if dtype == np.float64:
        return generator.random(desc.sizes) * (high - low) + low
    made = generator.random(desc.sizes, np.float32)
    made *= np.float32(high - low)
    made += np.float32(low)
    return made if dtype == np.float32 else made.astype(dtype)
