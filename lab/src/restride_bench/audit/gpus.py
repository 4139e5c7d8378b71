"""The GPUs that Mesa's drivers compile for on a machine without them, and the names of their compilers' statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Maker:
    """A maker of GPUs, with Mesa's driver for them.

    driver: as in ``libvulkan_DRIVER.so``. shim: the fake kernel driver, as in ``libSHIM_noop_drm_shim.so``.
    variable: the environment variable of the shim that chooses the GPU. others: further variables of the driver.
    instructions, registers, in_flight, cycles: names of the driver's statistics. in_flight: the most work in flight
        that the compiler allows (AMD: subgroups of a SIMD unit; NVIDIA: of a multiprocessor; Qualcomm: of a core;
        Apple: invocations; Arm: 2, or 1 with more than 32 registers; Intel: lanes of a subgroup). cycles: the
        compiler's estimate for one subgroup (AMD latency, Qualcomm cycles stalled on memory, Apple ALU, Imagination
        groups of instructions): it compares a kernel with itself only.
    spills: registers spilled. scratch: bytes of memory of each invocation.
    text: the internal representation with the code; "": the last one.
    """

    driver: str
    shim: str
    variable: str
    instructions: str
    registers: str
    in_flight: str
    cycles: str
    spills: tuple[str, ...]
    scratch: str = ""
    text: str = ""
    others: Mapping[str, str] = field(default_factory=dict)


MAKERS = {
    "AMD": Maker(
        "radeon", "amdgpu", "AMDGPU_GPU_ID", "Instructions", "VGPRs", "Subgroups per SIMD", "Latency",
        ("Spilled VGPRs", "Spilled SGPRs"), "Scratch size", "ACO IR",
    ),
    "NVIDIA": Maker(
        "nouveau", "nouveau", "NOUVEAU_CHIPSET", "Instruction count", "Number of GPRs", "Max warps/SM",
        "Static cycle count", ("Spills to memory",), "SLM size",
    ),
    "Intel": Maker(
        "intel", "intel", "INTEL_STUB_GPU_PLATFORM", "Instructions", "Max live registers", "Max dispatch width",
        "Cycles", ("Spills",), "Scratch Memory Size",
    ),
    "Qualcomm": Maker(
        "freedreno", "freedreno", "FD_GPU_ID", "Instruction Count", "Registers used", "Max Waves Per Core",
        "Estimated cycles stalled on SY", ("STP Count",),
    ),
    "Apple": Maker(
        "asahi", "asahi", "", "Instructions", "GPRs", "Threads", "ALU", ("Spills",), "Scratch",
        others={"AGX_MESA_DEBUG": "shaders"},
    ),
    "Arm": Maker(
        "panfrost", "panfrost", "PAN_GPU_ID", "Instructions", "Registers used", "Threads", "Cycles", ("Spills",),
        others={"PAN_I_WANT_A_BROKEN_VULKAN_DRIVER": "1"},
    ),
    "Imagination": Maker(
        "powervr_mesa", "powervr", "", "Inst group count", "Temp count", "", "Inst group count", ("Spill count",),
        "Scratch size", others={"PVR_I_WANT_A_BROKEN_VULKAN_DRIVER": "1"},
    ),
}  # fmt: skip
"""The makers. Of their drivers in Mesa (RADV, NVK, ANV, turnip, honeykrisp, panvk, pvr) some are not the makers' own.
Apple's driver has no internal representations, but prints the code."""


@dataclass(frozen=True)
class GPU:
    """A GPU. card: a product that has it. value: what selects it in the maker's environment variable."""

    maker: str
    card: str
    value: str = ""


GPUS = {
    "navi21": GPU("AMD", "RX 6900 XT, RDNA 2", "navi21"),
    "navi10": GPU("AMD", "RX 5700 XT, RDNA 1", "navi10"),
    "vega10": GPU("AMD", "RX Vega 64, GCN 5", "vega10"),
    "polaris10": GPU("AMD", "RX 580, GCN 4", "polaris10"),
    "navi31": GPU("AMD", "RX 7900 XTX, RDNA 3", "navi31"),
    "gfx1201": GPU("AMD", "RX 9070 XT, RDNA 4", "gfx1201"),
    "maxwell": GPU("NVIDIA", "GTX 970, Maxwell", "124"),
    "pascal": GPU("NVIDIA", "GTX 1080 Ti, Pascal", "132"),
    "volta": GPU("NVIDIA", "Titan V, Volta", "140"),
    "turing": GPU("NVIDIA", "RTX 2080, Turing", "164"),
    "ampere": GPU("NVIDIA", "RTX 3090, Ampere", "172"),
    "skl": GPU("Intel", "HD Graphics 530, Skylake", "skl"),
    "tgl": GPU("Intel", "Iris Xe, Tiger Lake", "tgl"),
    "dg2": GPU("Intel", "Arc A770, Alchemist", "dg2"),
    "lnl": GPU("Intel", "Arc 140V, Lunar Lake", "lnl"),
    "bmg": GPU("Intel", "Arc B580, Battlemage", "bmg"),
    "adreno-618": GPU("Qualcomm", "Snapdragon 730", "618"),
    "adreno-660": GPU("Qualcomm", "Snapdragon 888", "660"),
    "adreno-740": GPU("Qualcomm", "Snapdragon 8 Gen 2", "740"),
    "adreno-830": GPU("Qualcomm", "Snapdragon 8 Elite", "830"),
    "m1": GPU("Apple", "M1"),
    "mali-g52": GPU("Arm", "Mali-G52, Bifrost", "7212"),
    "mali-g610": GPU("Arm", "Mali-G610, Valhall", "a867"),
    "bxs-4-64": GPU("Imagination", "PowerVR BXS-4-64"),
}
"""The GPUs by the names that the command takes. The drivers know further GPUs."""

STORED = ("navi21", "ampere", "dg2", "adreno-660", "m1", "mali-g610", "bxs-4-64")
"""One GPU of each maker, whose figures the table of all the contract's kernels stores."""
