"""Opening and ending: fork, exit, close, no loader, no driver, no such device, a damaged module."""

import hashlib
import json
import os
import subprocess
import sys
import textwrap
import time
from dataclasses import replace

import numpy as np
import pytest
from spirv_kernels import compile_kernels

from restride.errors import DescriptorError, DeviceError, DeviceLost, DeviceNotFound, UnsupportedError
from restride.kernel import Binding, KernelSpec
from restride.runtime import choose, list_devices, modules, open_runtime
from restride.runtime.instance import MemoryType, physical_devices
from restride.runtime.interface import DeviceInfo
from restride.runtime.vk_placement import place
from restride.runtime.vulkan import VulkanRuntime

PRELUDE = """
import gc, os, sys, threading, time
from pathlib import Path
import numpy as np
import restride.runtime as runtime
from restride.errors import *
from restride.kernel import Binding, KernelSpec
from restride.runtime.vulkan import VulkanRuntime

def open_device(**options):
    return VulkanRuntime(0, module_source=lambda name: Path(sys.argv[1], name + ".spv").read_bytes(), **options)

def slow(words=8192, rounds=60000):
    bindings = (Binding(0, 4 * words, writes=True),)
    return KernelSpec("slow", (), (words, rounds), b"", (words // 64, 1, 1), bindings)
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    compile_kernels(folder)
    return folder


def run(code, kernels="", timeout=60, **environment):
    variables = {**os.environ, **environment}
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(code), str(kernels)]
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=timeout, check=False)


def passes(code, kernels="", **environment):
    done = run(code, kernels, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr, done.stderr
    return done.stdout


# Fork


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on Windows")
def test_a_forked_child_gets_device_lost_at_once(kernels):
    out = passes(
        """
        device = open_device()
        memory = device.allocate(4 * 8192)
        device.submit([slow()] * 8, [memory])
        start = time.monotonic()
        pid = os.fork()
        if pid == 0:
            calls = [
                lambda: device.allocate(16),
                lambda: device.submit([slow()], [memory]),
                lambda: device.read(memory, 0, memoryview(bytearray(16))),
                lambda: device.write(memory, 0, memoryview(bytes(16))),
                device.wait,
                device.counters,
                open_device,
                runtime.list_devices,
            ]
            refused = 0
            for call in calls:
                try:
                    call()
                except DeviceLost as error:
                    refused += "fork" in str(error) and "spawn" in str(error)
            memory.free()
            del memory, calls
            device.close()
            del device, call
            gc.collect()
            fast = time.monotonic() - start < 0.5
            sys.exit(0 if refused == 8 and fast else 10 + refused)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status))
        device.wait()
        """,
        kernels,
    )
    assert out == "0\n"


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on Windows")
def test_a_fork_while_another_thread_holds_every_lock(kernels):
    out = passes(
        """
        device = open_device()
        memory = device.allocate(4 * 8192)
        device._session.lock.acquire()
        pid = os.fork()
        if pid == 0:
            try:
                device.wait()
            except DeviceLost:
                memory.free()
                device.close()
                sys.exit(0)
            sys.exit(1)
        device._session.lock.release()
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """,
        kernels,
    )
    assert out == "0\n"


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on Windows")
def test_a_child_opens_its_own_device_if_the_parent_had_none(kernels):
    out = passes(
        """
        pid = os.fork()
        if pid == 0:
            device = open_device()
            memory = device.allocate(4 * 8192)
            device.submit([slow()], [memory])
            device.wait()
            sys.exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """,
        kernels,
    )
    assert out == "0\n"


# The end


def test_exit_without_close_is_quiet(kernels):
    passes(
        """
        device = open_device()
        memory = device.allocate(4 * 8192)
        device.submit([slow()] * 4, [memory])
        other = open_device(staging=True)
        kept = other.allocate(100)
        """,
        kernels,
    )


def test_exit_with_work_past_the_limit_is_quiet(kernels):
    passes(
        """
        device = open_device(timeout=0.01)
        memory = device.allocate(4 * 8192)
        device.submit([slow()] * 20, [memory])
        """,
        kernels,
    )


def test_exit_in_the_middle_of_an_exception_is_quiet(kernels):
    done = run(
        """
        device = open_device()
        memory = device.allocate(4 * 8192)
        device.submit([slow()], [memory])
        raise SystemExit(7)
        """,
        kernels,
    )
    assert (done.returncode, done.stderr) == (7, "")


def test_close_waits_and_refuses_from_then_on(kernels):
    device = VulkanRuntime(0, module_source=compile_kernels(kernels))
    memory = device.allocate(4 * 8192)
    bindings = (Binding(0, 4 * 8192, writes=True),)
    device.submit([KernelSpec("slow", (), (8192, 60_000), b"", (128, 1, 1), bindings)], [memory])
    device.close()
    device.close()
    for call in (device.wait, device.counters, lambda: device.allocate(4)):
        with pytest.raises(DeviceLost, match="was closed; make a new Device"):
            call()
    memory.free()
    with pytest.raises(DeviceLost):
        device.submit([], [])


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
        device = open_device()
        memory = device.allocate(4 * 8192)
        device.submit([slow()] * 8, [memory])
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
        import signal
        device = open_device()
        memory = device.allocate(4 * 8192)
        device.submit([slow()] * 8, [memory])
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        start = time.monotonic()
        try:
            device.wait()
        except KeyboardInterrupt:
            print(time.monotonic() - start < 0.6)
        device.wait()
        device.close()
        """,
        kernels,
    )
    assert out == "True\n"


# Nothing to open


def test_no_driver_says_what_to_install():
    out = passes(
        """
        for open_it in (runtime.list_devices, lambda: runtime.open_runtime()):
            try:
                open_it()
            except DeviceNotFound as error:
                print(error)
        """,
        VK_DRIVER_FILES="/nonexistent.json",
        VK_ICD_FILENAMES="/nonexistent.json",
    )
    lines = out.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert "apt install mesa-vulkan-drivers" in line
        assert "VK_DRIVER_FILES" in line


def test_every_result_of_the_driver_is_checked():
    out = passes(
        """
        from restride.runtime.instance import instance, physical_devices
        from restride.runtime.loader import array, package, struct
        ffi, vk = package().ffi, instance().vk
        queue = struct("VkDeviceQueueCreateInfo", queueCount=1, pQueuePriorities=array("float", [1.0]))
        names = array("char *", [array("char", b"VK_KHR_no_such_thing")])
        create = struct(
            "VkDeviceCreateInfo",
            queueCreateInfoCount=1,
            pQueueCreateInfos=queue,
            enabledExtensionCount=1,
            ppEnabledExtensionNames=names,
        )
        try:
            vk.vkCreateDevice(physical_devices()[0].handle, create, ffi.NULL, ffi.new("VkDevice *"))
        except DeviceError as error:
            print(error)
        """
    )
    assert out == "vkCreateDevice failed with VK_ERROR_EXTENSION_NOT_PRESENT\n"


def test_no_loader_says_what_to_install():
    out = passes(
        """
        import importlib.abc
        class NoLoader(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path, target=None):
                if name == "vulkan":
                    raise OSError("Cannot find Vulkan SDK version.")
        sys.meta_path.insert(0, NoLoader())
        for _ in range(2):
            try:
                runtime.open_runtime()
            except DeviceNotFound as error:
                print(error)
        """
    )
    assert out.count("no Vulkan loader (libvulkan) on this machine") == 2
    assert "apt install libvulkan1 mesa-vulkan-drivers" in out


def test_no_package_says_what_to_install():
    out = passes(
        """
        sys.modules["vulkan"] = None
        try:
            runtime.list_devices()
        except DeviceNotFound as error:
            print(error)
        """
    )
    assert "pip install vulkan" in out


# Choosing


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
    with pytest.raises(DescriptorError, match="time limit must be positive, timeout is 0"):
        open_runtime(runtime="vulkan", timeout=0)
    with pytest.raises(DescriptorError, match="timeout is nan"):
        open_runtime(runtime="vulkan", timeout=float("nan"))


def test_a_device_that_went_away_is_not_found():
    gone = replace(list_devices()[0], index=99)
    with pytest.raises(DeviceNotFound, match="any more"):
        VulkanRuntime(gone)
    with pytest.raises(DeviceNotFound, match="any more"):
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
        assert info.limits.is_cpu == (info.kind == "cpu")


# Memory types: flags 1 device local, 2 host visible, 4 coherent, 8 cached


def physical(kind, types, heaps):
    base = physical_devices()[0]
    entries = tuple(MemoryType(flags, heap) for flags, heap in types)
    return replace(base, info=replace(base.info, kind=kind), memory_types=entries, heap_sizes=heaps)


GIB = 1 << 30


@pytest.mark.parametrize(
    ("kind", "types", "heaps", "expected"),
    [
        ("cpu", [(15, 0)], (2 * GIB,), (0, 0, False)),
        # a discrete GPU: system memory, local memory, a small window of it, and AMD's special types
        ("discrete", [(6, 0), (14, 0), (1, 1), (7, 2), (1 | 64, 1)], (16 * GIB, 8 * GIB, GIB // 4), (2, 1, True)),
        # a discrete GPU all of whose memory the host may see
        ("discrete", [(7, 1), (6, 0), (14, 0)], (16 * GIB, 8 * GIB), (0, 2, True)),
        ("integrated", [(1, 0), (7, 0), (15, 0)], (8 * GIB,), (2, 2, False)),
        ("integrated", [(1, 0), (6, 1), (14, 1)], (GIB, 8 * GIB), (2, 2, False)),
        ("virtual", [(1, 0), (6, 1)], (8 * GIB, 8 * GIB), (0, 1, True)),
    ],
)
def test_memory_types(kind, types, heaps, expected):
    placement = place(physical(kind, types, heaps), staging=None)
    assert (placement.device, placement.host, placement.staging) == expected


def test_a_device_without_usable_memory():
    with pytest.raises(UnsupportedError, match="no memory with properties"):
        place(physical("discrete", [(1, 0), (2, 0)], (GIB,)), staging=None)


def test_the_portability_subset_is_enabled_where_it_exists(monkeypatch):
    base = physical_devices()[0]
    if "VK_KHR_portability_subset" in base.extensions:
        VulkanRuntime(0).close()
        return
    # A driver without it says that it was asked for it.
    claimed = [replace(base, extensions=frozenset({"VK_KHR_portability_subset"}))]
    monkeypatch.setattr("restride.runtime.vulkan.physical_devices", lambda: claimed)
    with pytest.raises(DeviceError, match="vkCreateDevice failed with VK_ERROR_EXTENSION_NOT_PRESENT"):
        VulkanRuntime(0)


def test_devices_that_lack_what_restride_needs(monkeypatch):
    base = physical_devices()[0]
    for change, message in [({"supports_1_1": False}, "needs 1.1"), ({"family": -1}, "no queue family for compute")]:
        changed = [replace(base, **change)]
        monkeypatch.setattr("restride.runtime.vulkan.physical_devices", lambda changed=changed: changed)
        with pytest.raises(UnsupportedError, match=message):
            VulkanRuntime(0)


# Modules


@pytest.fixture
def shipped(tmp_path, monkeypatch, kernels):
    code = (kernels / "bump.spv").read_bytes()
    (tmp_path / "bump.spv").write_bytes(code)
    entry = {"sha256": hashlib.sha256(code).hexdigest(), "bytes": len(code), "source": "bump.comp", "defines": []}
    manifest = {"format": 1, "modules": {"bump": entry, "lost": entry}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setattr(modules, "spirv_folder", lambda: tmp_path)
    modules.load_module.cache_clear()
    modules.manifest.cache_clear()
    yield tmp_path
    modules.load_module.cache_clear()
    modules.manifest.cache_clear()


def test_a_module_that_is_whole_loads(shipped):
    assert modules.load_module("bump") == (shipped / "bump.spv").read_bytes()


@pytest.mark.parametrize("damage", ["flip", "cut", "append", "empty"])
def test_a_damaged_module_never_reaches_the_driver(shipped, damage):
    path = shipped / "bump.spv"
    code = bytearray(path.read_bytes())
    code = {
        "flip": code[:100] + bytes([code[100] ^ 4]) + code[101:],
        "cut": code[:-4],
        "append": code + bytes(4),
        "empty": bytearray(),
    }[damage]
    path.write_bytes(code)
    runtime = VulkanRuntime(0)
    memory = runtime.allocate(64)
    spec = KernelSpec("bump", (), (16, 1), b"", (1, 1, 1), (Binding(0, 64, writes=True),))
    with pytest.raises(DeviceError, match=r"shader module 'bump' is damaged: SHA-256 .* is not .*reinstall restride"):
        runtime.submit([spec], [memory])
    runtime.close()


def test_what_is_missing_is_named(shipped):
    with pytest.raises(DeviceError, match="unknown shader module 'absent'; known are bump, lost"):
        modules.load_module("absent")
    with pytest.raises(DeviceError, match=r"shader module 'lost' is missing: no file .*lost\.spv"):
        modules.load_module("lost")
    for text, message in [("{", "is damaged"), ("[]", "not of format 1"), ('{"format": 2}', "not of format 1")]:
        (shipped / "manifest.json").write_text(text)
        modules.manifest.cache_clear()
        with pytest.raises(DeviceError, match=message):
            modules.load_module("other")
    (shipped / "manifest.json").unlink()
    modules.manifest.cache_clear()
    with pytest.raises(DeviceError, match="no shader modules"):
        modules.load_module("other")


def test_listing_devices_is_quick_the_second_time():
    list_devices()
    start = time.perf_counter()
    list_devices()
    assert time.perf_counter() - start < 0.5
