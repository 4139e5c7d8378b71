"""Files written in one step, and cached files for later processes, which are read only if this user owns them.

A reader sees either the whole old file or the whole new one, never a part; permissions are kept.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from restride.errors import DescriptorError

if sys.platform != "win32":
    import fcntl

Content: TypeAlias = bytes | memoryview | Callable[[BinaryIO], object]
"""The bytes of a file, or a function that writes them."""


def write_file(path: Path, content: Content, mode: int = 0o666) -> None:
    """Write ``content`` to ``path``, whose folder exists, in one step.

    The bytes go to a file ``.restride-<16 hex digits>.part`` in the same folder, which is then renamed: whoever reads
    meanwhile sees the whole old file. An exception leaves the old file and removes the new one. A link is followed. The
    file keeps its permissions, owner and extended attributes, as far as this user may set them; its other hard links
    keep the old content. Anything but a regular file (a pipe, a device, a socket) is opened and written to.

    mode: the permissions of a new file, before the umask.

    Raises:
        OSError: the file cannot be written.
    """
    old = _status(path)
    if old is not None and not stat.S_ISREG(old.st_mode):
        with open(path, "wb", opener=_open_existing) as file:
            _write(file, content)
        return
    path = Path(os.path.realpath(path))
    part = path.parent / f".restride-{secrets.token_hex(8)}.part"
    is_ours = True
    try:
        try:
            # O_EXCL: do not write through a link or into a file that another user created. The new file has mode 0o600
            # if it will replace a file, so that nobody else can read it before it is complete.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            descriptor = os.open(part, flags, mode if old is None else 0o600)
        except OSError as error:
            is_ours = not isinstance(error, FileExistsError)
            error.filename = str(path)  # name the user's file, not the temporary one
            raise
        with os.fdopen(descriptor, "wb") as file:
            _write(file, content)
            if old is not None:
                _copy_metadata(file.fileno(), path, old)
        part.replace(path)
    finally:
        if is_ours:
            with suppress(OSError):
                part.unlink()


def require_writable(path: Path) -> None:
    """Raise before any work if ``write_file`` cannot write ``path``, whatever its content.

    Raises:
        OSError: ``path`` is a folder or a loop of links, or its folder does not exist or cannot be written.
    """
    old = _status(path)
    if old is None or stat.S_ISREG(old.st_mode):
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            raise FileNotFoundError(errno.ENOENT, "no such folder", str(path))
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, f"nothing can be written in the folder {folder}", str(path))
    elif stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))


def require_unlinked(*paths: Path) -> None:
    """Raise if a link is at one of these paths, which are inside of a folder that is filled, and not given themselves.

    ``write_file`` follows links, and who made this one would choose what is replaced.

    Raises:
        OSError: one is a link.
    """
    for path in paths:
        if path.is_symlink():
            raise OSError(errno.ELOOP, "it is a link, and nothing inside a folder is written through one", str(path))


def _status(path: Path) -> os.stat_result | None:
    """The status of ``path`` with links followed, or None if nothing is there; a loop of links raises OSError."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _open_existing(path: str, flags: int) -> int:
    """An opener that neither creates nor empties the file."""
    return os.open(path, flags & ~(os.O_CREAT | os.O_TRUNC))


def _write(file: BinaryIO, content: Content) -> None:
    if callable(content):
        content(file)
    else:
        file.write(content)


def _copy_metadata(descriptor: int, path: Path, old: os.stat_result) -> None:
    """Give an open file the owner, extended attributes and permissions of ``path``, as far as this user may."""
    if not hasattr(os, "fchown"):  # on Windows, where files have no owner, extended attributes or permissions
        return
    mode = stat.S_IMODE(old.st_mode)
    new = os.fstat(descriptor)
    if new.st_uid != old.st_uid:
        try:
            os.fchown(descriptor, old.st_uid, -1)
        except OSError:
            mode &= ~stat.S_ISUID
    if new.st_gid != old.st_gid:
        try:
            os.fchown(descriptor, -1, old.st_gid)
        except OSError:  # give the group of the new file no more rights than everyone has
            mode &= ~(stat.S_ISGID | stat.S_IRWXG) | (mode & stat.S_IRWXO) << 3
    if hasattr(os, "listxattr"):  # on Linux
        with suppress(OSError):
            names = os.listxattr(path)
            for name in names:
                with suppress(OSError):
                    os.setxattr(descriptor, name, os.getxattr(path, name))
            # A new file inherits its folder's access list, which may admit users whom the old file's list did not.
            for name in set(os.listxattr(descriptor)).difference(names):
                with suppress(OSError):
                    os.removexattr(descriptor, name)
    os.fchmod(descriptor, mode)  # last, because copying the access list (an attribute) changes the permissions


# Files that later processes read: finds their folder, and checks that they belong to this user.


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
    _own_folders(path)
    with suppress(FileNotFoundError):
        _require_own(path.lstat(), "it")
    write_file(path, content, 0o600)


@contextmanager
def locked_cached(path: Path) -> Iterator[None]:
    """Keep other processes that call this from changing a cached file between its reading and its writing.

    They wait. On Windows, and on file systems without locks, nobody waits, and the last write wins.

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
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.EPERM, f"{name} is a link")
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EPERM, f"{name} is no plain file")
    if hasattr(os, "getuid"):
        if status.st_uid != os.getuid():
            raise OSError(errno.EPERM, f"{name} belongs to another user")
        if status.st_mode & stat.S_IWOTH:
            raise OSError(errno.EPERM, f"{name} can be written by everyone")
