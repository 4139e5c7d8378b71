// Compares the elements of two sources of any two types and strides. The result is pred: 1 where both are equal numbers, else 0.
//
// Numbers are compared exactly: s64 2^53 + 1 does not equal f64 2^53. -0.0 equals 0.0, and NaN equals nothing.
// axes[k].pairs.x is the stride of axis k in the second source.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "shared_constants.glsl"
layout(local_size_x = GROUP_SIZE) in;

layout(std430, binding = 2) readonly buffer Other { uint other[]; };

#define PUSH_OTHER
#define PARAMETERS 3
#include "buffers.glsl"
#include "dispatch.glsl"
#include "axes.glsl"
#include "elements.glsl"
#include "destination.glsl"
#include "types.glsl"

layout(constant_id = 2) const uint SRC_TYPE = 0;  // as numbered in types.glsl
layout(constant_id = 3) const uint OTHER_TYPE = 0;
layout(constant_id = 4) const bool NEGATED = false;  // true: writes 1 where the numbers are not equal

uint src_word(uint n) { return src[n]; }
uint other_word(uint n) { return other[n]; }

DEFINE_LOAD(load_src, src_word)
DEFINE_LOAD(load_other, other_word)

bool is_zero(uvec2 magnitude) { return (magnitude.x | magnitude.y) == 0u; }

// True if two floats of the same width are equal.
// a, b: their bits, the lower word in x. infinity: the upper word of the bits of infinity.
bool equal_floats(uvec2 a, uvec2 b, uint infinity) {
    uvec2 magnitude = uvec2(a.x, a.y & 0x7FFFFFFFu);
    bool is_nan = is_less(uvec2(0u, infinity), magnitude);
    bool both_zero = is_zero(magnitude) && is_zero(uvec2(b.x, b.y & 0x7FFFFFFFu));
    return !is_nan && (a == b || both_zero);
}

uvec2 wide_integer(uvec2 bits, uint type) { return integer_of_integer(bits, type, is_signed(type) ? S64 : U64, false); }

uvec2 f64_of(uvec2 bits, uint type) {
    if (type == F64) {
        return bits;
    }
    if (is_integer(type)) {
        return f64_of_integer(wide_integer(bits, type), is_signed(type) ? S64 : U64);
    }
    return f64_of_f32(f32_of_small(bits.x, type));
}

// False if `bits` is a 64-bit integer that differs from the other number converted to an integer. Their f64 values may be equal
// nevertheless: s64 2^53 + 1 becomes f64 2^53.
bool survives_f64(uvec2 bits, uint type, uvec2 other_bits, uint other_type) {
    if (!is_integer(type) || width_of(type) < 64u) {
        return true;
    }
    uvec2 whole = integer_of_f64(f64_of(other_bits, other_type), type, TRUNCATE, false);
    return whole == bits;
}

bool is_equal(uvec2 a, uvec2 b) {
    if (!is_wide(SRC_TYPE) && !is_wide(OTHER_TYPE)) {
        return equal_floats(uvec2(0u, f32_of_small(a.x, SRC_TYPE)), uvec2(0u, f32_of_small(b.x, OTHER_TYPE)), INFINITY);
    }
    if (is_integer(SRC_TYPE) && is_integer(OTHER_TYPE)) {
        uvec2 wide_a = wide_integer(a, SRC_TYPE), wide_b = wide_integer(b, OTHER_TYPE);
        // If one type is signed and the other is not, equal bits are equal numbers only below 2^63.
        return wide_a == wide_b && (is_signed(SRC_TYPE) == is_signed(OTHER_TYPE) || wide_a.y < 0x80000000u);
    }
    bool survive = survives_f64(a, SRC_TYPE, b, OTHER_TYPE) && survives_f64(b, OTHER_TYPE, a, SRC_TYPE);
    return survive && equal_floats(f64_of(a, SRC_TYPE), f64_of(b, OTHER_TYPE), 0x7FF00000u);
}

uvec2 element_bits(Walk walk) {
    uvec2 a = load_src(walk.src, width_of(SRC_TYPE));
    uvec2 b = load_other(dispatch.other_base + walk.pairs.x, width_of(OTHER_TYPE));
    return uvec2(uint(is_equal(a, b) != NEGATED), 0u);
}

void main() {
    load_axes();
    write_piece(invocation_number());
}
