"""Modules and dispatches in work groups of another size: the same invocations, and nothing else changes."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.planned_cases import kernels_of

from restride.errors import DeviceError
from restride.kernel import Binding, KernelSpec, Limits
from restride.kernel.modules import load_module, manifest
from restride_conformance.case import Case
from restride_conformance.shader.groups import FIXED, resized, resized_code, table, why_fixed, with_sizes
from restride_conformance.shader.spirv import instructions, read_interface

LINEAR = [name for name in manifest() if not why_fixed(name)]
BARRIER = 224
FULL_KERNEL = KernelSpec.of(
    "element_copy",
    {"BITS": 8, "OWN_WORDS": 1, "WHOLE_WORDS": 1, "FULL": 1, "RANK": 1},
    {"pieces": 384},
    b"",
    (3, 1, 1),
    (Binding(0, 1536), Binding(0, 1536, writes=True)),
)


def opcodes(name):
    return {opcode for _, opcode, _ in instructions(np.frombuffer(load_module(name), "<u4").tolist())}


def test_modules_with_barriers_have_one_size_and_a_reason():
    assert {name for name in manifest() if BARRIER in opcodes(name)} == {
        name for name in manifest() if name.startswith(("transpose_shared", "short_rows"))
    }
    assert {why_fixed(name).partition(":")[0] for name in manifest()} == {"", *FIXED}
    assert why_fixed("transpose_8_aligned") == why_fixed("transpose_64") != ""
    assert table() in (Path(__file__).parents[3] / "docs/conformance.md").read_text("utf-8")


@pytest.mark.parametrize("name", LINEAR)
def test_only_the_size_of_a_module_changes(name, tmp_path):
    source = with_sizes(load_module)
    assert source(name) == load_module(name)
    code = source(f"{name} in groups of 32")
    before, after = read_interface(load_module(name)), read_interface(code)
    assert [entry.local_size for entry in after.entry_points] == [(32, 1, 1)]
    assert replace(after, entry_points=before.entry_points) == before
    assert len(code) == len(load_module(name)) + 16, "one constant more"
    if validator := shutil.which("spirv-val"):
        (tmp_path / "module.spv").write_bytes(code)
        subprocess.run([validator, "--target-env", "vulkan1.1", str(tmp_path / "module.spv")], check=True)


@pytest.mark.parametrize("name", ["transpose_32", "transpose_shared_32"])
def test_a_module_whose_index_is_not_linear_is_refused(name):
    with pytest.raises(DeviceError, match=r"multiplies by the size of its groups [03] times"):
        resized_code(load_module(name), 32)


def test_a_dispatch_has_as_many_invocations_and_is_full_only_if_it_has_no_more():
    full = {}
    for size in (32, 64, 128, 256, 512):
        other = resized(FULL_KERNEL, size, Limits())
        full[size] = (other.groups, replace(other, shader=FULL_KERNEL.shader).constant("FULL"))
        assert replace(other, shader="element_copy", constants=FULL_KERNEL.constants, groups=(3, 1, 1)) == FULL_KERNEL
    assert full == {
        32: ((12, 1, 1), 1),
        64: ((6, 1, 1), 1),
        128: ((3, 1, 1), 1),
        256: ((2, 1, 1), 0),
        512: ((1, 1, 1), 0),
    }


def test_groups_fold_into_the_rows_that_a_device_has():
    folded = resized(FULL_KERNEL, 32, Limits(max_group_count=(5, 65535, 65535)))
    assert folded.groups == (4, 3, 1)


def test_a_transpose_keeps_its_groups():
    (kernel,) = kernels_of(Case.parse("reorder f32[64,64]{1,0} -> f32[64,64]{0,1}"))
    assert kernel.shader.startswith("transpose")
    assert resized(kernel, 32, Limits()) is kernel
