"""The runtime on kp: opened only where kp cannot crash, closed, lost, forked, shared by threads."""

import logging
import os
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from support import kompute_kernels
from support.kompute_kernels import run_python
from support.spirv_kernels import compile_kernels
from support.vulkan_kernels import affine, download, upload

from restride.errors import DeviceError, DeviceLost, DeviceNotFound, UnsupportedError
from restride.runtime.kompute import device as kompute_device
from restride.runtime.kompute.runtime import KomputeRuntime

modules, device, make, runtime = kompute_kernels.FIXTURES


def test_closed_by_two_threads_at_once(make):
    runtime = make()
    closed, wrong = [], []

    def close():
        closed.append(1)
        try:
            runtime.close()
        except Exception as error:  # noqa: BLE001 - whatever a thread raises
            wrong.append(error)

    threads = [threading.Thread(target=close) for _ in range(2)]
    with runtime._lock.raw:  # both find it open, and wait for the lock
        for thread in threads:
            thread.start()
        while len(closed) < 2:
            time.sleep(0.001)
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    assert not wrong


class NeverRuns:
    """A sequence that comes back without having run, as kp's does on a lost device."""

    def eval(self):
        return self


class Throws:
    def eval(self):
        raise RuntimeError("vk::Device::createFence: ErrorOutOfHostMemory")


@pytest.mark.parametrize(("sequence", "message"), [(NeverRuns(), "is lost"), (Throws(), "ErrorOutOfHostMemory")])
def test_work_that_did_not_run_is_a_lost_device(make, monkeypatch, sequence, message):
    runtime = make()
    a = upload(runtime, np.arange(4))
    monkeypatch.setattr(runtime._programs, "recording", lambda *_: sequence)
    with pytest.raises(DeviceLost, match=message):
        runtime.submit([affine(4)], [a, a])
    monkeypatch.undo()
    with pytest.raises(DeviceLost, match=message):
        runtime.submit([affine(4)], [a, a])
    runtime.close()


def test_a_question_that_kp_fails_at_is_a_typed_error(make, monkeypatch):
    runtime = make()

    class Canary:
        def is_init(self):
            raise RuntimeError("no state")

    monkeypatch.setattr(runtime._device, "_canary", Canary())
    with pytest.raises(DeviceError, match=r"kp could not describe what it has on .*: no state"):
        runtime.allocate(16)
    monkeypatch.undo()
    runtime.close()


def test_work_past_the_time_limit_keeps_its_result_and_says_so(make):
    runtime = make(timeout=1e-9)
    a = upload(runtime, np.arange(4))
    with pytest.warns(
        RuntimeWarning, match="past the time limit of 1e-09 s, which the runtime 'kompute' cannot enforce"
    ):
        runtime.submit([affine(4, mul=2)], [a, a])
    assert download(runtime, a).tolist() == [0, 2, 4, 6]


SUM = """
    layout(binding = 0) readonly buffer A { uint a[]; };
    layout(binding = 1) writeonly buffer B { uint b[]; };
    layout(binding = 2) readonly buffer Table { uint table[]; };
    void main() {
        if (gl_GlobalInvocationID.x < push.n) b[gl_GlobalInvocationID.x] = a[gl_GlobalInvocationID.x] + table[0];
    }"""


def test_freed_in_the_middle_of_a_submit(make, monkeypatch, tmp_path):
    runtime = make(module_source=compile_kernels(tmp_path, {"sum": SUM}))
    a, b = upload(runtime, np.arange(4)), upload(runtime, np.zeros(4, np.uint32))
    add = replace(affine(4), shader="sum", constants=(), parameters=np.full(4, 100, np.uint32).tobytes())
    original = runtime._dispatch

    def dispatch_and_free(*arguments):
        # As another thread may, between two kernels; the second one then wants a buffer of this size for parameters.
        original(*arguments)
        a.free()

    monkeypatch.setattr(runtime, "_dispatch", dispatch_and_free)
    runtime.submit([replace(add, parameters=bytes(16)), add], [a, b])
    assert download(runtime, b).tolist() == [100, 101, 102, 103]
    assert runtime.counters().bytes_in_use == 16


def test_without_kp_the_error_says_what_to_install(monkeypatch, device):
    monkeypatch.setitem(sys.modules, "kp", None)
    kompute_device.load_kp.cache_clear()
    with pytest.raises(UnsupportedError, match=r"needs the Python package `kp`; run `python tools/build_kp\.py`"):
        KomputeRuntime(device)
    monkeypatch.setitem(sys.modules, "kp", logging)
    kompute_device.load_kp.cache_clear()
    with pytest.raises(DeviceError, match="is not Kompute's"):
        KomputeRuntime(device)
    kompute_device.load_kp.cache_clear()


def test_a_device_that_is_gone_never_reaches_kp(device, monkeypatch):
    monkeypatch.setattr(kompute_device, "load_kp", lambda: pytest.fail("kp was asked"))
    with pytest.raises(DeviceNotFound, match=r"device 7: .* is not there, or no longer; present are 0: "):
        KomputeRuntime(replace(device, index=7))
    with pytest.raises(DeviceNotFound, match=r"device 0: Other, .* is not there"):
        KomputeRuntime(replace(device, name="Other"))


def test_another_device_at_the_index_is_refused(device):
    physical, index = kompute_device.find_device(device)
    wrong = replace(physical, info=replace(device, name="Other"))
    with pytest.raises(DeviceNotFound, match=r"kp finds '.*' at index \d+, not 'Other'"):
        kompute_device.KomputeDevice(wrong, index, in_place=True)
    with pytest.raises(DeviceError, match="could not open device 99"):
        kompute_device.KomputeDevice(physical, 99, in_place=True)


def test_devices_that_kp_cannot_see_are_refused(device, monkeypatch):
    physical, _ = kompute_device.find_device(device)
    hidden = replace(physical, extensions=physical.extensions | {"VK_KHR_portability_subset"})
    second = replace(physical, info=replace(device, index=1))
    monkeypatch.setattr(kompute_device, "physical_devices", lambda: [hidden, second])
    with pytest.raises(UnsupportedError, match="portability"):
        kompute_device.find_device(device)
    # The hidden one takes no number in kp's list.
    assert kompute_device.find_device(second.info) == (second, 0)


FORK = """
    import os, signal, sys, threading, warnings
    warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of fork with threads: lavapipe has some
    from restride.errors import DeviceLost
    from restride.runtime import instance, open_runtime
    runtime = open_runtime(None, "kompute")
    memory = runtime.allocate(64)
    runtime.write(memory, 0, memoryview(b"parent"))
    sys.stdout.flush()
    # Another thread is in the middle of every lock.
    locks = [runtime._lock.raw, instance._lock, *(heap._lock for heap, _ in runtime._pool.heaps)]
    held, done = threading.Event(), threading.Event()
    def hold():
        for lock in locks:
            lock.acquire()
        held.set()
        done.wait()
        for lock in locks:
            lock.release()
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        lost = 0
        calls = [
            lambda: runtime.allocate(16),
            lambda: runtime.write(memory, 0, memoryview(b"x")),
            lambda: runtime.read(memory, 0, memoryview(bytearray(1))),
            lambda: runtime.submit([], [memory]),
            runtime.wait,
            runtime.counters,
            lambda: open_runtime(None, "kompute"),
        ]
        for call in calls:
            try:
                call()
            except DeviceLost as error:
                lost += "fork" in str(error)
        del memory
        runtime.close()
        sys.exit(10 + lost)  # a whole interpreter exit: destructors run
    _, status = os.waitpid(child, 0)
    done.set()
    thread.join()
    out = bytearray(6)
    runtime.read(memory, 0, memoryview(out))
    print(os.waitstatus_to_exitcode(status), out.decode())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_after_fork_the_child_is_told_at_once_and_ends_and_the_parent_works(device):
    del device
    done = run_python(FORK)
    assert (done.returncode, done.stdout.strip()) == (0, "17 parent"), done.stderr


def test_a_process_that_never_closes_ends_well(device):
    del device
    done = run_python("""
        import logging
        from restride.runtime import open_runtime
        runtime = open_runtime(None, "kompute")
        memory = runtime.allocate(64)
        kept = [runtime, memory]
        kept.append(kept)
        # A second one that is dropped while its memory lives.
        other = open_runtime(None, "kompute").allocate(64)
        assert not logging.getLogger().handlers, "kp's import changed how the program logs"
        print("done")
    """)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "done", "")
