"""Run a case in work groups of each shape that the device takes, and judge whether the shape decides if it is right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from restride.kernel import KernelSpec
from restride.kernel.shared_constants import GROUP_SIZE
from restride.runtime import Memory, Runtime
from restride.runtime.instance import physical_devices
from restride_conformance.record import ONE_SIZE, Outcome, ShaderUnderTest, SmallDevice, Verdict, worst
from restride_conformance.run.limits import BOUNDS
from restride_conformance.shader import module_source
from restride_conformance.shader.groups import SHAPES, Shape, reshaped, shapes_of, shapes_of_shader, usual_shape

ShapesOf = Callable[[str], Sequence[Shape]]
"""A function that returns the shapes, besides the usual one, that the groups of a module may have."""


def shapes_on(index: int, limits: SmallDevice | None) -> tuple[Shape, ...]:
    """The shapes that the device of this index takes, narrowed to ``limits``; the usual one first."""
    physical = physical_devices()[index]
    if limits is not None:
        physical = BOUNDS[limits].narrowed(physical)
    return tuple(shape for shape in SHAPES if shape.size <= max(physical.max_group_size, GROUP_SIZE))


def shapes_under(shader: ShaderUnderTest | None) -> ShapesOf:
    """The shapes of each module; with a shader under test, that one alone has several.

    Raises:
        DescriptorError: the shader has one shape.
    """
    if shader is None:
        return shapes_of
    shapes = shapes_of_shader(module_source(shader)(shader.module), shader.module)
    return lambda module: shapes if module == shader.module else ()


class GroupedRuntime:
    """A ``Runtime`` that wraps another and dispatches each module in groups of ``shape``, if the module has that shape.

    The wrapped runtime is opened with a source of modules ``with_shapes``.

    shape: None: the usual one.
    shapes: the shapes that the device takes.
    modules: the modules dispatched since ``regroup`` that have other shapes than the usual one.
    """

    def __init__(self, runtime: Runtime, shapes: Sequence[Shape] = SHAPES, shapes_of: ShapesOf = shapes_of) -> None:
        self._runtime = runtime
        self.shapes = shapes
        self.shapes_of = shapes_of
        self.regroup(None)

    def regroup(self, shape: Shape | None) -> None:
        """Dispatch in groups of ``shape`` from now on."""
        self.shape = shape
        self.modules: set[str] = set()

    @property
    def groups(self) -> str:
        """The text of the shape; empty for the usual one."""
        return "" if self.shape is None else str(self.shape)

    def submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory]) -> None:
        self._runtime.submit(self._reshaped(kernels), memories)

    def copy(
        self,
        src: Memory,
        dst: Memory,
        nbytes: int,
        src_offset: int = 0,
        dst_offset: int = 0,
        kernels: Sequence[KernelSpec] = (),
    ) -> None:
        self._runtime.copy(src, dst, nbytes, src_offset, dst_offset, self._reshaped(kernels))

    def _reshaped(self, kernels: Sequence[KernelSpec]) -> list[KernelSpec]:
        self.modules.update(kernel.shader for kernel in kernels if self.shapes_of(kernel.shader))
        return [
            reshaped(kernel, self.shape, self._runtime.limits)
            if self.shape is not None and self.shape in self.shapes_of(kernel.shader)
            else kernel
            for kernel in kernels
        ]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)


def run_in_groups(runtime: GroupedRuntime, run: Callable[[], Outcome]) -> Outcome:
    """Run a case by ``run`` in each shape of groups that one of its modules has, and return one outcome.

    A case that is right in some shapes and wrong in others is run again, in one shape of each kind. Its verdict is that
    of the wrong shape if both verdicts are as before, else FLAKY. A case that dispatches no kernel runs once, and its
    message says so.

    Raises:
        Exception: whatever ``run`` raises.
    """
    usual = _run(runtime, None, run)
    if usual.verdict in (Verdict.SKIPPED, Verdict.UNIMPLEMENTED):
        return usual
    modules = runtime.modules
    taken = {shape for module in modules for shape in runtime.shapes_of(module)}
    if not taken:
        reason = f"{ONE_SIZE}: no kernel is dispatched"
        return replace(usual, message="\n".join([*filter(None, [usual.message]), reason]))
    outcomes: dict[Shape | None, Outcome] = {None: usual}
    for shape in runtime.shapes:
        if shape in taken:
            outcomes[shape] = _run(runtime, shape, run)
    seconds = sum(outcome.seconds for outcome in outcomes.values())
    right = [shape for shape, outcome in outcomes.items() if outcome.verdict.is_right]
    wrong = [shape for shape in outcomes if shape not in right]
    if not wrong:
        return replace(usual, seconds=seconds)
    worse = outcomes[wrong[0]]
    usual_text = " and ".join(sorted({str(usual_shape(module)) for module in modules}))

    def text(shapes: Iterable[Shape | None]) -> str:
        return ", ".join(str(shape or usual_text) for shape in shapes)

    if not right:
        verdict, line = worst(outcome.verdict for outcome in outcomes.values()), f"wrong with groups of {text(wrong)}"
    else:
        line = f"right with groups of {text(right)}, wrong with {text(wrong)}"
        again = (right[0], wrong[0])
        changed = [shape for shape in again if _run(runtime, shape, run).verdict != outcomes[shape].verdict]
        verdict = Verdict.FLAKY if changed else worse.verdict
        if changed:
            line += f"; another verdict when run again with {text(changed)}"
    return replace(worse, verdict=verdict, message=f"{line}\n{worse.message}", seconds=seconds)


def in_groups(outcome: Outcome, groups: str) -> Outcome:
    """The outcome of a run in groups of this shape, which its message names; unchanged for the usual one."""
    if not groups:
        return outcome
    return replace(outcome, groups=groups, message=f"{outcome.message}\nin work groups of {groups}")


def _run(runtime: GroupedRuntime, shape: Shape | None, run: Callable[[], Outcome]) -> Outcome:
    runtime.regroup(shape)
    return replace(run(), groups=runtime.groups)
