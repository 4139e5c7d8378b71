"""computeml: permutations of up to four axes of f32, on the same Vulkan driver; ``flush`` waits for results."""

from __future__ import annotations

from restride.dtypes import Array
from restride.tensor.device import Device
from restride_measure.offer import Absent, Offer, Peer, StridedCopy, installed
from restride_measure.workloads import Workload

_MAX_AXES = 4


class ComputeML(Peer):
    def __init__(self, device: Device) -> None:
        self._computeml = installed("computeml", "computeml")
        try:
            self._context = self._computeml.Context("vulkan")
        except Exception as error:
            raise Absent(f"computeml opens no device: {error}") from error
        if self._context.device_name != device.info.name:
            raise Absent(f"computeml opens {self._context.device_name!r}, not {device.info.name!r}: set CML_GPU_INDEX")
        self.version: str = self._computeml.version("computeml")

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        move = StridedCopy.of(workload)
        if move is None or any(step != 1 for step in move.steps):
            return None
        if source.dtype != "float32" or source.ndim > _MAX_AXES:
            return None
        context, permute = self._context, self._computeml.ops.permute
        src, dst = context.asarray(source), context.empty(workload.result_sizes)

        def resident() -> None:
            permute(src, move.axes, dst)
            context.flush()

        def result() -> Array:
            array: Array = dst.numpy()
            return array

        def through() -> Array:
            array: Array = permute(context.asarray(source), move.axes).numpy()
            return array

        return Offer(resident=resident, result=result, numpy=through)
