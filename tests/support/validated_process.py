"""Run Python in a separate process under a profile of the Vulkan validation layer, and return the layer's messages.

messages(["-c", "import restride as rs; ..."], "sync")
messages(["-m", "pytest", "-q", "tests/ops/test_reorder.py"], "core")
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from support.process import captured

from restride_conformance.run.validation import Layer


def messages(
    arguments: Sequence[str], profile: str, *, timeout: float = 300.0, environment: Mapping[str, str] | None = None
) -> list[str]:
    """Run ``python ARGUMENTS`` under a profile; returns every message of the layer, in order.

    Raises:
        AssertionError: the process failed.
        DeviceNotFound: the layer did not run in it.
    """
    with Layer(profile) as layer:
        variables = layer.environment({**os.environ, **(environment or {})})
        command = [sys.executable, *arguments]
        done = captured(command, env=variables, timeout=timeout)
        if done.returncode:
            raise AssertionError(f"{command} under {profile} exits {done.returncode}:\n{done.stdout}{done.stderr}")
        layer.require_running()
        return layer.messages()
