// Elements of 8 or 16 bits in words of 32 bits, the lowest bits first, as in numpy: u8 element 6 is bits 16 to 23 of word 1.

#ifndef WORDS_GLSL
#define WORDS_GLSL

// Element `n` of the word. field(0x44332211, 2, 8) is 0x33; field(0x44332211, 1, 16) is 0x4433; with 32 bits, n is 0.
uint field(uint word, uint n, uint width) { return word >> n * width & 0xFFFFFFFFu >> 32u - width; }

// The word that begins at bit `shift`, 0 to 31, of two words: funnel(0x44332211, 0x88776655, 24) is 0x77665544.
// GLSL leaves a shift by 32 undefined, so the upper word is shifted in two steps.
uint funnel(uint low, uint high, uint shift) { return low >> shift | high << 1 << 31u - shift; }
uvec2 funnel(uvec2 low, uvec2 high, uint shift) { return low >> shift | high << 1 << 31u - shift; }
uvec4 funnel(uvec4 low, uvec4 high, uint shift) { return low >> shift | high << 1 << 31u - shift; }

// The words of four elements: packed(uvec4(1, 2, 3, 4), 8) is 0x04030201 and zeros; with 16 bits, 0x00020001, 0x00040003, 0, 0.
uvec4 packed(uvec4 quad, uint width) {
    if (width == 8u) {
        return uvec4(quad.x | quad.y << 8 | quad.z << 16 | quad.w << 24, 0u, 0u, 0u);
    }
    return width == 16u ? uvec4(quad.xz | quad.yw << 16, 0u, 0u) : quad;
}

// The first four elements of `words`, the reverse of packed: unpacked(uvec4(0x04030201, 0, 0, 0), 8) is 1, 2, 3, 4.
uvec4 unpacked(uvec4 words, uint width) {
    if (width == 8u) {
        return words.xxxx >> uvec4(0u, 8u, 16u, 24u) & 0xFFu;
    }
    return width == 16u ? words.xxyy >> uvec4(0u, 16u, 0u, 16u) & 0xFFFFu : words;
}

// Defines `name(offset, width)`: the bits of element `offset`, of 8 to 64 bits, in words that `word_at(n)` loads; the lower word
// is in x.
#define DEFINE_LOAD(name, word_at) \
    uvec2 name(uint offset, uint width) { \
        if (width == 64u) { \
            return uvec2(word_at(2u * offset), word_at(2u * offset + 1u)); \
        } \
        uint lanes = 32u / width; \
        return uvec2(field(word_at(offset / lanes), offset % lanes, width), 0u); \
    }

#endif
