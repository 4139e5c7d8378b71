"""The options of ``restride resample``: the sizes, and every rule that ``rs.resample`` has for what an output reads."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any

from restride.cli.arguments import parse_index
from restride.cli.process import UsageError
from restride.errors import ErrorContext
from restride.layout import TensorDesc
from restride.weights import (
    COORDINATES,
    DEFAULTS,
    MODES,
    NEAREST_RULES,
    POLICIES,
    Request,
    resizing,
    word_elsewhere,
    word_of_mode,
)
from restride.weights.like import LIBRARIES


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes and scales, axes and window, and an option for each field of ``DEFAULTS``."""
    parser.add_argument(
        "--sizes", type=int, nargs="+", metavar="N", help="new sizes, one an axis: of an image height and width"
    )
    parser.add_argument(
        "--scales", type=number, nargs="+", metavar="F", help="new elements for each old one, one an axis"
    )
    parser.add_argument("--axes", type=int, nargs="+", metavar="N", help="which axes; negative ones count from the end")
    parser.add_argument(
        "--window", type=_part, nargs="+", metavar="A:B", help="the part of OUT to make, one an axis: 0:10 5:9"
    )
    parser.add_argument(
        "--layout", help="of OUT, as `restride reorder` takes it: 'HWC->CHW', a name, a tag (default: that of IN)"
    )
    group = add_rules(parser)
    group.add_argument(
        "--policy",
        dest="keep_aspect_ratio_policy",
        choices=POLICIES,
        default=DEFAULTS["keep_aspect_ratio_policy"],
        help="one scale for all axes, not larger or not smaller than --sizes (default: %(default)s)",
    )
    group.add_argument(
        "--extrapolation-value",
        type=number,
        default=0.0,
        metavar="F",
        help="of tf_crop_and_resize: what reads beyond the ends give",
    )
    for option, text in (
        ("--roi", "of tf_crop_and_resize: the starts of all axes, then the ends"),
        ("--input-offsets", "DirectML's, one an axis, in place of --coordinates"),
        ("--output-offsets", "DirectML's, one an axis"),
    ):
        group.add_argument(option, type=number, nargs="+", metavar="F", help=text)
    group.add_argument(
        "--recompute-scale-factor",
        action="store_const",
        const=True,
        help="coordinates follow the sizes that --scales give",
    )


def add_rules(parser: argparse.ArgumentParser) -> Any:
    """The rules of whatever resamples, as a group of options: the library, the filter, and where it reads."""
    group = parser.add_argument_group("rules")
    group.add_argument(
        "--like",
        choices=LIBRARIES,
        help="a library, whose modes, defaults and arithmetic those of OUT are; what contradicts it is refused",
    )
    group.add_argument(
        "--mode",
        help=f"what an output is made of: {', '.join(MODES)} (default: {DEFAULTS['mode']}), or a mode of --like, "
        "spelled as here or there",
    )
    for option, known, text in (
        ("--coordinates", COORDINATES, "where an output reads"),
        ("--nearest", NEAREST_RULES, "of mode nearest: which element it is"),
    ):
        default = DEFAULTS[option.removeprefix("--")]
        group.add_argument(
            option,
            type=partial(_word, option.removeprefix("--"), known),
            choices=known,
            help=f"{text} (default: {default}, or as --like has it)",
        )
    group.add_argument(
        "--cubic-a",
        type=number,
        metavar="F",
        help=f"the slope at 1 of mode cubic (default: {DEFAULTS['cubic_a']})",
    )
    for option, text in (
        ("--antialias", "widen the filters of linear and cubic where an axis shrinks"),
        ("--exclude-outside", "taps outside IN count for nothing, and the rest for more"),
    ):
        group.add_argument(option, action="store_const", const=True, help=text)
    return group


def rules(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the options of ``add_rules`` ask; ``--mode`` becomes the word of ``--like``, however it is spelled.

    Raises:
        UsageError: a mode that there is not.
        UnsupportedError: one that ``--like`` has not.
    """
    if arguments.mode is not None and arguments.like is not None:
        with ErrorContext(arguments.input):
            arguments.mode = word_of_mode(arguments.like, arguments.mode)
    elif arguments.mode is not None and arguments.mode not in MODES:
        hint = word_elsewhere("mode", arguments.mode)
        raise UsageError(
            f"argument --mode: invalid choice: {arguments.mode!r} (choose from {', '.join(MODES)})"
            f"{'; ' if hint else ''}{hint}"
        )
    names = ("like", "mode", "coordinates", "nearest", "cubic_a", "antialias", "exclude_outside")
    return {name: getattr(arguments, name) for name in names}


def change(arguments: argparse.Namespace, is_image: bool) -> dict[str, Any]:
    """What the options ask of ``resample``, as its arguments, but the layout. Images have height and width for axes.

    Raises:
        UsageError: neither sizes nor scales, not two for an image, or a mode that there is not.
    """
    if arguments.sizes is None and arguments.scales is None:
        raise UsageError("one of these is required: --sizes, --scales (see `restride resample --help`)")
    ruled = rules(arguments)
    axes = arguments.axes
    if axes is None and is_image:
        _require_two(arguments)
        axes = (0, 1)
    return {
        "sizes": arguments.sizes,
        "scales": arguments.scales,
        "axes": axes,
        "window": arguments.window,
        "extrapolation_value": arguments.extrapolation_value,
        **ruled,
        **{name: getattr(arguments, name) for name in DEFAULTS},
    }


def _require_two(arguments: argparse.Namespace) -> None:
    for name in ("sizes", "scales"):
        given = getattr(arguments, name)
        if given is not None and len(given) != 2:
            raise UsageError(
                f"an image is resized along height and width: give 2 {name}, not {len(given)}, or name others by --axes"
            )


def resized(src: TensorDesc, asked: dict[str, Any]) -> tuple[int, ...]:
    """The sizes of the result, before anything runs.

    Raises:
        DescriptorError: the arguments do not fit each other or ``src``.
    """
    with ErrorContext(src):
        return resizing(src.sizes, Request(**asked), src.dtype.name).sizes


def notes(arguments: argparse.Namespace, src: TensorDesc, is_image: bool) -> tuple[str, ...]:
    """What to say of an image with alpha, by which Pillow itself multiplies the colours, and divides them again."""
    has_alpha = is_image and src.rank == 3 and src.sizes[2] in (2, 4)
    if arguments.like != "pillow" or arguments.mode == "nearest" or not has_alpha:
        return ()
    note = (
        f"warning: {arguments.input} has alpha, which is resized apart from the colours here; Pillow multiplies them "
        "by it first, as restride.compat.pil.resize does of an image"
    )
    return (note,)


def _word(argument: str, known: Sequence[str], text: str) -> str:
    """A word of the option as it is; argparse refuses those that are not ``known``, but says nothing of them."""
    if hint := word_elsewhere(argument, text):
        raise argparse.ArgumentTypeError(f"invalid choice: {text!r} (choose from {', '.join(known)}); {hint}")
    return text


def number(text: str) -> int | float:
    """Of an option: integers are exact; a number with a point is a float, which counts as the decimal that it shows."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no number") from error


def _part(text: str) -> slice:
    """``0:10``, or ``:`` for all of an axis."""
    try:
        (item,) = parse_index(text)
    except (UsageError, ValueError):
        item = None
    if not isinstance(item, slice):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no part of an axis, such as 0:10 or :")
    return item
