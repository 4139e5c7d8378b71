// Sums of weighted elements, nested, slot 0 innermost, one order, f32, no contraction; and rows of tables, which have the weights.
//
// A sum of more than SHORT_SUM taps with weight is compensated: what its additions lose is summed too, and added at the end. So the
// mean of 600 equal elements is that element. Which sums these are follows from weights alone, whatever fills up their rows.
// FIXED: weights, products and sums are integers, as libraries for images of bytes have them; one slot. dispatch.shifts has in its
// bytes how far elements go to the right, then their products, then the sum, to the nearest, halves up; and the bits that it is
// clamped to, if not 0. Pillow, whose weights are in steps of 2^-22: 0, 0, 22, 8.
// A row is whole rows of `parameters`: the weights of TAPS taps, then the source offset of the first. Three taps: one row.
// This file depends on scales.glsl and the global declaration of `parameters` (rows of uvec4).

layout(constant_id = 6) const uint SLOTS_AND_KIND = 1;

const uint SLOTS = SLOTS_AND_KIND & 3u;  // interpolated axes; slot 0 is the last logical one
const uint GRADIENT = 4u;  // sums may have no tap, and are then 0.0
const uint LONG = 8u;  // and 16, 32: sums along slot 0, 1, 2 may have more than SHORT_SUM taps with weight
const uint SHORT_SUM = 32u;

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

bool is_long(uint slot) { return false; }

int lost(int sum, int addend, int total) { return 0; }

ivec4 lost(ivec4 sum, ivec4 addend, ivec4 total) { return ivec4(0); }

int compensated(int sum, int lost_of_sum, uint weights) { return sum; }

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

bool is_long(uint slot) { return (SLOTS_AND_KIND & LONG << slot) != 0u; }

// What the addition lost: sum + addend is total + lost, exactly (Knuth, TAOCP 2, 4.2.2). 2^24 + 1 is 2^24, and 1 is lost.
float lost(float sum, float addend, float total) {
    precise float added = total - sum;
    precise float of_sum = sum - (total - added);
    precise float of_addend = addend - added;
    precise float both = of_sum + of_addend;
    return both;
}

vec4 lost(vec4 sum, vec4 addend, vec4 total) {
    precise vec4 added = total - sum;
    precise vec4 of_sum = sum - (total - added);
    precise vec4 of_addend = addend - added;
    precise vec4 both = of_sum + of_addend;
    return both;
}

// The sum of so many taps with weight. Nothing is added to -0.0, and to an infinite sum, which lost a NaN.
float compensated(float sum, float lost_of_sum, uint weights) {
    uint exponent = floatBitsToUint(lost_of_sum) & 0x7F800000u;
    precise float total = sum + lost_of_sum;
    return weights <= SHORT_SUM || lost_of_sum == 0.0 || exponent == 0x7F800000u ? sum : total;
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
