"""Compile kernels with AMD's GPU compiler, on a machine without a GPU, and read its statistics.

Mesa's driver RADV opens a device that does not exist if ``RADV_FORCE_FAMILY`` names its family. Such a device has no
memory and dispatches nothing, but it compiles pipelines, and ``VK_KHR_pipeline_executable_properties`` describes the
result. The driver reads the variable once per process, and ends the process if it does not know the family. So
``compile_kernels`` runs this module as a program, in a new process for each call.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from restride.cli.drivers import driver_file
from restride.cli.process import ending
from restride.errors import DeviceNotFound
from restride.kernel import KernelSpec
from restride.kernel.modules import load_module
from restride.runtime.loader import DRIVER_VARIABLES, Functions, Handle, array, package, struct
from restride.runtime.specialization import specialized
from restride_conformance.shader.spirv import read_interface

FAMILIES = {
    "navi21": "RX 6900 XT, RDNA 2",
    "navi10": "RX 5700 XT, RDNA 1",
    "vega10": "RX Vega 64, GCN 5",
    "polaris10": "RX 580, GCN 4",
    "gfx1201": "RX 9070 XT, RDNA 4, from Mesa 25 on",
}
"""Families of AMD GPUs, each with a card of it. RADV knows more families, and Mesa 22's not the last of these."""

INSTALL = (
    "install Mesa's RADV (Debian, Ubuntu: `apt install mesa-vulkan-drivers`; Fedora: `dnf install "
    "mesa-vulkan-drivers`; Arch: `pacman -S vulkan-radeon`)"
)
EXTENSION = "VK_KHR_pipeline_executable_properties"

_NEWER = "install Mesa 25 or newer, or try it without installing it (docs/benchmarks/README.md#which-driver)"

_COMPILING = "restride compiles "
"""Printed by the other process on standard error before the name of each kernel that it starts to compile."""

_CAPTURE = 0x40 | 0x80  # statistics and internal representations


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
    divisions: integer divisions by numbers that are not constant.
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


class UnknownFamily(DeviceNotFound):
    """The installed RADV does not know a family."""


def compile_kernels(family: str, keys: Sequence[Key]) -> dict[Key, Compiled]:
    """Compile every kernel for a family.

    Raises:
        UnknownFamily: RADV does not know the family.
        DeviceNotFound: RADV is not installed, or cannot compile one of the kernels.
    """
    records = _run(family, keys)["kernels"]
    return {
        key: Compiled(**record | {"depths": tuple(record["depths"])}) for key, record in zip(keys, records, strict=True)
    }


def compiler_version(family: str) -> str:
    """The version of the compiler for a family, as the driver says it: ``"Mesa 22.3.6"``.

    Raises:
        UnknownFamily, DeviceNotFound: as for ``compile_kernels``.
    """
    version: str = _run(family, ())["version"]
    return version


def _run(family: str, keys: Sequence[Key]) -> dict[str, Any]:
    """What the other process answers: ``version`` and ``kernels``."""
    try:
        manifest = driver_file("radeon_icd")
    except DeviceNotFound as error:
        raise DeviceNotFound(f"no driver compiles for AMD's GPUs here; {INSTALL}") from error
    environment = os.environ | dict.fromkeys(DRIVER_VARIABLES, str(manifest))
    environment |= {"RADV_FORCE_FAMILY": family, "VK_LOADER_LAYERS_DISABLE": "~all~"}
    request = json.dumps([[key.shader, key.constants, key.buffers] for key in keys])
    process = subprocess.run(
        [sys.executable, "-m", __name__], input=request, env=environment, capture_output=True, text=True, check=False
    )
    if process.returncode:
        raise _failure(family, process)
    answer: dict[str, Any] = json.loads(process.stdout)
    return answer


def _failure(family: str, process: subprocess.CompletedProcess[str]) -> DeviceNotFound:
    """The error of the other process, with the kernel that it began to compile last."""
    _, marker, rest = process.stderr.rpartition(_COMPILING)
    name, _, words = rest.partition("\n")
    message = " ".join((words if marker else rest).split()[-60:]) or f"it {ending(process.returncode)}"
    if marker:
        return DeviceNotFound(f"RADV does not compile {name} for the family {family!r}: {message}")
    if "nknown family" in message:
        known = ", ".join(f"{name} ({card})" for name, card in FAMILIES.items())
        why = _NEWER if family in FAMILIES else f"known ones are {known}"
        return UnknownFamily(f"the RADV of this Mesa does not know the family {family!r}: {why}")
    return DeviceNotFound(f"RADV compiles nothing for the family {family!r}: {message}")


# The other process: reads kernels from standard input and writes the statistics of each to standard output.


class _Compiler:
    """The first device of RADV, the only driver that the environment names. version: of Mesa."""

    def __init__(self) -> None:
        vulkan = package()
        self.ffi, lib = vulkan.ffi, vulkan.lib
        null = self.null = self.ffi.NULL
        start = Functions(lambda name: lib.vkGetInstanceProcAddr(null, name))
        application = struct("VkApplicationInfo", apiVersion=(1 << 22) | (1 << 12))
        instance = self.ffi.new("VkInstance *")
        start.vkCreateInstance(struct("VkInstanceCreateInfo", pApplicationInfo=application), null, instance)
        vk = Functions(lambda name: lib.vkGetInstanceProcAddr(instance[0], name))
        count, physical = self.ffi.new("uint32_t *", 1), self.ffi.new("VkPhysicalDevice *")
        vk.vkEnumeratePhysicalDevices(instance[0], count, physical)
        if not count[0]:
            raise DeviceNotFound("the driver shows no device")
        queue = struct(
            "VkDeviceQueueCreateInfo", queueFamilyIndex=0, queueCount=1, pQueuePriorities=array("float", [1.0])
        )
        features = struct("VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR", pipelineExecutableInfo=1)
        name = array("char", EXTENSION.encode() + b"\0")
        create = struct(
            "VkDeviceCreateInfo",
            pNext=features,
            queueCreateInfoCount=1,
            pQueueCreateInfos=queue,
            enabledExtensionCount=1,
            ppEnabledExtensionNames=array("char *", [name]),
        )
        driver = struct("VkPhysicalDeviceDriverProperties")
        vk.vkGetPhysicalDeviceProperties2(physical[0], struct("VkPhysicalDeviceProperties2", pNext=driver))
        self.version = self.ffi.string(driver.driverInfo).decode()
        device = self.ffi.new("VkDevice *")
        vk.vkCreateDevice(physical[0], create, null, device)
        self.device = device[0]
        self.vk = Functions(lambda name: lib.vkGetDeviceProcAddr(self.device, name))

    def create(self, name: str, **fields: Any) -> Handle:
        """Create a ``VkNAME``; it lives until the process ends."""
        handle, info = self.ffi.new(f"Vk{name} *"), struct(f"Vk{name}CreateInfo", **fields)
        getattr(self.vk, f"vkCreate{name}")(self.device, info, self.null, handle)
        return handle[0]

    def compiled(self, key: Key) -> Compiled:
        """Compile one kernel and return its statistics."""
        original = load_module(key.shader)
        pipeline = self._pipeline(*specialized(original, key.constants), key)
        executable = struct("VkPipelineExecutableInfoKHR", pipeline=pipeline, executableIndex=0)
        statistics = {
            self.ffi.string(each.name).decode(): int(
                (each.value.b32, each.value.i64, each.value.u64, each.value.f64)[each.format]
            )
            for each in self._listed("VkPipelineExecutableStatistic", executable)
        }
        code = "".join(self._texts(executable))
        return Compiled(
            local_size=local_size(original, key.constants),
            vgprs=statistics["VGPRs"],
            spills=statistics["Spilled VGPRs"],
            lds_bytes=statistics["LDS size"],
            waves=statistics["Subgroups per SIMD"],
            instructions=statistics["Instructions"],
            branches=statistics["Branches"],
            latency=statistics["Latency"],
            inverse_throughput=statistics["Inverse Throughput"],
            memory=dict(sorted(memory_instructions(code))),
            divisions=len(re.findall(r"\bv_rcp_iflag_f32\b", code)),
            depths=vector_instructions(code),
        )

    def _pipeline(self, code: bytes, constants: tuple[int, ...], key: Key) -> Handle:
        compute = package().VK_SHADER_STAGE_COMPUTE_BIT
        words = self.ffi.from_buffer("uint32_t[]", code)
        module = self.create("ShaderModule", codeSize=len(code), pCode=words)
        bindings = [
            {"binding": number, "descriptorType": 7, "descriptorCount": 1, "stageFlags": compute}
            for number in range(key.buffers)
        ]
        listed = array("VkDescriptorSetLayoutBinding", bindings)
        sets = array(
            "VkDescriptorSetLayout",
            [self.create("DescriptorSetLayout", bindingCount=key.buffers, pBindings=listed)],
        )
        push = array("VkPushConstantRange", [{"stageFlags": compute, "offset": 0, "size": 128}])
        layout = self.create(
            "PipelineLayout", setLayoutCount=1, pSetLayouts=sets, pushConstantRangeCount=1, pPushConstantRanges=push
        )
        entries = [{"constantID": number, "offset": 4 * number, "size": 4} for number in range(len(constants))]
        specialization = struct(
            "VkSpecializationInfo",
            mapEntryCount=len(entries),
            pMapEntries=array("VkSpecializationMapEntry", entries),
            dataSize=4 * len(entries),
            pData=array("uint32_t", list(constants)),
        )
        stage = struct(
            "VkPipelineShaderStageCreateInfo",
            stage=compute,
            module=module,
            pName=array("char", b"main\0"),
            pSpecializationInfo=specialization,
        )
        create = struct(
            "VkComputePipelineCreateInfo", flags=_CAPTURE, stage=stage[0], layout=layout, basePipelineIndex=-1
        )
        handle = self.ffi.new("VkPipeline *")
        self.vk.vkCreateComputePipelines(self.device, self.null, 1, create, self.null, handle)
        return handle[0]

    def _listed(self, kind: str, executable: Handle) -> Handle:
        """The whole list of a ``vkGetPipelineExecutable...`` function, which takes two calls: count, then contents."""
        function = getattr(self.vk, f"vkGet{kind.removeprefix('Vk')}sKHR")
        count = self.ffi.new("uint32_t *")
        function(self.device, executable, count, self.null)
        listed = array(f"{kind}KHR", [{"sType": struct(f"{kind}KHR").sType}] * count[0])
        function(self.device, executable, count, listed)
        return listed

    def _texts(self, executable: Handle) -> Iterator[str]:
        """The code in the compiler's last intermediate form, "ACO IR"."""
        listed = self._listed("VkPipelineExecutableInternalRepresentation", executable)
        buffers = [self.ffi.new("char[]", each.dataSize) for each in listed]
        for each, buffer in zip(listed, buffers, strict=True):
            each.pData = buffer
        function = self.vk.vkGetPipelineExecutableInternalRepresentationsKHR
        function(self.device, executable, self.ffi.new("uint32_t *", len(listed)), listed)
        for each, buffer in zip(listed, buffers, strict=True):
            if self.ffi.string(each.name) == b"ACO IR":
                yield bytes(self.ffi.buffer(buffer, each.dataSize)).decode(errors="replace")


_ACCESS = re.compile(
    r"\b(s_buffer|buffer|global|flat|ds|scratch)_(load|store|read|write)\w*?_(?:format_)?"
    r"(ubyte|sbyte|byte|u8|i8|b8|ushort|sshort|short|u16|i16|b16|dwordx4|dwordx3|dwordx2|dword|b128|b96|b64|b32)\b"
)
_UNITS = {"ds": "shared ", "s_buffer": "uniform ", "scratch": "scratch "}
_WIDTHS = {"byte": 1, "8": 1, "short": 2, "16": 2, "dwordx4": 16, "dwordx3": 12, "dwordx2": 8, "dword": 4}
_WIDTHS |= {"b128": 16, "b96": 12, "b64": 8, "b32": 4}


def memory_instructions(code: str) -> Iterable[tuple[str, int]]:
    """Count memory instructions in the compiler's text, by kind and width in bytes: ``("load 4", 3)``.

    ``buffer_load_dwordx4`` is "load 16", ``buffer_store_short`` "store 2", ``ds_read_b64`` "shared load 8", and
    ``s_buffer_load_dword``, one load for a whole subgroup, "uniform load 4".
    """
    counted: dict[str, int] = {}
    for unit, way, width in _ACCESS.findall(code):
        nbytes = next(nbytes for end, nbytes in _WIDTHS.items() if width.endswith(end))
        action = {"read": "load", "write": "store"}.get(way, way)
        name = f"{_UNITS.get(unit, '')}{action} {nbytes}"
        counted[name] = counted.get(name, 0) + 1
    return counted.items()


_BLOCK = re.compile(r"^BB\d+\n.*kind: ([^*]*)\*/$", re.MULTILINE)
_VECTOR = re.compile(r"\b(?:v|ds|buffer|global|flat|scratch)_\w+")


def vector_instructions(code: str) -> tuple[int, ...]:
    """Count vector instructions in the compiler's text: those in no loop, in one loop, in two nested loops, ..."""
    counted, depth = [0], 0
    _, *blocks = _BLOCK.split(code)
    for kinds, lines in zip(blocks[::2], blocks[1::2], strict=True):
        depth += ("loop-header" in kinds) - ("loop-exit" in kinds)
        counted += [0] * (depth + 1 - len(counted))
        counted[depth] += len(_VECTOR.findall(lines))
    return tuple(counted)


def local_size(code: bytes, constants: Sequence[int]) -> int:
    """Invocations in a work group of a module with these constants."""
    (entry,) = read_interface(specialized(code, constants)[0]).entry_points
    return math.prod(entry.local_size or ())


def _main() -> None:
    request = json.load(sys.stdin)
    kernels = []
    try:
        compiler = _Compiler()
        for shader, constants, buffers in request:
            print(_COMPILING + shader, file=sys.stderr, flush=True)
            kernels.append(vars(compiler.compiled(Key(shader, tuple(constants), buffers))))
    except Exception as error:  # noqa: BLE001 - the driver's errors have any type; the parent process reports them
        sys.exit(f"{type(error).__name__}: {error}"[:500])
    json.dump({"version": compiler.version, "kernels": kernels}, sys.stdout)


if __name__ == "__main__":
    _main()
