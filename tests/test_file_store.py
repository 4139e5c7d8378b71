"""Files are written whole or not at all, and keep what they were: links, permissions, pipes."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from restride.runtime.file_store import write_file


def test_a_write_that_fails_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"before")

    def fail(file):
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(path, fail)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "x", tmp_path / "link"
    path.write_bytes(b"before")
    link.symlink_to(path)
    write_file(link, b"after")
    assert link.is_symlink()
    assert path.read_bytes() == b"after"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permissions and no pipes in folders")
def test_permissions_are_those_that_a_file_had_or_gets(tmp_path: Path) -> None:
    path, new, private = tmp_path / "x", tmp_path / "new", tmp_path / "folder" / "private"
    path.write_bytes(b"before")
    path.chmod(0o640)
    for target in (path, new):
        write_file(target, b"after")
    write_file(private, b"after", private=True)
    umask = os.umask(0)
    os.umask(umask)
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (path, new, private, private.parent)]
    assert modes == [0o640, 0o666 & ~umask, 0o600, 0o700]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permissions and no pipes in folders")
def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, b"content")
    reader.join()
    assert read == [b"content"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    write_file(tmp_path / ("x" * 250), b"content")
    assert (tmp_path / ("x" * 250)).read_bytes() == b"content"
