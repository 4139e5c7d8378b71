"""wgpu-py: WebGPU through wgpu-native, which uses the same Vulkan driver and adds bounds checks.

It runs kernels written by hand in WGSL, for the few workloads that need only a short one.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from restride.dtypes import Array
from restride.tensor.device import Device
from restride_bench.peers.shapes import MAX_GROUPS
from restride_measure.offer import Absent, Offer, Peer, StridedCopy, installed, is_of_pixels, sampling
from restride_measure.workloads import Workload


class Wgpu(Peer):
    def __init__(self, device: Device) -> None:
        self._wgpu = installed("wgpu", "wgpu")
        try:
            adapters = self._wgpu.gpu.enumerate_adapters_sync()
        except Exception as error:
            raise Absent(f"wgpu does not start: {error}") from error
        device_name = device.info.name
        matching = [
            each for each in adapters if each.info["backend_type"] == "Vulkan" and each.info["device"] == device_name
        ]
        if not matching:
            raise Absent(f"wgpu sees no Vulkan device {device_name!r}")
        names = ("max-buffer-size", "max-storage-buffer-binding-size")
        try:
            limits = {name: matching[0].limits[name] for name in names}
            self._device = matching[0].request_device_sync(required_limits=limits)
        except Exception as error:
            raise Absent(f"wgpu opens no device: {error}") from error
        self.version = f"{self._wgpu.__version__}, {matching[0].info['description']}"

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        sizes = workload.result_sizes
        kernel = _kernel(workload, source)
        if kernel is None:
            return None
        code, groups = kernel
        device, usage = self._device, self._wgpu.BufferUsage
        nbytes = math.prod(sizes) * source.itemsize
        src = device.create_buffer(size=source.nbytes, usage=usage.STORAGE | usage.COPY_DST)
        dst = device.create_buffer(size=nbytes, usage=usage.STORAGE | usage.COPY_SRC)
        module = device.create_shader_module(code=code)
        pipeline = device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
        entries = [{"binding": number, "resource": {"buffer": buffer}} for number, buffer in enumerate((src, dst))]
        group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
        device.queue.write_buffer(src, 0, source)

        def start() -> None:
            encoder = device.create_command_encoder()
            compute = encoder.begin_compute_pass()
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, group)
            compute.dispatch_workgroups(*groups)
            compute.end()
            device.queue.submit([encoder.finish()])

        def resident() -> None:
            start()
            # The only way to wait is a small read.
            device.queue.read_buffer(dst, 0, 4)

        def result() -> Array:
            return np.frombuffer(device.queue.read_buffer(dst, 0, nbytes), source.dtype).reshape(sizes)

        def through() -> Array:
            device.queue.write_buffer(src, 0, source)
            start()
            return result()

        return Offer(resident=resident, result=result, numpy=through)


_ENTRY = "fn main(@builtin(global_invocation_id) g: vec3<u32>)"


Kernel: TypeAlias = tuple[str, tuple[int, int, int]]
"""A shader whose binding 0 is the source and 1 the destination, and its work groups."""


def _kernel(workload: Workload, x: Array) -> Kernel | None:  # noqa: PLR0911 - one for each kernel
    """The hand-written kernel of a workload; None if there is none."""
    case, sizes = workload.case, workload.result_sizes
    if x.dtype != "float32" or case is None:
        return None
    move = StridedCopy.of(workload)
    if move is not None and move.is_copy:
        return _copy(x) if x.size % 4 == 0 else None
    if move == ((1, 0), (1, 1)):
        return _transpose(x)
    if move == ((0, 2, 3, 1), (1, 1, 1, 1)) and x.shape[:2] == (1, 3):
        return _planes_to_pixels(x)
    if case.op != "resample" or is_of_pixels(case):
        return None
    sampled = sampling(case)
    if sampled == ("linear", False) and x.ndim == 4:
        return _bilinear(x, sizes)
    return _twice(x) if sampled[0] == "nearest" and sizes[-2:] == (2 * x.shape[-2], 2 * x.shape[-1]) else None


def _copy(x: Array) -> Kernel:
    quads = x.size // 4
    columns = min(-(-quads // 256), MAX_GROUPS)
    body = f"let i = g.y * {256 * columns}u + g.x; if (i < {quads}u) {{ dst[i] = src[i]; }}"
    return _shader("vec4<f32>", "256", body), (columns, -(-quads // (256 * columns)), 1)


def _transpose(x: Array) -> Kernel | None:
    """A kernel whose invocations each transpose a block of four by four in registers."""
    if any(size % 4 for size in x.shape):
        return None
    rows, columns = (size // 4 for size in x.shape)
    loads = "".join(f"let {name} = src[b + {number * columns}u]; " for number, name in enumerate("pqrs"))
    stores = "".join(
        f"dst[d + {number * rows}u] = vec4<f32>(p.{part}, q.{part}, r.{part}, s.{part}); "
        for number, part in enumerate("xyzw")
    )
    places = f"let b = g.x * {4 * columns}u + g.y; let d = g.y * {4 * rows}u + g.x; "
    body = f"if (g.x < {rows}u && g.y < {columns}u) {{ {places}{loads}{stores}}}"
    return _shader("vec4<f32>", "8, 8", body), (-(-rows // 8), -(-columns // 8), 1)


def _planes_to_pixels(x: Array) -> Kernel:
    pixels = x.size // 3
    stores = "".join(f"dst[3u * g.x + {number}u] = src[g.x + {number * pixels}u]; " for number in range(3))
    body = f"if (g.x < {pixels}u) {{ {stores}}}"
    return _shader("f32", "256", body), (-(-pixels // 256), 1, 1)


def _bilinear(x: Array, sizes: tuple[int, ...]) -> Kernel:
    (height, width), (rows, columns) = x.shape[2:], sizes[2:]
    body = f"""if (g.x < {columns}u && g.y < {rows}u) {{
    {_coordinate("y", height, rows)}
    {_coordinate("x", width, columns)}
    let upper = g.z * {height * width}u + y0 * {width}u;
    let lower = g.z * {height * width}u + y1 * {width}u;
    let above = mix(src[upper + x0], src[upper + x1], wx);
    let below = mix(src[lower + x0], src[lower + x1], wx);
    dst[g.z * {rows * columns}u + g.y * {columns}u + g.x] = mix(above, below, wy);
}}"""
    groups = -(-columns // 64), -(-rows // 4), math.prod(x.shape[:2])
    return _shader("f32", "64, 4", body), groups


def _coordinate(axis: str, size: int, result: int) -> str:
    """WGSL for two neighbours along an axis and the weight of the second, with half-pixel centres."""
    return (
        f"let f{axis} = max((f32(g.{axis}) + 0.5) * {size / result:.9g}f - 0.5, 0.0); let {axis}0 = u32(f{axis}); "
        f"let {axis}1 = min({axis}0 + 1u, {size - 1}u); let w{axis} = f{axis} - f32({axis}0);"
    )


def _twice(x: Array) -> Kernel:
    height, width = x.shape[-2:]
    places = f"let d = g.z * {4 * height * width}u + g.y * {4 * width}u + g.x * 2u; "
    stores = "".join(f"dst[d + {offset}u] = v; " for offset in (0, 1, 2 * width, 2 * width + 1))
    load = f"let v = src[g.z * {height * width}u + g.y * {width}u + g.x]; "
    body = f"if (g.x < {width}u && g.y < {height}u) {{ {load}{places}{stores}}}"
    return _shader("f32", "32, 8", body), (-(-width // 32), -(-height // 8), math.prod(x.shape[:-2]))


def _shader(element: str, size: str, body: str) -> str:
    return (
        f"@group(0) @binding(0) var<storage, read> src: array<{element}>;\n"
        f"@group(0) @binding(1) var<storage, read_write> dst: array<{element}>;\n"
        f"@compute @workgroup_size({size}) {_ENTRY} {{\n{body}\n}}\n"
    )
