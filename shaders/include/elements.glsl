// Elements of 8, 16, 32 or 64 bits in buffers of 32-bit words: loads from the source, stores to the destination.
//
// Little-endian, as in numpy: u8 element 6 is bits 16..23 of word 1 (6 / 4 = 1, 8 * (6 % 4) = 16).
// This file depends on the global declarations of `src` and `dst` (uint[]).

#include "words.glsl"

// Bits of one element: 8, 16 or 32; 64 in element_pad, lookup_elements and kernels that convert.
layout(constant_id = 0) const uint BITS = 32;
const uint LANES = BITS > 32 ? 1 : 32 / BITS;  // elements in a word
const uint ELEMENT_MASK = BITS > 32 ? 0xFFFFFFFFu : 0xFFFFFFFFu >> (32 - BITS);

uint load_bits(uint offset) { return field(src[offset / LANES], offset % LANES, BITS); }

uint in_lane(uint bits, uint lane) { return bits << (lane * BITS); }

// Stores an element of a destination whose words several invocations share. Both atomics change only this element's bits. A sum
// reads the element's old value first, because both atomics depend on `bits`, which is computed from that value.
void store_bits_shared(uint offset, uint bits) {
    if (LANES == 1) {
        dst[offset] = bits;
    } else {
        uint lane = offset % LANES;
        atomicOr(dst[offset / LANES], in_lane(bits, lane));
        atomicAnd(dst[offset / LANES], ~in_lane(ELEMENT_MASK, lane) | in_lane(bits, lane));
    }
}

void store_element_shared(uint offset, uvec2 bits) {
    if (BITS == 64) {
        dst[2 * offset] = bits.x;
        dst[2 * offset + 1] = bits.y;
    } else {
        store_bits_shared(offset, bits.x);
    }
}

// Stores a word that only this invocation writes. Bytes outside `mask` are not elements and keep their value.
void store_word_owned(uint word, uint bits, uint mask) {
    if (mask == 0xFFFFFFFFu) {
        dst[word] = bits;
    } else if (mask != 0) {
        dst[word] = (dst[word] & ~mask) | bits;
    }
}
