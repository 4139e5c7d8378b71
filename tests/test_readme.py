"""The READMEs: their examples run, their links lead somewhere, and the shader contract lists every module."""

import inspect
import re
from pathlib import Path

import pytest

import restride as rs
from restride.plan import parameters
from restride.plan.resample import LINEAR_TYPES

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHADERS = (ROOT / "shaders" / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_runs(number):
    exec(compile(EXAMPLES[number], f"README example {number}", "exec"), {})


def test_there_are_examples():
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize("signature", re.findall(r"^\| `rs\.(\w+\(.*?\))` \|", README, re.MULTILINE))
def test_signatures_are_the_real_ones(signature):
    name = signature.split("(")[0]
    namespace = {}
    exec(f"def {signature}: ...", namespace)
    shown, real = (inspect.signature(function).parameters.values() for function in (namespace[name], getattr(rs, name)))
    assert [(p.name, p.kind, p.default) for p in shown] == [(p.name, p.kind, p.default) for p in real]


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        "shaders/README.md",
        "docs/conformance.md",
        "docs/layouts.md",
        "docs/own_shader.md",
    ],
)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert ((ROOT / page).parent / target).exists(), target


def test_shader_page_lists_every_module():
    lines = (ROOT / "shaders" / "variants.txt").read_text(encoding="utf-8").splitlines()
    names = [line.split(":")[0].strip() for line in lines if line.strip() and not line.startswith("#")]
    # The page writes `copy_32` `_64` for copy_32 and copy_64.
    table = re.sub(r"(`\w+?)(_\d+)`((?: `_\d+`)+)", _spelled_out, SHADERS)
    for name in names:
        assert f"`{name.removesuffix('_specialised')}`" in table, name


def _spelled_out(match):
    stem, first, others = match.groups()
    return " ".join(f"{stem}{width}`" for width in (first, *re.findall(r"_\d+", others)))


def test_shader_page_has_the_numbers_of_the_plan():
    first, step = parameters.HEADER_ROWS, parameters.AXIS_ROWS
    for row in range(step):
        assert f"| {first + row} + {step}k |" in SHADERS
    assert f"tables begin at row {first}" in SHADERS
    assert f"Ids 0 to {parameters.KERNEL_CONSTANTS - 1} belong to the kernel" in SHADERS
    assert ", ".join(f"{number} {name}" for name, number in LINEAR_TYPES.items()) in SHADERS
    multiplier, shift = parameters.multiply_shift(5)
    assert f"For d = 5: {multiplier} and {shift}." in SHADERS
