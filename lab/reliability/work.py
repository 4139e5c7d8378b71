"""The work that every disturbance is given: conformance cases, drawn or written, and six kinds that are no case."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from cases import drawn_cases

import restride as rs
from restride.runtime.vulkan.runtime import PIECE_BYTES, VulkanRuntime
from restride_conformance import Case, Verdict
from restride_conformance.check import judge
from restride_conformance.run.ways import start
from restride_conformance.setting import prepare

Array: TypeAlias = npt.NDArray[Any]
Results: TypeAlias = list[Array]
Read: TypeAlias = Callable[[], Results]

_MAX_BYTES = 1 << 20
"""Maximum bytes of a source or destination of a drawn case."""


@dataclass(frozen=True)
class Work:
    """Work on one device that may be done repeatedly, by several threads, and gives the same results each time.

    start: starts it, and returns the function that reads the results.
    destinations: tensors that it writes, which exist before, and their bytes then.
    """

    start: Callable[[], Read]
    destinations: Sequence[tuple[rs.Tensor, Array]] = ()

    def run(self) -> Results:
        """Start it and read the results."""
        return self.start()()


Kind: TypeAlias = Callable[[rs.Device], Work]
"""Makes the work for a device."""


@dataclass(frozen=True, eq=False)
class Known:
    """Work whose right results are known: what it gives alone, on a device that nothing disturbs."""

    name: str
    kind: Kind
    right: Results

    @classmethod
    def alone(cls, name: str, kind: Kind, device: rs.Device) -> Known:
        """Do the work on ``device``, where nothing disturbs it."""
        return cls(name, kind, kind(device).run())

    def require_right(self, results: Results) -> None:
        """Raise ``AssertionError`` if the results are not those of the work alone."""
        for result, right in zip(results, self.right, strict=True):
            if not np.array_equal(result, right):
                raise AssertionError(f"{self.name}: the results are not those of the work alone")


# Cases.

_prepared = lru_cache(64)(prepare)


def of_case(case: Case) -> Kind:
    """A case between guard bytes, as ``restride test`` runs it; the results are the bytes of both buffers."""

    def kind(device: rs.Device) -> Work:
        setting = prepare(case)

        def begin() -> Read:
            started = start(case, setting, device)
            return lambda: [*started.read()]

        return Work(begin)

    return kind


def drawn(device: rs.Device, count: int, seed: int, part: str) -> list[Known]:
    """``count`` random cases with their bytes: each is run alone here and judged by the reference."""
    found: list[Known] = []
    rng = random.Random(seed)
    while len(found) < count:
        for case in islice(drawn_cases(rng.randrange(1 << 32), part), 10):  # ten cases of one stretch
            if max(case.src.nbytes, case.dst.nbytes) <= _MAX_BYTES:
                known = Known.alone(f"restride test --repro '{case}'", of_case(case), device)
                outcome = judge(case, prepare(case), *known.right)
                if outcome.verdict is Verdict.FAILED:
                    raise AssertionError(f"{outcome.message}\nagain: {known.name}")
                found.append(known)
    return found[:count]


def into(*lines: str, batched: bool = False) -> Kind:
    """The cases of these lines, one after the other or in one batch, each into a destination that exists before."""

    def kind(device: rs.Device) -> Work:
        cases = [(case, _prepared(case)) for case in map(Case.parse, lines)]
        outs = [(rs.from_buffer(each.destination, each.dst, device), each.destination) for _, each in cases]

        def begin() -> Read:
            with device.batch() if batched else nullcontext():
                for (case, setting), (out, _) in zip(cases, outs, strict=True):
                    source = rs.from_buffer(setting.source, setting.src, device)
                    case.operation.call(case)(case.viewed_tensor(source), out)
            return lambda: [out.buffer() for out, _ in outs]

        return Work(begin, outs)

    return kind


REORDER = "reorder f32[6,5] -> f32[5,6] permute=AB->BA"

LINES = {
    "reorder": REORDER,
    "reorder to tiles": "reorder f32[6,5] -> f32[6,5]{1,0:T(4,4)}",
    "reorder of a run into padding": "reorder f32[6] -> f32[6]{0:pad(9)=1}",
    "quantize": "reorder f32[3,4] -> u8[3,4] dst_scale=(0)",
    "lookup": "lookup u8[4,8,3] -> f32[3,4,8] axes=(2) permute=HWC->CHW",
    "resample": "resample f32[4,4] -> f32[5,7] mode=nearest",
    "antialias": "resample f32[6,7] -> f32[2,3] mode=linear antialias=yes",
    "backward": "resample_backward f32[2,3] -> f32[4,4] mode=linear",
    "crop_resize": "crop_resize u8[6,5,3] -> u8[2,3,3,3] boxes=(0,0,4,4,1,1,6,5) axes=(0,1) mode=nearest",
    "yuv_to_rgb": "yuv_to_rgb u8[6,4] -> u8[4,4,3] format=nv12",
}
"""A case of every family of operations."""


# Kinds that are no case.


def _floats() -> Array:
    return np.arange(30, dtype=np.float32).reshape(6, 5)


def _bytes(*sizes: int) -> npt.NDArray[np.uint8]:
    return (np.arange(np.prod(sizes)) * 7 % 251).astype(np.uint8).reshape(sizes)


def transfer(*arrays: Array) -> Kind:
    """Upload arrays and download them."""
    return lambda device: Work(lambda: lambda: [rs.asarray(array, device=device).numpy() for array in arrays])


def room(device: rs.Device) -> Work:
    """Large and small memories, and imported pages of the host, that are freed while in use."""
    sizes = (100, 300_000, 5, 400_000, 300_000)

    def turned(size: int) -> Array:
        out = rs.from_buffer(bytes(size), f"u8[{size}]", device)
        return rs.reorder(_bytes(size)[::-1], "A->A", out=out).numpy()

    return Work(lambda: lambda: [turned(size) for size in sizes])


def _recipe(device: rs.Device) -> rs.Preprocess[rs.Tensor]:
    return rs.Preprocess((4, 4), mode="nearest", dtype="u8", device=device)


def preprocess(device: rs.Device) -> Work:
    """A recipe, made and used for one image."""
    return Work(lambda: lambda: [_recipe(device)(_bytes(6, 5, 3)).numpy()])


def stream(device: rs.Device) -> Work:
    """A stream of images of several sizes through a recipe, which threads share."""
    images = [_bytes(6 + number, 9 - number, 3) + np.uint8(number) for number in range(4)]
    recipe = _recipe(device)
    return Work(lambda: lambda: [result.numpy() for result in recipe.stream(images, batch=2)])


def imported(device: rs.Device) -> Work:
    """A source in the host's memory, and a result that is read there."""
    x = _floats()

    def begin() -> Read:
        source = rs.asarray(x, device=device, copy=False)
        result = rs.reorder(source.permute(1, 0), "f32[5,6]{1,0}")
        return lambda: [np.array(result.numpy(copy=False)), source.numpy()]

    return Work(begin)


def shared(device: rs.Device) -> Work:
    """Memory that is exported, and imported again in the same process."""

    def begin() -> Read:
        out = rs.empty("f32[5,6]", device, shareable=True)
        rs.reorder(rs.asarray(_floats(), device=device).permute(1, 0), out=out)
        with out.export() as exported:
            second = rs.import_memory(exported, device=device)
        return lambda: [rs.reorder(second[::-1], "AB->AB").numpy(), out.numpy()]

    return Work(begin)


KINDS: dict[str, Kind] = {
    **{name: into(line) for name, line in LINES.items()},
    "batch": into(*[REORDER] * 20, batched=True),
    "upload and download": transfer(_floats(), _floats()[::-1, ::3]),
    "upload and download in pieces": transfer(np.resize(_bytes(251), 2 * PIECE_BYTES + 100)),
    "room": room,
    "preprocess": preprocess,
    "stream": stream,
    "zero-copy": imported,
    "shared": shared,
}
"""Work by name."""

IMPORTS = ("zero-copy", "shared")
"""Kinds that import memory: of the host, where the device works in it, and by a descriptor."""


def no_cases(device: rs.Device) -> list[Known]:
    """The kinds that are no case, which ``device`` can do, with what they give alone."""
    works_in_place = device.info.kind in ("cpu", "integrated")
    imports = IMPORTS[0 if works_in_place else 1 :] if isinstance(device.runtime, VulkanRuntime) else ()
    names = "upload and download", "room", "preprocess", "stream", *imports
    return [Known.alone(name, KINDS[name], device) for name in names]
