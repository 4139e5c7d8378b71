// Returns `word` through a select that the compiler cannot remove: it does not know that `offset` is never 2^32 - 1, except
// where it can prove that the offset is a multiple of some number. Kernels use it for words about to be stored, and for the
// indices of loads and stores.
//
// llvmpipe loads and stores lane by lane, and LLVM moves the last operations before a store into that loop, where each
// operand is fetched from memory. A select is executed for all lanes at once: with it, f16 to f32 takes 0.8 of the
// time, bytes of pixels to planes 0.65.
#ifndef SELECTED_GLSL
#define SELECTED_GLSL
uint selected(uint word, uint offset) { return offset != 0xFFFFFFFFu ? word : 0u; }
uvec4 selected(uvec4 words, uint offset) {
    return uvec4(selected(words.x, offset), selected(words.y, offset), selected(words.z, offset), selected(words.w, offset));
}

#endif
