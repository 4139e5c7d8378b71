"""Shareable memory as CUDA tensors of other libraries, and back.

An array here points to addresses of a CUDA device: the host reads its sizes and strides, but never its elements.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from restride.dtypes import Array
from restride.runtime import Memory
from restride.runtime.cuda_driver import LEGACY_STREAM, CudaMemory
from restride.runtime.live_objects import LiveObjects
from restride.tensor.device import Device

_mapped: LiveObjects[CudaMemory] = LiveObjects()
"""The owner of each mapping is a Device and a Memory."""


def cuda_bytes(device: Device, memory: Memory) -> npt.NDArray[np.uint8]:
    """The bytes of shareable memory; it stays mapped, and alive, until the last view of the array is dropped.

    Raises:
        UnsupportedError: the device is no CUDA device.
        OutOfDeviceMemory, DeviceError: CUDA refuses.
    """
    mapped = next((each for each in _mapped if each.owner[1] is memory), None)
    if mapped is None:
        file, external = device.runtime.export_fd(memory)
        mapped = CudaMemory(file, external, (device, memory))
        _mapped.add(mapped)
    return np.asarray(mapped)


def memory_under(array: Array) -> tuple[Device, Memory, int] | None:
    """The memory that holds the array, and its byte offset; waits for the work of CUDA's default stream.

    None: CUDA allocated the memory.
    """
    address = array.ctypes.data
    for mapped in _mapped:
        if mapped.address <= address < mapped.address + mapped.nbytes:
            mapped.wait(LEGACY_STREAM)
            return *mapped.owner, address - mapped.address
    return None
