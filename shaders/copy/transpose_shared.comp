// Transpose of elements of 8, 16, 32 or 64 bits (WIDTH) through shared memory: the innermost axes of source and destination differ.
//
// Axis a is contiguous in the destination, axis b in the source. A group reads a tile of EDGE x B_EDGE elements by rows along b and
// writes it by rows along a, so that neighbouring invocations touch neighbouring words on both sides. Elements of 8 and 16 bits
// move in words of LANES elements; squares of LANES words are transposed in registers on the way into the tile. Sizes, strides and
// bases are then multiples of LANES. ANYWHERE: they are not. Then each word is cut from two words of the source. The kernel writes
// the whole words of each row of the destination, and reads LANES more rows of the source for that; element_copy.comp writes the
// elements at both ends, whose words other rows share. INSIDE: elements at the end of axis a are padding, and get 0. All other axes
// are those of axes.glsl; the number of the group along z is their index.
// On an H200 it transposes f32[4096,4096] at 0.93 of the speed of copy. On llvmpipe, where a barrier is expensive, it takes 2 to 3
// times as long as transpose.comp.
//   f32, group (2, 1), invocation 35: reads src[a_src * (64 + 1 + 4n) + 32 + 3] for n = 0..7, writes dst[b_dst * (32 + 1 + 4n) + 64 + 3].
//   u8, group (0, 0), invocation 35: reads the words at src[a_src * (4 * 2 + 0..3) + 4 * 3] (and 32 rows further), for 35 = 2 * 16 + 3.
//   u8 of 4095 x 4093, ANYWHERE, row b = 1: dst[4095] is the last byte of word 1023, so word 1024 has elements a = 1..4.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "shared_constants.glsl"
layout(local_size_x = GROUP_SIZE) in;

#if WIDTH == 64
#define CELL uvec2
#else
#define CELL uint
#endif
#if WIDTH < 32
#define LANES (32 / WIDTH)
const uint EDGE = NARROW_EDGE;
#else
#define LANES 1
const uint EDGE = WIDE_EDGE;
#endif

layout(std430, binding = 0) readonly buffer Src { CELL src[]; };
layout(std430, binding = 1) writeonly buffer Dst { CELL dst[]; };
layout(std430, binding = 2) readonly buffer Parameters { uvec4 parameters[]; };

#define PUSHED_AXES 5
layout(push_constant) uniform Dispatch {
    uint src_base;
    uint dst_base;
    uint a_size;
    uint b_size;
    uint a_src;  // source stride of axis a
    uint b_src;  // source stride of axis b: 1, or -1 where LANES is 1
    uint b_dst;  // destination stride of axis b
    uint axes[5 * PUSHED_AXES];  // the innermost of the other axes, see axes.glsl
} dispatch;

// Elements of a tile along b: EDGE, or fewer (at least 32 bytes) where more tiles are needed.
layout(constant_id = 0) const uint B_EDGE = 32;

// The first INSIDE elements along a have a source; those after them get 0. If all have a source, INSIDE is 0. Not with ANYWHERE.
layout(constant_id = 1) const uint INSIDE = 0;

#if WIDTH < 32
layout(constant_id = 2) const bool ANYWHERE = false;
#else
const bool ANYWHERE = false;
#endif

#include "axes.glsl"

// A row of the tile, along a, has ROW cells, so there are ROW squares of LANES x LANES elements along a, and B_ROW along b.
const uint ROW = EDGE / LANES;
const uint B_ROW = B_EDGE / LANES;
const uint SQUARES = (ANYWHERE ? ROW + 1 : ROW) * B_ROW;
const uint SQUARES_PER_INVOCATION = (SQUARES + GROUP_SIZE - 1) / GROUP_SIZE;
const uint CELLS_PER_INVOCATION = B_EDGE * ROW / GROUP_SIZE;

// A row of the tile is a row of the destination plus one cell, so that the cells of a column are in different banks. With ANYWHERE,
// the extra cell has elements of the last word. Neighbouring squares are stored LANES rows apart; after 32 rows their banks would
// repeat, so later rows are shifted by LANES / 2 cells.
// 8 bits, rows of 17 words: 16 squares side by side store to the banks 4 * 17 * n mod 32, which are 0, 4, ... 28 twice. Shifted by
// 2 words, the second eight use 2, 6, ... 30, and the next 16 squares, one word further, use the banks in between.
shared CELL tile[EDGE * (ROW + 1) + LANES / 2];
uint place_in_tile(uint row, uint cell) { return row * (ROW + 1u) + row / 32u * (LANES / 2u) + cell; }

// Element n of each of the LANES cells, packed into one cell.
CELL column(CELL cells[LANES], uint n) {
#if LANES == 1
    return cells[0];
#else
    uint word = 0u;
    [[unroll]] for (uint lane = 0u; lane < LANES; ++lane) {
        word |= (cells[lane] >> WIDTH * n & (1u << WIDTH) - 1u) << WIDTH * lane;
    }
    return word;
#endif
}

// The elements from b on of the row of the source that begins at `row`.
CELL read_cell(uint row, uint b) {
#if WIDTH < 32
    if (ANYWHERE) {
        // Bytes 6 to 9 are the upper half of word 1 and the lower half of word 2. Two steps shift the next word by up to 32 bits.
        uint first = (row + b) / LANES;
        uint last = (row + dispatch.b_size - 1u) / LANES;
        uint shift = (row + b) % LANES * WIDTH;
        return src[first] >> shift | src[min(first + 1u, last)] << 1 << (31u - shift);
    }
#endif
    // a_src may be negative. The wrapped sum can be divided by LANES; a wrapped stride cannot.
    return src[(row + b * dispatch.b_src) / LANES];
}

// Writes cell `across` of row `down` of the tile to row b of the destination.
void write_cell(uint down, uint across, uint a, uint b, uint dst_offset) {
    uint first = dst_offset + a + b * dispatch.b_dst;
#if WIDTH < 32
    if (ANYWHERE) {
        uint skipped = (0u - first) % LANES;
        if (a + skipped + LANES <= dispatch.a_size) {
            uint shift = skipped * WIDTH;
            uint place = place_in_tile(down, across);
            dst[(first + skipped) / LANES] = tile[place] >> shift | tile[place + 1u] << 1 << (31u - shift);
        }
        return;
    }
#endif
    dst[first / LANES] = tile[place_in_tile(down, across)];
}

void main() {
    load_axes();
    Walk walk = walk_to(gl_WorkGroupID.z);
    uint src_offset = walk.src;
    uint dst_offset = walk.dst;
    uint first_a = gl_WorkGroupID.x * EDGE;
    uint first_b = gl_WorkGroupID.y * B_EDGE;

    // All loads come before the first store and are not in branches, so that they overlap in time. A load past an edge loads the
    // elements at the edge.
    CELL cells[SQUARES_PER_INVOCATION][LANES];
    [[unroll]] for (uint n = 0u; n < SQUARES_PER_INVOCATION; ++n) {
        uint square = n * GROUP_SIZE + gl_LocalInvocationID.x;
        uint b = min(first_b + square % B_ROW * LANES, dispatch.b_size - (ANYWHERE ? 1u : LANES));
        [[unroll]] for (uint lane = 0u; lane < LANES; ++lane) {
            uint a = min(first_a + square / B_ROW * LANES + lane, (INSIDE > 0u ? INSIDE : dispatch.a_size) - 1u);
            cells[n][lane] = read_cell(src_offset + a * dispatch.a_src, b);
        }
    }
    [[unroll]] for (uint n = 0u; n < SQUARES_PER_INVOCATION; ++n) {
        uint square = n * GROUP_SIZE + gl_LocalInvocationID.x;
        uint down = square / B_ROW, across = square % B_ROW;
        if (SQUARES % GROUP_SIZE == 0u || square < SQUARES) {
            [[unroll]] for (uint lane = 0u; lane < LANES; ++lane) {
                if (INSIDE > 0u) {
                    cells[n][lane] = first_a + down * LANES + lane < INSIDE ? cells[n][lane] : CELL(0u);
                }
            }
            [[unroll]] for (uint lane = 0u; lane < LANES; ++lane) {
                tile[place_in_tile(across * LANES + lane, down)] = column(cells[n], lane);
            }
        }
    }
    // Invocations past an edge must not return earlier, because all invocations have to reach the barrier.
    barrier();
    [[unroll]] for (uint n = 0u; n < CELLS_PER_INVOCATION; ++n) {
        // Cells are written row after row, so that neighbouring invocations write neighbouring words.
        uint cell = n * GROUP_SIZE + gl_LocalInvocationID.x;
        uint down = cell / ROW, across = cell % ROW;
        uint a = first_a + across * LANES;
        uint b = first_b + down;
        if (a < dispatch.a_size && b < dispatch.b_size) {
            write_cell(down, across, a, b, dst_offset);
        }
    }
}
