"""Views in a case: what is done to the source before the operation, one text, applied to numpy and to a Tensor.

    view=[1:,::-1].permute(2,0,1).broadcast_to(4,2,3).reshape(4,6)

Steps from left to right, without blanks: ``[...]`` is numpy's basic indexing (integers, slices, ``...``, ``None``), the
others are the methods of ``restride.Tensor``. A view never copies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

from restride.errors import DescriptorError

MOST_STEPS = 16
_MOST_AXES = 8

_STEP = re.compile(r"\[([^\[\]]*)\]|\.(permute|broadcast_to|reshape)\(([^()]*)\)")
_INTEGER = "-?[0-9]{1,19}"
_SPAN = re.compile(f"({_INTEGER})?:({_INTEGER})?(?::({_INTEGER})?)?")
_NUMBERS = {"permute": _INTEGER, "broadcast_to": "[0-9]{1,19}", "reshape": "[0-9]{1,19}|-1"}


class Span(NamedTuple):
    """A slice, ``start:stop:step``; a step of 1 is None."""

    start: int | None
    stop: int | None
    step: int | None

    def __str__(self) -> str:
        start, stop, step = ("" if number is None else str(number) for number in self)
        return f"{start}:{stop}" + (f":{step}" if step else "")


Item = int | Span | EllipsisType | None


@dataclass(frozen=True)
class Index:
    """Basic indexing by one item an axis, ``...`` and ``None`` (a new axis) among them."""

    items: tuple[Item, ...]

    def __str__(self) -> str:
        return f"[{','.join('...' if item is Ellipsis else str(item) for item in self.items)}]"

    @property
    def key(self) -> tuple[Any, ...]:
        """What stands in the brackets, as Python has it."""
        return tuple(slice(*item) if isinstance(item, Span) else item for item in self.items)


@dataclass(frozen=True)
class Call:
    """A method of ``Tensor`` and its integers."""

    method: str
    numbers: tuple[int, ...]

    def __str__(self) -> str:
        return f".{self.method}({','.join(map(str, self.numbers))})"


@dataclass(frozen=True)
class View:
    """The steps, in the order in which they are taken; ``View.read(str(view)) == view``."""

    steps: tuple[Index | Call, ...]

    @classmethod
    def read(cls, text: str) -> View:
        """The view that ``text`` writes.

        Raises:
            DescriptorError: the text does not follow the syntax.
        """
        steps: list[Index | Call] = []
        position = 0
        while position < len(text):
            found = _STEP.match(text, position)
            if found is None or len(steps) == MOST_STEPS:
                raise DescriptorError(
                    f"view {_cut(text)} is not 1 to {MOST_STEPS} steps such as [1:,::-1] or .permute(1,0), at "
                    f"{_cut(text[position:])}"
                )
            items, method, numbers = found.groups()
            steps.append(_read_index(items) if method is None else _read_call(method, numbers))
            position = found.end()
        if not steps:
            raise DescriptorError("a view has at least one step, such as [::-1]")
        return cls(tuple(steps))

    def __str__(self) -> str:
        return "".join(map(str, self.steps))

    def sizes(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """The sizes of the view of a tensor of ``sizes``, by numpy's rules; takes no memory.

        Raises:
            DescriptorError: numpy refuses the view, or it has more than 8 axes.
        """
        *_, viewed = self._shapes(sizes)
        if len(viewed) > _MOST_AXES:
            raise DescriptorError(f"view {self} of sizes {list(sizes)} has {len(viewed)} axes, more than {_MOST_AXES}")
        return viewed

    def most_elements(self, sizes: tuple[int, ...]) -> int:
        """Elements of the largest array on the way; numpy copies where it cannot reshape otherwise."""
        return max(map(prod, self._shapes(sizes)))

    def _shapes(self, sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
        try:
            # Every stride is 0: one byte stands for all elements, and any reshape of it is a view.
            everywhere = np.lib.stride_tricks.as_strided(np.zeros((), np.int8), sizes, (0,) * len(sizes))
            return [array.shape for array in self._arrays(everywhere)]
        except (IndexError, ValueError, OverflowError) as error:
            raise DescriptorError(f"view {self} does not fit sizes {list(sizes)}: {error}") from error

    def of_array(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The view by numpy's own means; numpy may copy where it reshapes."""
        *_, viewed = self._arrays(array)
        return viewed

    def _arrays(self, array: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
        """What each step leaves."""
        for step in self.steps:
            if isinstance(step, Index):
                # An Ellipsis more keeps an array of what integers alone would make a scalar of.
                array = array[step.key if Ellipsis in step.items else (*step.key, Ellipsis)]
            elif step.method == "permute":
                array = array.transpose(step.numbers)
            elif step.method == "broadcast_to":
                array = np.broadcast_to(array, step.numbers)
            else:
                array = array.reshape(step.numbers)
            yield array

    def of_tensor(self, tensor: Any) -> Any:
        """The view of a ``restride.Tensor``, by its public methods.

        Raises:
            DescriptorError: the tensor has no such view.
        """
        for step in self.steps:
            tensor = tensor[step.key] if isinstance(step, Index) else getattr(tensor, step.method)(*step.numbers)
        return tensor


def _read_index(text: str) -> Index:
    return Index(tuple(_read_item(item) for item in text.split(",")))


def _read_item(text: str) -> Item:
    if text in ("None", "..."):
        return None if text == "None" else Ellipsis
    if re.fullmatch(_INTEGER, text):
        return int(text)
    span = _SPAN.fullmatch(text)
    if span is None:
        raise DescriptorError(f"{_cut(text)} in a view is no integer, slice, '...' or None")
    start, stop, step = (None if number is None else int(number) for number in span.groups())
    return Span(start, stop, None if step == 1 else step)


def _read_call(method: str, text: str) -> Call:
    numbers = text.split(",") if text else []
    if len(numbers) > _MOST_AXES or not all(re.fullmatch(_NUMBERS[method], number) for number in numbers):
        raise DescriptorError(f".{method}({_cut(text)}) in a view needs at most {_MOST_AXES} integers")
    return Call(method, tuple(map(int, numbers)))


def _cut(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
