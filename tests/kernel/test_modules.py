"""Shader modules are loaded whole or not at all."""

import hashlib
import json
import os

import pytest
from support import runtime_process

from restride.errors import DeviceError
from restride.kernel import Binding, KernelSpec, modules
from restride.runtime.vulkan.runtime import VulkanRuntime

kernels = runtime_process.kernels


@pytest.fixture
def shipped(tmp_path, monkeypatch, kernels):
    code = (kernels / "bump.spv").read_bytes()
    (tmp_path / "bump.spv").write_bytes(code)
    entry = {"sha256": hashlib.sha256(code).hexdigest(), "bytes": len(code), "source": "bump.comp", "defines": []}
    manifest = {"format": 2, "modules": {"bump": entry, "lost": entry}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setattr(modules, "spirv_folder", lambda: tmp_path)
    monkeypatch.setattr(modules, "_ADDED", {})  # restride-lab adds its own, where it is imported
    modules.load_module.cache_clear()
    modules.manifest.cache_clear()
    yield tmp_path
    modules.load_module.cache_clear()
    modules.manifest.cache_clear()


def test_a_module_that_is_whole_loads(shipped):
    assert modules.load_module("bump") == (shipped / "bump.spv").read_bytes()


@pytest.mark.parametrize("damage", ["flip", "cut", "append", "empty"])
def test_a_damaged_module_never_reaches_the_driver(shipped, damage):
    path = shipped / "bump.spv"
    code = bytearray(path.read_bytes())
    code = {
        "flip": code[:100] + bytes([code[100] ^ 4]) + code[101:],
        "cut": code[:-4],
        "append": code + bytes(4),
        "empty": bytearray(),
    }[damage]
    path.write_bytes(code)
    runtime = VulkanRuntime(0)
    memory = runtime.allocate(64)
    spec = KernelSpec("bump", (), (16, 1), b"", (1, 1, 1), (Binding(0, 64, writes=True),))
    with pytest.raises(DeviceError, match=r"shader module 'bump' is damaged: SHA-256 .* is not .*reinstall restride"):
        runtime.submit([spec], [memory])
    runtime.close()


def test_modules_and_lists_that_are_missing_are_named(shipped):
    with pytest.raises(DeviceError, match="unknown shader module 'absent'; known are bump, lost"):
        modules.load_module("absent")
    with pytest.raises(DeviceError, match=r"shader module 'lost' is missing: no file .*lost\.spv.*make shaders"):
        modules.load_module("lost")
    for text, message in [
        ("{", "is damaged"),
        ("[" * 100_000, "is damaged"),
        ("[]", "not of format 2"),
        ('{"format": 1}', "not of format 2"),
        ('{"format": 2, "modules": {"other": []}}', "is damaged"),
    ]:
        (shipped / "manifest.json").write_text(text)
        modules.manifest.cache_clear()
        with pytest.raises(DeviceError, match=message):
            modules.load_module("other")
    (shipped / "manifest.json").unlink()
    modules.manifest.cache_clear()
    with pytest.raises(DeviceError, match=r"no shader modules.*make shaders"):
        modules.load_module("other")


@pytest.mark.parametrize("name", ["manifest.json", "bump.spv"])
def test_a_folder_and_a_loop_of_links_are_no_files(shipped, name):
    path = shipped / name
    path.unlink()
    path.mkdir()
    with pytest.raises(DeviceError, match=name.replace(".", r"\.")):
        modules.load_module("bump")
    path.rmdir()
    if os.name == "posix":
        path.symlink_to(path)
        modules.manifest.cache_clear()
        with pytest.raises(DeviceError, match=name.replace(".", r"\.")):
            modules.load_module("bump")


@pytest.fixture
def added(tmp_path, monkeypatch, kernels):
    """A folder of another package, with its module ``added_bump``."""
    code = (kernels / "bump.spv").read_bytes()
    (tmp_path / "added_bump.spv").write_bytes(code)
    entry = {"sha256": hashlib.sha256(code).hexdigest(), "bytes": len(code), "source": "bump.comp", "defines": []}
    entry |= {"local_size": [16, 1, 1], "bindings": 1, "constants": {}, "push": ["count"], "structs": {}}
    (tmp_path / "manifest.json").write_text(json.dumps({"format": 2, "modules": {"added_bump": entry}}))
    monkeypatch.setattr(modules, "_ADDED", {})
    modules.load_module.cache_clear()
    modules.interface_of.cache_clear()
    yield tmp_path
    modules.load_module.cache_clear()
    modules.interface_of.cache_clear()


def test_a_module_of_an_added_folder_loads_and_is_none_of_the_wheel(added):
    with pytest.raises(DeviceError, match="unknown shader module 'added_bump'"):
        modules.load_module("added_bump")
    for _ in range(2):  # a folder may be added again
        modules.add_folder(added)
    assert modules.load_module("added_bump") == (added / "added_bump.spv").read_bytes()
    assert modules.interface_of("added_bump").push == ("count",)
    assert "added_bump" not in modules.manifest()


def test_a_damaged_module_of_an_added_folder_is_refused(added):
    modules.add_folder(added)
    path = added / "added_bump.spv"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(DeviceError, match="shader module 'added_bump' is damaged"):
        modules.load_module("added_bump")


def test_an_added_folder_needs_a_manifest_and_names_of_its_own(added, tmp_path_factory):
    modules.add_folder(added)
    other = tmp_path_factory.mktemp("other")
    with pytest.raises(DeviceError, match=r"no shader modules: .*manifest\.json does not exist"):
        modules.add_folder(other)
    manifest = json.loads((added / "manifest.json").read_text())
    (other / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DeviceError, match=r"the shader module 'added_bump' of .* has the name of another one"):
        modules.add_folder(other)
    entry = manifest["modules"]["added_bump"]
    (other / "manifest.json").write_text(json.dumps(manifest | {"modules": {"mine": entry, "run_copy_32": entry}}))
    with pytest.raises(DeviceError, match=r"the shader module 'run_copy_32' of .* has the name of another one"):
        modules.add_folder(other)
    with pytest.raises(DeviceError, match="unknown shader module 'mine'"):
        modules.load_module("mine")
