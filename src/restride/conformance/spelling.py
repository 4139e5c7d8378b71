"""How the parameters of a case are written: ``name=value``, by operation.

    integers      offsets=(0,0,-1)
    permutation   permute=NCHW->NHWC
    word          mode=linear
    number        sum_scale=-0.5
    scale         src_scale=0.5, one for all; src_scale=(1), one for each index along axis 1
    view          view=[1:,::-1].permute(1,0)

A new operation or parameter is a line in ``PARAMETERS``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from restride.arithmetic import ROUNDINGS
from restride.conformance.view_steps import View
from restride.desc.tags import parse_tag
from restride.errors import DescriptorError
from restride.layout import AXIS_NAMES

Value = str | float | tuple[int, ...] | View
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


def write(value: Value) -> str:
    """The text of a value; ``Parameter.read`` reads it back."""
    if isinstance(value, tuple):
        return f"({','.join(map(str, value))})"
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


def read_number(text: str) -> float:
    """``-0.5``, ``128`` or ``1e-05``."""
    if not re.fullmatch(r"-?[0-9]{1,20}(\.[0-9]{1,20})?(e[+-]?[0-9]{1,2})?", text):
        raise DescriptorError(f"{text!r} is not a number such as 0.5, -4 or 1e-05")
    return float(text) + 0.0  # -0 is 0


def read_scale(text: str) -> Value:
    """``0.5``, or ``(0,2)``: the axes along which it varies."""
    return read_integers(text) if text.startswith("(") else read_number(text)


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


_EVERYWHERE = (
    Parameter("view", View.read, optional=True),
    Parameter("data", one_of("data", "index", "image", "edges", "bits"), optional=True),
    Parameter("out", read_out, optional=True),
)

SCALES = ("src_scale", "src_zero_point", "dst_scale", "dst_zero_point")
"""Parameters that are a number, or the axes along which an array varies."""

ARITHMETIC = (
    *(Parameter(name, read_scale, optional=True, canonical=in_order) for name in SCALES),
    Parameter("group_sizes", read_group_sizes, optional=True),
    Parameter("sum_scale", read_number, optional=True),
    Parameter("rounding", one_of("rounding", *ROUNDINGS), lambda _src, _dst: ROUNDINGS[0]),
    Parameter("saturate", one_of("saturate", "yes", "no"), lambda _src, _dst: "yes"),
    Parameter("rounds_first", one_of("rounds_first", "yes", "no"), lambda _src, _dst: "no"),
)
"""Parameters that change values, not places."""

PARAMETERS: dict[str, tuple[Parameter, ...]] = {
    "slice": (
        Parameter("offsets", read_integers),
        Parameter("sizes", read_integers),
        Parameter("strides", read_integers),
        *_EVERYWHERE,
    ),
    "reorder": (Parameter("permute", read_permutation, optional=True), *ARITHMETIC, *_EVERYWHERE),
    "resample": (
        Parameter("mode", one_of("mode", "nearest", "linear")),
        Parameter("axes", read_integers, changed_axes, canonical=from_0),
        *_EVERYWHERE,
    ),
}
"""The parameters of every operation, in the order in which they are written."""
