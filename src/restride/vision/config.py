"""Read the configuration files of models, and find the family of the class that they name."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from restride.errors import DescriptorError, UnsupportedError, did_you_mean, shown
from restride.files.reading import open_regular, read_bounded
from restride.vision.families import FAMILIES, REFUSED
from restride.vision.family import Family

FILES = ("processor_config.json", "preprocessor_config.json")
"""Files of a folder that may contain the configuration; in the first it is the member ``image_processor``."""

MAX_BYTES = 1 << 20
"""Maximum size of a configuration file: 200 times that of a usual one, and enough for the names of 20,000 labels."""

MAX_VALUES = 1 << 16
"""Maximum number of values of a configuration, those in lists and dictionaries counted too."""

MAX_DEPTH = 32
"""Maximum depth to which lists and dictionaries of a configuration may nest."""

_TYPES = ("image_processor_type", "feature_extractor_type", "video_processor_type")
"""Keys that may name the class."""

_ENDINGS = ("Pil", "Fast", "FeatureExtractor", "ImageProcessor", "Processor")
"""A class's name is the name of its family, followed by some of these endings."""


def read_config(config: Mapping[str, object] | str | os.PathLike[str]) -> dict[str, object]:
    """The configuration of the image processor, from a dictionary, a file or a folder with one of ``FILES``.

    The result is a copy, in which arrays and numbers of numpy and torch are lists and numbers of Python.

    Raises:
        DescriptorError: ``config`` is none of these, the file does not exist or holds no configuration, or the
            configuration is larger than ``MAX_BYTES``, ``MAX_VALUES`` and ``MAX_DEPTH`` allow.
    """
    if isinstance(config, Mapping):
        return _image_part(config)
    if not isinstance(config, str | os.PathLike):
        raise DescriptorError(f"config must be a dictionary, a file or a folder, got {shown(config)}")
    path = Path(os.fsdecode(config))
    if not path.is_dir():
        return _image_part(_read_json(path))
    for name in FILES:
        if (path / name).exists():
            read = _read_json(path / name)
            if name == FILES[1] or "image_processor" in read:
                return _image_part(read)
    raise DescriptorError(f"the folder {path} has no {FILES[1]}, and no {FILES[0]} with an image_processor")


def _image_part(config: Mapping[str, object]) -> dict[str, object]:
    """A copy of the part of a configuration that is about images."""
    part = config.get("image_processor", config)
    if not isinstance(part, Mapping):
        raise DescriptorError(f"image_processor of a configuration must be a dictionary, got {shown(part)}")
    counted = count(1)
    return {key: _copied(key, value, counted) for key, value in part.items()}


def _copied(key: object, value: object, counted: Iterator[int], depth: int = 1) -> Any:
    """A copy of a value in ``key`` of a configuration.

    Raises:
        DescriptorError: the value nests too deeply, or the configuration has too many values.
    """
    if next(counted) > MAX_VALUES or getattr(value, "nbytes", 0) > 8 * MAX_VALUES:
        raise DescriptorError(f"a configuration must have at most {MAX_VALUES} values, and has more in {shown(key)}")
    if depth > MAX_DEPTH:
        raise DescriptorError(f"{shown(key)} of a configuration must not nest more than {MAX_DEPTH} levels deep")
    if hasattr(value, "tolist"):  # an array or a number of numpy or torch
        value = value.tolist()
    if isinstance(value, Mapping):
        return {name: _copied(key, each, counted, depth + 1) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(key, each, counted, depth + 1) for each in value]
    return value


def _read_json(path: Path) -> Mapping[str, object]:
    """The dictionary in a JSON file.

    Raises:
        DescriptorError: the file cannot be read, is no regular file (a pipe), is larger than ``MAX_BYTES``, or holds no
            dictionary.
    """
    try:
        with open_regular(path) as file:
            content = read_bounded(file, MAX_BYTES)
    except (OSError, ValueError) as error:  # a name with a null byte, or it is too long
        remedy = "" if path.exists() else "; nothing is fetched: pass a file or a folder of this machine"
        why = getattr(error, "strerror", None) or error  # without the path again
        raise DescriptorError(f"cannot read the configuration {path}: {why}{remedy}") from error
    try:
        read = json.loads(content.decode("utf-8"), parse_int=_integer)
    except ValueError as error:
        raise DescriptorError(f"the configuration {path} is no JSON: {error}") from error
    except RecursionError as error:
        raise DescriptorError(f"the configuration {path} must not nest more than {MAX_DEPTH} levels deep") from error
    if not isinstance(read, dict):
        raise DescriptorError(f"the configuration {path} must be a dictionary, got {shown(read)}")
    return read


def _integer(digits: str) -> int | str:
    """An integer of JSON; one with more digits than Python converts stays a text, which no key takes as a number."""
    try:
        return int(digits)
    except ValueError:
        return digits


def family_of(config: Mapping[str, object]) -> Family:
    """The family of the class that ``image_processor_type`` names, or ``video_processor_type``, or an older key.

    Raises:
        DescriptorError: the configuration names no class.
        UnsupportedError: the class is not known, or its bits cannot be reproduced.
    """
    name = next((config[key] for key in _TYPES if config.get(key)), None)
    if not isinstance(name, str):
        raise DescriptorError(
            f"image_processor_type must name a class, such as CLIPImageProcessor, got {shown(name)}: add it to the "
            "configuration"
        )
    stem = _stem(name)
    if stem in FAMILIES:
        return FAMILIES[stem]
    if stem in REFUSED:
        raise UnsupportedError(f"image_processor_type {shown(name)} is not done: {REFUSED[stem]}")
    raise UnsupportedError(
        f"image_processor_type {shown(name)} is not known; known are {', '.join(sorted(FAMILIES))}"
        + did_you_mean(stem.partition("ImageP")[0], FAMILIES)  # "ImageProcesor" stays in the stem
    )


def _stem(name: str) -> str:
    """The name of a family: CLIP of CLIPImageProcessorFast, CLIPImageProcessor and CLIPFeatureExtractor."""
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name
