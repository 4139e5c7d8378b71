"""Scenarios into which faults are injected: small pieces of work on a device, and the destinations they write to.

A scenario says which of its parts are armed: opening the device, the work, closing it. Sizes are small: on llvmpipe
most of the time is compilation.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

import restride as rs
from restride.runtime.vulkan.runtime import PIECE_BYTES, VulkanRuntime

Results: TypeAlias = list[npt.NDArray[Any]]
Part: TypeAlias = Literal["open", "work", "close"]

TIMEOUT = 20.0
SENTINEL = 0x5A


@dataclass
class Work:
    """Work that may run repeatedly and gives the same results each time.

    destinations: tensors that it writes, filled with ``SENTINEL`` bytes before; after an error each must be
    unchanged or hold the complete result.
    """

    run: Callable[[], Results]
    destinations: Sequence[rs.Tensor] = ()


def _open(timeout: float) -> rs.Device:
    return rs.Device(runtime="vulkan", timeout=timeout)


def _open_staging(timeout: float) -> rs.Device:
    return rs.Device.over(VulkanRuntime(rs.devices()[0], timeout=timeout, staging=True))


def _open_kompute(timeout: float) -> rs.Device:
    return rs.Device(runtime="kompute", timeout=timeout)


@dataclass(frozen=True)
class Scenario:
    """A scenario: ``work`` returns the work to run on an open device; ``lazy`` is as in ``VulkanDouble``."""

    name: str
    work: Callable[[rs.Device], Work]
    armed: tuple[Part, ...] = ("work",)
    open: Callable[[float], rs.Device] = _open
    lazy: bool = False
    cache: Literal["", "empty", "full"] = ""
    """If not empty, there is a folder for the pipeline cache; "full": with the file that a device stored."""
    sees_kp: bool = field(default=False)
    """True if faults are injected into the package kp instead of Vulkan."""


def out_of(desc: str, device: rs.Device) -> rs.Tensor:
    """A tensor whose every byte is ``SENTINEL``."""
    layout = rs.TensorDesc.parse(desc)
    return rs.from_buffer(bytes([SENTINEL]) * layout.nbytes, layout, device)


def _floats(*sizes: int) -> npt.NDArray[np.float32]:
    return np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes)


def _bytes(*sizes: int) -> npt.NDArray[np.uint8]:
    return (np.arange(np.prod(sizes)) * 7 % 251).astype(np.uint8).reshape(sizes)


def _nothing(_device: rs.Device) -> Work:
    return Work(list)


def _transfer(device: rs.Device) -> Work:
    x = _floats(6, 5)
    return Work(lambda: [rs.asarray(x, device=device).numpy(), rs.asarray(x[::-1, ::3], device=device).numpy()])


def _pieces(device: rs.Device) -> Work:
    x = np.resize(_bytes(251), 2 * PIECE_BYTES + 100)
    return Work(lambda: [rs.asarray(x, device=device).numpy()])


def _into(desc: str, operation: Callable[[rs.Device, rs.Tensor], rs.Tensor]) -> Callable[[rs.Device], Work]:
    """An operation that uploads its source and writes to a destination of ``desc``."""

    def work(device: rs.Device) -> Work:
        out = out_of(desc, device)

        def run() -> Results:
            operation(device, out)
            return [out.buffer()]

        return Work(run, [out])

    return work


def _batch(device: rs.Device) -> Work:
    outs = [out_of("f32[5,6]{1,0}", device) for _ in range(20)]

    def run() -> Results:
        x = rs.asarray(_floats(6, 5), device=device)
        with device.batch():
            for out in outs:
                rs.reorder(x.permute(1, 0), out=out)
        return [out.buffer() for out in outs]

    return Work(run, outs)


def _recipe(device: rs.Device) -> rs.Preprocess[rs.Tensor]:
    return rs.Preprocess((4, 4), mode="nearest", dtype="u8", device=device)


def _preprocess(device: rs.Device) -> Work:
    return Work(lambda: [_recipe(device)(_bytes(6, 5, 3)).numpy()])


def _stream(device: rs.Device) -> Work:
    images = [_bytes(6, 5, 3) + number for number in range(4)]
    return Work(lambda: [result.numpy() for result in _recipe(device).stream(images, batch=2)])


def _imported(device: rs.Device) -> Work:
    x = _floats(6, 5)

    def run() -> Results:
        source = rs.asarray(x, device=device, copy=False)
        result = rs.reorder(source.permute(1, 0), "f32[5,6]{1,0}")
        return [np.array(result.numpy(copy=False)), source.numpy()]

    return Work(run)


def _shared(device: rs.Device) -> Work:
    """Memory that is exported and imported again in the same process."""
    x = _floats(6, 5)

    def run() -> Results:
        out = rs.empty("f32[5,6]", device, shareable=True)
        rs.reorder(rs.asarray(x, device=device).permute(1, 0), out=out)
        fd, handle = out.export_fd()
        try:
            second = rs.from_fd(fd, handle, device)
        finally:
            os.close(fd)
        return [rs.reorder(second[::-1], "AB->AB").numpy(), out.numpy()]

    return Work(run)


def _in_flight(device: rs.Device) -> Work:
    x = rs.asarray(_floats(6, 5), device=device)
    out = out_of("f32[5,6]{1,0}", device)

    def run() -> Results:
        for _ in range(3):
            rs.reorder(x.permute(1, 0), out=out)
        return []

    return Work(run)


def _timed(device: rs.Device) -> Work:
    out = out_of("f32[5,6]{1,0}", device)

    def run() -> Results:
        x = rs.asarray(_floats(6, 5), device=device)
        runtime: Any = device.runtime
        with runtime.timed() as clock:
            rs.reorder(x.permute(1, 0), out=out)
        assert clock.seconds >= 0
        return [out.buffer()]

    return Work(run, [out])


def _room(device: rs.Device) -> Work:
    """Large and small memories, and imported pages of the host, that are freed while in use."""
    sizes = (100, 300_000, 5, 400_000, 300_000)

    def run() -> Results:
        return [rs.reorder(_bytes(size)[::-1], "A->A", out=out_of(f"u8[{size}]", device)).numpy() for size in sizes]

    return Work(run)


def _x(device: rs.Device, *sizes: int) -> rs.Tensor:
    return rs.asarray(_floats(*sizes), device=device)


def _u8(device: rs.Device, *sizes: int) -> rs.Tensor:
    return rs.asarray(_bytes(*sizes), device=device)


FAMILIES: dict[str, Callable[[rs.Device], Work]] = {
    "reorder": _into("f32[5,6]{1,0}", lambda device, out: rs.reorder(_x(device, 6, 5).permute(1, 0), out=out)),
    "reorder to tiles": _into("f32[6,5]{1,0:T(4,4)}", lambda device, out: rs.reorder(_x(device, 6, 5), out=out)),
    "reorder of a run into padding": _into(
        "f32[6]{0:pad(9)=1}", lambda device, out: rs.reorder(_x(device, 6), out=out)
    ),
    "quantize": _into(
        "u8[3,4]{1,0}", lambda device, out: rs.quantize(_x(device, 3, 4), [1.0, 2.0, 3.0], axis=0, dtype="u8", out=out)
    ),
    "lookup": _into(
        "f32[3,4,8]{2,1,0}",
        lambda device, out: rs.lookup(_u8(device, 4, 8, 3).permute(2, 0, 1), list(range(256)), dtype="f32", out=out),
    ),
    "resample": _into(
        "f32[5,7]{1,0}", lambda device, out: rs.resample(_x(device, 4, 4), (5, 7), mode="nearest", out=out)
    ),
    "antialias": _into(
        "f32[2,3]{1,0}",
        lambda device, out: rs.resample(_x(device, 6, 7), (2, 3), mode="linear", antialias=True, out=out),
    ),
    "backward": _into(
        "f32[4,4]{1,0}", lambda device, out: rs.resample_backward(_x(device, 2, 3), (4, 4), mode="linear", out=out)
    ),
    "crop_resize": _into(
        "u8[2,3,3,3]{3,2,1,0}",
        lambda device, out: rs.crop_resize(
            _u8(device, 6, 5, 3), [(0, 0, 4, 4), (1, 1, 6, 5)], (3, 3), axes=(0, 1), mode="nearest", out=out
        ),
    ),
    "yuv_to_rgb": _into("u8[4,4,3]{2,1,0}", lambda device, out: rs.yuv_to_rgb(_u8(device, 6, 4), "nv12", out=out)),
    "preprocess": _preprocess,
    "batch": _batch,
    "stream": _stream,
}

_REORDER = FAMILIES["reorder"]


def _all() -> list[Scenario]:
    scenarios = [
        Scenario("open", _nothing, ("open",)),
        Scenario("open with a stored pipeline cache", _nothing, ("open",), cache="full"),
        Scenario("upload and download", _transfer),
        Scenario("upload and download in pieces", _pieces, open=_open_staging, lazy=True),
        Scenario("open, reorder and close, staging", _REORDER, ("open", "work", "close"), _open_staging),
        Scenario("zero-copy", _imported),
        Scenario("zero-copy, lazy", _imported, lazy=True),
        Scenario("shared", _shared),
        Scenario("shared, lazy", _shared, lazy=True),
        Scenario("room", _room),
        Scenario("timed", _timed, lazy=True),
        Scenario("timed and closed", _timed, ("work", "close")),
        Scenario("close with work in flight", _in_flight, ("close",), lazy=True),
        Scenario("work and close", _in_flight, ("work", "close"), lazy=True),
        Scenario("close and store the pipeline cache", _REORDER, ("close",), cache="empty"),
    ]
    for name, work in FAMILIES.items():
        scenarios.append(Scenario(name, work))
        if name in ("reorder to tiles", "batch", "stream"):
            scenarios.append(Scenario(f"{name}, lazy", work, lazy=True))
    scenarios += [
        Scenario("kompute: find the device", _nothing, ("open",), _open_kompute),
        Scenario("kompute: open, reorder and close", _REORDER, ("open", "work", "close"), _open_kompute, sees_kp=True),
        Scenario("kompute: upload and download", _transfer, open=_open_kompute, sees_kp=True),
    ]
    scenarios += [
        Scenario(f"kompute: {name}", work, open=_open_kompute, sees_kp=True) for name, work in FAMILIES.items()
    ]
    return scenarios


SCENARIOS = {scenario.name: scenario for scenario in _all()}
