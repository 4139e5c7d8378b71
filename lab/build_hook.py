"""Build hook of restride-lab: compile ``shaders/`` into the package, as the hook of restride does for its own.

The compiling tool is that of restride: a checkout has it in ``../tools``, a source distribution a copy in ``tools``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path += [str(folder / "tools") for folder in Path(__file__).resolve().parents[:2]]
from compile_shaders import compile_shaders

LAB = Path(__file__).resolve().parent


class CompileShaders(BuildHookInterface):  # type: ignore[type-arg]
    """The hook, which runs before hatchling collects the files of a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into the source tree, for a wheel and for an editable install."""
        del version, build_data
        if self.target_name == "wheel":
            compile_shaders(LAB / "shaders", LAB / "src" / "restride_bench" / "spirv", self.app.display_info)
