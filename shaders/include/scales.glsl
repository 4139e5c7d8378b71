// Converts a source element to a destination element: directly, or through f32 with scales.
//
//   v = src_scale * (f32(element) - src_zero_point) + sum_scale * f32(old); post-ops; v = v / dst_scale + dst_zero_point
//
// Every operation is rounded to f32, to nearest even, in this order; a step that is not in STEPS is left out. The scale and zero
// point of a side are push constants, or a pair in `pairs` that the axes find (axes[k].pairs, in axes.glsl).
//
// This file depends on the global declarations of `src`, `dst` (uint[]) and `pairs` (uvec2[]).

#define SCALES
#include "dispatch.glsl"
#include "types.glsl"
#include "words.glsl"

layout(constant_id = 2) const uint SRC_TYPE = 0;  // as numbered in types.glsl
layout(constant_id = 3) const uint DST_TYPE = 0;
layout(constant_id = 4) const uint ROUNDING = 0;  // a rounding and flags of shared_constants.glsl
layout(constant_id = 5) const uint STEPS = 0;

// Both are constants when the pipeline is created.
#define SRC_WIDTH width_of(SRC_TYPE)
#define DST_WIDTH width_of(DST_TYPE)

bool has(uint step) { return (STEPS & step) != 0u; }

// a / b rounded to nearest even, for an integer a of 8 bits. The host has tried every quotient (_are_short in plan/convert.py):
// an error of six units in the last place of `ratio` never changes how a quotient is rounded, not even next to the
// middle of two f32 or a power of two.
//
// The remainder is `a` minus the product of the significands of `ratio` and `b`. In the units of that product, `a` is a multiple of
// 2^38, because it has only 8 bits; so modulo 2^32 the remainder is the negated product.
// 3 / 0.75, ratio 4 - 2^-22: significand 0xFFFFFF, remainder -(0xFFFFFF * 0xC00000) = 0xC00000 modulo 2^32, which is once the
// significand of b: `off` is 1.
float short_quotient(float a, float b) {
    float ratio = a * (1.0 / b);
    uint bits = floatBitsToUint(ratio);
    uint b_significand = floatBitsToUint(b) & 0x7FFFFFu | 0x800000u;
    int rest = -int((bits & 0x7FFFFFu | 0x800000u) * b_significand);
    // Adding 1.5 * 2^23 rounds the number of units to an integer, in the last bits.
    uint off = floatBitsToUint(float(rest) * (1.0 / float(b_significand)) + 12582912.0) - 0x4B400000u;
    return a == 0.0 ? ratio : uintBitsToFloat(bits + off);
}

// a / b rounded to nearest even; Vulkan lets a division instruction be 2.5 units in the last place off.
//
// Let a and b be the significands as integers of 24 bits, a doubled if it is the smaller one; then q = (a << 23) / b has 24 bits
// too. The instruction gives q approximately. The remainder, at most a few times b, is exact modulo 2^32 and gives the error of q.
// No quotient is half way between two numbers of 24 bits, and none rounds to 2^24. The clamp tells compilers that q has 24 bits,
// which GPUs multiply faster than 32. 1 / 3: a = 0x1000000, b = 0xC00000, q = 0xAAAAAB, remainder -0x400000.
float divided(float a, float b) {
    if ((ROUNDING & SHORT_QUOTIENTS) != 0u) {
        return short_quotient(a, b);
    }
    uint a_bits = floatBitsToUint(a), b_bits = floatBitsToUint(b);
    uint a_exponent = a_bits >> 23 & 0xFFu, b_exponent = b_bits >> 23 & 0xFFu;
    int a_significand = int(a_bits & 0x7FFFFFu | 0x800000u), b_significand = int(b_bits & 0x7FFFFFu | 0x800000u);
    uint doubled = uint(a_significand < b_significand);
    float from_1_to_4 = uintBitsToFloat((a_bits & 0x7FFFFFu) + (127u + doubled << 23));
    precise float ratio = from_1_to_4 / intBitsToFloat(b_significand + 0x3F000000);
    int q = int(clamp(floatBitsToUint(ratio) - 0x3F000000u, 0x800000u, 0xFFFFFFu));
    int rest = (a_significand << 23u + doubled) - q * b_significand;
    int off = int(2 * abs(rest) > b_significand) + int(2 * abs(rest) > 3 * b_significand);
    off = rest < 0 ? -off : off;
    q += off;
    uint magnitude = uint(q) + (a_exponent << 23) + ((126u - doubled) << 23) - (b_exponent << 23);
    float special = a * b;  // for a = 0: zero with the sign of the quotient
    bool is_special = a_exponent == 0u;
    if ((ROUNDING & NORMAL_QUOTIENTS) == 0u) {
        int exponent = int(a_exponent - b_exponent + 127u - doubled);
        // A denormal quotient is rounded from one extra bit, which is set to odd if there is a remainder. Only f32,
        // f64, bf16 and pred keep it; other types get 0.
        uint shift = uint(clamp(2 - exponent, 1, 31));
        uint denormal = shift_right_nearest_even(uint(2 * q + sign(rest - off * b_significand)), shift);
        bool is_seen = DST_TYPE == PRED || !(is_integer(DST_TYPE) || saturates(DST_TYPE));
        magnitude = exponent > 254 ? INFINITY : exponent > 0 ? magnitude : is_seen ? denormal : 0u;
        // The division instruction is exact for zeros, infinities and NaN; a device may flush denormals.
        special = a / b;
        is_special = a_exponent - 1u > 253u || b_exponent - 1u > 253u;
    }
    return is_special ? special : uintBitsToFloat((a_bits ^ b_bits) & 0x80000000u | magnitude);
}

// `value` rounded to an integer, still as f32, in the direction that ROUNDING says. From 2^23 on every f32 is an integer.
float whole(float value) {
    uint bits = floatBitsToUint(value);
    if ((bits >> 23 & 0xFFu) >= 150u) {
        return value;
    }
    float magnitude = float(whole_of(uintBitsToFloat(bits & 0x7FFFFFFFu), ROUNDING & 3u));
    return uintBitsToFloat(floatBitsToUint(magnitude) | bits & 0x80000000u);
}

// `value` after one post-op with these two numbers. NaN stays NaN, however the device compares NaN.
float after_post_op(float value, uint kind, vec2 numbers) {
    if (kind == LINEAR) {
        precise float product = numbers.x * value;
        precise float sum = product + numbers.y;
        return sum;
    }
    uint magnitude = floatBitsToUint(value) & 0x7FFFFFFFu;
    if (magnitude > INFINITY) {
        return value;
    }
    if (kind == CLIP) {
        return value < numbers.x ? numbers.x : value > numbers.y ? numbers.y : value;
    }
    precise float below = numbers.x * value;
    bool is_below = (floatBitsToUint(value) >> 31) != 0u;
    return is_below ? (numbers.x == 0.0 ? 0.0 : below) : value;
}

// The f32 `element` after the steps of the formula above. A pair is (scale, zero point); `old` is the destination's old element.
float through_scales(float element, uvec2 old, vec2 src_pair, vec2 dst_pair) {
    precise float value = element;
    if (has(SRC_ZERO_POINT)) {
        value = value - src_pair.y;
    }
    if (has(SRC_SCALE)) {
        value = src_pair.x * value;
    }
    if (has(SUM)) {
        precise float product = dispatch.sum_scale * uintBitsToFloat(f32_of(old, DST_TYPE, false));
        value = value + product;
    }
    for (uint op = 0u; op < MAX_POST_OPS; ++op) {
        uint kind = STEPS >> (FIRST_POST_OP + 2u * op) & 3u;
        if (kind == 0u) {
            break;
        }
        value = after_post_op(value, kind, uintBitsToFloat(pairs[dispatch.post_ops + op]));
    }
    if (has(DST_SCALE)) {
        value = divided(value, dst_pair.x);
    }
    if ((ROUNDING & ROUNDS_FIRST) != 0u) {
        value = whole(value);
    }
    if (has(DST_ZERO_POINT)) {
        value = value + dst_pair.y;
    }
    return value;
}

vec2 src_pair_at(uint place) {
    return has(SRC_PAIRS) ? uintBitsToFloat(pairs[place]) : vec2(dispatch.src_scale, dispatch.src_zero_point);
}

vec2 dst_pair_at(uint place) {
    return has(DST_PAIRS) ? uintBitsToFloat(pairs[place]) : vec2(dispatch.dst_scale, dispatch.dst_zero_point);
}

// The destination element for `element`, the bits of an f32. `old` is the destination's old element, for a sum.
uvec2 converted_f32(uint element, uvec2 old, vec2 src_pair, vec2 dst_pair) {
    if (STEPS != 0u) {
        element = floatBitsToUint(through_scales(uintBitsToFloat(element), old, src_pair, dst_pair));
    }
    if (is_integer(DST_TYPE) && DST_TYPE != PRED && DST_WIDTH == 64u) {
        return integer_of_f64(f64_of_f32(element), DST_TYPE, ROUNDING & 3u, (ROUNDING & SATURATES) != 0u);
    }
    return of_f32(element, DST_TYPE, ROUNDING & 3u, (ROUNDING & SATURATES) != 0u);
}

// The destination element for a source element. Without steps, wide types avoid f32, which would round twice.
uvec2 converted(uvec2 bits, uvec2 old, vec2 src_pair, vec2 dst_pair) {
    uint rounding = ROUNDING & 3u;
    bool saturate = (ROUNDING & SATURATES) != 0u;
    bool is_exact = STEPS == 0u;
    if (is_exact && is_integer(SRC_TYPE) && is_integer(DST_TYPE)) {
        return integer_of_integer(bits, SRC_TYPE, DST_TYPE, saturate);
    }
    if (is_exact && SRC_TYPE == F64 && DST_TYPE == PRED) {
        return uvec2(uint((bits.y & 0x7FFFFFFFu | bits.x) != 0u), 0u);
    }
    if (is_exact && is_wide(SRC_TYPE) && is_integer(SRC_TYPE) && DST_TYPE == F64) {
        return f64_of_integer(bits, SRC_TYPE);
    }
    if (is_exact && SRC_TYPE == F64 && is_integer(DST_TYPE) && DST_TYPE != PRED) {
        return integer_of_f64(bits, DST_TYPE, rounding, saturate);
    }
    return converted_f32(f32_of(bits, SRC_TYPE, is_exact && DST_TYPE != F32), old, src_pair, dst_pair);
}

// ---- loads elements of any width by offset; elements.glsl stores elements that share words

uint src_word(uint n) { return src[n]; }

DEFINE_LOAD(load_bits_of_src, src_word)
uvec2 load_src(uint offset) { return load_bits_of_src(offset, SRC_WIDTH); }

// Loads a word of the destination. The kernel defines this function, since it knows whether other invocations write that word.
uint old_word(uint word);

DEFINE_LOAD(load_bits_of_old, old_word)

// The destination's old element, if a sum reads it; otherwise 0.
uvec2 load_old(uint offset) { return has(SUM) ? load_bits_of_old(offset, DST_WIDTH) : uvec2(0u); }
