"""Without driver, loader or cffi it is said what to install; results are checked; structs own what they point to."""

import pytest
from support.runtime_process import passes


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


@pytest.mark.parametrize("times", [30, pytest.param(10_000, marks=pytest.mark.slow)])
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
            collects[0] = time < 30
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
