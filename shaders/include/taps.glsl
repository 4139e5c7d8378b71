// Sums of weighted source elements along up to three slots, nested, slot 0 innermost.
//
// This file depends on scales.glsl and on a global declaration of `words` (uint[]), where the weights of a slot lie one after the
// other.

uvec3 taps[3];  // of each slot: how many, their stride, and the word of the first weight

layout(constant_id = 6) const uint SLOTS_AND_START = 1;

const uint SLOTS = SLOTS_AND_START & 3u;  // interpolated axes; slot 0 is the last logical one
const uint FROM_ZERO = 4u;  // sums begin at zero, as those of gradients, which may have no tap; else they keep a sum of -0.0

// A tap of weight zero adds -0.0, which changes no sum, so an infinity that is not asked for does not become a NaN.
float weighted(uint weight_word, float value) {
    float weight = uintBitsToFloat(words[weight_word]);
    precise float product = weight * value;
    return weight == 0.0 ? -0.0 : product;
}

float start() { return (SLOTS_AND_START & FROM_ZERO) != 0u ? 0.0 : -0.0; }

float value_0(uint offset) { return uintBitsToFloat(f32_of(load_src(offset), SRC_TYPE, false)); }

float value_1(uint offset) {
    precise float sum = start();
    for (uint tap = 0; tap < taps[0].x; ++tap) {
        sum = sum + weighted(taps[0].z + tap, value_0(offset + tap * taps[0].y));
    }
    return sum;
}

float value_2(uint offset) {
    precise float sum = start();
    for (uint tap = 0; tap < taps[1].x; ++tap) {
        sum = sum + weighted(taps[1].z + tap, value_1(offset + tap * taps[1].y));
    }
    return sum;
}

float value_3(uint offset) {
    precise float sum = start();
    for (uint tap = 0; tap < taps[2].x; ++tap) {
        sum = sum + weighted(taps[2].z + tap, value_2(offset + tap * taps[2].y));
    }
    return sum;
}
