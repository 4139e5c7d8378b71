"""Without driver, loader or cffi it is said what to install; results are checked; structs own what they point to."""

import json
import shutil
import sys

import pytest
from support.process import captured
from support.runtime_process import passes
from support.sampled import sample

from restride.errors import DeviceError, OutOfDeviceMemory
from restride.runtime import loader
from restride.runtime.loader import failure, loader_file


def test_no_driver_says_what_to_install():
    out = passes(
        """
        for open_it in (runtime.list_devices, runtime.open_runtime, lambda: runtime.open_runtime(None, "kompute")):
            try:
                open_it()
            except DeviceNotFound as error:
                print(error)
        """,
        VK_DRIVER_FILES="/nonexistent.json",
        VK_ICD_FILENAMES="/nonexistent.json",
    )
    lines = out.splitlines()
    assert len(lines) == 3
    for line in lines:
        assert "apt install mesa-vulkan-drivers" in line
        assert "VK_DRIVER_FILES" in line


@pytest.mark.parametrize(
    "answer", ['_enumerate_all = lambda *_: array("VkPhysicalDevice", 0)', "_enumerate_all = fail"]
)
@pytest.mark.parametrize("is_named", [True, False])
def test_a_driver_without_a_device_is_not_called_uninstalled(tmp_path, answer, is_named):
    library, manifest = tmp_path / "libradeon.so", tmp_path / "radeon.json"
    library.touch()
    manifest.write_text(json.dumps({"ICD": {"library_path": str(library)}}))
    out = passes(
        f"""
        import os
        from restride.runtime import instance
        from restride.runtime.loader import array
        def fail(*_):
            raise DeviceError("vkEnumeratePhysicalDevices failed with VK_ERROR_INITIALIZATION_FAILED")
        instance.instance()
        instance.{answer}
        os.environ |= {{"VK_DRIVER_FILES": {str(manifest)!r} if {is_named} else "", "VK_ICD_FILENAMES": ""}}
        try:
            instance.physical_devices()
        except DeviceNotFound as error:
            print(error)
        """,
    )
    named = f"no driver of VK_DRIVER_FILES ({str(manifest)!r}) brings a device\n"
    assert out == named if is_named else out.startswith("the Vulkan loader finds no device; ")


def test_every_result_of_the_driver_is_checked():
    out = passes(
        """
        from restride.runtime.instance import instance, physical_devices
        from restride.runtime.loader import array, binding, struct
        ffi, vk = binding().ffi, instance().vk
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
        from restride.runtime import loader
        loader.LIBRARIES = ("libvulkan-of-no-machine.so.1",)
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
        sys.modules["_cffi_backend"] = None
        sys.modules.pop("restride.runtime.vulkan.generated", None)
        vars(sys.modules["restride.runtime.vulkan"]).pop("generated", None)
        try:
            runtime.list_devices()
        except DeviceNotFound as error:
            print(error)
        """
    )
    assert "pip install cffi" in out


@pytest.mark.parametrize("times", [10, pytest.param(10_000, marks=pytest.mark.slow)])
def test_what_a_struct_points_to_outlives_the_call(times):
    out = passes(
        f"""
        from restride.kernel.modules import load_module
        from restride.plan.copy import copy_kernels
        from restride import Device, TensorDesc
        from restride.runtime.loader import Functions, struct
        from restride.runtime.vulkan import generated as vk
        from restride.runtime.vulkan.program import Pipelines

        collects, checked = [True], Functions._checked
        def checked_after_a_collection(self, name, function):
            def call(*arguments):
                if collects[0]:
                    gc.collect()  # frees what nothing owns; malloc then overwrites it
                return function(*arguments)
            return checked(self, name, call)
        Functions._checked = checked_after_a_collection

        def external(kind, **fields):
            return struct(kind, handleTypes=vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, **fields)

        device = Device(runtime="vulkan")
        own, limits = device.runtime._session.device, device.limits
        pipelines = Pipelines(own, load_module)
        (spec,) = copy_kernels(TensorDesc.parse("u8[3,5]{{0,1}}"), TensorDesc("u8", (3, 5)), limits)
        key = spec.shader, spec.constants, len(spec.bindings) + bool(spec.parameters)
        usage = vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
        for time in range({times}):
            collects[0] = time < 10
            buffer = own.create("Buffer", size=4096, usage=usage, pNext=external("VkExternalMemoryBufferCreateInfo"))
            only_this = struct("VkMemoryDedicatedAllocateInfo", buffer=buffer)
            shared = external("VkExportMemoryAllocateInfo", pNext=only_this)
            del only_this
            memory = own.allocate_memory(allocationSize=4096, memoryTypeIndex=0, pNext=shared)
            own.vk.vkBindBufferMemory(own.handle, buffer, memory, 0)
            fence, pool = own.create("Fence"), own.create("CommandPool", queueFamilyIndex=own.physical.family)
            queries = own.create("QueryPool", queryType=vk.VK_QUERY_TYPE_TIMESTAMP, queryCount=2)
            if time % 100 == 0:
                pipelines.get(key, 0)
                pipelines.trim(1)
            for kind, handle in (
                ("QueryPool", queries), ("CommandPool", pool), ("Fence", fence), ("Buffer", buffer),
            ):
                getattr(own.vk, f"vkDestroy{{kind}}")(own.handle, handle, own.null)
            own.vk.vkFreeMemory(own.handle, memory, own.null)
        pipelines.destroy()
        device.close()
        print("closed")
        """,
        MALLOC_PERTURB_="165",
    )
    assert out == "closed\n"


# A library in the place of the loader: it hands out the functions of the loader, except for one.
_STAND_IN = """
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
typedef void (*Function)(void);
typedef Function (*Resolve)(void *, const char *);
Function vkGetInstanceProcAddr(void *instance, const char *name) {
    if (!strcmp(name, LACKS)) return 0;
    if (!strcmp(LACKS, "all")) return 0;
    if (!strcmp(LACKS, "itself")) raise(SIGSEGV);
    Resolve resolve = (Resolve)dlsym(dlopen(LOADER, RTLD_NOW | RTLD_LOCAL), "vkGetInstanceProcAddr");
    return resolve(instance, name);
}
#ifndef NO_DEVICES
Function vkGetDeviceProcAddr(void *device, const char *name) {
    Resolve resolve = (Resolve)dlsym(dlopen(LOADER, RTLD_NOW | RTLD_LOCAL), "vkGetDeviceProcAddr");
    return resolve(device, name);
}
#endif
"""

BROKEN = {
    "empty": "file too short",
    "text": "invalid ELF header",
    "no function": "has no function vkGetInstanceProcAddr",
    "no devices": "has no function vkGetDeviceProcAddr",
    "vkEnumerateInstanceVersion": "has no function vkEnumerateInstanceVersion, which loaders since 1.1 have",
    "vkEnumerateInstanceExtensionProperties": "has no function vkEnumerateInstanceExtensionProperties",
    "vkCreateInstance": "has no function vkCreateInstance",
    "all": "has no function vkEnumerateInstanceVersion",
}


def _stand_in(folder, what):
    """Put a broken ``libvulkan.so.1`` into a folder, and give its path."""
    library = folder / "libvulkan.so.1"
    if what in ("empty", "text"):
        library.write_text("this is no library" * 100 if what == "text" else "")
        return library
    if sys.platform != "linux" or shutil.which("g++") is None:
        pytest.skip("no g++ to build a broken loader with")
    options = [f'-DLACKS="{what}"', f'-DLOADER="{loader_file()}"', *(["-DNO_DEVICES"] if what == "no devices" else [])]
    source = folder / "stand_in.c"
    source.write_text("int nothing;" if what == "no function" else _STAND_IN)
    done = captured(["gcc", "-shared", "-fPIC", *options, "-o", library, source, "-ldl"])
    assert done.returncode == 0, done.stderr
    return library


@pytest.mark.skipif(sys.platform != "linux", reason="another dynamic linker")
@pytest.mark.parametrize(
    "what", [*sample([each for each in BROKEN if each != "vkCreateInstance"], 3), "vkCreateInstance"]
)
def test_a_loader_that_is_none_is_named_at_every_entry(tmp_path, what):
    library = _stand_in(tmp_path, what)
    out = passes(
        """
        for open_it in (runtime.list_devices, runtime.open_runtime, lambda: runtime.open_runtime(None, "kompute")):
            try:
                open_it()
            except DeviceNotFound as error:
                print(error)
        """,
        LD_LIBRARY_PATH=str(tmp_path),
    )
    assert out.count(BROKEN[what]) == 3, out
    assert out.count(f"{library}") == 3
    assert out.count("apt install libvulkan1") == 3


@pytest.mark.skipif(sys.platform != "linux", reason="another dynamic linker")
@pytest.mark.parametrize(
    "what", [*sample(["text", "no function", "vkEnumerateInstanceVersion", "vkCreateInstance"], 1), "itself"]
)
def test_the_doctor_names_a_loader_that_is_none(tmp_path, monkeypatch, what):
    library = _stand_in(tmp_path, what)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    done = captured([sys.executable, "-m", "restride", "doctor"], timeout=120)
    assert (done.returncode, done.stderr) == (4, "")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("BROKEN") and "runtime" not in line][:1]
    assert BROKEN.get(what, "died of SIGSEGV") in line
    assert str(library) in line or what == "itself"
    assert "libvulkan1" in done.stdout or what == "itself"


@pytest.mark.parametrize("code", [-1, -2, -10])
def test_before_there_is_a_device_nothing_is_out_of_its_memory(code):
    assert isinstance(failure("vkAllocateMemory", code), OutOfDeviceMemory)
    assert type(failure("vkCreateInstance", code, has_device=False)) is DeviceError


def test_the_functions_of_an_instance_are_called_before_there_is_a_device():
    functions = loader.Functions(lambda _: None)
    with pytest.raises(DeviceError) as raised:
        functions.check("vkEnumeratePhysicalDevices", -1)
    assert not isinstance(raised.value, MemoryError)
