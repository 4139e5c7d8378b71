"""Scenarios into which faults are injected: small pieces of work on a device, and what of it may fail.

A scenario says which of its parts are armed: opening the device, the work, closing it. Sizes are small: on llvmpipe
most of the time is compilation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from work import KINDS, LINES, REORDER, Kind, Read, Work, into

import restride as rs
from restride.runtime.vulkan.runtime import VulkanRuntime

Part: TypeAlias = Literal["open", "work", "close"]

TIMEOUT = 20.0


def _open(timeout: float) -> rs.Device:
    return rs.Device(runtime="vulkan", timeout=timeout)


def _open_staging(timeout: float) -> rs.Device:
    return rs.Device.over(VulkanRuntime(rs.devices()[0], timeout=timeout, staging=True))


def _open_kompute(timeout: float) -> rs.Device:
    return rs.Device(runtime="kompute", timeout=timeout)


@dataclass(frozen=True)
class Scenario:
    """A scenario: ``work`` makes the work to do on an open device; ``lazy`` is as in ``VulkanDouble``."""

    name: str
    work: Kind
    armed: tuple[Part, ...] = ("work",)
    open: Callable[[float], rs.Device] = _open
    lazy: bool = False
    cache: Literal["", "empty", "full"] = ""
    """If not empty, there is a folder for the pipeline cache; "full": with the file that a device stored."""
    sees_kp: bool = False
    """True if faults are injected into the package kp instead of Vulkan."""


def _nothing(_device: rs.Device) -> Work:
    return Work(lambda: list)


def _in_flight(device: rs.Device) -> Work:
    """Work whose results nobody reads."""
    work = into(*[REORDER] * 3)(device)

    def begin() -> Read:
        work.start()
        return list

    return Work(begin)


def _timed(device: rs.Device) -> Work:
    work = KINDS["reorder"](device)

    def begin() -> Read:
        runtime: Any = device.runtime
        with runtime.timed() as clock:
            read = work.start()
        assert clock.seconds >= 0
        return read

    return Work(begin, work.destinations)


_REORDER = KINDS["reorder"]
_LAZY = ("reorder to tiles", "batch", "stream", "zero-copy", "shared")
_FAMILIES = (*LINES, "preprocess", "batch", "stream")


def _all() -> list[Scenario]:
    pieces = "upload and download in pieces"
    return [
        Scenario("open", _nothing, ("open",)),
        Scenario("open with a stored pipeline cache", _nothing, ("open",), cache="full"),
        Scenario(pieces, KINDS[pieces], open=_open_staging, lazy=True),
        Scenario("open, reorder and close, staging", _REORDER, ("open", "work", "close"), _open_staging),
        Scenario("timed", _timed, lazy=True),
        Scenario("timed and closed", _timed, ("work", "close")),
        Scenario("close with work in flight", _in_flight, ("close",), lazy=True),
        Scenario("work and close", _in_flight, ("work", "close"), lazy=True),
        Scenario("close and store the pipeline cache", _REORDER, ("close",), cache="empty"),
        *(Scenario(name, kind) for name, kind in KINDS.items() if name != pieces),
        *(Scenario(f"{name}, lazy", KINDS[name], lazy=True) for name in _LAZY),
        Scenario("kompute: find the device", _nothing, ("open",), _open_kompute),
        Scenario("kompute: open, reorder and close", _REORDER, ("open", "work", "close"), _open_kompute, sees_kp=True),
        *(
            Scenario(f"kompute: {name}", KINDS[name], open=_open_kompute, sees_kp=True)
            for name in ("upload and download", *_FAMILIES)
        ),
    ]


SCENARIOS = {scenario.name: scenario for scenario in _all()}
