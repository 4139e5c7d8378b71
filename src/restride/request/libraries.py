"""Libraries: the meaning of their modes in the words of ``rs.resample``, and the record of a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias


class LibraryRequest(NamedTuple):
    """A request to a library: the values on which its choice of arithmetic depends.

    mode: the library's word. dtype: name of the element type. source_sizes: of all axes. axes: those that are resized,
    with ``old`` sizes before and ``new`` ones after. scales: the scales that coordinates follow; None: they follow the
    sizes. Sizes, axes and scales are empty as long as the source is not known.
    """

    like: str
    profile: Profile
    mode: str
    antialias: bool
    align_corners: bool
    dtype: str
    source_sizes: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()
    old: tuple[int, ...] = ()
    new: tuple[int, ...] = ()
    scales: tuple[float | None, ...] = ()

    @property
    def keeps_type(self) -> bool:
        """True if results are rounded to the source's type before they are converted to another."""
        return self.dtype in self.profile.keeps

    @property
    def clips(self) -> bool:
        """True if sums are clipped to the range of the source."""
        return self.profile.clips

    @property
    def channels(self) -> int:
        """Number of elements in all axes after the last resized one."""
        count = 1
        for size in self.source_sizes[max(self.axes) + 1 :]:
            count *= size
        return count


@dataclass(frozen=True)
class Mode:
    """A mode of a library.

    choice: the arguments of ``rs.resample`` that mean the same. antialiased: the arguments that replace some of
    ``choice`` if ``antialias`` is True; None: the mode has no antialiasing. free: other arguments that callers may set.
    """

    choice: Mapping[str, Any]
    antialiased: Mapping[str, Any] | None
    free: tuple[str, ...]


@dataclass(frozen=True)
class Profile:
    """A library: the version that was measured, its default mode, and its modes by its own words.

    numbered_modes: the modes whose constants are 0, 1, 2 and so on. is_flat: it resizes exactly two axes.
    rounds_sizes: sizes that follow from scales are rounded to nearest even, instead of down.
    keeps: element types whose results are rounded to the same type before any conversion.
    clips: sums are clipped to the range of the whole source.
    coordinates: the rules that the library supports, if not all.
    """

    library: str
    default: str
    modes: Mapping[str, Mode]
    numbered_modes: tuple[str, ...] = ()
    is_flat: bool = False
    rounds_sizes: bool = False
    keeps: tuple[str, ...] = ()
    clips: bool = False
    coordinates: tuple[str, ...] = ()


def mode_of(*free: str, antialiased: dict[str, Any] | None = None, **choice: str | float | None) -> Mode:
    """A ``Mode`` in one line."""
    return Mode(choice, antialiased, free)


_PILLOW_CUBIC = -0.5

_INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32")

_TORCH_LINEAR = mode_of("coordinates", "recompute_scale_factor", mode="linear", antialiased={"exclude_outside": True})
_TORCH_CUBIC = mode_of(
    "coordinates",
    "recompute_scale_factor",
    mode="cubic",
    antialiased={"exclude_outside": True, "cubic_a": _PILLOW_CUBIC},
)

_ONNX = ("coordinates", "roi", "keep_aspect_ratio_policy", "recompute_scale_factor")

_FILTER = mode_of(mode="linear", antialias=True, exclude_outside=True)
_PILLOW_FILTERS = ("box", "bilinear", "hamming", "bicubic", "lanczos")
_PILLOW_BICUBIC = mode_of(mode="cubic", cubic_a=_PILLOW_CUBIC, antialias=True, exclude_outside=True)


Library: TypeAlias = Literal[
    "torch", "onnx", "onednn", "directml", "tensorflow", "pillow", "opencv", "scikit-image"
]  # fmt: skip

ModeName: TypeAlias = Literal[
    "nearest", "linear", "cubic", "area", "area_weighted",
    "nearest-exact", "nearest_exact", "bilinear", "trilinear", "bicubic",
    "box", "hamming", "lanczos", "lanczos4", "linear_exact",
    "NEAREST", "BOX", "BILINEAR", "HAMMING", "BICUBIC", "LANCZOS",
    "INTER_NEAREST", "INTER_LINEAR", "INTER_CUBIC", "INTER_AREA", "INTER_LANCZOS4", "INTER_LINEAR_EXACT",
    "INTER_NEAREST_EXACT",
]  # fmt: skip
"""The modes of ``rs.resample``, those of libraries in their own words, and names of Pillow's and OpenCV's constants."""

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
            "area": mode_of(mode="area_weighted"),
        },
    ),
    "pillow": Profile(
        "Pillow 13.0.0, Image.resize",
        "bicubic",
        {"nearest": mode_of(mode="nearest")} | dict.fromkeys(_PILLOW_FILTERS, _FILTER) | {"bicubic": _PILLOW_BICUBIC},
        ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"),
        is_flat=True,
        keeps=_INTEGERS,
    ),
    "opencv": Profile(
        "OpenCV 5.0.0, cv2.resize",
        "linear",
        {
            "nearest": mode_of(mode="nearest", coordinates="asymmetric", nearest="floor"),
            "nearest_exact": mode_of(mode="nearest"),
            "cubic": mode_of(mode="cubic"),
            "area": mode_of(mode="area_weighted"),
        }
        | dict.fromkeys(("linear", "linear_exact", "lanczos4"), mode_of(mode="linear")),
        ("nearest", "linear", "cubic", "area", "lanczos4", "linear_exact", "nearest_exact"),
        is_flat=True,
        rounds_sizes=True,
        keeps=_INTEGERS,
    ),
    "scikit-image": Profile(
        "scikit-image 0.26.0, skimage.transform.resize",
        "bilinear",
        {"nearest": mode_of(mode="nearest"), "bilinear": mode_of(mode="linear", antialias=True, antialiased={})},
        clips=True,
    ),
}
"""The libraries, by the names that ``like`` takes."""

IMAGES_ONLY = ("pillow", "opencv", "scikit-image")
"""Libraries that resize only rows and columns of images, whose channels come last."""


OTHER_NAMES = {name: name for name in LIBRARIES} | {
    "pil": "pillow",
    "cv2": "opencv",
    "pytorch": "torch",
    "skimage": "scikit-image",
    "tf": "tensorflow",
    "onnxruntime": "onnx",
    "dml": "directml",
}
"""Further names of the libraries."""
