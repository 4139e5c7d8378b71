"""Files that restride keeps for later processes: where they are, and checks that they belong to this user."""

from __future__ import annotations

import errno
import os
import stat
import warnings
from contextlib import suppress
from pathlib import Path

from restride.errors import DescriptorError
from restride.runtime.file_store import write_file


def cache_folder() -> Path | None:
    """``restride`` in the user's cache folder; None if the user has no home."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - Path's own raises
    return None if caches.startswith("~") else Path(caches) / "restride"


def cache_path(variable: str, folder: str, name: str) -> Path | None:
    """The path of a cached file: in the folder that the environment variable names, else ``cache_folder() / folder``.

    None if nothing is cached, because the variable is empty or the user has no home.
    """
    named = os.environ.get(variable)
    if named is not None:
        return Path(named) / name if named else None
    caches = cache_folder()
    return None if caches is None else caches / folder / name


def read_cached(path: Path, most_bytes: int) -> bytes | None:
    """The bytes of a cached file; None if there is none, or if it is not trusted, with a warning that says why.

    A file is not trusted if it is not a regular file, or if it or its folder is a link, belongs to another user or can
    be written by everyone. The file is checked after it was opened, so it is the one that is read.

    Raises:
        DescriptorError: the file has more than ``most_bytes``; nothing is read.
    """
    try:
        for folder in _folders(path):
            _require_own(folder.lstat(), f"the folder {folder}")
        with open(path, "rb", opener=_unfollowed) as file:
            status = os.fstat(file.fileno())
            _require_own(status, "it")
            if status.st_size > most_bytes:
                raise DescriptorError(f"it has {status.st_size} bytes, more than {most_bytes}")
            return file.read(most_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror or str(error)
        warnings.warn(f"{path} is left alone: {why}", RuntimeWarning, stacklevel=3)
        return None


def _unfollowed(path: str, flags: int) -> int:
    """An opener that refuses links, and does not wait for a writer if the path is a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def write_cached(path: Path, content: bytes) -> None:
    """Write a cached file in one step, readable by this user alone, and create its folder if there is none.

    Raises:
        OSError: it cannot be written, or ``read_cached`` would not trust it.
    """
    for folder in _folders(path):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _require_own(folder.lstat(), f"the folder {folder}")
    with suppress(FileNotFoundError):
        _require_own(path.lstat(), "it")
    write_file(path, content, 0o600)


def _folders(path: Path) -> list[Path]:
    """The folder of a cached file, preceded by the one around it if that is restride's own cache folder."""
    around = path.parent.parent
    return [*([around] if around == cache_folder() else []), path.parent]


def _require_own(status: os.stat_result, name: str) -> None:
    """Raise ``OSError`` unless this is a regular file or a folder of this user's that is not writable by everyone."""
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.EPERM, f"{name} is a link")
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EPERM, f"{name} is no plain file")
    if hasattr(os, "getuid"):
        if status.st_uid != os.getuid():
            raise OSError(errno.EPERM, f"{name} belongs to another user")
        if status.st_mode & stat.S_IWOTH:
            raise OSError(errno.EPERM, f"{name} can be written by everyone")
