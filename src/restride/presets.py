"""Presets: recipes of common models, as arguments of ``Preprocess``, with the library that they were trained with."""

from __future__ import annotations

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "imagenet": {
        "sizes": (224, 224),
        "shorter": 256,
        "mode": "bilinear",
        "like": "pillow",
        "mean": (0.485, 0.456, 0.406),
        "std": (0.229, 0.224, 0.225),
    },
    "clip": {
        "sizes": (224, 224),
        "shorter": 224,
        "mode": "bicubic",
        "like": "pillow",
        "mean": (0.48145466, 0.4578275, 0.40821073),
        "std": (0.26862954, 0.26130258, 0.27577711),
    },
    "yolo": {
        "sizes": (640, 640),
        "letterbox": "center",
        "fill": 114,
        "mode": "linear",
        "like": "opencv",
        "mean": (0.0, 0.0, 0.0),
        "std": (1.0, 1.0, 1.0),
    },
}
"""Those of torchvision's ResNet, of OpenAI's CLIP and of Ultralytics' YOLO, of three channels each, as ``mean`` says.
``fill`` is an element of u8."""
