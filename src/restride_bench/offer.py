"""An offer: how a library does one workload, in each of the three measures, and what a peer is."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from restride.errors import RestrideError
from restride_bench.workloads import Array, Workload

Measure: TypeAlias = Literal["kernel", "resident", "numpy"]
MEASURES: tuple[Measure, ...] = ("resident", "kernel", "numpy")
"""The call and the wait, on data that are there; what the device itself takes; numpy array in, numpy array out."""


class Absent(RestrideError):
    """A peer is not on this machine; the message says why."""


@dataclass(frozen=True)
class Offer:
    """Functions that do the work once a call; what is None is not measured.

    resident: from and into memory of the library's own, complete when it returns.
    result: what ``resident`` computed last, in logical order.
    numpy: from the workload's array to a new one.
    kernel: the seconds that the device took.
    slack: how far its own arithmetic may lie off, beside the tolerance that all have; who sets it says why.
    """

    resident: Callable[[], object] | None = None
    result: Callable[[], Array] | None = None
    numpy: Callable[[], Array] | None = None
    kernel: Callable[[], float] | None = None
    slack: float = 0.0


def filling(fill: Callable[[Array], object], workload: Workload, slack: float = 0.0) -> Offer:
    """The offer of a library that fills a numpy array: the same one again, or a new one."""
    sizes, dtype = workload.result_sizes, workload.result_dtype.dtype
    out = np.empty(sizes, dtype)

    def through() -> Array:
        result = np.empty(sizes, dtype)
        fill(result)
        return result

    return Offer(resident=lambda: fill(out), result=lambda: out, numpy=through, slack=slack)


class Peer(Protocol):
    """A library that does some of the workloads.

    name: as in ``--peers`` and in the table.
    version: what the report names.
    lingers: its threads go on for a while after a call, and would disturb who comes next.
    """

    name: str
    version: str
    lingers: bool

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        """How it does the workload on ``source``; None: it does not."""


def installed(name: str, distribution: str) -> Any:
    """The package ``name``.

    Raises:
        Absent: it is not installed, or cannot be loaded.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Absent(f"not installed: pip install {distribution}") from error
    except OSError as error:
        raise Absent(f"{name} cannot be loaded: {error}") from error
