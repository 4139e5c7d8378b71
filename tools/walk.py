"""Print the path of one array through an operation: each module and the function by which it is entered, in order.

    python tools/walk.py [resample | reorder | crop_resize] [--repeated] [--all]

The first call plans and compiles; ``--repeated`` shows a second, equal call, which finds its plan. A module is shown
when it is first entered; ``--all`` shows every step from one module to another. CONTRIBUTING.md shows the output as a
map of the package.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from types import FrameType
from typing import NamedTuple

import numpy as np

import restride as rs


class Step(NamedTuple):
    """One step into a module: ``function`` of ``module``, called ``depth`` calls below the operation."""

    module: str
    function: str
    depth: int


def operations() -> dict[str, Callable[[], object]]:
    """The calls to follow, each from a tensor to a numpy array."""
    photo = np.random.default_rng(0).integers(0, 256, (480, 640, 3), np.uint8)
    tensor = rs.asarray(photo)
    tensor.numpy()  # opens the device, and waits for the upload
    boxes = [(10.5, 20.5, 200.5, 220.5), (100.0, 50.0, 300.0, 400.0)]
    return {
        "resample": lambda: rs.resample(tensor, (224, 224), axes=(0, 1), antialias=True).numpy(),
        "reorder": lambda: rs.reorder(tensor, "HWC->CHW", dtype="f16").numpy(),
        "crop_resize": lambda: rs.crop_resize(tensor, boxes, (64, 64), axes=(0, 1)).numpy(),
    }


def called(frame: FrameType) -> str:
    """The name of a frame's function; for a generated method of a dataclass or tuple, the class."""
    name = frame.f_code.co_qualname
    return type(frame.f_locals["self"]).__name__ if name.startswith("__create_fn__") else name.split(".<locals>")[0]


def walk(call: Callable[[], object]) -> list[Step]:
    """Every step of ``call`` from one module of the package to another."""
    steps: list[Step] = []
    depth = 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal depth
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("restride"):
            return
        if event == "return":
            depth -= 1
        elif event == "call":
            depth += 1
            if not steps or steps[-1].module != module:
                steps.append(Step(module, called(frame), depth))

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return steps


def entries(steps: list[Step]) -> list[Step]:
    """The first step into each module of the walk."""
    first: dict[str, Step] = {}
    for step in steps:
        first.setdefault(step.module, step)
    return list(first.values())


def main() -> None:
    """Print the walk that the command line names."""
    parser = argparse.ArgumentParser(description="Print the modules that one array passes, in order.")
    parser.add_argument("operation", nargs="?", default="resample", choices=("resample", "reorder", "crop_resize"))
    parser.add_argument("--repeated", action="store_true", help="the same call again, which finds its plan")
    parser.add_argument("--all", action="store_true", help="every step between modules, not only the first into each")
    arguments = parser.parse_args()
    call = operations()[arguments.operation]
    if arguments.repeated:
        call()
    steps = walk(call)
    width = max(len(step.module) for step in steps)
    for step in steps if arguments.all else entries(steps):
        print(f"{step.module:<{width}}  {step.function}")
    print(f"{len({step.module for step in steps})} modules")


if __name__ == "__main__":
    main()
