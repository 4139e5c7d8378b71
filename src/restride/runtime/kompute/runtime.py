"""The runtime on the package ``kp``: one recorded command buffer for each kernel and its buffers, run to completion."""

from __future__ import annotations

import atexit
import ctypes
import os
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

from restride.errors import DescriptorError, DeviceLost, UnsupportedError
from restride.kernel import KernelSpec, Limits
from restride.kernel.modules import load_module
from restride.runtime.heap import limit_budgets
from restride.runtime.instance import SPAWN
from restride.runtime.interface import (
    DEFAULT_TIMEOUT,
    MEMORY_ROUNDING,
    Counters,
    DeviceInfo,
    ExternalMemory,
    HostLock,
    Memory,
    as_bytes,
    require_copy,
    require_inside,
    require_kernel,
    rounded,
    writable_bytes,
)
from restride.runtime.kompute.device import MAX_TENSOR, KomputeDevice, KpSequence, KpTensor, find_device, heaps_of
from restride.runtime.kompute.memory import BufferPool, KomputeMemory, KpBuffer, parameter_bytes
from restride.runtime.live_objects import LiveObjects
from restride.runtime.specialization import specialized

MAX_PROGRAMS = 128
MAX_RECORDINGS = 8
"""Maximum number of cached programs, and of command buffers for each."""

_MAX_READY = 64
"""Maximum kernels of one submission that are prepared together: half of what ``ProgramCache`` keeps."""


class KomputeRuntime:
    """A ``Runtime`` on Kompute's package ``kp`` 0.9.0.

    It differs from the Vulkan runtime where kp leaves no choice:

    - ``submit`` runs each kernel to completion before it starts the next: kp puts no barrier between dispatches. So
      nothing is ever pending, ``wait`` returns at once, and the counter ``barriers`` stays 0.
    - **The time limit cannot stop work.** kp's wait holds the GIL, and ending it early destroys a fence in use. Work
      that took longer than ``timeout`` seconds keeps its result and causes a ``RuntimeWarning`` afterwards;
      ``DeviceTimeout`` is never raised. A dispatch that never ends stops the whole process: where that may happen, use
      the runtime ``vulkan``, or a process that can be killed.
    - No other Python thread runs during a dispatch. Any thread may call the methods, one at a time.
    - A binding covers a whole memory (``limits.offset_alignment`` is 0), memories are below 4 GiB, and one larger than
      ``limits.max_buffer_range`` can be written and read, but not bound.
    - kp enables an installed validation layer and drops its messages: start the process with
      ``VK_LOADER_LAYERS_DISABLE=~all~`` for speed.

    info: a device from ``list_devices()``.
    timeout: seconds, as above.
    limits: narrower limits, for tests.
    module_source: returns the SPIR-V of a named module.
    in_place: kernels use host-visible memory; default: on CPU and integrated devices. Otherwise every memory has a
        mapped twin on the host, copied before and after kernels as needed.
    memory_limit: most bytes that all memories may take, those kept for reuse included. They also may not take more than
        seven eighths of the heap together with this process's other devices: kp crashes where a driver refuses. A
        memory with a mapped twin counts twice.
    manager: the user's ``kp.Manager`` on that device, which ``close`` leaves open; default: a manager of its own.

    Raises:
        UnsupportedError: ``kp`` is not installed, or it cannot use this device.
        DeviceNotFound: there is no driver, or the device is gone.
    """

    def __init__(
        self,
        info: DeviceInfo,
        timeout: float = DEFAULT_TIMEOUT,
        *,
        limits: Limits | None = None,
        module_source: Callable[[str], bytes] = load_module,
        in_place: bool | None = None,
        memory_limit: int | None = None,
        manager: Any = None,
    ) -> None:
        physical, index = find_device(info)
        if in_place is None:
            in_place = info.kind in ("cpu", "integrated")
        heaps = heaps_of(physical, in_place=in_place)
        heaps += [(limit, limit.heap_bytes) for limit in limit_budgets(memory_limit) for _ in heaps]
        self.info = info
        self._timeout = timeout
        limits = limits or info.limits
        # Kompute does not check whether an allocation succeeded, so restride asks for no more than the driver promises.
        largest = min(physical.max_allocation_bytes, physical.promised_allocation_bytes)
        self._largest_memory = min(MAX_TENSOR, largest)
        self.limits = replace(
            limits,
            offset_alignment=0,
            max_buffer_range=min(limits.max_buffer_range, MAX_TENSOR),
            max_memory=min(self._largest_memory, *(most for _, most in heaps)),
        )
        self._device = KomputeDevice(physical, index, in_place=in_place, manager=manager)
        self._programs = ProgramCache(self._device, module_source)
        self._pool = BufferPool(
            self._device,
            heaps,
            physical.max_allocations // (1 if in_place else 2) - 8,
            self._programs.forget,
        )
        self._dispatches = self._uploaded = self._downloaded = 0
        self._closed = ""
        self._lock = HostLock(self.info.name)
        for heap, _ in heaps:
            heap.join(self)
        _open_runtimes.add(self)

    @property
    def has_own_manager(self) -> bool:
        """True unless the manager is the user's."""
        return self._device.has_own_manager

    def allocate(self, nbytes: int, shareable: bool = False) -> KomputeMemory:
        """Allocate ``nbytes`` >= 0 bytes with undefined contents.

        Raises:
            UnsupportedError: kp cannot allocate so much at once, or ``shareable`` is True.
            OutOfDeviceMemory: the budget has no room for it.
        """
        if shareable:
            raise UnsupportedError("the runtime 'kompute' cannot share memory between processes: use 'vulkan'")
        if nbytes < 0:
            raise DescriptorError(f"a memory has 0 bytes or more, nbytes is {nbytes}")
        with self._opened():
            if rounded(nbytes) > self._largest_memory:
                raise UnsupportedError(
                    f"a memory of {nbytes:,} bytes is larger than the {self._largest_memory:,} that kompute allocates "
                    "at once, because it counts bytes in 32 bits and must not exceed what the driver promises: use the "
                    "runtime 'vulkan', or smaller tensors"
                )
            self._pool.collect()
            return KomputeMemory(self._pool, nbytes)

    def import_tensor(self, tensor: KpTensor) -> KomputeMemory:
        """A kp tensor of the user's manager as memory, without a copy; the same tensor gives the same memory.

        kp does not tell which manager a tensor belongs to: a tensor of another one may crash the driver.

        Raises:
            UnsupportedError: kp cannot share the tensor's memory.
            DescriptorError: the tensor was destroyed.
        """
        with self._opened():
            self._pool.collect()
            if not self._device.ask(tensor.size):
                raise DescriptorError("array is a kp tensor that was destroyed")
            if (memory := self._pool.shared(tensor)) is not None:
                return memory
            nbytes = self._device.ask(tensor.data).nbytes
            if self._device.is_storage(tensor):
                raise UnsupportedError(
                    f"a kp tensor of type storage, of {nbytes:,} bytes, cannot be read or copied: the types device "
                    "and host can"
                )
            if nbytes % MEMORY_ROUNDING:
                raise UnsupportedError(
                    f"a kp tensor of {nbytes:,} bytes shares no memory: kernels read and write {MEMORY_ROUNDING} bytes "
                    f"at a time, and kp binds its {nbytes:,} exactly; make it of {rounded(nbytes):,}"
                )
            return self._pool.adopt(tensor, nbytes)

    def export_tensor(self, memory: Memory) -> KpTensor | None:
        """The kp tensor that holds a memory, for kernels on the user's manager.

        From now on the device's copy of its bytes is taken as the current one.
        """
        with self._opened():
            buffer = self._buffer_of(memory)
            return self._pool.share(memory, buffer) if isinstance(memory, KomputeMemory) else None

    def import_bytes(self, data: memoryview) -> NoReturn:
        """See ``Runtime.import_bytes``: kp cannot do this."""
        raise UnsupportedError(f"the runtime 'kompute' cannot import memory of the host, here {data.nbytes} bytes")

    def export_fd(self, memory: Memory) -> NoReturn:
        """See ``Runtime.export_fd``: kp cannot do this."""
        raise UnsupportedError(f"the runtime 'kompute' cannot export memory, here {memory.nbytes} bytes")

    def import_fd(self, fd: int, external: ExternalMemory) -> NoReturn:
        """See ``Runtime.import_fd``: kp cannot do this."""
        raise UnsupportedError(f"the runtime 'kompute' cannot import memory, here fd {fd} of {external.nbytes} bytes")

    def mapped_bytes(self, memory: Memory) -> NoReturn:
        """See ``Runtime.mapped_bytes``: refused, because a view of kp's memory dangles once its tensor is destroyed."""
        raise UnsupportedError(f"the runtime 'kompute' cannot show memory without a copy, here {memory.nbytes} bytes")

    def write(self, memory: Memory, offset: int, *data: memoryview) -> None:
        """Copy ``data``, one after the other, from byte ``offset`` on."""
        parts = [as_bytes(each) for each in data]
        nbytes = sum(map(len, parts))
        with self._opened():
            span = self._span(memory, offset, nbytes)
            for part in parts:
                span.put(offset, part)
                offset += len(part)
            self._uploaded += nbytes

    def read(self, memory: Memory, offset: int, out: memoryview) -> None:
        """Fill ``out`` from byte ``offset``."""
        target = writable_bytes(out)
        with self._opened():
            self._span(memory, offset, len(target)).get(offset, target)
            self._downloaded += len(target)

    def submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory]) -> None:
        """Run the kernels one after the other, and return when they are finished.

        Raises:
            DescriptorError: a binding does not begin where its memory does, or leaves it, or there are no bindings or
                groups, or too many, or too many push constants; nothing ran.
            UnsupportedError: a memory exceeds ``limits``; nothing ran.
            DeviceLost: the work did not run to completion.
        """
        with self._opened():
            started = time.perf_counter()
            self._pool.collect()
            buffers = [self._buffer_of(memory) for memory in memories]
            for spec in kernels:
                self._check(spec, buffers)
            self._run(kernels, buffers)
            seconds = time.perf_counter() - started
        if seconds > self._timeout:
            warnings.warn(
                f"{len(kernels)} kernels took {seconds:.1f} s on {self.info.name}, past the time limit of "
                f"{self._timeout} s, which the runtime 'kompute' cannot enforce; the result is complete",
                RuntimeWarning,
                stacklevel=2,
            )

    def copy(
        self,
        src: Memory,
        dst: Memory,
        nbytes: int,
        src_offset: int = 0,
        dst_offset: int = 0,
        kernels: Sequence[KernelSpec] = (),
    ) -> None:
        """Copy, and return when the copy is finished; see ``KpBuffer.copy_whole`` and ``copy_part``."""
        require_copy(src, dst, nbytes, src_offset, dst_offset)
        if kernels:
            self.submit(kernels, (src, dst))
        with self._opened():
            source, target = self._buffer_of(src), self._buffer_of(dst)
            if nbytes == src.nbytes == dst.nbytes and source.kind == target.kind:
                target.copy_whole(source)
            else:
                target.copy_part(source, nbytes, src_offset, dst_offset)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """See ``Runtime.batch``: here each submission runs at once."""
        with self._opened():
            pass
        yield

    def wait(self) -> None:
        """Return at once: everything submitted is finished already."""
        with self._opened():
            return

    def counters(self) -> Counters:
        """The totals so far; a memory with a mapped twin counts as two driver allocations."""
        with self._opened():
            self._pool.collect()
            return Counters(
                dispatches=self._dispatches,
                pipelines=self._programs.pipelines,
                submissions=self._device.runs,
                allocations=self._pool.allocations,
                bytes_allocated=self._pool.bytes_allocated,
                bytes_in_use=self._pool.bytes_in_use,
                uploaded=self._uploaded,
                downloaded=self._downloaded,
            )

    def trim(self) -> int:
        """See ``Runtime.trim``."""
        with self._opened():
            self._pool.collect()
            before = self._pool.bytes_allocated
            self._programs.clear()
            self._pool.trim()
            return before - self._pool.bytes_allocated

    def close(self) -> None:
        """Free everything; a second call does nothing. Freeing a memory later is harmless."""
        with self._lock.unheld():
            if self._closed:
                return
            self._closed = f"{self.info.name} (kompute) was closed; make a new Device"
            _open_runtimes.discard(self)
            self._programs.clear()
            self._pool.destroy()
            self._device.destroy()

    def trim_if_free(self) -> None:
        """See ``heap.Holder``."""
        if not self._closed:
            self._lock.if_free(self._pool.trim)

    @contextmanager
    def _opened(self) -> Iterator[None]:
        # Also checked before the lock is taken: in a child made by fork, the thread that held it cannot release it.
        self._require_open()
        with self._lock.unheld():
            self._require_open()
            yield

    def _require_open(self) -> None:
        if self._closed or self._device.broken:
            raise DeviceLost(self._closed or self._device.broken)
        if self._device.is_destroyed:
            raise DeviceLost(f"the kp.Manager of {self.info.name} was destroyed; make a new Device on a new one")

    def _buffer_of(self, memory: Memory) -> KpBuffer:
        if not isinstance(memory, KomputeMemory) or memory.pool is not self._pool:
            raise DescriptorError(f"{memory!r} is not a memory of this device, {self.info.name} (kompute)")
        buffer = memory.buffer
        if buffer is None:
            raise DescriptorError(f"a memory of {memory.nbytes:,} bytes was used after it was freed")
        if buffer.is_shared and buffer.is_destroyed:
            raise DescriptorError(f"a memory of {memory.nbytes:,} bytes lies in a kp tensor that was destroyed")
        return buffer

    def _span(self, memory: Memory, offset: int, nbytes: int) -> KpBuffer:
        buffer = self._buffer_of(memory)
        require_inside(memory, offset, nbytes)
        return buffer

    def _check(self, spec: KernelSpec, buffers: Sequence[KpBuffer]) -> None:
        """Raise unless kp can run ``spec`` unchanged."""
        require_kernel(spec, len(buffers), self.limits)
        for number, (binding, buffer) in enumerate(zip(spec.bindings, buffers, strict=False)):
            if binding.offset or not 0 < binding.nbytes <= buffer.nbytes:
                raise DescriptorError(
                    f"{spec.shader}: binding {number} covers bytes [{binding.offset:,}, "
                    f"{binding.offset + binding.nbytes:,}) of a memory of {buffer.nbytes:,}; "
                    "kompute binds whole memories, so it must begin at byte 0 and lie inside"
                )
            self._require_range(spec, number, buffer.nbytes)
        if spec.parameters:
            self._require_range(spec, len(spec.bindings), parameter_bytes(len(spec.parameters)))

    def _require_range(self, spec: KernelSpec, number: int, nbytes: int) -> None:
        if nbytes > self.limits.max_buffer_range:
            raise UnsupportedError(
                f"{spec.shader}: binding {number} is a memory of {nbytes:,} bytes, more than the "
                f"{self.limits.max_buffer_range:,} that {self.info.name} binds at once, and kompute binds whole "
                "memories: use the runtime 'vulkan', or smaller tensors"
            )

    def _run(self, kernels: Sequence[KernelSpec], buffers: Sequence[KpBuffer]) -> None:
        """Run the kernels in parts of 64: prepare a whole part, where kp may refuse something, and then run it."""
        for first in range(0, len(kernels), _MAX_READY):
            parameters: dict[int, KpBuffer] = {}
            try:
                ready = [self._ready(spec, buffers, parameters) for spec in kernels[first : first + _MAX_READY]]
                for spec, bound, sequence in ready:
                    self._dispatch(spec, bound, sequence)
            finally:
                for buffer in parameters.values():
                    self._pool.put_back(buffer)

    def _ready(
        self, spec: KernelSpec, buffers: Sequence[KpBuffer], parameters: dict[int, KpBuffer]
    ) -> tuple[KernelSpec, list[KpBuffer], KpSequence]:
        """The kernel, the buffers bound to it, and its command buffer.

        parameters: buffers for parameters, by size in bytes. Kernels share one and fill it just before they run.
        """
        bound = list(buffers[: len(spec.bindings)])
        for buffer in bound:
            buffer.prepare_upload()
        if spec.parameters:
            nbytes = parameter_bytes(len(spec.parameters))
            if nbytes not in parameters:
                parameters[nbytes] = self._pool.take(nbytes)
                parameters[nbytes].prepare_upload(is_filled_later=True)
            bound.append(parameters[nbytes])
        return spec, bound, self._programs.recording(spec, bound)

    def _dispatch(self, spec: KernelSpec, bound: Sequence[KpBuffer], sequence: KpSequence) -> None:
        if spec.parameters:
            bound[-1].fill(spec.parameters)
        for buffer in bound:
            buffer.to_device()
        self._device.run(sequence)
        for binding, buffer in zip(spec.bindings, bound, strict=False):
            if binding.writes:
                buffer.written_by_kernel()
        self._dispatches += 1

    def _abandon(self) -> None:
        """In a child made by fork, stop calling the driver: a call may wait forever for threads that are not here."""
        self._closed = f"{self.info.name} (kompute) was opened before this process was forked, and {SPAWN}"
        self._lock = HostLock(self.info.name)
        # Never freed: kp's destructors call the driver, even when the process ends.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))


# Pipelines and command buffers, kept by kernel and buffers: they are built once and run many times.


class _Key(NamedTuple):
    """Everything that kp fixes when it creates an algorithm; ``buffers`` are serials."""

    shader: str
    constants: tuple[int, ...]
    groups: tuple[int, int, int]
    push_words: int
    buffers: tuple[int, ...]


class _Program:
    """An algorithm, and the command buffers that dispatch it, one for each set of push constants."""

    def __init__(self, algorithm: object) -> None:
        self.algorithm = algorithm
        self.recordings: OrderedDict[tuple[int, ...], KpSequence] = OrderedDict()


class ProgramCache:
    """The 128 programs used last, each with its 8 newest sets of push constants.

    kp builds one pipeline for each kernel *and* its buffers; with buffers reused from the pool a kernel finds its
    pipeline again. Both caches pay: on llvmpipe a small reorder takes 0.04 ms, but 5 ms if its pipeline must be built,
    and 0.05 ms if only its command buffer must be recorded.
    """

    def __init__(self, device: KomputeDevice, module_source: Callable[[str], bytes]) -> None:
        self.pipelines = 0
        self._device = device
        self._module_source = module_source
        self._programs: OrderedDict[_Key, _Program] = OrderedDict()

    def recording(self, spec: KernelSpec, bound: Sequence[KpBuffer]) -> KpSequence:
        """The command buffer that dispatches ``spec`` on ``bound``."""
        program = self._program(spec, bound)
        recording = program.recordings.get(spec.push)
        if recording is None:
            recording = self._device.record_dispatch(program.algorithm, spec.push)
            program.recordings[spec.push] = recording
            if len(program.recordings) > MAX_RECORDINGS:
                program.recordings.popitem(last=False)
        return recording

    def _program(self, spec: KernelSpec, bound: Sequence[KpBuffer]) -> _Program:
        serials = tuple(buffer.serial for buffer in bound)
        key = _Key(spec.shader, spec.constants, spec.groups, len(spec.push), serials)
        program = self._programs.get(key)
        if program is not None:
            self._programs.move_to_end(key)
            return program
        spirv, constants = specialized(self._module_source(spec.shader), spec.constants)
        tensors = [buffer.tensor for buffer in bound]
        program = _Program(self._device.algorithm(tensors, spirv, spec.groups, constants, spec.push))
        self.pipelines += 1
        self._programs[key] = program
        if len(self._programs) > MAX_PROGRAMS:
            self._programs.popitem(last=False)
        return program

    def forget(self, serial: int) -> None:
        """Drop the programs that use the buffer with this serial, which is about to be destroyed."""
        for key in [key for key in self._programs if serial in key.buffers]:
            del self._programs[key]

    def clear(self) -> None:
        """Drop everything."""
        self._programs.clear()


_open_runtimes: LiveObjects[KomputeRuntime] = LiveObjects()


def _after_fork_in_child() -> None:
    for runtime in _open_runtimes:
        runtime._abandon()  # noqa: SLF001 - the same module


def _close_all() -> None:
    for runtime in _open_runtimes:
        runtime.close()


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
# Runs before the interpreter frees modules, whose order is arbitrary, because kp's destructors call the driver.
atexit.register(_close_all)
