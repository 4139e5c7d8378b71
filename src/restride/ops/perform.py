"""Perform an operation: plan it once for two descriptors, keep the plan, and run it on any tensors that have them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

import numpy as np

from restride.dtypes import Array, DType, is_torch_dtype
from restride.errors import DescriptorError, RestrideError, prefixed, shown
from restride.kernel import Limits
from restride.layout import TensorDesc, as_desc
from restride.layout.argument import is_permutation
from restride.layout.views import from_start, is_movable, moved
from restride.lru import LRU
from restride.ops.target import Out, require_room
from restride.plan.lookup import LookupTable
from restride.plan.steps import Steps
from restride.request.arithmetic import Arithmetic
from restride.tensor.arrays import asarray
from restride.tensor.device import Device
from restride.tensor.tensor import Tensor, as_device, empty
from restride.weights import Resizing

Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")


class Plan:
    """An operation planned for a source of one layout and a result of another.

    ``plan(x)`` and ``plan(x, out=y)`` check descriptors and start the kernels: nothing is computed again. A tensor may
    also begin later in its buffer than the planned one, by a multiple of 16 bytes or, on some GPUs, of 64 or 256 (not
    with the runtime kompute). So one plan, for offset 0, serves all images of a batch.

    Example:
        >>> plan = rs.plan_reorder("f32[2,3]", "f32[3,2]", "AB->BA")
        >>> plan
        <restride.Plan f32[2,3]{1,0} to f32[3,2]{1,0}, 1 steps>
        >>> plan(np.arange(6, dtype=np.float32).reshape(2, 3)).numpy().tolist()
        [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    """

    __slots__ = ("_call", "_dst", "_reads_result", "_src", "_steps")

    def __init__(self, src: TensorDesc, dst: TensorDesc, steps: Steps, *, reads_result: bool = False) -> None:
        """reads_result: the steps add to the result.

        Raises:
            OutOfDeviceMemory: the device has no room for the result.
        """
        if steps.steps:  # a view takes no memory, however often it repeats its elements
            require_room(dst.sizes, dst.dtype, steps.limits)
        self._src = src
        self._dst = dst
        self._steps = steps
        self._reads_result = reads_result
        self._call: tuple[Any, ...] | None = None

    @property
    def src(self) -> TensorDesc:
        """The layout of the source."""
        return self._src

    @property
    def dst(self) -> TensorDesc:
        """The layout of the result."""
        return self._dst

    @property
    def dispatches(self) -> int:
        """How many kernels a call starts. It builds them, as the first call would."""
        return sum(1 for step in self._steps.steps for _ in step.kernels())

    def __call__(self, x: Any, out: Tensor | None = None) -> Tensor:
        """The result for ``x``, in a new tensor or in ``out``.

        Raises:
            DescriptorError: ``x`` or ``out`` has another layout, or begins where the plan does not fit; they share a
                buffer, the plan is for a device of other limits, or it adds to ``out`` and none is given.
        """
        src = source_beside(x, out)
        of_src = self._start_of(src.desc, self._src)
        of_dst = 0 if out is None else self._start_of(out.desc, self._dst)
        if of_src is None:
            raise DescriptorError(f"x is {src.desc}, but the plan is for {self._src}")
        if src.device.limits != self._steps.limits:
            raise DescriptorError(f"the plan for {self._src} is for another device than {src.device!r}")
        if out is None and self._reads_result:
            raise DescriptorError(f"the plan adds to its result, {self._dst}: give it as out")
        if out is not None and of_dst is None:
            raise DescriptorError(f"out is {out.desc}, but the plan makes {self._dst}")
        if out is not None and out.memory is src.memory:
            raise DescriptorError(f"out {out.desc} must have another buffer than x {src.desc}, for a plan")
        return self.run(src, out, (of_src, of_dst or 0))

    def _start_of(self, desc: TensorDesc, planned: TensorDesc) -> int | None:
        """How many bytes later ``desc`` is than ``planned``; None: they differ in more, or in alignment."""
        if desc == planned:
            return 0
        alignment = self._steps.limits.window_alignment
        nbytes = (desc.offset - planned.offset) * desc.dtype.itemsize
        if not alignment or nbytes <= 0 or nbytes % alignment or not is_movable(planned):
            return None
        return nbytes if moved(planned, nbytes) == desc else None

    def run(self, src: Tensor, out: Tensor | None, starts: tuple[int, int] = (0, 0)) -> Tensor:
        """Run the plan without checks, on tensors of its layouts that begin ``starts`` bytes later in their buffers."""
        device = src.device
        result = empty(self._dst, device) if out is None else out
        device.run(self._steps, src.memory, result.memory, starts)
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the call that created the plan; loading plans it again, for the same limits."""
        if self._call is None:
            raise TypeError(f"{self!r} was made inside an operation and does not pickle; plans of rs.plan_reorder do")
        return _planned, self._call

    def __repr__(self) -> str:
        return f"<restride.Plan {self._src} to {self._dst}, {len(self._steps.steps)} steps>"


class ViewPlan(Plan):
    """A plan whose result is a view of its source."""

    __slots__ = ()

    def run(self, src: Tensor, out: Tensor | None, starts: tuple[int, int] = (0, 0)) -> Tensor:  # noqa: ARG002 - out is None
        """Return the view."""
        return Tensor(src.memory, moved(self.dst, starts[0]) if starts[0] else self.dst, src.device)


Planner: TypeAlias = Callable[Concatenate[TensorDesc, Out | None, Limits, Arguments], Plan]
"""Makes a plan from the source, the destination if there is one, a device's limits, and the arguments of a call."""


def source_beside(x: object, out: Tensor | None) -> Tensor:
    """``x`` as a tensor, on the device of ``out`` if there is one."""
    if out is None:
        return x if isinstance(x, Tensor) else asarray(x)
    if not isinstance(out, Tensor):
        raise DescriptorError(f"out must be a restride.Tensor, got {type(out).__name__}; rs.empty(desc) makes one")
    if isinstance(x, Tensor) and x.device is not out.device:
        raise DescriptorError(
            f"out must lie on the device of x, but out {out.desc} is on {out.device!r} and x {x.desc} on {x.device!r}, "
            f"opened separately; x.numpy() copies"
        )
    if out.memory.readonly:
        raise DescriptorError(
            f"out {out.desc} lies in memory that asarray imported from the host with copy=False, which is only read"
        )
    return x if isinstance(x, Tensor) else asarray(x, device=out.device)


def perform(
    planner: Planner[Arguments], x: object, out: Tensor | None, *arguments: Arguments.args, **named: Arguments.kwargs
) -> Tensor:
    """Plan an operation on ``x``, or find its cached plan, and start it."""
    src = source_beside(x, out)
    device, desc = src.device, src.desc
    place = None if out is None else Out(out.desc, out.memory is src.memory)
    if desc.offset or (place and place.desc.offset):
        return _perform_near(planner, src, out, place, arguments, named)
    return _kept(device, planner, (desc, place, device.limits, *arguments), named).run(src, out)


def _perform_near(
    planner: Callable[..., Plan],
    src: Tensor,
    out: Tensor | None,
    place: Out | None,
    arguments: tuple[Any, ...],
    named: dict[str, Any],
) -> Tensor:
    """Perform with the plan for the same layouts near the starts of their buffers: images of a batch share it.

    If source and result share a buffer, both stay where they are, because the plan depends on how they overlap.
    """
    device, limits = src.device, src.device.limits
    near, near_place, starts = src.desc, place, (0, 0)
    if place is None or not place.is_shared:
        near, of_src = from_start(src.desc, limits.window_alignment)
        near_place, of_dst = out_from_start(place, limits.window_alignment)
        starts = of_src, of_dst
    plan, is_near = plan_near(device, planner, (near, near_place), (src.desc, place), limits, *arguments, **named)
    return plan.run(src, out, starts if is_near else (0, 0))


def plan_for(
    planner: Planner[Arguments],
    src: TensorDesc | str,
    dst: TensorDesc | str | None,
    device: Device | None,
    *arguments: Arguments.args,
    **named: Arguments.kwargs,
) -> Plan:
    """The plan of an operation on a source laid out as ``src``, with a result laid out as ``dst``, if that is given."""
    if isinstance(dst, str) and is_permutation(dst):
        raise DescriptorError(f"dst is the layout of the result, and {dst!r} is a permutation: layout={dst!r}")
    if isinstance(dst, tuple | list):
        raise DescriptorError(f"dst is the layout of the result, and {shown(dst)} is none: sizes={shown(dst)}")
    with prefixed("src"):
        source = as_desc(src)
    with prefixed("dst"):
        out = None if dst is None else Out(as_desc(dst), is_shared=False)
    return _planned(planner, (source, out, as_device(device).limits, *arguments), named)


def _planned(planner: Callable[..., Plan], arguments: tuple[object, ...], named: dict[str, Any]) -> Plan:
    plan = cached(planner, *arguments, **named)
    plan._call = planner, arguments, named  # noqa: SLF001 - for __reduce__; equal for all that share the plan
    return plan


def refuse_out(arguments: Mapping[str, object], src: TensorDesc | str) -> None:
    """Refuse ``out`` among the arguments of a plan; typed dictionaries do not list it.

    Raises:
        DescriptorError: the arguments have ``out``.
    """
    if "out" in arguments:
        raise DescriptorError(f"a plan has no out, for {as_desc(src)}: give the layout of out as dst")


# All plans are in one cache. Its keys are the values of the arguments, if these values cannot change.

MAX_PLANS = 512
"""Maximum number of plans and targets that the cache keeps."""

_MAX_ARRAY_BYTES = 1 << 10
_MAX_MEMBERS = 64

_OWN_KEY = frozenset((type(None), str, bool, int, Limits))
"""Types whose values are a key together with their type: True is not 1."""

_IMMUTABLE = _OWN_KEY | {range, Fraction, DType, Arithmetic, Resizing}
_IMMUTABLE_BASES = (type, np.dtype, Limits, Enum)
_LISTS = (tuple, list)

_bytes_of_float = struct.Struct("d").pack


class _NoKeyError(Exception):
    """An argument has no key, since its value may change or be used up."""


_plans: LRU[Any] = LRU(MAX_PLANS)


def cached(make: Callable[Arguments, Value], *arguments: Arguments.args, **named: Arguments.kwargs) -> Value:
    """The result of ``make(*arguments, **named)``, from the cache for equal arguments. Errors are not cached."""
    return _kept(None, make, arguments, named)


def plan_on(
    device: Device, make: Callable[Arguments, Value], *arguments: Arguments.args, **named: Arguments.kwargs
) -> Value:
    """As ``cached``, for an operation on ``device``, which counts its plans."""
    return _kept(device, make, arguments, named)


def plan_near(
    device: Device,
    make: Callable[..., Value],
    near: tuple[object, ...],
    own: tuple[object, ...],
    *arguments: object,
    **named: object,
) -> tuple[Value, bool]:
    """The plan for the layouts ``near`` the starts of their buffers, which the images of a batch share, and True.

    If these layouts are refused: the plan for the caller's ``own`` layouts, which an error then names, and False.
    """
    try:
        return _kept(device, make, (*near, *arguments), named), True
    except RestrideError:
        if near == own or _has_iterator((arguments, named)):  # an iterator was used up by the first call
            raise
    return _kept(device, make, (*own, *arguments), named), False


def out_from_start(out: Out | None, alignment: int) -> tuple[Out | None, int]:
    """As ``from_start``, for the place of a result that has a buffer of its own."""
    if out is None:
        return None, 0
    desc, nbytes = from_start(out.desc, alignment)
    return Out(desc, is_shared=False, is_moved=nbytes > 0), nbytes


def _kept(
    device: Device | None, make: Callable[..., Value], arguments: tuple[Any, ...], named: dict[str, Any]
) -> Value:
    """The result of ``make(*arguments, **named)``, from the cache if it is there; ``device`` counts if it was."""
    key: Any
    try:
        key = make, tuple(named), key_of((*arguments, *named.values()))
    except _NoKeyError:
        key = None
    kept: Value | None = None if key is None else _plans.get(key)
    value = make(*arguments, **named) if kept is None else kept
    if kept is None and key is not None:
        _plans.put(key, value)
    if device is not None:
        device.count_plan(is_kept=kept is not None)
    return value


@lru_cache(maxsize=MAX_PLANS)
def _positions_needing_keys(kinds: tuple[type, ...]) -> tuple[int, ...]:
    """Positions of the members of these types that are not their own key. Cached: it saves 1 us of 4 in each call."""
    return tuple([place for place, kind in enumerate(kinds) if kind not in _OWN_KEY])


def key_of(value: Any, levels: int = 7) -> Any:
    """A hashable key, equal only for equal arguments: 1, 1.0 and True differ, so do 0.0 and -0.0, NaN and -NaN.

    levels: how deeply lists may be nested.

    Raises:
        _NoKeyError: for an iterator, a Tensor, a large array or list, or a type of the caller's.
    """
    kind = type(value)
    if kind is TensorDesc:
        return value, value.parts  # equal descriptors may be written differently
    if kind is Out:  # a tuple too, but this takes half the time
        return key_of(value.desc), value.is_shared, value.is_moved
    if isinstance(value, _LISTS):
        if len(value) > _MAX_MEMBERS or not levels:
            raise _NoKeyError
        kinds = tuple(map(type, value))
        places = _positions_needing_keys(kinds)
        if not places:
            return kind, kinds, tuple(value)
        members = list(value)
        for place in places:
            members[place] = key_of(members[place], levels - 1)
        return kind, kinds, tuple(members)
    key: Any
    if kind is float:
        key = _bytes_of_float(value)
    elif (
        kind in _IMMUTABLE
        or isinstance(value, _IMMUTABLE_BASES)
        or (kind is LookupTable and value.is_small)
        or is_torch_dtype(value)
    ):
        key = (value, _bytes_of_float(value.fill)) if kind is Resizing else value
    elif kind is dict or kind is slice:
        key = key_of((*value, *value.values()) if kind is dict else (value.start, value.stop, value.step), levels)
    elif (isinstance(value, np.generic) or kind is np.ndarray) and _is_small(value):
        key = value.dtype, value.shape, value.tobytes()
    else:
        raise _NoKeyError
    return kind, key


def _has_iterator(value: Any) -> bool:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, _LISTS) else ()
    return isinstance(value, Iterator) or any(map(_has_iterator, members))


def _is_small(array: np.generic | Array) -> bool:
    return array.nbytes <= _MAX_ARRAY_BYTES and not array.dtype.hasobject
