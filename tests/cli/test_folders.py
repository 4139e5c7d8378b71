"""Files of folders and patterns, and the outputs that are refused before anything is written."""

import re
from pathlib import Path

import numpy as np
import pytest

from restride.cli.folders import outputs_of
from restride.command.process import UsageError


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """A folder with files, a subfolder and another folder, in which nothing may be written."""
    monkeypatch.chdir(tmp_path)
    for name in ("in/a.npy", "in/b.npy", "in/.c.npy", "in/notes.txt", "in/sub/a.npy", "in/sub/d.npy", "out/b.npy"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path.with_suffix(".npy"), np.zeros(1))
        path.with_suffix(".npy").rename(path)
    before = sorted(tmp_path.rglob("*"))
    yield
    assert sorted(tmp_path.rglob("*")) == before


def written(inputs, output):
    """The inputs and outputs as words."""
    outputs = outputs_of([Path(word) for word in inputs.split()], Path(output))
    return [f"{source} {target}" for source, target in outputs.items()]


@pytest.mark.parametrize(
    ("inputs", "output", "expected"),
    [
        ("in/a.npy", "b.npy", ["in/a.npy b.npy"]),
        ("in/a.npy", "out", ["in/a.npy out/a.npy"]),
        ("in/a.npy in/b.npy", "new", ["in/a.npy new/a.npy", "in/b.npy new/b.npy"]),
        ("in/a.npy in/a.npy", "new", ["in/a.npy new/a.npy"]),
        ("in", "out", ["in/a.npy out/a.npy", "in/b.npy out/b.npy"]),
        ("in/", "out/", ["in/a.npy out/a.npy", "in/b.npy out/b.npy"]),
        ("in in/sub/d.npy", "out", ["in/a.npy out/a.npy", "in/b.npy out/b.npy", "in/sub/d.npy out/d.npy"]),
        ("in/[b-z].npy", "out", ["in/b.npy out/b.npy"]),
        ("in/**/d.npy", "out", ["in/sub/d.npy out/d.npy"]),
        ("*/b.npy", "new", None),
    ],
)
def test_inputs_and_outputs(inputs, output, expected):
    if expected is None:
        with pytest.raises(UsageError, match=re.escape("in/b.npy and out/b.npy would both be written to new/b.npy")):
            written(inputs, output)
    else:
        assert written(inputs, output) == expected


def test_a_name_of_brackets_is_a_file_before_it_is_a_pattern(tmp_path):
    np.save("[ab].npy", np.zeros(1))
    try:
        assert written("[ab].npy", "out") == ["[ab].npy out/[ab].npy"]
    finally:
        (tmp_path / "[ab].npy").unlink()


@pytest.mark.parametrize(
    ("inputs", "output", "message"),
    [
        ("in/**/*.npy", "new", "in/a.npy and in/sub/a.npy would both be written to new/a.npy"),
        (
            "in",
            "in",
            "in/a.npy is an input, and the result would replace it: say --in-place to replace it, or name another f",
        ),
        ("in/a.npy out/b.npy", "in", "in/a.npy is an input"),
        ("in", "in/../in", "is the input in/a.npy, and the result would replace it"),
        ("in/a.npy", "in/a.npy", "in/a.npy is an input, and the result would replace it: say --in-place to replace"),
        ("in/a.npy", "in/../in/a.npy", "in/../in/a.npy is the input in/a.npy, and the result would replace it"),
        ("in/a.npy", "in", "in/a.npy is an input, and the result would replace it: say --in-place to replace it, or"),
        ("in", "new.npy", "new.npy is the name of one file: several files, such as those of a folder, need a folder"),
        ("in/a.npy in/b.npy", "out/b.npy", "out/b.npy is the name of one file"),
        ("in", "in/notes.txt", "in/notes.txt is the name of one file"),
        ("in", "none/new", "cannot write none/new: no such folder"),
        (
            "in/*.tif",
            "new",
            "in/*.tif: there is no file whose name ends in .npy, .png, .jpg, .jpeg, .webp, .bmp, .tif,",
        ),
        ("in/*.txt", "new", "in/*.txt: there is no file whose name ends in"),
        ("none", "small", "cannot read none: no such file"),  # a folder that is not there, not the missing OUT
        ("in/a.npy none.npy", "new", "cannot read none.npy: no such file"),
        ("in/a.npy none.npy", "new.npy", "cannot read none.npy: no such file"),
        ("in/a.npy in/notes.txt", "new", "in/notes.txt: the name must end in .npy, .png,"),
        ("in/a.npy", "new", "new is no folder here, and the name of a file must end in .npy, .png, .jpg, .jpeg, .bin"),
        ("in/a.npy", "new.gif", "new.gif: the name must end in .npy, .png, .jpg, .jpeg, .bin"),
    ],
)
def test_what_is_refused_before_anything_is_written(inputs, output, message):
    with pytest.raises(UsageError) as caught:
        written(inputs, output)
    assert message in str(caught.value)


def test_files_are_replaced_by_their_own_results_if_that_is_asked_for():
    each = {Path("in/a.npy"): Path("in/a.npy"), Path("in/b.npy"): Path("in/b.npy")}
    assert outputs_of([Path("in/a.npy")], Path("in/a.npy"), in_place=True) == {Path("in/a.npy"): Path("in/a.npy")}
    assert outputs_of([Path("in/a.npy")], Path("in"), in_place=True) == {Path("in/a.npy"): Path("in/a.npy")}
    assert outputs_of([Path("in")], Path("in"), in_place=True) == each


def test_no_result_replaces_the_input_of_another(tmp_path):
    (tmp_path / "in/c.npy").hardlink_to(tmp_path / "out/b.npy")
    inputs = [Path("in/b.npy"), Path("in/c.npy")]  # the result of b would replace c
    for in_place in (False, True):
        with pytest.raises(UsageError, match=r"out/b.npy is the input in/c.npy, and .*: name another"):
            outputs_of(inputs, Path("out"), in_place=in_place)
    (tmp_path / "in/c.npy").unlink()


@pytest.mark.parametrize("make", [Path.symlink_to, Path.hardlink_to], ids=["link", "hard link"])
def test_an_input_by_another_name_is_an_input(make, tmp_path):
    make(tmp_path / "other.npy", tmp_path / "in/a.npy")
    make(tmp_path / "out/a.npy", tmp_path / "in/a.npy")
    message = "other.npy is the input in/a.npy, and the result would replace it: say --in-place"
    with pytest.raises(UsageError, match=message):
        outputs_of([Path("in/a.npy")], Path("other.npy"))
    with pytest.raises(UsageError, match=message.replace("other", "out/a")):
        outputs_of([Path("in")], Path("out"))
    (tmp_path / "other.npy").unlink()
    (tmp_path / "out/a.npy").unlink()


@pytest.mark.parametrize("target", ["secret.npy", "nowhere.npy", "in/sub", "out/b.npy"])
def test_a_link_in_a_folder_to_fill_is_refused(target, tmp_path):
    (tmp_path / "secret.npy").write_bytes(b"mine")
    (tmp_path / "out/a.npy").symlink_to(tmp_path / target)
    (tmp_path / "link").symlink_to(tmp_path / "out")
    for folder in ("out", "link"):
        with pytest.raises(UsageError, match=f"cannot write {folder}/a.npy: it is a link, and nothing inside a folder"):
            outputs_of([Path("in")], Path(folder))
    (tmp_path / "out/a.npy").unlink()
    assert outputs_of([Path("in")], Path("link"))[Path("in/a.npy")] == Path("link/a.npy")  # the path that was given
    (tmp_path / "link").unlink()
    assert (tmp_path / "secret.npy").read_bytes() == b"mine"
    (tmp_path / "secret.npy").unlink()


def test_two_formats_that_become_one_name_are_refused(tmp_path):
    for name in ("x.webp", "x.gif"):
        (tmp_path / name).touch()
    try:
        with pytest.raises(UsageError, match=r"x\.webp and x\.gif would both be written to new/x\.png: rename one"):
            written("x.webp x.gif", "new")
    finally:
        for name in ("x.webp", "x.gif"):
            (tmp_path / name).unlink()


def test_what_a_folder_has_beside_is_told(capsys):
    written("in", "out")
    assert "restride: in: 2 of 4 are left out, folders or names that do not end in .npy" in capsys.readouterr().err
