// Floats of 8, 16 and 64 bits as f32 and back: bits in, bits out, rounded once, the same on every device (convert.glsl).
//
// This file depends on types.glsl.

const uint INFINITY = 0x7F800000u;  // of f32
const uint QUIET = 0x00400000u;     // the bit of f32 that makes a NaN quiet

bool is_nan(uint f32_bits) { return (f32_bits & 0x7FFFFFFFu) > INFINITY; }

// Shift right, rounding to nearest even: 0b1011 by 2 is 2.75, so 3; 0b1010 by 2 is 2.5, so 2. shift is 1..31.
uint shift_right_nearest_even(uint value, uint shift) {
    uint kept = value >> shift;
    uint rest = value & ((1u << shift) - 1u);
    return kept + uint(rest + (kept & 1u) > 1u << (shift - 1u));
}

// Shift right, and set the last bit if anything was lost: rounding to odd.
uint shift_right_odd(uint value, uint shift) {
    return value >> shift | uint((value & ((1u << shift) - 1u)) != 0u);
}

// ---- floats of 8 and 16 bits: a sign, an exponent, and fraction bits. f16: 10 of them, bias 15; 0x3C00 is 1.0.

uint fraction_bits_of(uint type) { return type == F16 ? 10u : type == BF16 ? 7u : type == F8E4M3FN ? 3u : 2u; }

uint bias_of(uint type) { return type == F8E4M3FN ? 7u : type == BF16 ? 127u : 15u; }

// f8e4m3fn has no infinity, and its largest number has all exponent bits set: 448 is 0x7E, NaN is 0x7F.
uint largest_of(uint type) { return type == F16 ? 0x7BFFu : type == BF16 ? 0x7F7Fu : type == F8E4M3FN ? 0x7Eu : 0x7Bu; }

// Denormals are normal in f32. f16: the smallest normal number is 2^-14; 0x0001 becomes 2^-14 + 2^-24, less 2^-14, which is
// exact in float instructions and meets no denormal.
uint f32_of_narrow(uint bits, uint type) {
    uint at_left = bits << (32u - width_of(type));
    int magnitude = int(at_left & 0x7FFFFFFFu) >> (fraction_bits_of(type) + 9u - width_of(type));
    uint rebias = (127u - bias_of(type)) << 23;
    uint smallest = rebias + 0x800000u;
    precise float denormal = uintBitsToFloat(uint(magnitude) + smallest) - uintBitsToFloat(smallest);
    uint finite = magnitude < 0x800000 && type != BF16 ? floatBitsToUint(denormal) : uint(magnitude) + rebias;
    // The first one past the largest is infinity, but in f8e4m3fn, which has one NaN of each sign there.
    int infinity = int((largest_of(type) + 1u) << (23u - fraction_bits_of(type)));
    uint beyond = magnitude > infinity ? INFINITY | QUIET : INFINITY;
    uint made = finite | (magnitude >= infinity ? beyond : 0u);
    made = type == F8E4M3FN ? (magnitude >= infinity ? INFINITY | QUIET : finite) : made;
    return made | at_left & 0x80000000u;
}

uint narrow_of_f32(uint bits, uint type, bool saturate) {
    uint sign = (bits & 0x80000000u) >> (32u - width_of(type));
    uint magnitude = bits & 0x7FFFFFFFu;
    uint to_right = 23u - fraction_bits_of(type);
    uint beyond = largest_of(type) + 1u;
    int in_place = int(magnitude);  // a number of the type, with to_right more bits
    if (type != BF16) {
        // The smallest normal number is 0x800000 there. What is below it is cut, with a last bit for anything lost, and is
        // more than the other, which lacks its leading bit. f16: 2^-14 * 2^37 is 2^23. Denormals of f32 are far below.
        uint smallest = (128u - bias_of(type)) << 23;
        precise float scaled = uintBitsToFloat(min(magnitude, smallest)) * uintBitsToFloat((149u + bias_of(type)) << 23);
        int cut = int(scaled);
        int denormal = cut | int(float(cut) != scaled);
        in_place = max(in_place - int(smallest - 0x800000u), denormal);
    }
    uint rounded = shift_right_nearest_even(uint(in_place), to_right);
    bool clamps = saturate && type != BF16;
    rounded = min(rounded, clamps ? largest_of(type) : beyond);
    return sign | (is_nan(bits) ? beyond | ((magnitude | QUIET) & 0x7FFFFFu) >> to_right : rounded);
}

// ---- f64: 11 bits of exponent, bias 1023, 20 fraction bits in the upper word and 32 in the lower.

uvec2 f64_of_f32(uint bits) {
    uint magnitude = bits & 0x7FFFFFFFu;
    // Denormal: magnitude * 2^-149 is normal in f64, and so is the integer in f32.
    bool is_denormal = magnitude < 0x800000u;
    uint normal = is_denormal ? floatBitsToUint(float(int(magnitude))) : magnitude;
    uint rebias = is_denormal ? 1023u - 127u - 149u : magnitude < INFINITY ? 1023u - 127u : 2047u - 255u;
    uint upper = (normal >> 3) + (rebias << 20) | (magnitude > INFINITY ? QUIET >> 3 : 0u);
    return uvec2(normal << 29, (magnitude == 0u ? 0u : upper) | bits & 0x80000000u);
}

uint f32_of_f64(uvec2 bits, bool to_odd) {
    uint magnitude = bits.y & 0x7FFFFFFFu;
    int exponent = int(magnitude >> 20) - (1023 - 127);
    // 24 bits that are kept and 6 below them, whose last says whether there is more: enough for one rounding.
    uint significand = (magnitude & 0xFFFFFu | (magnitude >= 0x100000u ? 0x100000u : 0u)) << 9 | bits.x >> 23;
    significand |= uint((bits.x & 0x7FFFFFu) != 0u);
    // Below 2^-126 fewer are kept, and below 2^-150, where denormals of f64 are too, none.
    uint shift = uint(clamp(7 - exponent, 6, 31));
    uint rounded = to_odd ? shift_right_odd(significand, shift) : shift_right_nearest_even(significand, shift);
    rounded += uint(clamp(exponent - 1, 0, 254)) << 23;  // the leading bit adds the 1 to the exponent
    rounded = min(rounded, to_odd ? INFINITY - 1u : INFINITY);
    bool is_number = magnitude + uint(bits.x != 0u) <= 0x7FF00000u;
    uint payload = (magnitude & 0xFFFFFu) << 3 | bits.x >> 29;
    uint beyond = INFINITY | (is_number ? 0u : payload | QUIET);
    return bits.y & 0x80000000u | (magnitude >= 0x7FF00000u ? beyond : rounded);
}
