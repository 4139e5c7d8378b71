"""Pipelines on disk: what one process leaves the next one finds; damage, size and strangers do no harm."""

from __future__ import annotations

import os
import stat
import warnings
from pathlib import Path

import numpy as np
import pytest

import restride as rs
from restride.runtime.vulkan import device
from restride.runtime.vulkan import program as vk_pipeline_cache
from restride.runtime.vulkan.program import FOLDER_VARIABLE, MAX_BYTES, read_cache, write_cache


def test_what_was_written_is_read_and_is_this_user_s_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "device.bin"
    write_cache(path, b"pipelines")
    assert read_cache(path) == b"pipelines"
    write_cache(path, b"other")
    assert read_cache(path) == b"other"
    assert [each.name for each in path.parent.iterdir()] == ["device.bin"]
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-1], lambda data: data + b"x", lambda data: data[:40] + b"x" + data[41:], lambda _: b"short"],
)
def test_a_damaged_file_is_left_out_with_a_warning(tmp_path: Path, damage) -> None:
    path = tmp_path / "device.bin"
    write_cache(path, bytes(range(64)))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(RuntimeWarning, match="is damaged and left out"):
        assert read_cache(path) == b""


def test_no_file_is_no_warning(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_cache(tmp_path / "none.bin") == b""


def run_once() -> None:
    with rs.Device(runtime="vulkan") as device:
        rs.reorder(rs.asarray(np.ones((3, 5), np.float32), device=device), "AB->BA").numpy()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this process's devices keep pipelines; lavapipe's header counts as something to keep."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "kept"))
    monkeypatch.setattr(vk_pipeline_cache, "_HEADER_BYTES", 0)
    return tmp_path / "kept"


def test_a_device_leaves_its_pipelines_and_finds_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_once()
    (file,) = folder.iterdir()
    given: list[int] = []
    struct = device.struct

    def noted(name: str, **fields):
        if name == "VkPipelineCacheCreateInfo":
            given.append(fields["initialDataSize"])
        return struct(name, **fields)

    monkeypatch.setattr(device, "struct", noted)
    run_once()
    assert given == [file.stat().st_size - 32]


def test_a_damaged_cache_stops_no_device(folder: Path) -> None:
    run_once()
    (file,) = folder.iterdir()
    file.write_bytes(b"no pipelines")
    with pytest.warns(RuntimeWarning, match="damaged"):
        run_once()
    assert read_cache(file) != b""


def test_what_has_grown_too_large_is_not_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vk_pipeline_cache, "MAX_BYTES", 8)
    run_once()
    assert not folder.exists()
    assert MAX_BYTES == 64 << 20


@pytest.mark.usefixtures("folder")
def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file" / "kept"))
    run_once()


@pytest.mark.usefixtures("folder")
def test_an_empty_variable_keeps_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    run_once()
    assert not (tmp_path / "xdg").exists()
    monkeypatch.delenv(FOLDER_VARIABLE)
    run_once()
    (file,) = (tmp_path / "xdg" / "restride" / "pipelines").iterdir()
    assert file.suffix == ".bin"
