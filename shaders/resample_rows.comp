// Resampling by rows: an invocation makes the same place of eight rows, and sums along the inner axes once for each source row.
//
// A row is a step along the axis of the last slot. Its sums along the slots inside are kept, TAPS of them, while the rows that
// follow read them too: enlarged nine times, a source row is summed once, not 18 times. The bits are those of resample.comp,
// but for the sign of a NaN, which a compiler may choose.
// Weights along the inner axes are loaded once, those along the rows once a row: on llvmpipe a load costs what ten sums do.
// Invocations go along a row, then to the next block of eight: what rows read of their table is the same for most neighbours.
// An invocation makes ELEMENTS of a row, which lie side by side: whole words of the destination, four if they fit, of RUNS eight.
// Without slots, elements are moved: TAPS is 1. Enlarged twice, four neighbours are two of the source: one load of a GROUP.
// RUNS: what the elements of a piece read along axis 0 is a run of the source, loaded once for all of them.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 128) in;

layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 0) readonly buffer Src2 { uvec2 src2[]; };
layout(std430, binding = 0) readonly buffer Src4 { uvec4 src4[]; };
layout(std430, binding = 1) buffer Dst { uint dst[]; };
layout(std430, binding = 1) buffer Dst2 { uvec2 dst2[]; };
layout(std430, binding = 1) buffer Dst4 { uvec4 dst4[]; };
layout(std430, binding = 2) readonly buffer Parameters { uvec4 parameters[]; };
layout(std430, binding = 2) readonly buffer Words { uint words[]; };  // the same buffer by words: tables
layout(std430, binding = 2) readonly buffer Pairs { uvec2 pairs[]; };  // and by pairs of scale and zero point

layout(constant_id = 1) const uint ELEMENTS = 1;  // 1, 2, 4 or 8
layout(constant_id = 7) const uint ROW_AXIS = 1;
layout(constant_id = 8) const uint TABLED = 0;  // bit k: axis k has a table
layout(constant_id = 9) const uint TAPS = 1;  // 1 to 4 of a row, and of each slot inside
layout(constant_id = 10) const uint TAPS_0 = 1;  // without slots: so many rows in turn take one of the source, if more than 1
layout(constant_id = 11) const uint TAPS_1 = 1;
layout(constant_id = 12) const uint AXIS_1 = 0;  // the axis of slot 1, where that is inside
layout(constant_id = 13) const bool ALONG_AXIS_0 = false;  // ELEMENTS divides its size

const uint MOST_TAPS = 4;
#ifdef RUNS
const uint MOST_ELEMENTS = 8;
#else
const uint MOST_ELEMENTS = 4;
#endif
const uint ROWS = 8;

#define SCALES
#include "dispatch.glsl"
#include "convert.glsl"
#include "scales.glsl"
#include "elements.glsl"
#include "taps.glsl"

// Of each of the elements that an invocation makes of a row.
uint src_offset[MOST_ELEMENTS];
uvec2 pair_offset[MOST_ELEMENTS];
float weights[MOST_ELEMENTS][2][MOST_TAPS];  // along the slots inside
uint kept[MOST_ELEMENTS][MOST_TAPS];  // bits of sums, or of elements that are moved

uint tap_stride[2];  // of the slots inside
uint row_src, row_dst, row_table, row_count;
uvec2 row_pairs;

// Behind what is kept already.
void keep(uint lane, uint bits) {
    [[unroll]] for (uint n = 0u; n + 1u < MOST_TAPS; ++n) {
        kept[lane][n] = kept[lane][n + 1u];
    }
    kept[lane][TAPS - 1u] = bits;
}

#ifdef RUNS
#include "runs.glsl"
#else
#include "singles.glsl"
#endif

// Weights of a row of a table; the source offset of its first tap.
uint load_row(uint row, uint taps, out float row_weights[MOST_TAPS]) {
    uvec4 bits = parameters[row];
    [[unroll]] for (uint tap = 0u; tap < MOST_TAPS; ++tap) {
        row_weights[tap] = uintBitsToFloat(bits[tap]);
    }
    return taps < MOST_TAPS ? bits[taps] : parameters[row + 1u].x;
}

#define SLOT_INSIDE(k) (SLOTS == 3u && k == AXIS_1 ? 1u : 0u)

#define VISIT_AXIS(k) \
    if ((TABLED & 1u << k) == 0u) { \
        src_offset[lane] += coordinate * SRC(k); \
    } else if (SLOTS == 0u) { \
        src_offset[lane] += words[4 * TABLE(k) + coordinate]; \
    } else { \
        uint taps = SLOT_INSIDE(k) == 0u ? TAPS_0 : TAPS_1; \
        uint row = TABLE(k) + coordinate * rows_of_taps(taps); \
        tap_stride[SLOT_INSIDE(k)] = SRC(k); \
        src_offset[lane] += load_row(row, taps, weights[lane][SLOT_INSIDE(k)]); \
    } \
    if (has(SRC_PAIRS | DST_PAIRS)) { \
        pair_offset[lane] += coordinate * PAIRS(k); \
    }
#include "axes.glsl"
#include "blocks.glsl"

// ALONG_AXIS_0: axis 0 is left to those that know the lane.
#define VISIT_OTHERS(k) \
    IF_AXIS(k) { \
        if (k == ROW_AXIS) { \
            row_src = SRC(k); \
            row_dst = DST(k); \
            row_table = TABLE(k); \
            row_count = SIZE(k); \
            if (has(SRC_PAIRS | DST_PAIRS)) { \
                row_pairs = PAIRS(k); \
            } \
            index = outer; \
        } else { \
            uint rest = DIVIDE_BY_SIZE(index, k); \
            uint coordinate = index - rest * SIZE(k); \
            dst_offset += coordinate * DST(k); \
            if (k == 0 && ALONG_AXIS_0) { \
                along = coordinate; \
            } else { \
                VISIT_AXIS(k) \
            } \
            index = rest; \
        } \
    }

// The destination offset of row 0, and the coordinate along axis 0.
uint visit(uint lane, uint index, uint outer, out uint along) {
    src_offset[lane] = dispatch.src_base;
    pair_offset[lane] = uvec2(dispatch.src_pairs, dispatch.dst_pairs);
    uint dst_offset = dispatch.dst_base;
    along = 0u;
    FOR_AXES_INWARD_OUT(VISIT_OTHERS)
    return dst_offset;
}

void visit_along(uint lane, uint coordinate) { VISIT_AXIS(0) }

uint visit_all(uint index, uint outer) {
    uint along;
    uint dst_offset = visit(0u, index, outer, along);
    [[unroll]] for (uint lane = 1u; lane < MOST_ELEMENTS; ++lane) {
        if (lane < ELEMENTS && !ALONG_AXIS_0) {
            uint none;
            visit(lane, index + lane, outer, none);
        } else if (lane < ELEMENTS) {
            src_offset[lane] = src_offset[0];
            pair_offset[lane] = pair_offset[0];
            weights[lane] = weights[0];
        }
    }
#ifndef RUNS
    if (GROUP != 0u) {
        uvec4 offsets = parameters[TABLE(0) + along / 4u];
        src_offset[0] += offsets.x - offsets.x % GROUP;
        in_group = uint[4](offsets.x % GROUP, offsets.y % GROUP, offsets.z % GROUP, offsets.w % GROUP);
        [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
            if (has(SRC_PAIRS | DST_PAIRS)) {
                pair_offset[lane] += (along + lane) * PAIRS(0);
            }
        }
        return dst_offset;
    }
#endif
    [[unroll]] for (uint lane = 0u; lane < MOST_ELEMENTS; ++lane) {
        if (lane < ELEMENTS && ALONG_AXIS_0) {
            visit_along(lane, along + lane);
        }
    }
#ifdef RUNS
    share_run();
#endif
    return dst_offset;
}

uint old_word(uint word) { return dst[word]; }

uvec2 made(uint lane, uint dst_offset, uint row, float row_weights[MOST_TAPS]) {
    if (SLOTS == 0u && STEPS == 0u && SRC_TYPE == DST_TYPE) {
        return uvec2(kept[lane][0], 0u);
    }
    uvec2 old = load_old(dst_offset + lane);
    uvec2 place = pair_offset[lane] + row * row_pairs;
    vec2 src_pair = src_pair_at(place.x);
    vec2 dst_pair = dst_pair_at(place.y);
    if (SLOTS == 0u) {
        return made_of(uvec2(kept[lane][0], 0u), old, src_pair, dst_pair);
    }
    precise float sum = NOTHING;
    [[unroll]] for (uint tap = 0u; tap < MOST_TAPS; ++tap) {
        if (tap < TAPS) {
            sum = sum + weighted(row_weights[tap], uintBitsToFloat(kept[lane][tap]));
        }
    }
    return made_of_f32(bits_of_sum(sum), old, src_pair, dst_pair);
}

void write_row(uint at, uint row, float row_weights[MOST_TAPS]) {
    uint bits[MOST_ELEMENTS];
    [[unroll]] for (uint n = 0u; n < MOST_ELEMENTS; ++n) {
        bits[n] = 0u;
    }
    [[unroll]] for (uint lane = 0u; lane < MOST_ELEMENTS; ++lane) {
        if (lane < ELEMENTS) {
            bits[lane / LANES] |= in_lane(made(lane, at, row, row_weights).x, lane % LANES);
        }
    }
    switch (ELEMENTS / LANES) {
        case 1: dst[at / LANES] = bits[0]; break;
        case 2: dst2[at / ELEMENTS] = uvec2(bits[0], bits[1]); break;
        case 4: dst4[at / ELEMENTS] = uvec4(bits[0], bits[1], bits[2], bits[3]); break;
#ifdef RUNS
        case 8:
            dst4[at / 4u] = uvec4(bits[0], bits[1], bits[2], bits[3]);
            dst4[at / 4u + 1u] = uvec4(bits[4], bits[5], bits[6], bits[7]);
#endif
    }
}

void main() {
    load_axes();
    uvec4 divisors = parameters[1];
    uint number = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (number >= dispatch.pieces) {
        return;
    }
    Place place = place_of(number, divisors);
    row_pairs = uvec2(0u);
    uint dst_offset = visit_all(place.piece * ELEMENTS, place.outer);
    uint row = place.block * ROWS;
    uint end = min(row + ROWS, row_count);
    uint held = 0u;
    bool holds = false;
    [[dont_unroll]] for (; row < end; ++row) {
        float row_weights[MOST_TAPS];
        uint first;
        if (SLOTS > 0u) {
            first = load_row(row_table + row * rows_of_taps(TAPS), TAPS, row_weights);
        } else {
            first = TAPS_0 > 1u ? row / TAPS_0 * row_src : words[4u * row_table + row];
        }
        uint missing = !holds ? TAPS : first == held ? 0u : first == held + row_src ? 1u : TAPS;
        holds = true;
        held = first;
        [[dont_unroll]] for (uint tap = TAPS - missing; tap < TAPS; ++tap) {
            keep_row(first + tap * row_src);
        }
        write_row(dst_offset + row * row_dst, row, row_weights);
    }
}
