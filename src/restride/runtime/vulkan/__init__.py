"""The default runtime: a Vulkan device, opened through the Vulkan loader."""
