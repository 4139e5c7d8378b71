"""Host: the device that cases really ran on, the runtime, and the versions of what took part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from restride.kernel import Choices, Limits


@dataclass(frozen=True)
class Host:
    """What a worker says of itself once its device is open.

    device: the ``DeviceInfo``, as JSON has it.
    limits: what plans for the device respect; ``device`` has what it allows without a runtime in between.
    versions: of Python and of packages, by name.
    """

    device: Mapping[str, Any]
    limits: Limits
    runtime: str
    versions: Mapping[str, str]

    @classmethod
    def from_hello(cls, hello: Mapping[str, Any]) -> Self:
        """What the first answer of a worker says."""
        said = hello["limits"]
        counts, choices = tuple(said["max_group_count"]), Choices.parse(said["choices"])
        limits = Limits(**{**said, "max_group_count": counts, "choices": choices})
        return cls(hello["device"], limits, hello["runtime"], hello["versions"])

    def __str__(self) -> str:
        device = self.device
        return f"{device['name']}, {device['driver']} {device['driver_version']}, runtime {self.runtime}"
