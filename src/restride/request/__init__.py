"""Request: the arguments of operations, read and checked once, for the operations and for the reference."""

from __future__ import annotations

from restride.request.libraries import IMAGES_ONLY, LIBRARIES, Library, ModeName
from restride.request.resampling import (
    AREA_MODES,
    COORDINATES,
    DEFAULTS,
    MODES,
    NEAREST_RULES,
    POLICIES,
    CheckedRequest,
    Request,
    Rules,
    read_request,
    read_words,
    resized_axes,
    word_elsewhere,
    word_of_mode,
)

__all__ = [
    "AREA_MODES",
    "COORDINATES",
    "DEFAULTS",
    "IMAGES_ONLY",
    "LIBRARIES",
    "MODES",
    "NEAREST_RULES",
    "POLICIES",
    "CheckedRequest",
    "Library",
    "ModeName",
    "Request",
    "Rules",
    "read_request",
    "read_words",
    "resized_axes",
    "word_elsewhere",
    "word_of_mode",
]
