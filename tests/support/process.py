"""Programs that tests run: their output as text, and their exit code, which the test judges."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def captured(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """Call ``subprocess.run`` and keep stdout and stderr as text; a failure is no exception."""
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)
