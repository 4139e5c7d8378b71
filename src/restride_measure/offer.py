"""Offers, a library's functions that do one workload, one for each measure; peers, the libraries that make offers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from restride.dtypes import Array
from restride.errors import RestrideError
from restride.request import LIBRARIES
from restride_conformance.case import Case
from restride_conformance.operations import arguments
from restride_conformance.spelling import Call, Indexing, Sizes, SliceItem
from restride_measure.workloads import Workload


class Absent(RestrideError):
    """A peer is not available on this machine; the message says why."""


@dataclass(frozen=True)
class Offer:
    """Functions that do a workload once per call; None: that measure is not taken.

    resident: reads and writes the library's own memory; the result is complete when it returns. Also measures
        "processor".
    result: the last result of ``resident``, in logical order.
    numpy: computes a new array from the workload's array.
    kernel: does the work and returns the seconds that the device took.
    slack: difference that this library's arithmetic may have on top of the common tolerance; callers state the reason.
    is_elsewhere: the library drives restride's device through an API other than Vulkan.
    """

    resident: Callable[[], object] | None = None
    result: Callable[[], Array] | None = None
    numpy: Callable[[], Array] | None = None
    kernel: Callable[[], float] | None = None
    slack: float = 0.0
    is_elsewhere: bool = False


def filling(fill: Callable[[Array], object], workload: Workload, slack: float = 0.0) -> Offer:
    """The offer of a library that fills a numpy array: the same array for ``resident``, a new one for ``numpy``."""
    sizes, dtype = workload.result_sizes, workload.result_dtype.dtype
    out = np.empty(sizes, dtype)

    def through() -> Array:
        result = np.empty(sizes, dtype)
        fill(result)
        return result

    return Offer(resident=lambda: fill(out), result=lambda: out, numpy=through, slack=slack)


def returning(compute: Callable[[], Array]) -> Offer:
    """The offer of a library that returns a new array at each call."""
    last: list[Array] = []

    def resident() -> None:
        last[:] = [compute()]

    return Offer(resident=resident, result=lambda: last[0], numpy=compute)


class Peer(Protocol):
    """Another library that can do some of the workloads.

    version: its version for the report.
    lingers: True if its threads stay busy for a while after a call, and would disturb the next column.
    """

    version: str
    lingers: bool = False

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        """The functions that do the workload on ``source``; None if the library does not support it."""


def installed(name: str, distribution: str) -> Any:
    """Import the package ``name``.

    Raises:
        Absent: the package is not installed, or cannot be loaded.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Absent(f"not installed: pip install {distribution}") from error
    except (OSError, RuntimeError) as error:
        raise Absent(f"{name} cannot be loaded: {error}") from error


# What other libraries need to know of a case.


class StridedCopy(NamedTuple):
    """``x[steps].permute(axes)`` of a row-major array, copied to another one: copies, slices, flips and permutations.

    axes: for each axis of the result, the axis of the source. steps: the step along each axis of the source; a negative
        one begins at the end of the axis.
    """

    axes: Sizes
    steps: Sizes

    @classmethod
    def of(cls, workload: Workload) -> Self | None:
        """The strided copy that a workload does; None if it does something else."""
        case = workload.case
        if case is None or case.op != "reorder" or not workload.is_row_major or arguments(case):
            return None
        if case.src.dtype != case.dst.dtype:
            return None
        axes, steps = tuple(range(case.src.rank)), (1,) * case.src.rank
        for step in () if case.view is None else case.view.steps:
            match step:
                case Indexing(items) if axes == tuple(range(case.src.rank)):
                    place = items.index(...) if ... in items else len(items)
                    whole = (SliceItem(None, None, None),) * (case.src.rank - len(items) + (... in items))
                    spans = (*items[:place], *whole, *items[place + 1 :])
                    if not all(isinstance(span, SliceItem) and span[:2] == (None, None) for span in spans):
                        return None
                    steps = tuple(span.step or 1 for span in spans if isinstance(span, SliceItem))
                case Call("permute", numbers):
                    axes = numbers
                case _:
                    return None
        return cls(axes, steps)

    @property
    def is_permutation(self) -> bool:
        """True if it steps over no element, and changes the order of the axes."""
        return not self.is_copy and all(step == 1 for step in self.steps)

    @property
    def is_copy(self) -> bool:
        """True if the elements stay in their order."""
        return self.axes == tuple(range(len(self.axes))) and all(step == 1 for step in self.steps)


def sampling(case: Case) -> tuple[str, bool]:
    """The mode of a resample in restride's words, and True if it antialiases; with ``like``, what that library does."""
    like, mode = case["like"], case.word("mode")
    if like is None:
        return mode, case["antialias"] == "yes"
    choice = LIBRARIES[case.word("like")].modes[mode].choice
    return choice["mode"], choice.get("antialias", False)


def is_of_pixels(case: Case) -> bool:
    """True if a resample keeps the last axis, the channels of packed pixels."""
    return case.src.rank - 1 not in case.integers("axes")


def factor_and_addend(case: Case) -> tuple[Array, Array | None]:
    """The f32 factor of elements, and what is then added, None for nothing: one number for each channel or for all."""
    numbers = arguments(case)
    factor = np.asarray(numbers.get("src_scale", 1), np.float32) / np.asarray(numbers.get("dst_scale", 1), np.float32)
    return np.asarray(factor), numbers.get("dst_zero_point")
