"""Drivers by name or path: the manifest that the loader gets, or what to install, or why the file is none."""

from __future__ import annotations

import json
import os

import pytest

from restride.command import drivers
from restride.command.drivers import driver_file
from restride.command.process import UsageError
from restride.errors import DeviceNotFound
from restride.runtime import manifests

MANIFEST = {"file_format_version": "1.0.0", "ICD": {"library_path": "libvulkan_lvp.so", "api_version": "1.3.0"}}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty standard folder, and variables with which there is no other."""
    folder = tmp_path / "share" / "vulkan" / "icd.d"
    folder.mkdir(parents=True)
    for module in (drivers, manifests):
        monkeypatch.setattr(module, "standard_folders", lambda *_: [tmp_path / "none", folder])
    monkeypatch.setattr(drivers, "_BROWSERS", (str(tmp_path / "browser"),))
    return folder


def write(file, library="libvulkan_lvp.so"):
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({**MANIFEST, "ICD": {"library_path": library, "api_version": "1.3.0"}}))
    return file


def test_lavapipe_is_found_whatever_the_architecture_in_its_name(place):
    found = write(place / "lvp_icd.riscv64.json")
    write(place / "intel_icd.x86_64.json")
    assert driver_file("lavapipe") == found


def test_of_two_lavapipes_it_is_that_of_this_machine(place, monkeypatch):
    files = {machine: write(place / f"lvp_icd.{machine}.json") for machine in ("aarch64", "i686", "x86_64")}
    for machine, file in files.items():
        monkeypatch.setattr(drivers.platform, "machine", lambda machine=machine: machine)
        assert driver_file("lavapipe") == file


def test_a_manifest_that_names_no_machine_is_for_this_one(place, monkeypatch):
    """Mesa 25 has lvp_icd.json, and lvp_icd.i686.json for the other machine."""
    monkeypatch.setattr(drivers.platform, "machine", lambda: "x86_64")
    write(place / "lvp_icd.i686.json")
    write(place / "radeon_icd.i686.json")
    assert write(place / "lvp_icd.json") == driver_file("lavapipe")
    assert write(place / "radeon_icd.json") == driver_file("radeon")


@pytest.mark.parametrize("name", ["lavapipe", "lvp_icd"])
@pytest.mark.parametrize("file", ["lvp_icd.json", "lvp_icd.x86_64.json"])
def test_of_two_folders_the_first_one_counts(tmp_path, monkeypatch, name, file):
    """As for the loader: XDG_DATA_DIRS names drivers that lie beside the installed ones."""
    monkeypatch.setattr(drivers.platform, "machine", lambda: "x86_64")
    beside, installed = (tmp_path / each / "vulkan" / "icd.d" for each in ("z beside", "installed"))
    for folder in (beside, installed):
        folder.mkdir(parents=True)
    write(installed / "lvp_icd.x86_64.json")
    found = write(beside / file)
    environment = {"XDG_DATA_DIRS": os.pathsep.join([str(tmp_path / "z beside"), str(tmp_path / "installed")])}
    assert driver_file(name, environment) == found


def test_a_manifest_without_its_library_is_not_found(place):
    write(place / "lvp_icd.json", "/nowhere/libvulkan_lvp.so")
    with pytest.raises(DeviceNotFound):
        driver_file("lavapipe")


def test_swiftshader_is_found_where_browsers_keep_it(place, tmp_path):
    file = write(tmp_path / "browser" / "vk_swiftshader_icd.json", "./libvk_swiftshader.so")
    with pytest.raises(DeviceNotFound):
        driver_file("swiftshader")
    (tmp_path / "browser" / "libvk_swiftshader.so").touch()
    assert driver_file("swiftshader") == file
    installed = write(place / "vk_swiftshader_icd.json")
    assert driver_file("swiftshader") == installed


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(("name", "package"), [("lavapipe", "mesa-vulkan-drivers"), ("swiftshader", "chromium-common")])
def test_a_driver_that_is_not_installed_says_how_to_install_it(name, package):
    with pytest.raises(DeviceNotFound, match=f"{name} is not installed.*apt install {package}"):
        driver_file(name)


def test_a_path_is_made_absolute(tmp_path, monkeypatch):
    file = write(tmp_path / "mine.json")
    monkeypatch.chdir(tmp_path)
    assert driver_file("mine.json") == file
    assert driver_file(str(file)) == file


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"\xff\xfe\x00", "is UTF-16 or binary"),
        (b"[1, 2]", "is no JSON object"),
        (b"{}", "no library_path"),
        (b'{"ICD": null}', "no library_path"),
        (b'{"ICD": {"library_path": 5}}', "has a library_path that is no path, '5'"),
        (b'{"ICD": {"library_path": ""}}', "has a library_path that is no path, ''"),
        (b'{"ICD": {"library_path": "a\\u0000/b"}}', "has a library_path that is no path"),
        (b'{"ICD": {"library_path": "./none.so"}}', "names a library that does not exist, './none.so'"),
        (b"[" * 200_000, "is nested too deeply"),
        (b" " * (1 << 20) + b"{}", "has more than 1 MiB"),
    ],
)
def test_a_file_that_is_no_manifest_is_a_usage_error(tmp_path, content, reason):
    file = tmp_path / "bad.json"
    file.write_bytes(content)
    with pytest.raises(UsageError) as raised:
        driver_file(str(file))
    assert reason in str(raised.value)
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize("name", ["no such driver", "lavapip", "/nowhere/x.json"])
def test_a_name_that_no_driver_has_lists_those_there_are(place, name):
    for files in ("there is none", "lvp_icd.json", "lvp_icd.json, radeon_icd.json"):
        with pytest.raises(DeviceNotFound) as raised:
            driver_file(name)
        here = f"no driver here has this text in its name ({files})"
        assert str(raised.value) == f"driver {name!r} is no file, {here}, and it is not lavapipe or swiftshader"
        write(place / ("radeon_icd.json" if "lvp" in files else "lvp_icd.json"))


@pytest.mark.parametrize("name", ["", ".", "/dev/zero", "a\0b", "x" * 5000])
def test_a_path_that_is_no_file_is_a_usage_error(name):
    with pytest.raises(UsageError, match="is no ICD manifest"):
        driver_file(name)


def test_part_of_the_name_of_an_installed_manifest_is_enough(place):
    manifest = write(place / "radeon_icd.x86_64.json")
    assert driver_file("Radeon") == manifest
