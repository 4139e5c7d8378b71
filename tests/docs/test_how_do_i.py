"""docs/how_do_i.md: every row runs, the library's line and ours, and compares as its third column says."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.judges import judge, judge_of_images

import restride as rs

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how_do_i.md").read_text(encoding="utf-8")
DISPATCHES = {"a view": 0, "views": 0, "one dispatch": 1, "two dispatches": 2}
CLAIM = re.compile(r"(?:(equal|differs)|within ([\d.^-]+)|raises (\w+))(?: (?:to|of) `([^`]+)`)?(?:;|$)")


@dataclass(frozen=True)
class Section:
    """A library: the module that its lines run against (None: they are not run), and the code before them."""

    name: str
    module: str | None
    inputs: str


@dataclass(frozen=True)
class Row:
    section: Section
    theirs: str
    ours: str
    claim: str

    def __str__(self) -> str:
        return f"{self.section.name}: {self.ours}"


def blocks(text: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


def rows(section: Section, text: str) -> list[Row]:
    lines = re.findall(r"^\| `(.*?)` \| `(.*?)` \| (.*) \|$", text, re.MULTILINE)
    assert len(lines) == len(re.findall(r"^\| (?!-)", text, re.MULTILINE)) - 1, f"a row of {section.name} is malformed"
    return [Row(section, *cells) for cells in lines]


HEAD, _, *PARTS = PAGE.split("\n## ")  # the first section says which functions average
ROWS = []
for part in PARTS:
    run = re.search(r"^Run against `(\w+)`", part, re.MULTILINE)
    assert run or "\nNot run" in part, f"{part.splitlines()[0]} does not say whether it was run"
    ROWS += rows(Section(part.split("\n")[0], run and run[1], blocks(HEAD) + blocks(part)), part)


def value_of(line: str, names: dict[str, Any]) -> Any:
    """The last expression of a line, after the statements before it; each line has inputs of its own."""
    *statements, expression = line.split("; ")
    for statement in statements:
        exec(statement, names)
    return eval(expression, names)


def node(name: str) -> Any:
    """An operator of ONNX as a function of its inputs and attributes, by ONNX's reference implementation."""
    onnx, reference = judge("onnx"), judge("onnx.reference")

    def run(*inputs: Any, **attributes: Any) -> Any:
        names = ["" if value is None else f"i{number}" for number, value in enumerate(inputs)]
        made = onnx.helper.make_node(name, names, ["o"], **attributes)
        feeds = {key: np.asarray(value) for key, value in zip(names, inputs, strict=True) if key}
        graph = onnx.helper.make_graph(
            [made],
            name,
            [
                onnx.helper.make_tensor_value_info(key, onnx.helper.np_dtype_to_tensor_dtype(feeds[key].dtype), None)
                for key in feeds
            ],
            [onnx.helper.make_tensor_value_info("o", 0, None)],
        )
        model = onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid("", onnx.defs.onnx_opset_version())]
        )
        return reference.ReferenceEvaluator(model).run(None, feeds)[0]

    return run


def arrays(value: Any) -> list[np.ndarray]:
    """What a line gives, as arrays of numpy: a tensor of any library, bytes, numbers, or several of them."""
    if isinstance(value, rs.Tensor):
        return [value.numpy()]
    if isinstance(value, bytes):
        return [np.frombuffer(value, np.uint8)]
    if str(getattr(value, "dtype", "")) == "torch.bfloat16":
        return [value.view(judge("torch").int16).numpy().view(ml_dtypes.bfloat16)]
    if isinstance(value, list | tuple) and not all(isinstance(each, int | float) for each in value):
        return [array for each in value for array in arrays(each)]
    return [np.asarray(value)]


def require(claim: str, result: list[np.ndarray], expected: list[np.ndarray]) -> None:
    """What the third column says, of all arrays."""
    exact, limit, _, _ = CLAIM.match(claim).groups()
    shapes = [each.shape for each in result], [each.shape for each in expected]
    same = shapes[0] == shapes[1] and all(
        ours.dtype == theirs.dtype and ours.tobytes() == theirs.tobytes()
        for ours, theirs in zip(result, expected, strict=True)
    )
    if exact:
        assert same == (exact == "equal"), f"{claim}: {shapes}, {[each.dtype for each in (*result, *expected)]}"
        return
    assert shapes[0] == shapes[1]
    base, _, exponent = limit.partition("^")
    largest = max(np.abs(o.astype(float) - t.astype(float)).max() for o, t in zip(result, expected, strict=True))
    assert largest <= float(base) ** float(exponent or 1), f"{claim}: {largest}"


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_is_as_its_third_column_says(row):
    claim = CLAIM.match(row.claim)
    assert claim, f"{row.claim!r} is no claim"
    *_, error, formula = claim.groups()
    for module in re.findall(r"^(?:import|from) (\w+)", row.section.inputs, re.MULTILINE):
        judge_of_images(module)
    assert row.section.module or formula, "the line was not run: equal to what?"
    ours, theirs = {}, {}
    for names in (ours, theirs):
        exec(row.section.inputs, names)
    if error:
        with pytest.raises(getattr(rs, error, None) or getattr(__import__("builtins"), error)):
            value_of(row.ours, ours)
        return
    if row.section.module == "onnx":
        theirs |= {name: node(name) for name in re.findall(r"\b([A-Z]\w+)\(", row.theirs)}
    expected = value_of(row.theirs if row.section.module else formula, theirs)
    before = rs.default_device().counters().dispatches
    result = value_of(row.ours, ours)
    counted = rs.default_device().counters().dispatches - before
    assert counted == DISPATCHES.get(row.claim.partition("; ")[2].partition(":")[0], counted)
    require(row.claim, arrays(result), arrays(expected))


def test_the_page_has_the_libraries_it_names():
    sections = {row.section.name for row in ROWS}
    assert len(PARTS) == len(sections)
    assert len(ROWS) >= 200
    judges = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]["judges"]
    installed = {re.match(r"\w+", requirement)[0] for requirement in judges}
    for part in PARTS:
        for module, words in re.findall(r"^Run against `(\w+)`(.*)", part, re.MULTILINE):
            assert ("`make test-judges`" in words) == (module in installed), module


@pytest.mark.parametrize(
    ("claim", "off"),
    [
        ("equal", np.float32([1, 2, 3.0000002])),
        ("equal; a view", np.float64([1, 2, 3])),
        ("equal to `x`", np.float32([[1, 2, 3]])),
        ("equal", np.float32([1, 2])),
        ("within 2^-4", np.float32([1, 2, 3.1])),
        ("within 0.51 of `x`", np.float32([1, 2, 4])),
        ("within 2^-4", np.float32([1, 2])),
        ("within 2^-4", np.float32([1, 2, np.nan])),
        ("differs; a trap", np.float32([1, 2, 3])),
    ],
)
def test_a_row_that_does_not_hold_fails(claim, off):
    with pytest.raises(AssertionError):
        require(claim, [off], [np.float32([1, 2, 3])])


def test_claims_have_one_form():
    for claim in ("about equal", "equal, nearly", "within 2^-4 or so", "equal to x", "raises"):
        assert not CLAIM.match(claim), claim
