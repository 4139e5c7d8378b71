"""Build the layer of ``faulty_driver.c``, which gives any driver one fault, and say how a process gets it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

LAYER = "VK_LAYER_RESTRIDE_faulty_driver"

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


def environment(folder: Path, fault: str) -> Mapping[str, str]:
    """Variables that load the layer that ``build`` left in ``folder``, with a fault that its source names."""
    return {"VK_LAYER_PATH": str(folder), "VK_INSTANCE_LAYERS": LAYER, "RESTRIDE_FAULT": fault}
