"""Plan: an operation between two descriptors, made once, to be run on any tensors that have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

from restride.errors import DescriptorError
from restride.kernel import Limits
from restride.layout import TensorDesc
from restride.ops.cache import remembered
from restride.ops.target import Given
from restride.plan.steps import Steps
from restride.tensor.arrays import asarray
from restride.tensor.tensor import Tensor, empty


class Plan:
    """What an operation does to a source of one layout, to make a result of another.

    ``plan(x)`` and ``plan(x, out=y)`` check descriptors and start the kernels: nothing is computed again.
    """

    __slots__ = ("_dst", "_reads_result", "_src", "_steps")

    def __init__(self, src: TensorDesc, dst: TensorDesc, steps: Steps, *, reads_result: bool = False) -> None:
        self._src = src
        self._dst = dst
        self._steps = steps
        self._reads_result = reads_result

    @property
    def src(self) -> TensorDesc:
        """The layout that it reads."""
        return self._src

    @property
    def dst(self) -> TensorDesc:
        """The layout that it makes."""
        return self._dst

    def __call__(self, x: Any, out: Tensor | None = None) -> Tensor:
        """The result for ``x``, in a new tensor or in ``out``.

        Raises:
            DescriptorError: ``x`` or ``out`` is laid out otherwise, they share a buffer, the plan is for a device of
                other limits, or it adds to an ``out`` that is not given.
        """
        src = source_beside(x, out)
        if src.desc != self._src:
            raise DescriptorError(f"x is {src.desc}, but the plan is for {self._src}")
        if src.device.limits != self._steps.limits:
            raise DescriptorError(f"the plan for {self._src} is for another device than {src.device!r}")
        if out is None and self._reads_result:
            raise DescriptorError(f"the plan adds to its result, {self._dst}: give it as out")
        if out is not None and out.desc != self._dst:
            raise DescriptorError(f"out is {out.desc}, but the plan makes {self._dst}")
        if out is not None and out.memory is src.memory:
            raise DescriptorError(f"out {out.desc} must have another buffer than x {src.desc}, for a plan")
        return self.run(src, out)

    def run(self, src: Tensor, out: Tensor | None) -> Tensor:
        """The same without checks, for whoever made the plan for these very tensors."""
        result = empty(self._dst, src.device) if out is None else out
        src.device.run(self._steps, src.memory, result.memory)
        return result

    def __repr__(self) -> str:
        return f"<restride.Plan {self._src} to {self._dst}, {len(self._steps.steps)} steps>"


Planner = Callable[..., Plan]
"""Makes a plan of ``src``, ``out`` (a ``Given`` or None), ``limits`` and the arguments of an operation."""


def source_beside(x: Any, out: Tensor | None) -> Tensor:
    """``x`` on the device that ``out`` lies on."""
    if out is None:
        return x if isinstance(x, Tensor) else asarray(x)
    if not isinstance(out, Tensor):
        raise DescriptorError(f"out must be a restride.Tensor, got {type(out).__name__}; rs.empty(desc) makes one")
    is_tensor = isinstance(x, Tensor)
    if is_tensor and x.device is not out.device:
        raise DescriptorError(
            f"out must lie on the device of x, but out {out.desc} is on {out.device!r} and x {x.desc} on {x.device!r}, "
            f"opened separately; x.numpy() copies"
        )
    if out.memory.readonly:
        raise DescriptorError(
            f"out {out.desc} lies in memory that asarray imported from the host with copy=False, which is only read"
        )
    return x if is_tensor else asarray(x, device=out.device)


class Unplaced(NamedTuple):
    """A source that is a layout alone: an operation called with it gives its plan in place of a result."""

    src: TensorDesc
    out: Given | None
    limits: Limits


def perform(planner: Planner, x: Any, out: Tensor | None, **arguments: Any) -> Tensor:
    """Plan an operation on ``x``, or find its plan again, and start it; of what is ``Unplaced``, the plan alone."""
    if type(x) is Unplaced:
        if out is not None:
            raise DescriptorError(f"a plan has no out, for {x.src}: dst is the layout of it")
        return cast(Tensor, remembered(planner, {**arguments, **x._asdict()}))  # restride.ops.plans knows better
    src = source_beside(x, out)
    arguments["src"] = src.desc
    arguments["out"] = None if out is None else Given(out.desc, out.memory is src.memory)
    arguments["limits"] = src.device.limits
    return remembered(planner, arguments).run(src, out)
