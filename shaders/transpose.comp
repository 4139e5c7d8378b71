// Transpose of elements of 8, 16 or 32 bits (WIDTH) through registers: the innermost axes of source and destination differ.
//
// Axis a is contiguous in the destination, axis b in the source. An invocation reads 4 runs of 4 along b and writes 4 runs
// of 4 along a, so both sides move four elements at a time. The axes left over are the axes of axes.glsl, one box of them
// along z. ALIGNED: every size, stride and base is a multiple of 4; else word by word with a bounds check.
//   4x4 of a 4096x4096 transpose: reads src[4096 * a + b .. b + 3] for a..a+3, writes dst[4096 * b + a .. a + 3] for b..b+3.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

// 2 blocks along a and 32 along b: the fastest of eight shapes on llvmpipe (Mesa 22.3), where a group is one thread.
layout(local_size_x = 2, local_size_y = 32) in;

#ifdef ALIGNED
#if WIDTH == 8
#define FOUR uint
#elif WIDTH == 16
#define FOUR uvec2
#else
#define FOUR uvec4
#endif
layout(std430, binding = 0) readonly buffer Src { FOUR src[]; };
layout(std430, binding = 1) writeonly buffer Dst { FOUR dst[]; };
#else
layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 1) writeonly buffer Dst { uint dst[]; };
#endif
layout(std430, binding = 2) readonly buffer Parameters { uvec4 parameters[]; };

layout(push_constant) uniform Dispatch {
    uint src_base;
    uint dst_base;
    uint a_size;
    uint b_size;
    uint a_src;  // source stride of axis a
    uint b_src;  // source stride of axis b: 1, or -1 when not ALIGNED
    uint b_dst;  // destination stride of axis b
} dispatch;

#define VISIT_AXIS(k) src_offset += coordinate * SRC(k);
#include "axes.glsl"

#ifdef ALIGNED

// Element n of each of four runs, side by side.
FOUR column(FOUR runs[4], uint n) {
#if WIDTH == 8
    uvec4 bytes = uvec4(runs[0], runs[1], runs[2], runs[3]) >> 8u * n & 0xFFu;
    return bytes.x | bytes.y << 8 | bytes.z << 16 | bytes.w << 24;
#elif WIDTH == 16
    uvec4 halves = uvec4(runs[0][n / 2u], runs[1][n / 2u], runs[2][n / 2u], runs[3][n / 2u]) >> 16u * (n % 2u) & 0xFFFFu;
    return uvec2(halves.x | halves.y << 16, halves.z | halves.w << 16);
#else
    return uvec4(runs[0][n], runs[1][n], runs[2][n], runs[3][n]);
#endif
}

void copy_block(uint src_offset, uint dst_offset) {
    FOUR runs[4];
    [[unroll]] for (uint a = 0u; a < 4u; ++a) {
        // a_src may be negative, and a wrapped sum divides right where a wrapped stride does not.
        runs[a] = src[(src_offset + a * dispatch.a_src) / 4u];
    }
    [[unroll]] for (uint b = 0u; b < 4u; ++b) {
        dst[(dst_offset + b * dispatch.b_dst) / 4u] = column(runs, b);
    }
}

#else

void copy_block(uint src_offset, uint dst_offset, uint a_count, uint b_count) {
    uint block[4][4];
    [[unroll]] for (uint a = 0; a < 4; ++a) {
        [[unroll]] for (uint b = 0; b < 4; ++b) {
            if (a < a_count && b < b_count) {
                block[b][a] = src[src_offset + a * dispatch.a_src + b * dispatch.b_src];
            }
        }
    }
    [[unroll]] for (uint b = 0; b < 4; ++b) {
        [[unroll]] for (uint a = 0; a < 4; ++a) {
            if (a < a_count && b < b_count) {
                dst[dst_offset + a + b * dispatch.b_dst] = block[b][a];
            }
        }
    }
}

#endif

void main() {
    load_axes();
    uint a = gl_GlobalInvocationID.x * 4;
    uint b = gl_GlobalInvocationID.y * 4;
    if (a >= dispatch.a_size || b >= dispatch.b_size) {
        return;
    }
    uint src_offset = dispatch.src_base + a * dispatch.a_src + b * dispatch.b_src;
    uint dst_offset = dispatch.dst_base + a + b * dispatch.b_dst;
    uint index = gl_WorkGroupID.z;
    FOR_COORDINATES_OF_INDEX
#ifdef ALIGNED
    copy_block(src_offset, dst_offset);
#else
    copy_block(src_offset, dst_offset, min(4, dispatch.a_size - a), min(4, dispatch.b_size - b));
#endif
}
