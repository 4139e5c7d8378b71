"""What conformance cases do not reach, under the validation layer: core, synchronization, practices, GPU-assisted.

    python tests/house/test_validation.py "vulkan, staging"

does the work that a test measures: every kernel, and operations that depend on each other, with staging and with narrow
bindings too. A process opens one runtime, because each new VkInstance begins the layer's log afresh. The cases are run
by `restride test --validate`. RESTRIDE_TEST_FULL=1: every mode and every device test, under every profile.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # where this file is a program
from support.devices import open_device
from support.sampled import FULL, sample
from support.validated_process import messages

import restride as rs
from restride.command.stopwatch import device_timer
from restride.runtime import DeviceInfo, Runtime, choose, list_devices
from restride.runtime.kompute.runtime import KomputeRuntime
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride_conformance.run.validation import PROFILES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]

MODES: dict[str, Callable[[DeviceInfo], Runtime]] = {
    "vulkan": VulkanRuntime,
    "vulkan, staging": lambda info: VulkanRuntime(info, staging=True),
    "vulkan, narrow bindings": lambda info: VulkanRuntime(info, max_buffer_range=4096),
    "kompute": KomputeRuntime,
    "kompute, staging": lambda info: KomputeRuntime(info, in_place=False),
}

DEVICE_TESTS = (
    "tensor/test_tensor.py",
    "tensor/test_arrays.py",
    "ops/test_reorder.py",
    "ops/test_resample.py",
    "house/test_bad_input.py",
    "house/test_large.py",
)


def open_mode(mode: str) -> rs.Device:
    """A device on the runtime of a mode; for a process of its own."""
    return rs.Device.over(MODES[mode](choose(list_devices())))


def check(actual: rs.Tensor, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(actual.numpy(), expected)


def every_kernel(device: rs.Device) -> None:
    for dtype in (np.uint8, np.float16, np.float32, np.float64):
        x = np.random.default_rng(1).integers(0, 100, (3, 40, 64)).astype(dtype)[:, ::-1]
        tensor = rs.asarray(x, device=device)
        check(tensor, x)
        check(rs.reorder(tensor, "ABC->CBA"), x.transpose(2, 1, 0))
        check(rs.reorder(tensor[..., ::2]), x[..., ::2])
        padded = rs.from_buffer(bytes(9000 * x.itemsize), rs.TensorDesc(x.dtype, x.shape, (2801, 70, 1), 3), device)
        check(rs.reorder(tensor, out=padded), x)
        resized = (50, 31)
        check(rs.resample(tensor, resized, mode="nearest"), rs.reference.resample(x, resized, mode="nearest"))
        if dtype != np.float64:
            lowest, highest = rs.reference.resample_limits(x, resized)
            result = rs.resample(tensor, resized).numpy()
            assert ((lowest <= result) & (result <= highest)).all()
    x = np.arange(30, dtype=np.uint8).reshape(5, 2, 3)
    check(rs.reorder(x, out=rs.from_buffer(bytes(90), rs.TensorDesc("u8", x.shape, (7, 1, 19), 2), device)), x)
    records = np.zeros((4, 5), np.dtype([("a", "u1"), ("b", "<f4")]))
    records["b"] = np.arange(20).reshape(4, 5)
    check(rs.asarray(records["b"], device=device), records["b"])


def dependent_chain(device: rs.Device) -> None:
    """Two buffers and nothing that waits: each dispatch reads what one before wrote, or writes what one before read."""
    x = np.arange(2000, dtype=np.float32).reshape(40, 50)
    one, two = rs.asarray(x, device=device), rs.empty(rs.TensorDesc("f32", (40, 50)), device)
    for _ in range(12):
        rs.reorder(one[::-1], out=two)
        rs.resample(two[:, ::-1], (40, 50), mode="nearest", out=one)
        rs.reorder(two[:20], out=two[20:])
        rs.reorder(two[:, 25:], out=one[:, 25:])
        flipped = x[::-1].copy()
        x = flipped[:, ::-1].copy()
        flipped[20:] = flipped[:20].copy()
        x[:, 25:] = flipped[:, 25:]
    check(one, x)


def measured(device: rs.Device) -> None:
    """The device's clock."""
    x = rs.asarray(np.ones((40, 50), np.float32), device=device)
    assert device_timer(device, lambda: rs.reorder(x, "AB->BA"))() > 0


def work(mode: str, *, barriers: bool = True) -> None:
    with open_mode(mode) as device:
        if not barriers:
            device.runtime._session.queue.hazards.conflict = lambda _: False
            with device.batch():  # the layer sees hazards within a command buffer; an idle device is given each at once
                dependent_chain(device)
            return
        every_kernel(device)
        dependent_chain(device)
        if mode == "vulkan":
            measured(device)


def modes_of(profile: str) -> list[str]:
    """GPU-assisted validation compiles every module for a second or two, and modes have their modules in common."""
    if profile == "gpu":
        return sample(MODES, 1)
    # Practices are those of sync and more, and ours: kp allocates 16 bytes at a time.
    return [mode for mode in MODES if profile == "core" or (profile == "practices") != ("kompute" in mode)]


@pytest.mark.parametrize(
    ("profile", "mode"),
    [(profile, mode) for profile in PROFILES for mode in modes_of(profile)],
)
def test_no_message(profile, mode):
    open_device(mode.split(",")[0]).close()
    # Mesa 25's lavapipe compiles the modules of GPU-assisted validation for minutes, 22.3's in a quarter of that.
    assert messages([__file__, mode], profile, timeout=1200) == []


@pytest.mark.usefixtures("vulkan_device")
def test_a_missing_barrier_between_two_operations_is_caught():
    found = messages([__file__, "vulkan", "without barriers"], "sync")
    assert found
    assert all("SYNC-HAZARD" in message for message in found)


if FULL:

    @pytest.mark.parametrize("runtime", ["vulkan", "kompute"])
    @pytest.mark.parametrize("profile", ["core", "sync", "gpu"])
    def test_no_message_from_any_device_test(profile, runtime):
        open_device(runtime).close()
        files = [str(ROOT / "tests" / name) for name in DEVICE_TESTS]
        chosen = "kompute" if runtime == "kompute" else "not kompute"
        command = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", chosen, *files]
        assert messages(command, profile, timeout=7200, environment={"RESTRIDE_TEST_FULL": "0"}) == []


if __name__ == "__main__":
    work(sys.argv[1], barriers="without barriers" not in sys.argv)
