"""Libraries that judge results: a test asks for one by `judge`, which skips it where the library is not installed.

Such a skip has the one reason that skips.py knows: it notes the test, for `make test-judges` to run with all judges.
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
