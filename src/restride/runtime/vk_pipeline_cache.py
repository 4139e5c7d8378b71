"""The driver's pipelines on disk, one file for each device and driver: the next process does not compile them again."""

from __future__ import annotations

import hashlib
import warnings
from contextlib import suppress
from pathlib import Path

from restride.errors import DeviceError
from restride.runtime.kept import is_of_another, place, write_kept
from restride.runtime.loader import Handle, array, struct
from restride.runtime.vk_device import LogicalDevice

FOLDER_VARIABLE = "RESTRIDE_PIPELINE_CACHE"
"""A folder for the files; default: ``restride/pipelines`` in the user's cache folder. Empty: nothing is kept."""

MOST_BYTES = 64 << 20
"""Of a file. What has grown past it is not written, and the next process begins anew."""

_HEADER_BYTES = 32
"""Vulkan's header alone: a driver that keeps nothing (lavapipe, which has a cache of its own)."""

_DIGEST_BYTES = 32


class PipelineCache:
    """A VkPipelineCache that begins with what an earlier process left."""

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self._path = place(FOLDER_VARIABLE, "pipelines", f"{device.physical.pipeline_cache_id}.bin")
        self._kept = b"" if self._path is None else read(self._path)
        data = array("char", self._kept)
        info = struct("VkPipelineCacheCreateInfo", initialDataSize=len(self._kept), pInitialData=data)
        self.handle: Handle = device.create("vkCreatePipelineCache", "VkPipelineCache", info)

    def destroy(self) -> None:
        """Leave what is new to the next process, and destroy it."""
        device = self._device
        with suppress(OSError, DeviceError):  # a home that is read-only keeps nothing, nor does a device that is lost
            if self._path is not None:
                data = self._data()
                if _HEADER_BYTES < len(data) <= MOST_BYTES and data != self._kept:
                    write(self._path, data)
        device.vk.vkDestroyPipelineCache(device.handle, self.handle, device.null)

    def _data(self) -> bytes:
        device = self._device
        size = device.ffi.new("size_t *")
        device.vk.vkGetPipelineCacheData(device.handle, self.handle, size, device.null)
        data = array("char", size[0])
        device.vk.vkGetPipelineCacheData(device.handle, self.handle, size, data)
        return bytes(device.ffi.buffer(data, size[0]))


def read(path: Path) -> bytes:
    """What ``write`` put there; nothing if there is no such file, it is damaged (a warning), or another user's."""
    try:
        if is_of_another(path):
            return b""
        content = path.read_bytes()
    except OSError:
        return b""
    digest, data = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    # A driver need not survive damaged data.
    if len(content) > _DIGEST_BYTES + MOST_BYTES or hashlib.sha256(data).digest() != digest:
        warnings.warn(f"{path} is damaged and left out; pipelines are compiled again", RuntimeWarning, stacklevel=2)
        return b""
    return data


def write(path: Path, data: bytes) -> None:
    """Put ``data`` and its digest there in one step, for this user alone."""
    write_kept(path, hashlib.sha256(data).digest() + data)
