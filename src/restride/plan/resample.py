"""Plan of a resampling: plain axes walked by stride, resampled axes through exact tables."""

from __future__ import annotations

from collections.abc import Iterator

from restride.kernel import KernelSpec, Limits
from restride.plan.axes import Problem, in_words
from restride.plan.conversion import ELEMENT_TYPES
from restride.plan.elements import plan_elements

LINEAR_TYPES = {name: ELEMENT_TYPES[name] for name in ("f32", "f16", "bf16", "u8", "s8", "s32")}
"""Element types that can be interpolated, as shaders/include/types.glsl numbers them."""


def plan_nearest(problem: Problem, limits: Limits, specialised: bool) -> Iterator[KernelSpec]:
    """Dispatches that take the nearest element, bit for bit, for any element type."""
    if problem.itemsize == 8:
        problem = in_words(problem)
    return plan_elements(problem, limits, specialised, "resample_nearest")


def plan_linear(problem: Problem, dtype: str, limits: Limits, specialised: bool) -> Iterator[KernelSpec]:
    """Dispatches that interpolate linearly along every axis that has a table."""
    slots = sum(not axis.is_plain for axis in problem.axes)
    return plan_elements(problem, limits, specialised, "resample_linear", (LINEAR_TYPES[dtype], slots))
