"""PyTorch on its CPU, CUDA or torchvulkan's device: copies views into an existing tensor, or calls ``interpolate``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any, Literal, TypeAlias

from restride.dtypes import Array
from restride_conformance.case import Case
from restride_conformance.operations import is_arithmetic
from restride_measure.offer import (
    Absent,
    Offer,
    Peer,
    StridedCopy,
    factor_and_addend,
    installed,
    is_of_pixels,
    sampling,
)
from restride_measure.workloads import Workload, crops

_INTEGERS = {"u8": "uint8", "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64"}
_TYPES = _INTEGERS | {"f16": "float16", "f32": "float32", "f64": "float64"}
_MODES = {("linear", 2): "bilinear", ("linear", 3): "trilinear", ("cubic", 2): "bicubic", ("nearest", 2): "nearest"}

Function: TypeAlias = Callable[[Any], Any]
"""A function of a tensor that returns a view of it, or a new tensor."""


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
        torch, case, dtype = self._torch, workload.case, workload.desc.dtype.name
        result = workload.result_dtype.name
        if dtype not in _TYPES or result not in _TYPES:
            return None
        host = torch.from_numpy(source)
        if workload.how == "new shapes":
            return self._new_shapes(host)
        if case is None or not workload.is_row_major:
            return None
        move = StridedCopy.of(workload)
        function = self._function(case) if move is None else partial(_moved, move)
        # CUDA does not interpolate integers.
        weighs = case.op == "resample" and sampling(case)[0] != "nearest"
        if function is None or (self._is_cuda and weighs and dtype in _INTEGERS):
            return None
        x = host.to(self._device)
        is_copy = case.op == "reorder" and not is_arithmetic(case)
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

    def _function(self, case: Case) -> Function | None:  # noqa: PLR0911 - one for each operation
        interpolate = self._torch.nn.functional.interpolate
        match case.op:
            case "reorder":
                return self._converted(case)
            case "resample":
                mode, antialias = sampling(case)
                sizes = tuple(case.dst.sizes[axis] for axis in case.integers("axes"))
                if (mode, len(sizes)) not in _MODES:
                    return None
                options: dict[str, Any] = {"size": sizes, "mode": _MODES[mode, len(sizes)]}
                if mode != "nearest":
                    options |= {"align_corners": False, "antialias": antialias}
                if not is_of_pixels(case):
                    return lambda t: interpolate(t, **options)
                # A view of pixels as planes is torch's channels_last, and stays so.
                return lambda t: interpolate(t.permute(2, 0, 1)[None], **options)[0].permute(1, 2, 0)
            case "crop_resize":
                return self._boxes(case)
            case "resample_backward":
                backward = self._torch.ops.aten.upsample_bilinear2d_backward
                return lambda t: backward(t, t.shape[-2:], case.dst.sizes, False, None, None)
            case _:
                return None

    def _affine(self, case: Case) -> Function:
        """A function that multiplies f32 by the scale of a case and adds its zero point, in place."""
        factor, addend = (self._torch.from_numpy(each).to(self._device) for each in factor_and_addend(case))
        return lambda planes: planes.mul_(factor).add_(addend)

    def _boxes(self, case: Case) -> Function:
        interpolate, affine = self._torch.nn.functional.interpolate, self._affine(case)
        named = case.operation.arguments(case)
        view: Function = case.viewed_tensor  # its methods are torch's too

        def cropped(t: Any) -> Any:
            planes = view(t)
            boxes = [planes[:, y0:y1, x0:x1].float() for y0, x0, y1, x1 in named["boxes"].tolist()]
            return affine(self._torch.cat([interpolate(box[None], named["sizes"], mode="bilinear") for box in boxes]))

        return cropped

    def _converted(self, case: Case) -> Function:
        torch, (factor, addend) = self._torch, factor_and_addend(case)
        dtype = getattr(torch, _TYPES[case.dst.dtype.name])
        view: Function = case.viewed_tensor  # its methods are torch's too
        if not is_arithmetic(case):
            return view
        if addend is not None:
            affine, plain = self._affine(case), torch.contiguous_format
            return lambda t: affine(view(t).to(dtype, memory_format=plain))
        factors = torch.from_numpy(factor).to(self._device)
        if dtype.is_floating_point:
            return lambda t: view(t) * factors
        limits = torch.iinfo(dtype)
        return lambda t: (view(t) * factors).round_().clamp_(limits.min, limits.max).to(dtype)

    def _offer(self, start: Callable[[], object], result: Callable[[], Array], through: Callable[[], Array]) -> Offer:
        """The offer of work that ``start`` begins; ``resident`` waits except on the CPU; ``kernel``: CUDA's clock."""
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

    def _new_shapes(self, host: Any) -> Offer:
        torch = self._torch
        x = host.to(self._device)
        out = torch.empty(tuple(x.shape)[::-1], dtype=x.dtype, device=self._device)
        resident_crops, numpy_crops = crops(tuple(x.shape)), crops(tuple(x.shape))
        last = [out]

        def start() -> None:
            rows, columns = next(resident_crops)
            last[0] = out[:columns, :rows].copy_(x[:rows, :columns].T)

        def through() -> Array:
            rows, columns = next(numpy_crops)
            array: Array = host[:rows, :columns].to(self._device).T.contiguous().cpu().numpy()
            return array

        return replace(self._offer(start, lambda: last[0].cpu().numpy(), through), kernel=None)


def _moved(move: StridedCopy, t: Any) -> Any:
    """A view, or a flipped copy for negative steps, which torch lacks."""
    # [::-2] of 1080 begins at 1079: [1::2], flipped. Of 1079 it begins at 1078: [0::2].
    starts = [(size - 1) % -step if step < 0 else 0 for size, step in zip(t.shape, move.steps, strict=True)]
    t = t[tuple(slice(start, None, abs(step)) for start, step in zip(starts, move.steps, strict=True))]
    flipped = [axis for axis, step in enumerate(move.steps) if step < 0]
    return (t.flip(flipped) if flipped else t).permute(move.axes)
