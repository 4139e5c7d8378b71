"""The syntax of parameter values in a case, as in ``mode=linear``: their types, their readers and their text.

    integers      offsets=(0,0,-1)
    permutation   permute=NCHW->NHWC
    word          mode=linear
    number        sum_scale=-0.5
    numbers       scales=(2,1/3,0.6): integers, exact fractions and floats
    scale         src_scale=0.5: one for all; src_scale=(1): one for each index along axis 1;
                  src_scale=1:(0.5,-2): these for the indices along axis 1
    post-ops      post_ops=relu(0.1),clip(0,6),linear(2,-1): one to four, in this order
    window        window=(5:25,:): part of the result along each resampled axis
    boxes         boxes=(2,3,10,12,-5,0,9,9): y0, x0, y1, x1 of each
    pattern       pattern=b,(h,s),w->b,h,(s,w): as for rs.rearrange, with commas for blanks
    lengths       lengths=h=2,s=3
    descriptor    other=f64[5]{0:T(2)}
    view          view=[1:,::-1].permute(2,0,1).broadcast_to(4,2,3).reshape(4,6)

The steps of a view go from left to right, without blanks: ``[...]`` is numpy's basic indexing (integers, slices,
``...``, ``None``), the others are the methods of ``restride.Tensor``. A view never copies.
``restride_conformance.case`` says which parameters each operation takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

from restride.errors import DescriptorError, did_you_mean
from restride.layout import TensorDesc
from restride.layout.argument import AXIS_NAMES
from restride.layout.pattern import Pattern
from restride.layout.tags import parse_tag
from restride.layout.text import cut
from restride.tensor.tensor import Tensor

MAX_STEPS = 16
_MAX_AXES = 8

_STEP = re.compile(r"\[([^\[\]]*)\]|\.(permute|broadcast_to|reshape)\(([^()]*)\)")
_INTEGER = "-?[0-9]{1,19}"
_SPAN = re.compile(f"({_INTEGER})?:({_INTEGER})?(?::({_INTEGER})?)?")
_NUMBERS = {"permute": _INTEGER, "broadcast_to": "[0-9]{1,19}", "reshape": "[0-9]{1,19}|-1"}


class SliceItem(NamedTuple):
    """A slice, ``start:stop:step``; a step of 1 is stored as None."""

    start: int | None
    stop: int | None
    step: int | None

    def __str__(self) -> str:
        start, stop, step = ("" if number is None else str(number) for number in self)
        return f"{start}:{stop}" + (f":{step}" if step else "")


Item = int | SliceItem | EllipsisType | None


@dataclass(frozen=True)
class Indexing:
    """Basic indexing: one item per axis, ``...`` or ``None`` (a new axis)."""

    items: tuple[Item, ...]

    def __str__(self) -> str:
        return f"[{','.join('...' if item is Ellipsis else str(item) for item in self.items)}]"

    @property
    def key(self) -> tuple[Any, ...]:
        """The items as the Python index that the brackets stand for."""
        return tuple(slice(*item) if isinstance(item, SliceItem) else item for item in self.items)


@dataclass(frozen=True)
class Call:
    """A call of a ``Tensor`` method with integer arguments."""

    method: str
    numbers: tuple[int, ...]

    def __str__(self) -> str:
        return f".{self.method}({','.join(map(str, self.numbers))})"


@dataclass(frozen=True)
class View:
    """A view as its steps, in the order in which they are applied; ``View.read(str(view)) == view``."""

    steps: tuple[Indexing | Call, ...]

    @classmethod
    def read(cls, text: str) -> View:
        """Read a view from its text.

        Raises:
            DescriptorError: the text does not follow the syntax.
        """
        steps: list[Indexing | Call] = []
        position = 0
        while position < len(text):
            match = _STEP.match(text, position)
            if match is None or len(steps) == MAX_STEPS:
                raise DescriptorError(
                    f"view {cut(text)} is not 1 to {MAX_STEPS} steps such as [1:,::-1] or .permute(1,0), at "
                    f"{cut(text[position:])}"
                )
            items, method, numbers = match.groups()
            is_index = method is None
            steps.append(
                Indexing(tuple(map(_read_item, items.split(",")))) if is_index else _read_call(method, numbers)
            )
            position = match.end()
        if not steps:
            raise DescriptorError("a view has at least one step, such as [::-1]")
        return cls(tuple(steps))

    def __str__(self) -> str:
        return "".join(map(str, self.steps))

    def sizes(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """The sizes of the view of a tensor with ``sizes``, by numpy's rules; allocates no elements.

        Raises:
            DescriptorError: numpy refuses the view, or it has more than 8 axes.
        """
        *_, viewed = self._shapes(sizes)
        if len(viewed) > _MAX_AXES:
            raise DescriptorError(f"view {self} of sizes {list(sizes)} has {len(viewed)} axes, more than {_MAX_AXES}")
        return viewed

    def most_elements(self, sizes: tuple[int, ...]) -> int:
        """The number of elements of the largest array between steps, which numpy copies if it cannot reshape a view."""
        return max(map(prod, self._shapes(sizes)))

    def _shapes(self, sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
        try:
            # All strides are 0, so one byte stands for all elements, and any reshape is a view.
            everywhere = np.lib.stride_tricks.as_strided(np.zeros((), np.int8), sizes, (0,) * len(sizes))
            return [array.shape for array in self._arrays(everywhere)]
        except (IndexError, ValueError, OverflowError) as error:
            raise DescriptorError(f"view {self} does not fit sizes {list(sizes)}: {error}") from error

    def of_array(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The view of a numpy array; numpy may copy where it reshapes."""
        *_, viewed = self._arrays(array)
        return viewed

    def _arrays(self, array: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
        """Yield the array after each step."""
        for step in self.steps:
            if isinstance(step, Indexing):
                # With an Ellipsis, numpy returns an array even where integers alone would return a scalar.
                array = array[step.key if Ellipsis in step.items else (*step.key, Ellipsis)]
            elif step.method == "permute":
                array = array.transpose(step.numbers)
            elif step.method == "broadcast_to":
                array = np.broadcast_to(array, step.numbers)
            else:
                array = array.reshape(step.numbers)
            yield array

    def of_tensor(self, tensor: Tensor) -> Tensor:
        """The view of a ``restride.Tensor``, by its public methods.

        Raises:
            DescriptorError: the tensor has no such view.
        """
        for step in self.steps:
            tensor = tensor[step.key] if isinstance(step, Indexing) else getattr(tensor, step.method)(*step.numbers)
        return tensor


def _read_item(text: str) -> Item:
    if text in ("None", "..."):
        return None if text == "None" else Ellipsis
    return int(text) if re.fullmatch(_INTEGER, text) else _read_span(text)


def _read_span(text: str) -> SliceItem:
    span = _SPAN.fullmatch(text)
    if span is None:
        raise DescriptorError(f"{cut(text)} in a view is no integer, slice, '...' or None")
    start, stop, step = (None if number is None else int(number) for number in span.groups())
    return SliceItem(start, stop, None if step == 1 else step)


def _read_call(method: str, text: str) -> Call:
    numbers = text.split(",") if text else []
    if len(numbers) > _MAX_AXES or not all(re.fullmatch(_NUMBERS[method], number) for number in numbers):
        raise DescriptorError(f".{method}({cut(text)}) in a view needs at most {_MAX_AXES} integers")
    return Call(method, tuple(map(int, numbers)))


_PART = "(?:[0-9]{1,19})?:(?:[0-9]{1,19})?"


@dataclass(frozen=True)
class CaseWindow:
    """The part of the result along each resampled axis; a None bound is the end of the axis, and no part has a step."""

    parts: tuple[SliceItem, ...]

    @classmethod
    def read(cls, text: str) -> CaseWindow:
        """Read at most 8 parts, written ``(5:25,:,3:)``.

        Raises:
            DescriptorError: the text is not well formed.
        """
        if not re.fullmatch(rf"\({_PART}(?:,{_PART}){{0,7}}\)", text):
            raise DescriptorError(f"{text!r} is not a window of 1 to 8 parts such as (5:25,:)")
        return cls(tuple(_read_span(part) for part in text[1:-1].split(",")))

    def __str__(self) -> str:
        return f"({','.join(map(str, self.parts))})"

    @property
    def slices(self) -> tuple[slice, ...]:
        """The parts as the ``window`` argument of ``rs.resample``."""
        return tuple(slice(*part) for part in self.parts)


CaseNumber = int | float | Fraction


@dataclass(frozen=True)
class Entries:
    """An array of numbers that varies along one axis."""

    axis: int
    numbers: tuple[float, ...]

    @classmethod
    def read(cls, text: str) -> Entries:
        """Read ``3:(0.5,-1e-05,2)``: an axis, and 1 to 256 numbers.

        Raises:
            DescriptorError: the text is not well formed.
        """
        if not re.fullmatch(rf"[0-7]:\({_FLOAT}(?:,{_FLOAT}){{0,255}}\)", text):
            raise DescriptorError(f"{cut(text)} is no axis with a number for each of its indices, such as 3:(0.5,-2,1)")
        return cls(int(text[0]), tuple(map(read_number, text[3:-1].split(","))))

    def __str__(self) -> str:
        return f"{self.axis}:{write(self.numbers)}"


Value = str | float | tuple[CaseNumber, ...] | View | CaseWindow | Entries | TensorDesc
"""The types of parameter values."""

Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Parameter:
    """A parameter of an operation.

    read: reads the value from its text; raises DescriptorError.
    default: the default value, or a function that computes it from the sizes of the viewed source and of the
    destination; None: no default.
    required: a case must have a value, written or by default.
    canonical: turns a value into its canonical form, given the rank of the viewed source.
    moves: the parameter affects which source element each result element comes from, not only its value.
    """

    name: str
    read: Callable[[str], Value]
    default: Value | Callable[[Sizes, Sizes], Value | None] | None = None
    required: bool = False
    canonical: Callable[[Value, int], Value] = lambda value, _rank: value
    moves: bool = True

    def default_of(self, src: Sizes, dst: Sizes) -> Value | None:
        """The default value for these sizes of the viewed source and the destination; None: there is none."""
        return self.default(src, dst) if callable(self.default) else self.default


def word(name: str, default: str, *others: str, moves: bool = True) -> Parameter:
    """A parameter whose value is one word: ``default`` or one of ``others``."""
    return Parameter(name, OneOf(name, default, *others), default, moves=moves)


def write(value: Value | Fraction) -> str:
    """The text of a value, which ``Parameter.read`` reads back."""
    if isinstance(value, tuple):
        return f"({','.join(map(write, value))})"
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def read_integers(text: str) -> tuple[int, ...]:
    """Read ``(0,0,-1)``: 1 to 8 integers (a tensor has at most 8 axes) of at most 19 digits."""
    if not re.fullmatch(r"\((-?[0-9]{1,19})(,-?[0-9]{1,19}){0,7}\)", text):
        raise DescriptorError(f"{text!r} is not a list of 1 to 8 integers such as (0,0,-1)")
    return tuple(int(number) for number in text[1:-1].split(","))


def read_group_sizes(text: str) -> tuple[int, ...]:
    """Read ``(1,32)``: how many indices along each axis share a scale, each at least 1."""
    sizes = read_integers(text)
    if min(sizes) < 1:
        raise DescriptorError(f"group_sizes {text} must be 1 or more")
    return sizes


_FLOAT = r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:e[+-]?[0-9]{1,2})?"
_MAX_WRITTEN = 10**15  # floats from 10^16 on are written with an exponent
_FRACTION = "-?[0-9]{1,19}/[1-9][0-9]{0,18}"


def read_numbers(text: str, most: int = 16) -> tuple[CaseNumber, ...]:
    """Read ``(2,1/3,0.6)``: 1 to ``most`` numbers, by default up to two for each of 8 axes; see ``_number``."""
    number = f"(?:{_FLOAT}|{_FRACTION})"
    if not re.fullmatch(rf"\({number}(?:,{number}){{0,{most - 1}}}\)", text):
        raise DescriptorError(f"{text!r} is not a list of 1 to {most} numbers such as (2,1/3,0.6)")
    return tuple(map(_number, text[1:-1].split(",")))


def _number(text: str) -> CaseNumber:
    """The value in its simplest type: ``4/2``, ``2.0`` and ``2`` give int 2, ``1/2`` float 0.5, ``1/3`` a Fraction."""
    exact = Fraction(text) if "/" in text else Fraction(repr(float(text)))
    if exact.denominator == 1 and abs(exact) < _MAX_WRITTEN:
        return int(exact)
    is_binary = exact.denominator & (exact.denominator - 1) == 0
    return float(exact) if is_binary or "/" not in text else exact


def read_boxes(text: str) -> tuple[CaseNumber, ...]:
    """Read ``(2,3,10,12,-5,0.5,9,9)``: four numbers for each of at most 16 boxes; their count is checked later."""
    return read_numbers(text, 64)


def read_number(text: str) -> float:
    """Read a number such as ``-0.5``, ``128`` or ``1e-05``."""
    if not re.fullmatch(_FLOAT, text):
        raise DescriptorError(f"{text!r} is not a number such as 0.5, -4 or 1e-05")
    return float(text) + 0.0  # -0 is 0


def read_scale(text: str) -> Value:
    """Read one scale such as ``0.5``, the axes along which it varies, ``(0,2)``, or ``Entries``."""
    if ":" in text:
        return Entries.read(text)
    return read_integers(text) if text.startswith("(") else read_number(text)


_POST_OP = rf"[a-z]{{1,10}}(?:\({_FLOAT}(?:,{_FLOAT})?\))?"


def read_post_ops(text: str) -> str:
    """Read one to four post-ops such as ``relu(0.1),clip(0,6)``; returns them with each number in its shortest form."""
    if not re.fullmatch(f"{_POST_OP}(?:,{_POST_OP}){{0,3}}", text):
        raise DescriptorError(f"post_ops {text!r} must be one to four, such as relu(0.1),clip(0,6),linear(2,-1)")
    return ",".join(f"{name}{write(tuple(numbers)) if numbers else ''}" for name, *numbers in post_ops_of(text))


def post_ops_of(text: str) -> tuple[tuple[Any, ...], ...]:
    """The ``post_ops`` argument for a text from ``read_post_ops``: (("relu", 0.1), ("clip", 0.0, 6.0))."""
    operations = re.findall(rf"([a-z]+)(?:\(({_FLOAT})(?:,({_FLOAT}))?\))?", text)
    return tuple((name, *(read_number(number) for number in numbers if number)) for name, *numbers in operations)


def read_permutation(text: str) -> str:
    """Read ``NCHW->NHWC``: the same letters on both sides, at most 8, each once."""
    source, _, destination = text.partition("->")
    if not re.fullmatch("[A-Za-z]{1,8}", source) or sorted(source) != sorted(set(destination)):
        raise DescriptorError(f"{text!r} is not a permutation of letters such as NCHW->NHWC")
    if len(source) != len(destination):
        raise DescriptorError(f"permutation {text!r} must have each letter once on both sides")
    return text


def read_pattern(text: str) -> str:
    """Read ``b,(h,s),w->b,h,(s,w)``: a pattern of ``rs.rearrange`` with a comma for each blank."""
    sides = text.replace(",", " ").split("->")
    Pattern.parse("->".join(sides))
    return "->".join(",".join(side.split()).replace("(,", "(").replace(",)", ")") for side in sides)


def read_lengths(text: str) -> str:
    """Read ``h=2,s=3``; returns the pairs sorted by name."""
    pairs = text.split(",")
    if not all(re.fullmatch(r"[^\W\d_]\w{0,30}=[0-9]{1,9}", pair) for pair in pairs):
        raise DescriptorError(f"lengths {cut(text)} must be written as h=2,s=3")
    return ",".join(sorted(pairs))


def read_desc(text: str) -> TensorDesc:
    """Read a descriptor such as ``f64[5]{0:T(2)}``."""
    return TensorDesc.parse(text)


class OneOf:
    """A reader that accepts only the ``known`` words; ``what`` names the kind of word in error messages."""

    def __init__(self, what: str, *known: str) -> None:
        self.known = known
        self._what = what

    def __call__(self, text: str) -> str:
        if text not in self.known:
            hint = did_you_mean(text, self.known)
            raise DescriptorError(f"{self._what} {text!r} is unknown; known: {', '.join(self.known)}{hint}")
        return text


def changed_axes(src: Sizes, dst: Sizes) -> tuple[int, ...] | None:
    """The axes whose sizes differ, the default ``axes`` of a resample case; None if there are none or ranks differ."""
    if len(src) != len(dst):
        return None
    return tuple(axis for axis in range(len(src)) if src[axis] != dst[axis]) or None


def read_out(text: str) -> str:
    """Check the value of ``out=``, which says where the result goes if not to a separate destination buffer.

    ``same``: the source's buffer, beside its elements. All others: a buffer that the operation allocates, with the
    layout of the case's destination (``new``), without a ``layout`` argument (``default``), with the source's layout
    (``any``), or with the layout of a name or tag such as ``NHWC`` or ``nChw16c``.
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
    """Turn negative axes, where -1 is the last, into axes counted from 0; other values stay."""
    if not isinstance(axes, tuple):
        return axes
    return tuple(axis + rank if -rank <= axis < 0 else axis for axis in axes)


def in_order(axes: Value, rank: int) -> Value:
    """Turn axes into axes counted from 0, in ascending order; a number stays."""
    counted = from_0(axes, rank)
    return tuple(sorted(counted)) if isinstance(counted, tuple) else counted
