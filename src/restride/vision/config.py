"""Read the configuration files of models, and find the family of the class that they name."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from restride.errors import DescriptorError, UnsupportedError, did_you_mean, shown
from restride.vision.families import FAMILIES, REFUSED
from restride.vision.family import Family

FILES = ("processor_config.json", "preprocessor_config.json")
"""Files of a folder that may contain the configuration; in the first it is the member ``image_processor``."""

_TYPES = ("image_processor_type", "feature_extractor_type", "video_processor_type")
"""Keys that may name the class."""

_ENDINGS = ("Pil", "Fast", "FeatureExtractor", "ImageProcessor", "Processor")
"""A class's name is the name of its family, followed by some of these endings."""


def read_config(config: Mapping[str, Any] | str | os.PathLike[str]) -> Mapping[str, Any]:
    """The configuration of the image processor, from a dictionary, a file or a folder with one of ``FILES``.

    Raises:
        DescriptorError: ``config`` is none of these, there is no such file, or it is not a configuration.
    """
    if isinstance(config, Mapping):
        return _image_part(config)
    if not isinstance(config, str | os.PathLike):
        raise DescriptorError(f"config must be a dictionary, a file or a folder, got {shown(config)}")
    path = Path(config)
    if not path.is_dir():
        return _image_part(_read_json(path))
    for name in FILES:
        if (path / name).is_file():
            read = _read_json(path / name)
            if name == FILES[1] or "image_processor" in read:
                return _image_part(read)
    raise DescriptorError(f"the folder {path} has no {FILES[1]}, and no {FILES[0]} with an image_processor")


def _image_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    part = config.get("image_processor", config)
    if not isinstance(part, Mapping):
        raise DescriptorError(f"image_processor of a configuration must be a dictionary, got {shown(part)}")
    return part


def _read_json(path: Path) -> Mapping[str, Any]:
    """The dictionary in a JSON file.

    Raises:
        DescriptorError: there is no such file, or it has no dictionary.
    """
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DescriptorError(f"the configuration {path} is no JSON: {error}") from error
    except OSError as error:
        remedy = "" if path.exists() else "; nothing is fetched: pass a file or a folder of this machine"
        raise DescriptorError(f"cannot read the configuration {path}: {error}{remedy}") from error
    if not isinstance(read, dict):
        raise DescriptorError(f"the configuration {path} must be a dictionary, got {shown(read)}")
    return read


def family_of(config: Mapping[str, Any]) -> Family:
    """The family of the class that ``image_processor_type`` names, or ``video_processor_type``, or an older key.

    Raises:
        DescriptorError: the configuration names no class.
        UnsupportedError: the class is not known, or cannot have equal bits.
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
        raise UnsupportedError(f"image_processor_type {name!r} is not done: {REFUSED[stem]}")
    raise UnsupportedError(
        f"image_processor_type {name!r} is not known; known are {', '.join(sorted(FAMILIES))}"
        + did_you_mean(stem.partition("ImageP")[0], FAMILIES)  # the stem has it where ImageProcessor is misspelt
    )


def _stem(name: str) -> str:
    """The name of a family: CLIP of CLIPImageProcessorFast, CLIPImageProcessor and CLIPFeatureExtractor."""
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name
