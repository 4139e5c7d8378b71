// Sums weighted elements along up to three axes, one sum inside the other, in a fixed order, in f32 without contraction. Each
// interpolated axis has a slot; slot 0 is summed first. The weights are in the rows of tables.
//
// A sum of more than SHORT_SUM taps of nonzero weight is compensated: the rounding errors of its additions are summed too, and
// added at the end, so the mean of 600 equal elements is that element. Taps of weight zero, which pad rows, do not count.
// FIXED: weights, products and sums are integers, as in libraries that resize bytes. The bytes of dispatch.shifts, the lowest first:
// how many bits elements, products and the sum are shifted right (the sum to nearest, halves up), and the width of the
// unsigned integer to which the sum is clamped (0: not clamped). Pillow, whose weights are multiples of 2^-22: 0, 0,
// 22, 8. The shifts apply to the last slot: sums along inner slots are exact, and are the elements of the last slot.
// A row of a table fills whole rows of `parameters` with the weights of its taps and then the source offset of the first tap. With
// three taps it fills one row of `parameters`.
// This file depends on scales.glsl and the global declaration of `parameters` (rows of uvec4).

layout(constant_id = 6) const uint SLOTS_AND_KIND = 1;

const uint SLOTS = SLOTS_AND_KIND & 3u;  // number of interpolated axes; slot 0 is the last logical one

uint rows_of_taps(uint taps) { return taps / 4u + 1u; }

#ifdef FIXED

#define NUMBER int
#define FOUR_NUMBERS ivec4

const int NOTHING = 0;

int shift_of(uint place) { return int(dispatch.shifts >> 8u * place & 0xFFu); }

int number_of(uvec2 bits) {
    uint unused = 32u - SRC_WIDTH;
    return is_signed(SRC_TYPE) ? int(bits.x << unused) >> unused : int(bits.x);
}

int number_of_bits(uint bits) { return int(bits); }

uint bits_of_number(int number) { return uint(number); }

int weight_of(uint bits) { return int(bits); }

ivec4 weights_of(uvec4 bits) { return ivec4(bits); }

// The sum shifted right, rounded to nearest with halves up, and clamped.
int number_of_sum(int sum) {
    int places = shift_of(2u);
    int rounded = sum + (1 << places >> 1) >> places;
    int bits = shift_of(3u);
    return bits == 0 ? rounded : clamp(rounded, 0, (1 << bits) - 1);
}

bool is_long(uint slot) { return false; }

int compensated(int sum, int lost_of_sum, uint weight_count) { return sum; }

uvec2 converted_sum(int sum, uint dst_offset, uvec2 pair_offset) {
    // Only the low bits are kept, because the rest of the word may belong to a neighbour: -2 in 16 bits is 0xFFFE.
    return uvec2(uint(number_of_sum(sum)) & 0xFFFFFFFFu >> 32u - DST_WIDTH, 0u);
}

#else

#define NUMBER float
#define FOUR_NUMBERS vec4

// A sum starts at -0.0, because -0.0 plus any number is that number, even if it is -0.0.
const float NOTHING = -0.0;

float number_of(uvec2 bits) { return uintBitsToFloat(f32_of(bits, SRC_TYPE, false)); }

float number_of_bits(uint bits) { return uintBitsToFloat(bits); }

uint bits_of_number(float number) { return floatBitsToUint(number); }

float weight_of(uint bits) { return uintBitsToFloat(bits); }

vec4 weights_of(uvec4 bits) { return uintBitsToFloat(bits); }

bool is_long(uint slot) { return (SLOTS_AND_KIND & LONG_SLOT << slot) != 0u; }

// `sum` plus its rounding errors, if it has more than SHORT_SUM taps of nonzero weight. -0.0, whose errors are 0, and an infinite
// sum, whose errors are NaN, stay as they are.
float compensated(float sum, float lost_of_sum, uint weight_count) {
    uint exponent = floatBitsToUint(lost_of_sum) & 0x7F800000u;
    precise float total = sum + lost_of_sum;
    return weight_count <= SHORT_SUM || lost_of_sum == 0.0 || exponent == 0x7F800000u ? sum : total;
}

// The bits of a sum; in a gradient -0.0 becomes 0.0. Compares bits, because llvmpipe leaves out an addition of 0.0.
uint bits_of_sum(float sum) {
    uint bits = floatBitsToUint(sum);
    return (SLOTS_AND_KIND & GRADIENT) != 0u && bits == 0x80000000u ? 0u : bits;
}

uvec2 converted_sum(float sum, uint dst_offset, uvec2 pair_offset) {
    vec2 src_pair = src_pair_at(pair_offset.x);
    vec2 dst_pair = dst_pair_at(pair_offset.y);
    return converted_f32(bits_of_sum(sum), load_old(dst_offset), src_pair, dst_pair);
}

#endif

// What a tap adds to the sum along a slot, as one number or four.
#ifdef FIXED
#ifndef SHIFTED_SLOT
#define SHIFTED_SLOT (SLOTS - 1u)
#endif
#define DEFINE_WEIGHTED(NUMBERS) \
    NUMBERS weighted(uint slot, int weight, NUMBERS value) { \
        return slot != SHIFTED_SLOT ? weight * value : weight * (value >> shift_of(0u)) >> shift_of(1u); \
    }
#else
// A tap of weight zero adds nothing, so that an infinite element with weight zero gives no NaN. A kernel defines ALL_ADD as true
// where no product is infinite, NaN or -0.0, which saves the test.
#ifndef ALL_ADD
#define ALL_ADD false
#endif
#define DEFINE_WEIGHTED(NUMBERS) \
    NUMBERS weighted(uint slot, float weight, NUMBERS value) { \
        precise NUMBERS product = weight * value; \
        return !ALL_ADD && weight == 0.0 ? NUMBERS(NOTHING) : product; \
    }
#endif
DEFINE_WEIGHTED(NUMBER)
DEFINE_WEIGHTED(FOUR_NUMBERS)

// A sum in registers: the total and, for a long slot, the sum of the rounding errors. Sum holds one number, QuadSum four.
//
// If 1.0 is added twice to 2^24, the total stays 2^24 and 1 is lost each time: lost is 2, and with more than SHORT_SUM weights the
// result is 2^24 + 2.
//     Sum sum = NO_SUM;
//     uint weight_count = 0u;
//     for each tap:
//         add(sum, slot, weighted(slot, weight, value));
//         weight_count += counted(slot, weight);
//     result(sum, slot, weight_count)
//
// `both` is the rounding error of an addition: sum + addend equals total + both exactly (Knuth, TAOCP 2, 4.2.2).
#define DEFINE_SUM(SUM, NUMBERS) \
    struct SUM { \
        NUMBERS total, lost; \
    }; \
    void add(inout SUM sum, uint slot, NUMBERS addend) { \
        precise NUMBERS total = sum.total + addend; \
        if (is_long(slot)) { \
            precise NUMBERS added = total - sum.total; \
            precise NUMBERS of_sum = sum.total - (total - added); \
            precise NUMBERS of_addend = addend - added; \
            precise NUMBERS both = of_sum + of_addend; \
            precise NUMBERS lost = sum.lost + both; \
            sum.lost = lost; \
        } \
        sum.total = total; \
    }
DEFINE_SUM(Sum, NUMBER)
DEFINE_SUM(QuadSum, FOUR_NUMBERS)

const Sum NO_SUM = Sum(NOTHING, 0);
const QuadSum NO_QUAD_SUM = QuadSum(FOUR_NUMBERS(NOTHING), FOUR_NUMBERS(0));

// 1 for a weight that counts towards SHORT_SUM.
uint counted(uint slot, NUMBER weight) { return is_long(slot) && weight != 0 ? 1u : 0u; }

NUMBER result(Sum sum, uint slot, uint weight_count) {
    return is_long(slot) ? compensated(sum.total, sum.lost, weight_count) : sum.total;
}

FOUR_NUMBERS result(QuadSum sums, uint slot, uint weight_count) {
    for (uint n = 0u; n < 4u; ++n) {
        sums.total[n] = result(Sum(sums.total[n], sums.lost[n]), slot, weight_count);
    }
    return sums.total;
}
