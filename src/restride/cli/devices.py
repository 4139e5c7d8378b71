"""``restride devices``: list this machine's Vulkan devices, and its processor, on which CPU drivers compute."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict

from restride.command.drivers import driver_file
from restride.command.parser import Commands, add_command
from restride.command.process import Exit, say, tell
from restride.command.processor import cpu_model
from restride.drawing.explain import columns
from restride.errors import DeviceNotFound
from restride.runtime import DeviceInfo, choose, list_devices
from restride.runtime.manifests import DRIVER_VARIABLES

_DESCRIPTION = """\
Lists the Vulkan devices of this machine. * marks the default: what RESTRIDE_DEVICE names (an index, or part of a name),
otherwise the best of discrete, integrated, virtual and CPU devices. The kernels of a device are the usual ones of its
kind, or those that `restride tune` found to be faster. Devices of the kind cpu compute on the processor in the last
line. "left" is what all processes leave of the memory, where the driver says so (VK_EXT_memory_budget).

examples:
  restride devices
  RESTRIDE_DEVICE=llvmpipe restride devices     is * where you expect it?
  restride devices --driver swiftshader
  restride devices --json"""


def add_commands(commands: Commands) -> None:
    """Add ``devices``."""
    parser = add_command(commands, "devices", _DESCRIPTION, run)
    text = "lavapipe, swiftshader, an ICD manifest, or part of an installed one's name: only its devices"
    parser.add_argument("--driver", metavar="DRIVER", help=text)
    parser.add_argument("--json", action="store_true", help="a JSON list with limits, instead of a table")


def run(arguments: argparse.Namespace) -> int:
    """Print the devices."""
    if arguments.driver is not None:
        os.environ.update(dict.fromkeys(DRIVER_VARIABLES, str(driver_file(arguments.driver))))
    devices = list_devices()
    chosen = _default_index(devices)
    if arguments.json:
        processor = cpu_model()
        values = [{**asdict(info), "default": info.index == chosen, "processor": processor} for info in devices]
        say(json.dumps(values, indent=2), has_lines=True)
        return Exit.OK
    rows = [("", "index", "name", "kind", "driver", "Vulkan", "memory", "kernels")]
    rows += [
        (
            "*" if info.index == chosen else "",
            str(info.index),
            info.name,
            info.kind,
            f"{info.driver} {info.driver_version}",
            info.api_version,
            _memory(info),
            "tuned" if info.is_tuned else "usual",
        )
        for info in devices
    ]
    say("\n".join(columns(rows)), has_lines=True)
    say(f"processor: {cpu_model()}")
    return Exit.OK


def _memory(info: DeviceInfo) -> str:
    left = "" if info.heap_left is None else f", {info.heap_left / 2**30:.1f} left"
    return f"{info.heap_bytes / 2**30:.1f} GiB{left}"


def _default_index(devices: list[DeviceInfo]) -> int | None:
    try:
        return choose(devices).index
    except DeviceNotFound as error:
        tell(str(error))
        return None
