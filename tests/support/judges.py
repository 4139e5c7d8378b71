"""Libraries that judge results: a test asks for one by `judge`, which skips it where the library is not installed.

skips.py recognizes the reason of such a skip and notes the test, which `make test-judges` then runs with all judges.
"""

from __future__ import annotations

from typing import Any

import pytest


def judge(module: str, version: str = "0") -> Any:
    """The module, of this version or a later one. A skip if it is not installed, an error if it cannot be loaded."""
    try:
        return pytest.importorskip(module, None if version == "0" else version)
    except pytest.skip.Exception:
        needed = module if version == "0" else f"{module} {version}"
        pytest.skip(f"judge {needed} is not installed", allow_module_level=True)


def judge_of_images(module: str) -> Any:
    """``judge`` of a module that imports torchvision, whose wheel lacks two operators with a torch for the CPU."""
    try:
        return judge(module)
    except RuntimeError:
        for operator in ("nms", "qnms"):
            judge("torch").library.define(f"torchvision::{operator}", "(Tensor a, Tensor b, float c) -> Tensor")
        return judge(module)
