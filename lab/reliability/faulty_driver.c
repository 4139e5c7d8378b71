/* A Vulkan layer that gives whatever driver lies below it one fault, so that tools that look for faults have one to find.
 *
 *   RESTRIDE_FAULT=drop     a dispatch of several work groups runs without its last row of groups: their stores are lost
 *   RESTRIDE_FAULT=stale    a dispatch does not run: the old bytes are still there
 *   RESTRIDE_FAULT=twice    a dispatch runs twice
 *   RESTRIDE_FAULT=flip     the lowest bit of the first byte that a dispatch may write is flipped afterwards
 *
 * RESTRIDE_FAULT=flip:20 does so once in 20 submissions that have a dispatch, the 20th, 40th, ...; without a number, in each; so
 * does stale. drop and twice take no number.
 * What a dispatch may write is binding 1 of its descriptor set: binding 0 is the source, as in all kernels here. The layer
 * serves one device at a time. It finds command buffers, buffers and sets in tables of fixed size; a full one forgets its
 * oldest entry, whose dispatch then stays without a fault.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

enum { ENTRIES = 16384 };

typedef struct {
    uint64_t key[ENTRIES], value[ENTRIES], offset[ENTRIES];
    unsigned count;
} Table;

static Table dispatches; /* command buffer -> the set of its last dispatch; absent: it has none */
static Table bound;      /* command buffer -> the set that is bound */
static Table sets;       /* descriptor set -> buffer and offset of binding 1 */
static Table buffers;    /* buffer -> memory and offset */
static Table maps;       /* memory -> address */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static PFN_vkGetInstanceProcAddr next_instance_proc;
static PFN_vkGetDeviceProcAddr next_device_proc;
static VkInstance instance;
static VkDevice device;
static unsigned submissions;

static void put(Table *table, uint64_t key, uint64_t value, uint64_t offset) {
    unsigned filled = table->count < ENTRIES ? table->count : ENTRIES, at = table->count % ENTRIES;
    for (unsigned i = 0; i < filled; i++)
        if (table->key[i] == key) at = i;
    if (at == table->count % ENTRIES) table->count++;
    table->key[at] = key, table->value[at] = value, table->offset[at] = offset;
}

/* The entry of a key, or -1. */
static int find(const Table *table, uint64_t key) {
    unsigned filled = table->count < ENTRIES ? table->count : ENTRIES;
    for (unsigned i = 0; i < filled; i++)
        if (table->key[i] == key) return (int)i;
    return -1;
}

static int has_fault(const char *name) {
    const char *fault = getenv("RESTRIDE_FAULT");
    size_t length = strlen(name);
    return fault && !strncmp(fault, name, length) && (fault[length] == 0 || fault[length] == ':');
}

static unsigned interval(void) {
    const char *fault = getenv("RESTRIDE_FAULT"), *colon = fault ? strchr(fault, ':') : NULL;
    unsigned number = colon ? (unsigned)atoi(colon + 1) : 1;
    return number ? number : 1;
}

#define NEXT(name) ((PFN_##name)next_device_proc(device, #name))
#define KEY(handle) ((uint64_t)(uintptr_t)(handle))

static VKAPI_ATTR VkResult VKAPI_CALL begin_command_buffer(VkCommandBuffer command, const VkCommandBufferBeginInfo *info) {
    pthread_mutex_lock(&lock);
    put(&dispatches, KEY(command), 0, 0);
    pthread_mutex_unlock(&lock);
    return NEXT(vkBeginCommandBuffer)(command, info);
}

static VKAPI_ATTR void VKAPI_CALL cmd_bind_descriptor_sets(VkCommandBuffer command, VkPipelineBindPoint point,
                                                           VkPipelineLayout layout, uint32_t first, uint32_t count,
                                                           const VkDescriptorSet *list, uint32_t offset_count,
                                                           const uint32_t *offsets) {
    pthread_mutex_lock(&lock);
    put(&bound, KEY(command), KEY(list[0]), 0);
    pthread_mutex_unlock(&lock);
    NEXT(vkCmdBindDescriptorSets)(command, point, layout, first, count, list, offset_count, offsets);
}

static VKAPI_ATTR void VKAPI_CALL cmd_dispatch(VkCommandBuffer command, uint32_t x, uint32_t y, uint32_t z) {
    pthread_mutex_lock(&lock);
    int at = find(&bound, KEY(command));
    put(&dispatches, KEY(command), at < 0 ? 0 : bound.value[at], 1);
    pthread_mutex_unlock(&lock);
    if (has_fault("drop")) {
        if (z > 1) z--;
        else if (y > 1) y--;
        else if (x > 1) x--;
    }
    NEXT(vkCmdDispatch)(command, x, y, z);
    if (has_fault("twice")) NEXT(vkCmdDispatch)(command, x, y, z);
}

static VKAPI_ATTR void VKAPI_CALL update_descriptor_sets(VkDevice own, uint32_t count, const VkWriteDescriptorSet *writes,
                                                         uint32_t copies, const VkCopyDescriptorSet *copied) {
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < writes[i].descriptorCount; k++)
            if (writes[i].pBufferInfo && writes[i].dstBinding + k == 1)
                put(&sets, KEY(writes[i].dstSet), KEY(writes[i].pBufferInfo[k].buffer), writes[i].pBufferInfo[k].offset);
    pthread_mutex_unlock(&lock);
    NEXT(vkUpdateDescriptorSets)(own, count, writes, copies, copied);
}

static VKAPI_ATTR VkResult VKAPI_CALL bind_buffer_memory(VkDevice own, VkBuffer buffer, VkDeviceMemory memory,
                                                         VkDeviceSize offset) {
    pthread_mutex_lock(&lock);
    put(&buffers, KEY(buffer), KEY(memory), offset);
    pthread_mutex_unlock(&lock);
    return NEXT(vkBindBufferMemory)(own, buffer, memory, offset);
}

static VKAPI_ATTR VkResult VKAPI_CALL map_memory(VkDevice own, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size,
                                                 VkMemoryMapFlags flags, void **address) {
    VkResult result = NEXT(vkMapMemory)(own, memory, offset, size, flags, address);
    pthread_mutex_lock(&lock);
    if (result == VK_SUCCESS) put(&maps, KEY(memory), KEY((char *)*address - offset), 1);
    pthread_mutex_unlock(&lock);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL unmap_memory(VkDevice own, VkDeviceMemory memory) {
    pthread_mutex_lock(&lock);
    put(&maps, KEY(memory), 0, 0);
    pthread_mutex_unlock(&lock);
    NEXT(vkUnmapMemory)(own, memory);
}

static void flip_bit(uint64_t set) {
    int at = find(&sets, set), buffer = at < 0 ? -1 : find(&buffers, sets.value[at]);
    if (buffer < 0) return;
    VkDeviceMemory memory = (VkDeviceMemory)(uintptr_t)buffers.value[buffer];
    uint64_t offset = buffers.offset[buffer] + sets.offset[at];
    int map = find(&maps, KEY(memory));
    void *address = map < 0 ? NULL : (void *)(uintptr_t)maps.value[map];
    int is_own = !address;
    if (is_own && NEXT(vkMapMemory)(device, memory, 0, VK_WHOLE_SIZE, 0, &address) != VK_SUCCESS) return;
    ((uint8_t *)address)[offset] ^= 1;
    if (is_own) NEXT(vkUnmapMemory)(device, memory);
}

static VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence) {
    uint64_t set = 0;
    int has_dispatch = 0;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < infos[i].commandBufferCount; k++) {
            int at = find(&dispatches, KEY(infos[i].pCommandBuffers[k]));
            if (at >= 0 && dispatches.offset[at]) has_dispatch = 1, set = dispatches.value[at];
        }
    int is_struck = has_dispatch && ++submissions % interval() == 0;
    pthread_mutex_unlock(&lock);
    if (is_struck && has_fault("stale")) {
        VkSubmitInfo *empty = malloc(count * sizeof *empty);
        if (!empty) return VK_ERROR_OUT_OF_HOST_MEMORY;
        memcpy(empty, infos, count * sizeof *empty);
        for (uint32_t i = 0; i < count; i++) empty[i].commandBufferCount = 0;
        VkResult result = NEXT(vkQueueSubmit)(queue, count, empty, fence);
        free(empty);
        return result;
    }
    VkResult result = NEXT(vkQueueSubmit)(queue, count, infos, fence);
    if (result == VK_SUCCESS && is_struck && has_fault("flip") && NEXT(vkQueueWaitIdle)(queue) == VK_SUCCESS) {
        pthread_mutex_lock(&lock);
        flip_bit(set);
        pthread_mutex_unlock(&lock);
    }
    return result;
}

/* The chain of layers: find the link that the loader left for us, move it on, and call the next one. */

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *allocator,
                                                      VkInstance *created) {
    VkLayerInstanceCreateInfo *link = (VkLayerInstanceCreateInfo *)(uintptr_t)info->pNext;
    while (link && !(link->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO && link->function == VK_LAYER_LINK_INFO))
        link = (VkLayerInstanceCreateInfo *)(uintptr_t)link->pNext;
    if (!link) return VK_ERROR_INITIALIZATION_FAILED;
    next_instance_proc = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)next_instance_proc(VK_NULL_HANDLE, "vkCreateInstance");
    VkResult result = create(info, allocator, created);
    if (result == VK_SUCCESS) instance = *created;
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator, VkDevice *created) {
    VkLayerDeviceCreateInfo *link = (VkLayerDeviceCreateInfo *)(uintptr_t)info->pNext;
    while (link && !(link->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO && link->function == VK_LAYER_LINK_INFO))
        link = (VkLayerDeviceCreateInfo *)(uintptr_t)link->pNext;
    if (!link) return VK_ERROR_INITIALIZATION_FAILED;
    PFN_vkGetInstanceProcAddr instance_proc = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    next_device_proc = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateDevice create = (PFN_vkCreateDevice)instance_proc(instance, "vkCreateDevice");
    VkResult result = create(physical, info, allocator, created);
    if (result == VK_SUCCESS) device = *created;
    return result;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL own_device_proc(VkDevice of, const char *name);

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL own_instance_proc(VkInstance of, const char *name);

static const struct {
    const char *name;
    PFN_vkVoidFunction function;
} OWN[] = {
    {"vkGetInstanceProcAddr", (PFN_vkVoidFunction)own_instance_proc},
    {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)own_device_proc},
    {"vkCreateInstance", (PFN_vkVoidFunction)create_instance},
    {"vkCreateDevice", (PFN_vkVoidFunction)create_device},
    {"vkBeginCommandBuffer", (PFN_vkVoidFunction)begin_command_buffer},
    {"vkCmdBindDescriptorSets", (PFN_vkVoidFunction)cmd_bind_descriptor_sets},
    {"vkCmdDispatch", (PFN_vkVoidFunction)cmd_dispatch},
    {"vkUpdateDescriptorSets", (PFN_vkVoidFunction)update_descriptor_sets},
    {"vkBindBufferMemory", (PFN_vkVoidFunction)bind_buffer_memory},
    {"vkMapMemory", (PFN_vkVoidFunction)map_memory},
    {"vkUnmapMemory", (PFN_vkVoidFunction)unmap_memory},
    {"vkQueueSubmit", (PFN_vkVoidFunction)queue_submit},
};

static PFN_vkVoidFunction own(const char *name) {
    for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++)
        if (!strcmp(OWN[i].name, name)) return OWN[i].function;
    return NULL;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL own_device_proc(VkDevice of, const char *name) {
    PFN_vkVoidFunction function = own(name);
    return function ? function : next_device_proc(of, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL own_instance_proc(VkInstance of, const char *name) {
    PFN_vkVoidFunction function = own(name);
    return function ? function : next_instance_proc(of, name);
}

VKAPI_ATTR VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *negotiated) {
    negotiated->loaderLayerInterfaceVersion = 2;
    negotiated->pfnGetInstanceProcAddr = own_instance_proc;
    negotiated->pfnGetDeviceProcAddr = own_device_proc;
    negotiated->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
