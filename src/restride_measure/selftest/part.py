"""A part of a selftest: its job, its result with the problems found, and the exception of one that cannot run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from restride.command.process import Exit
from restride.tensor.device import Device
from restride_conformance.record import Outcome

NOTHING = "small sizes: the times mean nothing"


@dataclass(frozen=True)
class Fault:
    """A fault that the selftest found, and the exit code for it."""

    exit_code: Exit
    message: str


@dataclass(frozen=True)
class Part:
    """The result of a part of the selftest: rows of the record, whose group is the part's name.

    text: lines for the terminal. device: the public facts about the device, which the part ``device`` finds.
    """

    outcomes: Sequence[Outcome]
    text: str
    problems: tuple[Fault, ...] = ()
    device: Mapping[str, Any] | None = None


class NotRun(Exception):
    """Raised by a part that cannot run on this machine, or not in its time; the message says why."""


@dataclass(frozen=True)
class Job:
    """The arguments of a part, which runs in its own process.

    selector: index or part of the name of a device; None: the best one.
    seconds: the time that the part may use, from the creation of the job; it ends itself when that is over.
    seed: draws the cases of the catalogue ``ci``.
    step: shows the progress.
    """

    selector: str | None
    seconds: float
    is_small: bool
    seed: int
    step: Callable[[str], None] = lambda _: None
    _begin: float = field(default_factory=time.monotonic)

    @property
    def is_over(self) -> bool:
        """True once the time is over."""
        return time.monotonic() > self._begin + self.seconds

    @cached_property
    def device(self) -> Device:
        """The device, opened at the first use.

        Raises:
            DeviceNotFound: there is no such device.
        """
        return Device(self.selector, "vulkan")

    def close(self) -> None:
        """Close the device if it is open."""
        if "device" in vars(self):
            self.device.close()
