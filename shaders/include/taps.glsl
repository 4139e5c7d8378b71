// Sums of weighted elements, nested, slot 0 innermost, one order, f32, no contraction; and rows of tables, which have the weights.
//
// FIXED: weights, products and sums are integers, as libraries for images of bytes have them; one slot. dispatch.shifts has in its
// bytes how far elements go to the right, then their products, then the sum, to the nearest, halves up; and the bits that it is
// clamped to, if not 0. Pillow, whose weights are in steps of 2^-22: 0, 0, 22, 8.
// A row is whole rows of `parameters`: the weights of TAPS taps, then the source offset of the first. Three taps: one row.
// This file depends on scales.glsl and the global declaration of `parameters` (rows of uvec4).

layout(constant_id = 6) const uint SLOTS_AND_KIND = 1;

const uint SLOTS = SLOTS_AND_KIND & 3u;  // interpolated axes; slot 0 is the last logical one
const uint GRADIENT = 4u;  // sums may have no tap, and are then 0.0

uint rows_of_taps(uint taps) { return taps / 4u + 1u; }

#ifdef FIXED

#define NUMBER int
#define FOUR_NUMBERS ivec4

const int NOTHING = 0;

int shift_of(uint place) { return int(dispatch.shifts >> 8u * place & 0xFFu); }

int number_of(uvec2 bits) {
    uint unused = 32u - SRC_WIDTH;
    int value = is_signed(SRC_TYPE) ? int(bits.x << unused) >> unused : int(bits.x);
    return value >> shift_of(0u);
}

int weight_of(uint bits) { return int(bits); }

ivec4 weights_of(uvec4 bits) { return ivec4(bits); }

int weighted(int weight, int value) { return weight * value >> shift_of(1u); }

// What a sum becomes: shifted to the nearest, halves up, and clamped.
int number_of_sum(int sum) {
    int places = shift_of(2u);
    int rounded = sum + (1 << places >> 1) >> places;
    int bits = shift_of(3u);
    return bits == 0 ? rounded : clamp(rounded, 0, (1 << bits) - 1);
}

uvec2 made_of_sum(int sum, uint dst_offset, uvec2 pair_offset) {
    // Of -2 in 16 bits only 0xFFFE: the other half of the word is the neighbour's.
    return uvec2(uint(number_of_sum(sum)) & 0xFFFFFFFFu >> 32u - DST_WIDTH, 0u);
}

#else

#define NUMBER float
#define FOUR_NUMBERS vec4

// Where sums begin: adding to -0.0 changes nothing, not even -0.0.
const float NOTHING = -0.0;

float number_of(uvec2 bits) { return uintBitsToFloat(f32_of(bits, SRC_TYPE, false)); }

float weight_of(uint bits) { return uintBitsToFloat(bits); }

vec4 weights_of(uvec4 bits) { return uintBitsToFloat(bits); }

// A tap of weight zero adds nothing, so an infinity that is not asked for does not become a NaN.
float weighted(float weight, float value) {
    precise float product = weight * value;
    return weight == 0.0 ? NOTHING : product;
}

// A gradient's sum is never -0.0. By bits: llvmpipe leaves out an addition of 0.0.
uint bits_of_sum(float sum) {
    uint bits = floatBitsToUint(sum);
    return (SLOTS_AND_KIND & GRADIENT) != 0u && bits == 0x80000000u ? 0u : bits;
}

uvec2 made_of_sum(float sum, uint dst_offset, uvec2 pair_offset) {
    vec2 src_pair = src_pair_at(pair_offset.x);
    vec2 dst_pair = dst_pair_at(pair_offset.y);
    return made_of_f32(bits_of_sum(sum), load_old(dst_offset), src_pair, dst_pair);
}

#endif
