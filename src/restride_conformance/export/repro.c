/*
 * Runs one conformance case of restride with nothing but Vulkan: uploads the buffers, records the dispatches and copies
 * into one command buffer with the barriers that the case had, submits it, and compares every byte.
 *
 *     make && ./repro                      the tables below say what is run; README.md says what went wrong
 *     ./repro --device NVIDIA              a device by its number or by part of its name
 *     ./repro --replay 100                 submits the same commands 100 times, and counts the distinct results
 *     ./repro FOLDER                       reads *.spv and *.bin there instead of here
 *
 * The exit code is 0 if everything is right, 1 if something is wrong or Vulkan reports an error, 2 if the arguments or
 * the files are, and 77 if there is no such device. `make CFLAGS=-g` builds it for a debugger.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan.h>

enum { RIGHT = 0, WRONG = 1, BAD_INPUT = 2, NO_DEVICE = 77 };
enum { MAX_RANK = 8, MAX_BINDINGS = 16, SHOWN = 10, PUSH_BYTES = 128, TIMEOUT_SECONDS = 60 };

/* ------------------------------------------------ The case, as tables ------------------------------------------------ */

typedef enum { DISPATCH, COPY } Kind;
typedef enum { EXACT, UNSIGNED_LIMITS, SIGNED_LIMITS, FLOAT_LIMITS } Comparison;

typedef struct {
    const char *name; /* the contents are in NAME.bin */
    uint64_t size;
    int is_unchanged; /* no byte of it may change */
} Buffer;

typedef struct {
    const char *module; /* the SPIR-V is in MODULE.spv; its entry point is main */
    uint32_t bindings;  /* storage buffers at bindings 0 to bindings - 1 of set 0 */
    uint32_t constants, first_constant;
} Pipeline;

typedef struct {
    uint32_t buffer;
    uint64_t offset, size;
} Binding;

typedef struct {
    Kind kind;
    int has_barrier; /* before it, for all memory */
    /* of a dispatch: */
    uint32_t pipeline, groups[3], first_binding, pushes, first_push;
    /* of a copy: */
    uint32_t src, dst;
    uint64_t src_offset, dst_offset, size;
} Step;

typedef struct {
    const char *line;
    uint32_t buffers, pipelines, steps, bindings, destination;
    Comparison comparison;
    uint32_t element_bytes;
    uint64_t largest_number; /* of floats: the bits of the largest magnitude that is no NaN */
    uint64_t elements;
    uint32_t rank;
    uint64_t sizes[MAX_RANK];
} Case;

/* @TABLES@ */

/* ------------------------------------------------- Errors and files -------------------------------------------------- */

static void *allocate(size_t size)
{
    void *memory = calloc(size ? size : 1, 1);
    if (!memory) {
        fprintf(stderr, "repro: no memory for %lu bytes\n", (unsigned long)size);
        exit(BAD_INPUT);
    }
    return memory;
}

static void require(VkResult result, const char *call)
{
    if (result != VK_SUCCESS) {
        printf("WRONG: %s returned VkResult %d\n", call, (int)result);
        exit(WRONG);
    }
}

#define CALL(function, ...) require(function(__VA_ARGS__), #function)

/* The bytes of a file, which has `size` of them; a size of 0 takes any number, and stores it. */
static uint8_t *read_file(const char *folder, const char *name, const char *ending, uint64_t *size)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s%s", folder, name, ending);
    FILE *file = length > 0 && (size_t)length < sizeof path ? fopen(path, "rb") : NULL;
    if (!file || fseek(file, 0, SEEK_END)) {
        fprintf(stderr, "repro: cannot read %s\n", path);
        exit(BAD_INPUT);
    }
    long found = ftell(file);
    if (found < 0 || (*size && (uint64_t)found != *size)) {
        fprintf(stderr, "repro: %s has %ld bytes, not %lu\n", path, found, (unsigned long)*size);
        exit(BAD_INPUT);
    }
    uint8_t *bytes = allocate((size_t)found);
    rewind(file);
    if (fread(bytes, 1, (size_t)found, file) != (size_t)found) {
        fprintf(stderr, "repro: cannot read %s\n", path);
        exit(BAD_INPUT);
    }
    fclose(file);
    *size = (uint64_t)found;
    return bytes;
}

static uint8_t *read_sized(const char *folder, const char *name, uint64_t size)
{
    return size ? read_file(folder, name, ".bin", &size) : allocate(0);
}

/* ------------------------------------------------ Device and buffers ------------------------------------------------- */

typedef struct {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    VkCommandPool commands;
    VkDescriptorPool descriptors;
    VkFence fence;
} Gpu;

typedef struct {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint8_t *mapped;
    uint8_t *contents; /* before the first step */
} Storage;

typedef struct {
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
} Compute;

static int make_instance(Gpu *gpu)
{
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .pApplicationName = "repro",
                                     .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    return vkCreateInstance(&create, NULL, &gpu->instance) == VK_SUCCESS;
}

/* The first queue family that computes, if any. */
static int find_family(VkPhysicalDevice physical, uint32_t *family)
{
    uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, NULL);
    VkQueueFamilyProperties *families = allocate(count * sizeof *families);
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    uint32_t found = 0;
    while (found < count && !(families[found].queueFlags & VK_QUEUE_COMPUTE_BIT))
        found++;
    free(families);
    *family = found;
    return found < count;
}

/* `wanted` is a number, part of a name, or NULL for the first device. */
static int is_wanted(const char *wanted, uint32_t number, const char *name)
{
    char *end;
    if (!wanted)
        return 1;
    unsigned long index = strtoul(wanted, &end, 10);
    return *wanted && !*end ? index == number : strstr(name, wanted) != NULL;
}

/* Names the devices if none of them will do. */
static int find_device(Gpu *gpu, const char *wanted)
{
    uint32_t count = 0;
    if (vkEnumeratePhysicalDevices(gpu->instance, &count, NULL) != VK_SUCCESS || !count)
        return 0;
    VkPhysicalDevice *devices = allocate(count * sizeof *devices);
    CALL(vkEnumeratePhysicalDevices, gpu->instance, &count, devices);
    int is_found = 0;
    for (uint32_t i = 0; i < count && !is_found; i++) {
        VkPhysicalDeviceProperties properties;
        vkGetPhysicalDeviceProperties(devices[i], &properties);
        is_found = properties.apiVersion >= VK_API_VERSION_1_1 && is_wanted(wanted, i, properties.deviceName) &&
                   find_family(devices[i], &gpu->family);
        if (is_found) {
            gpu->physical = devices[i];
            printf("device %u: %s, Vulkan %u.%u, driver version 0x%08x\n", (unsigned)i, properties.deviceName,
                   (unsigned)VK_VERSION_MAJOR(properties.apiVersion), (unsigned)VK_VERSION_MINOR(properties.apiVersion),
                   (unsigned)properties.driverVersion);
        }
    }
    for (uint32_t i = 0; i < count && !is_found; i++) {
        VkPhysicalDeviceProperties properties;
        vkGetPhysicalDeviceProperties(devices[i], &properties);
        fprintf(stderr, "repro: device %u is %s, Vulkan %u.%u\n", (unsigned)i, properties.deviceName,
                (unsigned)VK_VERSION_MAJOR(properties.apiVersion), (unsigned)VK_VERSION_MINOR(properties.apiVersion));
    }
    free(devices);
    return is_found;
}

static void make_device(Gpu *gpu)
{
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = gpu->family,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                 .queueCreateInfoCount = 1,
                                 .pQueueCreateInfos = &queue};
    CALL(vkCreateDevice, gpu->physical, &create, NULL, &gpu->device);
    vkGetDeviceQueue(gpu->device, gpu->family, 0, &gpu->queue);
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = gpu->family};
    CALL(vkCreateCommandPool, gpu->device, &pool, NULL, &gpu->commands);
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    CALL(vkCreateFence, gpu->device, &fence, NULL, &gpu->fence);
    VkDescriptorPoolSize size = {.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = CASE.bindings + 1};
    VkDescriptorPoolCreateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = CASE.steps + 1,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    CALL(vkCreateDescriptorPool, gpu->device, &sets, NULL, &gpu->descriptors);
}

/* A memory type that the host sees, on the device if there is one; Vulkan promises one for every such buffer. */
static uint32_t find_memory_type(const Gpu *gpu, uint32_t allowed)
{
    const VkMemoryPropertyFlags seen = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkMemoryPropertyFlags wanted[] = {seen | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, seen};
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceMemoryProperties(gpu->physical, &memory);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
            if (allowed >> i & 1 && (memory.memoryTypes[i].propertyFlags & wanted[pass]) == wanted[pass])
                return i;
    printf("WRONG: a storage buffer has no memory type that the host sees\n");
    exit(WRONG);
}

static Storage make_storage(const Gpu *gpu, const char *folder, const Buffer *table)
{
    Storage made = {.contents = read_sized(folder, table->name, table->size)};
    VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .size = table->size,
                                 .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                          VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    CALL(vkCreateBuffer, gpu->device, &create, NULL, &made.buffer);
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(gpu->device, made.buffer, &needs);
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .allocationSize = needs.size,
                                   .memoryTypeIndex = find_memory_type(gpu, needs.memoryTypeBits)};
    CALL(vkAllocateMemory, gpu->device, &memory, NULL, &made.memory);
    CALL(vkBindBufferMemory, gpu->device, made.buffer, made.memory, 0);
    void *mapped;
    CALL(vkMapMemory, gpu->device, made.memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    made.mapped = mapped;
    return made;
}

static void free_storage(const Gpu *gpu, Storage *made)
{
    vkDestroyBuffer(gpu->device, made->buffer, NULL);
    vkFreeMemory(gpu->device, made->memory, NULL);
    free(made->contents);
}

static void free_gpu(Gpu *gpu)
{
    if (gpu->device) {
        vkDestroyFence(gpu->device, gpu->fence, NULL);
        vkDestroyDescriptorPool(gpu->device, gpu->descriptors, NULL);
        vkDestroyCommandPool(gpu->device, gpu->commands, NULL);
        vkDestroyDevice(gpu->device, NULL);
    }
    if (gpu->instance)
        vkDestroyInstance(gpu->instance, NULL);
}

/* ----------------------------------------------- Pipelines and commands ---------------------------------------------- */

static void make_layouts(const Gpu *gpu, const Pipeline *table, Compute *made)
{
    VkDescriptorSetLayoutBinding bindings[MAX_BINDINGS];
    for (uint32_t i = 0; i < table->bindings; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){.binding = i,
                                                     .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                     .descriptorCount = 1,
                                                     .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    VkDescriptorSetLayoutCreateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .bindingCount = table->bindings,
                                           .pBindings = bindings};
    CALL(vkCreateDescriptorSetLayout, gpu->device, &set, NULL, &made->set_layout);
    VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = PUSH_BYTES};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &made->set_layout,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &push};
    CALL(vkCreatePipelineLayout, gpu->device, &layout, NULL, &made->layout);
}

static VkShaderModule make_module(const Gpu *gpu, const char *folder, const char *name)
{
    uint64_t size = 0;
    uint8_t *code = read_file(folder, name, ".spv", &size);
    VkShaderModuleCreateInfo create = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                       .codeSize = (size_t)size,
                                       .pCode = (const uint32_t *)(const void *)code};
    VkShaderModule module;
    CALL(vkCreateShaderModule, gpu->device, &create, NULL, &module);
    free(code);
    return module;
}

static Compute make_compute(const Gpu *gpu, const char *folder, const Pipeline *table)
{
    Compute made;
    make_layouts(gpu, table, &made);
    VkShaderModule module = make_module(gpu, folder, table->module);
    VkSpecializationMapEntry *entries = allocate(table->constants * sizeof *entries);
    for (uint32_t i = 0; i < table->constants; i++)
        entries[i] = (VkSpecializationMapEntry){.constantID = i, .offset = 4 * i, .size = 4};
    VkSpecializationInfo constants = {.mapEntryCount = table->constants,
                                      .pMapEntries = entries,
                                      .dataSize = 4 * (size_t)table->constants,
                                      .pData = CONSTANTS + table->first_constant};
    VkComputePipelineCreateInfo create = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                          .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                    .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                    .module = module,
                                                    .pName = "main",
                                                    .pSpecializationInfo = &constants},
                                          .layout = made.layout};
    CALL(vkCreateComputePipelines, gpu->device, VK_NULL_HANDLE, 1, &create, NULL, &made.pipeline);
    vkDestroyShaderModule(gpu->device, module, NULL);
    free(entries);
    return made;
}

static void free_compute(const Gpu *gpu, const Compute *made)
{
    vkDestroyPipeline(gpu->device, made->pipeline, NULL);
    vkDestroyPipelineLayout(gpu->device, made->layout, NULL);
    vkDestroyDescriptorSetLayout(gpu->device, made->set_layout, NULL);
}

static VkDescriptorSet make_set(const Gpu *gpu, const Compute *compute, const Step *step, const Storage *storages)
{
    VkDescriptorSetAllocateInfo allocate_set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                                .descriptorPool = gpu->descriptors,
                                                .descriptorSetCount = 1,
                                                .pSetLayouts = &compute->set_layout};
    VkDescriptorSet set;
    CALL(vkAllocateDescriptorSets, gpu->device, &allocate_set, &set);
    for (uint32_t i = 0; i < PIPELINES[step->pipeline].bindings; i++) {
        const Binding *binding = &BINDINGS[step->first_binding + i];
        VkDescriptorBufferInfo range = {storages[binding->buffer].buffer, binding->offset, binding->size};
        VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                      .dstSet = set,
                                      .dstBinding = i,
                                      .descriptorCount = 1,
                                      .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                      .pBufferInfo = &range};
        vkUpdateDescriptorSets(gpu->device, 1, &write, 0, NULL);
    }
    return set;
}

static void barrier(VkCommandBuffer commands, VkPipelineStageFlags stages, VkAccessFlags accesses)
{
    const VkPipelineStageFlags work = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                              .dstAccessMask = accesses};
    vkCmdPipelineBarrier(commands, work, stages, 0, 1, &memory, 0, NULL, 0, NULL);
}

static void record_step(const Gpu *gpu, VkCommandBuffer commands, const Step *step, const Compute *computes,
                        const Storage *storages)
{
    if (step->has_barrier)
        barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                    VK_ACCESS_TRANSFER_WRITE_BIT);
    if (step->kind == COPY) {
        VkBufferCopy region = {step->src_offset, step->dst_offset, step->size};
        vkCmdCopyBuffer(commands, storages[step->src].buffer, storages[step->dst].buffer, 1, &region);
        return;
    }
    const Compute *compute = &computes[step->pipeline];
    VkDescriptorSet set = make_set(gpu, compute, step, storages);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, compute->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, compute->layout, 0, 1, &set, 0, NULL);
    if (step->pushes)
        vkCmdPushConstants(commands, compute->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4 * step->pushes,
                           PUSH + step->first_push);
    vkCmdDispatch(commands, step->groups[0], step->groups[1], step->groups[2]);
}

static VkCommandBuffer record(const Gpu *gpu, const Compute *computes, const Storage *storages)
{
    VkCommandBufferAllocateInfo allocate_commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                     .commandPool = gpu->commands,
                                                     .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                     .commandBufferCount = 1};
    VkCommandBuffer commands;
    CALL(vkAllocateCommandBuffers, gpu->device, &allocate_commands, &commands);
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    CALL(vkBeginCommandBuffer, commands, &begin);
    for (uint32_t i = 0; i < CASE.steps; i++)
        record_step(gpu, commands, &STEPS[i], computes, storages);
    barrier(commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    CALL(vkEndCommandBuffer, commands);
    return commands;
}

/* Gives every buffer its contents, submits the commands, and waits for them. */
static void run(const Gpu *gpu, VkCommandBuffer commands, const Storage *storages)
{
    for (uint32_t i = 0; i < CASE.buffers; i++)
        memcpy(storages[i].mapped, storages[i].contents, (size_t)BUFFERS[i].size);
    CALL(vkResetFences, gpu->device, 1, &gpu->fence);
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    CALL(vkQueueSubmit, gpu->queue, 1, &submit, gpu->fence);
    CALL(vkWaitForFences, gpu->device, 1, &gpu->fence, VK_TRUE, TIMEOUT_SECONDS * UINT64_C(1000000000));
}

/* ---------------------------------------------------- Comparison ----------------------------------------------------- */

/* What the destination must hold. Elements are judged one by one, all other bytes where `judged` is not 0. */
typedef struct {
    uint8_t *bytes, *judged;
    uint8_t *places; /* of each element its position in the destination, 64 bits */
    uint8_t *lowest, *highest; /* of each element, its own size; NULL where one value is right, which is in `bytes` */
} Expected;

static Expected read_expected(const char *folder)
{
    const uint64_t size = BUFFERS[CASE.destination].size, limits = CASE.elements * CASE.element_bytes;
    Expected expected = {.bytes = read_sized(folder, "expected", size),
                         .judged = read_sized(folder, "judged", size),
                         .places = read_sized(folder, "places", 8 * CASE.elements)};
    if (CASE.comparison != EXACT) {
        expected.lowest = read_sized(folder, "lowest", limits);
        expected.highest = read_sized(folder, "highest", limits);
    }
    for (uint64_t i = 0; i < CASE.elements; i++) {
        uint64_t place = 0;
        for (int byte = 8; byte--;)
            place = place << 8 | expected.places[8 * i + (unsigned)byte];
        if (place > size || size - place < CASE.element_bytes) {
            fprintf(stderr, "repro: places.bin leaves the destination\n");
            exit(BAD_INPUT);
        }
    }
    return expected;
}

static void free_expected(Expected *expected)
{
    free(expected->bytes);
    free(expected->judged);
    free(expected->places);
    free(expected->lowest);
    free(expected->highest);
}

/* A number of `size` bytes, the lowest first. */
static uint64_t read_bits(const uint8_t *bytes, uint32_t size)
{
    uint64_t bits = 0;
    while (size--)
        bits = bits << 8 | bytes[size];
    return bits;
}

static uint64_t place_of(const Expected *expected, uint64_t element)
{
    return read_bits(expected->places + 8 * element, 8);
}

static uint64_t sign_bit(void)
{
    return UINT64_C(1) << (8 * CASE.element_bytes - 1);
}

static int is_nan(uint64_t bits)
{
    return CASE.comparison == FLOAT_LIMITS && (bits & ~sign_bit()) > CASE.largest_number;
}

/* An integer that is larger where the element is larger, and the same for -0 and +0. */
static uint64_t key(uint64_t bits)
{
    const uint64_t zero = UINT64_C(1) << 63, sign = sign_bit();
    if (CASE.comparison == FLOAT_LIMITS)
        return bits & sign ? zero - (bits & ~sign) : zero + bits;
    if (CASE.comparison == SIGNED_LIMITS)
        return bits & sign ? zero - (sign - (bits & ~sign)) : zero + bits;
    return bits;
}

/* Where both limits have the same bits, only these are right. NaN is right where a limit is NaN; if the highest is, so
 * is every number from the lowest up; if the lowest is, no number is. */
static int is_within(uint64_t bits, uint64_t lowest, uint64_t highest)
{
    if (lowest == highest && !is_nan(lowest))
        return bits == lowest;
    if (is_nan(bits) || is_nan(lowest))
        return is_nan(bits) && (is_nan(lowest) || is_nan(highest));
    return key(lowest) <= key(bits) && (is_nan(highest) || key(bits) <= key(highest));
}

static void limits_of(const Expected *expected, uint64_t element, uint64_t *lowest, uint64_t *highest)
{
    const uint32_t size = CASE.element_bytes;
    if (CASE.comparison == EXACT) {
        *lowest = *highest = read_bits(expected->bytes + place_of(expected, element), size);
    } else {
        *lowest = read_bits(expected->lowest + element * size, size);
        *highest = read_bits(expected->highest + element * size, size);
    }
}

static void index_of(uint64_t element, uint64_t *index)
{
    for (uint32_t axis = CASE.rank; axis--;) {
        index[axis] = element % CASE.sizes[axis];
        element /= CASE.sizes[axis];
    }
}

static void print_index(const char *before, const uint64_t *index, const char *after)
{
    printf("%s(", before);
    for (uint32_t axis = 0; axis < CASE.rank; axis++)
        printf("%s%lu", axis ? ", " : "", (unsigned long)index[axis]);
    printf(")%s", after);
}

static void print_bits(uint64_t bits)
{
    printf("0x");
    for (uint32_t digit = 2 * CASE.element_bytes; digit--;)
        putchar("0123456789abcdef"[bits >> 4 * digit & 15]);
}

static void print_element(const uint64_t *index, uint64_t bits, uint64_t before, uint64_t lowest, uint64_t highest)
{
    print_index("  element ", index, " is ");
    print_bits(bits);
    printf(bits == before ? ", as before the run, expected " : ", expected ");
    print_bits(lowest);
    if (lowest != highest) {
        printf(" to ");
        print_bits(highest);
    }
    printf("\n");
}

/* The number of wrong elements; prints the first ones, and the rectangle of indices that they span. */
static uint64_t compare_elements(const Expected *expected, const uint8_t *actual, const uint8_t *before)
{
    uint64_t wrong = 0, index[MAX_RANK] = {0}, first[MAX_RANK] = {0}, last[MAX_RANK] = {0};
    for (uint64_t i = 0; i < CASE.elements; i++) {
        const uint64_t place = place_of(expected, i), bits = read_bits(actual + place, CASE.element_bytes);
        uint64_t lowest, highest;
        limits_of(expected, i, &lowest, &highest);
        if (is_within(bits, lowest, highest))
            continue;
        index_of(i, index);
        for (uint32_t axis = 0; axis < CASE.rank; axis++) {
            first[axis] = wrong && first[axis] < index[axis] ? first[axis] : index[axis];
            last[axis] = wrong && last[axis] > index[axis] ? last[axis] : index[axis];
        }
        if (wrong++ < SHOWN)
            print_element(index, bits, read_bits(before + place, CASE.element_bytes), lowest, highest);
    }
    if (wrong) {
        printf("  %lu of %lu elements are wrong, from ", (unsigned long)wrong, (unsigned long)CASE.elements);
        print_index("", first, " to ");
        print_index("", last, "\n");
    }
    return wrong;
}

/* The number of bytes that differ, of those in `judged`, or of all if it is NULL; prints the first ones. */
static uint64_t compare_bytes(const char *name, uint64_t size, const uint8_t *actual, const uint8_t *expected,
                              const uint8_t *judged)
{
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < size; i++)
        if (actual[i] != expected[i] && (!judged || judged[i]) && wrong++ < SHOWN)
            printf("  byte %lu of %s is 0x%02x, expected 0x%02x\n", (unsigned long)i, name, actual[i], expected[i]);
    if (wrong)
        printf("  %lu bytes of %s are wrong: guards, padding or bytes that must not change\n", (unsigned long)wrong, name);
    return wrong;
}

static int is_right(const Expected *expected, const Storage *storages)
{
    const Buffer *destination = &BUFFERS[CASE.destination];
    const uint8_t *actual = storages[CASE.destination].mapped;
    uint64_t wrong = compare_elements(expected, actual, storages[CASE.destination].contents);
    wrong += compare_bytes(destination->name, destination->size, actual, expected->bytes, expected->judged);
    for (uint32_t i = 0; i < CASE.buffers; i++)
        if (BUFFERS[i].is_unchanged)
            wrong += compare_bytes(BUFFERS[i].name, BUFFERS[i].size, storages[i].mapped, storages[i].contents, NULL);
    return !wrong;
}

/* ------------------------------------------------------ Replays ------------------------------------------------------ */

typedef struct Result Result;

/* The bytes that were right or wrong after so many replays: of the destination, and of what must not change. */
struct Result {
    uint8_t *bytes;
    unsigned long count, first_replay;
    Result *next;
};

static int is_compared(uint32_t buffer)
{
    return buffer == CASE.destination || BUFFERS[buffer].is_unchanged;
}

static uint8_t *copy_compared(const Storage *storages, size_t *size)
{
    *size = 0;
    for (uint32_t i = 0; i < CASE.buffers; i++)
        *size += is_compared(i) ? (size_t)BUFFERS[i].size : 0;
    uint8_t *bytes = allocate(*size), *end = bytes;
    for (uint32_t i = 0; i < CASE.buffers; i++)
        if (is_compared(i)) {
            memcpy(end, storages[i].mapped, (size_t)BUFFERS[i].size);
            end += BUFFERS[i].size;
        }
    return bytes;
}

/* Counts the result that the buffers now hold; returns 1 if no replay before had it. */
static int count_result(Result **results, const Storage *storages, unsigned long replay)
{
    size_t size;
    uint8_t *bytes = copy_compared(storages, &size);
    Result **place = results;
    while (*place && memcmp((*place)->bytes, bytes, size))
        place = &(*place)->next;
    const int is_new = !*place;
    if (is_new) {
        *place = allocate(sizeof **place);
        (*place)->bytes = bytes;
        (*place)->first_replay = replay;
    } else {
        free(bytes);
    }
    (*place)->count++;
    return is_new;
}

static void print_and_free(Result *results, unsigned long replays)
{
    unsigned long distinct = 0;
    for (Result *each = results; each; each = each->next)
        distinct++;
    if (replays > 1)
        printf("%lu replays, distinct results: %lu\n", replays, distinct);
    for (Result *next; results; results = next) {
        if (replays > 1)
            printf("  %lu times that of replay %lu\n", results->count, results->first_replay);
        next = results->next;
        free(results->bytes);
        free(results);
    }
}

/* Runs the commands so often, and says of each distinct result what is wrong with it; returns 1 if nothing is. */
static int replay(const Gpu *gpu, VkCommandBuffer commands, const Storage *storages, const Expected *expected,
                  unsigned long replays)
{
    int all_right = 1;
    Result *results = NULL;
    for (unsigned long i = 1; i <= replays; i++) {
        run(gpu, commands, storages);
        if (!count_result(&results, storages, i))
            continue;
        if (replays > 1)
            printf("replay %lu:\n", i);
        if (!is_right(expected, storages))
            all_right = 0;
        else if (replays > 1)
            printf("  right\n");
    }
    print_and_free(results, replays);
    return all_right;
}

static int run_case(const Gpu *gpu, const char *folder, unsigned long replays)
{
    Storage *storages = allocate(CASE.buffers * sizeof *storages);
    Compute *computes = allocate(CASE.pipelines * sizeof *computes);
    Expected expected = read_expected(folder);
    for (uint32_t i = 0; i < CASE.buffers; i++)
        storages[i] = make_storage(gpu, folder, &BUFFERS[i]);
    for (uint32_t i = 0; i < CASE.pipelines; i++)
        computes[i] = make_compute(gpu, folder, &PIPELINES[i]);

    int all_right = replay(gpu, record(gpu, computes, storages), storages, &expected, replays);
    printf(all_right ? "RIGHT\n" : "WRONG\n");

    for (uint32_t i = 0; i < CASE.pipelines; i++)
        free_compute(gpu, &computes[i]);
    for (uint32_t i = 0; i < CASE.buffers; i++)
        free_storage(gpu, &storages[i]);
    free_expected(&expected);
    free(computes);
    free(storages);
    return all_right;
}

static int usage(FILE *stream, int code)
{
    fprintf(stream, "usage: repro [FOLDER] [--device NUMBER|NAME] [--replay COUNT]\n");
    return code;
}

/* The folder of this program, as it was called. */
static char *folder_of(const char *program)
{
    const char *end = strrchr(program, '/');
    const size_t length = end ? (size_t)(end - program) : 0;
    char *folder = allocate(length + 2);
    memcpy(folder, end ? program : ".", end ? length + 1 : 1);
    return folder;
}

int main(int count, char **arguments)
{
    const char *named = NULL, *wanted = NULL;
    unsigned long replays = 1;
    for (int i = 1; i < count; i++) {
        if (!strcmp(arguments[i], "--device") && i + 1 < count)
            wanted = arguments[++i];
        else if (!strcmp(arguments[i], "--replay") && i + 1 < count)
            replays = strtoul(arguments[++i], NULL, 10);
        else if (!strcmp(arguments[i], "--help") || !strcmp(arguments[i], "-h"))
            return usage(stdout, RIGHT);
        else if (arguments[i][0] != '-' && !named)
            named = arguments[i];
        else
            return usage(stderr, BAD_INPUT);
    }
    if (!replays)
        return usage(stderr, BAD_INPUT);

    Gpu gpu = {0};
    printf("%s\n", CASE.line);
    if (!make_instance(&gpu) || !find_device(&gpu, wanted)) {
        fprintf(stderr, "repro: there is no such Vulkan 1.1 device\n");
        free_gpu(&gpu);
        return NO_DEVICE;
    }
    make_device(&gpu);
    char *beside = folder_of(arguments[0]);
    int all_right = run_case(&gpu, named ? named : beside, replays);
    free(beside);
    free_gpu(&gpu);
    return all_right ? RIGHT : WRONG;
}
