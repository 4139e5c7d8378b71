"""A driver with one fault: cases find it, it is reduced and exported, and a C program without restride shows it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import faulty_driver
import pytest
from support.process import captured

from restride.runtime.instance import layer_names
from restride.runtime.loader import VALIDATION_LAYER
from restride_conformance import Case

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the layer is built for Linux"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"),
]

CASES = [
    "reorder f32[70,130]{1,0} -> f32[70,130]{0,1}",
    "reorder f32[64,64]{1,0} -> u8[64,64]{1,0}",
    "reorder f32[9,8]{1,0} -> f32[9,8]{1,0} sum_scale=2",
]
"""A copy and a conversion of several work groups, and one that adds to what is there."""

SHOWN_BY = {"drop": CASES[:2], "stale": CASES, "twice": CASES[2:], "flip": CASES}


@pytest.fixture(scope="module")
def layer(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("layer")
    faulty_driver.build(folder)
    return folder


def restride_test(layer: Path, fault: str, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "restride", "test", *map(str, words)]
    return captured(command, env=faulty_driver.environment(layer, fault))


def failed(layer: Path, fault: str) -> list[str]:
    """The cases that fail on a driver with ``fault``."""
    done = restride_test(layer, fault, *(word for case in CASES for word in ("--repro", case)))
    assert done.returncode in (0, 1), done.stderr
    return [case for case in CASES if any(line.startswith(f"FAILED        {case}") for line in done.stdout.split("\n"))]


def test_a_driver_below_the_layer_stays_right(layer):
    assert failed(layer, "none") == []


@pytest.mark.parametrize("fault", SHOWN_BY)
def test_each_fault_of_the_layer_shows(layer, fault):
    assert failed(layer, fault) == SHOWN_BY[fault]


def test_a_fault_is_reduced_and_exported(layer, tmp_path):
    done = restride_test(layer, "drop", "--repro", CASES[0], "--reduce")
    (line,) = re.findall(r"^reduced to (.*) \(\d+ of \d+ trials\)$", done.stdout, re.MULTILINE)
    assert Case.parse(line).elements < Case.parse(CASES[0]).elements / 8
    assert restride_test(layer, "none", "--repro", line).returncode == 0
    assert restride_test(layer, "drop", "--repro", line, "--export", tmp_path).returncode == 1
    folder = tmp_path / Case.parse(line).name
    assert captured(["make", "-C", folder]).returncode == 0
    for fault, code in (("none", 0), ("drop", 1)):
        environment = faulty_driver.environment(layer, fault)
        assert captured([folder / "repro", folder], env=environment).returncode == code


def test_an_exported_program_counts_the_results_of_a_fault_that_comes_and_goes(layer, tmp_path):
    assert restride_test(layer, "none", "--repro", CASES[1], "--export", tmp_path).returncode == 0
    folder = tmp_path / Case.parse(CASES[1]).name
    assert captured(["make", "-C", folder]).returncode == 0
    done = captured([sys.executable, faulty_driver.__file__, "flip:20", folder / "repro", "--replay", "100", folder])
    assert done.returncode == 1
    assert "100 replays, distinct results: 2\n  95 times that of replay 1\n  5 times that of replay 20\n" in done.stdout


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "usage: faulty_driver.py drop|twice|stale[:N]|flip[:N] COMMAND"),
        (("drop",), "usage: faulty_driver.py drop"),
        (("dropp", "true"), "fault 'dropp' is unknown; known: drop|twice|stale[:N]|flip[:N], where :N is once in N"),
        (("flip:0", "true"), "fault 'flip:0' is unknown"),
        (("drop:20", "true"), "fault 'drop:20' is unknown"),
        (("twice:20", "true"), "fault 'twice:20' is unknown"),
        (("drop", "/nowhere"), "/nowhere: No such"),
    ],
)
def test_a_command_without_a_known_fault_does_not_run(words, error):
    done = captured([sys.executable, faulty_driver.__file__, *words])
    assert done.returncode == 1
    assert done.stderr.startswith(error)


def test_the_layer_comes_after_those_of_the_user():
    folder = Path("/layer")
    added = faulty_driver.environment(folder, "drop", {"VK_ADD_LAYER_PATH": "/mine", "VK_INSTANCE_LAYERS": "A:B"})
    assert added["VK_ADD_LAYER_PATH"] == "/mine:/layer"
    assert added["VK_INSTANCE_LAYERS"] == f"A:B:{faulty_driver.LAYER}"
    replaced = faulty_driver.environment(folder, "drop", {"VK_LAYER_PATH": "/mine"})
    assert replaced["VK_LAYER_PATH"] == "/mine:/layer"
    assert "VK_ADD_LAYER_PATH" not in replaced


def test_a_fault_shows_under_the_validation_layer_too(layer):
    if VALIDATION_LAYER not in layer_names():
        pytest.skip("no validation layer")
    done = restride_test(layer, "drop", "--repro", CASES[0], "--validate", "core")
    assert done.returncode == 1, done.stderr
    assert f"FAILED        {CASES[0]}" in done.stdout


@pytest.mark.parametrize(
    ("way", "right"),
    [(("--repeat", 40), "38 of 40 repetitions"), (("--replay", 20), "19 of 20 replays")],
)
def test_a_fault_of_one_submission_in_20_is_flaky(layer, way, right):
    """As docs/driver.md says: of 20 replays the last is wrong, and of 20 repetitions in each process the last."""
    done = restride_test(layer, "flip:20", "--repro", CASES[1], *way)
    assert done.returncode == 1, done.stderr
    assert f"FLAKY         {CASES[1]}  # right in {right}; 2 distinct results; first differing bytes: " in done.stdout
    assert restride_test(layer, "flip:20", "--repro", CASES[1]).returncode == 0


def test_a_fault_of_every_submission_stays_a_failure(layer):
    done = restride_test(layer, "drop", "--repro", CASES[0], "--repeat", 3, "--replay", 3, "--under-load")
    assert done.returncode == 1, done.stderr
    assert f"FAILED        {CASES[0]}" in done.stdout
