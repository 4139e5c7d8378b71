// Loads and stores several words at once: 4, 8 or 16 bytes; and a quad, which is four elements of 8, 16 or 32 bits.
//
// u8 elements 8 to 11 are word 2: load_quad(8, 8) is one load of a word, and store_quad(8, quad, 8) one store. With 16 bits they
// are two words, uvec2 number 2, and with 32 bits uvec4 number 2.
// This file depends on buffers.glsl.

#include "words.glsl"
#include "selected.glsl"

// Loads `count` words: 1, 2 or 4. `word` is a multiple of `count`.
uvec4 load_vector(uint word, uint count) {
    switch (count) {
        case 1: return uvec4(src[word], 0u, 0u, 0u);
        case 2: return uvec4(src2[word / 2u], 0u, 0u);
        default: return src4[word / 4u];
    }
}

void store_vector(uint word, uvec4 words, uint count) {
    switch (count) {
        case 1: dst[word] = words.x; break;
        case 2: dst2[word / 2u] = words.xy; break;
        default: dst4[word / 4u] = words;
    }
}

// Loads four elements; `offset` is a multiple of four.
uvec4 load_quad(uint offset, uint width) {
    return unpacked(load_vector(offset / (32u / width), width / 8u), width);
}

// Loads four elements from any offset on. Reads only words that hold some of them: bytes 6 to 9 are the upper half of word 1
// and the lower half of word 2.
uvec4 load_quad_anywhere(uint offset, uint width) {
    if (width == 32u) {
        return uvec4(src[offset], src[offset + 1u], src[offset + 2u], src[offset + 3u]);
    }
    uint lanes = 32u / width;
    uint first = offset / lanes;
    uint last = (offset + 3u) / lanes;
    uvec3 loaded = uvec3(src[first], src[min(first + 1u, last)], src[last]);
    return unpacked(uvec4(funnel(loaded.xy, loaded.yz, offset % lanes * width), 0u, 0u), width);
}

// Stores four elements; `offset` is a multiple of four.
void store_quad(uint offset, uvec4 quad, uint width) {
    store_vector(offset / (32u / width), selected(packed(quad, width), offset), width / 8u);
}
