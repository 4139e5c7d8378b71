"""Compile kernels with one Vulkan driver, in a separate process, and print its compiler's statistics of each.

    python icd.py DRIVER.so [REPRESENTATION] <kernels.json

It needs the standard library only and no Vulkan loader, so that it also runs under another C library or in an emulator,
with a Python that has no packages. Each kernel of the list is ``{"code": SPIR-V in base64, "constants": [...],
"buffers": number}``. Each line of the output is JSON: first ``{"device": ...}``, then for each kernel
``{"begin": number}``, which shows where a driver ends the process, and its statistics or ``{"error": ...}``. The text
of the code is the internal representation of that name, else the last one, else the text that the driver prints.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import struct
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

U32, U64, POINTER = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
COMPUTE, STORAGE_BUFFER, CAPTURE = 0x20, 7, 0x40 | 0x80
EXTENSION = b"VK_KHR_pipeline_executable_properties"
NAME = ctypes.c_char * 256
SIZE = ctypes.c_size_t


def _record(title: str, /, **fields: Any) -> Any:
    return type(title, (ctypes.Structure,), {"_fields_": list(fields.items())})


def _chained(title: str, number: int, /, **fields: Any) -> Any:
    """A Vulkan structure that begins with sType, which is ``number``, and pNext."""
    made = _record(title, sType=U32, pNext=POINTER, **fields)
    made.number = number
    return made


Application = _chained("Application", 0, name=POINTER, version=U32, engine=POINTER, engine_version=U32, api=U32)
_LISTS = {"layers": U32, "layer_names": POINTER, "extensions": U32, "extension_names": POINTER}
Instance = _chained("Instance", 1, flags=U32, application=POINTER, **_LISTS)
Queue = _chained("Queue", 2, flags=U32, family=U32, count=U32, priorities=POINTER)
Device = _chained("Device", 3, flags=U32, queues=U32, queue_infos=POINTER, **_LISTS, features=POINTER)
Module = _chained("Module", 16, flags=U32, size=SIZE, code=POINTER)
Stage = _chained("Stage", 18, flags=U32, stage=U32, module=U64, name=POINTER, specialization=POINTER)
Pipeline = _chained("Pipeline", 29, flags=U32, stage=Stage, layout=U64, base=U64, base_index=ctypes.c_int32)
Layout = _chained("Layout", 30, flags=U32, sets=U32, set_layouts=POINTER, ranges=U32, push=POINTER)
SetLayout = _chained("SetLayout", 32, flags=U32, count=U32, bindings=POINTER)
Binding = _record("Binding", binding=U32, kind=U32, count=U32, stages=U32, samplers=POINTER)
Push = _record("Push", stages=U32, offset=U32, size=U32)
Entry = _record("Entry", constant=U32, offset=U32, size=SIZE)
Specialization = _record("Specialization", count=U32, entries=POINTER, size=SIZE, data=POINTER)
Capture = _chained("Capture", 1000269000, on=U32)
Info = _chained("Info", 1000269001, pipeline=U64)
Executable = _chained("Executable", 1000269002, stages=U32, name=NAME, description=NAME, subgroup=U32)
Selected = _chained("Selected", 1000269003, pipeline=U64, index=U32)
Statistic = _chained("Statistic", 1000269004, name=NAME, description=NAME, format=U32, value=U64)
Representation = _chained(
    "Representation", 1000269005, name=NAME, description=NAME, is_text=U32, size=SIZE, data=POINTER
)
DriverName = _chained("DriverName", 1000196000, identity=U32, name=NAME, info=NAME, conformance=U32)
Properties = _chained("Properties", 1000059001, raw=ctypes.c_char * 1024)  # VkPhysicalDeviceProperties has 824


def _new(kind: Any, **fields: Any) -> Any:
    return kind(sType=kind.number, **fields)


class VulkanError(Exception):
    """The driver has no such function, no device, or a call returned an error code."""


class Driver:
    """The first device of a driver. device: its name, the driver and its version."""

    def __init__(self, path: str) -> None:
        library = ctypes.CDLL(path)
        version = U32(5)
        if hasattr(library, "vk_icdNegotiateLoaderICDInterfaceVersion"):
            library.vk_icdNegotiateLoaderICDInterfaceVersion(ctypes.byref(version))
        self.address = library.vk_icdGetInstanceProcAddr
        self.address.restype, self.address.argtypes = POINTER, [POINTER, ctypes.c_char_p]
        self.instance: int | None = None
        application = _new(Application, api=(1 << 22) | (1 << 12))
        info = _new(Instance, application=ctypes.addressof(application))
        self.instance = self.create("vkCreateInstance", (), info)
        count, physical = U32(1), U64()
        self.call("vkEnumeratePhysicalDevices", self.instance, count, physical)
        if not count.value:
            raise VulkanError("the driver shows no device")
        driver = _new(DriverName)
        properties = _new(Properties, pNext=ctypes.addressof(driver))
        self.call("vkGetPhysicalDeviceProperties2", physical.value, properties)
        name = ctypes.string_at(ctypes.addressof(properties) + 16 + 20, 256).split(b"\0")[0].decode().strip()
        self.device = {"name": name, "driver": driver.name.decode(), "version": driver.info.decode()}
        priority, names, capture = ctypes.c_float(1), (ctypes.c_char_p * 1)(EXTENSION), _new(Capture, on=1)
        queue = _new(Queue, count=1, priorities=ctypes.addressof(priority))
        info = _new(
            Device,
            pNext=ctypes.addressof(capture),
            queues=1,
            queue_infos=ctypes.addressof(queue),
            extensions=1,
            extension_names=ctypes.addressof(names),
        )
        self.handle = self.create("vkCreateDevice", (physical.value,), info)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of Vulkan; numbers, handles and the addresses of values are all passed as 64 bits."""
        function = self.address(self.instance, name.encode())
        if not function:
            raise VulkanError(f"the driver has no {name}")
        values = [each if isinstance(each, int) else ctypes.addressof(each) for each in arguments]
        code = ctypes.CFUNCTYPE(ctypes.c_int32, *[U64] * len(values))(function)(*values)
        # A function without a result leaves an arbitrary value in the register.
        if name.startswith(("vkCreate", "vkEnumerate")) and code < 0:
            raise VulkanError(f"{name} returns {code}")

    def create(self, name: str, before: Sequence[int], info: Any) -> int:
        """Create an object; it lives until the process ends."""
        handle = U64()
        self.call(name, *before, info, 0, handle)
        return handle.value

    def compile(self, code: bytes, constants: Sequence[int], buffers: int) -> int:
        """A pipeline; it lives until the process ends."""
        own = (self.handle,)
        words = ctypes.create_string_buffer(code, len(code))
        module = self.create("vkCreateShaderModule", own, _new(Module, size=len(code), code=ctypes.addressof(words)))
        bindings = (Binding * buffers)(*[Binding(each, STORAGE_BUFFER, 1, COMPUTE, None) for each in range(buffers)])
        listed = _new(SetLayout, count=buffers, bindings=ctypes.addressof(bindings))
        sets = (U64 * 1)(self.create("vkCreateDescriptorSetLayout", own, listed))
        push = Push(COMPUTE, 0, 128)
        info = _new(Layout, sets=1, set_layouts=ctypes.addressof(sets), ranges=1, push=ctypes.addressof(push))
        layout = self.create("vkCreatePipelineLayout", own, info)
        entries = (Entry * len(constants))(*[Entry(each, 4 * each, 4) for each in range(len(constants))])
        data = (U32 * len(constants))(*constants)
        special = Specialization(len(constants), ctypes.addressof(entries), 4 * len(constants), ctypes.addressof(data))
        name = ctypes.create_string_buffer(b"main")
        stage = _new(Stage, stage=COMPUTE, module=module, name=ctypes.addressof(name))
        stage.specialization = ctypes.addressof(special) if constants else None
        info = _new(Pipeline, flags=CAPTURE, stage=stage, layout=layout, base_index=-1)
        handle = U64()
        self.call("vkCreateComputePipelines", self.handle, 0, 1, info, 0, handle)
        return handle.value

    def listed(self, name: str, kind: Any, selected: Any) -> Any:
        """The whole list of a vkGetPipelineExecutable... function, which takes two calls: count, then contents."""
        count = U32()
        self.call(name, self.handle, selected, count, 0)
        found = (kind * count.value)(*[_new(kind) for _ in range(count.value)])
        self.call(name, self.handle, selected, count, found)
        return found

    def statistics(self, pipeline: int) -> dict[str, float]:
        """The statistics of the first executable of a pipeline."""
        found = self.listed(
            "vkGetPipelineExecutableStatisticsKHR", Statistic, _new(Selected, pipeline=pipeline, index=0)
        )
        values = {}
        for each in found:
            raw = ctypes.string_at(ctypes.addressof(each) + Statistic.value.offset, 8)
            values[each.name.decode()] = struct.unpack_from(("I", "q", "Q", "d")[each.format], raw)[0]
        return values

    def texts(self, pipeline: int) -> dict[str, str]:
        """The internal representations of the first executable of a pipeline, by name."""
        name, selected = "vkGetPipelineExecutableInternalRepresentationsKHR", _new(Selected, pipeline=pipeline, index=0)
        found = self.listed(name, Representation, selected)
        spaces = [ctypes.create_string_buffer(each.size or 1) for each in found]
        for each, space in zip(found, spaces, strict=True):
            each.data = ctypes.addressof(space)
        self.call(name, self.handle, selected, U32(len(found)), found)
        return {
            each.name.decode(): space.raw[: each.size].rstrip(b"\0").decode(errors="replace")
            for each, space in zip(found, spaces, strict=True)
        }


def _answers(path: str, kernels: Sequence[dict[str, Any]], wanted: str) -> Iterator[dict[str, Any]]:
    """Yield the lines. Standard output is a file meanwhile, because drivers print to it: Apple's prints the code."""
    driver = Driver(path)
    yield {"device": driver.device}
    for number, kernel in enumerate(kernels):
        yield {"begin": number}
        with tempfile.TemporaryFile() as printed:
            os.dup2(printed.fileno(), 1)
            try:
                pipeline = driver.compile(base64.b64decode(kernel["code"]), kernel["constants"], kernel["buffers"])
                texts, statistics = driver.texts(pipeline), driver.statistics(pipeline)
            except VulkanError as error:
                yield {"error": str(error)}
                continue
            finally:
                ctypes.CDLL(None).fflush(None)
                os.dup2(2, 1)
            printed.seek(0)
            text = texts.get(wanted) or (list(texts.values()) or [printed.read().decode(errors="replace")])[-1]
        yield {"statistics": statistics, "text": text}


def main(path: str, representation: str = "") -> None:
    """Compile the kernels that standard input lists, and print a line for each step."""
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        for answer in _answers(path, json.load(sys.stdin), representation):
            print(json.dumps(answer), file=output, flush=True)
    except (OSError, VulkanError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
