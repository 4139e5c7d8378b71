"""Compile kernels with Mesa's compilers for GPUs that are not in this machine, and read the statistics.

A shim poses as the kernel driver of a GPU; under it, Mesa's driver opens a device that does not exist. Such a device
dispatches nothing, but it compiles pipelines, and ``VK_KHR_pipeline_executable_properties`` describes the result. A
driver reads its variables once, and may end its process; so ``icd.py`` runs as a program, in a new process for each GPU
and after each crash.

``tools/mesa26.sh`` unpacks Mesa 26 with its shims and the C library that it needs. Drivers for Arm's and Imagination's
GPUs are in packages of arm64 only, and run in an emulator, qemu-aarch64. For AMD's GPUs an installed RADV is enough;
up to Mesa 25 it needs no shim, because ``RADV_FORCE_FAMILY`` names the GPU.
"""

from __future__ import annotations

import base64
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from restride.command.drivers import driver_file
from restride.command.process import ending, tell
from restride.errors import DeviceNotFound
from restride.kernel import KernelSpec
from restride.kernel.modules import load_module
from restride.runtime.specialization import specialized
from restride_bench.audit.assembly import accesses, counted, trips
from restride_bench.audit.gpus import GPUS, MAKERS

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
class Figures:
    """The statistics of a kernel from a maker's compiler; ``Maker`` explains each count.

    memory: instructions by their kind and width, such as ``{"load 16": 4}``. trips: as ``assembly.trips`` counts them.
    """

    instructions: int
    registers: int
    in_flight: int
    spills: int
    scratch: int
    cycles: int
    trips: int
    memory: Mapping[str, int]

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
            trips=trips(found),
            memory=counted(found),
        )


class NoCompiler(DeviceNotFound):
    """A driver or shim is missing here, or does not know the GPU; the message says how to get it."""


Driver: TypeAlias = dict[str, str]
"""The name of the GPU, the driver and its version, as the driver says them: ``name``, ``driver``, ``version``."""


def compile_all(
    keys: Sequence[Key], gpus: Sequence[str], *, skips_missing: bool
) -> dict[str, tuple[Driver, list[Figures | str]]]:
    """Compile kernels for GPUs, several at a time; returns each GPU's driver, and the figures of each kernel.

    Raises:
        NoCompiler: a driver or shim is missing, unless ``skips_missing``: then the GPU is left out, and named.
    """
    stopped = threading.Event()

    def compiled(name: str) -> tuple[Driver, list[Figures | str]] | NoCompiler:
        try:
            return compile_kernels(name, keys, stopped)
        except NoCompiler as error:
            return error

    found = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            for name, answer in zip(gpus, pool.map(compiled, gpus), strict=True):
                if not isinstance(answer, NoCompiler):
                    found[name] = answer
                elif skips_missing:
                    tell(f"{name} is left out: {answer}")
                else:
                    raise answer  # noqa: TRY301 - cancels the other GPUs, as Ctrl-C does
        except BaseException:  # such as Ctrl-C
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return found


def compile_kernels(
    name: str, keys: Sequence[Key], stopped: threading.Event | None = None
) -> tuple[Driver, list[Figures | str]]:
    """The driver of a GPU of ``GPUS``, and for each kernel the figures, or the error's text.

    stopped: set by another thread to end early.

    Raises:
        NoCompiler: no Mesa here has the driver and the shim, or they do not know the GPU.
    """
    gpu = GPUS[name]
    place = Mesa.of(gpu.maker)
    tell(f"compiling {len(keys)} kernels for {name} ({gpu.maker} {gpu.card}) ...")
    driver, answers = _run(place, name, keys, stopped)
    return driver, [each.get("error") or Figures.of(gpu.maker, each) for each in answers]


@dataclass(frozen=True)
class Mesa:
    """Mesa's drivers on this machine, in ``folder``. is_unpacked: the C library that they need is there too."""

    folder: Path
    is_unpacked: bool

    @classmethod
    def of(cls, maker: str) -> Mesa:
        """The Mesa that compiles for GPUs of a maker.

        Raises:
            NoCompiler: no Mesa here has their driver and its shim.
        """
        driver, shim = MAKERS[maker].driver, MAKERS[maker].shim
        places = [cls.unpacked(""), cls.unpacked("-arm64")]
        place = next((each for each in places if each.has(driver, shim)), None)
        if place is None and maker == "AMD":
            place = cls.installed()
        if place is None:
            option = {"Intel": " --intel", "Arm": " --arm64", "Imagination": " --arm64"}.get(maker, "")
            missing = f"libvulkan_{driver}.so and lib{shim}_noop_drm_shim.so of Mesa 26"
            folder = places[option == " --arm64"].folder
            raise NoCompiler(f"{missing} are not in {folder} ({FOLDER} names another): bash tools/mesa26.sh{option}")
        return place

    @classmethod
    def unpacked(cls, suffix: str) -> Mesa:
        """The Mesa that ``tools/mesa26.sh`` unpacked; it may be missing."""
        root = Path(os.environ.get(FOLDER) or Path(__file__).parents[4] / ".cache/mesa26").absolute()
        root = root.with_name(root.name + suffix)
        return cls(next((each.parent for each in root.glob("usr/lib/*/libvulkan_lvp.so")), root), is_unpacked=True)

    @classmethod
    def installed(cls) -> Mesa | None:
        """The Mesa whose RADV the loader would open, such as that of tools/mesa25.sh."""
        try:
            manifest = driver_file("radeon_icd")
        except DeviceNotFound:
            return None
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

        For drivers of this machine's architecture it is the running interpreter, which also works with a newer C
        library; for those of another architecture it is the unpacked one.
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
    place: Mesa, name: str, keys: Sequence[Key], stopped: threading.Event | None
) -> tuple[Driver, list[dict[str, Any]]]:
    """The driver, and its answer for each kernel, some of which are errors."""
    gpu = GPUS[name]
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
    driver: Driver | None = None
    answers: list[dict[str, Any]] = []
    kernels = []
    for key in keys:
        code, rest = specialized(load_module(key.shader), key.constants)
        kernels.append({"code": base64.b64encode(code).decode(), "constants": rest, "buffers": key.buffers})
    while driver is None or len(answers) < len(keys):
        has_begun, why = False, ""
        for answer in _lines(command, environment, json.dumps(kernels[len(answers) :])):
            if stopped is not None and stopped.is_set():
                raise NoCompiler(f"compiling for {name!r} was interrupted")
            if "device" in answer:
                driver = answer["device"]
            elif "begin" in answer:
                has_begun = True
            elif "ended" in answer:
                why = answer["ended"]
            else:
                has_begun = False
                answers.append(answer)
        if has_begun:
            answers.append({"error": why or "its process ended without an answer"})
        elif driver is None or (why and len(answers) < len(keys)):
            raise NoCompiler(f"{gpu.maker}'s driver in {place.folder} compiles nothing for {name}: {why}")
    return driver, answers


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
