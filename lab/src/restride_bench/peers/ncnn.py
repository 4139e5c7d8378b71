"""ncnn: its layer Interp on the same Vulkan device, in f32; Python reaches only arrays on the host."""

from __future__ import annotations

import numpy as np

from restride.dtypes import Array
from restride.tensor.device import Device
from restride_measure.offer import Absent, Offer, Peer, installed, sampling
from restride_measure.workloads import Workload

_MODES = {"nearest": 1, "linear": 2}
_PLANE = 4
"""Planes must have a multiple of this many elements: otherwise all but the first are wrong on Vulkan (1.0.20261020)."""


class Ncnn(Peer):
    """A network of one layer for each workload."""

    lingers = True

    def __init__(self, device: Device) -> None:
        self._ncnn = ncnn = installed("ncnn", "ncnn")
        names = [ncnn.get_gpu_info(index).device_name() for index in range(ncnn.get_gpu_count())]
        if device.info.name not in names:
            raise Absent(f"ncnn sees no Vulkan device {device.info.name!r}")
        self._index = names.index(device.info.name)
        self.version: str = ncnn.__version__

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        case = workload.case
        if case is None or case.op != "resample" or case["like"] is not None or case.integers("axes") != (2, 3):
            return None
        mode, antialias = sampling(case)
        if mode not in _MODES or antialias or source.dtype != "float32" or source.ndim != 4 or source.shape[0] != 1:
            return None
        if source[0, 0].size % _PLANE:
            return None
        height, width = case.dst.sizes[2:]
        ncnn, net = self._ncnn, self._ncnn.Net()
        net.opt.use_vulkan_compute = True
        net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
        net.set_vulkan_device(self._index)
        layers = f"Input in 0 1 in\nInterp out 1 1 in out 0={_MODES[mode]} 3={height} 4={width}\n"
        net.load_param_mem(f"7767517\n2 2\n{layers}")
        net.load_model_mem(b"")

        def through() -> Array:
            with net.create_extractor() as extractor:
                extractor.input("in", ncnn.Mat(source[0]))
                _, planes = extractor.extract("out")
                return np.array(planes)[None]

        return Offer(numpy=through)
