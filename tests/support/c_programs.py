"""C programs that tests compile, where there is a compiler with Vulkan's headers and a loader to link with."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest


def compile_c(command: Sequence[str | Path], folder: Path | None = None) -> None:
    """Run ``cc`` or ``make`` in ``folder``; the test is skipped where something that it needs is not installed."""
    if shutil.which("cc") is None or shutil.which(str(command[0])) is None:
        pytest.skip("no C compiler")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if "vulkan/vulkan.h" in done.stderr or "-lvulkan" in done.stderr:
        pytest.skip("no vulkan.h or no loader to link with")
    assert done.returncode == 0, done.stderr
