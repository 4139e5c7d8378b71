// Sums of weighted elements, nested, slot 0 innermost, one order, f32, no contraction; and rows of tables, which have the weights.
//
// A row is whole rows of `parameters`: the weights of TAPS taps, then the source offset of the first. Three taps: one row.
// This file depends on the global declaration of `parameters` (rows of uvec4).

layout(constant_id = 6) const uint SLOTS_AND_KIND = 1;

const uint SLOTS = SLOTS_AND_KIND & 3u;  // interpolated axes; slot 0 is the last logical one
const uint GRADIENT = 4u;  // sums may have no tap, and are then 0.0

uint rows_of_taps(uint taps) { return taps / 4u + 1u; }

// Where sums begin: adding to -0.0 changes nothing, not even -0.0.
const float NOTHING = -0.0;

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
