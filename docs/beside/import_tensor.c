/*
 * Imports the memory of a tensor of restride, checks its numbers, and doubles them for restride to read.
 *
 *     cc -std=c99 import_tensor.c -lvulkan -o import_tensor
 *     ./import_tensor FD NBYTES OFFSET ALLOCATION_BYTES MEMORY_TYPE DEDICATED DEVICE_UUID DRIVER_UUID COUNT
 *
 * The arguments are the descriptor and the fields of an rs.Exported of COUNT f32, of which number i must be i. The exit
 * code is 0 if they are, 1 if one is not or Vulkan reports an error, 77 if the device or its driver is not here.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan.h>

static void check(VkResult result, const char *what)
{
    if (result != VK_SUCCESS) {
        fprintf(stderr, "%s: VkResult %d\n", what, result);
        exit(1);
    }
}

/* Whether the UUID is what the text says, in 32 hexadecimal digits. */
static int is_same(const uint8_t *uuid, const char *said)
{
    char text[2 * VK_UUID_SIZE + 1];
    for (unsigned byte = 0; byte < VK_UUID_SIZE; byte++)
        sprintf(text + 2 * byte, "%02x", uuid[byte]);
    return !strcmp(text, said);
}

/* The physical device with both UUIDs: builds of one driver that differ do not understand each other's memory. */
static VkPhysicalDevice find_device(VkInstance instance, const char *device_uuid, const char *driver_uuid)
{
    VkPhysicalDevice devices[16];
    uint32_t count = 16;
    vkEnumeratePhysicalDevices(instance, &count, devices);
    for (uint32_t each = 0; each < count; each++) {
        VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
        VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id};
        VkPhysicalDeviceProperties properties;
        vkGetPhysicalDeviceProperties(devices[each], &properties);
        if (properties.apiVersion < VK_API_VERSION_1_1)
            continue; /* it has no UUIDs, and not the function that tells them */
        vkGetPhysicalDeviceProperties2(devices[each], &all);
        if (is_same(id.deviceUUID, device_uuid) && is_same(id.driverUUID, driver_uuid))
            return devices[each];
    }
    exit(77);
}

/* The number of a memory type that is allowed and that the host maps. */
static uint32_t mapped_type(VkPhysicalDevice physical, uint32_t allowed)
{
    const VkFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceMemoryProperties(physical, &memory);
    for (uint32_t type = 0; type < memory.memoryTypeCount; type++)
        if (allowed >> type & 1 && (memory.memoryTypes[type].propertyFlags & wanted) == wanted)
            return type;
    exit(1);
}

int main(int argc, char **argv)
{
    if (argc != 10) {
        fprintf(stderr, "usage: import_tensor FD NBYTES OFFSET ALLOCATION_BYTES MEMORY_TYPE DEDICATED DEVICE_UUID "
                        "DRIVER_UUID COUNT\n");
        return 1;
    }
    const int fd = atoi(argv[1]), dedicated = atoi(argv[6]);
    const VkDeviceSize nbytes = strtoull(argv[2], NULL, 10), offset = strtoull(argv[3], NULL, 10);
    const VkDeviceSize allocation_bytes = strtoull(argv[4], NULL, 10);
    const uint32_t memory_type = (uint32_t)atoi(argv[5]), family = 0;
    const uint64_t count = strtoull(argv[9], NULL, 10);
    if (count > nbytes / sizeof(float)) {
        fprintf(stderr, "%s numbers are more than %s bytes have\n", argv[9], argv[2]);
        return 1;
    }

    /* A device of the same UUIDs, with the extension. A program that has one already starts at the buffer. */
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo of_instance = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &application,
    };
    VkInstance instance;
    check(vkCreateInstance(&of_instance, NULL, &instance), "vkCreateInstance");
    VkPhysicalDevice physical = find_device(instance, argv[7], argv[8]);
    const float priority = 1;
    const char *extension = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
    VkDeviceQueueCreateInfo of_queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = family,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    VkDeviceCreateInfo of_device = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &of_queue,
        .enabledExtensionCount = 1,
        .ppEnabledExtensionNames = &extension,
    };
    VkDevice device;
    VkQueue queue;
    check(vkCreateDevice(physical, &of_device, NULL, &device), "vkCreateDevice");
    vkGetDeviceQueue(device, family, 0, &queue);

    /* The buffer is created as restride's is: the same size, usage and handle type. */
    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
    };
    VkBufferCreateInfo of_buffer = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .pNext = &external,
        .size = nbytes,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT,
    };
    VkBuffer shared;
    check(vkCreateBuffer(device, &of_buffer, NULL, &shared), "vkCreateBuffer");

    /* The import takes the descriptor over: after a success it is the driver's, and nobody closes it. */
    VkMemoryDedicatedAllocateInfo alone = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
        .buffer = shared,
    };
    VkImportMemoryFdInfoKHR import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
        .pNext = dedicated ? &alone : NULL,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
        .fd = fd,
    };
    VkMemoryAllocateInfo of_memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = &import,
        .allocationSize = allocation_bytes,
        .memoryTypeIndex = memory_type,
    };
    VkMemoryRequirements needs;
    VkDeviceMemory memory;
    vkGetBufferMemoryRequirements(device, shared, &needs);
    check(vkAllocateMemory(device, &of_memory, NULL, &memory), "vkAllocateMemory of the import");
    check(vkBindBufferMemory(device, shared, memory, offset), "vkBindBufferMemory");

    /* A buffer that the host maps, to see the numbers: the tensor's own memory may be the device's alone. */
    VkBufferCreateInfo of_copy = of_buffer;
    VkMemoryAllocateInfo of_mapped = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkBuffer copy;
    VkDeviceMemory mapped;
    float *numbers;
    of_copy.pNext = NULL;
    check(vkCreateBuffer(device, &of_copy, NULL, &copy), "vkCreateBuffer");
    vkGetBufferMemoryRequirements(device, copy, &needs);
    of_mapped.allocationSize = needs.size;
    of_mapped.memoryTypeIndex = mapped_type(physical, needs.memoryTypeBits);
    check(vkAllocateMemory(device, &of_mapped, NULL, &mapped), "vkAllocateMemory");
    check(vkBindBufferMemory(device, copy, mapped, 0), "vkBindBufferMemory");
    check(vkMapMemory(device, mapped, 0, VK_WHOLE_SIZE, 0, (void **)&numbers), "vkMapMemory");

    VkCommandPoolCreateInfo of_pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = family};
    VkCommandPool pool;
    check(vkCreateCommandPool(device, &of_pool, NULL, &pool), "vkCreateCommandPool");
    VkCommandBufferAllocateInfo of_commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = pool,
        .commandBufferCount = 2,
    };
    VkCommandBuffer commands[2];
    check(vkAllocateCommandBuffers(device, &of_commands, commands), "vkAllocateCommandBuffers");
    for (int back = 0; back < 2; back++) {
        /* Between two submissions the buffer belongs to VK_QUEUE_FAMILY_EXTERNAL, on both sides. */
        VkBufferMemoryBarrier acquire = {
            .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
            .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
            .srcQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL,
            .dstQueueFamilyIndex = family,
            .buffer = shared,
            .size = VK_WHOLE_SIZE,
        };
        VkBufferMemoryBarrier release = acquire;
        release.srcAccessMask = acquire.dstAccessMask;
        release.dstAccessMask = 0;
        release.srcQueueFamilyIndex = family;
        release.dstQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL;
        VkMemoryBarrier to_host = {
            .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
            .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
            .dstAccessMask = VK_ACCESS_HOST_READ_BIT,
        };
        VkBufferCopy whole = {.size = nbytes};
        VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
        const VkPipelineStageFlags transfer = VK_PIPELINE_STAGE_TRANSFER_BIT, host = VK_PIPELINE_STAGE_HOST_BIT;
        check(vkBeginCommandBuffer(commands[back], &begin), "vkBeginCommandBuffer");
        vkCmdPipelineBarrier(commands[back], transfer, transfer, 0, 0, NULL, 1, &acquire, 0, NULL);
        vkCmdCopyBuffer(commands[back], back ? copy : shared, back ? shared : copy, 1, &whole);
        vkCmdPipelineBarrier(commands[back], transfer, transfer | host, 0, 1, &to_host, 1, &release, 0, NULL);
        check(vkEndCommandBuffer(commands[back]), "vkEndCommandBuffer");
        VkSubmitInfo submit = {
            .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
            .commandBufferCount = 1,
            .pCommandBuffers = &commands[back],
        };
        check(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
        check(vkQueueWaitIdle(queue), "vkQueueWaitIdle"); /* before restride is told to go on */
        for (uint64_t place = 0; place < count && !back; place++) {
            if (numbers[place] != (float)place) {
                printf("number %llu is %g\n", (unsigned long long)place, numbers[place]);
                return 1;
            }
            numbers[place] *= 2;
        }
    }
    printf("%llu numbers are right\n", (unsigned long long)count);

    vkDestroyCommandPool(device, pool, NULL);
    vkDestroyBuffer(device, copy, NULL);
    vkDestroyBuffer(device, shared, NULL);
    vkFreeMemory(device, mapped, NULL);
    vkFreeMemory(device, memory, NULL);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    return 0;
}
