"""Runs Python in a process of its own under a profile of the Vulkan validation layer, and returns what the layer said.

    messages(["-c", "import restride as rs; ..."], "sync")
    messages(["-m", "pytest", "-q", "tests/test_ops.py"], "core")

The layer reads its settings once, when the process makes its VkInstance, hence the process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

LAYER = "VK_LAYER_KHRONOS_validation"

_FEATURE = "VK_VALIDATION_FEATURE_ENABLE_"
# Without it the layer compares accesses inside one command buffer only; each operation is a submission of its own.
_BETWEEN_SUBMISSIONS = "VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT"
PROFILES: dict[str, tuple[str, ...]] = {
    "core": (),
    "sync": (f"khronos_validation.enables = {_FEATURE}SYNCHRONIZATION_VALIDATION_EXT,{_BETWEEN_SUBMISSIONS}",),
    "gpu": (
        f"khronos_validation.enables = {_FEATURE}GPU_ASSISTED_EXT,{_FEATURE}GPU_ASSISTED_RESERVE_BINDING_SLOT_EXT",
    ),
}
"""What each profile adds to the layer's settings file."""

# The layer compares accesses with the buffer, not with the range that is bound: each memory needs its own.
_ENVIRONMENT = {"gpu": {"RESTRIDE_SEPARATE_BUFFERS": "1"}}

# What the layer says about itself when GPU assistance starts, not about the program.
_ABOUT_ITSELF = ("UNASSIGNED-GPU-Assisted Validation Setup", "UNASSIGNED-GPU-Assisted-Validation-Setup")


def settings(profile: str, log: Path) -> str:
    """The text of ``vk_layer_settings.txt`` for a profile that logs to ``log``."""
    lines = (
        "khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG",
        "khronos_validation.report_flags = error,warn",
        f"khronos_validation.log_filename = {log}",
        "khronos_validation.enable_message_limit = false",
        *PROFILES[profile],
    )
    return "\n".join(lines) + "\n"


def messages(
    arguments: Sequence[str], profile: str, *, timeout: float = 300.0, environment: Mapping[str, str] | None = None
) -> list[str]:
    """Run ``python ARGUMENTS`` under a profile; every message of the layer, in order.

    Raises:
        AssertionError: the process failed, or the layer did not run in it.
    """
    with tempfile.TemporaryDirectory(prefix="restride-validation-") as name:
        folder = Path(name)
        log = folder / "messages.txt"
        (folder / "vk_layer_settings.txt").write_text(settings(profile, log), encoding="utf-8")
        inherited = {key: value for key, value in os.environ.items() if key != "VK_LOADER_LAYERS_DISABLE"}
        variables = {
            **inherited,
            "VK_INSTANCE_LAYERS": LAYER,
            **_ENVIRONMENT.get(profile, {}),
            "VK_LAYER_SETTINGS_PATH": str(folder),
            **(environment or {}),
        }
        command = [sys.executable, *arguments]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=timeout, check=False)
        if done.returncode:
            raise AssertionError(f"{command} under {profile} exits {done.returncode}:\n{done.stdout}{done.stderr}")
        # The layer opens its log when the instance is made.
        if not log.exists():
            raise AssertionError(f"{LAYER} did not run in {command}; Debian: apt install vulkan-validationlayers")
        return split(log.read_text(encoding="utf-8", errors="replace"))


def split(log: str) -> list[str]:
    """The messages of a log; each starts with its severity."""
    found: list[str] = []
    for line in log.splitlines():
        if line.startswith(("Validation Error", "Validation Warning", "Validation Performance Warning", "UNASSIGNED-")):
            found.append(line)
        elif found and line.strip():
            found[-1] += f"\n{line}"
        elif line.strip():
            found.append(line)
    return [message for message in found if not any(text in message for text in _ABOUT_ITSELF)]
