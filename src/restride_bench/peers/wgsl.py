"""WGSL: the kernels that somebody would write for WebGPU, for the few workloads where one is short."""

from __future__ import annotations

import math
from dataclasses import dataclass

from restride_bench.tasks import Array, Move, Resize, Task

_ENTRY = "fn main(@builtin(global_invocation_id) g: vec3<u32>)"
_MOST_GROUPS = 65535


@dataclass(frozen=True)
class Kernel:
    """A shader whose binding 0 is the source and 1 the destination, and its work groups."""

    code: str
    groups: tuple[int, int, int]


def kernel(  # noqa: PLR0911 - one for each kernel
    task: Task, x: Array, sizes: tuple[int, ...]
) -> Kernel | None:
    """The kernel of a task; None: nobody wrote one."""
    if x.dtype != "float32":
        return None
    match task:
        case Move() if not task.is_a_view:
            return _copy(x) if x.size % 4 == 0 else None
        case Move((1, 0), ()):
            return _transpose(x)
        case Move((0, 2, 3, 1), ()) if x.shape[:2] == (1, 3):
            return _planes_to_pixels(x)
        case Resize(_, "linear", False, False) if x.ndim == 4:
            return _bilinear(x, sizes)
        case Resize((rows, columns), "nearest") if (rows, columns) == (2 * x.shape[-2], 2 * x.shape[-1]):
            return _twice(x)
        case _:
            return None


def _copy(x: Array) -> Kernel:
    fours = x.size // 4
    columns = min(-(-fours // 256), _MOST_GROUPS)
    body = f"let i = g.y * {256 * columns}u + g.x; if (i < {fours}u) {{ dst[i] = src[i]; }}"
    return Kernel(_shader("vec4<f32>", "256", body), (columns, -(-fours // (256 * columns)), 1))


def _transpose(x: Array) -> Kernel | None:
    """A block of four by four for each invocation, through its registers."""
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
    return Kernel(_shader("vec4<f32>", "8, 8", body), (-(-rows // 8), -(-columns // 8), 1))


def _planes_to_pixels(x: Array) -> Kernel:
    pixels = x.size // 3
    stores = "".join(f"dst[3u * g.x + {number}u] = src[g.x + {number * pixels}u]; " for number in range(3))
    body = f"if (g.x < {pixels}u) {{ {stores}}}"
    return Kernel(_shader("f32", "256", body), (-(-pixels // 256), 1, 1))


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
    return Kernel(_shader("f32", "64, 4", body), groups)


def _coordinate(axis: str, size: int, result: int) -> str:
    """Two neighbours along an axis and the weight of the second, half-pixel centres."""
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
    return Kernel(_shader("f32", "32, 8", body), (-(-width // 32), -(-height // 8), math.prod(x.shape[:-2])))


def _shader(element: str, size: str, body: str) -> str:
    return (
        f"@group(0) @binding(0) var<storage, read> src: array<{element}>;\n"
        f"@group(0) @binding(1) var<storage, read_write> dst: array<{element}>;\n"
        f"@compute @workgroup_size({size}) {_ENTRY} {{\n{body}\n}}\n"
    )
