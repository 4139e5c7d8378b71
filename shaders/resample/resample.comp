// Resamples along up to three axes: nested sums of weighted elements, the last logical axis first, then the conversion.
//
// Each resampled axis has a table in `parameters`, one row per output index: the weights of its taps, then the source offset of the
// first tap; taps are one stride of the axis apart. Linear 2 -> 3, output 1 lies half way: weights 0.5 and 0.5, offset 0.
// Sums have one order, in f32 without contraction, so splitting a problem never changes a bit.
// FIXED: sums of integers, see taps.glsl.
// Without slots the tables have no weights: an element is moved and converted.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 128) in;

layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 1) buffer Dst { uint dst[]; };
layout(std430, binding = 2) readonly buffer Parameters { uvec4 parameters[]; };
layout(std430, binding = 2) readonly buffer Words { uint words[]; };  // the same buffer as words: tables
layout(std430, binding = 2) readonly buffer Pairs { uvec2 pairs[]; };  // and as pairs (scale, zero point)

#include "scales.glsl"
#include "taps.glsl"

uint src_offset;
uvec2 pair_offset;
uvec3 taps[3];  // for each slot: number of taps, source elements from tap to tap, word of the first weight

// Compilers put an array into memory that is written at a variable index.
void set_taps(uint slot, uvec3 of_slot) {
    taps[0] = slot == 0 ? of_slot : taps[0];
    taps[1] = slot == 1 ? of_slot : taps[1];
    taps[2] = slot == 2 ? of_slot : taps[2];
}

void begin_element() {
    src_offset = dispatch.src_base;
    pair_offset = uvec2(dispatch.src_pairs, dispatch.dst_pairs);
}

#define VISIT_AXIS(k) \
    if (TABLE(k) == 0) { \
        src_offset += coordinate * SRC(k); \
    } else if (SLOTS == 0) { \
        src_offset += words[4 * TABLE(k) + coordinate]; \
    } else { \
        uint count = SLOT(k) >> 2; \
        uint row = 4 * (TABLE(k) + coordinate * rows_of_taps(count)); \
        src_offset += words[row + count]; \
        set_taps(SLOT(k) & 3u, uvec3(count, SRC(k), row)); \
    } \
    if (has(SRC_PAIRS | DST_PAIRS)) { \
        pair_offset += coordinate * PAIRS(k); \
    }
#include "axes.glsl"
#include "elements.glsl"
#include "destination.glsl"

NUMBER value_0(uint offset) { return number_of(load_src(offset)); }

NUMBER value_1(uint offset) {
    precise NUMBER sum = NOTHING;
    precise NUMBER lost_of_sum = 0;
    uint weights = 0;
    for (uint tap = 0; tap < taps[0].x; ++tap) {
        NUMBER weight = weight_of(words[taps[0].z + tap]);
        NUMBER addend = weighted(0u, weight, value_0(offset + tap * taps[0].y));
        precise NUMBER total = sum + addend;
        if (is_long(0)) {
            lost_of_sum = lost_of_sum + lost(sum, addend, total);
            weights += weight == 0 ? 0 : 1;
        }
        sum = total;
    }
    return is_long(0) ? compensated(sum, lost_of_sum, weights) : sum;
}

NUMBER value_2(uint offset) {
    precise NUMBER sum = NOTHING;
    precise NUMBER lost_of_sum = 0;
    uint weights = 0;
    for (uint tap = 0; tap < taps[1].x; ++tap) {
        NUMBER weight = weight_of(words[taps[1].z + tap]);
        NUMBER addend = weighted(1u, weight, value_1(offset + tap * taps[1].y));
        precise NUMBER total = sum + addend;
        if (is_long(1)) {
            lost_of_sum = lost_of_sum + lost(sum, addend, total);
            weights += weight == 0 ? 0 : 1;
        }
        sum = total;
    }
    return is_long(1) ? compensated(sum, lost_of_sum, weights) : sum;
}

NUMBER value_3(uint offset) {
    precise NUMBER sum = NOTHING;
    precise NUMBER lost_of_sum = 0;
    uint weights = 0;
    for (uint tap = 0; tap < taps[2].x; ++tap) {
        NUMBER weight = weight_of(words[taps[2].z + tap]);
        NUMBER addend = weighted(2u, weight, value_2(offset + tap * taps[2].y));
        precise NUMBER total = sum + addend;
        if (is_long(2)) {
            lost_of_sum = lost_of_sum + lost(sum, addend, total);
            weights += weight == 0 ? 0 : 1;
        }
        sum = total;
    }
    return is_long(2) ? compensated(sum, lost_of_sum, weights) : sum;
}

uint old_word(uint word) { return OWN_WORDS || LANES == 1 ? dst[word] : atomicOr(dst[word], 0u); }

uvec2 element_bits(uint dst_offset) {
    if (SLOTS == 0) {
        vec2 src_pair = src_pair_at(pair_offset.x);
        vec2 dst_pair = dst_pair_at(pair_offset.y);
        return converted(load_src(src_offset), load_old(dst_offset), src_pair, dst_pair);
    }
    NUMBER value;
    switch (SLOTS) {
        case 1: value = value_1(src_offset); break;
        case 2: value = value_2(src_offset); break;
        default: value = value_3(src_offset); break;
    }
    return converted_sum(value, dst_offset, pair_offset);
}

void main() {
    load_axes();
    write_piece(group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x);
}
