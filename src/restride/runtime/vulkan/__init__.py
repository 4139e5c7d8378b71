"""The direct runtime: a Vulkan device through its loader."""
