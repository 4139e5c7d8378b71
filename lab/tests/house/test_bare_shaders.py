"""Every kernel written by hand is built from the laboratory's table, valid, and needs only the capability Shader."""

import json
from pathlib import Path

import pytest
from support.built_modules import require_only_the_capability_shader, require_valid, table

from restride.errors import DeviceError
from restride.kernel import modules

LAB = Path(__file__).resolve().parents[2]
SHADERS = LAB / "shaders"
SPIRV = LAB / "src" / "restride_bench" / "spirv"
VARIANTS = table(SHADERS)


def test_manifest_lists_exactly_the_table():
    manifest = json.loads((SPIRV / "manifest.json").read_text())
    assert {name: (entry["source"], entry["defines"]) for name, entry in manifest["modules"].items()} == VARIANTS
    assert {path.stem for path in SPIRV.glob("*.spv")} == set(VARIANTS)
    assert {path.name for path in SHADERS.glob("*.comp")} == {source for source, _ in VARIANTS.values()}


@pytest.mark.parametrize("name", VARIANTS)
def test_module_is_valid_and_needs_only_the_capability_shader(name):
    require_valid(SPIRV / f"{name}.spv")
    require_only_the_capability_shader(SPIRV / f"{name}.spv")


@pytest.mark.parametrize("name", VARIANTS)
def test_module_is_loaded_by_the_library_and_is_none_of_its_own(name):
    assert name not in modules.manifest()
    modules.add_folder(SPIRV)
    assert modules.load_module(name) == (SPIRV / f"{name}.spv").read_bytes()
    with pytest.raises(DeviceError, match="unknown shader module"):
        modules.load_module(f"{name}_of_another_width")
