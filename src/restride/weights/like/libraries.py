"""Libraries: the meaning of their modes in the words of ``rs.resample``, and the rules that compute their rows."""

from __future__ import annotations

from typing import Literal, TypeAlias

from restride.weights.like import opencv, pillow, scikit_image, torch
from restride.weights.like.profile import Profile, mode_of

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
        rules=torch.rules,
        follows_sizes=torch.follows_sizes,
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
        {"nearest": mode_of(mode="nearest")} | dict.fromkeys(pillow.FILTERS, _FILTER) | {"bicubic": _PILLOW_BICUBIC},
        ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"),
        pillow.rules,
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
        opencv.rules,
        is_flat=True,
        rounds_sizes=True,
        keeps=_INTEGERS,
    ),
    "scikit-image": Profile(
        "scikit-image 0.26.0, skimage.transform.resize",
        "bilinear",
        {"nearest": mode_of(mode="nearest"), "bilinear": mode_of(mode="linear", antialias=True, antialiased={})},
        rules=scikit_image.rules,
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
