"""Files that are kept for later processes: their folder, and the check, before one is read, that this user owns it."""

from __future__ import annotations

import errno
import os
import stat
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from restride.files.reading import oddity, open_regular, read_bounded
from restride.files.writing import write_file

if sys.platform != "win32":
    import fcntl


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
        DescriptorError: the file has more than ``most_bytes``.
    """
    try:
        for folder in _folders(path):
            _require_own(folder.lstat(), f"the folder {folder}")
        with open_regular(path, follow=False) as file:
            _require_own(os.fstat(file.fileno()), "it")
            return read_bounded(file, most_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        warnings.warn(f"{path} is left alone: {error.strerror or error}", RuntimeWarning, stacklevel=3)
        return None


def write_cached(path: Path, content: bytes) -> None:
    """Write a cached file in one step, readable by this user alone, and create its folder if there is none.

    Raises:
        OSError: it cannot be written, or ``read_cached`` would not trust it.
    """
    _own_folders(path)
    with suppress(FileNotFoundError):
        _require_own(path.lstat(), "it")
    write_file(path, content, 0o600)


@contextmanager
def locked_cached(path: Path) -> Iterator[None]:
    """Hold a lock while a cached file is read and then written: other processes that call this for the file wait.

    On Windows, and on file systems without locks, nobody waits, and the last write wins.

    Raises:
        OSError: as ``write_cached``.
    """
    _own_folders(path)
    # The file itself cannot be the lock, because writing replaces it.
    with open(f"{path}.lock", "ab", opener=_unfollowed_own) as file:
        if sys.platform != "win32":
            with suppress(OSError):  # on a file system without locks, where the last write wins
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _unfollowed_own(path: str, flags: int) -> int:
    """An opener that refuses links, for a file of this user alone."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _own_folders(path: Path) -> None:
    """Create the folder of a cached file if there is none, and raise OSError if it is not this user's."""
    for folder in _folders(path):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _require_own(folder.lstat(), f"the folder {folder}")


def _folders(path: Path) -> list[Path]:
    """The folder of a cached file, preceded by the one around it if that is restride's own cache folder."""
    around = path.parent.parent
    return [*([around] if around == cache_folder() else []), path.parent]


def _require_own(status: os.stat_result, name: str) -> None:
    """Raise ``OSError`` unless this is a regular file or a folder of this user's that is not writable by everyone."""
    if what := oddity(status):
        raise OSError(errno.EPERM, f"{name} is {what}")
    if hasattr(os, "getuid"):
        if status.st_uid != os.getuid():
            raise OSError(errno.EPERM, f"{name} belongs to another user")
        if status.st_mode & stat.S_IWOTH:
            raise OSError(errno.EPERM, f"{name} can be written by everyone")
