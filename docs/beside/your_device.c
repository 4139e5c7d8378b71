/*
 * A program's own VkDevice, as a library that Python loads: restride runs on the device, writes into a buffer of it, and
 * the program goes on with what is there.
 *
 *     cc -std=c99 -shared -fPIC -pthread your_device.c -lvulkan -o libyour_device.so
 *
 * Each function returns 0, or the VkResult of the call that failed, or 77 if there is no device or memory that can do this.
 */

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include <vulkan/vulkan.h>

enum { NO_DEVICE = 77, FAMILY = 0 };

/* What Python needs: handles as integers. */
typedef struct {
    uint64_t instance, physical_device, device, queue;
    uint32_t queue_family;
} Handles;

/* What rs.import_memory needs of a buffer. */
typedef struct {
    uint64_t nbytes, offset, allocation_bytes;
    uint32_t memory_type;
    int32_t fd, dedicated;
    uint8_t device_uuid[VK_UUID_SIZE], driver_uuid[VK_UUID_SIZE];
} Shared;

/* Guards the queue; in C++ a std::mutex. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void lock_queue(void) {
    pthread_mutex_lock(&mutex);
}

void unlock_queue(void) {
    pthread_mutex_unlock(&mutex);
}

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static VkBuffer buffer;
static VkDeviceMemory memory;

#define CHECK(call) \
    do { \
        VkResult result = (call); \
        if (result != VK_SUCCESS) \
            return result; \
    } while (0)

/* Makes a device of that name, with these extensions. */
int your_open(const char *name, const char *const *extensions, uint32_t count, Handles *handles)
{
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo of_instance = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &application,
    };
    CHECK(vkCreateInstance(&of_instance, NULL, &instance));
    VkPhysicalDevice devices[16];
    uint32_t listed = 16, found = 0;
    vkEnumeratePhysicalDevices(instance, &listed, devices);
    for (; found < listed; found++) {
        VkPhysicalDeviceProperties properties;
        vkGetPhysicalDeviceProperties(devices[found], &properties);
        if (!strcmp(properties.deviceName, name))
            break;
    }
    if (found == listed)
        return NO_DEVICE;
    physical = devices[found];
    const float priority = 1;
    VkDeviceQueueCreateInfo of_queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = FAMILY,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    VkDeviceCreateInfo of_device = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &of_queue,
        .enabledExtensionCount = count,
        .ppEnabledExtensionNames = extensions,
    };
    CHECK(vkCreateDevice(physical, &of_device, NULL, &device));
    vkGetDeviceQueue(device, FAMILY, 0, &queue);
    *handles = (Handles){
        .instance = (uintptr_t)instance,
        .physical_device = (uintptr_t)physical,
        .device = (uintptr_t)device,
        .queue = (uintptr_t)queue,
        .queue_family = FAMILY,
    };
    return 0;
}

/* A buffer in the middle of an allocation, which restride imports: a buffer of a pool of the program's, for example. */
int your_share(uint64_t nbytes, Shared *shared)
{
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
    VkPhysicalDeviceExternalBufferInfo wish = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
        .usage = of_buffer.usage,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
    };
    VkExternalBufferProperties able = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    vkGetPhysicalDeviceExternalBufferProperties(physical, &wish, &able);
    const VkFlags features = able.externalMemoryProperties.externalMemoryFeatures;
    if (!(features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) ||
        features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT)
        return NO_DEVICE; /* a buffer in the middle of an allocation is not exported here */
    CHECK(vkCreateBuffer(device, &of_buffer, NULL, &buffer));
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    const VkFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties types;
    uint32_t type = 0;
    vkGetPhysicalDeviceMemoryProperties(physical, &types);
    while (type < types.memoryTypeCount &&
           !(needs.memoryTypeBits >> type & 1 && (types.memoryTypes[type].propertyFlags & wanted) == wanted))
        type++;
    if (type == types.memoryTypeCount)
        return NO_DEVICE; /* no memory that the host maps too, which this program sums up */
    VkExportMemoryAllocateInfo exported = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
    };
    VkMemoryAllocateInfo of_memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = &exported,
        .allocationSize = 3 * needs.size + needs.alignment,
        .memoryTypeIndex = type,
    };
    CHECK(vkAllocateMemory(device, &of_memory, NULL, &memory));
    shared->nbytes = nbytes;
    shared->offset = (needs.size + needs.alignment - 1) / needs.alignment * needs.alignment;
    shared->allocation_bytes = of_memory.allocationSize;
    shared->memory_type = type;
    shared->dedicated = 0;
    CHECK(vkBindBufferMemory(device, buffer, memory, shared->offset));
    VkMemoryGetFdInfoKHR which = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
        .memory = memory,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
    };
    PFN_vkGetMemoryFdKHR get_fd = (PFN_vkGetMemoryFdKHR)vkGetDeviceProcAddr(device, "vkGetMemoryFdKHR");
    CHECK(get_fd(device, &which, &shared->fd));
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id};
    vkGetPhysicalDeviceProperties2(physical, &all);
    memcpy(shared->device_uuid, id.deviceUUID, VK_UUID_SIZE);
    memcpy(shared->driver_uuid, id.driverUUID, VK_UUID_SIZE);
    return 0;
}

/* Goes on with what restride has written: a submission that adds a 7 as the last word, then the sum of all words. */
int your_sum(const Shared *shared, double *sum)
{
    VkCommandPoolCreateInfo of_pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = FAMILY};
    VkCommandPool pool;
    CHECK(vkCreateCommandPool(device, &of_pool, NULL, &pool));
    VkCommandBufferAllocateInfo of_commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = pool,
        .commandBufferCount = 1,
    };
    VkCommandBuffer commands;
    CHECK(vkAllocateCommandBuffers(device, &of_commands, &commands));
    VkBufferMemoryBarrier acquire = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
        .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL,
        .dstQueueFamilyIndex = FAMILY,
        .buffer = buffer,
        .size = VK_WHOLE_SIZE,
    };
    VkBufferMemoryBarrier release = acquire;
    release.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    release.dstAccessMask = 0;
    release.srcQueueFamilyIndex = FAMILY;
    release.dstQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL;
    VkMemoryBarrier to_host = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_HOST_READ_BIT,
    };
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const VkPipelineStageFlags transfer = VK_PIPELINE_STAGE_TRANSFER_BIT, host = VK_PIPELINE_STAGE_HOST_BIT;
    const float seven = 7;
    CHECK(vkBeginCommandBuffer(commands, &begin));
    vkCmdPipelineBarrier(commands, transfer, transfer, 0, 0, NULL, 1, &acquire, 0, NULL);
    vkCmdUpdateBuffer(commands, buffer, shared->nbytes - sizeof seven, sizeof seven, &seven);
    vkCmdPipelineBarrier(commands, transfer, transfer | host, 0, 1, &to_host, 1, &release, 0, NULL);
    CHECK(vkEndCommandBuffer(commands));
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .commandBufferCount = 1,
        .pCommandBuffers = &commands,
    };
    CHECK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
    CHECK(vkQueueWaitIdle(queue));
    vkDestroyCommandPool(device, pool, NULL);
    float *words;
    CHECK(vkMapMemory(device, memory, shared->offset, shared->nbytes, 0, (void **)&words));
    *sum = 0;
    for (uint64_t place = 0; place < shared->nbytes / sizeof *words; place++)
        *sum += words[place];
    vkUnmapMemory(device, memory);
    return 0;
}

/* Frees the buffer, if there is one. */
void your_free(void)
{
    vkDestroyBuffer(device, buffer, NULL);
    vkFreeMemory(device, memory, NULL);
    buffer = VK_NULL_HANDLE;
    memory = VK_NULL_HANDLE;
}

void your_close(void)
{
    your_free();
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
}
