"""Tiles and blocks, in and out: against a transpose of as many bytes; partial tiles against whole ones."""

from __future__ import annotations

from collections.abc import Iterator

from restride_bench.catalogue.scale import Scale
from restride_bench.tasks import Relayout
from restride_bench.workload import Goal, Rival, Workload

_GROUP = "tiles and blocks"
_TRANSPOSE, _WHOLE = "own transpose", "own whole tiles"


def layouts(scale: Scale) -> tuple[Workload, ...]:
    """XLA's tiles, with sub-tiles for narrow types, and oneDNN's blocks."""
    square, maps, kernels = scale.square, scale("8,64,56,56", "2,32,6,6"), scale("512,512,3,3", "32,32,3,3")
    thin = scale("8,60,56,56", "2,28,6,6")
    return (
        *_both("f32 4096x4096 T(8,128)", f"f32[{square}]", "{1,0:T(8,128)}", square),
        *_both("f32 8x64x56x56 nChw16c", f"f32[{maps}]", ":nChw16c", scale("512,3136", "64,36")),
        *_both("f32 512x512x3x3 OIhw16i16o", f"f32[{kernels}]", ":OIhw16i16o", scale("1536,1536", "96,96")),
        *_both("bf16 4096x4096 T(8,128)(2,1)", f"bf16[{square}]", "{1,0:T(8,128)(2,1)}", square, is_goal=False),
        *_both("s8 512x512x3x3 OIhw4i16o4i", f"s8[{kernels}]", ":OIhw4i16o4i", scale("1536,1536", "96,96"), False),
        *_partial("f32 4091x4076 T(8,128)", f"f32[{scale('4091,4076', '61,60')}]", "{1,0:T(8,128)}", f"f32[{square}]"),
        *_partial("f32 4091x4077 T(8,128)", f"f32[{scale('4091,4077', '61,61')}]", "{1,0:T(8,128)}", f"f32[{square}]"),
        *_partial("f32 8x60x56x56 nChw16c", f"f32[{thin}]", ":nChw16c", f"f32[{maps}]"),
    )


def _both(name: str, plain: str, ending: str, transposed: str, is_goal: bool = True) -> Iterator[Workload]:
    matrix = f"{plain.split('[', maxsplit=1)[0]}[{transposed}]"
    rivals = (Rival(_TRANSPOSE, matrix + "{1,0}", Relayout(matrix + "{0,1}")),)
    goals = (Goal(_TRANSPOSE, 1.5),) if is_goal else ()
    yield Workload(f"{name} in", _GROUP, plain, Relayout(plain + ending), goals, rivals)
    yield Workload(f"{name} out", _GROUP, plain + ending, Relayout(plain), goals, rivals)


def _partial(name: str, plain: str, ending: str, whole: str) -> Iterator[Workload]:
    goals = (Goal(_WHOLE, 1.3),)
    for way, before, after in (("in", "", ending), ("out", ending, "")):
        rivals = (Rival(_WHOLE, whole + before, Relayout(whole + after)),)
        yield Workload(f"{name} {way}", _GROUP, plain + before, Relayout(plain + after), goals, rivals)
