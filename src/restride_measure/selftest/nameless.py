"""Remove the names of this machine from texts: its users, its hosts, and paths of its files."""

from __future__ import annotations

import getpass
import os
import platform
import re
import socket
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import restride

PATH, NAME = "<path>", "<name>"

_USER_VARIABLES = ("USER", "LOGNAME", "USERNAME", "SUDO_USER")
_HOST_VARIABLES = ("HOSTNAME", "HOST", "COMPUTERNAME")
_FOLDER_VARIABLES = ("HOME", "USERPROFILE", "PWD", "VIRTUAL_ENV", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")

_END = r"\s'\"<>|,;:()\[\]{}`"
# Matches a quoted path, which may contain blanks: '/home/x/a b.py'.
_QUOTED = re.compile(r"""(['"`])(?:~?[/\\]|[A-Za-z]:[/\\])(?:(?!\1).)*\1""")
# Matches /home/x/a.py, ~/a, C:\Users\x and \\server\share, but no quotient such as GB/s or 1/3, and no lone slash.
_ABSOLUTE = re.compile(rf"(?<![\w/\\.~])(?:~[\w.-]*(?=[/\\])|[A-Za-z]:(?=[/\\]))?(?:[/\\]+[^/\\{_END}]+)+[/\\]?")


def nameless(value: Any, unchanged: Collection[str] = (), environment: Mapping[str, str] = os.environ) -> Any:
    """A copy of a JSON value in which every path is replaced by ``<path>``, and every user or host by ``<name>``.

    unchanged: keys whose values stay, because texts such as a device's name may happen to contain a user's name.
    """
    folders = sorted(set(_folders(environment)), key=len, reverse=True)
    names = sorted(set(_names(environment)), key=len, reverse=True)
    # Known folders are matched first, because they may contain blanks, at which the pattern of a path ends.
    whole = re.compile(rf"(?:{_any(folders)})(?:[/\\]+[^/\\{_END}]+)*[/\\]?", re.IGNORECASE) if folders else None
    words = re.compile(rf"(?<![A-Za-z0-9])(?:{_any(names)})(?![A-Za-z0-9])", re.IGNORECASE) if names else None

    def rewritten(text: str) -> str:
        text = _QUOTED.sub(rf"\1{PATH}\1", text)
        for pattern, instead in ((whole, PATH), (_ABSOLUTE, PATH), (words, NAME)):
            text = text if pattern is None else pattern.sub(instead, text)
        return text

    def walked(each: Any) -> Any:
        if isinstance(each, str):
            return rewritten(each)
        if isinstance(each, Mapping):
            return {key: item if key in unchanged else walked(item) for key, item in each.items()}
        return [walked(item) for item in each] if isinstance(each, list | tuple) else each

    return walked(value)


def _any(texts: Iterable[str]) -> str:
    return "|".join(map(re.escape, texts))


def _home() -> Path:
    return Path(os.path.expanduser("~"))  # noqa: PTH111 - Path's own raises where a user has no home


def _folders(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield folders of this process and its user, except the root folder."""
    known = [*map(environment.get, _FOLDER_VARIABLES), str(_home()), str(Path.cwd()), tempfile.gettempdir()]
    known += [sys.prefix, sys.base_prefix, str(Path(restride.__file__).parent.parent)]
    for folder in filter(None, known):
        if len(Path(folder).parts) > 1:
            yield folder.rstrip("/\\")


def _names(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield users and hosts; hosts also without their domain."""
    yield from filter(None, [*map(environment.get, _USER_VARIABLES), _home().name])
    with suppress(OSError, KeyError, ImportError):  # the user is unknown: one of three errors before Python 3.13
        yield getpass.getuser()
    for host in filter(None, [*map(environment.get, _HOST_VARIABLES), socket.gethostname(), platform.node()]):
        yield from {host, host.partition(".")[0]}
