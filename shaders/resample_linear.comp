// Linear resampling over any number of axes: nested sums of two taps, the last logical axis first.
//
// Each resampled axis has a table in `parameters`, one row an output index: source offsets of the two taps, then their
// weights. Output 1 of 2 -> 3 lies half way: offsets 0 and one stride, weights 0.5 and 0.5. A tap of weight zero adds -0.0,
// which changes no sum, so an infinity beside the border does not become a NaN.
// One evaluation order, in f32 without contraction, so splitting a problem never changes a bit.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 128) in;

layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 1) buffer Dst { uint dst[]; };
layout(std430, binding = 2) readonly buffer Parameters { uvec4 parameters[]; };

layout(constant_id = 2) const uint TYPE = 0;   // element type, as numbered in types.glsl
layout(constant_id = 3) const uint SLOTS = 1;  // resampled axes; slot 0 is the last logical one

#include "dispatch.glsl"
#include "axes.glsl"
#include "elements.glsl"
#include "convert.glsl"

#define MAX_SLOTS 8

uint src_offset;
uvec2 tap_offset[MAX_SLOTS];
vec2 tap_weight[MAX_SLOTS];

void visit_slot(uint slot, uvec4 taps) {
    tap_offset[slot] = taps.xy;
    tap_weight[slot] = uintBitsToFloat(taps.zw);
}

#define VISIT_AXIS(k) \
    if (TABLE(k) == 0) { \
        src_offset += coordinate * SRC(k); \
    } else { \
        visit_slot(SLOT(k), parameters[TABLE(k) + coordinate]); \
    }

#include "destination.glsl"

float weighted(float weight, float value) {
    precise float product = weight * value;
    return weight == 0.0 ? -0.0 : product;
}

float sum_of_taps(uint slot, float first, float second) {
    precise float sum = weighted(tap_weight[slot].x, first) + weighted(tap_weight[slot].y, second);
    return sum;
}

float value_0(uint offset) {
    uint bits = load_bits(offset);
    return TYPE == S32 ? float(int(bits)) : uintBitsToFloat(f32_of_small(bits, TYPE));
}

float value_1(uint offset) {
    return sum_of_taps(0, value_0(offset + tap_offset[0].x), value_0(offset + tap_offset[0].y));
}

float value_2(uint offset) {
    return sum_of_taps(1, value_1(offset + tap_offset[1].x), value_1(offset + tap_offset[1].y));
}

float value_3(uint offset) {
    return sum_of_taps(2, value_2(offset + tap_offset[2].x), value_2(offset + tap_offset[2].y));
}

// Three axes or more: a binary counter over the outer slots, bit 0 the innermost of them. Each finished pair carries
// its sum to the slot outside, exactly as value_4 would: for slots 3 and 4, corners 00 01 10 11 sum as (00 + 01) + (10 + 11).
float value_n(uint offset) {
    uint outer = SLOTS - 3;
    float first[MAX_SLOTS];
    float value = 0.0;
    for (uint corner = 0; corner < (1u << outer); ++corner) {
        uint corner_offset = offset;
        for (uint n = 0; n < outer; ++n) {
            corner_offset += tap_offset[3 + n][(corner >> n) & 1u];
        }
        value = value_3(corner_offset);
        uint n = 0;
        while (n < outer && ((corner >> n) & 1u) == 1u) {
            value = sum_of_taps(3 + n, first[n], value);
            ++n;
        }
        if (n < outer) {
            first[n] = value;
        }
    }
    return value;
}

void begin_element() { src_offset = dispatch.src_base; }

uvec2 element_bits(uint dst_offset) {
    float value;
    switch (SLOTS) {
        case 1: value = value_1(src_offset); break;
        case 2: value = value_2(src_offset); break;
        default: value = value_n(src_offset); break;
    }
    return of_f32(floatBitsToUint(value), TYPE, NEAREST_EVEN, is_integer(TYPE));  // floats too large become infinity
}

void main() { write_piece(group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x); }
