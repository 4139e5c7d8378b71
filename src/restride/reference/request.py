"""A resampling request: the checked arguments, as a ResampledAxis for each resampled axis and the part to compute."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Rational, Real
from operator import itemgetter
from typing import Any

import numpy as np

from restride.arguments import integers
from restride.errors import DescriptorError, UnsupportedError
from restride.reference.arguments import Array, as_axes, describe, require_few_elements
from restride.reference.coordinates import COORDINATES, HALF, NEAREST, ResampledAxis, Rules
from restride.reference.weights import AREA_MODES, MODES

POLICIES = ("stretch", "not_larger", "not_smaller")


MAX_WEIGHTS = 1 << 22
"""Maximum number of elements along an axis for which weights are computed: four million take minutes and 2 GB."""


@dataclass(frozen=True, eq=False)
class ReferenceRequest:
    """A resampling of ``array``: along ``axes[k]``, in ``[0, rank)``, by ``how[k]``; only ``parts[k]`` is computed.

    like: the library whose result is computed. word: its name of the mode. factors: scales that enter the library's
    coordinates; None: the sizes determine them.
    """

    array: Array
    rules: Rules
    axes: tuple[int, ...]
    how: tuple[ResampledAxis, ...]
    parts: tuple[range, ...]
    factors: tuple[float, ...] | None = None
    like: str | None = None
    word: str = ""

    @property
    def old(self) -> tuple[int, ...]:
        """Sizes of the source along ``axes``."""
        return tuple(axis.source_size for axis in self.how)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the whole result along ``axes``."""
        return tuple(axis.size for axis in self.how)

    def each(self) -> list[tuple[int, int, int]]:
        """Triples of axis, old size and new size, the last axis first."""
        return sorted(zip(self.axes, self.old, self.sizes, strict=True), reverse=True)

    @property
    def channels(self) -> int:
        """Elements of a pixel: the product of the sizes after the last of ``axes``."""
        return math.prod(self.array.shape[max(self.axes) + 1 :])

    @property
    def is_aligned(self) -> bool:
        """True if coordinates are those of aligned corners."""
        return self.rules.coordinates == "align_corners"

    def resized(self, along: Sequence[object], rest: object) -> list[Any]:
        """One value for each axis of the array: ``along[k]`` for ``axes[k]``, ``rest`` for all others."""
        of_axis = dict(zip(self.axes, along, strict=True))
        return [of_axis.get(axis, rest) for axis in range(self.array.ndim)]


def resample_request(
    array: Array, sizes: Any, scales: Any, axes: Any, rules: Rules, window: Any = None, like: Any = None, word: str = ""
) -> ReferenceRequest:
    """The request for a resampling of ``array`` by these arguments.

    Raises:
        DescriptorError: an unknown name, or arguments do not fit each other or the array.
    """
    _require_rules(rules, array)
    new_sizes = None if sizes is None else integers("sizes", sizes)
    scales = None if scales is None else _as_tuple("scales", scales, array)
    factors = None if scales is None else numbers("scales", scales, array)
    indices = _axes(new_sizes, factors, axes, array)
    old = [array.shape[axis] for axis in indices]
    if factors is not None and min(factors, default=Fraction(1)) <= 0:
        raise DescriptorError(f"scales {list(scales)} must be above 0, for {describe(array)}")
    if rules.keep_aspect_ratio_policy != "stretch" and new_sizes is not None:
        if factors is not None:
            raise DescriptorError(
                f"keep_aspect_ratio_policy {rules.keep_aspect_ratio_policy!r} takes sizes without scales "
                f"{list(scales)}, for {describe(array)}"
            )
        _require_sizes(indices, new_sizes, array)
        new_sizes, factors = _aspect_sizes(rules.keep_aspect_ratio_policy, old, new_sizes, array)
    by_scales = None if scales is None else [scaled(size, scale) for size, scale in zip(old, scales, strict=True)]
    if new_sizes is None:
        new_sizes = tuple(by_scales or ())
    elif by_scales is not None and not rules.has_offsets and list(new_sizes) != by_scales:
        raise DescriptorError(
            f"sizes {list(new_sizes)} and scales {list(scales)} contradict each other: the scales make {by_scales} of "
            f"{old}, for {describe(array)}"
        )
    _require_sizes(indices, new_sizes, array)
    if factors is None or rules.recompute_scale_factor:
        factors = tuple(Fraction(size, before or 1) for size, before in zip(new_sizes, old, strict=True))
    count = len(indices)
    roi = _per_axis("roi", rules.roi, 2 * count, Fraction(0), array)
    input_offsets = _per_axis("input_offsets", rules.input_offsets, count, HALF, array)
    output_offsets = _per_axis("output_offsets", rules.output_offsets, count, -HALF, array)
    (cubic_a,) = numbers("cubic_a", (rules.cubic_a,), array)
    hashable = replace(rules, cubic_a=cubic_a, roi=None, input_offsets=None, output_offsets=None)
    how = tuple(
        ResampledAxis(
            old[k],
            new_sizes[k],
            factors[k],
            hashable,
            roi=None if rules.roi is None else (roi[k], roi[k + count]),
            offsets=(input_offsets[k], output_offsets[k]) if rules.has_offsets else None,
        )
        for k in range(count)
    )
    parts = _parts(window, new_sizes, array)
    library_scales = None if scales is None or rules.recompute_scale_factor else tuple(map(float, scales))
    request = ReferenceRequest(array, rules, indices, how, parts, library_scales, like, word)
    require_few(request, parts)
    return request


def require_few(request: ReferenceRequest, parts: Sequence[range]) -> None:
    """Check that the outputs ``parts`` along each axis are few enough to be computed.

    Raises:
        UnsupportedError: an axis needs too many rows, which are computed one Python number at a time; or the source,
            the result, or an array between two axes has too many elements.
    """
    array, sizes = request.array, list(request.array.shape)
    require_few_elements(sizes, array)
    last_first = sorted(zip(request.axes, request.how, parts, strict=True), key=itemgetter(0), reverse=True)
    for axis, of_axis, part in last_first:
        count = part.stop - part.start  # len() has a limit
        is_wide = of_axis.rules.mode in AREA_MODES or of_axis.rules.antialias
        reads = count * (of_axis.source_size // max(of_axis.size, 1) + 1) if is_wide else count
        if reads > MAX_WEIGHTS:
            raise UnsupportedError(
                f"the reference makes weights for at most {MAX_WEIGHTS} elements along an axis, not {reads}: "
                f"{of_axis.source_size} to {of_axis.size} of axis {axis}, for {describe(array)}"
            )
        sizes[axis] = count
        require_few_elements(sizes, array)


def numbers(argument: str, values: object, array: Array) -> tuple[Fraction, ...]:
    """``values`` as exact numbers; a float stands for the decimal number that prints it: 0.1 is 1/10."""
    exact = []
    for position, value in enumerate(_as_tuple(argument, values, array)):
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            raise DescriptorError(f"{argument}[{position}] must be a number, got {value!r}, for {describe(array)}")
        if isinstance(value, Rational):
            exact.append(Fraction(int(value.numerator), int(value.denominator)))
        elif math.isfinite(float(value)):
            exact.append(Fraction(repr(float(value))))
        else:
            raise DescriptorError(f"{argument}[{position}] must be finite, got {value!r}, for {describe(array)}")
    return tuple(exact)


def _as_tuple(argument: str, values: Any, array: Array) -> tuple[Any, ...]:
    try:
        return tuple(values)
    except TypeError:
        raise DescriptorError(
            f"{argument} must be a sequence of numbers, got {values!r}, for {describe(array)}"
        ) from None


def scaled(size: int, scale: Any) -> int:
    """``size`` times ``scale``, truncated: exact for an integer or fraction, in f64 for a float: 100 * 0.29 is 28."""
    exactly = isinstance(scale, Rational)
    return int(size * Fraction(int(scale.numerator), int(scale.denominator))) if exactly else int(size * float(scale))


def _require_rules(rules: Rules, array: Array) -> None:
    for argument, known in (
        ("mode", MODES),
        ("coordinates", COORDINATES),
        ("nearest", NEAREST),
        ("keep_aspect_ratio_policy", POLICIES),
    ):
        value = getattr(rules, argument)
        if value not in known:
            raise DescriptorError(f"{argument} {value!r} is not one of {', '.join(known)}, for {describe(array)}")
    for argument in ("antialias", "exclude_outside"):
        if getattr(rules, argument) and rules.mode not in {"linear", "cubic"}:
            raise DescriptorError(f"{argument} needs mode linear or cubic, not {rules.mode}, for {describe(array)}")
    if (rules.roi is None) == (rules.coordinates == "tf_crop_and_resize"):
        raise DescriptorError(
            f"roi {rules.roi!r} does not fit coordinates {rules.coordinates!r}: tf_crop_and_resize needs one, and no "
            f"other rule takes one, for {describe(array)}"
        )
    offsets = "input_offsets and output_offsets"
    is_area = rules.mode in AREA_MODES
    if is_area and rules.has_offsets:
        raise DescriptorError(f"mode {rules.mode!r} takes no {offsets}, for {describe(array)}")
    if (is_area or rules.has_offsets) and rules.coordinates != "half_pixel":
        ruled = f"mode {rules.mode!r}" if is_area else offsets
        raise DescriptorError(f"{ruled} takes no coordinates {rules.coordinates!r}, for {describe(array)}")


def _axes(sizes: Sequence[int] | None, scales: Sequence[Fraction] | None, axes: Any, array: Array) -> tuple[int, ...]:
    counts = {name: len(values) for name, values in (("sizes", sizes), ("scales", scales)) if values is not None}
    if not counts:
        raise DescriptorError(f"resample of {describe(array)} needs sizes or scales, one an axis")
    if len(set(counts.values())) > 1:
        raise DescriptorError(f"sizes and scales must be equally many, not {counts}, for {describe(array)}")
    name, count = next(iter(counts.items()))
    return as_axes(axes, count, array, name)


def _require_sizes(axes: Sequence[int], sizes: Sequence[int], array: Array) -> None:
    for axis, size in zip(axes, sizes, strict=True):
        if size < 0:
            raise DescriptorError(f"size {size} of axis {axis} must be at least 0, for {describe(array)}")
        if size > 0 and array.shape[axis] == 0:
            raise DescriptorError(f"size {size} of axis {axis} needs at least one source element in {describe(array)}")


def _aspect_sizes(
    policy: str, old: Sequence[int], sizes: Sequence[int], array: Array
) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
    """One scale for all axes, the smallest or largest of ``sizes / old``, and the sizes it gives, halves rounded up."""
    if 0 in old:
        raise DescriptorError(f"keep_aspect_ratio_policy {policy!r} needs elements along its axes of {describe(array)}")
    ratios = [Fraction(size, before) for size, before in zip(sizes, old, strict=True)]
    scale = (min if policy == "not_larger" else max)(ratios, default=Fraction(1))
    return tuple(math.floor(scale * before + HALF) for before in old), (scale,) * len(old)


def _per_axis(argument: str, values: object, count: int, default: Fraction, array: Array) -> tuple[Fraction, ...]:
    if values is None:
        return (default,) * count
    exact = numbers(argument, values, array)
    if len(exact) != count:
        raise DescriptorError(f"{argument} must be {count} numbers, got {len(exact)}, for {describe(array)}")
    return exact


def _parts(window: object, sizes: Sequence[int], array: Array) -> tuple[range, ...]:
    """The range of indices of each axis that ``window`` selects; None: all."""
    if window is None:
        return tuple(range(size) for size in sizes)
    slices = tuple(window) if isinstance(window, Iterable) else (window,)
    if len(slices) != len(sizes):
        raise DescriptorError(f"window must be {len(sizes)} slices, got {len(slices)}, for {describe(array)}")
    parts = []
    for k, (part, size) in enumerate(zip(slices, sizes, strict=True)):
        taken = slice(None) if part is None else part
        if not isinstance(taken, slice) or taken.step not in {None, 1}:
            raise DescriptorError(f"window[{k}] must be a slice without a step, got {part!r}, for {describe(array)}")
        ends = 0 if taken.start is None else taken.start, size if taken.stop is None else taken.stop
        start, stop = integers(f"window[{k}]", ends)
        if not 0 <= start <= stop <= size:
            raise DescriptorError(f"window[{k}] [{start}, {stop}) exceeds size {size}, for {describe(array)}")
        parts.append(range(start, stop))
    return tuple(parts)
