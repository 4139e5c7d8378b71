"""A driver with one fault is found by the conformance cases, and without it passes them."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from support.process import captured

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "lab" / "reliability"))
import faulty_driver  # noqa: E402  lab/reliability is no package

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


def failed(layer: Path, fault: str) -> list[str]:
    """The cases that fail on a driver with ``fault``."""
    command = [sys.executable, "-m", "restride", "test", *(word for case in CASES for word in ("--repro", case))]
    done = captured(command, env={**os.environ, **faulty_driver.environment(layer, fault)})
    assert done.returncode in (0, 1), done.stderr
    return [case for case in CASES if any(line.startswith(f"FAILED        {case}") for line in done.stdout.split("\n"))]


def test_a_driver_below_the_layer_stays_right(layer):
    assert failed(layer, "none") == []


@pytest.mark.parametrize("fault", SHOWN_BY)
def test_each_fault_of_the_layer_shows(layer, fault):
    assert failed(layer, fault) == SHOWN_BY[fault]
