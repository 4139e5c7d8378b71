"""Find leaks of memory, file descriptors, threads, pipelines and caches over thousands of operations, or of devices.

    python lab/reliability/leaks.py [--small] [--seed N] [--write FILE.json]

Each runtime works in its own process. Samples are taken in a settled state: nothing pending, garbage collected,
`trim()` called, and the C library's free memory returned to the system, which it does not do by itself. Other
operations and plans fill the caches of the process first; the small form repeats the operations that it measures.

kp and the driver below it keep some memory of every pipeline, tensor and device that was destroyed. A plain program on
kp alone that creates as many of them, in its own process, measures how much; kompute's figure is what exceeds that.
"""

from __future__ import annotations

import ctypes
import gc
import os
import random
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
from figures import Figure, run_part
from worker import Worker

import restride as rs
from restride.runtime import RUNTIMES
from restride.runtime.interface import RuntimeName
from restride.runtime.kompute.device import KomputeDevice, load_kp
from restride.runtime.kompute.runtime import MAX_PROGRAMS, KomputeRuntime
from restride.runtime.vulkan.dispatch import MAX_PREPARED
from restride.runtime.vulkan.program import MAX_PIPELINES
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride_conformance import Case

KIB, MIB = 1 << 10, 1 << 20

MAX_BYTES_AN_OPERATION = 1 * KIB
MAX_BYTES_OF_DEVICES = 1 * MIB
"""Maximum bytes that a hundred devices, opened, used and closed or dropped, may add to the process in total."""

NOISE, NOISE_BLOCKS = 4 * MIB, 200
"""Bytes, and Python objects, that the driver and allocator may add during the few operations of the small form."""

_PLANS = 20_000
"""Number of plans that fill the cache of rows: 16 MiB, at some 2 KiB per axis."""

IMAGE = 40, 30
"""Sizes of the image that each of a hundred devices reorders."""

_LIMIT = 3000.0
"""Maximum seconds that a process may work."""

MAX_POOLED = 64 * MIB
"""Bytes that a device may hold between small operations, whose tensors take a few MiB."""


@dataclass(frozen=True)
class Sample:
    """The resources of a process in a settled state. resident: bytes. objects: blocks of Python's allocator."""

    resident: int
    objects: int
    descriptors: int
    threads: int

    @classmethod
    def take(cls, device: rs.Device | None = None) -> Sample:
        """Settle the process and the device, and take a sample."""
        if device is not None:
            device.wait()
            gc.collect()
            device.trim()
            # llvmpipe frees destroyed pipelines only when a later submission ends.
            for _ in range(2):
                rs.reorder(rs.asarray(np.ones((2, 3), np.uint8), device=device), "AB->BA").numpy()
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(
            pages * os.sysconf("SC_PAGE_SIZE"),
            sys.getallocatedblocks(),
            len(list(Path("/proc/self/fd").iterdir())),
            len(list(Path("/proc/self/task").iterdir())),
        )


_FILTERS: tuple[tuple[Literal["linear", "nearest", "cubic"], bool], ...] = (
    *(("linear", False), ("linear", True), ("nearest", False), ("cubic", False)),
)
_BOXES = "units=normalized boxes=(0,0,0.5,1,0.25,0.1,0.9,0.8)"
_LINES = (
    "reorder u8[{0},{1},3] -> u8[3,{0},{1}] permute=HWC->CHW",
    "reorder u8[{0},{1},3] -> f32[3,{0},{1}] permute=HWC->CHW",
    "reorder u8[{0},{1},3] -> u8[{1},{0},3] permute=HWC->WHC",
    "reorder f32[{0},{1},3] -> f32[{1},3,{0}] view=[::-1].permute(2,0,1) permute=ABC->CAB",
    "crop_resize u8[{0},{1},3] -> u8[2,{2},{3},3] axes=(0,1) mode=linear " + _BOXES,
    *(
        f"resample {dtype}[{{0}},{{1}},3] -> {dtype}[{{2}},{{3}},3] mode={mode}{' antialias=yes' * antialias}"
        for dtype in ("u8", "f32")
        for mode, antialias in _FILTERS
    ),
)
"""Cases that use few kernels; only the sizes, ``{0}`` to ``{3}``, may be new in an operation."""


class Mix:
    """Random operations of every kind on one device: cases, and six kinds that are abandoned, refused or shared.

    sizes: the sizes an axis may have. With few, operations repeat; with many, most are new.
    """

    def __init__(self, device: rs.Device, sizes: range, seed: int) -> None:
        self._device = device
        self._sizes = sizes
        self._rng = random.Random(seed)
        self._kinds: tuple[Callable[[], Any], ...] = (
            *[self._case] * 4,
            self._stream_abandoned,
            self._batch_with_error,
            self._garbage_in_flight,
            self._plan_dropped,
            self._refused,
            self._shared,
        )

    def run(self, count: int) -> None:
        """Run ``count`` operations, all kinds equally likely."""
        for _ in range(count):
            self._rng.choice(self._kinds)()

    def plan_only(self, count: int) -> None:
        """Plan ``count`` random resamplings without running them, to fill the cache of rows in less time."""
        for _ in range(count):
            mode, antialias = self._rng.choice(_FILTERS)
            src, sizes = f"f32[{self._size()},{self._size()}]", (self._size(), self._size())
            rs.plan_resample(src, None, sizes, None, None, mode, antialias=antialias, device=self._device)

    def _size(self) -> int:
        return self._rng.choice(self._sizes)

    def _image(self, dtype: str = "u1") -> rs.Tensor:
        return rs.asarray(np.ones((self._size(), self._size(), 3), dtype), device=self._device)

    def _case(self) -> None:
        case = Case.parse(self._rng.choice(_LINES).format(*(self._size() for _ in range(4))))
        source = rs.asarray(np.ones(case.src.sizes, case.src.dtype.dtype), device=self._device)
        case.operation.call(case)(case.viewed_tensor(source), None).numpy()

    def _stream_abandoned(self) -> None:
        images = (np.ones((self._size(), self._size(), 3), np.uint8) for _ in range(4))
        stream = rs.Preprocess((8, 8), device=self._device).stream(images, batch=2)
        next(stream)

    def _batch_with_error(self) -> None:
        image = self._image()
        try:
            with self._device.batch():
                rs.reorder(image, "HWC->CHW")
                rs.reorder(image, "HWC->CHWX")
        except rs.DescriptorError:
            return
        raise AssertionError("a layout of four letters for three axes")

    def _garbage_in_flight(self) -> None:
        image = self._image()
        ring: list[Any] = [image, rs.reorder(image, "HWC->CHW")]
        ring.append(ring)
        del image, ring
        gc.collect(0)

    def _plan_dropped(self) -> None:
        height, width = self._size(), self._size()
        rs.plan_resample(f"f32[{height},{width}]", None, (self._size(), 9), device=self._device)

    def _refused(self) -> None:
        image = self._image()
        calls: list[Callable[[], rs.Tensor]] = [
            lambda: rs.empty(f"u8[{1 << 50}]", self._device),
            lambda: rs.resample(image, (3, 3), axes=(0, 7)),
            lambda: rs.empty("f32[2", self._device),
        ]
        for call in calls:
            try:
                call()
            except rs.RestrideError:
                continue
            raise AssertionError("nothing was refused")

    def _shared(self) -> None:
        image = self._image()
        np.from_dlpack(rs.reorder(image, "HWC->CHW"))
        if isinstance(self._device.runtime, VulkanRuntime):
            array = rs.reorder(image, "HWC->WHC").numpy(copy=False)
            rs.asarray(array, device=self._device, copy=False)


@dataclass(frozen=True)
class Grown:
    """The growth of a process through operations.

    resident: bytes. blocks: blocks of Python's allocator. in_use: bytes of the device in use at the end. cached: how
    full the fullest cache of the device was, at most, as a part of its limit. pooled: most bytes that the device held.
    pipelines, allocations: number that the device created.
    """

    resident: int
    blocks: int
    descriptors: int
    threads: int
    in_use: int = 0
    cached: float = 0.0
    pooled: int = 0
    pipelines: int = 0
    allocations: int = 0

    @classmethod
    def between(cls, before: Sample, after: Sample, **counted: Any) -> Grown:
        """The difference of two samples."""
        return cls(
            after.resident - before.resident,
            after.objects - before.objects,
            after.descriptors - before.descriptors,
            after.threads - before.threads,
            **counted,
        )


def _cached(device: rs.Device) -> float:
    """How full the fullest cache of a device is, as a part of its limit."""
    runtime = device.runtime
    if isinstance(runtime, KomputeRuntime):
        return len(runtime._programs._programs) / MAX_PROGRAMS  # noqa: SLF001 - not public
    assert isinstance(runtime, VulkanRuntime)
    session = runtime._session  # noqa: SLF001 - as above
    prepared = sum(each.weight for each in session.recorder.preparations.by_key.values())
    return max(len(session.recorder.pipelines) / MAX_PIPELINES, prepared / MAX_PREPARED)


def mixed(runtime: RuntimeName, count: int, seed: int, repeated: bool) -> Grown:
    """The growth by ``count`` mixed operations with full caches. repeated: three runs of the same work filled them."""
    sizes = range(9, 200)
    with rs.Device(runtime=runtime) as device:
        if repeated:
            for _ in range(3):
                Mix(device, sizes, seed).run(count)
        else:
            first = Mix(device, sizes, seed + 1)
            first.run(count // 4)
            first.plan_only(_PLANS)
        before, at_start = Sample.take(device), device.counters()
        mix = Mix(device, sizes, seed)
        cached, pooled = 0.0, 0
        for part in range(10):
            mix.run(count * (part + 1) // 10 - count * part // 10)
            cached = max(cached, _cached(device))
            pooled = max(pooled, device.counters().bytes_allocated)
        after = Sample.take(device)
        at_end = device.counters()
        return Grown.between(
            before,
            after,
            in_use=at_end.bytes_in_use,
            cached=cached,
            pooled=pooled,
            pipelines=at_end.pipelines - at_start.pipelines,
            allocations=at_end.allocations - at_start.allocations,
        )


def devices(runtime: RuntimeName, count: int, seed: int) -> Grown:
    """The growth by ``count`` devices, a third of them dropped without ``close``, some with work in flight."""
    rng = random.Random(seed)

    def use_one(number: int) -> None:
        device = rs.Device(runtime=runtime)
        image = rs.asarray(np.ones(IMAGE, np.float32), device=device)
        result = rs.reorder(image, "AB->BA")
        if rng.random() < 0.5:
            result.numpy()
        if number % 3:
            device.close()

    for number in range(max(4, count // 5)):
        use_one(number)
    before = Sample.take()
    for number in range(count):
        use_one(number)
    return Grown.between(before, Sample.take())


# The same work on kp alone.


def _transpose() -> tuple[list[int], Any]:
    """The arguments that restride passes to kp for one reorder: words of each tensor, and those of ``algorithm``."""
    seen: list[tuple[list[int], Any]] = []
    algorithm = KomputeDevice.algorithm

    def note(device: KomputeDevice, tensors: Sequence[Any], *pipeline: Any) -> Any:
        seen.append(([tensor.data().nbytes // 4 for tensor in tensors], pipeline))
        return algorithm(device, tensors, *pipeline)

    with rs.Device(runtime="kompute") as device, patch.object(KomputeDevice, "algorithm", note):
        rs.reorder(rs.asarray(np.ones(IMAGE, np.float32), device=device), "AB->BA")
    return seen[0]


class PlainKp:
    """A manager of kp with the pipelines of a reorder; it keeps as many of them as the runtime kompute does."""

    def __init__(self, index: int, transpose: tuple[list[int], Any]) -> None:
        words, (self._code, self._groups, constants, push) = transpose
        self._constants, self._push = np.array(constants, np.uint32), np.array(push, np.uint32)
        self._kp = load_kp()
        self._manager = self._kp.Manager(index)
        self._tensors = [self._tensor(count) for count in words]
        self._kept: deque[Any] = deque(maxlen=MAX_PROGRAMS)

    def _tensor(self, words: int) -> Any:
        return self._manager.tensor_t(np.zeros(words, np.uint32), self._kp.TensorTypes.host)

    def use(self, pipelines: int, tensors: int) -> None:
        """Create so many pipelines and tensors; each pipeline has a recording, which runs once."""
        for _ in range(pipelines):
            algorithm = self._manager.algorithm(self._tensors, self._code, self._groups, self._constants, self._push)
            recording = self._manager.sequence()
            recording.record(self._kp.OpAlgoDispatch(algorithm, self._push))
            recording.eval()
            self._kept.append((algorithm, recording))
        for _ in range(tensors):
            self._tensor(1 << 10).destroy()

    def settle(self) -> None:
        """Drop the pipelines; llvmpipe frees them only when a later submission ends."""
        self._kept.clear()
        gc.collect()
        for _ in range(2):
            recording = self._manager.sequence()
            recording.record(self._kp.OpTensorSyncLocal(self._tensors[:1]))
            recording.eval()

    def close(self) -> None:
        """Drop the pipelines and destroy the manager."""
        self._kept.clear()
        self._manager.destroy()


def plain_pipelines(index: int, pipelines: int, tensors: int) -> int:
    """Bytes that so many pipelines and tensors add to a process, after a quarter as many to warm up."""
    plain = PlainKp(index, _transpose())
    plain.use(pipelines // 4, tensors // 4)
    plain.settle()
    before = Sample.take()
    plain.use(pipelines, tensors)
    plain.settle()
    after = Sample.take()
    plain.close()
    return after.resident - before.resident


def plain_managers(index: int, count: int) -> int:
    """Bytes that so many managers add, each with one dispatch, after a fifth as many to warm up."""
    transpose = _transpose()

    def use_one() -> None:
        plain = PlainKp(index, transpose)
        plain.use(1, 0)
        plain.close()

    for _ in range(max(4, count // 5)):
        use_one()
    before = Sample.take()
    for _ in range(count):
        use_one()
    return Sample.take().resident - before.resident


def constant(what: str, grown: Grown) -> Figure:
    """The figure for file descriptors and threads, which must not grow at all."""
    return Figure(
        f"file descriptors and threads that {what} add",
        "0, 0",
        f"{grown.descriptors}, {grown.threads}",
        grown.descriptors <= 0 and grown.threads <= 0,
    )


def memory(what: str, grown: Grown, most: int, plain: int | None = None) -> Figure:
    """The figure for memory, at most ``most`` bytes. plain: bytes that kp alone adds, which are subtracted."""
    measured = max(grown.resident - max(plain or 0, 0), 0)
    if plain is None:
        return Figure(f"memory that {what} add, KiB", f"<= {most // KIB:,}", f"{measured // KIB:,}", measured <= most)
    return Figure(
        f"memory that {what} add beyond kp alone, KiB",
        f"<= {most // KIB:,}",
        f"{measured // KIB:,} ({grown.resident // KIB:,}, kp alone {plain // KIB:,})",
        measured <= most,
    )


def _apart(function: str, *arguments: Any) -> Any:
    """Call a function in its own process and return its result."""
    with Worker() as worker:
        return worker.call(_LIMIT, function, *arguments)


def figures_of(runtime: RuntimeName, small: bool, seed: int) -> Iterator[Figure]:
    """The figures of one runtime, measured in one process; those of kp alone in others."""
    with rs.Device(runtime=runtime) as device:
        index = device.info.index
    with Worker() as worker:
        count = 40 if small else 10_000
        grown = Grown(**worker.call(_LIMIT, "leaks.mixed", runtime, count, seed, small))
        what = f"{count:,} mixed operations, {runtime},"
        plain = None
        if runtime == "kompute" and not small:
            plain = _apart("leaks.plain_pipelines", index, grown.pipelines, grown.allocations)
        yield memory(what, grown, NOISE if small else count * MAX_BYTES_AN_OPERATION, plain)
        if small:  # else caches of ten thousand entries, which drop half of them at once, are fuller or emptier
            blocks, most = max(grown.blocks, 0), count + NOISE_BLOCKS
            yield Figure(f"blocks of Python's memory that {what} add", f"<= {most:,}", f"{blocks:,}", blocks <= most)
        yield Figure(
            f"bytes of the device in use after {what} and the most MiB that it held",
            f"0, <= {MAX_POOLED // MIB}",
            f"{grown.in_use}, {grown.pooled / MIB:.1f}",
            grown.in_use == 0 and grown.pooled <= MAX_POOLED,
        )
        yield Figure(
            f"how full of its limit {what} made a cache of pipelines or submissions",
            "<= 1",
            f"{grown.cached:.2f}",
            grown.cached <= 1,
        )
        yield constant(what, grown)
        count = 4 if small else 100
        grown = Grown(**worker.call(_LIMIT, "leaks.devices", runtime, count, seed))
        what = f"{count} devices opened and closed or dropped, {runtime},"
        plain = None
        if runtime == "kompute" and not small:
            # Both differ by some MiB from process to process: the driver's compiler takes memory by the MiB.
            again = [_apart("leaks.devices", runtime, count, seed + number)["resident"] for number in (1, 2)]
            grown = replace(grown, resident=sorted([grown.resident, *again])[1])
            plain = sorted(_apart("leaks.plain_managers", index, count) for _ in range(3))[1]
        yield memory(what, grown, NOISE if small else MAX_BYTES_OF_DEVICES, plain)
        yield constant(what, grown)


def measure(small: bool, seed: int) -> Iterator[Figure]:
    """The figures of both runtimes, if they are available."""
    for runtime in RUNTIMES:
        try:
            rs.Device(runtime=runtime).close()
        except (rs.DeviceNotFound, rs.UnsupportedError):
            continue
        yield from figures_of(runtime, small, seed)


if __name__ == "__main__":
    run_part(measure)
