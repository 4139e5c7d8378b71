"""Choices that differ from the usual ones of a device, and the folder that keeps them."""

from __future__ import annotations

from pathlib import Path

import pytest

import restride as rs
from restride.kernel import Choices
from restride.runtime.choices_file import FOLDER_VARIABLE, choices_path, write_choices
from restride.runtime.instance import physical_devices

OTHER = Choices("apart", "shared", "8", "many")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that keeps choices during the test."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "kept"))
    return tmp_path / "kept"


def usual(device: rs.Device) -> Choices:
    """The choices of a device that nobody tuned."""
    return Choices.usual(device.info.kind, device.info.driver_version, device.info.vendor_id)


def keep(choices: Choices) -> None:
    """Keep the choices for every device of this machine."""
    for physical in physical_devices():
        path = choices_path(physical.pipeline_cache_id)
        assert path is not None
        write_choices(path, physical.info.name, choices)
