"""A bounded cache of kp's pipelines and command buffers, by kernel and buffers: built once and run many times."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from restride.kernel import KernelSpec
from restride.runtime.kompute.device import KomputeDevice
from restride.runtime.kompute.memory import Buffer
from restride.runtime.specialization import specialized

MOST_PROGRAMS = 128
MOST_RECORDINGS = 8


class _Key(NamedTuple):
    """Everything that kp fixes when it creates an algorithm; ``buffers`` are serials."""

    shader: str
    constants: tuple[int, ...]
    groups: tuple[int, int, int]
    push_words: int
    buffers: tuple[int, ...]


class _Program:
    """An algorithm, and the command buffers that dispatch it, one for each set of push constants."""

    def __init__(self, algorithm: Any) -> None:
        self.algorithm = algorithm
        self.recordings: OrderedDict[tuple[int, ...], Any] = OrderedDict()


class ProgramCache:
    """The 128 programs used last, each with its 8 newest sets of push constants.

    kp builds one pipeline for each kernel *and* its buffers; buffers reused from the pool find theirs again. Both
    caches pay: on llvmpipe a small reorder takes 0.04 ms, 5 ms if its pipeline must be built, and a quarter more if it
    must be recorded.
    """

    def __init__(self, device: KomputeDevice, module_source: Callable[[str], bytes]) -> None:
        self.pipelines = 0
        self._device = device
        self._module_source = module_source
        self._programs: OrderedDict[_Key, _Program] = OrderedDict()

    def recording(self, spec: KernelSpec, bound: Sequence[Buffer]) -> Any:
        """The command buffer that dispatches ``spec`` on ``bound``."""
        program = self._program(spec, bound)
        recording = program.recordings.get(spec.push)
        if recording is None:
            recording = self._device.record_dispatch(program.algorithm, spec.push)
            program.recordings[spec.push] = recording
            if len(program.recordings) > MOST_RECORDINGS:
                program.recordings.popitem(last=False)
        return recording

    def _program(self, spec: KernelSpec, bound: Sequence[Buffer]) -> _Program:
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
        if len(self._programs) > MOST_PROGRAMS:
            self._programs.popitem(last=False)
        return program

    def forget(self, serial: int) -> None:
        """Drop the programs that use the buffer with this serial, which is about to be destroyed."""
        for key in [key for key in self._programs if serial in key.buffers]:
            del self._programs[key]

    def clear(self) -> None:
        """Drop everything."""
        self._programs.clear()
