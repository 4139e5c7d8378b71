"""Files written in one step.

A reader sees either the whole old file or the whole new one, never a part; permissions are kept.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

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


def require_unlinked(path: Path) -> None:
    """Raise if there is a link at this path: a path inside a folder that is being filled, which no user has named.

    ``write_file`` follows links, so whoever made the link would choose which file is replaced.

    Raises:
        OSError: there is a link.
    """
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
