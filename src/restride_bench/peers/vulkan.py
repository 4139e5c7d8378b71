"""The same device without restride's planning: kernels written by hand, and restride's own dispatches prerecorded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from restride.errors import DeviceTimeout
from restride.kernel import Binding, KernelSpec
from restride.runtime import Memory, Runtime
from restride.runtime.loader import TIMEOUT, struct
from restride.runtime.vulkan.runtime import VulkanMemory, VulkanRuntime
from restride.tensor.device import Device
from restride_bench import own
from restride_bench.offer import Absent, Offer
from restride_bench.own import dispatched, has_clock
from restride_bench.workloads import Array, Convert, Move, NewImages, NewPhotos, NewShapes, Normalize, Resize, Workload

_MIRRORED, _SECOND = (1, 1, -2, -2), (1, 1, 2, 2)
_ROWS = 8
"""Rows that an invocation of ``bare_bilinear`` computes."""

Shader = tuple[str, tuple[int, ...], tuple[int, int, int]]
"""A module, its specialization constants, its work groups."""


class ByHand:
    """The kernels and the device they run on."""

    name = "by-hand"
    version = "shaders/bare"
    lingers = False

    def __init__(self, device: Device) -> None:
        self._device = device
        self._has_clock = has_clock(device)

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        """See ``Peer.offer``."""
        sizes, dtype = workload.result_sizes, workload.result_dtype.dtype
        shader = _shader(workload, source)
        if shader is None:
            return None
        runtime, nbytes = self._device.runtime, math.prod(sizes) * dtype.itemsize
        memories = runtime.allocate(source.nbytes), runtime.allocate(nbytes)
        name, constants, groups = shader
        bindings = Binding(0, source.nbytes), Binding(0, nbytes, writes=True)
        kernel = KernelSpec(name, constants, (), b"", groups, bindings)

        def upload() -> None:
            runtime.write(memories[0], 0, source.reshape(-1).view(np.uint8).data)

        def start() -> None:
            runtime.submit([kernel], memories)

        def result() -> Array:
            array = np.empty(sizes, dtype)
            runtime.read(memories[1], 0, array.reshape(-1).view(np.uint8).data)
            return array

        def through() -> Array:
            upload()
            start()
            return result()

        upload()
        return dispatched(self._device, start, clock=self._has_clock, result=result, numpy=through)


def _shader(workload: Workload, x: Array) -> Shader | None:
    """The kernel that somebody would write for this task alone; None: nobody did."""
    match workload.task:
        case Convert("u8", 255.0) if x.dtype == np.float32 and x.size % 4 == 0:
            return "bare_cast_f32_u8", (x.size // 4,), (-(-x.size // 1024), 1, 1)
        case Normalize(False) if x.shape[0] == 1 and x.size % 12 == 0:
            fours = x.size // 12
            return "bare_normalize_u8_f32", (fours,), (-(-fours // 256), 1, 1)
        case Resize() as task if x.dtype == np.float32 and x.ndim == 4:
            return _resize(task, x)
        case Move() as task if x.itemsize == 4:
            return _move(task, x, workload.result_sizes)
        case _:
            return None


def _resize(task: Resize, x: Array) -> Shader | None:
    planes, (height, width), (rows, columns) = math.prod(x.shape[:2]), x.shape[2:], task.sizes
    if task.mode == "nearest":
        if (rows, columns) != (2 * height, 2 * width) or width != 56 or height % 8:
            return None
        return "bare_nearest_x2", (height,), (1, height // 8, planes)
    if task.mode != "linear" or task.antialias or rows % _ROWS:
        return None
    steps = np.array((height / rows, width / columns), np.float32).view(np.uint32)
    constants = height, width, rows, columns, *steps.tolist()
    return "bare_bilinear", constants, (-(-columns // 64), rows // _ROWS, planes)


def _move(task: Move, x: Array, sizes: tuple[int, ...]) -> Shader | None:
    if task.axes == (1, 0) and not any(size % 4 for size in x.shape):
        row_fours, column_fours = (size // 4 for size in x.shape)
        return "bare_transpose_32", (row_fours, column_fours), (-(-row_fours // 2), -(-column_fours // 32), 1)
    if task == Move((0, 2, 3, 1)) and x.shape[:2] == (1, 3) and x.size % 12 == 0:
        return "bare_planes_to_pixels_32", (x.size // 12,), (-(-x.size // 1536), 1, 1)
    if task.axes == (0, 1, 2, 3) and task.steps in (_SECOND, _MIRRORED) and not (x.shape[3] % 8 or x.shape[2] % 2):
        height, fours = sizes[2], sizes[3] // 4
        constants = height, fours, int(task.steps == _MIRRORED)
        return "bare_every_second_32", constants, (-(-fours // 64), -(-height // 4), math.prod(sizes[:2]))
    return None


_MOST_BYTES = 1 << 18
"""Useful bytes. Of what does more, the call is a small part, and the kernels are restride's own."""

_LONGEST_WAIT = 10**10
"""Nanoseconds: ten seconds, for what takes milliseconds."""

_Submitted: TypeAlias = list[tuple[Sequence[KernelSpec], Sequence[Memory]]]


class Raw:
    """What a call costs a program that has everything ready: pipelines, sets, barriers, all in one command buffer."""

    name = "raw"
    version = "prerecorded, submitted and waited for"
    lingers = False

    def __init__(self, device: Device) -> None:
        if not isinstance(device.runtime, VulkanRuntime):
            raise Absent("only the runtime vulkan records command buffers")
        self._runtime = device.runtime

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        """See ``Peer.offer``. The device's own copy has a column already."""
        if workload.nbytes > _MOST_BYTES or isinstance(workload.task, NewShapes | NewImages | NewPhotos):
            return None
        noting = _Noting(self._runtime)
        ours = own.offer(workload, source, Device.over(cast(Runtime, noting)), clock=False)
        noting.submitted.clear()
        if ours.resident is None:
            return None
        ours.resident()
        if noting.has_copied:
            return None
        return Offer(resident=_Prerecorded(self._runtime, noting.submitted), result=ours.result)


class _Noting:
    """A runtime that notes what it is given and does it."""

    def __init__(self, runtime: VulkanRuntime) -> None:
        self._runtime = runtime
        self.submitted: _Submitted = []
        self.has_copied = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory]) -> None:
        self.submitted.append((tuple(kernels), memories))  # a tuple stays prepared
        self._runtime.submit(kernels, memories)

    def copy(self, *arguments: Any) -> None:
        self.has_copied = True
        self._runtime.copy(*arguments)


class _Prerecorded:
    """One command buffer with all of it, barriers included: a call submits it and waits.

    The runtime knows nothing of these submissions: whoever calls has waited for its own before. What they use is the
    runtime's, so they are recorded again when it gave something up.
    """

    def __init__(self, runtime: VulkanRuntime, submitted: _Submitted) -> None:
        self._session = runtime._session  # noqa: SLF001 - what lies below the runtime is what is measured
        self._submitted = submitted
        self._slot = self._session.queue.new_slot()
        self._record()

    def __call__(self) -> None:
        """Submit and wait.

        Raises:
            DeviceTimeout: it took ten seconds.
        """
        device, slot = self._session.device, self._slot
        if self._forgotten != self._session.preparations.forgotten:
            self._record()
        device.vk.vkQueueSubmit(device.queue, 1, slot.submit, slot.fence)
        if device.vk.vkWaitForFences(device.handle, 1, slot.fences, 1, _LONGEST_WAIT) == TIMEOUT:
            raise DeviceTimeout(f"prerecorded work did not finish within {_LONGEST_WAIT // 10**9} s")
        device.vk.vkResetFences(device.handle, 1, slot.fences)

    def _record(self) -> None:
        session = self._session
        queue, vk, command = session.queue, session.device.vk, self._slot.command
        with session.lock:
            session.enter()
            vk.vkBeginCommandBuffer(command, struct("VkCommandBufferBeginInfo"))
            for kernels, memories in self._submitted:
                held = [memory for memory in memories if isinstance(memory, VulkanMemory)]
                blocks, sizes = [memory.block for memory in held], [memory.size for memory in held]
                work = session.recorder.prepare(kernels, blocks, sizes, queue.submitted + 1)
                session.recorder.record(self._slot, work.dispatches)
            queue.end(self._slot)
            session.recorder.settle(queue.submitted, queue.completed)
            self._forgotten = session.preparations.forgotten
