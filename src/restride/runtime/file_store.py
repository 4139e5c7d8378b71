"""Files that outlive a process, in the user's cache folder: where they lie, whose they are, written in one step."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def place(variable: str, folder: str, name: str) -> Path | None:
    """Where a file lies: in the folder that the environment variable names, else in ``restride/FOLDER`` of the caches.

    None: nothing is kept, for the variable is set to nothing, or the user has no home.
    """
    named = os.environ.get(variable)
    if named is not None:
        return Path(named) / name if named else None
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - Path's own raises
    return None if caches.startswith("~") else Path(caches) / "restride" / folder / name


def is_of_another(path: Path) -> bool:
    """True for a file of another user.

    Raises:
        OSError: there is none, or it cannot be looked at.
    """
    return hasattr(os, "getuid") and path.stat().st_uid != os.getuid()


def write_kept(path: Path, data: bytes) -> None:
    """Put the file there in one step, for this user alone.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(".part", f".{path.name}.", path.parent)  # for this user alone, and no other's
    part = Path(name)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - of a descriptor
            file.write(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
