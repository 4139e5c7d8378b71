// Resampling by cells: along every resampled axis, outputs read equally many elements with equal weights, equally far apart.
//
// Halved by mode area, output (y, x) is the mean of a cell: rows 2 y and 2 y + 1, columns 2 x and 2 x + 1. So the first row of each
// table says them all, and is loaded once for all invocations. llvmpipe loads lane by lane: a load costs what ten sums do. What
// an invocation loads for itself are words of the source, each of them once.
// An invocation makes four neighbours along axis 0 in each of ROWS rows; on both sides they begin at a word.
// Sums are nested as in resample.comp, and the bits are the same, but for the sign of a NaN, which a compiler may choose.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 128) in;

layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 1) buffer Dst { uint dst[]; };
layout(std430, binding = 1) buffer Dst2 { uvec2 dst2[]; };
layout(std430, binding = 1) buffer Dst4 { uvec4 dst4[]; };
layout(std430, binding = 2) readonly buffer Parameters { uvec4 parameters[]; };
layout(std430, binding = 2) readonly buffer Words { uint words[]; };  // the same buffer by words: tables
layout(std430, binding = 2) readonly buffer Pairs { uvec2 pairs[]; };  // and by pairs of scale and zero point

layout(constant_id = 7) const uint ROW_AXIS = 1;  // of the last slot; axis 0 is that of slot 0
layout(constant_id = 8) const uint AXIS_1 = 0;  // of slot 1, where that is not the last
layout(constant_id = 9) const uint TAPS = 1;  // 1 to 4 of a row, and of each slot inside
layout(constant_id = 10) const uint TAPS_0 = 1;
layout(constant_id = 11) const uint TAPS_1 = 1;
layout(constant_id = 12) const uint STEP = 1;  // elements from cell to cell along axis 0, 1 to 4
layout(constant_id = 13) const uint ROWS = 8;  // rows that an invocation makes

const uint MOST_TAPS = 4;
const uint ELEMENTS = 4;  // of a row that an invocation makes
const uint MOST_LOADS = 16;  // words of a row of the source: four f32 for each

#define PUSH_BLOCKS
#include "scales.glsl"
#include "taps.glsl"
#include "selected.glsl"

const bool HAS_AXIS_1 = SLOTS == 3u;

#define LANES_OF_SRC (32u / SRC_WIDTH)
#define LOADS (((ELEMENTS - 1u) * STEP + TAPS_0 + LANES_OF_SRC - 1u) / LANES_OF_SRC)

uint src_offset, tap_stride_1, row_src, row_dst, row_count;
uvec2 pair_offset, row_pairs;

#define VISIT_AXIS(k)
#include "axes.glsl"
#include "blocks.glsl"

// The cells along an axis: the source offset of the first, how far they are apart, and the weights of each.
struct Cells {
    uint first, apart;
    vec4 weights;
};

Cells cells_0, cells_1, row_cells;

// From the first two rows of a table, or its only one.
Cells cells_of(uint table, uint count, uint taps) {
    uint first = words[4u * table + taps];
    uint next = words[4u * (table + min(1u, count - 1u) * rows_of_taps(taps)) + taps];
    return Cells(first, next - first, uintBitsToFloat(parameters[table]));
}

#define LOAD_CELLS(k) \
    IF_AXIS(k) { \
        if (k == 0) { \
            cells_0 = cells_of(TABLE(k), SIZE(k), TAPS_0); \
        } else if (k == ROW_AXIS) { \
            row_cells = cells_of(TABLE(k), SIZE(k), TAPS); \
            row_src = SRC(k); \
            row_dst = DST(k); \
            row_count = SIZE(k); \
            row_pairs = PAIRS(k); \
        } else if (HAS_AXIS_1 && k == AXIS_1) { \
            cells_1 = cells_of(TABLE(k), SIZE(k), TAPS_1); \
            tap_stride_1 = SRC(k); \
        } \
    }

// Pieces go along axis 0, then by blocks of rows, then along the others.
#define VISIT_PIECE(k) \
    IF_AXIS(k) { \
        if (k != ROW_AXIS) { \
            uint rest = k == 0 ? 0u : DIVIDE_BY_SIZE(outer, k); \
            uint coordinate = k == 0 ? ELEMENTS * piece : outer - rest * SIZE(k); \
            dst_offset += coordinate * DST(k); \
            if (k == 0) { \
                src_offset += cells_0.first + coordinate * STEP; \
            } else if (HAS_AXIS_1 && k == AXIS_1) { \
                src_offset += cells_1.first + coordinate * cells_1.apart; \
            } else { \
                src_offset += coordinate * SRC(k); \
            } \
            if (has(SRC_PAIRS | DST_PAIRS)) { \
                pair_offset += coordinate * PAIRS(k); \
            } \
            outer = k == 0 ? outer : rest; \
        } \
    }

float added(float sum, float weight, float value) {
    precise float product = weight * value;
    precise float total = sum + product;
    return total;
}

// The sums of the neighbours along axis 0.
vec4 sums_0(uint offset) {
    uint loaded[MOST_LOADS];
    [[unroll]] for (uint n = 0u; n < MOST_LOADS; ++n) {
        if (n < LOADS) {
            loaded[n] = src[offset / LANES_OF_SRC + n];
        }
    }
    vec4 sums = vec4(NOTHING);
    [[unroll]] for (uint lane = 0u; lane < ELEMENTS; ++lane) {
        [[unroll]] for (uint tap = 0u; tap < MOST_TAPS; ++tap) {
            if (tap < TAPS_0) {
                uint n = lane * STEP + tap;
                uint bits = loaded[n / LANES_OF_SRC] >> (n % LANES_OF_SRC * SRC_WIDTH) & 0xFFFFFFFFu >> (32u - SRC_WIDTH);
                sums[lane] = added(sums[lane], cells_0.weights[tap], number_of(uvec2(bits, 0u)));
            }
        }
    }
    return sums;
}

vec4 sums_1(uint offset) {
    if (!HAS_AXIS_1) {
        return sums_0(offset);
    }
    vec4 sums = vec4(NOTHING);
    [[unroll]] for (uint tap = 0u; tap < MOST_TAPS; ++tap) {
        if (tap < TAPS_1) {
            vec4 inside = sums_0(offset + tap * tap_stride_1);
            [[unroll]] for (uint lane = 0u; lane < ELEMENTS; ++lane) {
                sums[lane] = added(sums[lane], cells_1.weights[tap], inside[lane]);
            }
        }
    }
    return sums;
}

uint old_word(uint word) { return dst[word]; }

void write_row(uint row, uint dst_offset) {
    uint offset = src_offset + row_cells.first + row * row_cells.apart;
    vec4 sums = vec4(NOTHING);
    [[unroll]] for (uint tap = 0u; tap < MOST_TAPS; ++tap) {
        if (tap < TAPS) {
            vec4 inside = sums_1(offset + tap * row_src);
            [[unroll]] for (uint lane = 0u; lane < ELEMENTS; ++lane) {
                sums[lane] = added(sums[lane], row_cells.weights[tap], inside[lane]);
            }
        }
    }
    uint at = dst_offset + row * row_dst;
    uvec2 place = pair_offset + row * row_pairs;
    uint bits[ELEMENTS];
    [[unroll]] for (uint lane = 0u; lane < ELEMENTS; ++lane) {
        bits[lane] = converted_sum(sums[lane], at + lane, place + lane * PAIRS(0)).x;
    }
    if (DST_WIDTH == 8u) {
        dst[at / 4u] = selected(bits[0] | bits[1] << 8 | bits[2] << 16 | bits[3] << 24, at);
    } else if (DST_WIDTH == 16u) {
        dst2[at / 4u] = uvec2(selected(bits[0] | bits[1] << 16, at), selected(bits[2] | bits[3] << 16, at));
    } else {
        dst4[at / 4u] = uvec4(selected(bits[0], at), selected(bits[1], at), selected(bits[2], at), selected(bits[3], at));
    }
}

void main() {
    load_axes();
    uvec4 divisors = parameters[1];
    FOR_AXES_INWARD_OUT(LOAD_CELLS)
    uint number = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (number >= dispatch.pieces) {
        return;
    }
    Place place = place_of(number, divisors);
    uint piece = place.piece;
    uint outer = place.outer;
    src_offset = dispatch.src_base;
    pair_offset = uvec2(dispatch.src_pairs, dispatch.dst_pairs);
    uint dst_offset = dispatch.dst_base;
    FOR_AXES_INWARD_OUT(VISIT_PIECE)
    uint row = place.block * ROWS;
    uint end = min(row + ROWS, row_count);
    [[dont_unroll]] for (; row < end; ++row) {
        write_row(row, dst_offset);
    }
}
