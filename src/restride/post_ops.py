"""Post-ops at the door: relu, clip and linear, done on every result in turn before the destination's scale.

Source: oneDNN specification, Post-ops (eltwise_relu, eltwise_clip, eltwise_linear).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from restride.desc import TensorDesc
from restride.errors import DescriptorError
from restride.scales import as_float32, numbers

NAMES = ("linear", "clip", "relu")
"""Kinds, from 1 on as shaders/include/scales.glsl numbers them."""

MOST = 4


class PostOp(NamedTuple):
    """``linear``: ``first * v + second``; ``clip``: v from ``first`` to ``second``; ``relu``: ``first * v`` below 0.

    Both are numbers that float32 has.
    """

    name: str
    first: float
    second: float


def post_ops(given: Any, desc: TensorDesc) -> tuple[PostOp, ...]:
    """``given``, a sequence of tuples: ("relu",), ("relu", slope), ("clip", low, high), ("linear", factor, term).

    A bound of ``clip`` may be None. NaN stays NaN. The slope of ``relu`` is 0 or more, and the result 0 where it is 0.

    Raises:
        DescriptorError: not such a sequence, or more than four; a number is no number, or out of place.
    """
    if given is None:
        return ()
    members = _members(given, desc)
    if isinstance(given, str) or not all(isinstance(op, tuple | list) and op for op in members):
        raise DescriptorError(f"post_ops must be tuples such as ('relu',) or ('clip', 0, 6), got {given!r}, for {desc}")
    ops = tuple(_post_op(op, desc) for op in members)
    if len(ops) > MOST:
        raise DescriptorError(f"post_ops are {len(ops)}, more than {MOST}, for {desc}")
    return ops


def _members(given: Any, desc: TensorDesc) -> tuple[Any, ...]:
    try:
        return tuple(given)
    except TypeError:
        raise DescriptorError(f"post_ops must be a sequence of tuples, got {given!r}, for {desc}") from None


def _post_op(op: Any, desc: TensorDesc) -> PostOp:
    name, *values = op
    counts = {"linear": (2,), "clip": (2,), "relu": (0, 1)}
    if not isinstance(name, str) or name not in counts:
        raise DescriptorError(f"post_ops has {name!r}, which is none of {', '.join(map(repr, NAMES))}, for {desc}")
    if len(values) not in counts[name]:
        raise DescriptorError(f"post_ops has {op!r}: {name} takes {counts[name][-1]} numbers, for {desc}")
    if name == "clip":
        low = -math.inf if values[0] is None else _number(op, values[0], desc)
        high = math.inf if values[1] is None else _number(op, values[1], desc)
        if low > high:
            raise DescriptorError(f"post_ops has {op!r}, whose low is above its high, for {desc}")
        return PostOp("clip", low, high)
    first, second = (*(_number(op, value, desc) for value in values), 0.0, 0.0)[:2]
    if not (math.isfinite(first) and math.isfinite(second)):
        raise DescriptorError(f"post_ops has {op!r}, whose numbers must be finite as f32, for {desc}")
    if name == "relu" and first < 0:
        raise DescriptorError(f"post_ops has {op!r}: the slope of relu must be 0 or more, for {desc}")
    return PostOp(name, first, second)


def _number(op: Any, value: Any, desc: TensorDesc) -> float:
    number = as_float32(numbers("post_ops", value, desc))
    if number.ndim or np.isnan(number):
        raise DescriptorError(f"post_ops has {op!r}, whose numbers must be numbers, for {desc}")
    return float(number)
