// Element bits to f32 and back, rounding once to nearest even.
//
// Packing is integer arithmetic, because float instructions for narrow types differ between devices (SwiftShader's
// packHalf2x16 rounds wrong and flushes denormals). NaN is tested by bits.

const uint F32 = 0, F16 = 1, BF16 = 2, U8 = 3, S8 = 4, S32 = 5;  // plan/resample.py names the same numbers

bool is_nan(uint f32_bits) { return (f32_bits & 0x7FFFFFFFu) > 0x7F800000u; }

// f16 s eeeee mmmmmmmmmm: 0x3C00 is 1.0 (exponent 15 - 15), 0x0001 is 2^-24.
float from_f16(uint bits) {
    uint sign = (bits & 0x8000u) << 16;
    uint magnitude = bits & 0x7FFFu;
    if (magnitude >= 0x7C00u) {  // infinity, NaN
        return uintBitsToFloat(sign | 0x7F800000u | ((magnitude & 0x3FFu) << 13));
    }
    if (magnitude >= 0x0400u) {  // normal: rebias the exponent from 15 to 127
        return uintBitsToFloat(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
    }
    if (magnitude == 0) {
        return uintBitsToFloat(sign);
    }
    int top = findMSB(magnitude);  // denormal: magnitude * 2^-24 is normal in f32
    return uintBitsToFloat(sign | uint(top - 24 + 127) << 23 | ((magnitude << (23 - top)) & 0x7FFFFFu));
}

// Shift right, rounding to nearest even: 0b1011 by 2 is 2.75, so 3; 0b1010 by 2 is 2.5, so 2. shift is 1..31.
uint shift_right_nearest_even(uint value, uint shift) {
    uint kept = value >> shift;
    uint rest = value & ((1u << shift) - 1u);
    uint half_way = 1u << (shift - 1u);
    return kept + uint(rest > half_way || (rest == half_way && (kept & 1u) == 1u));
}

uint to_f16(float value) {
    uint bits = floatBitsToUint(value);
    uint sign = (bits >> 16) & 0x8000u;
    uint magnitude = bits & 0x7FFFFFFFu;
    if (is_nan(bits)) {
        return sign | 0x7E00u | ((magnitude >> 13) & 0x3FFu);
    }
    if (magnitude >= 0x477FF000u) {  // 65520 and above round to infinity
        return sign | 0x7C00u;
    }
    if (magnitude >= 0x38800000u) {  // 2^-14 and above: normal
        return sign | shift_right_nearest_even(magnitude - ((127u - 15u) << 23), 13u);
    }
    uint exponent = magnitude >> 23;
    if (exponent < 102u) {  // below 2^-25: zero
        return sign;
    }
    uint significand = (magnitude & 0x7FFFFFu) | 0x800000u;
    return sign | shift_right_nearest_even(significand, 126u - exponent);
}

uint to_bf16(float value) {
    uint bits = floatBitsToUint(value);
    if (is_nan(bits)) {
        return (bits >> 16) | 0x40u;
    }
    return shift_right_nearest_even(bits, 16u);
}

// Clamp, then round half to even; NaN is 0. The bounds are integers that f32 holds exactly.
int to_integer(float value, float lowest, float highest) {
    return is_nan(floatBitsToUint(value)) ? 0 : int(roundEven(clamp(value, lowest, highest)));
}

// 2^31 - 1 is no f32: 2^31 and above saturate to it, as a mean of s32 near the top can come out.
int to_s32(float value) { return value >= 2147483648.0 ? 2147483647 : to_integer(value, -2147483648.0, 2147483520.0); }

float to_f32(uint bits, uint type) {
    switch (type) {
        case F16: return from_f16(bits);
        case BF16: return uintBitsToFloat(bits << 16);
        case U8: return float(bits);
        case S8: return float(int(bits << 24) >> 24);
        case S32: return float(int(bits));
        default: return uintBitsToFloat(bits);
    }
}

uint from_f32(float value, uint type) {
    switch (type) {
        case F16: return to_f16(value);
        case BF16: return to_bf16(value);
        case U8: return uint(to_integer(value, 0.0, 255.0));
        case S8: return uint(to_integer(value, -128.0, 127.0)) & 0xFFu;
        case S32: return uint(to_s32(value));
        default: return floatBitsToUint(value);
    }
}
