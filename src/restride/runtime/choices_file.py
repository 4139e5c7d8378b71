"""The choices of ``restride tune`` on disk: one file for each device and driver, read when devices are listed."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from pathlib import Path

from restride.errors import DescriptorError
from restride.kernel import Choices
from restride.runtime.file_store import cache_path, read_cached, write_cached

FOLDER_VARIABLE = "RESTRIDE_CHOICES"
"""Environment variable with the folder of the files; if it is empty, nothing is stored. Default: ``restride/choices``
in the user's cache.
"""

MAX_BYTES = 1 << 16


def choices_path(identity: str) -> Path | None:
    """The file for the device and driver with this ``pipeline_cache_id``; None if choices are not stored."""
    return cache_path(FOLDER_VARIABLE, "choices", f"{identity}.json")


def read_choices(identity: str) -> Choices | None:
    """The stored choices; None if there are none, or, with a warning, if the file is damaged or not trusted."""
    path = choices_path(identity)
    if path is None:
        return None
    try:
        content = read_cached(path, MAX_BYTES)
        if content is None:
            return None
        record = json.loads(content)
        if not isinstance(record, dict) or not isinstance(record.get("choices"), dict):
            raise DescriptorError("it has no choices of restride")
        return Choices.parse(record["choices"])
    except (ValueError, RecursionError) as error:  # a DescriptorError is a ValueError
        warnings.warn(f"{path} is ignored ({error}); `restride tune` writes it anew", RuntimeWarning, stacklevel=2)
        return None


def write_choices(path: Path, device: str, choices: Choices) -> None:
    """Write ``choices`` in one step, readable by this user alone; ``device`` is a name for human readers.

    Raises:
        OSError: the file cannot be written, or the existing one is not trusted.
    """
    record = {"device": device, "choices": asdict(choices)}
    write_cached(path, (json.dumps(record, indent=1) + "\n").encode())
