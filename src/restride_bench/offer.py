"""An offer: how a library does one workload, in each of the three measures, and what a peer is."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from restride.errors import RestrideError
from restride_bench.tasks import Array
from restride_bench.workload import Workload

Measure: TypeAlias = Literal["kernel", "resident", "numpy"]
MEASURES: tuple[Measure, ...] = ("resident", "kernel", "numpy")
"""The call and the wait, on data that are there; what the device itself takes; numpy array in, numpy array out."""


class Absent(RestrideError):
    """A peer is not on this machine; the message says why."""


@dataclass(frozen=True)
class Offer:
    """Functions that do the work once a call; what is None is not measured.

    resident: from and into memory of the library's own, done when it returns.
    result: what ``resident`` made last, in logical order.
    numpy: from the workload's array to a new one.
    kernel: the seconds that the device took.
    slack: how far its own arithmetic may lie off, beside the tolerance that all have; who sets it says why.
    """

    resident: Callable[[], object] | None = None
    result: Callable[[], Array] | None = None
    numpy: Callable[[], Array] | None = None
    kernel: Callable[[], float] | None = None
    slack: float = 0.0


class Peer(Protocol):
    """A library that does some of the workloads.

    lingers: its threads go on for a while after a call, and would disturb who comes next.
    """

    @property
    def name(self) -> str:
        """As in ``--peers`` and in the table."""

    @property
    def version(self) -> str:
        """What the report names."""

    @property
    def lingers(self) -> bool:
        """See above."""

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
