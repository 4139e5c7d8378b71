"""``restride show``: what it prints and writes, and what it refuses."""

import os
import subprocess
import sys

import pytest
from support.xla_figures import FIGURE_1, FIGURE_1_TEXT, FIGURE_2, run

from restride.cli import main
from restride.drawing.explain import explain
from restride.drawing.picture import show
from restride.layout import TensorDesc


def test_the_command_prints_the_picture(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run(capsys, FIGURE_1) == (0, FIGURE_1_TEXT + "\n", "")
    code, out, err = run(capsys, FIGURE_1, "f32[3,5]", "--explain")
    assert (code, err) == (0, "")
    assert (
        out
        == "\n\n".join(
            [show(FIGURE_1, "f32[3,5]").text(), *(explain(TensorDesc.parse(each)) for each in (FIGURE_1, "f32[3,5]"))]
        )
        + "\n"
    )


@pytest.mark.parametrize("plane", ["hw", "2,3"])
def test_the_command_draws_other_axes(plane, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = "f32[1,4,2,3]:nChw4c"
    assert run(capsys, text, "--plane", plane) == (0, show(text, plane=(2, 3)).text() + "\n", "")
    assert "[0, :, 0, :]" in run(capsys, text)[1]


@pytest.mark.parametrize("suffix", ["svg", "png", "PNG"])
def test_the_command_writes_a_file(capsys, tmp_path, suffix):
    path = tmp_path / f"picture.{suffix}"
    assert run(capsys, FIGURE_1, "f32[3,5]", "-o", path) == (0, "", f"restride: wrote {path}\n")
    assert path.read_bytes() == show(FIGURE_1, "f32[3,5]").file(path)
    show(FIGURE_1, "f32[3,5]").save(tmp_path / f"saved.{suffix}")
    assert path.read_bytes() == (tmp_path / f"saved.{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["f32[2,3"], "expected ',' or ']' after a size at character 8 of 'f32[2,3': the text ends"),
        (["f32[2,3]", "f32[3,2]"], "the second layout f32[3,2]{1,0} must have the sizes of f32[2,3]{1,0}"),
        (["f32[2,3]", "-o", "x.jpg"], "the name of a picture must end in .svg or .png, got 'x.jpg'"),
        (["f32[2,3]", "-o", "/no/such/folder/x.svg"], "cannot write /no/such/folder/x.svg: No such file or directory"),
        (["f32[2,3]", "--at", "9,9"], "index 9 is outside [0, 2) of axis 0"),
        (["memref<3x?xf32>"], "memref of the line: the size of axis 1 is known at run time alone (?)"),
        (["wei:f32::wino:::f0 2x2"], "wei of the line: the format kind 'wino' does not say where elements are"),
        (["%a = c64[3]{0} copy(%b)"], "%a of the line: elements of type 'c64' are not supported, only those of pred, "),
        ([], "the following arguments are required: LAYOUT"),
    ],
)
def test_bad_arguments_are_one_line(capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("restride: ")
    assert message in err


def test_a_line_of_another_program_is_drawn_layout_by_layout(capsys):
    line = "src:f32:blocked:aB2b::f0 dst:f32:blocked:ba::f0 2x4"
    code, out, err = run(capsys, line)
    assert (code, err) == (0, "")
    assert out == f"src:\n{show('f32[2,4]:aB2b')}\n\ndst:\n{show('f32[2,4]:ba')}\n"
    assert run(capsys, line, line) == run(capsys, "f32[2,4]:aB2b", "f32[2,4]:ba")
    assert run(capsys, "memref<2x3xf32, strided<[5, 1]>>") == run(capsys, "f32[2,3]{strides=(5,1)}")
    code, _, err = run(capsys, line, "-o", "x.svg")
    assert code == 2
    assert "a picture is of one layout, and the line has 2: give one of src 'f32[2,4]:aB2b', dst 'f32[2,4]:ba'" in err


def test_an_output_without_box_drawing_gets_ascii():
    done = subprocess.run(
        [sys.executable, "-m", "restride", "show", FIGURE_2],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "ascii", "COLUMNS": "80"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode("ascii").splitlines()
    assert lines[4:7] == [
        "  +====+====+====+====+====+====+====+====+",
        "0 #  0 |  2 |  4 |  6 #  8 | 10 | 12 | 14 #",
        "1 #  1 |  3 |  5 |  7 #  9 | 11 | 13 | 15 #",
    ]


def test_braces_that_a_shell_expanded_are_recognised(capsys):
    assert main(["show", "f32[2,3]0", "f32[2,3]1"]) == 2
    assert "put the layout in quotes" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["x.npy", "a photo.JPG"])
def test_a_file_is_shown_by_another_command(name, capsys):
    assert main(["show", name]) == 2
    assert (
        f"{name!r} looks like the name of a file, and show draws layouts; a picture of what is in a file: "
        in capsys.readouterr().err
    )


def test_shardings_of_hlo_are_no_layouts_without_braces(restride):
    line = "%x = f32[2,3]{1,0} copy(f32[2,3]{0,1} %y), sharding={devices=[2,1]0,1}"
    code, out, _ = restride("show", line)
    assert code == 0
    assert out
    assert restride("show", "f32[2,3]0,1")[0] == 2
