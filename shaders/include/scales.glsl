// What happens to an element between its source and its destination: converted, or brought through f32 with scales.
//
//   v = src_scale * (f32(element) - src_zero_point) + sum_scale * f32(old); post-ops; v = v / dst_scale + dst_zero_point
//
// Every step is one f32 operation, rounded to nearest even, in this order; a step that is not in STEPS is left out. A side's scale
// and zero point are push constants, or a pair in `pairs` that the axes find (PAIRS(k), in axes.glsl).
//
// This file depends on convert.glsl, dispatch.glsl with SCALES, and the global declarations of `src` and `dst` (uint[]).

layout(constant_id = 2) const uint SRC_TYPE = 0;  // as numbered in types.glsl
layout(constant_id = 3) const uint DST_TYPE = 0;
layout(constant_id = 4) const uint ROUNDING = 0;  // plus SATURATES, plus ROUNDS_FIRST
layout(constant_id = 5) const uint STEPS = 0;

const uint SATURATES = 4, ROUNDS_FIRST = 8;
const uint SRC_ZERO_POINT = 1, SRC_SCALE = 2, SUM = 4, DST_SCALE = 8, DST_ZERO_POINT = 16, SRC_PAIRS = 32, DST_PAIRS = 64;
const uint SRC_PAIRS_ALONG_FOUR = 128, DST_PAIRS_ALONG_FOUR = 256;  // of convert.comp
const uint POST_OPS = 9;  // from this bit on the kind of each post-op in turn, two bits each
const uint LINEAR = 1, CLIP = 2, RELU = 3;

// Constants too, once the pipeline is made.
#define SRC_WIDTH width_of(SRC_TYPE)
#define DST_WIDTH width_of(DST_TYPE)

bool has(uint step) { return (STEPS & step) != 0u; }

void take_off(inout uint rest, inout uint quotient, uint divisor, uint times) {
    bool fits = rest >= times * divisor;
    quotient += fits ? times : 0u;
    rest -= fits ? times * divisor : 0u;
}

// a / b rounded to nearest even, where Vulkan lets an instruction be 2.5 units off.
//
// With the significands as integers of 24 bits, q = (a << s) / b has 24 too, for s = 23, or 24 where a < b. An estimate of q is a
// few units off, and its remainder, a few times b, is exact modulo 2^32: it says how many. No quotient lies half way between
// two numbers of 24 bits. 1 / 3: a = 0x800000, b = 0xC00000, q = 0xAAAAAA, remainder 0x800000, more than half of b: 0xAAAAAB.
float divided(float a, float b) {
    uint a_exponent = floatBitsToUint(a) >> 23 & 0xFFu;
    uint b_exponent = floatBitsToUint(b) >> 23 & 0xFFu;
    uint a_significand = floatBitsToUint(a) & 0x7FFFFFu;
    uint b_significand = floatBitsToUint(b) & 0x7FFFFFu;
    uint smaller = uint(a_significand < b_significand);
    precise float ratio = uintBitsToFloat(a_significand | 0x3F800000u) / uintBitsToFloat(b_significand | 0x3F800000u);
    a_significand |= 0x800000u;
    b_significand |= 0x800000u;
    // As 24 bits before the point, and 4 lower, so that it is at most 7 too low and never too high.
    uint q = (floatBitsToUint(ratio) & 0x7FFFFFu) | 0x800000u;
    uint places = (floatBitsToUint(ratio) >> 23) + smaller;  // 126 to 129
    q = (places == 126u ? q >> 1 : q << (places - 127u)) - 4u;
    uint rest = (a_significand << (23u + smaller)) - q * b_significand;
    take_off(rest, q, b_significand, 4u);
    take_off(rest, q, b_significand, 2u);
    take_off(rest, q, b_significand, 1u);
    int exponent = int(a_exponent) - int(b_exponent) + 127 - int(smaller);
    uint shift = uint(clamp(2 - exponent, 1, 31));
    uint denormal = shift_right_nearest_even(q << 1 | uint(rest != 0u), shift);
    uint normal = (uint(exponent - 1) << 23) + q + uint(2u * rest > b_significand);
    uint magnitude = exponent > 254 ? INFINITY : exponent < 1 ? denormal : normal;
    uint sign = (floatBitsToUint(a) ^ floatBitsToUint(b)) & 0x80000000u;
    // Zeros, infinities and NaN are exact; denormals a device may flush.
    bool is_special = a_exponent == 0u || a_exponent == 0xFFu || b_exponent == 0u || b_exponent == 0xFFu;
    return is_special ? a / b : uintBitsToFloat(sign | magnitude);
}

// An f32 as the nearest integer, as an f32; 2^23 and above are integers.
float whole(float value) {
    uint bits = floatBitsToUint(value);
    if ((bits >> 23 & 0xFFu) >= 150u) {
        return value;
    }
    float magnitude = float(integer_of_f32(bits & 0x7FFFFFFFu, U32, ROUNDING & 3u, true));
    return uintBitsToFloat(floatBitsToUint(magnitude) | bits & 0x80000000u);
}

// NaN stays NaN, whatever a device makes of comparisons with it.
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

// A pair is a scale and a zero point.
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
    for (uint op = 0u; op < 4u; ++op) {
        uint kind = STEPS >> (POST_OPS + 2u * op) & 3u;
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

// The destination element for the bits of an f32 and the element that the destination has.
uvec2 made_of_f32(uint element, uvec2 old, vec2 src_pair, vec2 dst_pair) {
    if (STEPS != 0u) {
        element = floatBitsToUint(through_scales(uintBitsToFloat(element), old, src_pair, dst_pair));
    }
    if (is_integer(DST_TYPE) && DST_TYPE != PRED && DST_WIDTH == 64u) {
        return integer_of_f64(f64_of_f32(element), DST_TYPE, ROUNDING & 3u, (ROUNDING & SATURATES) != 0u);
    }
    return of_f32(element, DST_TYPE, ROUNDING & 3u, (ROUNDING & SATURATES) != 0u);
}

// The same for a source element.
uvec2 made_of(uvec2 bits, uvec2 old, vec2 src_pair, vec2 dst_pair) {
    uint rounding = ROUNDING & 3u;
    bool saturate = (ROUNDING & SATURATES) != 0u;
    bool is_exact = STEPS == 0u;
    if (is_exact && is_wide(SRC_TYPE) && DST_TYPE == PRED) {
        return uvec2(uint(((SRC_TYPE == F64 ? bits.y & 0x7FFFFFFFu : bits.y) | bits.x) != 0u), 0u);
    }
    if (is_exact && is_wide(SRC_TYPE) && is_integer(SRC_TYPE) && (is_integer(DST_TYPE) || DST_TYPE == F64)) {
        if (DST_TYPE == F64) {
            return f64_of_integer(bits, SRC_TYPE);
        }
        bool negative;
        uvec2 magnitude = magnitude_of(bits, SRC_TYPE, negative);
        return integer_of(negative, magnitude, false, DST_TYPE, saturate);
    }
    if (is_exact && SRC_TYPE == F64 && is_integer(DST_TYPE) && DST_TYPE != PRED) {
        return integer_of_f64(bits, DST_TYPE, rounding, saturate);
    }
    return made_of_f32(f32_of(bits, SRC_TYPE, is_exact && DST_TYPE != F32), old, src_pair, dst_pair);
}

// ---- elements by their offsets, whatever their width; elements.glsl has the destinations that share words

uvec2 load_src(uint offset) {
    if (SRC_WIDTH == 64u) {
        return uvec2(src[2u * offset], src[2u * offset + 1u]);
    }
    uint lanes = 32u / SRC_WIDTH;
    return uvec2(src[offset / lanes] >> (offset % lanes * SRC_WIDTH) & 0xFFFFFFFFu >> (32u - SRC_WIDTH), 0u);
}

// A word of the destination; the kernel knows whether other invocations may write to it meanwhile.
uint old_word(uint word);

// The old element, where a sum reads it.
uvec2 load_old(uint offset) {
    if (!has(SUM)) {
        return uvec2(0u);
    }
    if (DST_WIDTH == 64u) {
        return uvec2(old_word(2u * offset), old_word(2u * offset + 1u));
    }
    uint lanes = 32u / DST_WIDTH;
    return uvec2(old_word(offset / lanes) >> (offset % lanes * DST_WIDTH) & 0xFFFFFFFFu >> (32u - DST_WIDTH), 0u);
}
