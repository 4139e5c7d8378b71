"""Every shipped module: built from the table, valid, of the single capability Shader, and refused when damaged."""

import hashlib
import json
from pathlib import Path

import pytest
from support.built_modules import require_only_the_capability_shader, require_valid, table

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
