"""How the parameters of a case are written: ``name=value``, by operation.

    integers      offsets=(0,0,-1)
    permutation   permute=NCHW->NHWC
    word          mode=linear
    number        sum_scale=-0.5
    numbers       scales=(2,1/3,0.6): integers, exact fractions and floats
    scale         src_scale=0.5, one for all; src_scale=(1), one for each index along axis 1
    post-ops      post_ops=relu(0.1),clip(0,6),linear(2,-1): one to four, in this order
    window        window=(5:25,:)
    boxes         boxes=(2,3,10,12,-5,0,9,9), y0, x0, y1, x1 of each
    view          view=[1:,::-1].permute(1,0)

What each operation takes is in ``restride_conformance.parameters``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from restride.errors import DescriptorError
from restride.layout.argument import AXIS_NAMES
from restride.layout.tags import parse_tag
from restride_conformance.view_steps import View
from restride_conformance.windows import Window

Number = int | float | Fraction

Value = str | float | tuple[Number, ...] | View | Window
"""What a parameter can be."""

Sizes = tuple[int, ...]


def _no_default(_src: Sizes, _dst: Sizes) -> Value | None:
    return None


@dataclass(frozen=True)
class Parameter:
    """One parameter of an operation.

    read: its value from a text; raises DescriptorError.
    default: its value where it is not written, from the sizes of the source, as the view leaves them, and of the
        destination; None: there is none.
    optional: it may be absent, so that its value is None.
    canonical: the one spelling of a value, for a source of a rank.
    """

    name: str
    read: Callable[[str], Value]
    default: Callable[[Sizes, Sizes], Value | None] = _no_default
    optional: bool = False
    canonical: Callable[[Value, int], Value] = lambda value, _rank: value


def write(value: Value | Fraction) -> str:
    """The text of a value; ``Parameter.read`` reads it back."""
    if isinstance(value, tuple):
        return f"({','.join(map(write, value))})"
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def read_integers(text: str) -> tuple[int, ...]:
    """``(0,0,-1)``. At most 8 numbers, as many as a tensor has axes, of at most 19 digits."""
    if not re.fullmatch(r"\((-?[0-9]{1,19})(,-?[0-9]{1,19}){0,7}\)", text):
        raise DescriptorError(f"{text!r} is not a list of 1 to 8 integers such as (0,0,-1)")
    return tuple(int(number) for number in text[1:-1].split(","))


def read_group_sizes(text: str) -> tuple[int, ...]:
    """``(1,32)``: how many indices along each axis share a scale, each at least 1."""
    sizes = read_integers(text)
    if min(sizes) < 1:
        raise DescriptorError(f"group_sizes {text} must be 1 or more")
    return sizes


_FLOAT = r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:e[+-]?[0-9]{1,2})?"
_LARGEST_WRITTEN = 10**15  # floats from 10^16 on are written with an exponent
_FRACTION = "-?[0-9]{1,19}/[1-9][0-9]{0,18}"


def read_numbers(text: str, most: int = 16) -> tuple[Number, ...]:
    """``(2,1/3,0.6)``: by default two for each axis. A whole number is an integer, a half is a float."""
    number = f"(?:{_FLOAT}|{_FRACTION})"
    if not re.fullmatch(rf"\({number}(?:,{number}){{0,{most - 1}}}\)", text):
        raise DescriptorError(f"{text!r} is not a list of 1 to {most} numbers such as (2,1/3,0.6)")
    return tuple(map(_number, text[1:-1].split(",")))


def _number(text: str) -> Number:
    """The simplest kind that holds it: of ``4/2``, ``2.0`` and ``2`` the last."""
    exact = Fraction(text) if "/" in text else Fraction(repr(float(text)))
    if exact.denominator == 1 and abs(exact) < _LARGEST_WRITTEN:
        return int(exact)
    is_binary = exact.denominator & (exact.denominator - 1) == 0
    return float(exact) if is_binary or "/" not in text else exact


def read_boxes(text: str) -> tuple[Number, ...]:
    """``(2,3,10,12,-5,0.5,9,9)``: four numbers each of at most 8 boxes."""
    return read_numbers(text, 32)


def read_number(text: str) -> float:
    """``-0.5``, ``128`` or ``1e-05``."""
    if not re.fullmatch(_FLOAT, text):
        raise DescriptorError(f"{text!r} is not a number such as 0.5, -4 or 1e-05")
    return float(text) + 0.0  # -0 is 0


def read_scale(text: str) -> Value:
    """``0.5``, or ``(0,2)``: the axes along which it varies."""
    return read_integers(text) if text.startswith("(") else read_number(text)


_POST_OP = rf"[a-z]{{1,10}}(?:\({_FLOAT}(?:,{_FLOAT})?\))?"


def read_post_ops(text: str) -> str:
    """``relu(0.1),clip(0,6)``, each number in its shortest form."""
    if not re.fullmatch(f"{_POST_OP}(?:,{_POST_OP}){{0,3}}", text):
        raise DescriptorError(f"post_ops {text!r} must be one to four, such as relu(0.1),clip(0,6),linear(2,-1)")
    return ",".join(f"{name}{write(tuple(numbers)) if numbers else ''}" for name, *numbers in post_ops_of(text))


def post_ops_of(text: str) -> tuple[tuple[Any, ...], ...]:
    """The argument that a text of ``read_post_ops`` means: (("relu", 0.1), ("clip", 0.0, 6.0))."""
    found = re.findall(rf"([a-z]+)(?:\(({_FLOAT})(?:,({_FLOAT}))?\))?", text)
    return tuple((name, *(read_number(number) for number in numbers if number)) for name, *numbers in found)


def read_permutation(text: str) -> str:
    """``NCHW->NHWC``: the same letters on both sides, at most 8, each once."""
    source, _, destination = text.partition("->")
    if not re.fullmatch("[A-Za-z]{1,8}", source) or sorted(source) != sorted(set(destination)):
        raise DescriptorError(f"{text!r} is not a permutation of letters such as NCHW->NHWC")
    if len(source) != len(destination):
        raise DescriptorError(f"permutation {text!r} must have each letter once on both sides")
    return text


def one_of(what: str, *known: str) -> Callable[[str], str]:
    """A reader of words: the known ones."""

    def read(text: str) -> str:
        if text not in known:
            raise DescriptorError(f"{what} {text!r} is unknown; known: {', '.join(known)}")
        return text

    return read


def changed_axes(src: Sizes, dst: Sizes) -> tuple[int, ...] | None:
    """The axes whose sizes differ, which a resample case means unless it names others; None if none do."""
    if len(src) != len(dst):
        return None
    return tuple(axis for axis in range(len(src)) if src[axis] != dst[axis]) or None


def read_out(text: str) -> str:
    """Where the answer goes instead of to a destination of its own.

    ``same``: into the source's buffer, beside its elements. Others: into one that the operation makes: ``new`` with
    the destination as its layout, ``default`` without a layout, ``any`` with that of the source, or with the layout of
    that name or tag, as ``NHWC`` or ``nChw16c``.
    """
    if text not in ("same", "new", "default", "any") and not re.fullmatch(
        f"[{AXIS_NAMES}]{{1,{len(AXIS_NAMES)}}}", text
    ):
        try:
            parse_tag(text)
        except DescriptorError as error:
            raise DescriptorError(
                f"out {text!r} is unknown; known: same, new, default, any, names such as NHWC, tags as nhwc: {error}"
            ) from error
    return text


def from_0(axes: Value, rank: int) -> Value:
    """Axes counted from the first one; -1 is the last."""
    if not isinstance(axes, tuple):
        return axes
    return tuple(axis + rank if -rank <= axis < 0 else axis for axis in axes)


def in_order(axes: Value, rank: int) -> Value:
    """Axes counted from the first one, in ascending order; a number as it is."""
    counted = from_0(axes, rank)
    return tuple(sorted(counted)) if isinstance(counted, tuple) else counted
