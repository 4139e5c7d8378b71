"""Runs Python in a process of its own under a profile of the Vulkan validation layer, and returns what the layer said.

messages(["-c", "import restride as rs; ..."], "sync")
messages(["-m", "pytest", "-q", "tests/ops/test_reorder.py"], "core")
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

from restride_conformance.run.validation import Layer


def messages(
    arguments: Sequence[str], profile: str, *, timeout: float = 300.0, environment: Mapping[str, str] | None = None
) -> list[str]:
    """Run ``python ARGUMENTS`` under a profile; every message of the layer, in order.

    Raises:
        AssertionError: the process failed.
        DeviceNotFound: the layer did not run in it.
    """
    with Layer(profile) as layer:
        variables = layer.environment({**os.environ, **(environment or {})})
        command = [sys.executable, *arguments]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=timeout, check=False)
        if done.returncode:
            raise AssertionError(f"{command} under {profile} exits {done.returncode}:\n{done.stdout}{done.stderr}")
        layer.require_running()
        return layer.messages()
