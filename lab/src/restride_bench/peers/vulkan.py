"""The same device without restride's planning: kernels written by hand, and restride's own dispatches prerecorded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from importlib.resources import files
from itertools import accumulate, zip_longest
from typing import Any, TypeAlias, cast

import numpy as np

import restride as rs
from restride.command.stopwatch import Timer, rounds
from restride.dtypes import Array
from restride.errors import DeviceTimeout
from restride.kernel import Binding, KernelSpec
from restride.kernel.modules import add_folder
from restride.layout import TensorDesc
from restride.layout.pattern import Pattern
from restride.runtime import Memory, Runtime
from restride.runtime.loader import struct
from restride.runtime.vulkan.generated import VK_TIMEOUT
from restride.runtime.vulkan.runtime import VulkanMemory, VulkanRuntime
from restride.tensor.device import Device
from restride_bench.peers.shapes import LINE, Candidate, Dispatches, candidates, whole
from restride_bench.peers.weighed import boxes, resizes
from restride_conformance.case import Case
from restride_conformance.operations import CheckedRearrange
from restride_measure import own
from restride_measure.offer import Absent, Offer, Peer, factor_and_addend, sampling
from restride_measure.own import dispatched
from restride_measure.workloads import Workload

_ROWS = 8
"""Number of rows that an invocation of ``bare_bilinear`` computes."""


class ByHand(Peer):
    """Kernels written by hand. The offer is the one that fits the workload and has the fastest call."""

    version = "lab/shaders"

    def __init__(self, device: Device) -> None:
        add_folder(files("restride_bench") / "spirv")
        self._device = device

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        device, runtime, case = self._device, self._device.runtime, workload.case
        if case is None:
            return None
        src, dst = case.src, case.dst
        bindings = Binding(0, whole(src.nbytes)), Binding(0, whole(dst.nbytes), writes=True)
        candidates = self._candidates(case, bindings)
        if not candidates:
            return None
        middles = [max(sizes) for sizes in zip_longest(*(each.middles for each in candidates), fillvalue=0)]
        memories = [runtime.allocate(whole(nbytes)) for nbytes in (src.nbytes, dst.nbytes, *middles)]

        def upload() -> None:
            runtime.write(memories[0], 0, source.reshape(-1).view(np.uint8).data)

        def start() -> None:
            _submit(device, chosen, memories)

        def result() -> Array:
            return rs.Tensor(memories[1], dst, device).numpy()

        def through() -> Array:
            upload()
            start()
            return result()

        rs.reorder(rs.asarray(source, device=device), out=rs.Tensor(memories[0], src, device))
        chosen = _fastest(device, candidates, memories)
        return dispatched(device, start, result, through if workload.is_row_major else None)

    def _candidates(self, case: Case, bindings: tuple[Binding, Binding]) -> list[Candidate]:
        """The hand-written kernels that fit a case."""
        x = rs.empty(case.src, self._device)
        match case.op:
            case "reorder" if case.src.dtype == case.dst.dtype:
                return [*map(Candidate.of, candidates(case.viewed_tensor(x).desc, case.dst, bindings))]
            case "reorder":
                return [*map(Candidate.of, _by_quads(case, bindings))]
            case "rearrange" if isinstance(case.operation, CheckedRearrange):
                view = _rearranged(case.word("pattern").replace(",", " "), case.operation.lengths(case), x)
                return [*map(Candidate.of, candidates(view.desc, TensorDesc(view.dtype, view.sizes), bindings))]
            case "resample" | "resample_backward":
                return [*map(Candidate.of, _resize(case, bindings)), *resizes(case)]
            case "crop_resize":
                return [*boxes(case)]
            case _:
                return []


def _rearranged(pattern: str, lengths: Mapping[str, int], x: rs.Tensor) -> rs.Tensor:
    """The view of ``x`` with an axis for each name of the pattern, in the order of the result."""
    parts, groups = Pattern.parse(pattern).split(x.sizes, lengths)
    starts = [0, *accumulate(map(len, parts))]
    split = x.reshape([size for part in parts for size in part])
    return split.permute(*(starts[axis] + place for group in groups for axis, place in group))


_CASTS = frozenset(
    f"bare_{types}" for types in ("u8_f32", "s8_f32_scaled", "f16_f32", "f32_f16", "f32_bf16", "s32_s64", "f64_f32")
)

_TRIALS = 3
"""Number of timed calls of each candidate, after a first one that compiles it."""


def _submit(device: Device, candidate: Candidate, memories: Sequence[Memory]) -> None:
    with device.batch() if len(candidate.steps) > 1 else nullcontext():
        for step in candidate.steps:
            device.runtime.submit((step.kernel,), (memories[step.source], memories[step.target]))


def _fastest(device: Device, candidates: Sequence[Candidate], memories: Sequence[Memory]) -> Candidate:
    """Call the candidates in turn and return the one with the shortest call."""
    timers = {
        number: Timer(partial(_submit, device, candidate, memories), device.wait)
        for number, candidate in enumerate(candidates)
    }
    taken = rounds(timers, _TRIALS, warm_up=1)
    return candidates[min(taken, key=lambda number: min(taken[number]))]


def _by_quads(case: Case, bindings: tuple[Binding, Binding]) -> Iterator[Dispatches]:
    """Kernels that compute four elements or pixels of a row, in three sizes of groups; none for other types."""
    src, types = case.src, f"{case.src.dtype}_{case.dst.dtype}"
    factor, addend = factor_and_addend(case)
    quads, rest = divmod(src.numel, 4)
    more: tuple[int, ...] = ()
    if addend is not None:
        if src.sizes[0] != 1 or src.numel % 12:
            return
        name, quads, more = f"bare_normalize_{types}", src.numel // 12, (int(case["dst_scale"] is not None),)
    elif case["src_scale"] == 255.0 and types == "f32_u8":
        name = f"bare_cast_{types}"
    else:
        name = f"bare_{types}" + "_scaled" * bool(factor.ndim)
        more = (math.prod(src.sizes[2:]) // 4, src.sizes[1]) if factor.ndim else (1, 1)
        if name not in _CASTS:
            return
    if rest:
        return
    for size in LINE:
        yield (KernelSpec(name, (size, quads, *more), (), b"", (-(-quads // size), 1, 1), bindings),)


def _resize(case: Case, bindings: tuple[Binding, Binding]) -> Iterator[Dispatches]:
    """A kernel for planes of f32: nearest, twice as large, or bilinear."""
    src, dst = case.src, case.dst
    if case.op != "resample" or src.dtype.name != "f32" or src.rank != 4:
        return
    planes, (height, width), (rows, columns) = math.prod(src.sizes[:2]), src.sizes[2:], dst.sizes[2:]
    mode, antialias = sampling(case)
    if mode == "nearest" and (rows, columns) == (2 * height, 2 * width) and width == 56 and height % 8 == 0:
        yield (KernelSpec("bare_nearest_x2", (height,), (), b"", (1, height // 8, planes), bindings),)
    elif mode == "linear" and not antialias and rows % _ROWS == 0:
        steps = np.array((height / rows, width / columns), np.float32).view(np.uint32)
        constants = height, width, rows, columns, *steps.tolist()
        groups = -(-columns // 64), rows // _ROWS, planes
        yield (KernelSpec("bare_bilinear", constants, (), b"", groups, bindings),)


_MAX_BYTES = 1 << 18
"""Maximum useful bytes of a workload; in a larger one the cost of a call is small, and the kernels are the same."""

_MAX_WAIT = 10**10
"""Maximum wait in nanoseconds: ten seconds, for work that takes milliseconds."""

_Submitted: TypeAlias = list[tuple[Sequence[KernelSpec], Sequence[Memory]]]


class Raw(Peer):
    """The cost of a call if everything is prepared: pipelines, sets and barriers, all in one command buffer."""

    version = "prerecorded, submitted and waited for"

    def __init__(self, device: Device) -> None:
        if not isinstance(device.runtime, VulkanRuntime):
            raise Absent("only the runtime vulkan records command buffers")
        self._runtime = device.runtime

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        """The offer; None if it cannot be recorded, or if it is a plain copy, which has its own column."""
        if workload.nbytes > _MAX_BYTES or workload.how == "page" or workload.how.startswith("new "):
            return None
        noting = _Noting(self._runtime)
        ours = own.offer(workload, source, Device.over(cast(Runtime, noting)))
        noting.submitted.clear()
        if ours.resident is None:
            return None
        ours.resident()
        if noting.has_copied:
            return None
        return Offer(resident=_Prerecorded(self._runtime, noting.submitted), result=ours.result)


class _Noting:
    """Records all submissions and passes them on."""

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
    """One command buffer with the whole workload, barriers included: a call submits it and waits.

    The runtime does not know of these submissions, so callers wait for the runtime's own work first. The command buffer
    uses memory and pipelines of the runtime, and is recorded again when the runtime has freed some of them.
    """

    def __init__(self, runtime: VulkanRuntime, submitted: _Submitted) -> None:
        self._session = runtime._session  # noqa: SLF001 - measures the layer below the runtime
        self._submitted = submitted
        self._slot = self._session.queue.new_slot()
        self._record()

    def __call__(self) -> None:
        """Submit and wait.

        Raises:
            DeviceTimeout: the work took more than ten seconds.
        """
        device, slot = self._session.device, self._slot
        if self._freed != device.freed:
            self._record()
        device.vk.vkQueueSubmit(device.queue, 1, slot.submit, slot.fence)
        if device.vk.vkWaitForFences(device.handle, 1, slot.fences, 1, _MAX_WAIT) == VK_TIMEOUT:
            raise DeviceTimeout(f"prerecorded work did not finish within {_MAX_WAIT // 10**9} s")
        device.vk.vkResetFences(device.handle, 1, slot.fences)

    def _record(self) -> None:
        session = self._session
        queue, vk, command = session.queue, session.device.vk, self._slot.command
        with session.lock:
            session.enter()
            vk.vkBeginCommandBuffer(command, struct("VkCommandBufferBeginInfo"))
            for kernels, memories in self._submitted:
                owned = [memory for memory in memories if isinstance(memory, VulkanMemory)]
                blocks, sizes = [memory.block for memory in owned], [memory.hold.size for memory in owned]
                work = session.recorder.prepare(kernels, blocks, sizes, queue.submitted + 1)
                session.recorder.record(self._slot, work.dispatches)
            queue.end(self._slot)
            session.recorder.settle(queue.submitted, queue.completed)
            self._freed = session.device.freed
