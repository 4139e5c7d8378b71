"""Compute pipelines from SPIR-V and specialization constants: the 512 used last, and the driver's cache on disk."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from restride.errors import DescriptorError, DeviceError
from restride.runtime.file_store import cache_path, read_cached, write_cached
from restride.runtime.interface import PUSH_BYTES
from restride.runtime.loader import Handle, array, require_handle, struct
from restride.runtime.specialization import specialized
from restride.runtime.vulkan import generated as vulkan
from restride.runtime.vulkan.device import LogicalDevice

MAX_PIPELINES = 512
"""Maximum number of pipelines alive at one time. On llvmpipe one takes some ms to build, and a dispatch about 10 us."""

PipelineKey: TypeAlias = tuple[str, tuple[int, ...], int]
"""Name of the module, specialization constants, number of storage buffers."""

FOLDER_VARIABLE = "RESTRIDE_PIPELINE_CACHE"
"""Environment variable with the folder of the files; if it is empty, nothing is stored. Default: ``restride/pipelines``
in the user's cache.
"""

MAX_BYTES = 64 << 20
"""Maximum size of a file in bytes. A larger cache is not written, and the next process starts with an empty one."""

_HEADER_BYTES = 32
"""Size of Vulkan's header. Data of this size holds no pipeline: lavapipe, for one, has a cache of its own instead."""

_DIGEST_BYTES = 32


class BindingLayout:
    """The layouts for ``count`` storage buffers at bindings 0 to count-1 of set 0, and 128 bytes of push constants."""

    __slots__ = ("count", "pipeline_layout", "set_layout")

    def __init__(self, device: LogicalDevice, count: int) -> None:
        compute = vulkan.VK_SHADER_STAGE_COMPUTE_BIT
        bindings = array("VkDescriptorSetLayoutBinding", count)
        for number in range(count):
            bindings[number].binding = number
            bindings[number].descriptorType = vulkan.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
            bindings[number].descriptorCount = 1
            bindings[number].stageFlags = compute
        self.count = count
        self.set_layout: Handle = device.create("DescriptorSetLayout", bindingCount=count, pBindings=bindings)
        push = array("VkPushConstantRange", [{"stageFlags": compute, "offset": 0, "size": PUSH_BYTES}])
        sets = array("VkDescriptorSetLayout", [self.set_layout])
        try:
            self.pipeline_layout: Handle = device.create(
                "PipelineLayout",
                setLayoutCount=1,
                pSetLayouts=sets,
                pushConstantRangeCount=1,
                pPushConstantRanges=push,
            )
        except BaseException:
            device.vk.vkDestroyDescriptorSetLayout(device.handle, self.set_layout, device.null)
            raise

    def destroy(self, device: LogicalDevice) -> None:
        """Destroy both layouts."""
        device.vk.vkDestroyPipelineLayout(device.handle, self.pipeline_layout, device.null)
        device.vk.vkDestroyDescriptorSetLayout(device.handle, self.set_layout, device.null)


class Pipeline:
    """A pipeline, its layouts, the ticket of the last submission that uses it, and how often recordings keep it."""

    __slots__ = ("handle", "keeps", "layout", "used")

    def __init__(self, handle: Handle, layout: BindingLayout) -> None:
        self.handle = handle
        self.layout = layout
        self.used = self.keeps = 0

    def is_idle(self, completed: int) -> bool:
        """True if no submission after ``completed`` uses it and no recording keeps it."""
        return self.used <= completed and not self.keeps


class Pipelines:
    """The pipelines of a device. The caller holds the runtime's lock and sets ``used`` of each pipeline it submits."""

    def __init__(self, device: LogicalDevice, module_source: Callable[[str], bytes]) -> None:
        self._device = device
        self._module_source = module_source
        self._most = MAX_PIPELINES
        self._layouts: dict[int, BindingLayout] = {}
        self._pipelines: dict[PipelineKey, Pipeline] = {}
        self._cache = PipelineCache(device)
        self.created = 0

    def __len__(self) -> int:
        return len(self._pipelines)

    def get(self, key: PipelineKey, completed: int) -> Pipeline:
        """The pipeline, created at first use; this may destroy others that are idle after submission ``completed``."""
        pipeline = self._pipelines.get(key)
        if pipeline is not None:
            return pipeline
        self._evict(completed)
        shader, constants, count = key
        layout = self._layouts.get(count)
        if layout is None:
            layout = self._layouts[count] = BindingLayout(self._device, count)
        pipeline = self._pipelines[key] = Pipeline(self._create(shader, constants, layout), layout)
        self.created += 1
        return pipeline

    def destroy(self) -> None:
        """Destroy everything."""
        vk, handle, null = self._device.vk, self._device.handle, self._device.null
        for pipeline in self._pipelines.values():
            vk.vkDestroyPipeline(handle, pipeline.handle, null)
        for layout in self._layouts.values():
            layout.destroy(self._device)
        self._cache.destroy()
        self._pipelines.clear()
        self._layouts.clear()

    def trim(self, completed: int) -> None:
        """Destroy the pipelines that are idle after ``completed``; their next use creates them again."""
        for key, pipeline in list(self._pipelines.items()):
            if pipeline.is_idle(completed):
                self._destroy(key)

    def _evict(self, completed: int) -> None:
        while len(self._pipelines) >= self._most:
            idle = [item for item in self._pipelines.items() if item[1].is_idle(completed)]
            if not idle:
                return  # it is better to exceed the limit than to wait here
            self._destroy(min(idle, key=lambda item: item[1].used)[0])

    def _destroy(self, key: PipelineKey) -> None:
        pipeline, device = self._pipelines[key], self._device
        device.freed += 1
        del self._pipelines[key]  # not .pop(): after a call an interrupt could lose the pipeline
        device.vk.vkDestroyPipeline(device.handle, pipeline.handle, device.null)

    def _create(self, shader: str, constants: tuple[int, ...], layout: BindingLayout) -> Handle:
        device = self._device
        code, constants = specialized(self._module_source(shader), constants)
        words = vulkan.ffi.from_buffer("uint32_t[]", code)
        module = device.create("ShaderModule", codeSize=len(code), pCode=words)
        try:
            return self._compile(module, constants, layout)
        finally:
            device.vk.vkDestroyShaderModule(device.handle, module, device.null)

    def _compile(self, module: Handle, constants: tuple[int, ...], layout: BindingLayout) -> Handle:
        device = self._device
        entries = array(
            "VkSpecializationMapEntry",
            [{"constantID": number, "offset": 4 * number, "size": 4} for number in range(len(constants))],
        )
        values = array("uint32_t", list(constants))
        specialization = struct(
            "VkSpecializationInfo",
            mapEntryCount=len(constants),
            pMapEntries=entries,
            dataSize=4 * len(constants),
            pData=values,
        )
        name = array("char", b"main\0")
        stage = struct(
            "VkPipelineShaderStageCreateInfo",
            stage=vulkan.VK_SHADER_STAGE_COMPUTE_BIT,
            module=module,
            pName=name,
            pSpecializationInfo=specialization,
        )
        create = struct("VkComputePipelineCreateInfo", stage=stage, layout=layout.pipeline_layout, basePipelineIndex=-1)
        handle = vulkan.ffi.new("VkPipeline *")
        device.vk.vkCreateComputePipelines(device.handle, self._cache.handle, 1, create, device.null, handle)
        return require_handle("vkCreateComputePipelines", handle[0])


class PipelineCache:
    """A VkPipelineCache stored in a file for each device and driver, so that the next process compiles less."""

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self._path = cache_path(FOLDER_VARIABLE, "pipelines", f"{device.physical.pipeline_cache_id}.bin")
        self._stored = b"" if self._path is None else read_cache(self._path)
        data = array("char", self._stored)
        self.handle: Handle = device.create("PipelineCache", initialDataSize=len(self._stored), pInitialData=data)

    def destroy(self) -> None:
        """Write the file if the cache has new data, and destroy the cache."""
        device = self._device
        with suppress(OSError, DeviceError):  # with a read-only home or a lost device nothing is stored
            if self._path is not None:
                data = self._data()
                if _HEADER_BYTES < len(data) <= MAX_BYTES and data != self._stored:
                    write_cache(self._path, data)
        device.vk.vkDestroyPipelineCache(device.handle, self.handle, device.null)

    def _data(self) -> bytes:
        device = self._device
        size = vulkan.ffi.new("size_t *")
        device.vk.vkGetPipelineCacheData(device.handle, self.handle, size, device.null)
        room = size[0]
        if room > MAX_BYTES:
            return b""
        data = array("char", room)
        if device.vk.vkGetPipelineCacheData(device.handle, self.handle, size, data) == vulkan.VK_INCOMPLETE:
            return b""  # the cache grew between the calls, or its first size was wrong; the next device will store it
        return bytes(vulkan.ffi.buffer(data, min(size[0], room)))


def read_cache(path: Path) -> bytes:
    """The data that ``write_cache`` stored; empty if there are none, or, with a warning, if damaged or not trusted."""
    try:
        content = read_cached(path, _DIGEST_BYTES + MAX_BYTES)
    except DescriptorError:  # the file is too long
        content = b""
    if content is None:
        return b""
    digest, data = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    # A driver may crash on damaged data.
    if hashlib.sha256(data).digest() != digest:
        warnings.warn(f"{path} is damaged and left out; pipelines are compiled again", RuntimeWarning, stacklevel=2)
        return b""
    return data


def write_cache(path: Path, data: bytes) -> None:
    """Store ``data`` with its digest in one step, readable by this user alone."""
    write_cached(path, hashlib.sha256(data).digest() + data)
