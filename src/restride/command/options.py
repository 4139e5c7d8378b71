"""Options of commands, made from the types and defaults of the arguments of the functions that the commands call."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from inspect import Parameter, signature
from types import UnionType
from typing import Any, Literal, SupportsIndex, Union, Unpack, get_args, get_origin, get_type_hints

import numpy as np

from restride.arguments import as_numpy
from restride.command.parser import parse_index
from restride.command.process import UsageError
from restride.dtypes import Array, DType, as_dtype
from restride.errors import DescriptorError, ErrorContext, command_text, did_you_mean
from restride.layout import TensorDesc
from restride.request import DEFAULTS, MODES, word_elsewhere, word_of_mode

# Parses the values of options.


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
                hint = did_you_mean(word, known)
                raise argparse.ArgumentTypeError(f"{word[:40]!r} is none of {', '.join(known)}{hint}")
        return tuple(name for name in known if name in named)

    return parse


def element_type(text: str) -> DType:
    """Parse an element type."""
    try:
        return as_dtype(text)
    except DescriptorError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def part_of_axis(text: str) -> slice:
    """Parse a part of an axis such as ``0:10``, or ``:`` for all of it."""
    try:
        (item,) = parse_index(text)
    except (UsageError, ValueError):
        item = None
    if not isinstance(item, slice):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no part of an axis, such as 0:10 or :")
    return item


class _OneOrMany(argparse.Action):
    """Keeps a single value as it is, and several as a list."""

    def __call__(self, _parser: object, options: argparse.Namespace, values: Any, _option: str | None = None) -> None:
        setattr(options, self.dest, values[0] if len(values) == 1 else values)


# Makes options from arguments of functions.

_TYPES: tuple[tuple[object, dict[str, Any]], ...] = (
    (DType, {"type": element_type, "metavar": "TYPE"}),
    (bool, {"action": "store_const", "const": True}),
    (slice, {"type": part_of_axis, "metavar": "A:B"}),
    (SupportsIndex, {"type": int, "metavar": "N"}),
    (float, {"type": number, "metavar": "N"}),
    (Any, {"type": number, "metavar": "N"}),
)
"""For each type of an argument or of its members, the settings of ``add_argument``; the first row that fits counts."""

OptionRows = Mapping[str, str | dict[str, Any]]
"""Options by the names of their arguments. A row is the help, or a dictionary with the help and settings of
``add_argument``, which replace the settings that follow from the argument's type. Its key ``flag`` is the option's name
if that differs from the argument's, and ``kind`` the type if no function has the argument.
"""


def add_options(
    parser: argparse.ArgumentParser, function: Callable[..., object] | None, groups: Mapping[str, OptionRows]
) -> None:
    """Add options for arguments of ``function``, with the types, the words and the defaults of the arguments.

    An option that is not given is None, so that the function's own default holds.

    Args:
        parser: of a command.
        function: None where its package may not be installed; then the rows say the types.
        groups: the options by the heading of their group; those under "" have no heading.
    """
    parameters, hints = ({}, {}) if function is None else (signature(function).parameters, _hints(function))
    for heading, rows in groups.items():
        group = parser.add_argument_group(heading) if heading else parser
        for name, row in rows.items():
            default = parameters[name].default if name in parameters else None
            default = None if default is Parameter.empty else default
            own: dict[str, Any] = {"help": row} if isinstance(row, str) else dict(row)
            settings = _settings(own.pop("kind", hints.get(name)), default) | own
            settings["help"] += _end_of_help(name, settings, default)
            group.add_argument(settings.pop("flag", f"--{name.replace('_', '-')}"), dest=name, **settings)
    before = parser.get_default("arguments") or []
    parser.set_defaults(arguments=before + [name for rows in groups.values() for name in rows])


def given(options: argparse.Namespace) -> dict[str, Any]:
    """The arguments whose options of ``add_options`` are given."""
    return {name: value for name in options.arguments if (value := getattr(options, name)) is not None}


def _hints(function: Callable[..., object]) -> dict[str, Any]:
    """The types of the arguments of a function, including those that it takes as a typed dictionary."""
    hints = get_type_hints(function)
    for hint in tuple(hints.values()):
        if get_origin(hint) is Unpack:
            hints |= get_type_hints(get_args(hint)[0])
    return hints


def _settings(hint: object, default: object) -> dict[str, Any]:
    """The settings of argparse for an argument's type: one of several words, a switch, numbers, one value or many."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    members = [get_args(kind)[0] for kind in kinds if get_origin(kind) in (Iterable, Sequence)]
    types = {*kinds, *members, *(kind for member in members for kind in get_args(member))}
    settings = next((dict(settings) for kind, settings in _TYPES if kind in types), {})
    words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    if words and not types & {DType, Enum}:
        settings = {"choices": words, "metavar": "WORD"}
    if default is True:
        settings["const"] = False
    if members or Any in kinds:
        settings["nargs"] = "+"
    if Any in kinds or str in members:
        settings["action"] = _OneOrMany
    return settings


def _end_of_help(name: str, settings: Mapping[str, Any], default: object) -> str:
    """The end of an option's help: its words, and its default if the help does not say it."""
    words = f": {', '.join(settings['choices'])}" if "choices" in settings else ""
    if "(default" in settings["help"] or isinstance(default, bool):
        return words
    if default is None and not isinstance(DEFAULTS.get(name), bool | None):
        return f"{words} (default: {DEFAULTS[name]}, or that of --like)"
    return words if default is None else f"{words} (default: {default})"


# Options that several commands have.

RULES: OptionRows = {
    "like": {
        "help": "modes, defaults and arithmetic of a library; refuses options that contradict it",
        "metavar": "NAME",
    },
    "mode": f"{', '.join(MODES)} (default: {DEFAULTS['mode']}), or a mode of --like, in its spelling or this",
    "coordinates": "where an output reads its source",
    "nearest": "which element mode nearest takes",
    "cubic_a": "slope of mode cubic at 1",
    "antialias": "widen the filters of linear and cubic where an axis shrinks",
    "exclude_outside": "leave out taps outside IN, and divide by the sum of the others",
}
"""The options for the rules of a resampling."""

SCALES = {
    "src_scale": "multiplies the elements of IN",
    "src_zero_point": "subtracted from the elements of IN first",
    "dst_scale": "divides the result",
    "dst_zero_point": "added to the result last",
}
"""Arguments that make ``reorder`` compute in f32, and their help; without them it only converts."""

ELEMENTS: OptionRows = {
    "dtype": {"help": "element type of OUT (default: that of IN)", "flag": "--to"},
    **{name: f"{meaning}: one number, or one along --axis" for name, meaning in SCALES.items()},
    "axis": {
        "help": "axis along which scales differ, of IN for a reorder, else of OUT before --layout (default: -1)",
        "kind": SupportsIndex,
    },
    "rounding": "to integers",
    "saturate": {
        "help": "out of range, keep an integer's low bits, infinity or NaN instead of the nearest bound",
        "flag": "--no-saturate",
    },
}
"""The options for the elements of the result."""

NORMALIZATION: OptionRows = {
    "letterbox": "keep the aspect ratio, and fill the rest, with the image at",
    "fill": "value of elements outside the image",
    "mean": "mean of the elements: one number, or one for each channel",
    "std": "std of the elements: one number, or one for each channel",
}
"""The options that prepare images for a network."""


def require_mode(options: argparse.Namespace) -> str | None:
    """The value of ``--mode``; with ``--like``, as that library spells it.

    Raises:
        UsageError: an unknown mode.
        UnsupportedError: a mode that ``--like`` does not have.
    """
    mode: str | None = options.mode
    if mode is not None and options.like is not None:
        with ErrorContext(options.input):
            return word_of_mode(options.like, mode)
    if mode is not None and mode not in MODES:
        hint = command_text(word_elsewhere("mode", mode))
        raise UsageError(f"argument --mode: invalid choice: {mode!r} (choose from {', '.join(MODES)}){hint}")
    return mode


def require_use_of_axis(options: argparse.Namespace) -> None:
    """Raise ``UsageError`` if ``--axis`` is not its default, but no scale or zero point has several numbers."""
    axis = getattr(options, "axis", None)
    if axis not in (None, -1) and not any(isinstance(getattr(options, name), list) for name in SCALES):
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in SCALES)
        raise UsageError(f"--axis {axis} has no effect without several numbers for one of {flags}")


def scales_along(options: argparse.Namespace, src: TensorDesc, order: Sequence[int]) -> dict[str, Any]:
    """The scales and zero points that are given; several numbers of one as an array along ``--axis`` of ``src``.

    order: axis k of the result is axis ``order[k]`` of ``src``; only scales of the result follow it.

    Raises:
        UsageError: not as many scales or zero points as the axis has indices.
    """
    chosen = {}
    for name in SCALES:
        numbers = getattr(options, name, None)
        if numbers is not None:
            along = _along(name, numbers, -1 if options.axis is None else options.axis, src)
            chosen[name] = along.transpose(order) if name.startswith("dst") and along.ndim else along
    return chosen


def _along(name: str, numbers: float | list[float], axis: int, src: TensorDesc) -> Array:
    """The numbers as an array along ``axis``: three for axis 2 of 3 axes have sizes 1,1,3; a single one has no axes."""
    if not isinstance(numbers, list):
        return np.asarray(numbers)
    flag = f"--{name.replace('_', '-')}"
    if not -src.rank <= axis < src.rank:
        raise UsageError(f"--axis {axis} is outside [-{src.rank}, {src.rank}) of {src}")
    place = axis % src.rank
    if len(numbers) != src.sizes[place]:
        raise UsageError(
            f"{flag} has {len(numbers)} numbers, and axis {place} of {src} has {src.sizes[place]}: give one, one for "
            f"each, or another --axis"
        )
    array = as_numpy(flag, numbers, np.dtype(np.float32))
    return array.reshape([-1 if other == place else 1 for other in range(src.rank)])
