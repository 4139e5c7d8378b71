"""One runtime, really opened and used, in a process of its own: a driver that crashes takes only that process along.

``python -m restride.cli.probe RUNTIME [DEVICE]`` prints one line of JSON; ``try_runtime`` runs it and reads the line.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass

import numpy as np

from restride import reference
from restride.arrays import asarray
from restride.device import Device
from restride.errors import DeviceNotFound, RestrideError, UnsupportedError
from restride.ops import reorder

_LONGEST = 120.0
"""Seconds, the start of Python and a first compile of shaders included."""


@dataclass(frozen=True)
class Attempt:
    """What came of it. absent: there is nothing to use it with, in contrast to something that fails."""

    works: bool
    detail: str
    absent: bool = False


def try_runtime(runtime: str, selector: str | None = None) -> Attempt:
    """Open ``runtime`` on a device and reorder a tiny tensor, in another process."""
    command = [sys.executable, "-m", "restride.cli.probe", runtime, *([] if selector is None else [selector])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return Attempt(False, f"no answer within {_LONGEST:g} s: the driver hangs")
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        return Attempt(**json.loads(lines[-1]))
    if done.returncode < 0:
        return Attempt(False, f"the process died of {signal.Signals(-done.returncode).name}: the driver crashes")
    last = [line for line in done.stderr.splitlines() if line.strip()][-1:] or ["no message"]
    return Attempt(False, f"the process ended with exit code {done.returncode}: {last[0]}")


def _attempt(runtime: str, selector: str | None) -> Attempt:
    x = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    try:
        with Device(selector, runtime) as device:
            result = reorder(asarray(x, device=device), "CHW->HWC").numpy()
            name = f"{device.info.name}, {device.info.driver} {device.info.driver_version}"
    except (DeviceNotFound, UnsupportedError) as error:
        return Attempt(False, str(error), absent=True)
    except RestrideError as error:
        return Attempt(False, f"{type(error).__name__}: {error}")
    if not np.array_equal(result, reference.reorder(x, "CHW->HWC")):
        return Attempt(False, f"a reorder of 24 bytes gives wrong elements on {name}")
    return Attempt(True, f"a small reorder is right on {name}")


if __name__ == "__main__":
    print(json.dumps(asdict(_attempt(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))))
