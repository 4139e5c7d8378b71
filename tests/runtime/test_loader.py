"""Without a driver, a loader or its package it is said what to install; every result of the driver is checked."""

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
