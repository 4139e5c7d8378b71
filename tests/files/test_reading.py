"""Only regular files are opened, nothing is waited for, and no more is read than may be, nor less than is there."""

from __future__ import annotations

import os
import socket
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from restride.errors import DescriptorError
from restride.files import reading
from restride.files.reading import NotRegular, open_regular, read_bounded, require_regular

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="links and pipes are of POSIX here")


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def link_to_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


ODD: dict[str, Callable[[Path], None]] = {
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a link to a pipe": link_to_pipe,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a socket": make_socket,
}


@pytest.mark.parametrize("kind", ODD)
def test_what_is_no_regular_file_is_not_opened(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    ODD[kind](path)
    monkeypatch.setattr(os, "open", pytest.fail)
    with pytest.raises(NotRegular, match="not a file"):
        open_regular(path)


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a link to a pipe", "a device"])
def test_what_takes_the_place_of_a_file_before_it_is_opened_is_closed_unread(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"regular")
    seen = []

    def exchange(status: os.stat_result) -> None:
        seen.append(status)
        if len(seen) == 1:
            path.unlink()
            ODD[kind](path)
        require_regular(status)

    monkeypatch.setattr(reading, "require_regular", exchange)
    before = len(list(Path("/dev/fd").iterdir()))
    with pytest.raises(IsADirectoryError if kind == "a folder" else NotRegular):
        open_regular(path)
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_link_is_followed_where_it_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").write_bytes(b"content")
    (tmp_path / "link").symlink_to("x")
    with open_regular(tmp_path / "link") as file:
        assert read_bounded(file, 7) == b"content"
    with pytest.raises(NotRegular, match="it is a link"):
        open_regular(tmp_path / "link", follow=False)
    monkeypatch.setattr(reading, "require_regular", lambda _: None)  # the link was made after the check
    with pytest.raises(OSError, match="symbolic links"):
        open_regular(tmp_path / "link", follow=False)


@pytest.mark.parametrize("most", [0, 6])
def test_a_longer_file_is_refused(most: int, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"content")
    with open_regular(tmp_path / "x") as file:
        with pytest.raises(DescriptorError, match=f"it has more than {most} bytes, the most that it may have"):
            read_bounded(file, most)
        assert file.tell() == 0  # nothing is read


def test_a_read_asks_for_no_memory_that_the_file_does_not_fill(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"content")
    with open_regular(tmp_path / "x") as file:
        tracemalloc.start()
        try:
            assert read_bounded(file, 1 << 24) == b"content"
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 1 << 20


def test_a_file_that_grows_is_read_whole_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"con")
    early = path.stat()
    path.write_bytes(b"content")
    with open_regular(path) as file:
        monkeypatch.setattr(os, "fstat", lambda _: early)
        assert read_bounded(file, 7) == b"content"
        file.seek(0)
        with pytest.raises(DescriptorError, match="more than 6 bytes"):
            read_bounded(file, 6)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux has /proc")
def test_a_file_that_says_no_size_is_read_whole() -> None:
    with open_regular(Path("/proc/self/status")) as file:
        assert b"VmPeak" in read_bounded(file, 1 << 16)
