"""Request: the arguments of a resampling, checked, and the rows of each axis that it names."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from numbers import Integral
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from restride.arguments import LIMIT, integers
from restride.errors import DescriptorError, UnsupportedError
from restride.weights.coordinates import COORDINATES, Ends, Line, line, line_of_offsets
from restride.weights.filters import MODES, NEAREST_RULES, Filter, filter_rows
from restride.weights.rows import Rows, Rules

# Factors: scales, offsets and crops at the door, as exact fractions.
#
# A float counts as the decimal number that prints it: 0.1 is 1/10, so that output 1 of ten times fewer reads at exactly
# 10, where the binary number behind it, a little above 1/10, would read at 9.99... and ``floor`` take 9.

_Where = Callable[[], str]


def members(argument: str, values: Any, where: _Where) -> tuple[Any, ...]:
    """``values`` as a tuple.

    Raises:
        DescriptorError: not a sequence.
    """
    try:
        return tuple(values)
    except TypeError:
        raise DescriptorError(f"{argument} must be a sequence of numbers, got {values!r}, for {where()}") from None


def one_per_axis(argument: str, values: Any, where: _Where, kind: type = numbers.Real) -> Any:
    """``values``, unless it is a bare number of ``kind``, which says nothing of how many axes it is for.

    Raises:
        DescriptorError: it is one.
    """
    if isinstance(values, kind) and not isinstance(values, bool | np.bool_):
        members = "integers" if kind is numbers.Integral else "numbers"
        raise DescriptorError(
            f"{argument} must be a sequence of {members}, one per axis, e.g. ({values}, {values}), got {values}, for "
            f"{where()}"
        )
    return values


def fractions(argument: str, values: Any, where: _Where) -> tuple[Fraction, ...]:
    """``values`` as exact fractions; integers, fractions and floats, numpy's too.

    Raises:
        DescriptorError: not a sequence of finite numbers.
    """
    given = members(argument, values, where)
    return tuple(fraction(f"{argument}[{place}]", value, where) for place, value in enumerate(given))


def scale_factors(scales: tuple[Any, ...], where: _Where) -> tuple[Fraction, ...]:
    """Scales as fractions, each above 0.

    Raises:
        DescriptorError: one is not, or is no finite number.
    """
    factors = fractions("scales", scales, where)
    for place, factor in enumerate(factors):
        if factor <= 0:
            raise DescriptorError(f"scales[{place}] must be above 0, got {scales[place]}, for {where()}")
    return factors


def scaled_sizes(
    sizes: Sequence[int], scales: Sequence[Any], where: _Where, *, rounds: bool = False
) -> tuple[int, ...]:
    """``trunc(size * scale)`` each, in f64 for a float as torch, ONNX and numpy compute it: 100 * 0.29 is 28.

    rounds: to nearest even instead, as OpenCV does: 29.

    Raises:
        DescriptorError: more than any size can be.
    """
    made = []
    for place, (size, scale) in enumerate(zip(sizes, scales, strict=True)):
        product = size * (_rational(scale) if isinstance(scale, numbers.Rational) else float(scale))
        if product >= LIMIT:
            raise DescriptorError(f"scales[{place}] {scale} makes 2^512 elements or more of {size}, for {where()}")
        made.append(round(product) if rounds else int(product))
    return tuple(made)


def _rational(value: numbers.Rational) -> Fraction:
    """Of Python's integers, however narrow numpy's are."""
    return Fraction(int(value.numerator), int(value.denominator))


def fraction(argument: str, value: Any, where: _Where) -> Fraction:
    """One number as an exact fraction.

    Raises:
        DescriptorError: not a finite number.
    """
    number = finite(argument, value, where)
    return _rational(value) if isinstance(value, numbers.Rational) else Fraction(repr(number))


def finite(argument: str, value: Any, where: _Where) -> float:
    """One number.

    Raises:
        DescriptorError: not a finite number.
    """
    number = real(argument, value, where)
    if not math.isfinite(number):
        raise DescriptorError(f"{argument} must be finite, got {number}, for {where()}")
    return number


def real(argument: str, value: Any, where: _Where) -> float:
    """One number, infinities and NaN among them.

    Raises:
        DescriptorError: not a number.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real | np.floating):
        shown = " ".join(repr(value).split())[:60]
        raise DescriptorError(f"{argument} must be a number, got {shown} ({type(value).__name__}), for {where()}")
    try:
        return float(value)
    except OverflowError:
        raise DescriptorError(f"{argument} must be a number that f64 has, for {where()}") from None


# Choice: what a resampling is asked for besides its sizes, and which of it goes together.
#
# What would have no effect is refused: whoever asks for it expects one.

POLICIES = ("stretch", "not_larger", "not_smaller")

_WORDS = {
    "mode": MODES,
    "coordinates": COORDINATES,
    "nearest": NEAREST_RULES,
    "keep_aspect_ratio_policy": POLICIES,
}

_ELSEWHERE = {
    "mode": {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic", "nearest_exact": "nearest"},
    "coordinates": {"half_pixel_centers": "half_pixel"},
}
"""Words of other libraries, and what they are called here."""


class Choice(NamedTuple):
    """What a resampling is asked for besides sizes: the arguments of ``rs.resample`` of the same names."""

    mode: str = "linear"
    coordinates: str = "half_pixel"
    nearest: str = "half_up"
    cubic_a: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False
    roi: Any = None
    keep_aspect_ratio_policy: str = "stretch"
    input_offsets: Any = None
    output_offsets: Any = None
    recompute_scale_factor: bool = False


_DEFAULTS = Choice()


def word_elsewhere(argument: str, value: Any) -> str:
    """What to say of another library's word for an argument: what it is called here; empty of all other words.

    "bilinear" is 'linear', "half-pixel" is 'half_pixel'.
    """
    if not isinstance(value, str):
        is_constant = argument == "mode" and isinstance(value, int)
        return "the constants of a library go with like='pillow' or like='opencv'" if is_constant else ""
    if value in _WORDS[argument]:
        return ""
    plain = value.strip().lower().replace("-", "_").replace(" ", "_")
    if argument == "mode" and plain.startswith("lanczos"):
        return "it goes with like='pillow', and as 'lanczos4' with like='opencv'"
    here = plain if plain in _WORDS[argument] else _ELSEWHERE.get(argument, {}).get(plain)
    return "" if here is None else f"it is {here!r} here"


def require_choice(choice: Choice, where: _Where) -> None:
    """Check the words, and that each argument goes with the others.

    where: gives the descriptor of the source, for messages.

    Raises:
        DescriptorError: the arguments do not fit each other, or one would have no effect.
        UnsupportedError: a word that is none of those known, which are listed.
    """
    _require_words(choice, where)
    for argument in ("antialias", "exclude_outside"):
        if getattr(choice, argument) and choice.mode not in ("linear", "cubic"):
            raise DescriptorError(f"{argument} goes with mode 'linear' or 'cubic', not {choice.mode!r}, for {where()}")
    finite("cubic_a", choice.cubic_a, where)
    for argument, mode in (("nearest", "nearest"), ("cubic_a", "cubic")):
        value = getattr(choice, argument)
        if value != getattr(_DEFAULTS, argument) and choice.mode != mode:
            raise DescriptorError(f"{argument} {value!r} goes with mode {mode!r}, not {choice.mode!r}, for {where()}")
    has_offsets = choice.input_offsets is not None or choice.output_offsets is not None
    if choice.coordinates != "half_pixel" and (has_offsets or choice.mode == "area"):
        others = "input_offsets and output_offsets say" if has_offsets else "mode 'area' says"
        raise DescriptorError(f"{others} where to read, and so does coordinates {choice.coordinates!r}, for {where()}")
    if has_offsets and choice.mode == "area":
        raise DescriptorError(f"mode 'area' has no input_offsets or output_offsets, for {where()}")
    has_roi, crops = choice.roi is not None, choice.coordinates == "tf_crop_and_resize"
    if has_roi and not crops:
        raise DescriptorError(
            f"roi goes with coordinates 'tf_crop_and_resize', not {choice.coordinates!r}: roi is {choice.roi!r}, for "
            f"{where()}; to resize a part of the source, slice it"
        )
    if crops and not has_roi:
        raise DescriptorError(
            f"coordinates 'tf_crop_and_resize' need a roi, the first edges of all axes and then the last ones: roi is "
            f"None, for {where()}"
        )


def outside_value(value: Any, choice: Choice, where: _Where) -> float:
    """The argument ``extrapolation_value``: what is read beyond the source of a checked choice.

    Raises:
        DescriptorError: not a number, or other than 0 where nothing is read there.
    """
    number = real("extrapolation_value", value, where)
    if number != 0 and choice.coordinates != "tf_crop_and_resize":
        raise DescriptorError(
            f"extrapolation_value {number:g} goes with coordinates 'tf_crop_and_resize', not {choice.coordinates!r} "
            f"in mode {choice.mode!r}, for {where()}"
        )
    return number


def _require_words(choice: Choice, where: _Where) -> None:
    for argument, known in _WORDS.items():
        value = getattr(choice, argument)
        if not isinstance(value, str) or value not in known:
            hint = word_elsewhere(argument, value)
            raise UnsupportedError(
                f"{argument} {value!r} is not one of {', '.join(map(repr, known))}, for {where()}"
                f"{'; ' if hint else ''}{hint}"
            )
    for argument in ("antialias", "exclude_outside", "recompute_scale_factor"):
        if not isinstance(getattr(choice, argument), bool | np.bool_):
            raise DescriptorError(f"{argument} must be True or False, got {getattr(choice, argument)!r}, for {where()}")


# Resizing: the arguments of a resampling, checked, as one Sampling for each axis that it names.


@dataclass(frozen=True)
class Resizing:
    """A checked resampling: ``rows[k]`` are those of ``axes[k]``, of which ``window[k]`` is asked for.

    order: places of the axes as they are summed; default: the last axis first. scale: of sums of integers.
    rounding: how sums become elements of the source's type after each axis; None: after the last alone, to even.
    rounds: results have the source's type, and are rounded to it before they become another.
    """

    axes: tuple[int, ...]
    rows: tuple[Rows, ...]
    window: tuple[range, ...]
    source_sizes: tuple[int, ...]
    order: tuple[int, ...] = ()
    scale: float | None = None
    rounding: str | None = None
    rounds: bool = False

    @cached_property
    def keeps_type(self) -> bool:
        """True where sums have the source's type, and what is asked for is made of them."""
        return self.rounds and not all(rows.moves for rows in self.rows)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """All sizes of the result, or of the window of it."""
        return self._with(self.window)

    @cached_property
    def made(self) -> tuple[range, ...]:
        """What of the window is made of source elements, along each of ``axes``; the rest is extrapolated."""
        return tuple(
            part if rows.inside is None else _common(part, rows.inside)
            for rows, part in zip(self.rows, self.window, strict=True)
        )

    @cached_property
    def read(self) -> tuple[range, ...]:
        """The source indices that are read, along each of ``axes``."""
        return tuple(
            rows.part(part.start, part.stop - part.start).span for rows, part in zip(self.rows, self.made, strict=True)
        )

    @cached_property
    def read_sizes(self) -> tuple[int, ...]:
        """All sizes of the part of the source that is read."""
        return self._with(self.read)

    def transposed(self) -> Resizing:
        """The way back: of a gradient with all sizes of the result, one with those of the source."""
        rows = tuple(each.transposed() for each in self.rows)
        return Resizing(self.axes, rows, tuple(range(each.size) for each in rows), self.sizes)

    def _with(self, parts: Sequence[range]) -> tuple[int, ...]:
        sizes = list(self.source_sizes)
        for axis, part in zip(self.axes, parts, strict=True):
            sizes[axis] = part.stop - part.start  # len() has a limit
        return tuple(sizes)


def _common(a: range, b: range) -> range:
    start = max(a.start, b.start)
    return range(start, max(min(a.stop, b.stop), start))


def resizing(
    source_sizes: Sequence[int],
    sizes: Iterable[SupportsIndex] | None,
    scales: Any,
    axes: Iterable[SupportsIndex] | None,
    window: Any,
    choice: Choice,
    where: _Where,
    rules: Rules | None = None,
) -> Resizing:
    """The resampling of a source of these sizes, all of its axes, that the arguments ask for.

    rules: a library's, which say the rows where they have some.

    where: gives the descriptor of the source, for messages.

    Raises:
        DescriptorError: the arguments do not fit each other or the source.
        UnsupportedError: a name that is none of those known, which are listed.
    """
    require_choice(choice, where)
    sizes = one_per_axis("sizes", sizes, where, Integral)
    scales = one_per_axis("scales", scales, where)
    new_sizes = None if sizes is None else integers("sizes", sizes, where)
    scales = None if scales is None else members("scales", scales, where)
    factors = None if scales is None else scale_factors(scales, where)
    named = {name: given for name, given in (("sizes", new_sizes), ("scales", scales)) if given is not None}
    if not named:
        raise DescriptorError(f"resample needs sizes or scales, for {where()}")
    its_axes = resized_axes(axes, named, len(source_sizes), where)
    old = tuple(source_sizes[axis] for axis in its_axes)
    rounds = rules is not None and rules.rounds_sizes
    for size in new_sizes or ():
        if size < 0:
            raise DescriptorError(f"size {size} of sizes {new_sizes} must be 0 or more, for {where()}")
    if choice.keep_aspect_ratio_policy != "stretch":
        if new_sizes is None or factors is not None:
            raise DescriptorError(
                f"keep_aspect_ratio_policy goes with sizes alone, not with scales {scales}, for {where()}"
            )
        new_sizes, factors = _keeping_aspect(choice.keep_aspect_ratio_policy, old, new_sizes, where)
    elif new_sizes is None:
        new_sizes = scaled_sizes(old, scales or (), where, rounds=rounds)
    elif factors is not None and choice.input_offsets is None and choice.output_offsets is None:
        _require_agreement(old, new_sizes, scaled_sizes(old, scales or (), where, rounds=rounds), scales or (), where)
    for axis, size, before in zip(its_axes, new_sizes, old, strict=True):
        if size > 0 and before == 0:
            raise DescriptorError(f"axis {axis} of {where()} has no elements to make {size} of, sizes are {new_sizes}")
    if factors is None or choice.recompute_scale_factor:
        factors = tuple(
            Fraction(size, before) if before else Fraction(1) for size, before in zip(new_sizes, old, strict=True)
        )
        scales = None
    if rules is not None:
        ruling = rules.ruling(tuple(source_sizes), its_axes, old, new_sizes, scales)
        if ruling is not None:
            part = _window(window, new_sizes, where)
            return Resizing(its_axes, ruling.rows, part, tuple(source_sizes), *ruling[1:], rules.keeps_type)
    lines = _lines(choice, old, new_sizes, factors, where)
    rows = tuple(_rows(choice, *each) for each in zip(old, new_sizes, lines, factors, strict=True))
    part, keeps_type = _window(window, new_sizes, where), rules is not None and rules.keeps_type
    return Resizing(its_axes, rows, part, tuple(source_sizes), rounds=keeps_type)


def _rows(choice: Choice, before: int, size: int, its_line: Line, factor: Fraction) -> Rows:
    return filter_rows(
        Filter(
            choice.mode,
            before,
            size,
            its_line,
            choice.nearest,
            float(choice.cubic_a),
            min(factor, Fraction(1)) if choice.antialias and factor else Fraction(1),
            choice.exclude_outside,
            choice.coordinates == "tf_crop_and_resize",
        )
    )


@lru_cache(maxsize=4096)
def rows_of_sizes(choice: Choice, before: int, size: int) -> Rows:
    """The rows of an axis of ``before`` indices, 1 or more, and ``size`` outputs, by a choice that is checked.

    Cached: a thousand boxes of random sizes take 0.1 ms instead of 20.
    """
    factor = Fraction(size, before)
    return _rows(choice, before, size, line(choice.coordinates, Ends(before, size, factor)), factor)


def resized_axes(
    axes: Iterable[SupportsIndex] | None, named: Mapping[str, tuple[Any, ...]], rank: int, where: _Where
) -> tuple[int, ...]:
    """The axes, counted from 0: one for each of the numbers in ``named``; default: the last ones.

    Raises:
        DescriptorError: not as many, more than there are, out of range, or one twice.
    """
    given = integers("axes", axes, where) if axes is not None else None
    count = len(given if given is not None else next(iter(named.values())))
    for name, values in named.items():
        if len(values) != count:
            other = f"axes {given}" if given is not None else "{} {}".format(*next(iter(named.items())))
            raise DescriptorError(f"{other} and {name} {values} must be equally many, for {where()}")
        if given is None and count > rank:
            raise DescriptorError(f"{name} {values} are more than the {rank} axes of {where()}")
    if given is None:
        return tuple(range(rank - count, rank))
    for axis in given:
        if not -rank <= axis < rank:
            raise DescriptorError(f"axis {axis} of axes {given} is outside [-{rank}, {rank}) of {where()}")
    found = tuple(axis % rank for axis in given)
    if len(set(found)) != len(found):
        raise DescriptorError(f"axes {given} name an axis twice in {where()}")
    return found


def _keeping_aspect(
    policy: str, old: tuple[int, ...], sizes: tuple[int, ...], where: _Where
) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
    """One scale for all axes, that of the one which shrinks most, or least, and the sizes that it gives, halves up."""
    if 0 in old:
        raise DescriptorError(f"keep_aspect_ratio_policy {policy!r} needs axes with elements, for {where()}")
    ratios = [Fraction(size, before) for size, before in zip(sizes, old, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return tuple((2 * scale * before + 1) // 2 for before in old), (scale,) * len(old)


def _require_agreement(
    old: tuple[int, ...], sizes: tuple[int, ...], scaled: tuple[int, ...], scales: Sequence[Any], where: _Where
) -> None:
    for before, size, scale, made in zip(old, sizes, scales, scaled, strict=True):
        if made != size:
            raise DescriptorError(
                f"sizes {sizes} and scales {tuple(scales)} contradict each other: {before} * {scale} is {made}, not "
                f"{size}, for {where()}"
            )


def _lines(
    choice: Choice, old: tuple[int, ...], sizes: tuple[int, ...], factors: tuple[Fraction, ...], where: _Where
) -> tuple[Line, ...]:
    count = len(old)
    if choice.input_offsets is not None or choice.output_offsets is not None:
        offsets = [
            _per_axis(name, value, (default,) * count, where)
            for name, value, default in (
                ("input_offsets", choice.input_offsets, Fraction(1, 2)),
                ("output_offsets", choice.output_offsets, Fraction(-1, 2)),
            )
        ]
        return tuple(
            line_of_offsets(factor, *both) if factor else Line(1, 0, 1)
            for factor, *both in zip(factors, *offsets, strict=True)
        )
    roi = _per_axis("roi", choice.roi, (Fraction(0),) * count + (Fraction(1),) * count, where)
    return tuple(
        line(choice.coordinates, Ends(before, size, factor, (roi[place], roi[place + count])))
        if factor and before
        else Line(1, 0, 1)  # an axis without elements
        for place, (before, size, factor) in enumerate(zip(old, sizes, factors, strict=True))
    )


def _per_axis(argument: str, given: Any, default: tuple[Fraction, ...], where: _Where) -> tuple[Fraction, ...]:
    if given is None:
        return default
    values = fractions(argument, given, where)
    if len(values) != len(default):
        raise DescriptorError(
            f"{argument} has {len(values)} numbers where these axes need {len(default)}, for {where()}"
        )
    return values


def _window(window: Any, sizes: tuple[int, ...], where: _Where) -> tuple[range, ...]:
    """The part of each axis that ``window`` asks for: slices without a step; None: all of it."""
    if window is None:
        return tuple(range(size) for size in sizes)
    given = tuple(window) if isinstance(window, Iterable) else (window,)
    if len(given) != len(sizes):
        raise DescriptorError(f"window has {len(given)} slices where these axes need {len(sizes)}, for {where()}")
    return tuple(
        _part(f"window[{place}]", part, size, where)
        for place, (part, size) in enumerate(zip(given, sizes, strict=True))
    )


def _part(argument: str, part: Any, size: int, where: _Where) -> range:
    if part is None:
        return range(size)
    if not isinstance(part, slice) or part.step not in (None, 1):
        raise DescriptorError(f"{argument} must be a slice without a step, got {part!r}, for {where()}")
    ends = (0 if part.start is None else part.start, size if part.stop is None else part.stop)
    start, stop = integers(argument, ends, where)
    if not 0 <= start <= stop <= size:
        raise DescriptorError(f"{argument} [{start}, {stop}) exceeds the {size} outputs of its axis, for {where()}")
    return range(start, stop)
