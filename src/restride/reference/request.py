"""The arguments of a resampling, checked: an Axis for each axis that they name, and the part of it to be made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

import numpy as np

from restride.arguments import integers
from restride.errors import DescriptorError, UnsupportedError
from restride.reference.arguments import as_axes, describe
from restride.reference.conversion import Array
from restride.reference.coordinates import COORDINATES, HALF, NEAREST, Axis
from restride.reference.weights import MODES

POLICIES = ("stretch", "not_larger", "not_smaller")


@dataclass(frozen=True)
class Rules:
    """What a resampling is asked for besides sizes, under the names and with the defaults of ``resample``."""

    mode: str = "linear"
    coordinates: str = "half_pixel"
    nearest: str = "half_up"
    cubic_a: Any = -0.75
    antialias: bool = False
    exclude_outside: bool = False
    roi: Any = None
    keep_aspect_ratio_policy: str = "stretch"
    input_offsets: Any = None
    output_offsets: Any = None
    recompute_scale_factor: bool = False

    @property
    def has_offsets(self) -> bool:
        """DirectML's offsets take the place of a coordinate rule."""
        return self.input_offsets is not None or self.output_offsets is not None


RULE_NAMES = tuple(field.name for field in fields(Rules))


@dataclass(frozen=True)
class Request:
    """``axes[k]``, in ``[0, rank)``, is resampled as ``how[k]`` says; ``parts[k]`` are the indices asked for."""

    axes: tuple[int, ...]
    how: tuple[Axis, ...]
    parts: tuple[range, ...]


def resample_request(array: Array, sizes: Any, scales: Any, axes: Any, rules: Rules, window: Any = None) -> Request:
    """The resampling of ``array`` that the arguments ask for.

    Raises:
        DescriptorError: arguments do not fit each other or the array.
        UnsupportedError: a name that is none of those known.
    """
    _require_rules(rules, array)
    new_sizes = None if sizes is None else integers("sizes", sizes)
    scales = None if scales is None else _members("scales", scales, array)
    given = None if scales is None else numbers("scales", scales, array)
    named = _axes(new_sizes, given, axes, array)
    old = [array.shape[axis] for axis in named]
    if given is not None and min(given, default=Fraction(1)) <= 0:
        raise DescriptorError(f"scales {list(scales)} must be above 0, for {describe(array)}")
    if rules.keep_aspect_ratio_policy != "stretch" and new_sizes is not None:
        if given is not None:
            raise DescriptorError(
                f"keep_aspect_ratio_policy {rules.keep_aspect_ratio_policy!r} takes sizes without scales "
                f"{list(scales)}, for {describe(array)}"
            )
        _require_sizes(named, new_sizes, array)
        new_sizes, given = _keeping_aspect(rules.keep_aspect_ratio_policy, old, new_sizes, array)
    made = None if scales is None else [scaled(size, scale) for size, scale in zip(old, scales, strict=True)]
    if new_sizes is None:
        new_sizes = tuple(made or ())
    elif made is not None and not rules.has_offsets and list(new_sizes) != made:
        raise DescriptorError(
            f"sizes {list(new_sizes)} and scales {list(scales)} contradict each other: the scales make {made} of "
            f"{old}, for {describe(array)}"
        )
    _require_sizes(named, new_sizes, array)
    if given is None or rules.recompute_scale_factor:
        given = tuple(Fraction(size, before or 1) for size, before in zip(new_sizes, old, strict=True))
    crop = _an_axis("roi", rules.roi, 2 * len(named), Fraction(0), array)
    offsets = (
        _an_axis("input_offsets", rules.input_offsets, len(named), HALF, array),
        _an_axis("output_offsets", rules.output_offsets, len(named), -HALF, array),
    )
    (cubic_a,) = numbers("cubic_a", (rules.cubic_a,), array)
    how = tuple(
        Axis(
            source_size=old[k],
            size=new_sizes[k],
            scale=given[k],
            mode=rules.mode,
            coordinates=rules.coordinates,
            nearest=rules.nearest,
            cubic_a=cubic_a,
            antialias=bool(rules.antialias),
            exclude_outside=bool(rules.exclude_outside),
            roi=None if rules.roi is None else (crop[k], crop[k + len(named)]),
            offsets=(offsets[0][k], offsets[1][k]) if rules.has_offsets else None,
        )
        for k in range(len(named))
    )
    return Request(named, how, _parts(window, new_sizes, array))


def numbers(argument: str, values: Any, array: Array) -> tuple[Fraction, ...]:
    """``values`` as exact numbers; a float is the decimal number that prints it: 0.1 is 1/10."""
    found = []
    for position, value in enumerate(_members(argument, values, array)):
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            raise DescriptorError(f"{argument}[{position}] must be a number, got {value!r}, for {describe(array)}")
        if isinstance(value, Rational):
            found.append(Fraction(int(value.numerator), int(value.denominator)))
        elif math.isfinite(float(value)):
            found.append(Fraction(repr(float(value))))
        else:
            raise DescriptorError(f"{argument}[{position}] must be finite, got {value!r}, for {describe(array)}")
    return tuple(found)


def _members(argument: str, values: Any, array: Array) -> tuple[Any, ...]:
    try:
        return tuple(values)
    except TypeError:
        raise DescriptorError(
            f"{argument} must be a sequence of numbers, got {values!r}, for {describe(array)}"
        ) from None


def scaled(size: int, scale: Any) -> int:
    """The size that a scale makes: exact of an integer or a fraction; in f64 of a float, where 100 * 0.29 is 28."""
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
            raise UnsupportedError(f"{argument} {value!r} is not one of {', '.join(known)}, for {describe(array)}")
    for argument in ("antialias", "exclude_outside"):
        if getattr(rules, argument) and rules.mode not in {"linear", "cubic"}:
            raise DescriptorError(f"{argument} needs mode linear or cubic, not {rules.mode}, for {describe(array)}")
    if (rules.roi is None) == (rules.coordinates == "tf_crop_and_resize"):
        raise DescriptorError(
            f"roi {rules.roi!r} does not fit coordinates {rules.coordinates!r}: tf_crop_and_resize needs one, and no "
            f"other rule takes one, for {describe(array)}"
        )
    ruled = {"mode 'area'": rules.mode == "area", "input_offsets and output_offsets": rules.has_offsets}
    says_where = [what for what, holds in ruled.items() if holds]
    if len(says_where) == 2:
        raise DescriptorError(f"{says_where[0]} takes no {says_where[1]}, for {describe(array)}")
    if says_where and rules.coordinates != "half_pixel":
        raise DescriptorError(f"{says_where[0]} takes no coordinates {rules.coordinates!r}, for {describe(array)}")


def _axes(sizes: Sequence[int] | None, scales: Sequence[Fraction] | None, axes: Any, array: Array) -> tuple[int, ...]:
    counts = {name: len(values) for name, values in (("sizes", sizes), ("scales", scales)) if values is not None}
    if not counts:
        raise DescriptorError(f"resample of {describe(array)} needs sizes or scales, one an axis")
    if len(set(counts.values())) > 1:
        raise DescriptorError(f"sizes and scales must be equally many, not {counts}, for {describe(array)}")
    ((name, count),) = list(counts.items())[:1]
    given = None if axes is None else integers("axes", axes)
    if given is None and count > array.ndim:
        raise DescriptorError(f"{name} names {count} axes, but {describe(array)} has {array.ndim}")
    if given is not None and len(given) != count:
        raise DescriptorError(f"axes {list(given)} must be as many as {name}, {count}, for {describe(array)}")
    return as_axes(given, count, array)


def _require_sizes(axes: Sequence[int], sizes: Sequence[int], array: Array) -> None:
    for axis, size in zip(axes, sizes, strict=True):
        if size < 0:
            raise DescriptorError(f"size {size} of axis {axis} must be at least 0, for {describe(array)}")
        if size > 0 and array.shape[axis] == 0:
            raise DescriptorError(f"size {size} of axis {axis} needs at least one source element in {describe(array)}")


def _keeping_aspect(
    policy: str, old: Sequence[int], sizes: Sequence[int], array: Array
) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
    """One scale for all axes, the least or the greatest that ``sizes`` ask for, and the sizes it makes, halves up."""
    if 0 in old:
        raise DescriptorError(f"keep_aspect_ratio_policy {policy!r} needs elements along its axes of {describe(array)}")
    ratios = [Fraction(size, before) for size, before in zip(sizes, old, strict=True)]
    scale = (min if policy == "not_larger" else max)(ratios, default=Fraction(1))
    return tuple(math.floor(scale * before + HALF) for before in old), (scale,) * len(old)


def _an_axis(argument: str, values: Any, count: int, default: Fraction, array: Array) -> tuple[Fraction, ...]:
    if values is None:
        return (default,) * count
    found = numbers(argument, values, array)
    if len(found) != count:
        raise DescriptorError(f"{argument} must be {count} numbers, got {len(found)}, for {describe(array)}")
    return found


def _parts(window: Any, sizes: Sequence[int], array: Array) -> tuple[range, ...]:
    """The indices of each axis that ``window`` asks for; None: all."""
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
