"""PyTorch on its CPU, CUDA or torchvulkan's device: copies views into an existing tensor, or calls ``interpolate``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from typing import Any, Literal, TypeAlias

from restride_measure.offer import Absent, Offer, Peer, installed
from restride_measure.workloads import (
    MEAN,
    STD,
    Array,
    Boxes,
    Convert,
    Gradient,
    Move,
    NewShapes,
    Normalize,
    Resize,
    Task,
    Workload,
    channel_scales,
)

_INTEGERS = {"u8": "uint8", "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64"}
_TYPES = _INTEGERS | {"f16": "float16", "f32": "float32", "f64": "float64"}
_MODES = {("linear", 2): "bilinear", ("linear", 3): "trilinear", ("cubic", 2): "bicubic", ("nearest", 2): "nearest"}

Function: TypeAlias = Callable[[Any], Any]
"""A function of a tensor: it returns a view of it, or a new one."""


class Torch(Peer):
    lingers = True

    def __init__(self, kind: Literal["cpu", "cuda", "vulkan"]) -> None:
        self._torch = torch = installed("torch", "torch")
        self._backend: Any = None
        """The module that waits for an asynchronous device: ``torch.cuda``, or the package torchvulkan."""
        if kind == "cuda":
            self._backend = torch.cuda
        elif kind == "vulkan":
            self._backend = installed("torchvulkan", "torchvulkan, with a torch that it was built for")
        if self._backend is not None and not self._backend.is_available():
            raise Absent(f"torch sees no device {kind!r}")
        self._device = torch.device(kind)
        self._is_cuda = kind == "cuda"
        where = f"{torch.get_num_threads()} threads" if kind == "cpu" else self._backend.get_device_name(0)
        own = f", torchvulkan {version('torchvulkan')}" if kind == "vulkan" else ""
        self.version = f"{torch.__version__}{own}, {where}"

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        torch, task, dtype = self._torch, workload.task, workload.desc.dtype.name
        result = workload.result_dtype.name
        if dtype not in _TYPES or result not in _TYPES:
            return None
        host = torch.from_numpy(source)
        if isinstance(task, NewShapes):
            return self._new_shapes(task, host)
        function = self._function(task)
        # CUDA does not interpolate integers.
        weighs = isinstance(task, Resize) and task.mode != "nearest"
        if function is None or (self._is_cuda and weighs and dtype in _INTEGERS):
            return None
        x = host.to(self._device)
        is_copy = isinstance(task, Move) or (isinstance(task, Convert) and task.scale is None and not task.per_channel)
        out = torch.empty(workload.result_sizes, dtype=getattr(torch, _TYPES[result]), device=self._device)
        last = [out]

        def start() -> None:
            # interpolate has no argument for a destination.
            last[0] = out.copy_(function(x)) if is_copy else function(x)

        def through() -> Array:
            computed = function(host.to(self._device))
            is_view = computed.data_ptr() == host.data_ptr()
            computed = computed.to(out.dtype, memory_format=torch.contiguous_format, copy=is_view)
            array: Array = computed.cpu().numpy()
            return array

        return self._offer(start, lambda: last[0].cpu().numpy(), through)

    def _function(self, task: Task) -> Function | None:  # noqa: PLR0911 - one for each kind of task
        torch = self._torch
        interpolate = torch.nn.functional.interpolate
        match task:
            case Move():
                return lambda t: _moved(task, t)
            case Convert():
                return self._converted(task)
            case Normalize():
                plain, normalized = torch.contiguous_format, self._normalizer()
                return lambda t: normalized(t.permute(0, 3, 1, 2).to(torch.float32, memory_format=plain))
            case Resize(sizes, mode, antialias, pixels):
                if (mode, len(sizes)) not in _MODES:
                    return None
                options: dict[str, Any] = {"size": sizes, "mode": _MODES[mode, len(sizes)]}
                if mode != "nearest":
                    options |= {"align_corners": False, "antialias": antialias}
                if not pixels:
                    return lambda t: interpolate(t, **options)
                # A view of pixels as planes is torch's channels_last, and stays so.
                return lambda t: interpolate(t.permute(2, 0, 1)[None], **options)[0].permute(1, 2, 0)
            case Boxes():
                return self._boxes(task)
            case Gradient(sizes):
                backward = torch.ops.aten.upsample_bilinear2d_backward
                return lambda t: backward(t, t.shape[-2:], (*t.shape[:-2], *sizes), False, None, None)
            case _:
                return None

    def _normalizer(self) -> Function:
        """A function that subtracts MEAN from planes and divides by STD, in place."""
        mean = self._torch.tensor(MEAN, device=self._device).view(3, 1, 1)
        factor = (1 / self._torch.tensor(STD, device=self._device)).view(3, 1, 1)
        return lambda planes: planes.sub_(mean).mul_(factor)

    def _boxes(self, task: Boxes) -> Function:
        interpolate, normalized = self._torch.nn.functional.interpolate, self._normalizer()

        def crops(t: Any) -> Any:
            planes = t.permute(2, 0, 1)
            boxes = [planes[:, y0:y1, x0:x1].float() for y0, x0, y1, x1 in task.of(tuple(t.shape)).tolist()]
            resized = [interpolate(box[None], task.sizes, mode="bilinear")[0] for box in boxes]
            return self._torch.stack([normalized(each) for each in resized])

        return crops

    def _converted(self, task: Convert) -> Function:
        torch = self._torch
        dtype = getattr(torch, _TYPES[task.dtype])
        if task.per_channel:
            return lambda t: t * torch.from_numpy(channel_scales(t.shape[1])).to(self._device).view(-1, 1, 1)
        if task.scale is None:
            return lambda t: t
        limits = torch.iinfo(dtype)
        return lambda t: (t * task.scale).round_().clamp_(limits.min, limits.max).to(dtype)

    def _offer(self, start: Callable[[], object], result: Callable[[], Array], through: Callable[[], Array]) -> Offer:
        """The offer of work that ``start`` begins; it waits if the device is not the CPU, and CUDA has a clock."""
        backend = self._backend
        if backend is None:
            return Offer(start, result, through)

        def resident() -> None:
            start()
            backend.synchronize()

        if not self._is_cuda:
            return Offer(resident, result, through)

        def seconds() -> float:
            before, after = backend.Event(enable_timing=True), backend.Event(enable_timing=True)
            before.record()
            start()
            after.record()
            backend.synchronize()
            return float(before.elapsed_time(after)) / 1000

        return Offer(resident, result, through, seconds, is_elsewhere=True)

    def _new_shapes(self, task: NewShapes, host: Any) -> Offer:
        torch = self._torch
        x = host.to(self._device)
        out = torch.empty(tuple(x.shape)[::-1], dtype=x.dtype, device=self._device)
        resident_crops, numpy_crops = task.crops(tuple(x.shape)), task.crops(tuple(x.shape))
        last = [out]

        def start() -> None:
            rows, columns = next(resident_crops)
            last[0] = out[:columns, :rows].copy_(x[:rows, :columns].T)

        def through() -> Array:
            rows, columns = next(numpy_crops)
            array: Array = host[:rows, :columns].to(self._device).T.contiguous().cpu().numpy()
            return array

        return replace(self._offer(start, lambda: last[0].cpu().numpy(), through), kernel=None)


def _moved(task: Move, t: Any) -> Any:
    """A view, or a flipped copy for negative steps, which torch lacks."""
    if task.steps:
        # [::-2] of 1080 begins at 1079: [1::2], flipped. Of 1079 it begins at 1078: [0::2].
        sizes = tuple(t.shape)
        starts = [(size - 1) % -step if step < 0 else 0 for size, step in zip(sizes, task.steps, strict=True)]
        t = t[tuple(slice(start, None, abs(step)) for start, step in zip(starts, task.steps, strict=True))]
        flipped = [axis for axis, step in enumerate(task.steps) if step < 0]
        t = t.flip(flipped) if flipped else t
    return t.permute(task.axes)
