"""Files are written whole or not at all, and keep what they were."""

from __future__ import annotations

import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from restride.files import writing
from restride.files.writing import require_writable, write_file


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


POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no permissions and no pipes in folders")


@POSIX
def test_permissions_are_those_that_a_file_had_or_gets(tmp_path: Path) -> None:
    path, new, secret = (tmp_path / name for name in ("x", "new", "secret"))
    for old, mode in ((path, 0o640), (secret, 0o600)):
        old.write_bytes(b"before")
        old.chmod(mode)
    for target in (path, new, secret):
        write_file(target, b"after")
    umask = os.umask(0)
    os.umask(umask)
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (path, new, secret)]
    assert modes == [0o640, 0o666 & ~umask, 0o600]


@POSIX
def test_nobody_else_reads_what_replaces_a_file_before_it_is_whole(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"before")
    modes: list[int] = []
    write_file(tmp_path / "x", lambda file: modes.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode)))
    assert modes == [0o600]


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives files away")
def test_a_file_keeps_its_owner_and_group(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"before")
    os.chown(path, 1234, 4321)
    path.chmod(0o6754)
    write_file(path, b"after")
    status = path.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 4321, 0o6754)


@POSIX
def test_a_group_that_cannot_be_kept_passes_no_right_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"before")
    path.chmod(0o6764)
    old = path.stat()
    others = os.stat_result([*old[:4], old.st_uid + 1, old.st_gid + 1, *old[6:]])

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "fchown", refuse)
    monkeypatch.setattr(writing, "_status", lambda _: others)
    write_file(path, b"after")
    assert stat.S_IMODE(path.stat().st_mode) == 0o744


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="Linux has extended attributes")
def test_a_file_keeps_its_attributes(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"before")
    try:
        os.setxattr(path, "user.origin", b"a camera")
    except OSError:
        pytest.skip("this file system has no attributes")
    write_file(path, b"after")
    assert os.getxattr(path, "user.origin") == b"a camera"


def test_another_writer_s_part_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing.secrets, "token_hex", lambda _: "0")
    theirs = tmp_path / ".restride-0.part"
    theirs.write_bytes(b"theirs")
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "x", b"ours")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [(theirs.name, b"theirs")]


@POSIX
def test_a_loop_of_links_and_a_folder_are_errors_and_stay(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for target in (loop, tmp_path):
        with pytest.raises(OSError):
            require_writable(target)
        with pytest.raises(OSError):
            write_file(target, b"content")
    assert loop.is_symlink()


@POSIX
def test_a_link_to_nothing_becomes_one_to_the_file(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "new")
    write_file(link, b"content")
    assert link.is_symlink()
    assert (tmp_path / "new").read_bytes() == b"content"


@POSIX
def test_a_socket_is_refused_and_stays(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        with pytest.raises(OSError):
            write_file(tmp_path / "s", b"content")
    assert stat.S_ISSOCK((tmp_path / "s").stat().st_mode)


@POSIX
def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, b"content")
    reader.join()
    assert read == [b"content"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@POSIX
def test_a_link_to_a_device_writes_to_it(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(os.devnull)
    write_file(tmp_path / "link", b"content")
    assert (tmp_path / "link").is_symlink()
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


@pytest.mark.parametrize("name", ["x" * 249, "x" * 255, "\N{SNOWMAN}" * 85])
def test_the_longest_names_can_be_written(tmp_path: Path, name: str) -> None:
    for content in (b"before", b"after"):
        write_file(tmp_path / name, content)
        assert (tmp_path / name).read_bytes() == content
