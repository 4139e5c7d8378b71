"""What ``restride tune`` chose, on disk: one file for each device and driver, read whenever devices are listed."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from pathlib import Path

from restride.errors import DescriptorError
from restride.kernel import Choices
from restride.runtime.file_store import belongs_to_another_user, cache_path, write_file

FOLDER_VARIABLE = "RESTRIDE_CHOICES"
"""A folder for the files; default: ``restride/choices`` in the user's cache folder. Empty: nothing is kept or read."""

MOST_BYTES = 1 << 16


def choices_path(identity: str) -> Path | None:
    """Where the choices for the device and driver of a ``pipeline_cache_id`` lie; None: nowhere."""
    return cache_path(FOLDER_VARIABLE, "choices", f"{identity}.json")


def read_choices(identity: str) -> Choices | None:
    """What was chosen; None if nothing was, or if the file is damaged or another user's, with a warning."""
    path = choices_path(identity)
    if path is None:
        return None
    try:
        if belongs_to_another_user(path):
            raise DescriptorError("another user's")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES)
        record = json.loads(content)
        if not isinstance(record, dict) or not isinstance(record.get("choices"), dict):
            raise DescriptorError("no choices of restride")
        return Choices.parse(record["choices"])
    except OSError:
        return None
    except (ValueError, RecursionError) as error:  # a DescriptorError is a ValueError
        warnings.warn(f"{path} is left out ({error}); `restride tune` writes it anew", RuntimeWarning, stacklevel=2)
        return None


def write_choices(path: Path, device: str, choices: Choices) -> None:
    """Put ``choices`` there in one step, for this user alone; ``device`` is a name for those who look inside.

    Raises:
        OSError: it cannot be written.
    """
    record = {"device": device, "choices": asdict(choices)}
    write_file(path, (json.dumps(record, indent=1) + "\n").encode(), private=True)
