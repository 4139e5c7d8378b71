"""Run a command on a driver with a fault: the layer of ``faulty_driver.c``, whose first lines list the faults.

    python lab/reliability/faulty_driver.py drop restride test smoke
    python lab/reliability/faulty_driver.py flip:20 ./repro --replay 100

It needs a C compiler and the headers of Vulkan (Debian: gcc, libvulkan-dev). It is built in .cache/faulty_driver.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

LAYER = "VK_LAYER_RESTRIDE_faulty_driver"

_FAULTS = "drop|twice|stale[:N]|flip[:N]"

_SOURCE = Path(__file__).with_suffix(".c")


def build(folder: Path) -> None:
    """Compile the layer into ``folder``, with its manifest; needs a C compiler and the Vulkan headers."""
    library = folder / "libfaulty_driver.so"
    options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-pthread"]
    subprocess.run(["cc", *options, str(_SOURCE), "-o", str(library)], check=True)
    layer = {
        "name": LAYER,
        "type": "GLOBAL",
        "library_path": str(library.resolve()),
        "api_version": "1.3.239",
        "implementation_version": "1",
        "description": "one fault in the driver below",
    }
    manifest = {"file_format_version": "1.1.2", "layer": layer}
    (folder / "faulty_driver.json").write_text(json.dumps(manifest), encoding="utf-8")


def environment(folder: Path, fault: str, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables ``base`` with the layer that ``build`` left in ``folder``, and a fault that its source names.

    The layer comes after those that ``base`` enables, next to the driver. The layers of the system are still found.
    """
    folders = "VK_LAYER_PATH" if base.get("VK_LAYER_PATH") else "VK_ADD_LAYER_PATH"  # the loader reads only one of them
    added = {folders: str(folder), "VK_INSTANCE_LAYERS": LAYER}
    joined = {name: os.pathsep.join(filter(None, (base.get(name), value))) for name, value in added.items()}
    return {**base, **joined, "RESTRIDE_FAULT": fault}


def main(arguments: Sequence[str]) -> None:
    """Become the command, with the fault."""
    if len(arguments) < 2:
        sys.exit(f"usage: faulty_driver.py {_FAULTS} COMMAND ...\n{__doc__}")
    fault, *command = arguments
    if not re.fullmatch("drop|twice|(stale|flip)(:[1-9][0-9]*)?", fault):
        sys.exit(f"fault {fault!r} is unknown; known: {_FAULTS}, where :N is once in N submissions")
    folder = ROOT / ".cache" / "faulty_driver"
    folder.mkdir(parents=True, exist_ok=True)
    build(folder)
    try:
        os.execvpe(command[0], command, environment(folder, fault))
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
