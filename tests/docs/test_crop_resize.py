"""docs/crop_resize.md: its code runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCUMENT = (Path(__file__).parents[2] / "docs" / "crop_resize.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("vulkan_device")
def test_the_code_runs():
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    assert len(blocks) == 4
    exec("\n".join(blocks), {})
