"""Options that several commands share: numbers, the elements of the result, and the rules of a resampling."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.arguments import as_numpy
from restride.arithmetic import ROUNDINGS
from restride.cli.process import UsageError
from restride.dtypes import DType, as_dtype
from restride.errors import DescriptorError, ErrorContext, did_you_mean
from restride.layout import TensorDesc
from restride.ops.letterbox import PLACES
from restride.weights import COORDINATES, DEFAULTS, MODES, NEAREST_RULES, word_elsewhere, word_of_mode
from restride.weights.like import LIBRARIES

SCALES = {
    "src_scale": "multiplies the elements of IN",
    "src_zero_point": "subtracted from the elements of IN first",
    "dst_scale": "divides the result",
    "dst_zero_point": "added to the result last",
}
"""Arguments that make ``reorder`` compute in f32, and their help; without them it only converts."""


def number(text: str) -> int | float:
    """Parse a number: an exact int if possible, else a float, which operations take as the decimal that it shows."""
    for kind in (int, float):  # int first, because float64 cannot hold 9223372036854775807
        try:
            return kind(text)
        except ValueError:
            pass
    raise argparse.ArgumentTypeError(f"{text[:40]!r} is no number")


def whole_number(what: str, least: int, most: int) -> Callable[[str], int]:
    """An argparse type for a whole number from ``least`` to ``most``; ``what`` names it in errors."""

    def parse(text: str) -> int:
        if not re.fullmatch("[0-9]{1,19}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text[:40]!r} is no {what} from {least} to {most}")
        return int(text)

    return parse


def list_of(known: Collection[str]) -> Callable[[str], tuple[str, ...]]:
    """An argparse type for ``known`` names separated by commas, returned in the order of ``known``; "none" is empty."""

    def parse(words: str) -> tuple[str, ...]:
        named = [] if words == "none" else [word.strip() for word in words.split(",")]
        for word in named:
            if word not in known:
                raise argparse.ArgumentTypeError(
                    f"{word[:40]!r} is none of {', '.join(known)}{did_you_mean(word, known)}"
                )
        return tuple(name for name in known if name in named)

    return parse


def element_type(text: str) -> DType:
    """Parse an element type."""
    try:
        return as_dtype(text)
    except DescriptorError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_numbers(group: Any, name: str, text: str, *, count: int | str = "+", kind: Any = int, **others: Any) -> None:
    """Add an option that takes ``count`` numbers; "+" means one or more."""
    group.add_argument(name, type=kind, nargs=count, metavar="N", help=text, **others)


def add_normalization(group: Any, fill: str = "0") -> None:
    """Add ``--letterbox``, ``--fill``, ``--mean`` and ``--std``, which prepare images for a network.

    fill: the default of ``--fill``, for its help.
    """
    group.add_argument("--letterbox", choices=PLACES, help="keep the aspect ratio, and fill the rest")
    add_numbers(group, "--fill", f"value of elements outside the image (default: {fill})", kind=number)
    for option in ("--mean", "--std"):
        add_numbers(group, option, f"{option[2:]} of the elements: one number, or one for each channel", kind=number)


def one_or_many(numbers: list[Any] | None, default: Any = None) -> Any:
    """The argument for an option of several numbers: a single number, the list, or the default if not given."""
    if numbers is None:
        return default
    return numbers[0] if len(numbers) == 1 else numbers


# The elements of the result.


def add_elements(parser: argparse.ArgumentParser, side: str = "IN") -> None:
    """Add ``--to``, a scale and a zero point for each side, ``--axis``, ``--rounding`` and ``--no-saturate``.

    side: the file that ``--axis`` refers to, for its help.
    """
    group = parser.add_argument_group("elements")
    group.add_argument("--to", type=element_type, metavar="TYPE", help="element type of OUT (default: that of IN)")
    for name, meaning in SCALES.items():
        add_numbers(group, _option(name), f"{meaning}: one number, or one along --axis", kind=number)
    group.add_argument(
        "--axis", type=int, default=-1, metavar="N", help=f"axis of {side} along which scales differ (default: -1)"
    )
    group.add_argument(
        "--rounding",
        choices=ROUNDINGS,
        metavar="RULE",
        default=ROUNDINGS[0],
        help=f"to integers: {', '.join(ROUNDINGS)} (default: %(default)s)",
    )
    group.add_argument(
        "--no-saturate",
        dest="saturate",
        action="store_false",
        help="out of range, keep an integer's low bits, infinity or NaN instead of the nearest bound",
    )


def elements(arguments: argparse.Namespace, src: TensorDesc, order: Sequence[int]) -> dict[str, Any]:
    """The options of ``add_elements`` as arguments of ``reorder``; empty if none is given.

    order: axis k of the result is axis ``order[k]`` of ``src``.

    Raises:
        UsageError: not as many scales or zero points as the axis has indices.
    """
    chosen: dict[str, Any] = {"dtype": arguments.to} if arguments.to is not None else {}
    for name in SCALES:
        numbers = getattr(arguments, name)
        if numbers is not None:
            along = _broadcast_along(name, numbers, arguments.axis, src)
            chosen[name] = along.transpose(order) if name.startswith("dst") and along.ndim else along
    if arguments.rounding != ROUNDINGS[0]:
        chosen["rounding"] = arguments.rounding
    if not arguments.saturate:
        chosen["saturate"] = False
    return chosen


def _broadcast_along(name: str, numbers: list[int | float], axis: int, src: TensorDesc) -> npt.NDArray[Any]:
    """The numbers as an array that varies along ``axis``: three for axis 2 of 3 have sizes 1,1,3, a single one none."""
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
    array = as_numpy(_option(name), numbers, np.dtype(np.float32))
    return array.reshape([-1 if other == place else 1 for other in range(src.rank)])


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


# The rules of a resampling.


def _rule(argument: str, words: Sequence[str], text: str) -> dict[str, Any]:
    """The settings of an option that takes one of ``words``."""
    return {
        "choices": words,
        "metavar": "RULE",
        "help": f"{text}: {', '.join(words)} (default: {DEFAULTS[argument]}, or that of --like)",
    }


_SWITCH = {"action": "store_const", "const": True}

RULES: dict[str, dict[str, Any]] = {
    "like": {
        "choices": LIBRARIES,
        "metavar": "NAME",
        "help": f"modes, defaults and arithmetic of {', '.join(LIBRARIES)}; refuses options that contradict it",
    },
    "mode": {"help": f"{', '.join(MODES)} (default: {DEFAULTS['mode']}), or a mode of --like, in its spelling or this"},
    "coordinates": _rule("coordinates", COORDINATES, "where an output reads its source"),
    "nearest": _rule("nearest", NEAREST_RULES, "which element mode nearest takes"),
    "cubic_a": {
        "type": number,
        "metavar": "N",
        "help": f"slope of mode cubic at 1 (default: {DEFAULTS['cubic_a']})",
    },
    "antialias": _SWITCH | {"help": "widen the filters of linear and cubic where an axis shrinks"},
    "exclude_outside": _SWITCH | {"help": "leave out taps outside IN, and divide by the sum of the others"},
}
"""The settings of the option for each rule, by the name of the argument of ``resample``."""


def add_rules(group: Any, names: Iterable[str] = RULES) -> None:
    """Add the rules of a resampling as options: the library, the filter, and where it reads."""
    for name in names:
        group.add_argument(_option(name), **RULES[name])


def rules(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of ``add_rules`` as arguments; ``--mode`` in any spelling becomes the mode name of ``--like``.

    Raises:
        UsageError: an unknown mode.
        UnsupportedError: a mode that ``--like`` does not have.
    """
    if arguments.mode is not None and arguments.like is not None:
        with ErrorContext(arguments.input):
            arguments.mode = word_of_mode(arguments.like, arguments.mode)
    elif arguments.mode is not None and arguments.mode not in MODES:
        hint = word_elsewhere("mode", arguments.mode)
        raise UsageError(f"argument --mode: invalid choice: {arguments.mode!r} (choose from {', '.join(MODES)}){hint}")
    return {name: getattr(arguments, name) for name in RULES}


def alpha_notes(arguments: argparse.Namespace, src: TensorDesc, is_image: bool) -> tuple[str, ...]:
    """A warning if ``--like pillow`` resizes an image with alpha, because Pillow multiplies colours by alpha first."""
    has_alpha = is_image and src.rank == 3 and src.sizes[2] in (2, 4)
    if arguments.like != "pillow" or arguments.mode == "nearest" or not has_alpha:
        return ()
    note = (
        f"warning: {arguments.input} has alpha, which is resized apart from the colours here; Pillow multiplies them "
        "by it first, as restride.compat.pil.resize does of an image"
    )
    return (note,)
