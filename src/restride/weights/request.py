"""Request: the arguments of a resampling as one value, and the rows of each axis that follow for a source.

A float among scales, offsets and crops counts as the decimal number that prints it: 0.1 is 1/10, so that output 1 of a
tenth as many reads at exactly 10. The binary number behind it, a little above 1/10, would read at 9.99..., and
``floor`` would take 9.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from numbers import Integral
from operator import attrgetter
from typing import Any, Literal, NamedTuple, SupportsIndex, TypeAlias, TypedDict, TypeVar, get_args

import numpy as np

from restride.arguments import LIMIT, integers
from restride.errors import DescriptorError, Message, UnsupportedError, did_you_mean, shown
from restride.lru import cached_property
from restride.weights.coordinates import COORDINATES, HALF, CoordinatesRule, Ends, Line, line, line_of_offsets
from restride.weights.filters import AREA_MODES, MODES, NEAREST_RULES, Filter, NearestRule, filter_rows
from restride.weights.like.libraries import LIBRARIES, OTHER_NAMES, Library
from restride.weights.like.profile import LibraryRequest, Mode, Profile
from restride.weights.rows import LibraryRows, Rows

AspectPolicy: TypeAlias = Literal["stretch", "not_larger", "not_smaller"]
POLICIES: tuple[AspectPolicy, ...] = get_args(AspectPolicy)

DEFAULTS: dict[str, Any] = {
    "mode": "linear",
    "coordinates": "half_pixel",
    "nearest": "half_up",
    "cubic_a": -0.75,
    "antialias": False,
    "exclude_outside": False,
    "roi": None,
    "keep_aspect_ratio_policy": "stretch",
    "input_offsets": None,
    "output_offsets": None,
    "recompute_scale_factor": False,
}
"""Our defaults for the arguments for which libraries have their own."""


_Value = TypeVar("_Value")

_ZERO, _ONE, _MINUS_HALF = Fraction(0), Fraction(1), -HALF

_MAX_OF_AXIS = 1 << 63
"""A resampled axis has fewer elements than this, because their indices are s64."""


class FilterArguments(TypedDict, total=False):
    """Arguments of ``rs.resample`` that control the weights, for functions that pass them on."""

    coordinates: CoordinatesRule | None
    nearest: NearestRule | None
    cubic_a: float | None
    antialias: bool | None
    exclude_outside: bool | None
    like: Library | None


class RuleArguments(FilterArguments, total=False):
    """The keywords that ``rs.resample`` and ``rs.resample_backward`` share, except layouts and types."""

    roi: Iterable[Any] | None
    input_offsets: Iterable[Any] | None
    output_offsets: Iterable[Any] | None
    recompute_scale_factor: bool | None


class RequestArguments(RuleArguments, total=False):
    """The keywords of ``rs.resample`` that decide what an output reads, which ``rs.source_window`` takes too."""

    extrapolation_value: float
    keep_aspect_ratio_policy: AspectPolicy


class Request(NamedTuple):
    """The arguments of ``rs.resample`` that decide what an output reads, under the same names.

    None for an argument in ``DEFAULTS``: the default, that of the library ``like`` if there is one.
    """

    sizes: Iterable[SupportsIndex] | None = None
    scales: Iterable[Any] | None = None
    axes: Iterable[SupportsIndex] | None = None
    mode: Any = None
    coordinates: Any = None
    nearest: Any = None
    cubic_a: Any = None
    antialias: Any = None
    exclude_outside: Any = None
    extrapolation_value: float = 0.0
    roi: Iterable[Any] | None = None
    keep_aspect_ratio_policy: Any = "stretch"
    input_offsets: Iterable[Any] | None = None
    output_offsets: Iterable[Any] | None = None
    recompute_scale_factor: bool | None = None
    like: Any = None
    window: Iterable[slice | None] | None = None
    source_sizes: Iterable[SupportsIndex] | None = None

    def settled(self, dtype: str) -> tuple[Request, LibraryRequest | None]:
        """The checked request in our words, with all defaults, without ``like``; and the request to ``like``, or None.

        dtype: element type of the source, on which a library's rules may depend.

        Raises:
            DescriptorError: an unknown library, mode or other word, of which the message lists those known; an argument
                contradicts the library or another argument, or would have no effect.
        """
        settle: Callable[..., tuple[dict[str, Any], LibraryRequest | None]] = _settled
        if not (self.roi is self.input_offsets is self.output_offsets is None):
            settle = _settled.__wrapped__  # lists of numbers, of which (True, 0) and (1, 0) are one key
        try:
            rules, library = settle(self.like, dtype, *_rules_of(self))
        except TypeError:  # something that has no hash, where there should be a word
            rules, library = _settled.__wrapped__(self.like, dtype, *_rules_of(self))
        return self._replace(**rules, like=None), library


_rules_of: Callable[[Request], tuple[Any, ...]] = attrgetter(*DEFAULTS)
"""The arguments of a request that do not depend on sizes."""


@lru_cache(maxsize=1024, typed=True)  # typed, as True is no 1
def _settled(like: Any, dtype: str, *rules: Any) -> tuple[dict[str, Any], LibraryRequest | None]:
    """What ``Request.settled`` finds for the arguments of ``DEFAULTS``; nobody changes it. Errors are not kept."""
    present = {name: value for name, value in zip(DEFAULTS, rules, strict=True) if value is not None}
    library = None
    if like is None:
        settled = DEFAULTS | present
    else:
        profile = _profile(like)
        word, fixed = _in_our_words(like, profile, present)
        settled = DEFAULTS | fixed
        aligns = settled["coordinates"] == "align_corners"
        library = LibraryRequest(like, profile, word, settled["antialias"], aligns, dtype)
    plain = Request(**settled)
    _require_words(plain)
    _require_agreement(plain)
    return settled, library


@dataclass(frozen=True)
class Resizing:
    """A checked resampling: computes its sizes at once, and its rows at first use.

    source_sizes: of all axes. axes: those that are resized. window: the outputs that are asked for, along each of them.
    known: the rows, if they do not follow from ``filters`` and ``request``. rounds: results are rounded to the
        source's type before they are converted to another.
    fill: the value of outputs that read beyond the source, where an axis extrapolates.
    clips: sums are clipped to the range of the whole source.
    filters: the filter of each of ``axes`` in our own words; with ``like``, the filters closest to the library.
    request: with ``like``, the request to the library, which computes its rows.
    """

    source_sizes: tuple[int, ...]
    axes: tuple[int, ...]
    window: tuple[range, ...]
    known: LibraryRows | None = None
    rounds: bool = False
    fill: float = 0.0
    clips: bool = False
    filters: tuple[Filter, ...] = ()
    request: LibraryRequest | None = None

    @cached_property
    def library(self) -> LibraryRows:
        """The rows of each axis, and how their sums are rounded.

        Raises:
            UnsupportedError: there are more rows than can be computed.
        """
        if self.known is not None:
            return self.known
        for axis, size, before in zip(self.axes, self.new, self.old, strict=True):
            if max(size, before) >= _MAX_OF_AXIS:
                raise UnsupportedError(f"axis {axis} must have less than 2^63 elements: {before} become {size}")
        library = None if self.request is None else self.request.rows()
        return LibraryRows(tuple(map(filter_rows, self.filters))) if library is None else library

    @cached_property
    def rows(self) -> tuple[Rows, ...]:
        """``rows[k]`` are the rows of all outputs along ``axes[k]``."""
        return self.library.rows

    @property
    def old(self) -> tuple[int, ...]:
        """The sizes of ``axes`` in the source."""
        return tuple([self.source_sizes[axis] for axis in self.axes])

    @property
    def new(self) -> tuple[int, ...]:
        """Sizes of ``axes`` in the whole result."""
        return tuple([each.size for each in self.filters])

    def of_window(self, window: tuple[range, ...], source_sizes: tuple[int, ...] | None = None) -> Resizing:
        """The rows for another window, without clipping; the source may have other sizes along other axes."""
        sizes = self.source_sizes if source_sizes is None else source_sizes
        return Resizing(sizes, self.axes, window, self.library, self.rounds, self.fill)

    @property
    def keeps_type(self) -> bool:
        """True if sums are rounded to the source's type before they are converted."""
        return self.rounds and not self.moves

    @property
    def moves(self) -> bool:
        """True if every output is one of the source's elements."""
        return all(rows.moves for rows in self.rows)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """All sizes of the result, or of its window."""
        return self._with_sizes(self.window)

    @cached_property
    def inside(self) -> tuple[range, ...]:
        """The part of the window that reads source elements, along each of ``axes``; the rest is extrapolated."""
        return tuple(map(_inside, self.rows, self.window))

    @cached_property
    def read(self) -> tuple[range, ...]:
        """The source indices that are read, along each of ``axes``."""
        return tuple(map(_read, self.rows, self.window))

    def reads_along(self, axis: int, part: range) -> range:
        """The indices along an axis of the source that a part of the outputs along it reads."""
        return _read(self.rows[self.axes.index(axis)], part) if axis in self.axes else part

    @cached_property
    def read_sizes(self) -> tuple[int, ...]:
        """All sizes of the part of the source that is read."""
        return self._with_sizes(self.read)

    @property
    def part_read(self) -> tuple[range, ...]:
        """The part of the source that is read, along all of its axes."""
        return replaced(map(range, self.source_sizes), self.axes, self.read)

    def transposed(self) -> Resizing:
        """The resampling of the gradient, from all sizes of the result to those of the source."""
        rows = tuple(each.transposed() for each in self.rows)
        return Resizing(self.sizes, self.axes, tuple(range(each.size) for each in rows), LibraryRows(rows))

    def _with_sizes(self, parts: Sequence[range]) -> tuple[int, ...]:
        """``source_sizes``, replaced along ``axes`` by the lengths of ``parts``."""
        lengths = [part.stop - part.start for part in parts]  # len() of a range fails beyond sys.maxsize
        return replaced(self.source_sizes, self.axes, lengths)


def _inside(rows: Rows, part: range) -> range:
    """The outputs of ``part`` that read source elements."""
    if rows.inside is None:
        return part
    start = max(part.start, rows.inside.start)
    return range(start, max(min(part.stop, rows.inside.stop), start))


def _read(rows: Rows, part: range) -> range:
    """The source indices that the outputs of ``part`` read."""
    inside = _inside(rows, part)
    return rows.part(inside.start, inside.stop - inside.start).span


def resizing(source_sizes: Sequence[int], request: Request, dtype: str = "f32") -> Resizing:
    """The resampling that a request means for a source of ``source_sizes``, all axes, and of this element type.

    Raises:
        DescriptorError: an unknown word; or the arguments do not fit each other or the source.
    """
    choice, library = request.settled(dtype)
    rounds = library is not None and library.profile.rounds_sizes
    old, new_sizes, axes, factors = _sizes(source_sizes, choice, rounds=rounds)
    for axis, size, before in zip(axes, new_sizes, old, strict=True):
        if size > 0 and before == 0:
            raise DescriptorError(f"axis {axis} has no elements to make {size} of, sizes are {new_sizes}")
    if request.recompute_scale_factor and factors is None:
        raise DescriptorError(
            "recompute_scale_factor True has no effect with sizes alone, which coordinates follow anyway: it goes with "
            "scales"
        )
    window = read_window(choice.window, new_sizes)
    fill: float = real("extrapolation_value", choice.extrapolation_value)
    if fill != 0 and choice.coordinates != "tf_crop_and_resize":
        raise DescriptorError(
            f"extrapolation_value {fill:g} goes with coordinates 'tf_crop_and_resize', not {choice.coordinates!r} "
            f"in mode {choice.mode!r}"
        )
    if isinstance(choice.extrapolation_value, int | np.integer):
        fill = int(choice.extrapolation_value)  # 64-bit elements hold integers that f64 cannot
    sizes = tuple(source_sizes)
    # The scale that coordinates follow along each axis; None: they follow its sizes.
    scales: Sequence[Fraction | None] = (None,) * len(axes)
    if not (factors is None or choice.recompute_scale_factor):
        scales = factors
    if library is not None:
        library = library._replace(source_sizes=sizes, axes=axes, old=old, new=new_sizes)
        by_sizes = library.profile.follows_sizes(library)
        scales = [None if follows else scale for follows, scale in zip(by_sizes, scales, strict=True)]
        library = library._replace(scales=tuple([scale if scale is None else float(scale) for scale in scales]))
    ratios = tuple(
        (Fraction(size, before) if before else _ONE) if scale is None else scale
        for size, before, scale in zip(new_sizes, old, scales, strict=True)
    )
    each = zip(old, new_sizes, _lines(choice, old, new_sizes, ratios), ratios, strict=True)
    filters = tuple([_filter(choice, *of_axis) for of_axis in each])
    keeps_type, clips = (False, False) if library is None else (library.keeps_type, library.clips)
    return Resizing(sizes, axes, window, None, keeps_type, fill, clips, filters, library)


def _sizes(
    source_sizes: Sequence[int], choice: Request, *, rounds: bool
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[Fraction, ...] | None]:
    """The sizes before and after, their axes, and their scales, if any."""
    _require_several("sizes", choice.sizes, Integral)
    _require_several("scales", choice.scales)
    new_sizes = None if choice.sizes is None else integers("sizes", choice.sizes)
    scales = None if choice.scales is None else members("scales", choice.scales)
    factors = None if scales is None else scale_factors(scales)
    named = {name: values for name, values in (("sizes", new_sizes), ("scales", scales)) if values is not None}
    if not named:
        raise DescriptorError("resample needs sizes or scales")
    axes = resized_axes(choice.axes, named, len(source_sizes))
    old = tuple(source_sizes[axis] for axis in axes)
    for size in new_sizes or ():
        if size < 0:
            raise DescriptorError(f"size {size} of sizes {new_sizes} must be 0 or more")
    if choice.keep_aspect_ratio_policy != "stretch":
        if new_sizes is None or factors is not None:
            raise DescriptorError(f"keep_aspect_ratio_policy goes with sizes alone, not with scales {scales}")
        new_sizes, factors = keeping_aspect(choice.keep_aspect_ratio_policy, old, new_sizes)
        return old, new_sizes, axes, factors
    scaled = () if scales is None else scaled_sizes(old, scales, rounds=rounds)
    if new_sizes is None:
        return old, scaled, axes, factors
    if scales is not None and choice.input_offsets is None and choice.output_offsets is None:
        for before, size, scale, product in zip(old, new_sizes, scales, scaled, strict=True):
            if product != size:
                raise DescriptorError(
                    f"sizes {new_sizes} and scales {tuple(scales)} contradict each other: {before} * {scale} is "
                    f"{product}, not {size}"
                )
    return old, new_sizes, axes, factors


def _filter(choice: Request, before: int, size: int, coordinates: Line, factor: Fraction) -> Filter:
    return Filter(
        choice.mode,
        before,
        size,
        coordinates,
        choice.nearest,
        float(choice.cubic_a),
        factor if choice.antialias and 0 < factor.numerator < factor.denominator else _ONE,
        choice.exclude_outside,
        choice.coordinates == "tf_crop_and_resize",
    )


@lru_cache(maxsize=4096)
def rows_of_sizes(choice: Request, before: int, size: int) -> Rows:
    """The rows of an axis of ``before`` indices, 1 or more, and ``size`` outputs, by a settled request.

    Cached: the axes of a thousand boxes of sizes seen before take 0.6 ms instead of 22; 0.6 KB each, 2.6 MB in all.
    """
    factor = Fraction(size, before)
    coordinates = line(choice.coordinates, Ends(before, size, factor))
    return filter_rows(_filter(choice, before, size, coordinates, factor))


def replaced(values: Iterable[_Value], axes: Iterable[int], new: Iterable[_Value]) -> tuple[_Value, ...]:
    """``values``, one for each axis, with the ``new`` ones of some axes."""
    changed = list(values)
    for axis, value in zip(axes, new, strict=True):
        changed[axis] = value
    return tuple(changed)


def resized_axes(
    axes: Iterable[SupportsIndex] | None, named: Mapping[str, tuple[object, ...]], rank: int
) -> tuple[int, ...]:
    """The axes, counted from 0: one for each of the numbers in ``named``; default: the last ones.

    Raises:
        DescriptorError: another number of axes, more than there are, one out of range, or one twice.
    """
    numbered = integers("axes", axes) if axes is not None else None
    count = len(numbered if numbered is not None else next(iter(named.values())))
    for name, values in named.items():
        if len(values) != count:
            other = f"axes {numbered}" if numbered is not None else "{} {}".format(*next(iter(named.items())))
            raise DescriptorError(f"{other} and {name} {values} must be equally many")
        if numbered is None and count > rank:
            raise DescriptorError(f"{name} {values} are more than the {rank} axes")
    if numbered is None:
        return tuple(range(rank - count, rank))
    for axis in numbered:
        if not -rank <= axis < rank:
            raise DescriptorError(f"axis {axis} of axes {numbered} is outside [-{rank}, {rank})")
    counted = tuple(axis % rank for axis in numbered)
    if len(set(counted)) != len(counted):
        raise DescriptorError(f"axes {numbered} name an axis twice")
    return counted


def keeping_aspect(
    policy: str, old: tuple[int, ...], sizes: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
    """Sizes, rounded halves up, by the scale of the axis that shrinks most or least, and that scale once per axis."""
    if 0 in old:
        raise DescriptorError(f"keep_aspect_ratio_policy {policy!r} needs axes with elements")
    ratios = [Fraction(size, before) for size, before in zip(sizes, old, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return tuple((2 * scale * before + 1) // 2 for before in old), (scale,) * len(old)


def _lines(
    choice: Request, old: tuple[int, ...], sizes: tuple[int, ...], factors: tuple[Fraction, ...]
) -> tuple[Line, ...]:
    """The line along which each axis reads."""
    count = len(old)
    inputs = _per_axis("input_offsets", choice.input_offsets, (HALF,) * count)
    outputs = _per_axis("output_offsets", choice.output_offsets, (_MINUS_HALF,) * count)
    roi = _per_axis("roi", choice.roi, (_ZERO,) * count + (_ONE,) * count)
    has_offsets = choice.input_offsets is not None or choice.output_offsets is not None
    lines = []
    for place, (before, size, factor) in enumerate(zip(old, sizes, factors, strict=True)):
        if not (factor and before):  # an axis without elements
            lines.append(Line(1, 0, 1))
        elif has_offsets:
            lines.append(line_of_offsets(factor, inputs[place], outputs[place]))
        else:
            lines.append(line(choice.coordinates, Ends(before, size, factor, (roi[place], roi[count + place]))))
    return tuple(lines)


def _per_axis(argument: str, values: object, default: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    if values is None:
        return default
    numbers_of_axes = fractions(argument, values)
    if len(numbers_of_axes) != len(default):
        raise DescriptorError(f"{argument} has {len(numbers_of_axes)} numbers where these axes need {len(default)}")
    return numbers_of_axes


def read_window(window: object, sizes: tuple[int, ...]) -> tuple[range, ...]:
    """The part of each axis that ``window`` asks for: slices without a step; None: all of it."""
    if window is None:
        return tuple(range(size) for size in sizes)
    if not isinstance(window, Iterable | slice):
        raise DescriptorError(f"window must have a slice for each axis, got {shown(window)}")
    slices = (window,) if isinstance(window, slice) else tuple(window)
    if len(slices) != len(sizes):
        raise DescriptorError(f"window has {len(slices)} slices where these axes need {len(sizes)}")
    return tuple(
        _part(f"window[{place}]", part, size) for place, (part, size) in enumerate(zip(slices, sizes, strict=True))
    )


def _part(argument: str, part: object, size: int) -> range:
    if part is None:
        return range(size)
    if not isinstance(part, slice) or part.step not in (None, 1):
        raise DescriptorError(f"{argument} must be a slice without a step, got {part!r}")
    ends = (0 if part.start is None else part.start, size if part.stop is None else part.stop)
    start, stop = integers(argument, ends)
    if not 0 <= start <= stop <= size:
        raise DescriptorError(f"{argument} [{start}, {stop}) exceeds the {size} outputs of its axis")
    return range(start, stop)


# Known words, and words that fit together. An argument without effect is refused, because its caller expects an effect.

_WORDS = {
    "mode": MODES,
    "coordinates": COORDINATES,
    "nearest": NEAREST_RULES,
    "keep_aspect_ratio_policy": POLICIES,
}

_ELSEWHERE = {
    "mode": {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic", "nearest_exact": "nearest"},
    "coordinates": {"half_pixel_centers": "half_pixel"},
    "like": OTHER_NAMES,
}
"""Words of other libraries, and restride's words for them."""


def word_elsewhere(argument: str, value: object) -> str:
    """The end of a message about an unknown word for an argument; empty if there is nothing to suggest.

    It says what another library's word is called here ("bilinear" is 'linear', "half-pixel" is 'half_pixel'), or else
    which word is nearest.
    """
    if not isinstance(value, str):
        is_constant = argument == "mode" and isinstance(value, int)
        return "; the constants of a library go with like='pillow' or like='opencv'" if is_constant else ""
    known = tuple(LIBRARIES) if argument == "like" else _WORDS.get(argument, ())
    plain = value.strip().lower().replace("-", "_").replace(" ", "_")
    if argument == "mode" and plain.startswith("lanczos"):
        return Message.of(
            "; it goes with ",
            "like='pillow', and as 'lanczos4' with like='opencv'",
            "--like pillow, and as 'lanczos4' with --like opencv",
        )
    here = plain if plain in known else _ELSEWHERE.get(argument, {}).get(plain)
    return did_you_mean(plain, known) if here is None else f"; it is {here!r} here"


def _require_words(choice: Request) -> None:
    for argument, known in _WORDS.items():
        value = getattr(choice, argument)
        if not isinstance(value, str) or value not in known:
            raise DescriptorError(
                f"{argument} {value!r} is not one of {', '.join(map(repr, known))}{word_elsewhere(argument, value)}"
            )
    for argument in ("antialias", "exclude_outside", "recompute_scale_factor"):
        if not isinstance(getattr(choice, argument), bool | np.bool_):
            raise DescriptorError(f"{argument} must be True or False, got {getattr(choice, argument)!r}")


def _require_agreement(choice: Request) -> None:
    """Refuse arguments that contradict each other, or would have no effect."""
    for argument in ("antialias", "exclude_outside"):
        if getattr(choice, argument) and choice.mode not in ("linear", "cubic"):
            raise DescriptorError(f"{argument} goes with mode 'linear' or 'cubic', not {choice.mode!r}")
    finite("cubic_a", choice.cubic_a)
    for argument, mode in (("nearest", "nearest"), ("cubic_a", "cubic")):
        value = getattr(choice, argument)
        if value != DEFAULTS[argument] and choice.mode != mode:
            raise DescriptorError(f"{argument} {value!r} goes with mode {mode!r}, not {choice.mode!r}")
    has_offsets = choice.input_offsets is not None or choice.output_offsets is not None
    is_area = choice.mode in AREA_MODES
    if choice.coordinates != "half_pixel" and (has_offsets or is_area):
        others = "input_offsets and output_offsets say" if has_offsets else f"mode {choice.mode!r} says"
        raise DescriptorError(f"{others} where to read, and so does coordinates {choice.coordinates!r}")
    if has_offsets and is_area:
        raise DescriptorError(f"mode {choice.mode!r} has no input_offsets or output_offsets")
    has_roi, crops = choice.roi is not None, choice.coordinates == "tf_crop_and_resize"
    if has_roi and not crops:
        raise DescriptorError(
            f"roi goes with coordinates 'tf_crop_and_resize', not {choice.coordinates!r}: roi is {choice.roi!r}; to "
            f"resize a part of the source, slice it"
        )
    if crops and not has_roi:
        raise DescriptorError(
            "coordinates 'tf_crop_and_resize' need a roi, the first edges of all axes and then the last ones: roi is "
            "None"
        )


# Translates the words of libraries into ours.

_OUR_WORDS = {"linear": ("bilinear",), "cubic": ("bicubic",)}
"""Our words for modes, and what libraries without these words call them."""


def _profile(like: object) -> Profile:
    profile = LIBRARIES.get(like) if isinstance(like, str) else None
    if profile is None:
        hint = word_elsewhere("like", like)
        raise DescriptorError(f"like {like!r} is not one of {', '.join(map(repr, LIBRARIES))}{hint}")
    return profile


def _in_our_words(like: str, profile: Profile, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The library's word for the mode, and the arguments in our words that it and the other arguments mean.

    Raises:
        DescriptorError: an argument contradicts the library.
    """
    others = dict(arguments)
    word, mode = _mode(like, profile, others.pop("mode", profile.default))
    fixed = dict(mode.choice)
    if others.get("antialias") and mode.antialiased is not None:
        fixed |= mode.antialiased
    for name, value in others.items():
        if name in mode.free or (name == "antialias" and mode.antialiased is not None):
            continue
        wins = fixed.get(name, DEFAULTS[name])
        if wins is None or value != wins:  # None is tested first, because comparing an array gives an array
            has = "none" if wins is None else repr(wins)
            rule = f"{name} {value!r} contradicts like {like!r}, which has {has} in mode {word!r}"
            smooth = [known for known, meaning in profile.modes.items() if meaning.antialiased is not None]
            if name != "antialias" or not value or not smooth:
                raise DescriptorError(rule)
            other = "bilinear" if "bilinear" in smooth else smooth[0]
            default = "" if "mode" in arguments else ", the default"
            raise DescriptorError(Message.of(f"{rule}{default}: say ", f"mode={other!r}", f"--mode {other}"))
    coordinates = others.get("coordinates", DEFAULTS["coordinates"])
    if profile.coordinates and coordinates not in profile.coordinates and "coordinates" in mode.free:
        known = " and ".join(map(repr, profile.coordinates))
        raise DescriptorError(f"coordinates {coordinates!r} contradicts like {like!r}, which has {known}")
    return word, fixed | others


def word_of_mode(like: str, mode: object) -> str:
    """The library's own word for a mode that is given in any spelling.

    Raises:
        DescriptorError: the library has no such mode; the message lists those it has.
    """
    return _mode(like, LIBRARIES[like], mode)[0]


def _mode(like: str, profile: Profile, mode: object) -> tuple[str, Mode]:
    """The library's word for a mode, in any spelling or as its constant, and what it means.

    A member of an Enum that is no text is found by its name: Pillow's BICUBIC is 3, and so is OpenCV's INTER_AREA.
    """
    meant: Any = mode.name if isinstance(mode, Enum) and not isinstance(mode, str) else mode
    is_number = isinstance(meant, Integral) and not isinstance(meant, bool)
    if is_number and 0 <= meant < len(profile.numbered_modes):
        meant = profile.numbered_modes[meant]
    word = str(meant).strip().lower().removeprefix("inter_")
    if isinstance(meant, str):
        for name in (word, *_OUR_WORDS.get(word, ())):
            for known, meaning in profile.modes.items():
                if known.replace("-", "_") == name.replace("-", "_"):
                    return known, meaning
    numbers = [f"{number} ({word})" for number, word in enumerate(profile.numbered_modes)] if is_number else []
    those = ", ".join(numbers or map(repr, profile.modes))
    raise DescriptorError(f"mode {mode!r} of like {like!r} is not one of {those}{did_you_mean(word, profile.modes)}")


# Numbers, as exact fractions where an output index follows from them.

_BOOLEANS = bool, np.bool_
_REAL_NUMBERS = float, numbers.Real, np.floating


def members(argument: str, values: Any) -> tuple[Any, ...]:
    """``values`` as a tuple.

    Raises:
        DescriptorError: not a sequence.
    """
    try:
        return tuple(values)
    except TypeError:
        raise DescriptorError(f"{argument} must be a sequence of numbers, got {values!r}") from None


def _require_several(argument: str, values: object, kind: type = numbers.Real) -> None:
    """Refuse a bare number of ``kind``, which does not say how many axes it is for."""
    if isinstance(values, kind) and not isinstance(values, bool | np.bool_):
        those = "integers" if kind is numbers.Integral else "numbers"
        raise DescriptorError(
            f"{argument} must be a sequence of {those}, one per axis, e.g. ({values}, {values}), got {values}"
        )


def fractions(argument: str, values: object) -> tuple[Fraction, ...]:
    """``values`` as exact fractions; integers, fractions and floats, numpy's too.

    Raises:
        DescriptorError: not a sequence of finite numbers.
    """
    each = enumerate(members(argument, values))
    return tuple(fraction(f"{argument}[{place}]", value) for place, value in each)


def scale_factors(scales: tuple[object, ...]) -> tuple[Fraction, ...]:
    """Scales as fractions, each above 0.

    Raises:
        DescriptorError: one is not above 0, or is not a finite number.
    """
    factors = fractions("scales", scales)
    for place, factor in enumerate(factors):
        if factor <= 0:
            raise DescriptorError(f"scales[{place}] must be above 0, got {scales[place]}")
    return factors


def scaled_sizes(sizes: Sequence[int], scales: Sequence[Any], *, rounds: bool = False) -> tuple[int, ...]:
    """``trunc(size * scale)`` each, in f64 for a float as torch, ONNX and numpy compute it: 100 * 0.29 is 28.

    rounds: to nearest even instead, as OpenCV does: 29.

    Raises:
        DescriptorError: more than any size can be.
    """
    scaled = []
    for place, (size, scale) in enumerate(zip(sizes, scales, strict=True)):
        product = size * (_rational(scale) if isinstance(scale, numbers.Rational) else float(scale))
        if product >= LIMIT:
            raise DescriptorError(f"scales[{place}] {scale} makes 2^512 elements or more of {size}")
        scaled.append(round(product) if rounds else int(product))
    return tuple(scaled)


def _rational(value: numbers.Rational) -> Fraction:
    """An exact fraction of Python integers: numpy's may be too narrow."""
    return Fraction(int(value.numerator), int(value.denominator))


def fraction(argument: str, value: object) -> Fraction:
    """One number as an exact fraction.

    Raises:
        DescriptorError: not a finite number.
    """
    number = finite(argument, value)
    return _rational(value) if isinstance(value, numbers.Rational) else Fraction(repr(number))


def finite(argument: str, value: object) -> float:
    """One finite number.

    Raises:
        DescriptorError: not a finite number.
    """
    number = real(argument, value)
    if not math.isfinite(number):
        raise DescriptorError(f"{argument} must be finite, got {number}")
    return number


def real(argument: str, value: object) -> float:
    """One number, which may be an infinity or NaN.

    Raises:
        DescriptorError: not a number.
    """
    if isinstance(value, _BOOLEANS) or not isinstance(value, _REAL_NUMBERS):
        raise DescriptorError(f"{argument} must be a number, got {shown(value)} ({type(value).__name__})")
    try:
        return float(value)
    except OverflowError:
        raise DescriptorError(f"{argument} must be a number that f64 has") from None
