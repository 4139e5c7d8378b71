"""How the parameters of a case are written: ``name=value``, by operation.

    integers      offsets=(0,0,-1)
    permutation   permute=NCHW->NHWC
    word          mode=linear

A new operation or parameter is a line in ``PARAMETERS``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from restride.desc import TensorDesc
from restride.errors import DescriptorError

Value = str | tuple[int, ...]
"""What a parameter can be."""


def _no_default(_src: TensorDesc, _dst: TensorDesc) -> Value | None:
    return None


@dataclass(frozen=True)
class Parameter:
    """One parameter of an operation.

    read: its value from a text; raises DescriptorError.
    default: its value where it is not written, from source and destination; None: there is none.
    optional: it may be absent, so that its value is None.
    """

    name: str
    read: Callable[[str], Value]
    default: Callable[[TensorDesc, TensorDesc], Value | None] = _no_default
    optional: bool = False


def write(value: Value) -> str:
    """The text of a value; ``Parameter.read`` reads it back."""
    return value if isinstance(value, str) else f"({','.join(map(str, value))})"


def read_integers(text: str) -> tuple[int, ...]:
    """``(0,0,-1)``. At most 8 numbers, as many as a tensor has axes, of at most 19 digits."""
    if not re.fullmatch(r"\((-?[0-9]{1,19})(,-?[0-9]{1,19}){0,7}\)", text):
        raise DescriptorError(f"{text!r} is not a list of 1 to 8 integers such as (0,0,-1)")
    return tuple(int(number) for number in text[1:-1].split(","))


def read_permutation(text: str) -> str:
    """``NCHW->NHWC``: the same letters on both sides, at most 8, each once."""
    source, _, destination = text.partition("->")
    if not re.fullmatch("[A-Za-z]{1,8}", source) or sorted(source) != sorted(set(destination)):
        raise DescriptorError(f"{text!r} is not a permutation of letters such as NCHW->NHWC")
    if len(source) != len(destination):
        raise DescriptorError(f"permutation {text!r} must have each letter once on both sides")
    return text


def read_mode(text: str) -> str:
    """``nearest`` or ``linear``."""
    if text not in ("nearest", "linear"):
        raise DescriptorError(f"mode {text!r} is unknown; known: nearest, linear")
    return text


def changed_axes(src: TensorDesc, dst: TensorDesc) -> tuple[int, ...] | None:
    """The axes whose sizes differ, which a resample case means unless it names others; None if none do."""
    if src.rank != dst.rank:
        return None
    return tuple(axis for axis in range(src.rank) if src.sizes[axis] != dst.sizes[axis]) or None


PARAMETERS: dict[str, tuple[Parameter, ...]] = {
    "slice": (
        Parameter("offsets", read_integers),
        Parameter("sizes", read_integers),
        Parameter("strides", read_integers),
    ),
    "reorder": (Parameter("permute", read_permutation, optional=True),),
    "resample": (Parameter("mode", read_mode), Parameter("axes", read_integers, changed_axes)),
}
"""The parameters of every operation, in the order in which they are written."""
