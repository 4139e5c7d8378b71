"""What is cached for the next process: only what this user alone can have written."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from restride.errors import DescriptorError
from restride.runtime.file_store import cache_path, read_cached, write_cached

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no permissions and no pipes in folders")


@POSIX
def test_cached_files_are_this_user_s_alone(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    write_cached(path, b"content")
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent)] == [0o600, 0o700]


def spoil_folder(path: Path) -> None:
    path.parent.chmod(0o777)


def link_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))
    path.parent.symlink_to(path.parent.with_name("elsewhere"))


def spoil_file(path: Path) -> None:
    path.chmod(0o602)


def link_file(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def link_to_itself(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@POSIX
@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (spoil_folder, "the folder .* can be written by everyone"),
        (link_folder, "the folder .* is a link"),
        (spoil_file, "it can be written by everyone"),
        (link_file, "it is a link"),
        (link_to_itself, "it is a link"),
        (make_pipe, "not a file|it is no regular file"),
    ],
)
def test_what_others_may_have_written_is_left_alone(tmp_path: Path, spoil, why: str) -> None:
    path = tmp_path / "folder" / "file"
    write_cached(path, b"content")
    assert read_cached(path, 7) == b"content"
    spoil(path)
    before = path.lstat()
    with pytest.warns(RuntimeWarning, match=f"file is left alone: {why}"):
        assert read_cached(path, 7) is None
    with pytest.raises(OSError, match=why):
        write_cached(path, b"other")
    assert path.lstat() == before


@POSIX
def test_restride_s_own_folder_around_is_looked_at_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("RESTRIDE_CHOICES", raising=False)
    path = cache_path("RESTRIDE_CHOICES", "choices", "x.json")
    write_cached(path, b"content")
    assert stat.S_IMODE((tmp_path / "restride").stat().st_mode) == 0o700
    (tmp_path / "restride").chmod(0o777)
    with pytest.warns(RuntimeWarning, match="the folder .*restride can be written by everyone"):
        assert read_cached(path, 7) is None


@POSIX
def test_a_file_of_another_user_in_a_folder_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "folder" / "file"
    write_cached(path, b"content")
    uid = path.stat().st_uid
    asked = iter([uid, uid + 1])
    monkeypatch.setattr(os, "getuid", lambda: next(asked))
    with pytest.warns(RuntimeWarning, match="file is left alone: it belongs to another user"):
        assert read_cached(path, 7) is None


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    write_cached(path, b"")
    with path.open("r+b") as file:
        file.truncate(20 << 30)
    with pytest.raises(DescriptorError, match="it has more than 1000 bytes"):
        read_cached(path, 1000)
