"""Offers, the functions by which a library does one workload for each measure; and peers, the libraries."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from restride.errors import RestrideError
from restride_measure.workloads import Array, Workload

Measure: TypeAlias = Literal["resident", "kernel", "numpy", "processor"]
MEASURES: tuple[Measure, ...] = ("resident", "kernel", "numpy", "processor")
"""resident: the call and the wait, with the tensors already on the device. kernel: the device's own time. numpy: from
numpy array to numpy array. processor: the processor time of all threads of the process during a resident call."""


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
