"""Files written in one step, and those in the user's cache folder: where they lie and whose they are."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeAlias

Content: TypeAlias = bytes | memoryview | Callable[[BinaryIO], object]
"""The bytes of a file, or a function that writes them."""


def write_file(path: Path, content: Content, *, private: bool = False) -> None:
    """Put ``content`` into ``path``; what was there stays whole until all of it is written.

    A link is followed, and a file keeps its permissions. What is no plain file, such as a pipe, is written to directly.
    private: the file, and the folder where it has to be created, are for this user alone.

    Raises:
        OSError: it cannot be written.
    """
    path = Path(os.path.realpath(path))
    if private:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = path.stat().st_mode if path.exists() else None
    if mode is not None and not stat.S_ISREG(mode):
        with path.open("wb") as file:
            _write(file, content)
        return
    part = path.with_name(f".{path.name[:200]}.{secrets.token_hex(8)}.part")
    try:
        # "x": not through a link, nor into a file, that somebody put there.
        with open(part, "xb", opener=_private if private else None) as file:
            _write(file, content)
        if mode is not None and not private:
            part.chmod(stat.S_IMODE(mode))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _write(file: BinaryIO, content: Content) -> None:
    if callable(content):
        content(file)
    else:
        file.write(content)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def cache_path(variable: str, folder: str, name: str) -> Path | None:
    """Where a file is cached: in the folder that the environment variable names, else the user's ``restride/FOLDER``.

    None: nothing is cached, for the variable is empty, or the user has no home.
    """
    named = os.environ.get(variable)
    if named is not None:
        return Path(named) / name if named else None
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - Path's own raises
    return None if caches.startswith("~") else Path(caches) / "restride" / folder / name


def belongs_to_another_user(path: Path) -> bool:
    """True for a file of another user.

    Raises:
        OSError: there is none, or it cannot be looked at.
    """
    return hasattr(os, "getuid") and path.stat().st_uid != os.getuid()
