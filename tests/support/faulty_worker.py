"""A worker with a fault in one case after work was submitted to the device: ``faulty_worker.py FAULT CASE [FOLDER]``.

CASE is a line, or ``every case``. FOLDER holds the kernels of ``spirv_kernels``, for the fault that needs one.
"""

from __future__ import annotations

import atexit
import collections
import ctypes
import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

from restride.errors import DeviceLost
from restride.kernel import Binding, KernelSpec
from restride.kernel.modules import load_module
from restride.runtime.loader import binding
from restride_conformance import check
from restride_conformance.run import worker
from restride_conformance.setting import GUARD_BYTES


def flip(runtime, kernels, memories, at):
    """Change one byte of the destination."""
    destination = next(
        memory for binding, memory in zip(kernels[-1].bindings, memories, strict=False) if binding.writes
    )
    byte = bytearray(1)
    runtime.read(destination, at, memoryview(byte))
    runtime.write(destination, at, memoryview(bytes([byte[0] ^ 0xFF])))


def make_buffer(runtime, nbytes):
    """Create a VkBuffer that is never destroyed."""
    device = runtime._session.device
    usage = binding().VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
    device.create("Buffer", size=nbytes, usage=usage)


def shout():
    for descriptor in (1, 2):
        for _ in range(64):
            os.write(descriptor, b"the driver talks\n" * 8192)


def endless(runtime):
    memory = runtime.allocate(4 << 16)
    bindings = (Binding(0, 4 << 16, writes=True),)
    runtime.submit([KernelSpec("slow", (), (1 << 16, 60000), b"", (1024, 1, 1), bindings)] * 64, [memory])


def start_child():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])


def hang_with_child():
    start_child()
    time.sleep(1000)


def crash_with_child():
    start_child()
    ctypes.string_at(0)


def work_slowly(runtime, seconds):
    submit = runtime.submit

    def submit_slowly(*work):
        time.sleep(seconds)
        submit(*work)

    runtime.submit = submit_slowly


def judge_slowly(seconds):
    judge = check.judge

    def judge_late(*results):
        time.sleep(seconds)
        return judge(*results)

    check.judge = judge_late


def lose():
    raise DeviceLost("vkQueueSubmit failed with VK_ERROR_DEVICE_LOST")


FAULTS = {
    "segfault": lambda *_: ctypes.string_at(0),
    "abort": lambda *_: os.abort(),
    "exit": lambda *_: os._exit(7),
    "quiet exit": lambda *_: os._exit(0),
    "sleep": lambda *_: time.sleep(1000),
    "spin": lambda *_: collections.deque(itertools.repeat(0), maxlen=0),  # in C, with the GIL
    "hang with child": lambda *_: hang_with_child(),
    "crash with child": lambda *_: crash_with_child(),
    "late": lambda *_: atexit.register(os.abort),
    "late loss": lambda runtime, *_: setattr(runtime, "close", lose),
    "late sleep": lambda runtime, *_: setattr(runtime, "close", lambda: time.sleep(1000)),
    "slow device": lambda runtime, *_: work_slowly(runtime, 0.4),
    "slow host": lambda *_: judge_slowly(2.5),
    "lost": lambda *_: lose(),
    "mistake": lambda *_: 1 // 0,
    "wrong": lambda *parts: flip(*parts, at=GUARD_BYTES),
    "guard": lambda *parts: flip(*parts, at=3),
    "message": lambda runtime, *_: make_buffer(runtime, 0),
    "leak": lambda runtime, *_: make_buffer(runtime, 64),
    "shout": lambda *_: shout(),
}

AHEAD = {"endless": endless}
"""Faults that begin before the device's own work, which has to wait for them."""

UNPREPARED = {"prepare": lambda: time.sleep(1000)}
"""Faults before there is any work."""

run_case = worker.run_case


def run_faulty_case(case, device, **options):
    fault, line = sys.argv[1:3]
    if line not in (str(case), "every case"):
        return run_case(case, device, **options)
    if fault in UNPREPARED:
        UNPREPARED[fault]()
    runtime = device.runtime
    vars(runtime).pop("submit", None)  # of an earlier case that submitted nothing
    submit = runtime.submit

    def submit_with_fault(kernels, memories):
        del runtime.submit
        if fault in AHEAD:
            AHEAD[fault](runtime)
        submit(kernels, memories)
        if fault in FAULTS:
            FAULTS[fault](runtime, kernels, memories)

    runtime.submit = submit_with_fault
    return run_case(case, device, **options)


def module(name):
    file = Path(*sys.argv[3:], f"{name}.spv")
    return file.read_bytes() if file.exists() else load_module(name)


if __name__ == "__main__":
    worker.run_case = run_faulty_case
    worker.load_module = module
    worker.main()
