"""Compile kernels with Mesa's compilers for GPUs that are not in this machine, and read the statistics.

A driver opens a device that does not exist under a shim, which poses as the kernel's driver of a GPU. RADV up to Mesa
25 needs no shim if ``RADV_FORCE_FAMILY`` names the family. Such a device dispatches nothing, but it compiles pipelines,
and ``VK_KHR_pipeline_executable_properties`` describes the result. A driver reads its variables once, and may end its
process; so ``icd.py`` runs as a program, in a new process for each GPU and after each crash.

``tools/mesa26.sh`` unpacks Mesa 26 with its shims and the C library that it needs. Drivers for Arm's and Imagination's
GPUs are in packages of arm64 only, and run in an emulator, qemu-aarch64.
"""

from __future__ import annotations

import base64
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from restride.cli.drivers import driver_file
from restride.cli.process import ending
from restride.errors import DeviceNotFound
from restride.kernel import KernelSpec
from restride.kernel.modules import load_module
from restride.runtime.specialization import specialized
from restride_bench.audit.assembly import accesses, counted, divisions, trips, vector_instructions
from restride_bench.audit.gpus import FAMILIES, GPU, GPUS, MAKERS
from restride_conformance.shader.spirv import read_interface

INSTALL = (
    "install Mesa's RADV (Debian, Ubuntu: `apt install mesa-vulkan-drivers`; Fedora: `dnf install "
    "mesa-vulkan-drivers`; Arch: `pacman -S vulkan-radeon`)"
)

_NEWER = "install Mesa 25 or newer, or try it without installing it (docs/benchmarks/README.md#which-driver)"

SLOWEST = 120.0
"""A driver that has not compiled a kernel after this many seconds is ended."""

FOLDER = "RESTRIDE_MESA"
"""Environment variable with the folder of an unpacked Mesa 26; without it, ``.cache/mesa26`` of the source tree."""


@dataclass(frozen=True)
class Key:
    """Everything that a compiled pipeline depends on: module, specialization constants, number of storage buffers."""

    shader: str
    constants: tuple[int, ...]
    buffers: int

    @classmethod
    def of(cls, kernel: KernelSpec) -> Key:
        """The key of a dispatch."""
        return cls(kernel.shader, kernel.constants, len(kernel.bindings) + bool(kernel.parameters))


@dataclass(frozen=True)
class Compiled:
    """Statistics of a compiled kernel.

    local_size: invocations in a work group.
    vgprs, spills: vector registers of each invocation, and how many were spilled to memory.
    lds_bytes: memory shared by a work group.
    waves: most subgroups that a SIMD unit keeps in flight.
    instructions, branches: number in the code, each counted once.
    latency, inverse_throughput: cycles from the first instruction of a subgroup to its last, and cycles of the busiest
        unit, as the compiler estimates them.
    memory: instructions by their kind and width, such as ``{"load 16": 4}``.
    divisions: integer divisions by variable divisors.
    depths: number of vector instructions in no loop, in one loop, in two nested loops, ...
    """

    local_size: int
    vgprs: int
    spills: int
    lds_bytes: int
    waves: int
    instructions: int
    branches: int
    latency: int
    inverse_throughput: int
    memory: Mapping[str, int]
    divisions: int
    depths: tuple[int, ...]


@dataclass(frozen=True)
class Figures:
    """The statistics of a kernel from a maker's compiler; ``Maker`` explains each count.

    memory: instructions by their kind and width, such as ``{"load 16": 4}``. trips: loads followed by a store.
    seconds: to compile it.
    """

    instructions: int
    registers: int
    in_flight: int
    spills: int
    scratch: int
    cycles: int
    memory: Mapping[str, int]
    trips: int
    seconds: float

    @classmethod
    def of(cls, maker: str, answer: Mapping[str, Any]) -> Figures:
        """The figures in an answer of the other process."""
        names, said = MAKERS[maker], answer["statistics"]
        found = accesses(maker, answer["text"])
        return cls(
            instructions=said[names.instructions],
            registers=said[names.registers],
            in_flight=said.get(names.in_flight, 0),
            spills=sum(said[name] for name in names.spills),
            scratch=said[names.scratch] if names.scratch else 0,
            cycles=round(said[names.cycles]),
            memory=counted(found),
            trips=trips(found),
            seconds=answer["seconds"],
        )


class UnknownFamily(DeviceNotFound):
    """The RADV on this machine does not know a family."""


class NoCompiler(DeviceNotFound):
    """A driver or shim is missing here, or does not know the GPU; the message says how to get it."""


def compile_kernels(family: str, keys: Sequence[Key]) -> dict[Key, Compiled]:
    """Compile every kernel for a family of AMD's, with the Mesa that ``RESTRIDE_MESA`` names, or the installed one.

    Raises:
        UnknownFamily: RADV does not know the family.
        DeviceNotFound: RADV is not installed, or cannot compile one of the kernels.
    """
    _, answers = _of_family(family, keys)
    compiled = {}
    for key, answer in zip(keys, answers, strict=True):
        if "error" in answer:
            raise DeviceNotFound(f"RADV does not compile {key.shader} for the family {family!r}: {answer['error']}")
        said, code = answer["statistics"], answer["text"]
        compiled[key] = Compiled(
            local_size=local_size(load_module(key.shader), key.constants),
            vgprs=said["VGPRs"],
            spills=said["Spilled VGPRs"],
            lds_bytes=said["LDS size"],
            waves=said["Subgroups per SIMD"],
            instructions=said["Instructions"],
            branches=said["Branches"],
            latency=said["Latency"],
            inverse_throughput=said["Inverse Throughput"],
            memory=counted(accesses("AMD", code)),
            divisions=divisions(code),
            depths=vector_instructions(code),
        )
    return compiled


def compiler_version(family: str) -> str:
    """The version of the compiler for a family, as the driver says it: ``"Mesa 22.3.6"``.

    Raises:
        UnknownFamily, DeviceNotFound: as for ``compile_kernels``.
    """
    return _of_family(family, ())[0]["version"]


def _of_family(family: str, keys: Sequence[Key]) -> tuple[dict[str, str], list[dict[str, Any]]]:
    place = Mesa.unpacked("") if os.environ.get(FOLDER) else None
    try:
        place = place or Mesa.installed("radeon")
        return _run(place, family, GPU("AMD", "", family), keys)
    except NoCompiler as error:
        if "nknown family" in str(error) or "Failed to find amdgpu" in str(error):
            known = ", ".join(f"{name} ({card})" for name, card in FAMILIES.items())
            why = _NEWER if family in FAMILIES else f"known ones are {known}"
            raise UnknownFamily(f"the RADV of this Mesa does not know the family {family!r}: {why}") from error
        raise


def compile_figures(
    name: str, keys: Sequence[Key], stopped: threading.Event | None = None
) -> tuple[dict[str, str], list[Figures | str]]:
    """The device as the driver names it, and for each kernel the figures on a GPU of ``GPUS``, or the error's text.

    stopped: set by another thread to end early.

    Raises:
        NoCompiler: no Mesa here has the driver and the shim, or they do not know the GPU. For AMD's GPUs the installed
            RADV is enough, and ``DeviceNotFound`` says that there is none.
    """
    gpu = GPUS[name]
    maker = MAKERS[gpu.maker]
    places = [Mesa.unpacked(""), Mesa.unpacked("-arm64")]
    place = next((each for each in places if each.has(maker.driver, maker.shim)), None)
    if place is None and gpu.maker == "AMD":
        place = Mesa.installed(maker.driver)
    if place is None:
        option = {"Intel": " --intel", "Arm": " --arm64", "Imagination": " --arm64"}.get(gpu.maker, "")
        missing = f"libvulkan_{maker.driver}.so and lib{maker.shim}_noop_drm_shim.so of Mesa 26"
        folder = places[option == " --arm64"].folder
        raise NoCompiler(f"{missing} are not in {folder} ({FOLDER} names another): bash tools/mesa26.sh{option}")
    device, answers = _run(place, name, gpu, keys, stopped)
    return device, [each.get("error") or Figures.of(gpu.maker, each) for each in answers]


@dataclass(frozen=True)
class Mesa:
    """Mesa's drivers on this machine, in ``folder``. is_unpacked: the C library that they need is there too."""

    folder: Path
    is_unpacked: bool

    @classmethod
    def unpacked(cls, suffix: str) -> Mesa:
        """The Mesa that ``tools/mesa26.sh`` unpacked; it may be missing."""
        root = Path(os.environ.get(FOLDER) or Path(__file__).parents[4] / ".cache/mesa26").absolute()
        root = root.with_name(root.name + suffix)
        return cls(next((each.parent for each in root.glob("usr/lib/*/libvulkan_lvp.so")), root), is_unpacked=True)

    @classmethod
    def installed(cls, driver: str) -> Mesa:
        """The Mesa whose manifest the loader would read, such as that of tools/mesa25.sh."""
        try:
            manifest = driver_file(f"{driver}_icd")
        except DeviceNotFound as error:
            raise DeviceNotFound(f"no driver compiles for AMD's GPUs here; {INSTALL}") from error
        library = Path(json.loads(manifest.read_bytes())["ICD"]["library_path"])
        folder = (manifest.parent / library).resolve().parent
        if library == Path(library.name):  # a bare name means an installed library
            folders = [Path(f"/usr/lib/{platform.machine()}-linux-gnu"), Path("/usr/lib64"), Path("/usr/lib")]
            folder = next((each for each in folders if (each / library).exists()), folder)
        return cls(folder, is_unpacked=False)

    def has(self, driver: str, shim: str) -> bool:
        """True if both files exist."""
        return self.driver(driver).exists() and self.shim(shim).exists()

    def driver(self, name: str) -> Path:
        """The library of a driver."""
        return self.folder / f"libvulkan_{name}.so"

    def shim(self, name: str) -> Path:
        """The library of a shim."""
        return self.folder / f"lib{name}_noop_drm_shim.so"

    def command(self, shim: str) -> tuple[list[str], dict[str, str]]:
        """A Python under this Mesa's C library with the shim in that process alone, and variables for it.

        For this machine's architecture that is its own interpreter, which also runs with a newer C library; for another
        architecture it is the unpacked one.
        """
        preload = self.shim(shim)
        if not self.is_unpacked:
            return [sys.executable], {"LD_PRELOAD": str(preload)} if preload.exists() else {}
        loader = next(self.folder.glob("ld-linux*.so.*"))
        machine = self.folder.name.split("-")[0]
        command = [str(loader), "--library-path", str(self.folder), "--preload", str(preload)]
        if machine == platform.machine():
            command[2] += f":{sysconfig.get_config_var('LIBDIR')}"
            return [*command, os.path.realpath(sys.executable), "-s"], {}
        emulator, root = f"qemu-{machine}", self.folder.parents[2]
        if shutil.which(emulator) is None:
            raise NoCompiler(f"{emulator} is not installed (Debian, Ubuntu: `apt install qemu-user`)")
        python = next(root.glob("usr/bin/python3.*"))
        return [emulator, *command, str(python), "-s"], {"PYTHONHOME": str(root / "usr")}


def _run(
    place: Mesa, name: str, gpu: GPU, keys: Sequence[Key], stopped: threading.Event | None = None
) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The device as the driver describes it, and the answer for each kernel, some of which are errors."""
    maker = MAKERS[gpu.maker]
    command, variables = place.command(maker.shim)
    command += [str(Path(__file__).with_name("icd.py")), str(place.driver(maker.driver)), maker.text]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    # Without this, statistics are missing for pipelines that the driver takes from its cache.
    environment |= {"MESA_SHADER_CACHE_DISABLE": "true", **maker.others, **variables}
    if maker.variable:
        environment[maker.variable] = gpu.value
    if gpu.maker == "AMD" and not place.shim(maker.shim).exists():
        environment["RADV_FORCE_FAMILY"] = gpu.value
    device: dict[str, str] | None = None
    answers: list[dict[str, Any]] = []
    kernels = []
    for key in keys:
        code, rest = specialized(load_module(key.shader), key.constants)
        kernels.append({"code": base64.b64encode(code).decode(), "constants": rest, "buffers": key.buffers})
    while device is None or len(answers) < len(keys):
        has_begun, why = False, ""
        for answer in _lines(command, environment, json.dumps(kernels[len(answers) :])):
            if stopped is not None and stopped.is_set():
                raise NoCompiler(f"compiling for {name!r} was interrupted")
            if "device" in answer:
                device = answer["device"]
            elif "begin" in answer:
                has_begun = True
            elif "ended" in answer:
                why = answer["ended"]
            else:
                has_begun = False
                answers.append(answer)
        if has_begun:
            answers.append({"error": why or "its process ended without an answer"})
        elif device is None or (why and len(answers) < len(keys)):
            raise NoCompiler(f"{gpu.maker}'s driver of this Mesa compiles nothing for {name!r}: {why}")
    return device, answers


def _lines(command: Sequence[str], environment: Mapping[str, str], request: str) -> Iterator[dict[str, Any]]:
    """Yield the lines that the other process prints, and ``{"ended": why}`` last if it failed or took too long."""
    with tempfile.TemporaryFile("w+") as asked, tempfile.TemporaryFile("w+", errors="replace") as errors:
        asked.write(request)
        asked.seek(0)
        process = subprocess.Popen(
            command, env=environment, stdin=asked, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        with process:
            watch = threading.Timer(SLOWEST, process.kill)
            watch.start()
            try:
                for line in process.stdout or ():
                    watch.cancel()
                    watch = threading.Timer(SLOWEST, process.kill)
                    watch.start()
                    yield json.loads(line)
                code = process.wait()
            finally:
                watch.cancel()
                process.kill()
        if code:
            errors.seek(0)
            said = " ".join(errors.read().split()[-60:])
            yield {"ended": f"its process {ending(code)}{': ' + said if said else ''}"}


def local_size(code: bytes, constants: Sequence[int]) -> int:
    """Invocations in a work group of a module with these constants."""
    (entry,) = read_interface(specialized(code, constants)[0]).entry_points
    return math.prod(entry.local_size or ())
