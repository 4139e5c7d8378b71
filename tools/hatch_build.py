"""Build hook: compile the shaders while the package is built, so that whoever installs a wheel needs no compiler.

The modules are made from ``shaders/`` and are not in git, so neither a checkout nor an sdist has them. A wheel carries
them with their manifest, and the GLSL they came from under ``restride/shaders`` for readers. An editable install gets
them in ``src/restride/spirv``, where ``tools/compile_shaders.py`` refreshes them. The wheel stays ``py3-none-any``:
SPIR-V is the same on every machine.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))
from compile_shaders import compile_shaders


class CompileShaders(BuildHookInterface):  # type: ignore[type-arg]
    """Runs before hatchling collects the files of a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into the source tree; ``version`` is ``"standard"`` or ``"editable"``."""
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        compile_shaders(root / "shaders", root / "src" / "restride" / "spirv", self.app.display_info)
        if version == "standard":
            build_data["force_include"][str(root / "shaders")] = "restride/shaders"
