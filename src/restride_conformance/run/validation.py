"""Run the Khronos validation layer in one process: a profile's settings, the environment that enables it, its log.

The layer reads its settings once, when the process creates its VkInstance, so each profile needs a process of its own.
It flushes each message, so the log is complete when the call that caused the message returns; each new VkInstance
truncates the log.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from restride.errors import DeviceError, DeviceNotFound
from restride.runtime.loader import VALIDATION_LAYER, missing_layer

_FEATURE = "VK_VALIDATION_FEATURE_ENABLE_"
# Without ..._QUEUE_SUBMIT the layer compares accesses only inside a command buffer, but each operation is a submission.
_SYNC = f"{_FEATURE}SYNCHRONIZATION_VALIDATION_EXT,VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT"
# Old layers such as 1.3.239 know only ``enables``; from 1.4.335 on they obey it with a warning. It was replaced by one
# key per feature: validate_sync since 2023, gpuav_enable after 1.3.296. A layer silently ignores unknown keys.
PROFILES: dict[str, tuple[str, ...]] = {
    "core": (),
    "sync": (f"khronos_validation.enables = {_SYNC}", "khronos_validation.validate_sync = true"),
    "practices": (
        f"khronos_validation.enables = {_SYNC},{_FEATURE}BEST_PRACTICES_EXT",
        "khronos_validation.validate_sync = true",
        "khronos_validation.validate_best_practices = true",
    ),
    "gpu": (
        f"khronos_validation.enables = {_FEATURE}GPU_ASSISTED_EXT,{_FEATURE}GPU_ASSISTED_RESERVE_BINDING_SLOT_EXT",
        "khronos_validation.gpuav_enable = true",
    ),
}
"""The lines that each profile adds to the layer's settings file. ``practices`` is ``sync`` plus best practices."""

# GPU assistance checks accesses against the whole buffer, not the bound range, so each memory needs its own buffer.
_ENVIRONMENT = {"gpu": {"RESTRIDE_SEPARATE_BUFFERS": "1"}}

# Messages of the layer about itself, when it reads its settings and when GPU assistance starts, not about the program.
_ABOUT_ITSELF = (
    "UNASSIGNED-GPU-Assisted Validation Setup",
    "UNASSIGNED-GPU-Assisted-Validation-Setup",
    "[ VALIDATION-SETTINGS ]",
    "[ WARNING-Setting-",
)

# Practices that restride deliberately does not follow. Command buffers are reset one by one, because others of their
# pool are pending. Blocks of 256 KiB to 1 MiB have an allocation each, because a slab of 1 MiB holds at most three of
# them. Smaller blocks must share a slab; the message small-allocation, which is not dropped, reports those that do not.
_ANSWERED = (
    "BestPractices-vkCreateCommandPool-command-buffer-reset",
    "BestPractices-vkBindMemory-small-dedicated-allocation",
)

# The first line of a message: VUID-vkDestroyDevice-device-00378(ERROR / SPEC): msgNum: 1901072314 - Validation Error:
# [ VUID-...; later layers leave out the part before "Validation Error".
_BEGINNING = re.compile(r"\S.*\([A-Z]+ / [A-Z]+\): msgNum: |Validation [A-Z][A-Za-z ]*: ")

_MAX_PORTION = 1 << 20
"""Maximum number of log bytes that one call of ``messages`` reads."""


class Layer:
    """The layer with a profile, for one process; settings and log are in a temporary folder until ``close``."""

    def __init__(self, profile: str) -> None:
        self._profile = profile
        self._folder = TemporaryDirectory(prefix="restride-validation-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name)
        self._log = folder / "messages.txt"
        self._position = 0
        settings = (
            "khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG",
            "khronos_validation.report_flags = error,warn,perf",
            f"khronos_validation.log_filename = {self._log}",
            "khronos_validation.enable_message_limit = false",
            *PROFILES[profile],
        )
        path = folder / "vk_layer_settings.txt"
        try:
            path.write_text("\n".join(settings) + "\n", encoding="utf-8")
        except OSError as error:
            raise DeviceError(
                f"cannot write the settings of the validation layer to {path}: {error.strerror}"
            ) from error

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """A copy of the variables ``base``, changed so that a process with them runs under the layer.

        The layer comes first, next to the program; layers that ``base`` enables come after it, as a part of the driver.
        """
        layers = [VALIDATION_LAYER, *filter(None, base.get("VK_INSTANCE_LAYERS", "").split(os.pathsep))]
        return {
            **{name: value for name, value in base.items() if name != "VK_LOADER_LAYERS_DISABLE"},
            "VK_INSTANCE_LAYERS": os.pathsep.join(dict.fromkeys(layers)),
            "VK_LAYER_SETTINGS_PATH": self._folder.name,
            **_ENVIRONMENT.get(self._profile, {}),
        }

    def require_running(self) -> None:
        """Raise unless the layer runs in the process. Call it once the VkInstance exists, which creates the log.

        Raises:
            DeviceNotFound: the loader did not find the layer.
        """
        if self._log.exists():
            return
        why, fix = missing_layer()
        raise DeviceNotFound(f"the validation layer {VALIDATION_LAYER} does not run: {why}; {fix}")

    def messages(self) -> list[str]:
        """The messages of the layer since the last call."""
        if not self._log.exists():
            return []
        with self._log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            begin = self._position if self._position <= size else 0  # a new VkInstance truncated the log
            log.seek(begin)
            portion = log.read(_MAX_PORTION)
        self._position = size
        # A process with two instances leaves zero bytes in place of the first one's log.
        messages = split(portion.decode("utf-8", "replace").replace("\0", ""))
        left_out = size - begin - len(portion)
        return [*messages, f"{left_out} bytes of further messages"] if left_out else messages

    def close(self) -> None:
        """Remove the settings and the log; a second call does nothing."""
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def split(log: str) -> list[str]:
    """Split a log into its messages, without those of ``_ABOUT_ITSELF`` and ``_ANSWERED``."""
    messages: list[str] = []
    for line in filter(str.strip, log.splitlines()):
        if _BEGINNING.match(line) or not messages:
            messages.append(line)
        else:
            messages[-1] += f"\n{line}"
    return [message for message in messages if not any(text in message for text in (*_ABOUT_ITSELF, *_ANSWERED))]
