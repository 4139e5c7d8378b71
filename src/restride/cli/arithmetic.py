"""The options of ``restride reorder`` that change elements: their type, scales, zero points, rounding, saturation."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.arithmetic import ROUNDINGS
from restride.cli.process import UsageError
from restride.dtypes import DType, as_dtype
from restride.errors import DescriptorError
from restride.layout import TensorDesc

SCALES = ("src_scale", "src_zero_point", "dst_scale", "dst_zero_point")
"""Arguments of ``reorder`` with which it computes; without them it converts."""

_MEANINGS = {
    "src_scale": "factor of what IN holds",
    "src_zero_point": "subtracted from what IN holds, before the factor",
    "dst_scale": "what the result is divided by",
    "dst_zero_point": "added to the result, after the division",
}


def add_options(parser: argparse.ArgumentParser, side: str = "IN") -> None:
    """``--to``, a scale and a zero point for each side, and the two choices of a conversion.

    side: of which file ``--axis`` is an axis.
    """
    group = parser.add_argument_group("elements")
    group.add_argument("--to", type=element_type, metavar="TYPE", help="element type of OUT (default: that of IN)")
    for name, meaning in _MEANINGS.items():
        group.add_argument(_option(name), type=_number, nargs="+", metavar="N", help=f"{meaning}: one, or one an index")
    group.add_argument(
        "--axis", type=int, default=-1, metavar="N", help=f"the axis of {side} that several lie along (default: -1)"
    )
    group.add_argument(
        "--rounding", choices=ROUNDINGS, default=ROUNDINGS[0], help="of what becomes an integer (default: %(default)s)"
    )
    group.add_argument(
        "--no-saturate",
        dest="saturate",
        action="store_false",
        help="beyond the type's range keep an integer's low bits, or infinity or NaN, not the bound",
    )


def change(arguments: argparse.Namespace, src: TensorDesc, order: Sequence[int]) -> dict[str, Any]:
    """What the options ask of ``reorder``, as its arguments; empty where they ask nothing.

    Axis k of the result is axis ``order[k]`` of ``src``.

    Raises:
        UsageError: not as many scales or zero points as the axis has indices.
    """
    asked: dict[str, Any] = {"dtype": arguments.to} if arguments.to is not None else {}
    for name in SCALES:
        numbers = getattr(arguments, name)
        if numbers is not None:
            along = _along(name, numbers, arguments.axis, src)
            asked[name] = along.transpose(order) if name.startswith("dst") and along.ndim else along
    if arguments.rounding != ROUNDINGS[0]:
        asked["rounding"] = arguments.rounding
    if not arguments.saturate:
        asked["saturate"] = False
    return asked


def _along(name: str, numbers: list[int | float], axis: int, src: TensorDesc) -> npt.NDArray[Any]:
    """Three numbers for axis 2 of three axes have sizes 1,1,3; a single one has none."""
    if len(numbers) == 1:
        return np.asarray(numbers[0])
    if not -src.rank <= axis < src.rank:
        raise UsageError(f"--axis {axis} is outside [-{src.rank}, {src.rank}) of {src}")
    place = axis % src.rank
    if len(numbers) != src.sizes[place]:
        raise UsageError(
            f"{_option(name)} has {len(numbers)} numbers, and axis {place} of {src} has {src.sizes[place]}: give one, "
            f"one for each, or another --axis"
        )
    return np.asarray(numbers).reshape([-1 if other == place else 1 for other in range(src.rank)])


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _number(text: str) -> int | float:
    """Integers as they are: float64 has no 9223372036854775807."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no number") from error


def element_type(text: str) -> DType:
    """Of an option: an element type."""
    try:
        return as_dtype(text)
    except DescriptorError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
