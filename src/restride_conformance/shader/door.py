"""The way in for a shader of somebody else: read, compiled if it is GLSL, and checked, before a driver sees it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from restride.errors import DescriptorError, DeviceError, UnsupportedError
from restride.runtime.modules import load_module
from restride_conformance.shader.contract import module_named
from restride_conformance.shader.interface import require_interface
from restride_conformance.shader.spirv import MOST_BYTES, is_spirv
from restride_conformance.shader.tools import compile_glsl, require_valid
from restride_conformance.target import ShaderUnderTest

_GLSL = (".comp", ".glsl")


def shader_under_test(path: str, name: str, folder: Path) -> ShaderUnderTest:
    """The checked shader in ``path``, to stand in for the module that ``name`` means.

    Args:
        path: SPIR-V, whatever its name; or GLSL, named ``.comp`` or ``.glsl``.
        name: a module of the contract; without its width, the narrowest.
        folder: where the SPIR-V goes that a driver will see.

    Raises:
        DescriptorError: unknown module; or the file cannot be read, does not compile, or breaks the contract.
        UnsupportedError: it is GLSL, and no glslang is installed.
    """
    module = module_named(name)
    spirv = folder.resolve() / f"{module}.spv"
    try:
        code = _spirv(Path(path), spirv, module)
        require_interface(code, module)
        spirv.write_bytes(code)
        require_valid(spirv)
    except (DescriptorError, UnsupportedError) as error:
        raise type(error)(f"shader {path}: {error}") from error
    except OSError as error:
        raise DescriptorError(f"shader {path}: cannot write {spirv}: {error.strerror}") from error
    return ShaderUnderTest(path, module, str(spirv))


def _spirv(source: Path, compiled: Path, module: str) -> bytes:
    """The SPIR-V in ``source``, or what its GLSL compiles to as ``module``, by way of the file ``compiled``."""
    content = _content(source)
    if is_spirv(content):
        return content
    if source.suffix == ".hlsl":
        raise DescriptorError(
            "HLSL is compiled by you: see 'HLSL and other languages' in docs/own_shader.md, and give the .spv"
        )
    if source.suffix not in _GLSL:
        raise DescriptorError(
            f"this is no SPIR-V, which begins with the bytes 03 02 23 07, and no GLSL by its name, {' or '.join(_GLSL)}"
        )
    compile_glsl(source.resolve(), compiled, module)
    return _content(compiled)


def _content(path: Path) -> bytes:
    """A file's bytes.

    Raises:
        DescriptorError: it is not there, no file, or too large.
    """
    try:
        if not path.is_file():  # a folder has no bytes, and a device or a pipe may have no end
            content = None
        else:
            with path.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise DescriptorError(f"it cannot be read: {error}") from error
    if content is None:
        raise DescriptorError("there is no such file, or it is no regular one")
    if len(content) > MOST_BYTES:
        raise DescriptorError(f"it has more than {MOST_BYTES} bytes, the most that a shader may have")
    return content


def module_source(shader: ShaderUnderTest) -> Callable[[str], bytes]:
    """Where a runtime gets its modules: the shader in the place of its module, ours otherwise."""

    def source(name: str) -> bytes:
        if name != shader.module:
            return load_module(name)
        try:
            return Path(shader.spirv).read_bytes()
        except OSError as error:
            raise DeviceError(f"shader {shader.source}, checked as {shader.spirv}, cannot be read: {error}") from error

    return source
