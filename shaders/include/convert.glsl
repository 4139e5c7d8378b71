// An element of any type as an element of any other: bits in, bits out, rounded once, by integer arithmetic.
//
// Devices differ in their float instructions for narrow, large and denormal numbers (SwiftShader's packHalf2x16 rounds wrong
// and flushes denormals); integers are the same everywhere. NaN is tested by bits, kept with its sign and the upper bits of its
// payload, and made quiet. An element is a uvec2: its bits, in x alone up to 32 of them.
//
// Types that f32 holds exactly go through it. The others (s32 u32 s64 u64 f64) go to f32 rounded to odd where a narrower float
// follows: a last bit that says "not exact" leaves the next rounding to decide as if it saw the whole number. Rounded to 24
// bits to odd and then to 11, to 8 or to 4 is rounded once.
//
// docs/reorder.md says what each conversion gives.

#include "types.glsl"
#include "wide.glsl"

const uint NEAREST_EVEN = 0, TRUNCATE = 1, HALF_AWAY = 2;  // of floats to integers

const uint INFINITY = 0x7F800000u;  // of f32
const uint QUIET = 0x00400000u;     // the bit of f32 that makes a NaN quiet

bool is_nan(uint f32_bits) { return (f32_bits & 0x7FFFFFFFu) > INFINITY; }

// Shift right, rounding to nearest even: 0b1011 by 2 is 2.75, so 3; 0b1010 by 2 is 2.5, so 2. shift is 1..31.
uint shift_right_nearest_even(uint value, uint shift) {
    uint kept = value >> shift;
    uint rest = value & ((1u << shift) - 1u);
    uint half_way = 1u << (shift - 1u);
    return kept + uint(rest > half_way || (rest == half_way && (kept & 1u) == 1u));
}

// Shift right, and set the last bit if anything was lost: rounding to odd.
uint shift_right_odd(uint value, uint shift) {
    return value >> shift | uint((value & ((1u << shift) - 1u)) != 0u);
}

// Whether an integer gets one more for the fraction behind it; 0x80000000 is a half, more: there are bits below these.
bool rounds_up(uint fraction, bool more, bool is_odd, uint rounding) {
    switch (rounding) {
        case TRUNCATE: return false;
        case HALF_AWAY: return fraction >= 0x80000000u;
        default: return fraction > 0x80000000u || (fraction == 0x80000000u && (more || is_odd));
    }
}

// ---- floats of 8 and 16 bits: a sign, an exponent, and fraction bits. f16: 10 of them, bias 15; 0x3C00 is 1.0.

uint fraction_bits_of(uint type) { return type == F16 ? 10u : type == BF16 ? 7u : type == F8E4M3FN ? 3u : 2u; }

uint bias_of(uint type) { return type == F8E4M3FN ? 7u : type == BF16 ? 127u : 15u; }

// f8e4m3fn has no infinity, and its largest number has all exponent bits set: 448 is 0x7E, NaN is 0x7F.
uint largest_of(uint type) { return type == F16 ? 0x7BFFu : type == BF16 ? 0x7F7Fu : type == F8E4M3FN ? 0x7Eu : 0x7Bu; }

uint f32_of_narrow(uint bits, uint type) {
    uint unused = 32u - width_of(type);
    uint fraction_bits = fraction_bits_of(type);
    uint bias = bias_of(type);
    uint magnitude = bits & (0x7FFFFFFFu >> unused);
    uint at_left = magnitude << (23u - fraction_bits);
    uint normal = at_left + ((127u - bias) << 23);
    // Denormal, so normal in f32. f16: magnitude * 2^-24, the smallest is 0x0001; its top bit goes to bit 23 and is left out.
    int top = findMSB(magnitude);
    uint exponent = uint(top) + 128u - bias - fraction_bits;
    uint denormal = magnitude == 0u ? 0u : exponent << 23 | (magnitude << (23 - top) & 0x7FFFFFu);
    uint finite = type == BF16 ? at_left : magnitude >> fraction_bits != 0u ? normal : denormal;
    // The first one past the largest is infinity, but in f8e4m3fn.
    uint payload = at_left & 0x7FFFFFu;
    uint beyond = INFINITY | (type == F8E4M3FN ? QUIET : payload == 0u ? 0u : payload | QUIET);
    return (bits << unused & 0x80000000u) | (magnitude > largest_of(type) ? beyond : finite);
}

uint narrow_of_f32(uint bits, uint type, bool saturate) {
    uint sign = (bits & 0x80000000u) >> (32u - width_of(type));
    uint magnitude = bits & 0x7FFFFFFFu;
    uint to_right = 23u - fraction_bits_of(type);
    uint beyond = largest_of(type) + 1u;
    if (is_nan(bits)) {
        return sign | beyond | ((magnitude | QUIET) & 0x7FFFFFu) >> to_right;
    }
    uint rounded;
    if (type == BF16) {
        rounded = shift_right_nearest_even(magnitude, to_right);
    } else {
        // Denormal below the smallest normal exponent: further to the right, and from 25 bits on only zero is left. The
        // leading bit adds 1 to the exponent of a normal number. Denormals of f32 are far below both.
        uint smallest = 128u - bias_of(type);
        uint exponent = magnitude >> 23;
        uint further = smallest - min(exponent, smallest);
        uint significand = (magnitude & 0x7FFFFFu) | 0x800000u;
        rounded = shift_right_nearest_even(significand, min(to_right + further, 31u));
        rounded += (exponent + further - smallest) << fraction_bits_of(type);
    }
    bool clamps = saturate && type != BF16;
    return sign | (rounded > largest_of(type) ? (clamps ? largest_of(type) : beyond) : rounded);
}

// ---- f64: 11 bits of exponent, bias 1023, 20 fraction bits in the upper word and 32 in the lower.

uvec2 f64_of_f32(uint bits) {
    uint sign = bits & 0x80000000u;
    uint exponent = bits >> 23 & 0xFFu;
    uint fraction = bits & 0x7FFFFFu;
    if (exponent == 0xFFu) {
        fraction |= fraction == 0u ? 0u : QUIET;
        return uvec2(fraction << 29, sign | 0x7FF00000u | fraction >> 3);
    }
    if (exponent == 0u) {  // denormal: fraction * 2^-149 is normal in f64
        if (fraction == 0u) {
            return uvec2(0u, sign);
        }
        int top = findMSB(fraction);
        fraction = fraction << (23 - top) & 0x7FFFFFu;
        exponent = uint(top) - 22u;  // wraps below 0, and the bias brings it back
    }
    return uvec2(fraction << 29, sign | (exponent + (1023u - 127u)) << 20 | fraction >> 3);
}

uint f32_of_f64(uvec2 bits, bool to_odd) {
    uint sign = bits.y & 0x80000000u;
    uint magnitude = bits.y & 0x7FFFFFFFu;
    if (magnitude >= 0x7FF00000u) {
        uint payload = (magnitude & 0xFFFFFu) << 3 | bits.x >> 29;
        bool is_infinite = magnitude == 0x7FF00000u && bits.x == 0u;
        return sign | INFINITY | (is_infinite ? 0u : payload | QUIET);
    }
    int exponent = int(magnitude >> 20) - (1023 - 127);
    if (exponent >= 255) {
        return sign | (to_odd ? INFINITY - 1u : INFINITY);
    }
    // 24 bits that are kept and 7 below them, whose last says whether there is more: enough for one rounding.
    uint significand = (magnitude & 0xFFFFFu | (magnitude >= 0x100000u ? 0x100000u : 0u)) << 10 | bits.x >> 22;
    significand |= uint((bits.x & 0x3FFFFFu) != 0u);
    // Below 2^-126 fewer are kept, and below 2^-150, where denormals of f64 are too, none.
    uint shift = uint(7 + max(1 - exponent, 0));
    uint rounded;
    if (shift > 31u) {
        rounded = uint(to_odd && significand != 0u);
    } else {
        rounded = to_odd ? shift_right_odd(significand, shift) : shift_right_nearest_even(significand, shift);
    }
    return sign | (uint(max(exponent - 1, 0)) << 23) + rounded;  // the leading bit adds the 1 to the exponent
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

// Clamped to a type of 8 or 16 bits: below 2^16 both a whole number and what is left of it are exact in f32, everywhere.
uint small_integer_of_f32(uint bits, uint type, uint rounding) {
    bool negative = bits >= 0x80000000u;
    uint least = floatBitsToUint(float(most_of(type, true)));
    uint most = floatBitsToUint(float(most_of(type, false)));
    float magnitude = uintBitsToFloat(min(bits & 0x7FFFFFFFu, negative ? least : most));
    int whole = int(magnitude);
    precise float left = magnitude - float(whole);
    // 0.5 is 0x3F000000; halves go up from odd numbers, or always, or never.
    bool is_up = floatBitsToInt(left) > 0x3F000000 - (rounding == NEAREST_EVEN ? whole & 1 : 1);
    whole += int(rounding != TRUNCATE && is_up);
    whole = is_signed(type) && negative ? -whole : whole;
    return is_nan(bits) ? 0u : uint(whole) & (0xFFFFFFFFu >> (32u - width_of(type)));
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
    return floatBitsToUint(is_signed(type) ? float(int(bits << unused) >> unused) : float(bits));
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
