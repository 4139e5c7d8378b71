"""Choices on disk: read by the next device, this user's alone, and left out where damaged."""

from __future__ import annotations

import json
import os
import stat
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from support.choices import OTHER, folder, keep, usual
from support.devices import open_device

import restride as rs
from restride.kernel import Choices
from restride.runtime.choices_file import FOLDER_VARIABLE, MAX_BYTES, choices_path, read_choices, write_choices

FIXTURES = (folder,)


def test_what_was_kept_is_read_and_is_this_user_s_alone(folder: Path) -> None:
    path = choices_path("a-device")
    assert path == folder / "a-device.json"
    assert read_choices("a-device") is None
    for choices in (OTHER, Choices()):
        write_choices(path, "A device", choices)
        assert read_choices("a-device") == choices
    assert read_choices("another") is None
    assert [each.name for each in folder.iterdir()] == ["a-device.json"]
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b"null",
        b'{"choices": []}',
        json.dumps({"choices": asdict(OTHER) | {"elements": "far"}}).encode(),
        b'{"choices": {"elements": "apart", "transpose": "shared"}}',
        b"[" * 50_000,
        b'{"a": ' + b"1" * 5000 + b"}",
        b" " * (2 * MAX_BYTES) + json.dumps({"choices": asdict(OTHER)}).encode(),
    ],
)
def test_a_damaged_file_is_left_out_with_a_warning(folder: Path, content: bytes) -> None:
    folder.mkdir()
    (folder / "a-device.json").write_bytes(content)
    with pytest.warns(RuntimeWarning, match=r"a-device.json is ignored \(.*`restride tune` writes it anew"):
        assert read_choices("a-device") is None


def test_where_choices_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    assert choices_path("x") is None
    assert read_choices("x") is None
    monkeypatch.delenv(FOLDER_VARIABLE)
    assert choices_path("x") == tmp_path / "restride" / "choices" / "x.json"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("runtime", ["vulkan", "kompute"])
def test_a_device_has_the_choices_that_were_kept_and_the_same_results(runtime: str) -> None:
    x = np.random.default_rng(3).integers(0, 256, (5, 68, 132), np.uint8)
    results = []
    for choices in (None, Choices(), OTHER):
        if choices is not None:
            keep(choices)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            device = open_device(runtime)
        with device:
            assert device.limits.choices == device.info.limits.choices == (choices or usual(device))
            assert device.info.is_tuned == (choices is not None)
            results.append(rs.reorder(rs.asarray(x, device=device).permute(0, 2, 1)).numpy())
    assert all(np.array_equal(result, x.transpose(0, 2, 1)) for result in results)
