"""docs/resample.md: examples run, drawings and tables are recomputed, other libraries give what the page says."""

import inspect
import re
import shlex
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from support.judges import judge

import restride as rs
from restride.cli import main
from restride.command.files import write_array
from restride.drawing.resampling import draw_resampling
from restride.ops.resample import GRADIENT_TYPES, INTERPOLATED_TYPES
from restride.request import COORDINATES, DEFAULTS, MODES, NEAREST_RULES, POLICIES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "resample.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
DRAWINGS = re.findall(r"```text\n(draw_resampling.*?)\n(.*?)\n```", PAGE, re.DOTALL)
COMMANDS = [line for line in PAGE.splitlines() if line.startswith(("restride resample ", "restride resize "))]
SAME = [
    ("Pillow", "NEAREST", (7, 29), {"mode": "nearest"}),
    ("Pillow", "BOX", (6, 11), {"mode": "area"}),
    ("OpenCV", "LINEAR", (7, 29), {}),
    ("OpenCV", "CUBIC", (7, 29), {"mode": "cubic"}),
    ("OpenCV", "NEAREST", (7, 29), {"mode": "nearest", "coordinates": "asymmetric", "nearest": "floor"}),
]
"""Filters of other libraries, and the arguments of ``rs.resample`` that give the same in f32.

tests/judges/test_reference_resample.py compares those of torch, and Pillow's and OpenCV's others.
"""


def rows_below(header):
    """The cells of the table whose first line begins so; the header is not among them."""
    lines = PAGE[PAGE.index(f"\n| {header}") + 1 :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines[2:]]


def code(cell):
    assert cell.startswith("`"), cell
    assert cell.endswith("`"), cell
    return cell[1:-1]


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_runs(number):
    for library in ("jax", "torch"):
        if f"import {library}\n" in EXAMPLES[number]:
            judge(library)
    exec(compile(EXAMPLES[number], f"docs/resample.md example {number}", "exec"), {})


@pytest.mark.usefixtures("vulkan_device")
def test_the_photograph_is_normalised():
    """Against f64: a sum of weights that add up to 1 is within (3 * axes + taps) units of 255, and 8 are for the rest.

    An output covers 480 / 224 by 640 / 224 elements, and a filter twice that: 5 by 6 taps at most, or one more each.
    """
    made = {}
    exec(next(text for text in EXAMPLES if "NHWC->NCHW" in text), made)
    photo, mean, std = made["photo"], made["mean"], made["std"]
    allowed = (3 * 2 + 6 * 7 + 8) * 2.0**-24 * 255 / (255 * std.min())
    arguments = {"axes": (1, 2), "antialias": True, "exclude_outside": True, "dtype": "f64"}
    pixels = rs.reference.resample(photo, (224, 224), **arguments) / 255
    expected = ((pixels - mean) / std).transpose(0, 3, 1, 2)
    assert np.abs(made["planes"].numpy() - expected).max() < allowed
    torch = judge("torch")
    stacked = torch.from_numpy(photo.transpose(0, 3, 1, 2) / 255)
    shrunk = torch.nn.functional.interpolate(stacked, (224, 224), mode="bilinear", antialias=True).numpy()
    expected = (shrunk - mean.reshape(3, 1, 1)) / std.reshape(3, 1, 1)
    assert np.abs(made["planes"].numpy() - expected).max() < allowed


@pytest.mark.parametrize(("call", "drawn"), DRAWINGS)
def test_drawings_are_recomputed(call, drawn):
    assert eval(call) == drawn


def test_every_rule_is_drawn_and_named():
    assert len(DRAWINGS) >= len(COORDINATES)
    drawn = " ".join(call for call, _ in DRAWINGS)
    assert [rule for rule in COORDINATES if f'"{rule}"' not in drawn] == []
    # The offsets stand in the last row.
    assert [code(row[0]) for row in rows_below("`coordinates` |")[:-1]] == list(COORDINATES)
    assert [code(row[0]) for row in rows_below("`mode` | an output")] == list(MODES)
    assert {code(row[0]) for row in rows_below("`nearest` | index")} == set(NEAREST_RULES)
    assert [policy for policy in POLICIES if f'"{policy}"' not in PAGE and f"`{policy}`" not in PAGE] == []


@pytest.mark.parametrize(
    ("count", "size", "scale"), [(4, 6, None), (5, 3, None), (4, 5, "1.4"), (7, 2, "0.3"), (3, 1, None)]
)
def test_formulas_are_where_the_drawings_read(count, size, scale):
    roi = (Fraction(1, 4), Fraction(5, 4))
    f = Fraction(size, count) if scale is None else Fraction(scale)
    numbers = {"I": count, "O": size, "f": f, "L": f * count, "start": roi[0], "end": roi[1]}
    numbers |= {"input_offset": Fraction(1, 3), "output_offset": Fraction(-1, 4)}
    for rule, formula in ((row[0].strip("`"), row[1]) for row in rows_below("`coordinates` |")):
        arguments = {"coordinates": rule} | ({"roi": roi} if rule == "tf_crop_and_resize" else {})
        if "offset" in formula:
            arguments = {f"{side}_offsets": (numbers[f"{side}_offset"],) for side in ("input", "output")}
        lines = draw_resampling(count, size, None if scale is None else Fraction(scale), **arguments).splitlines()
        reads = [Fraction(text) for text in lines[2].removeprefix("reads at").split()]
        assert reads == [_evaluated(formula, rule, numbers | {"o": o}) for o in range(size)], rule


def _evaluated(formula, rule, numbers):
    """A formula of the page, and what it says of a single output."""
    if rule == "pytorch_half_pixel":
        return _evaluated("(o + 1/2) / f - 1/2", "half_pixel", numbers) if numbers["O"] > 1 else 0
    usual, *single = formula.split("; ")
    if single and numbers["L"] == 1:
        usual = single[0].removesuffix(" if L = 1")
    exact = re.sub(r"\b(\d+)\b", r"Fraction(\1)", usual)
    return eval(exact, {"Fraction": Fraction}, numbers)


def test_table_of_nearest_rules(vulkan_device):
    for rule, _, *cells, _ in rows_below("`nearest` | index"):
        for (source_size, size), cell in zip(((2, 3), (4, 2), (5, 2)), cells, strict=True):
            x = rs.asarray(np.arange(source_size, dtype=np.uint8), device=vulkan_device)
            made = rs.resample(x, (size,), mode="nearest", nearest=code(rule))
            assert made.numpy().tolist() == [int(text) for text in cell.split()], rule


def test_table_of_weights(vulkan_device):
    rows = rows_below("arguments | output | 0")
    unit = rs.asarray(np.eye(6, dtype=np.float32), device=vulkan_device)
    for arguments, output, *cells in rows:
        made = rs.resample(unit, (3,), axes=(0,), **eval(f"dict({code(arguments)})")).numpy()
        assert [f"{weight:.6g}" for weight in made[int(output)]] == cells, arguments
    assert len(rows) >= 9


def test_table_of_types(vulkan_device):
    named = {row[0]: row[1] for row in rows_below("| element types |")}
    assert named["`linear`, `cubic`, `area`, `area_weighted`"].split("; f64 if")[0] == ", ".join(INTERPOLATED_TYPES)
    assert named["`rs.resample_backward`"] == ", ".join(GRADIENT_TYPES)
    with pytest.raises(rs.UnsupportedError, match="elements of type s64 are not interpolated, those of f32"):
        rs.resample(rs.asarray(np.zeros(3, np.int64), device=vulkan_device), (2,))


def test_defaults_of_onnx_and_of_ours():
    parameters = inspect.signature(rs.resample).parameters
    for _, arguments, _, here in rows_below("attribute or input |"):
        for name in re.findall(r"`(\w+)`", arguments):
            default = parameters[name].default
            if default is None:
                default = DEFAULTS.get(name)
            assert here in ("", "the last ones") or here.strip("`") == str(default), name


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize(("library", "name", "sizes", "arguments"), SAME)
def test_other_libraries_give_the_same(library, name, sizes, arguments):
    x = np.random.default_rng(7).normal(size=(12, 22)).astype(np.float32)
    if library == "Pillow":
        image = judge("PIL.Image")
        expected = np.asarray(image.fromarray(x).resize(sizes[::-1], image.Resampling[name]))
    else:
        cv2 = judge("cv2")
        expected = cv2.resize(x, sizes[::-1], interpolation=getattr(cv2, f"INTER_{name}"))
    assert np.abs(rs.resample(x, sizes, **arguments).numpy() - expected).max() < 1e-5


@pytest.mark.usefixtures("vulkan_device")
def test_antialias_with_align_corners_of_torch():
    torch = judge("torch")
    x, size = np.random.default_rng(3).normal(size=(1, 2, 13, 17)).astype(np.float32), (7, 29)
    options = {"mode": "bilinear", "antialias": True, "align_corners": True}
    expected = torch.nn.functional.interpolate(torch.from_numpy(x).double(), size, **options).numpy()
    factors = [Fraction(o - 1, i - 1) for o, i in zip(size, x.shape[2:], strict=True)]
    result = rs.resample(x, size, factors, input_offsets=(0.5, 0.5), antialias=True, exclude_outside=True).numpy()
    assert np.abs(result - expected).max() < 1e-5


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command, tmp_path, monkeypatch):
    pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(5)
    pixels = generator.integers(0, 256, (30, 40, 3), np.uint8)
    Path("photos").mkdir()
    for name in ("photo.jpg", "photo.png", "photos/a.jpg", "photos/b.jpg"):
        write_array(Path(name), pixels)
    write_array(Path("drawing.png"), generator.integers(0, 256, (30, 40, 4), np.uint8))
    write_array(Path("x.npy"), generator.normal(size=(2, 20, 24)).astype(np.float32))
    assert main([*shlex.split(command)[1:], "--check"]) == 0


def test_a_drawing_has_room_for_its_labels():
    """One letter of an axis that shrinks a lot, or grows a lot, must not run into the next."""
    for source_size, size in ((3, 40), (40, 3), (7, 11), (1, 5), (5, 1)):
        _, output, reads = draw_resampling(source_size, size).splitlines()
        assert output.removeprefix("output").replace("|", " ").split() == [str(index) for index in range(size)]
        assert len(reads.removeprefix("reads at").split()) == size
    with pytest.raises(rs.DescriptorError, match="needs sizes or scales"):
        draw_resampling(4)
