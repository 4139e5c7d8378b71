"""The map of the house in CONTRIBUTING.md is what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.devices import open_device

ROOT = Path(__file__).resolve().parents[2]


def walk(*arguments: str) -> str:
    open_device("vulkan").close()  # a skip where there is none
    command = [sys.executable, str(ROOT / "tools" / "walk.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def modules(text: str) -> int:
    return int(re.fullmatch(r"(\d+) modules", text.splitlines()[-1])[1])


def test_contributing_shows_the_walk_of_a_first_resample():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (block,) = (each for each in re.findall(r"```\n(.*?)```", page, re.DOTALL) if "restride.ops.resample " in each)
    *shown, _ = block.splitlines()
    *steps, _ = walk("resample").splitlines()
    with open_device("vulkan") as device:
        works_in_host_memory = device.info.kind == "cpu"
    if not works_in_host_memory:  # bytes are staged there, by other steps of the runtime
        shown, steps = ([line for line in lines if "restride.runtime." not in line] for lines in (shown, steps))
    assert steps == shown, "put the output of tools/walk.py in its place in CONTRIBUTING.md"
    assert modules(block) == len(block.splitlines()) - 1


@pytest.mark.parametrize(("arguments", "most"), [((), 39), (("--repeated",), 15)])
def test_a_resample_passes_few_modules(arguments, most):
    assert modules(walk("resample", *arguments)) <= most


@pytest.mark.parametrize("operation", ["reorder", "crop_resize"])
def test_every_operation_can_be_walked(operation):
    assert f"restride.ops.{operation} " in walk(operation)
