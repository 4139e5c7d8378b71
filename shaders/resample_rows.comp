// Resampling by rows: an invocation makes the same place of eight rows, and sums along the inner axes once for each source row.
//
// A row is a step along the axis of the last slot. Its sums along the slots inside are kept, TAPS of them, while the rows that
// follow read them too: enlarged nine times, a source row is summed once, not 18 times. The bits are those of resample.comp.
// Invocations go along a row, then to the next block of eight: what rows read of their table is the same for most neighbours.
// An invocation makes ELEMENTS of a row, which lie side by side: whole words of the destination, and four if they fit.
// Without slots, elements are moved: TAPS is 1.
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

layout(constant_id = 1) const uint ELEMENTS = 1;  // 1, 2 or 4
layout(constant_id = 7) const uint ROW_AXIS_AND_TAPS = 17;

const uint ROW_AXIS = ROW_AXIS_AND_TAPS & 15u;
const uint TAPS = ROW_AXIS_AND_TAPS >> 4;  // 1 to 4
const uint MOST_TAPS = 4;
const uint ROWS = 8;

#define SCALES
#include "dispatch.glsl"
#include "convert.glsl"
#include "scales.glsl"
#include "elements.glsl"
#include "taps.glsl"

// Of each of the elements that an invocation makes of a row.
uint src_offset[4];
uvec2 pair_offset[4];
uvec3 inner_taps[4][2];
uint kept[4][MOST_TAPS];  // bits of sums, or of elements that are moved

uint row_src, row_dst, row_table, row_count;
uvec2 row_pairs;

#define VISIT_AXIS(k) \
    if (TABLE(k) == 0) { \
        src_offset[lane] += coordinate * SRC(k); \
    } else if (SLOTS == 0) { \
        src_offset[lane] += words[4 * TABLE(k) + coordinate]; \
    } else { \
        uint count = SLOT(k) >> 2; \
        uint row = 4 * TABLE(k) + coordinate * (1 + count); \
        src_offset[lane] += words[row]; \
        inner_taps[lane][SLOT(k) & 1u] = uvec3(count, SRC(k), row + 1); \
    } \
    if (has(SRC_PAIRS | DST_PAIRS)) { \
        pair_offset[lane] += coordinate * PAIRS(k); \
    }
#include "axes.glsl"

#define VISIT_ALL_BUT_ROWS(k) \
    IF_AXIS(k) { \
        if (k == ROW_AXIS) { \
            row_src = SRC(k); \
            row_dst = DST(k); \
            row_table = 4 * TABLE(k); \
            row_count = SIZE(k); \
            if (has(SRC_PAIRS | DST_PAIRS)) { \
                row_pairs = PAIRS(k); \
            } \
            index = outer; \
        } else { \
            uint rest = DIVIDE_BY_SIZE(index, k); \
            uint coordinate = index - rest * SIZE(k); \
            dst_offset += coordinate * DST(k); \
            VISIT_AXIS(k) \
            index = rest; \
        } \
    }

// The destination offset of row 0.
uint visit(uint lane, uint index, uint outer) {
    src_offset[lane] = dispatch.src_base;
    pair_offset[lane] = uvec2(dispatch.src_pairs, dispatch.dst_pairs);
    uint dst_offset = dispatch.dst_base;
    FOR_AXES_INWARD_OUT(VISIT_ALL_BUT_ROWS)
    return dst_offset;
}

uint summed(uint lane, uint offset) {
    taps[0] = inner_taps[lane][0];
    taps[1] = inner_taps[lane][1];
    switch (SLOTS) {
        case 0: return load_src(offset).x;
        case 1: return floatBitsToUint(value_0(offset));
        case 2: return floatBitsToUint(value_1(offset));
        default: return floatBitsToUint(value_2(offset));
    }
}

uint old_word(uint word) { return dst[word]; }

uvec2 made(uint lane, uint dst_offset, uint row, uint weight) {
    if (SLOTS == 0 && STEPS == 0 && SRC_TYPE == DST_TYPE) {
        return uvec2(kept[lane][0], 0u);
    }
    uvec2 old = load_old(dst_offset + lane);
    uvec2 place = pair_offset[lane] + row * row_pairs;
    vec2 src_pair = src_pair_at(place.x);
    vec2 dst_pair = dst_pair_at(place.y);
    if (SLOTS == 0) {
        return made_of(uvec2(kept[lane][0], 0u), old, src_pair, dst_pair);
    }
    precise float sum = start();
    [[unroll]] for (uint tap = 0u; tap < MOST_TAPS; ++tap) {
        if (tap < TAPS) {
            sum = sum + weighted(weight + tap, uintBitsToFloat(kept[lane][tap]));
        }
    }
    return made_of_f32(floatBitsToUint(sum), old, src_pair, dst_pair);
}

void main() {
    uint number = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (number >= dispatch.pieces) {
        return;
    }
    uint rest = number / dispatch.first;  // pieces of a row
    uint piece = number - rest * dispatch.first;
    uint outer = rest / dispatch.lane_stride;  // blocks of rows
    uint block = rest - outer * dispatch.lane_stride;
    row_pairs = uvec2(0u);
    uint dst_offset = visit(0u, piece * ELEMENTS, outer);
    [[unroll]] for (uint lane = 1u; lane < 4u; ++lane) {
        if (lane < ELEMENTS) {
            visit(lane, piece * ELEMENTS + lane, outer);
        }
    }
    uint words_of_row = 1u + (SLOTS == 0u ? 0u : TAPS);
    uint row = block * ROWS;
    uint end = min(row + ROWS, row_count);
    uint held = 0u;
    bool holds = false;
    [[dont_unroll]] for (; row < end; ++row) {
        uint first = words[row_table + row * words_of_row];
        uint missing = !holds ? TAPS : first == held ? 0u : first == held + row_src ? 1u : TAPS;
        holds = true;
        held = first;
        [[dont_unroll]] for (uint tap = TAPS - missing; tap < TAPS; ++tap) {
            [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
                if (lane < ELEMENTS) {
                    [[unroll]] for (uint n = 0u; n + 1u < MOST_TAPS; ++n) {
                        kept[lane][n] = kept[lane][n + 1u];
                    }
                    kept[lane][TAPS - 1u] = summed(lane, src_offset[lane] + first + tap * row_src);
                }
            }
        }
        uint weight = row_table + row * words_of_row + 1u;
        uint at = dst_offset + row * row_dst;
        uint bits[4] = uint[4](0u, 0u, 0u, 0u);
        [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
            if (lane < ELEMENTS) {
                bits[lane / LANES] |= in_lane(made(lane, at, row, weight).x, lane % LANES);
            }
        }
        if (ELEMENTS == LANES) {
            dst[at / LANES] = bits[0];
        } else if (LANES == 2) {
            dst2[at / 4u] = uvec2(bits[0], bits[1]);
        } else {
            dst4[at / 4u] = uvec4(bits[0], bits[1], bits[2], bits[3]);
        }
    }
}
