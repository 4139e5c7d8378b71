"""Choosing: the arguments of a resampling and the library it is to be like, as one Choice and that library's rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from numbers import Integral
from typing import Any

from restride.errors import DescriptorError, UnsupportedError
from restride.weights import Choice, Rules, Ruling
from restride.weights.like import opencv, pillow, scikit_image, torch
from restride.weights.like.profile import Asked, Mode, Profile, mode_of

# The libraries: what each of their modes is in the words of ``rs.resample``.

_PILLOW_CUBIC = -0.5

_INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32")

_TORCH_LINEAR = mode_of("coordinates", "recompute_scale_factor", mode="linear", antialiased={"exclude_outside": True})
_TORCH_CUBIC = mode_of(
    "coordinates",
    "recompute_scale_factor",
    mode="cubic",
    antialiased={"exclude_outside": True, "cubic_a": _PILLOW_CUBIC},
)

_ONNX = (
    "coordinates",
    "roi",
    "keep_aspect_ratio_policy",
    "recompute_scale_factor",
)

_FILTER = mode_of(mode="linear", antialias=True, exclude_outside=True)
_PILLOW_BICUBIC = mode_of(mode="cubic", cubic_a=_PILLOW_CUBIC, antialias=True, exclude_outside=True)


def _plain(word: str) -> Mode:
    return mode_of(mode=word)


LIBRARIES: dict[str, Profile] = {
    "torch": Profile(
        "torch 2.13.0, torch.nn.functional.interpolate on a CPU",
        "nearest",
        {
            "nearest": mode_of("recompute_scale_factor", mode="nearest", coordinates="asymmetric", nearest="floor"),
            "nearest-exact": mode_of("recompute_scale_factor", mode="nearest"),
            "linear": _TORCH_LINEAR,
            "bilinear": _TORCH_LINEAR,
            "trilinear": _TORCH_LINEAR,
            "bicubic": _TORCH_CUBIC,
            "area": mode_of("recompute_scale_factor", mode="area"),
        },
        rules=torch.rules,
        keeps=("u8",),
        coordinates=("half_pixel", "align_corners"),
    ),
    "onnx": Profile(
        "ONNX 1.23.2, Resize-19",
        "nearest",
        {
            "nearest": mode_of("nearest", *_ONNX, mode="nearest", nearest="round_prefer_floor"),
            "linear": mode_of("exclude_outside", *_ONNX, mode="linear", antialiased={}),
            "cubic": mode_of("exclude_outside", "cubic_a", *_ONNX, mode="cubic", antialiased={}),
        },
    ),
    "onednn": Profile(
        "oneDNN 3.13, resampling",
        "linear",
        {
            "nearest": mode_of(mode="nearest", recompute_scale_factor=True),
            "linear": mode_of(mode="linear", recompute_scale_factor=True),
        },
    ),
    "directml": Profile(
        "DirectML 1.15, DML_OPERATOR_RESAMPLE3",
        "nearest",
        {
            "nearest": mode_of("nearest", "input_offsets", "output_offsets", mode="nearest", nearest="floor"),
            "linear": mode_of("input_offsets", "output_offsets", mode="linear", antialiased={}),
        },
    ),
    "tensorflow": Profile(
        "TensorFlow 2, tf.image.resize",
        "bilinear",
        {
            "nearest": mode_of(mode="nearest", coordinates="tf_half_pixel_for_nn", nearest="floor"),
            "bilinear": mode_of(mode="linear", antialiased={"exclude_outside": True}),
            "bicubic": mode_of(
                mode="cubic", cubic_a=_PILLOW_CUBIC, exclude_outside=True, antialiased={"exclude_outside": True}
            ),
            "area": _plain("area"),
        },
    ),
    "pillow": Profile(
        "Pillow 13.0.0, Image.resize",
        "bicubic",
        {"nearest": _plain("nearest")} | dict.fromkeys(pillow.FILTERS, _FILTER) | {"bicubic": _PILLOW_BICUBIC},
        ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"),
        pillow.rules,
        is_flat=True,
        keeps=_INTEGERS,
    ),
    "opencv": Profile(
        "OpenCV 5.0.0, cv2.resize",
        "linear",
        dict.fromkeys(("nearest", "nearest_exact"), _plain("nearest"))
        | {"cubic": _plain("cubic")}
        | dict.fromkeys(("linear", "linear_exact", "area", "lanczos4"), _plain("linear")),
        ("nearest", "linear", "cubic", "area", "lanczos4", "linear_exact", "nearest_exact"),
        opencv.rules,
        is_flat=True,
        rounds_sizes=True,
        keeps=_INTEGERS,
    ),
    "scikit-image": Profile(
        "scikit-image 0.26.0, skimage.transform.resize",
        "bilinear",
        {"nearest": _plain("nearest"), "bilinear": mode_of(mode="linear", antialias=True, antialiased={})},
        rules=scikit_image.rules,
    ),
}
"""By the names that ``like`` takes."""

IMAGES_ONLY = ("pillow", "opencv", "scikit-image")
"""Those that resize rows and columns of images, whose channels come last."""


# Choosing: the arguments of a resampling and the library it is to be like, as one Choice and that library's rules.

_Where = Callable[[], str]

_DEFAULTS = Choice()

_HERE = {"linear": ("bilinear",), "cubic": ("bicubic",)}
"""Our words, for libraries that have others."""


_ELSEWHERE = {name: name for name in LIBRARIES} | {
    "pil": "pillow",
    "cv2": "opencv",
    "pytorch": "torch",
    "skimage": "scikit-image",
    "tf": "tensorflow",
    "onnxruntime": "onnx",
    "dml": "directml",
}
"""Other names of libraries."""


def chosen(like: Any, given: Mapping[str, Any], dtype: str, where: _Where) -> tuple[Choice, Rules | None]:
    """The choice that ``given`` makes, arguments of ``rs.resample`` that may be None, and the rules of ``like``.

    where: gives the descriptor of the source, for messages.

    Raises:
        DescriptorError: an argument contradicts the library.
        UnsupportedError: no library of that name, or no such mode of it; the message lists them.
    """
    said = {name: value for name, value in given.items() if value is not None}
    if like is None:
        return Choice(**said), None
    profile = LIBRARIES.get(like) if isinstance(like, str) else None
    if profile is None:
        here = _ELSEWHERE.get(like.strip().lower()) if isinstance(like, str) else None
        hint = "" if here is None else f"; it is {here!r} here"
        raise UnsupportedError(f"like {like!r} is not one of {', '.join(map(repr, LIBRARIES))}, for {where()}{hint}")
    word, mode = _mode(like, profile, said.pop("mode", profile.default), where)
    fixed = dict(mode.choice)
    if said.get("antialias") and mode.antialiased is not None:
        fixed |= mode.antialiased
    for name, value in said.items():
        if name in mode.free or (name == "antialias" and mode.antialiased is not None):
            continue
        wins = fixed.get(name, getattr(_DEFAULTS, name))
        if wins is None or value != wins:  # an array is equal to nothing at once
            has = "none" if wins is None else repr(wins)
            raise DescriptorError(
                f"{name} {value!r} contradicts like {like!r}, which has {has} in mode {word!r}, for {where()}"
            )
    choice = Choice(**(fixed | said))
    if profile.coordinates and choice.coordinates not in profile.coordinates and "coordinates" in mode.free:
        known = " and ".join(map(repr, profile.coordinates))
        raise DescriptorError(
            f"coordinates {choice.coordinates!r} contradicts like {like!r}, which has {known}, for {where()}"
        )

    def ruling(
        source_sizes: tuple[int, ...],
        axes: tuple[int, ...],
        old: tuple[int, ...],
        new: tuple[int, ...],
        scales: tuple[Any, ...] | None,
    ) -> Ruling | None:
        if profile.is_flat and len(axes) != 2:
            raise DescriptorError(f"like {like!r} resizes two axes, not {len(axes)}, of {where()}")
        if 0 in (*old, *new):
            return None
        factors = None if scales is None else tuple(float(scale) for scale in scales)
        aligned = choice.coordinates == "align_corners"
        return profile.rules(Asked(word, choice.antialias, aligned, dtype, source_sizes, axes, old, new, factors))

    return choice, Rules(ruling, profile.rounds_sizes, dtype in profile.keeps)


def word_of_mode(like: str, given: Any, where: _Where) -> str:
    """The word that the library itself has for a mode, in any spelling.

    Raises:
        UnsupportedError: no such mode of it; the message lists them.
    """
    return _mode(like, LIBRARIES[like], given, where)[0]


def _mode(like: str, profile: Profile, given: Any, where: _Where) -> tuple[str, Mode]:
    """The library's word for a mode, in any spelling or as its constant, and what it means.

    A member of an Enum that is no text goes by its name: Pillow's BICUBIC is 3, and so is OpenCV's INTER_AREA.
    """
    meant: Any = given.name if isinstance(given, Enum) and not isinstance(given, str) else given
    is_number = isinstance(meant, Integral) and not isinstance(meant, bool)
    if is_number and 0 <= meant < len(profile.constants):
        meant = profile.constants[meant]
    if isinstance(meant, str):
        word = meant.strip().lower().removeprefix("inter_")
        for name in (word, *_HERE.get(word, ())):
            for known, mode in profile.modes.items():
                if known.replace("-", "_") == name.replace("-", "_"):
                    return known, mode
    numbers = [f"{number} ({word})" for number, word in enumerate(profile.constants)] if is_number else []
    those = ", ".join(numbers or map(repr, profile.modes))
    raise UnsupportedError(f"mode {given!r} of like {like!r} is not one of {those}, for {where()}")
