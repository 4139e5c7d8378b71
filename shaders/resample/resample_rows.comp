// Resampling by rows: an invocation makes the same place of ROWS rows, and sums along the inner axes once for each source row.
//
// A row is a step along the axis of the last slot. Its sums along the slots inside are kept, TAPS of them, while the rows that
// follow read them too: enlarged nine times, a source row is summed once, not 18 times. The bits are those of resample.comp,
// but for the sign of a NaN, which a compiler may choose.
// Weights along the inner axes are loaded once, those along the rows once a row: on llvmpipe a load costs what ten sums do.
// Invocations go along a row, then to the next block of rows: what rows read of their table is the same for most neighbours.
// An invocation makes ELEMENTS of a row, which lie side by side: whole words of the destination, four if they fit, of RUNS eight,
// or two where four would read far apart.
// Without slots, elements are moved: TAPS is 1. Enlarged twice, four neighbours are two of the source: one load of a GROUP.
// RUNS: what the elements of a piece read along axis 0 is a run of the source, loaded once for all of them.
// FIXED: sums of integers, see taps.glsl; with slots, and without RUNS.
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
layout(constant_id = 10) const uint TAPS_0 = 1;
layout(constant_id = 11) const uint TAPS_1 = 1;
layout(constant_id = 12) const uint AXIS_1 = 0;  // the axis of slot 1, where that is inside
layout(constant_id = 13) const bool ALONG_AXIS_0 = false;  // ELEMENTS divides its size
layout(constant_id = 16) const uint ROWS = 8;  // rows that an invocation makes
layout(constant_id = 17) const uint REPEATED = 1;  // without slots: so many rows in turn take one of the source, if more than 1
layout(constant_id = 18) const bool WHOLE_BLOCKS = false;  // REPEATED is more than 1, and all blocks have ROWS rows, a multiple of it

const uint MOST_ROWS = 8;
const uint MOST_TAPS = 4;
#ifdef RUNS
const uint MOST_ELEMENTS = 8;
#else
const uint MOST_ELEMENTS = 4;
#endif

#define PUSH_BLOCKS
#include "scales.glsl"
#include "elements.glsl"
#include "taps.glsl"
#include "selected.glsl"

// Of each of the elements that an invocation makes of a row.
uint src_offset[MOST_ELEMENTS];
uvec2 pair_offset[MOST_ELEMENTS];
NUMBER weights[MOST_ELEMENTS][2][MOST_TAPS];  // along the slots inside
uint tap_bits[MOST_ELEMENTS][MOST_TAPS];  // bits of sums, or of elements that are moved

uint tap_stride[2];  // of the slots inside
uint row_src, row_dst, row_table, row_count;
uvec2 row_pairs;

// Behind what is kept already.
void keep(uint lane, uint bits) {
    [[unroll]] for (uint n = 1u; n < MOST_TAPS; ++n) {
        tap_bits[lane][n - 1u] = tap_bits[lane][n];
    }
    tap_bits[lane][TAPS - 1u] = bits;
}

#ifdef RUNS

// What the elements of a piece read along axis 0, a run of the source: loaded once for all of them.
//
// Bilinear, enlarged nine times: eight neighbours read three elements, not sixteen. Each has a weight for every element of the run,
// zero for those that it does not read.

layout(constant_id = 14) const uint RUN = 1;  // the longest, 1 to 8

const uint MOST_IN_RUN = 8;

float run_weights[MOST_ELEMENTS][MOST_IN_RUN];
float run[MOST_IN_RUN];
uint run_end;  // the last element of the run that a piece reads

// From the weights of the taps of each lane to those of the run: 0.25 and 0.75, one element on, are 0, 0.25, 0.75.
void share_run() {
    int first[MOST_ELEMENTS];
    int lowest = 0;
    int highest = 0;
    [[unroll]] for (uint lane = 0u; lane < MOST_ELEMENTS; ++lane) {
        if (lane < ELEMENTS) {
            first[lane] = int(src_offset[lane] - src_offset[0]);
            lowest = min(lowest, first[lane]);
            highest = max(highest, first[lane]);
        }
    }
    src_offset[0] += uint(lowest);
    run_end = uint(highest - lowest) + TAPS_0 - 1u;
    [[unroll]] for (uint lane = 0u; lane < MOST_ELEMENTS; ++lane) {
        [[unroll]] for (uint n = 0u; n < MOST_IN_RUN; ++n) {
            float weight = 0.0;
            [[unroll]] for (uint tap = 0u; tap < MOST_TAPS; ++tap) {
                if (lane < ELEMENTS && n < RUN && tap < TAPS_0 && tap <= n) {
                    weight = int(n - tap) == first[lane] - lowest ? weights[lane][0][tap] : weight;
                }
            }
            run_weights[lane][n] = weight;
        }
    }
}

// The words that a run lies in, those of its elements alone. Bytes 6 to 9: the upper half of word 1, and of word 2 the lower one.
void load_run(uint offset) {
    uint lanes = 32u / SRC_WIDTH;
    uint first = offset / lanes;
    uint last = (offset + run_end) / lanes;
    uint shift = offset % lanes * SRC_WIDTH;
    uint most = (RUN + lanes - 2u) / lanes;
    uint loaded[MOST_IN_RUN + 1u];
    [[unroll]] for (uint n = 0u; n <= MOST_IN_RUN; ++n) {
        if (n <= most) {
            loaded[n] = src[min(first + n, last)];
        }
    }
    [[unroll]] for (uint n = 0u; n < MOST_IN_RUN; ++n) {
        if (n < RUN) {
            uint word = loaded[n / lanes] >> shift;
            if (lanes > 1u && n / lanes < most) {
                word |= loaded[n / lanes + 1u] << 1 << (31u - shift);
            }
            uint bits = word >> (n % lanes * SRC_WIDTH) & 0xFFFFFFFFu >> (32u - SRC_WIDTH);
            run[n] = uintBitsToFloat(f32_of(uvec2(bits, 0u), SRC_TYPE, false));
        }
    }
}

float summed_along_run(uint lane) {
    precise float sum = NOTHING;
    [[unroll]] for (uint n = 0u; n < MOST_IN_RUN; ++n) {
        if (n < RUN) {
            sum = sum + weighted(run_weights[lane][n], run[n]);
        }
    }
    return sum;
}

// What comes of a row of the source, which begins at an offset.
void keep_row(uint offset) {
    float sums[MOST_ELEMENTS];
    [[unroll]] for (uint lane = 0u; lane < MOST_ELEMENTS; ++lane) {
        sums[lane] = NOTHING;
    }
    // A loop: unrolled, it would take long to compile.
    for (uint tap = 0u; tap < (SLOTS == 3u ? TAPS_1 : 1u); ++tap) {
        load_run(src_offset[0] + offset + (SLOTS == 3u ? tap * tap_stride[1] : 0u));
        float weight = weights[0][1][0];
        [[unroll]] for (uint n = 1u; n < MOST_TAPS; ++n) {
            weight = tap == n ? weights[0][1][n] : weight;
        }
        [[unroll]] for (uint lane = 0u; lane < MOST_ELEMENTS; ++lane) {
            if (lane < ELEMENTS) {
                float along = summed_along_run(lane);
                precise float sum = sums[lane];
                sum = sum + weighted(weight, along);
                sums[lane] = SLOTS == 3u ? sum : along;
            }
        }
    }
    [[unroll]] for (uint lane = 0u; lane < MOST_ELEMENTS; ++lane) {
        if (lane < ELEMENTS) {
            keep(lane, floatBitsToUint(sums[lane]));
        }
    }
}

#else

// What an element of a piece reads, tap by tap; or the elements of four neighbours, moved out of one group.

layout(constant_id = 14) const uint GROUP = 0;  // the four of a piece are of one aligned group of so many, if not 0

// Pieces that take one group after the other, and lane n always element PATTERN >> 4 * n & 15 of it: no table is loaded for them.
// Enlarged twice, the four are elements 0 0 1 1 of each group of two: 0x1100, and HAS_PATTERN. 0: there is no pattern.
layout(constant_id = 19) const uint PATTERN = 0;
const uint HAS_PATTERN = 0x10000;
uint in_group[4];
bool has_pattern() { return (PATTERN & HAS_PATTERN) != 0u; }

NUMBER number_at(uint offset) { return number_of(load_src(offset)); }

NUMBER summed_along_0(uint lane, uint offset) {
    precise NUMBER sum = NOTHING;
    [[unroll]] for (uint tap = 0u; tap < MOST_TAPS; ++tap) {
        if (tap < TAPS_0) {
            sum = sum + weighted(0u, weights[lane][0][tap], number_at(offset + tap * tap_stride[0]));
        }
    }
    return sum;
}

NUMBER summed_along_1(uint lane, uint offset) {
    precise NUMBER sum = NOTHING;
    [[unroll]] for (uint tap = 0u; tap < MOST_TAPS; ++tap) {
        if (tap < TAPS_1) {
            sum = sum + weighted(1u, weights[lane][1][tap], summed_along_0(lane, offset + tap * tap_stride[1]));
        }
    }
    return sum;
}

uint kept_of(uint lane, uint offset) {
    switch (SLOTS) {
        case 0: return load_src(offset).x;
        case 1: return bits_of_number(number_at(offset));
        case 2: return bits_of_number(summed_along_0(lane, offset));
        default: return bits_of_number(summed_along_1(lane, offset));
    }
}

void keep_group(uint offset) {
    uint lanes = 32u / SRC_WIDTH;
    uvec4 group;
    if (GROUP <= lanes) {
        group = uvec4(src[offset / lanes]);
    } else if (GROUP == 2u * lanes) {
        group = src2[offset / GROUP].xyxy;
    } else {
        group = src4[offset / GROUP];
    }
    [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
        uint place = has_pattern() ? PATTERN >> 4u * lane & 15u : in_group[lane];
        uint word = place / lanes;
        uint bits = word == 0u ? group.x : word == 1u ? group.y : word == 2u ? group.z : group.w;
        tap_bits[lane][0] = bits >> (place % lanes * SRC_WIDTH) & 0xFFFFFFFFu >> (32u - SRC_WIDTH);
    }
}

// What comes of a row of the source, which begins at an offset.
void keep_row(uint offset) {
    if (GROUP != 0u) {
        keep_group(src_offset[0] + offset);
        return;
    }
    [[unroll]] for (uint lane = 0u; lane < MOST_ELEMENTS; ++lane) {
        if (lane < ELEMENTS) {
            keep(lane, kept_of(lane, src_offset[lane] + offset));
        }
    }
}

#endif

// Weights of a row of a table; the source offset of its first tap.
uint load_row(uint row, uint taps, out NUMBER row_weights[MOST_TAPS]) {
    uvec4 bits = parameters[row];
    [[unroll]] for (uint tap = 0u; tap < MOST_TAPS; ++tap) {
        row_weights[tap] = weight_of(bits[tap]);
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
        if (has_pattern()) {
            src_offset[0] += along / 4u * GROUP;
        } else {
            uvec4 offsets = parameters[TABLE(0) + along / 4u];
            src_offset[0] += offsets.x - offsets.x % GROUP;
            in_group = uint[4](offsets.x % GROUP, offsets.y % GROUP, offsets.z % GROUP, offsets.w % GROUP);
        }
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

uvec2 converted_element(uint lane, uint dst_offset, uint row, NUMBER row_weights[MOST_TAPS]) {
    if (SLOTS == 0u && STEPS == 0u && SRC_TYPE == DST_TYPE) {
        return uvec2(tap_bits[lane][0], 0u);
    }
    uvec2 place = pair_offset[lane] + row * row_pairs;
    if (SLOTS == 0u) {
        return converted(uvec2(tap_bits[lane][0], 0u), load_old(dst_offset + lane), src_pair_at(place.x), dst_pair_at(place.y));
    }
    precise NUMBER sum = NOTHING;
    [[unroll]] for (uint tap = 0u; tap < MOST_TAPS; ++tap) {
        if (tap < TAPS) {
            sum = sum + weighted(SLOTS - 1u, row_weights[tap], number_of_bits(tap_bits[lane][tap]));
        }
    }
    return converted_sum(sum, dst_offset + lane, place);
}

void write_row(uint at, uint row, NUMBER row_weights[MOST_TAPS]) {
    uint bits[MOST_ELEMENTS];
    [[unroll]] for (uint n = 0u; n < MOST_ELEMENTS; ++n) {
        bits[n] = 0u;
    }
    [[unroll]] for (uint lane = 0u; lane < MOST_ELEMENTS; ++lane) {
        if (lane < ELEMENTS) {
            bits[lane / LANES] |= in_lane(converted_element(lane, at, row, row_weights).x, lane % LANES);
        }
    }
    [[unroll]] for (uint n = 0u; n < 4u; ++n) {
        bits[n] = selected(bits[n], at);
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

// Rows that are moved as they are, in whole blocks: each is loaded once, and stored REPEATED times, with no branch.
bool are_repeated_whole() { return SLOTS == 0u && WHOLE_BLOCKS && STEPS == 0u && SRC_TYPE == DST_TYPE; }

void write_repeated(uint row_offset, uint dst_offset) {
    NUMBER no_weights[MOST_TAPS];
    [[unroll]] for (uint row = 0u; row < MOST_ROWS; ++row) {
        if (row < ROWS) {
            if (row % REPEATED == 0u) {
                keep_row(row_offset + row / REPEATED * row_src);
            }
            write_row(dst_offset + row * row_dst, row, no_weights);
        }
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
    if (are_repeated_whole()) {
        write_repeated(place.block * ROWS / REPEATED * row_src, dst_offset + row * row_dst);
        return;
    }
    uint end = min(row + ROWS, row_count);
    uint held = 0u;
    bool holds = false;
    [[dont_unroll]] for (; row < end; ++row) {
        NUMBER row_weights[MOST_TAPS];
        uint first;
        if (SLOTS > 0u) {
            first = load_row(row_table + row * rows_of_taps(TAPS), TAPS, row_weights);
        } else {
            first = REPEATED > 1u ? row / REPEATED * row_src : words[4u * row_table + row];
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
