"""Modules: acyclic, in the order that data flows, and usable on a machine without a Vulkan loader."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from support.judges import judge
from support.process import captured

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
LAB = ROOT / "lab" / "src"
BINDINGS = {"cffi", "_cffi_backend", "kp"}
SHORT_NAMES = {"dask": "dask", "ome": "zarr", "xarray": "xarray"}
"""Modules of restride.interop that have a short name, and the packages that they need."""
WINGS = ("restride_conformance", "restride_measure")
"""Packages of the same wheel that the library never imports."""
LABORATORY = ("restride_bench", "restride_like_check")
"""Packages of the wheel restride-lab, which the other one never imports."""


def module_name(path: Path, source: Path = SOURCE) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in SOURCE.rglob("*.py")}
OUTSIDE = {module_name(path, LAB): path for path in LAB.rglob("*.py")}
OUTSIDE |= {module_name(path, ROOT): path for path in (ROOT / "conftest.py", *(ROOT / "tests").rglob("*.py"))}


def statements(body, *, inside_functions: bool):
    """The import statements of a module that run when it is imported, or all of them."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif inside_functions or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from statements(ast.iter_child_nodes(node), inside_functions=inside_functions)


def imported(name: str, *, inside_functions: bool = False) -> set[str]:
    """Every module that ``name`` imports; of ``from restride import desc`` that is restride.layout, not restride."""
    found = set()
    source = (FILES | OUTSIDE)[name].read_text(encoding="utf-8")
    for node in statements(ast.parse(source).body, inside_functions=inside_functions):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            assert node.level == 0, f"{name} imports relatively; the house imports by full name"
            for alias in node.names:
                member = f"{node.module}.{alias.name}"
                found.add(member if member in FILES else node.module)
    return found


GRAPH = {name: imported(name) & set(FILES) for name in FILES}
ALL_IMPORTS = {name: imported(name, inside_functions=True) for name in FILES}

# Data flows one way: a module may import those of earlier lines, and a package its own.
LAYERS = (
    ("errors", "lru"),
    ("words", "files", "progress"),
    ("dtypes", "arguments"),
    ("kernel", "layout"),
    ("request",),
    ("weights",),
    ("plan", "reference"),
    ("runtime",),
    ("tensor",),
    ("ops",),
    ("vision",),
    ("compat", "drawing", "xp", "stream"),
    ("interop",),
    ("command",),
    ("cli",),
)

COMMANDS = ("restride.command", "restride.cli")
"""Rooms that call the public API."""


def layer_of(name: str) -> int | None:
    """Position in LAYERS; None for what stands above them all: the package itself and the wings."""
    part = name.split(".")[1] if name.startswith("restride.") else ""
    return next((position for position, parts in enumerate(LAYERS) if part in parts), None)


def part_of(name: str) -> str:
    return ".".join(name.split(".")[:2])


def test_the_graph_has_its_modules():
    assert set(WINGS) <= set(GRAPH)
    assert "restride.layout" in GRAPH["restride.ops.target"]
    assert "restride.tensor.tensor" in GRAPH["restride"]


def test_the_library_never_imports_the_wings():
    library = {name for name in FILES if part_of(name).split(".")[0] == "restride"}
    named = {needed for name in library for needed in ALL_IMPORTS[name] if needed.split(".")[0] in WINGS}
    assert named == set()


def test_the_wings_import_no_command_of_the_library():
    wings = {name for name in FILES if part_of(name).split(".")[0] in WINGS}
    named = {
        f"{name} imports {each}" for name in wings for each in ALL_IMPORTS[name] if part_of(each) == "restride.cli"
    }
    assert named == set()


def test_the_runner_imports_neither_what_measures_nor_the_laboratory():
    others = {"restride_measure", *LABORATORY}
    for name in FILES:
        if part_of(name).split(".")[0] == "restride_conformance":
            assert not {needed.split(".")[0] for needed in ALL_IMPORTS[name]} & others, name


def test_neither_the_wheel_nor_its_tests_import_the_laboratory():
    for name in (*FILES, *(name for name in OUTSIDE if name.startswith(("conftest", "tests.")))):
        needed = imported(name, inside_functions=True)
        assert not {each.split(".")[0] for each in needed} & set(LABORATORY), name


def test_the_laboratory_imports_no_private_name():
    for name in OUTSIDE:
        if name.split(".")[0] in LABORATORY:
            private = {each for each in imported(name, inside_functions=True) if each.startswith("restride")}
            assert not [each for each in private if any(part.startswith("_") for part in each.split("."))], name


def test_few_modules_are_loose():
    loose = {name for name, path in FILES.items() if path.parent == SOURCE / "restride"}
    loose -= {f"restride.{name}" for name in SHORT_NAMES}
    assert len(loose) <= 8, sorted(loose)


def test_the_import_graph_has_no_cycle():
    graph = {name: needs - {name} for name, needs in GRAPH.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("imports form a cycle: " + " <- ".join(error.args[1]))


def test_no_module_needs_the_whole_package_at_import():
    """`from restride import TensorDesc` inside the package would wait for everything else."""
    above = {name for name in FILES if layer_of(name) is None or part_of(name) in COMMANDS}
    assert {name for name, needs in GRAPH.items() if "restride" in needs} <= above


@pytest.mark.parametrize("name", sorted(name for name in FILES if layer_of(name) is not None))
def test_imports_go_one_way(name):
    above = {"restride"} if part_of(name) in COMMANDS else set()
    for needed in ALL_IMPORTS[name] & set(FILES) - above:
        own, its = layer_of(name), layer_of(needed)
        assert its is not None, f"{name} imports {needed}, which stands above it"
        assert its < own or part_of(needed) == part_of(name), f"{name} imports {needed}, which does not stand before it"


def forbidden(part: str, *others: str) -> list[str]:
    """Imports of ``others`` anywhere in ``part``, inside functions too."""
    return [
        f"{name} imports {needed}"
        for name, needs in ALL_IMPORTS.items()
        if part_of(name) == f"restride.{part}"
        for needed in needs
        if part_of(needed) in {f"restride.{other}" for other in others}
    ]


def test_plans_see_no_buffer():
    assert forbidden("plan", "runtime", "tensor", "ops", "reference") == []


def test_runtimes_see_no_descriptor():
    assert forbidden("runtime", "layout", "dtypes", "plan", "tensor", "ops", "reference") == []


def test_the_reference_shares_nothing_with_the_plan():
    assert forbidden("reference", "plan", "kernel", "runtime", "tensor", "ops") == []
    shared = sorted(forbidden("reference", "weights"))
    assert shared == [f"restride.reference.like imports restride.weights.{name}" for name in ("like", "rows")], (
        "rows of libraries alone, which the libraries judge, and the type of their shifts"
    )
    reference = {name for name in ALL_IMPORTS if part_of(name) == "restride.reference"}
    used = {needed for name in reference for needed in ALL_IMPORTS[name] if part_of(needed) == "restride.layout"}
    assert used == {"restride.layout", "restride.layout.argument"}, (
        "the reference reads the fields of a descriptor, not the arithmetic behind them, and lets arguments be checked"
    )


def test_only_runtimes_know_vulkan_and_no_module_needs_it_at_import():
    for name in FILES:
        roots = {needed.split(".")[0] for needed in ALL_IMPORTS[name]}
        if not name.startswith("restride.runtime"):
            assert not roots & BINDINGS, f"{name} imports {roots & BINDINGS}"
        if name == "restride.runtime.vulkan.generated":  # which the modules beside it import, and no other at import
            continue
        at_import = {needed.split(".")[0] for needed in imported(name)}
        assert name.startswith("restride.runtime.vulkan") or "restride.runtime.vulkan.generated" not in imported(name)
        assert not at_import & BINDINGS, f"{name} imports {at_import & BINDINGS} when it is imported"


WITHOUT_VULKAN = """
import sys
sys.modules["_cffi_backend"] = sys.modules["kp"] = None  # importing them raises ImportError
import numpy as np
import restride as rs
from restride.kernel import Limits
from restride.request.arithmetic import NO_ARITHMETIC
from restride.plan.copy import copy_kernels
from restride.plan.resample import passes, resample_kernels
from restride.request import Request
from restride.weights import resizing

desc = rs.TensorDesc.parse("u8[3,5]{0,1}")
assert desc.offset_of((1, 2)) == 7
assert rs.dml_buffer_tensor_size("f32", (1, 1, 3, 5), (15, 15, 5, 1)) == 60
assert copy_kernels(desc, rs.TensorDesc("u8", (3, 5)), Limits())
(tables,) = passes(resizing(desc.sizes, Request((9,), axes=(1,))))
assert resample_kernels(desc, rs.TensorDesc("u8", (3, 9)), tables, NO_ARITHMETIC, Limits())
assert rs.reference.resample(np.float32([0, 8]), (4,)).tolist() == [0, 2, 6, 8]
assert rs.reference.strided_slice(np.arange(5), (0,), (5,), (-2,)).tolist() == [4, 2, 0]
for runtime in ("vulkan", "kompute"):
    try:
        rs.Device(runtime=runtime)
    except rs.DeviceNotFound as error:
        print(error)
    else:
        raise SystemExit("a device opened without a binding")
import restride_conformance
assert restride_conformance.catalogue("smoke")
"""


def test_everything_but_devices_works_without_a_loader():
    done = captured([sys.executable, "-c", WITHOUT_VULKAN])
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert "cffi" in first
    assert first == second


@pytest.mark.parametrize("name", SHORT_NAMES)
def test_a_short_name_is_the_module_itself(name):
    judge(SHORT_NAMES[name])
    program = (
        f"import restride.{name} as short, restride as rs\n"
        f"assert short is rs.{name} is rs.interop.{name}, short\n"
        f"from restride.{name} import {'pyramid' if name == 'ome' else 'resample'}"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_what_a_short_name_needs_is_said_on_use():
    uses = ("import restride.{name}", "restride.{name}", "from restride import {name}")
    lines = [f"import sys\nsys.modules |= dict.fromkeys({list(SHORT_NAMES.values())})\nimport restride"]
    lines += [
        f"try:\n    {use.format(name=name)}\nexcept ImportError as error:\n    print(error)"
        for name in SHORT_NAMES
        for use in uses
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    said = [f"rs.{name} needs {needed}: pip install '.[{name}]' in a checkout" for name, needed in SHORT_NAMES.items()]
    assert done.stdout.splitlines() == [line for line in said for _ in uses]
