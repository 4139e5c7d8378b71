// A hand-written kernel to gather elements of 8 or 16 bits of one shape: an invocation computes one word of a row-major result.
//
// All axes are merged into x of the grid, axis 0 the innermost: element e is index e mod SIZE_0 of it, and so on. A result that
// ends in the middle of a word gets zeros after it; its buffer is longer.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "fixed_axes.glsl"

layout(constant_id = 29) const uint ELEMENTS = 1u;
layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 1) writeonly buffer Dst { uint dst[]; };

const uint LANES = 32u / WIDTH;

uint element(uint index) {
    uint offset = SRC_BASE + index % SIZE_0 * SRC_0;
    uint rest = index / SIZE_0;
    offset += rest % SIZE_1 * SRC_1;
    rest /= SIZE_1;
    offset += rest % SIZE_2 * SRC_2;
    rest /= SIZE_2;
    offset += rest % SIZE_3 * SRC_3;
    rest /= SIZE_3;
    offset += rest % SIZE_4 * SRC_4;
    rest /= SIZE_4;
    offset += rest % SIZE_5 * SRC_5;
    rest /= SIZE_5;
    offset += rest % SIZE_6 * SRC_6 + rest / SIZE_6 * SRC_7;
    return src[offset / LANES] >> offset % LANES * WIDTH & (1u << WIDTH) - 1u;
}

void main() {
    uint word = gl_GlobalInvocationID.x;
    if (word * LANES < ELEMENTS) {
        uint bits = 0u;
        [[unroll]] for (uint lane = 0u; lane < LANES; ++lane) {
            bits |= element(min(word * LANES + lane, ELEMENTS - 1u)) << lane * WIDTH;
        }
        dst[word] = bits;
    }
}
