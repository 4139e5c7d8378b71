"""Write ``src/restride/runtime/vulkan/generated.py``: what ``binding.txt`` names of Vulkan, from Khronos' registry.

The package ``vulkan-object`` has the registry; its version is pinned in pyproject.toml. cffi makes its out-of-line ABI
module of the C declarations, which needs no compiler, here or later; constants and structure types follow as numbers.

    python tools/make_binding.py            write the file
    python tools/make_binding.py --print    print the C declarations
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from cffi import FFI, recompiler
from vulkan_object import VulkanObject, get_vulkan_object
from vulkan_object.vulkan_object import Member, Param

TARGET = Path(__file__).resolve().parents[1] / "src/restride/runtime/vulkan/generated.py"
MODULE = "restride.runtime.vulkan.generated"

_LINES = Path(__file__).with_name("binding.txt").read_text(encoding="utf-8").splitlines()
NAMES = [name for line in _LINES if not line.startswith("#") for name in line.split()]
FUNCTIONS = [name for name in NAMES if name.startswith("vk")]
STRUCTS = [name for name in NAMES if name.startswith("Vk")]
CONSTANTS = [name for name in NAMES if name.startswith("VK_")]

LIBRARY = ("vkGetInstanceProcAddr", "vkGetDeviceProcAddr")
"""Functions of the loader's library, by which all others are found."""

OPAQUE = ("VkAllocationCallbacks", "VkImageMemoryBarrier")
"""Structs of parameters that are always null or empty."""

_BASE_TYPES = {
    "VkBool32": "uint32_t",
    "VkFlags": "uint32_t",
    "VkSampleMask": "uint32_t",
    "VkDeviceSize": "uint64_t",
    "VkDeviceAddress": "uint64_t",
}


class Declarations:
    """C declarations of functions, and of all that their parameters need, each after what it refers to."""

    def __init__(self, registry: VulkanObject) -> None:
        self.registry = registry
        self.lines: list[str] = []
        self.structs: list[str] = []
        self._known: set[str] = set()

    def add_function(self, name: str) -> None:
        """Add the type ``PFN_vkNAME``, or, for a function of the loader's library, its prototype."""
        command = self.registry.commands[name]
        self._add_members(command.params, pointed=True)
        self._add_type(command.returnType)
        text = command.cPrototype if name in LIBRARY else command.cFunctionPointer
        self.lines.append(_one_line(re.sub(r"VKAPI_(ATTR|CALL|PTR)\s*", "", text)))

    def add_struct(self, name: str) -> None:
        """Add a struct or union with its members."""
        if name in self._known:
            return
        self._known.add(name)
        struct = self.registry.structs[name]
        self._add_members(struct.members, pointed=False)
        members = " ".join(f"{_one_line(member.cDeclaration)};" for member in struct.members)
        members = re.sub(r"\[(VK_\w+)\]", lambda size: f"[{self.registry.constants[size[1]].value}]", members)
        self.lines.append(f"typedef {'union' if struct.union else 'struct'} {name} {{ {members} }} {name};")
        self.structs.append(name)

    def _add_members(self, members: Iterable[Member | Param], *, pointed: bool) -> None:
        """Add the types of members or parameters; ``pointed``: for pointers, the whole structs they point to."""
        for member in members:
            is_struct = member.type in self.registry.structs
            if is_struct and (not member.pointer or (pointed and member.type not in OPAQUE)):
                self.add_struct(member.type)
            else:
                self._add_type(member.type)

    def _add_type(self, name: str) -> None:
        """Add a handle, an enumeration, flags, or a struct of which only the name is needed."""
        if name in self._known:
            return
        registry = self.registry
        if name in registry.structs:
            # Its members may come later, so it is not known yet; C allows a typedef twice, and cffi too.
            self.lines.append(f"typedef struct {name} {name};")
            return
        self._known.add(name)
        if name in registry.handles:
            # Vulkan declares other handles as pointers or as numbers, by machine, always of 64 bits: here as numbers.
            is_pointer = registry.handles[name].dispatchable
            self.lines.append(f"typedef struct {name}_T *{name};" if is_pointer else f"typedef uint64_t {name};")
        elif name == "VkResult":
            values = ", ".join(f"{field.name} = {field.value}" for field in registry.enums[name].fields)
            self.lines.append(f"typedef enum {name} {{ {values} }} {name};")
        elif name in registry.enums:
            self.lines.append(f"typedef int32_t {name};")
        elif name in registry.bitmasks:
            self.lines.append(f"typedef uint{registry.bitmasks[name].bitWidth}_t {name};")
        elif name in registry.flags:
            self.lines.append(f"typedef uint{registry.flags[name].bitWidth}_t {name};")
        elif name in _BASE_TYPES:
            self.lines.append(f"typedef {_BASE_TYPES[name]} {name};")
        elif name == "PFN_vkVoidFunction":
            self.lines.append(f"typedef void (*{name})(void);")
        elif name.startswith("Vk"):
            raise ValueError(f"the registry has no type {name}")


def _one_line(declaration: str) -> str:
    return " ".join(declaration.split())


def declare(registry: VulkanObject) -> Declarations:
    """All declarations that restride uses."""
    declarations = Declarations(registry)
    for name in STRUCTS:
        declarations.add_struct(name)
    for name in (*LIBRARY, *FUNCTIONS):
        declarations.add_function(name)
    return declarations


def constants(registry: VulkanObject) -> dict[str, int]:
    """The values of ``CONSTANTS``."""
    values = {name: each.value for name, each in registry.constants.items()}
    for group in (*registry.enums.values(), *registry.bitmasks.values()):
        for field in getattr(group, "fields", None) or group.flags:
            values |= dict.fromkeys((field.name, *field.aliases), field.value)
    return {name: int(values[name]) for name in CONSTANTS}


def generate() -> str:
    """The text of ``TARGET``."""
    registry = get_vulkan_object()
    declarations = declare(registry)
    ffi = FFI()
    ffi.cdef("\n".join(declarations.lines))
    ffi.set_source(MODULE, None)
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "module.py"
        recompiler.make_py_source(ffi, MODULE, str(module))
        source = module.read_text(encoding="utf-8")
    numbers_of_types = {field.name: field.value for field in registry.enums["VkStructureType"].fields}
    structure_types = {
        name: numbers_of_types[stype]
        for name in sorted(declarations.structs)
        if (stype := registry.structs[name].sType)
    }
    numbers = "\n".join(f"{name} = {value}" for name, value in constants(registry).items())
    types = "\n".join(f'    "{name}": {value},' for name, value in structure_types.items())
    return (
        f'"""What restride uses of Vulkan {registry.headerVersionComplete}: types of cffi, and constants.\n\n'
        'Made by tools/make_binding.py from Khronos\' registry; not to be edited.\n"""\n\n'
        f"{source}\n{numbers}\n\nSTRUCTURE_TYPES = {{\n{types}\n}}\n"
        '"""The sType of each struct that has one."""\n\n'
        "lib: object = None\n"
        '"""The loader\'s library, once ``restride.runtime.loader.binding`` has loaded it."""\n'
    )


def main() -> None:
    """Write the file, or print what is declared."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--print", action="store_true", help="print the C declarations instead")
    if parser.parse_args().print:
        sys.stdout.write("\n".join(declare(get_vulkan_object()).lines) + "\n")
    else:
        TARGET.write_text(generate(), encoding="utf-8")


if __name__ == "__main__":
    main()
