"""The libraries that can be asked, and which of them are installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from restride_like_check.judge import Judge
from restride_like_check.judges.onnx import onnx
from restride_like_check.judges.opencv import opencv
from restride_like_check.judges.pillow import pillow
from restride_like_check.judges.pytorch import torch
from restride_like_check.judges.scikit_image import scikit_image

JUDGES: dict[str, tuple[str, str, Callable[[], Judge]]] = {
    "torch": ("torch", "torch", torch),
    "onnx": ("onnx", "onnx", onnx),
    "pillow": ("Pillow", "PIL", pillow),
    "opencv": ("opencv-python-headless", "cv2", opencv),
    "scikit-image": ("scikit-image", "skimage", scikit_image),
}
"""By what ``like`` takes: the name that pip has for the library, its module, and what makes its judge."""


def judges_of(like: str | None) -> tuple[list[Judge], list[str]]:
    """The judges that are installed, of all libraries or of one, and the pip names of those that are not."""
    found, missing = [], []
    for name, (package, module, make) in JUDGES.items():
        if like not in (None, name):
            continue
        try:
            import_module(module)
        except ImportError:
            missing.append(package)
        else:
            found.append(make())
    return found, missing
