"""By hand: shaders/bare, a kernel for one thing each, run through the same queue as restride's own."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from restride.dtypes import as_dtype
from restride.kernel import Binding, KernelSpec
from restride.runtime import Memory
from restride.tensor.device import Device
from restride_bench.offer import Offer
from restride_bench.own import device_seconds, has_clock
from restride_bench.tasks import Array, Convert, Move, Normalize, Resize, Task, result_dtype, result_sizes
from restride_bench.workload import Workload

_MIRRORED, _SECOND = (1, 1, -2, -2), (1, 1, 2, 2)
_ROWS = 8
"""That an invocation of ``bare_bilinear`` makes."""

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
        task = workload.task
        sizes = result_sizes(task, source.shape)
        dtype = as_dtype(result_dtype(task, workload.desc.dtype.name)).dtype
        shader = _shader(task, source, sizes)
        if shader is None:
            return None
        runtime, nbytes = self._device.runtime, math.prod(sizes) * dtype.itemsize
        memories = runtime.allocate(source.nbytes), runtime.allocate(nbytes)
        name, constants, groups = shader
        bindings = Binding(0, source.nbytes), Binding(0, nbytes, writes=True)
        kernel = KernelSpec(name, constants, (), b"", groups, bindings)
        upload = _uploaded(self._device, memories[0], source)
        upload()

        def start() -> None:
            runtime.submit([kernel], memories)

        def resident() -> None:
            start()
            runtime.wait()

        def result() -> Array:
            made = np.empty(sizes, dtype)
            runtime.read(memories[1], 0, made.reshape(-1).view(np.uint8).data)
            return made

        def through() -> Array:
            upload()
            start()
            return result()

        return Offer(
            resident=resident,
            result=result,
            numpy=through,
            kernel=device_seconds(self._device, start) if self._has_clock else None,
        )


def _uploaded(device: Device, memory: Memory, array: Array) -> Callable[[], None]:
    return lambda: device.runtime.write(memory, 0, array.reshape(-1).view(np.uint8).data)


def _shader(task: Task, x: Array, sizes: tuple[int, ...]) -> Shader | None:
    """The kernel that somebody would write for this task alone; None: nobody did."""
    match task:
        case Convert("u8", 255.0) if x.dtype == np.float32 and x.size % 4 == 0:
            return "bare_cast_f32_u8", (x.size // 4,), (-(-x.size // 1024), 1, 1)
        case Normalize(False) if x.shape[0] == 1 and x.size % 12 == 0:
            fours = x.size // 12
            return "bare_normalize_u8_f32", (fours,), (-(-fours // 256), 1, 1)
        case Resize() if x.dtype == np.float32 and x.ndim == 4:
            return _resize(task, x)
        case Move() if x.itemsize == 4:
            return _move(task, x, sizes)
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
