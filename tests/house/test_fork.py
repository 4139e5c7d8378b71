"""A fork: the child gets DeviceLost at once, whatever it asks, and the parent works on."""

import sys

import pytest
from support import runtime_process
from support.runtime_process import passes

kernels = runtime_process.kernels

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no fork on Windows")


CALLS = {
    "allocate": "device.allocate(16)",
    "submit": "device.submit([slow()], [memory])",
    "submit nothing": "device.submit([], [])",
    "read": "device.read(memory, 0, memoryview(bytearray(16)))",
    "write": "device.write(memory, 0, memoryview(bytes(16)))",
    "wait": "device.wait()",
    "counters": "device.counters()",
    "open": "open_device()",
    "list": "runtime.list_devices()",
}


@pytest.mark.parametrize("staging", [False, True], ids=["in-place", "staging"])
def test_a_fork_while_other_threads_hold_every_lock(kernels, staging):
    out = passes(
        f"""
        from restride.runtime import instance
        calls = {CALLS}
        device = open_device(staging={staging})
        memory, other = device.allocate(4 * 8192), device.allocate(16)
        device.submit([slow()] * 2, [memory])
        session = device._session
        budgets = [pool.chunks.budget._lock for pool in session.blocks.pools]
        held = [session._lock.raw, *budgets, instance._lock]
        held = list({{id(lock): lock for lock in held}}.values())
        for lock in held:
            lock.acquire()
        def asks(call):
            global device, session, memory, other
            error = lost(lambda: eval(call))
            assert "fork" in str(error) and 'multiprocessing_context="spawn"' in str(error), error
            other.free()
            del memory
            gc.collect()
            device.close()
            del device, session, other
            gc.collect()
            sys.exit(0)
        for name, call in calls.items():
            print(name, exit_code_of_child(lambda: asks(call)), flush=True)  # or a child repeats it
        for lock in held:
            lock.release()
        device.wait()
        """,
        kernels,
    )
    assert out.splitlines() == [f"{name} 0" for name in CALLS]


def test_a_fork_while_another_thread_opens_the_first_device():
    out = passes(
        """
        from restride.runtime import instance
        instance._lock.acquire()  # as the thread does that makes the instance
        print(exit_code_of_child(lambda: sys.exit(lost(runtime.list_devices) is None)))
        instance._lock.release()
        runtime.list_devices()
        """
    )
    assert out == "0\n"


def test_forks_while_threads_work(kernels):
    out = passes(
        """
        device = open_device()
        memory = device.allocate(4 * 8192)
        stop = threading.Event()
        def work():
            while not stop.is_set():
                device.submit([slow(rounds=1)], [device.allocate(4 * 8192)])
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(0.1)
        read = lambda: device.read(memory, 0, memoryview(bytearray(16)))
        codes = [exit_code_of_child(lambda: lost(read)) for _ in range(10)]
        stop.set()
        for thread in threads:
            thread.join()
        print(codes)
        """,
        kernels,
    )
    assert out == f"{[0] * 10}\n"


def test_a_child_opens_its_own_device_if_the_parent_had_none(kernels):
    out = passes(
        """
        def opens():
            device, memory = busy(1)
            device.wait()
            sys.exit(0)
        print(exit_code_of_child(opens))
        """,
        kernels,
    )
    assert out == "0\n"
