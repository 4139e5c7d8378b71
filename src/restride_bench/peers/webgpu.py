"""wgpu-py: WebGPU through wgpu-native, which goes to the same Vulkan driver with bounds checks of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from restride.tensor.device import Device
from restride_bench.offer import Absent, Offer, installed
from restride_bench.peers.wgsl import kernel
from restride_bench.tasks import Array, result_sizes
from restride_bench.workload import Workload


class Wgpu:
    """The adapter that is the device under test."""

    name = "wgpu"
    lingers = False

    def __init__(self, device: Device) -> None:
        """Open it.

        Raises:
            Absent: wgpu is not installed, or does not see this device through Vulkan.
        """
        self._wgpu = installed("wgpu", "wgpu")
        try:
            adapters = self._wgpu.gpu.enumerate_adapters_sync()
        except Exception as error:
            raise Absent(f"wgpu does not start: {error}") from error
        wanted = device.info.name
        found = [each for each in adapters if each.info["backend_type"] == "Vulkan" and each.info["device"] == wanted]
        if not found:
            raise Absent(f"wgpu sees no Vulkan device {wanted!r}")
        names = ("max-buffer-size", "max-storage-buffer-binding-size")
        try:
            self._device = found[0].request_device_sync(required_limits={name: found[0].limits[name] for name in names})
        except Exception as error:
            raise Absent(f"wgpu opens no device: {error}") from error
        self.version = f"{self._wgpu.__version__}, {found[0].info['description']}"

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        """See ``Peer.offer``."""
        sizes = result_sizes(workload.task, source.shape)
        shader = kernel(workload.task, source, sizes)
        if shader is None:
            return None
        device, usage = self._device, self._wgpu.BufferUsage
        nbytes = math.prod(sizes) * source.itemsize
        src = device.create_buffer(size=source.nbytes, usage=usage.STORAGE | usage.COPY_DST)
        dst = device.create_buffer(size=nbytes, usage=usage.STORAGE | usage.COPY_SRC)
        module = device.create_shader_module(code=shader.code)
        pipeline = device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
        entries = [{"binding": number, "resource": {"buffer": buffer}} for number, buffer in enumerate((src, dst))]
        group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
        start = self._start(pipeline, group, shader.groups)
        device.queue.write_buffer(src, 0, source)

        def resident() -> None:
            start()
            # The only wait that it has is a small read.
            device.queue.read_buffer(dst, 0, 4)

        def result() -> Array:
            return np.frombuffer(device.queue.read_buffer(dst, 0, nbytes), source.dtype).reshape(sizes)

        def through() -> Array:
            device.queue.write_buffer(src, 0, source)
            start()
            return result()

        return Offer(resident=resident, result=result, numpy=through)

    def _start(self, pipeline: Any, group: Any, groups: tuple[int, int, int]) -> Callable[[], None]:
        device = self._device

        def start() -> None:
            encoder = device.create_command_encoder()
            one = encoder.begin_compute_pass()
            one.set_pipeline(pipeline)
            one.set_bind_group(0, group)
            one.dispatch_workgroups(*groups)
            one.end()
            device.queue.submit([encoder.finish()])

        return start
