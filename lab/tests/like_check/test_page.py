"""docs/profiles.md: its head, its examples, its rows compared with stated limits, and a sample computed anew."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import profiles
import pytest
from support.judges import judge
from support.sampled import FULL

from restride.cli import main
from restride.request import LIBRARIES
from restride_conformance.report.file import read_record
from restride_like_check import JUDGES, is_measured, judges_of, measured, stated
from restride_like_check.comparison import row_of
from restride_like_check.images import DIRECTIONS, SIZES, image, sizes_of
from restride_like_check.page import cells, head, limit_text, page

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "profiles.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SECTIONS = dict(re.findall(r"^### ([\w-]+): .*?$\n(.*?)(?=^### |\Z)", PAGE, re.DOTALL | re.MULTILINE))
SAMPLE = 112 if FULL else 2
"""Images of a row that are computed anew: 336 of every mode and type, or the first two of one direction."""


def rows(like):
    """The cells of a library's table."""
    table = [line for line in SECTIONS[like].splitlines() if line.startswith("| ")]
    return [tuple(cell.strip() for cell in line[1:-1].split("|")) for line in table[2:]]


def installed(like):
    """The library, and True if the page was written with the installed version."""
    judge(JUDGES[like][1])
    ((found,), _) = judges_of(like)
    return found, f"Installed: {found.version}." in SECTIONS[like]


def test_the_head_of_the_page_comes_from_the_profiles():
    assert PAGE.startswith(head() + "\n")
    assert all(f"`{name}`" in head() for name in LIBRARIES)
    assert [name for name in LIBRARIES if name not in JUDGES] == re.findall(
        r"^### (.*): formulas only$", PAGE, re.MULTILINE
    )[0].split(", ")


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_runs(number):
    exec(compile(EXAMPLES[number], f"docs/profiles.md example {number}", "exec"), {})


def test_there_are_examples():
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize("like", JUDGES)
def test_every_row_is_within_its_stated_limit(like):
    found = rows(like)
    assert len(found) >= 3
    for mode, type_, _, images, pixels, differ, largest, limit in found:
        stated_here = stated(like, mode, type_)
        assert limit == limit_text(stated_here)
        assert int(images) >= 12
        assert float(largest) <= stated_here.largest
        assert int(differ.split()[0]) <= stated_here.share * int(pixels)


@pytest.mark.parametrize("like", JUDGES)
def test_every_way_has_its_rows(like):
    found, _ = installed(like)
    expected = [(way.mode, way.type, direction) for way in found.ways for direction in DIRECTIONS]
    assert [row[:3] for row in rows(like)] == expected


@pytest.mark.parametrize("like", JUDGES)
def test_a_sample_of_rows_is_computed_anew(like, vulkan_device):
    """The page includes the first images of each row, so the counts and differences may not exceed the page's.

    With RESTRIDE_TEST_FULL=1 all images are computed, in all three directions. For another version of the library, and
    for floats on another processor, only the stated limits must hold.
    """
    found, is_same = installed(like)
    by_row = {row[:3]: row for row in rows(like)}
    for number, way in enumerate(found.ways):
        for direction in DIRECTIONS if SAMPLE > 2 else [DIRECTIONS[number % len(DIRECTIONS)]]:
            made = row_of(found, way, direction, SAMPLE, vulkan_device)
            assert made.pixels > 0
            assert made.holds, cells(made)
            _, _, _, images, _, differ, largest, _ = by_row[way.mode, way.type, direction]
            if is_same and way.dtype != "f32" and made.images <= int(images):
                assert made.differ <= int(differ.split()[0]), cells(made)
                assert made.largest <= float(largest), cells(made)


def test_the_page_has_the_versions_that_the_profiles_name():
    for like in JUDGES:
        (version,) = re.findall(r"^Installed: (.*)\.$", SECTIONS[like], re.MULTILINE)
        assert is_measured(like, version), like
    assert measured("pillow") == "13.0.0"
    assert not is_measured("pillow", "13.0.1")
    assert is_measured("torch", "2.13.0+cpu")


def test_another_version_is_named(vulkan_device, capsys, monkeypatch):
    found, _ = installed("pillow")
    asked = ["profiles", "--check", "--images", "1", "-k", "box u16"]
    monkeypatch.setattr("restride_like_check.commands.judges_of", lambda _: ([replace(found, version="12.1.0")], []))
    assert main(asked) == 0
    said = capsys.readouterr().out
    assert "Pillow 12.1.0 is installed; the stated limits were measured with 13.0.0" in said
    assert len(re.findall("^pillow ", said, re.MULTILINE)) == len(DIRECTIONS)
    row = row_of(replace(found, version="12.1.0"), found.ways[0], "down", 1, vulkan_device)
    assert "Installed: 12.1.0, where what is stated was measured with 13.0.0." in page([row])
    monkeypatch.setattr("restride_like_check.commands.judges_of", lambda _: ([found], []))
    assert main([*asked[:-1], "box u16 and more"]) == 5
    assert "-k 'box u16 and more' is in no row's mode and type" in capsys.readouterr().err


def test_images_follow_from_their_number():
    for direction, is_right in {
        "down": lambda signs: signs in ([-1, -1], [-1, 0], [0, -1]),
        "up": lambda signs: signs in ([1, 1], [1, 0], [0, 1]),
        "both": lambda signs: 1 in signs or -1 in signs,
    }.items():
        sizes = []
        for number in range(40):
            first, again = (image(number, direction, 3, 100, "a row") for _ in range(2))
            old, new = first.pixels.shape[:2], first.sizes
            assert is_right([int(np.sign(b - a)) for a, b in zip(old, new, strict=True)]), (direction, number)
            assert (first.of("u16") == again.of("u16")).all()
            sizes += [*old, *new]
        assert min(sizes) == 1
        assert 90 < max(sizes) <= 100


@pytest.mark.usefixtures("vulkan_device")
def test_the_command_checks_writes_and_fails(tmp_path, capsys, monkeypatch):
    assert main(["profiles"]) == 0
    listed = capsys.readouterr().out
    assert all(f"{name}: {profile.library}" in listed for name, profile in LIBRARIES.items())
    target = tmp_path / "rows.json"
    arguments = ["profiles", "--check", "--like", "pillow", "--images", "1"]
    assert main([*arguments, "--json", str(target)]) == 0
    assert "rows are as docs/profiles.md states" in capsys.readouterr().out
    outcomes = read_record(target, "profiles").outcomes
    assert {outcome.case.split(";")[0] for outcome in outcomes} == set(LIBRARIES["pillow"].modes)
    assert {outcome.verdict for outcome in outcomes} == {"PASSED"}
    # A library whose differences exceed the stated limit.
    found, _ = installed("pillow")
    wrong = [way for way in found.ways if (way.mode, way.dtype) == ("box", "u8")]
    wrong[0].arguments["mode"] = "bilinear"
    object.__setattr__(found, "ways", tuple(wrong))
    monkeypatch.setattr("restride_like_check.commands.judges_of", lambda _: ([found], ["someone"]))
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert "FAILED" in said.out
    assert "someone is not installed" in said.err


def test_contradictory_arguments_are_refused(capsys, tmp_path):
    for arguments, message in (
        (["--images", "3"], "--images needs --check"),
        (["-k", "u8"], "-k needs --check"),
        (["--check", "-k", "u8", "--markdown", str(tmp_path / "x.md")], "leave out --like and -k"),
        (["--check", "--images", "0"], "is no number of images"),
        (["--check", "--seed", "-1"], "is no number from 0"),
        (["--like", "gimp"], "invalid choice"),
        (["--check", "--like", "torch", "--markdown", str(tmp_path / "x.md")], "leave out --like"),
    ):
        assert main(["profiles", *arguments]) == 2
        assert message in capsys.readouterr().err
    assert main(["profiles", "--check", "--like", "directml"]) == 5
    assert "formulas only" in capsys.readouterr().err


def test_a_seed_draws_other_images_and_sizes():
    assert sizes_of(30, "down", 600, "pillow box f32") != sizes_of(30, "down", 600, "pillow box f32 7")
    drawn = {image(number, "down", 1, 600, "a row").name for number in range(2 * SIZES)}
    assert drawn >= {"extremes", "flat"}
    for number in range(2 * SIZES):
        one = image(number, "down", 1, 600, "a row")
        if one.name == "flat":
            assert len(np.unique(one.of("f32"))) == 1
        elif one.name == "extremes":
            assert set(np.unique(one.of("f32"))) <= {0.0, 1.0}


def test_large_cells_of_opencv_s_area_are_left_out():
    found, _ = installed("opencv")
    (way,) = [way for way in found.ways if (way.mode, way.dtype) == ("area", "u16")]
    assert not way.takes((600, 600), (1, 1))
    assert way.takes((600, 601), (1, 2))
    assert way.takes((32, 32), (2, 2))


@pytest.mark.usefixtures("vulkan_device")
def test_new_images_are_within_the_stated_limits():
    installed("opencv")
    figures = list(profiles.measure(small=True, seed=3))
    assert len(figures) >= 1
    assert all(figure.met for figure in figures), figures


def test_a_page_of_no_rows_is_still_a_page():
    assert page([]).startswith(head())
