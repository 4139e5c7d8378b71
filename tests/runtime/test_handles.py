"""restride on a VkDevice that a C library made: same results and costs, nothing of the library's is destroyed."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.beside import SHARING, YourDevice, built, your_device
from support.instructions import instructions
from support.validated_process import messages

import restride as rs
from restride.runtime import choose, heap, list_devices
from restride.runtime.handles import HOST_IMPORT
from restride.runtime.heap import shared_budget
from restride.runtime.loader import binding

X = np.random.default_rng(3).standard_normal((5, 61, 37)).astype(np.float32)


def name_of_device():
    return choose(list_devices()).name


@pytest.fixture
def yours():
    with your_device(name_of_device(), ()) as made:
        yield made


@contextmanager
def sharing(*extensions):
    """A device of the library's with these extensions, and restride's on it."""
    needed = {name for name, _ in rs.device_requirements().optional_extensions}
    with rs.Device(runtime="vulkan") as own:
        if not {*extensions} <= own.runtime._session.device.physical.extensions & needed:
            pytest.skip(f"{own.info.name} has not all of {extensions}")
    with your_device(name_of_device(), extensions) as yours, rs.Device(**yours.handles) as device:
        yield yours, device


def in_place(device):
    """Whether the device works in the host's memory, as ``copy=False`` needs."""
    return device.info.kind in ("cpu", "integrated")


def work(device):
    """Results of some operations, as bytes."""
    x = rs.asarray(X, device=device)
    with device.batch():
        results = [rs.reorder(x[:, ::-2].permute(2, 0, 1), "ABC->ABC") for _ in range(3)]
    results += [rs.resample(x, (50, 41), axes=(1, 2)), rs.reorder(x, dtype="u8"), rs.reorder(x, "{2,1,0:T(8,128)}")]
    return [result.numpy().tobytes() for result in results]


class Lock:
    """A lock that knows how often it was entered, and is not entered twice."""

    def __init__(self):
        self.entered, self.is_held, self.lock = 0, False, threading.Lock()

    def __enter__(self):
        self.lock.acquire()
        self.entered += 1
        self.is_held = True

    def __exit__(self, *_):
        self.is_held = False
        self.lock.release()


def test_what_is_required_suffices_and_gives_the_same_results(yours):
    """No feature and no extension is enabled on the device."""
    needed = rs.device_requirements()
    assert (needed.features, needed.extensions) == ((), ())
    with rs.Device(**yours.handles) as device, rs.Device(runtime="vulkan") as own:
        assert device.info.name == own.info.name
        assert work(device) == work(own)
        with pytest.raises(rs.UnsupportedError, match=f"your VkDevice was created without {SHARING}"):
            rs.empty("f32[3]", device, shareable=True)
        without = f"your VkDevice was created without {HOST_IMPORT}" if in_place(device) else "has memory of its own"
        with pytest.raises(rs.UnsupportedError, match=without):
            rs.asarray(X, device=device, copy=False)


def test_the_optional_extensions_do_what_the_requirements_say():
    with sharing(SHARING, HOST_IMPORT) as (_, device):
        if in_place(device):
            assert rs.asarray(X, device=device, copy=False).numpy().tobytes() == X.tobytes()
        tensor = rs.empty("f32[5,61,37]", device, shareable=True)
        tensor[...] = X
        with tensor.export() as exported:
            assert rs.import_memory(exported, device=device).numpy().tobytes() == X.tobytes()


def test_the_program_goes_on_with_what_restride_wrote():
    """Its buffer lies in the middle of an allocation; restride writes it, the program's own submission follows."""
    with sharing(SHARING) as (yours, device):
        fields = yours.share(64 * 64 * 4)
        try:
            out = rs.import_memory(**fields, desc="f32[64,64]", device=device)
        finally:
            os.close(fields["fd"])
        x = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
        rs.reorder(rs.asarray(x, device=device).permute(1, 0), out=out)
        device.wait()
        assert yours.sum() == x.sum(dtype=np.float64) - x[-1, -1] + 7
        expected = x.T.copy()
        expected[-1, -1] = 7
        assert np.array_equal(out.numpy(), expected)
        rs.reorder(rs.asarray(-x, device=device), out=out)
        del out
        device.close()
        assert yours.sum() == -x.sum(dtype=np.float64) + x[-1, -1] + 7, "the program's device stays"


def test_a_device_of_yours_is_opened_again_and_by_several(yours):
    for _ in range(3):
        with rs.Device(**yours.handles, memory_limit="64MiB", timeout=20) as one, rs.Device(**yours.handles) as two:
            assert work(one) == work(two)


def test_the_lock_is_held_at_each_submission_and_at_no_other_time(yours, monkeypatch):
    lock = Lock()
    with rs.Device(**yours.handles, lock=lock) as device:
        queue, held = device.runtime._session.queue, []
        real = queue._hand_over
        monkeypatch.setattr(queue, "_hand_over", lambda *given: (held.append(lock.is_held), real(*given))[1])
        work(device)
        assert not lock.is_held
        assert held == [True] * lock.entered
        assert device.counters().submissions == lock.entered > 0


def test_a_submission_waits_while_the_program_has_the_lock(yours):
    lock, done = threading.Lock(), threading.Event()
    with rs.Device(**yours.handles, lock=lock) as device:
        x = rs.asarray(X, device=device)
        submitted = device.counters().submissions

        def start():
            rs.reorder(x.permute(2, 1, 0), "ABC->ABC")
            done.set()

        thread = threading.Thread(target=start)
        with lock:
            thread.start()
            assert not done.wait(0.2)
            assert device.runtime._session.queue.submitted == submitted
        thread.join(60)
        assert done.is_set()
        assert device.counters().submissions == submitted + 1


def test_a_lock_that_raises_starts_nothing_and_breaks_nothing(yours):
    class Broken(Lock):
        breaks = False

        def __enter__(self):
            if self.breaks:
                raise RuntimeError("no")
            super().__enter__()

    lock = Broken()
    with rs.Device(**yours.handles, lock=lock) as device:
        x, before = rs.asarray(X, device=device), work(device)
        lock.breaks = True
        with pytest.raises(RuntimeError, match="no"):
            rs.reorder(x.permute(2, 1, 0), "ABC->ABC")
        lock.breaks = False
        assert work(device) == before


def test_a_lock_that_raises_as_a_batch_is_handed_over_loses_nothing_of_it(yours):
    """What is recorded stays marked as used, so a read waits for it and its memory is not given to others."""

    class Interrupted(Lock):
        breaks = False

        def __enter__(self):
            if self.breaks:
                self.breaks = False
                raise KeyboardInterrupt
            super().__enter__()

    lock = Interrupted()
    with rs.Device(**yours.handles, lock=lock) as device:
        x, out = rs.asarray(X, device=device), rs.asarray(np.zeros_like(X), device=device)
        device.wait()
        with device.batch():
            rs.reorder(x[::-1], out=out)
            lock.breaks = True
            with pytest.raises(KeyboardInterrupt):
                out.numpy()
            queue = device.runtime._session.queue
            assert out.memory.block.written == x.memory.block.used == queue.last == queue.submitted + 1
            assert np.array_equal(out.numpy(), X[::-1])
        assert np.array_equal(out.numpy(), X[::-1])


def test_what_the_device_has_stays_submitted_if_the_lock_then_raises(yours):
    """Alone and in a batch: an error as the lock is left, a DeviceError too, takes no submission back."""

    class Late(Lock):
        error: BaseException | None = None

        def __exit__(self, *details):
            super().__exit__(*details)
            if self.error is not None:
                raise self.error

    lock = Late()
    with rs.Device(**yours.handles, lock=lock) as device:
        x, out = rs.asarray(X, device=device), rs.asarray(np.zeros_like(X), device=device)
        queue = device.runtime._session.queue
        for error in (rs.DeviceError("late"), KeyboardInterrupt()):
            for context in (nullcontext, device.batch):
                device.wait()
                submitted = queue.submitted
                with suppress(type(error)), context():
                    lock.error = error
                    rs.reorder(x[::-1], out=out)
                    device.wait()
                lock.error = None
                assert queue.submitted == submitted + 1
                assert out.memory.block.written == queue.submitted
                assert np.array_equal(out.numpy(), X[::-1])


def test_closing_says_that_work_still_uses_a_device_of_yours(yours, monkeypatch):
    device = rs.Device(**yours.handles)
    monkeypatch.setattr(device.runtime._session.queue, "drain", lambda _timeout: False)
    with pytest.raises(rs.DeviceTimeout, match="still uses your VkDevice"):
        device.close()


def test_devices_on_one_queue_without_a_lock_take_turns(yours):
    with rs.Device(**yours.handles) as one, rs.Device(**yours.handles) as two, rs.Device() as own:
        locks = [each.runtime._session.device.lock for each in (one, two, own)]
    assert locks[0] is locks[1] is not locks[2]


def test_closing_a_lost_device_of_yours_waits_for_its_queue_alone(yours):
    """vkDeviceWaitIdle would need all queues of the device to itself, and the lock is of one."""
    lock, calls = Lock(), []
    device = rs.Device(**yours.handles, lock=lock)
    x = rs.asarray(X, device=device)
    rs.reorder(x.permute(2, 1, 0), "ABC->ABC")
    functions = device.runtime._session.queue._vk
    for name in ("vkDeviceWaitIdle", "vkQueueWaitIdle"):
        real = getattr(functions, name)

        def spy(handle, name=name, real=real):
            calls.append((name, lock.is_held))
            return real(handle)

        setattr(functions, name, spy)
    device.runtime._session.device._lost()
    device.close()
    assert calls == [("vkQueueWaitIdle", True)]


FORK = """
import os, signal
import numpy as np
import restride as rs
from support.beside import YourDevice

yours = YourDevice({name!r}, ())
device = rs.Device(**yours.handles)
x = rs.asarray(np.arange(4, dtype=np.int32), device=device)
x.numpy()
for call in (x.numpy, rs.devices, rs.Device, lambda: rs.Device(**yours.handles)):
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)  # a hang is a death by signal 14
        try:
            call()
        except rs.DeviceLost as error:
            os._exit(0 if "fork" in str(error) else 2)
        except BaseException:
            os._exit(3)
        os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
device.close()
yours.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on Windows")
def test_a_fork_of_a_process_with_only_a_device_of_yours_is_noticed():
    """There restride has made no instance of its own."""
    built("your_device")
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    command = [sys.executable, "-c", FORK.format(name=name_of_device())]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout.split(), done.returncode) == (["0"] * 4, 0), done.stderr


def test_a_call_costs_what_it_costs_on_a_device_of_ours(yours):
    costs = []
    with rs.Device(runtime="vulkan") as first, rs.Device(runtime="vulkan") as own, rs.Device(**yours.handles) as device:
        # The first call of all makes the plan, whose key the other devices compare with theirs.
        for each in (first, own, device):
            x = rs.asarray(X, device=each)
            out = rs.reorder(x, "ABC->CBA")
            gc.collect()
            gc.disable()
            counts = []
            for _ in range(4):
                before = each.counters()
                counts.append(instructions(lambda x=x, out=out: rs.reorder(x, "ABC->CBA", out=out)))
                each.wait()
                after = each.counters()
            gc.enable()
            costs.append((min(counts), after.submissions - before.submissions, after.barriers - before.barriers))
    assert costs[1] == costs[2]


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"queue": None}, rs.DescriptorError, r"needs all of instance, .*; missing: \['queue'\]"),
        ({"instance": 0}, rs.DescriptorError, "instance must be the address of a handle, as an integer, got 0"),
        ({"queue": -1}, rs.DescriptorError, "queue must be the address of a handle, as an integer, got -1"),
        ({"device": 1 << 64}, rs.DescriptorError, "device must be the address of a handle"),
        ({"device": "7"}, rs.DescriptorError, "device must be an integer, got '7'"),
        ({"queue_family": -1}, rs.DescriptorError, "queue_family must be the number of a queue family, got -1"),
        ({"queue_family": 99}, rs.DescriptorError, r"queue_family 99 is not there: the device has families 0 to \d"),
        ({"physical_device": 16}, rs.DescriptorError, "the instance has no physical device 0x10"),
        ({"lock": 5}, rs.DescriptorError, r"lock must be a context manager, such as threading\.Lock\(\), got 5"),
        ({"lock": threading.Lock}, rs.DescriptorError, "lock must be a context manager, such as"),
        (
            {"lock": SimpleNamespace(__enter__=1, __exit__=2)},
            rs.DescriptorError,
            "lock must be a context manager, such",
        ),
        ({"lock": sharing()}, rs.DescriptorError, "can be entered again and again, such as .* can be entered once"),
        (
            {"instance": 16, "device": 16},
            rs.DescriptorError,
            "instance and device are both 0x10, but two handles have two",
        ),
        ({"selector": 0}, rs.DescriptorError, "a VkDevice of yours determines device and runtime: leave out selector"),
        ({"runtime": "kompute", "manager": 5}, rs.DescriptorError, "leave out manager, runtime"),
        ({"timeout": 0}, rs.DescriptorError, "timeout must be positive"),
        ({"memory_limit": 0}, rs.DescriptorError, "memory_limit must be above 0 bytes, got 0"),
    ],
)
def test_handles_that_cannot_be_right_are_refused_by_name(change, error, match, yours):
    with pytest.raises(error, match=match):
        rs.Device(**{**yours.handles, **change})
    with rs.Device(**yours.handles, runtime="vulkan") as device:
        assert device.info.name == name_of_device()


def test_a_device_of_yours_shares_the_budget_of_its_gpu_and_is_no_number_of_a_list(yours):
    """Its instance may list other devices, or in another order, than restride's."""
    with rs.Device(runtime="vulkan") as own, rs.Device(**yours.handles) as device:
        budgets = [each.runtime._session.blocks.pool.chunks.budget for each in (own, device)]
        assert budgets[0] is budgets[1]
        assert device.info == replace(own.info, index=-1, heap_left=device.info.heap_left, limits=device.limits)
        assert repr(device).startswith(f"<restride.Device of yours: {own.info.name}, ")


def test_a_device_at_the_place_of_another_has_the_budget_of_its_own_gpu(yours):
    with rs.Device(**yours.handles) as device:
        physical = device.runtime._session.device.physical
        other = replace(physical, info=replace(physical.info, uuid="0" * 32))
        assert shared_budget(other, 0) is not shared_budget(physical, 0)
        del heap._budgets["0" * 32, physical.driver_uuid, 0]


def test_the_requirements_are_a_value():
    needed = rs.device_requirements()
    for same in (copy.deepcopy(needed), pickle.loads(pickle.dumps(needed))):
        assert (same, hash(same)) == (needed, hash(needed))


def test_a_queue_that_cannot_compute_is_refused_by_name(yours, monkeypatch):
    monkeypatch.setattr(binding(), "VK_QUEUE_COMPUTE_BIT", 1 << 20)
    with pytest.raises(rs.UnsupportedError, match="queue_family 0 has no VK_QUEUE_COMPUTE_BIT"):
        rs.Device(**yours.handles)


def test_tensors_that_outlive_a_closed_device_are_dropped_after_yours_is_gone():
    yours = YourDevice(name_of_device(), ())
    device = rs.Device(**yours.handles)
    x = rs.asarray(X, device=device)
    y = rs.reorder(x.permute(2, 1, 0), "ABC->ABC")
    device.close()
    yours.close()
    with pytest.raises(rs.DeviceLost, match="was closed"):
        y.numpy()
    del x, y, device
    gc.collect()


PROGRAM = """
import os, threading
import numpy as np
import restride as rs
from support.beside import SHARING, your_device

x = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
with your_device(rs.devices()[0].name, (SHARING,)) as yours:
    for _ in range(2):
        lock = threading.Lock()
        fields = yours.share(x.nbytes)
        with rs.Device(**yours.handles, lock=lock) as device:
            out = rs.import_memory(**fields, desc="f32[64,64]", device=device)
            os.close(fields["fd"])
            source = rs.asarray(x, device=device)
            rs.reorder(source.permute(1, 0), out=out)
            device.wait()

            def calls():
                for _ in range(20):
                    rs.reorder(source.permute(1, 0), "AB->AB").numpy()

            thread = threading.Thread(target=calls)
            thread.start()
            for _ in range(20):
                with lock:
                    assert yours.sum() == x.sum(dtype=np.float64) - x[-1, -1] + 7
            thread.join()
            shared = rs.empty("f32[64,64]", device, shareable=True)
            shared[...] = x
            with shared.export() as exported:
                assert (rs.import_memory(exported, device=device).numpy() == x).all()
        yours.free()
    del out, source, shared
"""


@pytest.mark.parametrize("profile", ["core", "sync"])
def test_the_validation_layer_has_nothing_to_say(profile):
    """Neither of restride beside a program's own submissions in another thread, nor of what is left at the end."""
    with sharing(SHARING):
        pass
    tests = Path(__file__).resolve().parents[1]
    assert messages(["-c", PROGRAM], profile, environment={"PYTHONPATH": str(tests)}) == []
