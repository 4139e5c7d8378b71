"""Which kernels are compiled."""

from pathlib import Path

from restride_bench.audit.kernels import contract_kernels, kernels_of_workloads
from restride_measure.workloads import of_line

ROOT = Path(__file__).resolve().parents[4]


def test_the_contract_has_kernels_of_every_module():
    found = {each.key.shader for each in contract_kernels()}
    known = {line.split(":")[0] for line in (ROOT / "shaders" / "variants.txt").read_text().splitlines() if ":" in line}
    assert {name for name in known if not name.startswith("#")} <= found


def test_equal_kernels_are_compiled_once_under_the_first_name():
    kernels = kernels_of_workloads(
        [of_line(name, "g", "reorder f32[64,64] -> f32[64,64]{0,1}") for name in ("one", "two")]
    )
    assert [(each.subject, each.key.shader) for each in kernels] == [("one", "transpose_shared_32")]
