"""Growth: the same few tasks at one size after the other, and at one number of axes after the other."""

from __future__ import annotations

import math

from restride.dtypes import as_dtype
from restride_bench.tasks import Convert, Move, Resize, result_dtype, result_sizes
from restride_bench.workload import Workload

BY_BYTES = ("copy", "transpose", "u8 -> f32", "bilinear, twice the size")
BY_AXES = "axes reversed"
"""Groups: what is drawn over the bytes of its result, and over its axes."""

_MOST_EXPONENT = 30
"""A result of 1 GiB. What does not fit the device is skipped."""

_SIZES = (
    (4194304,),
    (2048, 2048),
    (160, 160, 160),
    (48, 44, 44, 44),
    (24, 20, 20, 20, 20),
    (16, 12, 12, 12, 12, 12),
    (16, 8, 8, 8, 8, 8, 8),
    (8, 8, 8, 6, 6, 6, 6, 6),
)
"""Some four million elements along 1 to 8 axes, which are 16 MB of f32."""


def growth(is_small: bool = False) -> tuple[Workload, ...]:
    """Every workload. Small: of a few bytes and axes, to see that all works."""
    exponents, ranks = ((10, 12), (1, 3)) if is_small else (range(10, _MOST_EXPONENT + 1), range(1, 9))
    by_bytes = [
        Workload(f"{group}, {bytes_text(1 << exponent)}", group, *_of_bytes(group, exponent))
        for group in BY_BYTES
        for exponent in exponents
    ]
    by_axes = [
        Workload(f"{BY_AXES}, {rank}", BY_AXES, f"f32[{_text(_SIZES[rank - 1])}]", Move(tuple(range(rank))[::-1]))
        for rank in ranks
    ]
    return (*by_bytes, *by_axes)


def result_elements(workload: Workload) -> int:
    """Elements that a workload makes."""
    return math.prod(result_sizes(workload.task, workload.desc.sizes))


def result_bytes(workload: Workload) -> int:
    """Bytes that a workload makes."""
    return result_elements(workload) * as_dtype(result_dtype(workload.task, workload.desc.dtype.name)).itemsize


def bytes_text(nbytes: int) -> str:
    """``64 KiB`` for 65536: a power of two."""
    exponent = nbytes.bit_length() - 1
    return f"{1 << exponent % 10} {('B', 'KiB', 'MiB', 'GiB')[exponent // 10]}"


def _of_bytes(group: str, exponent: int) -> tuple[str, Move | Convert | Resize]:
    """Source and task that make ``2 ** exponent`` bytes of f32, of as many rows as columns or twice as many.

    Of 2^13 bytes there are 2^11 elements, 64 x 32.
    """
    elements = exponent - 2
    columns = elements // 2
    rows = elements - columns
    match group:
        case "copy":
            return f"f32[{1 << elements}]", Move((0,))
        case "transpose":
            return f"f32[{1 << rows},{1 << columns}]", Move((1, 0))
        case "u8 -> f32":
            return f"u8[{1 << elements}]", Convert("f32")
        case _:
            return f"f32[{1 << rows - 1},{1 << columns - 1}]", Resize((1 << rows, 1 << columns))


def _text(sizes: tuple[int, ...]) -> str:
    return ",".join(map(str, sizes))
