"""The judge of image processors: the classes of transformers' PIL backend, without torchvision."""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from support.judges import judge

# torchvision, if installed, computes differently, and a version that does not fit torch cannot be imported.
_torchvision = sys.modules.get("torchvision")
sys.modules["torchvision"] = None  # type: ignore[assignment] # None stands for a module that cannot be imported
try:
    transformers = judge("transformers")  # which keeps what it found, if it was imported before
    importlib.import_module("transformers.utils.import_utils").is_torchvision_available.cache_clear()
    importlib.import_module("transformers.image_processing_backends")
finally:
    if _torchvision is None:
        del sys.modules["torchvision"]
    else:
        sys.modules["torchvision"] = _torchvision


@cache
def modules() -> dict[str, str]:
    """The module of each family with a PIL backend."""
    models = Path(transformers.__file__).parent / "models"
    found = {}
    for path in models.glob("*/image_processing_pil_*.py"):
        for name in re.findall(r"^class (\w+)ImageProcessorPil\b", path.read_text(encoding="utf-8"), re.MULTILINE):
            found[name] = f"transformers.models.{path.parent.name}.{path.stem}"
    return found


def judged(name: str, config: dict[str, Any]) -> Any:
    """The processor of transformers with this configuration."""
    return getattr(importlib.import_module(modules()[name]), f"{name}ImageProcessorPil")(**config)
