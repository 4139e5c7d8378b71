"""One device through the package ``kp``: opened only if that cannot crash, and every run checked with a canary.

``kp`` 0.9.0 ignores nearly every VkResult. Without a driver its constructor is a segmentation fault, and a lost device
looks like success. So the loader is asked first, and each recorded sequence ends with a copy of one known word into
memory that the host cleared before: if the word is missing, the sequence did not run.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol, TypeVar

import numpy as np

from restride.errors import (
    DescriptorError,
    DeviceError,
    DeviceLost,
    DeviceNotFound,
    OutOfDeviceMemory,
    UnsupportedError,
)
from restride.runtime.heap import HeapBudget, shared_budget
from restride.runtime.instance import PhysicalDevice, find_physical, physical_devices
from restride.runtime.interface import DeviceInfo

INSTALL_KP = (
    "run `python tools/build_kp.py` in a checkout, with the Python that has restride (needs a C++ compiler, cmake, the "
    "Vulkan headers and fmt); `pip install '.[kompute]'` there may pull numpy below 2, because kp pins it"
)
"""How to install kp."""

MAX_TENSOR = (1 << 32) - 16
"""Bytes of the largest tensor: kp counts bytes in a uint32, and gives a larger tensor too small a buffer."""

_CANARY = 0x600D600D
_PORTABILITY_SUBSET = "VK_KHR_portability_subset"
_DEVICE_LOCAL, _HOST_VISIBLE_COHERENT = 1, 2 | 4

_T = TypeVar("_T")


class KpTensor(Protocol):
    """A tensor of kp."""

    def data(self) -> Any:
        """Its elements as the host sees them."""

    def destroy(self) -> None:
        """Free its memory."""

    def size(self) -> int:
        """The number of its elements; 0 once it is destroyed."""

    def tensor_type(self) -> object:
        """Where its memory is."""


class KpSequence(Protocol):
    """A command buffer of kp."""

    def eval(self) -> object:
        """Run it to completion."""

    def record(self, op: object) -> object:
        """Add an operation."""


@cache
def load_kp() -> Any:
    """The module ``kp``.

    Raises:
        UnsupportedError: kp is not installed.
        DeviceError: kp cannot be imported, or is another package of that name.
    """
    root = logging.getLogger()
    handlers = root.handlers[:]
    try:
        kp = importlib.import_module("kp")
    except ModuleNotFoundError as error:
        raise UnsupportedError(f"the runtime 'kompute' needs the Python package `kp`; {INSTALL_KP}") from error
    except ImportError as error:
        raise DeviceError(f"the Python package `kp` cannot be imported ({error}); again: {INSTALL_KP}") from error
    finally:
        # kp calls logging.basicConfig() on import; undo that, because logging is the program's own business.
        for handler in root.handlers[:]:
            if handler not in handlers:
                root.removeHandler(handler)
    if not hasattr(kp, "OpAlgoDispatch"):
        raise DeviceError(f"the package `kp` at {getattr(kp, '__file__', '?')} is not Kompute's; {INSTALL_KP}")
    return kp


def device_of(manager: Any, devices: Sequence[DeviceInfo], selected: DeviceInfo | None) -> DeviceInfo:
    """The device among ``devices`` on which the user's ``kp.Manager`` is open.

    kp tells only a device's name, which several may share: ``selected`` chooses among equal names.

    Raises:
        DescriptorError: ``manager`` is no ``kp.Manager``, ``selected`` is another device, or several have the name and
            ``selected`` is None.
        DeviceLost: the manager was destroyed.
        DeviceNotFound: none of ``devices`` has the manager's name.
    """
    if not isinstance(manager, load_kp().Manager):
        raise DescriptorError(f"manager must be a kp.Manager, got {manager!r}")
    try:
        manager.sequence()  # on a destroyed manager this call raises, and all others crash
    except RuntimeError as error:
        raise DeviceLost(f"manager was destroyed ({error}); make a new kp.Manager") from error
    name = manager.get_device_properties()["device_name"]
    named = [info for info in devices if info.name == name]
    if selected in named:
        return selected
    if selected is not None:
        raise DescriptorError(f"the selector chooses device {selected.index}: {selected.name}; manager is on {name}")
    if not named:
        raise DeviceNotFound(f"manager is on {name}; present are {'; '.join(info.name for info in devices) or 'none'}")
    if len(named) > 1:
        indices = ", ".join(str(info.index) for info in named)
        raise DescriptorError(f"manager is on {name}, but devices {indices} are called so: the selector must say which")
    return named[0]


def find_device(info: DeviceInfo) -> tuple[PhysicalDevice, int]:
    """The device ``info`` as the loader describes it now, and its index in kp.

    Raises:
        DeviceNotFound: no loader, no driver, or the device is gone: kp would crash.
        UnsupportedError: kp cannot see the device or run our modules on it.
    """
    devices = physical_devices()
    device = find_physical(devices, info)
    if _PORTABILITY_SUBSET in device.extensions:
        raise UnsupportedError(
            f"kp does not enable VK_KHR_portability_enumeration, so the loader hides {info.name} from it: "
            "use the runtime 'vulkan'"
        )
    device.require_usable()
    hidden = sum(_PORTABILITY_SUBSET in other.extensions for other in devices[: device.info.index])
    return device, device.info.index - hidden


class KomputeDevice:
    """kp's manager on one device: creates tensors, algorithms and recorded sequences, and runs them.

    in_place: tensors are host-visible memory that kernels read and write (kp's type "host"); otherwise device memory
        with a mapped twin of the same size, copied by ``record_upload`` and ``record_download`` (kp's "device").
    has_own_manager: it opened the manager and destroys it; otherwise the manager is the user's.
    broken: why nothing can run any more; empty if nothing is wrong.
    runs: sequences run so far, copies between twins included.
    """

    def __init__(self, physical: PhysicalDevice, index: int, *, in_place: bool, manager: Any = None) -> None:
        self.in_place = in_place
        self.has_own_manager = manager is None
        self.broken = ""
        self.runs = 0
        self.name = physical.info.name
        self._kp = kp = load_kp()
        # Names of kp 0.9.0 come first, then those of its development branch.
        types = kp.TensorTypes if hasattr(kp, "TensorTypes") else kp.MemoryTypes
        self._staged_type, self._host_type, self._storage_type = types.device, types.host, types.storage
        self._type = types.host if in_place else types.device
        self._upload_op = kp.OpTensorSyncDevice if hasattr(kp, "OpTensorSyncDevice") else kp.OpSyncDevice
        self._download_op = kp.OpTensorSyncLocal if hasattr(kp, "OpTensorSyncLocal") else kp.OpSyncLocal
        self._copy_op = kp.OpTensorCopy if hasattr(kp, "OpTensorCopy") else kp.OpCopy
        self._manager = self._open(index) if manager is None else manager
        try:
            self._canary = self._manager.tensor_t(np.full(4, _CANARY, np.uint32), self._staged_type)
            self._manager.sequence().eval(self._upload_op([self._canary]))
            self._canary_words = self._canary.data()
        except (RuntimeError, MemoryError) as error:
            raise DeviceError(f"kp could not use device {index}: {self.name}: {error}") from error
        self.run(self._record())
        self.runs = 0

    def _open(self, index: int) -> Any:
        try:
            manager = self._kp.Manager(index)
            name = manager.get_device_properties()["device_name"]
            if name == self.name:
                return manager
            names = [entry["device_name"] for entry in manager.list_devices()]
        except (RuntimeError, MemoryError) as error:
            raise DeviceError(f"kp could not open device {index}: {self.name}: {error}") from error
        manager.destroy()
        raise DeviceNotFound(f"kp finds {name!r} at index {index}, not {self.name!r}; kp sees {', '.join(names)}")

    @property
    def is_destroyed(self) -> bool:
        """True if the manager was destroyed, as its user may do at any time: the next call into kp would crash."""
        return not self.ask(self._canary.is_init)

    def ask(self, question: Callable[[], _T]) -> _T:
        """What kp answers to a question about one of its objects.

        Raises:
            DeviceError: kp raised an error instead.
        """
        try:
            return question()
        except (RuntimeError, MemoryError) as error:
            raise DeviceError(f"kp could not describe what it has on {self.name}: {error}") from error

    def tensor(self, nbytes: int) -> KpTensor:
        """A kp tensor of ``nbytes``, a multiple of 4 up to ``MAX_TENSOR``. The caller holds the budget."""
        try:
            # The zeros are pages that are only read, so they take no memory; but kp copies them, which takes time.
            tensor: KpTensor = self._manager.tensor_t(np.zeros(nbytes // 4, np.uint32), self._type)
        except (RuntimeError, MemoryError) as error:
            raise OutOfDeviceMemory(f"kp could not allocate {nbytes:,} bytes on {self.name}: {error}") from error
        return tensor

    def is_host(self, tensor: KpTensor) -> bool:
        """True if the host's view of a kp tensor is the memory that kernels use."""
        return bool(self.ask(tensor.tensor_type) == self._host_type)

    def is_storage(self, tensor: KpTensor) -> bool:
        """True if the host cannot see a kp tensor, and no copy may touch it."""
        return bool(self.ask(tensor.tensor_type) == self._storage_type)

    def algorithm(
        self,
        tensors: Sequence[KpTensor],
        spirv: bytes,
        groups: tuple[int, int, int],
        constants: Sequence[int],
        push: Sequence[int],
    ) -> object:
        """A pipeline and its descriptor set. For group counts of 0 and empty ``tensors``, kp uses values of its own."""
        # kp derives the type of both arrays from the constants, and treats anything but arrays as float.
        try:
            return self._manager.algorithm(
                list(tensors), spirv, groups, np.array(constants, np.uint32), np.array(push, np.uint32)
            )
        except (RuntimeError, MemoryError) as error:
            raise DeviceError(f"kp could not make a pipeline on {self.name}: {error}") from error

    def record_dispatch(self, algorithm: object, push: Sequence[int]) -> KpSequence:
        """A sequence of one dispatch."""
        return self._record(lambda: self._kp.OpAlgoDispatch(algorithm, np.array(push, np.uint32)))

    def record_upload(self, tensor: KpTensor) -> KpSequence:
        """A sequence that copies the mapped twin into device memory."""
        return self._record(lambda: self._upload_op([tensor]))

    def record_download(self, tensor: KpTensor) -> KpSequence:
        """A sequence that copies device memory into the mapped twin."""
        return self._record(lambda: self._download_op([tensor]))

    def record_copy(self, source: KpTensor, target: KpTensor) -> KpSequence:
        """A sequence that copies one whole tensor into another of the same size."""
        return self._record(lambda: self._copy_op([source, target]))

    def _record(self, *ops: Callable[[], object]) -> KpSequence:
        # Recorded once and run many times: kp's command pools do not allow recording a buffer again.
        try:
            sequence: KpSequence = self._manager.sequence()
            for op in ops:
                sequence.record(op())
            sequence.record(self._download_op([self._canary]))
        except (RuntimeError, MemoryError) as error:
            raise DeviceError(f"kp could not record a command buffer on {self.name}: {error}") from error
        return sequence

    def run(self, sequence: KpSequence) -> None:
        """Run a recorded sequence to completion, holding the GIL.

        Raises:
            DeviceLost: it did not complete.
        """
        self._canary_words[0] = 0
        self.runs += 1
        try:
            sequence.eval()
        except (RuntimeError, MemoryError) as error:
            # After this error kp believes forever that the sequence is still running.
            self.broken = f"kp failed to run work on {self.name}: {error}"
            raise DeviceLost(self.broken) from error
        if self._canary_words[0] != _CANARY:
            self.broken = f"{self.name} is lost: its work came back without having run; make a new Device"
            raise DeviceLost(self.broken)

    def destroy(self) -> None:
        """Free what is left. If the manager is kp's own, destroying it unmaps the memory of every tensor."""
        del self._canary_words
        manager, self._manager = self._manager, None
        if self.has_own_manager:
            manager.destroy()
        else:
            self._canary.destroy()


def heaps_of(physical: PhysicalDevice, *, in_place: bool) -> list[tuple[HeapBudget, int]]:
    """For each driver allocation of a tensor: the budget of its heap, and how much of it may be used, seven eighths.

    kp uses the first memory type with the properties it needs, and a failed allocation is a segmentation fault.
    """
    kinds = [_HOST_VISIBLE_COHERENT] if in_place else [_DEVICE_LOCAL, _HOST_VISIBLE_COHERENT]
    heaps = [shared_budget(physical, _first_heap(physical, flags)) for flags in kinds]
    return [(heap, heap.heap_bytes // 8 * 7) for heap in heaps]


def _first_heap(physical: PhysicalDevice, flags: int) -> int:
    for memory_type in physical.memory_types:
        if memory_type.flags & flags == flags:
            return memory_type.heap
    raise UnsupportedError(f"{physical.info.name} has no memory type with Vulkan property flags {flags:#x}")
