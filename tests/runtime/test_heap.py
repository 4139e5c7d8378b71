"""What a device may take of its memory, and what it gives back, on both runtimes."""

from __future__ import annotations

import numpy as np
import pytest
from support.devices import open_device

import restride as rs
from restride.runtime.instance import list_devices
from restride.runtime.interface import RuntimeName
from restride.runtime.vulkan.runtime import PIECE_BYTES, VulkanRuntime

MIB = 1 << 20
BOTH = pytest.mark.parametrize("runtime", ["vulkan", "kompute"])


def copies(runtime: RuntimeName) -> int:
    """The bytes that count for each byte of a tensor: kp keeps a twin on the host where a device has its own memory."""
    with open_device(runtime) as device:
        memory = device.runtime.allocate(4096)
        return device.counters().bytes_allocated // memory.nbytes if runtime == "kompute" else 1


def limited(runtime: RuntimeName, limit: int) -> rs.Device:
    """A device with room for tensors of ``limit`` bytes."""
    return rs.Device(runtime=runtime, memory_limit=limit * copies(runtime))


def number(text: str) -> str:
    return text.replace(",", "")


@BOTH
def test_a_device_takes_no_more_than_its_limit(runtime: RuntimeName) -> None:
    with limited(runtime, 8 * MIB) as device:
        most = 0
        for size in range(100, 950, 50):
            x = rs.asarray(np.full((size, size), size, np.float32), device=device)
            y = rs.reorder(x, "AB->BA")
            most = max(most, device.counters().bytes_allocated)
            assert (y.numpy() == size).all()
            del x, y
        assert 6 * MIB < most / copies(runtime) <= 8 * MIB, "the last and its result are 6.2 MiB"
        x = rs.asarray(np.zeros((1050, 1050), np.float32), device=device)
        with pytest.raises(rs.OutOfDeviceMemory, match="memory_limit"):
            rs.reorder(x, "AB->BA")
        x = rs.asarray(np.arange(6).reshape(2, 3), device=device)
        assert rs.reorder(x, "AB->BA").numpy().tolist() == [[0, 3], [1, 4], [2, 5]], "and it goes on"


@BOTH
def test_a_refusal_names_what_was_asked_what_is_in_use_and_the_limit(runtime: RuntimeName) -> None:
    with limited(runtime, 6 * MIB) as device:
        kept = rs.empty("u8[3145728]", device)
        with pytest.raises(rs.OutOfDeviceMemory) as caught:
            rs.empty("u8[4194304]", device)
        message = number(str(caught.value))
        assert "memory_limit" in message
        for nbytes in (4 * MIB, copies(runtime) * kept.desc.nbytes, copies(runtime) * 6 * MIB):
            assert f"{nbytes} " in message
        assert message.endswith("asked for u8[4194304]{0}")


@BOTH
def test_what_is_pooled_makes_room_before_a_limit_refuses(runtime: RuntimeName) -> None:
    with limited(runtime, 8 * MIB) as device:
        for size in (3 * MIB, 4 * MIB, 5 * MIB, 6 * MIB):
            x = rs.asarray(np.ones(size, np.uint8), device=device)
            if size < 4 * MIB:
                rs.reorder(x.reshape(2, size // 2), "AB->BA").numpy()
            assert device.counters().bytes_allocated <= 8 * MIB * copies(runtime)
            del x
        x = rs.empty(f"u8[{8 * MIB}]", device)
        assert x.desc.nbytes == 8 * MIB, "all of it, with nothing left for staging and parameters"


@BOTH
def test_parameters_of_prepared_submissions_make_room_too(runtime: RuntimeName) -> None:
    with limited(runtime, 8 * MIB) as device:
        x = rs.asarray(np.ones((20, 30), np.float32), device=device)
        for _ in range(4):
            rs.resample(x, (7, 9), antialias=True).numpy()
        del x
        assert rs.empty(f"u8[{8 * MIB}]", device).desc.nbytes == 8 * MIB


@BOTH
@pytest.mark.parametrize(("limit", "nbytes"), [("8MiB", 8 * MIB), ("9 MB", 9 * 10**6), (8e6, 8 * 10**6)])
def test_a_limit_may_be_a_text(runtime: RuntimeName, limit: str | float, nbytes: int) -> None:
    with open_device(runtime, memory_limit=limit) as device:
        rs.empty(f"u8[{nbytes // 2}]", device)
        with pytest.raises(
            rs.OutOfDeviceMemory, match=f"memory_limit of {nbytes} bytes|{nbytes:,} bytes of its memory_limit"
        ):
            rs.empty(f"u8[{nbytes * 2}]", device)


@BOTH
@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "1 GX", "much"])
def test_a_limit_is_a_positive_number_of_bytes(runtime: RuntimeName, limit: object) -> None:
    with pytest.raises(rs.DescriptorError, match=rf"memory_limit.*{limit!r}"):
        rs.Device(runtime=runtime, memory_limit=limit)  # type: ignore[arg-type] - what it refuses


@BOTH
def test_trim_gives_back_what_is_pooled_and_says_how_much(runtime: RuntimeName) -> None:
    with limited(runtime, 1 << 30) as device:
        kept = rs.asarray(np.arange(12, dtype=np.float32).reshape(3, 4), device=device)
        for size in range(100, 1100, 100):
            x = rs.asarray(np.ones((size, size), np.float32), device=device)
            rs.resample(x, (50, 60), antialias=True).numpy()
        del x
        device.wait()
        before = device.counters()
        given_back = device.trim()
        after = device.counters()
        assert given_back == before.bytes_allocated - after.bytes_allocated
        assert given_back > MIB
        assert after.bytes_in_use == kept.desc.nbytes
        assert after.bytes_allocated <= (MIB if runtime == "vulkan" else copies(runtime) * kept.desc.nbytes), "a slab"
        assert device.trim() == 0
        assert rs.reorder(kept, "AB->BA").numpy().tolist() == kept.numpy().T.tolist()
        del kept
        device.wait()
        device.trim()
        assert device.counters().bytes_allocated == 0
    with pytest.raises(rs.DeviceLost):
        device.trim()


def test_trim_leaves_what_pending_work_uses() -> None:
    with limited("vulkan", 1 << 30) as device:
        x = np.random.default_rng(1).random((900, 1000), np.float32)
        with device.batch():
            results = [rs.reorder(rs.asarray(x, device=device), "AB->BA") for _ in range(8)]
            device.trim()
        device.trim()
        assert all(np.array_equal(result.numpy(), x.T) for result in results)


def test_pipelines_of_no_pending_work_go_with_trim() -> None:
    with limited("vulkan", 1 << 30) as device:
        x = rs.asarray(np.arange(6, dtype=np.float32).reshape(2, 3), device=device)
        for _ in range(3):
            assert rs.reorder(x, "AB->BA").numpy().tolist() == [[0, 3], [1, 4], [2, 5]]
            device.trim()
        assert device.counters().pipelines == 3, "each made anew"


@pytest.mark.parametrize("other", ["vulkan", "kompute"])
@BOTH
def test_a_device_at_its_own_limit_takes_nothing_of_others(runtime: RuntimeName, other: RuntimeName) -> None:
    with limited(runtime, 4 * MIB) as device, limited(other, 1 << 30) as neighbour:
        rs.empty(f"u8[{3 * MIB}]", neighbour)
        pooled = neighbour.counters().bytes_allocated
        assert pooled >= 3 * MIB
        kept = rs.empty(f"u8[{3 * MIB}]", device)
        for nbytes in (2 * MIB, 5 * MIB):
            with pytest.raises(rs.OutOfDeviceMemory, match="memory_limit"):
                rs.empty(f"u8[{nbytes}]", device)
        assert neighbour.counters().bytes_allocated == pooled
        assert kept.desc.nbytes == 3 * MIB


def test_staging_that_the_device_uses_makes_room() -> None:
    open_device("vulkan").close()
    runtime = VulkanRuntime(list_devices()[0], staging=True, memory_limit=3 * PIECE_BYTES)
    with rs.Device.over(runtime) as device:
        data = np.arange(PIECE_BYTES, dtype=np.uint32).view(np.uint8)[:PIECE_BYTES]
        with device.batch():
            x = rs.asarray(data, device=device)
            before = device.counters()
            with pytest.raises(rs.OutOfDeviceMemory, match="memory_limit"):
                rs.empty(f"u8[{4 * PIECE_BYTES}]", device)
            assert device.counters() == before, "nothing is handed over or given back for what never fits"
            more = rs.empty(f"u8[{2 * PIECE_BYTES}]", device)
        assert device.counters().bytes_allocated == 3 * PIECE_BYTES
        del more
        assert np.array_equal(x.numpy(), data)


def test_staging_counts_and_makes_room() -> None:
    open_device("vulkan").close()
    runtime = VulkanRuntime(list_devices()[0], staging=True, memory_limit=4 * PIECE_BYTES)
    device = rs.Device.over(runtime)
    data = np.arange(2 * PIECE_BYTES, dtype=np.uint8)
    x = rs.asarray(data, device=device)
    assert device.counters().bytes_allocated == 4 * PIECE_BYTES, "the tensor and two buffers"
    assert np.array_equal(x.numpy(), data)
    with pytest.raises(rs.OutOfDeviceMemory, match="memory_limit"):
        rs.empty("u8[12582912]", device)
    more = rs.empty("u8[8388608]", device)
    assert device.counters().bytes_allocated == 4 * PIECE_BYTES, "the buffers went"
    with pytest.raises(rs.OutOfDeviceMemory, match="memory_limit"):
        x.numpy()
    del more
    assert np.array_equal(x.numpy(), data)
    device.close()
