"""Build hook: compile the shaders while the package is built, so that installing a wheel needs no compiler.

The modules are compiled from ``shaders/`` and are not in git, so neither a checkout nor an sdist has them. A wheel
contains them with their manifest, and their GLSL sources under ``restride/shaders`` for readers. An editable install
has them in ``src/restride/spirv``, where ``tools/compile_shaders.py`` updates them. The wheel stays ``py3-none-any``,
because SPIR-V is the same on every machine.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))
from compile_shaders import compile_shaders


class CompileShaders(BuildHookInterface):  # type: ignore[type-arg]
    """The hook, which runs before hatchling collects the files of a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into the source tree; ``version`` is ``"standard"`` or ``"editable"``."""
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        compile_shaders(root / "shaders", root / "src" / "restride" / "spirv", self.app.display_info)
        if version == "standard":
            build_data["force_include"][str(root / "shaders")] = "restride/shaders"
