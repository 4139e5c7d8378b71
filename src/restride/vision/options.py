"""Options: the configuration of an image processor, its defaults filled in and every value checked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from restride.errors import DescriptorError, UnsupportedError, shown
from restride.request import LIBRARIES
from restride.vision.picture import MAX_TILES
from restride.vision.sizes import Size
from restride.words import key_here

FILTERS = LIBRARIES["pillow"].numbered_modes
"""Pillow's filters by their numbers, one of which a configuration has as ``resample``."""

_LATER_FILTERS = (6, 7)
"""MKS2013 and MKS2021 of Pillow 13, which restride does not have."""

WITHOUT_EFFECT = frozenset(
    (
        "_name_or_path",
        "_processor_class",
        "_valid_processor_keys",
        "auto_map",
        "data_format",
        "device",
        "disable_grouping",
        "feature_extractor_type",
        "id2label",
        "image_processor_type",
        "image_seq_length",
        "label2id",
        "num_labels",
        "processor_class",
        "return_tensors",
        "transformers_version",
        "use_fast",
        "video_processor_type",
    )
)
"""Keys of configurations that change no pixel, in any family: names, labels, and arguments of other backends."""

COMMON: dict[str, Any] = {
    "do_convert_rgb": None,
    "do_resize": None,
    "size": None,
    "default_to_square": True,
    "resample": None,
    "do_center_crop": None,
    "crop_size": None,
    "do_rescale": None,
    "rescale_factor": 1 / 255,
    "do_normalize": None,
    "image_mean": None,
    "image_std": None,
    "do_pad": None,
    "pad_size": None,
    "input_data_format": None,
}
"""Keys that every family has, and their values if neither the family nor the configuration has any."""

MAX_SIDE = 1 << 15
"""Maximum of every integer that no other bound concerns, such as a side in pixels."""

MAX_PIXELS = (1 << 31) - 1
"""Maximum of an edge in ``size``, which for some families is a number of pixels."""

MAX_PATCHES = 1 << 16
"""Maximum number of patches of an image."""

MAX_FRAMES = 64
"""Maximum number of frames of a patch."""

MAX_POOL = 16
"""Maximum number of patches along a side that are pooled."""

MAX_CANVASES = 1024
"""Maximum number of canvases that one is chosen from."""

_SIZE_KEYS = (
    {"height", "width"},
    {"shortest_edge"},
    {"shortest_edge", "longest_edge"},
    {"longest_edge"},
    {"max_height", "max_width"},
)
"""Sets of keys, one of which a size must have."""

Mean = float | tuple[float, ...] | None
OptionCheck = Callable[[str, object], Any]
"""A function from a key and its value to the value that a family reads; its ``DescriptorError`` names the key."""


@dataclass(frozen=True)
class Options:
    """The checked options: keys that all families share, and a family's own keys by ``options["key"]``.

    ``resample`` is the mode of ``rs.resample``.

    A null in the configuration is None even if the family has a default. SigLIP's files, whose ``do_convert_rgb`` is
    null, are read like that.
    """

    do_convert_rgb: bool
    do_resize: bool
    size: Size | None
    resample: str | None
    do_center_crop: bool
    crop_size: Size | None
    do_rescale: bool
    rescale_factor: float
    do_normalize: bool
    image_mean: Mean
    image_std: Mean
    do_pad: bool
    pad_size: Size | None
    input_data_format: str | None
    own: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.own[key]

    def needed_size(self) -> Size:
        """The size.

        Raises:
            DescriptorError: it is null.
        """
        if self.size is None:
            raise DescriptorError("size must not be null where do_resize is true")
        return self.size

    def needed_mode(self) -> str:
        """The filter.

        Raises:
            DescriptorError: it is null.
        """
        if self.resample is None:
            raise DescriptorError("resample must not be null where do_resize is true")
        return self.resample

    def needed_crop(self) -> tuple[int, int]:
        """Height and width of the crop.

        Raises:
            DescriptorError: they are not given.
        """
        if self.crop_size is None:
            raise DescriptorError("crop_size must not be null where do_center_crop is true")
        return self.crop_size.sides("crop_size")


def or_null(check: OptionCheck) -> OptionCheck:
    """The check of a key that may be null."""
    return lambda key, value: None if value is None else check(key, value)


def needed(check: OptionCheck) -> OptionCheck:
    """The check of a key that may not be null, though ``check`` takes it."""

    def checked(key: str, value: object) -> Any:
        if value is None:
            raise DescriptorError(f"{key} must not be null")
        return check(key, value)

    return checked


def as_flag(key: str, value: object) -> bool:
    """``value`` as a boolean; null is False.

    Raises:
        DescriptorError: it is neither.
    """
    if value is not None and not isinstance(value, bool):
        raise DescriptorError(f"{key} must be true, false or null, got {shown(value)}")
    return bool(value)


def up_to(most: int) -> OptionCheck:
    """The check of a key that takes integers of 1 to ``most``."""

    def check(key: str, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise DescriptorError(f"{key} must be a positive integer, got {shown(value)}")
        if value > most:
            raise DescriptorError(f"{key} must be at most {most}, got {shown(value)}")
        return value

    return check


as_count = up_to(MAX_SIDE)


def as_ratio(key: str, value: object) -> float:
    """``value`` as a number of 0.001 to 1000.

    Raises:
        DescriptorError: it is not one.
    """
    number = as_number(key, value)
    if not 0.001 <= number <= 1000:
        raise DescriptorError(f"{key} must be 0.001 to 1000, got {shown(value)}")
    return number


def as_byte(key: str, value: object) -> int:
    """``value`` as an element of u8, the fraction cut off.

    Raises:
        DescriptorError: it is not 0 to 255.
    """
    byte = int(as_number(key, value))
    if not 0 <= byte <= 255:
        raise DescriptorError(f"{key} must be 0 to 255, got {shown(value)}")
    return byte


def as_colour(key: str, value: object) -> tuple[int, ...]:
    """Elements of u8, one for each channel.

    Raises:
        DescriptorError: ``value`` is no list of numbers from 0 to 255.
    """
    if not isinstance(value, list | tuple):
        raise DescriptorError(f"{key} must be a list of numbers, one a channel, got {shown(value)}")
    return tuple(as_byte(f"{key}[{place}]", each) for place, each in enumerate(value))


def one_of(*allowed: object) -> OptionCheck:
    """The check of a key that takes these values."""

    def check(key: str, value: object) -> Any:
        if value not in allowed:
            raise DescriptorError(f"{key} must be one of {', '.join(map(str, allowed))}, got {shown(value)}")
        return allowed[allowed.index(value)]

    return check


def as_pairs(key: str, value: object) -> list[tuple[int, int]]:
    """A list of [height, width].

    Raises:
        DescriptorError: ``value`` is no such list, is empty, or has more than ``MAX_CANVASES`` pairs.
    """
    if not isinstance(value, list | tuple) or not value:
        raise DescriptorError(f"{key} must be a list of pairs such as [[height, width]], got {shown(value)}")
    if len(value) > MAX_CANVASES:
        raise DescriptorError(f"{key} must have at most {MAX_CANVASES} pairs, got {len(value)}")
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in value):
        raise DescriptorError(f"{key} must be a list of pairs such as [[height, width]], got {shown(value)}")
    return [(as_count(key, tall), as_count(key, wide)) for tall, wide in value]


def as_mode(key: str, value: object) -> str | None:
    """The filter with this number in Pillow; null is None.

    Raises:
        DescriptorError: there is no such number.
        UnsupportedError: restride does not have the filter.
    """
    if value is None:
        return None
    if value in _LATER_FILTERS:
        raise UnsupportedError(f"{key} {value}, MKS2013 or MKS2021 of Pillow, is not done here")
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < len(FILTERS):
        known = ", ".join(f"{number} ({name})" for number, name in enumerate(FILTERS))
        raise DescriptorError(f"{key} must be one of Pillow's numbers {known}, got {shown(value)}")
    return FILTERS[value]


def as_size(key: str, value: object, *, is_square: bool = True) -> Size | None:
    """A size from an integer, two integers or a dictionary; null is None.

    is_square: one integer is both sides; else it is the shorter side.

    Raises:
        DescriptorError: other keys or values.
    """
    if value is None or isinstance(value, Size):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        value = {"height": value, "width": value} if is_square else {"shortest_edge": value}
    elif isinstance(value, list | tuple) and len(value) >= 2:
        value = {"height": value[0], "width": value[1]}
    if not isinstance(value, dict) or set(value) not in _SIZE_KEYS:
        allowed = "; ".join(", ".join(sorted(keys)) for keys in _SIZE_KEYS)
        raise DescriptorError(
            f"{key} must be an integer, [height, width] or have the keys {allowed}, got {shown(value)}"
        )
    checks = {name: up_to(MAX_PIXELS) if name.endswith("_edge") else as_count for name in value}
    return Size(**{name: or_null(checks[name])(f"{key}.{name}", side) for name, side in value.items()})


def as_mean(key: str, value: object) -> Mean:
    """One number, or a tuple of one for each channel; null is None.

    Raises:
        DescriptorError: anything else.
    """
    if isinstance(value, list | tuple):
        return tuple(as_number(f"{key}[{place}]", number) for place, number in enumerate(value))
    return None if value is None else as_number(key, value)


def as_std(key: str, value: object) -> Mean:
    """One number to divide by, or a tuple of one for each channel; null is None.

    Raises:
        DescriptorError: anything else, or a number that is 0 as f32.
    """
    numbers = as_mean(key, value)
    of_channels = numbers if isinstance(numbers, tuple) else (numbers,)
    if any(each is not None and abs(each) <= 2**-150 for each in of_channels):  # half of the smallest f32
        raise DescriptorError(f"{key} must not be 0 as f32, got {shown(value)}")
    return numbers


def as_number(key: str, value: object) -> float:
    """``value`` as a number.

    Raises:
        DescriptorError: ``value`` is no number, or not finite.
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise DescriptorError(f"{key} must be a number, got {shown(value)}")
    if not abs(value) <= sys.float_info.max:
        raise DescriptorError(f"{key} must be finite, got {shown(value)}")
    return float(value)


def as_data_format(key: str, value: object) -> str | None:
    """Where an image has its channels, "channels_first" or "channels_last"; null is None.

    Raises:
        DescriptorError: it is neither.
    """
    if value not in (None, "channels_first", "channels_last"):
        raise DescriptorError(f"{key} must be channels_first, channels_last or null, got {shown(value)}")
    return None if value is None else str(value)


_CHECKS: dict[str, OptionCheck] = {
    **{key: as_flag for key in COMMON if key.startswith("do_")},
    "resample": as_mode,
    "crop_size": as_size,
    "rescale_factor": as_number,
    "image_mean": as_mean,
    "pad_size": as_size,
    "input_data_format": as_data_format,
    **dict.fromkeys(("min_patches", "max_patches", "max_image_tiles", "max_slice_nums"), up_to(MAX_TILES)),
    "pan_and_scan_max_num_crops": or_null(up_to(MAX_TILES)),
    **dict.fromkeys(("max_num_patches", "min_image_tokens", "max_image_tokens"), up_to(MAX_PATCHES)),
    "temporal_patch_size": up_to(MAX_FRAMES),
    "pooling_kernel_size": up_to(MAX_POOL),
}
"""The checks of common keys, except ``size`` and ``image_std``, and of keys whose numbers cause more work than most."""

_BY_TYPE: dict[type, OptionCheck] = {
    bool: as_flag,
    int: as_count,
    float: as_ratio,
    tuple: needed(as_mean),
    dict: needed(as_size),
    list: as_pairs,
    type(None): or_null(as_count),
}
"""For other keys of a family, the check of a value, by the type of the key's default."""


def read_options(
    defaults: Mapping[str, object],
    config: Mapping[str, object],
    ignored: frozenset[str],
    checks: Mapping[str, OptionCheck],
) -> Options:
    """The options of a family with these ``defaults`` for a configuration.

    Args:
        defaults: the family's values of common keys and of its own ones.
        config: the configuration.
        ignored: keys of the family that change no pixel.
        checks: checks of the family's own keys; without one, a value must be of the kind of the default.

    Raises:
        DescriptorError: a key is unknown and not null, or a value is of a wrong kind.
        UnsupportedError: restride does not have the filter.
    """
    known = {**COMMON, **defaults}
    for key in config:
        if key not in known and key not in WITHOUT_EFFECT and key not in ignored and config[key] is not None:
            raise DescriptorError(
                f"the configuration has the key {shown(key)} = {shown(config[key])}, which this family does not know"
                + (key_here(key, known) or "; leave it out if it changes no pixel")
            )
    values = {key: config.get(key, default) for key, default in known.items()}
    is_square = as_flag("default_to_square", values.pop("default_to_square"))
    if values["rescale_factor"] is None and not values["do_rescale"]:
        values["rescale_factor"] = 0  # a factor that is not used may be null
    as_divisor = as_std if values["do_normalize"] else as_mean  # without normalization nothing is divided
    as_size_here = partial(as_size, is_square=is_square)
    special: dict[str, OptionCheck] = {**_CHECKS, "size": as_size_here, "image_std": as_divisor, **checks}
    read = {key: (special.get(key) or _BY_TYPE[type(known[key])])(key, value) for key, value in values.items()}
    options = Options(**{key: read.pop(key) for key in COMMON if key in read}, own=read)
    if options.do_normalize and (options.image_mean is None or options.image_std is None):
        raise DescriptorError("image_mean and image_std must not be null where do_normalize is true")
    if options.do_normalize and options.do_convert_rgb and options.input_data_format is None:  # channels are 3 then
        for key, numbers in (("image_mean", options.image_mean), ("image_std", options.image_std)):
            if isinstance(numbers, tuple) and len(numbers) != 3:
                raise DescriptorError(f"{key} must have 3 values where do_convert_rgb is true, got {shown(numbers)}")
    return options
