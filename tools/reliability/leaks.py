"""Leaks: memory, file descriptors, threads, pipelines and caches through thousands of operations, and of devices.

    python tools/reliability/leaks.py [--small] [--seed N] [--write FILE.json]

Each runtime works in a process of its own. What is compared is settled: nothing pending, garbage collected, `trim()`
called, and the C library's free memory given back to the system, which it does not do by itself. Other operations and
plans fill the caches of the process before; the small form repeats the operations that it measures.

kp and the driver under it keep something of every pipeline, tensor and device that is gone. A plain program on kp alone
that makes as many of them, in a process of its own, says how much; kompute's memory is what is added beyond that.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import random
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from figures import Figure, run_part

import restride as rs
from restride.runtime import RUNTIMES
from restride.runtime.interface import RuntimeName
from restride.runtime.kompute.device import KomputeDevice, load_kp
from restride.runtime.kompute.program import MOST_PROGRAMS
from restride.runtime.kompute.runtime import KomputeRuntime
from restride.runtime.vulkan.dispatch import MOST_PREPARED
from restride.runtime.vulkan.program import MOST_PIPELINES
from restride.runtime.vulkan.runtime import VulkanRuntime

KIB, MIB = 1 << 10, 1 << 20

MOST_BYTES_AN_OPERATION = 1 * KIB
MOST_BYTES_OF_DEVICES = 1 * MIB
"""That a hundred devices, opened, used and closed or dropped, may add to the process in all."""

NOISE, NOISE_BLOCKS = 4 * MIB, 200
"""What so few operations as the small form has may add for other reasons: the driver's, the allocator's."""

_PLANS = 20_000
"""That fill the cache of rows: 16 MiB, at some 2 KiB for an axis."""

IMAGE = 40, 30
"""Sizes of what each of a hundred devices reorders."""

MOST_POOLED = 64 * MIB
"""Bytes that a device may hold between small operations, whose tensors take a few MiB."""


@dataclass(frozen=True)
class Sample:
    """What a process has. resident: bytes. objects: of Python. Both are settled."""

    resident: int
    objects: int
    descriptors: int
    threads: int

    @classmethod
    def take(cls, device: rs.Device | None = None) -> Sample:
        """Settle and look."""
        if device is not None:
            device.wait()
            gc.collect()
            device.trim()
            # llvmpipe frees the pipelines that were destroyed after a submission that ends later.
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


class Mix:
    """Operations of every kind on one device, and what goes wrong around them.

    sizes: those of an axis. Few of them repeat; many are ever new.
    """

    def __init__(self, device: rs.Device, sizes: range, seed: int) -> None:
        self._device = device
        self._sizes = sizes
        self._rng = random.Random(seed)
        self._kinds: tuple[Callable[[], Any], ...] = (
            self._reorder,
            self._resample,
            self._crops,
            self._views,
            self._stream_abandoned,
            self._batch_with_error,
            self._garbage_in_flight,
            self._plan_dropped,
            self._refused,
            self._shared,
        )

    def run(self, count: int) -> None:
        """So many operations, each kind as often as the others."""
        for _ in range(count):
            self._rng.choice(self._kinds)()

    def plan_only(self, count: int) -> None:
        """So many plans with rows of sizes not seen before, which takes less time than to run them."""
        for _ in range(count):
            mode, antialias = self._filter()
            src, sizes = f"f32[{self._size()},{self._size()}]", (self._size(), self._size())
            rs.plan_resample(src, None, sizes, None, None, mode, antialias=antialias, device=self._device)

    def _size(self) -> int:
        return self._rng.choice(self._sizes)

    def _filter(self) -> tuple[Literal["linear", "nearest", "cubic"], bool]:
        return self._rng.choice((("linear", False), ("linear", True), ("nearest", False), ("cubic", False)))

    def _image(self, dtype: str = "u1") -> rs.Tensor:
        return rs.asarray(np.ones((self._size(), self._size(), 3), dtype), device=self._device)

    def _reorder(self) -> None:
        layout, dtype = self._rng.choice((("HWC->CHW", None), ("HWC->CHW", np.float32), ("HWC->WHC", None)))
        rs.reorder(self._image(), layout, dtype=dtype).numpy()

    def _resample(self) -> None:
        mode, antialias = self._filter()
        sizes = self._size(), self._size()
        rs.resample(self._image(self._rng.choice(("u1", "f4"))), sizes, None, (0, 1), mode, antialias=antialias).numpy()

    def _crops(self) -> None:
        boxes = [(0, 0, 0.5, 1), (0.25, 0.1, 0.9, 0.8)]
        rs.crop_resize(self._image(), boxes, (self._size(), self._size()), axes=(0, 1), units="normalized").numpy()

    def _views(self) -> None:
        image = self._image("f4")
        view = image[1:, ::-1].permute((2, 0, 1))
        rs.reorder(view, "ABC->CAB").numpy()
        view.broadcast_to((2, *view.shape)).numpy()

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
    """What operations added to a process.

    resident: bytes. blocks: of Python's allocator. in_use: bytes of the device. cached: pipelines and the like, the
    most seen, as a part of their limit. pooled: the most bytes that the device held. pipelines, allocations: made by
    the device.
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
        """The differences of two samples."""
        return cls(
            after.resident - before.resident,
            after.objects - before.objects,
            after.descriptors - before.descriptors,
            after.threads - before.threads,
            **counted,
        )


def _cached(device: rs.Device) -> float:
    """How full the fullest cache of a device is, of its limit."""
    runtime = device.runtime
    if isinstance(runtime, KomputeRuntime):
        return len(runtime._programs._programs) / MOST_PROGRAMS  # noqa: SLF001 - nothing public says it
    assert isinstance(runtime, VulkanRuntime)
    session = runtime._session  # noqa: SLF001 - as above
    prepared = sum(each.weight for each in session.preparations.by_key.values())
    return max(len(session.recorder.pipelines) / MOST_PIPELINES, prepared / MOST_PREPARED)


def mixed(runtime: RuntimeName, count: int, seed: int, *, repeated: bool) -> Grown:
    """What ``count`` mixed operations add to full caches. repeated: those that filled them, three times before."""
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
    """What ``count`` devices add, a third of them dropped without ``close``, some with work that is under way."""
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


# The same on kp alone.


def _transpose() -> tuple[list[int], Any]:
    """What restride gives kp for one reorder: words of the tensors, and what follows them in ``algorithm``."""
    seen: list[tuple[list[int], Any]] = []
    algorithm = KomputeDevice.algorithm

    def note(device: KomputeDevice, tensors: Sequence[Any], *pipeline: Any) -> Any:
        seen.append(([tensor.data().nbytes // 4 for tensor in tensors], pipeline))
        return algorithm(device, tensors, *pipeline)

    with rs.Device(runtime="kompute") as device, patch.object(KomputeDevice, "algorithm", note):
        rs.reorder(rs.asarray(np.ones(IMAGE, np.float32), device=device), "AB->BA")
    return seen[0]


class PlainKp:
    """A manager of kp, and pipelines as a reorder has, of which as many are kept as kompute keeps."""

    def __init__(self, index: int, transpose: tuple[list[int], Any]) -> None:
        words, (self._code, self._groups, constants, push) = transpose
        self._constants, self._push = np.array(constants, np.uint32), np.array(push, np.uint32)
        self._kp = load_kp()
        self._manager = self._kp.Manager(index)
        self._tensors = [self._tensor(count) for count in words]
        self._kept: deque[Any] = deque(maxlen=MOST_PROGRAMS)

    def _tensor(self, words: int) -> Any:
        return self._manager.tensor_t(np.zeros(words, np.uint32), self._kp.TensorTypes.host)

    def use(self, pipelines: int, tensors: int) -> None:
        """Make so many, the pipelines with a recording each, which runs once."""
        for _ in range(pipelines):
            algorithm = self._manager.algorithm(self._tensors, self._code, self._groups, self._constants, self._push)
            recording = self._manager.sequence()
            recording.record(self._kp.OpAlgoDispatch(algorithm, self._push))
            recording.eval()
            self._kept.append((algorithm, recording))
        for _ in range(tensors):
            self._tensor(1 << 10).destroy()

    def settle(self) -> None:
        """Drop the pipelines; llvmpipe frees them after a submission that ends later."""
        self._kept.clear()
        gc.collect()
        for _ in range(2):
            recording = self._manager.sequence()
            recording.record(self._kp.OpTensorSyncLocal(self._tensors[:1]))
            recording.eval()

    def close(self) -> None:
        """Destroy all."""
        self._kept.clear()
        self._manager.destroy()


def plain_pipelines(index: int, pipelines: int, tensors: int) -> int:
    """Bytes that so many add to a process, after a quarter of them."""
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
    """Bytes that so many managers add, each with one dispatch, after a fifth of them."""
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
    """The figure of what must not grow at all."""
    return Figure(
        f"file descriptors and threads that {what} add",
        "0, 0",
        f"{grown.descriptors}, {grown.threads}",
        grown.descriptors <= 0 and grown.threads <= 0,
    )


def memory(what: str, grown: Grown, most: int, plain: int | None = None) -> Figure:
    """The figure of bytes, at most ``most``. plain: bytes that kp alone adds for the same, which do not count."""
    measured = max(grown.resident - max(plain or 0, 0), 0)
    if plain is None:
        return Figure(f"memory that {what} add, KiB", f"<= {most // KIB:,}", f"{measured // KIB:,}", measured <= most)
    return Figure(
        f"memory that {what} add beyond kp alone, KiB",
        f"<= {most // KIB:,}",
        f"{measured // KIB:,} ({grown.resident // KIB:,}, kp alone {plain // KIB:,})",
        measured <= most,
    )


def _apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(function, *arguments).result()


def figures_of(runtime: RuntimeName, small: bool, seed: int) -> Iterator[Figure]:
    """The figures of one runtime, from one process; those of kp alone from others."""
    with rs.Device(runtime=runtime) as device:
        index = device.info.index
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        count = 40 if small else 10_000
        grown = process.submit(mixed, runtime, count, seed, repeated=small).result()
        what = f"{count:,} mixed operations, {runtime},"
        plain = None
        if runtime == "kompute" and not small:
            plain = _apart(plain_pipelines, index, grown.pipelines, grown.allocations)
        yield memory(what, grown, NOISE if small else count * MOST_BYTES_AN_OPERATION, plain)
        if small:  # else caches of some ten thousand entries are at another point of their round
            blocks, most = max(grown.blocks, 0), count + NOISE_BLOCKS
            yield Figure(f"blocks of Python's memory that {what} add", f"<= {most:,}", f"{blocks:,}", blocks <= most)
        yield Figure(
            f"bytes of the device in use after {what} and the most MiB that it held",
            f"0, <= {MOST_POOLED // MIB}",
            f"{grown.in_use}, {grown.pooled / MIB:.1f}",
            grown.in_use == 0 and grown.pooled <= MOST_POOLED,
        )
        yield Figure(
            f"how full of its limit {what} made a cache of pipelines or submissions",
            "<= 1",
            f"{grown.cached:.2f}",
            grown.cached <= 1,
        )
        yield constant(what, grown)
        count = 4 if small else 100
        grown = process.submit(devices, runtime, count, seed).result()
        what = f"{count} devices opened and closed or dropped, {runtime},"
        plain = None
        if runtime == "kompute" and not small:
            # Both differ by some MiB from process to process: the driver's compiler takes memory by the MiB.
            again = [_apart(devices, runtime, count, seed + number).resident for number in (1, 2)]
            grown = replace(grown, resident=sorted([grown.resident, *again])[1])
            plain = sorted(_apart(plain_managers, index, count) for _ in range(3))[1]
        yield memory(what, grown, NOISE if small else MOST_BYTES_OF_DEVICES, plain)
        yield constant(what, grown)


def measure(small: bool, seed: int) -> Iterator[Figure]:
    """Both runtimes, where they are here."""
    for runtime in RUNTIMES:
        try:
            rs.Device(runtime=runtime).close()
        except (rs.DeviceNotFound, rs.UnsupportedError):
            continue
        yield from figures_of(runtime, small, seed)


if __name__ == "__main__":
    run_part(measure)
