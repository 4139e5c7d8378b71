"""Drivers that fail: the double of the loader itself, faults of the past, and a sample of all faults."""

from dataclasses import replace

import injection
import numpy as np
import pytest
import vulkan_double
from scenarios import SCENARIOS
from support.devices import open_device
from support.sampled import SEED
from work import KINDS

import restride as rs
from restride.runtime import RUNTIMES, choose, instance, list_devices
from restride.runtime.loader import result_name
from restride.runtime.vulkan.generated import ffi
from restride_conformance.record import Verdict
from restride_conformance.run.process import WorkerDied


@pytest.fixture(scope="module")
def worker():
    injector = injection.Injector()
    with injector.worker:
        yield injector


@pytest.fixture
def double(monkeypatch):
    with vulkan_double.VulkanDouble() as double:
        monkeypatch.setattr(instance, "_instance", None)  # keep the process's own for other tests' devices
        yield double
        instance.instance().destroy()
        monkeypatch.undo()


def reordered(device, values=6):
    return rs.reorder(rs.asarray(np.arange(values, dtype=np.float32), device=device)[::-1], "A->A")


def injected(worker, scenario, function, fault):
    """The outcome of ``fault`` at the last call of ``function`` in a scenario with such a call."""
    calls = worker.run(injection.Injection(scenario, 0, "none", "")).calls
    for position in [place + 1 for place, name in enumerate(calls) if name == function][::-1]:
        outcome = worker.run(injection.Injection(scenario, position, function, fault))
        if outcome.fired:
            return outcome
    raise AssertionError(f"{scenario} has no call of {function} that {fault} fits")


def test_the_codes_have_their_names_in_errors(double):
    for code in {code for codes in vulkan_double.RESULTS.values() for code in codes if code.startswith("VK_ERROR_")}:
        assert double.code_of(code) < 0
        assert result_name(double.code_of(code)) == code
    for name in vulkan_double.RESULTS:
        assert ffi.typeof(f"PFN_{name}").result == ffi.typeof("VkResult")


def test_every_function_that_can_fail_is_in_the_table(double):
    with rs.Device(runtime="vulkan") as device:
        KINDS["batch"](device).run()
    can_fail = ffi.typeof("VkResult")
    resolved = set(double.calls) - set(vulkan_double.RESOLVERS)
    called = {name for name in resolved if ffi.typeof(f"PFN_{name}").result == can_fail}
    assert called <= set(vulkan_double.RESULTS)
    assert {"vkCreateBuffer", "vkQueueSubmit", "vkAllocateDescriptorSets"} <= called


def test_the_double_counts_and_fails_the_call_it_is_told_to(double):
    with rs.Device(runtime="vulkan") as device:
        reordered(device).numpy()
        double.arm(4, "VK_ERROR_MEMORY_MAP_FAILED")
        with pytest.raises(rs.DeviceError, match="vkMapMemory failed with VK_ERROR_MEMORY_MAP_FAILED"):
            device.runtime.allocate(1 << 20)
        names = ["vkCreateBuffer", "vkGetBufferMemoryRequirements", "vkAllocateMemory", "vkMapMemory"]
        assert double.calls[:4] == names
        double.disarm()
        alive = double.leaked()
        assert (alive["Device"], alive["Pipeline"], alive["Fence"]) == (1, 1, 1)
    assert not double.leaked()
    assert not double.misuses


def test_the_double_sees_objects_that_are_destroyed_too_soon_or_never(double, monkeypatch):
    double.lazy = True
    device = rs.Device(runtime="vulkan")
    session = device.runtime._session
    session.device.create("Fence")  # never destroyed
    result = reordered(device)
    # Wait without the double, because the driver might crash otherwise.
    monkeypatch.setattr(
        session.queue, "drain", lambda _: not double.call_uncounted("vkDeviceWaitIdle", session.device.handle)
    )
    device.close()
    assert double.misuses[0] == "destroys a fence that the device may still signal"
    assert double.leaked() == {"Fence": 1}
    del result


def test_a_device_without_memory_is_refused_and_others_are_chosen(worker):
    outcome = injected(worker, "open", "vkGetPhysicalDeviceMemoryProperties", "none")
    assert (outcome.error, outcome.violations) == ("UnsupportedError", [])
    present = list_devices()[0]
    empty = replace(present, index=present.index + 1, kind="discrete", heap_bytes=0, name="Null hardware")
    assert choose([empty, present]) is present
    assert choose([empty, present], "null") is empty, "a device that is asked for is never another"


def test_a_lost_device_is_idle_before_it_is_destroyed(double):
    double.lazy = True
    device = rs.Device(runtime="vulkan")
    results = [reordered(device, 5 + number) for number in range(3)]
    double.arm(1, vulkan_double.LOST)  # vkGetFenceStatus, while three submissions are unfinished
    with pytest.raises(rs.DeviceLost):
        device.wait()
    double.arm()
    device.close()
    assert double.calls[0] == "vkGetDeviceProcAddr"
    assert double.calls[1] == "vkDeviceWaitIdle"
    assert not double.misuses
    assert not double.leaked()
    del results


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_batch_on_a_closed_device_is_refused(runtime):
    device = open_device(runtime)
    device.close()
    with pytest.raises(rs.DeviceLost, match="was closed; make a new Device"), device.batch():
        pass


@pytest.mark.parametrize(
    ("scenario", "function", "fault", "errors"),
    [
        ("open", "vkEnumerateDeviceExtensionProperties", "endless", {"DeviceError"}),
        ("open", "vkEnumeratePhysicalDevices", "VK_INCOMPLETE for ever", {"DeviceNotFound"}),
        ("open", "vkCreateDevice", "null", {"DeviceError"}),
        ("open", "vkGetDeviceQueue", "null", {"DeviceError"}),
        ("upload and download", "vkMapMemory", "null", {"DeviceError"}),
        ("reorder", "vkCreateComputePipelines", "null", {"DeviceError"}),
        ("reorder", "vkAllocateDescriptorSets", "VK_ERROR_FRAGMENTED_POOL", {"DeviceError"}),
        ("reorder of a run into padding", "vkQueueSubmit", "VK_ERROR_UNKNOWN", {"DeviceError"}),
        ("timed", "vkWaitForFences", "VK_ERROR_OUT_OF_HOST_MEMORY", {"OutOfDeviceMemory"}),
        ("close with work in flight", "vkWaitForFences", "VK_ERROR_OUT_OF_HOST_MEMORY", {""}),
        ("close and store the pipeline cache", "vkGetPipelineCacheData", "endless", {""}),
    ],
)
def test_past_faults_of_drivers_are_errors(worker, scenario, function, fault, errors):
    outcome = injected(worker, scenario, function, fault)
    assert outcome.violations == []
    assert outcome.error in errors


def test_kompute_readies_all_kernels_before_it_runs_the_first(worker):
    open_device("kompute").close()
    outcome = injected(worker, "kompute: reorder to tiles", "algorithm", "RuntimeError")
    assert (outcome.error, outcome.violations) == ("DeviceError", [])


@pytest.mark.parametrize("function", ["is_init", "data", "tensor_type"])
def test_kompute_has_typed_errors_of_questions_too(worker, function):
    open_device("kompute").close()
    outcome = injected(worker, "kompute: reorder of a run into padding", function, "RuntimeError")
    assert (outcome.error, outcome.violations) == ("DeviceError", [])


@pytest.mark.parametrize(("verdict", "what"), [(Verdict.CRASHED, "crash"), (Verdict.TIMEOUT, "hang")])
def test_a_worker_that_crashes_or_is_silent_is_a_violation(monkeypatch, verdict, what):
    """A hang is one only if the same fault hangs twice."""
    calls = []

    def died(_worker, *call):
        calls.append(call)
        raise WorkerDied(verdict, "as told")

    monkeypatch.setattr(injection.Worker, "call", died)
    outcome = injection.Injector().run(injection.Injection("open", 1, "vkCreateInstance", "null"))
    assert [violation.split(":")[0] for violation in outcome.violations] == [what]
    assert len(calls) == (2 if what == "hang" else 1)


def test_a_sample_of_all_faults():
    tally = injection.inject_all(sample=30, seed=SEED)
    assert not any(tally.wrong.values()), tally.wrong
    assert tally.injections >= 15
    assert len(SCENARIOS) >= 40


@pytest.mark.parametrize("scenario", ["batch", "batch, lazy"])
@pytest.mark.parametrize("function", ["vkEndCommandBuffer", "vkQueueSubmit"])
def test_a_batch_that_cannot_be_handed_over_is_an_error_and_not_tried_in_part(worker, scenario, function):
    """The failure is at 16 dispatches, in the middle, where memory could be freed but 15 operations are lost."""
    calls = worker.run(injection.Injection(scenario, 0, "none", "")).calls
    positions = [place + 1 for place, name in enumerate(calls) if name == function]
    for position in positions:
        outcome = worker.run(injection.Injection(scenario, position, function, "VK_ERROR_OUT_OF_DEVICE_MEMORY"))
        assert not outcome.violations, (position, outcome)
