"""Choice: what a resampling is asked for besides its sizes, and which of it goes together.

What would have no effect is refused: whoever asks for it expects one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from restride.errors import DescriptorError, UnsupportedError
from restride.sampling.band import MODES
from restride.sampling.coordinates import COORDINATES
from restride.sampling.factors import finite, real
from restride.sampling.filters import NEAREST_RULES

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

_Where = Callable[[], str]


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
