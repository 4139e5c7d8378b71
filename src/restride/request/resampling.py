"""Request: the arguments of a resampling as one record, read and checked here, for the operations and the reference.

No size, coordinate or weight is computed here: the two sides compute their own from the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from numbers import Integral, Real
from operator import attrgetter
from typing import Any, Literal, NamedTuple, SupportsIndex, TypeAlias, TypedDict, get_args

import numpy as np

from restride.arguments import LIMIT, ExactNumber, RealNumber, finite, integers, real, reals
from restride.errors import DescriptorError, Message, did_you_mean, shown
from restride.request.libraries import LIBRARIES, OTHER_NAMES, Library, LibraryRequest, Mode, Profile

MODES = ("nearest", "linear", "cubic", "area", "area_weighted")
AREA_MODES = ("area", "area_weighted")

CoordinatesRule: TypeAlias = Literal[
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
]  # fmt: skip
COORDINATES: tuple[CoordinatesRule, ...] = get_args(CoordinatesRule)

NearestRule: TypeAlias = Literal["half_up", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
NEAREST_RULES: tuple[NearestRule, ...] = get_args(NearestRule)

AspectPolicy: TypeAlias = Literal["stretch", "not_larger", "not_smaller"]
POLICIES: tuple[AspectPolicy, ...] = get_args(AspectPolicy)


class Rules(NamedTuple):
    """The arguments that give elements their weights, in our own words, with our defaults; all axes share them."""

    mode: str = "linear"
    coordinates: str = "half_pixel"
    nearest: str = "half_up"
    cubic_a: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False


DEFAULTS: dict[str, Any] = Rules._field_defaults | {
    "roi": None,
    "keep_aspect_ratio_policy": "stretch",
    "input_offsets": None,
    "output_offsets": None,
    "recompute_scale_factor": False,
}
"""Our defaults for the arguments for which libraries have their own."""


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

    roi: Iterable[RealNumber] | None
    input_offsets: Iterable[RealNumber] | None
    output_offsets: Iterable[RealNumber] | None
    recompute_scale_factor: bool | None


class RequestArguments(RuleArguments, total=False):
    """The keywords of ``rs.resample`` that decide what an output reads, which ``rs.source_window`` takes too."""

    extrapolation_value: float
    keep_aspect_ratio_policy: AspectPolicy


class Request(NamedTuple):
    """The arguments of ``rs.resample`` that decide what an output reads, as the caller wrote them.

    The fields have the names of the arguments. None in a field that ``DEFAULTS`` lists: the default, which is that of
    the library ``like`` if it is given.
    """

    sizes: Iterable[SupportsIndex] | None = None
    scales: Iterable[RealNumber] | None = None
    axes: Iterable[SupportsIndex] | None = None
    mode: Any = None
    coordinates: Any = None
    nearest: Any = None
    cubic_a: Any = None
    antialias: Any = None
    exclude_outside: Any = None
    extrapolation_value: float = 0.0
    roi: Iterable[RealNumber] | None = None
    keep_aspect_ratio_policy: Any = "stretch"
    input_offsets: Iterable[RealNumber] | None = None
    output_offsets: Iterable[RealNumber] | None = None
    recompute_scale_factor: bool | None = None
    like: Any = None
    window: Iterable[slice | None] | None = None
    source_sizes: Iterable[SupportsIndex] | None = None

    @property
    def rules(self) -> Rules:
        """The rules of a request that ``read_words`` returned."""
        return Rules(*[getattr(self, name) for name in Rules._fields])


class CheckedRequest(NamedTuple):
    """The arguments of a ``Request``, checked, in our own words and with all defaults; nothing is derived from them.

    axes: counted from 0. sizes, scales: one for each axis, or None; sizes are 0 or more, scales above 0, and at least
    one of the two is given. extrapolation_value: an int stays an int, because f64 has not all integers of 64 bits. roi,
    input_offsets, output_offsets: None, or as many numbers as the axes need. window: as it was written, because its
    check needs the sizes of the result (``read_window``).
    """

    axes: tuple[int, ...]
    sizes: tuple[int, ...] | None
    scales: tuple[ExactNumber, ...] | None
    rules: Rules
    extrapolation_value: float
    roi: tuple[ExactNumber, ...] | None
    keep_aspect_ratio_policy: str
    input_offsets: tuple[ExactNumber, ...] | None
    output_offsets: tuple[ExactNumber, ...] | None
    recompute_scale_factor: bool
    window: object


def read_words(request: Request, dtype: str) -> tuple[Request, LibraryRequest | None]:
    """The request with its words checked, in our own words and with all defaults; and the request to ``like``, or None.

    dtype: element type of the source, on which a library's rules may depend.

    Raises:
        DescriptorError: an unknown library, mode or other word, of which the message lists those known; an argument
            contradicts the library or another argument, or would have no effect.
    """
    read: Callable[..., tuple[dict[str, Any], LibraryRequest | None]] = _read_words
    if not (request.roi is request.input_offsets is request.output_offsets is None):
        read = _read_words.__wrapped__  # these lists are no keys: (True, 0) equals (1, 0)
    try:
        rules, library = read(request.like, dtype, *_rules_of(request))
    except TypeError:  # something that has no hash, where there should be a word
        rules, library = _read_words.__wrapped__(request.like, dtype, *_rules_of(request))
    return request._replace(**rules, like=None), library


_rules_of: Callable[[Request], tuple[Any, ...]] = attrgetter(*DEFAULTS)
"""The arguments of a request that do not depend on sizes."""


@lru_cache(maxsize=1024, typed=True)  # typed, so that True and 1 are two keys
def _read_words(like: Any, dtype: str, *rules: Any) -> tuple[dict[str, Any], LibraryRequest | None]:
    """What ``read_words`` finds for the arguments of ``DEFAULTS``; callers do not change it. Errors are not cached."""
    present = {name: value for name, value in zip(DEFAULTS, rules, strict=True) if value is not None}
    library = None
    if like is None:
        read = DEFAULTS | present
    else:
        profile = _profile(like)
        word, fixed = _in_our_words(like, profile, present)
        read = DEFAULTS | fixed
        aligns = read["coordinates"] == "align_corners"
        library = LibraryRequest(like, profile, word, read["antialias"], aligns, dtype)
    plain = Request(**read)
    _require_words(plain)
    _require_agreement(plain)
    return read | {"cubic_a": float(plain.cubic_a)} | {name: bool(read[name]) for name in _FLAGS}, library


def read_request(request: Request, rank: int, dtype: str) -> tuple[CheckedRequest, LibraryRequest | None]:
    """The arguments of a request, checked, for a source of ``rank`` axes; and the request to ``like``, or None.

    Raises:
        DescriptorError: as ``read_words``; or the arguments do not fit each other or the axes.
    """
    words, library = read_words(request, dtype)
    _require_several("sizes", words.sizes, Integral)
    _require_several("scales", words.scales)
    sizes = None if words.sizes is None else integers("sizes", words.sizes)
    scales = None if words.scales is None else reals("scales", words.scales)
    named = {name: values for name, values in (("sizes", sizes), ("scales", scales)) if values is not None}
    if not named:
        raise DescriptorError("resample needs sizes or scales")
    for place, scale in enumerate(scales or ()):
        if scale <= 0:
            raise DescriptorError(f"scales[{place}] must be above 0, got {shown(scale)}")
    axes = resized_axes(words.axes, named, rank)
    for size in sizes or ():
        if size < 0:
            raise DescriptorError(f"size {size} of sizes {sizes} must be 0 or more")
    if words.keep_aspect_ratio_policy != "stretch" and (sizes is None or scales is not None):
        raise DescriptorError(
            f"keep_aspect_ratio_policy {words.keep_aspect_ratio_policy!r} goes with sizes alone, not with scales "
            f"{words.scales}"
        )
    if request.recompute_scale_factor and scales is None and words.keep_aspect_ratio_policy == "stretch":
        raise DescriptorError(
            "recompute_scale_factor True has no effect with sizes alone, which coordinates follow anyway: it goes with "
            "scales"
        )
    fill: float = real("extrapolation_value", words.extrapolation_value)
    if fill != 0 and words.coordinates != "tf_crop_and_resize":
        raise DescriptorError(
            f"extrapolation_value {fill:g} goes with coordinates 'tf_crop_and_resize', not {words.coordinates!r} "
            f"in mode {words.mode!r}"
        )
    if isinstance(words.extrapolation_value, int | np.integer):
        fill = int(words.extrapolation_value)  # 64-bit elements hold integers that f64 cannot
    count = len(axes)
    checked = CheckedRequest(
        axes,
        sizes,
        scales,
        words.rules,
        fill,
        _per_axis("roi", words.roi, 2 * count),
        words.keep_aspect_ratio_policy,
        _per_axis("input_offsets", words.input_offsets, count),
        _per_axis("output_offsets", words.output_offsets, count),
        bool(words.recompute_scale_factor),
        words.window,
    )
    return checked, library


def _per_axis(argument: str, values: object, count: int) -> tuple[ExactNumber, ...] | None:
    if values is None:
        return None
    numbers = reals(argument, values)
    if len(numbers) != count:
        raise DescriptorError(f"{argument} has {len(numbers)} numbers where these axes need {count}")
    return numbers


def require_products(request: CheckedRequest, old: Sequence[int], products: Sequence[int]) -> None:
    """Require that ``products``, sizes before times scales, are the sizes of a checked request that has both.

    Raises:
        DescriptorError: sizes and scales contradict each other; with offsets they may.
    """
    if request.sizes is None or request.scales is None or has_offsets(request):
        return
    for before, size, scale, product in zip(old, request.sizes, request.scales, products, strict=True):
        if product != size:
            raise DescriptorError(
                f"sizes {request.sizes} and scales {request.scales} contradict each other: "
                f"{before} * {scale} is {product}, not {size}"
            )


def require_countable(scales: Sequence[ExactNumber], old: Sequence[int], products: Sequence[ExactNumber]) -> None:
    """Require that ``products``, sizes before times scales, are below what any size can be.

    Raises:
        DescriptorError: one is not.
    """
    for place, (scale, before, product) in enumerate(zip(scales, old, products, strict=True)):
        if product >= LIMIT:
            raise DescriptorError(f"scales[{place}] {scale} makes 2^512 elements or more of {before}")


def require_elements(axes: Sequence[int], old: Sequence[int], new: Sequence[int]) -> None:
    """Require that every axis whose new size is 1 or more has elements.

    Raises:
        DescriptorError: an axis has none.
    """
    for axis, before, size in zip(axes, old, new, strict=True):
        if size > 0 and before == 0:
            raise DescriptorError(f"axis {axis} has no elements to make {size} of, sizes are {tuple(new)}")


def has_offsets(request: Request | CheckedRequest) -> bool:
    """True if DirectML's offsets say where to read, in place of ``coordinates``."""
    return request.input_offsets is not None or request.output_offsets is not None


def _require_several(argument: str, values: object, kind: type = Real) -> None:
    """Refuse a bare number of ``kind``, which does not say how many axes it is for."""
    if isinstance(values, kind) and not isinstance(values, bool | np.bool_):
        those = "integers" if kind is Integral else "numbers"
        raise DescriptorError(
            f"{argument} must be a sequence of {those}, one per axis, e.g. ({values}, {values}), got {values}"
        )


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

WORDS: dict[str, tuple[str, ...]] = {
    "mode": MODES,
    "coordinates": COORDINATES,
    "nearest": NEAREST_RULES,
    "keep_aspect_ratio_policy": POLICIES,
}
"""The words that an argument may have."""

_FLAGS = [name for name, default in DEFAULTS.items() if isinstance(default, bool)]

MODES_OF = {
    "antialias": ("linear", "cubic"),
    "exclude_outside": ("linear", "cubic"),
    "nearest": ("nearest",),
    "cubic_a": ("cubic",),
}
"""The modes that an argument goes with; one that is missing here goes with every mode."""

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
    known = tuple(LIBRARIES) if argument == "like" else WORDS.get(argument, ())
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
    for argument, known in WORDS.items():
        value = getattr(choice, argument)
        if not isinstance(value, str) or value not in known:
            raise DescriptorError(
                f"{argument} {value!r} is not one of {', '.join(map(repr, known))}{word_elsewhere(argument, value)}"
            )
    for argument in _FLAGS:
        if not isinstance(getattr(choice, argument), bool | np.bool_):
            raise DescriptorError(f"{argument} must be True or False, got {getattr(choice, argument)!r}")


def _require_agreement(choice: Request) -> None:
    """Refuse arguments that contradict each other, or would have no effect."""
    finite("cubic_a", choice.cubic_a)
    for argument, modes in MODES_OF.items():
        value = getattr(choice, argument)
        if value != DEFAULTS[argument] and choice.mode not in modes:
            known = " or ".join(map(repr, modes))
            raise DescriptorError(f"{argument} {value!r} goes with mode {known}, not {choice.mode!r}")
    is_area = choice.mode in AREA_MODES
    if choice.coordinates != "half_pixel" and (has_offsets(choice) or is_area):
        others = "input_offsets and output_offsets say" if has_offsets(choice) else f"mode {choice.mode!r} says"
        raise DescriptorError(f"{others} where to read, and so does coordinates {choice.coordinates!r}")
    if has_offsets(choice) and is_area:
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
