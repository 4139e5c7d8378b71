// Resamples along up to three axes: nested sums of weighted elements, the last logical axis first; then converts the sum.
//
// Each resampled axis has a table in `parameters`, one row per output index: the weights of its taps, then the source offset of the
// first tap; taps are one stride of the axis apart. Linear 2 -> 3, output 1 is half way: weights 0.5 and 0.5, offset 0.
// Sums have one order, in f32 without contraction, so splitting a problem never changes a bit.
// FIXED: sums of integers, see taps.glsl.
// Without slots (axes that are interpolated) the tables have no weights: an element is moved and converted.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "shared_constants.glsl"
layout(local_size_x = GROUP_SIZE) in;

#include "buffers.glsl"
#include "scales.glsl"
#include "taps.glsl"

uvec3 taps[3];  // for each slot: number of taps, source elements from tap to tap, word of the first weight

// Sets one entry by selects, because compilers keep an array in memory if it is written at a variable index.
void set_taps(uint slot, uvec3 of_slot) {
    taps[0] = slot == 0 ? of_slot : taps[0];
    taps[1] = slot == 1 ? of_slot : taps[1];
    taps[2] = slot == 2 ? of_slot : taps[2];
}

#define TABLES
#include "axes.glsl"
#include "elements.glsl"
#include "destination.glsl"

uint src_along(uint k, uint coordinate) {
    if (axes[k].table == 0) {
        return coordinate * axes[k].src_stride;
    }
    if (SLOTS == 0) {
        return words[4 * axes[k].table + coordinate];
    }
    uint count = axes[k].slot >> 2;
    uint row = 4 * (axes[k].table + coordinate * rows_of_taps(count));
    set_taps(axes[k].slot & 3u, uvec3(count, axes[k].src_stride, row));
    return words[row + count];
}

NUMBER value_0(uint offset) { return number_of(load_src(offset)); }

// Defines `name(offset)`, which sums the values of one slot; each value is itself the sum along the slot inside it.
#define DEFINE_VALUE(name, slot, value_inside) \
    NUMBER name(uint offset) { \
        Sum sum = NO_SUM; \
        uint weight_count = 0; \
        for (uint tap = 0; tap < taps[slot].x; ++tap) { \
            NUMBER weight = weight_of(words[taps[slot].z + tap]); \
            add(sum, slot, weighted(slot, weight, value_inside(offset + tap * taps[slot].y))); \
            weight_count += counted(slot, weight); \
        } \
        return result(sum, slot, weight_count); \
    }
DEFINE_VALUE(value_1, 0u, value_0)
DEFINE_VALUE(value_2, 1u, value_1)
DEFINE_VALUE(value_3, 2u, value_2)

uint old_word(uint word) { return OWN_WORDS || LANES == 1 ? dst[word] : atomicOr(dst[word], 0u); }

uvec2 element_bits(Walk walk) {
    if (SLOTS == 0) {
        return converted(load_src(walk.src), load_old(walk.dst), src_pair_at(walk.pairs.x), dst_pair_at(walk.pairs.y));
    }
    NUMBER value;
    switch (SLOTS) {
        case 1: value = value_1(walk.src); break;
        case 2: value = value_2(walk.src); break;
        default: value = value_3(walk.src); break;
    }
    return converted_sum(value, walk.dst, walk.pairs);
}

void main() {
    load_axes();
    write_piece(invocation_number());
}
