"""Target: what cases run on: a driver, a device, a runtime, perhaps a shader under test."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal

from restride.runtime import DEFAULT_TIMEOUT, RUNTIMES
from restride_conformance.case import Case

Profile = Literal["core", "sync", "gpu"]
Mode = Literal["correctness", "bitwise", "perf"]


@dataclass(frozen=True)
class ShaderUnderTest:
    """A kernel that stands in for one of ours.

    source: the file as its author named it, GLSL or SPIR-V.
    module: the name of the module it replaces, such as ``"strided_copy_32"``.
    spirv: the checked SPIR-V file, absolute.
    """

    source: str
    module: str
    spirv: str


@dataclass(frozen=True)
class Target:
    """Everything a worker process must know beside the cases.

    device: index or part of a name; None: ``RESTRIDE_DEVICE``, then the best.
    timeout: seconds that a case may take on the device.
    driver: absolute path of the ICD manifest that the Vulkan loader is to use; None: what it finds.
    validate: a profile of the Khronos validation layer; its messages fail their case.
    """

    device: str | None = None
    runtime: str = RUNTIMES[0]
    timeout: float = DEFAULT_TIMEOUT
    driver: str | None = None
    validate: Profile | None = None
    shader: ShaderUnderTest | None = None

    def repro(self, case: Case, mode: Mode = "correctness") -> str:
        """The shell command that runs ``case`` alone on this target, in the mode of the run."""
        words = ["restride", "test", "--repro", str(case), "--runtime", self.runtime]
        default = Target()
        for option, value, usual in (
            ("--device", self.device, default.device),
            ("--timeout", f"{self.timeout:g}", f"{default.timeout:g}"),
            ("--driver", self.driver, default.driver),
            ("--validate", self.validate, default.validate),
            ("--mode", mode, "correctness"),
        ):
            if value != usual and value is not None:
                words += [option, value]
        if self.shader is not None:
            words += ["--shader", self.shader.source, "--as", self.shader.module]
        return shlex.join(words)
