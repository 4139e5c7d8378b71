"""Opening and ending: exit, close, interrupts, no loader, no driver."""

import sys

import numpy as np
import pytest
from support import runtime_process
from support.runtime_process import passes, run
from support.spirv_kernels import compile_kernels

from restride.kernel import Binding, KernelSpec
from restride.runtime.vulkan.runtime import VulkanRuntime

pytestmark = pytest.mark.slow

kernels = runtime_process.kernels


def test_exit_without_close_is_quiet(kernels):
    passes(
        """
        device, memory = busy(4)
        other = open_device(staging=True)
        kept = other.allocate(100)
        """,
        kernels,
    )


def test_exit_with_work_past_the_limit_is_quiet(kernels):
    passes(
        """
        device, memory = busy(20, timeout=0.01)
        """,
        kernels,
    )


def test_exit_in_the_middle_of_an_exception_is_quiet(kernels):
    done = run(
        """
        device, memory = busy(1)
        raise SystemExit(7)
        """,
        kernels,
    )
    assert (done.returncode, done.stderr) == (7, "")


def test_devices_open_and_close_many_times(kernels):
    source = compile_kernels(kernels)
    for index in range(20):
        device = VulkanRuntime(0, module_source=source, staging=bool(index % 2))
        memory = device.allocate(64)
        bindings = (Binding(0, 64, writes=True),)
        device.write(memory, 0, memoryview(bytes(64)))
        device.submit([KernelSpec("bump", (), (16, index), b"", (1, 1, 1), bindings)], [memory])
        out = np.empty(16, np.uint32)
        device.read(memory, 0, memoryview(out))
        assert (out == index).all()
        if index % 3:
            device.close()


def test_close_while_another_thread_waits(kernels):
    out = passes(
        """
        device, memory = busy(8)
        seen = []
        def wait():
            try:
                device.wait()
                seen.append("finished")
            except DeviceLost:
                seen.append("lost")
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.05)
        device.close()
        thread.join()
        print(seen[0] in ("finished", "lost"))
        """,
        kernels,
    )
    assert out == "True\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a timer signal")
def test_an_interrupt_ends_a_wait_and_harms_nothing(kernels):
    out = passes(
        """
        device, memory = busy(8)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            device.wait()
        except KeyboardInterrupt:
            print(device._session.queue.poll() < device._session.queue.submitted)
        device.wait()
        device.close()
        """,
        kernels,
    )
    assert out == "True\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a timer signal")
def test_an_interrupted_close_is_heard_soon_and_the_next_one_closes(kernels):
    out = passes(
        """
        from restride.runtime.instance import open_devices
        device, memory = busy(8)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            device.close()
        except KeyboardInterrupt:
            print(device._session.queue.poll() < device._session.queue.submitted)
        try:
            device.wait()
        except DeviceLost as error:
            print("was closed" in str(error))
        print(len(open_devices))
        device.close()
        print(len(open_devices))
        """,
        kernels,
    )
    assert out.split() == ["True", "True", "1", "0"]
