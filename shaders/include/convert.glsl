// An element of any type as an element of any other: bits in, bits out, rounded once, by integer arithmetic.
//
// Devices differ in their float instructions for narrow, large and denormal numbers (SwiftShader's packHalf2x16 rounds wrong
// and flushes denormals); integers are the same everywhere, and float instructions where they are exact and meet no denormals. NaN
// is tested by bits, kept with its sign and the upper bits of its payload, and made quiet. An element is a uvec2: its bits, in x
// alone up to 32 of them. Branches that hold for rare elements are selections: llvmpipe goes through both sides of a branch.
//
// Types that f32 holds exactly go through it. The others (s32 u32 s64 u64 f64) go to f32 rounded to odd where a narrower float
// follows: a last bit that says "not exact" leaves the next rounding to decide as if it saw the whole number. Rounded to 24
// bits to odd and then to 11, to 8 or to 4 is rounded once.
//
// docs/reorder.md says what each conversion gives.

#include "types.glsl"
#include "wide.glsl"
#include "floats.glsl"

const uint NEAREST_EVEN = 0, TRUNCATE = 1, HALF_AWAY = 2;  // of floats to integers

// Whether an integer gets one more for the fraction behind it; 0x80000000 is a half, more: there are bits below these.
bool rounds_up(uint fraction, bool more, bool is_odd, uint rounding) {
    switch (rounding) {
        case TRUNCATE: return false;
        case HALF_AWAY: return fraction >= 0x80000000u;
        default: return fraction > 0x80000000u || (fraction == 0x80000000u && (more || is_odd));
    }
}

// ---- integers

// The magnitude of an integer element of 32 or 64 bits.
uvec2 magnitude_of(uvec2 bits, uint type, out bool negative) {
    negative = is_signed(type) && (type == S64 ? bits.y : bits.x) >= 0x80000000u;
    uvec2 opposite = type == S64 ? negated(bits) : uvec2(0u - bits.x, 0u);
    return negative ? opposite : bits;
}

// The largest magnitude of an integer type of at most 32 bits.
uint most_of(uint type, bool negative) {
    uint mask = 0xFFFFFFFFu >> (32u - width_of(type));
    return is_signed(type) ? (mask >> 1) + uint(negative) : negative ? 0u : mask;
}

// The element that is nearest to an integer, or has its low bits; beyond: the magnitude is only the low bits of a larger one.
uvec2 integer_of(bool negative, uvec2 magnitude, bool beyond, uint type, bool saturate) {
    if (width_of(type) == 64u) {
        uvec2 most = negative ? uvec2(0u, type == S64 ? 0x80000000u : 0u) : uvec2(~0u, type == S64 ? 0x7FFFFFFFu : ~0u);
        if (saturate && (beyond || is_less(most, magnitude))) {
            magnitude = most;
        }
        return negative ? negated(magnitude) : magnitude;
    }
    if (saturate) {
        uint most = most_of(type, negative);
        magnitude.x = beyond || magnitude.y != 0u ? most : min(magnitude.x, most);
    }
    return uvec2((negative ? 0u - magnitude.x : magnitude.x) & (0xFFFFFFFFu >> (32u - width_of(type))), 0u);
}

// The integer of one type that is nearest to one of another, or has its low bits.
uvec2 integer_of_integer(uvec2 bits, uint from, uint to, bool saturate) {
    bool from_wide = width_of(from) == 64u;
    if (to == PRED) {
        return uvec2(uint((bits.x | (from_wide ? bits.y : 0u)) != 0u), 0u);
    }
    uint unused = from_wide ? 0u : 32u - width_of(from);
    uint low = from == PRED ? uint(bits.x != 0u) : is_signed(from) ? uint(int(bits.x << unused) >> unused) : bits.x;
    uint below = is_signed(from) ? uint(int(from_wide ? bits.y : low) >> 31) : 0u;  // all ones, or 0
    uint high = from_wide ? bits.y : below;
    if (saturate && !is_signed(to)) {
        low &= ~below;
        high &= ~below;
    }
    bool both_signed = is_signed(from) && is_signed(to);
    if (width_of(to) == 64u) {
        bool beyond = saturate && from == U64 && to == S64 && high >= 0x80000000u;
        return beyond ? uvec2(~0u, 0x7FFFFFFFu) : uvec2(low, high);
    }
    if (saturate) {
        uint most = most_of(to, false);
        bool beyond = from_wide && high != (both_signed ? uint(int(low) >> 31) : 0u);
        low = beyond ? (both_signed ? below ^ 0x7FFFFFFFu : ~0u) : low;
        low = both_signed ? uint(clamp(int(low), -1 - int(most), int(most))) : min(low, most);
    }
    return uvec2(low & (0xFFFFFFFFu >> (32u - width_of(to))), 0u);
}

// The nearest integer to a number from 0 to 2^23: there both it and what is left of the number are exact in f32, everywhere.
int whole_of(float magnitude, uint rounding) {
    int whole = int(magnitude);
    precise float left = magnitude - float(whole);
    // 0.5 is 0x3F000000; halves go up from odd numbers, or always, or never.
    bool is_up = floatBitsToInt(left) > 0x3F000000 - (rounding == NEAREST_EVEN ? whole & 1 : 1);
    return whole + int(rounding != TRUNCATE && is_up);
}

// Clamped to a type of 8 or 16 bits. Floats are in the order of their bits as integers, but the negative ones, which are below.
uint small_integer_of_f32(uint bits, uint type, uint rounding) {
    int most = floatBitsToInt(float(int(most_of(type, false))));
    if (!is_signed(type)) {
        int magnitude = clamp(int(bits), 0, most);
        return int(bits) > int(INFINITY) ? 0u : uint(whole_of(intBitsToFloat(magnitude), rounding));
    }
    bool negative = bits >= 0x80000000u;
    int least = floatBitsToInt(float(int(most_of(type, true))));
    int magnitude = min(int(bits & 0x7FFFFFFFu), negative ? least : most);
    int whole = whole_of(intBitsToFloat(magnitude), rounding);
    uint made = uint(negative ? -whole : whole) & (0xFFFFFFFFu >> (32u - width_of(type)));
    return is_nan(bits) ? 0u : made;
}

// Of at most 32 bits. The value is significand * 2^(exponent - 150): 1.0 is 2^23 * 2^-23, and 23 bits go to the right.
uint integer_of_f32(uint bits, uint type, uint rounding, bool saturate) {
    if (saturate && width_of(type) < 32u) {
        return small_integer_of_f32(bits, type, rounding);
    }
    bool negative = bits >= 0x80000000u;
    uint magnitude = bits & 0x7FFFFFFFu;
    uint exponent = magnitude >> 23;
    uint significand = (magnitude & 0x7FFFFFu) | 0x800000u;
    uint to_right = 150u - clamp(exponent, 125u, 150u);
    uint fraction = to_right == 0u ? 0u : significand << (32u - to_right);
    uint whole = significand >> to_right;
    whole += uint(rounds_up(fraction, false, (whole & 1u) == 1u, rounding));
    uint low = exponent <= 150u ? whole : exponent < 182u ? significand << (exponent - 150u) : 0u;
    uint made = integer_of(negative, uvec2(low, 0u), exponent >= 159u, type, saturate).x;
    return is_nan(bits) ? 0u : made;
}

// Of any width. The value is significand * 2^(exponent - 1075).
uvec2 integer_of_f64(uvec2 bits, uint type, uint rounding, bool saturate) {
    uint exponent = bits.y >> 20 & 0x7FFu;
    uvec2 significand = uvec2(bits.x, (bits.y & 0xFFFFFu) | 0x100000u);
    uvec2 whole;
    if (exponent < 1075u) {
        uint to_right = min(1075u - exponent, 54u);
        uvec2 fraction = shifted_left(significand, 64u - to_right);
        whole = shifted_right(significand, to_right);
        if (rounds_up(fraction.y, fraction.x != 0u, (whole.x & 1u) == 1u, rounding)) {
            whole = plus_one(whole);
        }
    } else {
        whole = exponent < 1139u ? shifted_left(significand, exponent - 1075u) : uvec2(0u);
    }
    bool is_nan = (bits.y & 0x7FFFFFFFu) > 0x7FF00000u || ((bits.y & 0x7FFFFFFFu) == 0x7FF00000u && bits.x != 0u);
    return is_nan ? uvec2(0u) : integer_of(bits.y >= 0x80000000u, whole, exponent >= 1087u, type, saturate);
}

// Integers of 32 and 64 bits.
uint f32_of_wide_integer(uvec2 bits, uint type, bool to_odd) {
    bool negative;
    uvec2 magnitude = magnitude_of(bits, type, negative);
    int top = top_bit(magnitude);
    if (top < 0) {
        return 0u;
    }
    // The top bit to bit 63: 24 bits are kept, and of the 40 behind them the last of 8 says whether there is more.
    uvec2 normal = shifted_left(magnitude, uint(63 - top));
    uint significand = normal.y | uint(normal.x != 0u);
    uint rounded = to_odd ? shift_right_odd(significand, 8u) : shift_right_nearest_even(significand, 8u);
    return (negative ? 0x80000000u : 0u) | (uint(top + 126) << 23) + rounded;
}

uvec2 f64_of_integer(uvec2 bits, uint type) {
    bool negative;
    uvec2 magnitude = magnitude_of(bits, type, negative);
    int top = top_bit(magnitude);
    if (top < 0) {
        return uvec2(0u);
    }
    uvec2 normal = shifted_left(magnitude, uint(63 - top));  // 53 bits are kept, 11 are not
    uvec2 rounded = shifted_right(normal, 11u);
    if (rounds_up(normal.x << 21, false, (rounded.x & 1u) == 1u, NEAREST_EVEN)) {
        rounded = plus_one(rounded);
    }
    return uvec2(rounded.x, (negative ? 0x80000000u : 0u) | (uint(top + 1022) << 20) + rounded.y);
}

// ---- what kernels call

// The f32 of an element whose type is not wide: always exact.
uint f32_of_small(uint bits, uint type) {
    if (type == F32) {
        return bits;
    }
    if (type == PRED) {
        return bits == 0u ? 0u : 0x3F800000u;
    }
    if (!is_integer(type)) {
        return f32_of_narrow(bits, type);
    }
    uint unused = 32u - width_of(type);  // of at most 16 bits, the float instruction is exact everywhere
    return floatBitsToUint(float(is_signed(type) ? int(bits << unused) >> unused : int(bits)));
}

// The f32 of an element, rounded to nearest even or to odd where the type is wide.
uint f32_of(uvec2 bits, uint type, bool to_odd) {
    if (!is_wide(type)) {
        return f32_of_small(bits.x, type);
    }
    return type == F64 ? f32_of_f64(bits, to_odd) : f32_of_wide_integer(bits, type, to_odd);
}

// The element of an f32; integers of 64 bits by way of f64 (integer_of_f64).
uvec2 of_f32(uint bits, uint type, uint rounding, bool saturate) {
    if (type == F32) {
        return uvec2(bits, 0u);
    }
    if (type == F64) {
        return f64_of_f32(bits);
    }
    if (type == PRED) {
        return uvec2(uint((bits & 0x7FFFFFFFu) != 0u), 0u);
    }
    if (is_integer(type)) {
        return uvec2(integer_of_f32(bits, type, rounding, saturate), 0u);
    }
    return uvec2(narrow_of_f32(bits, type, saturate), 0u);
}
