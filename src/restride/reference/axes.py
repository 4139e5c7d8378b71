"""The axes of a resampling: sizes, scales and the part to compute, which follow from a checked request."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import Any

from restride.arguments import ExactNumber
from restride.dtypes import Array, as_dtype
from restride.errors import DescriptorError, UnsupportedError
from restride.reference.arguments import require_few_elements
from restride.reference.coordinates import HALF, ResampledAxis
from restride.reference.like import follows_sizes
from restride.request import AREA_MODES, CheckedRequest, Request, read_request
from restride.request.channels import require_no_channels
from restride.request.libraries import LibraryRequest
from restride.request.resampling import has_offsets, read_window, require_countable, require_elements, require_products

MAX_WEIGHTS = 1 << 22
"""Maximum number of elements along an axis for which weights are computed: four million take minutes and 2 GB."""


@dataclass(frozen=True, eq=False)
class ResampledAxes:
    """A resampling of ``array``: along ``axes[k]``, in ``[0, rank)``, by ``how[k]``; only ``parts[k]`` is computed.

    library: the request to the library that ``like`` names; None: there is none.
    """

    array: Array
    request: CheckedRequest
    how: tuple[ResampledAxis, ...]
    parts: tuple[range, ...]
    library: LibraryRequest | None

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes that are resampled."""
        return self.request.axes

    def resized(self, along: Sequence[object], rest: object) -> list[Any]:
        """One value for each axis of the array: ``along[k]`` for ``axes[k]``, ``rest`` for all others."""
        of_axis = dict(zip(self.axes, along, strict=True))
        return [of_axis.get(axis, rest) for axis in range(self.array.ndim)]


def resampled_axes(array: Array, asked: Request) -> ResampledAxes:
    """The axes of a resampling of ``array`` by these arguments.

    Raises:
        DescriptorError: an unknown name, or arguments do not fit each other or the array.
        UnsupportedError: too many elements for the reference.
    """
    request, library = read_request(asked, array.ndim, as_dtype(array.dtype).name)
    old = tuple(array.shape[axis] for axis in request.axes)
    new, scales = _sizes_and_scales(request, old, rounds=library is not None and library.profile.rounds_sizes)
    require_elements(request.axes, old, new)
    parts = read_window(request.window, new)
    if asked.axes is None:
        require_no_channels("x", array.ndim, old, new, asked.like)
    followed: list[Fraction | None] = [None] * len(old)
    if not (scales is None or request.recompute_scale_factor):
        followed = list(scales)
    if library is not None:
        library = library._replace(source_sizes=array.shape, axes=request.axes, old=old, new=new)
        followed = [None if ignores else scale for ignores, scale in zip(follows_sizes(library), followed, strict=True)]
        library = library._replace(scales=tuple(scale if scale is None else float(scale) for scale in followed))
    by_sizes = [Fraction(size, before or 1) for size, before in zip(new, old, strict=True)]
    used = [own if scale is None else scale for own, scale in zip(by_sizes, followed, strict=True)]
    axes = ResampledAxes(array, request, _how(request, old, new, used), parts, library)
    _require_few(axes)
    return axes


def _require_few(axes: ResampledAxes) -> None:
    """Check that the outputs along each axis are few enough to be computed.

    Raises:
        UnsupportedError: an axis needs too many weights, which are computed one Python number at a time; or the source,
            the result, or the array after some of the axes are resampled has too many elements.
    """
    array, sizes = axes.array, list(axes.array.shape)
    require_few_elements(sizes, array)
    last_first = sorted(zip(axes.axes, axes.how, axes.parts, strict=True), key=itemgetter(0), reverse=True)
    for axis, of_axis, part in last_first:
        count = part.stop - part.start  # len() has a limit
        is_wide = of_axis.rules.mode in AREA_MODES or of_axis.rules.antialias
        reads = count * (of_axis.source_size // max(of_axis.size, 1) + 1) if is_wide else count
        if reads > MAX_WEIGHTS:
            raise UnsupportedError(
                f"the reference makes weights for at most {MAX_WEIGHTS} elements along an axis, not {reads}: "
                f"{of_axis.source_size} to {of_axis.size} of axis {axis}"
            )
        sizes[axis] = count
        require_few_elements(sizes, array)


def _sizes_and_scales(
    request: CheckedRequest, old: Sequence[int], *, rounds: bool
) -> tuple[tuple[int, ...], tuple[Fraction, ...] | None]:
    """The sizes of the result, and the scales that give them, or None if only sizes are asked for.

    rounds: sizes computed from scales are rounded to the nearest integer, halves to even, instead of down.
    """
    sizes = request.sizes or ()
    if request.keep_aspect_ratio_policy != "stretch":
        return _aspect_sizes(request.keep_aspect_ratio_policy, old, sizes)
    if request.scales is None:
        return sizes, None
    # Exact for an integer or a fraction, in f64 for a float, and truncated: 100 * 0.29 is 28.
    products = [size * scale for size, scale in zip(old, request.scales, strict=True)]
    require_countable(request.scales, old, products)
    scaled = [round(product) if rounds else math.floor(product) for product in products]
    require_products(request, old, scaled)
    return tuple(scaled) if request.sizes is None else sizes, tuple(map(_decimal, request.scales))


def _aspect_sizes(
    policy: str, old: Sequence[int], sizes: Sequence[int]
) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
    """One scale for all axes, the smallest or largest of ``sizes / old``, and the sizes it gives, halves rounded up."""
    if 0 in old:
        raise DescriptorError(f"keep_aspect_ratio_policy {policy!r} needs axes with elements")
    ratios = [Fraction(size, before) for size, before in zip(sizes, old, strict=True)]
    scale = (min if policy == "not_larger" else max)(ratios, default=Fraction(1))
    return tuple(math.floor(scale * before + HALF) for before in old), (scale,) * len(old)


def _how(
    request: CheckedRequest, old: Sequence[int], new: Sequence[int], scales: Sequence[Fraction]
) -> tuple[ResampledAxis, ...]:
    """Each axis with the numbers that the request has for it."""
    count = len(old)
    roi = None if request.roi is None else [_decimal(edge) for edge in request.roi]
    inputs = _or_default(request.input_offsets, HALF, count)
    outputs = _or_default(request.output_offsets, -HALF, count)
    return tuple(
        ResampledAxis(
            old[k],
            new[k],
            scales[k],
            request.rules,
            _decimal(request.rules.cubic_a),
            roi=None if roi is None else (roi[k], roi[k + count]),
            offsets=(inputs[k], outputs[k]) if has_offsets(request) else None,
        )
        for k in range(count)
    )


def _or_default(numbers: Sequence[ExactNumber] | None, default: Fraction, count: int) -> list[Fraction]:
    return [default] * count if numbers is None else [_decimal(number) for number in numbers]


def _decimal(number: ExactNumber) -> Fraction:
    """The exact number; a float stands for the decimal number that prints it: 0.1 is 1/10."""
    return Fraction(repr(float(number))) if isinstance(number, float) else Fraction(number)
