// Conversions from any element type to any other, rounded once, by integer arithmetic.
//
// Float instructions differ from device to device for narrow, large and denormal numbers (SwiftShader's packHalf2x16 rounds wrong
// and flushes denormals). Integer instructions are the same everywhere; float instructions are used only where they are exact and
// meet no denormal. NaN is tested by its bits, keeps its sign and the upper bits of its payload, and becomes quiet. An element is a
// uvec2 of its bits; up to 32 bits are in x alone. Rare cases are handled by selects, because llvmpipe executes both sides of a
// branch.
//
// Types whose numbers are all exact in f32 are converted through f32. The others (s32 u32 s64 u64 f64) become f32 rounded to odd if
// a narrower float follows: an odd last bit says "not exact", so the next rounding gives the same as from the original number.
// Rounding to odd in 24 bits, then to nearest in 11, 8 or fewer bits, is rounding once.
//
// docs/reorder.md defines each conversion.

#include "element_types.glsl"
#include "shared_constants.glsl"

// ---- integers of 64 bits in two words, the lower one first, for devices without 64-bit arithmetic

uvec2 negated(uvec2 value) {
    uint low = 0u - value.x;
    return uvec2(low, ~value.y + uint(low == 0u));
}

bool is_less(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }

uvec2 plus_one(uvec2 value) { return uvec2(value.x + 1u, value.y + uint(value.x == 0xFFFFFFFFu)); }

// Shifts by 0 to 63 bits, word by word in several steps, because GLSL leaves a shift of a word by 32 undefined.
uvec2 shifted_left(uvec2 value, uint count) {
    if (count >= 32u) {
        return uvec2(0u, value.x << (count - 32u));
    }
    return count == 0u ? value : uvec2(value.x << count, value.y << count | value.x >> (32u - count));
}

uvec2 shifted_right(uvec2 value, uint count) {
    if (count >= 32u) {
        return uvec2(value.y >> (count - 32u), 0u);
    }
    return count == 0u ? value : uvec2(value.x >> count | value.y << (32u - count), value.y >> count);
}

// The number of the highest set bit, 0 to 63; -1 for 0.
int top_bit(uvec2 value) { return value.y != 0u ? 32 + findMSB(value.y) : findMSB(value.x); }

// ---- rounding shifts

const uint INFINITY = 0x7F800000u;  // of f32
const uint QUIET = 0x00400000u;     // the bit of f32 that makes a NaN quiet

bool is_nan(uint f32_bits) { return (f32_bits & 0x7FFFFFFFu) > INFINITY; }

// Shift right, rounding to nearest even: 0b1011 by 2 is 2.75, so 3; 0b1010 by 2 is 2.5, so 2. shift is 1..31, value below 2^31.
// Adds one unit less than a half, and that unit too if the result would be odd: 0b1010 + 0b01 is still 2, 0b1110 + 0b01 + 1 is 4.
uint shift_right_nearest_even(uint value, uint shift) {
    uint below_half = (1u << (shift - 1u)) - 1u;
    return value + below_half + (value >> shift & 1u) >> shift;
}

// Shift right, and set the last bit if a set bit was lost: rounding to odd.
uint shift_right_odd(uint value, uint shift) {
    return value >> shift | uint((value & ((1u << shift) - 1u)) != 0u);
}

// ---- floats of 8 and 16 bits: a sign, an exponent, and fraction bits. f16: 10 of them, bias 15; 0x3C00 is 1.0. f8e4m3fn has no
// infinity, and its largest number has all exponent bits set: 448 is 0x7E, NaN is 0x7F.

// The f32 of a float of 8 or 16 bits. Denormals, except those of bf16, are normal in f32. f16: the smallest normal number is 2^-14;
// 0x0001 becomes (2^-14 + 2^-24) - 2^-14, a subtraction that is exact and meets no denormal.
uint f32_of_narrow(uint bits, uint type) {
    uint at_left = bits << (32u - width_of(type));
    int magnitude = int(at_left & 0x7FFFFFFFu) >> (fraction_bits_of(type) + 9u - width_of(type));
    uint rebias = (127u - bias_of(type)) << 23;
    uint smallest = rebias + 0x800000u;
    precise float denormal = uintBitsToFloat(uint(magnitude) + smallest) - uintBitsToFloat(smallest);
    uint finite = magnitude < 0x800000 && saturates(type) ? floatBitsToUint(denormal) : uint(magnitude) + rebias;
    // The magnitude after the largest number is infinity, or the only NaN of a type without infinity.
    int infinity = int((largest_of(type) + 1u) << (23u - fraction_bits_of(type)));
    uint beyond = magnitude > infinity ? INFINITY | QUIET : INFINITY;
    uint magnitude_bits = finite | (magnitude >= infinity ? beyond : 0u);
    magnitude_bits = has_infinity(type) ? magnitude_bits : magnitude >= infinity ? INFINITY | QUIET : finite;
    return magnitude_bits | at_left & 0x80000000u;
}

uint narrow_of_f32(uint bits, uint type, bool saturate) {
    uint sign = (bits & 0x80000000u) >> (32u - width_of(type));
    uint magnitude = bits & 0x7FFFFFFFu;
    uint to_right = 23u - fraction_bits_of(type);
    uint beyond = largest_of(type) + 1u;
    int in_place = int(magnitude);  // becomes the element's bits without sign, with to_right more fraction bits
    if (saturates(type)) {
        // In these units the smallest normal number is 0x800000. A smaller number is scaled and truncated, and the last bit is set
        // if anything was lost. The result exceeds the rebiased bits of that number, which lack the leading 1, so `max` takes it.
        // f16: 2^-14 * 2^37 is 2^23. Denormals of f32 are far smaller and become 0, flushed or not.
        uint smallest = (128u - bias_of(type)) << 23;
        precise float scaled = uintBitsToFloat(min(magnitude, smallest)) * uintBitsToFloat((149u + bias_of(type)) << 23);
        int cut = int(scaled);
        int denormal = cut | int(float(cut) != scaled);
        in_place = max(in_place - int(smallest - 0x800000u), denormal);
    }
    uint rounded = shift_right_nearest_even(uint(in_place), to_right);
    bool clamps = saturate && saturates(type);
    rounded = min(rounded, clamps ? largest_of(type) : beyond);
    uint quiet = beyond | QUIET >> to_right;
    return sign | (is_nan(bits) ? quiet | (magnitude & 0x7FFFFFu) >> to_right : rounded);
}

// ---- f64: 11 bits of exponent, bias 1023, 20 fraction bits in the upper word and 32 in the lower.

uvec2 f64_of_f32(uint bits) {
    uint magnitude = bits & 0x7FFFFFFFu;
    // A denormal, magnitude * 2^-149, is normal in f64; `magnitude` as an integer is a normal f32.
    bool is_denormal = magnitude < 0x800000u;
    uint normal = is_denormal ? floatBitsToUint(float(int(magnitude))) : magnitude;
    uint rebias = is_denormal ? 1023u - 127u - 149u : magnitude < INFINITY ? 1023u - 127u : 2047u - 255u;
    uint upper = (normal >> 3) + (rebias << 20) | (magnitude > INFINITY ? QUIET >> 3 : 0u);
    return uvec2(normal << 29, (magnitude == 0u ? 0u : upper) | bits & 0x80000000u);
}

uint f32_of_f64(uvec2 bits, bool to_odd) {
    uint magnitude = bits.y & 0x7FFFFFFFu;
    int exponent = int(magnitude >> 20) - (1023 - 127);
    // 24 bits to keep and 6 below them, the last one set if any lower bit is: enough to round once.
    uint significand = (magnitude & 0xFFFFFu | (magnitude >= 0x100000u ? 0x100000u : 0u)) << 9 | bits.x >> 23;
    significand |= uint((bits.x & 0x7FFFFFu) != 0u);
    // Below 2^-126 fewer bits are kept; below 2^-150, denormals of f64 included, none.
    uint shift = uint(clamp(7 - exponent, 6, 31));
    uint rounded = to_odd ? shift_right_odd(significand, shift) : shift_right_nearest_even(significand, shift);
    rounded += uint(clamp(exponent - 1, 0, 254)) << 23;  // the leading bit adds the 1 to the exponent
    rounded = min(rounded, to_odd ? INFINITY - 1u : INFINITY);
    bool is_number = magnitude + uint(bits.x != 0u) <= 0x7FF00000u;
    uint payload = (magnitude & 0xFFFFFu) << 3 | bits.x >> 29;
    uint beyond = INFINITY | (is_number ? 0u : payload | QUIET);
    return bits.y & 0x80000000u | (magnitude >= 0x7FF00000u ? beyond : rounded);
}


// True if an integer is rounded up because of its fraction. fraction: 0x80000000 is a half. more: bits below `fraction` are set.
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

// The largest magnitude that an integer type of at most 32 bits has among negative numbers, or among the others.
uint most_of(uint type, bool negative) {
    uint mask = 0xFFFFFFFFu >> (32u - width_of(type));
    return is_signed(type) ? (mask >> 1) + uint(negative) : negative ? 0u : mask;
}

// The element nearest to an integer if `saturate`, otherwise its low bits. beyond: `magnitude` has only the low bits.
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

// An integer of type `from` as type `to`: the nearest one if `saturate`, otherwise its low bits. To pred: 1 unless it is 0.
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

// Rounds a number from 0 to 2^23 to an integer. Up to there its whole part and its fraction are exact in f32 on every device.
int whole_of(float magnitude, uint rounding) {
    int whole = int(magnitude);
    precise float left = magnitude - float(whole);
    // The bits of 0.5 are 0x3F000000. NEAREST_EVEN rounds a half up only from odd numbers, HALF_AWAY always.
    bool is_up = floatBitsToInt(left) > 0x3F000000 - (rounding == NEAREST_EVEN ? whole & 1 : 1);
    return whole + int(rounding != TRUNCATE && is_up);
}

// Converts an f32 to an integer of 8 or 16 bits, clamped; NaN becomes 0. The bits of floats, compared as signed integers, have
// the order of the floats from 0.0 on, and those of negative floats are below 0.
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
    uint integer = uint(negative ? -whole : whole) & (0xFFFFFFFFu >> (32u - width_of(type)));
    return is_nan(bits) ? 0u : integer;
}

// Converts an f32 to an integer of at most 32 bits; NaN becomes 0. The number is significand * 2^(exponent - 150): 1.0 is
// 2^23 * 2^-23, so 23 bits are shifted out.
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
    uint integer = integer_of(negative, uvec2(low, 0u), exponent >= 159u, type, saturate).x;
    return is_nan(bits) ? 0u : integer;
}

// Converts an f64 to an integer of any width; NaN becomes 0. The number is significand * 2^(exponent - 1075).
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

// Converts an integer of 32 or 64 bits to f32, rounded to odd or to nearest even.
uint f32_of_wide_integer(uvec2 bits, uint type, bool to_odd) {
    bool negative;
    uvec2 magnitude = magnitude_of(bits, type, negative);
    int top = top_bit(magnitude);
    if (top < 0) {
        return 0u;
    }
    // The highest set bit moves to bit 30 of a word: 24 bits to keep, and 7 below; the last is set if any lower bit is.
    uvec2 normal = shifted_left(magnitude, uint(63 - top));
    uint significand = shift_right_odd(normal.y, 1u) | uint(normal.x != 0u);
    uint rounded = to_odd ? shift_right_odd(significand, 7u) : shift_right_nearest_even(significand, 7u);
    return (negative ? 0x80000000u : 0u) | (uint(top + 126) << 23) + rounded;
}

uvec2 f64_of_integer(uvec2 bits, uint type) {
    bool negative;
    uvec2 magnitude = magnitude_of(bits, type, negative);
    int top = top_bit(magnitude);
    if (top < 0) {
        return uvec2(0u);
    }
    uvec2 normal = shifted_left(magnitude, uint(63 - top));  // 53 bits to keep, 11 to round away
    uvec2 rounded = shifted_right(normal, 11u);
    if (rounds_up(normal.x << 21, false, (rounded.x & 1u) == 1u, NEAREST_EVEN)) {
        rounded = plus_one(rounded);
    }
    return uvec2(rounded.x, (negative ? 0x80000000u : 0u) | (uint(top + 1022) << 20) + rounded.y);
}

// ---- the functions that kernels call

// Converts an element whose type is not wide to f32, which is always exact.
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
    uint unused = 32u - width_of(type);  // up to 16 bits, float() is exact on every device
    return floatBitsToUint(float(is_signed(type) ? int(bits << unused) >> unused : int(bits)));
}

// Converts an element to f32; a wide type is rounded, to odd or to nearest even.
uint f32_of(uvec2 bits, uint type, bool to_odd) {
    if (!is_wide(type)) {
        return f32_of_small(bits.x, type);
    }
    return type == F64 ? f32_of_f64(bits, to_odd) : f32_of_wide_integer(bits, type, to_odd);
}

// Converts an f32 to any type but s64 and u64, for which callers use f64_of_f32 and integer_of_f64.
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
