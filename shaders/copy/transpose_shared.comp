// Transpose of elements of 8, 16, 32 or 64 bits (WIDTH) through shared memory: the innermost axes of source and destination differ.
//
// Axis a is contiguous in the destination, axis b in the source. A group reads a tile of EDGE x EDGE elements by rows along b and
// writes it by rows along a, so that neighbouring invocations touch neighbouring words on both sides. Elements of 8 and 16 bits
// go in words of LANES elements, a square of LANES words being turned in registers on the way into the tile; then sizes, strides
// and bases are multiples of LANES. The axes left over are the axes of axes.glsl, one box of them along z.
//   f32, group (2, 1), invocation 35: reads src[a_src * (64 + 1 + 4n) + 32 + 3] for n = 0..7, writes dst[b_dst * (32 + 1 + 4n) + 64 + 3].
//   u8, group (0, 0), invocation 35: reads the words at src[a_src * (4 * 2 + 0..3) + 4 * 3] (and 32 rows further), for 35 = 2 * 16 + 3.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 128) in;

#if WIDTH == 64
#define CELL uvec2
#else
#define CELL uint
#endif
#if WIDTH < 32
#define LANES (32 / WIDTH)
const uint EDGE = 64;
#else
#define LANES 1
const uint EDGE = 32;
#endif

layout(std430, binding = 0) readonly buffer Src { CELL src[]; };
layout(std430, binding = 1) writeonly buffer Dst { CELL dst[]; };
layout(std430, binding = 2) readonly buffer Parameters { uvec4 parameters[]; };

layout(push_constant) uniform Dispatch {
    uint src_base;
    uint dst_base;
    uint a_size;
    uint b_size;
    uint a_src;  // source stride of axis a
    uint b_src;  // source stride of axis b: 1, or -1 where LANES is 1
    uint b_dst;  // destination stride of axis b
} dispatch;

#define VISIT_AXIS(k) src_offset += coordinate * SRC(k);
#include "axes.glsl"

// Cells in a row of the tile, and as many squares of LANES x LANES elements along each of its edges.
const uint ROW = EDGE / LANES;
const uint SQUARES_PER_INVOCATION = ROW * ROW / 128;

// A row of the tile is one of the destination, with a cell more: down a column, cells then lie in different banks.
shared CELL tile[EDGE][ROW + 1];

// Element n of each of LANES cells, side by side.
CELL column(CELL cells[LANES], uint n) {
#if LANES == 1
    return cells[0];
#else
    uint found = 0u;
    [[unroll]] for (uint lane = 0u; lane < LANES; ++lane) {
        found |= (cells[lane] >> WIDTH * n & (1u << WIDTH) - 1u) << WIDTH * lane;
    }
    return found;
#endif
}

void main() {
    load_axes();
    uint src_offset = dispatch.src_base;
    uint dst_offset = dispatch.dst_base;
    uint index = gl_WorkGroupID.z;
    FOR_COORDINATES_OF_INDEX
    uint first_a = gl_WorkGroupID.x * EDGE;
    uint first_b = gl_WorkGroupID.y * EDGE;

    [[unroll]] for (uint n = 0u; n < SQUARES_PER_INVOCATION; ++n) {
        uint square = n * 128u + gl_LocalInvocationID.x;
        uint down = square / ROW, across = square % ROW;
        uint a = first_a + down * LANES;
        uint b = first_b + across * LANES;
        if (a < dispatch.a_size && b < dispatch.b_size) {
            CELL cells[LANES];
            [[unroll]] for (uint lane = 0u; lane < LANES; ++lane) {
                // a_src may be negative, and a wrapped sum divides right where a wrapped stride does not.
                cells[lane] = src[(src_offset + (a + lane) * dispatch.a_src + b * dispatch.b_src) / LANES];
            }
            [[unroll]] for (uint lane = 0u; lane < LANES; ++lane) {
                tile[across * LANES + lane][down] = column(cells, lane);
            }
        }
    }
    // Every invocation comes here, those past an edge too.
    barrier();
    [[unroll]] for (uint n = 0u; n < SQUARES_PER_INVOCATION; ++n) {
        [[unroll]] for (uint lane = 0u; lane < LANES; ++lane) {
            // Row after row, so that a run of invocations writes a run of words.
            uint cell = (n * LANES + lane) * 128u + gl_LocalInvocationID.x;
            uint down = cell / ROW, across = cell % ROW;
            uint a = first_a + across * LANES;
            uint b = first_b + down;
            if (a < dispatch.a_size && b < dispatch.b_size) {
                dst[(dst_offset + a + b * dispatch.b_dst) / LANES] = tile[down][across];
            }
        }
    }
}
