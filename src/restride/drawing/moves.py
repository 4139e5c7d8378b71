"""The cost of a reorder from one layout to another: bytes, contiguous runs, and the kernels that will run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.drawing.explain import counted
from restride.kernel import KernelSpec, Limits
from restride.layout import TensorDesc
from restride.layout.overlap import require_injective, require_like, require_whole_elements
from restride.plan.copy import copy_kernels, copy_problems
from restride.plan.fill import padding_kernels

MAX_COUNTED = 1 << 18
"""Maximum elements whose runs are counted one by one, in 0.1 s and 12 MiB, or 0.5 s and 24 MiB with wide offsets."""

MAX_PLANNED = 16 << 30
"""Maximum bytes of a buffer for which dispatches are planned, which takes seconds."""


@dataclass(frozen=True)
class Runs:
    """Pieces that are contiguous in both layouts, in the order of the destination's memory; lengths in elements.

    ``is_exact``: no two of them could be joined; otherwise there may be fewer and longer ones.
    """

    count: int
    longest: int
    is_exact: bool = True


@dataclass(frozen=True)
class Move:
    """A reorder of all elements of ``src`` into ``dst``.

    Raises:
        DescriptorError: the sizes differ, or ``dst`` overlaps itself.
        UnsupportedError: an element has other bits than its type.
    """

    src: TensorDesc
    dst: TensorDesc

    def __post_init__(self) -> None:
        require_like(self.dst, "the second layout", self.src)
        require_whole_elements(self.src, self.dst)
        require_injective(self.dst, "the second layout")

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, which are read once and written once."""
        return self.src.numel * self.src.dtype.itemsize

    @property
    def padding_nbytes(self) -> int:
        """Bytes of padding that are written too."""
        return (self.dst.extent - self.dst.numel) * self.dst.dtype.itemsize if self.dst.is_whole else 0

    @property
    def runs(self) -> Runs | None:
        """The contiguous runs; None if that would need counting more than MAX_COUNTED elements."""
        if not self.src.numel:
            return Runs(0, 0)
        if self.src.numel <= MAX_COUNTED:
            return _counted_runs(_offsets(self.src), _offsets(self.dst))
        return _planned_runs(self.src, self.dst)

    def lines(self) -> Iterator[str]:
        """The facts, one in each line; kernels are those planned for ``Limits()``."""
        padding = f", and {counted(self.padding_nbytes, 'byte')} of padding" if self.padding_nbytes else ""
        elements, nbytes = counted(self.src.numel, "element"), counted(self.nbytes, "byte")
        yield f"moves {elements}: reads {nbytes}, writes {nbytes}{padding}"
        runs = self.runs
        if runs is None:
            yield f"contiguous runs: not counted, there are more than {MAX_COUNTED} elements"
        elif runs.count:
            most, more = ("", "") if runs.is_exact else ("at most ", " or more")
            yield f"contiguous runs: {most}{runs.count}, the longest of {counted(runs.longest, 'element')}{more}"
        if max(self.src.nbytes, self.dst.nbytes) > MAX_PLANNED:
            yield f"kernels: not planned, a buffer has more than {MAX_PLANNED} bytes"
            return
        limits = Limits()
        yield from _kernel_lines("writes padding", padding_kernels(self.dst, limits))
        yield from _kernel_lines("copies elements", copy_kernels(self.src, self.dst, limits))
        yield "planned without a device, whose limits may cut a large one further"


def _kernel_lines(work: str, kernels: Iterable[KernelSpec]) -> Iterator[str]:
    """For each shader, the number of dispatches and of work groups in all."""
    groups: dict[str, list[int]] = {}
    for kernel in kernels:
        groups.setdefault(kernel.shader, []).append(prod(kernel.groups))
    for shader, counts in groups.items():
        dispatches = f"{len(counts)} dispatch{'' if len(counts) == 1 else 'es'}"
        yield f"{shader} {work}: {dispatches}, {counted(sum(counts), 'work group')}"


Offsets = npt.NDArray[Any]


def _offsets(desc: TensorDesc) -> Offsets:
    """The element offset of every index, in row-major order of the indices."""
    # These offsets are arrays of numpy's integers, or of Python's if they may exceed those of numpy.
    kind = np.int64 if desc.extent < 1 << 62 else object
    axes: Any = np.indices(desc.sizes, kind, sparse=True)
    return np.broadcast_to(np.asarray(desc.address.at(axes), kind), desc.sizes).reshape(-1)


def _counted_runs(src: Offsets, dst: Offsets) -> Runs:
    """Runs, counted from the offsets of the same elements in both layouts.

    src 0 1 2 3 to dst 0 2 1 3: in dst's order src is 0 2 1 3, which never continues by 1: four runs.
    """
    order = np.argsort(dst)
    goes_on = (np.diff(src[order]) == 1) & (np.diff(dst[order]) == 1)
    starts = np.flatnonzero(np.concatenate(([True], ~goes_on)))
    return Runs(starts.size, int(np.diff(starts, append=src.size).max()))


def _planned_runs(src: TensorDesc, dst: TensorDesc) -> Runs | None:
    """Runs from the strided walks of the planner, of which two may touch; None if the planner has no walks."""
    problems = copy_problems(src, dst)
    if problems is None:
        return None
    count = longest = 0
    for problem in problems:
        elements = problem.itemsize // src.dtype.itemsize
        is_run = bool(problem.axes) and (problem.axes[0].src, problem.axes[0].dst) == (1, 1)
        length = problem.axes[0].size if is_run else 1
        count += problem.count // length
        longest = max(longest, length * elements)
    return Runs(count, longest, is_exact=False)
