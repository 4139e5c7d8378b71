"""Every shipped module: built from the table, valid, of the single capability Shader, and refused when damaged."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from support.built_modules import require_only_the_capability_shader, require_valid, table

from restride.errors import DeviceError
from restride.kernel import modules

ROOT = Path(__file__).resolve().parents[2]
SHADERS = ROOT / "shaders"
SPIRV = ROOT / "src" / "restride" / "spirv"


VARIANTS = table(SHADERS)


def test_manifest_lists_exactly_the_table():
    manifest = json.loads((SPIRV / "manifest.json").read_text())
    assert manifest["format"] == 2
    listed = {name: (entry["source"], entry["defines"]) for name, entry in manifest["modules"].items()}
    assert listed == VARIANTS
    assert {path.stem for path in SPIRV.glob("*.spv")} == set(VARIANTS)


def test_every_shader_is_in_the_table():
    sources = {path.relative_to(SHADERS).as_posix() for path in SHADERS.rglob("*.comp")}
    assert sources == {source for source, _ in VARIANTS.values()}


def test_every_include_is_used():
    text = "".join(path.read_text() for path in SHADERS.rglob("*") if path.suffix in {".comp", ".glsl"})
    unused = [path.name for path in SHADERS.rglob("*.glsl") if f'#include "{path.name}"' not in text]
    assert unused == []


@pytest.mark.parametrize("name", VARIANTS)
def test_module_has_the_hash_and_size_of_its_manifest_entry(name):
    entry = json.loads((SPIRV / "manifest.json").read_text())["modules"][name]
    code = (SPIRV / f"{name}.spv").read_bytes()
    assert entry["sha256"] == hashlib.sha256(code).hexdigest()
    assert entry["bytes"] == len(code)
    assert modules.load_module(name) == code


@pytest.mark.parametrize("name", VARIANTS)
def test_module_is_valid_for_vulkan_1_1(name):
    require_valid(SPIRV / f"{name}.spv")


@pytest.mark.parametrize("name", VARIANTS)
def test_module_needs_only_the_capability_shader(name):
    require_only_the_capability_shader(SPIRV / f"{name}.spv")


@pytest.fixture
def damaged_folder(tmp_path, monkeypatch):
    """A copy of the shipped modules that a test may damage, in the place of the real ones."""
    folder = tmp_path / "spirv"
    shutil.copytree(SPIRV, folder)
    monkeypatch.setattr(modules, "spirv_folder", lambda: folder)
    modules.manifest.cache_clear()
    modules.load_module.cache_clear()
    yield folder
    modules.manifest.cache_clear()
    modules.load_module.cache_clear()


@pytest.mark.parametrize("bit", [0, 20 * 8, -1])
def test_module_with_one_flipped_bit_is_refused(damaged_folder, bit):
    name = next(iter(VARIANTS))
    path = damaged_folder / f"{name}.spv"
    code = bytearray(path.read_bytes())
    code[bit // 8] ^= 1 << bit % 8
    path.write_bytes(code)
    with pytest.raises(DeviceError, match=rf"'{name}' is damaged: SHA-256 {hashlib.sha256(code).hexdigest()}"):
        modules.load_module(name)


def test_truncated_module_is_refused(damaged_folder):
    name = next(iter(VARIANTS))
    path = damaged_folder / f"{name}.spv"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(DeviceError, match=rf"'{name}' is damaged"):
        modules.load_module(name)


def test_missing_module_names_the_file_and_the_fix(damaged_folder):
    name = next(iter(VARIANTS))
    (damaged_folder / f"{name}.spv").unlink()
    with pytest.raises(DeviceError, match=rf"{name}\.spv.*make shaders"):
        modules.load_module(name)


def test_unknown_module_names_the_known_ones():
    with pytest.raises(DeviceError, match=rf"'no_such_module'.*{next(iter(VARIANTS))}"):
        modules.load_module("no_such_module")


@pytest.mark.parametrize("text", ["", "[]", '{"format": 1, "modules": {}}', '{"format": 2, "modules": []}'])
def test_damaged_manifest_is_refused(damaged_folder, text):
    (damaged_folder / "manifest.json").write_text(text)
    with pytest.raises(DeviceError, match=r"manifest\.json"):
        modules.load_module(next(iter(VARIANTS)))


def test_missing_manifest_names_the_fix(damaged_folder):
    (damaged_folder / "manifest.json").unlink()
    with pytest.raises(DeviceError, match="make shaders"):
        modules.load_module(next(iter(VARIANTS)))
