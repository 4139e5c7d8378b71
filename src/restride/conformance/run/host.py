"""Host: the device that cases really ran on, the runtime, and the versions of what took part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from restride.kernel import Limits


@dataclass(frozen=True)
class Host:
    """What a worker says of itself once its device is open.

    device: the ``DeviceInfo``, as JSON has it.
    versions: of Python and of packages, by name.
    """

    device: Mapping[str, Any]
    runtime: str
    versions: Mapping[str, str]

    @property
    def limits(self) -> Limits:
        """What plans for the device respect."""
        limits = dict(self.device["limits"])
        limits["max_group_count"] = tuple(limits["max_group_count"])
        return Limits(**limits)

    def __str__(self) -> str:
        device = self.device
        return f"{device['name']}, {device['driver']} {device['driver_version']}, runtime {self.runtime}"
