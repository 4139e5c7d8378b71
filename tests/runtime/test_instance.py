"""Which device is opened, what devices say of themselves, and which of their memory is used."""

import random
from dataclasses import replace
from types import SimpleNamespace

import pytest

from restride.errors import DescriptorError, DeviceError, DeviceNotFound, UnsupportedError
from restride.kernel import Choices
from restride.runtime import choose, instance, list_devices, open_runtime
from restride.runtime.instance import MemoryType, physical_devices
from restride.runtime.interface import DeviceInfo
from restride.runtime.vulkan import memory
from restride.runtime.vulkan.memory import place, place_import
from restride.runtime.vulkan.runtime import VulkanRuntime


def device(index, name, kind):
    return DeviceInfo(index, name, kind, 1, 2, "driver", "1", "1.3.0", "00", 1 << 30)


MANY = [
    device(0, "llvmpipe (LLVM 15)", "cpu"),
    device(1, "Intel Arc A750", "discrete"),
    device(2, "Intel UHD 770", "integrated"),
    device(3, "NVIDIA L4", "discrete"),
    device(4, "Virtio-GPU Venus", "virtual"),
]


@pytest.mark.parametrize(
    ("selector", "index"),
    [(None, 1), (0, 0), ("0", 0), (" 3 ", 3), ("nvidia", 3), ("INTEL", 1), ("uhd", 2), ("llvm", 0), ("venus", 4)],
)
def test_choose(selector, index, monkeypatch):
    monkeypatch.delenv("RESTRIDE_DEVICE", raising=False)
    assert choose(MANY, selector).index == index
    if selector is not None:
        monkeypatch.setenv("RESTRIDE_DEVICE", str(selector))
        assert choose(MANY).index == index
        assert choose(MANY, 4).index == 4, "the argument comes first"


def test_choose_prefers_the_best_kind(monkeypatch):
    monkeypatch.delenv("RESTRIDE_DEVICE", raising=False)
    assert choose([entry for entry in MANY if entry.kind != "discrete"]).index == 2
    assert choose([MANY[0], MANY[4]]).index == 4


@pytest.mark.parametrize("selector", [7, -1, "Radeon", "99"])
def test_an_absent_device_lists_those_present(selector, monkeypatch):
    with pytest.raises(DeviceNotFound, match=r"present are 0: llvmpipe \(LLVM 15\) \(cpu\); 1: Intel Arc"):
        choose(MANY, selector)
    monkeypatch.setenv("RESTRIDE_DEVICE", "Radeon")
    with pytest.raises(DeviceNotFound, match="no device matches RESTRIDE_DEVICE 'Radeon'"):
        open_runtime()


def test_a_selector_of_thousands_of_digits_is_no_device():
    with pytest.raises(DeviceNotFound, match="no device matches the device selector '999"):
        choose(MANY, "9" * 5000)
    with pytest.raises(DescriptorError, match=r"a device selector must be below 2\^512 in magnitude"):
        choose(MANY, 10**5000)


@pytest.mark.parametrize("selector", [1.5, True, b"0", ["0"]])
def test_a_selector_of_another_type_is_refused(selector):
    with pytest.raises(DescriptorError, match="index or part of a name"):
        choose(MANY, selector)


def test_unknown_runtimes_and_limits_are_refused(monkeypatch):
    with pytest.raises(DescriptorError, match="unknown runtime 'metal'; known runtimes are vulkan, kompute"):
        open_runtime(runtime="metal")
    monkeypatch.setenv("RESTRIDE_RUNTIME", "opencl")
    with pytest.raises(DescriptorError, match="unknown runtime 'opencl'"):
        open_runtime()
    with pytest.raises(DescriptorError, match="timeout must be positive, got 0"):
        open_runtime(runtime="vulkan", timeout=0)
    with pytest.raises(DescriptorError, match="timeout must be positive, got nan"):
        open_runtime(runtime="vulkan", timeout=float("nan"))


def test_a_device_that_went_away_is_not_found():
    gone = replace(list_devices()[0], index=99)
    with pytest.raises(DeviceNotFound, match="is not there, or no longer"):
        VulkanRuntime(gone)
    with pytest.raises(DeviceNotFound, match="is not there, or no longer"):
        VulkanRuntime(replace(list_devices()[0], uuid="ff"))


def test_devices_describe_themselves():
    for index, info in enumerate(list_devices()):
        assert info.index == index
        assert info.kind in ("discrete", "integrated", "virtual", "cpu", "other")
        assert info.name
        assert info.driver
        assert len(bytes.fromhex(info.uuid)) == 16
        assert info.heap_bytes > 0
        assert info.limits.max_buffer_range % 4 == 0
        assert info.limits.offset_alignment >= 4
        assert info.limits.choices == Choices.usual(info.kind, info.driver_version, info.vendor_id)
        assert not info.is_tuned


def physical(kind, types, heaps):
    base = physical_devices()[0]
    entries = tuple(MemoryType(flags, heap) for flags, heap in types)
    return replace(base, info=replace(base.info, kind=kind), memory_types=entries, heap_sizes=heaps)


GIB = 1 << 30
ALL = (1 << 32) - 1


@pytest.mark.parametrize(
    ("kind", "types", "heaps", "expected"),
    [
        ("cpu", [(15, 0)], (2 * GIB,), (0, 0, 0, False)),
        # a discrete GPU: system memory, local memory, a small window of it, and AMD's special types
        ("discrete", [(6, 0), (14, 0), (1, 1), (7, 2), (1 | 64, 1)], (16 * GIB, 8 * GIB, GIB // 4), (2, 1, 1, True)),
        # a discrete GPU all of whose memory the host may see
        ("discrete", [(7, 1), (6, 0), (14, 0)], (16 * GIB, 8 * GIB), (0, 2, 0, True)),
        # the types of an H100: nothing, local, system, system cached, local that the host sees
        ("discrete", [(0, 1), (1, 0), (6, 1), (14, 1), (7, 0)], (80 * GIB, 94 * GIB), (1, 3, 4, True)),
        ("integrated", [(1, 0), (7, 0), (15, 0)], (8 * GIB,), (2, 2, 2, False)),
        ("integrated", [(1, 0), (6, 1), (14, 1)], (GIB, 8 * GIB), (2, 2, 2, False)),
        ("virtual", [(1, 0), (6, 1)], (8 * GIB, 8 * GIB), (0, 1, 1, True)),
    ],
)
def test_memory_types(kind, types, heaps, expected):
    placement = place(physical(kind, types, heaps), ALL, staging=None)
    assert (placement.device, placement.host, placement.parameters, placement.staging) == expected


@pytest.mark.parametrize(
    ("allowed", "expected"), [(ALL, (0, 2)), (0b11110, (1, 2)), (0b11011, (0, 3)), (0b11000, (4, 3))]
)
def test_only_types_that_the_driver_allows_for_buffers_are_chosen(allowed, expected):
    # Two types of local memory alike, one of which is for images: the driver says so in VkMemoryRequirements.
    types = [(1, 0), (1, 0), (14, 1), (6, 1), (7, 0)]
    placement = place(physical("discrete", types, (8 * GIB, 16 * GIB)), allowed, staging=None)
    assert (placement.device, placement.host) == expected


def test_the_driver_is_asked_which_types_it_allows(monkeypatch):
    base = physical_devices()[0]
    twice = replace(base, memory_types=(base.memory_types[0],) * 2)
    real = memory.buffer_types
    asked = []

    def second_only(device):
        asked.append(real(device))
        return 0b10

    monkeypatch.setattr("restride.runtime.vulkan.runtime.buffer_types", second_only)
    with pytest.raises(
        DeviceError, match=r"refuses a storage buffer .* in memory type 1; it allows those of the bits 0x1"
    ):
        VulkanRuntime(twice).allocate(16)
    assert asked == [0b1]


@pytest.mark.parametrize("kind", ["discrete", "integrated", "virtual", "cpu", "other"])
def test_the_host_only_sees_coherent_memory(kind):
    """Then no range is flushed or invalidated, none is rounded to nonCoherentAtomSize."""
    rng = random.Random(kind)
    found = 0
    for _ in range(500):
        types = [(rng.choice((0, 1, 2, 3, 6, 7, 10, 11, 14, 15)), rng.randrange(2)) for _ in range(rng.randrange(1, 9))]
        described = physical(kind, types, (GIB, 2 * GIB))
        try:
            placement = place(described, ALL, staging=None)
        except UnsupportedError:
            assert not [flags for flags, _ in types if flags & 6 == 6] or not [flags for flags, _ in types if flags & 1]
            continue
        found += 1
        assert types[placement.host][0] & 6 == types[placement.parameters][0] & 6 == 6
        assert placement.staging or placement.device == placement.host == placement.parameters
        if any(flags & 6 == 6 for flags, _ in types):
            assert types[place_import(described, ALL)][0] & 6 == 6
    assert found > 100


COMPUTE, GRAPHICS, TRANSFER = 2, 1, 4


@pytest.mark.parametrize(
    ("families", "expected"),
    [
        ([COMPUTE | GRAPHICS | TRANSFER], 0),
        ([GRAPHICS | COMPUTE | TRANSFER, TRANSFER, COMPUTE | TRANSFER, COMPUTE], 2),
        ([TRANSFER, GRAPHICS, GRAPHICS | COMPUTE], 2),
        ([TRANSFER, GRAPHICS], -1),
        ([], -1),
    ],
)
def test_one_queue_family_computes_and_copies(families, expected):
    """Each family that computes also copies, whether it says so or not: nothing is handed from queue to queue."""
    assert instance._compute_family([SimpleNamespace(queueFlags=flags) for flags in families]) == expected


def test_a_device_without_usable_memory():
    with pytest.raises(UnsupportedError, match="no memory with properties"):
        place(physical("discrete", [(1, 0), (2, 0)], (GIB,)), ALL, staging=None)


def test_the_portability_subset_is_enabled_where_it_exists(monkeypatch):
    base = physical_devices()[0]
    if "VK_KHR_portability_subset" in base.extensions:
        VulkanRuntime(0).close()
        return
    # A driver without it says that it was asked for it.
    claimed = [replace(base, extensions=frozenset({"VK_KHR_portability_subset"}))]
    monkeypatch.setattr("restride.runtime.vulkan.runtime.physical_devices", lambda: claimed)
    with pytest.raises(DeviceError, match="vkCreateDevice failed with VK_ERROR_EXTENSION_NOT_PRESENT"):
        VulkanRuntime(0)


def test_devices_that_lack_what_restride_needs(monkeypatch):
    base = physical_devices()[0]
    for change, message in [
        ({"supports_1_1": False}, "needs 1.1"),
        ({"heap_sizes": ()}, "reports no memory"),
        ({"family": -1}, "no queue family for compute"),
    ]:
        changed = [replace(base, **change)]
        monkeypatch.setattr("restride.runtime.vulkan.runtime.physical_devices", lambda changed=changed: changed)
        with pytest.raises(UnsupportedError, match=message):
            VulkanRuntime(0)


def test_listing_devices_again_makes_no_new_instance():
    list_devices()
    made = instance._instance
    assert made is not None
    list_devices()
    assert instance._instance is made
